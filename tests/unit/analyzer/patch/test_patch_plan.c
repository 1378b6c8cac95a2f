/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of which files a chosen fix changes, and what is told where none can be: jobs of a log, a script and a
 * configuration through the diagnosis with the compiled-in rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/patch/patch.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

#define OOM "step 7: loss 2.0\n" OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "28.53 GiB", "9.09 GiB")
#define SCRIPT(rest) "#!/bin/bash\n#SBATCH -n 1\n" rest

enum { PATH_BYTES = 512 };

static char folder[PATH_BYTES];

static int set_up(void **state) {
  return wo_files_scratch(folder, sizeof folder) ? sample_load_all(state) : -1;
}

static int tear_down(void **state) {
  wo_files_remove_scratch(folder);
  return sample_unload(state);
}

/* The fix of that id, of any finding; NULL when none proposes it. */
static const struct wo_finding_fix *find_fix(const struct wo_report *report, const char *id) {
  for (size_t i = 0; i < report->finding_count; i++) {
    for (size_t k = 0; k < report->findings[i].fix_count; k++) {
      if (wo_view_is(report->findings[i].fixes[k].id, id)) return &report->findings[i].fixes[k];
    }
  }
  return NULL;
}

/* A line for each edit ("run.sh:3 MB 8 -> 2"; line 0 is a new one), then the notes. */
static void show(const struct wo_patch_edit *edits, size_t count, const struct wo_text *notes, struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    wo_text_add_view(out, wo_view_skip(edits[i].path, strlen(folder) + 1));
    wo_text_add(out, ":%d ", (int)edits[i].line);
    wo_text_add_view(out, edits[i].key);
    wo_text_add(out, " ");
    wo_text_add_view(out, edits[i].value);
    wo_text_add(out, " -> ");
    wo_text_add_view(out, edits[i].to);
    wo_text_add(out, "\n");
  }
  wo_text_add_view(out, (struct wo_view){notes->ptr, notes->len});
}

struct row {
  const char *fix;
  uint32_t micro_batch; /* that the search settled on; 0: the proposed one */
  uint32_t grad_accum;
  const char *log;    /* before the failure */
  const char *script; /* NULL: none is given */
  const char *config; /* of train.yaml, NULL: none */
  const char *edits;  /* see show() */
};

static const struct row rows[] = {
    /* flags of a script; the search went further than the fix proposes, and accumulation follows */
    {"reduce-micro-batch", 2, 16, "", SCRIPT("python t.py --per_device_train_batch_size 8 --gradient_accumulation_steps 4\n"),
     NULL, "run.sh:3 per_device_train_batch_size 8 -> 2\nrun.sh:3 gradient_accumulation_steps 4 -> 16\n"},
    {"reduce-micro-batch", 0, 0, "", SCRIPT("python t.py --per_device_train_batch_size 8 --gradient_accumulation_steps 4\n"),
     NULL, "run.sh:3 per_device_train_batch_size 8 -> 4\nrun.sh:3 gradient_accumulation_steps 4 -> 8\n"},
    /* a configuration */
    {"reduce-micro-batch", 2, 16, "", NULL, "per_device_train_batch_size: 8\ngradient_accumulation_steps: 4\n",
     "train.yaml:1 per_device_train_batch_size 8 -> 2\ntrain.yaml:2 gradient_accumulation_steps 4 -> 16\n"},
    /* the log shows what a variable of the script gave */
    {"reduce-micro-batch", 4, 0, "per_device_train_batch_size: 8\n",
     SCRIPT("MB=8\npython t.py --per_device_train_batch_size \"$MB\"\n"), NULL, "run.sh:3 MB 8 -> 4\n"},
    /* nobody knows where it is set */
    {"reduce-micro-batch", 4, 0, "per_device_train_batch_size: 8\n", SCRIPT("python t.py\n"), NULL,
     "whyoom: per_device_train_batch_size: 4: it is set in none of the scripts and configurations given; change it where the job "
     "sets it\n"},
    /* the environment: a line of the script, else a word to the user */
    {"enable-expandable-segments", 0, 0, "PyTorch version: 2.6.0+cu124\n", SCRIPT("python t.py\n"), NULL,
     "run.sh:0   -> export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"},
    {"enable-expandable-segments", 0, 0, "PyTorch version: 2.6.0+cu124\n", NULL, NULL,
     "whyoom: export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: no batch script is among the files given; set it where "
     "the job is started\n"},
    {"enable-checkpointing", 0, 0, "", SCRIPT("python t.py --per_device_train_batch_size 8\n"), NULL,
     "whyoom: model.gradient_checkpointing_enable()   # transformers; else torch.utils.checkpoint.checkpoint around each block: "
     "a change of the program: make it by hand\n"},
};

static void read_job(struct sample_job *sample, const struct wo_pack *pack, const struct row *row) {
  static char log_path[PATH_BYTES + 20], script_path[PATH_BYTES + 20], config_path[PATH_BYTES + 20];
  static char log[4096];
  struct sample_file files[3] = {{log_path, log}};
  size_t count = 1;
  snprintf(log_path, sizeof log_path, "%s/job.err", folder);
  snprintf(script_path, sizeof script_path, "%s/run.sh", folder);
  snprintf(config_path, sizeof config_path, "%s/train.yaml", folder);
  snprintf(log, sizeof log, "%s" OOM, row->log);
  if (row->script) files[count++] = (struct sample_file){script_path, row->script};
  if (row->config) files[count++] = (struct sample_file){config_path, row->config};
  for (size_t i = 0; i < count; i++) assert_true(wo_files_write(files[i].path, wo_view_of(files[i].text)));
  sample_read(sample, pack, files, count);
}

static void test_rows(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    struct wo_arena arena;
    const struct wo_patch_edit *edits = NULL;
    struct wo_text notes = {0}, text = {0};
    size_t count = 0;
    read_job(&sample, *state, &rows[i]);
    const struct wo_finding_fix *const fix = find_fix(sample.report, rows[i].fix);
    if (!fix) fail_msg("row %zu: %s is not proposed", i, rows[i].fix);
    const struct wo_choice choice = {.proposal = 0, .micro_batch = rows[i].micro_batch, .grad_accum = rows[i].grad_accum};
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    assert_int_equal(wo_patch_plan(sample.report, fix, &choice, 1, &arena, &edits, &count, &notes), WO_OK);
    show(edits, count, &notes, &text);
    if (!wo_view_is((struct wo_view){text.ptr, text.len}, rows[i].edits))
      fail_msg("row %zu:\n%.*s", i, (int)text.len, text.len > 0 ? text.ptr : "");
    wo_text_done(&text);
    wo_text_done(&notes);
    wo_arena_done(&arena);
    sample_done(&sample);
  }
}

/* Allocations of the plan that fail one after the other: WO_E_NOMEM or the whole plan. */
static void test_failing_allocations(void **state) {
  struct sample_job sample;
  bool is_through = false;
  read_job(&sample, *state, &rows[3]);
  const struct wo_finding_fix *const fix = find_fix(sample.report, rows[3].fix);
  const struct wo_choice choice = {.micro_batch = rows[3].micro_batch};
  assert_non_null(fix);
  for (long n = 1; !is_through; n++) {
    struct wo_arena arena;
    const struct wo_patch_edit *edits = NULL;
    struct wo_text notes = {0};
    size_t count = 0;
    assert_true(n < 100);
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_patch_plan(sample.report, fix, &choice, 1, &arena, &edits, &count, &notes);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    assert_true(status == WO_E_NOMEM || (status == WO_OK && (count == 1 || !is_through)));
    wo_text_done(&notes);
    wo_arena_done(&arena);
  }
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_failing_allocations)};
  return cmocka_run_group_tests_name("patch_plan", tests, set_up, tear_down);
}
