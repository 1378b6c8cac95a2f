/* SPDX-License-Identifier: Apache-2.0 */
/* Lives: every block and every range of memory of a recording, with the entries between which it was there.
 *
 * They are read off the entries and the segments at the end, backwards, without a model of the allocator. So any recording has
 * them, also one that contradicts itself or that the model does not reproduce: what contradicts is counted and smoothed over. An
 * entry begins and ends at most one block. Pure; one thread at a time. */
#ifndef WO_LIVES_H
#define WO_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"

#define WO_NO_LIFE UINT32_MAX

/* The life of one block. It is there after `birth` and up to the entry before `death`, which is that of the free's request. */
struct wo_life {
  uint64_t address;    /* or a number that is only distinct (wo_recording.has_only_ids) */
  uint64_t size_bytes; /* requested; block bytes where the recording does not have them */
  uint32_t birth;      /* entry; WO_NO_ENTRY: there before the first one */
  uint32_t death;      /* entry; WO_NO_ENTRY: still there at the end */
  uint32_t stack;      /* of the allocation, or WO_NO_STACK */
  uint8_t class_;      /* enum wo_alloc_class */
  uint8_t category;    /* of the caller's own (category.h); 0: none */
};

/* Memory that the driver gave: a segment, or a part of an expandable one that was mapped and unmapped as a whole. */
struct wo_range_life {
  uint64_t address;
  uint64_t size_bytes;
  uint32_t birth; /* as above */
  uint32_t death;
  uint32_t stream; /* index into the recording's streams */
  uint32_t pool;   /* index into its pools */
  bool is_small;   /* of the small pool, as far as the recording says so */
  bool is_expandable;
};

struct wo_lives {
  const struct wo_recording *recording; /* borrowed, as is the trace */
  const struct wo_trace *trace;
  WO_VEC(struct wo_life) blocks;       /* first those from before the first entry, by rising address; then by birth */
  size_t start_count;                  /* of blocks: those from before the first entry */
  WO_VEC(struct wo_range_life) ranges; /* likewise */
  uint32_t *died_at;                   /* for each entry: the block that ends there, or WO_NO_LIFE */
  uint64_t unclear_count;              /* entries that contradict others */
};

/* Reads the lives off a trace. Classes are WO_CLASS_UNKNOWN, categories 0. WO_E_NOMEM: *ret_lives is empty. */
enum wo_status wo_lives_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_lives *ret_lives);

/* Sets the class of every block: by its instance in `classed`, the trace's classified pattern; without one (NULL) by rules of its
 * own (classify.h; for a trace without entries holdings.h). WO_E_NOMEM: classes are then of no use. */
enum wo_status wo_lives_classify(struct wo_lives *lives, const struct wo_alloc_pattern *classed);

/* Releases what it owns; NULL and {0} allowed. */
void wo_lives_done(struct wo_lives *lives);

/* ---- Moments ---- */

/* Entries [first, end) of a trace. */
struct wo_window {
  uint32_t first;
  uint32_t end;
};

/* The whole trace. */
struct wo_window wo_lives_all(const struct wo_lives *lives);

/* Whether a block is there after an entry; WO_NO_ENTRY is the moment before the first one. */
static inline bool wo_life_is_at(uint32_t birth, uint32_t death, uint32_t entry) {
  if (entry == WO_NO_ENTRY) return birth == WO_NO_ENTRY;
  return (birth == WO_NO_ENTRY || birth <= entry) && (death == WO_NO_ENTRY || death > entry);
}

/* Whether it is there at any moment of a window, whose first moment is the one before its first entry. */
static inline bool wo_life_is_in(uint32_t birth, uint32_t death, struct wo_window window) {
  return (birth == WO_NO_ENTRY || birth < window.end) && (death == WO_NO_ENTRY || death >= window.first);
}

/* A moment: the state after an entry. */
struct wo_moment {
  uint32_t entry; /* WO_NO_ENTRY: before the first one */
  uint64_t bytes; /* of all blocks that are there */
  uint64_t count;
};

/* The first moment of a window with most bytes; the state before the window counts as its first. */
struct wo_moment wo_lives_peak(const struct wo_lives *lives, struct wo_window window);

/* The state after an entry. */
struct wo_moment wo_lives_at(const struct wo_lives *lives, uint32_t entry);

/* ---- Steps ---- */

/* Goes through the entries: the block that ends at each one, then the block that begins there. {lives} is before the first
 * entry. */
struct wo_lives_walk {
  const struct wo_lives *lives;
  uint32_t entry;
  size_t next_birth; /* of blocks; start_count in the beginning */
};
static inline struct wo_lives_walk wo_lives_walk_begin(const struct wo_lives *lives) {
  return (struct wo_lives_walk){lives, 0, lives->start_count};
}

/* The changes of the next entry, each WO_NO_LIFE for none; false behind the last entry. */
static inline bool wo_lives_walk_next(struct wo_lives_walk *walk, uint32_t *ret_dead, uint32_t *ret_born) {
  const struct wo_lives *const lives = walk->lives;
  if (walk->entry >= lives->trace->entries.count) return false;
  *ret_dead = lives->died_at[walk->entry];
  const bool is_born = walk->next_birth < lives->blocks.count && lives->blocks.items[walk->next_birth].birth == walk->entry;
  *ret_born = is_born ? (uint32_t)walk->next_birth++ : WO_NO_LIFE;
  walk->entry++;
  return true;
}

#endif
