/* Changed files: scripts, YAML, JSON, Hydra overrides; line ends; files that were changed in between. */
#include "analyzer/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

struct row {
  const char *before;
  uint64_t line;
  const char *key, *value, *to;
  const char *after; /* NULL: refused */
};

static const struct row rows[] = {
    {"a\n  --batch-size 64 \\\nb\n", 2, "batch-size", "64", "16", "a\n  --batch-size 16 \\\nb\n"},
    {"--batch-size=64 --x 64\n", 1, "batch-size", "64", "8", "--batch-size=8 --x 64\n"},
    {"micro_batch_size: 8  # of 64\r\nseq: 8\r\n", 1, "micro_batch_size", "8", "2", "micro_batch_size: 2  # of 64\r\nseq: 8\r\n"},
    {"micro_batch_size: 8", 1, "micro_batch_size", "8", "2", "micro_batch_size: 2"},
    {"{\"micro_batch_size\": 8,\n", 1, "micro_batch_size", "8", "2", "{\"micro_batch_size\": 2,\n"},
    {"export PYTORCH_CUDA_ALLOC_CONF=\"a:1,b:2\"\n", 1, "PYTORCH_CUDA_ALLOC_CONF", "a:1,b:2", "b:2",
     "export PYTORCH_CUDA_ALLOC_CONF=\"b:2\"\n"},
    {"actor.ppo_micro_batch_size_per_gpu=32 \\\n", 1, "ppo_micro_batch_size_per_gpu", "32", "16",
     "actor.ppo_micro_batch_size_per_gpu=16 \\\n"},
    /* the same number elsewhere in the line, a longer key, and a longer number stay */
    {"64 --eval_batch_size 64 --batch_size 64\n", 1, "batch_size", "64", "8", "64 --eval_batch_size 64 --batch_size 8\n"},
    {"batch_size: 640\n", 1, "batch_size", "64", "8", NULL},
    {"batch_size: 32\n", 1, "batch_size", "64", "8", NULL},
    {"other: 64\n", 1, "batch_size", "64", "8", NULL},
    {"batch_size: 64\n", 2, "batch_size", "64", "8", NULL},
    {"", 1, "batch_size", "64", "8", NULL},
    /* new lines: behind the last directive, behind "#!", at the top */
    {"#!/bin/bash\n#SBATCH -n 1\n#SBATCH -c 2\n\nsrun x\n", 0, "", "", "export A=1",
     "#!/bin/bash\n#SBATCH -n 1\n#SBATCH -c 2\nexport A=1\n\nsrun x\n"},
    {"#!/bin/bash\r\n#SBATCH -n 1\r\nsrun x\r\n", 0, "", "", "export A=1",
     "#!/bin/bash\r\n#SBATCH -n 1\r\nexport A=1\r\nsrun x\r\n"},
    {"#!/bin/bash\nsrun x\n", 0, "", "", "export A=1", "#!/bin/bash\nexport A=1\nsrun x\n"},
    {"srun x\n", 0, "", "", "export A=1", "export A=1\nsrun x\n"},
    {"#SBATCH -n 1", 0, "", "", "export A=1", "#SBATCH -n 1\nexport A=1\n"},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static struct wo_patch_edit edit_of(const struct row *row) {
  return (struct wo_patch_edit){.path = WO_VIEW("f"),
                                .line = row->line,
                                .key = wo_view_of(row->key),
                                .value = wo_view_of(row->value),
                                .to = wo_view_of(row->to)};
}

static void test_apply(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) {
    const struct wo_patch_edit edit = edit_of(&rows[i]);
    struct wo_text text = {0};
    struct wo_err err = {0};
    const enum wo_status status = wo_patch_apply(wo_view_of(rows[i].before), &edit, 1, WO_VIEW("f"), &text, &err);
    if (!rows[i].after) {
      if (status != WO_E_RANGE) fail_msg("row %zu is not refused", i);
      assert_true(err.message[0] != '\0');
      continue;
    }
    if (status != WO_OK) fail_msg("row %zu: %s", i, err.message);
    if (!wo_view_equal((struct wo_view){text.ptr, text.len}, wo_view_of(rows[i].after)))
      fail_msg("row %zu: %.*s", i, (int)text.len, text.ptr);
    wo_text_done(&text);
  }
}

/* Two settings on one line, and edits of another file. */
static void test_several(void **state) {
  (void)state;
  const struct wo_patch_edit edits[] = {
      {.path = WO_VIEW("f"), .line = 1, .key = WO_VIEW("bs"), .value = WO_VIEW("8"), .to = WO_VIEW("16")},
      {.path = WO_VIEW("f"), .line = 1, .key = WO_VIEW("acc"), .value = WO_VIEW("2"), .to = WO_VIEW("1")},
      {.path = WO_VIEW("g"), .line = 1, .key = WO_VIEW("bs"), .value = WO_VIEW("3"), .to = WO_VIEW("4")},
  };
  struct wo_text text = {0};
  struct wo_err err = {0};
  assert_int_equal(wo_patch_apply(WO_VIEW("--bs 8 --acc 2\n"), edits, 3, WO_VIEW("f"), &text, &err), WO_OK);
  assert_true(wo_view_is((struct wo_view){text.ptr, text.len}, "--bs 16 --acc 1\n"));
  wo_text_done(&text);
}

static void expect_diff(const char *before, const char *after, const char *expected) {
  struct wo_text text = {0};
  wo_patch_diff(WO_VIEW("f"), wo_view_of(before), wo_view_of(after), &text);
  if (!wo_view_is((struct wo_view){text.ptr, text.len}, expected)) fail_msg("%.*s", (int)text.len, text.ptr ? text.ptr : "");
  wo_text_done(&text);
}

static void test_diff(void **state) {
  (void)state;
  expect_diff("a\n", "a\n", "");
  expect_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
              "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
  expect_diff("1\n2\n", "1\nx\n2\n", "--- f\n+++ f\n@@ -1,2 +1,3 @@\n 1\n+x\n 2\n");
  expect_diff("1\n", "x\n1\n", "--- f\n+++ f\n@@ -1,1 +1,2 @@\n+x\n 1\n");
  expect_diff("1", "2", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n");
  expect_diff("a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n",
              "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+B\n");
}

/* patch(1) must take what is printed; skipped where it is not installed. */
static void test_diff_applies(void **state) {
  (void)state;
  char folder[512], path[600], command[1400];
  assert_true(wo_files_scratch(folder, sizeof folder));
  for (size_t i = 0; i < ROWS; i++) {
    const struct wo_patch_edit edit = edit_of(&rows[i]);
    struct wo_text text = {0}, diff = {0};
    struct wo_err err = {0};
    if (!rows[i].after) continue;
    assert_int_equal(wo_patch_apply(wo_view_of(rows[i].before), &edit, 1, WO_VIEW("f"), &text, &err), WO_OK);
    wo_patch_diff(WO_VIEW("f"), wo_view_of(rows[i].before), (struct wo_view){text.ptr, text.len}, &diff);
    snprintf(path, sizeof path, "%s/f", folder);
    assert_true(wo_files_write(path, wo_view_of(rows[i].before)));
    snprintf(path, sizeof path, "%s/d", folder);
    assert_true(wo_files_write(path, (struct wo_view){diff.ptr, diff.len}));
    snprintf(command, sizeof command, "cd %s && command -v patch >/dev/null || exit 77; cd %s && patch --binary -s -p0 f < d",
             folder, folder);
    const int code = system(command);
    if (WEXITSTATUS(code) != 77) {
      snprintf(path, sizeof path, "%s/f", folder);
      size_t len = 0;
      char *const content = wo_files_read(path, &len);
      if (code != 0 || !content || strcmp(content, rows[i].after) != 0) fail_msg("row %zu: patch(1) does not take it", i);
      free(content);
    }
    wo_text_done(&text);
    wo_text_done(&diff);
  }
  wo_files_remove_scratch(folder);
}

static void test_write(void **state) {
  (void)state;
  char folder[512], path[600], link_path[600];
  struct wo_err err = {0};
  struct stat info;
  size_t len = 0;
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/job.sh", folder);
  snprintf(link_path, sizeof link_path, "%s/link.sh", folder);
  assert_true(wo_files_write(path, WO_VIEW("old\n")));
  assert_int_equal(chmod(path, 0750), 0);
  assert_int_equal(wo_patch_write(path, WO_VIEW("old\n"), WO_VIEW("new\n"), &err), WO_OK);
  char *content = wo_files_read(path, &len);
  assert_string_equal(content, "new\n");
  free(content);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0750);
  /* changed since it was read: refused, and nothing is left behind */
  assert_int_equal(wo_patch_write(path, WO_VIEW("old\n"), WO_VIEW("newer\n"), &err), WO_E_RANGE);
  assert_int_equal(symlink(path, link_path), 0);
  assert_int_equal(wo_patch_write(link_path, WO_VIEW("new\n"), WO_VIEW("newer\n"), &err), WO_E_KIND);
  assert_int_equal(unlink(link_path), 0);
  size_t count = 0;
  char **const names = wo_files_names(folder, "", &count);
  assert_int_equal(count, 1);
  wo_files_free_names(names, count);
  assert_int_equal(wo_patch_write("/no/such/file", WO_VIEW(""), WO_VIEW("x"), &err), WO_E_IO);
  wo_files_remove_scratch(folder);
}

/* The whole way: without --write nothing is written; with it the batch is 1 and the accumulation 16; a second run is refused,
 * since the log's job had other settings. */
static void test_program(void **state) {
  (void)state;
  char folder[512], script[600];
  size_t len = 0;
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(script, sizeof script, "%s/run_lora.sh", folder);
  char *const before = wo_files_read(WO_SOURCE_DIR "/samples/lora-7b-24g/run_lora.sh", &len);
  assert_non_null(before);
  assert_true(wo_files_write(script, (struct wo_view){before, len}));
  const char *args[] = {"verify", "--patch", "samples/lora-7b-24g/slurm-90817.err",   "samples/lora-7b-24g/slurm-90817.out",
                        script,   "--trace", "samples/lora-7b-24g/trace-90817.jsonl", NULL,
                        NULL};
  struct wo_process_result result;
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &result));
  assert_int_equal(result.exit_code, 0);
  wo_process_done(&result);
  char *content = wo_files_read(script, &len);
  assert_string_equal(content, before);
  free(content);
  args[7] = "--write";
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &result));
  assert_int_equal(result.exit_code, 0);
  assert_non_null(strstr(result.out, "+    --gradient_accumulation_steps 16 \\"));
  wo_process_done(&result);
  content = wo_files_read(script, &len);
  assert_non_null(strstr(content, "--per_device_train_batch_size 1 \\"));
  assert_non_null(strstr(content, "--gradient_accumulation_steps 16 \\"));
  free(content);
  free(before);
  wo_files_remove_scratch(folder);
}

static void test_failing_allocations(void **state) {
  (void)state;
  const struct wo_patch_edit edit = edit_of(&rows[0]);
  for (long n = 1; n < 20; n++) {
    struct wo_text text = {0};
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_patch_apply(wo_view_of(rows[0].before), &edit, 1, WO_VIEW("f"), &text, &err);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) assert_int_equal(status, WO_OK);
    if (status == WO_OK) assert_true(wo_view_is((struct wo_view){text.ptr, text.len}, rows[0].after));
    wo_text_done(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_apply),
      cmocka_unit_test(test_several),
      cmocka_unit_test(test_diff),
      cmocka_unit_test(test_diff_applies),
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_program),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
