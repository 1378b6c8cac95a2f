/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of segments and of mapped ranges. See lives.h.
 *
 * An expandable segment is mapped and unmapped in pieces of any size, so a range is cut where only a part of it began there. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/lives/lives_internal.h"

/* A range that has no beginning yet, while the entries are read backwards. */
#define OPEN (UINT32_MAX - 1)

struct reader {
  struct wo_lives *lives;
  struct wo_address_map open; /* open ranges by address; they do not overlap */
};

static bool add(struct reader *reader, struct wo_range_life range) {
  struct wo_lives *const lives = reader->lives;
  if (range.size_bytes == 0) return true;
  if (!WO_VEC_RESERVE(&lives->ranges, 1, OPEN)) return false;
  const uint32_t index = (uint32_t)lives->ranges.count;
  if (range.birth == OPEN && wo_address_map_put(&reader->open, range.address, index) != WO_OK) return false;
  lives->ranges.items[lives->ranges.count++] = range;
  return true;
}

/* The open range that reaches into [start, end) and lies lowest. False if there is none. */
static bool find(const struct reader *reader, uint64_t start, uint64_t end, uint32_t *ret_index) {
  const struct wo_range_life *const items = reader->lives->ranges.items;
  struct wo_address_item item;
  if (wo_address_map_below(&reader->open, start, &item) && start - items[item.value].address < items[item.value].size_bytes) {
    *ret_index = item.value;
    return true;
  }
  if (!wo_address_map_above(&reader->open, start, &item) || item.address >= end) return false;
  *ret_index = item.value;
  return true;
}

/* The parts of open ranges inside [start, end) begin at an entry; what lies outside stays open. *ret_count: ranges found. */
static bool begin(struct reader *reader, uint64_t start, uint64_t end, uint32_t at, size_t *ret_count) {
  uint32_t index = 0;
  for (*ret_count = 0; find(reader, start, end, &index); (*ret_count)++) {
    struct wo_range_life *const range = &reader->lives->ranges.items[index];
    struct wo_range_life below = *range, above = *range;
    const uint64_t range_end = range->address + range->size_bytes;
    wo_address_map_remove(&reader->open, range->address, NULL);
    below.size_bytes = range->address < start ? start - range->address : 0;
    above.address = range_end > end ? end : range_end;
    above.size_bytes = range_end - above.address;
    range->address += below.size_bytes;
    range->size_bytes = above.address - range->address;
    range->birth = at;
    if (!add(reader, below) || !add(reader, above)) return false;
  }
  return true;
}

/* The driver gave [start, end). A range that nothing shows later stayed to the end. */
static bool read_growth(struct reader *reader, const struct wo_trace_entry *entry, uint32_t at, uint64_t end) {
  size_t count = 0;
  const bool is_map = entry->action == WO_ACTION_SEGMENT_MAP;
  if (!begin(reader, entry->address, end, at, &count)) return false;
  if (count > 0) return true;
  if (reader->lives->trace->has_segments) reader->lives->unclear_count++;
  return add(reader, (struct wo_range_life){.address = entry->address,
                                            .size_bytes = end - entry->address,
                                            .birth = at,
                                            .death = WO_NO_ENTRY,
                                            .stream = entry->stream,
                                            .pool = entry->pool,
                                            .is_expandable = is_map});
}

/* The driver took [start, end) back: it was there before. What seems to be there after it, without an entry, begins here. */
static bool read_release(struct reader *reader, const struct wo_trace_entry *entry, uint32_t at, uint64_t end) {
  size_t count = 0;
  if (!begin(reader, entry->address, end, at, &count)) return false;
  if (count > 0) reader->lives->unclear_count++;
  return add(reader, (struct wo_range_life){.address = entry->address,
                                            .size_bytes = end - entry->address,
                                            .birth = OPEN,
                                            .death = at,
                                            .stream = entry->stream,
                                            .pool = entry->pool,
                                            .is_small = end - entry->address <= (UINT64_C(2) << 20),
                                            .is_expandable = entry->action == WO_ACTION_SEGMENT_UNMAP});
}

static bool read_end(struct reader *reader) {
  const struct wo_trace *const trace = reader->lives->trace;
  for (size_t i = 0; i < trace->segments.count; i++) {
    const struct wo_trace_segment *const segment = &trace->segments.items[i];
    if (!add(reader, (struct wo_range_life){.address = segment->address,
                                            .size_bytes = segment->size_bytes,
                                            .birth = OPEN,
                                            .death = WO_NO_ENTRY,
                                            .stream = segment->stream,
                                            .pool = segment->pool,
                                            .is_small = segment->is_small,
                                            .is_expandable = segment->is_expandable}))
      return false;
  }
  return true;
}

/* Those from before the first entry come first: WO_NO_ENTRY + 1 is 0. */
static int compare(const void *left, const void *right) {
  const struct wo_range_life *const a = left;
  const struct wo_range_life *const b = right;
  const uint32_t a_birth = a->birth + 1, b_birth = b->birth + 1;
  if (a_birth != b_birth) return a_birth < b_birth ? -1 : 1;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return a->death < b->death ? -1 : a->death > b->death;
}

/* A range beyond the end of all addresses is cut there. An entry without bytes begins and ends nothing: it would cut the range
 * around it into nothing and itself, for ever. */
bool wo__lives_read_ranges(struct wo_lives *lives) {
  struct reader reader = {.lives = lives};
  const struct wo_trace *const trace = lives->trace;
  bool is_whole = read_end(&reader);
  for (size_t i = trace->entries.count; i > 0 && is_whole; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    if (!wo_entry_is(entry, WO_TRAIT_SEGMENT)) continue;
    const uint64_t room = UINT64_MAX - entry->address;
    const uint64_t end = entry->address + (entry->size_bytes < room ? entry->size_bytes : room);
    if (end == entry->address) continue;
    is_whole = wo_entry_is(entry, WO_TRAIT_GROWTH) ? read_growth(&reader, entry, (uint32_t)(i - 1), end)
                                                   : read_release(&reader, entry, (uint32_t)(i - 1), end);
  }
  wo_address_map_done(&reader.open);
  if (!is_whole) return false;
  for (size_t i = 0; i < lives->ranges.count; i++) {
    if (lives->ranges.items[i].birth == OPEN) lives->ranges.items[i].birth = WO_NO_ENTRY;
  }
  if (lives->ranges.count > 0) qsort(lives->ranges.items, lives->ranges.count, sizeof *lives->ranges.items, compare);
  return true;
}
