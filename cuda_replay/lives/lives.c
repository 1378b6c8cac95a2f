/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of blocks, and the moments between them. See lives.h; lives_ranges.c has those of segments. */
#include "cuda_replay/lives/lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/collections/address_table.h"
#include "cuda_replay/lives/lives_internal.h"

/* Life that has no beginning yet, while the entries are read backwards. */
#define OPEN (UINT32_MAX - 1)

/* How an open life came to be known. */
enum seen { SEEN_LIVE, SEEN_PENDING, SEEN_REQUESTED, SEEN_COMPLETED };

struct reader {
  struct wo_lives *lives;
  struct wo_address_table last; /* by address: the life that was read last */
  WO_VEC(uint8_t) seen;         /* for each life: enum seen */
};

/* ---- Blocks, backwards ---- */

static bool add(struct reader *reader, struct wo_life life, enum seen seen) {
  struct wo_lives *const lives = reader->lives;
  if (!WO_VEC_RESERVE(&lives->blocks, 1, OPEN) || !WO_VEC_RESERVE(&reader->seen, 1, OPEN)) return false;
  if (wo_address_table_put(&reader->last, life.address, (uint32_t)lives->blocks.count) != WO_OK) return false;
  reader->seen.items[reader->seen.count++] = (uint8_t)seen;
  lives->blocks.items[lives->blocks.count++] = life;
  return true;
}

/* The life at an address that was read last, or NULL. */
static struct wo_life *find(struct reader *reader, uint64_t address, uint8_t **ret_seen) {
  uint32_t index = 0;
  if (!wo_address_table_find(&reader->last, address, &index)) return NULL;
  *ret_seen = &reader->seen.items[index];
  return &reader->lives->blocks.items[index];
}

/* The blocks in use at the end. One that waits for other streams was freed already: its request is among the entries, unless the
 * ring lost it. */
static bool read_end(struct reader *reader) {
  const struct wo_trace *const trace = reader->lives->trace;
  for (size_t i = 0; i < trace->blocks.count; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    const struct wo_life life = {.address = block->address,
                                 .size_bytes = block->requested_bytes > 0 ? block->requested_bytes : block->size_bytes,
                                 .birth = OPEN,
                                 .death = WO_NO_ENTRY,
                                 .stack = block->stack};
    if (!add(reader, life, block->state == WO_BLOCK_PENDING ? SEEN_PENDING : SEEN_LIVE)) return false;
  }
  return true;
}

/* The beginning of the life that was read last at that address. A recording without frees has none that is open: the block then
 * ends where the next one begins. */
static bool read_alloc(struct reader *reader, uint32_t at) {
  const struct wo_trace_entry *const entry = &reader->lives->trace->entries.items[at];
  uint8_t *seen = NULL;
  struct wo_life *const life = find(reader, entry->address, &seen);
  if (life != NULL && life->birth == OPEN) {
    life->birth = at;
    life->stack = entry->stack;
    life->size_bytes = entry->size_bytes;
    return true;
  }
  if (life != NULL || reader->lives->trace->has_segments) reader->lives->unclear_count++;
  const struct wo_life missed = {.address = entry->address,
                                 .size_bytes = entry->size_bytes,
                                 .birth = at,
                                 .death = life != NULL ? life->birth : WO_NO_ENTRY,
                                 .stack = entry->stack};
  return add(reader, missed, SEEN_LIVE);
}

/* A completion stands for the request before it, as long as there is none. A block that is in use later, and that no entry
 * allocates, begins here. */
static bool read_free(struct reader *reader, uint32_t at, bool is_completion) {
  const struct wo_trace_entry *const entry = &reader->lives->trace->entries.items[at];
  uint8_t *seen = NULL;
  struct wo_life *const life = find(reader, entry->address, &seen);
  if (life != NULL && life->birth == OPEN && !is_completion && (*seen == SEEN_COMPLETED || *seen == SEEN_PENDING)) {
    life->death = at;
    *seen = SEEN_REQUESTED;
    return true;
  }
  if (life != NULL && life->birth == OPEN) {
    life->birth = at;
    reader->lives->unclear_count++;
  }
  const struct wo_life freed = {
      .address = entry->address, .size_bytes = entry->size_bytes, .birth = OPEN, .death = at, .stack = WO_NO_STACK};
  return add(reader, freed, is_completion ? SEEN_COMPLETED : SEEN_REQUESTED);
}

static bool read_blocks(struct reader *reader) {
  const struct wo_trace *const trace = reader->lives->trace;
  bool is_whole = read_end(reader);
  for (size_t i = trace->entries.count; i > 0 && is_whole; i--) {
    const uint32_t at = (uint32_t)(i - 1);
    switch ((enum wo_action)trace->entries.items[at].action) {
    case WO_ACTION_ALLOC:
      is_whole = read_alloc(reader, at);
      break;
    case WO_ACTION_FREE_REQUESTED:
      is_whole = read_free(reader, at, false);
      break;
    case WO_ACTION_FREE_COMPLETED:
      is_whole = read_free(reader, at, true);
      break;
    default:
      break;
    }
  }
  return is_whole;
}

/* ---- Order ---- */

static int compare_addresses(const void *left, const void *right) {
  const struct wo_life *const a = left;
  const struct wo_life *const b = right;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return a->death < b->death ? -1 : a->death > b->death;
}

/* An entry begins at most one block, so births are an order without ties. Blocks that are born where they die held nothing. */
static bool order(struct wo_lives *lives) {
  const size_t entries = lives->trace->entries.count, count = lives->blocks.count;
  struct wo_life *const sorted = malloc((count + 1) * sizeof *sorted);
  uint32_t *const born_at = malloc((entries + 1) * sizeof *born_at);
  lives->died_at = malloc((entries + 1) * sizeof *lives->died_at);
  const bool is_whole = sorted != NULL && born_at != NULL && lives->died_at != NULL;
  if (is_whole) {
    size_t kept = 0;
    memset(born_at, 0xff, (entries + 1) * sizeof *born_at);
    memset(lives->died_at, 0xff, (entries + 1) * sizeof *lives->died_at);
    for (size_t i = 0; i < count; i++) {
      struct wo_life *const life = &lives->blocks.items[i];
      if (life->birth == OPEN) life->birth = WO_NO_ENTRY;
      if (life->birth == WO_NO_ENTRY) sorted[kept++] = *life;
      if (life->birth != WO_NO_ENTRY) born_at[life->birth] = (uint32_t)i;
    }
    lives->start_count = kept;
    qsort(sorted, kept, sizeof *sorted, compare_addresses);
    for (size_t at = 0; at < entries; at++) {
      if (born_at[at] != WO_NO_LIFE) sorted[kept++] = lives->blocks.items[born_at[at]];
    }
    assert(kept <= count);
    if (kept > 0) memcpy(lives->blocks.items, sorted, kept * sizeof *sorted);
    lives->blocks.count = kept;
    for (size_t i = 0; i < kept; i++) {
      if (sorted[i].death != WO_NO_ENTRY) lives->died_at[sorted[i].death] = (uint32_t)i;
    }
  }
  free(sorted);
  free(born_at);
  return is_whole;
}

enum wo_status wo_lives_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_lives *ret_lives) {
  *ret_lives = (struct wo_lives){.recording = recording, .trace = trace};
  struct reader reader = {.lives = ret_lives};
  assert(trace->entries.count < OPEN);
  const bool is_whole = read_blocks(&reader) && order(ret_lives) && wo__lives_read_ranges(ret_lives);
  wo_address_table_done(&reader.last);
  WO_VEC_DONE(&reader.seen);
  if (!is_whole) wo_lives_done(ret_lives);
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_lives_done(struct wo_lives *lives) {
  if (lives == NULL) return;
  WO_VEC_DONE(&lives->blocks);
  WO_VEC_DONE(&lives->ranges);
  free(lives->died_at);
  *lives = (struct wo_lives){0};
}

/* ---- Moments ---- */

struct wo_window wo_lives_all(const struct wo_lives *lives) {
  return (struct wo_window){0, (uint32_t)lives->trace->entries.count};
}

static void step(struct wo_moment *now, const struct wo_lives *lives, uint32_t dead, uint32_t born) {
  if (dead != WO_NO_LIFE) {
    now->bytes -= lives->blocks.items[dead].size_bytes;
    now->count--;
  }
  if (born != WO_NO_LIFE) {
    now->bytes += lives->blocks.items[born].size_bytes;
    now->count++;
  }
}

static struct wo_moment start_of(const struct wo_lives *lives) {
  struct wo_moment start = {.entry = WO_NO_ENTRY, .count = lives->start_count};
  for (size_t i = 0; i < lives->start_count; i++) start.bytes += lives->blocks.items[i].size_bytes;
  return start;
}

struct wo_moment wo_lives_peak(const struct wo_lives *lives, struct wo_window window) {
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  struct wo_moment now = start_of(lives), peak = now;
  uint32_t dead, born;
  while (walk.entry < window.end && wo_lives_walk_next(&walk, &dead, &born)) {
    step(&now, lives, dead, born);
    now.entry = walk.entry - 1;
    if (walk.entry <= window.first || now.bytes > peak.bytes) peak = now;
  }
  return peak;
}

struct wo_moment wo_lives_at(const struct wo_lives *lives, uint32_t entry) {
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  struct wo_moment now = start_of(lives);
  uint32_t dead, born;
  if (entry == WO_NO_ENTRY) return now;
  while (walk.entry <= entry && wo_lives_walk_next(&walk, &dead, &born)) {
    step(&now, lives, dead, born);
    now.entry = walk.entry - 1;
  }
  return now;
}
