/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes: nothing that is set already or conflicts is proposed, savings are ordered intervals, changes are written as the user
 * writes them, and the effective batch is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

static const char rules[] =
    "[" OOM_PATTERN ",{\"knob\": \"micro_batch\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"micro_batch_size\"]}"
    ",{\"knob\": \"offload\", \"unit\": \"bool\", \"means\": \"m\", \"aliases\": [\"cpu_offload\"]}"
    ",{\"cause\": \"full\", \"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"when\": "
    "\"known(oom.tried)\", "
    "\"fixes\": [\"halve\", \"offload\", \"silent\", \"conflicting\", \"nothing-to-change\", \"command-only\", \"savings\", "
    "\"no-savings\", "
    "\"negative-savings\", \"nothing-saved\", \"not-there\"]}"
    ",{\"fix\": \"nothing-saved\", \"title\": \"s\", \"saves\": {\"lo\": \"0B\", \"hi\": \"oom.free - oom.allocated\"}}"
    ",{\"fix\": \"halve\", \"title\": \"batch {config.micro_batch:int} -> {half:int}\", \"let\": {\"half\": "
    "\"floor(config.micro_batch / 2)\"}, "
    "\"when\": \"config.micro_batch > 1\", \"already\": \"config.micro_batch == 1\", \"already_say\": \"the batch is 1\", "
    "\"changes\": [{\"knob\": \"micro_batch\", \"to\": \"half\"}], \"cost\": {\"speed\": \"slower\", \"accuracy\": \"none\", "
    "\"effort\": "
    "\"one setting\"}, \"notes\": [\"always\", {\"if\": \"half > 100\", \"say\": \"never\"}]}"
    ",{\"fix\": \"offload\", \"title\": \"offload\", \"already\": \"config.offload == true\", \"changes\": [{\"knob\": "
    "\"offload\", "
    "\"to\": \"true\"}]}"
    ",{\"fix\": \"silent\", \"title\": \"silent\", \"when\": \"config.micro_batch > 1000\", \"commands\": [\"x\"]}"
    ",{\"fix\": \"conflicting\", \"title\": \"conflicting\", \"conflicts\": [{\"if\": \"oom.gpu == 0\", \"say\": \"not on card "
    "{oom.gpu:int}\"}], \"commands\": [\"x\"]}"
    ",{\"fix\": \"nothing-to-change\", \"title\": \"n\", \"changes\": [{\"knob\": \"micro_batch\", \"to\": "
    "\"config.micro_batch\"}, "
    "{\"knob\": \"offload\", \"to\": \"true\", \"if\": \"oom.gpu == 99\"}]}"
    ",{\"fix\": \"command-only\", \"title\": \"c\", \"commands\": [\"export A={oom.gpu:int}\", {\"if\": \"oom.gpu == 99\", "
    "\"say\": \"never\"}]}"
    ",{\"fix\": \"savings\", \"title\": \"s\", \"saves\": {\"lo\": \"oom.free\", \"hi\": \"oom.allocated\", \"formula\": "
    "\"{oom.free} to "
    "{oom.allocated}\"}}"
    ",{\"fix\": \"no-savings\", \"title\": \"s\", \"saves\": {\"lo\": \"0B\", \"hi\": \"oom.allocated * config.micro_batch\", "
    "\"formula\": "
    "\"f\"}}"
    ",{\"fix\": \"negative-savings\", \"title\": \"s\", \"saves\": {\"lo\": \"oom.free - oom.allocated\", \"hi\": \"oom.free\", "
    "\"formula\": \"f\", \"too_little\": \"oom.gpu == 1\"}}"
    "]";

static int load(void **state) {
  return sample_load(rules, state);
}

static const struct wo_finding_fix *fix_of(const struct sample_job *sample, const char *id) {
  for (size_t i = 0; i < sample->report->finding_count; i++) {
    const struct wo_finding *finding = &sample->report->findings[i];
    for (size_t k = 0; k < finding->fix_count; k++)
      if (wo_view_is(finding->fixes[k].id, id)) return &finding->fixes[k];
  }
  return NULL;
}

/* Whether some reason under "not proposed" of the first finding holds the words. */
static bool is_not_proposed(const struct sample_job *sample, const char *words) {
  assert_true(sample->report->finding_count > 0);
  const struct wo_finding *finding = &sample->report->findings[0];
  for (size_t i = 0; i < finding->not_proposed_count; i++)
    if (wo_view_has(finding->not_proposed[i], words)) return true;
  return false;
}

static void test_a_change(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "t.py --micro_batch_size 8\n" OOM_ON("1"));
  const struct wo_finding_fix *fix = fix_of(&sample, "halve");
  assert_non_null(fix);
  assert_true(wo_view_is(fix->title, "batch 8 -> 4"));
  assert_int_equal(fix->change_count, 1);
  assert_true(wo_view_is(fix->changes[0].knob, "micro_batch"));
  assert_true(sample_is_spelled(&fix->changes[0].spelling, "--micro_batch_size 4"));
  assert_int_equal(fix->changes[0].from.number.mid, 8);
  assert_int_equal(fix->changes[0].to.number.mid, 4);
  assert_int_equal(wo_event_get(&sample.job->events, fix->changes[0].where)->span.line, 1);
  assert_int_equal(fix->note_count, 1);
  assert_true(wo_view_is(fix->cost_speed, "slower") && wo_view_is(fix->cost_accuracy, "none"));
  assert_false(fix->has_saves);
  sample_done(&sample);
}

static void test_a_knob_that_is_not_set(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("1"));
  const struct wo_finding_fix *fix = fix_of(&sample, "offload");
  assert_non_null(fix);
  assert_true(sample_is_spelled(&fix->changes[0].spelling, "cpu_offload=true"));
  assert_int_equal(fix->changes[0].where, WO_EVENT_NONE);
  assert_int_not_equal(fix->changes[0].from.truth, WO_TRUE);
  assert_null(fix_of(&sample, "halve")); /* nothing is known of the batch */
  sample_done(&sample);
}

static void test_what_is_set_already(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "micro_batch_size=1\ncpu_offload=True\n" OOM_ON("1"));
  assert_null(fix_of(&sample, "halve"));
  assert_null(fix_of(&sample, "offload"));
  assert_true(is_not_proposed(&sample, "the batch is 1") && is_not_proposed(&sample, "job.err:1"));
  assert_true(is_not_proposed(&sample, "offload")); /* without a sentence of its own: the title */
  sample_done(&sample);
}

static void test_what_conflicts(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  assert_null(fix_of(&sample, "conflicting"));
  assert_true(is_not_proposed(&sample, "not on card 0"));
  sample_done(&sample);
  sample_log(&sample, *state, OOM_ON("1"));
  assert_non_null(fix_of(&sample, "conflicting"));
  sample_done(&sample);
}

static void test_what_does_not_apply_is_silent(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "micro_batch_size=8\n" OOM_ON("1"));
  assert_null(fix_of(&sample, "silent"));
  assert_false(is_not_proposed(&sample, "silent"));
  assert_null(fix_of(&sample, "nothing-to-change"));
  assert_null(fix_of(&sample, "not-there"));
  sample_done(&sample);
}

static void test_commands(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("1"));
  const struct wo_finding_fix *fix = fix_of(&sample, "command-only");
  assert_non_null(fix);
  assert_int_equal(fix->command_count, 1);
  assert_true(wo_view_is(fix->commands[0], "export A=1"));
  sample_done(&sample);
}

static void test_savings(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("1"));
  const struct wo_finding_fix *fix = fix_of(&sample, "savings");
  assert_true(fix && fix->has_saves);
  sample_assert_near(fix->saves_bytes.lo / WO_GIB, 1.245, 1e-6, "lo"); /* the outer ends of both intervals */
  sample_assert_near(fix->saves_bytes.hi / WO_GIB, 36.535, 1e-6, "hi");
  assert_true(wo_view_is(fix->saves_formula, "1.25 GiB to 36.53 GiB"));
  fix = fix_of(&sample, "no-savings");
  assert_true(fix && !fix->has_saves); /* the batch is unknown, and so is what it would save */
  fix = fix_of(&sample, "negative-savings");
  assert_true(fix && fix->has_saves && fix->saves_bytes.lo >= 0 && fix->saves_bytes.lo <= fix->saves_bytes.mid);
  sample_done(&sample);
}

/* What is enough comes first, then by cost; equal ones keep the order of the cause. */
static void test_order(void **state) {
  static const char *const order[] = {"savings", "halve", "offload", "command-only", "negative-savings"};
  struct sample_job sample;
  (void)state;
  sample_log(&sample, *state, "micro_batch_size=8\n" OOM_ON("1"));
  const struct wo_finding *finding = &sample.report->findings[0];
  size_t at = 0;
  for (size_t i = 0; i < finding->fix_count && at < sizeof order / sizeof order[0]; i++)
    at += wo_view_is(finding->fixes[i].id, order[at]);
  assert_int_equal(at, sizeof order / sizeof order[0]);
  sample_done(&sample);
}

static void expect_verdict(const struct sample_job *sample, const char *id, const char *verdict) {
  const struct wo_finding_fix *fix = fix_of(sample, id);
  if (!fix) fail_msg("%s is not proposed", id);
  assert_string_equal(wo_suffices_name(fix->suffices), verdict);
}

/* 2.00 GiB wanted, 1.25 free, 1.09 idle: 0 to 0.76 GiB are missing. */
static void test_verdicts(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("1"));
  assert_true(sample.report->shortage.is_known);
  sample_assert_near(sample.report->shortage.bytes.lo / WO_GIB, 0, 1e-9, "lo");
  sample_assert_near(sample.report->shortage.bytes.hi / WO_GIB, 0.76, 1e-6, "hi");
  expect_verdict(&sample, "savings", "yes");
  expect_verdict(&sample, "offload", "unknown");
  expect_verdict(&sample, "no-savings", "unknown");
  expect_verdict(&sample, "negative-savings", "no"); /* the rule says so */
  const struct wo_finding_fix *fix = fix_of(&sample, "no-savings");
  assert_int_equal(fix->need_count, 1);
  assert_true(wo_view_is(fix->needs[0], "config.micro_batch"));
  assert_null(fix_of(&sample, "nothing-saved")); /* a fix that saves nothing is none */
  sample_done(&sample);
}

/* ---- The compiled-in fixes ---- */

static double to_of(const struct wo_finding_fix *fix, const char *knob, double otherwise) {
  for (size_t i = 0; i < fix->change_count; i++)
    if (wo_view_is(fix->changes[i].knob, knob)) return fix->changes[i].to.number.mid;
  return otherwise;
}

/* Micro-batch times accumulation stays what it was, for any batch. */
static void test_the_effective_batch_is_kept(void **state) {
  static const int batches[] = {2, 3, 6, 7, 8, 12, 24, 30, 64};
  void *pack = NULL;
  (void)state;
  assert_int_equal(sample_load_all(&pack), 0);
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    char log[2048];
    struct sample_job sample;
    snprintf(log, sizeof log, "per_device_train_batch_size=%d\ngradient_accumulation_steps=3\n%s", batches[i],
             EXCEPTION(OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "0.50 GiB", "38.87 GiB", "38.00 GiB", "0.25 GiB")));
    sample_log(&sample, pack, log);
    const struct wo_finding_fix *fix = fix_of(&sample, "reduce-micro-batch");
    if (!fix) fail_msg("batch %d: no fix", batches[i]);
    const double micro = to_of(fix, "micro_batch", 0), accumulation = to_of(fix, "grad_accum", 0);
    if (micro >= batches[i] || micro < 1 || micro * accumulation != batches[i] * 3.0)
      fail_msg("%d x 3 became %g x %g", batches[i], micro, accumulation);
    sample_done(&sample);
  }
  wo_pack_free(pack);
}

static void check_fixes(const struct wo_finding *finding) {
  for (size_t i = 0; i < finding->fix_count; i++) {
    const struct wo_finding_fix *fix = &finding->fixes[i];
    assert_true(fix->title.len > 0);
    if (fix->has_saves)
      assert_true(fix->saves_bytes.lo >= 0 && fix->saves_bytes.lo <= fix->saves_bytes.mid &&
                  fix->saves_bytes.mid <= fix->saves_bytes.hi);
    for (size_t k = 0; k < fix->change_count; k++) {
      const struct wo_finding_change *change = &fix->changes[k];
      const bool is_same =
          change->from.is_known && change->from.unit == WO_UNIT_NUMBER && change->from.number.mid == change->to.number.mid;
      if (is_same || change->spelling.key.len == 0) fail_msg("%.*s changes nothing", (int)fix->id.len, fix->id.ptr);
    }
  }
}

/* Nothing that is set already is proposed again, by any rule. */
static void test_compiled_in_fixes(void **state) {
  static const char *const logs[] = {
      "per_device_train_batch_size=1\ngradient_checkpointing=True\nexport "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" EXCEPTION(
          OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "0.50 GiB", "38.87 GiB", "28.00 GiB", "10.25 GiB")),
      "per_device_train_batch_size=16\nmax_seq_length=4096\noptimizer_offload=True\n" EXCEPTION(OOM_ON("0")),
  };
  void *pack = NULL;
  (void)state;
  assert_int_equal(sample_load_all(&pack), 0);
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, pack, logs[i]);
    assert_true(sample.report->finding_count > 0);
    for (size_t k = 0; k < sample.report->finding_count; k++) check_fixes(&sample.report->findings[k]);
    assert_null(fix_of(&sample, i == 0 ? "enable-expandable-segments" : "offload-optimizer"));
    if (i == 0) assert_null(fix_of(&sample, "enable-checkpointing"));
    if (i == 0) assert_null(fix_of(&sample, "reduce-micro-batch"));
    sample_done(&sample);
  }
  wo_pack_free(pack);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_change),
      cmocka_unit_test(test_a_knob_that_is_not_set),
      cmocka_unit_test(test_what_is_set_already),
      cmocka_unit_test(test_what_conflicts),
      cmocka_unit_test(test_what_does_not_apply_is_silent),
      cmocka_unit_test(test_commands),
      cmocka_unit_test(test_savings),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_the_effective_batch_is_kept),
      cmocka_unit_test(test_compiled_in_fixes),
  };
  return cmocka_run_group_tests_name("fixes", tests, load, sample_unload);
}
