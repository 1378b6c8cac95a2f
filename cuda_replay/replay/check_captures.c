/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of graphs that were released, found by stacks and streams. `capture_begin` (torch/cuda/graphs.py) allocates the states of
 * random generators right before a capture, in the default pool and only while no graph has them: it shows the stream of
 * captures. Each run of allocations on such a stream, without one on another stream and without empty_cache() in between, is a
 * capture, or several: segments that are left at the end name their pools, and a new name is a new capture. It shares the pool of
 * an earlier one if it allocates in a segment of that pool. Seen with torch 2.11. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/replay/check_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* More captures, streams of captures or hidden segments than this are left to guesses: every entry is compared with each. */
enum { CAPTURES_MAX = 4096, STREAMS_MAX = 16, HIDDEN_MAX = 1024 };

/* A capture; `same` is an earlier one whose pool it shares, or itself. */
struct capture {
  uint32_t same;
  uint32_t named; /* the recording's own number of its pool; WO_POOL_DEFAULT: not known */
};

/* A segment that a capture allocated, or a request that it was refused. */
struct owned {
  size_t entry;
  uint64_t end;
  uint32_t capture;
};

struct search {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  struct wo_address_map live; /* address -> index in owned */
  struct wo_address_map left; /* entry that allocated a segment which is left in a private pool -> its pool */
  WO_VEC(struct owned) owned;
  WO_VEC(struct capture) captures;
  WO_VEC(uint32_t) streams; /* of captures */
  size_t hidden_count;      /* of the owned, those that are not left */
  bool is_fresh;            /* the next allocation on a stream of captures begins one */
  bool is_too_much;         /* a limit was reached */
};

static struct capture *root_of(struct search *search, uint32_t capture) {
  struct capture *const captures = search->captures.items;
  while (captures[capture].same != capture) {
    captures[capture].same = captures[captures[capture].same].same; /* so that chains stay short */
    capture = captures[capture].same;
  }
  return &captures[capture];
}

/* Whether captures are made on a stream. A program has one such stream, or few. */
static bool is_of_captures(const struct search *search, uint32_t stream) {
  for (size_t i = 0; i < search->streams.count; i++) {
    if (search->streams.items[i] == stream) return true;
  }
  return false;
}

static enum wo_status begin_capture(struct search *search) {
  search->is_too_much = search->is_too_much || search->captures.count == CAPTURES_MAX;
  if (search->is_too_much) return WO_OK;
  if (!WO_VEC_RESERVE(&search->captures, 1, CAPTURES_MAX)) return WO_E_NOMEM;
  const uint32_t number = (uint32_t)search->captures.count++;
  search->captures.items[number] = (struct capture){.same = number, .named = WO_POOL_DEFAULT};
  return WO_OK;
}

static enum wo_status note_stream(struct search *search, uint32_t stream) {
  if (is_of_captures(search, stream)) return WO_OK;
  search->is_too_much = search->is_too_much || search->streams.count == STREAMS_MAX;
  if (search->is_too_much) return WO_OK;
  if (!WO_VEC_RESERVE(&search->streams, 1, STREAMS_MAX)) return WO_E_NOMEM;
  search->streams.items[search->streams.count++] = stream;
  return WO_OK;
}

static struct owned *owned_at(struct search *search, uint64_t address) {
  struct wo_address_item item;
  if (!wo_address_map_below(&search->live, address, &item)) return NULL;
  struct owned *const owned = &search->owned.items[item.value];
  return address < owned->end ? owned : NULL;
}

/* Segments that are left at the end have the names of their pools: finds the entries that allocated them. */
static enum wo_status find_left(struct search *search) {
  const struct wo_trace *const trace = search->trace;
  struct wo_address_map open = {0};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < trace->segments.count && status == WO_OK; i++) {
    const struct wo_trace_segment *const segment = &trace->segments.items[i];
    if (segment->pool != WO_POOL_DEFAULT) status = wo_address_map_put(&open, segment->address, segment->pool);
  }
  for (size_t i = trace->entries.count; i > 0 && open.count > 0 && status == WO_OK; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    uint32_t pool = 0;
    if (entry->action != WO_ACTION_SEGMENT_ALLOC || !wo_address_map_remove(&open, entry->address, &pool)) continue;
    status = wo_address_map_put(&search->left, i - 1, pool);
  }
  wo_address_map_done(&open);
  return status;
}

/* The pool that the snapshot names for the segment of an entry; WO_POOL_DEFAULT: none. */
static uint32_t named_pool(const struct search *search, size_t index) {
  uint32_t pool = WO_POOL_DEFAULT;
  return wo_address_map_find(&search->left, index, &pool) ? pool : WO_POOL_DEFAULT;
}

static enum wo_status own(struct search *search, size_t index, uint32_t capture) {
  const struct wo_trace_entry *const entry = &search->trace->entries.items[index];
  search->hidden_count += named_pool(search, index) == WO_POOL_DEFAULT;
  search->is_too_much = search->is_too_much || search->hidden_count > HIDDEN_MAX;
  if (!WO_VEC_RESERVE(&search->owned, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  const uint32_t at = (uint32_t)search->owned.count++;
  search->owned.items[at] = (struct owned){index, entry->address + entry->size_bytes, capture};
  return entry->action == WO_ACTION_OOM ? WO_OK : wo_address_map_put(&search->live, entry->address, at);
}

/* An allocation of a capture in a segment of another: both use one pool. */
static void join(struct search *search, uint64_t address, uint32_t capture) {
  const struct owned *const owned = owned_at(search, address);
  if (!owned) return;
  struct capture *const here = root_of(search, capture), *const there = root_of(search, owned->capture);
  if (there->named == WO_POOL_DEFAULT) there->named = here->named;
  here->same = there->same;
}

static enum wo_status follow_request(struct search *search, size_t index) {
  const struct wo_trace_entry *const entry = &search->trace->entries.items[index];
  if (wo__stack_names(search->recording, entry->stack, "capture_begin")) {
    search->is_fresh = true;
    return note_stream(search, entry->stream);
  }
  if (!is_of_captures(search, entry->stream)) {
    search->is_fresh = true;
    return WO_OK;
  }
  const uint32_t named = named_pool(search, index);
  const uint32_t present = search->is_fresh ? WO_POOL_DEFAULT : root_of(search, (uint32_t)search->captures.count - 1)->named;
  const bool has_other_name = named != WO_POOL_DEFAULT && present != WO_POOL_DEFAULT && named != present;
  if ((search->is_fresh || has_other_name) && begin_capture(search) != WO_OK) return WO_E_NOMEM;
  search->is_fresh = false;
  const uint32_t capture = (uint32_t)search->captures.count - 1;
  if (named != WO_POOL_DEFAULT) root_of(search, capture)->named = named;
  if (entry->action != WO_ACTION_ALLOC) return own(search, index, capture);
  join(search, entry->address, capture);
  return WO_OK;
}

static enum wo_status follow(struct search *search, size_t index) {
  const struct wo_trace_entry *const entry = &search->trace->entries.items[index];
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_SEGMENT_FREE:
    wo_address_map_remove(&search->live, entry->address, NULL);
    if (wo__release_cause_is_named(search->recording, entry->stack)) search->is_fresh = true;
    return WO_OK;
  case WO_ACTION_ALLOC:
  case WO_ACTION_SEGMENT_ALLOC:
  case WO_ACTION_OOM:
    return follow_request(search, index);
  default:
    return WO_OK;
  }
}

/* The readings: all but the segments that are left, whose pools are known. */
static enum wo_status hide_all(struct search *search, struct wo__checker *checker) {
  struct wo__readings *const readings = &checker->readings;
  const uint32_t first = checker->next_pool;
  checker->next_pool += (uint32_t)search->captures.count;
  for (size_t i = 0; i < search->owned.count; i++) {
    const struct owned *const owned = &search->owned.items[i];
    if (named_pool(search, owned->entry) != WO_POOL_DEFAULT) continue;
    const struct capture *const root = root_of(search, owned->capture);
    const bool is_named = root->named != WO_POOL_DEFAULT;
    if (!WO_VEC_RESERVE(&readings->hidden, 1, HIDDEN_MAX)) return WO_E_NOMEM;
    readings->hidden.items[readings->hidden.count++] =
        (struct wo__hidden){owned->entry, is_named ? root->named : first + root->same, is_named};
  }
  return WO_OK;
}

enum wo_status wo__check_hide_captures(struct wo__checker *checker) {
  assert(checker->readings.hidden.count == 0);
  struct search search = {.recording = checker->recording, .trace = checker->trace, .is_fresh = true};
  enum wo_status status = find_left(&search);
  for (size_t i = 0; i < search.trace->entries.count && status == WO_OK && !search.is_too_much; i++) status = follow(&search, i);
  if (status == WO_OK && !search.is_too_much) status = hide_all(&search, checker);
  wo_address_map_done(&search.live);
  wo_address_map_done(&search.left);
  WO_VEC_DONE(&search.owned);
  WO_VEC_DONE(&search.captures);
  WO_VEC_DONE(&search.streams);
  return status;
}
