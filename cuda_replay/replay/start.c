/* SPDX-License-Identifier: Apache-2.0 */
/* The start state: the result of the backwards pass (start_backwards_internal.h), laid out as blocks without gaps.
 *
 * Three steps: every segment is filled with its live blocks and free blocks between them; block sizes that the pass cannot know
 * are searched in the entries that follow; mapped runs are assigned their range. */
#include "cuda_replay/replay/start.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cuda_replay/replay/expandable_ranges_internal.h"
#include "cuda_replay/replay/start_backwards_internal.h"
#include "parsers/base/arena.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

#define MIB ((uint64_t)1024 * 1024)
#define UNIT_BYTES ((uint64_t)512)
/* A block of the large pool is split only if more than this would remain: a block that is used unsplit exceeds its request by at
 * most this, and free blocks are larger. */
#define SLACK_MAX_BYTES MIB

struct layout {
  const struct wo__backwards *pass;
  const struct wo_alloc_settings *settings;
  struct wo_start *start;
  struct wo_err *err;
};

/* ---- Filling segments ---- */

static enum wo_status add_block(struct wo_start *start, struct wo_allocator_block block) {
  if (!WO_VEC_RESERVE(&start->blocks, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  start->blocks.items[start->blocks.count++] = block;
  start->block_counts.items[start->block_counts.count - 1]++;
  return WO_OK;
}

/* Notes that the block to be added next may be up to max_bytes long. */
static enum wo_status add_open(struct wo_start *start, uint64_t address, uint64_t min_bytes, uint64_t max_bytes) {
  if (!WO_VEC_RESERVE(&start->open, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  start->open.items[start->open.count++] = (struct wo_start_open){
      .block = (uint32_t)start->blocks.count, .address = address, .min_bytes = min_bytes, .max_bytes = max_bytes};
  return WO_OK;
}

/* The size of a live block that has `room` bytes up to the next live block or the end of the segment. *ret_max is larger if the
 * size stays open. */
static uint64_t block_bytes(const struct layout *layout, const struct wo__backwards_segment *segment,
                            const struct wo__backwards_block *block, uint64_t room, uint64_t *ret_max) {
  const uint64_t known = block->block_bytes > 0 ? block->block_bytes : wo_alloc_round(layout->settings, block->requested_bytes);
  *ret_max = known;
  if (block->block_bytes > 0 || known >= room) return known;
  const uint64_t gap = room - known;
  /* A rest smaller than the smallest block belongs to the block before it (older versions can make odd sizes). */
  if (gap < UNIT_BYTES) return *ret_max = room;
  if (segment->is_small || segment->is_expandable) return known;
  /* Requests from max_split_size on get whole segments. */
  const bool is_whole = known >= layout->settings->max_split_bytes && room == segment->size_bytes;
  if (gap <= SLACK_MAX_BYTES || is_whole) return *ret_max = room;
  const uint64_t most = gap > SLACK_MAX_BYTES + UNIT_BYTES ? gap - SLACK_MAX_BYTES - UNIT_BYTES : 0;
  *ret_max = known + (most < SLACK_MAX_BYTES ? most : SLACK_MAX_BYTES);
  return known;
}

/* Adds a live block, and returns its end in *at. */
static enum wo_status place_block(const struct layout *layout, const struct wo__backwards_segment *segment,
                                  const struct wo__backwards_block *block, uint64_t next, uint64_t *at) {
  uint64_t max = 0;
  const uint64_t size = block_bytes(layout, segment, block, next - block->address, &max);
  if (size > next - block->address) {
    const size_t entry = block->entry == UINT32_MAX ? 0 : block->entry;
    wo_err_set(layout->err, WO_E_RANGE,
               "the block at 0x%" PRIx64 " that entry %zu frees needs %" PRIu64 " bytes, and its neighbour begins after %" PRIu64
               ": roundup settings were different, or the file was changed",
               block->address, entry, size, next - block->address);
    wo_err_place(layout->err, NULL, 0, 0, entry);
    return WO_E_RANGE;
  }
  if (max > size) {
    const enum wo_status status = add_open(layout->start, block->address, size, max);
    if (status != WO_OK) return status;
  }
  *at = block->address + size;
  const enum wo_block_state state = block->is_pending ? WO_BLOCK_PENDING : WO_BLOCK_ALLOCATED;
  const uint64_t requested = block->requested_bytes > 0 ? block->requested_bytes : size;
  return add_block(layout->start, (struct wo_allocator_block){.size_bytes = size, .requested_bytes = requested, .state = state});
}

static enum wo_status add_gap(struct wo_start *start, uint64_t from, uint64_t to) {
  assert(from <= to);
  if (from == to) return WO_OK;
  return add_block(start, (struct wo_allocator_block){.size_bytes = to - from, .state = WO_BLOCK_FREE});
}

static enum wo_status fill_segment(const struct layout *layout, const struct wo__backwards_segment *segment) {
  const uint64_t end = segment->address + segment->size_bytes;
  uint64_t at = segment->address;
  struct wo_address_item item;
  bool has_block = wo_address_map_above(&layout->pass->block_at, at, &item) && item.address < end;
  while (has_block) {
    const struct wo__backwards_block *const block = &layout->pass->blocks.items[item.value];
    has_block = wo_address_map_above(&layout->pass->block_at, block->address + 1, &item) && item.address < end;
    enum wo_status status = add_gap(layout->start, at, block->address);
    if (status == WO_OK) status = place_block(layout, segment, block, has_block ? item.address : end, &at);
    if (status != WO_OK) return status;
  }
  return add_gap(layout->start, at, end);
}

static enum wo_status add_segment(const struct layout *layout, const struct wo__backwards_segment *segment) {
  struct wo_start *const start = layout->start;
  const struct wo_recording *const recording = layout->pass->recording;
  if (!WO_VEC_RESERVE(&start->segments, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&start->block_counts, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  start->segments.items[start->segments.count++] = (struct wo_allocator_segment){
      .address = segment->address,
      .size_bytes = segment->size_bytes,
      .stream = recording->streams.items[segment->stream],
      .pool = recording->pools.items[segment->pool],
      .is_small = segment->is_small,
      .is_expandable = segment->is_expandable,
  };
  start->block_counts.items[start->block_counts.count++] = 0;
  return fill_segment(layout, segment);
}

static enum wo_status lay_out(const struct layout *layout) {
  struct wo_address_item item = {0};
  enum wo_status status = WO_OK;
  for (uint64_t at = 0; status == WO_OK && wo_address_map_above(&layout->pass->segment_at, at, &item); at = item.address + 1) {
    status = add_segment(layout, &layout->pass->segments.items[item.value]);
  }
  return status;
}

/* ---- Looking ahead ---- */

/* Open blocks by their lowest possible end, and by their own address. */
struct ahead {
  struct wo_address_map by_end;
  struct wo_address_map by_address;
};

static void close_open(struct ahead *ahead, const struct wo_start_open *open) {
  wo_address_map_remove(&ahead->by_end, open->address + open->min_bytes, NULL);
  wo_address_map_remove(&ahead->by_address, open->address, NULL);
}

static void look_at(struct ahead *ahead, struct wo_start *start, const struct wo_trace_entry *entry) {
  struct wo_address_item item;
  uint32_t index = 0;
  if (entry->action == WO_ACTION_ALLOC && wo_address_map_below(&ahead->by_end, entry->address, &item)) {
    struct wo_start_open *const open = &start->open.items[item.value];
    if (entry->address - open->address > open->max_bytes) return;
    close_open(ahead, open);
    wo_start_resize(start, open, entry->address - open->address);
    open->min_bytes = open->max_bytes = entry->address - open->address;
  } else if (entry->action == WO_ACTION_FREE_COMPLETED && wo_address_map_find(&ahead->by_address, entry->address, &index)) {
    close_open(ahead, &start->open.items[index]);
  }
}

/* The first allocation after an open block, while that block lives, is at the front of the free block after it: this is the end
 * of the open block. */
static enum wo_status look_ahead(struct wo_start *start, const struct wo_trace *trace) {
  struct ahead ahead = {0};
  enum wo_status status = WO_OK;
  for (uint32_t i = 0; i < start->open.count && status == WO_OK; i++) {
    const struct wo_start_open *const open = &start->open.items[i];
    status = wo_address_map_put(&ahead.by_end, open->address + open->min_bytes, i);
    if (status == WO_OK) status = wo_address_map_put(&ahead.by_address, open->address, i);
  }
  for (size_t i = 0; i < trace->entries.count && ahead.by_end.count > 0 && status == WO_OK; i++) {
    look_at(&ahead, start, &trace->entries.items[i]);
  }
  wo_address_map_done(&ahead.by_end);
  wo_address_map_done(&ahead.by_address);
  size_t kept = 0;
  for (size_t i = 0; i < start->open.count; i++) {
    if (start->open.items[i].min_bytes < start->open.items[i].max_bytes) start->open.items[kept++] = start->open.items[i];
  }
  start->open.count = kept;
  return status;
}

void wo_start_resize(struct wo_start *start, const struct wo_start_open *open, uint64_t size_bytes) {
  assert(open->block + 1 < start->blocks.count && open->min_bytes <= size_bytes && size_bytes <= open->max_bytes);
  struct wo_allocator_block *const block = &start->blocks.items[open->block];
  struct wo_allocator_block *const behind = block + 1;
  assert(behind->state == WO_BLOCK_FREE);
  behind->size_bytes += block->size_bytes;
  block->size_bytes = size_bytes;
  behind->size_bytes -= size_bytes;
}

/* ---- Ranges of expandable segments ---- */

struct ranges {
  struct wo_start *start;
  const struct wo_recording *recording;
  const struct wo_alloc_settings *settings;
  uint64_t card_bytes;
  uint32_t *heads;  /* for each segment: the first run of its range */
  uint64_t *begins; /* for each first run: the beginning of its range */
  uint64_t *mapped; /* for each first run: bytes mapped in its range; 0 once the range was given back */
};

static uint64_t handle_bytes(const struct ranges *ranges, bool is_small) {
  if (is_small) return 2 * MIB;
  return ranges->settings->large_segment_bytes > 0 ? ranges->settings->large_segment_bytes : 20 * MIB;
}

/* The size of a range as torch reserves it: the card's memory and an eighth more, in whole handles. */
static uint64_t range_bytes(const struct ranges *ranges, bool is_small) {
  const uint64_t handle = handle_bytes(ranges, is_small);
  return (ranges->card_bytes + ranges->card_bytes / 8 + handle - 1) / handle * handle;
}

static bool is_same_range(const struct wo_allocator_segment *a, const struct wo_allocator_segment *b, uint64_t size_bytes) {
  return a->is_expandable && b->is_expandable && a->is_small == b->is_small && a->stream == b->stream &&
         a->pool.first == b->pool.first && a->pool.second == b->pool.second &&
         b->address + b->size_bytes - a->range_address <= size_bytes;
}

/* Runs of one stream and pool with nothing else between them are parts of one range. A range begins at the lowest address that is
 * ever mapped; here this is the lowest one mapped at the start (see lower_range). */
static void find_ranges(const struct ranges *ranges) {
  for (size_t i = 0; i < ranges->start->segments.count; i++) {
    struct wo_allocator_segment *const segment = &ranges->start->segments.items[i];
    ranges->heads[i] = (uint32_t)i;
    if (!segment->is_expandable) continue;
    segment->range_address = segment->address;
    const bool goes_on = i > 0 && is_same_range(&segment[-1], segment, range_bytes(ranges, segment->is_small));
    if (goes_on) segment->range_address = segment[-1].range_address;
    if (goes_on) ranges->heads[i] = ranges->heads[i - 1];
    ranges->begins[i] = segment->range_address;
    ranges->mapped[ranges->heads[i]] += segment->size_bytes;
  }
}

static uint64_t range_begin(const struct ranges *ranges, size_t segment) {
  return ranges->begins[ranges->heads[segment]];
}

/* The number of segments below an address. */
static size_t segments_below(const struct wo_start *start, uint64_t address) {
  size_t low = 0;
  WO_LOWER_BOUND(low, start->segments.count, at, start->segments.items[at].address < address);
  return low;
}

/* Whether an entry can map or unmap memory of the segment's range. */
static bool can_be_of(const struct ranges *ranges, size_t segment, const struct wo_trace_entry *entry) {
  const struct wo_allocator_segment *const run = &ranges->start->segments.items[segment];
  if (!run->is_expandable || run->stream != ranges->recording->streams.items[entry->stream]) return false;
  if (entry->action == WO_ACTION_SEGMENT_MAP && run->is_small != wo__is_small_map(entry)) return false;
  const uint64_t begin = range_begin(ranges, segment);
  return entry->address >= begin && entry->address - begin < range_bytes(ranges, run->is_small);
}

/* Counts mapped bytes: a range without any is given back, and memory that is mapped there later belongs to a new range. */
static void count_mapped(const struct ranges *ranges, const struct wo_trace_entry *entry) {
  const size_t below = segments_below(ranges->start, entry->address + 1);
  if (below == 0 || !can_be_of(ranges, below - 1, entry)) return;
  uint64_t *const mapped = &ranges->mapped[ranges->heads[below - 1]];
  if (*mapped == 0) return;
  if (entry->action == WO_ACTION_SEGMENT_MAP) {
    *mapped += entry->size_bytes;
  } else {
    *mapped -= entry->size_bytes < *mapped ? entry->size_bytes : *mapped;
  }
}

/* If the front of a range is unmapped at the start, a later mapping of that front shows it: whole handles below the first run. */
static void lower_range(const struct ranges *ranges, const struct wo_trace_entry *entry) {
  const struct wo_start *const start = ranges->start;
  const size_t above = segments_below(start, entry->address);
  if (above == start->segments.count) return;
  const struct wo_allocator_segment *const run = &start->segments.items[above];
  if (!run->is_expandable || run->stream != ranges->recording->streams.items[entry->stream]) return;
  if (run->is_small != wo__is_small_map(entry) || ranges->mapped[ranges->heads[above]] == 0) return;
  const uint64_t begin = range_begin(ranges, above);
  if (begin <= entry->address) return;
  const uint64_t distance = begin - entry->address;
  if (distance % handle_bytes(ranges, run->is_small) != 0 || distance > range_bytes(ranges, run->is_small) / 2) return;
  if (above > 0) {
    const struct wo_allocator_segment *const before = run - 1;
    if (before->address + before->size_bytes > entry->address) return;
    /* It may instead continue the range below. */
    if (can_be_of(ranges, above - 1, entry)) return;
  }
  ranges->mapped[ranges->heads[above]] += entry->size_bytes;
  ranges->begins[ranges->heads[above]] = entry->address;
}

/* A range ends where torch would end it, or where the next one begins; in whole handles. */
static void end_ranges(const struct ranges *ranges) {
  uint64_t next = INT64_MAX;
  for (size_t i = ranges->start->segments.count; i > 0; i--) {
    struct wo_allocator_segment *const segment = &ranges->start->segments.items[i - 1];
    const bool is_last = i == ranges->start->segments.count || ranges->heads[i] != ranges->heads[i - 1];
    if (!segment->is_expandable) {
      next = segment->address;
      continue;
    }
    segment->range_address = range_begin(ranges, i - 1);
    if (is_last) {
      const uint64_t handle = handle_bytes(ranges, segment->is_small);
      const uint64_t mapped = (segment->address + segment->size_bytes - segment->range_address + handle - 1) / handle * handle;
      const uint64_t usual = range_bytes(ranges, segment->is_small);
      const uint64_t size = usual > mapped ? usual : mapped;
      const uint64_t room = (next - segment->range_address) / handle * handle;
      segment->range_bytes = size < room ? size : room;
    } else {
      segment->range_bytes = segment[1].range_bytes;
    }
    next = segment->range_address;
  }
}

static void walk_ranges(const struct ranges *ranges, const struct wo_trace *trace) {
  find_ranges(ranges);
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action != WO_ACTION_SEGMENT_MAP && entry->action != WO_ACTION_SEGMENT_UNMAP) continue;
    count_mapped(ranges, entry);
    if (entry->action == WO_ACTION_SEGMENT_MAP) lower_range(ranges, entry);
  }
  end_ranges(ranges);
}

static enum wo_status settle_ranges(struct wo_start *start, const struct wo_recording *recording, const struct wo_trace *trace,
                                    const struct wo_alloc_settings *settings) {
  if (!wo__start_has_ranges(start)) return WO_OK;
  const size_t count = start->segments.count + 1;
  struct ranges ranges = {.start = start, .recording = recording, .settings = settings};
  enum wo_status status = wo__card_bytes(recording, trace, start, &ranges.card_bytes);
  struct wo_arena arena;
  wo_arena_init(&arena, SIZE_MAX);
  ranges.heads = wo_arena_array(&arena, count, sizeof *ranges.heads);
  ranges.begins = wo_arena_array(&arena, count, sizeof *ranges.begins);
  ranges.mapped = wo_arena_array(&arena, count, sizeof *ranges.mapped);
  if (wo_arena_is_exhausted(&arena)) status = WO_E_NOMEM;
  if (status == WO_OK) walk_ranges(&ranges, trace);
  wo_arena_done(&arena);
  return status;
}

/* ---- Whole ---- */

/* Without segments, only a trace that begins with an empty allocator can be laid out: it frees nothing that it did not allocate.
 */
static enum wo_status expect_empty(const struct wo_trace *trace, struct wo_err *err) {
  struct wo_address_map live = {0};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < trace->entries.count && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_ALLOC) {
      status = wo_address_map_put(&live, entry->address, 0);
      if (status != WO_OK) wo_err_set(err, status, "out of memory while the start of the trace is looked for");
    } else if (entry->action == WO_ACTION_FREE_COMPLETED) {
      wo_address_map_remove(&live, entry->address, NULL);
    } else if (entry->action == WO_ACTION_FREE_REQUESTED && !wo_address_map_find(&live, entry->address, NULL)) {
      status = wo_err_set(err, WO_E_RANGE,
                          "entry %zu frees 0x%" PRIx64
                          " which was allocated before the recording, and without segments the state at that time is not known",
                          i, entry->address);
      wo_err_place(err, NULL, 0, 0, i);
    }
  }
  wo_address_map_done(&live);
  return status;
}

enum wo_status wo_start_rebuild(const struct wo_recording *recording, const struct wo_trace *trace,
                                const struct wo_alloc_settings *settings, struct wo_start *ret_start, struct wo_err *err) {
  *ret_start = (struct wo_start){0};
  if (!trace->has_segments) return expect_empty(trace, err);
  struct wo__backwards pass;
  enum wo_status status = wo__backwards_run(&pass, recording, trace, err);
  if (status == WO_OK) {
    const struct layout layout = {&pass, settings, ret_start, err};
    status = lay_out(&layout);
    if (status == WO_OK) status = look_ahead(ret_start, trace);
    if (status == WO_OK) status = settle_ranges(ret_start, recording, trace, settings);
    if (status == WO_E_NOMEM) wo_err_set(err, status, "out of memory while the start of the trace is laid out");
    ret_start->strangers = pass.strangers;
  }
  wo__backwards_done(&pass);
  return status;
}

/* Copies an array into an empty one; false when memory is out. */
#define COPY_VEC(from, to)                                                                                                       \
  ((from)->count == 0 ||                                                                                                         \
   (WO_VEC_RESERVE((to), (from)->count, (from)->count) &&                                                                        \
    memcpy((to)->items, (from)->items, (from)->count * sizeof *(from)->items) && ((to)->count = (from)->count)))

enum wo_status wo_start_copy(const struct wo_start *start, struct wo_start *ret_copy) {
  *ret_copy = (struct wo_start){.strangers = start->strangers};
  const bool is_whole = COPY_VEC(&start->segments, &ret_copy->segments) && COPY_VEC(&start->blocks, &ret_copy->blocks) &&
                        COPY_VEC(&start->block_counts, &ret_copy->block_counts) && COPY_VEC(&start->open, &ret_copy->open);
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_start_done(struct wo_start *start) {
  if (!start) return;
  WO_VEC_DONE(&start->segments);
  WO_VEC_DONE(&start->blocks);
  WO_VEC_DONE(&start->block_counts);
  WO_VEC_DONE(&start->open);
}
