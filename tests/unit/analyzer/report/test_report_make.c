/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a value: parts of the card's memory, folded consequences, facts, the line to resubmit with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

static const struct wo_memory_part *part_of(const struct wo_report *report, const char *name) {
  for (size_t i = 0; i < report->memory.part_count; i++)
    if (wo_view_is(report->memory.parts[i].name, name)) return &report->memory.parts[i];
  return NULL;
}

static struct wo_interval sum_of(const struct wo_report *report) {
  struct wo_interval sum = {0, 0, 0};
  for (size_t i = 0; i < report->memory.part_count; i++) {
    sum.lo += report->memory.parts[i].bytes.lo;
    sum.mid += report->memory.parts[i].bytes.mid;
    sum.hi += report->memory.parts[i].bytes.hi;
  }
  return sum;
}

/* Messages whose figures agree: the parts make up the whole card, as far as rounding lets them. */
static void test_parts_make_up_the_card(void **state) {
  static const char *const logs[] = {
      OOM_ON("0"),
      OOM_SAYS("2.32 GiB", "0", "23.64 GiB", "1.55 GiB", "22.09 GiB", "21.03 GiB", "612.41 MiB"),
      OOM_SAYS("256.00 MiB", "3", "47.41 GiB", "194.81 MiB", "47.22 GiB", "46.66 GiB", "41.87 MiB"),
      OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "1.00 GiB", "30.00 GiB", "28.00 GiB", "1.50 GiB"), /* nine that nobody claims */
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
      "1.00 GiB is "
      "free. Process 4711 has 20.00 GiB memory in use. Including non-PyTorch memory, this process has 19.00 GiB memory in use. "
      "Of the "
      "allocated memory 18.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.\n",
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
      "1.00 GiB is "
      "free. Process 4711 has 39.00 GiB memory in use. Of the allocated memory 37.50 GiB is allocated by PyTorch, and 0.50 GiB "
      "is reserved "
      "by PyTorch but unallocated.\n",
      "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 10.00 GiB total capacity; 6.00 GiB already "
      "allocated; 1.00 GiB "
      "free; 8.50 GiB reserved in total by PyTorch)\n",
      "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 10.00 GiB total capacity; 6.00 GiB already "
      "allocated; 512.00 MiB "
      "free; 256.00 MiB cached)\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, logs[i]);
    assert_true(sample.report->has_memory && !sample.report->memory.is_contradictory);
    const struct wo_interval sum = sum_of(sample.report);
    const struct wo_interval capacity = sample.report->memory.capacity_bytes;
    if (!(sum.lo <= capacity.hi && sum.hi >= capacity.lo) || fabs(sum.mid - capacity.mid) > 0.05 * WO_GIB)
      fail_msg("%s: %.3f of %.3f GiB", logs[i], sum.mid / WO_GIB, capacity.mid / WO_GIB);
    assert_non_null(part_of(sample.report, "free"));
    assert_non_null(part_of(sample.report, "allocated"));
    assert_true(sample.report->memory.arithmetic_count > 0);
    sample_done(&sample);
  }
}

static void test_the_card(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("5"));
  assert_int_equal(sample.report->memory.gpu, 5);
  sample_done(&sample);
  sample_log(&sample, *state, "RuntimeError: CUDA error: out of memory\n");
  assert_false(sample.report->has_memory);
  sample_done(&sample);
}

static void test_contradictory_figures(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 17.66 GiB. GPU 0 has a total capacity of 79.18 GiB "
             "of which 4.97 GiB is free. Of the allocated memory 100.77 GiB is allocated by PyTorch\n");
  assert_true(sample.report->has_memory && sample.report->memory.is_contradictory);
  assert_null(part_of(sample.report, "other_processes"));
  assert_null(part_of(sample.report, "unaccounted"));
  assert_int_equal(sample.report->memory.arithmetic_count, 1);
  assert_true(wo_view_has(sample.report->memory.arithmetic[0], "100.77 GiB"));
  sample_done(&sample);
}

/* Lines of arithmetic hold the figures of the message. */
static void test_arithmetic(void **state) {
  static const struct {
    const char *log;
    const char *figures[3];
  } rows[] = {
      {OOM_ON("0"), {"1.25 GiB", "1.09 GiB", "2.34 GiB"}},
      {OOM_SAYS("3.00 GiB", "0", "40.00 GiB", "9.00 GiB", "30.00 GiB", "28.00 GiB", "1.50 GiB"), {"9.00 GiB", "3.00 GiB", ">="}},
      {OOM_SAYS("3.00 GiB", "0", "40.00 GiB", "1.00 GiB", "38.00 GiB", "36.00 GiB", "1.50 GiB"), {"2.50 GiB", "<", "3.00 GiB"}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    const struct wo_report_memory *memory = &sample.report->memory;
    assert_true(memory->arithmetic_count > 0);
    for (size_t k = 0; k < 3; k++)
      if (!wo_view_has(memory->arithmetic[memory->arithmetic_count - 1], rows[i].figures[k]))
        fail_msg("%s: %s", rows[i].log, rows[i].figures[k]);
    sample_done(&sample);
  }
}

static void test_a_request_above_the_card(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_SAYS("51.19 GiB", "2", "44.40 GiB", "31.25 GiB", "13.15 GiB", "12.36 GiB", "198.52 MiB"));
  assert_int_equal(sample.report->memory.arithmetic_count, 2);
  assert_true(wo_view_has(sample.report->memory.arithmetic[0], "51.19 GiB") &&
              wo_view_has(sample.report->memory.arithmetic[0], "44.40 GiB"));
  sample_done(&sample);
}

/* ---- Folds ---- */

static void test_folds(void **state) {
  struct sample_job sample;
  sample_log(
      &sample, *state,
      "[rank1]: " OOM_ON("1") "[rank0]: " OOM_ON("0") "[rank2]: " OOM_ON("2") "[rank2]: " OOM_ON("2") EXCEPTION(
          "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: x") "srun: error: gpu09: task 1: Exited with exit "
                                                                                  "code 1\nsrun: error: gpu09: task 2: Exited "
                                                                                  "with exit code 1\n");
  size_t total = 0;
  bool has_exception = false;
  for (size_t i = 0; i < sample.report->fold_count; i++) {
    const struct wo_report_fold *fold = &sample.report->folds[i];
    assert_true(fold->what.len > 0 && fold->count > 0 && fold->rank_count <= fold->count);
    for (size_t k = 0; k < i; k++) assert_false(wo_view_equal(fold->what, sample.report->folds[k].what));
    total += fold->count;
    if (wo_view_has(fold->what, "ChildFailedError")) has_exception = true;
  }
  assert_true(has_exception);
  assert_int_equal(total,
                   sample_count(&sample, WO_KIND_CUDA_OOM, WO_ROLE_REPEAT) + (size_t)sample_number(&sample, "job.consequences"));
  assert_int_equal(sample.report->folds[0].count, 3);
  assert_int_equal(sample.report->folds[0].rank_count, 2);
  sample_done(&sample);
}

/* More sorts of consequences than are told apart: none is lost. */
static void test_many_sorts_of_consequences(void **state) {
  char log[16384];
  struct sample_job sample;
  size_t total = 0;
  size_t len = (size_t)snprintf(log, sizeof log, "%s", OOM_ON("1"));
  for (int i = 0; i < 60; i++)
    len += (size_t)snprintf(log + len, sizeof log - len,
                            "Traceback (most recent call last):\n  File \"/home/user/t.py\", line 3, in f\n    "
                            "g()\nlib%d.SomeError: got signal: 15\nnext\n",
                            i);
  sample_log(&sample, *state, log);
  for (size_t i = 0; i < sample.report->fold_count; i++) total += sample.report->folds[i].count;
  assert_true(sample.report->fold_count <= 32);
  assert_int_equal(total, (size_t)sample_number(&sample, "job.consequences"));
  assert_true(total >= 60);
  sample_done(&sample);
}

/* ---- Facts, resubmission ---- */

static void test_facts_are_those_of_the_job(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "per_device_train_batch_size=8\n" OOM_ON("0"));
  size_t known = 0;
  for (size_t i = 0; i < sample.report->facts.row_count; i++) {
    const struct wo_fact_row *row = &sample.report->facts.rows[i];
    if (row->value.unit == WO_UNIT_BOOL) assert_true(row->value.is_known == (row->value.truth != WO_UNDECIDED));
    assert_int_equal(row->value.unit, wo_fact_unit(*state, row->name));
    known += row->value.is_known;
  }
  assert_true(known > 10);
  assert_true(wo_facts_get(&sample.report->facts, WO_VIEW("config.micro_batch")).number.mid == 8);
  sample_done(&sample);
}

#define FAILED_LOG "per_device_train_batch_size=8\n" EXCEPTION(OOM_ON("0"))

static void check_resubmit(void **state, const struct sample_file *files, size_t count, const char *expected) {
  struct sample_job sample;
  sample_read(&sample, *state, files, count);
  const struct wo_view line = sample.report->resubmit;
  if (!wo_view_is(line, expected)) fail_msg("\"%.*s\", expected \"%s\"", WO_SHOWN(line), expected);
  sample_done(&sample);
}

static void test_resubmit(void **state) {
  static const struct sample_file all[] = {
      {"scontrol-4711.txt", "JobId=4711 JobName=x\n   Command=/home/user/train.sbatch --config a.yaml\n"},
      {"job.err", FAILED_LOG},
      {"my.sbatch", "#SBATCH --mem=64G\n"}};
  check_resubmit(state, all, 3, "sbatch my.sbatch"); /* the script that was given comes first */
  check_resubmit(state, all, 2, "sbatch /home/user/train.sbatch --config a.yaml");
  check_resubmit(state, all + 1, 2, "sbatch my.sbatch");
  check_resubmit(state, all + 1, 1, "");
  check_resubmit(state, all + 2, 1, ""); /* no failure: nothing to resubmit */
}

/* Names and words of a dump are quoted; a name that cannot be shown makes no command. */
static void test_resubmit_is_quoted(void **state) {
  static const struct {
    const char *name, *line;
  } rows[] = {{"my job.sh", "sbatch 'my job.sh'"},
              {"-x.sh", "sbatch ./-x.sh"},
              {"a;rm -rf ~.sh", "sbatch 'a;rm -rf ~.sh'"},
              {"it's.sh", "sbatch 'it'\\''s.sh'"},
              {"a\x1b[2Jb.sh", ""},
              {"a\nb.sh", ""},
              {"\xe2\x80\xaehs.sh", ""},
              {"\xff.sh", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct sample_file files[] = {{"job.err", FAILED_LOG}, {rows[i].name, "#SBATCH --mem=64G\n"}};
    check_resubmit(state, files, 2, rows[i].line);
  }
  static const struct sample_file dump[] = {
      {"scontrol-4711.txt", "JobId=4711 JobName=x\n   Command=/home/u/x.sh; rm -rf ~ #\n   WorkDir=/home/u\n"},
      {"job.err", FAILED_LOG}};
  check_resubmit(state, dump, 2, "sbatch '/home/u/x.sh;' rm -rf '~' '#'");
  /* The given script keeps the arguments with which it was submitted. */
  static const struct sample_file same[] = {{"scontrol-4711.txt", "JobId=4711 JobName=x\n   Command=/home/u/run.sh $HOME b\n"},
                                            {"job.err", FAILED_LOG},
                                            {"s/run.sh", "\n"}};
  check_resubmit(state, same, 3, "sbatch s/run.sh '$HOME' b");
}

/* Only a dump gives a command: no line of a log, no block without its head, no other job's. */
static void test_resubmit_from_dumps_only(void **state) {
  static const struct sample_file rows[][2] = {
      {{"job.err", FAILED_LOG}, {"job.out", "   Command=/home/u/x.sh\n"}},
      {{"job.err", FAILED_LOG}, {"job.txt", "   Command=/home/u/x.sh\n"}},
      {{"job.err", FAILED_LOG}, {"scontrol.txt", "   Command=/home/u/x.sh\n"}},
      {{"job.err", FAILED_LOG "JobId=4711 JobName=x\n   Command=/home/u/x.sh\n"}, {"job.out", "\n"}},
      {{"scontrol.txt", FAILED_LOG "JobId=4711 JobName=x\n   Command=/home/u/x.sh\n"}, {"job.out", "\n"}},
      {{"slurm-4711.err", FAILED_LOG}, {"scontrol.txt", "JobId=4712 JobName=x\n   Command=/home/u/x.sh\n"}},
      {{"job.err", FAILED_LOG}, {"job.txt", "#SBATCH --mem=1G\nrm -rf ~\n"}}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_resubmit(state, rows[i], 2, "");
  static const struct sample_file array[] = {{"slurm-23_5.err", FAILED_LOG},
                                             {"dump.txt",
                                              "JobId=27 ArrayJobId=23 ArrayTaskId=4 JobName=x\n   Command=/home/u/4.sh\n\n"
                                              "JobId=28 ArrayJobId=23 ArrayTaskId=5 JobName=x\n   Command=/home/u/5.sh\n"}};
  check_resubmit(state, array, 2, "sbatch /home/u/5.sh");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_make_up_the_card),
      cmocka_unit_test(test_the_card),
      cmocka_unit_test(test_contradictory_figures),
      cmocka_unit_test(test_arithmetic),
      cmocka_unit_test(test_a_request_above_the_card),
      cmocka_unit_test(test_folds),
      cmocka_unit_test(test_many_sorts_of_consequences),
      cmocka_unit_test(test_facts_are_those_of_the_job),
      cmocka_unit_test(test_resubmit),
      cmocka_unit_test(test_resubmit_is_quoted),
      cmocka_unit_test(test_resubmit_from_dumps_only),
  };
  return cmocka_run_group_tests_name("report_make", tests, sample_load_all, sample_unload);
}
