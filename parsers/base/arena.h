/* SPDX-License-Identifier: Apache-2.0 */
/* A block arena: many small allocations, one release. Used per stage (one run, one job).
 *
 * Everything allocated from an arena lives until wo_arena_done. An arena has a hard cap in bytes; beyond it, and when the system
 * has no memory, allocation gives NULL and the arena remembers that (wo_arena_is_exhausted). Under AddressSanitizer allocations
 * have red zones between them. One arena must not be used by two threads at once. */
#ifndef WO_ARENA_H
#define WO_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/view.h"

struct wo_arena_block;

struct wo_arena {
  struct wo_arena_block *blocks; /* newest first */
  size_t used_bytes;             /* in all blocks, headers excluded */
  size_t cap_bytes;
  bool is_exhausted;
};

/* Makes *arena empty with the given cap. Allocates nothing. */
void wo_arena_init(struct wo_arena *arena, size_t cap_bytes);

/* Releases everything. NULL and an already released arena are allowed; the arena can be used again. */
void wo_arena_done(struct wo_arena *arena);

/* `size` zeroed bytes aligned for any type, or NULL. size 0 gives a valid pointer. */
void *wo_arena_alloc(struct wo_arena *arena, size_t size);

/* Zeroed room for count elements of the given size, or NULL (also when count * size overflows). */
void *wo_arena_array(struct wo_arena *arena, size_t count, size_t size);

/* A copy of view that lives as long as the arena; a NUL byte follows it (not counted). On failure {NULL, 0}. */
struct wo_view wo_arena_copy(struct wo_arena *arena, struct wo_view view);

/* The parts one after the other, as one text in the arena with a NUL after it (not counted). On failure {NULL, 0}. */
struct wo_view wo_arena_join(struct wo_arena *arena, const struct wo_view *parts, size_t count);

/* A printf-formatted string in the arena, or an empty view on failure. */
struct wo_view wo_arena_format(struct wo_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether some allocation has failed since init. */
bool wo_arena_is_exhausted(const struct wo_arena *arena);

#endif
