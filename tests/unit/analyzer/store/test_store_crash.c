/* SPDX-License-Identifier: Apache-2.0 */
/* A store holds whole transactions, whenever its process is killed and whichever write fails. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/store/store_jobs.h"

struct place {
  char folder[400], path[500], source[500];
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/fleet.db", place->folder);
  snprintf(place->source, sizeof place->source, "%s/part.db", place->folder);
  *state = place;
  return 0;
}

static int tear_down(void **state) {
  struct place *const place = *state;
  wo_files_remove_scratch(place->folder);
  free(place);
  return 0;
}

static bool take_number(void *context, const struct wo_store_value *values, size_t count) {
  assert_int_equal(count, 1);
  *(int64_t *)context = values[0].number;
  return true;
}

static int64_t count_of(struct wo_store *store, const char *sql) {
  int64_t number = -1;
  struct wo_err err = {0};
  if (wo_store_ask(store, sql, NULL, 0, take_number, &number, &err) != WO_OK) fail_msg("%s", err.message);
  return number;
}

/* ---- Killed ---- */

enum { BATCH = 7 };

/* Puts jobs from number `first` on in transactions of BATCH until it is killed; after each commit the number of jobs so far goes
 * into the pipe. Every other transaction also puts the first jobs again: with another title each time. */
static void put_until_killed(const char *path, uint32_t first, int report) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  static struct wo_store_made made;
  for (uint32_t next = first;; next += BATCH) {
    char title[32];
    snprintf(title, sizeof title, "transaction %u", (unsigned)next);
    if (wo_store_begin(store, NULL) != WO_OK) _exit(1);
    for (uint32_t i = 0; i < BATCH; i++) {
      wo_store_make_job(&made, "/logs", next + i, 1200);
      if (wo_store_put(store, &made.job, NULL) != WO_OK) _exit(2);
      wo_store_make_job(&made, "/again", i, 300);
      made.job.row.title = wo_view_of(title);
      if (next / BATCH % 2 == 0 && wo_store_put(store, &made.job, NULL) != WO_OK) _exit(3);
    }
    if (wo_store_commit(store, NULL) != WO_OK) _exit(4);
    const uint32_t done = next + BATCH;
    if (write(report, &done, sizeof done) != sizeof done) _exit(5);
  }
}

/* The last number that came through the pipe before the process was killed. */
static uint32_t last_report(int from, uint32_t before) {
  uint32_t done = before, one;
  while (read(from, &one, sizeof one) == sizeof one) done = one;
  return done;
}

static uint32_t run_and_kill(const char *path, uint32_t first, unsigned after_us) {
  int pipe_ends[2];
  assert_int_equal(pipe(pipe_ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(pipe_ends[0]);
    put_until_killed(path, first, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  usleep(after_us);
  kill(child, SIGKILL);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const uint32_t done = last_report(pipe_ends[0], first);
  close(pipe_ends[0]);
  return done;
}

/* The text of the jobs 0 to count - 1, in a store of their own. */
static char *expected_dump(uint32_t count) {
  struct wo_store *const store = wo_store_must_open(NULL, WO_STORE_PRIVATE);
  static struct wo_store_made made;
  for (uint32_t i = 0; i < count; i++) {
    wo_store_make_job(&made, "/logs", i, 1200);
    assert_int_equal(wo_store_put(store, &made.job, NULL), WO_OK);
  }
  char *const text = wo_store_dump(store);
  wo_store_close(store);
  return text;
}

/* Opens the store of a process that was killed, checks it, and returns its number of jobs. */
static uint32_t check_store(const char *path, uint32_t reported) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  const uint32_t count = (uint32_t)count_of(store, "SELECT count(*) FROM job WHERE path LIKE '/logs/%'");
  assert_true(count == reported || count == reported + BATCH); /* killed between the commit and the report */
  assert_true(count_of(store, "SELECT count(DISTINCT title) FROM job WHERE path LIKE '/again/%'") <= 1);
  const int64_t again = count_of(store, "SELECT count(*) FROM job WHERE path LIKE '/again/%'");
  assert_true(again == 0 || again == BATCH);
  assert_int_equal(count_of(store, "SELECT count(*) FROM file"), 2 * (count + again));
  assert_int_equal(count_of(store, "SELECT count(*) FROM job_node"), 2 * (count + again));
  assert_int_equal(count_of(store, "SELECT count(*) FROM evidence"), count + again);
  assert_int_equal(count_of(store, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
  wo_store_close(store);
  return count;
}

static void check_content(const char *path, uint32_t count) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  int64_t forgotten = 0;
  /* The jobs that were put again and again end at the same times as the first ones. */
  assert_int_equal(wo_store_forget(store, INT64_C(1700000000) * 1000000000 + BATCH * INT64_C(1000000000), &forgotten, NULL),
                   WO_OK);
  static struct wo_store_made made;
  for (uint32_t i = 0; i < BATCH; i++) {
    wo_store_make_job(&made, "/logs", i, 1200);
    assert_int_equal(wo_store_put(store, &made.job, NULL), WO_OK);
  }
  char *const text = wo_store_dump(store), *const expected = expected_dump(count);
  assert_string_equal(text, expected);
  free(text);
  free(expected);
  wo_store_close(store);
}

static void test_killed_at_any_moment(void **state) {
  const struct place *const place = *state;
  const unsigned rounds = wo_process_is_sanitized ? 12 : 50;
  uint32_t count = 0, random = 99;
  for (unsigned round = 0; round < rounds; round++) {
    random = random * 1664525 + 1013904223;
    const uint32_t reported = run_and_kill(place->path, count, 1000 + (random >> 8) % 25000);
    if (access(place->path, F_OK) != 0) continue; /* it did not come so far as to make it */
    count = check_store(place->path, reported);
  }
  assert_true(count > BATCH);
  check_content(place->path, count);
}

static void test_killed_while_merging(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->source, "/logs", 0, 4000, 5);
  wo_store_fill(place->path, "/logs", 0, 100, 1);
  wo_store_fill(place->path, "/mine", 0, 100, 1);
  uint32_t random = 7;
  unsigned killed = 0;
  int64_t count = 200;
  for (unsigned round = 0; round < 25 && count == 200; round++) {
    random = random * 1664525 + 1013904223;
    const pid_t child = fork();
    if (child == 0) {
      struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_WRITE);
      _exit(wo_store_merge(store, place->source, NULL) == WO_OK ? 0 : 1);
    }
    usleep(500 + (random >> 8) % 40000);
    kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_READ);
    count = count_of(store, "SELECT count(*) FROM job");
    assert_true(count == 200 || count == 4100);
    killed += count == 200;
    assert_int_equal(count_of(store, "SELECT count(*) FROM file"), 2 * count);
    assert_int_equal(count_of(store, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    wo_store_close(store);
  }
  assert_true(killed > 0);
}

/* ---- A full disk ---- */

/* Fills a store up to a limit of the size of files; then goes on without the limit. */
static int fill_up(const char *path) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  static struct wo_store_made made;
  struct wo_err err = {0};
  const struct rlimit small = {400 * 1024, RLIM_INFINITY}, large = {RLIM_INFINITY, RLIM_INFINITY};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 10;
  enum wo_status status = WO_OK;
  for (uint32_t i = 0; i < 3000 && status == WO_OK; i++) {
    if (i % BATCH == 0) status = wo_store_begin(store, &err);
    wo_store_make_job(&made, "/logs", i, 1200);
    if (status == WO_OK) status = wo_store_put(store, &made.job, &err);
    if (i % BATCH == BATCH - 1 && status == WO_OK) status = wo_store_commit(store, &err);
  }
  if (status != WO_E_IO || strcmp(err.message, "cannot be read or written: File too large") != 0) return 11;
  if (wo_store_put(store, &made.job, &err) == WO_OK || wo_store_commit(store, &err) == WO_OK) return 12;
  wo_store_rollback(store);
  if (setrlimit(RLIMIT_FSIZE, &large) != 0) return 13;
  const int64_t count = count_of(store, "SELECT count(*) FROM job");
  if (count == 0 || count % BATCH != 0) return 14;
  wo_store_make_job(&made, "/later", 1, 10);
  if (wo_store_put(store, &made.job, &err) != WO_OK) return 15;
  wo_store_close(store);
  return 0;
}

static void test_files_that_may_not_grow(void **state) {
  const struct place *const place = *state;
  const pid_t child = fork();
  if (child == 0) _exit(fill_up(place->path));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_READ);
  const int64_t count = count_of(store, "SELECT count(*) FROM job");
  assert_int_equal(count % BATCH, 1);
  assert_int_equal(count_of(store, "SELECT count(*) FROM file"), 2 * count);
  assert_int_equal(count_of(store, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
  wo_store_close(store);
}

/* ---- Each system call fails once ---- */

static long calls, failing_call;
static int failing_errno;

static bool is_failing(void) {
  if (++calls != failing_call) return false;
  errno = failing_errno;
  return true;
}

static ssize_t failing_pwrite(int fd, const void *data, size_t count, off_t at) {
  return is_failing() ? -1 : pwrite(fd, data, count, at);
}

static int failing_ftruncate(int fd, off_t size) {
  return is_failing() ? -1 : ftruncate(fd, size);
}

static ssize_t failing_pread(int fd, void *data, size_t count, off_t at) {
  return is_failing() ? -1 : pread(fd, data, count, at);
}

static void replace_call(const char *name, sqlite3_syscall_ptr call) {
  sqlite3_vfs *const vfs = sqlite3_vfs_find(NULL);
  assert_non_null(vfs);
  vfs->xSetSystemCall(vfs, name, call);
}

/* Makes a store, puts two transactions and merges another store. Returns the number of transactions that were committed. */
static int work(const struct place *place, struct wo_err *err, enum wo_status *ret_status) {
  struct wo_store *store = NULL;
  static struct wo_store_made made;
  int committed = 0;
  enum wo_status status = wo_store_open(place->path, WO_STORE_WRITE, &store, err);
  for (uint32_t i = 0; i < 2 && status == WO_OK; i++) {
    status = wo_store_begin(store, err);
    for (uint32_t job = 0; job < BATCH && status == WO_OK; job++) {
      wo_store_make_job(&made, "/logs", i * BATCH + job, 1200);
      status = wo_store_put(store, &made.job, err);
    }
    if (status == WO_OK) status = wo_store_commit(store, err);
    if (status == WO_OK) committed++;
  }
  if (status == WO_OK) status = wo_store_merge(store, place->source, err);
  if (status == WO_OK) committed++;
  wo_store_close(store);
  *ret_status = status;
  return committed;
}

static void remove_store(const char *path) {
  static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
  char name[540];
  for (size_t i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s%s", path, ends[i]);
    unlink(name);
  }
}

/* What was committed is there and whole; of the transaction that failed, all or nothing. */
static void check_work(const struct place *place, int committed) {
  struct wo_store *const store = wo_store_must_open(place->path, WO_STORE_WRITE);
  const int64_t count = count_of(store, "SELECT count(*) FROM job");
  static const int64_t counts[] = {0, BATCH, 2 * (int64_t)BATCH, 2 * (int64_t)BATCH + 50};
  assert_true(count == counts[committed] || (committed < 3 && count == counts[committed + 1]));
  assert_int_equal(count_of(store, "SELECT count(*) FROM file"), 2 * count);
  assert_int_equal(count_of(store, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
  wo_store_close(store);
}

static void fail_each_call(const struct place *place, const char *name, const char *long_name, sqlite3_syscall_ptr call,
                           int error, bool must_be_told) {
  wo_store_fill(place->source, "/part", 0, 50, 5);
  long told = 0;
  for (failing_call = 1;; failing_call++) {
    remove_store(place->path);
    calls = 0;
    failing_errno = error;
    replace_call(name, call);
    replace_call(long_name, call);
    struct wo_err err = {0};
    enum wo_status status = WO_OK;
    const int committed = work(place, &err, &status);
    replace_call(name, NULL);
    replace_call(long_name, NULL);
    if (calls < failing_call) break;
    if (status != WO_OK) assert_true(err.message[0] != '\0' && err.file[0] != '\0');
    if (status != WO_OK && error == ENOSPC)
      if (!strstr(err.message, "no space is left")) fail_msg("%s", err.message);
    told += status != WO_OK;
    check_work(place, committed);
  }
  assert_true(failing_call > 3);
  if (must_be_told) assert_true(told > failing_call / 2);
}

static void test_a_full_disk_at_any_write(void **state) {
  fail_each_call(*state, "pwrite", "pwrite64", (sqlite3_syscall_ptr)failing_pwrite, ENOSPC, true);
}

static void test_an_error_at_any_write(void **state) {
  fail_each_call(*state, "pwrite", "pwrite64", (sqlite3_syscall_ptr)failing_pwrite, EDQUOT, true);
}

static void test_an_error_at_any_read(void **state) {
  fail_each_call(*state, "pread", "pread64", (sqlite3_syscall_ptr)failing_pread, EIO, true);
}

static void test_an_error_at_any_change_of_size(void **state) {
  fail_each_call(*state, "ftruncate", "ftruncate", (sqlite3_syscall_ptr)failing_ftruncate, EIO, false);
}

/* ---- Memory of SQLite ---- */

static sqlite3_mem_methods usual;
static long allocations, failing_allocation;

static void *failing_malloc(int size) {
  return ++allocations == failing_allocation ? NULL : usual.xMalloc(size);
}

static void *failing_realloc(void *ptr, int size) {
  return ++allocations == failing_allocation ? NULL : usual.xRealloc(ptr, size);
}

static void set_memory(const sqlite3_mem_methods *methods) {
  sqlite3_shutdown();
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, methods), SQLITE_OK);
  assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

static void test_memory_that_is_out(void **state) {
  const struct place *const place = *state;
  wo_store_fill(place->source, "/part", 0, 50, 5);
  sqlite3_shutdown();
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual), SQLITE_OK);
  sqlite3_mem_methods failing = usual;
  failing.xMalloc = failing_malloc;
  failing.xRealloc = failing_realloc;
  long told = 0;
  /* Some allocations are tried and not needed. Not each of the thousands, for time. */
  const long each = wo_process_is_sanitized ? 60 : 300, step = wo_process_is_sanitized ? 97 : 29;
  for (failing_allocation = 1;; failing_allocation += failing_allocation < each ? 1 : step) {
    remove_store(place->path);
    allocations = INT32_MIN;
    set_memory(&failing);
    allocations = 0;
    struct wo_err err = {0};
    enum wo_status status = WO_OK;
    const int committed = work(place, &err, &status);
    const bool is_hit = allocations >= failing_allocation;
    allocations = INT32_MIN;
    set_memory(&usual);
    if (!is_hit) break;
    if (status != WO_OK) assert_true(err.message[0] != '\0');
    told += status == WO_E_NOMEM;
    check_work(place, committed);
  }
  assert_true(told > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_killed_at_any_moment, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_killed_while_merging, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_files_that_may_not_grow, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_full_disk_at_any_write, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_error_at_any_write, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_error_at_any_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_error_at_any_change_of_size, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_memory_that_is_out, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
