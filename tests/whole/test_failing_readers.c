/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a scan fails once, over the logs of the table tests: the scan either says so, or its evidence is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/table.h"
#include "tests/support/job/scan_sample.h"

enum { ALLOCATIONS_MAX = 500 };

static enum wo_status scan_log(struct wo_pattern_set *set, struct wo_view log, struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  enum wo_status status = wo_scan_new(set, &wo_formats, store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan);
  if (status != WO_OK) return status;
  status = wo_scan_feed(scan, log.ptr, log.len);
  const enum wo_status ended = wo_scan_end(scan, &summary);
  wo_scan_free(scan);
  return ended != WO_OK ? ended : status;
}

/* Returns how many allocations failed. */
static long fail_each(struct wo_pattern_set *set, struct wo_view log) {
  struct wo_event_store whole;
  sample_scan(set, log, CHUNK_WHOLE, &whole);
  long n = 0;
  for (bool was_hit = true; was_hit;) {
    struct wo_event_store store;
    assert_true(++n < ALLOCATIONS_MAX);
    wo_event_store_init(&store);
    wo_fail_alloc_at(n);
    const enum wo_status status = scan_log(set, log, &store);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    if (status == WO_OK) {
      sample_expect_same(&whole, &store);
    } else {
      assert_true(status == WO_E_NOMEM && was_hit);
    }
    wo_event_store_done(&store);
  }
  wo_event_store_done(&whole);
  return n - 1;
}

static void fail_table(void **state, const char *path) {
  const struct sample_patterns *const patterns = *state;
  char complaint[512];
  struct wo_table table;
  long failed = 0;
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) failed += fail_each(patterns->set, table.items[i].log);
  assert_true(failed > (long)table.count);
  wo_table_done(&table);
}

/* The traces and their processes. */
static void test_monitors(void **state) {
  fail_table(state, WO_SOURCE_DIR "/tests/table/monitors.txt");
}

/* scontrol, sacct, jobstats. */
static void test_accounting(void **state) {
  fail_table(state, WO_SOURCE_DIR "/tests/table/accounting.txt");
}

/* Directives of batch scripts, and what SLURM prints. */
static void test_slurm(void **state) {
  fail_table(state, WO_SOURCE_DIR "/tests/table/slurm.txt");
}

/* Forms and series are made while lines are read. */
static void test_steps(void **state) {
  fail_table(state, WO_SOURCE_DIR "/tests/table/steps.txt");
}

static void test_host(void **state) {
  fail_table(state, WO_SOURCE_DIR "/tests/table/host.txt");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_monitors),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_accounting),
      cmocka_unit_test(test_slurm),
      cmocka_unit_test(test_host),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
