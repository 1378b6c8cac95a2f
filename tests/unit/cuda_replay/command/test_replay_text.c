/* SPDX-License-Identifier: Apache-2.0 */
/* The writers of `whyoom replay`, on values made by hand: every verdict, hostile names, any width, both forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/command/replay_report.h"
#include "tests/support/replay/trace_sample.h"

#define GIB (UINT64_C(1) << 30)

/* Names that a recording can hold: terminal escapes, a bell, half a character, a line break. */
#define HOSTILE                                                                                                                  \
  "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n"                                                                                     \
  "{\"frame\":0,\"function\":\"f\\u001b[31mred\\u0007\\nnext\",\"file\":\"/x/\xff\\u001b]0;title.py\",\"line\":3}\n"             \
  "{\"stack\":0,\"frames\":[0]}\n"                                                                                               \
  "{\"note\":\"odd \\u001b[2J note\"}\n"                                                                                         \
  "{\"segment_alloc\":2097152,\"addr\":2097152}\n{\"alloc\":512,\"addr\":2097152,\"stack\":0}\n"                                 \
  "{\"segment\":2097152,\"addr\":2097152,\"small\":true}\n{\"block\":512,\"state\":\"allocated\",\"stack\":0}\n"                 \
  "{\"block\":2096640,\"state\":\"free\"}\n"

struct sample {
  struct wo_recording *recording;
  struct wo_replay_report report;
};

static int setup(void **state) {
  struct sample *sample = calloc(1, sizeof *sample);
  struct wo_err err = {0};
  if (!sample || wo_sample_read(wo_trace_lines_read, WO_VIEW(HOSTILE), 0, &sample->recording, &err) != WO_OK) return -1;
  sample->report = (struct wo_replay_report){.path = WO_VIEW("run.pickle"),
                                             .recording = sample->recording,
                                             .trace = &sample->recording->traces.items[0],
                                             .torch = 206,
                                             .recorded_settings = sample->recording->settings,
                                             .settings = sample->recording->settings};
  *state = sample;
  return 0;
}

static int teardown(void **state) {
  struct sample *sample = *state;
  wo_recording_free(sample->recording);
  free(sample);
  return 0;
}

static struct wo_replay_case case_of(uint64_t reserved, uint64_t allocated, uint32_t runs, uint32_t ooms) {
  struct wo_replay_case result = {.settings = wo_alloc_settings_default(206),
                                  .run_count = runs,
                                  .oom_count = ooms,
                                  .reserved_lo_bytes = reserved,
                                  .reserved_hi_bytes = reserved};
  result.outcome.peak.reserved_bytes = reserved;
  result.outcome.peak.allocated_bytes = result.outcome.peak.active_bytes = allocated;
  result.outcome.peak.requested_bytes = allocated;
  result.outcome.peak.allocated_entry = 5;
  result.outcome.has_oom = ooms > 0;
  result.outcome.oom_entry = ooms > 0 ? 7 : WO_NO_ENTRY;
  return result;
}

static const char *text_of(const struct wo_replay_report *report, struct wo_text_style style, struct wo_text *text) {
  text->len = 0;
  wo_replay_text(report, style, text);
  wo_text_add(text, "%c", '\0');
  assert_false(text->is_failed);
  return text->ptr;
}

static cJSON *json_of(const struct wo_replay_report *report) {
  struct wo_text text = {0};
  wo_replay_json(report, &text);
  assert_false(text.is_failed);
  cJSON *json = cJSON_ParseWithLength(text.ptr, text.len);
  assert_non_null(json);
  wo_text_done(&text);
  return json;
}

/* Each verdict has its words and its name. */
static void test_verdicts(void **state) {
  struct sample *sample = *state;
  struct wo_replay_report *report = &sample->report;
  static const struct {
    enum wo_replay_verdict verdict;
    const char *words;
    const char *name;
  } rows[] = {
      {WO_REPLAY_REPRODUCED, "as recorded: ", "reproduced"},
      {WO_REPLAY_FITS, "fits: 20.00 GiB of 24.00 GiB, 4.00 GiB to spare", "fits"},
      {WO_REPLAY_CLOSE, "not proven: it fits, 20.00 GiB of 24.00 GiB, 4.00 GiB to spare: less than the 5.00 GiB", "close"},
      {WO_REPLAY_NO_CAPACITY, "not proven: without a limit it would reserve 20.00 GiB", "no_capacity"},
      {WO_REPLAY_APPROXIMATE, "not proven: the reason", "approximate"},
      {WO_REPLAY_REFUSED, "cannot be replayed: the reason", "refused"},
      {WO_REPLAY_DIVERGED, "not as recorded: the model differs from the recording at entry 1", "diverged"},
  };
  struct wo_text text = {0};
  report->has_whatif = true;
  report->whatif = case_of(20 * GIB, 19 * GIB, 5, 0);
  report->capacity = (struct wo_capacity){WO_CAPACITY_OPTION, 24 * GIB, 5 * GIB, UINT32_MAX};
  report->why = WO_VIEW("the reason");
  report->has_check = true;
  report->check.diverged_at = 1;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    report->verdict = rows[i].verdict;
    const char *const shown = text_of(report, (struct wo_text_style){.width = 200}, &text);
    if (!strstr(shown, rows[i].words)) fail_msg("%s: %s", rows[i].name, shown);
    cJSON *json = json_of(report);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "verdict")), rows[i].name);
    cJSON_Delete(json);
  }
  wo_text_done(&text);
}

static void test_out_of_memory(void **state) {
  struct sample *sample = *state;
  struct wo_replay_report *report = &sample->report;
  struct wo_text text = {0};
  report->verdict = WO_REPLAY_NOT_FIT;
  report->has_recorded = true;
  report->recorded = case_of(30 * GIB, 20 * GIB, 1, 1);
  report->recorded.outcome.oom = (struct wo_allocator_oom){.requested_bytes = 2 * GIB,
                                                           .rounded_bytes = 2 * GIB,
                                                           .segment_bytes = 2 * GIB,
                                                           .device_free_bytes = GIB,
                                                           .cached_free_bytes = 10 * GIB};
  const struct wo_text_style style = {.width = 200};
  assert_non_null(strstr(text_of(report, style, &text), "a request of 2.00 GiB fails at entry 7"));
  assert_non_null(strstr(text.ptr, "= 11.00 GiB >= 2.00 GiB wanted: space enough, in pieces"));
  assert_non_null(strstr(text.ptr, "--sweep"));
  report->recorded.outcome.oom.cached_free_bytes = GIB / 2;
  assert_non_null(strstr(text_of(report, style, &text), "not enough, even in one piece"));
  /* A fraction refused: what the device has left does not count. */
  report->recorded.outcome.oom.by_fraction = true;
  report->recorded.outcome.oom.device_free_bytes = UINT64_MAX;
  assert_non_null(strstr(text_of(report, style, &text), "idle in segments 512.00 MiB < 2.00 GiB wanted"));
  cJSON *json = json_of(report);
  const cJSON *const oom = cJSON_GetObjectItem(json, "oom");
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(oom, "free_bytes")));
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(oom, "would_fit_unfragmented")));
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "fits")));
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(json, "margin_bytes")));
  cJSON_Delete(json);
  report->recorded.outcome.oom = (struct wo_allocator_oom){.cached_free_bytes = UINT64_MAX, .device_free_bytes = 5};
  assert_true(wo_replay_room(&report->recorded.outcome.oom) == UINT64_MAX);
  wo_text_done(&text);
}

static void test_sweep(void **state) {
  struct sample *sample = *state;
  struct wo_replay_report *report = &sample->report;
  struct wo_sweep_row rows[] = {
      {.text = WO_VIEW("expandable_segments:True"), .result = case_of(20 * GIB, 19 * GIB, 3, 0), .worth = WO_SWEEP_BETTER},
      {.text = WO_VIEW("default"), .result = case_of(23 * GIB, 19 * GIB, 3, 0), .is_recorded = true},
      {.text = WO_VIEW("a:1"),
       .needs = WO_VIEW("a call"),
       .result = case_of(24 * GIB, 19 * GIB, 3, 1),
       .worth = WO_SWEEP_HARMFUL},
  };
  struct wo_text text = {0};
  rows[1].result.reserved_lo_bytes -= 2 * GIB;
  report->verdict = WO_REPLAY_FITS;
  report->capacity = (struct wo_capacity){WO_CAPACITY_OPTION, 24 * GIB, GIB, UINT32_MAX};
  report->has_sweep = true;
  report->sweep = (struct wo_sweep){rows, 3, WO_VIEW("it helps"), WO_VIEW("export A=expandable_segments:True")};
  const char *const shown = text_of(report, (struct wo_text_style){.width = 160}, &text);
  assert_non_null(strstr(shown, "at best, with expandable_segments:True"));
  assert_non_null(strstr(shown, "\n    export A=expandable_segments:True\n"));
  assert_non_null(strstr(shown, "20.00   5.0 %     4.00 left  expandable_segments:True\n"));
  assert_non_null(strstr(shown, "default (as recorded) (up to 2.00 GiB less, by the order of addresses)"));
  assert_non_null(strstr(shown, "OOM at times  a:1 with a call harmful"));
  cJSON *json = json_of(report);
  const cJSON *const list = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "sweep"), "rows");
  assert_int_equal(cJSON_GetArraySize(list), 3);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 2), "worth")), "harmful");
  cJSON_Delete(json);
  wo_text_done(&text);
}

/* No byte of a name reaches the terminal as a command, whatever the form; only what the style asks for does. */
static void test_hostile_names(void **state) {
  struct sample *sample = *state;
  struct wo_replay_report *report = &sample->report;
  struct wo_map_segment segment = {.address = 2097152, .size_bytes = 2097152, .block_count = 2, .is_small = true};
  struct wo_map_block blocks[] = {{2097152, 512, 500, 0, WO_BLOCK_ALLOCATED},
                                  {2097664, 2096640, 0, WO_NO_INSTANCE, WO_BLOCK_FREE}};
  struct wo_instance instance = {.size_bytes = 500, .birth = 0, .death = WO_NO_REQUEST, .stack = 0};
  struct wo_request request = {.kind = WO_REQUEST_ALLOC, .entry = 1};
  const struct wo_alloc_pattern pattern = {
      .recording = sample->recording, .requests = {&request, 1, 1}, .instances = {&instance, 1, 1}};
  struct wo_text text = {0};
  report->pattern = &pattern;
  report->has_state = true;
  report->state.segments.items = &segment;
  report->state.blocks.items = blocks;
  report->state.segments.count = 1;
  report->state.blocks.count = 2;
  report->check.verdict = WO_CHECK_DIVERGED;
  report->has_check = true;
  snprintf(report->check.why, sizeof report->check.why, "odd \x1b[31m why");
  for (int verbose = 0; verbose < 2; verbose++) {
    text_of(report, (struct wo_text_style){.width = 80, .is_verbose = verbose > 0}, &text);
    for (size_t i = 0; i + 1 < text.len; i++) assert_true(text.ptr[i] == '\n' || (unsigned char)text.ptr[i] >= ' ');
    assert_non_null(strstr(text.ptr, "(requested 500)"));
    assert_non_null(strstr(text.ptr, "odd "));
  }
  text_of(report, (struct wo_text_style){.width = 80, .use_color = true}, &text);
  assert_non_null(strstr(text.ptr, "\x1b[1;32m"));
  cJSON_Delete(json_of(report));
  text.len = 0;
  wo_replay_json(report, &text);
  for (size_t i = 0; i < text.len; i++) assert_true(text.ptr[i] == '\n' || (unsigned char)text.ptr[i] >= ' ');
  wo_text_done(&text);
}

/* Lines keep to the width, settings excepted, which must stay whole to be copied. */
static void test_widths(void **state) {
  struct sample *sample = *state;
  struct wo_replay_report *report = &sample->report;
  struct wo_text text = {0};
  report->verdict = WO_REPLAY_NOT_FIT;
  report->has_recorded = report->has_whatif = report->has_check = true;
  report->recorded = case_of(20 * GIB, 19 * GIB, 1, 1);
  report->whatif = case_of(20 * GIB, 19 * GIB, 5, 2);
  report->capacity.oom_entry = 7;
  for (size_t width = 40; width <= 200; width += 20) {
    const char *at = text_of(report, (struct wo_text_style){.width = width, .is_verbose = true}, &text);
    while (*at != '\0') {
      const size_t len = strcspn(at, "\n");
      if (wo_text_columns((struct wo_view){at, len}) > width && len > 62) fail_msg("width %zu: %.*s", width, (int)len, at);
      at += len + (at[len] == '\n');
    }
  }
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hostile_names, setup, teardown),
      cmocka_unit_test_setup_teardown(test_widths, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
