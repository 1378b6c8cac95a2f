/* SPDX-License-Identifier: Apache-2.0 */
/* The block arena.
 *
 * Blocks are filled from front to back, and nothing is ever taken back. A piece is cleared when it is handed out: most of a block
 * is never used, and one that was freed by another arena would have to be cleared as a whole. Block sizes grow up to a ceiling. A
 * piece that is large beside a block gets a block of its own, so that the rest of the block in use is not lost to it. The cap
 * counts the pieces, rounded up to alignment, in whatever block they are. Under AddressSanitizer everything not handed out is
 * poisoned, with a gap after each piece. */
#include "parsers/base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clang shows it with __has_feature, GCC with a macro of its own. The conditions are nested because a compiler without
 * __has_feature could not even read it within one. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(ARENA_ASAN)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE_BYTES ((size_t)16)
#define POISON(ptr, len) ASAN_POISON_MEMORY_REGION((ptr), (len))
#define UNPOISON(ptr, len) ASAN_UNPOISON_MEMORY_REGION((ptr), (len))
#else
#define RED_ZONE_BYTES ((size_t)0)
#define POISON(ptr, len) ((void)(ptr), (void)(len))
#define UNPOISON(ptr, len) ((void)(ptr), (void)(len))
#endif

/* Aligned for every type, so that callers need not say which type they store. Blocks start small, as most arenas hold a few
 * kilobytes, and stop growing where a larger one would save nothing. */
#define ALIGN_BYTES _Alignof(max_align_t)
#define BLOCK_FIRST_BYTES ((size_t)16 * 1024)
#define BLOCK_MAX_BYTES ((size_t)256 * 1024)
#define BLOCK_GROWTH 8

/* A block: this header, then its pieces from `data` on. [0, used) is handed out, gaps included. */
struct wo_arena_block {
  struct wo_arena_block *next; /* older */
  size_t used;
  size_t capacity;
  _Alignas(max_align_t) char data[];
};

void wo_arena_init(struct wo_arena *arena, size_t cap_bytes) {
  assert(arena != NULL);
  *arena = (struct wo_arena){.cap_bytes = cap_bytes};
}

/* Unpoisoned before it is freed: the C library's allocator writes into what it takes back. The cap
 * survives, so that the arena can be used again. */
void wo_arena_done(struct wo_arena *arena) {
  if (arena == NULL) return;
  for (struct wo_arena_block *block = arena->blocks; block != NULL;) {
    struct wo_arena_block *const next = block->next;
    UNPOISON(block->data, block->capacity);
    free(block);
    block = next;
  }
  wo_arena_init(arena, arena->cap_bytes);
}

/* A block outside any list, all of it poisoned; NULL when the system refuses. */
static struct wo_arena_block *new_block(size_t capacity) {
  struct wo_arena_block *const block = malloc(sizeof *block + capacity);
  if (block == NULL) return NULL;
  *block = (struct wo_arena_block){.capacity = capacity};
  POISON(block->data, capacity);
  return block;
}

/* The capacity for the next ordinary block. `newest` is never one made for a single large piece,
 * unless it was the first: then growth starts from its size, up to the ceiling. */
static size_t next_capacity(const struct wo_arena_block *newest) {
  if (newest == NULL) return BLOCK_FIRST_BYTES;
  const size_t next = newest->capacity * BLOCK_GROWTH;
  return next < BLOCK_MAX_BYTES ? next : BLOCK_MAX_BYTES;
}

/* Puts a new block into the list and returns it. One made for a single large piece goes after the newest, which keeps filling up;
 * the order after it does not matter, because nothing reads it before the end. */
static struct wo_arena_block *add_block(struct wo_arena *arena, size_t need) {
  struct wo_arena_block *const newest = arena->blocks;
  const size_t ordinary = next_capacity(newest);
  const bool is_large = need > ordinary / 4;
  struct wo_arena_block *const block = new_block(is_large ? need : ordinary);
  if (block == NULL) return NULL;
  if (is_large && newest != NULL) {
    block->next = newest->next;
    newest->next = block;
  } else {
    block->next = newest;
    arena->blocks = block;
  }
  return block;
}

/* The newest block when the piece fits into it, otherwise a new one. Older blocks are not searched: their rest is small. */
static struct wo_arena_block *block_with_room(struct wo_arena *arena, size_t need) {
  struct wo_arena_block *const newest = arena->blocks;
  assert(newest == NULL || newest->used <= newest->capacity);
  if (newest != NULL && newest->capacity - newest->used >= need) return newest;
  return add_block(arena, need);
}

/* Every failed allocation leaves through here, so that none goes unnoticed: callers may make many
 * and ask once. */
static void *give_up(struct wo_arena *arena) {
  arena->is_exhausted = true;
  return NULL;
}

/* A request for 0 bytes gets a piece of its own too: NULL means failure and nothing else, and no two pieces have the same
 * address. */
void *wo_arena_alloc(struct wo_arena *arena, size_t size) {
  assert(arena != NULL && arena->used_bytes <= arena->cap_bytes);
  /* Compared before rounding up, which could overflow. */
  const size_t room = arena->cap_bytes - arena->used_bytes;
  if (size > room || room < ALIGN_BYTES) return give_up(arena);
  const size_t aligned = size == 0 ? ALIGN_BYTES : (size + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
  if (aligned < size || aligned > room || aligned > SIZE_MAX / 2) return give_up(arena);
  struct wo_arena_block *const block = block_with_room(arena, aligned + RED_ZONE_BYTES);
  if (block == NULL) return give_up(arena);
  char *const piece = block->data + block->used;
  block->used += aligned + RED_ZONE_BYTES;
  arena->used_bytes += aligned;
  /* The size asked for, not the rounded one: the padding stays forbidden. */
  UNPOISON(piece, size);
  memset(piece, 0, size);
  assert((uintptr_t)piece % ALIGN_BYTES == 0);
  return piece;
}

void *wo_arena_array(struct wo_arena *arena, size_t count, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return give_up(arena);
  return wo_arena_alloc(arena, total);
}

/* The piece is zeroed, so the copy ends with a NUL. An empty view gets a pointer too, so that it differs from a failure. */
struct wo_view wo_arena_copy(struct wo_arena *arena, struct wo_view view) {
  if (view.len == SIZE_MAX) return (struct wo_view){give_up(arena), 0};
  char *const copy = wo_arena_alloc(arena, view.len + 1);
  if (copy == NULL) return (struct wo_view){NULL, 0};
  if (view.len > 0) memcpy(copy, view.ptr, view.len);
  return (struct wo_view){copy, view.len};
}

struct wo_view wo_arena_join(struct wo_arena *arena, const struct wo_view *parts, size_t count) {
  size_t len = 0;
  bool is_too_long = false;
  for (size_t i = 0; i < count; i++) is_too_long |= __builtin_add_overflow(len, parts[i].len, &len);
  if (is_too_long || len == SIZE_MAX) return (struct wo_view){give_up(arena), 0};
  char *const text = wo_arena_alloc(arena, len + 1);
  if (text == NULL) return (struct wo_view){NULL, 0};
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].len > 0) memcpy(text + at, parts[i].ptr, parts[i].len);
    at += parts[i].len;
  }
  return (struct wo_view){text, len};
}

struct wo_view wo_arena_format(struct wo_arena *arena, const char *format, ...) {
  assert(format != NULL);
  /* Printed twice: once to measure, once into place. */
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  const int len = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *const text = len < 0 ? give_up(arena) : wo_arena_alloc(arena, (size_t)len + 1);
  if (text != NULL) vsnprintf(text, (size_t)len + 1, format, again);
  va_end(again);
  return (struct wo_view){text, text == NULL ? 0 : (size_t)len};
}

bool wo_arena_is_exhausted(const struct wo_arena *arena) {
  assert(arena != NULL);
  return arena->is_exhausted;
}
