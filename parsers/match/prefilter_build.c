/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the prefilter: the windows of all literals, and the bitmaps that tell them from other text. */
#include <stdlib.h>

#include "parsers/match/prefilter_internal.h"

enum {
  VARIANTS_MAX = 2,  /* of a window that reaches the end of a line */
  NUMBERS_MAX = 150, /* variants of a window that reaches them */
};

/* Characters that may follow a literal before a number. */
static const char number_first[] = "0123456789";
static const char number_second[] = "0123456789. GMK"; /* of "9.3", "12", "9 GiB" and "9G" */
_Static_assert((sizeof number_first - 1) * (sizeof number_second - 1) <= NUMBERS_MAX, "room for all variants");

/* The bitmap may say yes to windows that no literal has, when hashes collide, but never no to one
 * that some literal has. Everything after it only costs time. */
static void add_to_bitmap(uint32_t *bitmap, uint32_t window) {
  const uint32_t bit = wo__hash_window(window) >> (32 - WO__BITMAP_BITS_LOG2);
  bitmap[bit / 32] |= UINT32_C(1) << (bit % 32);
  assert(wo__is_in_bitmap(bitmap, window));
}

/* Bytes of a literal that windows may cover: the end of a line counts as one, the number after it as
 * two. They may be all that makes a literal long enough. */
static size_t covered_len(const struct wo__needle *needle) {
  return needle->body.len + (needle->is_line_end ? 1 : 0) + (needle->is_before_number ? WO_PREFILTER_NUMBER_BYTES : 0);
}

/* The bytes of the window at `offset`, with `line_end` in the place of the end of the line. */
static void copy_window(const struct wo__needle *needle, size_t offset, char line_end, char ret_window[WO__WINDOW_BYTES]) {
  assert(offset + WO__WINDOW_BYTES <= covered_len(needle));
  const size_t left = needle->body.len - offset;
  memset(ret_window, line_end, WO__WINDOW_BYTES);
  memcpy(ret_window, needle->body.ptr + offset, left < WO__WINDOW_BYTES ? left : WO__WINDOW_BYTES);
}

/* Writes the bytes that windows may cover, with a character for the end of the line or the number. Returns how many. */
static size_t spell_literal(const struct wo__needle *needle, char ret_text[WO__RANKED_BYTES]) {
  const size_t covered = covered_len(needle), own = needle->body.len;
  const size_t len = covered < WO__RANKED_BYTES ? covered : WO__RANKED_BYTES;
  memcpy(ret_text, needle->body.ptr, own < len ? own : len);
  for (size_t i = own; i < len; i++) ret_text[i] = needle->is_line_end ? '\n' : i == own ? '1' : '.';
  return len;
}

static void add_variant(struct wo_prefilter *filter, size_t index, size_t offset, const char window[WO__WINDOW_BYTES]) {
  const struct wo_view body = filter->needles[index].body;
  filter->own_places[filter->tables.place_count++] =
      (struct wo_prefilter_place){.window = wo__load_window(window),
                                  .literal = (uint32_t)index,
                                  .offset = (uint32_t)offset,
                                  .len = (uint32_t)body.len,
                                  .head = wo__load_window(body.ptr),
                                  .tail = wo__load_window(body.ptr + body.len - WO__WINDOW_BYTES)};
}

/* The windows of a literal before a number that reach the number: one for each of its beginnings. */
static void add_number_places(struct wo_prefilter *filter, size_t index, size_t offset) {
  const struct wo__needle *const needle = &filter->needles[index];
  const size_t own = needle->body.len - offset;
  const bool has_second = own + WO_PREFILTER_NUMBER_BYTES <= WO__WINDOW_BYTES;
  char window[WO__WINDOW_BYTES];
  memcpy(window, needle->body.ptr + offset, own);
  for (const char *first = number_first; *first; first++) {
    window[own] = *first;
    if (!has_second) add_variant(filter, index, offset, window);
    for (const char *second = number_second; has_second && *second; second++) {
      window[own + 1] = *second;
      add_variant(filter, index, offset, window);
    }
  }
}

/* Adds the window of a literal at `offset` to the places, in both variants when it reaches the end
 * of a line. Room for both was made by the caller. */
static void add_place(struct wo_prefilter *filter, size_t index, size_t offset) {
  const struct wo__needle *const needle = &filter->needles[index];
  const bool has_variants = offset + WO__WINDOW_BYTES > needle->body.len;
  const char line_ends[VARIANTS_MAX] = {'\n', '\r'};
  if (needle->is_before_number && has_variants) {
    add_number_places(filter, index, offset);
    return;
  }
  for (size_t i = 0; i < (has_variants ? VARIANTS_MAX : 1); i++) {
    char window[WO__WINDOW_BYTES];
    copy_window(needle, offset, line_ends[i], window);
    add_variant(filter, index, offset, window);
  }
}

/* The most places that the literals can have. */
static size_t count_places(const struct wo_prefilter *filter) {
  size_t most = 0;
  for (size_t i = 0; i < filter->needle_count; i++)
    most += (size_t)WO__WINDOW_BYTES * (filter->needles[i].is_before_number ? NUMBERS_MAX : VARIANTS_MAX);
  return most;
}

/* Chooses the windows of all literals, one for each alignment, since it depends on the text which
 * one the scan will meet. False when memory is out. */
static bool choose_places(struct wo_prefilter *filter) {
  const size_t most = count_places(filter);
  filter->tables.places = filter->own_places = calloc(most == 0 ? 1 : most, sizeof *filter->own_places);
  struct wo__frequencies *const seen = wo__frequencies_new();
  if (filter->own_places == NULL || seen == NULL) {
    free(seen);
    return false;
  }
  for (size_t i = 0; i < filter->needle_count; i++) {
    char text[WO__RANKED_BYTES];
    size_t offsets[WO__WINDOW_BYTES];
    wo__rarest_offsets(seen, text, spell_literal(&filter->needles[i], text), offsets);
    for (size_t alignment = 0; alignment < WO__WINDOW_BYTES; alignment++) add_place(filter, i, offsets[alignment]);
  }
  free(seen);
  assert(filter->tables.place_count <= most);
  return true;
}

/* Adds the bytes of the literal beside the window to those of the slot; any byte where the literal begins or ends there. */
static void add_beside(const struct wo_prefilter *filter, const struct wo_prefilter_place *place,
                       struct wo_prefilter_slot *slot) {
  const struct wo_view body = filter->needles[place->literal].body;
  const size_t end = place->offset + WO__WINDOW_BYTES;
  slot->before |= place->offset > 0 ? wo__beside_bit(body.ptr[place->offset - 1]) : UINT64_MAX;
  slot->after |= end < body.len ? wo__beside_bit(body.ptr[end]) : UINT64_MAX;
}

/* Builds the table of windows and the bitmap. False when memory is out. At least a fifth of the slots stay free, and
 * mostly far more, since literals share windows: a search for a window that is not there ends soon. Places of equal windows are
 * chained, later literals first; no answer depends on their order. */
static bool fill_slots(struct wo_prefilter *filter) {
  struct wo_prefilter_tables *const tables = &filter->tables;
  tables->slot_count = 16;
  while (4 * tables->slot_count < 5 * tables->place_count) tables->slot_count *= 2;
  tables->bitmap_words = WO__BITMAP_WORDS;
  tables->slots = filter->own_slots = calloc(tables->slot_count, sizeof *filter->own_slots);
  tables->bitmap = filter->own_bitmap = calloc(WO__BITMAP_WORDS, sizeof *filter->own_bitmap);
  if (filter->own_slots == NULL || filter->own_bitmap == NULL) return false;
  filter->slot_mask = (uint32_t)(tables->slot_count - 1);
  for (size_t i = 0; i < tables->place_count; i++) {
    struct wo_prefilter_place *const place = &filter->own_places[i];
    struct wo_prefilter_slot *const slot = &filter->own_slots[wo__find_slot(filter, place->window) - filter->own_slots];
    slot->window = place->window;
    place->next = slot->head;
    slot->head = (uint32_t)i + 1;
    add_to_bitmap(filter->own_bitmap, place->window);
    add_beside(filter, place, slot);
  }
  return true;
}

/* The hash of the literals, in order, with their conditions on the next characters. Their texts are one stream in which each is
 * followed by its length, so that two lists have the same hash only by accident, once in 2^64. Owners are not part of the
 * tables. */
static uint64_t hash_literals(const struct wo_prefilter_literal *literals, size_t count) {
  uint64_t hash = wo__load_window("\1\2\3\4");
  for (size_t i = 0; i < count; i++) {
    const struct wo_view text = literals[i].text;
    for (size_t at = 0; at < text.len; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      memcpy(&word, text.ptr + at, text.len - at < sizeof word ? text.len - at : sizeof word);
      hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
      hash ^= hash >> 29;
    }
    hash = (hash ^ (text.len << 1 | (literals[i].is_before_number ? 1 : 0))) * UINT64_C(0xd6e8feb86659fd93);
  }
  return hash;
}

/* Takes the literals over, cutting the line feeds that stand for the end of a line. The bytes stay
 * the caller's. False when memory is out. */
static bool copy_needles(struct wo_prefilter *filter, const struct wo_prefilter_literal *literals, size_t count) {
  filter->needles = calloc(count == 0 ? 1 : count, sizeof *filter->needles);
  if (filter->needles == NULL) return false;
  filter->needle_count = count;
  for (size_t i = 0; i < count; i++) {
    struct wo_view body = literals[i].text;
    const bool is_line_end = body.ptr[body.len - 1] == '\n';
    if (is_line_end) body.len--;
    filter->needles[i] = (struct wo__needle){.body = body,
                                             .owner = literals[i].owner,
                                             .is_line_end = is_line_end,
                                             .is_before_number = literals[i].is_before_number && !is_line_end};
  }
  return true;
}

bool wo_prefilter_is_long_enough(const struct wo_prefilter_literal *literal) {
  const struct wo_view text = literal->text;
  const bool is_line_end = text.len > 0 && text.ptr[text.len - 1] == '\n';
  return text.len + (literal->is_before_number && !is_line_end ? WO_PREFILTER_NUMBER_BYTES : 0) >= WO_PATTERN_LITERAL_MIN;
}

/* Lengths and counts are checked first, so that 32 bits hold every index from here on. */
enum wo_status wo_prefilter_new(const struct wo_prefilter_literal *literals, size_t count,
                                const struct wo_prefilter_tables *ready, struct wo_prefilter **ret_filter) {
  assert((literals != NULL || count == 0) && ret_filter != NULL);
  for (size_t i = 0; i < count; i++) {
    if (!wo_prefilter_is_long_enough(&literals[i]) || literals[i].text.len > UINT32_MAX) return WO_E_RANGE;
  }
  if (count > UINT32_MAX / WO__WINDOW_BYTES / NUMBERS_MAX / 2) return WO_E_RANGE;
  struct wo_prefilter *const filter = calloc(1, sizeof *filter);
  if (filter == NULL) return WO_E_NOMEM;
  filter->tables.made_of = hash_literals(literals, count);
  const bool is_ready = ready != NULL && ready->made_of == filter->tables.made_of;
  if (!copy_needles(filter, literals, count) || (!is_ready && !(choose_places(filter) && fill_slots(filter)))) {
    wo_prefilter_free(filter);
    return WO_E_NOMEM;
  }
  if (is_ready) {
    filter->tables = *ready;
    filter->slot_mask = (uint32_t)(ready->slot_count - 1);
  }
  *ret_filter = filter;
  return WO_OK;
}

struct wo_prefilter *wo_prefilter_free(struct wo_prefilter *filter) {
  if (filter == NULL) return NULL;
  free(filter->needles);
  free(filter->own_places);
  free(filter->own_slots);
  free(filter->own_bitmap);
  free(filter);
  return NULL;
}

struct wo_prefilter_tables wo_prefilter_tables(const struct wo_prefilter *filter) {
  return filter->tables;
}
