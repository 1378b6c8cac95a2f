/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot without a usable history holds: sums by stream and pool, classes by stack, and when there is no run at all. */
#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/inspect/holdings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/inspect/pins.h"
#include "tests/support/files.h"
#include "tests/support/replay/trace_sample.h"

#define MIB (UINT64_C(1) << 20)
#define RECORDINGS WO_SOURCE_DIR "/tests/recordings/"
#define SNAPSHOTS WO_SOURCE_DIR "/../shared/corpus/snapshots/"

static struct wo_recording *open_file(const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  return wo_trace_open(path, &recording, &err) == WO_OK ? recording : NULL;
}

/* ---- Sums ---- */

static void sums_are_by_stream_and_pool(void **state) {
  static const struct {
    uint64_t stream, pool, segments, blocks, reserved_mib, free_units_mib;
  } rows[] = {{0, 0, 6, 5, 254, 40}, {0, 1, 2, 1, 50, 30}, {93824992, 0, 1, 2, 20, 0}};
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  (void)state;
  struct wo_recording *const recording = open_file(RECORDINGS "state.jsonl");
  assert_non_null(recording);
  assert_int_equal(wo_holdings_make(recording, &recording->traces.items[0], &holdings, &memory), WO_OK);
  assert_int_equal(holdings.places.count, 3);
  for (size_t i = 0; i < 3; i++) {
    const struct wo_holdings_place *const place = &holdings.places.items[i];
    assert_true(place->stream == rows[i].stream && place->pool.second == rows[i].pool);
    assert_int_equal(place->segment_count, rows[i].segments);
    assert_int_equal(place->block_count, rows[i].blocks);
    assert_true(place->use.reserved_bytes == rows[i].reserved_mib * MIB);
    assert_true(place->use.releasable_bytes == rows[i].free_units_mib * MIB);
  }
  /* What a graph's pool has free does not go back to the device. */
  assert_true(holdings.releasable_bytes == 40 * MIB && holdings.private_idle_bytes == 30 * MIB);
  assert_int_equal(holdings.segment_count, 9);
  assert_int_equal(holdings.block_count, 8);
  assert_false(holdings.has_oom);
  assert_true(holdings.knows_requested);
  assert_true(memory.moment == WO_MOMENT_STATE && memory.bin_count == 0 && memory.map.reserved_bytes == 324 * MIB);
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
  wo_recording_free(recording);
}

/* Equal sums stand in the order of stream and pool, whatever the order in the file. */
static void equal_sums_have_an_order(void **state) {
  static const struct { uint64_t stream, first, second; } rows[] = {{0, 0, 0}, {0, 0, 3}, {0, 1, 2}, {7, 0, 0}};
  struct wo_recording *recording = NULL;
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  struct wo_err err = {0};
  (void)state;
  const struct wo_view lines =
      WO_VIEW("{\"whyoom_trace\":1}\n"
              "{\"segment\":20971520,\"addr\":20971520,\"stream\":7}\n{\"block\":20971520,\"state\":\"free\"}\n"
              "{\"segment\":20971520,\"addr\":41943040,\"pool\":[1,2]}\n{\"block\":20971520,\"state\":\"free\"}\n"
              "{\"segment\":20971520,\"addr\":62914560,\"pool\":[0,3]}\n{\"block\":20971520,\"state\":\"free\"}\n"
              "{\"segment\":20971520,\"addr\":83886080}\n{\"block\":20971520,\"state\":\"free\"}\n");
  if (wo_sample_read(wo_trace_lines_read, lines, 0, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  assert_int_equal(wo_holdings_make(recording, &recording->traces.items[0], &holdings, &memory), WO_OK);
  assert_int_equal(holdings.places.count, 4);
  for (size_t i = 0; i < 4; i++) {
    const struct wo_holdings_place *const place = &holdings.places.items[i];
    if (place->stream != rows[i].stream || place->pool.first != rows[i].first || place->pool.second != rows[i].second)
      fail_msg("row %zu: stream %d, pool %d %d", i, (int)place->stream, (int)place->pool.first, (int)place->pool.second);
    assert_true(place->use.reserved_bytes == 20 * MIB);
  }
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
  wo_recording_free(recording);
}

static void classes_come_from_stacks(void **state) {
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  struct wo_pins pins;
  (void)state;
  struct wo_recording *const recording = open_file(RECORDINGS "state.jsonl");
  assert_non_null(recording);
  assert_int_equal(wo_holdings_make(recording, &recording->traces.items[0], &holdings, &memory), WO_OK);
  assert_int_equal(wo_attribution_make(&holdings.pattern, &memory.map, &attribution), WO_OK);
  assert_int_equal(wo_pins_find(&holdings.pattern, &memory.map, &pins), WO_OK);
  assert_true(attribution.classes[WO_CLASS_PARAMETER].block_bytes == 64 * MIB);
  assert_true(attribution.classes[WO_CLASS_OPTIMIZER].block_bytes == 64 * MIB);
  assert_true(attribution.classes[WO_CLASS_GRADIENT].block_bytes == 64 * MIB);
  assert_true(attribution.classes[WO_CLASS_ACTIVATION].block_bytes == 16 * MIB + 512);
  assert_true(attribution.classes[WO_CLASS_UNKNOWN].block_bytes == 8 * MIB); /* the block without a stack */
  assert_int_equal(pins.pins.count, 2);
  assert_true(pins.pins.items[0].free_bytes == 18 * MIB);
  wo_pins_done(&pins);
  wo_attribution_done(&attribution);
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
  wo_recording_free(recording);
}

static void a_refused_request_is_told(void **state) {
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  (void)state;
  struct wo_recording *const recording = open_file(RECORDINGS "state.jsonl");
  assert_non_null(recording);
  assert_int_equal(wo_holdings_make(recording, &recording->traces.items[1], &holdings, &memory), WO_OK);
  assert_true(holdings.has_oom && holdings.oom_bytes == 3072 * MIB && holdings.oom_free_bytes == 1024 * MIB);
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
  wo_recording_free(recording);
}

/* Snapshots before 2.0 give a block's size alone. */
static void what_was_asked_may_not_be_known(void **state) {
  struct wo_recording *recording = NULL;
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  struct wo_err err = {0};
  (void)state;
  const struct wo_view lines =
      WO_VIEW("{\"whyoom_trace\":1}\n{\"segment\":2097152,\"addr\":2097152,\"small\":true}\n"
              "{\"block\":512,\"state\":\"allocated\",\"requested\":0}\n{\"block\":2096640,\"state\":\"free\"}\n");
  assert_int_equal(wo_sample_read(wo_trace_lines_read, lines, 0, &recording, &err), WO_OK);
  assert_int_equal(wo_holdings_make(recording, &recording->traces.items[0], &holdings, &memory), WO_OK);
  assert_false(holdings.knows_requested);
  wo_memory_over_time_done(&memory);
  wo_holdings_done(&holdings);
  wo_recording_free(recording);
}

/* ---- Whether there is a run ---- */

#define HEAD "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n"
#define ALLOC "{\"alloc\":512,\"addr\":2097152}\n"
#define SEGMENT "{\"segment\":2097152,\"addr\":2097152,\"small\":true}\n"
#define ONE_BLOCK "{\"block\":512,\"state\":\"allocated\"}\n{\"block\":2096640,\"state\":\"free\"}\n"
#define TWO_BLOCKS                                                                                                               \
  "{\"block\":512,\"state\":\"allocated\"}\n{\"block\":512,\"state\":\"allocated\"}\n{\"block\":2096128,\"state\":\"free\"}\n"

static void a_lack_has_its_reason(void **state) {
  static const struct {
    const char *lines;
    const char *word; /* NULL: there may be a run */
  } rows[] = {
      {HEAD SEGMENT ONE_BLOCK, "recording was off"},
      {HEAD ALLOC SEGMENT ONE_BLOCK, NULL}, /* all that the program did */
      {HEAD ALLOC SEGMENT TWO_BLOCKS, "ring of one entry"},
      {HEAD "{\"snapshot\":512}\n" SEGMENT ONE_BLOCK, "ring of one entry"},
      {HEAD "{\"free_requested\":512,\"addr\":2097664}\n{\"free_completed\":512,\"addr\":2097664}\n" SEGMENT ONE_BLOCK,
       "no allocation"},
      {HEAD ALLOC, NULL},                        /* no segments: other questions */
      {HEAD "{\"alloc\":512,\"id\":1}\n", NULL}, /* says only what was asked */
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (wo_sample_read(wo_trace_lines_read, wo_view_of(rows[i].lines), 0, &recording, &err) != WO_OK)
      fail_msg("row %zu: %s", i, err.message);
    const char *const lack = wo_trace_lack(recording, &recording->traces.items[0]);
    if ((lack == NULL) != (rows[i].word == NULL)) fail_msg("row %zu: %s", i, lack ? lack : "no lack");
    if (lack && !wo_view_has(wo_view_of(lack), rows[i].word)) fail_msg("row %zu: %s", i, lack);
    wo_recording_free(recording);
  }
}

/* ---- Published ones ---- */

/* Figures as a reader of their own counted them. */
static void published_snapshots_add_up(void **state) {
  static const struct {
    const char *file;
    uint64_t segments, blocks, reserved_bytes, allocated_bytes;
  } rows[] = {{"flexgen-oom-torch2.0.pickle", 176, 460, 11844714496, 11840159744},
              {"flexgen-1.3b-torch2.0.pickle", 257, 785, 7608467456, 5683450880}};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    char path[1024];
    struct wo_holdings holdings;
    struct wo_memory_over_time memory;
    snprintf(path, sizeof path, SNAPSHOTS "%s", rows[i].file);
    struct wo_recording *const recording = open_file(path);
    if (!recording) skip();
    assert_non_null(wo_trace_lack(recording, &recording->traces.items[0]));
    assert_int_equal(wo_holdings_make(recording, &recording->traces.items[0], &holdings, &memory), WO_OK);
    assert_int_equal(holdings.segment_count, rows[i].segments);
    assert_int_equal(holdings.block_count, rows[i].blocks);
    assert_true(memory.map.reserved_bytes == rows[i].reserved_bytes);
    assert_true(memory.moment_at.bytes == rows[i].allocated_bytes);
    wo_memory_over_time_done(&memory);
    wo_holdings_done(&holdings);
    wo_recording_free(recording);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_by_stream_and_pool),     cmocka_unit_test(equal_sums_have_an_order),
      cmocka_unit_test(classes_come_from_stacks),        cmocka_unit_test(a_refused_request_is_told),
      cmocka_unit_test(a_lack_has_its_reason),           cmocka_unit_test(published_snapshots_add_up),
      cmocka_unit_test(what_was_asked_may_not_be_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
