/* SPDX-License-Identifier: Apache-2.0 */
/* The backwards pass: undoes each entry, the newest first. It checks the conditions of an entry when it undoes it, and reports a
 * failed one with the entry that shows it. It puts a few blocks of the snapshot aside that only an unrecorded call can explain
 * (strangers). */
#include "cuda_replay/replay/start_backwards_internal.h"

#include <assert.h>
#include <inttypes.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

#define NO_ENTRY UINT32_MAX
#define KIB ((uint64_t)1024)
#define SMALL_SEGMENT_BYTES (2 * KIB * KIB)
#define LARGE_SEGMENT_BYTES (20 * KIB * KIB)
#define SMALL_REQUEST_BYTES (KIB * KIB)
#define REQUEST_MAX_BYTES ((uint64_t)1 << 60)

/* ---- Records ---- */

/* Takes a slot for a record: a free one, or a new one. */
#define TAKE_SLOT(records, free_slots, ret_slot)                                                                                 \
  ((free_slots)->count > 0                              ? (*(ret_slot) = (free_slots)->items[--(free_slots)->count], true)       \
   : WO_VEC_RESERVE(records, 1, WO_LIMIT_TRACE_ENTRIES) ? (*(ret_slot) = (uint32_t)(records)->count++, true)                     \
                                                        : false)

/* Adds a block at its spot in the map, where there is none. */
static enum wo_status add_block(struct wo__backwards *pass, struct wo_address_spot spot, struct wo__backwards_block block) {
  uint32_t slot = 0;
  if (!TAKE_SLOT(&pass->blocks, &pass->free_blocks, &slot)) return WO_E_NOMEM;
  assert(pass->blocks.items && slot < pass->blocks.count);
  pass->blocks.items[slot] = block;
  pass->last_block = slot;
  return wo_address_map_add_at(&pass->block_at, spot, block.address, slot);
}

/* Removes the record at a spot, which must exist; *ret_slot is its slot. */
static enum wo_status remove_record(struct wo_address_map *record_at, struct wo__slots *free_slots, struct wo_address_spot spot,
                                    uint32_t *ret_slot) {
  struct wo_address_item item;
  const bool was_there = wo_address_map_at(record_at, spot, &item);
  assert(was_there);
  (void)was_there;
  wo_address_map_remove_at(record_at, spot);
  if (!WO_VEC_RESERVE(free_slots, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  free_slots->items[free_slots->count++] = *ret_slot = item.value;
  return WO_OK;
}

static enum wo_status remove_block(struct wo__backwards *pass, struct wo_address_spot spot) {
  uint32_t slot = 0;
  const enum wo_status status = remove_record(&pass->block_at, &pass->free_blocks, spot, &slot);
  if (status == WO_OK) pass->blocks.items[slot].address = 0; /* no block is there (undo_entry) */
  return status;
}

/* The block that was added last, if it is the one at an address; or NULL. A completion comes right after its request. */
static struct wo__backwards_block *last_block(const struct wo__backwards *pass, uint64_t address) {
  const bool is_it = pass->last_block < pass->blocks.count && pass->blocks.items[pass->last_block].address == address;
  return is_it ? &pass->blocks.items[pass->last_block] : NULL;
}

/* The block at an address, with its spot; or NULL. */
static struct wo__backwards_block *find_block(const struct wo__backwards *pass, uint64_t address,
                                              struct wo_address_spot *ret_spot) {
  struct wo_address_item item;
  *ret_spot = wo_address_map_seek(&pass->block_at, address);
  if (!wo_address_map_at(&pass->block_at, *ret_spot, &item) || item.address != address) return NULL;
  return &pass->blocks.items[item.value];
}

static uint64_t known_bytes(const struct wo__backwards_block *block) {
  return block->block_bytes > 0 ? block->block_bytes : block->requested_bytes;
}

/* The lowest live block that reaches into [address, address + size), or NULL; *ret_spot is that of the address. */
static struct wo__backwards_block *block_in(const struct wo__backwards *pass, uint64_t address, uint64_t size_bytes,
                                            struct wo_address_spot *ret_spot) {
  struct wo_address_item item;
  *ret_spot = wo_address_map_seek(&pass->block_at, address);
  if (wo_address_map_at(&pass->block_at, *ret_spot, &item)) {
    assert(item.value < pass->blocks.count && pass->blocks.items);
    struct wo__backwards_block *const block = &pass->blocks.items[item.value];
    if (address - block->address < known_bytes(block) || address == block->address) return block;
  }
  if (!wo_address_map_after(&pass->block_at, *ret_spot, &item) || item.address - address >= size_bytes) return NULL;
  return &pass->blocks.items[item.value];
}

static enum wo_status add_segment(struct wo__backwards *pass, struct wo__backwards_segment segment) {
  uint32_t slot = 0;
  if (!TAKE_SLOT(&pass->segments, &pass->free_segments, &slot)) return WO_E_NOMEM;
  assert(pass->segments.items && slot < pass->segments.count);
  pass->segments.items[slot] = segment;
  return wo_address_map_put(&pass->segment_at, segment.address, slot);
}

static enum wo_status remove_segment(struct wo__backwards *pass, uint64_t address) {
  uint32_t slot = 0;
  return remove_record(&pass->segment_at, &pass->free_segments, wo_address_map_seek(&pass->segment_at, address), &slot);
}

/* The segment that holds all of [address, address + size), or NULL. */
static struct wo__backwards_segment *segment_of(const struct wo__backwards *pass, uint64_t address, uint64_t size_bytes) {
  struct wo_address_item item;
  if (!wo_address_map_below(&pass->segment_at, address, &item)) return NULL;
  struct wo__backwards_segment *const segment = &pass->segments.items[item.value];
  const uint64_t at = address - segment->address;
  return at < segment->size_bytes && size_bytes <= segment->size_bytes - at ? segment : NULL;
}

/* Whether a segment reaches into [address, address + size). */
static bool is_taken(const struct wo__backwards *pass, uint64_t address, uint64_t size_bytes) {
  struct wo_address_item item;
  if (segment_of(pass, address, 1)) return true;
  return wo_address_map_above(&pass->segment_at, address, &item) && item.address - address < size_bytes;
}

/* ---- Contradictions ---- */

/* Reports the entry that shows it. */
#define CONTRADICTION(pass, index, ...) contradiction((pass)->err, index, wo_err_set((pass)->err, WO_E_RANGE, __VA_ARGS__))

static enum wo_status contradiction(struct wo_err *err, size_t index, enum wo_status status) {
  wo_err_place(err, NULL, 0, 0, index);
  return status;
}

/* The first entry after this one that uses its memory; NULL if there is none. */
static const struct wo_trace_entry *used_later(const struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  const struct wo_trace_entry *const end = pass->trace->entries.items + pass->trace->entries.count;
  for (const struct wo_trace_entry *later = entry + 1; later < end; later++) {
    const bool is_apart = later->address < entry->address ? entry->address - later->address >= later->size_bytes
                                                          : later->address - entry->address >= entry->size_bytes;
    if (wo_entry_is(later, WO_TRAIT_RANGE) && !is_apart) return later;
  }
  return NULL;
}

/* Puts a block aside that the trace does not explain. */
static enum wo_status add_stranger(struct wo__backwards *pass, struct wo_stranger stranger) {
  if (pass->strangers.count >= WO_START_STRANGERS_MAX) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu and more than %d others do not agree with the segments at the end (here: the block at "
                         "0x%" PRIx64 "): entries are missing (a ring that dropped them, skip_actions), or the file was changed",
                         pass->index, (int)WO_START_STRANGERS_MAX, stranger.entry.address);
  }
  pass->strangers.items[pass->strangers.count++] = stranger;
  return WO_OK;
}

/* A block that an entry allocates or begins to free does not exist afterwards. This is no error if nothing touches its place any
 * more, since another thread may have freed it while the snapshot was taken. */
static enum wo_status expect_untouched(struct wo__backwards *pass, const struct wo_trace_entry *entry, const char *what) {
  const struct wo_trace_entry *const later = used_later(pass, entry);
  if (!later) return add_stranger(pass, (struct wo_stranger){.entry = *entry, .is_gone = true});
  const size_t index = (size_t)(later - pass->trace->entries.items);
  return CONTRADICTION(pass, index,
                       "entry %zu (%s) uses 0x%" PRIx64 " although the block that entry %zu %s lives there: its free is missing "
                       "(skip_actions, or a changed file)",
                       index, wo_action_name(later->action), later->address, pass->index, what);
}

/* A block of the snapshot that no entry allocates, with the `alloc` that is missing. */
static struct wo_stranger unknown_block(const struct wo__backwards *pass, const struct wo__backwards_block *block) {
  const struct wo__backwards_segment *const segment = segment_of(pass, block->address, 1);
  const struct wo_trace_entry alloc = {.address = block->address,
                                       .size_bytes = block->requested_bytes > 0 ? block->requested_bytes : block->block_bytes,
                                       .time_us = WO_NO_TIME,
                                       .stack = WO_NO_STACK,
                                       .stream = (segment ? segment->stream : 0) & 0xfff,
                                       .pool = (segment ? segment->pool : WO_POOL_DEFAULT) & 0x7fff,
                                       .action = WO_ACTION_ALLOC};
  return (struct wo_stranger){.entry = alloc, .is_pending = block->is_pending};
}

/* Clears the entry's memory of live blocks: puts aside those that only the snapshot knows; others contradict. *ret_spot is where
 * a block at the entry's address belongs. */
static enum wo_status clear(struct wo__backwards *pass, const struct wo_trace_entry *entry, struct wo_address_spot *ret_spot) {
  struct wo__backwards_block *block = block_in(pass, entry->address, entry->size_bytes, ret_spot);
  for (; block; block = block_in(pass, entry->address, entry->size_bytes, ret_spot)) {
    const uint64_t found = block->address;
    if (block->entry != NO_ENTRY) {
      return CONTRADICTION(pass, pass->index,
                           "entry %zu (%s at 0x%" PRIx64 ") overlaps the block at 0x%" PRIx64
                           " that entry %u frees later: an entry between them is missing or doubled",
                           pass->index, wo_action_name(entry->action), entry->address, found, block->entry);
    }
    const struct wo_stranger stranger = unknown_block(pass, block);
    enum wo_status status = remove_block(pass, wo_address_map_seek(&pass->block_at, found));
    if (status == WO_OK) status = add_stranger(pass, stranger);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- Undoing one entry ---- */

/* A request shows the pool of its segment: small requests are served by the small pool. Only mapped runs that are not in the
 * snapshot need it. */
static enum wo_status expect_segment(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  struct wo__backwards_segment *const segment = segment_of(pass, entry->address, entry->size_bytes);
  if (!segment) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64
                         ") lies in no segment: segment events are missing (skip_actions, or a changed file)",
                         pass->index, wo_action_name(entry->action), entry->size_bytes, entry->address);
  }
  if (!segment->is_size_known) {
    segment->is_small = entry->size_bytes <= SMALL_REQUEST_BYTES;
    segment->is_size_known = true;
  }
  return WO_OK;
}

static enum wo_status undo_alloc(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  enum wo_status status = expect_segment(pass, entry);
  if (status != WO_OK) return status;
  struct wo_address_spot spot;
  const struct wo__backwards_block *const block = find_block(pass, entry->address, &spot);
  const bool is_same = block && (block->requested_bytes == entry->size_bytes || block->requested_bytes == 0);
  if (is_same && block->is_pending && block->entry != NO_ENTRY && pass->has_requested) {
    return CONTRADICTION(pass, block->entry,
                         "entry %u completes the free of the block that entry %zu allocates at 0x%" PRIx64
                         ", and no entry between them requests it",
                         block->entry, pass->index, entry->address);
  }
  if (is_same) return remove_block(pass, spot);
  if (block && block->entry != NO_ENTRY) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu allocates %" PRIu64 " bytes at 0x%" PRIx64 ", but entry %u frees %" PRIu64 " bytes there",
                         pass->index, entry->size_bytes, entry->address, block->entry, block->requested_bytes);
  }
  status = clear(pass, entry, &spot);
  return status == WO_OK ? expect_untouched(pass, entry, "allocates") : status;
}

/* The block exists before its free. */
static enum wo_status add_freed(struct wo__backwards *pass, const struct wo_trace_entry *entry, bool is_pending) {
  struct wo_address_spot spot;
  enum wo_status status = expect_segment(pass, entry);
  if (status == WO_OK) status = clear(pass, entry, &spot);
  if (status != WO_OK) return status;
  return add_block(pass, spot,
                   (struct wo__backwards_block){.address = entry->address,
                                                .requested_bytes = entry->size_bytes,
                                                .entry = (uint32_t)pass->index,
                                                .is_pending = is_pending});
}

static enum wo_status undo_completed(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  return add_freed(pass, entry, true);
}

static enum wo_status undo_requested(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  if (!pass->has_completed) return add_freed(pass, entry, false);
  struct wo_address_spot spot;
  struct wo__backwards_block *block = last_block(pass, entry->address);
  if (!block) block = find_block(pass, entry->address, &spot);
  const bool is_same = block && (block->requested_bytes == entry->size_bytes || block->requested_bytes == 0);
  if (is_same && block->is_pending) {
    block->is_pending = false;
    return WO_OK;
  }
  if (block && block->entry != NO_ENTRY) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu frees %" PRIu64 " bytes at 0x%" PRIx64 ", and entry %u frees %" PRIu64
                         " bytes there without an allocation between them",
                         pass->index, entry->size_bytes, entry->address, block->entry, block->requested_bytes);
  }
  enum wo_status status = clear(pass, entry, &spot);
  if (status == WO_OK) status = expect_untouched(pass, entry, "frees");
  return status == WO_OK ? add_freed(pass, entry, false) : status;
}

static enum wo_status undo_segment_alloc(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  const struct wo__backwards_segment *const segment = segment_of(pass, entry->address, entry->size_bytes);
  if (!segment || segment->address != entry->address || segment->size_bytes != entry->size_bytes || segment->is_expandable) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu allocates a segment of %" PRIu64 " bytes at 0x%" PRIx64
                         " that is not there later: its segment_free is missing, or a size was changed",
                         pass->index, entry->size_bytes, entry->address);
  }
  struct wo_address_spot spot;
  const enum wo_status status = clear(pass, entry, &spot);
  return status == WO_OK ? remove_segment(pass, entry->address) : status;
}

static enum wo_status expect_room(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  if (!is_taken(pass, entry->address, entry->size_bytes)) return WO_OK;
  return CONTRADICTION(pass, pass->index,
                       "entry %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64
                       ") overlaps a segment that is still there afterwards: an entry is missing or doubled",
                       pass->index, wo_action_name(entry->action), entry->size_bytes, entry->address);
}

static enum wo_status undo_segment_free(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  const enum wo_status status = expect_room(pass, entry);
  if (status != WO_OK) return status;
  return add_segment(pass, (struct wo__backwards_segment){.address = entry->address,
                                                          .size_bytes = entry->size_bytes,
                                                          .stream = entry->stream,
                                                          .pool = entry->pool,
                                                          .is_small = entry->size_bytes == SMALL_SEGMENT_BYTES,
                                                          .is_size_known = true});
}

/* Removes a mapped range from its run; the rests on both sides become runs. */
static enum wo_status undo_map(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  const struct wo__backwards_segment *const found = segment_of(pass, entry->address, entry->size_bytes);
  if (!found || !found->is_expandable) {
    return CONTRADICTION(pass, pass->index,
                         "entry %zu maps %" PRIu64 " bytes at 0x%" PRIx64
                         " that are not mapped later: a segment_unmap is missing, or a size was changed",
                         pass->index, entry->size_bytes, entry->address);
  }
  struct wo_address_spot spot;
  enum wo_status status = clear(pass, entry, &spot);
  if (status != WO_OK) return status;
  const struct wo__backwards_segment run = *found;
  struct wo__backwards_segment left = run, right = run;
  left.size_bytes = entry->address - run.address;
  right.address = entry->address + entry->size_bytes;
  right.size_bytes = run.size_bytes - left.size_bytes - entry->size_bytes;
  status = remove_segment(pass, run.address);
  if (status == WO_OK && left.size_bytes > 0) status = add_segment(pass, left);
  if (status == WO_OK && right.size_bytes > 0) status = add_segment(pass, right);
  return status;
}

/* Whether `run` and the mapped `other` are parts of one range: runs of different streams or pools never touch. */
static bool belong_together(const struct wo__backwards_segment *run, const struct wo__backwards_segment *other) {
  if (!other || !other->is_expandable || other->stream != run->stream) return false;
  return !run->is_size_known || !other->is_size_known || (other->is_small == run->is_small && other->pool == run->pool);
}

static void join(struct wo__backwards_segment *run, const struct wo__backwards_segment *other) {
  if (other->address < run->address) run->address = other->address;
  run->size_bytes += other->size_bytes;
  if (run->is_size_known && !other->is_size_known) return;
  run->pool = other->pool;
  run->is_small = other->is_small;
  run->is_size_known = other->is_size_known;
}

/* A range that is mapped again joins the runs on both sides. Its pool is that of its neighbours; without any, its size decides.
 */
static enum wo_status undo_unmap(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  enum wo_status status = expect_room(pass, entry);
  if (status != WO_OK) return status;
  struct wo__backwards_segment run = {.address = entry->address,
                                      .size_bytes = entry->size_bytes,
                                      .stream = entry->stream,
                                      .pool = entry->pool,
                                      .is_small = entry->size_bytes % LARGE_SEGMENT_BYTES != 0,
                                      .is_expandable = true};
  const struct wo__backwards_segment *const left = entry->address > 0 ? segment_of(pass, entry->address - 1, 1) : NULL;
  if (belong_together(&run, left)) {
    join(&run, left);
    status = remove_segment(pass, run.address);
    if (status != WO_OK) return status;
  }
  const struct wo__backwards_segment *const right = segment_of(pass, entry->address + entry->size_bytes, 1);
  if (belong_together(&run, right)) {
    join(&run, right);
    status = remove_segment(pass, entry->address + entry->size_bytes);
    if (status != WO_OK) return status;
  }
  return add_segment(pass, run);
}

/* ---- The pass ---- */

static enum wo_status undo_entry(struct wo__backwards *pass, const struct wo_trace_entry *entry) {
  static enum wo_status (*const undo[])(struct wo__backwards * pass, const struct wo_trace_entry *entry) = {
      [WO_ACTION_ALLOC] = undo_alloc,
      [WO_ACTION_FREE_REQUESTED] = undo_requested,
      [WO_ACTION_FREE_COMPLETED] = undo_completed,
      [WO_ACTION_SEGMENT_ALLOC] = undo_segment_alloc,
      [WO_ACTION_SEGMENT_FREE] = undo_segment_free,
      [WO_ACTION_SEGMENT_MAP] = undo_map,
      [WO_ACTION_SEGMENT_UNMAP] = undo_unmap,
  };
  uint64_t end = 0;
  if (wo_entry_is(entry, WO_TRAIT_RANGE) &&
      (entry->size_bytes == 0 || entry->size_bytes > REQUEST_MAX_BYTES || entry->address == 0 ||
       __builtin_add_overflow(entry->address, entry->size_bytes, &end))) {
    return CONTRADICTION(pass, pass->index, "entry %zu (%s) has an impossible size or address: %" PRIu64 " bytes at 0x%" PRIx64,
                         pass->index, wo_action_name(entry->action), entry->size_bytes, entry->address);
  }
  return entry->action < sizeof undo / sizeof undo[0] && undo[entry->action] ? undo[entry->action](pass, entry) : WO_OK;
}

static enum wo_status load_segment(struct wo__backwards *pass, const struct wo_trace_segment *segment) {
  enum wo_status status = add_segment(pass, (struct wo__backwards_segment){.address = segment->address,
                                                                           .size_bytes = segment->size_bytes,
                                                                           .stream = segment->stream,
                                                                           .pool = segment->pool,
                                                                           .is_small = segment->is_small,
                                                                           .is_expandable = segment->is_expandable,
                                                                           .is_size_known = true});
  for (uint32_t i = 0; i < segment->block_count && status == WO_OK; i++) {
    const struct wo_trace_block *const block = &pass->trace->blocks.items[segment->first_block + i];
    if (block->state == WO_BLOCK_FREE) continue;
    status = add_block(pass, wo_address_map_seek(&pass->block_at, block->address),
                       (struct wo__backwards_block){.address = block->address,
                                                    .requested_bytes = block->requested_bytes,
                                                    .block_bytes = block->size_bytes,
                                                    .entry = NO_ENTRY,
                                                    .is_pending = block->state == WO_BLOCK_PENDING});
  }
  return status;
}

enum wo_status wo__backwards_run(struct wo__backwards *pass, const struct wo_recording *recording, const struct wo_trace *trace,
                                 struct wo_err *err) {
  *pass = (struct wo__backwards){.recording = recording,
                                 .trace = trace,
                                 .err = err,
                                 .has_requested = wo_trace_has(trace, WO_ACTION_FREE_REQUESTED),
                                 .has_completed = wo_trace_has_completions(trace)};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < trace->segments.count && status == WO_OK; i++) status = load_segment(pass, &trace->segments.items[i]);
  for (pass->index = trace->entries.count; pass->index > 0 && status == WO_OK;)
    status = undo_entry(pass, &trace->entries.items[--pass->index]);
  return status == WO_E_NOMEM ? wo_err_set(err, WO_E_NOMEM, "out of memory while the start of the trace is rebuilt") : status;
}

void wo__backwards_done(struct wo__backwards *pass) {
  WO_VEC_DONE(&pass->blocks);
  WO_VEC_DONE(&pass->segments);
  WO_VEC_DONE(&pass->free_blocks);
  WO_VEC_DONE(&pass->free_segments);
  wo_address_map_done(&pass->block_at);
  wo_address_map_done(&pass->segment_at);
}
