/* SPDX-License-Identifier: Apache-2.0 */
/* What would settle a finding: comparisons that rounding leaves open, near misses, and questions between two findings; rules that
 * are off; and how a rule decided (`rules why`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/diagnosis/why.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"

/* The figures of OOM_ON: tried 2.00 GiB, free 1.25 GiB, allocated 36.53 GiB, of 39.38 GiB. */
static const char rules[] =
    "[" OOM_PATTERN ",\n"
    "{\"cause\": \"first\", \"family\": \"unclear\", \"title\": \"t\", \"let\": {\"big\": \"oom.tried > 1GiB\"},\n"
    " \"when\": \"big and known(oom.free)\", \"prior\": \"strong\",\n"
    " \"not_when\": [{\"if\": \"oom.free > 1.25GiB\", \"say\": \"free\"}],\n"
    " \"for\": [{\"if\": \"oom.tried >= 2GiB\", \"weight\": \"weak\", \"say\": \"big {oom.tried}\"},\n"
    "          {\"if\": \"config.micro_batch > 4 and oom.tried >= 2GiB\", \"say\": \"b\"}, {\"if\": \"oom.free > 1GiB\", "
    "\"say\": \"f\"}],\n"
    " \"against\": [{\"if\": \"oom.tried < 2GiB\", \"say\": \"small\"}, {\"if\": \"oom.allocated < 10GiB\", \"say\": "
    "\"little\"}],\n"
    " \"would_tell\": [\"a snapshot\", {\"between\": \"second\", \"say\": \"first or second? {oom.free}\"},\n"
    "                {\"between\": \"never\", \"say\": \"first or never?\"},\n"
    "                {\"between\": \"second\", \"if\": \"oom.free > 5GiB\", \"say\": \"unasked\"}], \"fixes\": [\"helps\", "
    "\"gone\"]},\n"
    "{\"cause\": \"second\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"known(oom.free)\", \"prior\": \"medium\"},\n"
    "{\"cause\": \"near\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"oom.allocated >= 36.53GiB\"},\n"
    "{\"cause\": \"near-but-out\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"oom.allocated > 36.53GiB\",\n"
    " \"not_when\": [{\"if\": \"true\", \"say\": \"out\"}]},\n"
    "{\"cause\": \"never\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"oom.free > 100GiB\"},\n"
    "{\"cause\": \"silent\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"known(oom.free)\", \"prior\": "
    "\"decisive\"},\n"
    "{\"fix\": \"helps\", \"title\": \"h\", \"when\": \"oom.tried > 1GiB\", \"saves\": {\"lo\": \"1GiB\", \"hi\": "
    "\"oom.tried\"},\n"
    " \"commands\": [\"do it\"]},\n"
    "{\"fix\": \"gone\", \"title\": \"g\"}, {\"off\": \"silent\", \"why\": \"not on this cluster\"}, {\"off\": \"gone\", "
    "\"why\": \"w\"},\n"
    "{\"knob\": \"micro_batch\", \"unit\": \"number\", \"aliases\": [\"per_device_train_batch_size\"]}]";

static int load_rules(void **state) {
  return sample_load(rules, state);
}

static bool has_line(const struct wo_finding *finding, const char *start) {
  for (size_t i = 0; i < finding->would_tell_count; i++) {
    if (wo_view_starts(finding->would_tell[i], start)) return true;
  }
  return false;
}

static void test_lines(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  const struct wo_finding *first = sample_finding(&sample, "first");
  const struct wo_finding *second = sample_finding(&sample, "second");
  assert_non_null(first);
  assert_non_null(second);
  assert_ptr_equal(first, &sample.report->findings[0]);
  assert_true(has_line(first, "a snapshot"));
  assert_true(has_line(first, "first or second? 1.25 GiB"));
  assert_false(has_line(first, "first or never?"));
  assert_false(has_line(first, "unasked"));
  /* Of each comparison one line; the one over an unknown setting has none. */
  assert_true(has_line(first, "exact figures: oom.tried >= 2GiB cannot be decided from rounded ones, 1.995 to 2.005 GiB against "
                              "2.000 GiB"));
  assert_true(has_line(first, "exact figures: oom.tried < 2GiB cannot be decided"));
  assert_true(has_line(first, "exact figures: oom.free > 1.25GiB cannot be decided"));
  assert_int_equal(first->would_tell_count, 5);
  assert_int_equal(second->would_tell_count, 0);
  sample_done(&sample);
}

/* A cause that rounding alone kept out is told with the first finding, where there is room for it. */
static void test_near_misses(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_SAYS("3.00 GiB", "0", "39.38 GiB", "1.20 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB"));
  const struct wo_finding *first = &sample.report->findings[0];
  assert_true(has_line(first, "exact figures: whether it is near as well, oom.allocated >= 36.53GiB cannot be decided"));
  assert_false(has_line(first, "exact figures: whether it is near-but-out"));
  sample_done(&sample);
}

static void test_off(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  const struct wo_finding *first = sample_finding(&sample, "first");
  assert_null(sample_finding(&sample, "silent"));
  assert_int_equal(first->fix_count, 1);
  assert_true(wo_view_is(first->fixes[0].id, "helps"));
  sample_done(&sample);
}

/* ---- why ---- */

static struct wo_why why_of(struct sample_job *sample, const char *id) {
  const struct wo_pack *pack = sample->diagnosis.pack;
  const struct wo_cause *cause = wo_pack_cause(pack, wo_view_of(id));
  const struct wo_fix *fix = wo_pack_fix(pack, wo_view_of(id));
  struct wo_why why;
  const enum wo_status status = cause ? wo_why_cause(&sample->diagnosis, cause, &why) : wo_why_fix(&sample->diagnosis, fix, &why);
  assert_int_equal(status, WO_OK);
  return why;
}

static void test_why_text(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  const struct wo_why why = why_of(&sample, "first");
  assert_true(why.is_fired);
  const struct wo_finding *finding = sample_finding(&sample, "first");
  assert_true(fabs(why.score - finding->score) < 1e-9);
  struct wo_text text = {0};
  wo_why_text(&why, &text);
  static const char *const parts[] = {
      "cause first, built in, from own.json:3\n",
      "it fires: finding 1 of 2\n",
      "let big: true\n",
      "oom.tried = 1.995 to 2.005 GiB  [job.err:4]",
      "when: true\n",
      "not_when: undecided\n",
      "would say \"free\"",
      "for: undecided  (weight 0.15",
      "for: unknown  (weight 0.35",
      "config.micro_batch = unknown",
      "says \"f\"",
      "against: false  (weight 0.35",
      "true       big, that is\n",
  };
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (!wo_view_has((struct wo_view){text.ptr, text.len}, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], text.ptr);
  }
  wo_text_done(&text);
  sample_done(&sample);
}

static void test_why_reasons(void **state) {
  static const struct {
    const char *id;
    bool is_fired;
    const char *reason;
  } rows[] = {{"first", true, "finding 1 of 2"},
              {"second", true, "finding 2 of 2"},
              {"near", false, "\"when\" is undecided"},
              {"never", false, "\"when\" is false"},
              {"near-but-out", false, "an exception holds: out"},
              {"silent", false, "it is turned off: not on this cluster"},
              {"helps", true, "fix 1 of first"},
              {"gone", false, "it is turned off: w"}};
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_why why = why_of(&sample, rows[i].id);
    if (why.is_fired != rows[i].is_fired || !wo_view_is(why.reason, rows[i].reason)) {
      fail_msg("%s: %.*s", rows[i].id, (int)why.reason.len, why.reason.ptr);
    }
  }
  sample_done(&sample);
}

static void test_why_json(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  const struct wo_why why = why_of(&sample, "helps");
  struct wo_text text = {0};
  wo_why_json(&why, &text);
  static const char *const parts[] = {"\"schema\": \"whyoom.why/1\"", "\"fires\": true",   "\"part\": \"saves.hi\"",
                                      "\"unit\": \"bytes\"",          "\"lo\": 2142114",   "\"place\": \"job.err:4\"",
                                      "\"verdict\": \"true\"",        "\"part\": \"when\""};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (!wo_view_has((struct wo_view){text.ptr, text.len}, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], text.ptr);
  }
  wo_text_done(&text);
  sample_done(&sample);
}

/* Memory that runs out gives a failed text or a status, never half an answer. */
static void test_out_of_memory(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, EXCEPTION(OOM_ON("0")));
  const struct wo_cause *cause = wo_pack_cause(sample.diagnosis.pack, WO_VIEW("first"));
  for (long n = 1;; n++) {
    struct wo_arena arena;
    struct wo_why why;
    struct wo_text text = {0};
    struct wo_diagnosis diagnosis = sample.diagnosis;
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    diagnosis.arena = &arena;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_why_cause(&diagnosis, cause, &why);
    if (status == WO_OK) wo_why_text(&why, &text);
    wo_fail_alloc_off();
    const bool is_hit = wo_fail_alloc_hit();
    assert_true(status == WO_OK || status == WO_E_NOMEM);
    wo_text_done(&text);
    wo_arena_done(&arena);
    if (!is_hit) break;
  }
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),         cmocka_unit_test(test_near_misses), cmocka_unit_test(test_off),
      cmocka_unit_test(test_why_text),      cmocka_unit_test(test_why_reasons), cmocka_unit_test(test_why_json),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, load_rules, sample_unload);
}
