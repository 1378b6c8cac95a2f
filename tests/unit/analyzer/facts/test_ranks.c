/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job: who failed, who followed, and what that tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define PEER_GONE "RuntimeError: [pair.cc:598] Connection closed by peer [10.1.2.3]:48112\n"
#define CROWDED(gpu, others)                                                                                                     \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU " gpu                                           \
  " has a total capacity of 39.39 GiB of which 12.00 MiB is free. " others                                                       \
  "Including non-PyTorch memory, this process has 9.74 GiB memory in use. Of the allocated memory 9.20 GiB is allocated by "     \
  "PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated.\n"
#define OTHER(pid) "Process " pid " has 9.80 GiB memory in use. "
#define THREE OTHER("811") OTHER("812") OTHER("813")

static const struct wo_rank *find_rank(const struct sample_job *sample, int32_t rank) {
  for (size_t i = 0; i < sample->report->facts.rank_count; i++)
    if (sample->report->facts.ranks[i].rank == rank) return &sample->report->facts.ranks[i];
  return NULL;
}

static void test_table(void **state) {
  struct sample_job sample;
  struct wo_text out = {0};
  sample_log(&sample, *state, "[rank3]: " OOM_ON("3") "[rank1]: " OOM_ON("1") "[rank0]: " PEER_GONE);
  assert_int_equal(sample.report->facts.rank_count, 4);
  assert_int_equal(find_rank(&sample, 3)->status, WO_RANK_FAILED);
  assert_int_equal(find_rank(&sample, 3)->gpu, 3);
  assert_int_equal(find_rank(&sample, 3)->evidence, sample.job->story.failure);
  assert_int_equal(find_rank(&sample, 0)->status, WO_RANK_FOLLOWED);
  assert_int_equal(find_rank(&sample, 2)->status, WO_RANK_SILENT);
  assert_int_equal(find_rank(&sample, 2)->evidence, WO_EVENT_NONE);
  assert_int_equal((int)sample_number(&sample, "ranks.failed_count"), 2);
  assert_true(sample_text_is(&sample, "ranks.failed", "1, 3"));
  assert_int_equal(sample_fact(&sample, "ranks.is_only_rank0").truth, WO_FALSE);
  wo_report_text(sample.report, (struct wo_text_style){.width = 200}, &out);
  assert_non_null(strstr(out.ptr, "rank 3 of 4 failed first; 1 more failed the same way; 1 followed"));
  wo_text_done(&out);
  sample_done(&sample);
}

static void test_only_rank_0(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[rank0]: " OOM_ON("0") "[rank1]: " PEER_GONE);
  assert_int_equal(sample_fact(&sample, "ranks.is_only_rank0").truth, WO_TRUE);
  sample_done(&sample);
  sample_log(&sample, *state, OOM_ON("0"));
  assert_false(sample_fact(&sample, "ranks.failed_count").is_known);
  assert_int_equal(sample_fact(&sample, "ranks.is_only_rank0").truth, WO_UNDECIDED);
  assert_int_equal(sample.report->facts.rank_count, 0);
  sample_done(&sample);
}

static void test_one_node(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "gpu01: [rank0]: " OOM_ON("0") "gpu01: [rank1]: " OOM_ON("1") "gpu02: [rank8]: " PEER_GONE);
  assert_true(wo_view_is(find_rank(&sample, 8)->host, "gpu02"));
  assert_int_equal(sample_fact(&sample, "ranks.is_one_node").truth, WO_TRUE);
  sample_done(&sample);
  sample_log(&sample, *state, "gpu01: [rank0]: " OOM_ON("0") "gpu02: [rank8]: " OOM_ON("0"));
  assert_int_equal(sample_fact(&sample, "ranks.is_one_node").truth, WO_FALSE);
  sample_done(&sample);
  sample_log(&sample, *state, "[rank0]: " OOM_ON("0") "[rank8]: " PEER_GONE);
  assert_int_equal(sample_fact(&sample, "ranks.is_one_node").truth, WO_UNDECIDED);
  sample_done(&sample);
}

struct card_row {
  const char *name;
  const char *log;
  enum wo_truth truth;
};

static const struct card_row card_rows[] = {
    {"two ranks on GPU 0, four processes there", "[rank3]: " CROWDED("0", THREE) "[rank1]: " CROWDED("0", THREE), WO_TRUE},
    {"one report is enough with as many strangers as ranks", "[rank3]: " CROWDED("0", THREE), WO_TRUE},
    {"one stranger beside one of two ranks", "[rank1]: " CROWDED("0", OTHER("811")), WO_UNDECIDED},
    {"fewer processes than ranks", "[rank7]: " CROWDED("0", OTHER("811")), WO_UNDECIDED},
    {"another card", "[rank3]: " CROWDED("3", THREE), WO_FALSE},
    {"cards handed out one by one", "[rank3]: " OOM_ON("0") "[rank1]: " OOM_ON("0"), WO_UNDECIDED},
};

static void test_all_on_gpu0(void **state) {
  for (size_t i = 0; i < sizeof card_rows / sizeof card_rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, card_rows[i].log);
    const enum wo_truth truth = sample_fact(&sample, "ranks.all_on_gpu0").truth;
    if (truth != card_rows[i].truth) fail_msg("%s: %d", card_rows[i].name, (int)truth);
    assert_true((sample_finding(&sample, "ranks-on-one-card") != NULL) == (truth == WO_TRUE));
    sample_done(&sample);
  }
}

/* Two ranks' messages on one line, the second behind its own label. */
static void test_ranks_within_a_line(void **state) {
  char log[4096];
  snprintf(log, sizeof log, "[rank4]: %s", OOM_ON("4"));
  log[strlen(log) - 1] = '\0';
  snprintf(log + strlen(log), sizeof log - strlen(log), "[rank2]: %s", OOM_ON("2"));
  struct sample_job sample;
  sample_log(&sample, *state, log);
  assert_int_equal(sample_failure(&sample)->rank, 4);
  assert_int_equal(find_rank(&sample, 2)->status, WO_RANK_FAILED);
  assert_int_equal(find_rank(&sample, 2)->gpu, 2);
  sample_done(&sample);
}

/* Labels that count the processes of a node say nothing of ranks where there are several nodes. */
static void test_local_labels(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "[gpu01:1]:" OOM_ON("1") "[gpu02:1]:" PEER_GONE);
  assert_int_equal(sample.report->facts.rank_count, 0);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),       cmocka_unit_test(test_only_rank_0),  cmocka_unit_test(test_one_node),
      cmocka_unit_test(test_all_on_gpu0), cmocka_unit_test(test_local_labels), cmocka_unit_test(test_ranks_within_a_line),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
