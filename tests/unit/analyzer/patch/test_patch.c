/* SPDX-License-Identifier: Apache-2.0 */
/* Changed files: scripts, YAML, JSON, Hydra overrides; line ends; files that were changed in between. */
#include "analyzer/patch/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "analyzer/patch/patch_internal.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

struct row {
  const char *before;
  uint64_t line;
  const char *key, *value, *to;
  const char *after; /* NULL: refused */
  bool is_command;
  uint64_t seen; /* offset of the key, where the diagnosis tells it, and one more */
};

static const struct row rows[] = {
    {"a\n  --batch-size 64 \\\nb\n", 2, "batch-size", "64", "16", "a\n  --batch-size 16 \\\nb\n", false, 0},
    {"--batch-size=64 --x 64\n", 1, "batch-size", "64", "8", "--batch-size=8 --x 64\n", false, 0},
    {"micro_batch_size: 8  # of 64\r\nseq: 8\r\n", 1, "micro_batch_size", "8", "2", "micro_batch_size: 2  # of 64\r\nseq: 8\r\n",
     false, 0},
    {"micro_batch_size: 8", 1, "micro_batch_size", "8", "2", "micro_batch_size: 2", false, 0},
    {"{\"micro_batch_size\": 8,\n", 1, "micro_batch_size", "8", "2", "{\"micro_batch_size\": 2,\n", false, 0},
    {"export PYTORCH_CUDA_ALLOC_CONF=\"a:1,b:2\"\n", 1, "PYTORCH_CUDA_ALLOC_CONF", "a:1,b:2", "b:2",
     "export PYTORCH_CUDA_ALLOC_CONF=\"b:2\"\n", false, 0},
    {"actor.ppo_micro_batch_size_per_gpu=32 \\\n", 1, "ppo_micro_batch_size_per_gpu", "32", "16",
     "actor.ppo_micro_batch_size_per_gpu=16 \\\n", false, 0},
    /* the same number elsewhere in the line, a longer key, and a longer number stay */
    {"64 --eval_batch_size 64 --batch_size 64\n", 1, "batch_size", "64", "8", "64 --eval_batch_size 64 --batch_size 8\n", false,
     0},
    {"batch_size: 640\n", 1, "batch_size", "64", "8", NULL, false, 0},
    {"batch_size: 32\n", 1, "batch_size", "64", "8", NULL, false, 0},
    {"other: 64\n", 1, "batch_size", "64", "8", NULL, false, 0},
    {"batch_size: 64\n", 2, "batch_size", "64", "8", NULL, false, 0},
    {"", 1, "batch_size", "64", "8", NULL, false, 0},
    /* new lines: behind the last directive, behind "#!", at the top */
    {"#!/bin/bash\n#SBATCH -n 1\n#SBATCH -c 2\n\nsrun x\n", 0, "", "", "export A=1",
     "#!/bin/bash\n#SBATCH -n 1\n#SBATCH -c 2\nexport A=1\n\nsrun x\n", false, 0},
    {"#!/bin/bash\r\n#SBATCH -n 1\r\nsrun x\r\n", 0, "", "", "export A=1",
     "#!/bin/bash\r\n#SBATCH -n 1\r\nexport A=1\r\nsrun x\r\n", false, 0},
    {"#!/bin/bash\nsrun x\n", 0, "", "", "export A=1", "#!/bin/bash\nexport A=1\nsrun x\n", false, 0},
    {"srun x\n", 0, "", "", "export A=1", "export A=1\nsrun x\n", false, 0},
    {"#SBATCH -n 1", 0, "", "", "export A=1", "#SBATCH -n 1\nexport A=1\n", false, 0},
    /* sbatch reads directives up to the first command: what a script writes into another is none */
    {"#!/bin/sh\n\n# job\n#SBATCH -n 1\ncat <<E\n#SBATCH -n 2\nE\n", 0, "", "", "export A=1",
     "#!/bin/sh\n\n# job\n#SBATCH -n 1\nexport A=1\ncat <<E\n#SBATCH -n 2\nE\n", false, 0},
    {"#!/usr/bin/env bash\n", 0, "", "", "export A=1", "#!/usr/bin/env bash\nexport A=1\n", false, 0},
    {"#!/bin/bash -l\r\nx\r\n", 0, "", "", "export A=1", "#!/bin/bash -l\r\nexport A=1\r\nx\r\n", false, 0},
    {"#!/bin/csh\n#SBATCH -n 1\n", 0, "", "", "export A=1", NULL, false, 0},
    {"#!/usr/bin/env python3\n#SBATCH -n 1\n", 0, "", "", "export A=1", NULL, false, 0},
    /* a name that ends like the key is another setting */
    {"x --eval-batch-size 64 --batch-size 64\n", 1, "batch-size", "64", "8", "x --eval-batch-size 64 --batch-size 8\n", false, 0},
    {"x --eval-batch-size 64\n", 1, "batch-size", "64", "8", NULL, false, 0},
    {"x eval.bs=8 bs=8\n", 1, "bs", "8", "2", "x eval.bs=8 bs=2\n", true, 0},
    /* of two on a line the one that the diagnosis saw; without that none */
    {"{\"a\": {\"bs\": 8}, \"b\": {\"bs\": 8}}", 1, "bs", "8", "2", "{\"a\": {\"bs\": 8}, \"b\": {\"bs\": 2}}", false, 25},
    {"{\"a\": {\"bs\": 8}, \"b\": {\"bs\": 8}}", 1, "bs", "8", "2", NULL, false, 0},
    {"{\"a\": {\"bs\": 8}, \"b\": {\"bs\": 8}}", 1, "bs", "8", "2", NULL, false, 12},
    /* of a flag the last one counts, so that all of its command are changed, and none of another command */
    {"a --bs 8 \\\n  --lr 1 --bs 8 --bs=8\nb --bs 8\n", 1, "bs", "8", "2", "a --bs 2 \\\n  --lr 1 --bs 2 --bs=2\nb --bs 8\n",
     true, 5},
    {"a --bs 8\nb --bs 8 \\\n --bs 8", 3, "bs", "8", "2", "a --bs 8\nb --bs 2 \\\n --bs 2", true, 0},
    {"bs: '8' # 8\nbs = \"8\"\n", 2, "bs", "8", "16", "bs: '8' # 8\nbs = \"16\"\n", false, 0},
    {"\x1B[1mbs: 8\x1B[0m\n", 1, "bs", "8", "2", NULL, false, 0},
    {"bs: 8.5\n", 1, "bs", "8", "2", NULL, false, 0},
    {"bs: 8\n", 1, "bs", "", "2", NULL, false, 0},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static struct wo_patch_edit edit_of(const struct row *row) {
  return (struct wo_patch_edit){.path = WO_VIEW("f"),
                                .line = row->line,
                                .byte = row->seen > 0 ? row->seen - 1 : WO_PATCH_ANYWHERE,
                                .is_command = row->is_command,
                                .key = wo_view_of(row->key),
                                .value = wo_view_of(row->value),
                                .to = wo_view_of(row->to)};
}

static void test_apply(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) {
    const struct wo_patch_edit edit = edit_of(&rows[i]);
    struct wo_patched made = {0};
    struct wo_err err = {0};
    const enum wo_status status = wo_patch_apply(wo_view_of(rows[i].before), &edit, 1, WO_VIEW("f"), &made, &err);
    if (!rows[i].after) {
      if (status != WO_E_RANGE && status != WO_E_KIND) fail_msg("row %zu is not refused", i);
      assert_true(err.message[0] != '\0');
      continue;
    }
    if (status != WO_OK) fail_msg("row %zu: %s", i, err.message);
    if (!wo_view_equal((struct wo_view){made.after.ptr, made.after.len}, wo_view_of(rows[i].after)))
      fail_msg("row %zu: %.*s", i, (int)made.after.len, made.after.ptr);
    wo_patched_done(&made);
  }
}

/* Two settings on one line, and edits of another file. */
static void test_several(void **state) {
  (void)state;
  const struct wo_patch_edit edits[] = {
      {.path = WO_VIEW("f"),
       .line = 1,
       .byte = WO_PATCH_ANYWHERE,
       .key = WO_VIEW("bs"),
       .value = WO_VIEW("8"),
       .to = WO_VIEW("16")},
      {.path = WO_VIEW("f"),
       .line = 1,
       .byte = WO_PATCH_ANYWHERE,
       .key = WO_VIEW("acc"),
       .value = WO_VIEW("2"),
       .to = WO_VIEW("1")},
      {.path = WO_VIEW("g"),
       .line = 1,
       .byte = WO_PATCH_ANYWHERE,
       .key = WO_VIEW("bs"),
       .value = WO_VIEW("3"),
       .to = WO_VIEW("4")},
  };
  struct wo_patched made = {0};
  struct wo_err err = {0};
  assert_int_equal(wo_patch_apply(WO_VIEW("--bs 8 --acc 2\n"), edits, 3, WO_VIEW("f"), &made, &err), WO_OK);
  assert_true(wo_view_is((struct wo_view){made.after.ptr, made.after.len}, "--bs 16 --acc 1\n"));
  wo_patched_done(&made);
}

/* A flag that stands more often in one command than a patch changes is refused, not changed in part. */
static void test_many_places(void **state) {
  (void)state;
  enum { PLACES = 100 };
  struct wo_text before = {0};
  wo_text_add(&before, "a");
  for (size_t i = 0; i < PLACES; i++) wo_text_add(&before, " --bs 8");
  const struct wo_patch_edit edit = {.path = WO_VIEW("f"),
                                     .line = 1,
                                     .byte = WO_PATCH_ANYWHERE,
                                     .is_command = true,
                                     .key = WO_VIEW("bs"),
                                     .value = WO_VIEW("8"),
                                     .to = WO_VIEW("2")};
  struct wo_patched made = {0};
  struct wo_err err = {0};
  assert_int_equal(wo_patch_apply(wo_view_of(before.ptr), &edit, 1, WO_VIEW("f"), &made, &err), WO_E_RANGE);
  assert_non_null(strstr(err.message, "too many places"));
  wo_text_done(&before);
}

/* Lines as they were and as they are, "" for none. */
struct pair {
  const char *old, *now;
};

enum { PAIRS_MAX = 12 };

static void test_hunks(void **state) {
  (void)state;
  static const struct {
    struct pair pairs[PAIRS_MAX]; /* up to the first without both */
    const char *expected;
  } table[] = {
      {{{"a\n", "a\n"}}, ""},
      {{{"1\n", "1\n"},
        {"2\n", "2\n"},
        {"3\n", "3\n"},
        {"4\n", "4\n"},
        {"5\n", "x\n"},
        {"6\n", "6\n"},
        {"7\n", "7\n"},
        {"8\n", "8\n"},
        {"9\n", "9\n"}},
       "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
      {{{"1\n", "1\n"}, {"", "x\n"}, {"2\n", "2\n"}}, "@@ -1,2 +1,3 @@\n 1\n+x\n 2\n"},
      {{{"", "x\n"}, {"1\n", "1\n"}}, "@@ -1,1 +1,2 @@\n+x\n 1\n"},
      {{{"", "x\n"}}, "@@ -0,0 +1,1 @@\n+x\n"},
      {{{"1", "2"}}, "@@ -1,1 +1,1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n"},
      {{{"1\n", "1\n"}, {"2\n", "x\n"}, {"3\n", "y\n"}}, "@@ -1,3 +1,3 @@\n 1\n-2\n-3\n+x\n+y\n"},
      {{{"1\n", "x\n"}, {"2\n", "y\n"}, {"3\n", "3\n"}, {"4\n", "z\n"}, {"", "n\n"}, {"5\n", "5\n"}},
       "@@ -1,5 +1,6 @@\n-1\n-2\n+x\n+y\n 3\n-4\n+z\n+n\n 5\n"},
      {{{"1\n", "x\n"}, {"2", "y"}},
       "@@ -1,2 +1,2 @@\n-1\n-2\n\\ No newline at end of file\n+x\n+y\n\\ No newline at end of file\n"},
      {{{"a\n", "A\n"},
        {"1\n", "1\n"},
        {"2\n", "2\n"},
        {"3\n", "3\n"},
        {"4\n", "4\n"},
        {"5\n", "5\n"},
        {"6\n", "6\n"},
        {"7\n", "7\n"},
        {"8\n", "8\n"},
        {"b\n", "B\n"}},
       "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+B\n"},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct wo_text text = {0};
    struct wo__patch_hunks hunks = {.out = &text};
    for (const struct pair *pair = table[i].pairs; pair->old != NULL; pair++)
      wo__patch_hunks_line(&hunks, wo_view_of(pair->old), wo_view_of(pair->now));
    wo__patch_hunks_end(&hunks);
    if (!wo_view_is((struct wo_view){text.ptr, text.len}, table[i].expected))
      fail_msg("%zu: %.*s", i, (int)text.len, text.ptr ? text.ptr : "");
    wo_text_done(&text);
  }
}

/* Names as both readers of diffs take them. */
static void test_names(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"f", "--- a/f\n+++ b/f\n"},
      {"jobs/a b.sh", "--- a/jobs/a b.sh\t\n+++ b/jobs/a b.sh\t\n"},
      {"a\"b\\c\n", "--- \"a/a\\\"b\\\\c\\012\"\n+++ \"b/a\\\"b\\\\c\\012\"\n"},
      {"\xC3\xA4.yaml", "--- a/\xC3\xA4.yaml\n+++ b/\xC3\xA4.yaml\n"},
      {"a\xE2\x80\xAE\xC3\xA4\xFF", "--- \"a/a\\342\\200\\256\xC3\xA4\\377\"\n+++ \"b/a\\342\\200\\256\xC3\xA4\\377\"\n"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct wo_text text = {0};
    wo_patch_header(wo_view_of(names[i][0]), &text);
    if (!wo_view_is((struct wo_view){text.ptr, text.len}, names[i][1])) fail_msg("%zu: %.*s", i, (int)text.len, text.ptr);
    wo_text_done(&text);
  }
}

/* Whether a program of the machine makes `expected` of the diff; true, too, where it is not installed. */
static bool is_applied(const char *folder, const char *name, const struct row *row, const char *program) {
  char path[700], command[2400];
  size_t len = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_true(wo_files_write(path, wo_view_of(row->before)));
  const int word = (int)strcspn(program, " ");
  snprintf(command, sizeof command, "cd '%s' && command -v %.*s >/dev/null || exit 77; %s < d", folder, word, program, program);
  const int code = system(command);
  if (WEXITSTATUS(code) == 77) return true;
  char *const content = wo_files_read(path, &len);
  const bool is_right = code == 0 && content && len == strlen(row->after) && memcmp(content, row->after, len) == 0;
  free(content);
  return is_right;
}

/* patch(1) and git must take what is printed, for every name. */
static void test_diff_applies(void **state) {
  (void)state;
  static const char *const names[] = {"f", "my jobs/train a.sh", "q\"uote\\.yaml"};
  char folder[512], path[700];
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/my jobs", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  for (size_t i = 0; i < ROWS; i++) {
    const char *const name = names[i % (sizeof names / sizeof names[0])];
    const struct wo_patch_edit edit = edit_of(&rows[i]);
    struct wo_patched made = {0};
    struct wo_text diff = {0};
    struct wo_err err = {0};
    if (!rows[i].after) continue;
    assert_int_equal(wo_patch_apply(wo_view_of(rows[i].before), &edit, 1, WO_VIEW("f"), &made, &err), WO_OK);
    wo_patch_header(wo_view_of(name), &diff);
    wo_text_add_view(&diff, (struct wo_view){made.hunks.ptr, made.hunks.len});
    snprintf(path, sizeof path, "%s/d", folder);
    assert_true(wo_files_write(path, (struct wo_view){diff.ptr, diff.len}));
    if (!is_applied(folder, name, &rows[i], "patch -s -p1")) fail_msg("row %zu: patch(1) does not take it", i);
    if (!is_applied(folder, name, &rows[i], "git apply --whitespace=nowarn")) fail_msg("row %zu: git does not take it", i);
    wo_patched_done(&made);
    wo_text_done(&diff);
  }
  wo_files_remove_scratch(folder);
}

/* Shell variables that give a flag its value. */
static void test_variables(void **state) {
  (void)state;
  static const struct {
    const char *script, *key, *value;
    uint64_t line; /* 0: none */
    const char *name;
  } table[] = {
      {"MB=8\nsrun x --micro-batch $MB\n", "micro_batch", "8", 1, "MB"},
      {"#MB=4\nexport MB='8' # big\nx --micro-batch=\"${MB}\" \\\n", "micro-batch", "8", 2, "MB"},
      {"x micro_batch=$MB\nMB=8;\n", "micro_batch", "8", 2, "MB"},
      {"MB=8\n# x --micro-batch $MB\n", "micro_batch", "8", 0, NULL},
      {"MB=4\nMB=8\nx --micro-batch $MB\n", "micro_batch", "8", 0, NULL},
      {"MB=$1\nx --micro-batch $MB\n", "micro_batch", "8", 0, NULL},
      {"MB=80\nx --micro-batch $MB\n", "micro_batch", "8", 0, NULL},
      {"x --micro-batch ${MB:-8}\n", "micro_batch", "8", 0, NULL},
      {"MB=8\nx --eval_micro_batch $MB\n", "micro_batch", "8", 0, NULL},
      {"MB=8\nx --micro-batch 8\n", "micro_batch", "8", 0, NULL},
      {"", "micro_batch", "8", 0, NULL},
      {"MB=8\nx --micro-batch", "micro_batch", "8", 0, NULL},
      {"MB=8\nx --micro-batch ${MB", "micro_batch", "8", 0, NULL},
      {"MB=8\nx --micro-batch $MB\n", "", "8", 0, NULL},
      {"MB=8\nx --micro-batch $MB\n", "micro_batch", "", 0, NULL},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct wo_patch_edit edit = {.line = 0};
    const bool is_found =
        wo__patch_find_variable(wo_view_of(table[i].script), wo_view_of(table[i].key), wo_view_of(table[i].value), &edit);
    if (is_found != (table[i].line > 0) || edit.line != table[i].line) fail_msg("%zu: line %u", i, (unsigned)edit.line);
    if (is_found) assert_true(wo_view_is(edit.key, table[i].name));
  }
}

static void test_find_left(void **state) {
  (void)state;
  const struct wo_patch_edit edit = {.key = WO_VIEW("bs"), .value = WO_VIEW("8")};
  const struct wo_view content = WO_VIEW("bs: 8\n# bs: 8\nbs: 16\n  bs: 8\n");
  assert_int_equal(wo_patch_find_left(content, &edit, 1), 1);
  assert_int_equal(wo_patch_find_left(content, &edit, 2), 4);
  assert_int_equal(wo_patch_find_left(content, &edit, 5), 0);
}

/* ---- The program ---- */

#define LORA "samples/lora-7b-24g/"
#define PRETRAIN "samples/pretrain-512m-sequence/"
#define OOM                                                                                                                      \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which "    \
  "402.00 MiB is free. Including non-PyTorch memory, this process has 23.22 GiB memory in use. Of the allocated memory "         \
  "12.12 GiB is allocated by PyTorch, and 10.60 GiB is reserved by PyTorch but unallocated.\n"

/* A copy of a sample's script in another folder, under another name, with other line ends. */
struct copy {
  char folder[512], script[700];
  char *before;
  size_t len;
};

static void make_copy(struct copy *copy, const char *name, bool has_crlf, bool has_end) {
  size_t len = 0;
  char *const content = wo_files_read(WO_SOURCE_DIR "/" LORA "run_lora.sh", &len);
  assert_non_null(content);
  assert_true(wo_files_scratch(copy->folder, sizeof copy->folder));
  snprintf(copy->script, sizeof copy->script, "%s/%s", copy->folder, name);
  copy->before = calloc(2 * len + 1, 1);
  copy->len = 0;
  assert_non_null(copy->before);
  for (size_t i = 0; i < len; i++) {
    if (content[i] == '\n' && has_crlf) copy->before[copy->len++] = '\r';
    copy->before[copy->len++] = content[i];
  }
  if (!has_end) copy->len -= has_crlf ? 2 : 1;
  assert_true(wo_files_write(copy->script, (struct wo_view){copy->before, copy->len}));
  free(content);
}

static void drop_copy(struct copy *copy) {
  free(copy->before);
  wo_files_remove_scratch(copy->folder);
}

static int run_copy(const struct copy *copy, const char *write, struct wo_process_result *result) {
  const char *args[] = {"verify",     "--patch", LORA "slurm-90817.err",   LORA "slurm-90817.out",
                        copy->script, "--trace", LORA "trace-90817.jsonl", write,
                        NULL};
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, result));
  return result->exit_code;
}

static bool has_content(const char *path, const char *content, size_t len) {
  size_t now_len = 0;
  char *const now = wo_files_read(path, &now_len);
  const bool is_same = now && now_len == len && memcmp(now, content, len) == 0;
  free(now);
  return is_same;
}

/* The diff alone is the output, and without --write nothing is written. With it neither: the fix needs a change of the program as
 * well, and a part of it was not shown to fit. */
static void test_program(void **state) {
  (void)state;
  struct copy copy;
  struct wo_process_result result;
  make_copy(&copy, "run_lora.sh", false, true);
  assert_int_equal(run_copy(&copy, NULL, &result), 3);
  assert_int_equal(strncmp(result.out, "--- a/", 6), 0);
  assert_non_null(strstr(result.err, "proven: fix 9 fits"));
  assert_non_null(strstr(result.err, "apply it with patch -d / -p1"));
  wo_process_done(&result);
  assert_true(has_content(copy.script, copy.before, copy.len));
  assert_int_equal(run_copy(&copy, "--write", &result), 3);
  assert_non_null(strstr(result.out, "+    --gradient_accumulation_steps 16 \\"));
  assert_non_null(strstr(result.err, "--write: nothing is written, because a change of the program is still to be made"));
  wo_process_done(&result);
  assert_true(has_content(copy.script, copy.before, copy.len));
  assert_int_equal(run_copy(&copy, "--accept-by-hand", &result), 0); /* the rest is then the whole patch */
  assert_null(strstr(result.err, "is not in the patch"));
  wo_process_done(&result);
  drop_copy(&copy);
}

/* A fix that needs a change of the program as well is not in its patch alone: the exit code says so, and the report what is left.
 * One that is set in files alone is whole. */
static void test_part_and_whole(void **state) {
  (void)state;
  static const struct {
    const char *const args[7];
    int code;
    bool is_whole;
  } table[] = {{{"verify", "--patch", LORA "slurm-90817.err", LORA "slurm-90817.out", LORA "run_lora.sh",
                 "--trace=" LORA "trace-90817.jsonl"},
                3,
                false},
               {{"verify", "--patch", PRETRAIN "slurm-218391.err", PRETRAIN "slurm-218391.out", PRETRAIN "pretrain_512m.yaml",
                 "--accept-reconstructed"},
                0,
                true}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct wo_process_result result;
    assert_true(wo_process_run(&(struct wo_process_spec){.args = table[i].args}, &result));
    assert_int_equal(result.exit_code, table[i].code);
    assert_int_equal(!strstr(result.err, "by hand: optimizer = "), table[i].is_whole);
    assert_int_equal(!strstr(result.err, "is not in the patch"), table[i].is_whole);
    assert_int_equal(!strstr(result.err, "Only all of it together is shown to fit"), table[i].is_whole);
    wo_process_done(&result);
  }
}

/* The JSON report holds the same diff, byte by byte; without --patch it is null. */
static void test_in_json(void **state) {
  (void)state;
  struct wo_process_result text, result;
  const char *args[] = {"verify",
                        PRETRAIN "slurm-218391.err",
                        PRETRAIN "slurm-218391.out",
                        PRETRAIN "pretrain_512m.yaml",
                        "--accept-reconstructed",
                        "--patch",
                        NULL,
                        NULL};
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &text));
  assert_true(text.exit_code == 0 && strstr(text.out, "\n@@ "));
  for (int has_patch = 0; has_patch < 2; has_patch++) {
    args[5] = "--format=json";
    args[6] = has_patch ? "--patch" : NULL;
    assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &result));
    cJSON *const root = cJSON_ParseWithLength(result.out, result.out_len);
    const cJSON *const patch = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "verify"), "patch");
    assert_non_null(patch);
    if (has_patch) assert_string_equal(cJSON_GetStringValue(patch), text.out);
    if (!has_patch) assert_true(cJSON_IsNull(patch));
    cJSON_Delete(root);
    wo_process_done(&result);
  }
  wo_process_done(&text);
}

/* What is printed applies, for scripts of any kind. */
static void test_printed_diffs_apply(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool has_crlf, has_end;
  } kinds[] = {{"run.sh", false, true}, {"my run.sh", true, true}, {"run.sh", false, false}, {"r\"un.sh", true, false}};
  if (system("command -v git >/dev/null && command -v patch >/dev/null") != 0) skip();
  const size_t count = wo_process_is_sanitized ? 1 : sizeof kinds / sizeof kinds[0];
  for (size_t i = 0; i < count; i++) {
    struct copy copy;
    struct wo_process_result result;
    char path[700], command[2600];
    size_t len = 0;
    make_copy(&copy, kinds[i].name, kinds[i].has_crlf, kinds[i].has_end);
    assert_int_equal(run_copy(&copy, "--width=100", &result), 3);
    snprintf(path, sizeof path, "%s/d", copy.folder);
    assert_true(wo_files_write(path, (struct wo_view){result.out, result.out_len}));
    snprintf(command, sizeof command, "cd / && git apply --check '%s' && patch -s -p1 < '%s'", path, path);
    if (system(command) != 0) fail_msg("%zu: %s", i, result.out);
    wo_process_done(&result);
    char *const after = wo_files_read(copy.script, &len);
    assert_int_equal(len, copy.len + 1); /* 2 -> 1, 8 -> 16 */
    assert_non_null(strstr(after, "--per_device_train_batch_size 1 \\"));
    free(after);
    drop_copy(&copy);
  }
}

/* As people type it: in the job's folder, through a pipe. */
static void test_pipe(void **state) {
  (void)state;
  static const struct {
    const char *sample, *line, *file;
  } pipes[] = {
      {LORA, "cd '%s' && %s verify --patch slurm-90817.* run_lora.sh --trace trace-90817.jsonl 2>/dev/null | git apply",
       "run_lora.sh"},
      {PRETRAIN,
       "cd '%s' && %s verify --patch --accept-reconstructed slurm-218391.* pretrain_512m.yaml 2>/dev/null | patch -s -p1",
       "pretrain_512m.yaml"}};
  char folder[512], command[2600], path[700];
  if (system("command -v git >/dev/null && command -v patch >/dev/null") != 0) skip();
  for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) {
    assert_true(wo_files_scratch(folder, sizeof folder));
    snprintf(command, sizeof command, "cp " WO_SOURCE_DIR "/%s* '%s'", pipes[i].sample, folder);
    assert_int_equal(system(command), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof command, pipes[i].line, folder, WO_BINARY);
#pragma GCC diagnostic pop
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/%s", folder, pipes[i].file);
    assert_false(has_content(path, "", 0));
    snprintf(command, sizeof command, "grep -Eq 'gradient_accumulation_steps:? (16|64)' '%s'", path);
    assert_int_equal(system(command), 0);
    wo_files_remove_scratch(folder);
  }
}

/* Links are told, and nothing changes. */
static void test_program_refuses(void **state) {
  (void)state;
  struct copy copy;
  struct wo_process_result result;
  char real[720];
  make_copy(&copy, "run.sh", false, true);
  snprintf(real, sizeof real, "%s/real.sh", copy.folder);
  assert_int_equal(rename(copy.script, real), 0);
  assert_int_equal(symlink(real, copy.script), 0);
  assert_int_equal(run_copy(&copy, NULL, &result), 2);
  assert_non_null(strstr(result.err, "a link is not followed"));
  assert_int_equal(result.out_len, 0);
  wo_process_done(&result);
  assert_true(has_content(real, copy.before, copy.len));
  drop_copy(&copy);
}

/* The variable of the allocator under the name that the job's release reads. */
static void test_variable_name(void **state) {
  (void)state;
  static const struct {
    const char *version, *line;
  } table[] = {{"PyTorch version: 2.6.0+cu124\n", "+export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
               {"PyTorch version: 2.9.1\n", "+export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
               {"PyTorch version: 2.10.0\n", "+export PYTORCH_ALLOC_CONF=expandable_segments:True"},
               {"", "+export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    char folder[512], log[600], script[600], text[4096];
    struct wo_process_result result;
    assert_true(wo_files_scratch(folder, sizeof folder));
    snprintf(log, sizeof log, "%s/job.err", folder);
    snprintf(script, sizeof script, "%s/job.sh", folder);
    snprintf(text, sizeof text, "%smodel: 300,000,000 parameters, torch.bfloat16\nstep 5: loss 2.0\n%s", table[i].version, OOM);
    assert_true(wo_files_write(log, wo_view_of(text)));
    assert_true(wo_files_write(script, WO_VIEW("#!/bin/bash\n#SBATCH -n 1\npython train.py\n")));
    const char *const args[] = {"verify", "--patch", "--accept-reconstructed", log, script, NULL};
    assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &result));
    if (!strstr(result.out, table[i].line)) fail_msg("%zu: %s%s", i, result.out, result.err);
    wo_process_done(&result);
    wo_files_remove_scratch(folder);
  }
}

static void test_failing_allocations(void **state) {
  (void)state;
  const struct wo_patch_edit edit = edit_of(&rows[0]);
  for (long n = 1; n < 20; n++) {
    struct wo_patched made = {0};
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_patch_apply(wo_view_of(rows[0].before), &edit, 1, WO_VIEW("f"), &made, &err);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) assert_int_equal(status, WO_OK);
    if (status == WO_OK) assert_true(wo_view_is((struct wo_view){made.after.ptr, made.after.len}, rows[0].after));
    wo_patched_done(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_apply),         cmocka_unit_test(test_several),
      cmocka_unit_test(test_many_places),   cmocka_unit_test(test_hunks),
      cmocka_unit_test(test_names),         cmocka_unit_test(test_diff_applies),
      cmocka_unit_test(test_variables),     cmocka_unit_test(test_find_left),
      cmocka_unit_test(test_program),       cmocka_unit_test(test_part_and_whole),
      cmocka_unit_test(test_in_json),       cmocka_unit_test(test_printed_diffs_apply),
      cmocka_unit_test(test_pipe),          cmocka_unit_test(test_program_refuses),
      cmocka_unit_test(test_variable_name), cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
