/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests of entries: one pass over the entries with a map of live blocks. */
#include "cuda_replay/pattern/alloc_pattern.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/pattern/alloc_pattern_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

static const char *const class_names[WO_CLASS_COUNT_] = {
    [WO_CLASS_UNKNOWN] = "unknown",
    [WO_CLASS_PARAMETER] = "parameter",
    [WO_CLASS_GRADIENT] = "gradient",
    [WO_CLASS_OPTIMIZER] = "optimizer_state",
    [WO_CLASS_ACTIVATION] = "activation",
    [WO_CLASS_LOGITS] = "logits",
    [WO_CLASS_TEMPORARY] = "temporary",
    [WO_CLASS_WORKSPACE] = "workspace",
    [WO_CLASS_COMMUNICATION] = "communication",
    [WO_CLASS_INPUT] = "input",
};

const char *wo_alloc_class_name(enum wo_alloc_class class_) {
  assert(class_ >= 0 && class_ < WO_CLASS_COUNT_);
  return class_names[class_];
}

/* ---- Adding ---- */

static enum wo_status add_request(struct wo__maker *maker, enum wo_request_kind kind, uint32_t subject, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  if (!WO_VEC_RESERVE(&maker->pattern->requests, 1, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  maker->pattern->requests.items[maker->pattern->requests.count++] =
      (struct wo_request){.kind = (unsigned)kind & 0xff,
                          .stream = entry->stream,
                          .pool = wo__private_pool_of(&maker->pools, maker->trace, index),
                          .subject = subject,
                          .entry = (uint32_t)index};
  return WO_OK;
}

static enum wo_status add_instance(struct wo__maker *maker, size_t index, uint32_t birth, uint32_t *ret_instance) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  if (!WO_VEC_RESERVE(&maker->pattern->instances, 1, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  *ret_instance = (uint32_t)maker->pattern->instances.count++;
  maker->pattern->instances.items[*ret_instance] =
      (struct wo_instance){.size_bytes = entry->size_bytes,
                           .birth = birth,
                           .death = WO_NO_REQUEST,
                           .stack = birth == WO_NO_REQUEST ? WO_NO_STACK : entry->stack,
                           .stream = entry->stream,
                           .pool = wo__private_pool_of(&maker->pools, maker->trace, index) & 0x7fff};
  return WO_OK;
}

static enum wo_status refuse(const struct wo__maker *maker, size_t index, const char *what) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  wo_err_set(maker->err, WO_E_RANGE, "entry %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64 "): %s", index,
             wo_action_name(entry->action), entry->size_bytes, entry->address, what);
  wo_err_place(maker->err, NULL, 0, 0, index);
  return WO_E_RANGE;
}

/* Adds an instance that was alive before the first entry; entry `index` shows it. */
static enum wo_status add_early(struct wo__maker *maker, size_t index, bool is_pending, uint32_t *ret_instance) {
  const uint64_t address = maker->trace->entries.items[index].address;
  if (wo_address_table_find(&maker->live, address, NULL)) return refuse(maker, index, "the block there was freed before");
  enum wo_status status = add_instance(maker, index, WO_NO_REQUEST, ret_instance);
  if (status != WO_OK) return status;
  if (!WO_VEC_RESERVE(&maker->early, 1, WO__REQUESTS_MAX)) return WO_E_NOMEM;
  maker->early.items[maker->early.count++] = (struct wo__early){address, *ret_instance, is_pending};
  return wo_address_table_put(&maker->live, address, *ret_instance);
}

/* Finds the instance that lives at entry `index`'s address; an instance from before the first entry is made when an entry first
 * shows it. */
static enum wo_status live_instance(struct wo__maker *maker, size_t index, uint32_t *ret_instance) {
  const bool is_live = wo__instance_at(maker, maker->trace->entries.items[index].address, ret_instance) != NULL;
  return is_live ? WO_OK : add_early(maker, index, false, ret_instance);
}

static uint32_t next_request(const struct wo__maker *maker) {
  return (uint32_t)maker->pattern->requests.count;
}

/* ---- Entries ---- */

/* Requests of 0 bytes never reach the allocator; requests of 2^60 bytes and more fail before it. */
static bool is_size(uint64_t size_bytes) {
  return size_bytes > 0 && size_bytes < (uint64_t)1 << 60;
}

static enum wo_status on_alloc(struct wo__maker *maker, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  uint32_t instance = 0;
  if (!is_size(entry->size_bytes)) return refuse(maker, index, "no request has this size");
  if (wo__instance_at(maker, entry->address, &instance)) {
    return refuse(maker, index, "a block lives there already; its free is missing (skip_actions, or a changed file)");
  }
  enum wo_status status = add_instance(maker, index, next_request(maker), &instance);
  if (status == WO_OK) status = add_request(maker, WO_REQUEST_ALLOC, instance, index);
  return status == WO_OK ? wo_address_table_put(&maker->live, entry->address, instance) : status;
}

/* Whether the free that entry `index` requests completes at once: then its completion follows directly, because both are written
 * under one lock. Recordings without completions do not show it. */
static bool completes_at_once(const struct wo__maker *maker, size_t index) {
  if (!maker->has_completed) return true;
  if (index + 1 >= maker->trace->entries.count) return false;
  const struct wo_trace_entry *const next = &maker->trace->entries.items[index + 1];
  return next->action == WO_ACTION_FREE_COMPLETED && next->address == maker->trace->entries.items[index].address;
}

/* A free that completes at once. The allocator would wait for streams that used the block, so it needs an explicit completion
 * then. */
static enum wo_status add_free(struct wo__maker *maker, uint32_t instance, size_t index) {
  const bool is_used = maker->used.count > 0 && wo_address_table_find(&maker->used, instance, NULL);
  if (!is_used) return add_request(maker, WO_REQUEST_FREE, instance, index);
  const enum wo_status status = add_request(maker, WO_REQUEST_DEFER, instance, index);
  return status == WO_OK ? add_request(maker, WO_REQUEST_COMPLETE, instance, index) : status;
}

static enum wo_status on_free_requested(struct wo__maker *maker, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  uint32_t instance = 0;
  enum wo_status status = live_instance(maker, index, &instance);
  if (status != WO_OK) return status;
  struct wo_instance *const freed = &maker->pattern->instances.items[instance];
  if (freed->death != WO_NO_REQUEST) return refuse(maker, index, "the block there is freed already");
  freed->death = next_request(maker);
  if (freed->birth == WO_NO_REQUEST) {
    if (!is_size(entry->size_bytes)) return refuse(maker, index, "no block has this size");
    freed->size_bytes = entry->size_bytes;
    freed->stream = entry->stream;
  }
  if (!completes_at_once(maker, index)) {
    maker->pending_count++;
    return add_request(maker, WO_REQUEST_DEFER, instance, index);
  }
  status = wo_address_table_put(&maker->live, entry->address, WO__GONE);
  return status == WO_OK ? add_free(maker, instance, index) : status;
}

/* Delays a completion until the retry that caused it is done. */
static enum wo_status hold(struct wo__maker *maker, uint32_t instance, size_t index) {
  if (!WO_VEC_RESERVE(&maker->held, 2, 2 * WO__REQUESTS_MAX)) return WO_E_NOMEM;
  maker->held.items[maker->held.count++] = instance;
  maker->held.items[maker->held.count++] = (uint32_t)index;
  return WO_OK;
}

/* A completion right after its request is part of that free. A completion without a request frees at once. */
static enum wo_status on_free_completed(struct wo__maker *maker, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  uint32_t instance = 0;
  if (wo_trace_completes_at_once(maker->trace, index)) return WO_OK;
  struct wo_instance *const freed = wo__instance_at(maker, entry->address, &instance);
  enum wo_status status = freed ? WO_OK : add_early(maker, index, true, &instance);
  if (status == WO_OK) status = wo_address_table_put(&maker->live, entry->address, WO__GONE);
  if (status != WO_OK) return status;
  if (!freed && !is_size(entry->size_bytes)) return refuse(maker, index, "no block has this size");
  if (freed && freed->death != WO_NO_REQUEST) maker->pending_count--;
  if (!freed || freed->death != WO_NO_REQUEST) {
    return maker->is_retry ? hold(maker, instance, index) : add_request(maker, WO_REQUEST_COMPLETE, instance, index);
  }
  freed->death = next_request(maker);
  return add_free(maker, instance, index);
}

/* The pool of the request that the call at entry `index` ends with. */
static uint32_t request_pool(const struct wo__maker *maker, size_t index) {
  const struct wo_trace *const trace = maker->trace;
  while (index < trace->entries.count && wo_entry_is(&trace->entries.items[index], WO_TRAIT_IN_CALL)) index++;
  return index < trace->entries.count ? wo__private_pool_of(&maker->pools, trace, index) : WO_POOL_DEFAULT;
}

/* The free right before a retry may have completed because of the retry: its completion comes right after its request either way.
 * If the program uses several streams, it is assumed so: then the request did not find that memory. */
static enum wo_status hold_free(struct wo__maker *maker, size_t run) {
  const size_t count = maker->pattern->requests.count;
  struct wo_request *const last = count > 0 ? &maker->pattern->requests.items[count - 1] : NULL;
  if (!maker->has_deferred || !last || last->kind != WO_REQUEST_FREE || last->entry + 2 != run) return WO_OK;
  if (maker->trace->entries.items[last->entry].action != WO_ACTION_FREE_REQUESTED) return WO_OK;
  last->kind = WO_REQUEST_DEFER;
  return hold(maker, last->subject, last->entry + 1);
}

/* Removes the completions right before entry `run`, where a retry releases or fails, to add them after the retry: the retry
 * completes all pending frees, and the request did not get their memory. */
static enum wo_status hold_completions(struct wo__maker *maker, size_t run) {
  const struct wo_alloc_pattern *const pattern = maker->pattern;
  /* A retry waits for all streams, unless it serves a capture. If a free stays pending, the release did not wait. */
  if (maker->pending_count > 0 || request_pool(maker, run) != WO_POOL_DEFAULT) return WO_OK;
  while (run > 0 && wo_entry_is(&maker->trace->entries.items[run - 1], WO_TRAIT_IN_CALL) && maker->pattern->requests.count > 0) {
    const struct wo_request *const last = &pattern->requests.items[pattern->requests.count - 1];
    const bool is_completion = last->kind == WO_REQUEST_COMPLETE && last->entry == run - 1;
    const bool is_nothing = maker->trace->entries.items[run - 1].action != WO_ACTION_FREE_COMPLETED;
    if (!is_completion && !is_nothing) break;
    run--;
    if (!is_completion) continue;
    const enum wo_status status = hold(maker, last->subject, last->entry);
    if (status != WO_OK) return status;
    maker->pattern->requests.count--;
  }
  return hold_free(maker, run);
}

static enum wo_status release_completions(struct wo__maker *maker) {
  assert(maker->held.count % 2 == 0);
  for (size_t i = 0; i < maker->held.count; i += 2) {
    const enum wo_status status = add_request(maker, WO_REQUEST_COMPLETE, maker->held.items[i], maker->held.items[i + 1]);
    if (status != WO_OK) return status;
  }
  maker->held.count = 0;
  return WO_OK;
}

/* How a run of releases is explained. */
struct reading {
  bool is_retry;
  bool has_waited; /* the retry waited for all streams, so it caused the completions right before it */
};

/* Explains the run at entry `index`, as the readings say. */
static enum wo_status read_run(struct wo__maker *maker, size_t index, struct reading *ret_reading) {
  bool is_sure = true;
  const enum wo__alone alone = wo__release_cause_alone(&maker->release);
  ret_reading->is_retry = wo__release_cause_is_retry(&maker->release, index, &is_sure);
  ret_reading->has_waited = alone != WO__ALONE_OFTEN;
  struct wo__readings *const readings = maker->readings;
  const bool is_waiting_sure = alone == WO__ALONE_NEVER || !maker->has_deferred || !ret_reading->is_retry;
  if ((is_sure && is_waiting_sure) || !readings) return WO_OK;
  while (maker->turns < readings->turns.count && readings->turns.items[maker->turns] <= index) maker->turns++;
  const bool is_turned = maker->turns % 2 == 1;
  if (is_sure) {
    ret_reading->has_waited ^= is_turned;
  } else if (is_turned) {
    ret_reading->is_retry = !ret_reading->is_retry;
  }
  if (!WO_VEC_RESERVE(&readings->unsure, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  readings->unsure.items[readings->unsure.count++] = index;
  return WO_OK;
}

/* Requests elsewhere can release segments of a private pool once its last user is gone; a request in the pool may release them
 * before. */
static enum wo_status add_pool_releases(struct wo__maker *maker, size_t index) {
  const struct wo_trace *const trace = maker->trace;
  const uint32_t own = request_pool(maker, index);
  uint32_t pool = WO_POOL_DEFAULT;
  enum wo_status status = WO_OK;
  for (size_t i = index; i < trace->entries.count && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (!wo_entry_is(entry, WO_TRAIT_IN_CALL)) break;
    if (!wo_entry_is(entry, WO_TRAIT_RELEASE)) continue;
    const uint32_t released = entry->pool != WO_POOL_DEFAULT ? entry->pool : wo__hidden_pool_of(&maker->pools, trace, i);
    if (released == WO_POOL_DEFAULT || released == own || released == pool) continue;
    pool = released;
    status = add_request(maker, WO_REQUEST_POOL_RELEASE, 0, i);
  }
  return status;
}

/* Whether the readings say that a MemPool ended here. */
static bool is_emptied(const struct wo__maker *maker, size_t index) {
  const struct wo__readings *const readings = maker->readings;
  for (size_t i = 0; readings && i < readings->emptied.count; i++) {
    if (readings->emptied.items[i] == index) return true;
  }
  return false;
}

/* Whether the release at an entry has another stack than the one directly before it: two calls, one after the other. */
static bool begins_call(const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  return index > 0 && entry[-1].action == entry->action && entry[-1].stack != entry->stack;
}

/* The first release of a run decides the reason for the whole run. */
static enum wo_status on_release(struct wo__maker *maker, size_t index) {
  struct reading reading;
  if (maker->is_run_settled &&
      !(is_emptied(maker, index) || (!maker->release.repeats_stacks && begins_call(maker->trace, index))))
    return WO_OK;
  maker->is_run_settled = true;
  if (is_emptied(maker, index)) {
    const enum wo_status released = add_request(maker, WO_REQUEST_POOL_RELEASE, 0, index);
    return released == WO_OK ? add_request(maker, WO_REQUEST_POOL_EMPTY, 0, index) : released;
  }
  enum wo_status status = read_run(maker, index, &reading);
  maker->is_retry = reading.is_retry;
  if (status == WO_OK && reading.is_retry && reading.has_waited) status = hold_completions(maker, index);
  if (status == WO_OK) status = add_pool_releases(maker, index);
  return status == WO_OK && !reading.is_retry ? add_request(maker, WO_REQUEST_EMPTY_CACHE, 0, index) : status;
}

/* The next call for memory, or the next free, from `index` on, forwards or backwards; NULL: none. */
static const struct wo_trace_entry *next_call(const struct wo_trace *trace, size_t index, bool is_forward) {
  for (size_t i = index; is_forward ? ++i < trace->entries.count : i-- > 0;) {
    const enum wo_action action = (enum wo_action)trace->entries.items[i].action;
    if (action == WO_ACTION_ALLOC || action == WO_ACTION_OOM || action == WO_ACTION_FREE_REQUESTED)
      return &trace->entries.items[i];
  }
  return NULL;
}

/* Whether the operator went on without what it was refused. */
static bool is_probe(const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  const struct wo_trace_entry *const next = next_call(trace, index, true);
  if (!next || next->action == WO_ACTION_FREE_REQUESTED) return false;
  if (next->stack == entry->stack) return true;
  const struct wo_trace_entry *const before = next_call(trace, index, false);
  return before && before->action == WO_ACTION_OOM && before->stack == entry->stack;
}

static enum wo_status on_oom(struct wo__maker *maker, size_t index) {
  uint32_t instance = 0;
  if (!is_size(maker->trace->entries.items[index].size_bytes)) return WO_OK;
  enum wo_status status = hold_completions(maker, index);
  if (status != WO_OK) return status;
  const uint32_t at = next_request(maker);
  status = add_instance(maker, index, at, &instance);
  if (status != WO_OK) return status;
  maker->pattern->instances.items[instance].death = at;
  const bool is_survived = is_probe(maker->trace, index);
  if (is_survived) maker->pattern->probe_count++;
  return add_request(maker, is_survived ? WO_REQUEST_PROBE : WO_REQUEST_ALLOC, instance, index);
}

/* A use by another stream of a block that no entry showed before is ignored: the block's free shows whether it had to wait. */
static enum wo_status on_record_stream(struct wo__maker *maker, size_t index) {
  uint32_t instance = 0;
  const struct wo_instance *const used = wo__instance_at(maker, maker->trace->entries.items[index].address, &instance);
  if (!used || used->birth == WO_NO_REQUEST) return WO_OK;
  if (used->death != WO_NO_REQUEST) return refuse(maker, index, "the block there is freed already");
  const enum wo_status status = wo_address_table_put(&maker->used, instance, 0);
  return status == WO_OK ? add_request(maker, WO_REQUEST_RECORD_STREAM, instance, index) : status;
}

/* An instruction to empty the cache explains the releases after it. */
static enum wo_status on_empty_cache(struct wo__maker *maker, size_t index) {
  const enum wo_status status = add_pool_releases(maker, index + 1);
  return status == WO_OK ? add_request(maker, WO_REQUEST_EMPTY_CACHE, 0, index) : status;
}

static enum wo_status on_capture(struct wo__maker *maker, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  enum wo_status status = WO_OK;
  if (entry->action == WO_ACTION_CAPTURE_BEGIN) {
    status = wo__private_pools_begin(&maker->pools, entry->pool, entry->stream);
    return status == WO_OK ? add_request(maker, WO_REQUEST_POOL_BEGIN, 0, index) : status;
  }
  wo__private_pools_end(&maker->pools, entry->pool);
  return add_request(maker, WO_REQUEST_POOL_END, 0, index);
}

static enum wo_status make_entry(struct wo__maker *maker, size_t index) {
  const struct wo_trace_entry *const entry = &maker->trace->entries.items[index];
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_ALLOC:
    return on_alloc(maker, index);
  case WO_ACTION_OOM:
    return on_oom(maker, index);
  case WO_ACTION_FREE_REQUESTED:
    return on_free_requested(maker, index);
  case WO_ACTION_FREE_COMPLETED:
    return on_free_completed(maker, index);
  case WO_ACTION_SEGMENT_FREE:
  case WO_ACTION_SEGMENT_UNMAP:
    return on_release(maker, index);
  case WO_ACTION_EMPTY_CACHE:
    return on_empty_cache(maker, index);
  case WO_ACTION_RECORD_STREAM:
    return on_record_stream(maker, index);
  case WO_ACTION_CAPTURE_BEGIN:
  case WO_ACTION_CAPTURE_END:
    return on_capture(maker, index);
  case WO_ACTION_POOL_RELEASE:
    return add_request(maker, WO_REQUEST_POOL_RELEASE, 0, index);
  case WO_ACTION_SETTINGS:
    return add_request(maker, WO_REQUEST_SETTINGS, (uint32_t)entry->size_bytes, index);
  case WO_ACTION_FRACTION:
    return add_request(maker, WO_REQUEST_FRACTION, (uint32_t)(entry->size_bytes & UINT32_MAX), index);
  default:
    return WO_OK;
  }
}

static enum wo_status make_entries(struct wo__maker *maker) {
  for (size_t i = 0; i < maker->trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &maker->trace->entries.items[i];
    enum wo_status status = make_entry(maker, i);
    const bool ends_call = entry->action == WO_ACTION_ALLOC || entry->action == WO_ACTION_OOM;
    if (status == WO_OK && maker->held.count > 0 && ends_call) status = release_completions(maker);
    if (status != WO_OK) return status;
    if (!wo_entry_is(entry, WO_TRAIT_IN_CALL)) {
      maker->is_run_settled = entry->action == WO_ACTION_EMPTY_CACHE;
      maker->is_retry = false;
    }
    status = wo__release_cause_step(&maker->release, entry);
    if (status != WO_OK) return status;
  }
  return release_completions(maker);
}

/* ---- Whole ---- */

/* Checks whether there are completions, and whether some come later than their requests. Makes room for the requests of all other
 * allocations and frees. */
static enum wo_status look_for_completions(struct wo__maker *maker) {
  const struct wo_trace *const trace = maker->trace;
  size_t allocs = 0, frees = 0;
  maker->has_completed = wo_trace_has_completions(trace);
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    allocs += entry->action == WO_ACTION_ALLOC;
    frees += entry->action == WO_ACTION_FREE_REQUESTED;
    if (entry->action != WO_ACTION_FREE_COMPLETED) continue;
    if (i > 0 && !wo_trace_completes_at_once(trace, i)) maker->has_deferred = true;
  }
  const bool has_room = WO_VEC_RESERVE(&maker->pattern->requests, allocs + frees, WO__REQUESTS_MAX) &&
                        WO_VEC_RESERVE(&maker->pattern->instances, allocs, WO__REQUESTS_MAX);
  return has_room ? WO_OK : WO_E_NOMEM;
}

/* Pools that the readings found, numbered after those of the recording. */
static enum wo_status find_pools(struct wo__maker *maker) {
  enum wo_status status = wo__private_pools_find(&maker->pools, maker->recording, maker->trace);
  for (size_t i = 0; maker->readings && i < maker->readings->hidden.count && status == WO_OK; i++) {
    const struct wo__hidden hidden = maker->readings->hidden.items[i];
    const uint32_t pool = hidden.is_named ? hidden.number : (uint32_t)maker->recording->pools.count + hidden.number;
    if (!hidden.is_named && hidden.number >= maker->pattern->hidden_pools) maker->pattern->hidden_pools = hidden.number + 1;
    status = wo__private_pools_hide(&maker->pools, maker->trace, hidden.entry, pool);
  }
  return status;
}

enum wo_status wo__alloc_pattern_read(const struct wo_recording *recording, const struct wo_trace *trace,
                                      struct wo__readings *readings, struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  *ret_pattern = (struct wo_alloc_pattern){.recording = recording};
  struct wo__maker maker = {.recording = recording,
                            .trace = trace,
                            .pattern = ret_pattern,
                            .err = err,
                            .readings = readings,
                            .release = wo__release_cause_begin(recording, trace)};
  enum wo_status status = look_for_completions(&maker);
  if (status == WO_OK) status = find_pools(&maker);
  if (status == WO_OK) status = make_entries(&maker);
  if (status == WO_OK) status = wo__make_untouched(&maker);
  if (status == WO_OK) status = wo__put_in_order(&maker);
  if (status == WO_E_NOMEM) wo_err_set(err, status, "out of memory while the requests of the trace are collected");
  wo_address_table_done(&maker.live);
  wo_address_table_done(&maker.used);
  wo__release_cause_done(&maker.release);
  WO_VEC_DONE(&maker.early);
  WO_VEC_DONE(&maker.held);
  wo__private_pools_done(&maker.pools);
  return status;
}

enum wo_status wo_alloc_pattern_make(const struct wo_recording *recording, const struct wo_trace *trace,
                                     struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  return wo__alloc_pattern_read(recording, trace, NULL, ret_pattern, err);
}

void wo_alloc_pattern_done(struct wo_alloc_pattern *pattern) {
  if (!pattern) return;
  WO_VEC_DONE(&pattern->requests);
  WO_VEC_DONE(&pattern->instances);
  pattern->start_count = 0;
}
