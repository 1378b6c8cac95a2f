/* SPDX-License-Identifier: Apache-2.0 */
/* The replay loop. A request costs one call of the allocator and one look-up of a handle by the instance's index. */
#include "cuda_replay/replay/replay.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

struct pool_in_use {
  uint32_t pool;
  uint32_t stream;
};

struct run {
  const struct wo_alloc_pattern *pattern;
  const struct wo_replay_options *options;
  struct wo_replay_outcome *outcome;
  struct wo_err *err;
  struct wo_allocator *allocator;
  const struct wo_allocator_stats *stats;
  wo_block_id *blocks;       /* of each instance; WO_NO_BLOCK if it has none */
  bool *is_held;             /* of each private pool: whether it has a user */
  WO_VEC(uint32_t) deferred; /* deferred instances; those that have completed since then have no block */
  size_t deferred_live;
  WO_VEC(struct pool_in_use) pools; /* begun and not ended, as the pattern says */
};

/* ---- Failures ---- */

static enum wo_status fail(const struct run *run, enum wo_status status) {
  if (status == WO_E_NOMEM) return wo_err_set(run->err, status, "out of memory in the replay itself");
  return wo_err_set(run->err, status, "%s", wo_allocator_message(run->allocator));
}

static void note_oom(struct run *run, uint32_t request) {
  struct wo_replay_outcome *const outcome = run->outcome;
  outcome->oom_count++;
  if (outcome->has_oom) return;
  outcome->has_oom = true;
  outcome->oom_at = request;
  outcome->oom = *wo_allocator_last_oom(run->allocator);
}

/* ---- Requests ---- */

/* The number of blocks that the allocator holds as pending. */
static size_t pending_count(const struct run *run) {
  const struct wo_allocator_stats *const stats = run->stats;
  return (size_t)(stats->active[WO_STAT_ALL].current - stats->allocation[WO_STAT_ALL].current);
}

/* Removes the instances without a block from the list. */
static void compact_deferred(struct run *run) {
  size_t kept = 0;
  for (size_t i = 0; i < run->deferred.count; i++) {
    if (run->blocks[run->deferred.items[i]] != WO_NO_BLOCK) run->deferred.items[kept++] = run->deferred.items[i];
  }
  run->deferred.count = run->deferred_live = kept;
}

static int compare_ids(const void *a, const void *b) {
  const wo_block_id left = *(const wo_block_id *)a, right = *(const wo_block_id *)b;
  return (left > right) - (left < right);
}

/* Blocks that are pending, by their numbers. */
struct pending {
  WO_VEC(wo_block_id) ids;
  bool has_failed;
};

static bool collect_pending(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                            const wo_block_id *ids, size_t count) {
  struct pending *const pending = state;
  (void)segment;
  for (size_t i = 0; i < count && !pending->has_failed; i++) {
    if (blocks[i].state != WO_BLOCK_PENDING) continue;
    pending->has_failed = !WO_VEC_RESERVE(&pending->ids, 1, UINT32_MAX);
    if (!pending->has_failed) pending->ids.items[pending->ids.count++] = ids[i];
  }
  return !pending->has_failed;
}

/* Handles deferred frees that the allocator completed itself: all of them if it waited for all streams, some after a capture.
 * Their instances lose their blocks. The search is slow, but seldom needed. */
static enum wo_status drop_completed(struct run *run) {
  const size_t count = pending_count(run);
  if (count == run->deferred_live) return WO_OK;
  struct pending pending = {0};
  enum wo_status status = count == 0 ? WO_OK : wo_allocator_walk(run->allocator, collect_pending, &pending);
  if (pending.has_failed) status = WO_E_NOMEM;
  if (pending.ids.count > 0) qsort(pending.ids.items, pending.ids.count, sizeof *pending.ids.items, compare_ids);
  for (size_t i = 0; i < run->deferred.count && status == WO_OK; i++) {
    wo_block_id *const block = &run->blocks[run->deferred.items[i]];
    const bool is_pending =
        pending.ids.count > 0 && bsearch(block, pending.ids.items, pending.ids.count, sizeof *block, compare_ids);
    if (!is_pending) *block = WO_NO_BLOCK;
  }
  WO_VEC_DONE(&pending.ids);
  compact_deferred(run);
  return status;
}

static enum wo_status defer(struct run *run, uint32_t instance) {
  if (run->deferred.count > 64 && run->deferred.count > 2 * run->deferred_live) compact_deferred(run);
  if (!WO_VEC_RESERVE(&run->deferred, 1, 4 * WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  run->deferred.items[run->deferred.count++] = instance;
  run->deferred_live++;
  return WO_OK;
}

static uint64_t stream_of(const struct run *run, uint32_t stream) {
  return run->pattern->recording->streams.items[stream];
}

static bool is_pool_in_use(const struct run *run, uint32_t pool, uint32_t stream) {
  for (size_t i = 0; i < run->pools.count; i++) {
    if (run->pools.items[i].pool == pool && run->pools.items[i].stream == stream) return true;
  }
  return false;
}

/* Pools that the recording does not name have numbers beyond its own. */
static struct wo_pool_id id_of(const struct run *run, uint32_t pool) {
  const struct wo_recording *const recording = run->pattern->recording;
  return pool < recording->pools.count ? recording->pools.items[pool] : (struct wo_pool_id){UINT64_MAX, pool};
}

/* An allocation of a private pool whose begin is not in the pattern is made in that pool alone. The pool has one user until the
 * pattern releases it. */
static enum wo_status malloc_in_pool(struct run *run, uint64_t size_bytes, uint32_t stream, uint32_t pool,
                                     wo_block_id *ret_block) {
  const uint64_t raw = stream_of(run, stream);
  if (is_pool_in_use(run, pool, stream)) return wo_allocator_malloc(run->allocator, size_bytes, raw, ret_block);
  const struct wo_pool_id id = id_of(run, pool);
  enum wo_status status = wo_allocator_pool_begin(run->allocator, id, raw, false);
  if (status != WO_OK) return status;
  const enum wo_status result = wo_allocator_malloc(run->allocator, size_bytes, raw, ret_block);
  status = wo_allocator_pool_end(run->allocator, id);
  if (status == WO_OK && run->is_held[pool]) status = wo_allocator_pool_release(run->allocator, id);
  run->is_held[pool] = true;
  return result != WO_OK ? result : status;
}

static enum wo_status allocate(struct run *run, uint32_t index, uint32_t stream, uint32_t pool, wo_block_id *ret_block) {
  const uint64_t size = run->pattern->instances.items[index].size_bytes;
  if (pool == WO_POOL_DEFAULT) return wo_allocator_malloc(run->allocator, size, stream_of(run, stream), ret_block);
  return malloc_in_pool(run, size, stream, pool, ret_block);
}

static void note_peaks(struct run *run, uint32_t request) {
  struct wo_replay_peak *const peak = &run->outcome->peak;
  const uint64_t reserved = (uint64_t)run->stats->reserved_bytes[WO_STAT_ALL].peak;
  const uint64_t allocated = (uint64_t)run->stats->allocated_bytes[WO_STAT_ALL].peak;
  if (reserved > peak->reserved_bytes) {
    peak->reserved_bytes = reserved;
  }
  if (allocated > peak->allocated_bytes) {
    peak->allocated_bytes = allocated;
    peak->allocated_at = request;
  }
}

static enum wo_status run_alloc(struct run *run, const struct wo_request *request, uint32_t at) {
  assert(request->subject < run->pattern->instances.count);
  wo_block_id *const block = &run->blocks[request->subject];
  const enum wo_status status = allocate(run, request->subject, request->stream, request->pool, block);
  if (status != WO_OK) *block = WO_NO_BLOCK;
  note_peaks(run, at);
  const enum wo_status dropped = drop_completed(run);
  if (dropped != WO_OK) return dropped;
  if (status == WO_E_LIMIT) {
    if (request->kind == WO_REQUEST_ALLOC) note_oom(run, at);
    return WO_OK;
  }
  const bool was_refused = run->pattern->instances.items[request->subject].death == at;
  if (status == WO_OK && was_refused) {
    wo_allocator_free_block(run->allocator, *block, false);
    *block = WO_NO_BLOCK;
  }
  return status;
}

static enum wo_status run_defer(struct run *run, const struct wo_request *request, uint32_t at) {
  assert(request->subject < run->pattern->instances.count);
  const wo_block_id block = run->blocks[request->subject];
  if (block == WO_NO_BLOCK) return WO_OK;
  const enum wo_status status = defer(run, request->subject);
  if (status != WO_OK) return status;
  /* A block that is pending in the given start is freed already. */
  const bool is_pending = run->options->start && at < run->pattern->start_count && request->entry == WO_NO_ENTRY;
  if (!is_pending) wo_allocator_free_block(run->allocator, block, true);
  return WO_OK;
}

static void run_complete(struct run *run, uint32_t instance) {
  if (run->blocks[instance] == WO_NO_BLOCK) return;
  wo_allocator_complete(run->allocator, run->blocks[instance]);
  run->blocks[instance] = WO_NO_BLOCK;
  assert(run->deferred_live > 0);
  run->deferred_live--;
}

static enum wo_status begin_pool(struct run *run, const struct wo_request *request) {
  if (!WO_VEC_RESERVE(&run->pools, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  run->pools.items[run->pools.count++] = (struct pool_in_use){request->pool, request->stream};
  run->is_held[request->pool] = true;
  const struct wo_pool_id id = id_of(run, request->pool);
  return wo_allocator_pool_begin(run->allocator, id, stream_of(run, request->stream), true);
}

/* The end of a capture that began before the recording has no effect, as its begin had none here. */
static enum wo_status end_pool(struct run *run, const struct wo_request *request) {
  const size_t count = run->pools.count;
  size_t kept = 0;
  for (size_t i = 0; i < run->pools.count; i++) {
    if (run->pools.items[i].pool != request->pool) run->pools.items[kept++] = run->pools.items[i];
  }
  run->pools.count = kept;
  if (kept == count) return WO_OK;
  return wo_allocator_pool_end(run->allocator, id_of(run, request->pool));
}

/* Releasing a pool without a user is no error: the recording may show its last user twice. */
static enum wo_status release_pool(struct run *run, const struct wo_request *request) {
  const struct wo_pool_id id = id_of(run, request->pool);
  const enum wo_status status = wo_allocator_pool_release(run->allocator, id);
  run->is_held[request->pool] = false;
  wo_allocator_pool_is_next(run->allocator, id);
  return status == WO_E_USAGE ? WO_OK : status;
}

/* A settings string that this version of torch refuses changed nothing in the recorded run either. */
static void run_settings(struct run *run, const struct wo_request *request) {
  if (request->kind == WO_REQUEST_FRACTION) {
    struct wo_alloc_settings settings = *wo_allocator_settings(run->allocator);
    settings.memory_fraction = request->subject / 1e6;
    wo_allocator_set(run->allocator, &settings);
  } else {
    const struct wo_view text = run->pattern->recording->settings_texts.items[request->subject];
    (void)wo_allocator_set_text(run->allocator, text, NULL);
  }
}

static enum wo_status run_other(struct run *run, const struct wo_request *request, uint32_t at) {
  switch ((enum wo_request_kind)request->kind) {
  case WO_REQUEST_DEFER:
    return run_defer(run, request, at);
  case WO_REQUEST_COMPLETE:
    run_complete(run, request->subject);
    return WO_OK;
  case WO_REQUEST_EMPTY_CACHE: {
    const enum wo_status status = wo_allocator_empty_cache(run->allocator);
    return status == WO_OK ? drop_completed(run) : status;
  }
  case WO_REQUEST_RECORD_STREAM:
    if (run->blocks[request->subject] == WO_NO_BLOCK) return WO_OK;
    return wo_allocator_record_stream(run->allocator, run->blocks[request->subject], stream_of(run, request->stream));
  case WO_REQUEST_POOL_BEGIN:
    return begin_pool(run, request);
  case WO_REQUEST_POOL_END:
    return end_pool(run, request);
  case WO_REQUEST_POOL_EMPTY:
    return wo_allocator_pool_empty(run->allocator, id_of(run, request->pool));
  case WO_REQUEST_POOL_RELEASE:
    return release_pool(run, request);
  case WO_REQUEST_PROBE:
    return run->options->has_probes ? run_alloc(run, request, at) : WO_OK;
  default:
    run_settings(run, request);
    return WO_OK;
  }
}

static enum wo_status run_request(struct run *run, const struct wo_request *request, uint32_t at) {
  if (request->kind == WO_REQUEST_ALLOC) return run_alloc(run, request, at);
  if (request->kind != WO_REQUEST_FREE) return run_other(run, request, at);
  const wo_block_id block = run->blocks[request->subject];
  if (block == WO_NO_BLOCK) return WO_OK;
  wo_allocator_free_block(run->allocator, block, false);
  /* A block that another stream used waits, even if the request does not say so. */
  if (pending_count(run) > run->deferred_live) return defer(run, request->subject);
  run->blocks[request->subject] = WO_NO_BLOCK;
  return WO_OK;
}

static enum wo_status run_requests(struct run *run) {
  const struct wo_alloc_pattern *const pattern = run->pattern;
  const struct wo_replay_observer on_step = run->options->on_step;
  const bool *const stop = run->options->stop;
  const volatile int *const stop_call = pattern->recording->stop;
  for (uint32_t i = 0; i < pattern->requests.count; i++) {
    const enum wo_status status = run_request(run, &pattern->requests.items[i], i);
    if (status != WO_OK) return fail(run, status);
    run->outcome->requests_run++;
    if (on_step.on_step) on_step.on_step(on_step.state, i, run->allocator);
    if (run->options->stops_at_oom && run->outcome->has_oom) break;
    if (stop && *stop) break;
    if (stop_call && *stop_call == WO_STOP_ALL) return wo_err_set(run->err, WO_E_IO, "stopped");
  }
  return WO_OK;
}

/* ---- The start ---- */

static enum wo_status misfit(const struct run *run, const char *why) {
  return wo_err_set(run->err, WO_E_USAGE, "the state at the start does not fit: %s", why);
}

/* Assigns the used blocks of a placed segment to the instances; both are in the order of addresses. */
static bool bind_blocks(struct run *run, const struct wo_allocator_block *blocks, const wo_block_id *ids, size_t count,
                        size_t *instance) {
  for (size_t i = 0; i < count; i++) {
    if (blocks[i].state == WO_BLOCK_FREE) continue;
    if (*instance >= run->pattern->start_count) return false;
    run->blocks[(*instance)++] = ids[i];
  }
  return true;
}

static void hold_pool(struct run *run, struct wo_pool_id id) {
  if (id.first == 0 && id.second == 0) return;
  const struct wo_recording *const recording = run->pattern->recording;
  for (size_t i = 0; i < recording->pools.count; i++) {
    if (recording->pools.items[i].first == id.first && recording->pools.items[i].second == id.second) run->is_held[i] = true;
  }
}

static enum wo_status place_segments(struct run *run, wo_block_id *ids) {
  const struct wo_start *const start = run->options->start;
  size_t first = 0, instance = 0;
  for (size_t i = 0; i < start->segments.count; i++) {
    const size_t count = start->block_counts.items[i];
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    const struct wo_allocator_block *const blocks = start->blocks.items + first;
    const enum wo_status status = wo_allocator_place(run->allocator, segment, blocks, count, ids);
    if (status == WO_E_RANGE) return misfit(run, "its segments overlap, or blocks do not fill them");
    if (status != WO_OK) return fail(run, status);
    if (!bind_blocks(run, blocks, ids, count, &instance)) return misfit(run, "it holds more blocks than the trace knows");
    first += count;
  }
  /* Each private pool with memory has a user: the allocator requires this for placed segments. */
  for (size_t i = 0; i < start->segments.count; i++) hold_pool(run, start->segments.items[i].pool);
  return instance == run->pattern->start_count ? WO_OK : misfit(run, "it holds fewer blocks than the trace uses");
}

static enum wo_status place_start(struct run *run) {
  const struct wo_start *const start = run->options->start;
  size_t most = 1;
  for (size_t i = 0; i < start->segments.count; i++) {
    if (start->block_counts.items[i] > most) most = start->block_counts.items[i];
  }
  wo_block_id *const ids = malloc(most * sizeof *ids);
  if (!ids) return fail(run, WO_E_NOMEM);
  const enum wo_status status = place_segments(run, ids);
  free(ids);
  return status;
}

/* Without a start, the instances that were alive then are allocated first. */
static enum wo_status allocate_start(struct run *run) {
  for (uint32_t i = 0; i < run->pattern->start_count; i++) {
    const struct wo_instance *const instance = &run->pattern->instances.items[i];
    const enum wo_status status = allocate(run, i, instance->stream, instance->pool, &run->blocks[i]);
    if (status == WO_OK) continue;
    run->blocks[i] = WO_NO_BLOCK;
    if (status != WO_E_LIMIT) return fail(run, status);
    note_oom(run, WO_NO_REQUEST);
    if (run->options->stops_at_oom) break;
  }
  return WO_OK;
}

/* ---- Whole ---- */

static enum wo_status begin(struct run *run) {
  const size_t count = run->pattern->instances.count;
  const struct wo_allocator_options options = {.settings = run->options->settings,
                                               .torch = run->options->torch,
                                               .device = run->options->device,
                                               .observer = run->options->on_event,
                                               .garbage_limit_bytes = run->options->garbage_limit_bytes};
  const enum wo_status status = wo_allocator_new(&options, &run->allocator, run->err);
  if (status != WO_OK) return status;
  run->stats = wo_allocator_stats(run->allocator);
  run->blocks = malloc((count + 1) * sizeof *run->blocks);
  run->is_held = calloc(run->pattern->recording->pools.count + run->pattern->hidden_pools + 1, sizeof *run->is_held);
  if (!run->blocks || !run->is_held) return fail(run, WO_E_NOMEM);
  for (size_t i = 0; i < count; i++) run->blocks[i] = WO_NO_BLOCK;
  return run->options->start ? place_start(run) : allocate_start(run);
}

/* The entry of a request. Peaks before the first request, and failures while the live set is placed, have none. */
static uint32_t entry_of(const struct wo_alloc_pattern *pattern, uint32_t request) {
  return request < pattern->requests.count ? pattern->requests.items[request].entry : WO_NO_ENTRY;
}

static void finish(struct run *run) {
  struct wo_replay_outcome *const outcome = run->outcome;
  outcome->oom_entry = outcome->has_oom ? entry_of(run->pattern, outcome->oom_at) : WO_NO_ENTRY;
  outcome->peak.allocated_entry = entry_of(run->pattern, outcome->peak.allocated_at);
  if (run->stats) {
    outcome->stats = *run->stats;
    outcome->segment_events = run->stats->num_device_alloc + run->stats->num_device_free;
    outcome->peak.requested_bytes = (uint64_t)run->stats->requested_bytes[WO_STAT_ALL].peak;
    outcome->peak.active_bytes = (uint64_t)run->stats->active_bytes[WO_STAT_ALL].peak;
  }
  free(run->blocks);
  free(run->is_held);
  WO_VEC_DONE(&run->deferred);
  WO_VEC_DONE(&run->pools);
  wo_allocator_free(run->allocator);
}

enum wo_status wo_replay_run(const struct wo_alloc_pattern *pattern, const struct wo_replay_options *options,
                             struct wo_replay_outcome *ret_outcome, struct wo_err *err) {
  assert(pattern->start_count <= pattern->instances.count && options->device);
  *ret_outcome = (struct wo_replay_outcome){0};
  struct run run = {.pattern = pattern, .options = options, .outcome = ret_outcome, .err = err};
  enum wo_status status = begin(&run);
  if (status == WO_OK) {
    note_peaks(&run, 0);
    const bool goes_on = !(options->stops_at_oom && ret_outcome->has_oom);
    if (goes_on) status = run_requests(&run);
  }
  finish(&run);
  return status;
}
