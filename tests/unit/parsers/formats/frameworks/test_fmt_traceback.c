/* SPDX-License-Identifier: Apache-2.0 */
/* Python tracebacks, beyond tests/table/traceback.txt: frames that do not fit, noise between frames, what ends a traceback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const struct wo_event *scan_first(void **state, const char *log, struct wo_event_store *store) {
  sample_scan_text(set_of(state), log, store);
  return sample_find(store, WO_KIND_TRACEBACK, 0);
}

/* Which frame is the user's: the innermost one outside installed packages. */
static void test_whose_frame(void **state) {
  static const struct {
    const char *file;
    bool is_user;
  } rows[] = {
      {"/home/u/train.py", true},
      {"train.py", true},
      {"/home/u/my_torch_project/train.py", true},
      {"/opt/env/lib/python3.11/site-packages/x/y.py", false},
      {"/usr/lib/python3/dist-packages/x.py", false},
      {"/usr/lib/python3.10/runpy.py", false},
      {"<frozen importlib._bootstrap>", false},
      {"<string>", false},
      {"/build/torch/nn/functional.py", false},
      {"C:\\env\\Lib\\site-packages\\x.py", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    char log[512];
    snprintf(log, sizeof log,
             "Traceback (most recent call last):\n  File \"outer.py\", line 5, in outer\n    f()\n  File \"%s\", line 77, in "
             "inner\nValueError: x\n",
             rows[i].file);
    const struct wo_event *event = scan_first(state, log, &store);
    assert_non_null(event);
    sample_expect_text(event, WO_FIELD_FRAME_FUNCTION, rows[i].is_user ? "inner" : "outer");
    sample_expect_number(event, WO_FIELD_FRAME_LINE, rows[i].is_user ? 77 : 5);
    sample_expect_text(event, WO_FIELD_INNER_FILE, rows[i].file);
    sample_expect_text(event, WO_FIELD_INNER_FUNCTION, "inner");
    wo_event_store_done(&store);
  }
}

static void test_frames_are_listed(void **state) {
  struct wo_event_store store;
  const struct wo_event *event = scan_first(state,
                                            "Traceback (most recent call last):\n"
                                            "  File \"/home/user/deep/er/proj/run.py\", line 3, in a\n"
                                            "    b(1)\n"
                                            "  File \"/home/user/deep/er/proj/lib.py\", line 9, in b\n"
                                            "    c(2)\n"
                                            "ValueError: x\n",
                                            &store);
  assert_non_null(event);
  sample_expect_text(event, WO_FIELD_FRAMES, ";deep/er/proj/run.py|a|b(1);deep/er/proj/lib.py|b|c(2)");
  wo_event_store_done(&store);
}

/* More frames than there is room for: the last ones are kept, and the user's innermost is right. */
static void test_many_frames(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  char frame[128];
  sample_say(&log, "Traceback (most recent call last):\n");
  for (int i = 0; i < 250; i++) {
    snprintf(frame, sizeof frame, "  File \"/home/user/proj/rec.py\", line %d, in step_%d\n    step(n - 1)\n", i + 1, i);
    sample_say(&log, frame);
  }
  sample_say(&log, "RecursionError: maximum recursion depth exceeded\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_TRACEBACK, 0);
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_FRAME_LINE, 250);
  const struct wo_view frames = wo_event_text(event, WO_FIELD_FRAMES);
  assert_true(frames.len <= WO_LIMIT_MESSAGE_BYTES && wo_view_ends(frames, "rec.py|step_249|step(n - 1)"));
  assert_true(wo_view_has(frames, "|step_0|") && wo_view_has(frames, "|step_10|"));
  assert_false(wo_view_has(frames, "|step_100|"));
  wo_event_store_done(&store);
  sample_free(&log);
}

/* Of a name that is longer than its room the end is kept. */
static void test_long_names(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "Traceback (most recent call last):\n  File \"/start");
  sample_fill(&log, 'd', 700);
  sample_say(&log, "/end.py\", line 3, in f\n    ");
  sample_fill(&log, 'c', 5000);
  sample_say(&log, "\nValueError: ");
  sample_fill(&log, 'm', 5000);
  sample_say(&log, "\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_TRACEBACK, 0);
  assert_non_null(event);
  const struct wo_view file = wo_event_text(event, WO_FIELD_FRAME_FILE);
  assert_true(file.len == 255 && wo_view_ends(file, "ddd/end.py"));
  assert_int_equal(wo_event_text(event, WO_FIELD_MESSAGE).len, 400);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* A few lines of somebody else between frames do no harm; many end the traceback. */
static void test_noise(void **state) {
  for (int noise = 0; noise < 12; noise++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "Traceback (most recent call last):\n  File \"run.py\", line 3, in f\n    g()\n");
    for (int i = 0; i < noise; i++) sample_say(&log, "step 7 loss 2\n");
    sample_say(&log, "TypeError: late\n");
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    assert_int_equal(sample_count(&store, WO_KIND_TRACEBACK), 1);
    for (size_t i = 0; i < store.count; i++) {
      const bool is_bare = wo_event_field(&store.items[i], WO_FIELD_IS_BARE) != NULL;
      if (store.items[i].kind == WO_KIND_TRACEBACK) assert_int_equal(is_bare, noise > 6);
    }
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

static void test_what_is_an_exception(void **state) {
  static const struct {
    const char *line;
    const char *exception; /* NULL: none */
    const char *message;
  } rows[] = {
      {"ValueError: a: b", "ValueError", "a: b"},
      {"ValueError", "ValueError", ""},
      {"torch.distributed.DistBackendError: NCCL error in: x.cpp:12", "torch.distributed.DistBackendError",
       "NCCL error in: x.cpp:12"},
      {"SystemExit: 3", "SystemExit", "3"},
      {"subprocess.TimeoutExpired: late", "subprocess.TimeoutExpired", "late"},
      {"lib.Odd: said so", "lib.Odd", "said so"},
      {"StopIteration", "StopIteration", ""},
      {"loss: 2.31", NULL, NULL},
      {"a sentence that says Error: no", NULL, NULL},
      {"lib.lower: no class", NULL, NULL},
      {": nothing", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    char log[256];
    snprintf(log, sizeof log, "Traceback (most recent call last):\n  File \"run.py\", line 3, in f\n    g()\n%s\n", rows[i].line);
    const struct wo_event *event = scan_first(state, log, &store);
    if ((event != NULL) != (rows[i].exception != NULL)) fail_msg("\"%s\"", rows[i].line);
    if (event != NULL) {
      sample_expect_text(event, WO_FIELD_EXCEPTION, rows[i].exception);
      sample_expect_text(event, WO_FIELD_MESSAGE, rows[i].message);
      assert_true(event->span.line == 4);
    }
    wo_event_store_done(&store);
  }
}

/* Ignored exceptions are kept, but as a quotation; the next traceback is one again. */
static void test_ignored_exceptions(void **state) {
  struct wo_event_store store;
  const struct wo_event *event = scan_first(state,
                                            "Exception ignored in: <function Pool.__del__ at 0x7f0>\n"
                                            "Traceback (most recent call last):\n"
                                            "  File \"pool.py\", line 3, in __del__\n"
                                            "    g()\n"
                                            "AttributeError: gone\n"
                                            "Traceback (most recent call last):\n"
                                            "  File \"run.py\", line 8, in main\n"
                                            "    h()\n"
                                            "ValueError: real\n",
                                            &store);
  assert_true(event != NULL && event->is_quoted);
  event = sample_find(&store, WO_KIND_TRACEBACK, 1);
  assert_true(event != NULL && !event->is_quoted);
  sample_expect_text(event, WO_FIELD_EXCEPTION, "ValueError");
  wo_event_store_done(&store);
}

/* Chains of three: all but the first are chained. */
static void test_chain(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  static const char *const links[] = {"\nDuring handling of the above exception, another exception occurred:\n\n",
                                      "\nThe above exception was the direct cause of the following exception:\n\n", "\n"};
  for (size_t i = 0; i < 3; i++) {
    sample_say(&log, "Traceback (most recent call last):\n  File \"run.py\", line 3, in f\n    g()\nOSError: x\n");
    sample_say(&log, links[i]);
  }
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_TRACEBACK), 3);
  for (size_t i = 0; i < 3; i++) {
    sample_expect_number(sample_find(&store, WO_KIND_TRACEBACK, i), WO_FIELD_IS_CHAINED, i == 0 ? -1 : 1);
  }
  wo_event_store_done(&store);
  sample_free(&log);
}

/* A header behind a traceback that was cut starts a new one. */
static void test_cut_traceback_then_another(void **state) {
  struct wo_event_store store;
  const struct wo_event *event = scan_first(state,
                                            "Traceback (most recent call last):\n"
                                            "  File \"old.py\", line 3, in old\n"
                                            "Traceback (most recent call last):\n"
                                            "  File \"new.py\", line 4, in new\n"
                                            "    g()\n"
                                            "OSError: x\n",
                                            &store);
  assert_non_null(event);
  assert_int_equal(sample_count(&store, WO_KIND_TRACEBACK), 1);
  sample_expect_text(event, WO_FIELD_FRAMES, ";new.py|new|g()");
  wo_event_store_done(&store);
}

/* The place of a traceback is that of its exception. */
static void test_span(void **state) {
  static const char log[] =
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 3, in f\n[rank1]: OSError: x\n";
  struct wo_event_store store;
  const struct wo_event *event = scan_first(state, log, &store);
  assert_non_null(event);
  assert_true(event->span.line == 3 && event->span.length == strlen("OSError: x"));
  assert_true(wo_view_starts(wo_view_skip(wo_view_of(log), (size_t)event->span.byte), "OSError: x"));
  wo_event_store_done(&store);
}

/* Good runs end with it: what an ignored exception says is quoted, with the exception. The next line is not. */
static void test_ignored_message(void **state) {
  const struct sample_patterns *patterns = *state;
  struct wo_event_store store;
  sample_scan_text(patterns->set,
                   "Exception ignored in: <function Iter.__del__ at 0x7f11>\n"
                   "Traceback (most recent call last):\n"
                   "  File \"/env/lib/python3.10/site-packages/torch/utils/data/dataloader.py\", line 1478, in __del__\n"
                   "    self._shutdown_workers()\n"
                   "RuntimeError: DataLoader worker (pid 5151) is killed by signal: Killed. \n"
                   "RuntimeError: DataLoader worker (pid 5152) is killed by signal: Killed. \n",
                   &store);
  const struct wo_event *ignored = sample_find(&store, WO_KIND_HOST_OOM, 0);
  const struct wo_event *real = sample_find(&store, WO_KIND_HOST_OOM, 1);
  assert_true(ignored != NULL && ignored->is_quoted);
  assert_true(real != NULL && !real->is_quoted);
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whose_frame),
      cmocka_unit_test(test_frames_are_listed),
      cmocka_unit_test(test_many_frames),
      cmocka_unit_test(test_long_names),
      cmocka_unit_test(test_noise),
      cmocka_unit_test(test_what_is_an_exception),
      cmocka_unit_test(test_ignored_exceptions),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_cut_traceback_then_another),
      cmocka_unit_test(test_ignored_message),
      cmocka_unit_test(test_span),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
