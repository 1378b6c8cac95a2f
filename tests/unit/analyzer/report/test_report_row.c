/* SPDX-License-Identifier: Apache-2.0 */
/* A report as a row: analyzer/report/report_row.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"

#define ASSERT_TEXT(view, expected)                                                                                              \
  do {                                                                                                                           \
    const struct wo_view actual_ = (view);                                                                                       \
    if (!wo_view_is(actual_, expected)) fail_msg("%.*s is not %s", WO_SHOWN(actual_), expected);                                 \
  } while (0)

static const struct wo_row_hints hints = {
    .path = {"logs/slurm-4711.err", 19}, .name = {"train", 5}, .owner = {"mara", 4}, .written_ns = 77};

static size_t count_files(const struct sample_file *files) {
  size_t count = 0;
  while (files[count].path) count++;
  return count;
}

struct fixture {
  struct sample_job sample;
  struct wo_arena arena;
  struct wo_row row;
};

static struct fixture make(void **state, const struct sample_file *files) {
  struct fixture f = {0};
  sample_read(&f.sample, *state, files, count_files(files));
  wo_arena_init(&f.arena, 1 << 20);
  assert_int_equal(wo_report_row(f.sample.report, &hints, &f.arena, &f.row), WO_OK);
  return f;
}

static void done(struct fixture *f) {
  wo_arena_done(&f->arena);
  sample_done(&f->sample);
}

static const struct sample_file failed[] = {
    {"slurm-4711.err", "step 10/400\nstep 11/400\n" EXCEPTION(OOM_ON("3"))},
    {"run.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:4\npython train.py --per_device_train_batch_size 8\n"},
    {"sacct-4711.txt", "JobID|User|Account|Partition|JobName|Start|Elapsed|State|ExitCode|NNodes|NodeList|AllocTRES\n"
                       "4711|ravi|vision|a100|vit|2026-11-03T10:00:00|02:00:00|FAILED|1:0|2|gpu[01-02]|gres/gpu=8,node=2\n"},
    {NULL, NULL}};

static void test_failed_job(void **state) {
  struct fixture f = make(state, failed);
  ASSERT_TEXT(f.row.path, "logs/slurm-4711.err");
  ASSERT_TEXT(f.row.job_id, "4711");
  ASSERT_TEXT(f.row.user, "ravi"); /* accounting, not the owner of the file */
  ASSERT_TEXT(f.row.account, "vision");
  ASSERT_TEXT(f.row.partition, "a100");
  ASSERT_TEXT(f.row.name, "vit");
  ASSERT_TEXT(f.row.nodes, "gpu01,gpu02");
  ASSERT_TEXT(f.row.state, "FAILED");
  ASSERT_TEXT(f.row.outcome, "gpu_oom");
  ASSERT_TEXT(f.row.time_from, "accounting");
  assert_int_equal(f.row.is_failed, 1);
  assert_int_equal(f.row.start_ns, INT64_C(1793700000) * WO_NS_PER_S);
  assert_int_equal(f.row.end_ns, 77); /* nothing better is known */
  assert_int_equal(f.row.elapsed_s, 7200);
  assert_int_equal(f.row.gpus, 8);
  assert_int_equal(f.row.gpu_s, 57600);
  assert_int_equal(f.row.gpu, 3);
  assert_int_equal(f.row.tried_bytes, INT64_C(2) << 30);
  assert_true(f.row.cause.len > 0 && f.row.title.len > 0 && f.row.fix.len > 0 && f.row.change.len > 0);
  ASSERT_TEXT(f.row.place, "train.py in main");
  assert_true(wo_view_has(f.row.settings, "micro_batch=8"));
  assert_int_equal(f.row.work.len, 16);
  ASSERT_TEXT(f.row.evidence_path, "slurm-4711.err");
  assert_true(wo_view_has(f.row.evidence, "Tried to allocate 2.00 GiB"));
  assert_int_equal(f.row.files, 3);
  done(&f);
}

static void test_little_is_known(void **state) {
  const struct sample_file files[] = {{"slurm-4711.err", "hello\n"}, {NULL, NULL}};
  struct fixture f = make(state, files);
  ASSERT_TEXT(f.row.user, "mara");
  ASSERT_TEXT(f.row.name, "train");
  assert_int_equal(f.row.is_failed, 0);
  assert_int_equal(f.row.elapsed_s, WO_ROW_UNKNOWN);
  assert_int_equal(f.row.gpus, WO_ROW_UNKNOWN);
  assert_int_equal(f.row.gpu_s, WO_ROW_UNKNOWN);
  assert_int_equal(f.row.rank, WO_ROW_UNKNOWN);
  assert_int_equal(f.row.tried_bytes, WO_ROW_UNKNOWN);
  assert_int_equal(f.row.cause.len + f.row.settings.len + f.row.work.len + f.row.time_from.len, 0);
  done(&f);
}

/* The times of lines are a lower bound where accounting is missing. */
static void test_times_of_lines(void **state) {
  const struct sample_file files[] = {
      {"slurm-4711.err", "2026-11-03 10:00:00,000 INFO Epoch 1/10 step 10/400 loss 1.0\n2026-11-03 11:30:00,000 ERROR "
                         "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.38 GiB total capacity)\n"},
      {NULL, NULL}};
  struct fixture f = make(state, files);
  ASSERT_TEXT(f.row.time_from, "log");
  assert_int_equal(f.row.elapsed_s, 5400);
  done(&f);
}

/* What a job was submitted with decides, not where its output goes. */
static void test_work(void **state) {
  const char *const scripts[] = {
      "#!/bin/bash\n#SBATCH --mem=64G\n#SBATCH --output=a-%j.out\npython train.py --per_device_train_batch_size 8\n",
      "#!/bin/bash\n#SBATCH --mem=64G\n#SBATCH --output=b-%j.out\npython train.py --per_device_train_batch_size 8\n",
      "#!/bin/bash\n#SBATCH --mem=96G\n#SBATCH --output=a-%j.out\npython train.py --per_device_train_batch_size 8\n",
      "#!/bin/bash\n#SBATCH --mem=64G\n#SBATCH --output=a-%j.out\npython train.py --per_device_train_batch_size 4\n"};
  char works[4][17] = {{0}};
  for (size_t i = 0; i < 4; i++) {
    const struct sample_file files[] = {{"slurm-4711.err", OOM_ON("0")}, {"run.sbatch", scripts[i]}, {NULL, NULL}};
    struct fixture f = make(state, files);
    assert_int_equal(f.row.work.len, 16);
    memcpy(works[i], f.row.work.ptr, 16);
    done(&f);
  }
  assert_string_equal(works[0], works[1]);
  assert_string_not_equal(works[0], works[2]);
  assert_string_not_equal(works[0], works[3]);
}

/* Long evidence is cut between characters. */
static void test_long_evidence(void **state) {
  struct wo_text text = {0};
  wo_text_add(&text, "RuntimeError: x");
  for (int i = 0; i < 400; i++) wo_text_add(&text, "\xc3\xa4");
  wo_text_add(&text, "\n%c", '\0');
  const struct sample_file files[] = {{"slurm-4711.err", text.ptr}, {NULL, NULL}};
  struct fixture f = make(state, files);
  assert_true(f.row.evidence.len > 200 && f.row.evidence.len <= 300);
  assert_int_equal((unsigned char)f.row.evidence.ptr[f.row.evidence.len - 1], 0xa4);
  done(&f);
  wo_text_done(&text);
}

static void test_without_memory(void **state) {
  struct fixture f = {0};
  sample_read(&f.sample, *state, failed, count_files(failed));
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    wo_arena_init(&f.arena, 1 << 20);
    wo_fail_alloc_from(n);
    const enum wo_status status = wo_report_row(f.sample.report, &hints, &f.arena, &f.row);
    is_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_true(is_hit || status == WO_OK);
    wo_arena_done(&f.arena);
  }
  sample_done(&f.sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failed_job), cmocka_unit_test(test_little_is_known), cmocka_unit_test(test_times_of_lines),
      cmocka_unit_test(test_work),       cmocka_unit_test(test_long_evidence),   cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
