/* SPDX-License-Identifier: Apache-2.0 */
/* Causes: the scoring formula, what excludes what, and that nothing undecided fires. Rules of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

/* A cause with the usual parts; `more` begins with a comma or is empty. */
#define CAUSE(id, when, more)                                                                                                    \
  ",{\"cause\": \"" id "\", \"family\": \"unclear\", \"title\": \"{oom.tried} of " id                                            \
  "\", \"summary\": \"s\", \"means\": \"m\", "                                                                                   \
  "\"when\": \"" when "\"" more "}"
#define CLAUSE(if_, weight, say) "{\"if\": \"" if_ "\", \"weight\": \"" weight "\", \"say\": \"" say "\"}"

static const char rules[] =
    "[" OOM_PATTERN ",{\"knob\": \"micro_batch\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"micro_batch_size\"]}"
    /* 0.15, then 0.15 + 0.85 x 0.6 = 0.66, then 0.66 + 0.34 x 0.35 = 0.779, then x 0.85 = 0.66215 */
    CAUSE("formula", "known(oom.tried)",
          ", \"prior\": \"weak\", \"against\": [" CLAUSE("oom.gpu == 0", "weak", "a") "], \"for\": [" CLAUSE(
              "oom.free < oom.tried", "strong", "{oom.free} is less") ", " CLAUSE("known(oom.capacity)", "medium",
                                                                                  "c") ", " CLAUSE("config.micro_batch > 1",
                                                                                                   "decisive", "never") "]")
        CAUSE("certain", "known(oom.tried)", ", \"prior\": \"decisive\"")
            CAUSE("limited", "known(oom.tried)", ", \"prior\": \"decisive\", \"at_most\": \"possible\"")
                CAUSE("likely", "known(oom.tried)", ", \"prior\": \"strong\"")
                    CAUSE("possible", "known(oom.tried)", ", \"prior\": \"medium\"")
                        CAUSE("too-weak", "known(oom.tried)",
                              ", \"prior\": \"weak\", \"against\": [" CLAUSE("known(oom.tried)", "weak", "x") "]")
    /* none of these may fire */
    CAUSE("undecided", "oom.tried > 2GiB", ", \"prior\": \"decisive\"")
        CAUSE("undecided-too", "oom.tried <= 2GiB", ", \"prior\": \"decisive\"")
            CAUSE("unknown-fact", "config.micro_batch > 1", ", \"prior\": \"decisive\"")
                CAUSE("unknown-fact-too", "not (config.micro_batch > 1)", ", \"prior\": \"decisive\"")
                    CAUSE("ruled-out", "known(oom.tried)",
                          ", \"prior\": \"decisive\", \"not_when\": [{\"if\": \"oom.gpu == 0\", \"say\": \"n\"}]")
    /* an undecided reason against does not rule out */
    CAUSE("not-ruled-out", "known(oom.tried)",
          ", \"prior\": \"medium\", \"not_when\": [{\"if\": \"config.micro_batch > 1\", \"say\": \"n\"}, {\"if\": \"oom.tried > "
          "2GiB\", \"say\": \"n\"}]")
    /* what excludes */
    CAUSE("excluding", "oom.gpu == 7", ", \"prior\": \"strong\", \"excludes\": [\"possible\", \"certain\", \"second-excluding\"]")
        CAUSE("second-excluding", "oom.gpu == 7", ", \"prior\": \"medium\", \"excludes\": [\"likely\", \"not-ruled-out\"]")
    /* a note, stronger than all and first in the pack's order but for that */
    CAUSE("remark", "oom.gpu == 0 or unknown(oom.gpu)",
          ", \"prior\": \"decisive\", \"is_failure\": false, \"excludes\": [\"formula\", \"certain\", \"possible\"]")
    /* what would settle it, and what it is made of */
    CAUSE("telling", "oom.gpu == 0",
          ", \"prior\": \"medium\", \"would_tell\": [\"always\", {\"if\": \"unknown(config.micro_batch)\", \"say\": \"the "
          "batch\"}, "
          "{\"if\": \"known(config.micro_batch)\", \"say\": \"nothing\"}]") "]";

static int load(void **state) {
  return sample_load(rules, state);
}

static void test_formula(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  const struct wo_finding *finding = sample_finding(&sample, "formula");
  assert_non_null(finding);
  sample_assert_near(finding->score, 0.66215, 1e-9, "score");
  assert_int_equal(finding->for_count, 2);
  assert_int_equal(finding->against_count, 1);
  sample_assert_near(finding->for_[0].weight, 0.6, 1e-9, "weight");
  assert_true(wo_view_is(finding->for_[0].text, "1.25 GiB is less"));
  assert_int_equal(finding->for_[0].evidence_count, 1);
  assert_int_equal(finding->for_[0].evidence[0], sample.job->story.failure);
  assert_true(wo_view_is(finding->title, "2.00 GiB of formula"));
  sample_done(&sample);
}

static void test_confidence(void **state) {
  static const struct {
    const char *id;
    enum wo_confidence confidence;
    double score;
  } rows[] = {{"certain", WO_CONFIDENCE_CERTAIN, 0.9},
              {"limited", WO_CONFIDENCE_POSSIBLE, 0.9},
              {"likely", WO_CONFIDENCE_LIKELY, 0.6},
              {"formula", WO_CONFIDENCE_LIKELY, 0.66215},
              {"possible", WO_CONFIDENCE_POSSIBLE, 0.35}};
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_finding *finding = sample_finding(&sample, rows[i].id);
    if (!finding || finding->confidence != rows[i].confidence) fail_msg("%s", rows[i].id);
    sample_assert_near(finding->score, rows[i].score, 1e-9, rows[i].id);
  }
  sample_done(&sample);
}

static void test_what_must_not_fire(void **state) {
  static const char *const ids[] = {"too-weak",         "undecided", "undecided-too", "unknown-fact",
                                    "unknown-fact-too", "ruled-out", "excluding"};
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
    if (sample_finding(&sample, ids[i])) fail_msg("%s fired", ids[i]);
  assert_non_null(sample_finding(&sample, "not-ruled-out"));
  sample_done(&sample);
}

static void test_known_facts_decide(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state,
             "micro_batch_size=8\n" OOM_SAYS("2.01 GiB", "1", "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB"));
  assert_non_null(sample_finding(&sample, "undecided-too") ? NULL : sample_finding(&sample, "unknown-fact"));
  assert_null(sample_finding(&sample, "unknown-fact-too"));
  assert_non_null(sample_finding(&sample, "ruled-out")); /* another card */
  sample_done(&sample);
}

static void test_best_first(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  const struct wo_report *report = sample.report;
  assert_true(report->finding_count >= 6);
  /* Notes stand last, whatever their score. */
  const size_t failures = report->finding_count - 1;
  assert_true(wo_view_is(report->findings[failures].cause->id, "remark"));
  for (size_t i = 1; i < failures; i++) assert_true(report->findings[i - 1].score >= report->findings[i].score);
  /* Of equal score: in the order of the rules. */
  assert_true(wo_view_is(report->findings[0].cause->id, "certain"));
  assert_true(wo_view_is(report->findings[1].cause->id, "limited"));
  sample_done(&sample);
}

/* What a finding excludes is dropped when it is no stronger; what was dropped excludes nothing itself. */
static void test_exclusion(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("7"));
  assert_non_null(sample_finding(&sample, "excluding"));
  assert_null(sample_finding(&sample, "possible"));
  assert_null(sample_finding(&sample, "second-excluding"));
  assert_non_null(sample_finding(&sample, "certain")); /* stronger */
  assert_non_null(sample_finding(&sample, "likely"));
  assert_non_null(sample_finding(&sample, "not-ruled-out"));
  sample_done(&sample);
}

/* A note drops no failure, and where there is no failure it is all there is. */
static void test_notes(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  assert_true(wo_report_tells_failure(sample.report));
  assert_non_null(sample_finding(&sample, "remark"));
  assert_non_null(sample_finding(&sample, "formula"));
  assert_non_null(sample_finding(&sample, "certain"));
  sample_done(&sample);
  sample_log(&sample, *state, "all is well\n");
  assert_int_equal(sample.report->finding_count, 1);
  assert_non_null(sample_finding(&sample, "remark"));
  assert_false(wo_report_tells_failure(sample.report));
  sample_done(&sample);
}

static void test_would_tell(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  const struct wo_finding *finding = sample_finding(&sample, "telling");
  assert_non_null(finding);
  assert_int_equal(finding->would_tell_count, 2);
  assert_true(wo_view_is(finding->would_tell[1], "the batch"));
  sample_done(&sample);
}

static void test_nothing_to_diagnose(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "all is well\n");
  assert_false(wo_report_tells_failure(sample.report));
  sample_done(&sample);
}

static void test_evidence_and_place(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "micro_batch_size=8\n" OOM_ON("0"));
  const struct wo_event *failure = sample_failure(&sample);
  const wo_event_id *ids = NULL;
  assert_true(wo_view_is(wo_diagnose_place(&sample.diagnosis, failure), "job.err:2"));
  assert_int_equal(wo_diagnose_place(&sample.diagnosis, NULL).len, 0);
  const struct wo_cause *cause = wo_pack_cause(*state, WO_VIEW("formula"));
  assert_int_equal(wo_diagnose_evidence(&sample.diagnosis, NULL, &ids), 0);
  assert_int_equal(wo_diagnose_evidence(&sample.diagnosis, cause->for_[0].when, &ids), 1); /* two facts of one line */
  assert_int_equal(ids[0], failure->id);
  sample_done(&sample);
}

/* Over the compiled-in rules: every score is a probability, and every argument leads to evidence that exists. */
static void test_compiled_in_rules(void **state) {
  static const char *const logs[] = {OOM_ON("0"), "per_device_train_batch_size=8\n" EXCEPTION(OOM_ON("0")), "Killed\n",
                                     "RuntimeError: CUDA error: out of memory\n", EXCEPTION("ValueError: x")};
  void *pack = NULL;
  (void)state;
  assert_int_equal(sample_load_all(&pack), 0);
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, pack, logs[i]);
    for (size_t k = 0; k < sample.report->finding_count; k++) {
      const struct wo_finding *finding = &sample.report->findings[k];
      assert_true(finding->score >= WO_SCORE_SHOWN && finding->score <= 1 && finding->title.len > 0);
      for (size_t a = 0; a < finding->for_count; a++)
        for (size_t e = 0; e < finding->for_[a].evidence_count; e++)
          assert_non_null(wo_event_get(&sample.job->events, finding->for_[a].evidence[e]));
    }
    sample_done(&sample);
  }
  wo_pack_free(pack);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formula),
      cmocka_unit_test(test_confidence),
      cmocka_unit_test(test_what_must_not_fire),
      cmocka_unit_test(test_known_facts_decide),
      cmocka_unit_test(test_best_first),
      cmocka_unit_test(test_exclusion),
      cmocka_unit_test(test_notes),
      cmocka_unit_test(test_would_tell),
      cmocka_unit_test(test_nothing_to_diagnose),
      cmocka_unit_test(test_evidence_and_place),
      cmocka_unit_test(test_compiled_in_rules),
  };
  return cmocka_run_group_tests_name("diagnose", tests, load, sample_unload);
}
