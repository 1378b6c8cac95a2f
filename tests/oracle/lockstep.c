/* SPDX-License-Identifier: Apache-2.0 */
/* The model's side of the oracle: slots of a program, the events that delay frees, and the model over its stand-in device. */
#include "tests/support/replay/allocator_valid.h"
#include "tests/oracle/lockstep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu/standin_device.h"

enum { SLOTS = 4096, STREAMS_PER_BLOCK = 16, MESSAGE_BYTES = 400 };

/* From 2.4 on a block that was freed in a capture waits for no use that was recorded in one. */
enum { CAPTURED_USES_FORGOTTEN = 204 };

/* From 2.13 on a request is part of a capture when its own stream captures; before, when any does, or allocates into a MemPool.
 */
enum { CAPTURE_BY_STREAM = 213, CAPTURES_AT_ONCE = 16 };

/* In 2.12 alone every block has an age of its own, so that the order of merges decides ties. */
enum { BLOCKS_HAVE_AGES = 212 };

struct use {
  uint64_t stream;
  uint64_t number; /* of the event */
  bool is_of_capture;
};

struct slot {
  wo_block_id block; /* WO_NO_BLOCK: nothing */
  uint64_t stream;
  size_t use_count;
  struct use uses[STREAMS_PER_BLOCK];
};

struct wo_lockstep {
  uint16_t torch;
  struct wo_standin standin;
  struct wo_device device;
  struct wo_allocator *allocator;
  struct slot slots[SLOTS];
  struct {
    struct slot slot;
    uint64_t address;
    bool has_events; /* false: freed during a capture */
  } pending[SLOTS];
  size_t pending_count;
  size_t capture_count;
  struct {
    uint64_t pool, stream;
  } captures[CAPTURES_AT_ONCE];
  bool has_waits;
  bool has_pools;
  bool has_refused;
  bool is_in_malloc;
  size_t sync_count;   /* frees that completed inside of the request */
  bool has_open_order; /* several did, and their order decides later ties */
  struct wo_oracle_calls calls;
  struct wo_oracle_calls entries;
  struct wo_oracle_calls order; /* entries of the real one for the request that comes */
  char message[MESSAGE_BYTES];
};

static void *need(void *memory) {
  if (!memory) {
    fputs("oracle: out of memory\n", stderr);
    abort();
  }
  return memory;
}

void wo_oracle_calls_add(struct wo_oracle_calls *calls, struct wo_oracle_call call) {
  if (calls->count == calls->capacity) {
    calls->capacity = calls->capacity ? 2 * calls->capacity : 64;
    calls->items = need(realloc(calls->items, calls->capacity * sizeof *calls->items));
  }
  calls->items[calls->count++] = call;
}

void wo_oracle_calls_join(struct wo_oracle_calls *calls) {
  size_t kept = 0;
  for (size_t i = 0; i < calls->count; i++) {
    const struct wo_oracle_call call = calls->items[i];
    struct wo_oracle_call *last = kept ? &calls->items[kept - 1] : NULL;
    if (last && call.kind == WO_CALL_UNMAP && last->kind == WO_CALL_UNMAP && last->address + last->size_bytes == call.address)
      last->size_bytes += call.size_bytes;
    else
      calls->items[kept++] = call;
  }
  calls->count = kept;
}

static int by_kind_and_address(const void *left, const void *right) {
  const struct wo_oracle_call *a = left;
  const struct wo_oracle_call *b = right;
  if (a->kind != b->kind) return a->kind - b->kind;
  return a->address < b->address ? -1 : a->address > b->address;
}

void wo_oracle_calls_settle(struct wo_oracle_calls *calls, const char *kinds) {
  for (size_t i = 0; i < calls->count; i++) {
    size_t end = i;
    while (end < calls->count && strchr(kinds, calls->items[end].kind)) end++;
    if (end > i + 1) qsort(&calls->items[i], end - i, sizeof *calls->items, by_kind_and_address);
    i = end > i ? end - 1 : i;
  }
}

size_t wo_oracle_calls_differ(const struct wo_oracle_calls *left, const struct wo_oracle_calls *right) {
  const size_t count = left->count < right->count ? left->count : right->count;
  for (size_t i = 0; i < count; i++) {
    const struct wo_oracle_call *a = &left->items[i];
    const struct wo_oracle_call *b = &right->items[i];
    if (a->pool != b->pool && a->pool != WO_ORACLE_ANY_POOL && b->pool != WO_ORACLE_ANY_POOL) return i;
    if (a->kind != b->kind || a->address != b->address || a->size_bytes != b->size_bytes || a->stream != b->stream) return i;
  }
  return left->count == right->count ? SIZE_MAX : count;
}

uint64_t wo_oracle_number(const char **at, const char *end) {
  const char *p = *at;
  uint64_t value = 0;
  while (p < end && *p == ' ') p++;
  while (p < end && *p >= '0' && *p <= '9') value = value * 10 + (uint64_t)(*p++ - '0');
  *at = p;
  return value;
}

/* ---- The model's device ---- */

static void on_call(void *state, enum wo_standin_call call, uint64_t address, uint64_t size_bytes) {
  struct wo_lockstep *lockstep = state;
  wo_oracle_calls_add(&lockstep->calls,
                      (struct wo_oracle_call){.kind = (char)call, .address = address, .size_bytes = size_bytes});
}

/* ---- Events of the model ---- */

static char letter(enum wo_action action) {
  switch (action) {
  case WO_ACTION_ALLOC:
    return 'a';
  case WO_ACTION_FREE_REQUESTED:
    return 'q';
  case WO_ACTION_FREE_COMPLETED:
    return 'c';
  case WO_ACTION_SEGMENT_ALLOC:
    return 's';
  case WO_ACTION_SEGMENT_FREE:
    return 'f';
  case WO_ACTION_SEGMENT_MAP:
    return 'm';
  case WO_ACTION_SEGMENT_UNMAP:
    return 'u';
  case WO_ACTION_OOM:
    return 'o';
  default:
    return 0;
  }
}

/* A block whose free completed waits no more. Where the allocator waited for it, its streams have come that far. */
static void settle_pending(struct wo_lockstep *lockstep, uint64_t address) {
  for (size_t i = 0; i < lockstep->pending_count; i++) {
    if (lockstep->pending[i].address != address) continue;
    const struct slot *slot = &lockstep->pending[i].slot;
    for (size_t k = 0; k < slot->use_count && lockstep->pending[i].has_events; k++) {
      const size_t at = wo_standin_stream(&lockstep->standin, slot->uses[k].stream);
      if (lockstep->standin.streams[at].completed < slot->uses[k].number)
        lockstep->standin.streams[at].completed = slot->uses[k].number;
    }
    lockstep->pending_count--;
    memmove(&lockstep->pending[i], &lockstep->pending[i + 1], (lockstep->pending_count - i) * sizeof *lockstep->pending);
    return;
  }
}

static void on_event(void *state, const struct wo_allocator_event *event) {
  struct wo_lockstep *lockstep = state;
  lockstep->sync_count += event->action == WO_ACTION_FREE_COMPLETED && lockstep->is_in_malloc;
  if (lockstep->sync_count > 1 && lockstep->torch == BLOCKS_HAVE_AGES) lockstep->has_open_order = true;
  if (event->action == WO_ACTION_FREE_COMPLETED) settle_pending(lockstep, event->address);
  const struct wo_oracle_call entry = {letter(event->action), event->address, event->size_bytes, event->stream,
                                       event->pool.second};
  if (entry.kind) wo_oracle_calls_add(&lockstep->entries, entry);
}

static void record_events(struct wo_lockstep *lockstep, size_t pending) {
  struct slot *slot = &lockstep->pending[pending].slot;
  for (size_t k = 0; k < slot->use_count; k++) slot->uses[k].number = wo_standin_record(&lockstep->standin, slot->uses[k].stream);
  lockstep->pending[pending].has_events = true;
}

/* The graph itself orders what was recorded in its capture. */
static void forget_captured_uses(struct slot *slot) {
  size_t kept = 0;
  for (size_t k = 0; k < slot->use_count; k++)
    if (!slot->uses[k].is_of_capture) slot->uses[kept++] = slot->uses[k];
  slot->use_count = kept;
}

/* Events for the blocks that were freed during captures, now that none is under way. */
static void record_deferred(struct wo_lockstep *lockstep) {
  for (size_t i = 0; i < lockstep->pending_count; i++) {
    if (lockstep->pending[i].has_events) continue;
    if (lockstep->torch >= CAPTURED_USES_FORGOTTEN) forget_captured_uses(&lockstep->pending[i].slot);
    record_events(lockstep, i);
  }
}

static bool is_done(struct wo_lockstep *lockstep, const struct slot *slot) {
  for (size_t k = 0; k < slot->use_count; k++)
    if (!wo_standin_is_done(&lockstep->standin, slot->uses[k].stream, slot->uses[k].number)) return false;
  return true;
}

static bool complete_at(struct wo_lockstep *lockstep, uint64_t address) {
  for (size_t i = 0; i < lockstep->pending_count; i++) {
    if (lockstep->pending[i].address != address || !is_done(lockstep, &lockstep->pending[i].slot)) continue;
    wo_allocator_complete(lockstep->allocator, lockstep->pending[i].slot.block);
    return true;
  }
  return false;
}

/* What the allocator does before each request outside of captures: events for blocks that were freed in one, then done ones. The
 * real one's order comes first, where it is known: it walks a hash map of streams. */
static void process_events(struct wo_lockstep *lockstep) {
  record_deferred(lockstep);
  for (size_t i = 0; i < lockstep->order.count; i++)
    if (lockstep->order.items[i].kind == 'c') complete_at(lockstep, lockstep->order.items[i].address);
  for (size_t i = 0; i < lockstep->pending_count;)
    if (!complete_at(lockstep, lockstep->pending[i].address)) i++;
}

/* ---- Requests ---- */

static bool stopped(struct wo_lockstep *lockstep, enum wo_status status) {
  lockstep->has_refused = status == WO_E_USAGE;
  snprintf(lockstep->message, sizeof lockstep->message, "%s: %s", wo_status_text(status),
           wo_allocator_message(lockstep->allocator));
  return false;
}

static bool is_in_capture(const struct wo_lockstep *lockstep, uint64_t stream) {
  for (size_t i = 0; i < lockstep->capture_count; i++)
    if (lockstep->torch < CAPTURE_BY_STREAM || lockstep->captures[i].stream == stream) return true;
  return false;
}

static bool run_malloc(struct wo_lockstep *lockstep, const char *at, const char *end, uint64_t *ret_address) {
  struct slot *slot = &lockstep->slots[wo_oracle_number(&at, end) % SLOTS];
  const uint64_t size_bytes = wo_oracle_number(&at, end);
  const uint64_t stream = wo_oracle_number(&at, end);
  *slot = (struct slot){.block = WO_NO_BLOCK, .stream = stream};
  if (!is_in_capture(lockstep, stream)) process_events(lockstep);
  lockstep->sync_count = 0;
  lockstep->is_in_malloc = true;
  const enum wo_status status = wo_allocator_malloc(lockstep->allocator, size_bytes, stream, &slot->block);
  lockstep->is_in_malloc = false;
  *ret_address = 0;
  if (status == WO_OK)
    *ret_address = wo_allocator_address(lockstep->allocator, slot->block);
  else
    slot->block = WO_NO_BLOCK;
  return status == WO_OK || status == WO_E_LIMIT || stopped(lockstep, status);
}

static bool run_free(struct wo_lockstep *lockstep, const char *at, const char *end) {
  struct slot *slot = &lockstep->slots[wo_oracle_number(&at, end) % SLOTS];
  if (slot->block == WO_NO_BLOCK) return true;
  const size_t place = lockstep->pending_count;
  if (slot->use_count) {
    assert(place < SLOTS);
    lockstep->pending[place].slot = *slot;
    lockstep->pending[place].address = wo_allocator_address(lockstep->allocator, slot->block);
    lockstep->pending[place].has_events = false;
    lockstep->pending_count++;
    if (lockstep->capture_count == 0) record_events(lockstep, place);
  }
  wo_allocator_free_block(lockstep->allocator, slot->block, false);
  slot->block = WO_NO_BLOCK;
  return true;
}

static bool run_record_stream(struct wo_lockstep *lockstep, const char *at, const char *end) {
  struct slot *slot = &lockstep->slots[wo_oracle_number(&at, end) % SLOTS];
  const uint64_t stream = wo_oracle_number(&at, end);
  if (slot->block == WO_NO_BLOCK) return true;
  const enum wo_status status = wo_allocator_record_stream(lockstep->allocator, slot->block, stream);
  if (status != WO_OK) return stopped(lockstep, status);
  if (stream == slot->stream) return true;
  size_t place = 0;
  while (place < slot->use_count && slot->uses[place].stream != stream) place++;
  assert(place < STREAMS_PER_BLOCK);
  slot->use_count += place == slot->use_count;
  slot->uses[place].stream = stream;
  slot->uses[place].is_of_capture = slot->uses[place].is_of_capture || lockstep->capture_count > 0;
  lockstep->has_waits = true;
  return true;
}

static bool run_settings(struct wo_lockstep *lockstep, const char *at, const char *end) {
  struct wo_err err;
  while (at < end && *at == ' ') at++;
  const struct wo_view text = {at, (size_t)(end - at)};
  if (wo_allocator_set_text(lockstep->allocator, text, &err) == WO_OK) return true;
  snprintf(lockstep->message, sizeof lockstep->message, "settings: %s", err.message);
  return false;
}

static void note_capture(struct wo_lockstep *lockstep, uint64_t pool, uint64_t stream) {
  assert(lockstep->capture_count < CAPTURES_AT_ONCE);
  lockstep->captures[lockstep->capture_count].pool = pool;
  lockstep->captures[lockstep->capture_count++].stream = stream;
}

static void note_capture_end(struct wo_lockstep *lockstep, uint64_t pool) {
  size_t kept = 0;
  for (size_t i = 0; i < lockstep->capture_count; i++)
    if (lockstep->captures[i].pool != pool) lockstep->captures[kept++] = lockstep->captures[i];
  lockstep->capture_count = kept;
}

static bool run_pool(struct wo_lockstep *lockstep, char request, const char *at, const char *end) {
  const struct wo_pool_id pool = {0, wo_oracle_number(&at, end)};
  enum wo_status status = WO_OK;
  if (request == 'b' || request == 'u') {
    const uint64_t stream = wo_oracle_number(&at, end);
    status = wo_allocator_pool_begin(lockstep->allocator, pool, stream, request == 'b');
    if (request == 'b' || lockstep->torch < CAPTURE_BY_STREAM) note_capture(lockstep, pool.second, stream);
    lockstep->has_pools = true;
  } else if (request == 'e') {
    status = wo_allocator_pool_end(lockstep->allocator, pool);
    note_capture_end(lockstep, pool.second);
  } else {
    status = wo_allocator_pool_release(lockstep->allocator, pool);
  }
  return status == WO_OK || stopped(lockstep, status);
}

static bool run_fraction(struct wo_lockstep *lockstep, const char *at, const char *end) {
  struct wo_alloc_settings settings = *wo_allocator_settings(lockstep->allocator);
  settings.memory_fraction = (double)wo_oracle_number(&at, end) / 1e6;
  wo_allocator_set(lockstep->allocator, &settings);
  return true;
}

/* Emptying the cache waits for everything. Where blocks have ages, the order in which frees complete is in what follows. */
static void prepare_release(struct wo_lockstep *lockstep) {
  if (lockstep->capture_count > 0) return;
  record_deferred(lockstep);
  for (size_t i = 0; i < lockstep->standin.stream_count && lockstep->torch == BLOCKS_HAVE_AGES; i++)
    wo_standin_complete(&lockstep->standin, lockstep->standin.streams[i].raw);
  if (lockstep->torch == BLOCKS_HAVE_AGES) process_events(lockstep);
}

bool wo_lockstep_run(struct wo_lockstep *lockstep, const char *line, size_t length, uint64_t *ret_address) {
  const char *at = line + 1;
  const char *end = line + length;
  enum wo_status status = WO_OK;
  lockstep->calls.count = 0;
  *ret_address = 0;
  switch (line[0]) {
  case 'm':
    return run_malloc(lockstep, at, end, ret_address);
  case 'f':
    return run_free(lockstep, at, end);
  case 'r':
    return run_record_stream(lockstep, at, end);
  case 's':
    return run_settings(lockstep, at, end);
  case 'p':
    return run_fraction(lockstep, at, end);
  case 'b':
  case 'u':
  case 'e':
  case 'd':
    return run_pool(lockstep, line[0], at, end);
  case 'c':
    wo_standin_complete(&lockstep->standin, wo_oracle_number(&at, end));
    return true;
  case 'k':
    lockstep->standin.capacity_bytes = wo_oracle_number(&at, end);
    return true;
  case 'x':
    prepare_release(lockstep);
    status = wo_allocator_empty_cache(lockstep->allocator);
    return status == WO_OK || stopped(lockstep, status);
  default:
    return true;
  }
}

bool wo_lockstep_begin(struct wo_lockstep *lockstep, const char *line, size_t length) {
  const char *at = line + 1;
  const char *end = line + length;
  (void)wo_oracle_number(&at, end);
  const uint64_t total_bytes = wo_oracle_number(&at, end);
  const enum wo_standin_policy policy = (enum wo_standin_policy)wo_oracle_number(&at, end);
  wo_standin_reset(&lockstep->standin, total_bytes, policy, wo_oracle_number(&at, end));
  lockstep->allocator = wo_allocator_free(lockstep->allocator);
  for (size_t i = 0; i < SLOTS; i++) lockstep->slots[i].block = WO_NO_BLOCK;
  lockstep->pending_count = 0;
  lockstep->capture_count = 0;
  lockstep->has_waits = false;
  lockstep->has_pools = false;
  lockstep->has_refused = false;
  lockstep->has_open_order = false;
  lockstep->calls.count = 0;
  lockstep->entries.count = 0;
  lockstep->order.count = 0;
  struct wo_allocator_options options = {.settings = wo_alloc_settings_default(lockstep->torch),
                                         .torch = lockstep->torch,
                                         .device = &lockstep->device,
                                         .observer = {.state = lockstep, .on_event = on_event}};
  struct wo_err err;
  while (at < end && *at == ' ') at++;
  const struct wo_view text = {at, (size_t)(end - at)};
  if (wo_alloc_settings_parse(text, lockstep->torch, &options.settings, &err) == WO_OK &&
      wo_allocator_new(&options, &lockstep->allocator, &err) == WO_OK)
    return true;
  snprintf(lockstep->message, sizeof lockstep->message, "%s", err.message);
  return false;
}

/* ---- Making and looking ---- */

struct wo_lockstep *wo_lockstep_new(uint16_t torch) {
  struct wo_lockstep *lockstep = need(calloc(1, sizeof *lockstep));
  lockstep->torch = torch;
  lockstep->standin.state = lockstep;
  lockstep->standin.on_call = on_call;
  lockstep->device = wo_standin_device(&lockstep->standin);
  return lockstep;
}

struct wo_lockstep *wo_lockstep_free(struct wo_lockstep *lockstep) {
  if (lockstep) {
    wo_allocator_free(lockstep->allocator);
    free(lockstep->calls.items);
    free(lockstep->entries.items);
    free(lockstep->order.items);
    free(lockstep);
  }
  return NULL;
}

void wo_lockstep_follow(struct wo_lockstep *lockstep, const struct wo_oracle_calls *entries, size_t from) {
  lockstep->order.count = 0;
  for (size_t i = from; i < entries->count; i++) wo_oracle_calls_add(&lockstep->order, entries->items[i]);
}

bool wo_lockstep_has_open_order(const struct wo_lockstep *lockstep) {
  return lockstep->has_open_order;
}

bool wo_lockstep_has_refused(const struct wo_lockstep *lockstep) {
  return lockstep->has_refused;
}

struct wo_oracle_calls *wo_lockstep_calls(struct wo_lockstep *lockstep) {
  return &lockstep->calls;
}

struct wo_oracle_calls *wo_lockstep_entries(struct wo_lockstep *lockstep) {
  return &lockstep->entries;
}

bool wo_lockstep_has_waits(const struct wo_lockstep *lockstep) {
  return lockstep->has_waits;
}

bool wo_lockstep_has_pools(const struct wo_lockstep *lockstep) {
  return lockstep->has_pools;
}

const struct wo_allocator *wo_lockstep_allocator(const struct wo_lockstep *lockstep) {
  return lockstep->allocator;
}

const char *wo_lockstep_message(const struct wo_lockstep *lockstep) {
  return lockstep->message;
}

static uint64_t *put_stat(uint64_t *at, const struct wo_stat *stat) {
  *at++ = (uint64_t)stat->current;
  *at++ = (uint64_t)stat->peak;
  *at++ = (uint64_t)stat->allocated;
  *at++ = (uint64_t)stat->freed;
  return at;
}

static uint64_t *put_stats(uint64_t *at, const struct wo_stat stats[WO_STAT_POOL_COUNT_]) {
  for (size_t i = 0; i < WO_STAT_POOL_COUNT_; i++) at = put_stat(at, &stats[i]);
  return at;
}

void wo_lockstep_statistics(const struct wo_lockstep *lockstep, uint64_t ret_values[WO_ORACLE_STATISTICS]) {
  const struct wo_allocator_stats *stats = wo_allocator_stats(lockstep->allocator);
  uint64_t *at = ret_values;
  at = put_stats(at, stats->allocation);
  at = put_stats(at, stats->segment);
  at = put_stats(at, stats->active);
  at = put_stats(at, stats->inactive_split);
  at = put_stats(at, stats->allocated_bytes);
  at = put_stats(at, stats->reserved_bytes);
  at = put_stats(at, stats->active_bytes);
  at = put_stats(at, stats->inactive_split_bytes);
  at = put_stats(at, stats->requested_bytes);
  at = put_stat(at, &stats->oversize_allocations);
  at = put_stat(at, &stats->oversize_segments);
  *at++ = stats->num_alloc_retries;
  *at++ = stats->num_ooms;
  *at++ = stats->num_sync_all_streams;
  *at++ = stats->num_device_alloc;
  *at++ = stats->num_device_free;
  assert(at == ret_values + WO_ORACLE_STATISTICS);
}
