/* SPDX-License-Identifier: Apache-2.0 */
/* Where failures happened: each case of tests/judged/phases.txt and phases_more.txt is a log, and the phase and the frame of the
 * user that the story gives (`phase=`, `file=`, `function=`; "-" for none). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/judged.h"

/* What the story gives for a key; "-" for nothing. */
static struct wo_view value_of(const struct sample_job *sample, struct wo_view key) {
  const struct wo_story *const story = &sample->job->story;
  const struct wo_event *const traceback = wo_event_get(&sample->job->events, story->traceback);
  struct wo_view value = {0};
  if (wo_view_is(key, "phase")) value = story->phase;
  if (traceback && wo_view_is(key, "file")) value = wo_event_text(traceback, WO_FIELD_FRAME_FILE);
  if (traceback && wo_view_is(key, "function")) value = wo_event_text(traceback, WO_FIELD_FRAME_FUNCTION);
  return value.len > 0 ? value : WO_VIEW("-");
}

static bool holds(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line) {
  (void)pack;
  while (wo_view_trim(line).len > 0) {
    struct wo_view wanted = wo_view_word(&line);
    const struct wo_view key = wo_view_cut(&wanted, '=');
    if (!wo_view_equal(value_of(sample, key), wanted)) return false;
  }
  return sample->job->story.failure != WO_EVENT_NONE;
}

static void explain(const struct sample_job *sample) {
  static const char *const keys[] = {"phase", "file", "function"};
  if (sample->job->story.failure == WO_EVENT_NONE) print_error("  no failure\n");
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const struct wo_view value = value_of(sample, wo_view_of(keys[i]));
    print_error("  %s=%.*s\n", keys[i], (int)value.len, value.ptr);
  }
}

static void test_phases_of_stacks(void **state) {
  judge_table(*state, &(struct judged_table){"phases.txt", 130, holds, explain});
}

static void test_phases_of_more_stacks(void **state) {
  judge_table(*state, &(struct judged_table){"phases_more.txt", 120, holds, explain});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_phases_of_stacks), cmocka_unit_test(test_phases_of_more_stacks)};
  return cmocka_run_group_tests_name("phases", tests, sample_load_all, sample_unload);
}
