/* Where failures happened: each case of tests/judged/phases.txt is a log, and the phase and the frame of the user that the story
 * gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"
#include "tests/support/table.h"

#define TABLE_DIR WO_SOURCE_DIR "/tests/judged/"

/* The value of `key=` in the expectation of a case; empty without it. */
static struct wo_view wanted(const struct wo_table_case *item, const char *key) {
  struct wo_view rest = item->expect;
  while (wo_view_trim(rest).len > 0) {
    struct wo_view value = wo_view_word(&rest);
    const struct wo_view name = wo_view_cut(&value, '=');
    if (wo_view_is(name, key)) return value;
  }
  return (struct wo_view){0};
}

/* "-" wants nothing, and no value does not ask. */
static bool is_as_wanted(const struct wo_table_case *item, const char *key, struct wo_view value) {
  const struct wo_view want = wanted(item, key);
  if (want.len == 0 || wo_view_equal(value, want) || (wo_view_is(want, "-") && value.len == 0)) return true;
  print_error("line %llu: %.*s: %s is '%.*s', not '%.*s'\n", (unsigned long long)item->line, (int)item->title.len,
              item->title.ptr, key, (int)value.len, value.ptr, (int)want.len, want.ptr);
  return false;
}

static bool run_case(const struct wo_pack *pack, const struct wo_table_case *item) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  assert_int_equal(wo_job_read_text(job, item->log, "job.log"), WO_OK);
  assert_int_equal(wo_job_close(job), WO_OK);
  static const struct wo_event nothing = {.kind = WO_KIND_UNKNOWN};
  const struct wo_event *traceback = wo_event_get(&job->events, job->story.traceback);
  if (traceback == NULL) traceback = &nothing;
  bool is_right = job->story.failure != WO_EVENT_NONE;
  if (!is_right) print_error("line %llu: no failure\n", (unsigned long long)item->line);
  is_right = is_as_wanted(item, "phase", job->story.phase) && is_right;
  is_right = is_as_wanted(item, "file", wo_event_text(traceback, WO_FIELD_FRAME_FILE)) && is_right;
  is_right = is_as_wanted(item, "function", wo_event_text(traceback, WO_FIELD_FRAME_FUNCTION)) && is_right;
  wo_job_free(job);
  return is_right;
}

static void run_table(const struct wo_pack *pack, const char *path) {
  char complaint[512];
  struct wo_table table;
  size_t wrong = 0;
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) wrong += !run_case(pack, &table.items[i]);
  print_message("%s: %zu of %zu cases\n", path, table.count - wrong, table.count);
  const size_t count = table.count;
  wo_table_done(&table);
  assert_true(count > 0);
  assert_int_equal(wrong, 0);
}

static void test_phases_of_stacks(void **state) {
  run_table(*state, TABLE_DIR "phases.txt");
}

static void test_phases_of_more_stacks(void **state) {
  run_table(*state, TABLE_DIR "phases_more.txt");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_phases_of_stacks), cmocka_unit_test(test_phases_of_more_stacks)};
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
