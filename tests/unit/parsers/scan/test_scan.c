/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner: places, chunks, the lines around a failure, limits, and what happens when memory runs out. Own
 * patterns where the scanner itself is tested, the compiled-in ones for mixes of real messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/process.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/scan_own.h"

/* ---- Counting ---- */

static void test_summary(void **state) {
  (void)state;
  static const struct {
    struct wo_view log;
    uint64_t lines;
  } rows[] = {
      {WO_VIEW(""), 0},           {WO_VIEW("\n"), 1},        {WO_VIEW("a"), 1},          {WO_VIEW("a\nb"), 2},
      {WO_VIEW("a\r\nb\r\n"), 2}, {WO_VIEW("a\rb\rc"), 1},   {WO_VIEW("\r\n\r\n"), 2},   {WO_VIEW("\r"), 1},
      {WO_VIEW("\n\n\nx"), 4},    {WO_VIEW("a\0b\nc\n"), 2}, {WO_VIEW("\xff\xfe\n"), 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (int chunk = 0; chunk < 3; chunk++) {
      struct wo_event_store store;
      const struct wo_scan_summary summary = sample_scan(own_set, rows[i].log, chunk, &store);
      assert_true(summary.bytes == rows[i].log.len && summary.lines == rows[i].lines && summary.long_lines == 0);
      assert_int_equal(store.count, 0);
      wo_event_store_done(&store);
    }
  }
}

static void test_nul_is_noted(void **state) {
  (void)state;
  struct wo_event_store store;
  assert_true(sample_scan(own_set, WO_VIEW("FAILMARK 1 \0\n"), CHUNK_WHOLE, &store).has_nul);
  assert_int_equal(store.count, 1);
  wo_event_store_done(&store);
  assert_false(sample_scan(own_set, WO_VIEW("FAILMARK 1\n"), CHUNK_WHOLE, &store).has_nul);
  wo_event_store_done(&store);
}

/* The options go into every event. */
static void test_file_and_rank_of_the_options(void **state) {
  (void)state;
  struct wo_event_store store;
  const struct wo_scan_options options = {.file = 7, .rank = 3};
  sample_scan_with(own_set, WO_VIEW("FAILMARK 1\n[rank5]: FAILMARK 2\n# FAILMARK 3\n"), CHUNK_WHOLE, options, &store);
  assert_int_equal(store.count, 3);
  assert_int_equal(store.items[0].span.file, 7);
  assert_int_equal(store.items[0].rank, 3);
  assert_int_equal(store.items[1].rank, 5);
  assert_false(store.items[1].is_quoted);
  assert_true(store.items[2].is_quoted);
  wo_event_store_done(&store);
}

/* ---- Places ---- */

/* Writes one line of an ordinary or odd sort. Nothing that cleaning removes stands before a mark on its line. */
static void put_random_line(struct sample_log *log, uint64_t *seed) {
  static const struct wo_view ends[] = {WO_VIEW("\n"), WO_VIEW("\r\n"), WO_VIEW("\r"), WO_VIEW("\n\n"), WO_VIEW("\r\r\n")};
  static const struct wo_view fillers[] = {WO_VIEW("loss 2.31 lr 0.0003 "), WO_VIEW(""), WO_VIEW("\0\0 bin "),
                                           WO_VIEW("\xe2\x96\x88 45%| "), WO_VIEW("\xff\xc3 ")};
  char mark[32];
  for (size_t i = sample_below(seed, 4); i > 0; i--) {
    const struct wo_view filler = fillers[sample_below(seed, 5)];
    sample_put(log, filler.ptr, filler.len);
  }
  if (sample_below(seed, 3) == 0) {
    snprintf(mark, sizeof mark, "FAILMARK %u ", (unsigned)sample_below(seed, 1000));
    sample_say(log, mark);
    sample_say(log, "\x1b[31mred\x1b[0m");
  }
  const struct wo_view end = ends[sample_below(seed, 5)];
  sample_put(log, end.ptr, end.len);
}

static void test_places_in_random_logs(void **state) {
  (void)state;
  uint64_t seed = 4711;
  for (int round = 0; round < 60; round++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    for (size_t lines = sample_below(&seed, 60); lines > 0; lines--) put_random_line(&log, &seed);
    if (sample_below(&seed, 2) == 0) sample_say(&log, "FAILMARK 77"); /* no final newline */
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    expect_marks(&store, sample_view(&log));
    expect_stable(own_set, sample_view(&log), &store);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Behind control sequences the place is that in the cleaned text: still on the line, never behind the match. */
static void test_place_behind_colours(void **state) {
  (void)state;
  struct wo_event_store store;
  const struct wo_view log = WO_VIEW("first\n\x1b[1;31m\x1b[Kerror:\x1b[0m FAILMARK 12\nlast\n");
  sample_scan(own_set, log, CHUNK_WHOLE, &store);
  assert_int_equal(store.count, 1);
  assert_true(wo_view_is(store.items[0].text, "error: FAILMARK 12"));
  assert_true(store.items[0].span.line == 2 && store.items[0].span.byte == 6 + 7);
  expect_stable(own_set, log, &store);
  wo_event_store_done(&store);
}

/* A bar that rewrites itself for ever is many short lines, all with the same number. */
static void test_progress_bar_with_carriage_returns(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  char bar[64];
  for (int step = 0; step < 20000; step++) {
    snprintf(bar, sizeof bar, "\r 10%%|#         | step %d of 20000 ", step);
    sample_say(&log, bar);
  }
  sample_say(&log, torch_message);
  sample_say(&log, "\nend\n");
  const struct wo_scan_summary summary = sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_true(summary.lines == 2 && summary.long_lines == 0);
  expect_torch_message(sample_find(&store, WO_KIND_CUDA_OOM, 0));
  assert_true(sample_find(&store, WO_KIND_CUDA_OOM, 0)->span.line == 1);
  sample_expect_number(sample_find(&store, WO_KIND_PROGRESS, 0), WO_FIELD_STEP, 19999);
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* ---- The lines around a failure ---- */

/* The step that was found before the failure, when `filler` bytes of other lines stand between; -1: none. */
static double step_before(size_t filler, size_t line_bytes, const char *failure) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_fill(&log, '.', 300);
  sample_say(&log, "\nstep 41\n");
  while (filler > 0) {
    const size_t part = filler < line_bytes ? filler : line_bytes;
    sample_fill(&log, 'f', part - 1);
    sample_say(&log, "\n");
    filler -= part;
  }
  sample_say(&log, failure);
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *step = sample_find(&store, WO_KIND_PROGRESS, 0);
  const double found = step != NULL ? wo_event_number(step, WO_FIELD_STEP, -1) : -1;
  if (step != NULL) assert_int_equal(step->of, 0);
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
  return found;
}

static void test_lookback(void **state) {
  (void)state;
  const size_t reach = WO_LIMIT_LOOKBACK_BYTES - sizeof "step 41";
  for (int is_open = 0; is_open < 2; is_open++) {
    const char *const failure = is_open ? "HOSTGONE" : "HOSTGONE\n";
    assert_true(step_before(0, 1, failure) == 41);
    assert_true(step_before(5000, 500, failure) == 41);
    assert_true(step_before(reach - 1, 500, failure) == 41);
    assert_true(step_before(reach + 1, 500, failure) == -1);
    assert_true(step_before(300 * 1000, 500, failure) == -1);
    assert_true(step_before(199 * 2, 2, failure) == 41); /* lines are counted, too */
    assert_true(step_before(200 * 2, 2, failure) == -1);
  }
}

/* A message that waits for its end when the input ends is looked around like any other. */
static void test_failure_at_the_very_end(void **state) {
  (void)state;
  static const char *const logs[] = {
      "step 9\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
      "step 9\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.",
      "x\nbar step 9 RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(own_set, logs[i], &store);
    const struct wo_event *step = sample_find(&store, WO_KIND_PROGRESS, 0);
    assert_non_null(step);
    sample_expect_number(step, WO_FIELD_STEP, 9);
    assert_true(step->span.line == line_of(wo_view_of(logs[i]), step->span.byte));
    assert_ptr_equal(wo_event_get(&store, step->of), sample_find(&store, WO_KIND_CUDA_OOM, 0));
    expect_stable(own_set, wo_view_of(logs[i]), &store);
    wo_event_store_done(&store);
  }
}

/* After a memory failure: some lines of progress are kept, and they belong to it. */
static void test_progress_after_a_failure(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  char line[32];
  sample_say(&log, "step 10\nHOSTGONE\n");
  for (int step = 11; step < 40; step++) {
    snprintf(line, sizeof line, "step %d\n", step);
    sample_say(&log, line);
  }
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  const wo_event_id failure = sample_find(&store, WO_KIND_HOST_OOM, 0)->id;
  size_t before = 0, after = 0;
  for (size_t i = 0; i < store.count; i++) {
    if (store.items[i].kind != WO_KIND_PROGRESS || store.items[i].of != failure) continue;
    before += store.items[i].span.line < 2;
    after += store.items[i].span.line > 2;
  }
  assert_true(before == 1 && after >= 1 && after <= 3);
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

static uint64_t line_of_progress_before(const struct wo_event_store *store, wo_event_id failure, uint64_t line) {
  for (size_t i = 0; i < store->count; i++) {
    const struct wo_event *const event = &store->items[i];
    if (event->kind == WO_KIND_PROGRESS && event->of == failure && event->span.line < line) return event->span.line;
  }
  return 0;
}

/* Each failure finds the nearest step above it, also where the walk of an earlier one stopped, and none farther than 200 lines. */
static void test_progress_before_each_of_many_failures(void **state) {
  (void)state;
  uint64_t seed = 91;
  for (int round = 0; round < 40; round++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    uint64_t steps[8] = {0};
    uint64_t line = 1, last_step = 0;
    for (int failure = 0; failure < 8; failure++) {
      if (sample_below(&seed, 3) == 0) {
        sample_say(&log, "step 7\n");
        last_step = line++;
      }
      for (size_t filler = sample_below(&seed, 3) * sample_below(&seed, 90); filler > 0; filler--, line++) sample_say(&log, "x\n");
      sample_say(&log, "HOSTGONE\n");
      steps[failure] = last_step != 0 && line - last_step <= 200 ? last_step : 0;
      line++;
    }
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    for (int failure = 0; failure < 8; failure++) {
      const struct wo_event *const event = sample_find(&store, WO_KIND_HOST_OOM, (size_t)failure);
      assert_int_equal(line_of_progress_before(&store, event->id, event->span.line), steps[failure]);
    }
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* The same after a program's exception: only what was before. */
static void test_no_progress_is_kept_without_a_failure(void **state) {
  (void)state;
  struct wo_event_store store;
  sample_scan_text(own_set, "step 1\nFAILMARK 1\nstep 2\n", &store);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRAM_ERROR), 1);
  const struct wo_event *last = sample_find(&store, WO_KIND_PROGRESS, 0); /* the tail's */
  assert_true(last != NULL && last->of == WO_EVENT_NONE && last->span.line == 3);
  wo_event_store_done(&store);
}

static void test_tail(void **state) {
  (void)state;
  static const char *const ends[] = {"run finished", "run finished\n", "run finished\r\n\n\n"};
  for (size_t end = 0; end < sizeof ends / sizeof ends[0]; end++) {
    for (int later = 0; later < 60; later += 13) {
      struct sample_log log = {0};
      struct wo_event_store store;
      sample_say(&log, "start\n");
      sample_say(&log, ends[end]);
      if (later > 0) sample_say(&log, "\n");
      for (int i = 0; i < later; i++) sample_say(&log, "and so on\n");
      sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
      assert_int_equal(sample_count(&store, WO_KIND_SUCCESS), later < 40);
      if (later < 40) assert_true(store.items[0].span.line == 2 && store.items[0].span.byte == 6);
      expect_stable(own_set, sample_view(&log), &store);
      wo_event_store_done(&store);
      sample_free(&log);
    }
  }
}

/* The last line is a bar of any length: its end counts. */
static void test_tail_of_a_long_open_line(void **state) {
  (void)state;
  static const size_t lengths[] = {500, 5000, WO_LIMIT_LOOKBACK_BYTES + 100, 2 * WO_LIMIT_LINE_BYTES};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "start\n");
    sample_fill(&log, '#', lengths[i]);
    sample_say(&log, " run finished");
    sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
    assert_int_equal(store.count, 1);
    assert_true(store.items[0].span.byte == 6 + lengths[i] + 1 && store.items[0].span.line == 2);
    expect_stable(own_set, sample_view(&log), &store);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* ---- Several writers ---- */

static void test_interleaved_ranks_with_prefixes(void **state) {
  (void)state;
  struct wo_event_store store;
  static const char log[] = "[rank0]: RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total\n"
                            "[rank1]: RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total\n"
                            "[rank1]: capacity of 31.00 GiB of which 1.00 GiB is free. Of the allocated memory 20.00 GiB is\n"
                            "[rank0]: capacity of 30.00 GiB of which 2.00 GiB is free. Of the allocated memory 10.00 GiB is\n"
                            "[rank0]: allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n"
                            "[rank1]: allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.\n";
  sample_scan_text(own_set, log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 2);
  for (size_t i = 0; i < 2; i++) {
    const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, i);
    const double rank = event->rank;
    sample_expect_number(event, WO_FIELD_TRIED_BYTES, (rank + 1.5) * WO_GIB);
    sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, (rank + 30) * WO_GIB);
    sample_expect_number(event, WO_FIELD_FREE_BYTES, (2 - rank) * WO_GIB);
    sample_expect_number(event, WO_FIELD_ALLOCATED_BYTES, (rank + 1) * 10 * WO_GIB);
    sample_expect_number(event, WO_FIELD_RESERVED_UNALLOCATED_BYTES, (rank + 1) * 100 * WO_MIB);
    assert_true(event->span.line == (uint64_t)rank + 1);
  }
  expect_stable(own_set, wo_view_of(log), &store);
  wo_event_store_done(&store);
}

/* Without prefixes messages run into each other, even inside a line: their number and sizes are still right. */
static void test_interleaved_ranks_without_prefixes(void **state) {
  (void)state;
  struct wo_event_store store;
  static const char log[] =
      "torch.cudatorch.cuda.OutOfMemoryError.: OutOfMemoryErrorCUDA out of memory. Tried to allocate 1.25 GiB. "
      "GPU 0 has a : CUDA out of memory. Tried to allocate 2.25 GiB. GPU 1 has a\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 3.25 GiB.\n";
  sample_scan_text(own_set, log, &store);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 3);
  for (size_t i = 0; i < 3; i++) {
    sample_expect_number(sample_find(&store, WO_KIND_CUDA_OOM, i), WO_FIELD_TRIED_BYTES, ((double)i + 1.25) * WO_GIB);
  }
  expect_stable(own_set, wo_view_of(log), &store);
  wo_event_store_done(&store);
}

/* What two and three wrapped messages say line by line; a process's figures are those of its number. */
static const char *const wrapped[3][3] = {
    {"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total\n",
     "capacity of 31.00 GiB of which 1.00 MiB is free. Of the allocated memory 11.00 GiB is\n",
     "allocated by PyTorch, and 101.00 MiB is reserved by PyTorch but unallocated.\n"},
    {"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total\n",
     "capacity of 32.00 GiB of which 2.00 MiB is free. Of the allocated memory 12.00 GiB is\n",
     "allocated by PyTorch, and 102.00 MiB is reserved by PyTorch but unallocated.\n"},
    {"RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 2 has a total\n",
     "capacity of 33.00 GiB of which 3.00 MiB is free. Of the allocated memory 13.00 GiB is\n",
     "allocated by PyTorch, and 103.00 MiB is reserved by PyTorch but unallocated.\n"},
};

/* Each field that a message has is its own, which the size that it asked for tells. */
static void expect_own_figures(const struct wo_event *event, const char *log) {
  const double number = wo_event_number(event, WO_FIELD_TRIED_BYTES, -1) / WO_GIB;
  const struct {
    enum wo_field_id id;
    double bytes;
  } figures[] = {{WO_FIELD_CAPACITY_BYTES, (30 + number) * WO_GIB},
                 {WO_FIELD_FREE_BYTES, number * WO_MIB},
                 {WO_FIELD_ALLOCATED_BYTES, (10 + number) * WO_GIB},
                 {WO_FIELD_RESERVED_UNALLOCATED_BYTES, (100 + number) * WO_MIB},
                 {WO_FIELD_GPU, number - 1}};
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
    const double found = wo_event_number(event, figures[i].id, figures[i].bytes);
    if (fabs(found - figures[i].bytes) > 1) fail_msg("%s of another message in\n%s", wo_field_name(figures[i].id), log);
  }
}

/* Walks all orders in which `count` messages can be mixed; `at` tells how many lines of each stand in the log. Returns their
 * number. `label` stands before the first line of each. */
static size_t check_orders(size_t count, const char *const *labels, size_t *at, const char *log) {
  size_t orders = 0;
  for (size_t i = 0; i < count; i++) {
    if (at[i] == 3) continue;
    char longer[2048];
    snprintf(longer, sizeof longer, "%s%s%s", log, at[i] == 0 ? labels[i] : "", wrapped[i][at[i]]);
    at[i]++;
    orders += check_orders(count, labels, at, longer);
    at[i]--;
  }
  if (orders > 0) return orders;
  struct wo_event_store store;
  sample_scan_text(own_set, log, &store);
  if (sample_count(&store, WO_KIND_CUDA_OOM) != count) fail_msg("not %zu messages in\n%s", count, log);
  for (size_t i = 0; i < count; i++) expect_own_figures(sample_find(&store, WO_KIND_CUDA_OOM, i), log);
  expect_stable(own_set, wo_view_of(log), &store);
  wo_event_store_done(&store);
  return 1;
}

/* Lines of wrapped messages that nothing labels, in every order: a message has figures of its own or none. */
static void test_wrapped_messages_in_every_order(void **state) {
  (void)state;
  static const char *const bare[] = {"", "", ""};
  static const char *const labelled[] = {"[rank0]: ", "[rank1]: ", "[rank2]: "};
  size_t at[3] = {0};
  assert_int_equal(check_orders(2, bare, at, ""), 20);
  assert_int_equal(check_orders(2, labelled, at, ""), 20);
  if (wo_process_is_sanitized) return; /* the orders of three run the same code */
  assert_int_equal(check_orders(3, bare, at, ""), 1680);
  assert_int_equal(check_orders(3, labelled, at, ""), 1680);
}

/* One after the other they are whole, and so is a message behind the short form of itself. */
static void test_wrapped_messages_in_turn(void **state) {
  (void)state;
  struct wo_event_store store;
  char log[2048];
  snprintf(log, sizeof log, "%s%s%s%s%s%s", wrapped[0][0], wrapped[0][1], wrapped[0][2], wrapped[1][0], wrapped[1][1],
           wrapped[1][2]);
  sample_scan_text(own_set, log, &store);
  for (size_t i = 0; i < 2; i++) {
    sample_expect_number(sample_find(&store, WO_KIND_CUDA_OOM, i), WO_FIELD_CAPACITY_BYTES, (31 + (double)i) * WO_GIB);
  }
  wo_event_store_done(&store);
  snprintf(log, sizeof log, "error: CUDA out of memory. Tried to allocate 1.00 GiB.\n%s%s%s", wrapped[0][0], wrapped[0][1],
           wrapped[0][2]);
  sample_scan_text(own_set, log, &store);
  sample_expect_number(sample_find(&store, WO_KIND_CUDA_OOM, 1), WO_FIELD_CAPACITY_BYTES, 31 * WO_GIB);
  wo_event_store_done(&store);
}

/* More ranks than can be read at once: the oldest are given up, the others are whole. */
static void test_more_open_readers_than_there_is_room(void **state) {
  (void)state;
  enum { RANKS = WO_LIMIT_OPEN_READERS + 6 };
  static const char *const parts[] = {"Traceback (most recent call last):", "  File \"run.py\", line 9, in main", "    step()",
                                      "ValueError: bad"};
  struct sample_log log = {0};
  struct wo_event_store store;
  char line[128];
  for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
    for (int rank = 0; rank < RANKS; rank++) {
      snprintf(line, sizeof line, "[rank%d]: %s\n", rank, parts[part]);
      sample_say(&log, line);
    }
  }
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_TRACEBACK), WO_LIMIT_OPEN_READERS);
  for (size_t i = 0; i < WO_LIMIT_OPEN_READERS; i++) {
    const struct wo_event *event = sample_find(&store, WO_KIND_TRACEBACK, i);
    assert_int_equal(event->rank, i + RANKS - WO_LIMIT_OPEN_READERS);
    sample_expect_text(event, WO_FIELD_FRAME_FUNCTION, "main");
  }
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* A writer that died leaves its construct open: it is closed after many lines of others, and what it said counts. */
static void test_a_silent_writer_is_closed(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "[rank0]: RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total\n");
  for (int i = 0; i < 2500; i++) sample_say(&log, "[rank1]: going on\n");
  sample_say(&log, "[rank0]: capacity of 30.00 GiB\n");
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 1);
  sample_expect_number(sample_find(&store, WO_KIND_CUDA_OOM, 0), WO_FIELD_TRIED_BYTES, 1.5 * WO_GIB);
  sample_expect_number(sample_find(&store, WO_KIND_CUDA_OOM, 0), WO_FIELD_CAPACITY_BYTES, -1);
  assert_int_equal(sample_find(&store, WO_KIND_CUDA_OOM, 0)->rank, 0);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* ---- Limits ---- */

static void test_events_beyond_the_limit_are_counted(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  char line[64];
  for (unsigned i = 0; i < WO_LIMIT_EVENTS_PER_KIND + 500; i++) {
    snprintf(line, sizeof line, "[rank%u]: FAILMARK %u\n", i % 8, i);
    sample_say(&log, line);
  }
  sample_say(&log, "HOSTGONE\n");
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_PROGRAM_ERROR), WO_LIMIT_EVENTS_PER_KIND);
  assert_int_equal(store.per_kind[WO_KIND_PROGRAM_ERROR], WO_LIMIT_EVENTS_PER_KIND + 500);
  assert_true(store.dropped == 500);
  assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM), 1); /* a flood of one kind leaves room for the rest */
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* Settings far inside a structure keep their path until the input has had enough looked at; then their key alone. */
static void test_looking_back_is_bounded(void **state) {
  (void)state;
  enum { GAP = 30000 };
  struct sample_log log = {0};
  struct wo_event_store store;
  const size_t rounds = (size_t)(WO_LIMIT_LOOKED_BACK_BYTES / GAP) + 40;
  char *const line = malloc(GAP + 100);
  assert_non_null(line);
  for (size_t i = 0; i < rounds; i++) {
    const int len = snprintf(line, 20, "{\"a\": {");
    memset(line + len, ' ', GAP);
    snprintf(line + len + GAP, 64, "\"batch_size\": %d}}\n", i == 0 || i + 1 == rounds ? 1 : 2);
    sample_say(&log, line);
  }
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(store.count, 4); /* with the path 1 and 2, without it 2 and 1 */
  assert_true(wo_view_is(wo_event_text(&store.items[0], WO_FIELD_PATH), "a"));
  assert_int_equal(wo_event_text(&store.items[3], WO_FIELD_PATH).len, 0);
  assert_int_equal(store.items[3].span.line, rounds);
  wo_event_store_done(&store);
  sample_free(&log);
  free(line);
}

/* A setting that is printed at each step is kept once, and again when it changes, a bounded number of times. */
static void test_settings_are_kept_once(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  char line[64];
  for (int i = 0; i < 3000; i++) {
    snprintf(line, sizeof line, "batch_size: %d\n", i < 1000 || i >= 2000 ? 4 : 8);
    sample_say(&log, line);
  }
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(store.count, 3);
  assert_true(store.dropped == 0 && store.items[1].span.line == 1001 && store.items[2].span.line == 2001);
  wo_event_store_done(&store);
  for (int i = 0; i < 3000; i++) {
    snprintf(line, sizeof line, "  batch_size: %d\n", i);
    sample_say(&log, line);
  }
  sample_scan(own_set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(store.count, WO_LIMIT_SETTING_CHANGES);
  assert_int_equal(store.dropped, 0);
  expect_stable(own_set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* After wo_scan_new nothing is allocated but evidence: an input without any is read while every allocation fails. */
static void test_memory_does_not_grow_with_the_input(void **state) {
  (void)state;
  struct sample_log log = {0};
  struct wo_event_store store;
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  for (int i = 0; i < 4000; i++) sample_say(&log, "epoch 1 loss 3.25 a line like any other, with a File \"x.py\" and 12 GiB\r\n");
  sample_fill(&log, 'z', 300000);
  wo_event_store_init(&store);
  assert_int_equal(wo_scan_new(own_set, &wo_formats, &store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan), WO_OK);
  wo_fail_alloc_from(1);
  enum wo_status status = WO_OK;
  for (int i = 0; i < 12 && status == WO_OK; i++) status = wo_scan_feed(scan, log.text, log.len);
  const enum wo_status last = wo_scan_end(scan, &summary);
  wo_fail_alloc_off();
  assert_int_equal(status, WO_OK);
  assert_int_equal(last, WO_OK);
  assert_false(wo_fail_alloc_hit());
  assert_true(summary.bytes == 12 * log.len && summary.lines == 12 * 4000 + 1);
  wo_scan_free(scan);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* ---- Out of memory ---- */

static const char busy_log[] =
    "  batch_size: 16\n"
    "node01: step 12\n"
    "node01: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of\n"
    "node01: 40.00 GiB of which 1.00 GiB is free. Process 12 has 3.00 GiB memory in use.\n"
    "Traceback (most recent call last):\n"
    "  File \"run.py\", line 9, in main\n"
    "    step()\n"
    "ValueError: bad\n"
    "node01: FAILMARK 5\n"
    "HOSTGONE\n"
    "step 13\n"
    "run finished";

/* One scan of busy_log in chunks; *ret_made tells whether there was a scanner at all. */
static enum wo_status scan_busy_log(struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  const enum wo_status made = wo_scan_new(own_set, &wo_formats, store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan);
  if (made != WO_OK) {
    assert_null(scan);
    return made;
  }
  enum wo_status status = WO_OK;
  for (size_t at = 0; at < sizeof busy_log - 1; at += 10) {
    const size_t left = sizeof busy_log - 1 - at;
    const enum wo_status fed = wo_scan_feed(scan, busy_log + at, left < 10 ? left : 10);
    if (fed != WO_OK) status = fed;
  }
  const enum wo_status ended = wo_scan_end(scan, &summary);
  wo_scan_free(scan);
  return ended != WO_OK ? ended : status;
}

static void test_every_failing_allocation(void **state) {
  (void)state;
  struct wo_event_store whole;
  sample_scan_text(own_set, busy_log, &whole);
  assert_true(whole.count >= 7);
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    struct wo_event_store store;
    assert_true(n < 500);
    wo_event_store_init(&store);
    wo_fail_alloc_at(n);
    const enum wo_status status = scan_busy_log(&store);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    if (status == WO_OK) {
      sample_expect_same(&whole, &store);
    } else {
      assert_int_equal(status, WO_E_NOMEM);
      assert_true(was_hit);
    }
    wo_event_store_done(&store);
  }
  wo_event_store_done(&whole);
}

static void test_free_null(void **state) {
  (void)state;
  assert_null(wo_scan_free(NULL));
}

/* ---- Mixes of real messages, with the compiled-in patterns ---- */

static const char *const snippets[] = {
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 31.50 GiB "
    "of\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/home/user/a.py\", line 3, in f\n[rank1]:     g(x)\n",
    "[rank1]: RuntimeError: CUDA error: out of memory\n",
    "  File \"/opt/lib/python3.11/site-packages/torch/nn/functional.py\", line 88, in linear\n",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.75 GiB of which "
    "3.00 "
    "MiB is free. Of the allocated memory 6.50 GiB is allocated by PyTorch, and 98.00 MiB is reserved by PyTorch but "
    "unallocated.\n",
    "\r 45%|####5     | 45/100 [01:02<01:15,  1.38s/it]",
    "step 12/100 loss 3.1\n",
    "per_device_train_batch_size=8,\r\n",
    "Root Cause (first observed failure):\n[0]:\n  host      : node07\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: "
    "9124)\n",
    "============================================================\n",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=11.0. Some of the step tasks have been OOM Killed.\n",
    "Killed\n",
    "\x1b[31mRuntimeError: CUDA out of memory.\x1b[0m Tried to allocate 5.50 GiB\n",
    "srun: error: gpu01: task 3: Exited with exit code 1\n",
    "Exception ignored in: <function D.__del__ at 0x7f>\n",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the "
    "engine.\n",
    "OOM when allocating tensor with shape[4,8] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator "
    "GPU_0_bfc",
    "\n\n",
    "Training completed.\n",
};
enum { SNIPPET_COUNT = sizeof snippets / sizeof snippets[0] };

static void test_random_mixes(void **state) {
  struct wo_pattern_set *set = ((struct sample_patterns *)*state)->set;
  uint64_t seed = 20240607;
  /* Each round reads its log byte by byte too, which sanitizers make slow. */
  const int rounds = wo_process_is_sanitized ? 3 : 12;
  for (int round = 0; round < rounds; round++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    for (size_t n = sample_below(&seed, 40); n > 0; n--) {
      const char *snippet = snippets[sample_below(&seed, SNIPPET_COUNT)];
      size_t len = strlen(snippet);
      if (sample_below(&seed, 8) == 0) len = sample_below(&seed, len + 1); /* cut short */
      sample_put(&log, snippet, len);
      if (sample_below(&seed, 60) == 0) sample_fill(&log, '.', sample_below(&seed, 3 * WO_LIMIT_LINE_BYTES));
    }
    sample_scan(set, sample_view(&log), CHUNK_WHOLE, &store);
    for (size_t i = 0; i < store.count; i++) assert_true(store.items[i].span.byte + store.items[i].span.length <= log.len);
    expect_stable(set, sample_view(&log), &store);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_summary),
      cmocka_unit_test(test_nul_is_noted),
      cmocka_unit_test(test_file_and_rank_of_the_options),
      cmocka_unit_test(test_places_in_random_logs),
      cmocka_unit_test(test_place_behind_colours),
      cmocka_unit_test(test_progress_bar_with_carriage_returns),
      cmocka_unit_test(test_lookback),
      cmocka_unit_test(test_failure_at_the_very_end),
      cmocka_unit_test(test_progress_after_a_failure),
      cmocka_unit_test(test_progress_before_each_of_many_failures),
      cmocka_unit_test(test_no_progress_is_kept_without_a_failure),
      cmocka_unit_test(test_tail),
      cmocka_unit_test(test_tail_of_a_long_open_line),
      cmocka_unit_test(test_interleaved_ranks_with_prefixes),
      cmocka_unit_test(test_interleaved_ranks_without_prefixes),
      cmocka_unit_test(test_wrapped_messages_in_every_order),
      cmocka_unit_test(test_wrapped_messages_in_turn),
      cmocka_unit_test(test_more_open_readers_than_there_is_room),
      cmocka_unit_test(test_a_silent_writer_is_closed),
      cmocka_unit_test(test_events_beyond_the_limit_are_counted),
      cmocka_unit_test(test_settings_are_kept_once),
      cmocka_unit_test(test_looking_back_is_bounded),
      cmocka_unit_test(test_memory_does_not_grow_with_the_input),
      cmocka_unit_test(test_every_failing_allocation),
      cmocka_unit_test(test_free_null),
      cmocka_unit_test(test_random_mixes),
  };
  return cmocka_run_group_tests(tests, own_setup, own_teardown);
}
