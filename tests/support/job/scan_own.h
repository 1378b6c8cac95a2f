/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the scanner share besides scan_sample.h: a few patterns of their own, marks whose places are checked, and the
 * comparison of a log's evidence over all chunkings. */
#ifndef WO_SCAN_OWN_H
#define WO_SCAN_OWN_H

#include "tests/support/job/scan_sample.h"

static const struct wo_view mark_literals[] = {WO_VIEW("FAILMARK")};
static const struct wo_view gone_literals[] = {WO_VIEW("HOSTGONE")};
static const struct wo_view killed_literals[] = {WO_VIEW("Killed\n")};
static const struct wo_view torch_literals[] = {WO_VIEW("CUDA out of memory"), WO_VIEW("Tried to allocate")};
static const struct wo_view trace_literals[] = {WO_VIEW("Traceback (most recent call last)"), WO_VIEW("\", line ")};
static const struct wo_view batch_literals[] = {WO_VIEW("batch_size")};

static const struct wo_pattern own_patterns[] = {
    {.id = WO_VIEW("mark"),
     .kind = WO_KIND_PROGRAM_ERROR,
     .literals = mark_literals,
     .literal_count = 1,
     .regex = WO_VIEW("FAILMARK (?<count>\\d+)")},
    {.id = WO_VIEW("gone"), .kind = WO_KIND_HOST_OOM, .literals = gone_literals, .literal_count = 1},
    {.id = WO_VIEW("killed"), .kind = WO_KIND_KILLED, .literals = killed_literals, .literal_count = 1},
    {.id = WO_VIEW("torch"),
     .kind = WO_KIND_CUDA_OOM,
     .literals = torch_literals,
     .literal_count = 2,
     .reader = WO_VIEW("torch_oom")},
    {.id = WO_VIEW("trace"),
     .kind = WO_KIND_TRACEBACK,
     .literals = trace_literals,
     .literal_count = 2,
     .reader = WO_VIEW("traceback")},
    {.id = WO_VIEW("set"),
     .kind = WO_KIND_CONFIG,
     .literals = batch_literals,
     .literal_count = 1,
     .reader = WO_VIEW("setting"),
     .argument = WO_VIEW("micro_batch")},
    {.id = WO_VIEW("step"), .kind = WO_KIND_PROGRESS, .where = WO_WHERE_BEFORE, .regex = WO_VIEW("step (?<step>\\d+)")},
    {.id = WO_VIEW("done"), .kind = WO_KIND_SUCCESS, .where = WO_WHERE_TAIL, .regex = WO_VIEW("run finished")},
};

/* The set over own_patterns, made once: its expressions are compiled when first needed. */
static struct wo_pattern_set *own_set;

static inline int own_setup(void **state) {
  if (wo_pattern_set_new(own_patterns, sizeof own_patterns / sizeof own_patterns[0], NULL, &own_set) != WO_OK) return -1;
  return sample_setup(state);
}

static inline int own_teardown(void **state) {
  own_set = wo_pattern_set_free(own_set);
  return sample_teardown(state);
}

/* Line of the byte at `at`. */
static inline uint64_t line_of(struct wo_view log, uint64_t at) {
  uint64_t line = 1;
  for (size_t i = 0; i < at; i++) line += log.ptr[i] == '\n';
  return line;
}

/* Every mark of the log was found once, in order, where it stands. */
static inline void expect_marks(const struct wo_event_store *store, struct wo_view log) {
  size_t at = 0;
  for (size_t n = 0;; n++) {
    at = wo_view_find(log, WO_VIEW("FAILMARK "), at);
    const struct wo_event *event = sample_find(store, WO_KIND_PROGRAM_ERROR, n);
    if (at == WO_NOT_FOUND || event == NULL) {
      if (at == WO_NOT_FOUND && event == NULL) return;
      fail_msg("mark %zu at %zd: %s", n, (ssize_t)at, event == NULL ? "not found" : "found too often");
    }
    if (event->span.byte != at) fail_msg("mark %zu stands at %zu, not at %llu", n, at, (unsigned long long)event->span.byte);
    assert_true(event->span.line == line_of(log, at));
    assert_true(event->span.length > 9 && at + event->span.length <= log.len);
    at++;
  }
}

/* The log in all chunkings and without the prefilter, against the whole. */
static inline void expect_stable(struct wo_pattern_set *set, struct wo_view log, const struct wo_event_store *whole) {
  static const int chunks[] = {CHUNK_RANDOM, 1, 7, 65536};
  const struct wo_scan_options slow = {.no_prefilter = true, .rank = WO_RANK_UNKNOWN};
  struct wo_event_store store;
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
    /* Single bytes into one long line are looked at again and again: only for short logs. */
    if (log.len > 20000 && chunks[i] > 0 && chunks[i] < 100) continue;
    const struct wo_scan_summary summary = sample_scan(set, log, chunks[i], &store);
    assert_true(summary.bytes == log.len);
    sample_expect_same(whole, &store);
    wo_event_store_done(&store);
  }
  sample_scan_with(set, log, CHUNK_RANDOM, slow, &store);
  sample_expect_same(whole, &store);
  wo_event_store_done(&store);
}

static const char torch_message[] =
    "RuntimeError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total capacity of 23.50 GiB of which 1.75 GiB is "
    "free. Process 4242 has 512.00 MiB memory in use. Of the allocated memory 18.00 GiB is allocated by PyTorch, and 2.50 GiB is "
    "reserved by PyTorch but unallocated.";

static inline void expect_torch_message(const struct wo_event *event) {
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 3.25 * WO_GIB);
  sample_expect_number(event, WO_FIELD_CAPACITY_BYTES, 23.5 * WO_GIB);
  sample_expect_number(event, WO_FIELD_FREE_BYTES, 1.75 * WO_GIB);
  sample_expect_number(event, WO_FIELD_ALLOCATED_BYTES, 18 * WO_GIB);
  sample_expect_number(event, WO_FIELD_RESERVED_UNALLOCATED_BYTES, 2.5 * WO_GIB);
  sample_expect_number(event, WO_FIELD_GPU, 1);
}

#endif
