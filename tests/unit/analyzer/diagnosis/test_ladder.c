/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder upwards: bounds that hold what they should, accumulation that keeps the global batch, settings read from names, and
 * silence where no run that fits is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdlib.h>

#include "analyzer/diagnosis/ladder.h"
#include "analyzer/report/report_json_internal.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"

#define GIB(x) ((x)*WO_GIB)

static const struct wo_ladder_base plain = {

    .run = {.micro_batch = 1, .seq_len = 1024, .peak_bytes = GIB(20.0)},
    .capacity_bytes = GIB(80.0),
    .global_batch = 256,
    .cards = 4};

static struct wo_ladder climb(struct wo_ladder_base base) {
  struct wo_ladder ladder = {0};
  wo_ladder_climb(&base, &ladder);
  return ladder;
}

/* One row: settings, accumulation, samples of an update, bounds in GiB, verdict. */
static void expect_rung(const struct wo_ladder *ladder, size_t at, double micro, double seq, double accum, double global,
                        double lo, double hi, enum wo_ladder_verdict verdict) {
  assert_true(at < ladder->rung_count);
  const struct wo_ladder_rung *const rung = &ladder->rungs[at];
  sample_assert_near(rung->micro_batch, micro, 0, "micro-batch");
  sample_assert_near(rung->seq_len, seq, 0, "length");
  sample_assert_near(rung->grad_accum, accum, 0, "accumulation");
  sample_assert_near(rung->global_batch, global, 0, "global batch");
  sample_assert_near(rung->peak_bytes.lo / WO_GIB, lo, 1e-6, "lower end");
  sample_assert_near(rung->peak_bytes.hi / WO_GIB, hi, 1e-6, "upper end");
  if (rung->verdict != verdict) fail_msg("rung %zu is %s", at, wo_ladder_verdict_name(rung->verdict));
}

/* 256 samples over 4 cards: 3 does not divide them, and the nearest is said. */
static void test_steps(void **state) {
  (void)state;
  const struct wo_ladder ladder = climb(plain);
  assert_int_equal(ladder.rung_count, 5);
  sample_assert_near(ladder.margin_bytes / WO_GIB, 4, 1e-9, "margin");
  expect_rung(&ladder, 0, 2, 1024, 32, 256, 20, 40, WO_LADDER_SAFE);
  expect_rung(&ladder, 1, 3, 1024, 21, 252, 20, 60, WO_LADDER_SAFE);
  expect_rung(&ladder, 2, 4, 1024, 16, 256, 20, 80, WO_LADDER_TIGHT);
  expect_rung(&ladder, 3, 1, 1536, 64, 256, 20, 45, WO_LADDER_SAFE); /* with the square of the length */
  expect_rung(&ladder, 4, 1, 2048, 64, 256, 20, 80, WO_LADDER_TIGHT);
}

static void test_states_do_not_grow(void **state) {
  (void)state;
  struct wo_ladder_base base = plain;
  base.run.fixed_bytes = GIB(12.0);
  base.run.is_attention_fused = true;
  const struct wo_ladder ladder = climb(base);
  expect_rung(&ladder, 0, 2, 1024, 32, 256, 20, 28, WO_LADDER_SAFE);
  expect_rung(&ladder, 4, 1, 2048, 64, 256, 20, 28, WO_LADDER_SAFE);
  base.run.fixed_bytes = GIB(30.0); /* more than the peak: not the model of this run */
  const struct wo_ladder other = climb(base);
  expect_rung(&other, 0, 2, 1024, 32, 256, 20, 40, WO_LADDER_SAFE);
}

/* What a pass surely holds raises the lower end, and shows that a step cannot fit. */
static void test_what_surely_does_not_fit(void **state) {
  (void)state;
  struct wo_ladder_base base = plain;
  base.run.peak_bytes = GIB(70.0);
  base.run.least_bytes_per_token = GIB(30.0) / 1024;
  const struct wo_ladder ladder = climb(base);
  assert_int_equal(ladder.rung_count, 4); /* each row ends with the first that will not fit */
  expect_rung(&ladder, 0, 2, 1024, 32, 256, 70, 140, WO_LADDER_TIGHT);
  expect_rung(&ladder, 1, 3, 1024, 21, 252, 90, 210, WO_LADDER_NO);
  expect_rung(&ladder, 2, 1, 1536, 64, 256, 70, 157.5, WO_LADDER_TIGHT);
}

static void test_a_failed_run_ends_the_row(void **state) {
  (void)state;
  struct wo_ladder_base base = plain;
  base.failed_micro_batch = 3;
  base.failed_seq_len = 1024;
  const struct wo_ladder ladder = climb(base);
  expect_rung(&ladder, 0, 2, 1024, 32, 256, 20, 40, WO_LADDER_SAFE);
  expect_rung(&ladder, 1, 3, 1024, 21, 252, 20, 60, WO_LADDER_NO);
  assert_int_equal(ladder.rungs[2].micro_batch, 1);
}

static void test_large_batches_go_up_by_quarters(void **state) {
  static const double batches[] = {20, 24, 32, 64};
  (void)state;
  struct wo_ladder_base base = plain;
  base.run.micro_batch = 16;
  base.run.peak_bytes = GIB(2.0);
  base.global_batch = 0;
  const struct wo_ladder ladder = climb(base);
  for (size_t i = 0; i < 4; i++) sample_assert_near(ladder.rungs[i].micro_batch, batches[i], 0, "micro-batch");
  sample_assert_near(ladder.rungs[0].grad_accum, 0, 0, "accumulation"); /* not known */
}

static void test_no_room(void **state) {
  (void)state;
  struct wo_ladder_base base = plain;
  base.run.peak_bytes = GIB(77.0);
  assert_int_equal(climb(base).rung_count, 0);
}

/* Whatever the base is, bounds are ordered and growing settings grow. */
static void test_bounds_are_ordered(void **state) {
  (void)state;
  for (int i = 0; i < 400; i++) {
    struct wo_ladder_base base = plain;
    base.run.micro_batch = 1 + i % 37;
    base.run.seq_len = i % 5 == 0 ? 0 : 64 * (1 + i % 11);
    base.run.peak_bytes = GIB(1.0 + i % 70);
    base.run.fixed_bytes = GIB((double)(i % 23));
    base.run.least_bytes_per_token = i % 3 * 1e5;
    base.run.is_attention_fused = i % 2;
    const struct wo_ladder ladder = climb(base);
    assert_true(ladder.rung_count <= WO_LADDER_RUNGS_MAX);
    for (size_t k = 0; k < ladder.rung_count; k++) {
      const struct wo_ladder_rung *const rung = &ladder.rungs[k];
      assert_true(rung->peak_bytes.lo <= rung->peak_bytes.mid && rung->peak_bytes.mid <= rung->peak_bytes.hi);
      assert_true(rung->token_factor > 1 && rung->peak_bytes.lo >= base.run.peak_bytes);
    }
  }
}

static void test_names(void **state) {
  static const struct {
    const char *path;
    double micro, seq;
  } rows[] = {
      {"logs/dmon_mb1_seq1024.txt", 1, 1024},
      {"dmon-bs4.csv", 4, 0},
      {"micro_2-ctx_4096.log", 2, 4096},
      {"trace.batch=16.txt", 16, 0},
      {"mb8/dmon.txt", 0, 0}, /* folders are shared by many runs */
      {"dmon-90817.txt", 0, 0},
      {"gpu0_mb.txt", 0, 0},
      {"mb0_seq0.txt", 0, 0},
      {"mb99999999999999999999.txt", 0, 0},
      {"", 0, 0},
      {"SEQ512_MB2", 2, 512},
      {"number1_bench7.txt", 0, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double micro = -1, seq = -1;
    const bool is_told = wo_ladder_name_hint(wo_view_of(rows[i].path), &micro, &seq);
    if (micro != rows[i].micro || seq != rows[i].seq || is_told != (micro > 0 || seq > 0))
      fail_msg("%s: micro-batch %g, length %g", rows[i].path, micro, seq);
  }
}

/* ---- Whole jobs ---- */

#define TRACE                                                                                                                    \
  "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa \n"                                                      \
  "# Idx     MB     MB     MB      %      %      %      %      %      % \n"                                                      \
  "    0  20480      1      0     30      9      0      0      0      0 \n"                                                      \
  "    0  20480      1      0     31      9      0      0      0      0 \n"                                                      \
  "    0  20480      1      0     32      9      0      0      0      0 \n"

#define SETTINGS "per_device_train_batch_size=8\ngradient_accumulation_steps=8\nmax_seq_length=2048\nnum_gpus=4\n"

static void read_two(struct sample_job *sample, const struct wo_pack *pack, const char *log, const char *trace_name) {
  const struct sample_file files[] = {{"job.err", log}, {trace_name, TRACE}};
  sample_read(sample, pack, files, 2);
}

/* The trace of a smaller run, told by its name, beside a run that failed. */
static void test_a_failed_job(void **state) {
  struct sample_job sample;
  read_two(&sample, *state, SETTINGS EXCEPTION(OOM_ON("0")), "dmon_mb1_seq1024.txt");
  const struct wo_ladder *const ladder = sample.report->ladder;
  assert_non_null(ladder);
  assert_true(ladder->is_hint && ladder->is_trace);
  sample_assert_near(ladder->base.failed_micro_batch * ladder->base.failed_seq_len, 16384, 0, "failed tokens");
  sample_assert_near(ladder->base.global_batch, 256, 0, "global batch");
  sample_assert_near(ladder->rungs[1].global_batch, 252, 0, "rounded");
  struct wo_text text = {0};
  wo_report_text(sample.report, (struct wo_text_style){.width = 200}, &text);
  assert_non_null(strstr(text.ptr, "a hint only"));
  assert_non_null(strstr(text.ptr, "16 times the tokens"));
  assert_non_null(strstr(text.ptr, "accumulation 21 (252 samples for an update, not 256)"));
  wo_text_done(&text);
  sample_done(&sample);
}

/* Without a hint, or with that of the failed run itself, the trace is of the run that failed. */
static void test_the_trace_of_the_failed_run(void **state) {
  static const char *const names[] = {"dmon.txt", "dmon_mb8_seq2048.txt", "dmon_mb16_seq2048.txt"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct sample_job sample;
    read_two(&sample, *state, SETTINGS EXCEPTION(OOM_ON("0")), names[i]);
    if (sample.report->ladder) fail_msg("%s gives a ladder", names[i]);
    sample_done(&sample);
  }
}

/* dmon tells no capacity: something else must. */
static void test_a_job_that_fits(void **state) {
  struct sample_job sample;
  read_two(&sample, *state, SETTINGS "GPU 0 has a total of 39.38 GiB\ntraining done\n", "dmon.txt");
  assert_null(sample.report->ladder);
  sample_done(&sample);
  const struct sample_file csv = {"q.csv", "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
                                           "2025/03/01 10:00:00.000, 0, 20480 MiB, 81559 MiB, 40 %\n"
                                           "2025/03/01 10:00:05.000, 0, 20480 MiB, 81559 MiB, 41 %\n"};
  const struct sample_file files[] = {{"job.out", SETTINGS}, csv};
  sample_read(&sample, *state, files, 2);
  assert_non_null(sample.report->ladder);
  assert_false(sample.report->ladder->is_hint);
  sample_assert_near(sample.report->ladder->base.run.micro_batch, 8, 0, "micro-batch");
  sample_assert_near(sample.report->ladder->rungs[0].micro_batch, 10, 0, "next");
  sample_done(&sample);
}

/* cJSON lives in a library, out of reach of the linker's wrapper: it gets ours as its hook. */
static void *own_malloc(size_t size) {
  return malloc(size);
}

static void own_free(void *ptr) {
  free(ptr);
}

static void test_failing_allocations(void **state) {
  struct wo_ladder ladder = {.base = plain, .evidence = 1};
  cJSON_Hooks hooks = {own_malloc, own_free};
  (void)state;
  wo_ladder_climb(&plain, &ladder);
  cJSON_InitHooks(&hooks);
  long n = 1;
  for (bool is_made = false; !is_made; n++) {
    wo_fail_alloc_at(n);
    struct wo_json_out out = {0};
    cJSON *const json = cJSON_CreateObject();
    wo__json_ladder(&out, json, "ladder", &ladder);
    wo_fail_alloc_off();
    is_made = !out.is_failed;
    assert_true(is_made != wo_fail_alloc_hit());
    cJSON_Delete(json);
  }
  cJSON_InitHooks(NULL);
  assert_true(n > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_states_do_not_grow),
      cmocka_unit_test(test_what_surely_does_not_fit),
      cmocka_unit_test(test_a_failed_run_ends_the_row),
      cmocka_unit_test(test_large_batches_go_up_by_quarters),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_bounds_are_ordered),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_a_failed_job),
      cmocka_unit_test(test_the_trace_of_the_failed_run),
      cmocka_unit_test(test_a_job_that_fits),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests_name("ladder", tests, sample_load_all, sample_unload);
}
