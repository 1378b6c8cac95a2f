/* SPDX-License-Identifier: Apache-2.0 */
/* A log that is read in two goes has the evidence, bit by bit, and the report of one that is read in one: logs of this tree and
 * of the corpus beside it, many in one file and one many times, cut anywhere, with bookmarks anywhere. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/pack/bookmark.h"
#include "analyzer/pack/job_pack.h"
#include "parsers/base/input/input.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"
#include "tests/support/process.h"

enum { PATH_BYTES = 1024, FILES_MAX = 4096, JOB_FILES_MAX = 4 };

/* Smaller texts have no place at which all that is before it is decided. */
#define TEXT_BYTES ((size_t)400 * 1024)

static struct { size_t trials, marked, continued; } totals;

/* ---- Chance that is the same each time ---- */

static uint64_t chance_state;

static size_t chance(size_t below) {
  chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return below > 0 ? (size_t)(chance_state >> 33) % below : 0;
}

/* ---- A job on files that grow ---- */

struct grown {
  const struct wo_pack *pack;
  char folder[64];
  char paths[JOB_FILES_MAX][PATH_BYTES];
  size_t count;
};

/* What a reading leaves behind. */
struct kept {
  struct wo_text evidence;
  struct wo_text bookmarks[JOB_FILES_MAX];
  struct wo_job *job, *before; /* the job shares the texts of the one before */
  size_t continued;
};

static void begin_files(struct grown *grown, const struct wo_pack *pack, size_t count, const char *const *names) {
  *grown = (struct grown){.pack = pack, .folder = "/tmp/whyoom-bookmark-XXXXXX", .count = count};
  assert_non_null(mkdtemp(grown->folder));
  for (size_t i = 0; i < count; i++) snprintf(grown->paths[i], PATH_BYTES, "%s/%s", grown->folder, names[i]);
}

static void end_files(const struct grown *grown) {
  for (size_t i = 0; i < grown->count; i++) unlink(grown->paths[i]);
  rmdir(grown->folder);
}

static void write_file(const char *path, struct wo_view text) {
  FILE *const file = fopen(path, "w");
  assert_non_null(file);
  if (text.len > 0) assert_int_equal(fwrite(text.ptr, 1, text.len, file), text.len);
  assert_int_equal(fclose(file), 0);
}

static size_t size_of(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 ? (size_t)found.st_size : 0;
}

static void put_bookmark(struct kept *kept, size_t at, struct wo_bookmark *bookmark) {
  if (bookmark->state.len > 0) assert_int_equal(wo_bookmark_pack(bookmark, &kept->bookmarks[at]), WO_OK);
  wo_bookmark_done(bookmark);
}

/* The bookmark that was kept, or NULL. */
static const struct wo_bookmark *find_bookmark(const struct kept *last, size_t at, struct wo_bookmark *bookmark) {
  if (!last || last->bookmarks[at].len == 0) return NULL;
  const struct wo_bookmark_of of = {.evidence = {last->evidence.ptr, last->evidence.len}, .rules = WO_VIEW("rules")};
  char front[WO_BOOKMARK_OF_BYTES];
  struct wo_text packed = {0};
  wo_bookmark_of_bytes(&of, front);
  wo_text_add_view(&packed, (struct wo_view){front, sizeof front});
  wo_text_add_view(&packed, (struct wo_view){last->bookmarks[at].ptr, last->bookmarks[at].len});
  assert_true(wo_bookmark_unpack((struct wo_view){packed.ptr, packed.len}, &of, bookmark));
  wo_text_done(&packed);
  return bookmark;
}

static void read_file(const struct grown *grown, size_t at, const struct kept *last, struct kept *now, size_t first) {
  struct wo_bookmark from = {0}, to;
  struct wo_bookmarker marker;
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  bool is_there = false;
  const struct wo_bookmark *const found = find_bookmark(last, at, &from);
  const size_t size = size_of(grown->paths[at]);
  wo_bookmark_begin(&marker, grown->paths[at], size, found, now->before);
  if (first < SIZE_MAX) marker.next = first;
  assert_int_equal(wo_input_open(grown->paths[at], &input, &err), WO_OK);
  assert_int_equal(wo_input_next_file(input, &is_there, &err), WO_OK);
  now->job->reader = &marker.reader;
  wo_job_read(now->job, input, grown->paths[at], &err);
  now->job->reader = NULL;
  wo_bookmark_end(&marker, now->job, &to);
  now->continued += marker.is_continued;
  wo_input_close(input);
  wo_bookmark_done(&from);
  put_bookmark(now, at, &to);
}

/* Reads all files; of a job that was read before (NULL: none), from its bookmarks. Each gets one from its byte `first` on. */
static struct kept read_all(const struct grown *grown, const struct kept *last, size_t first, size_t part_bytes) {
  struct kept now = {0};
  const char *list[JOB_FILES_MAX];
  for (size_t i = 0; i < grown->count; i++) list[i] = grown->paths[i];
  assert_int_equal(wo_job_new(grown->pack, &now.job), WO_OK);
  if (last)
    assert_int_equal(wo_job_unpack((struct wo_view){last->evidence.ptr, last->evidence.len}, grown->pack, &now.before, NULL),
                     WO_OK);
  now.job->part_bytes = part_bytes;
  wo_job_expect(now.job, list, grown->count);
  for (size_t i = 0; i < grown->count; i++) read_file(grown, i, last, &now, first);
  assert_int_equal(wo_job_pack(now.job, &now.evidence), WO_OK);
  return now;
}

static void done(struct kept *kept) {
  wo_text_done(&kept->evidence);
  for (size_t i = 0; i < JOB_FILES_MAX; i++) wo_text_done(&kept->bookmarks[i]);
  wo_job_free(kept->job);
  wo_job_free(kept->before);
}

static char *report_on(struct wo_job *job, const struct wo_pack *pack) {
  struct wo_report *report = NULL;
  struct wo_text text = {0};
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(wo_report_make(job, pack, &report), WO_OK);
  wo_report_json(report, &text);
  wo_report_free(report);
  assert_false(text.is_failed);
  wo_text_add_view(&text, (struct wo_view){"", 1});
  return text.ptr;
}

/* The first event that differs, for people. */
static void tell_difference(const struct wo_job *a, const struct wo_job *b) {
  char left[4096] = "none", right[4096] = "none";
  size_t at = 0;
  for (; at < a->events.count || at < b->events.count; at++) {
    left[0] = right[0] = '\0';
    if (at < a->events.count) wo_event_to_text(&a->events.items[at], left, sizeof left);
    if (at < b->events.count) wo_event_to_text(&b->events.items[at], right, sizeof right);
    if (strcmp(left, right) != 0) break;
  }
  print_message("event %zu of %zu and %zu\nwhole: %s\ngrown: %s\n", at, a->events.count, b->events.count, left, right);
}

static void expect_same(const struct grown *grown, struct kept *whole, struct kept *now, const char *what, size_t cut) {
  const bool is_same =
      whole->evidence.len == now->evidence.len && memcmp(whole->evidence.ptr, now->evidence.ptr, whole->evidence.len) == 0;
  if (!is_same) {
    tell_difference(whole->job, now->job);
    fail_msg("%s, cut at %zu: the evidence is another one", what, cut);
  }
  if (chance(8) != 0) return;
  char *const expected = report_on(whole->job, grown->pack), *const found = report_on(now->job, grown->pack);
  if (strcmp(expected, found) != 0) fail_msg("%s, cut at %zu: the report is another one", what, cut);
  free(expected);
  free(found);
}

/* ---- Texts that are cut ---- */

/* Parts of any size, as the result does not depend on them. */
static size_t any_part(void) {
  static const size_t parts[] = {0, 0, 4096, 20000, 65536, 150001};
  return parts[chance(sizeof parts / sizeof parts[0])];
}

/* Reads the text in steps, the last of which is all of it; each goes on from the bookmarks of the one before. */
static void check_steps(const struct wo_pack *pack, struct wo_view text, size_t steps, const char *what) {
  static const char *const name = "train.out";
  struct grown grown;
  struct kept last = {0};
  size_t cut = text.len / 3 + chance(text.len / 3);
  begin_files(&grown, pack, 1, &name);
  for (size_t i = 0; i <= steps; i++) {
    write_file(grown.paths[0], wo_view_sub(text, 0, cut));
    struct kept now = read_all(&grown, i > 0 ? &last : NULL, chance(cut), any_part());
    struct kept whole = read_all(&grown, NULL, SIZE_MAX, 0);
    totals.trials++;
    totals.marked += now.bookmarks[0].len > 0;
    totals.continued += now.continued;
    expect_same(&grown, &whole, &now, what, cut);
    done(&whole);
    done(&last);
    last = now;
    cut = i + 1 == steps ? text.len : cut + chance(text.len - cut + 1);
  }
  done(&last);
  end_files(&grown);
}

/* ---- All logs ---- */

struct logs {
  char *paths[FILES_MAX];
  size_t count;
};

static void find_logs(struct logs *logs, const char *folder) {
  DIR *const dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char path[PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] == '.' || strstr(path, ".pickle") || stat(path, &found) != 0) continue; /* recordings are no logs */
    if (S_ISDIR(found.st_mode)) find_logs(logs, path);
    if (S_ISREG(found.st_mode) && found.st_size > 0 && logs->count < FILES_MAX) logs->paths[logs->count++] = strdup(path);
  }
  closedir(dir);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_log(struct wo_text *text, const char *path) {
  char buf[4096];
  FILE *const file = fopen(path, "r");
  assert_non_null(file);
  for (size_t len; (len = fread(buf, 1, sizeof buf, file)) > 0;) wo_text_add_view(text, (struct wo_view){buf, len});
  fclose(file);
}

/* Logs one behind the other in any order, and single ones again and again; one in `share` of these texts. */
static void check_logs(const struct wo_pack *pack, struct logs *logs, size_t steps, size_t share) {
  chance_state = 4;
  qsort(logs->paths, logs->count, sizeof logs->paths[0], by_name);
  for (size_t i = logs->count; i > 1; i--) {
    const size_t with = chance(i);
    char *const path = logs->paths[i - 1];
    logs->paths[i - 1] = logs->paths[with];
    logs->paths[with] = path;
  }
  struct wo_text text = {0};
  size_t count = 0;
  for (size_t i = 0; i < logs->count; i++) {
    add_log(&text, logs->paths[i]);
    const bool is_repeated = i % 5 == 0;
    while (is_repeated && text.len < TEXT_BYTES) add_log(&text, logs->paths[i]);
    if (text.len < TEXT_BYTES) continue;
    if (count++ % share == 0) check_steps(pack, (struct wo_view){text.ptr, text.len}, steps, logs->paths[i]);
    text.len = 0;
  }
  wo_text_done(&text);
  for (size_t i = 0; i < logs->count; i++) free(logs->paths[i]);
  logs->count = 0;
}

static void tell(const char *what) {
  if (getenv("WHYOOM_PACK_FIGURES"))
    print_message("%s: %zu readings, %zu with a bookmark, %zu that went on\n", what, totals.trials, totals.marked,
                  totals.continued);
  totals.trials = totals.marked = totals.continued = 0;
}

static struct logs logs;

static void test_tree(void **state) {
  find_logs(&logs, WO_SOURCE_DIR "/samples");
  find_logs(&logs, WO_SOURCE_DIR "/tests/golden/diagnose");
  find_logs(&logs, WO_SOURCE_DIR "/tests/judged");
  check_logs(*state, &logs, 4, wo_process_is_sanitized ? 3 : 1);
  assert_true(totals.continued > 20);
  tell("tree");
}

static void test_corpus(void **state) {
  find_logs(&logs, WO_SOURCE_DIR "/../shared/corpus");
  if (logs.count == 0) skip();
  const bool is_all = getenv("WHYOOM_PACK_FIGURES") != NULL;
  check_logs(*state, &logs, is_all ? 12 : 2, is_all ? 1 : wo_process_is_sanitized ? 24 : 4);
  tell("corpus");
}

/* ---- What is not gone on from ---- */

/* Steps with memory, and a failure here and there. */
static void make_training(struct wo_text *text, size_t bytes, int first) {
  static const char failure[] =
      EXCEPTION("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.38 GiB "
                "of which 1.25 GiB is free.\n");
  for (int step = first; text->len < bytes; step++) {
    wo_text_add(text, "step %d | loss %.3f | mem %.2f GiB\n", step, 2.5 - step * 1e-5, 30 + step % 700 * 0.01);
    if (step % 3001 == 3000) wo_text_add(text, failure);
  }
}

static const char *const two[] = {"a.err", "b.out"};

/* Both files of a job grow, or one of them, whatever their order; how much evidence is in front does not matter. */
static void test_two_files(void **state) {
  struct wo_text texts[2] = {{0}, {0}};
  struct grown grown;
  begin_files(&grown, *state, 2, two);
  make_training(&texts[0], 700 * 1024, 1);
  make_training(&texts[1], 900 * 1024, 5000);
  for (size_t i = 0; i < 2; i++) write_file(grown.paths[i], (struct wo_view){texts[i].ptr, 500 * 1024});
  struct kept first = read_all(&grown, NULL, 200 * 1024, 0);
  assert_true(first.bookmarks[0].len > 0 && first.bookmarks[1].len > 0);
  for (size_t which = 1; which <= 3; which++) {
    for (size_t i = 0; i < 2; i++)
      write_file(grown.paths[i], (struct wo_view){texts[i].ptr, which >> i & 1 ? texts[i].len : (size_t)500 * 1024});
    struct kept now = read_all(&grown, &first, 200 * 1024, 0), whole = read_all(&grown, NULL, SIZE_MAX, 0);
    assert_int_equal(now.continued, 2);
    expect_same(&grown, &whole, &now, "two files", which);
    done(&whole);
    done(&now);
  }
  done(&first);
  for (size_t i = 0; i < 2; i++) wo_text_done(&texts[i]);
  end_files(&grown);
}

/* More evidence in front than there is room for changes what is kept of the second file: it is read again. */
static void test_limits_of_evidence(void **state) {
  struct wo_text text = {0}, flood = {0};
  struct grown grown;
  begin_files(&grown, *state, 2, two);
  make_training(&text, 600 * 1024, 1);
  write_file(grown.paths[0], WO_VIEW("nothing here\n"));
  write_file(grown.paths[1], (struct wo_view){text.ptr, 500 * 1024});
  struct kept first = read_all(&grown, NULL, 200 * 1024, 0);
  for (size_t i = 0; i < 2 * WO_LIMIT_EVENTS_PER_KIND; i++) {
    wo_text_add(&flood, "RuntimeError: CUDA error: an illegal memory access was encountered (%zu)\n", i);
    wo_text_add(&flood, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %zu.00 GiB.\n", 1 + i % 7);
  }
  write_file(grown.paths[0], (struct wo_view){flood.ptr, flood.len});
  write_file(grown.paths[1], (struct wo_view){text.ptr, text.len});
  struct kept now = read_all(&grown, &first, 200 * 1024, 0), whole = read_all(&grown, NULL, SIZE_MAX, 0);
  assert_int_equal(now.continued, 0);
  expect_same(&grown, &whole, &now, "a flood in front", flood.len);
  done(&whole);
  done(&now);
  done(&first);
  wo_text_done(&text);
  wo_text_done(&flood);
  end_files(&grown);
}

/* Each reading goes on as the one before, with the bytes in front changed or gone. */
static void expect_read_again(const struct grown *grown, const struct kept *first, struct wo_view text) {
  write_file(grown->paths[0], text);
  struct kept now = read_all(grown, first, 200 * 1024, 0), whole = read_all(grown, NULL, SIZE_MAX, 0);
  assert_int_equal(now.continued, 0);
  expect_same(grown, &whole, &now, "changed", text.len);
  done(&whole);
  done(&now);
}

static void test_other_bytes(void **state) {
  struct wo_text text = {0};
  struct grown grown;
  begin_files(&grown, *state, 1, two);
  make_training(&text, 600 * 1024, 1);
  write_file(grown.paths[0], (struct wo_view){text.ptr, 500 * 1024});
  struct kept first = read_all(&grown, NULL, 400 * 1024, 0);
  assert_true(first.bookmarks[0].len > 0);
  expect_read_again(&grown, &first, (struct wo_view){text.ptr, 300 * 1024});
  expect_read_again(&grown, &first, (struct wo_view){text.ptr + 1, text.len - 1});
  memcpy(text.ptr + 390 * 1024, "other", 5);
  expect_read_again(&grown, &first, (struct wo_view){text.ptr, text.len});
  done(&first);
  wo_text_done(&text);
  end_files(&grown);
}

#define POOL "2023-04-05 06:07:08.091011: I tensorflow/core/common_runtime/bfc_allocator.cc:1066] "
static const char ran_out[] =
    "2023-04-05 06:07:08.091011: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_1_bfc) ran out of memory "
    "trying to allocate 1.25GiB (rounded to 1342177280)requested by op model/attention/Softmax\n";
static const char dump[] =
    POOL "5 Chunks of size 1048576 totalling 5.00MiB\n" POOL "Sum Total of in-use chunks: 1.26GiB\n" POOL "Stats: \n"
         "Limit:                      8589934592\n"
         "InUse:                      8321499136\n"
         "MaxInUse:                   8455716864\n"
         "NumAllocs:                       71023\n"
         "MaxAllocSize:                268435456\n";

/* Lines that a program works through, in which nothing is found. */
static void add_quiet(struct wo_text *text, size_t bytes) {
  const size_t end = text->len + bytes;
  for (size_t i = 0; text->len < end; i++) wo_text_add(text, "batch %zu of the table is done, %zu rows\n", i, i * 7 % 100);
}

/* The dump of TensorFlow's pool gives its figures to the failure before it, however many lines are between. A bookmark between
 * the two is of no use once both were read, and of use if the dump comes behind what was read. */
static void test_evidence_that_is_changed(void **state) {
  struct wo_text text = {0};
  struct grown grown;
  begin_files(&grown, *state, 1, two);
  add_quiet(&text, 10 * 1024);
  wo_text_add(&text, "%s", ran_out);
  const size_t failed = text.len;
  add_quiet(&text, 300 * 1024);
  const size_t quiet = text.len;
  wo_text_add(&text, "%s", dump);
  const size_t dumped = text.len;
  add_quiet(&text, 300 * 1024);
  write_file(grown.paths[0], (struct wo_view){text.ptr, text.len});
  struct kept whole = read_all(&grown, NULL, SIZE_MAX, 0);
  assert_int_equal(whole.job->events.items[1].kind, WO_KIND_TF_OOM);
  assert_non_null(wo_event_field(&whole.job->events.items[1], WO_FIELD_CAPACITY_BYTES));
  const size_t cuts[] = {quiet, dumped};
  for (size_t i = 0; i < 2; i++) {
    write_file(grown.paths[0], (struct wo_view){text.ptr, cuts[i]});
    struct kept first = read_all(&grown, NULL, failed + 60 * 1024, 4096);
    assert_int_equal(first.bookmarks[0].len > 0, i == 0);
    write_file(grown.paths[0], (struct wo_view){text.ptr, text.len});
    struct kept now = read_all(&grown, &first, failed + 60 * 1024, 4096);
    assert_int_equal(now.continued, i == 0);
    expect_same(&grown, &whole, &now, "a dump", cuts[i]);
    done(&now);
    done(&first);
  }
  done(&whole);
  wo_text_done(&text);
  end_files(&grown);
}

static struct kept marked_sample(struct grown *grown, const struct wo_pack *pack) {
  struct wo_text text = {0};
  begin_files(grown, pack, 1, two);
  make_training(&text, 300 * 1024, 1);
  write_file(grown->paths[0], (struct wo_view){text.ptr, text.len});
  wo_text_done(&text);
  return read_all(grown, NULL, 100 * 1024, 0);
}

/* With other evidence, other rules, or any byte changed, a bookmark is none; one bit of padding may be without a meaning, and
 * those of seven bytes of a gzip header are: a flag for text, the time, the effort and the system. */
static void test_damage(void **state) {
  struct grown grown;
  struct kept kept = marked_sample(&grown, *state);
  struct wo_bookmark_of of = {.evidence = {kept.evidence.ptr, kept.evidence.len}, .rules = WO_VIEW("rules")};
  struct wo_bookmark bookmark;
  struct wo_text packed = {0};
  char front[WO_BOOKMARK_OF_BYTES];
  wo_bookmark_of_bytes(&of, front);
  wo_text_add_view(&packed, (struct wo_view){front, sizeof front});
  wo_text_add_view(&packed, (struct wo_view){kept.bookmarks[0].ptr, kept.bookmarks[0].len});
  size_t taken = 0;
  for (size_t i = 0; i < packed.len; i++) {
    assert_false(wo_bookmark_unpack((struct wo_view){packed.ptr, i}, &of, &bookmark));
    packed.ptr[i] = (char)(packed.ptr[i] ^ (1 << i % 8));
    if (wo_bookmark_unpack((struct wo_view){packed.ptr, packed.len}, &of, &bookmark)) {
      wo_bookmark_done(&bookmark);
      taken++;
    }
    packed.ptr[i] = (char)(packed.ptr[i] ^ (1 << i % 8));
  }
  assert_true(taken <= 4 + 7);
  assert_true(wo_bookmark_unpack((struct wo_view){packed.ptr, packed.len}, &of, &bookmark));
  wo_bookmark_done(&bookmark);
  of.rules = WO_VIEW("others");
  assert_false(wo_bookmark_unpack((struct wo_view){packed.ptr, packed.len}, &of, &bookmark));
  of = (struct wo_bookmark_of){.evidence = WO_VIEW("other evidence"), .rules = WO_VIEW("rules")};
  assert_false(wo_bookmark_unpack((struct wo_view){packed.ptr, packed.len}, &of, &bookmark));
  wo_text_done(&packed);
  done(&kept);
  end_files(&grown);
}

/* Any byte of the state changed: it is refused, or reading ends well with whatever evidence. */
static void test_states_that_are_wrong(void **state) {
  struct grown grown;
  struct kept kept = marked_sample(&grown, *state);
  struct wo_bookmark whole = {0};
  assert_non_null(find_bookmark(&kept, 0, &whole));
  chance_state = 9;
  for (size_t i = 0; i < 300; i++) {
    struct wo_bookmarker marker;
    struct wo_job *job = NULL;
    struct wo_bookmark to;
    struct wo_input *input = NULL;
    struct wo_err err = {0};
    bool is_there = false;
    char *const at = &whole.state.ptr[chance(whole.state.len)];
    const char was = *at;
    *at = (char)chance(256);
    assert_int_equal(wo_job_new(*state, &job), WO_OK);
    wo_bookmark_begin(&marker, grown.paths[0], size_of(grown.paths[0]), &whole, kept.job);
    assert_int_equal(wo_input_open(grown.paths[0], &input, &err), WO_OK);
    assert_int_equal(wo_input_next_file(input, &is_there, &err), WO_OK);
    job->reader = &marker.reader;
    assert_int_equal(wo_job_read(job, input, grown.paths[0], &err), WO_OK);
    job->reader = NULL;
    wo_bookmark_end(&marker, job, &to);
    wo_bookmark_done(&to);
    wo_input_close(input);
    assert_int_equal(wo_job_close(job), WO_OK);
    wo_job_free(job);
    *at = was;
  }
  wo_bookmark_done(&whole);
  done(&kept);
  end_files(&grown);
}

static void test_memory_that_is_out(void **state) {
  struct grown grown;
  struct kept kept = marked_sample(&grown, *state);
  struct wo_bookmark whole = {0};
  assert_non_null(find_bookmark(&kept, 0, &whole));
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct wo_text packed = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_bookmark_pack(&whole, &packed);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    wo_text_done(&packed);
  }
  wo_bookmark_done(&whole);
  done(&kept);
  end_files(&grown);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree),
      cmocka_unit_test(test_corpus),
      cmocka_unit_test(test_two_files),
      cmocka_unit_test(test_limits_of_evidence),
      cmocka_unit_test(test_other_bytes),
      cmocka_unit_test(test_evidence_that_is_changed),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_states_that_are_wrong),
      cmocka_unit_test(test_memory_that_is_out),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
