/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/judged/fixes.txt: which fixes a log gets, and which not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/judged.h"

enum { COMPLAINT_BYTES = 512 };

static const struct wo_finding_fix *fix_of(const struct wo_report *report, struct wo_view id) {
  for (size_t i = 0; i < report->finding_count; i++) {
    for (size_t k = 0; k < report->findings[i].fix_count; k++) {
      if (wo_view_equal(report->findings[i].fixes[k].id, id)) return &report->findings[i].fixes[k];
    }
  }
  return NULL;
}

/* The new value as it is pasted ends the spelled line, quotes and commas aside. */
static bool has_change(const struct wo_finding_fix *fix, struct wo_view wanted) {
  const struct wo_view knob = wo_view_cut(&wanted, '=');
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_value *const to = &fix->changes[i].to;
    char text[64] = "";
    if (!wo_view_equal(fix->changes[i].knob, knob)) continue;
    if (to->unit == WO_UNIT_NUMBER) snprintf(text, sizeof text, "%g", to->number.mid);
    if (to->unit == WO_UNIT_BOOL) snprintf(text, sizeof text, "%s", to->truth == WO_TRUE ? "true" : "false");
    if (to->unit == WO_UNIT_TEXT) snprintf(text, sizeof text, "%.*s", (int)to->text.len, to->text.ptr);
    return wo_view_is(wanted, text);
  }
  return false;
}

static bool is_withheld(const struct wo_report *report, struct wo_view words) {
  const struct wo_view bare = wo_view_sub(words, 1, words.len - 1);
  char text[COMPLAINT_BYTES];
  snprintf(text, sizeof text, "%.*s", (int)bare.len, bare.ptr);
  for (size_t i = 0; i < report->finding_count; i++) {
    for (size_t k = 0; k < report->findings[i].not_proposed_count; k++) {
      if (wo_view_has(report->findings[i].not_proposed[k], text)) return true;
    }
  }
  return false;
}

/* Some command of the fix has the words. */
static bool has_command(const struct wo_finding_fix *fix, struct wo_view words) {
  char text[COMPLAINT_BYTES];
  wo_view_copy(wo_view_sub(words, 1, words.len - 1), text, sizeof text);
  for (size_t i = 0; i < fix->command_count; i++) {
    if (wo_view_has(fix->commands[i], text)) return true;
  }
  return false;
}

static bool holds(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  const struct wo_view verb = wo_view_cut(&line, ' ');
  const struct wo_view id = wo_view_cut(&line, ' ');
  const struct wo_finding_fix *const fix = fix_of(sample->report, id);
  if (!wo_pack_fix(pack, id)) fail_msg("no fix %.*s", (int)id.len, id.ptr);
  if (wo_view_is(verb, "silent")) return fix == NULL;
  if (wo_view_is(verb, "judges")) return fix != NULL && wo_view_is(line, wo_suffices_name(fix->suffices));
  if (wo_view_is(verb, "pastes")) return fix != NULL && line.len > 2 && has_command(fix, line);
  if (wo_view_is(verb, "withholds")) return fix == NULL && line.len > 2 && is_withheld(sample->report, line);
  if (!wo_view_is(verb, "offers") || fix == NULL) return false;
  while (line.len > 0) {
    if (!has_change(fix, wo_view_cut(&line, ' '))) return false;
  }
  return true;
}

static void explain(const struct sample_job *sample) {
  for (size_t i = 0; i < sample->report->finding_count; i++) {
    const struct wo_finding *const finding = &sample->report->findings[i];
    print_error("  %.*s:", (int)finding->cause->id.len, finding->cause->id.ptr);
    for (size_t k = 0; k < finding->fix_count; k++) print_error(" %.*s", (int)finding->fixes[k].id.len, finding->fixes[k].id.ptr);
    print_error("\n");
  }
}

static void test_table(void **state) {
  judge_table(*state, &(struct judged_table){"fixes.txt", 30, holds, explain});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
  return cmocka_run_group_tests_name("fix table", tests, sample_load_all, sample_unload);
}
