/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of "Killed": what shells print when a process was killed, and prose that holds the word. The packs find such lines
 * with an expression; a rule pack of somebody else may name the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static const struct wo_view literals[] = {WO_VIEW("Killed\n"), WO_VIEW(" Killed ")};
static const struct wo_pattern pattern = {
    .id = WO_VIEW("killed"), .kind = WO_KIND_KILLED, .literals = literals, .literal_count = 2, .reader = WO_VIEW("killed")};

static const struct {
  const char *line;
  bool is_kill;
  double pid; /* -1: unknown */
} rows[] = {
    {"/bin/job.sh: line 12: 4711 Killed                  python run.py", true, 4711},
    {"/var/spool/slurmd/job7/slurm_script: line 3:   815 Killed                  python run.py > out", true, 815},
    {"gpu4: /bin/job.sh: line 12: 4711 Killed                  python run.py", true, 4711},
    {".lsbatch/171.88.shell: line 14: 94460 Killed                  ./run", true, 94460},
    {"[rank3]: Killed", true, -1},
    {"Killed", true, -1},
    {"  Killed  ", true, -1},
    {"the process was Killed", false, -1},
    {"it was Killed by me", false, -1},
    {"x: line a: 4711 Killed  run", false, -1},
    {"x: line 12: many Killed  run", false, -1},
    {"x: line 12, 4711 Killed  run", false, -1},
    {"x: line 12: 99999999999999 Killed  run", false, -1},
    {"x: line 12: 4711 not Killed  run", false, -1},
};

static void test_rows(void **state) {
  (void)state;
  struct wo_pattern_set *set = NULL;
  assert_int_equal(wo_pattern_set_new(&pattern, 1, NULL, &set), WO_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set, rows[i].line, &store);
    if (store.count != rows[i].is_kill) fail_msg("\"%s\": %zu events", rows[i].line, store.count);
    if (store.count > 0) {
      assert_int_equal(store.items[0].kind, WO_KIND_KILLED);
      sample_expect_number(&store.items[0], WO_FIELD_PID, rows[i].pid);
      assert_true(store.items[0].span.byte + store.items[0].span.length == strlen(rows[i].line));
    }
    wo_event_store_done(&store);
  }
  wo_pattern_set_free(set);
}

/* The packs' own pattern tells the same lines apart. */
static void test_the_packs_agree(void **state) {
  const struct sample_patterns *patterns = *state;
  for (size_t i = 0; i < 6; i++) {
    struct wo_event_store store;
    sample_scan_text(patterns->set, rows[i].line, &store);
    if (sample_count(&store, WO_KIND_KILLED) != 1) fail_msg("\"%s\": %zu events", rows[i].line, store.count);
    assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM) + sample_count(&store, WO_KIND_CGROUP_OOM), 0);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_the_packs_agree),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
