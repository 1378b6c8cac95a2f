/* SPDX-License-Identifier: Apache-2.0 */
/* Memory timelines: lifetimes matched by size, drawn ones refused with their figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/memory_timeline.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/replay/trace_sample.h"
#include "cuda_replay/recording/recording_valid.h"

/* As the exporter writes them: stacks are 0 PARAMETER, 3 TEMPORARY, 4 ACTIVATION, 5 GRADIENT. */
static const struct {
  const char *text;
  const char *lines;
  const char *note;
  bool is_truncated;
} shapes[] = {
    {"[[-1, 1, 4096, 0], [5000, 2, 512, 3], [6999, 4, -512, 3]]",
     "{\"alloc\":4096,\"id\":1,\"stack\":0}\n{\"alloc\":512,\"id\":2,\"stack\":3,\"time_us\":5}\n"
     "{\"free_requested\":512,\"id\":2,\"time_us\":6}\n{\"free_completed\":512,\"id\":2,\"time_us\":6}\n",
     "a guess", false},
    /* The newest goes first, within its category. */
    {"[[1000,2,512,3],[1000,2,512,3],[1000,2,512,4],[2000,4,-512,3],[3000,4,-512,3]]",
     "{\"alloc\":512,\"id\":1,\"stack\":3,\"time_us\":1}\n{\"alloc\":512,\"id\":2,\"stack\":3,\"time_us\":1}\n"
     "{\"alloc\":512,\"id\":3,\"stack\":4,\"time_us\":1}\n"
     "{\"free_requested\":512,\"id\":2,\"time_us\":2}\n{\"free_completed\":512,\"id\":2,\"time_us\":2}\n"
     "{\"free_requested\":512,\"id\":1,\"time_us\":3}\n{\"free_completed\":512,\"id\":1,\"time_us\":3}\n",
     NULL, false},
    /* A new version moves a block to another category. */
    {"[[1000,2,512,3],[1000,2,512,5],[1500,3,-512,3],[1500,3,512,4],[2000,4,-512,4]]",
     "{\"alloc\":512,\"id\":1,\"stack\":3,\"time_us\":1}\n{\"alloc\":512,\"id\":2,\"stack\":5,\"time_us\":1}\n"
     "{\"free_requested\":512,\"id\":1,\"time_us\":2}\n{\"free_completed\":512,\"id\":1,\"time_us\":2}\n",
     NULL, false},
    /* A new version without its second half. */
    {"[[1000,2,512,3],[1500,3,-512,3],[2000,4,-512,3]]",
     "{\"alloc\":512,\"id\":1,\"stack\":3,\"time_us\":1}\n"
     "{\"free_requested\":512,\"id\":1,\"time_us\":2}\n{\"free_completed\":512,\"id\":1,\"time_us\":2}\n",
     NULL, false},
    {"[[1000,2,512,3],[1500,3,512,3]]", "{\"alloc\":512,\"id\":1,\"stack\":3,\"time_us\":1}\n", "1 of 2 events make no sense",
     false},
    /* Never created; and freed in another category. */
    {"[[1000,2,512,3],[2000,4,-100,5],[3000,4,-512,4]]",
     "{\"alloc\":100,\"id\":2,\"stack\":5}\n{\"alloc\":512,\"id\":1,\"stack\":3,\"time_us\":1}\n"
     "{\"free_requested\":100,\"id\":2,\"time_us\":2}\n{\"free_completed\":100,\"id\":2,\"time_us\":2}\n"
     "{\"free_requested\":512,\"id\":1,\"time_us\":3}\n{\"free_completed\":512,\"id\":1,\"time_us\":3}\n",
     "1 blocks were freed and never created", false},
    {"[[1000,2,512,0]]", "{\"alloc\":512,\"id\":1,\"stack\":0,\"time_us\":1}\n", NULL, false},
    {"[[1000,2,512,0],[1,2", "{\"alloc\":512,\"id\":1,\"stack\":0,\"time_us\":1}\n", "inside of event 1", true},
    {"[[1000,2,512,0],", "{\"alloc\":512,\"id\":1,\"stack\":0,\"time_us\":1}\n", "inside of event 1", true},
    {"[[1000,2,512,0],[1,2,3],[1,2,3,8],[1,9,3,1],[1,2,-3,1],[1,4,3,1],[1,2,1e30,1],[1,2,0,1],[1,2,2305843009213693952,0]]",
     "{\"alloc\":512,\"id\":1,\"stack\":0,\"time_us\":1}\n", "7 of 9 events make no sense", false},
};

static struct wo_recording *read_whole(struct wo_view text, size_t chunk_bytes) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_sample_read(wo_memory_timeline_read, text, chunk_bytes, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  assert_true(wo_recording_is_valid(recording));
  assert_int_equal(recording->fidelity, WO_TRACE_APPROXIMATE);
  assert_int_equal(recording->stacks.count, 8);
  return recording;
}

static void expect_lines(const struct wo_recording *recording, const char *lines) {
  struct wo_text out = {0};
  assert_true(wo_sample_write(recording, &out));
  const struct wo_view all = {out.ptr, out.len}, start = WO_VIEW("{\"device\":0}\n");
  const struct wo_view got = wo_view_skip(all, wo_view_find(all, start, 0) + start.len);
  if (!wo_view_is(got, lines)) fail_msg("got\n%.*s\nexpected\n%s", (int)got.len, got.ptr, lines);
  wo_text_done(&out);
}

static void test_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (size_t chunk_bytes = 0; chunk_bytes < 4; chunk_bytes++) {
      struct wo_recording *const r = read_whole(wo_view_of(shapes[i].text), chunk_bytes);
      bool has_note = shapes[i].note == NULL;
      expect_lines(r, shapes[i].lines);
      assert_int_equal(r->is_truncated, shapes[i].is_truncated);
      for (size_t j = 0; j < r->notes.count; j++) has_note = has_note || wo_view_has(r->notes.items[j], shapes[i].note);
      if (!has_note) fail_msg("row %zu: no note says %s", i, shapes[i].note);
      wo_recording_free(r);
    }
  }
}

static const struct wo_sample_refused refused[] = {
    {"", WO_E_SYNTAX, 0, "no memory timeline"},
    {"[", WO_E_SYNTAX, 0, "no memory timeline"},
    {"[[", WO_E_SYNTAX, 0, "before its first event"},
    {"[[1,2,3,4", WO_E_SYNTAX, 0, "before its first event"},
    {"[{}]", WO_E_SYNTAX, 0, "no memory timeline"},
    {"[[\"a\"]]", WO_E_TYPE, 0, "lists of numbers"},
    {"[[[1]]]", WO_E_TYPE, 0, "too deep"},
    {"[[1,2,3,4],[1,2,3,4],[1,[2]]]", WO_E_TYPE, 0, "a list stands in an event"},
    {"[[1,2,3,4],x]", WO_E_SYNTAX, 0, "no JSON here"},
    {"[[],[]]", WO_E_KIND, 0, "peaks at 0.0 MiB"},
    {"[[1.5,2.5],[[0,1048576,0,0,0,0,0,0,0],[0,1048576,2097152,0,0,0,0,0,524288]]]", WO_E_KIND, 0,
     "peaks at 3.5 MiB; at most OPTIMIZER_STATE 2.0, PARAMETER 1.0, UNKNOWN 0.5"},
    {"[[1,2,3,4],[[0,1048576,0,0,0,0,0,0,0],[0,1048576,2097152,0", WO_E_KIND, 0, "peaks at 3.0 MiB"},
};

static void test_refused(void **state) {
  (void)state;
  wo_sample_expect_refused(wo_memory_timeline_read, refused, sizeof refused / sizeof refused[0]);
}

/* Whatever the cut, every free frees what is alive, and the recording says that it is cut. */
static void test_cut_everywhere(void **state) {
  (void)state;
  const struct wo_view whole = wo_view_of(shapes[2].text);
  for (size_t len = sizeof "[[1000,2,512,3]" - 1; len < whole.len; len++) {
    struct wo_recording *const r = read_whole(wo_view_sub(whole, 0, len), 0);
    assert_true(r->is_truncated);
    wo_recording_free(r);
  }
}

static void test_out_of_memory(void **state) {
  (void)state;
  const struct wo_view text = wo_view_of(shapes[5].text);
  long n = 0;
  for (bool was_hit = true; was_hit;) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    assert_true(++n < 500);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_sample_read(wo_memory_timeline_read, text, 1, &recording, &err);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_true(status == WO_OK || (was_hit && status == WO_E_NOMEM));
    if (recording != NULL) expect_lines(recording, shapes[5].lines);
    wo_recording_free(recording);
  }
  assert_true(n > 10);
}

static void test_sniff(void **state) {
  (void)state;
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_test_read(shapes[0].text, strlen(shapes[0].text), 7, &recording, &err), WO_OK); /* among all formats */
  assert_int_equal(recording->format, WO_TRACE_FORMAT_TIMELINE);
  wo_recording_free(recording);
  assert_true(wo_memory_timeline_sniff(WO_VIEW("[[-1, 1, 4096, 0]]")));
  assert_true(wo_memory_timeline_sniff(WO_VIEW(" [ [ 17.5")));
  assert_true(wo_memory_timeline_sniff(WO_VIEW("[[], []]")));
  assert_false(wo_memory_timeline_sniff(WO_VIEW("[{\"ph\":1}]")));
  assert_false(wo_memory_timeline_sniff(WO_VIEW("[[\"a\"]]")));
  assert_false(wo_memory_timeline_sniff(WO_VIEW("[[")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),        cmocka_unit_test(test_refused), cmocka_unit_test(test_cut_everywhere),
      cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_sniff),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
