/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over several lines: when a line is waited for, what is given back, and what ends the waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char first[] = "ValueError: To serve at least one request with the model's max seq len (4096),";
static const char second[] = "2.00 GiB KV cache is needed, which is larger than the available KV cache";
static const char third[] = "memory (1.00 GiB). Based on";

/* Scans the lines joined by `between`; the store is released by the caller. */
static void scan_three(struct wo_pattern_set *set, const char *between, int chunk, struct wo_event_store *store) {
  struct sample_log log = {0};
  sample_say(&log, first);
  sample_say(&log, between);
  sample_say(&log, second);
  sample_say(&log, between);
  sample_say(&log, third);
  sample_scan(set, sample_view(&log), chunk, store);
  sample_free(&log);
}

/* Wherever a console breaks lines, the message is one event, at its first line. */
static void test_three_lines(void **state) {
  static const char *const betweens[] = {"\n", "\r\n", "\n    ", " \n\t"};
  for (size_t i = 0; i < sizeof betweens / sizeof betweens[0]; i++) {
    struct wo_event_store store;
    scan_three(set_of(state), betweens[i], CHUNK_WHOLE, &store);
    assert_int_equal(sample_count(&store, WO_KIND_VLLM_KV), 1);
    const struct wo_event *event = sample_find(&store, WO_KIND_VLLM_KV, 0);
    assert_int_equal(event->span.line, 1);
    assert_int_equal(event->span.byte, strlen("ValueError: "));
    sample_expect_number(event, WO_FIELD_NEEDED_BYTES, 2 * WO_GIB);
    sample_expect_number(event, WO_FIELD_AVAILABLE_BYTES, WO_GIB);
    assert_true(wo_view_starts(event->match, "To serve") && wo_view_ends(event->match, "(1.00 GiB)"));
    assert_true(wo_view_has(event->text, "(4096), 2.00 GiB KV cache"));
    wo_event_store_done(&store);
  }
}

static void test_chunks(void **state) {
  struct wo_event_store whole;
  struct wo_event_store bytes;
  scan_three(set_of(state), "\n", CHUNK_WHOLE, &whole);
  scan_three(set_of(state), "\n", 1, &bytes);
  sample_expect_same(&whole, &bytes);
  wo_event_store_done(&whole);
  wo_event_store_done(&bytes);
}

/* Cut anywhere, there is one event or none, and never a wrong figure. */
static void test_cut_anywhere(void **state) {
  char log[sizeof first + sizeof second + sizeof third];
  const int len = snprintf(log, sizeof log, "%s\n%s\n%s", first, second, third);
  for (int end = 0; end <= len; end++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){log, (size_t)end}, CHUNK_WHOLE, &store);
    assert_true(sample_count(&store, WO_KIND_VLLM_KV) <= 1);
    const struct wo_event *event = sample_find(&store, WO_KIND_VLLM_KV, 0);
    const double available = event != NULL ? wo_event_number(event, WO_FIELD_AVAILABLE_BYTES, -1) : -1;
    assert_true(available == -1 || available == WO_GIB);
    wo_event_store_done(&store);
  }
}

/* What ends the waiting: the event has what the first line said. */
static void test_interrupted(void **state) {
  static const char *const strangers[] = {"",
                                          "Traceback (most recent call last):",
                                          "  File \"a.py\", line 1, in <module>",
                                          "srun: error: node01: task 0: Exited with exit code 1",
                                          "2025-01-02 03:04:05 INFO something else",
                                          "another text"};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    char between[128];
    struct wo_event_store store;
    snprintf(between, sizeof between, "\n%s\n", strangers[i]);
    scan_three(set_of(state), between, CHUNK_WHOLE, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_VLLM_KV, 0);
    assert_non_null(event);
    sample_expect_number(event, WO_FIELD_MAX_MODEL_LEN, 4096);
    sample_expect_number(event, WO_FIELD_NEEDED_BYTES, -1);
    assert_true(wo_view_is(event->text, first));
    wo_event_store_done(&store);
  }
}

/* A line that adds nothing is given back: it can begin a message of its own. */
static void test_given_back(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "RESOURCE_EXHAUSTED: Out of memory while trying to\n"
                   "Prefill out of memory. Try to lower your batch size.\n"
                   "Try to allocate 7 tokens.\n",
                   &store);
  const struct wo_event *jax = sample_find(&store, WO_KIND_JAX_OOM, 0);
  const struct wo_event *sglang = sample_find(&store, WO_KIND_SGLANG_KV, 0);
  assert_non_null(jax);
  assert_non_null(sglang);
  assert_true(jax->id < sglang->id && sglang->span.line == 2);
  sample_expect_number(jax, WO_FIELD_TRIED_BYTES, -1);
  sample_expect_number(sglang, WO_FIELD_COUNT, 7);
  assert_int_equal(sample_count(&store, WO_KIND_SGLANG_KV), 1);
  wo_event_store_done(&store);
}

/* A complete message waits for nothing, so what it says stands before what the next line says. */
static void test_complete_at_once(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.50GiB.\n"
                   "allocate 9.00GiB.\n",
                   &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_JAX_OOM, 0);
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 1.5 * WO_GIB);
  assert_true(wo_view_ends(event->text, "1.50GiB."));
  wo_event_store_done(&store);
}

/* `unless` is asked of the whole message. */
static void test_ruled_out_by_the_second_line(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "W tensorflow/core/common_runtime/bfc_allocator.cc:271] Allocator (GPU_0_bfc) ran out of memory trying to "
                   "allocate 3.25GiB with freed_by_count=0.\n"
                   "The caller indicates that this is not a failure\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_TF_OOM), 0);
  wo_event_store_done(&store);
}

/* A line far longer than a console is wide was not wrapped; its message is read at once. */
static void test_long_line(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_fill(&log, 'x', 5000);
  sample_say(&log, " RESOURCE_EXHAUSTED: Out of memory while trying to\nallocate 1.00GiB.\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_JAX_OOM, 0);
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, -1);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* An expression that always wants more ends after a few lines, and takes none that do not help it. */
static void test_greedy(void **state) {
  static const struct wo_view literal[] = {WO_VIEW("greedy message")};
  static const struct wo_pattern pattern = {.id = WO_VIEW("greedy"),
                                            .kind = WO_KIND_NOTE,
                                            .literals = literal,
                                            .literal_count = 1,
                                            .regex = WO_VIEW("greedy message (?<message>.*)"),
                                            .reader = WO_VIEW("joined")};
  struct wo_pattern_set *set = NULL;
  struct wo_event_store store;
  struct sample_log log = {0};
  (void)state;
  assert_int_equal(wo_pattern_set_new(&pattern, 1, NULL, &set), WO_OK);
  sample_say(&log, "greedy message a\n");
  for (int i = 0; i < 50; i++) sample_say(&log, "b\n");
  sample_scan(set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(store.count, 1);
  sample_expect_text(&store.items[0], WO_FIELD_MESSAGE, "a b b b b b b b b");
  wo_event_store_done(&store);
  sample_free(&log);
  wo_pattern_set_free(set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_three_lines),  cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_given_back),   cmocka_unit_test(test_complete_at_once),
      cmocka_unit_test(test_long_line),    cmocka_unit_test(test_ruled_out_by_the_second_line),
      cmocka_unit_test(test_greedy),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
