/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/judged/programs.txt: what kind of program a log is of, which one, and where it ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/judged.h"

/* The value of a key in the table; "-" when the log does not tell it. */
static struct wo_view value_of(const struct wo_program *program, struct wo_view key) {
  struct wo_view value = {0};
  if (wo_view_is(key, "kind")) value = wo_view_of(wo_program_kind_name(program->kind));
  if (wo_view_is(key, "name")) value = program->name.text;
  if (wo_view_is(key, "platform")) value = program->platform.text;
  if (wo_view_is(key, "vendor")) value = program->vendor.text;
  if (wo_view_is(key, "manager")) value = program->manager.text;
  if (wo_view_is(key, "trains"))
    value = wo_program_suits(program, WO_PROGRAM_BIT(WO_PROGRAM_TRAINING)) ? WO_VIEW("yes") : WO_VIEW("no");
  return value.len > 0 ? value : WO_VIEW("-");
}

static bool holds(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  (void)pack;
  while (line.len > 0 && line.ptr[0] != '#') {
    struct wo_view wanted = wo_view_cut(&line, ' ');
    const struct wo_view key = wo_view_cut(&wanted, '=');
    if (!wo_view_equal(value_of(&sample->report->facts.program, key), wanted)) return false;
  }
  return true;
}

static void explain(const struct sample_job *sample) {
  static const char *const keys[] = {"kind", "name", "platform", "vendor", "manager", "trains"};
  const struct wo_program *const program = &sample->report->facts.program;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const struct wo_view value = value_of(program, wo_view_of(keys[i]));
    print_error("  %s=%.*s\n", keys[i], (int)value.len, value.ptr);
  }
  for (int kind = 1; kind < WO_PROGRAM_COUNT_; kind++)
    print_error("  %s %.2f\n", wo_program_kind_name((enum wo_program_kind)kind), program->scores[kind]);
}

static void test_table(void **state) {
  judge_table(*state, &(struct judged_table){"programs.txt", 50, holds, explain});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
  return cmocka_run_group_tests_name("program table", tests, sample_load_all, sample_unload);
}
