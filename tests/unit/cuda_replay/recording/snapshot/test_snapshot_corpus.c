/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded snapshots beside the source tree (../shared/corpus/snapshots): every figure of their README, and cut at every
 * hundredth. Without them this test says so and is skipped: some of them carry no licence, so they are no part of the source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/recording/recordings.h"
#include "cuda_replay/recording/recording_valid.h"
#include "tests/support/process.h"

#define FOLDER WO_SOURCE_DIR "/../shared/corpus/snapshots/"

/* The figures as the README has them. */
static const struct row {
  const char *file;
  size_t large_segments, small_segments, active_blocks, inactive_blocks;
  size_t allocs, frees_requested, frees_completed, segment_allocs, segment_frees;
  uint64_t reserved_bytes, allocated_bytes, requested_bytes;
  uint16_t torch;
} rows[] = {
    {"flexgen-oom-torch2.0.pickle", 174, 2, 460, 3, 0, 0, 0, 0, 0, 11844714496, 11840159744, 11840159744, 200},
    {"flexgen-1.3b-torch2.0.pickle", 254, 3, 785, 163, 0, 0, 1, 0, 0, 7608467456, 5683450880, 5683449864, 200},
    {"trainstep-torch2.1.pickle", 164, 51, 802, 277, 3505, 3325, 3325, 152, 0, 6471811072, 2297283072, 2285408452, 201},
    {"fromempty-torch2.6.pickle", 8, 1, 10, 10, 36, 26, 26, 9, 0, 3781165056, 31719936, 31719428, 206},
    {"lm-ctx256-fullstep-torch2.6.pickle", 1002, 19, 1201, 510, 6769, 5894, 5894, 791, 780, 61025026048, 54756295168, 54619652100,
     206},
    {"lm-ctx512-fullstep-torch2.6.pickle", 783, 37, 1201, 502, 6769, 5894, 5894, 589, 790, 62830673920, 54798180864, 54663241732,
     206},
    {"lm-ctx512-forward-mixed-torch2.6.pickle", 831, 37, 1613, 203, 2702, 1414, 1414, 638, 597, 40514879488, 39975713792,
     39839792128, 206},
    {"lm-medium512-training-torch2.11.pickle", 391, 9, 885, 156, 7591, 7370, 7370, 1, 0, 12660506624, 6838108672, 6829260804,
     211},
    {"lm-medium1024-training-torch2.11.pickle", 211, 23, 885, 146, 7591, 7370, 7370, 0, 0, 25178406912, 6874481152, 6870548484,
     211},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static int skips_without_corpus(void **state) {
  (void)state;
  if (access(FOLDER, R_OK) == 0) return 0;
  print_message("no %s: nothing to check\n", FOLDER);
  return 1;
}

static const char *path_of(const struct row *row) {
  static char path[1024];
  snprintf(path, sizeof path, FOLDER "%s", row->file);
  return path;
}

/* ---- Figures ---- */

static void check_entries(const struct row *row, const struct wo_trace *trace) {
  size_t counts[WO_ACTION_COUNT_] = {0};
  for (size_t i = 0; i < trace->entries.count; i++) counts[trace->entries.items[i].action]++;
  assert_int_equal(counts[WO_ACTION_ALLOC], row->allocs);
  assert_int_equal(counts[WO_ACTION_FREE_REQUESTED], row->frees_requested);
  assert_int_equal(counts[WO_ACTION_FREE_COMPLETED], row->frees_completed);
  assert_int_equal(counts[WO_ACTION_SEGMENT_ALLOC], row->segment_allocs);
  assert_int_equal(counts[WO_ACTION_SEGMENT_FREE], row->segment_frees);
  assert_int_equal(counts[WO_ACTION_OOM] + counts[WO_ACTION_UNKNOWN] + counts[WO_ACTION_SEGMENT_MAP], 0);
}

static void check_segments(const struct row *row, const struct wo_trace *trace) {
  size_t small = 0;
  uint64_t reserved_bytes = 0;
  for (size_t i = 0; i < trace->segments.count; i++) {
    small += trace->segments.items[i].is_small;
    reserved_bytes += trace->segments.items[i].size_bytes;
    assert_false(trace->segments.items[i].is_expandable);
  }
  assert_int_equal(trace->segments.count - small, row->large_segments);
  assert_int_equal(small, row->small_segments);
  assert_int_equal(reserved_bytes, row->reserved_bytes);
}

static void check_blocks(const struct row *row, const struct wo_trace *trace) {
  size_t active = 0;
  uint64_t allocated_bytes = 0;
  uint64_t requested_bytes = 0;
  for (size_t i = 0; i < trace->blocks.count; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    active++;
    allocated_bytes += block->size_bytes;
    requested_bytes += block->requested_bytes;
  }
  assert_int_equal(active, row->active_blocks);
  assert_int_equal(trace->blocks.count - active, row->inactive_blocks);
  assert_int_equal(allocated_bytes, row->allocated_bytes);
  assert_int_equal(requested_bytes, row->requested_bytes);
}

static void test_figures(void **state) {
  if (skips_without_corpus(state) != 0) skip();
  for (size_t i = 0; i < ROW_COUNT; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (wo_trace_open(path_of(&rows[i]), &recording, &err) != WO_OK) fail_msg("%s: %s", err.file, err.message);
    assert_true(wo_recording_is_valid(recording));
    assert_int_equal(recording->fidelity, WO_TRACE_EXACT);
    assert_int_equal(recording->notes.count, 0);
    assert_false(recording->is_truncated);
    assert_int_equal(recording->traces.count, 1);
    assert_int_equal(recording->traces.items[0].device, 0);
    assert_int_equal(recording->streams.count, 1);
    assert_int_equal(recording->pools.count, 1);
    assert_true(recording->torch_from <= rows[i].torch && rows[i].torch <= recording->torch_to);
    assert_int_equal(recording->has_settings, rows[i].torch >= 206);
    check_entries(&rows[i], &recording->traces.items[0]);
    check_segments(&rows[i], &recording->traces.items[0]);
    check_blocks(&rows[i], &recording->traces.items[0]);
    wo_recording_free(recording);
  }
}

/* ---- Cut ---- */

/* Every hundredth of every file. What is kept grows with the file, and is always in order. */
static void test_cut(void **state) {
  if (skips_without_corpus(state) != 0) skip();
  for (size_t i = 0; i < ROW_COUNT; i++) {
    size_t len = 0;
    char *const bytes = wo_files_read(path_of(&rows[i]), &len);
    assert_non_null(bytes);
    size_t kept = 0;
    for (size_t part = 0; part < 100; part += wo_process_is_sanitized ? 9 : 1) {
      struct wo_recording *recording = NULL;
      struct wo_err err = {0};
      size_t now = 0;
      const enum wo_status status = wo_test_read(bytes, len * part / 100, SIZE_MAX, &recording, &err);
      if (status == WO_OK) {
        assert_true(recording->is_truncated && wo_recording_is_valid(recording));
        assert_true(wo_test_has_note(recording, "ends in the middle, at byte"));
        now = recording->traces.items[0].segments.count + recording->traces.items[0].entries.count;
      } else {
        assert_int_equal(status, WO_E_SYNTAX);
        assert_true(strlen(err.message) > 10);
      }
      assert_true(now >= kept);
      kept = now;
      wo_recording_free(recording);
    }
    /* With the last hundredth of the file only a few are lost. */
    const size_t all = rows[i].large_segments + rows[i].small_segments + rows[i].allocs + rows[i].frees_requested +
                       rows[i].frees_completed + rows[i].segment_allocs + rows[i].segment_frees;
    assert_true(kept >= all * 95 / 100);
    free(bytes);
  }
}

/* The pieces in which a real file comes do not matter. */
static void test_chopped(void **state) {
  static const size_t pieces[] = {1, 1000};
  if (skips_without_corpus(state) != 0) skip();
  for (size_t i = 0; i < ROW_COUNT; i++) {
    size_t len = 0;
    char *const bytes = wo_files_read(path_of(&rows[i]), &len);
    assert_non_null(bytes);
    struct wo_recording *whole = NULL;
    assert_int_equal(wo_test_read(bytes, len, SIZE_MAX, &whole, NULL), WO_OK);
    for (size_t j = len < 500000 ? 0 : 1; j < 2; j++) {
      struct wo_recording *chopped = NULL;
      assert_int_equal(wo_test_read(bytes, len, pieces[j], &chopped, NULL), WO_OK);
      assert_null(wo_test_difference(whole, chopped));
      wo_recording_free(chopped);
    }
    wo_recording_free(whole);
    free(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures), cmocka_unit_test(test_cut), cmocka_unit_test(test_chopped)};
  return cmocka_run_group_tests_name("snapshot_corpus", tests, NULL, NULL);
}
