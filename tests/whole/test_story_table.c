/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/judged/stories.txt: which of the failures in a log ended the job, which were survived, which follow from it.
 *
 * Expectations, one a line: `outcome NAME`; `line N` of the failure that is quoted, or `line -` for none; `runs N` that are told
 * apart; `survived N` failures of memory and other errors; `cause ID` of the first finding, or `not ID`; `unsure`: the first
 * finding is not certain; `says WORDS` that the quoted line or the exception has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/judged.h"

enum { COMPLAINT_BYTES = 512 };

static uint64_t number_of(struct wo_view text) {
  uint64_t number = 0;
  if (wo_number_u64(&text, UINT32_MAX, &number) != WO_OK || text.len > 0) fail_msg("no number: %.*s", (int)text.len, text.ptr);
  return number;
}

static size_t count_survived(const struct sample_job *sample) {
  size_t count = 0;
  for (size_t i = 0; i < sample->job->events.count; i++) {
    const enum wo_role role = sample->job->story.roles[i];
    count += role == WO_ROLE_RECOVERED || role == WO_ROLE_SURVIVED;
  }
  return count;
}

static struct wo_view first_cause(const struct sample_job *sample) {
  return sample->report->finding_count > 0 ? sample->report->findings[0].cause->id : WO_VIEW("-");
}

static bool says(const struct wo_event *failure, struct wo_view words) {
  char text[COMPLAINT_BYTES];
  snprintf(text, sizeof text, "%.*s", (int)words.len, words.ptr);
  return failure && (wo_view_has(failure->text, text) || wo_view_has(wo_event_text(failure, WO_FIELD_MESSAGE), text));
}

static bool holds(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  (void)pack;
  const struct wo_view verb = wo_view_cut(&line, ' ');
  const struct wo_event *const failure = sample_failure(sample);
  if (wo_view_is(verb, "outcome")) return wo_view_is(line, sample_outcome(sample));
  if (wo_view_is(verb, "line")) return wo_view_is(line, "-") ? !failure : failure && failure->span.line == number_of(line);
  if (wo_view_is(verb, "runs")) return sample->job->story.run_count == number_of(line);
  if (wo_view_is(verb, "survived")) return count_survived(sample) == number_of(line);
  if (wo_view_is(verb, "cause")) return wo_view_equal(first_cause(sample), line);
  if (wo_view_is(verb, "not")) return !wo_view_equal(first_cause(sample), line);
  if (wo_view_is(verb, "unsure"))
    return sample->report->finding_count == 0 || sample->report->findings[0].confidence != WO_CONFIDENCE_CERTAIN;
  return wo_view_is(verb, "says") && says(failure, line);
}

static void explain(const struct sample_job *sample) {
  const struct wo_event *const failure = sample_failure(sample);
  const struct wo_view cause = first_cause(sample);
  print_error("  %s, line %llu, %zu runs, %zu survived, %.*s: %.*s\n", sample_outcome(sample),
              (unsigned long long)(failure ? failure->span.line : 0), sample->job->story.run_count, count_survived(sample),
              (int)cause.len, cause.ptr, failure ? (int)failure->text.len : 0, failure ? failure->text.ptr : "");
}

static void test_table(void **state) {
  judge_table(*state, &(struct judged_table){"stories.txt", 40, holds, explain});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
  return cmocka_run_group_tests_name("story table", tests, sample_load_all, sample_unload);
}
