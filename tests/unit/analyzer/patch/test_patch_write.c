/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a patch writes: all of them or none, with their owner and mode, and only if the whole fix is proven. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/patch/patch_internal.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

#define LORA WO_SOURCE_DIR "/samples/lora-7b-24g/"

enum { PATH_BYTES = 600 };

/* A folder with two files. */
struct place {
  char folder[512];
  char a[PATH_BYTES], b[PATH_BYTES], link[PATH_BYTES];
};

static struct place make_place(void) {
  struct place place;
  assert_true(wo_files_scratch(place.folder, sizeof place.folder));
  snprintf(place.a, sizeof place.a, "%s/a.sh", place.folder);
  snprintf(place.b, sizeof place.b, "%s/b.sh", place.folder);
  snprintf(place.link, sizeof place.link, "%s/link.sh", place.folder);
  assert_true(wo_files_write(place.a, WO_VIEW("old a\n")));
  assert_true(wo_files_write(place.b, WO_VIEW("old b\n")));
  return place;
}

/* Asserts what the files hold, and that the folder holds no other. */
static void check_place(const struct place *place, const char *a, const char *b, size_t count) {
  const char *const paths[] = {place->a, place->b}, *const texts[] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    size_t len = 0;
    char *const content = wo_files_read(paths[i], &len);
    assert_non_null(content);
    assert_string_equal(content, texts[i]);
    free(content);
  }
  char command[PATH_BYTES + 64];
  snprintf(command, sizeof command, "test $(ls -A '%s' | wc -l) -eq %zu", place->folder, count);
  assert_int_equal(system(command), 0);
}

/* Writes both files, or the first alone; `told` is a part of the message, NULL where it works. */
static void write_both(const struct place *place, const char *before_b, size_t count, const char *told) {
  const struct wo__patch_change changes[] = {{place->a, WO_VIEW("old a\n"), WO_VIEW("new a\n")},
                                             {place->b, wo_view_of(before_b), WO_VIEW("new b\n")}};
  struct wo_text errors = {0};
  assert_int_equal(wo__patch_write(changes, count, &errors), told == NULL);
  if (told && (!errors.ptr || !strstr(errors.ptr, told))) fail_msg("%s", errors.ptr ? errors.ptr : "no message");
  if (!told) assert_int_equal(errors.len, 0);
  wo_text_done(&errors);
}

static void test_all_or_none(void **state) {
  (void)state;
  const struct place place = make_place();
  /* saved by somebody since it was read */
  write_both(&place, "older b\n", 2, "b.sh: was changed while it was read");
  check_place(&place, "old a\n", "old b\n", 2);
  /* who took the right to write from everybody meant it */
  assert_int_equal(chmod(place.b, 0550), 0);
  write_both(&place, "old b\n", 2, "b.sh: is read-only");
  check_place(&place, "old a\n", "old b\n", 2);
  assert_int_equal(chmod(place.b, 0640), 0);
  assert_int_equal(chmod(place.a, 0751), 0);
  write_both(&place, "old b\n", 2, NULL);
  check_place(&place, "new a\n", "new b\n", 2);
  struct stat info;
  assert_true(stat(place.a, &info) == 0 && (info.st_mode & 07777) == 0751);
  assert_true(stat(place.b, &info) == 0 && (info.st_mode & 07777) == 0640);
  wo_files_remove_scratch(place.folder);
}

/* Two names of one file: one of them would keep the old content, or the edits of one path be lost. */
static void test_names(void **state) {
  (void)state;
  const struct place place = make_place();
  assert_int_equal(link(place.b, place.link), 0);
  write_both(&place, "old b\n", 2, "b.sh: has 2 names (hard links)");
  check_place(&place, "old a\n", "old b\n", 3);
  assert_int_equal(unlink(place.link), 0);
  assert_int_equal(unlink(place.b), 0);
  assert_int_equal(symlink("a.sh", place.b), 0);
  write_both(&place, "old a\n", 2, "b.sh: is given twice");
  check_place(&place, "old a\n", "old a\n", 2);
  wo_files_remove_scratch(place.folder);
}

/* root changes a user's file, and the file stays the user's. */
static void test_owner(void **state) {
  (void)state;
  const struct place place = make_place();
  struct stat info;
  if (geteuid() != 0) skip();
  assert_int_equal(chown(place.a, 12345, 12346), 0);
  assert_int_equal(chmod(place.a, 0750), 0);
  write_both(&place, "", 1, NULL);
  assert_int_equal(stat(place.a, &info), 0);
  assert_true(info.st_uid == 12345 && info.st_gid == 12346 && (info.st_mode & 07777) == 0750);
  wo_files_remove_scratch(place.folder);
}

static void test_failing_allocations(void **state) {
  (void)state;
  const struct place place = make_place();
  const struct wo__patch_change changes[] = {{place.a, WO_VIEW("old a\n"), WO_VIEW("new a\n")},
                                             {place.b, WO_VIEW("old b\n"), WO_VIEW("new b\n")}};
  bool is_done = false;
  for (long n = 1; !is_done; n++) {
    struct wo_text errors = {0};
    assert_true(n < 20);
    wo_fail_alloc_at(n);
    is_done = wo__patch_write(changes, 2, &errors);
    wo_fail_alloc_off();
    wo_text_done(&errors);
    check_place(&place, is_done ? "new a\n" : "old a\n", is_done ? "new b\n" : "old b\n", 2);
  }
  wo_files_remove_scratch(place.folder);
}

/* ---- The program ---- */

/* Copies of a sample's script, which the program is asked to change. */
static int run_write(const struct place *place, const char *const *more, struct wo_process_result *result) {
  const char *args[16] = {"verify", "--patch", "--write", LORA "slurm-90817.err", LORA "slurm-90817.out", place->a};
  for (size_t i = 0; more[i] && i < 8; i++) args[6 + i] = more[i];
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, result));
  return result->exit_code;
}

static void copy_script(const struct place *place) {
  size_t len = 0;
  char *const content = wo_files_read(LORA "run_lora.sh", &len);
  assert_true(content && wo_files_write(place->a, (struct wo_view){content, len}));
  free(content);
}

static bool is_changed(const struct place *place) {
  size_t len = 0;
  char *const now = wo_files_read(place->a, &len), *const before = wo_files_read(LORA "run_lora.sh", &len);
  assert_true(now && before);
  const bool is_same = strcmp(now, before) == 0;
  if (!is_same) assert_non_null(strstr(now, "--gradient_accumulation_steps 16 \\"));
  free(now);
  free(before);
  return !is_same;
}

/* What is asked, the exit code, and what is told. The files change only where the whole fix is proven or accepted, and every
 * input could be read. */
static void test_program(void **state) {
  (void)state;
  static const struct {
    const char *const more[4];
    int code;
    bool is_written;
    const char *told;
  } rows[] = {
      {{"--trace", LORA "trace-90817.jsonl", "--capacity=24.5GiB"}, 0, true, "proven: fix 1 fits"},
      {{"--trace", "none"}, 3, false, "not proven: no fix is shown to fit"},
      {{"--trace", LORA "trace-90817.jsonl"}, 3, false, "because a change of the program is still to be made (--accept-by-hand)"},
      {{"--trace", LORA "trace-90817.jsonl", "--accept-by-hand"}, 0, true, "proven: fix 9 fits"},
      {{"--trace=" LORA "trace-90817.jsonl", "--capacity=24.5GiB", "/no/such/log"},
       2,
       false,
       "--write: nothing is written, because an input could not be read"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct place place = make_place();
    struct wo_process_result result;
    copy_script(&place);
    const int code = run_write(&place, rows[i].more, &result);
    if (code != rows[i].code || !strstr(result.err, rows[i].told)) fail_msg("%zu: %d %s", i, code, result.err);
    if (i != 1) assert_non_null(strstr(result.out, "+    --gradient_accumulation_steps 16 \\"));
    assert_int_equal(is_changed(&place), rows[i].is_written);
    wo_process_done(&result);
    wo_files_remove_scratch(place.folder);
  }
}

/* A file that cannot be changed as it should be is told, and stays. */
static void test_program_refuses(void **state) {
  (void)state;
  static const char *const accepted[] = {"--trace=" LORA "trace-90817.jsonl", "--capacity=24.5GiB", NULL};
  const struct place place = make_place();
  struct wo_process_result result;
  copy_script(&place);
  assert_int_equal(chmod(place.a, 0444), 0);
  assert_int_equal(run_write(&place, accepted, &result), 2);
  assert_non_null(strstr(result.err, "a.sh: is read-only"));
  wo_process_done(&result);
  assert_int_equal(chmod(place.a, 0644), 0);
  assert_int_equal(link(place.a, place.link), 0);
  assert_int_equal(run_write(&place, accepted, &result), 2);
  assert_non_null(strstr(result.err, "a.sh: has 2 names (hard links)"));
  wo_process_done(&result);
  assert_false(is_changed(&place));
  wo_files_remove_scratch(place.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_or_none),         cmocka_unit_test(test_names),   cmocka_unit_test(test_owner),
      cmocka_unit_test(test_failing_allocations), cmocka_unit_test(test_program), cmocka_unit_test(test_program_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
