/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's out-of-memory messages, beyond tests/table/pytorch.txt: rounding intervals, process lists, places, cuts, what is no
 * evidence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

/* The only memory failure of the log. */
static const struct wo_event *scan_one(void **state, const char *log, struct wo_event_store *store) {
  sample_scan_text(set_of(state), log, store);
  if (sample_count(store, WO_KIND_CUDA_OOM) != 1) fail_msg("%zu events in \"%s\"", sample_count(store, WO_KIND_CUDA_OOM), log);
  return sample_find(store, WO_KIND_CUDA_OOM, 0);
}

static void expect_interval(const struct wo_event *event, enum wo_field_id id, double lo, double mid, double hi) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (field == NULL) fail_msg("no %s", wo_field_name(id));
  if (fabs(field->number.lo - lo) > 1 || fabs(field->number.mid - mid) > 1 || fabs(field->number.hi - hi) > 1) {
    fail_msg("%s is %.0f, %.0f, %.0f", wo_field_name(id), field->number.lo, field->number.mid, field->number.hi);
  }
}

/* A printed size stands for all sizes that print that way. */
static void test_rounding(void **state) {
  struct wo_event_store store;
  const struct wo_event *event =
      scan_one(state,
               "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total "
               "capacity of 79.25 GiB of which 0 bytes is free. Process 9 has 512 bytes memory in use.\n",
               &store);
  expect_interval(event, WO_FIELD_TRIED_BYTES, 1.995 * WO_MIB, 2 * WO_MIB, 2.005 * WO_MIB);
  expect_interval(event, WO_FIELD_CAPACITY_BYTES, 79.245 * WO_GIB, 79.25 * WO_GIB, 79.255 * WO_GIB);
  expect_interval(event, WO_FIELD_FREE_BYTES, 0, 0, 0);
  expect_interval(event, WO_FIELD_OTHER_PROCESS_BYTES, 512, 512, 512);
  wo_event_store_done(&store);
}

/* The sum of several processes carries the sum of their intervals. */
static void test_processes(void **state) {
  struct wo_event_store store;
  const struct wo_event *event = scan_one(
      state,
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 3 has a total capacity of 79.25 GiB of which "
      "5.00 MiB is free. Process 101 has 1.50 GiB memory in use. Process 2002 has 2.25 GiB memory in use. Including non-PyTorch "
      "memory, this process has 70.00 GiB memory in use. Process 30003 has 3.00 GiB memory in use. Process tree has nothing. Of "
      "the allocated memory 60.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n",
      &store);
  expect_interval(event, WO_FIELD_OTHER_PROCESS_BYTES, 6.735 * WO_GIB, 6.75 * WO_GIB, 6.765 * WO_GIB);
  sample_expect_number(event, WO_FIELD_OTHER_PROCESS_COUNT, 3);
  sample_expect_text(event, WO_FIELD_OTHER_PROCESS_PIDS, "101 2002 30003");
  sample_expect_number(event, WO_FIELD_PROCESS_BYTES, 70 * WO_GIB);
  sample_expect_number(event, WO_FIELD_GPU, 3);
  wo_event_store_done(&store);
}

/* More processes than their list has room for are still counted. */
static void test_many_processes(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  char sentence[80];
  sample_say(&log, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. ");
  for (int i = 0; i < 50; i++) {
    snprintf(sentence, sizeof sentence, "Process %d has 1.00 GiB memory in use. ", 1000000 + i);
    sample_say(&log, sentence);
  }
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
  sample_expect_number(event, WO_FIELD_OTHER_PROCESS_COUNT, 50);
  sample_expect_number(event, WO_FIELD_OTHER_PROCESS_BYTES, 50 * WO_GIB);
  const struct wo_view pids = wo_event_text(event, WO_FIELD_OTHER_PROCESS_PIDS);
  assert_true(pids.len > 100 && pids.len < 160 && wo_view_starts(pids, "1000000 1000001 "));
  wo_event_store_done(&store);
  sample_free(&log);
}

static void test_impossible_sizes(void **state) {
  struct wo_event_store store;
  const struct wo_event *event =
      scan_one(state,
               "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 24.00 MiB. GPU 0 has a total "
               "capacity of 12.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has "
               "17179869184.00 GiB memory in use.\n",
               &store);
  assert_null(wo_event_field(event, WO_FIELD_PROCESS_BYTES));
  assert_non_null(wo_event_field(event, WO_FIELD_IMPOSSIBLE));
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 24 * WO_MIB);
  wo_event_store_done(&store);
}

/* A size below zero is no size. */
static void test_negative_sizes(void **state) {
  struct wo_event_store store;
  const struct wo_event *event =
      scan_one(state,
               "RuntimeError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of -9.25 GiB of "
               "which -1.00 GiB is free. Process 7 has -2.00 GiB memory in use.\n",
               &store);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 1.25 * WO_GIB);
  assert_null(wo_event_field(event, WO_FIELD_CAPACITY_BYTES));
  assert_null(wo_event_field(event, WO_FIELD_FREE_BYTES));
  assert_null(wo_event_field(event, WO_FIELD_OTHER_PROCESS_BYTES));
  wo_event_store_done(&store);
}

/* The advice at the end is printed whatever is set. */
static void test_advice_is_no_setting(void **state) {
  static const char *const advice[] = {
      "If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for "
      "Memory "
      "Management and PYTORCH_CUDA_ALLOC_CONF",
      "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
      "fragmentation.  See "
      "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
      "If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid "
      "fragmentation.",
      "If reserved but unallocated memory is large try setting\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "
      "avoid\nfragmentation.",
  };
  for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB. ");
    sample_say(&log, advice[i]);
    sample_say(&log, "\n");
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    assert_int_equal(sample_count(&store, WO_KIND_CONFIG), 0);
    assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 1);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Sentences that only speak of the failure. */
static void test_no_evidence(void **state) {
  static const char *const texts[] = {
      "  --offload   use this when you see CUDA out of memory\n",
      "If you get CUDA out of memory, lower the batch size.\n",
      "The model was too large: CUDA out of memory is what most people see first.\n",
      "no more CUDA out of memory\n",
      "catch_oom: retry on 'CUDA out of memory'\n",
      "Tried to allocate\n",
      "Tried to allocate a name for the run.\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), texts[i], &store);
    if (sample_count(&store, WO_KIND_CUDA_OOM) != 0) fail_msg("\"%s\"", texts[i]);
    wo_event_store_done(&store);
  }
}

/* Cut anywhere: never more than one event, never a wrong number. */
static void test_cut_anywhere(void **state) {
  static const char message[] =
      "RuntimeError: CUDA out of memory. Tried to allocate 1.25 GiB (GPU 2; 15.75 GiB total capacity; 12.50 GiB "
      "already allocated; 900.00 MiB free; 13.50 GiB reserved in total by PyTorch)";
  static const struct {
    enum wo_field_id id;
    double bytes;
  } fields[] = {{WO_FIELD_TRIED_BYTES, 1.25 * WO_GIB},     {WO_FIELD_CAPACITY_BYTES, 15.75 * WO_GIB},
                {WO_FIELD_ALLOCATED_BYTES, 12.5 * WO_GIB}, {WO_FIELD_FREE_BYTES, 900.0 * WO_MIB},
                {WO_FIELD_RESERVED_BYTES, 13.5 * WO_GIB},  {WO_FIELD_GPU, 2}};
  const size_t tried_end = strlen("RuntimeError: CUDA out of memory. Tried to allocate 1.25 GiB");
  for (size_t cut = 0; cut < sizeof message; cut++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){message, cut}, CHUNK_WHOLE, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
    assert_true(sample_count(&store, WO_KIND_CUDA_OOM) <= 1 && (cut < tried_end || event != NULL));
    for (size_t i = 0; event != NULL && cut >= tried_end && i < sizeof fields / sizeof fields[0]; i++) {
      const double found = wo_event_number(event, fields[i].id, -1);
      if (found >= 0) sample_expect_number(event, fields[i].id, fields[i].bytes);
    }
    wo_event_store_done(&store);
  }
}

/* Wrapped at any width from 40 columns on, bare and behind a rank's label: all numbers are there. */
static void test_wrapped_at_any_width(void **state) {
  static const char message[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 2 has a total "
                                "capacity of 23.50 GiB of which 900.00 MiB "
                                "is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use. Of the "
                                "allocated memory 19.75 GiB is allocated by "
                                "PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.";
  for (size_t width = 40; width < 140; width++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    struct wo_view rest = WO_VIEW(message);
    const bool is_labelled = width % 2 == 0;
    while (rest.len > 0) {
      size_t part = rest.len < width ? rest.len : width;
      while (part < rest.len && part > 1 && rest.ptr[part - 1] != ' ') part--; /* at a blank, as editors do */
      if (is_labelled) sample_say(&log, "[rank6]: ");
      sample_put(&log, rest.ptr, part);
      sample_say(&log, "\n");
      rest = wo_view_skip(rest, part);
    }
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
    if (event == NULL || sample_count(&store, WO_KIND_CUDA_OOM) != 1) fail_msg("width %zu: %zu events", width, store.count);
    sample_expect_number(event, WO_FIELD_TRIED_BYTES, 1.25 * WO_GIB);
    sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 23.5 * WO_GIB);
    sample_expect_number(event, WO_FIELD_FREE_BYTES, 900.0 * WO_MIB);
    sample_expect_number(event, WO_FIELD_PROCESS_BYTES, 22.5 * WO_GIB);
    sample_expect_number(event, WO_FIELD_ALLOCATED_BYTES, 19.75 * WO_GIB);
    sample_expect_number(event, WO_FIELD_RESERVED_UNALLOCATED_BYTES, 2 * WO_GIB);
    assert_int_equal(event->rank, is_labelled ? 6 : WO_RANK_UNKNOWN);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* A message at the end of a long line of JSON; what is shown begins near it. */
static void test_far_into_a_line(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "{\"msg\": \"");
  sample_fill(&log, 'a', 9000);
  sample_say(
      &log,
      "\\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.50 GiB. GPU 1 has a total capacity of 44.25 GiB\"}\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 7.5 * WO_GIB);
  sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 44.25 * WO_GIB);
  assert_true(event->span.byte > 8000 && event->span.byte + event->span.length <= log.len);
  assert_true(wo_view_has(event->text, "Tried to allocate 7.50 GiB"));
  wo_event_store_done(&store);
  sample_free(&log);
}

/* The lines that follow belong to somebody else. */
static void test_what_ends_a_message(void **state) {
  static const char *const next[] = {"\n\n", /* some copies have one empty line after each line */
                                     "Traceback (most recent call last):\n",
                                     "srun: error: gpu1: task 0: Exited with exit code 1\n",
                                     "2025-01-06 15:18:19 INFO next\n",
                                     "slurmstepd: error: x\n",
                                     "+ echo done\n"};
  for (size_t i = 0; i < sizeof next / sizeof next[0]; i++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a\n");
    sample_say(&log, next[i]);
    sample_say(&log, "total capacity of 9.00 GiB of which 1.00 GiB is free.\n");
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_CUDA_OOM, 0);
    assert_non_null(event);
    if (wo_event_field(event, WO_FIELD_CAPACITY_BYTES) != NULL) fail_msg("behind \"%s\"", next[i]);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* Where the message is, in bytes. */
static void test_span(void **state) {
  struct wo_event_store store;
  const char *const log = "one\n[rank4]: RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB.\n";
  const struct wo_event *event = scan_one(state, log, &store);
  assert_true(event->span.line == 2 && event->span.byte >= 4 && event->span.byte + event->span.length <= strlen(log));
  assert_true(wo_view_starts(wo_view_skip(wo_view_of(log), (size_t)event->span.byte), "RuntimeError: CUDA"));
  wo_event_store_done(&store);
  /* "out of" on the line before is read, but the place is on the input's last line */
  const char *const wrapped = "torch.OutOfMemoryError: CUDA out of\nmemory. Tried to allocate 2.00 GiB.";
  event = scan_one(state, wrapped, &store);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 2 * WO_GIB);
  assert_true(event->span.byte + event->span.length <= strlen(wrapped));
  wo_event_store_done(&store);
}

/* A device that stands on the line before names the kind. */
static void test_device_on_the_line_before(void **state) {
  struct wo_event_store store;
  sample_scan_text(
      set_of(state),
      "torch.OutOfMemoryError: HIP\nout of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB\n", &store);
  assert_int_equal(sample_count(&store, WO_KIND_HIP_OOM), 1);
  assert_int_equal(sample_count(&store, WO_KIND_CUDA_OOM), 0);
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_processes),
      cmocka_unit_test(test_many_processes),
      cmocka_unit_test(test_impossible_sizes),
      cmocka_unit_test(test_negative_sizes),
      cmocka_unit_test(test_advice_is_no_setting),
      cmocka_unit_test(test_no_evidence),
      cmocka_unit_test(test_cut_anywhere),
      cmocka_unit_test(test_wrapped_at_any_width),
      cmocka_unit_test(test_far_into_a_line),
      cmocka_unit_test(test_what_ends_a_message),
      cmocka_unit_test(test_span),
      cmocka_unit_test(test_device_on_the_line_before),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
