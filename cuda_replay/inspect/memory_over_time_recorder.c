/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of memory over time: sums the steps of one run up in bins, and names the blocks of the segment map.
 *
 * A step has totals only. Their change belongs to the class of the request's allocation, so classes add up to the allocated
 * bytes, and no size needs to be kept for each allocation. The allocator's events have the address of an allocation; it is kept
 * only for allocations that are alive when the map is taken. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/inspect/memory_over_time_internal.h"
#include "parsers/base/vec.h"

struct wo_memory_recorder {
  const struct wo_alloc_pattern *pattern;
  const struct wo_trace *trace;
  const struct wo_start *start;
  uint32_t map_at;
  struct wo_memory_over_time memory;
  bool has_begun;
  bool is_failed;
  bool has_address; /* the step's allocation succeeded, at this address */
  uint64_t address;
  uint64_t allocated_bytes; /* after the last step */
  uint64_t class_bytes[WO_CLASS_COUNT_];
  size_t start_seen;                  /* allocations of the live set that the events have shown */
  uint64_t *is_alive;                 /* a bit for each instance: in use when the map is taken. NULL without a map */
  WO_VEC(struct wo_map_place) places; /* in the order of their births */
  uint64_t probe_ooms;                /* refused requests that the program went on without */
};

/* The values after a step. */
struct sample {
  uint32_t request;
  uint32_t entry;
  int64_t time_us;
  uint64_t bytes[WO_MEMORY_SERIES_COUNT_];
  uint64_t high_bytes[WO_MEMORY_SERIES_COUNT_]; /* during the step: above bytes if a request was served and given back */
  enum wo_alloc_class class_;                   /* the class whose bytes reached the highest value */
};

/* ---- Classes ---- */

/* The caller may classify the pattern with any value; an invalid one counts as unknown. */
static enum wo_alloc_class class_of(const struct wo_memory_recorder *recorder, uint32_t instance) {
  if (instance >= recorder->pattern->instances.count) return WO_CLASS_UNKNOWN;
  const unsigned class_ = recorder->pattern->instances.items[instance].class_;
  return class_ < WO_CLASS_COUNT_ ? (enum wo_alloc_class)class_ : WO_CLASS_UNKNOWN;
}

/* Takes bytes from a class; if it has too few, from the unknown ones and then from any class: the sum must be right. */
static void take_from_class(struct wo_memory_recorder *recorder, enum wo_alloc_class class_, uint64_t bytes) {
  uint64_t *const own = &recorder->class_bytes[class_];
  const uint64_t taken = bytes < *own ? bytes : *own;
  *own -= taken;
  bytes -= taken;
  for (int i = 0; i < WO_CLASS_COUNT_ && bytes > 0; i++) {
    const uint64_t more = bytes < recorder->class_bytes[i] ? bytes : recorder->class_bytes[i];
    recorder->class_bytes[i] -= more;
    bytes -= more;
  }
  assert(bytes == 0);
}

/* Adjusts the sum of classes to the allocated bytes; the difference belongs to class_. */
static void follow_classes(struct wo_memory_recorder *recorder, enum wo_alloc_class class_, uint64_t allocated_bytes) {
  const uint64_t before = recorder->allocated_bytes;
  if (allocated_bytes >= before) {
    recorder->class_bytes[class_] += allocated_bytes - before;
  } else {
    take_from_class(recorder, class_, before - allocated_bytes);
  }
  recorder->allocated_bytes = allocated_bytes;
}

/* Counts a map's allocated blocks by class, from zero. */
static void count_classes(struct wo_memory_recorder *recorder, const struct wo_segment_map *map) {
  for (size_t i = 0; i < map->blocks.count; i++) {
    const struct wo_map_block *const block = &map->blocks.items[i];
    if (block->state != WO_BLOCK_ALLOCATED) continue;
    recorder->class_bytes[class_of(recorder, block->instance)] += block->size_bytes;
    recorder->allocated_bytes += block->size_bytes;
  }
}

/* ---- Bins ---- */

/* Requests that a transform added have no entry, and therefore no time. */
static int64_t time_of(const struct wo_memory_recorder *recorder, uint32_t entry) {
  if (!recorder->trace || entry >= recorder->trace->entries.count) return WO_NO_TIME;
  return recorder->trace->entries.items[entry].time_us;
}

/* The part of the reserved bytes that no allocation has. Without reserved bytes it is 0. */
static double fragmentation(const struct sample *sample) {
  const uint64_t reserved = sample->bytes[WO_MEMORY_RESERVED];
  return reserved == 0 ? 0.0 : (double)sample->bytes[WO_MEMORY_UNUSED] / (double)reserved;
}

/* A bin of one step. Bytes that the step reached and gave back belong to the class of its request. */
static struct wo_memory_bin bin_of(const struct wo_memory_recorder *recorder, const struct sample *sample) {
  struct wo_memory_bin bin = {.count = 1, .first_us = sample->time_us, .last_us = sample->time_us};
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) {
    bin.low_bytes[i] = bin.last_bytes[i] = sample->bytes[i];
    bin.high_bytes[i] = sample->high_bytes[i];
  }
  for (int i = 0; i < WO_CLASS_COUNT_; i++) bin.top_class_bytes[i] = bin.last_class_bytes[i] = recorder->class_bytes[i];
  bin.top_class_bytes[sample->class_] += sample->high_bytes[WO_MEMORY_ALLOCATED] - sample->bytes[WO_MEMORY_ALLOCATED];
  bin.low_fragmentation = bin.high_fragmentation = bin.last_fragmentation = fragmentation(sample);
  return bin;
}

/* The first of two times; the other one if it is not known. */
static int64_t known_time(int64_t first_us, int64_t second_us) {
  return first_us != WO_NO_TIME ? first_us : second_us;
}

/* Lowest and highest values of two bins are joined separately; classes are taken together, from the moment that was higher. Of
 * equal moments the earlier one stays, so that the order in which bins are joined does not matter. */
static void join_bins(struct wo_memory_bin *a, const struct wo_memory_bin *b) {
  if (b->high_bytes[WO_MEMORY_ALLOCATED] > a->high_bytes[WO_MEMORY_ALLOCATED]) {
    memcpy(a->top_class_bytes, b->top_class_bytes, sizeof a->top_class_bytes);
  }
  memcpy(a->last_class_bytes, b->last_class_bytes, sizeof a->last_class_bytes);
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) {
    if (b->low_bytes[i] < a->low_bytes[i]) a->low_bytes[i] = b->low_bytes[i];
    if (b->high_bytes[i] > a->high_bytes[i]) a->high_bytes[i] = b->high_bytes[i];
    a->last_bytes[i] = b->last_bytes[i];
  }
  if (b->low_fragmentation < a->low_fragmentation) a->low_fragmentation = b->low_fragmentation;
  if (b->high_fragmentation > a->high_fragmentation) a->high_fragmentation = b->high_fragmentation;
  a->last_fragmentation = b->last_fragmentation;
  a->first_us = known_time(a->first_us, b->first_us);
  a->last_us = known_time(b->last_us, a->last_us);
  a->count += b->count;
  a->oom_count += b->oom_count;
}

/* Joins neighbours, so that half of the bins are free again. */
static void widen(struct wo_memory_over_time *memory) {
  const size_t count = memory->bin_count;
  assert(memory->bin_requests <= UINT32_MAX / 2);
  for (size_t i = 0; i < count; i += 2) {
    if (i + 1 < count) join_bins(&memory->bins[i], &memory->bins[i + 1]);
    memory->bins[i / 2] = memory->bins[i];
  }
  memory->bin_count = (count + 1) / 2;
  memory->bin_requests *= 2;
}

/* Adds a step to the bin of its index. A run may skip requests: they count as their neighbours do. */
static void add_to_bins(struct wo_memory_recorder *recorder, const struct sample *sample) {
  struct wo_memory_over_time *const memory = &recorder->memory;
  while (sample->request / memory->bin_requests >= WO_MEMORY_BINS_MAX) widen(memory);
  const size_t slot = sample->request / memory->bin_requests;
  struct wo_memory_bin bin = bin_of(recorder, sample);
  while (memory->bin_count <= slot) {
    const uint32_t first = (uint32_t)memory->bin_count * memory->bin_requests;
    struct wo_memory_bin *const fresh = &memory->bins[memory->bin_count++];
    if (fresh > memory->bins) fresh[-1].count = memory->bin_requests;
    *fresh = bin;
    fresh->first = first;
    fresh->count = memory->bin_requests;
  }
  assert(slot + 1 == memory->bin_count); /* requests come in their order */
  struct wo_memory_bin *const last = &memory->bins[slot];
  bin.count = 0;
  join_bins(last, &bin);
  last->count = sample->request + 1 - last->first;
  memory->request_count = sample->request + 1;
}

/* ---- Peaks ---- */

/* The place of a value: request, entry and time. */
static struct wo_memory_place place_of(const struct sample *sample, uint64_t bytes) {
  return (struct wo_memory_place){.bytes = bytes, .request = sample->request, .entry = sample->entry, .time_us = sample->time_us};
}

/* Strictly greater: of equal moments the first one is kept, as in wo_replay_outcome. */
static void follow_peaks(struct wo_memory_recorder *recorder, const struct sample *sample) {
  struct wo_memory_over_time *const memory = &recorder->memory;
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) {
    if (sample->high_bytes[i] > memory->peak[i].bytes) memory->peak[i] = place_of(sample, sample->high_bytes[i]);
  }
  for (int i = 0; i < WO_CLASS_COUNT_; i++) {
    uint64_t bytes = recorder->class_bytes[i];
    if (i == (int)sample->class_) bytes += sample->high_bytes[WO_MEMORY_ALLOCATED] - sample->bytes[WO_MEMORY_ALLOCATED];
    if (bytes > memory->class_peak[i].bytes) memory->class_peak[i] = place_of(sample, bytes);
  }
}

/* torch counts failures. The allocator keeps only the last one, but users ask about the first one. A refused probe is none. */
static void follow_ooms(struct wo_memory_recorder *recorder, const struct sample *sample, const struct wo_allocator *allocator,
                        bool is_probe) {
  struct wo_memory_over_time *const memory = &recorder->memory;
  const uint64_t count = wo_allocator_stats(allocator)->num_ooms - recorder->probe_ooms;
  if (count <= memory->oom_count) return;
  if (is_probe) {
    recorder->probe_ooms += count - memory->oom_count;
    return;
  }
  if (!memory->has_oom) memory->oom = *wo_allocator_last_oom(allocator);
  if (memory->oom_count < WO_MEMORY_OOMS_MAX) {
    memory->ooms[memory->oom_kept++] = place_of(sample, sample->bytes[WO_MEMORY_ALLOCATED]);
  }
  memory->has_oom = true;
  memory->bins[memory->bin_count - 1].oom_count += count - memory->oom_count;
  memory->oom_count = count;
}

/* ---- Steps ---- */

/* Notes the address of an instance. If memory is out, the recording ends, the run does not. */
static void add_place(struct wo_memory_recorder *recorder, uint32_t instance, uint64_t address) {
  if (!WO_VEC_RESERVE(&recorder->places, 1, UINT32_MAX)) {
    recorder->is_failed = true;
    return;
  }
  recorder->places.items[recorder->places.count++] = (struct wo_map_place){.address = address, .instance = instance};
}

/* One bit for each instance, so that a long run keeps nothing for short-lived allocations. */
static bool is_alive_at_map(const struct wo_memory_recorder *recorder, uint32_t instance) {
  return recorder->is_alive && instance < recorder->pattern->instances.count &&
         (recorder->is_alive[instance / 64] >> (instance % 64) & 1) != 0;
}

/* Before the first request, every allocation belongs to the live set, in the pattern's order; one that fails counts too. */
static void on_event(void *state, const struct wo_allocator_event *event) {
  struct wo_memory_recorder *const recorder = state;
  const bool is_alloc = event->action == WO_ACTION_ALLOC;
  if (!is_alloc && event->action != WO_ACTION_OOM) return;
  recorder->has_address = is_alloc;
  recorder->address = event->address;
  if (recorder->has_begun || recorder->start || recorder->start_seen >= recorder->pattern->start_count) return;
  if (is_alloc) add_place(recorder, (uint32_t)recorder->start_seen, event->address);
  recorder->start_seen++;
}

/* The classes after the first request: counted once, block by block. */
static void begin(struct wo_memory_recorder *recorder, const struct wo_allocator *allocator) {
  struct wo_segment_map map = {0};
  recorder->has_begun = true;
  if (wo_segment_map_take(allocator, &map) != WO_OK) {
    recorder->is_failed = true;
    return;
  }
  wo_segment_map_name(&map, recorder->places.items, recorder->places.count);
  memset(recorder->class_bytes, 0, sizeof recorder->class_bytes);
  recorder->allocated_bytes = 0;
  count_classes(recorder, &map);
  wo_segment_map_done(&map);
}

/* Keeps only the places that the map needs: at the beginning all were needed. The map's sort has changed their order, which does
 * not matter because nothing was freed and allocated again yet. */
static void keep_places_alive(struct wo_memory_recorder *recorder) {
  size_t kept = 0;
  for (size_t i = 0; i < recorder->places.count; i++) {
    if (!is_alive_at_map(recorder, recorder->places.items[i].instance)) continue;
    recorder->places.items[kept++] = recorder->places.items[i];
  }
  recorder->places.count = kept;
}

/* Reads one of torch's statistics. Its highest value rises in a step only if that step reached it. */
static void follow_stat(const struct wo_memory_recorder *recorder, struct sample *sample, enum wo_memory_series series,
                        const struct wo_stat *stat) {
  assert(stat->current >= 0 && stat->peak >= stat->current);
  sample->bytes[series] = sample->high_bytes[series] = (uint64_t)stat->current;
  if ((uint64_t)stat->peak > recorder->memory.peak[series].bytes) sample->high_bytes[series] = (uint64_t)stat->peak;
}

/* Reads all series from the statistics, which torch updates in every call. */
static struct sample sample_of(const struct wo_memory_recorder *recorder, size_t request, const struct wo_allocator *allocator) {
  const struct wo_allocator_stats *const stats = wo_allocator_stats(allocator);
  const struct wo_request *const asked = &recorder->pattern->requests.items[request];
  const bool has_instance = asked->kind <= WO_REQUEST_COMPLETE;
  struct sample sample = {.request = (uint32_t)request, .entry = asked->entry, .time_us = time_of(recorder, asked->entry)};
  sample.class_ = has_instance ? class_of(recorder, asked->subject) : WO_CLASS_UNKNOWN;
  follow_stat(recorder, &sample, WO_MEMORY_RESERVED, &stats->reserved_bytes[WO_STAT_ALL]);
  follow_stat(recorder, &sample, WO_MEMORY_ALLOCATED, &stats->allocated_bytes[WO_STAT_ALL]);
  follow_stat(recorder, &sample, WO_MEMORY_ACTIVE, &stats->active_bytes[WO_STAT_ALL]);
  follow_stat(recorder, &sample, WO_MEMORY_REQUESTED, &stats->requested_bytes[WO_STAT_ALL]);
  assert(sample.bytes[WO_MEMORY_ALLOCATED] <= sample.bytes[WO_MEMORY_RESERVED]);
  const uint64_t unused = sample.bytes[WO_MEMORY_RESERVED] - sample.bytes[WO_MEMORY_ALLOCATED];
  sample.bytes[WO_MEMORY_UNUSED] = sample.high_bytes[WO_MEMORY_UNUSED] = unused;
  return sample;
}

/* Times need not rise in an invented file: the first and the last known one are kept, and no order is assumed. */
static void add_sample(struct wo_memory_recorder *recorder, const struct sample *sample) {
  add_to_bins(recorder, sample);
  follow_peaks(recorder, sample);
  if (sample->time_us == WO_NO_TIME) return;
  if (recorder->memory.first_us == WO_NO_TIME) recorder->memory.first_us = sample->time_us;
  recorder->memory.last_us = sample->time_us;
}

/* The order matters: the address of the allocation must be known before the map is taken, and classes before the step is summed
 * up. */
static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct wo_memory_recorder *const recorder = state;
  if (recorder->is_failed || request >= recorder->pattern->requests.count) return;
  const struct wo_request *const asked = &recorder->pattern->requests.items[request];
  const struct sample sample = sample_of(recorder, request, allocator);
  const bool is_first = !recorder->has_begun;
  const bool is_placed = asked->kind == WO_REQUEST_ALLOC && recorder->has_address;
  if (is_placed && (is_first || is_alive_at_map(recorder, asked->subject))) {
    add_place(recorder, asked->subject, recorder->address);
  }
  recorder->has_address = false;
  if (is_first) {
    begin(recorder, allocator);
    keep_places_alive(recorder);
  }
  follow_classes(recorder, sample.class_, sample.bytes[WO_MEMORY_ALLOCATED]);
  add_sample(recorder, &sample);
  follow_ooms(recorder, &sample, allocator, asked->kind == WO_REQUEST_PROBE);
  if (request != recorder->map_at || recorder->memory.map.segments.count > 0) return;
  if (wo_segment_map_take(allocator, &recorder->memory.map) != WO_OK) recorder->is_failed = true;
  recorder->memory.map.request = (uint32_t)request;
  wo_segment_map_name(&recorder->memory.map, recorder->places.items, recorder->places.count);
}

/* ---- The start ---- */

/* The map of a start state: its blocks in use are the pattern's live set, in the same order. */
static bool map_of_start(const struct wo_start *start, size_t start_count, struct wo_segment_map *ret_map) {
  struct wo_segment_map map = {.request = WO_NO_REQUEST};
  uint32_t instance = 0;
  size_t at = 0;
  bool is_whole = WO_VEC_RESERVE(&map.segments, start->segments.count, UINT32_MAX) &&
                  WO_VEC_RESERVE(&map.blocks, start->blocks.count, UINT32_MAX);
  for (size_t i = 0; i < start->segments.count && is_whole; i++) {
    is_whole = wo_segment_map_add(&map, &start->segments.items[i], start->blocks.items + at, start->block_counts.items[i]);
    at += start->block_counts.items[i];
  }
  for (size_t i = 0; i < map.blocks.count && is_whole; i++) {
    if (map.blocks.items[i].state != WO_BLOCK_FREE && instance < start_count) map.blocks.items[i].instance = instance++;
  }
  if (!is_whole) wo_segment_map_done(&map);
  *ret_map = map;
  return is_whole;
}

/* The state before the first request, as a sample of its own: it may be the peak, and without requests it is the only one. */
static void add_start(struct wo_memory_recorder *recorder) {
  struct wo_segment_map map = {0};
  if (!map_of_start(recorder->start, recorder->pattern->start_count, &map)) {
    recorder->is_failed = true;
    return;
  }
  struct sample sample = {.request = 0, .entry = WO_NO_ENTRY, .time_us = WO_NO_TIME};
  for (size_t i = 0; i < map.blocks.count; i++) {
    const struct wo_map_block *const block = &map.blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    sample.bytes[WO_MEMORY_ACTIVE] += block->size_bytes;
    if (block->state == WO_BLOCK_ALLOCATED) sample.bytes[WO_MEMORY_REQUESTED] += block->requested_bytes;
    if (block->instance != WO_NO_INSTANCE) add_place(recorder, block->instance, block->address);
  }
  count_classes(recorder, &map);
  sample.bytes[WO_MEMORY_RESERVED] = map.reserved_bytes;
  sample.bytes[WO_MEMORY_ALLOCATED] = recorder->allocated_bytes;
  sample.bytes[WO_MEMORY_UNUSED] = map.reserved_bytes - recorder->allocated_bytes;
  memcpy(sample.high_bytes, sample.bytes, sizeof sample.high_bytes);
  add_to_bins(recorder, &sample);
  sample.request = WO_NO_REQUEST;
  follow_peaks(recorder, &sample);
  if (recorder->map_at == WO_MAP_AT_START) {
    recorder->memory.map = map;
    return;
  }
  wo_segment_map_done(&map);
}

/* ---- Making and finishing ---- */

/* Marks the instances that are in use after request map_at. */
static bool mark_alive(struct wo_memory_recorder *recorder) {
  const struct wo_alloc_pattern *const pattern = recorder->pattern;
  recorder->is_alive = calloc(pattern->instances.count / 64 + 1, sizeof *recorder->is_alive);
  if (!recorder->is_alive) return false;
  for (size_t i = 0; i < pattern->start_count; i++) recorder->is_alive[i / 64] |= UINT64_C(1) << (i % 64);
  for (size_t i = 0; i < pattern->requests.count && i <= recorder->map_at; i++) {
    const struct wo_request request = pattern->requests.items[i];
    const uint64_t bit = UINT64_C(1) << (request.subject % 64);
    if (request.kind > WO_REQUEST_COMPLETE || request.subject >= pattern->instances.count) continue;
    /* A request that was refused in the recorded run dies in its own step. */
    const bool is_refused = pattern->instances.items[request.subject].death == i;
    if (request.kind == WO_REQUEST_ALLOC && !is_refused) recorder->is_alive[request.subject / 64] |= bit;
    if (request.kind == WO_REQUEST_FREE || request.kind == WO_REQUEST_COMPLETE) recorder->is_alive[request.subject / 64] &= ~bit;
  }
  return true;
}

static void recorder_free(struct wo_memory_recorder *recorder) {
  WO_VEC_DONE(&recorder->places);
  free(recorder->is_alive);
  wo_memory_over_time_done(&recorder->memory);
  free(recorder);
}

/* Allocates everything that can be too large for the memory, except the places of blocks. */
struct wo_memory_recorder *wo_memory_recorder_new(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                                  const struct wo_start *start, uint32_t map_at) {
  struct wo_memory_recorder *const recorder = calloc(1, sizeof *recorder);
  if (!recorder) return NULL;
  recorder->pattern = pattern;
  recorder->trace = trace;
  recorder->start = start;
  recorder->map_at = map_at;
  recorder->memory.bin_requests = 1;
  recorder->memory.first_us = recorder->memory.last_us = WO_NO_TIME;
  recorder->memory.bins = calloc(WO_MEMORY_BINS_MAX, sizeof *recorder->memory.bins);
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) recorder->memory.peak[i] = wo_memory_no_place();
  for (int i = 0; i < WO_CLASS_COUNT_; i++) recorder->memory.class_peak[i] = wo_memory_no_place();
  recorder->is_failed = !recorder->memory.bins || (map_at < WO_MAP_AT_START && !mark_alive(recorder));
  if (start && !recorder->is_failed) add_start(recorder);
  if (!recorder->is_failed) return recorder;
  recorder_free(recorder);
  return NULL;
}

struct wo_replay_observer wo_memory_recorder_steps(struct wo_memory_recorder *recorder) {
  return (struct wo_replay_observer){.state = recorder, .on_step = on_step};
}

struct wo_allocator_observer wo_memory_recorder_events(struct wo_memory_recorder *recorder) {
  return (struct wo_allocator_observer){.state = recorder, .on_event = on_event};
}

/* Moves memory over time: its bins and its map change their owner, nothing is copied. */
enum wo_status wo_memory_recorder_finish(struct wo_memory_recorder *recorder, struct wo_memory_over_time *ret_memory) {
  const bool is_failed = recorder->is_failed;
  assert(is_failed || recorder->memory.bin_count <= WO_MEMORY_BINS_MAX);
  if (!is_failed) {
    *ret_memory = recorder->memory;
    recorder->memory = (struct wo_memory_over_time){0};
  }
  recorder_free(recorder);
  return is_failed ? WO_E_NOMEM : WO_OK;
}

/* ---- Reading ---- */

/* Whole bins only: a column that began inside a bin would show a height that belongs to its neighbour. */
size_t wo_memory_columns(const struct wo_memory_over_time *memory, size_t count, struct wo_memory_bin *columns) {
  assert(count > 0);
  const size_t bins_per_column = (memory->bin_count + count - 1) / count;
  size_t made = 0;
  for (size_t i = 0; i < memory->bin_count; i++) {
    if (i % bins_per_column == 0) {
      columns[made++] = memory->bins[i];
    } else {
      join_bins(&columns[made - 1], &memory->bins[i]);
    }
  }
  assert(made <= count);
  return made;
}

struct wo_memory_place wo_memory_no_place(void) {
  return (struct wo_memory_place){.request = WO_NO_REQUEST, .entry = WO_NO_ENTRY, .time_us = WO_NO_TIME};
}

void wo_memory_over_time_done(struct wo_memory_over_time *memory) {
  if (!memory) return;
  wo_segment_map_done(&memory->map);
  free(memory->bins);
  *memory = (struct wo_memory_over_time){0};
}
