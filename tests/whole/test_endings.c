/* SPDX-License-Identifier: Apache-2.0 */
/* How logs end: tests/judged/bad_ends.txt and good_ends.txt, in the format of tests/table (tests/support/table.h). The
 * expectation is a line of outcomes, any of which is right ("other|host_oom"), and for a failure the lines that may decide
 * ("line=2,3"). A log of good_ends.txt has no failure, one of bad_ends.txt has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/job/judged.h"

/* Whether the word is one of those that `list` holds between `mark`. */
static bool is_listed(struct wo_view list, char mark, struct wo_view word) {
  while (list.len > 0) {
    const size_t end = wo_view_find_char(list, mark, 0);
    const struct wo_view item = wo_view_sub(list, 0, end == WO_NOT_FOUND ? list.len : end);
    if (wo_view_equal(item, word)) return true;
    list = wo_view_skip(list, item.len + (end == WO_NOT_FOUND ? 0 : 1));
  }
  return false;
}

static bool is_right(const struct sample_job *sample, struct wo_view line, bool is_bad) {
  const struct wo_event *const failure = sample_failure(sample);
  const bool tells = wo_report_tells_failure(sample->report) || failure != NULL;
  const struct wo_view outcomes = wo_view_word(&line);
  const struct wo_view lines = wo_view_skip(wo_view_trim(line), strlen("line="));
  char number[32];
  snprintf(number, sizeof number, "%llu", failure ? (unsigned long long)failure->span.line : 0);
  const bool is_right_line = lines.len == 0 || is_listed(lines, ',', wo_view_of(number));
  return tells == is_bad && is_right_line && is_listed(outcomes, '|', wo_view_of(sample_outcome(sample)));
}

static bool ends_badly(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  (void)pack;
  return is_right(sample, line, true);
}

static bool ends_well(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  (void)pack;
  return is_right(sample, line, false);
}

static void explain(const struct sample_job *sample) {
  const struct wo_event *const failure = sample_failure(sample);
  const bool tells = wo_report_tells_failure(sample->report) || failure != NULL;
  print_error("  %s line=%llu, %s: %s\n", sample_outcome(sample), failure ? (unsigned long long)failure->span.line : 0,
              tells ? "a failure" : "no failure", failure ? wo_kind_name(failure->kind) : "-");
}

static void test_bad_ends(void **state) {
  judge_table(*state, &(struct judged_table){"bad_ends.txt", 40, ends_badly, explain});
}

static void test_good_ends(void **state) {
  judge_table(*state, &(struct judged_table){"good_ends.txt", 25, ends_well, explain});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_ends), cmocka_unit_test(test_good_ends)};
  return cmocka_run_group_tests_name("endings", tests, sample_load_all, sample_unload);
}
