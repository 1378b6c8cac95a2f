/* SPDX-License-Identifier: Apache-2.0 */
/* What-ifs over address orders, and the sweep over settings: figures that can be worked out by hand, order, worth, advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/whatif/sweep.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/trace_sample.h"

#define MIB (UINT64_C(1) << 20)

struct sample {
  struct wo_recording *recording;
  struct wo_alloc_pattern pattern;
};

static struct sample open_sample(const char *lines) {
  struct sample sample = {0};
  struct wo_err err = {0};
  if (wo_sample_read(wo_trace_lines_read, wo_view_of(lines), 0, &sample.recording, &err) != WO_OK) fail_msg("%s", err.message);
  if (wo_alloc_pattern_make(sample.recording, &sample.recording->traces.items[0], &sample.pattern, &err) != WO_OK)
    fail_msg("%s", err.message);
  return sample;
}

static void close_sample(struct sample *sample) {
  wo_alloc_pattern_done(&sample->pattern);
  wo_recording_free(sample->recording);
}

/* `count` allocations of the same size, all alive at the end. */
static struct sample open_equal(unsigned count, uint64_t bytes) {
  struct wo_text text = {0};
  wo_text_add(&text, "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n");
  for (unsigned i = 0; i < count; i++) wo_text_add(&text, "{\"alloc\":%llu,\"id\":%u}\n", (unsigned long long)bytes, i + 1);
  wo_text_add(&text, "%c", '\0');
  const struct sample sample = open_sample(text.ptr);
  wo_text_done(&text);
  return sample;
}

static struct wo_whatif_options options_of(uint64_t capacity_bytes) {
  return (struct wo_whatif_options){
      .settings = wo_alloc_settings_default(206), .torch = 206, .capacity_bytes = capacity_bytes, .shuffles = 1};
}

static void test_case(void **state) {
  (void)state;
  struct sample sample = open_equal(4, 30 * MIB);
  struct wo_whatif_options options = options_of(0);
  struct wo_replay_case result;
  struct wo_err err = {0};
  uint64_t count = 0;
  assert_int_equal(wo_whatif_run(&sample.pattern, &options, &result, &count, &err), WO_OK);
  assert_int_equal(result.run_count, 3);
  assert_int_equal(result.oom_count, 0);
  assert_true(result.reserved_lo_bytes == 120 * MIB && result.reserved_hi_bytes == 120 * MIB);
  assert_int_equal(result.outcome.peak.allocated_entry, 3);
  assert_int_equal(count, 3 * (4 + 4)); /* requests and segments */
  /* Room for three: the fourth fails, in all orders. */
  options = options_of(100 * MIB);
  assert_int_equal(wo_whatif_run(&sample.pattern, &options, &result, NULL, &err), WO_OK);
  assert_int_equal(result.oom_count, 3);
  assert_int_equal(result.outcome.oom_entry, 3);
  assert_true(result.reserved_hi_bytes == 90 * MIB);
  assert_true(result.outcome.oom.requested_bytes == 30 * MIB);
  close_sample(&sample);
}

/* The worst run is kept whole, whatever the order in which runs come. */
static void test_worst_of_several(void **state) {
  (void)state;
  struct wo_replay_outcome outcomes[3] = {{.peak.reserved_bytes = 10, .peak.allocated_at = 1},
                                          {.peak.reserved_bytes = 30, .peak.allocated_at = 2},
                                          {.peak.reserved_bytes = 20, .peak.allocated_at = 3, .has_oom = true, .oom_at = 0}};
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  for (size_t i = 0; i < 3; i++) {
    struct wo_replay_case result = {.run_count = 0};
    for (size_t j = 0; j < 3; j++) wo_replay_case_add(&result, &outcomes[orders[i][j]]);
    assert_int_equal(result.outcome.peak.reserved_bytes, 20);
    assert_int_equal(result.outcome.peak.allocated_at, 3);
    assert_int_equal(result.outcome.oom_at, 0);
    assert_int_equal(result.oom_count, 1);
    assert_int_equal(result.reserved_lo_bytes, 10);
    assert_int_equal(result.reserved_hi_bytes, 30);
  }
}

/* Allocations and frees of many sizes, which leave holes; the orders of addresses decide which holes serve. */
static struct sample open_mixed(void) {
  struct wo_text text = {0};
  wo_text_add(&text, "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n");
  uint32_t random = 7;
  for (unsigned i = 1; i <= 400; i++) {
    random = random * 1664525 + 1013904223;
    wo_text_add(&text, "{\"alloc\":%llu,\"id\":%u}\n", (unsigned long long)(random >> 27) * 3 * MIB / 2 + MIB, i);
    if (i > 40 && i % 8 != 0) wo_text_add(&text, "{\"free\":%u}\n", i - 40);
  }
  wo_text_add(&text, "%c", '\0');
  const struct sample sample = open_sample(text.ptr);
  wo_text_done(&text);
  return sample;
}

/* The short answer is that of the whole runs, at every capacity and whichever order comes first. */
static void test_fits(void **state) {
  (void)state;
  struct sample sample = open_mixed();
  unsigned all = 0, some = 0, none = 0;
  for (uint64_t capacity = 1600 * MIB; capacity < 3200 * MIB; capacity += 10 * MIB) {
    struct wo_whatif_options options = options_of(capacity);
    struct wo_replay_case whole;
    struct wo_err err = {0};
    options.shuffles = 2;
    assert_int_equal(wo_whatif_run(&sample.pattern, &options, &whole, NULL, &err), WO_OK);
    all += whole.oom_count == 0;
    none += whole.oom_count == whole.run_count;
    some += whole.oom_count > 0 && whole.oom_count < whole.run_count;
    for (unsigned first = 0; first < whole.run_count; first++) {
      unsigned order = first;
      bool fits = false;
      assert_int_equal(wo_whatif_fits(&sample.pattern, &options, true, &order, &fits, &err), WO_OK);
      assert_true(fits == (whole.oom_count == 0));
      assert_true(order < whole.run_count);
      assert_int_equal(wo_whatif_fits(&sample.pattern, &options, false, &order, &fits, &err), WO_OK);
      assert_true(fits == (whole.oom_count < whole.run_count));
    }
  }
  print_message("every order fits at %u capacities, some at %u, none at %u\n", all, some, none);
  assert_true(all > 0 && some > 0 && none > 0);
  close_sample(&sample);
}

static const struct wo_sweep_row *find(const struct wo_sweep *sweep, const char *text) {
  for (size_t i = 0; i < sweep->count; i++) {
    if (wo_view_is(sweep->rows[i].text, text)) return &sweep->rows[i];
  }
  return NULL;
}

/* 34 MiB become 48 with two divisions: that harms. Nothing can help where everything is alive. */
static void test_harm(void **state) {
  (void)state;
  struct sample sample = open_equal(20, 34 * MIB);
  const struct wo_whatif_options options = options_of(0);
  struct wo_arena arena;
  struct wo_sweep sweep;
  struct wo_err err = {0};
  uint64_t count = 0;
  wo_arena_init(&arena, 16 * MIB);
  assert_int_equal(wo_sweep_run(&sample.pattern, &options, &arena, &sweep, &count, &err), WO_OK);
  const struct wo_sweep_row *const harmful = find(&sweep, "roundup_power2_divisions:2");
  assert_non_null(harmful);
  assert_int_equal(harmful->worth, WO_SWEEP_HARMFUL);
  assert_true(harmful->result.reserved_hi_bytes == 20 * 48 * MIB);
  assert_true(find(&sweep, "default")->is_recorded);
  assert_true(wo_view_starts(sweep.advice, "no setting helps: 680.00 MiB are live at the peak"));
  assert_int_equal(sweep.paste.len, 0);
  for (size_t i = 1; i < sweep.count; i++)
    assert_true(sweep.rows[i - 1].result.reserved_hi_bytes <= sweep.rows[i].result.reserved_hi_bytes);
  /* Without a capacity nobody can set a fraction of it; and this version has no segment size to set. */
  for (size_t i = 0; i < sweep.count; i++) {
    assert_false(wo_view_has(sweep.rows[i].text, "garbage_collection"));
    assert_false(wo_view_has(sweep.rows[i].text, "large_segment"));
  }
  wo_arena_done(&arena);
  close_sample(&sample);
}

/* Blocks of 300 MiB, replaced by ones of 170: what is left over of each is of no use to a larger request, unless segments grow.
 */
#define HOLES                                                                                                                    \
  "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n"                                                                                     \
  "{\"alloc\":314572800,\"id\":1}\n{\"alloc\":314572800,\"id\":2}\n{\"alloc\":314572800,\"id\":3}\n"                             \
  "{\"free\":1}\n{\"free\":2}\n{\"free\":3}\n"                                                                                   \
  "{\"alloc\":178257920,\"id\":4}\n{\"alloc\":178257920,\"id\":5}\n{\"alloc\":178257920,\"id\":6}\n"                             \
  "{\"alloc\":367001600,\"id\":7}\n"

static void test_help(void **state) {
  (void)state;
  static const struct {
    uint16_t torch;
    uint64_t capacity_bytes;
    const char *paste;
    const char *advice;
  } rows[] = {
      {206, 0, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "expandable_segments:True reserves"},
      {209, 0, "export PYTORCH_ALLOC_CONF=expandable_segments:True", "expandable_segments:True reserves"},
      {206, 1000 * MIB, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "expandable_segments:True fits"},
      {206, 800 * MIB, NULL, "no setting helps: 900.00 MiB are live at the peak, and the allocator may take 800.00 MiB"},
      {200, 0, NULL, ""}, /* before expandable segments: whatever is best, it is something that this version has */
  };
  struct sample sample = open_sample(HOLES);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_whatif_options options = options_of(rows[i].capacity_bytes);
    struct wo_arena arena;
    struct wo_sweep sweep;
    struct wo_err err = {0};
    uint64_t count = 0;
    options.torch = rows[i].torch;
    options.settings = wo_alloc_settings_default(rows[i].torch);
    wo_arena_init(&arena, 16 * MIB);
    assert_int_equal(wo_sweep_run(&sample.pattern, &options, &arena, &sweep, &count, &err), WO_OK);
    if (rows[i].paste && !wo_view_is(sweep.paste, rows[i].paste))
      fail_msg("row %zu: %.*s", i, (int)sweep.paste.len, sweep.paste.ptr);
    if (!wo_view_starts(sweep.advice, rows[i].advice)) fail_msg("row %zu: %.*s", i, (int)sweep.advice.len, sweep.advice.ptr);
    if (rows[i].torch < 201) assert_null(find(&sweep, "expandable_segments:True"));
    wo_arena_done(&arena);
  }
  close_sample(&sample);
}

/* The recorded settings are a row of their own, spelled out, and not tried twice. */
static void test_recorded_row(void **state) {
  (void)state;
  struct sample sample = open_equal(3, 30 * MIB);
  struct wo_whatif_options options = options_of(0);
  struct wo_arena arena;
  struct wo_sweep sweep;
  struct wo_err err = {0};
  size_t recorded = 0;
  uint64_t count = 0;
  assert_int_equal(wo_alloc_settings_parse(WO_VIEW("max_split_size_mb:128"), 206, &options.settings, &err), WO_OK);
  wo_arena_init(&arena, 16 * MIB);
  assert_int_equal(wo_sweep_run(&sample.pattern, &options, &arena, &sweep, &count, &err), WO_OK);
  for (size_t i = 0; i < sweep.count; i++) {
    if (wo_view_is(sweep.rows[i].text, "max_split_size_mb:128")) recorded++;
    assert_true(sweep.rows[i].is_recorded == wo_view_is(sweep.rows[i].text, "max_split_size_mb:128"));
  }
  assert_int_equal(recorded, 1);
  assert_non_null(find(&sweep, "default"));
  wo_arena_done(&arena);
  close_sample(&sample);
}

static void test_failing_allocations(void **state) {
  (void)state;
  struct sample sample = open_equal(2, MIB);
  bool is_done = false;
  for (long n = 1; !is_done; n += n < 50 ? 1 : 23) {
    const struct wo_whatif_options options = options_of(0);
    struct wo_arena arena;
    struct wo_sweep sweep;
    struct wo_err err = {0};
    uint64_t count = 0;
    wo_arena_init(&arena, 16 * MIB);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_sweep_run(&sample.pattern, &options, &arena, &sweep, &count, &err);
    wo_fail_alloc_off();
    is_done = !wo_fail_alloc_hit();
    assert_true(status == WO_OK || status == WO_E_NOMEM);
    assert_true(!is_done || status == WO_OK);
    wo_arena_done(&arena);
  }
  close_sample(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_case),
      cmocka_unit_test(test_worst_of_several),
      cmocka_unit_test(test_fits),
      cmocka_unit_test(test_harm),
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_recorded_row),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
