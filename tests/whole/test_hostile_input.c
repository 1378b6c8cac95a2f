/* SPDX-License-Identifier: Apache-2.0 */
/* Input that nobody should have to expect: the program must end soon, with little memory, say in one line what it could not read,
 * exit with 2 then, and still diagnose what it could. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "parsers/base/view.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

static const char oom_line[] =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.38 GiB of which "
    "1.25 GiB is "
    "free. Of the allocated memory 36.53 GiB is allocated by PyTorch, and 1.24 GiB is reserved by PyTorch but unallocated.\n";

enum { PATH_BYTES = 512, SECONDS = 60, MEMORY_BAR_KIB = 64 * 1024, STACK_KIB = 64, BLOCK_BYTES = 64 * 1024 };

static char folder[PATH_BYTES / 2];

static int make_folder(void **state) {
  (void)state;
  return wo_files_scratch(folder, sizeof folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

/* The path of a file in the scratch folder. */
static const char *path_of(const char *name, char *buf) {
  snprintf(buf, PATH_BYTES, "%s/%s", folder, name);
  return buf;
}

static const char *make_file(const char *name, struct wo_view content, char *buf) {
  assert_true(wo_files_write(path_of(name, buf), content));
  return buf;
}

static struct wo_process_result diagnose(const char *first, const char *second) {
  const char *const args[] = {first, second, NULL};
  const struct wo_process_spec spec = {.args = args, .seconds = SECONDS};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.signal != 0) fail_msg("%s: ended by signal %d\n%.2000s", first, result.signal, result.err);
  return result;
}

/* Whether the report reads the message of oom_line. */
static bool is_diagnosed(const struct wo_process_result *result) {
  return wo_view_has(wo_view_of(result->out), "2.00 GiB");
}

/* `path` alone: exit code 2 and one line that names it. Beside a good file: the same line, and the good file's diagnosis. */
static void check_unreadable_from(const char *path, int first, int beside_code) {
  char good[PATH_BYTES];
  make_file("good.err", wo_view_of(oom_line), good);
  for (int with_good = first; with_good <= 1; with_good++) {
    struct wo_process_result result = diagnose(path, with_good ? good : NULL);
    if (result.exit_code != (with_good ? beside_code : 2) || wo_process_count_lines(result.err) != 1 ||
        !wo_view_has(wo_view_of(result.err), path))
      fail_msg("%s: exit %d, standard error:\n%s", path, result.exit_code, result.err);
    if (with_good) assert_true(is_diagnosed(&result));
    wo_process_done(&result);
  }
}

static void check_unreadable(const char *path) {
  check_unreadable_from(path, 0, 2);
}

/* `path` alone is read without a complaint and gives this exit code. */
static void check_readable(const char *path, int exit_code) {
  struct wo_process_result result = diagnose(path, NULL);
  if (result.exit_code != exit_code || result.err_len != 0)
    fail_msg("%s: exit %d, standard error:\n%s", path, result.exit_code, result.err);
  if (exit_code == 1) assert_true(is_diagnosed(&result));
  wo_process_done(&result);
}

/* ---- Files that cannot be read ---- */

static void test_missing_file(void **state) {
  (void)state;
  char path[PATH_BYTES];
  check_unreadable(path_of("missing.err", path));
}

static void test_forbidden_file(void **state) {
  (void)state;
  char path[PATH_BYTES];
  if (geteuid() == 0) skip(); /* root may read everything */
  make_file("forbidden.err", wo_view_of(oom_line), path);
  assert_int_equal(chmod(path, 0), 0);
  check_unreadable(path);
}

static void test_fifo(void **state) {
  (void)state;
  char path[PATH_BYTES];
  assert_int_equal(mkfifo(path_of("fifo.err", path), 0600), 0);
  check_unreadable(path);
}

/* A folder without logs: alone there is nothing to read; beside a file it is none of the jobs, as a folder of checkpoints is. */
static void test_folder(void **state) {
  (void)state;
  char path[PATH_BYTES];
  assert_int_equal(mkdir(path_of("folder.err", path), 0700), 0);
  check_unreadable_from(path, 0, 1);
}

static void test_link_loop(void **state) {
  (void)state;
  char path[PATH_BYTES];
  assert_int_equal(symlink("loop.err", path_of("loop.err", path)), 0);
  check_unreadable(path);
}

/* The first ones are named, the others counted, and the one good file is read. */
static void test_many_unreadable_files(void **state) {
  (void)state;
  enum { COUNT = 6000, NAME_BYTES = 16 };
  static char names[COUNT][NAME_BYTES];
  static const char *args[COUNT + 4];
  char good[PATH_BYTES];
  for (int i = 0; i < COUNT; i++) {
    snprintf(names[i], NAME_BYTES, "no-such-%d", i);
    args[i] = names[i];
  }
  args[COUNT] = make_file("good.err", wo_view_of(oom_line), good);
  struct wo_process_spec spec = {.args = args, .seconds = SECONDS};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  assert_int_equal(result.exit_code, 2);
  assert_int_equal(wo_process_count_lines(result.err), 21);
  assert_true(wo_view_has(wo_view_of(result.err), "whyoom: 5980 more inputs could not be read\n"));
  assert_true(is_diagnosed(&result) && wo_process_count_lines(result.out) < 100);
  wo_process_done(&result);
  args[COUNT + 1] = "--format";
  args[COUNT + 2] = "json";
  assert_true(wo_process_run(&spec, &result));
  assert_true(wo_view_has(wo_view_of(result.out), "\"inputs_left_out\": 4976"));
  wo_process_done(&result);
}

/* ---- Compressed files ---- */

/* Writes oom_line, then `zeros` bytes of padding, compressed. */
static void make_gzip(const char *path, size_t zeros) {
  static const char block[BLOCK_BYTES];
  gzFile file = gzopen(path, "wb1");
  assert_non_null(file);
  gzwrite(file, oom_line, sizeof oom_line - 1);
  for (size_t written = 0; written < zeros; written += sizeof block) gzwrite(file, block, sizeof block);
  assert_int_equal(gzclose(file), Z_OK);
}

static void test_whole_gzip(void **state) {
  (void)state;
  char path[PATH_BYTES];
  make_gzip(path_of("whole.err.gz", path), 0);
  check_readable(path, 1);
}

/* A message behind the last gzip member is read, and a note says from where. */
static void test_text_behind_gzip(void **state) {
  (void)state;
  char path[PATH_BYTES], content[4096];
  gzFile gzip = gzopen(path_of("tail.err.gz", path), "wb");
  assert_non_null(gzip);
  gzputs(gzip, "a\n");
  assert_int_equal(gzclose(gzip), Z_OK);
  FILE *const file = fopen(path, "ab");
  assert_non_null(file);
  const long end = (fseek(file, 0, SEEK_END), ftell(file));
  fputs(oom_line, file);
  assert_int_equal(fclose(file), 0);
  snprintf(content, sizeof content, "plain text behind the compressed part, from byte %ld, was read too", end);
  struct wo_process_result result = diagnose(path, NULL);
  assert_int_equal(result.exit_code, 1);
  assert_int_equal(wo_process_count_lines(result.err), 1);
  assert_true(is_diagnosed(&result) && wo_view_has(wo_view_of(result.err), content));
  wo_process_done(&result);
}

static void test_truncated_gzip(void **state) {
  (void)state;
  char path[PATH_BYTES];
  struct stat info;
  make_gzip(path_of("cut.err.gz", path), BLOCK_BYTES);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(truncate(path, info.st_size - 9), 0);
  check_unreadable(path);
  struct wo_process_result result = diagnose(path, NULL);
  assert_true(is_diagnosed(&result)); /* what came before the cut counts */
  wo_process_done(&result);
}

/* Zeros reach deflate's best ratio, which is above what any log reaches (WO_LIMIT_EXPANSION_RATIO). */
static void test_gzip_bomb(void **state) {
  (void)state;
  char path[PATH_BYTES];
  static const char block[BLOCK_BYTES];
  gzFile file = gzopen(path_of("bomb.err.gz", path), "wb9");
  assert_non_null(file);
  for (size_t written = 0; written < 192u << 20; written += sizeof block) gzwrite(file, block, sizeof block);
  assert_int_equal(gzclose(file), Z_OK);
  check_unreadable_from(path, wo_process_is_sanitized ? 1 : 0, 2);
}

/* ---- Bytes that are no text ---- */

static void test_empty_file(void **state) {
  (void)state;
  char path[PATH_BYTES];
  struct wo_process_result result = diagnose(make_file("empty.err", WO_VIEW(""), path), NULL);
  assert_int_equal(result.exit_code, 2);
  assert_int_equal(result.out_len, 0);
  assert_true(wo_view_has(wo_view_of(result.err), "empty.err: is empty: there is nothing to read\n"));
  wo_process_done(&result);
}

static void test_random_bytes(void **state) {
  (void)state;
  static char bytes[1 << 20];
  char path[PATH_BYTES];
  uint64_t seed = 88172645463325252u;
  for (size_t i = 0; i < sizeof bytes; i++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    bytes[i] = (char)(seed & 0xff);
  }
  bytes[0] = 'x'; /* not the start of something compressed */
  check_unreadable(make_file("random.err", (struct wo_view){bytes, sizeof bytes}, path));
}

static void test_nul_bytes(void **state) {
  (void)state;
  static char bytes[4096 + sizeof oom_line];
  char path[PATH_BYTES];
  bytes[4095] = '\n';
  memcpy(bytes + 4096, oom_line, sizeof oom_line - 1);
  check_readable(make_file("nul.err", (struct wo_view){bytes, sizeof bytes - 1}, path), 1);
}

static void test_terminal_escapes_do_not_pass(void **state) {
  (void)state;
  char path[PATH_BYTES];
  const struct wo_view text = WO_VIEW("\x1b]0;title\x07\x1b[2J\x1b[31mtorch.OutOfMemoryError: CUDA out of memory.\x1b[0m Tried "
                                      "to allocate 2.00 GiB. GPU 0 has a total "
                                      "capacity of 39.38 GiB of which 1.25 GiB is free.\x1b[1A\n");
  struct wo_process_result result = diagnose(make_file("escapes.err", text, path), NULL);
  assert_int_equal(result.exit_code, 1);
  assert_false(wo_view_has(wo_view_of(result.out), "\x1b"));
  wo_process_done(&result);
}

/* Recordings of allocations are for the other flow: alone they must not pass as a job without a failure, and beside a log they
 * are named, with the reason and that they are not used, and change nothing. */
static void test_recordings_are_no_logs(void **state) {
  const struct wo_view recordings[] = {
      WO_VIEW("\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94"),
      WO_VIEW("\x80\x02}q\0(X\x08\0\0\0segmentsq\x01]q\x02"),
      WO_VIEW("(dp0\nVsegments\np1\n(lp2\n"),
      WO_VIEW("{\n \"schemaVersion\": 1,\n \"deviceProperties\": ["),
  };
  (void)state;
  for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
    char path[PATH_BYTES];
    char good[PATH_BYTES];
    make_file("recording", recordings[i], path);
    make_file("good.err", wo_view_of(oom_line), good);
    struct wo_process_result alone = diagnose(path, NULL);
    assert_int_equal(alone.exit_code, 2);
    assert_int_equal(alone.out_len, 0);
    assert_true(wo_view_has(wo_view_of(alone.err), "whyoom replay"));
    wo_process_done(&alone);
    struct wo_process_result beside = diagnose(path, good);
    assert_int_equal(beside.exit_code, 1);
    assert_int_equal(wo_process_count_lines(beside.err), 2);
    assert_true(is_diagnosed(&beside));
    wo_process_done(&beside);
  }
  /* A pickle of something else stays what it was: data that is no text. */
  char path[PATH_BYTES];
  check_unreadable(make_file("other.pickle", WO_VIEW("\x80\x04}\x94\x8c\x05weight"), path));
}

/* ---- One endless line ---- */

/* Writes a line of *context bytes with a message at its end. */
static void write_long_line(int fd, void *context) {
  static char block[BLOCK_BYTES];
  struct wo_view view = {block, sizeof block};
  memset(block, 'x', sizeof block);
  for (size_t rest = *(const size_t *)context; rest > 0; rest -= rest < sizeof block ? rest : sizeof block)
    wo_process_write_view(fd, &view);
  struct wo_view message = wo_view_of(oom_line);
  wo_process_write_view(fd, &message);
}

static void test_endless_line(void **state) {
  (void)state;
  size_t bytes = wo_process_is_sanitized ? (size_t)64 << 20 : (size_t)512 << 20;
  static const char *const args[] = {"-", NULL};
  const struct wo_process_spec spec = {.args = args, .write_stdin = write_long_line, .context = &bytes, .seconds = SECONDS};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.signal != 0) fail_msg("ended by signal %d\n%.2000s", result.signal, result.err);
  assert_int_equal(result.exit_code, 1);
  assert_true(is_diagnosed(&result));
  assert_true(wo_view_has(wo_view_of(result.err), "1 line longer than"));
  if (!wo_process_is_sanitized && result.max_rss_kib > MEMORY_BAR_KIB) fail_msg("%ld KiB of memory", result.max_rss_kib);
  wo_process_done(&result);
}

/* ---- A small stack ---- */

/* Batch systems and users limit the stack; nothing large may lie on it, nor any recursion be deep. */
static void test_small_stack(void **state) {
  (void)state;
  char rules[PATH_BYTES], log[PATH_BYTES];
  static const char nested[] =
      "{\"pattern\": \"deep\", \"kind\": \"note\", \"literals\": [\"allocate\"], \"regex\": "
      "\"((((((((((((((((((((((((((((((((a)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*\"}";
  assert_int_equal(mkdir(path_of("rules", rules), 0700), 0);
  make_file("rules/deep.json", wo_view_of(nested), log);
  make_file("deep.err", wo_view_of(oom_line), log);
  const struct {
    const char *args[8];
    int exit_code;
  } rows[] = {{{log, "--rules", rules, NULL}, 1},
              {{"samples/ddp-8.5b-too-large/slurm-1553046.err", "samples/ddp-8.5b-too-large/slurm-1553046.out",
                "samples/ddp-8.5b-too-large/train_ddp.sbatch", "samples/ddp-8.5b-too-large/sacct-1553046.txt",
                "samples/ddp-8.5b-too-large/scontrol-1553046.txt", NULL},
               1},
              {{"verify", "samples/lora-7b-24g/slurm-90817.err", "samples/lora-7b-24g/run_lora.sh", "--trace",
                "samples/lora-7b-24g/trace-90817.jsonl", "--accept-by-hand", NULL},
               0},
              {{"budget", "--params", "8.5B", "--capacity", "80GiB", NULL}, 1},
              {{"replay", "--sweep", "--capacity", "40GiB", "--torch", "2.4", "tests/recordings/fragmented.jsonl", NULL}, 0},
              {{"rules", "check", NULL}, 0},
              {{"rules", "test", NULL}, 0},
              {{"explain", "fragmentation", NULL}, 0}};
  if (wo_process_is_sanitized) skip(); /* redzones need room */
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_process_spec spec = {.args = rows[i].args, .seconds = SECONDS, .stack_kib = STACK_KIB};
    struct wo_process_result result;
    assert_true(wo_process_run(&spec, &result));
    if (result.signal != 0) fail_msg("%s: signal %d", rows[i].args[0], result.signal);
    if (result.exit_code != rows[i].exit_code) fail_msg("%s: exit %d: %s", rows[i].args[0], result.exit_code, result.err);
    wo_process_done(&result);
  }
  wo_files_remove_scratch(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing_file),
      cmocka_unit_test(test_forbidden_file),
      cmocka_unit_test(test_fifo),
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_link_loop),
      cmocka_unit_test(test_many_unreadable_files),
      cmocka_unit_test(test_whole_gzip),
      cmocka_unit_test(test_text_behind_gzip),
      cmocka_unit_test(test_truncated_gzip),
      cmocka_unit_test(test_gzip_bomb),
      cmocka_unit_test(test_empty_file),
      cmocka_unit_test(test_random_bytes),
      cmocka_unit_test(test_nul_bytes),
      cmocka_unit_test(test_terminal_escapes_do_not_pass),
      cmocka_unit_test(test_recordings_are_no_logs),
      cmocka_unit_test(test_endless_line),
      cmocka_unit_test(test_small_stack),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
