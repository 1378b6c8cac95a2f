/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the prefilter, shared by prefilter.c (searching), prefilter_build.c (its tables) and prefilter_windows.c (which
 * windows are rare). Nobody else includes this. */
#ifndef WO_PREFILTER_INTERNAL_H
#define WO_PREFILTER_INTERNAL_H

#include <assert.h>
#include <string.h>

#include "parsers/match/prefilter.h"

enum {
  WO__WINDOW_BYTES = 4,
  WO__BITMAP_BITS_LOG2 = 18, /* 32 KiB */
  WO__BITMAP_WORDS = (1 << WO__BITMAP_BITS_LOG2) / 32,
};
_Static_assert(WO_PATTERN_LITERAL_MIN - WO_PREFILTER_NUMBER_BYTES >= WO__WINDOW_BYTES, "every literal's body holds a window");
_Static_assert(WO_PATTERN_LITERAL_MIN == 2 * WO__WINDOW_BYTES - 1, "every alignment has a window inside the shortest literal");

/* A literal. `body` is what is compared; is_line_end stands for the line feed that was cut from it. */
struct wo__needle {
  struct wo_view body;
  uint32_t owner;
  bool is_line_end;
  bool is_before_number;
};

struct wo_prefilter {
  struct wo_prefilter_tables tables;
  struct wo__needle *needles;
  size_t needle_count;
  uint32_t slot_mask;
  /* Where `tables` was made here. */
  uint32_t *own_bitmap;
  struct wo_prefilter_place *own_places;
  struct wo_prefilter_slot *own_slots;
};

/* ---- Windows and hashes ---- */

/* The window at ptr, in the byte order of this machine: tables never leave it. Through memcpy, since text has no alignment; it
 * becomes one load. */
static inline uint32_t wo__load_window(const char *ptr) {
  uint32_t window = 0;
  memcpy(&window, ptr, sizeof window);
  return window;
}

/* Fibonacci hashing: the high bits are well mixed, and both tables take theirs from there. */
static inline uint32_t wo__hash_window(uint32_t window) {
  return window * UINT32_C(0x9e3779b1);
}

/* Whether the window's bit is set: true for all windows of literals, and for few others. */
static inline bool wo__is_in_bitmap(const uint32_t *bitmap, uint32_t window) {
  const uint32_t bit = wo__hash_window(window) >> (32 - WO__BITMAP_BITS_LOG2);
  return (bitmap[bit / 32] >> (bit % 32) & 1) != 0;
}

/* The bit of a byte beside a window. Digits share theirs with capitals and signs, which are rarer in literals. */
static inline uint64_t wo__beside_bit(char c) {
  return UINT64_C(1) << ((unsigned char)c & 63);
}

/* Where the search for the slot of a window begins. */
static inline uint32_t wo__slot_of(const struct wo_prefilter *filter, uint32_t window) {
  return wo__hash_window(window) >> 8 & filter->slot_mask;
}

/* The slot of a window, or the free slot where it belongs. Its bits of the hash are others than those of the bitmap, at least in
 * part, so a collision there need not be one here; the window itself is compared in any case. */
static inline const struct wo_prefilter_slot *wo__find_slot(const struct wo_prefilter *filter, uint32_t window) {
  const struct wo_prefilter_slot *const slots = filter->tables.slots;
  uint32_t at = wo__slot_of(filter, window);
  while (slots[at].head > 0 && slots[at].window != window) at = (at + 1) & filter->slot_mask;
  return &slots[at];
}

/* ---- Which windows are rare ---- */

struct wo__frequencies;

/* How often bytes, pairs and windows occur in ordinary logs; to be freed. NULL without memory. */
struct wo__frequencies *wo__frequencies_new(void);

/* Of a text of `len` bytes: for each alignment the offset of its rarest window. The text holds a window at each. */
void wo__rarest_offsets(const struct wo__frequencies *seen, const char *text, size_t len, size_t ret_offsets[WO__WINDOW_BYTES]);

/* Bytes of a literal that are looked at for its rarest windows. */
#define WO__RANKED_BYTES 256

#endif
