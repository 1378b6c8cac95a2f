/* SPDX-License-Identifier: Apache-2.0 */
/* Profiler traces: what their memory events become, what is told, what is refused, and that nothing breaks the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/chrome_trace.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/replay/trace_sample.h"
#include "cuda_replay/recording/recording_valid.h"

#define MEMORY(ts, bytes, addr, device, allocated, reserved)                                                                     \
  "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":7,\"tid\":8,\"ts\":" ts                 \
  ",\"args\":{\"Total Reserved\":" reserved ",\"Total Allocated\":" allocated ",\"Bytes\":" bytes ",\"Device Id\":" device       \
  ",\"Device Type\":1,\"Addr\":" addr ",\"Ev Idx\":3}}"
#define SPAN(cat, name, ts, dur)                                                                                                 \
  "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":7,\"tid\":8,\"ts\":" ts ",\"dur\":" dur                       \
  ",\"args\":{\"External id\":5,\"Input Dims\":[[2,3],[],\"]}\\\"\"]}}"

/* As PyTorch writes it: other events before, between and after. */
static const char sample[] =
    "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA A100\", \"totalGlobalMem\": "
    "42285268992}\n  ],\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8, \"pg_config\": "
    "[{\"a\": "
    "1}]},\n  \"traceEvents\": [\n" SPAN("python_function", "train.py(12): step", "99.5", "50.25") ",\n" SPAN("user_annotation", "ProfilerStep#2", "99.75", "40") ",\n" SPAN(
        "cpu_op", "aten::empty",
        "100.001",
        "2.5") ",\n" MEMORY("101.5", "1024", "4096", "0", "5120",
                            "2097152") ",\n"
                                       "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":101.6,\"args\":{"
                                       "\"Bytes\":64,\"Device Id\":-1,\"Device "
                                       "Type\":0,\"Addr\":1}},\n" SPAN("kernel", "[memory]x", "101.7", "1") ",\n" MEMORY(
                                           "103", "2097152", "2097152",
                                           "0", "2102272",
                                           "23068672") ",\n" MEMORY("104.2509", "-1024", "4096", "0", "2101248",
                                                                    "23068672") ",\n" MEMORY("105", "-2048", "8192", "0",
                                                                                             "2099200",
                                                                                             "2097152") ","
                                                                                                        "\n" MEMORY(
                                                                                                            "106", "512",
                                                                                                            "1844674407370955110"
                                                                                                            "4",
                                                                                                            "1", "512",
                                                                                                            "2097152") ",\n"
                                                                                                                       "{\"ph\":"
                                                                                                                       "\"i\","
                                                                                                                       "\"s\":"
                                                                                                                       "\"t\","
                                                                                                                       "\"name\":"
                                                                                                                       "\"["
                                                                                                                       "OutOfMemo"
                                                                                                                       "ry]\","
                                                                                                                       "\"pid\":"
                                                                                                                       "7,"
                                                                                                                       "\"tid\":"
                                                                                                                       "8,\"ts\":"
                                                                                                                       "107,"
                                                                                                                       "\"args\":"
                                                                                                                       "{\"Bytes"
                                                                                                                       "\":"
                                                                                                                       "107374182"
                                                                                                                       "4,"
                                                                                                                       "\"Total "
                                                                                                                       "Allocated"
                                                                                                                       "\":"
                                                                                                                       "2099200,"
                                                                                                                       "\"Total "
                                                                                                                       "Reserved"
                                                                                                                       "\":"
                                                                                                                       "2097152,"
                                                                                                                       "\"Device "
                                                                                                                       "Id\":0,"
                                                                                                                       "\"Device "
                                                                                                                       "Type\":1}"
                                                                                                                       "}\n"
                                                                                                                       "  ],\n  "
                                                                                                                       "\"traceNa"
                                                                                                                       "me\": "
                                                                                                                       "\"x."
                                                                                                                       "json\","
                                                                                                                       "\n  "
                                                                                                                       "\"baseTim"
                                                                                                                       "eNanoseco"
                                                                                                                       "nds\": "
                                                                                                                       "170000000"
                                                                                                                       "000000000"
                                                                                                                       "0\n}\n";

static const char sample_lines[] = "{\"device\":0}\n"
                                   "{\"alloc\":2048,\"addr\":8192}\n"
                                   "{\"alloc\":2048,\"addr\":4194304}\n"
                                   "{\"alloc\":1024,\"addr\":4096,\"stack\":0,\"time_us\":1700000000000101}\n"
                                   "{\"alloc\":2097152,\"addr\":2097152,\"stack\":1,\"time_us\":1700000000000103}\n"
                                   "{\"free_requested\":1024,\"addr\":4096,\"stack\":1,\"time_us\":1700000000000104}\n"
                                   "{\"free_completed\":1024,\"addr\":4096,\"stack\":1,\"time_us\":1700000000000104}\n"
                                   "{\"free_requested\":2048,\"addr\":8192,\"stack\":1,\"time_us\":1700000000000105}\n"
                                   "{\"free_completed\":2048,\"addr\":8192,\"stack\":1,\"time_us\":1700000000000105}\n"
                                   "{\"oom\":1073741824,\"device_free\":0,\"stack\":1,\"time_us\":1700000000000107}\n"
                                   "{\"device\":1}\n"
                                   "{\"alloc\":512,\"addr\":18446744073709551104,\"stack\":1,\"time_us\":1700000000000106}\n";

static struct wo_recording *read_whole(struct wo_view text, size_t chunk_bytes) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_sample_read(wo_chrome_trace_read, text, chunk_bytes, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  assert_true(wo_recording_is_valid(recording));
  return recording;
}

/* The entries are those of the lines, from the first device on. */
static void expect_lines(const struct wo_recording *recording, const char *lines) {
  struct wo_text out = {0};
  assert_true(wo_sample_write(recording, &out));
  const struct wo_view all = {out.ptr, out.len};
  const size_t at = wo_view_find(all, WO_VIEW("{\"device\":"), 0);
  const struct wo_view got = wo_view_skip(all, at == WO_NOT_FOUND ? all.len : at);
  if (!wo_view_is(got, lines)) fail_msg("got\n%.*s\nexpected\n%s", (int)got.len, got.ptr, lines);
  wo_text_done(&out);
}

static bool has_note(const struct wo_recording *recording, const char *part) {
  for (size_t i = 0; i < recording->notes.count; i++) {
    if (wo_view_has(recording->notes.items[i], part)) return true;
  }
  return false;
}

static void test_sample(void **state) {
  (void)state;
  static const size_t chunks[] = {0, 1, 2, 3, 5, 64};
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    struct wo_recording *const r = read_whole(WO_VIEW(sample), chunks[i]);
    expect_lines(r, sample_lines);
    assert_int_equal(r->format, WO_TRACE_FORMAT_PROFILER);
    assert_int_equal(r->fidelity, WO_TRACE_BLOCK_SIZES);
    assert_true(r->capacity_bytes == 42285268992);
    assert_false(r->is_truncated);
    assert_true(has_note(r, "rank 3 of 8"));
    assert_true(has_note(r, "device 0: 1 blocks (0.0 MiB) were allocated before"));
    assert_true(has_note(r, "device 0: the profiler saw 2.0 MiB reserved at first, 22.0 MiB at most, in 1 steps up and 1 down"));
    assert_false(has_note(r, "off the sum"));
    wo_recording_free(r);
  }
}

static void test_stacks(void **state) {
  (void)state;
  struct wo_recording *const r = read_whole(WO_VIEW(sample), 0);
  const struct wo_stack first = r->stacks.items[0], second = r->stacks.items[1];
  assert_int_equal(r->stacks.count, 2);
  assert_int_equal(first.count, 3);
  assert_int_equal(second.count, 2);
  const struct wo_frame *const inner = &r->frames.items[r->stack_frames.items[first.first]];
  const struct wo_frame *const outer = &r->frames.items[r->stack_frames.items[first.first + 2]];
  assert_true(wo_view_is(inner->function, "aten::empty") && wo_view_is(inner->file, "op") && inner->line == 0);
  assert_true(wo_view_is(outer->function, "step") && wo_view_is(outer->file, "train.py") && outer->line == 12);
  assert_int_equal(r->annotations.count, 2);
  assert_int_equal(r->annotations.items[1].device, 0);
  assert_true(wo_view_is(r->annotations.items[0].name, "ProfilerStep#2") && r->annotations.items[0].is_start);
  assert_true(r->annotations.items[0].time_us == 1700000000000099 && r->annotations.items[1].time_us == 1700000000000139);
  wo_recording_free(r);
}

/* ---- Shapes and orders ---- */

#define ONE "{\"device\":0}\n{\"alloc\":512,\"addr\":4096,\"time_us\":5}\n"

static const struct {
  const char *text;
  const char *lines;
  const char *note; /* NULL: none is asked for */
  bool is_truncated;
} shapes[] = {
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "]", ONE, NULL, false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",]", ONE, NULL, false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",\n", ONE, "ends inside of event 0", true},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",{\"ph\":\"X\",\"na", ONE, "ends inside of event 1", true},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",{\"name\" 5}]", ONE, "expected a colon, found '5'", true},
    {"[1,\"x\",null,[{}]," MEMORY("5", "512", "4096", "0", "512", "0") "]", ONE, NULL, false},
    {"\r\n[\r\n" MEMORY("5", "512", "4096", "0", "512", "0") "\r\n]\r\n", ONE, NULL, false},
    /* Sorted keys, no device type, no sums. */
    {"[{\"args\":{\"Addr\":4096,\"Bytes\":512,\"Device Id\":0},\"name\":\"[memory]\",\"ph\":\"i\",\"ts\":5}]", ONE, NULL, false},
    /* Sums left out as -1; times as texts of exponents. */
    {"[" MEMORY("0.5e1", "512", "4096", "0", "-1", "-1") "]", ONE, NULL, false},
    /* By time, not by place. */
    {"[" MEMORY("7", "-512", "4096", "0", "0", "0") "," MEMORY("5", "512", "4096", "0", "512", "0") "]",
     ONE "{\"free_requested\":512,\"addr\":4096,\"time_us\":7}\n{\"free_completed\":512,\"addr\":4096,\"time_us\":7}\n", NULL,
     false},
    /* A free is missing. */
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "1024", "4096", "0", "1536", "0") "]",
     ONE "{\"free_requested\":512,\"addr\":4096,\"time_us\":6}\n{\"free_completed\":512,\"addr\":4096,\"time_us\":6}\n"
         "{\"alloc\":1024,\"addr\":4096,\"time_us\":6}\n",
     "1 allocations or frees are missing", false},
    /* An allocation is missing. */
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "-512", "4096", "0", "0",
                                                                "0") "," MEMORY("7", "-1024", "4096", "0", "0", "0") "]",
     ONE "{\"free_requested\":512,\"addr\":4096,\"time_us\":6}\n{\"free_completed\":512,\"addr\":4096,\"time_us\":6}\n"
         "{\"alloc\":1024,\"addr\":4096,\"time_us\":7}\n"
         "{\"free_requested\":1024,\"addr\":4096,\"time_us\":7}\n{\"free_completed\":1024,\"addr\":4096,\"time_us\":7}\n",
     "Total Allocated of event 2 is 0 bytes off", false},
    /* The sums do not agree. */
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "512", "8192", "0", "4096", "0") "]",
     ONE "{\"alloc\":512,\"addr\":8192,\"time_us\":6}\n", "Total Allocated of event 1 is 3072 bytes off", false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "-256", "4096", "0", "256", "0") "]",
     ONE "{\"free_requested\":512,\"addr\":4096,\"time_us\":6}\n{\"free_completed\":512,\"addr\":4096,\"time_us\":6}\n",
     "1 frees state another size", false},
    /* Hostile figures. */
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "-9223372036854775807", "1", "99999", "5", "5") "]", ONE,
     NULL, false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "NaN", "1", "0", "5", "5") "]", ONE,
     "1 memory events without address or size", false},
    {"[" MEMORY("5", "512", "4096", "0", "9223372036854775806", "9223372036854775806") "]", ONE, NULL, false},
    {"[" MEMORY("5", "512", "4096", "0", "1152921504606846975", "0") "]",
     "{\"device\":0}\n{\"alloc\":1152921504606846463,\"addr\":2097152}\n{\"alloc\":512,\"addr\":4096,\"time_us\":5}\n",
     "stay to the end: they count as one block", false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") "," MEMORY("6", "1152921504606846976", "8192", "0", "5", "5") "]", ONE,
     "1 memory events without address or size", false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",{\"name\":\"[memory]\",\"ph\":{},\"ts\":[],\"args\":[{}]}]", ONE, NULL,
     false},
    {"[" MEMORY("5", "512", "4096", "0", "512", "0") ",{\"name\":\"[memory]\",\"args\":{\"Bytes\":[1],\"Addr\":{}}}]", ONE, NULL,
     false},
};

static void test_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    struct wo_recording *const r = read_whole(wo_view_of(shapes[i].text), i % 4);
    expect_lines(r, shapes[i].lines);
    assert_int_equal(r->is_truncated, shapes[i].is_truncated);
    if (shapes[i].note != NULL && !has_note(r, shapes[i].note)) fail_msg("row %zu has no such note", i);
    wo_recording_free(r);
  }
}

/* ---- Refused ---- */

static const struct wo_sample_refused refused[] = {
    {"", WO_E_SYNTAX, 0, "no memory event of a GPU among 0 events"},
    {"5", WO_E_SYNTAX, 0, "no profiler trace"},
    {"{\"traceEvents\":[]}", WO_E_SYNTAX, 0, "profile_memory=True"},
    {"{\"traceEvents\":{}}", WO_E_SYNTAX, 0, "profile_memory=True"},
    {"{\"traceEvents\":5,\"deviceProperties\":5,\"distributedInfo\":[],\"baseTimeNanoseconds\":[[]]}", WO_E_SYNTAX, 0,
     "profile_memory"},
    {"{\"traceEvents\":[{\"name\":\"[memory]\",\"args\":{\"Device Type\":0,\"Bytes\":5,\"Addr\":1,\"Device Id\":-1}}]}",
     WO_E_SYNTAX, 0, "among 1 events (1 of CPU memory)"},
    {"[{\"name\":\"[memory]\",\"args\":{\"Device Type\":1,\"Bytes\":5,\"Device Id\":0}}]", WO_E_SYNTAX, 0, "without address"},
    {"[{\"name\"}]", WO_E_SYNTAX, 0, "expected a colon"},
    {"[{\"name\":nil}]", WO_E_SYNTAX, 0, "expected a value"},
};

static void test_refused(void **state) {
  (void)state;
  wo_sample_expect_refused(wo_chrome_trace_read, refused, sizeof refused / sizeof refused[0]);
}

/* ---- Cut, many, out of memory ---- */

static void test_cut_everywhere(void **state) {
  (void)state;
  const struct wo_view whole = WO_VIEW(sample);
  const size_t first = wo_view_find(whole, WO_VIEW("\"Ev Idx\":3}}"), 0) + sizeof "\"Ev Idx\":3}}" - 1;
  for (size_t len = 0; len < whole.len; len++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_sample_read(wo_chrome_trace_read, wo_view_sub(whole, 0, len), 0, &recording, &err);
    assert_int_equal(status, len < first ? WO_E_SYNTAX : WO_OK);
    if (recording == NULL) continue;
    assert_true(wo_recording_is_valid(recording));
    assert_int_equal(recording->is_truncated, len + 2 < whole.len || whole.ptr[len - 1] != '}');
    wo_recording_free(recording);
  }
}

/* A long trace: allocations of two threads under operators, freed in another order. */
static void make_long(struct wo_text *text, unsigned count) {
  wo_text_add(text, "{\"traceEvents\":[");
  for (unsigned i = 0; i < count; i++) {
    wo_text_add(text, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%u\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":9},\n", i % 7,
                i % 2, i * 10);
    wo_text_add(
        text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%u,\"dur\":9,\"args\":{\"a\":[{}]}},\n",
        i * 10);
    const unsigned slot = i / 2 * 2654435761u % 64;
    wo_text_add(
        text,
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":%u,\"ts\":%u.5,\"args\":{\"Bytes\":%s512,\"Addr\":%u,\"Device "
        "Id\":0,\"Device Type\":1}},\n",
        i % 2, i * 10 + 1, i % 2 == 0 ? "" : "-", 4096 + slot * 512);
  }
  wo_text_add(text, "{}]}");
}

static void test_long(void **state) {
  (void)state;
  struct wo_text text = {0};
  make_long(&text, 4000);
  struct wo_recording *const r = read_whole((struct wo_view){text.ptr, text.len}, 4096);
  assert_int_equal(r->traces.items[0].entries.count, 4000 / 2 * 3);
  assert_int_equal(r->stacks.count, 7);
  assert_false(r->is_truncated);
  for (int part = 1; part < 100; part++) {
    struct wo_recording *cut = NULL;
    struct wo_err err = {0};
    assert_int_equal(
        wo_sample_read(wo_chrome_trace_read, (struct wo_view){text.ptr, text.len / 100 * (size_t)part}, 0, &cut, &err), WO_OK);
    assert_true(cut->is_truncated && wo_recording_is_valid(cut) && cut->traces.items[0].entries.count < 6000);
    wo_recording_free(cut);
  }
  wo_recording_free(r);
  wo_text_done(&text);
}

static void test_deep(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "[" MEMORY("5", "512", "4096", "0", "512", "0") ",{\"x\":");
  wo_text_repeat(&text, '[', 100000);
  wo_text_repeat(&text, ']', 100000);
  wo_text_add(&text, "},");
  wo_text_repeat(&text, '[', 100000);
  struct wo_recording *const r = read_whole((struct wo_view){text.ptr, text.len}, 0);
  expect_lines(r, ONE);
  assert_true(r->is_truncated);
  wo_recording_free(r);
  wo_text_done(&text);
}

/* Operators inside of each other beyond what is kept, on more threads than are followed. */
static void test_many_operators(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_text_add(&text, "[");
  for (int i = 0; i < 300; i++)
    wo_text_add(&text, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1000},", i, i);
  wo_text_add(&text,
              "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":900,\"args\":{\"Bytes\":5,\"Addr\":1,\"Device "
              "Id\":0}},");
  for (int i = 0; i < 200; i++)
    wo_text_add(&text, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"pid\":1,\"tid\":%d,\"ts\":901,\"dur\":1000},", i + 2);
  wo_text_add(&text,
              "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":950,\"args\":{\"Bytes\":5,\"Addr\":2,\"Device "
              "Id\":0}}]");
  struct wo_recording *const r = read_whole((struct wo_view){text.ptr, text.len}, 0);
  assert_int_equal(r->stacks.count, 1);
  assert_int_equal(r->stacks.items[0].count, 192);
  assert_int_equal(r->traces.items[0].entries.items[0].stack, 0);
  assert_true(r->traces.items[0].entries.items[1].stack == WO_NO_STACK);
  wo_recording_free(r);
  wo_text_done(&text);
}

static void test_out_of_memory(void **state) {
  (void)state;
  long n = 0;
  for (bool was_hit = true; was_hit;) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    assert_true(++n < 500);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_sample_read(wo_chrome_trace_read, WO_VIEW(sample), 1, &recording, &err);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_true(status == WO_OK || (was_hit && status == WO_E_NOMEM));
    if (recording != NULL) expect_lines(recording, sample_lines);
    wo_recording_free(recording);
  }
  assert_true(n > 10);
}

static void test_sniff(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_test_read(sample, sizeof sample - 1, 7, &recording, &err), WO_OK); /* among all formats */
  assert_int_equal(recording->format, WO_TRACE_FORMAT_PROFILER);
  wo_recording_free(recording);
  assert_true(wo_chrome_trace_sniff(WO_VIEW(sample)));
  assert_true(wo_chrome_trace_sniff(WO_VIEW("[\n {\"ph\":\"M\"")));
  assert_false(wo_chrome_trace_sniff(WO_VIEW("[[1,2,3]]")));
  assert_false(wo_chrome_trace_sniff(WO_VIEW("[{\"device\":0}]")));
  assert_false(wo_chrome_trace_sniff(WO_VIEW("{\"whyoom_trace\":1}")));
  assert_false(wo_chrome_trace_sniff(WO_VIEW("")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sample),  cmocka_unit_test(test_stacks),         cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_long),
      cmocka_unit_test(test_deep),    cmocka_unit_test(test_many_operators), cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_sniff),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
