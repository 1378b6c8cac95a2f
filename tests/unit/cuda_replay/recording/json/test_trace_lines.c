/* SPDX-License-Identifier: Apache-2.0 */
/* The line form: what its lines become, what is refused and where, and that reading and writing undo each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "tests/support/recording/trace_lines_writer.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/replay/trace_sample.h"
#include "cuda_replay/recording/recording_valid.h"
#include "tests/support/process.h"

/* Every kind of line, as the writer writes it. */
static const char canonical[] =
    "{\"whyoom_trace\":1,\"source\":\"snapshot\",\"fidelity\":\"block_sizes\",\"truncated\":true,\"torch_from\":\"2.2\","
    "\"torch_to\":\"2.10\",\"capacity_bytes\":85899345920,\"settings\":{\"max_split_bytes\":null,"
    "\"max_non_split_rounding_bytes\":20971520,\"large_segment_bytes\":20971520,"
    "\"roundup_divisions\":[0,0,4,0,0,0,0,0,0,0,0,0,0,0,0,4294967295],\"garbage_collection_threshold\":0.8,"
    "\"memory_fraction\":0.3333333333333333,\"expandable_segments\":true,\"graph_capture_record_stream_reuse\":false,"
    "\"throw_on_cudamalloc_oom\":false,\"is_native\":true},\"settings_text\":\"expandable_segments:True\","
    "\"streams\":[0,94012345678901,18446744073709551615],\"pools\":[[0,0],[0,1],[7,18446744073709551615]]}\n"
    "{\"frame\":0,\"function\":\"forward\",\"file\":\"train.py\",\"line\":10}\n"
    "{\"frame\":1,\"function\":\"a \\\"b\\\" \\\\ \\n \\u0000\\u001f \xc3\xa9 \xff\",\"file\":\"train.py\",\"line\":4294967295}\n"
    "{\"frame\":2,\"function\":\"\",\"file\":\"\"}\n"
    "{\"stack\":0,\"frames\":[0,1]}\n"
    "{\"stack\":1,\"frames\":[]}\n"
    "{\"stack\":2,\"frames\":[1,1,2,0]}\n"
    "{\"note\":\"the file ends inside of the pickle\"}\n"
    "{\"annotation\":\"Optimizer.step#AdamW.step\",\"stage\":\"start\",\"device\":-1}\n"
    "{\"annotation\":\"Optimizer.step#AdamW.step\",\"stage\":\"end\",\"time_us\":-5,\"device\":0}\n"
    "{\"device\":0,\"has_segments\":true}\n"
    "{\"settings\":\"max_split_size_mb:64\"}\n"
    "{\"memory_fraction\":0.500000}\n"
    "{\"segment_alloc\":20971520,\"addr\":139900000000000,\"stack\":0,\"time_us\":1700000000000001}\n"
    "{\"alloc\":10485760,\"addr\":139900000000000,\"stack\":2,\"time_us\":1700000000000001}\n"
    "{\"record_stream\":true,\"addr\":139900000000000,\"stream\":94012345678901}\n"
    "{\"free_requested\":10485760,\"addr\":139900000000000,\"time_us\":1700000000000003}\n"
    "{\"free_completed\":10485760,\"addr\":139900000000000,\"time_us\":1700000000000004}\n"
    "{\"segment_free\":20971520,\"addr\":139900000000000}\n"
    "{\"segment_map\":20971520,\"addr\":139910000000000,\"stream\":18446744073709551615}\n"
    "{\"segment_unmap\":20971520,\"addr\":139910000000000,\"stream\":18446744073709551615}\n"
    "{\"empty_cache\":true}\n"
    "{\"empty_cache\":17}\n"
    "{\"capture_begin\":true,\"pool\":[0,1]}\n"
    "{\"capture_end\":true,\"pool\":[0,1]}\n"
    "{\"pool_release\":true,\"pool\":[7,18446744073709551615]}\n"
    "{\"oom\":2147483648,\"device_free\":1048576}\n"
    "{\"snapshot\":0}\n"
    "{\"unknown\":5,\"addr\":6}\n"
    "{\"segment\":2097152,\"addr\":4194304,\"small\":true,\"stack\":1}\n"
    "{\"block\":512,\"state\":\"allocated\",\"requested\":4,\"stack\":2}\n"
    "{\"block\":1024,\"state\":\"pending\",\"requested\":1000}\n"
    "{\"block\":2095616,\"state\":\"free\"}\n"
    "{\"segment\":20971520,\"addr\":6291456,\"stream\":94012345678901,\"pool\":[0,1],\"expandable\":true}\n"
    "{\"block\":20971520,\"state\":\"free\"}\n"
    "{\"device\":3}\n"
    "{\"alloc\":18446744073709551615,\"addr\":1}\n";

#define H "{\"whyoom_trace\":1}\n"

static struct wo_recording *read_whole(struct wo_view text, size_t chunk_bytes) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_sample_read(wo_trace_lines_read, text, chunk_bytes, &recording, &err) != WO_OK)
    fail_msg("line %u: %s", (unsigned)err.line, err.message);
  assert_true(wo_recording_is_valid(recording));
  return recording;
}

static void expect_written(const struct wo_recording *recording, struct wo_view expected) {
  struct wo_text out = {0};
  assert_true(wo_sample_write(recording, &out));
  if (!wo_view_equal((struct wo_view){out.ptr, out.len}, expected)) {
    fail_msg("wrote\n%.*s\nexpected\n%.*s", (int)out.len, out.ptr, (int)expected.len, expected.ptr);
  }
  wo_text_done(&out);
}

/* ---- Reading and writing undo each other ---- */

static void test_round_trip(void **state) {
  (void)state;
  static const size_t chunks[] = {0, 1, 2, 3, 7, 100};
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    struct wo_recording *const recording = read_whole(WO_VIEW(canonical), chunks[i]);
    expect_written(recording, WO_VIEW(canonical));
    wo_recording_free(recording);
  }
}

static void test_fields(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(WO_VIEW(canonical), 0);
  assert_int_equal(r->format, WO_TRACE_FORMAT_SNAPSHOT);
  assert_int_equal(r->fidelity, WO_TRACE_BLOCK_SIZES);
  assert_true(r->is_truncated && r->has_settings && r->settings.expandable_segments && !r->has_only_ids);
  assert_int_equal(r->torch_from, 202);
  assert_int_equal(r->torch_to, 210);
  assert_int_equal(r->traces.count, 2);
  assert_int_equal(r->traces.items[1].device, 3);
  assert_int_equal(r->streams.count, 3);
  assert_true(r->streams.items[2] == UINT64_MAX);
  const struct wo_trace *const trace = &r->traces.items[0];
  assert_int_equal(trace->entries.items[1].action, WO_ACTION_FRACTION);
  assert_int_equal(trace->entries.items[1].size_bytes, 500000);
  assert_int_equal(trace->entries.items[3].address, 139900000000000);
  assert_int_equal(trace->entries.items[3].time_us, 1700000000000001);
  assert_int_equal(trace->blocks.items[1].address, 4194304 + 512);
  assert_int_equal(r->frames.items[1].function.len, 17);
  assert_int_equal(r->annotations.items[0].device, -1);
  wo_recording_free(r);
}

/* ---- Written by hand ---- */

/* Each becomes the entries of the second column. */
static const struct {
  const char *text;
  const char *entries;
} hand[] = {
    {H, ""},
    {"{ \"whyoom_trace\" : 1 }", ""},
    {"\xEF\xBB\xBF" H "\r\n\r\n{ \"alloc\" : 1e3 , \"id\" : 7 }\r\n", "{\"alloc\":1000,\"id\":7}\n"},
    {H "{\"metadata\":\"a \\\"b\\\"\",\"alloc\":512,\"id\":7}\n{\"alloc\":1,\"id\":8,\"metadata\":null}\n"
       "{\"alloc\":2,\"id\":9,\"metadata\":\"a \\\"b\\\"\"}\n",
     "{\"alloc\":512,\"id\":7,\"metadata\":\"a \\\"b\\\"\"}\n{\"alloc\":1,\"id\":8}\n{\"alloc\":2,\"id\":9,\"metadata\":\"a "
     "\\\"b\\\"\"}\n"},
    {H "{\"alloc\":512,\"id\":7}{\"free\":7}",
     "{\"alloc\":512,\"id\":7}\n{\"free_requested\":512,\"id\":7}\n{\"free_completed\":512,\"id\":7}\n"},
    {H "{\"alloc\":512,\"id\":7,\"stream\":5}\n{\"free_requested\":true,\"id\":7}\n{\"alloc\":9,\"id\":8}\n"
       "{\"free_completed\":true,\"id\":7,\"time_us\":3}\n{\"alloc\":10,\"id\":7}\n{\"free\":7}\n",
     "{\"alloc\":512,\"id\":7,\"stream\":5}\n{\"free_requested\":512,\"id\":7,\"stream\":5}\n{\"alloc\":9,\"id\":8}\n"
     "{\"free_completed\":512,\"id\":7,\"stream\":5,\"time_us\":3}\n{\"alloc\":10,\"id\":7}\n{\"free_requested\":10,\"id\":7}\n"
     "{\"free_completed\":10,\"id\":7}\n"},
    {H "{\"alloc\":512,\"addr\":4096,\"stack\":null,\"time_us\":null}\n{\"free\":4096}",
     "{\"alloc\":512,\"addr\":4096}\n{\"free_requested\":512,\"addr\":4096}\n{\"free_completed\":512,\"addr\":4096}\n"},
    {H "{\"alloc\":1,\"id\":7}\n{\"device\":1}\n{\"alloc\":2,\"id\":7}\n{\"free\":7}\n{\"device\":0}\n{\"free\":7}\n",
     "{\"alloc\":1,\"id\":7}\n{\"free_requested\":1,\"id\":7}\n{\"free_completed\":1,\"id\":7}\n"
     "{\"device\":1}\n{\"alloc\":2,\"id\":7}\n{\"free_requested\":2,\"id\":7}\n{\"free_completed\":2,\"id\":7}\n"},
    {H
     "{\"alloc\":5,\"id\":7}\n{\"id\":8,\"alloc\":5}\n{\"stream\":5,\"alloc\":6,\"id\":9}\n{\"alloc\":7,\"stream\":5,\"id\":1}\n",
     "{\"alloc\":5,\"id\":7}\n{\"alloc\":5,\"id\":8}\n{\"alloc\":6,\"id\":9,\"stream\":5}\n{\"alloc\":7,\"id\":1,\"stream\":5}"
     "\n"},
    {H "{\"memory_fraction\":0.8}\n{\"memory_fraction\":1}\n{\"memory_fraction\":0.12345678}\n",
     "{\"memory_fraction\":0.800000}\n{\"memory_fraction\":1.000000}\n{\"memory_fraction\":0.123456}\n"},
    {H "{\"new_key\":[{\"a\":1}],\"alloc\":5,\"other\":null,\"addr\":1}\n", "{\"alloc\":5,\"addr\":1}\n"},
    {H "{\"whatever\":1}\n{\"alloc\":5,\"addr\":1}\n", "{\"alloc\":5,\"addr\":1}\n"},
    {H "{\"settings\":\"a\"}\n{\"settings\":\"a\"}\n{\"settings\":\"b\"}\n",
     "{\"settings\":\"a\"}\n{\"settings\":\"a\"}\n{\"settings\":\"b\"}\n"},
};

/* The lines of the only device. */
static struct wo_view entries_of(const struct wo_text *out) {
  const struct wo_view all = {out->ptr, out->len};
  const size_t device = wo_view_find(all, WO_VIEW("{\"device\":0}\n"), 0);
  return device == WO_NOT_FOUND ? (struct wo_view){0} : wo_view_skip(all, device + sizeof "{\"device\":0}\n" - 1);
}

static void test_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof hand / sizeof hand[0]; i++) {
    struct wo_recording *const recording = read_whole(wo_view_of(hand[i].text), 0);
    struct wo_text out = {0};
    assert_true(wo_sample_write(recording, &out));
    const struct wo_view got = entries_of(&out);
    if (!wo_view_is(got, hand[i].entries)) fail_msg("row %zu: got\n%.*s", i, (int)got.len, got.ptr);
    wo_text_done(&out);
    wo_recording_free(recording);
  }
}

static void test_devices(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(
      WO_VIEW(H "{\"alloc\":1,\"id\":1,\"device\":2}\n{\"alloc\":2,\"id\":1}\n{\"device\":1,\"has_segments\":true}\n"
                "{\"alloc\":3,\"id\":1}\n{\"alloc\":4,\"id\":9,\"device\":0}\n{\"annotation\":\"a\",\"stage\":\"end\"}\n"),
      0);
  assert_int_equal(r->traces.count, 3);
  assert_int_equal(r->traces.items[0].entries.count, 2);
  assert_int_equal(r->traces.items[1].entries.items[0].size_bytes, 3);
  assert_true(r->traces.items[1].has_segments && !r->traces.items[2].has_segments);
  assert_int_equal(r->traces.items[2].entries.count, 1);
  assert_int_equal(r->annotations.items[0].device, 1);
  assert_true(r->has_only_ids);
  wo_recording_free(r);
}

/* As torch spells them: by the rules of the version, which may stand behind them. */
static void test_settings_text(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(
      WO_VIEW("{\"settings\":\"expandable_segments:True,max_split_size_mb:64\",\"torch\":\"2.6.0+cu124\",\"whyoom_trace\":1}"),
      0);
  assert_true(r->has_settings && r->settings.expandable_segments && r->settings.max_split_bytes == UINT64_C(64) << 20);
  assert_true(wo_view_is(r->settings_text, "expandable_segments:True,max_split_size_mb:64"));
  assert_int_equal(r->torch_from, 206);
  struct wo_text out = {0};
  assert_true(wo_sample_write(r, &out));
  struct wo_recording *const again = read_whole((struct wo_view){out.ptr, out.len}, 0);
  assert_null(wo_test_difference(r, again));
  wo_text_done(&out);
  wo_recording_free(again);
  wo_recording_free(r);
}

/* Found by its content among all formats. */
static void test_is_recognised(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_test_read(H, sizeof H - 1, 1, &recording, &err), WO_OK);
  assert_int_equal(recording->format, WO_TRACE_FORMAT_LINES);
  wo_recording_free(recording);
}

static void test_annotations_are_sorted(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(WO_VIEW(H "{\"annotation\":\"c\",\"stage\":\"end\",\"time_us\":5}\n"
                                                      "{\"annotation\":\"a\",\"stage\":\"end\",\"time_us\":-3}\n"
                                                      "{\"annotation\":\"b\",\"stage\":\"start\",\"time_us\":-3}\n"),
                                            0);
  assert_true(wo_view_is(r->annotations.items[0].name, "a") && wo_view_is(r->annotations.items[1].name, "b") &&
              wo_view_is(r->annotations.items[2].name, "c"));
  wo_recording_free(r);
}

static void test_one_note_for_unknown_keys(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(WO_VIEW(H "{\"x\":1,\"alloc\":5,\"addr\":1}\n{\"y\":1}\n{\"z\":{}}\n"), 0);
  assert_int_equal(r->notes.count, 2);
  assert_true(wo_view_has(r->notes.items[0], "line 2") && wo_view_has(r->notes.items[0], "\"x\""));
  assert_true(wo_view_has(r->notes.items[1], "line 3"));
  wo_recording_free(r);
}

/* ---- Refused ---- */

static const struct wo_sample_refused refused[] = {
    {"", WO_E_SYNTAX, 1, "ends before its header"},
    {"{\"whyoom_trace\":", WO_E_SYNTAX, 1, "ends before its header"},
    {"{\"alloc\":5,\"addr\":1}\n", WO_E_SYNTAX, 1, "first line must be a header"},
    {"[1]", WO_E_SYNTAX, 1, "expected an object"},
    {"{\"whyoom_trace\":2}", WO_E_RANGE, 1, "version 2"},
    {"{\"whyoom_trace\":0}", WO_E_RANGE, 1, "version 0"},
    {"{\"whyoom_trace\":\"1\"}", WO_E_TYPE, 1, "\"whyoom_trace\" must be a whole number"},
    {"{\"whyoom_trace\":1,\"torch\":\"new\"}", WO_E_SYNTAX, 1, "version such as"},
    {"{\"whyoom_trace\":1,\"settings\":\"no_such_key:1\"}", WO_E_UNKNOWN, 1, "\"settings\": "},
    {"{\"whyoom_trace\":1,\"source\":\"camera\"}", WO_E_UNKNOWN, 1, "camera"},
    {"{\"whyoom_trace\":1,\"fidelity\":5}", WO_E_TYPE, 1, "\"fidelity\" must be a text"},
    {"{\"whyoom_trace\":1,\"settings\":{\"expandable_segments\":1}}", WO_E_TYPE, 1, "true or false"},
    {"{\"whyoom_trace\":1,\"settings\":{\"max_split_bytes\":-1}}", WO_E_TYPE, 1, "number of bytes"},
    {"{\"whyoom_trace\":1,\"settings\":{\"roundup_divisions\":[1,2]}}", WO_E_TYPE, 1, "list of 16"},
    {"{\"whyoom_trace\":1,\"settings\":{\"memory_fraction\":NaN}}", WO_E_TYPE, 1, "must be a number"},
    {"{\"whyoom_trace\":1,\"settings\":{\"large_segment_bytes\":1}}", WO_E_RANGE, 1, "must be from"},
    {"{\"whyoom_trace\":1,\"pools\":[[1]]}", WO_E_TYPE, 1, "pair"},
    {"{\"whyoom_trace\":1,\"streams\":[-1]}", WO_E_TYPE, 1, "list of numbers"},
    {H H, WO_E_SYNTAX, 2, "second header"},
    {H "\n\n{\"alloc\":5}\n", WO_E_SYNTAX, 4, "alloc needs \"addr\" or \"id\""},
    {H "{\"alloc\":5,\"id\":1}\n{\"alloc\":5,\"addr\":1}\n", WO_E_SYNTAX, 3, "one file uses one"},
    {H "{\"alloc\":5,\"id\":1,\"addr\":1}\n", WO_E_SYNTAX, 2, "one file uses one"},
    {H "{\"alloc\":-5,\"addr\":1}\n", WO_E_TYPE, 2, "whole number of 0 or more"},
    {H "{\"alloc\":1.5,\"addr\":1}\n", WO_E_TYPE, 2, "whole number of 0 or more"},
    {H "{\"alloc\":18446744073709551616,\"addr\":1}\n", WO_E_TYPE, 2, "whole number of 0 or more"},
    {H "{\"alloc\":true,\"addr\":1}\n", WO_E_TYPE, 2, "number of bytes"},
    {H "{\"alloc\":5,\"addr\":1,\"addr\":2}\n", WO_E_SYNTAX, 2, "\"addr\" twice"},
    {H "{\"alloc\":5,\"free\":1,\"addr\":2}\n", WO_E_SYNTAX, 2, "two things"},
    {H "{\"alloc\":5,\"addr\":1,\"stack\":0}\n", WO_E_RANGE, 2, "stack 0 is not defined"},
    {H "{\"alloc\":5,\"addr\":1,\"device\":-1}\n", WO_E_RANGE, 2, "ordinal"},
    {H "{\"alloc\":5,\"addr\":1,\"pool\":[1,2,3]}\n", WO_E_TYPE, 2, "pair"},
    {H "{\"free\":5}\n", WO_E_RANGE, 2, "no line above allocates 5"},
    {H "{\"free\":5}\n{\"alloc\":5,\"id\":5}", WO_E_RANGE, 2, "no line above allocates 5"},
    {H "{\"segment_alloc\":5}\n", WO_E_SYNTAX, 2, "segment_alloc needs \"addr\""},
    {H "{\"settings\":{}}\n", WO_E_TYPE, 2, "must be a text"},
    {H "{\"memory_fraction\":-0.5}\n", WO_E_TYPE, 2, "fraction"},
    {H "{\"frame\":1}\n", WO_E_RANGE, 2, "frame 1 stands where frame 0 is due"},
    {H "{\"stack\":0,\"frames\":[0]}\n", WO_E_RANGE, 2, "frame 0 is not defined"},
    {H "{\"frames\":[]}\n", WO_E_SYNTAX, 2, "needs \"stack\""},
    {H "{\"segment\":512,\"addr\":0}\n{\"alloc\":1,\"addr\":1}\n", WO_E_SYNTAX, 3, "512 bytes of the segment above are missing"},
    {H "{\"segment\":512,\"addr\":0}\n{\"block\":513,\"state\":\"free\"}\n", WO_E_RANGE, 3, "512 bytes of it are left"},
    {H "{\"segment\":512,\"addr\":0}\n{\"block\":0,\"state\":\"free\"}\n", WO_E_RANGE, 3, "does not fit"},
    {H "{\"segment\":512,\"addr\":0}\n{\"block\":512,\"state\":\"gone\"}\n", WO_E_UNKNOWN, 3, "\"state\""},
    {H "{\"block\":512,\"state\":\"free\"}\n", WO_E_SYNTAX, 2, "behind a segment"},
    {H "{\"segment\":512,\"addr\":18446744073709551615}\n", WO_E_RANGE, 2, "beyond the last address"},
    {H "{\"segment\":512,\"addr\":512}\n{\"block\":512,\"state\":\"free\"}\n{\"segment\":1,\"addr\":1023}\n", WO_E_RANGE, 4,
     "rising address"},
    {H "{\"annotation\":\"a\",\"stage\":\"middle\"}\n", WO_E_UNKNOWN, 2, "\"stage\""},
    {H "{\"alloc\":5,\"addr\":1\n\"x\"}", WO_E_SYNTAX, 3, "no JSON here"},
    {H "{\"note\":\"no end\n{\"alloc\":5,\"addr\":1}\n", WO_E_SYNTAX, 2, "does not end on its line"},
    {H "{\"x\":[{\"note\":\"no end\n", WO_E_SYNTAX, 2, "does not end on its line"},
    {H "{\"alloc\" 5}", WO_E_SYNTAX, 2, "expected a colon, found '5'"},
    {H "nonsense", WO_E_SYNTAX, 2, "expected a value, found 'n'"},
};

static void test_refused(void **state) {
  (void)state;
  wo_sample_expect_refused(wo_trace_lines_read, refused, sizeof refused / sizeof refused[0]);
}

/* ---- Cut, hostile, out of memory ---- */

/* A prefix is refused only where the header is not whole; otherwise it gives the lines before the cut. */
static void test_cut_everywhere(void **state) {
  (void)state;
  const struct wo_view whole = WO_VIEW(canonical);
  const size_t header = wo_view_find_char(whole, '\n', 0);
  for (size_t len = 0; len < whole.len; len++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_sample_read(wo_trace_lines_read, wo_view_sub(whole, 0, len), 0, &recording, &err);
    if (len < header) {
      assert_int_equal(status, WO_E_SYNTAX);
      continue;
    }
    assert_int_equal(status, WO_OK);
    assert_true(wo_recording_is_valid(recording));
    struct wo_text out = {0};
    assert_true(wo_sample_write(recording, &out));
    struct wo_recording *const again = read_whole((struct wo_view){out.ptr, out.len}, 0);
    assert_null(wo_test_difference(recording, again));
    wo_text_done(&out);
    wo_recording_free(again);
    wo_recording_free(recording);
  }
}

static void test_cut_is_told(void **state) {
  (void)state;
  struct wo_recording *const r =
      read_whole(WO_VIEW(H "{\"segment\":512,\"addr\":0}\n{\"block\":5,\"state\":\"free\"}\n{\"bl"), 0);
  assert_true(r->is_truncated);
  assert_int_equal(r->notes.count, 2);
  assert_true(wo_view_has(r->notes.items[0], "line 4") && wo_view_has(r->notes.items[1], "segment at 0x0"));
  assert_int_equal(r->traces.items[0].segments.count, 0);
  assert_true(r->traces.items[0].has_segments);
  wo_recording_free(r);
}

static void test_deep_nesting(void **state) {
  (void)state;
  struct wo_text text = {0};
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  wo_text_add(&text, H "{\"x\":");
  wo_text_repeat(&text, '[', 100000);
  assert_int_equal(wo_sample_read(wo_trace_lines_read, (struct wo_view){text.ptr, text.len}, 0, &recording, &err), WO_E_LIMIT);
  assert_int_equal(err.line, 2);
  assert_non_null(strstr(err.message, "nested"));
  wo_text_done(&text);
}

static void test_too_many(void **state) {
  (void)state;
  struct wo_text text = {0};
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  wo_text_add(&text, H);
  for (int i = 0; i < 65; i++) wo_text_add(&text, "{\"device\":%d}\n", i);
  assert_int_equal(wo_sample_read(wo_trace_lines_read, (struct wo_view){text.ptr, text.len}, 0, &recording, &err), WO_E_LIMIT);
  assert_int_equal(err.line, 66);
  text.len = 0;
  wo_text_add(&text, H "{\"empty_cache\":true,\"stream\":1}\n");
  for (int i = 0; i < WO_TRACE_STREAMS_MAX; i++) wo_text_add(&text, "{\"empty_cache\":true,\"stream\":%d}\n", i);
  assert_int_equal(wo_sample_read(wo_trace_lines_read, (struct wo_view){text.ptr, text.len}, 0, &recording, &err), WO_OK);
  wo_recording_free(recording);
  wo_text_add(&text, "{\"empty_cache\":true,\"stream\":4096}\n");
  assert_int_equal(wo_sample_read(wo_trace_lines_read, (struct wo_view){text.ptr, text.len}, 0, &recording, &err), WO_E_LIMIT);
  wo_text_done(&text);
}

/* The n-th allocation fails: reading says so, or nothing was lost but a note. */
static void test_out_of_memory(void **state) {
  (void)state;
  struct wo_recording *const whole = read_whole(WO_VIEW(canonical), 0);
  long n = 0;
  for (bool was_hit = true; was_hit;) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    assert_true(++n < 500);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_sample_read(wo_trace_lines_read, WO_VIEW(canonical), 1, &recording, &err);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_int_equal(status, was_hit ? WO_E_NOMEM : WO_OK);
    if (!was_hit) assert_null(wo_test_difference(whole, recording));
    wo_recording_free(recording);
  }
  assert_true(n > 10);
  wo_fail_alloc_at(1);
  assert_int_equal(wo_trace_lines_write(whole, &(struct wo_trace_sink){0}, NULL), WO_E_NOMEM);
  wo_fail_alloc_off();
  wo_recording_free(whole);
}

static enum wo_status refuse_bytes(void *context, struct wo_view bytes, struct wo_err *err) {
  (void)bytes;
  ++*(int *)context;
  return wo_err_set(err, WO_E_IO, "the disk is full");
}

static void test_sink_fails(void **state) {
  (void)state;
  int count = 0;
  struct wo_err err = {0};
  struct wo_recording *const recording = read_whole(WO_VIEW(canonical), 0);
  assert_int_equal(wo_trace_lines_write(recording, &(struct wo_trace_sink){&count, refuse_bytes}, &err), WO_E_IO);
  assert_int_equal(count, 1);
  assert_string_equal(err.message, "the disk is full");
  wo_recording_free(recording);
}

static void test_sniff(void **state) {
  (void)state;
  assert_true(wo_trace_lines_sniff(WO_VIEW(H)));
  assert_true(wo_trace_lines_sniff(WO_VIEW("\xEF\xBB\xBF\r\n { \"torch\":\"2.6\", \"whyoom_trace\": 1")));
  assert_false(wo_trace_lines_sniff(WO_VIEW("{\"traceEvents\":[]}\n{\"whyoom_trace\":1}")));
  assert_false(wo_trace_lines_sniff(WO_VIEW("[\"whyoom_trace\"]")));
  assert_false(wo_trace_lines_sniff(WO_VIEW("")));
}

/* Larger than every buffer: many lines, and one text that is longer than a window. */
static void test_large(void **state) {
  (void)state;
  struct wo_text text = {0}, first = {0}, second = {0};
  wo_text_add(&text, H "{\"frame\":0,\"file\":\"a.py\",\"function\":\"");
  for (int i = 0; i < 40000; i++) wo_text_add(&text, "name%d\\n\\u0001", i);
  wo_text_add(&text, "\"}\n{\"stack\":0,\"frames\":[0");
  wo_text_repeat(&text, ' ', 300000);
  wo_text_add(&text, "]}\n");
  for (int i = 0; i < 20000; i++)
    wo_text_add(&text, "{\"alloc\":%d,\"id\":%d,\"stack\":0}\n{\"free\":%d}\n", i + 1, i % 7, i % 7);
  struct wo_recording *const recording = read_whole((struct wo_view){text.ptr, text.len}, 50000);
  assert_int_equal(recording->traces.items[0].entries.count, 60000);
  assert_true(wo_sample_write(recording, &first));
  struct wo_recording *const again = read_whole((struct wo_view){first.ptr, first.len}, 0);
  assert_null(wo_test_difference(recording, again));
  assert_true(wo_sample_write(again, &second));
  assert_true(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
  for (size_t part = 34; part < 100; part += wo_process_is_sanitized ? 5 : 1) {
    struct wo_recording *const cut = read_whole((struct wo_view){first.ptr, first.len / 100 * part}, 0);
    assert_true(cut->traces.count == 0 || cut->traces.items[0].entries.count < 60000);
    wo_recording_free(cut);
  }
  wo_text_done(&text);
  wo_text_done(&first);
  wo_text_done(&second);
  wo_recording_free(again);
  wo_recording_free(recording);
}

/* A disk that fails in the middle gives what stands before, and says so. */
static void test_broken_feed(void **state) {
  (void)state;
  struct wo_test_bytes bytes = {canonical, sizeof canonical - 1, 0, 100, sizeof canonical - 300};
  struct wo_trace_source source;
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_trace_source_init(&source, wo_test_feed(&bytes), "trace"), WO_OK);
  assert_int_equal(wo_trace_read(&source, &recording, &err), WO_OK);
  assert_true(recording->is_truncated && wo_test_has_note(recording, "the disk is gone"));
  assert_true(recording->traces.count > 0 && wo_recording_is_valid(recording));
  wo_recording_free(recording);
  wo_trace_source_done(&source);
}

/* Every example of the documentation is read, without a note. */
static void test_documentation(void **state) {
  (void)state;
  size_t len = 0, count = 0;
  char *const page = wo_files_read(WO_SOURCE_DIR "/docs/trace-lines.md", &len);
  assert_non_null(page);
  const struct wo_view text = {page, len}, open = WO_VIEW("```jsonl\n"), close = WO_VIEW("```\n");
  for (size_t at = wo_view_find(text, open, 0); at != WO_NOT_FOUND; at = wo_view_find(text, open, at + 1)) {
    struct wo_recording *const r =
        read_whole(wo_view_sub(text, at + open.len, wo_view_find(text, close, at + open.len)), ++count % 2);
    assert_int_equal(r->notes.count, 0);
    wo_recording_free(r);
  }
  assert_int_equal(count, 3);
  free(page);
}

/* ---- Recordings of real programs ---- */

static void round_trip_file(const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  struct wo_text first = {0}, second = {0};
  if (wo_trace_open(path, &recording, &err) != WO_OK) fail_msg("%s: %s", path, err.message);
  assert_true(wo_sample_write(recording, &first));
  struct wo_recording *const again = read_whole((struct wo_view){first.ptr, first.len}, 4096);
  const char *const difference = wo_test_difference(recording, again);
  if (difference != NULL) fail_msg("%s: %s", path, difference);
  assert_true(wo_sample_write(again, &second));
  assert_true(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
  for (size_t part = 1; part < 100 && first.len < 1000000; part++)
    wo_recording_free(read_whole((struct wo_view){first.ptr, first.len / 100 * part}, 0));
  wo_text_done(&first);
  wo_text_done(&second);
  wo_recording_free(again);
  wo_recording_free(recording);
}

/* Snapshots beside the source tree; without them this test says so and is skipped. */
static void test_snapshots(void **state) {
  (void)state;
  static const char folder[] = WO_SOURCE_DIR "/../shared/corpus/snapshots";
  size_t count = 0;
  char **const names = wo_files_names(folder, ".pickle", &count);
  if (names == NULL) {
    print_message("no snapshots in %s\n", folder);
    skip();
  }
  for (size_t i = 0; i < count; i += wo_process_is_sanitized ? 3 : 1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    round_trip_file(path);
  }
  wo_files_free_names(names, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_by_hand),
      cmocka_unit_test(test_devices),
      cmocka_unit_test(test_settings_text),
      cmocka_unit_test(test_is_recognised),
      cmocka_unit_test(test_annotations_are_sorted),
      cmocka_unit_test(test_one_note_for_unknown_keys),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_cut_everywhere),
      cmocka_unit_test(test_cut_is_told),
      cmocka_unit_test(test_deep_nesting),
      cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_sink_fails),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_broken_feed),
      cmocka_unit_test(test_sniff),
      cmocka_unit_test(test_documentation),
      cmocka_unit_test(test_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
