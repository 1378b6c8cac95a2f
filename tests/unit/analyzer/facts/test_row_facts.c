/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of ranks and cards, and the facts of the time line, as rules see them: conditions over jobs made of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

/* A condition over a job, with the names of the loaded rules. */
static enum wo_unit unit_of(void *context, struct wo_view name) {
  return wo_fact_unit(context, name);
}

static struct wo_value eval(struct sample_job *sample, const char *text) {
  union {
    const struct wo_pack *in;
    void *out;
  } cast = {.in = sample->diagnosis.pack};
  const struct wo_names names = {.unit_of = unit_of, .context = cast.out};
  const struct wo_expr *expr = NULL;
  struct wo_err err = {0};
  if (wo_expr_parse(&sample->arena, wo_view_of(text), &names, &expr, &err) != WO_OK) fail_msg("%s: %s", text, err.message);
  return wo_expr_eval(expr, &sample->diagnosis.source);
}

struct row {
  const char *text;
  enum wo_truth truth;
};

static void expect_all(struct sample_job *sample, const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_value value = eval(sample, rows[i].text);
    if (value.truth != rows[i].truth) fail_msg("%s: %d, expected %d", rows[i].text, (int)value.truth, (int)rows[i].truth);
  }
}

#define EXPECT(sample, ...)                                                                                                      \
  do {                                                                                                                           \
    static const struct row rows[] = {__VA_ARGS__};                                                                              \
    expect_all(sample, rows, sizeof rows / sizeof rows[0]);                                                                      \
  } while (0)

static void test_ranks(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "[rank0]: step 11: loss 2\n"
             "[rank1]: " OOM_SAYS("2.00 GiB", "1", "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB",
                                  "1.09 GiB") "[rank3]: " OOM_SAYS("2.00 GiB", "3", "39.38 GiB", "0.50 GiB", "38.80 GiB",
                                                                   "37.90 GiB", "0.40 GiB"));
  EXPECT(&sample, {"count(rank.is_failed) == 2", WO_TRUE}, {"max(rank.rank) == 3", WO_TRUE}, {"spread(rank.gpu) == 2", WO_TRUE},
         {"any(rank.free < 1GiB)", WO_TRUE}, {"all(rank.free < 1GiB)", WO_FALSE},
         {"all(rank.free < 1.5GiB)", WO_UNDECIDED},
         {"all(unknown(rank.free) or rank.free < 2GiB)", WO_TRUE}, {"max(rank.allocated) > 37GiB", WO_TRUE},
         {"spread(rank.allocated) > 1.3GiB", WO_TRUE}, {"spread(rank.allocated) > 1.37GiB", WO_UNDECIDED},
         {"max(rank.capacity) - min(rank.capacity) < 1GiB", WO_TRUE}, {"min(rank.reserved) > 37GiB", WO_TRUE},
         {"max(rank.reserved_unallocated) < 2GiB", WO_TRUE}, {"any(rank.process > 38.5GiB)", WO_TRUE},
         {"sum(rank.free) > 1GiB", WO_UNDECIDED}, {"any(rank.is_failed and rank.rank == 3)", WO_TRUE},
         {"any(not rank.is_failed and rank.rank == 0)", WO_TRUE}, {"any(card.peak > 1GiB)", WO_UNDECIDED});
  sample_done(&sample);
}

/* A process that labels no line is the one row. */
static void test_single_process(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "step 41: loss 2\n" EXCEPTION(OOM_ON("0")));
  EXPECT(&sample, {"count(rank.is_failed) == 1", WO_TRUE}, {"max(rank.gpu) == 0", WO_TRUE}, {"max(rank.tried) > 1GiB", WO_TRUE},
         {"known(max(rank.rank))", WO_FALSE}, {"max(rank.step) == 41", WO_TRUE}, {"spread(rank.free) < 1GiB", WO_TRUE});
  sample_done(&sample);
  sample_log(&sample, *state, "all is well\n");
  EXPECT(&sample, {"count(rank.is_failed) >= 0", WO_UNDECIDED}, {"any(rank.free < 1GiB)", WO_UNDECIDED});
  sample_done(&sample);
}

static void test_cards(void **state) {
  struct sample_job sample;
  const struct sample_file files[] = {
      {"job.err", EXCEPTION(OOM_ON("0"))},
      {"trace.csv", "index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
                    "0, 1000 MiB, 40960 MiB, 10 %\n1, 500 MiB, 40960 MiB, 20 %\n"
                    "0, 9000 MiB, 40960 MiB, 30 %\n1, 500 MiB, 40960 MiB, 20 %\n"},
  };
  sample_read(&sample, *state, files, 2);
  EXPECT(&sample, {"max(card.peak) == 9000MiB", WO_TRUE}, {"min(card.peak) == 500MiB", WO_TRUE},
         {"spread(card.peak) == 8500MiB", WO_TRUE}, {"max(card.last) == 9000MiB", WO_TRUE}, {"max(card.slope) > 7GiB", WO_TRUE},
         {"min(card.slope) < 1MiB", WO_TRUE}, {"all(card.capacity == 40GiB)", WO_TRUE}, {"count(card.busy <= 20%) == 2", WO_TRUE},
         {"slope(trace) > 7GiB", WO_TRUE});
  sample_done(&sample);
}

static void test_time_line(void **state) {
  struct sample_job sample;
  sample_log(
      &sample, *state,
      EXCEPTION(OOM_ON("0")) "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***\n");
  EXPECT(&sample, {"seen(cuda_oom)", WO_TRUE}, {"seen(time_limit)", WO_TRUE}, {"seen(xid)", WO_FALSE},
         {"before(cuda_oom, time_limit)", WO_TRUE}, {"before(time_limit, cuda_oom)", WO_FALSE},
         {"before(cuda_oom, cuda_oom)", WO_FALSE}, {"before(cuda_oom, xid)", WO_UNDECIDED},
         {"before(xid, cuda_oom)", WO_UNDECIDED}, {"before(cuda_oom, time_limit) and not seen(disk)", WO_TRUE});
  assert_int_equal(eval(&sample, "seen(cuda_oom)").evidence, sample_failure(&sample)->id);
  sample_done(&sample);
}

/* Across files only times order events. */
static void test_time_line_across_files(void **state) {
  struct sample_job sample;
  const struct sample_file files[] = {
      {"slurmctld.log", "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***\n"},
      {"job.err", EXCEPTION(OOM_ON("0"))},
  };
  sample_read(&sample, *state, files, 2);
  EXPECT(&sample, {"before(cuda_oom, time_limit)", WO_UNDECIDED}, {"before(time_limit, cuda_oom)", WO_UNDECIDED});
  sample_done(&sample);
}

static void test_phases(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "Traceback (most recent call last):\n"
             "  File \"/home/user/train.py\", line 9, in main\n    loss.backward()\n"
             "  File \"/usr/lib/python3/torch/autograd/__init__.py\", line 7, in backward\n    run()\n" OOM_ON("0"));
  EXPECT(&sample, {"during(backward)", WO_TRUE}, {"during(forward)", WO_FALSE});
  sample_done(&sample);
  sample_log(&sample, *state, OOM_ON("0"));
  EXPECT(&sample, {"during(backward)", WO_UNDECIDED});
  sample_done(&sample);
}

static void test_slopes(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "30.00 GiB",
                      "1.09 GiB") "skipping this batch\n" OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB",
                                                                   "34.50 GiB", "0.50 GiB"));
  EXPECT(&sample, {"slope(allocated) > 4.4GiB", WO_TRUE}, {"slope(allocated) > 4.5GiB", WO_UNDECIDED},
         {"slope(reserved_unallocated) < 0 * 1GiB", WO_TRUE}, {"slope(free) > 0 * 1GiB", WO_UNDECIDED},
         {"known(slope(trace))", WO_FALSE});
  sample_done(&sample);
  sample_log(&sample, *state, OOM_ON("0"));
  EXPECT(&sample, {"known(slope(allocated))", WO_FALSE});
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranks),     cmocka_unit_test(test_single_process),         cmocka_unit_test(test_cards),
      cmocka_unit_test(test_time_line), cmocka_unit_test(test_time_line_across_files), cmocka_unit_test(test_phases),
      cmocka_unit_test(test_slopes),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
