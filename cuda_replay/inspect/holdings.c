/* SPDX-License-Identifier: Apache-2.0 */
/* From the segments of a snapshot to the holders of its memory. See holdings.h. */
#include "cuda_replay/inspect/holdings.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/collections/size_counts.h"
#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/classes/stack_facts.h"
#include "parsers/base/vec.h"

/* Page of expandable runs of the large pool, if the recording does not state it: kLargeBuffer of
 * c10/cuda/CUDACachingAllocator.cpp. */
#define LARGE_PAGE_BYTES (UINT64_C(20) << 20)

/* ---- Classes ---- */

/* Classifies by the stack alone. Other rules need the phase of a program and the life of a block, which a state does not have. */
static enum wo_alloc_class class_by_stack(struct wo_stack_facts facts, uint32_t all_flags) {
  const bool is_training = (all_flags & (WO_STACK_BACKWARD | WO_STACK_OPTIMIZER | WO_STACK_LOSS)) != 0;
  const unsigned flags = facts.flags;
  if ((flags & (WO_STACK_WORKSPACE | WO_STACK_PLAN)) != 0) return WO_CLASS_WORKSPACE;
  if ((flags & WO_STACK_COMMUNICATION) != 0) return WO_CLASS_COMMUNICATION;
  if ((flags & WO_STACK_OPTIMIZER) != 0) return WO_CLASS_OPTIMIZER;
  if ((flags & WO_STACK_RECOMPUTE) != 0) return WO_CLASS_ACTIVATION;
  if ((flags & WO_STACK_BACKWARD) != 0) return WO_CLASS_UNKNOWN; /* a gradient or a temporary: sizes decide */
  if ((flags & WO_STACK_SETUP) != 0) return WO_CLASS_PARAMETER;
  if ((flags & WO_STACK_DATA) != 0) return WO_CLASS_INPUT;
  const bool is_operator = facts.kind != WO_OP_NONE && facts.kind != WO_OP_PLUMBING && facts.kind != WO_OP_FACTORY;
  return is_training && is_operator ? WO_CLASS_ACTIVATION : WO_CLASS_UNKNOWN;
}

/* An allocation of backward that is as large as a parameter is a gradient. False if memory is out. */
static bool class_gradients(struct wo_alloc_pattern *pattern, const struct wo_stack_facts_set *facts) {
  struct wo_size_counts parameters = {0};
  bool is_whole = true;
  for (size_t i = 0; i < pattern->instances.count && is_whole; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->class_ == WO_CLASS_PARAMETER) is_whole = wo_size_counts_add(&parameters, instance->size_bytes);
  }
  wo_size_counts_sort(&parameters);
  for (size_t i = 0; i < pattern->instances.count && is_whole; i++) {
    struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->class_ != WO_CLASS_UNKNOWN || instance->stack == WO_NO_STACK) continue;
    if ((wo_stack_facts_of(facts, instance->stack).flags & WO_STACK_BACKWARD) == 0) continue;
    if (wo_size_counts_of(&parameters, instance->size_bytes) > 0) instance->class_ = WO_CLASS_GRADIENT;
  }
  wo_size_counts_done(&parameters);
  return is_whole;
}

static enum wo_status class_instances(struct wo_alloc_pattern *pattern) {
  struct wo_stack_facts_set facts = {0};
  if (wo_stack_facts_make(pattern->recording, &facts) != WO_OK) return WO_E_NOMEM;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->stack == WO_NO_STACK) continue;
    instance->class_ = (uint32_t)class_by_stack(wo_stack_facts_of(&facts, instance->stack), facts.all_flags) & 31u;
  }
  const bool is_whole = class_gradients(pattern, &facts);
  wo_stack_facts_done(&facts);
  return is_whole ? WO_OK : WO_E_NOMEM;
}

/* ---- The map and its instances ---- */

static bool add_instance(struct wo_alloc_pattern *pattern, const struct wo_trace_segment *segment,
                         const struct wo_trace_block *block) {
  if (!WO_VEC_RESERVE(&pattern->instances, 1, WO_NO_INSTANCE)) return false;
  pattern->instances.items[pattern->instances.count++] =
      (struct wo_instance){.size_bytes = block->requested_bytes > 0 ? block->requested_bytes : block->size_bytes,
                           .birth = WO_NO_REQUEST,
                           .death = WO_NO_REQUEST,
                           .stack = block->stack,
                           .stream = segment->stream & 0xfff,
                           .class_ = WO_CLASS_UNKNOWN,
                           .pool = segment->pool & 0x7fff};
  return true;
}

/* Adds a segment with its blocks to the map, and an instance for each block in use. `blocks` has room for them. */
static bool add_segment(const struct wo_recording *recording, const struct wo_trace *trace,
                        const struct wo_trace_segment *segment, struct wo_allocator_block *blocks,
                        struct wo_alloc_pattern *pattern, struct wo_segment_map *map) {
  const struct wo_allocator_segment shown = {.address = segment->address,
                                             .size_bytes = segment->size_bytes,
                                             .stream = recording->streams.items[segment->stream],
                                             .pool = recording->pools.items[segment->pool],
                                             .is_small = segment->is_small,
                                             .is_expandable = segment->is_expandable};
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[segment->first_block + i];
    blocks[i] = (struct wo_allocator_block){
        .size_bytes = block->size_bytes, .requested_bytes = block->requested_bytes, .state = block->state};
  }
  if (!wo_segment_map_add(map, &shown, blocks, segment->block_count)) return false;
  struct wo_map_block *const added = &map->blocks.items[map->blocks.count - segment->block_count];
  for (uint32_t i = 0; i < segment->block_count; i++) {
    if (added[i].state == WO_BLOCK_FREE) continue;
    added[i].instance = (uint32_t)pattern->instances.count;
    if (!add_instance(pattern, segment, &trace->blocks.items[segment->first_block + i])) return false;
  }
  pattern->start_count = pattern->instances.count;
  return true;
}

static bool fill_map(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_alloc_pattern *pattern,
                     struct wo_segment_map *map) {
  struct wo_allocator_block *const blocks = calloc(trace->blocks.count + 1, sizeof *blocks);
  bool is_whole = blocks != NULL;
  map->request = WO_NO_REQUEST;
  map->large_page_bytes =
      recording->settings.large_segment_bytes > 0 ? recording->settings.large_segment_bytes : LARGE_PAGE_BYTES;
  for (size_t i = 0; is_whole && i < trace->segments.count; i++)
    is_whole = add_segment(recording, trace, &trace->segments.items[i], blocks, pattern, map);
  free(blocks);
  return is_whole;
}

/* ---- By stream and pool ---- */

static bool is_private(struct wo_pool_id pool) {
  return pool.first != 0 || pool.second != 0;
}

/* Sums by stream and pool. Rows are found by an address map, since a hostile file can have many. */
struct summing {
  const struct wo_trace *trace;
  const struct wo_segment_map *map; /* its segments are those of the trace, in their order */
  struct wo_holdings *holdings;
  struct wo_address_map rows; /* stream and pool, as indices of the recording -> row */
};

/* The row of a segment's stream and pool, added if it is new; NULL if memory is out. */
static struct wo_holdings_place *place_of(struct summing *summing, uint32_t segment) {
  struct wo_holdings *const holdings = summing->holdings;
  const struct wo_trace_segment *const recorded = &summing->trace->segments.items[segment];
  const struct wo_map_segment *const shown = &summing->map->segments.items[segment];
  const uint64_t key = ((uint64_t)recorded->stream << 32 | recorded->pool) + 1;
  uint32_t row = 0;
  assert(recorded->address == shown->address);
  if (wo_address_map_find(&summing->rows, key, &row)) return &holdings->places.items[row];
  row = (uint32_t)holdings->places.count;
  if (!WO_VEC_RESERVE(&holdings->places, 1, UINT32_MAX)) return NULL;
  if (wo_address_map_put(&summing->rows, key, row) != WO_OK) return NULL;
  holdings->places.items[holdings->places.count++] = (struct wo_holdings_place){.stream = shown->stream, .pool = shown->pool};
  return &holdings->places.items[row];
}

static void add_blocks(struct wo_holdings_place *place, const struct wo_segment_map *map, const struct wo_map_segment *segment) {
  place->segment_count++;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_map_block *const block = &map->blocks.items[segment->first_block + i];
    if (block->state == WO_BLOCK_FREE) {
      if (block->size_bytes > place->use.largest_free_bytes) place->use.largest_free_bytes = block->size_bytes;
      continue;
    }
    place->block_count++;
    place->block_bytes += block->size_bytes;
  }
}

/* Memory of private pools is not given back on demand. */
static void add_unit(struct wo_holdings *holdings, struct wo_holdings_place *place, const struct wo_map_unit *unit) {
  wo_segment_use_add(&place->use, unit);
  if (unit->used_bytes > 0) return;
  *(is_private(place->pool) ? &holdings->private_idle_bytes : &holdings->releasable_bytes) += unit->end - unit->start;
}

static int compare_places(const void *a, const void *b) {
  const struct wo_holdings_place *const left = a;
  const struct wo_holdings_place *const right = b;
  if (left->use.reserved_bytes != right->use.reserved_bytes) return left->use.reserved_bytes > right->use.reserved_bytes ? -1 : 1;
  if (left->stream != right->stream) return left->stream < right->stream ? -1 : 1;
  if (left->pool.first != right->pool.first) return left->pool.first < right->pool.first ? -1 : 1;
  return (left->pool.second > right->pool.second) - (left->pool.second < right->pool.second);
}

static bool sum_units(struct summing *summing) {
  const struct wo_segment_map *const map = summing->map;
  struct wo_map_walk walk = {0};
  struct wo_map_unit unit;
  struct wo_holdings_place *place = NULL;
  uint32_t segment = UINT32_MAX;
  while (wo_segment_map_next(map, &walk, &unit)) {
    if (unit.segment != segment) {
      segment = unit.segment;
      place = place_of(summing, segment);
      if (!place) return false;
      add_blocks(place, map, &map->segments.items[segment]);
    }
    add_unit(summing->holdings, place, &unit);
  }
  return true;
}

static bool sum_places(const struct wo_trace *trace, const struct wo_segment_map *map, struct wo_holdings *holdings) {
  struct summing summing = {.trace = trace, .map = map, .holdings = holdings};
  const bool is_whole = sum_units(&summing);
  wo_address_map_done(&summing.rows);
  if (is_whole && holdings->places.count > 0)
    qsort(holdings->places.items, holdings->places.count, sizeof *holdings->places.items, compare_places);
  return is_whole;
}

/* ---- Together ---- */

/* The figures that plots show: this moment is the peak of all of them. */
static void fill_memory(const struct wo_holdings *holdings, struct wo_memory_over_time *memory) {
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) memory->peak[i] = wo_memory_no_place();
  for (int i = 0; i < WO_CLASS_COUNT_; i++) memory->class_peak[i] = wo_memory_no_place();
  memory->moment_at = wo_memory_no_place();
  memory->first_us = memory->last_us = WO_NO_TIME;
  memory->moment = WO_MOMENT_STATE;
  for (size_t i = 0; i < holdings->places.count; i++) {
    memory->peak[WO_MEMORY_ALLOCATED].bytes += holdings->places.items[i].block_bytes;
    memory->peak[WO_MEMORY_REQUESTED].bytes += holdings->places.items[i].use.live_bytes;
  }
  memory->peak[WO_MEMORY_ACTIVE].bytes = memory->peak[WO_MEMORY_ALLOCATED].bytes;
  memory->peak[WO_MEMORY_RESERVED].bytes = memory->map.reserved_bytes;
  memory->peak[WO_MEMORY_UNUSED].bytes = memory->map.reserved_bytes - memory->peak[WO_MEMORY_ALLOCATED].bytes;
  memory->moment_at.bytes = memory->peak[WO_MEMORY_ALLOCATED].bytes;
}

static bool knows_requested(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->blocks.count; i++) {
    if (trace->blocks.items[i].state != WO_BLOCK_FREE && trace->blocks.items[i].requested_bytes > 0) return true;
  }
  return false;
}

/* If the last entry is a refused request, the state is that of its failure. */
static void note_oom(const struct wo_trace *trace, struct wo_holdings *holdings) {
  for (size_t i = trace->entries.count; i > 0; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    if (entry->action == WO_ACTION_SNAPSHOT) continue;
    if (entry->action != WO_ACTION_OOM) return;
    holdings->has_oom = true;
    holdings->oom_bytes = entry->size_bytes;
    holdings->oom_free_bytes = entry->address;
    return;
  }
}

enum wo_status wo_holdings_make(const struct wo_recording *recording, const struct wo_trace *trace,
                                struct wo_holdings *ret_holdings, struct wo_memory_over_time *ret_memory) {
  assert(recording && trace && trace->has_segments && ret_holdings && ret_memory);
  struct wo_holdings holdings = {.pattern = {.recording = recording}};
  struct wo_memory_over_time memory = {0};
  const bool is_whole = fill_map(recording, trace, &holdings.pattern, &memory.map) &&
                        class_instances(&holdings.pattern) == WO_OK && sum_places(trace, &memory.map, &holdings);
  if (is_whole) {
    holdings.segment_count = memory.map.segments.count;
    holdings.block_count = holdings.pattern.instances.count;
    holdings.knows_requested = knows_requested(trace);
    note_oom(trace, &holdings);
    fill_memory(&holdings, &memory);
  } else {
    wo_holdings_done(&holdings);
    wo_memory_over_time_done(&memory);
    memory = (struct wo_memory_over_time){0};
  }
  *ret_holdings = holdings;
  *ret_memory = memory;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_holdings_done(struct wo_holdings *holdings) {
  if (!holdings) return;
  wo_alloc_pattern_done(&holdings->pattern);
  WO_VEC_DONE(&holdings->places);
  *holdings = (struct wo_holdings){0};
}
