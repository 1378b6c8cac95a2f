/* SPDX-License-Identifier: Apache-2.0 */
/* The literal prefilter: where could anything of interest be in a large buffer?
 *
 * One window of four bytes is looked at for every four bytes of text. Its hash is tested in a
 * bitmap that fits the first-level cache; almost all windows end there. A hit is looked up in a
 * table of windows, which knows the bytes that may be beside it; if they are, it leads to the literals
 * that hold this window at some offset, and those are compared byte by byte, so that the answer is
 * exact.
 *
 * Whatever its alignment, a literal of at least seven bytes has one window that the scan looks at for each of the four
 * alignments, and long literals have several to choose from. False hits are the whole cost, so the window is taken that is rarest
 * in ordinary log text (prefilter_windows.c).
 *
 * A line feed at the end of a literal means the end of a line. The windows that reach it are in the table twice, once for each
 * character that ends lines, and the end of the text is read as if a line feed followed.
 *
 * Compared with running every expression on every line this is what makes whyoom fast: logs are
 * long and evidence is rare. Compared with Aho-Corasick it needs no table that grows with the
 * literals' bytes, and takes one step for each window, not for each byte. */
#include "parsers/match/prefilter_internal.h"

/* ---- Comparing ---- */

static inline bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

/* Whether a number of at least two bytes begins at `at`: as number_first and number_second of prefilter_build.c say, without a
 * search in them. */
static inline bool is_number_start(struct wo_view text, size_t at) {
  if (at >= text.len || text.len - at < WO_PREFILTER_NUMBER_BYTES || !is_digit(text.ptr[at])) return false;
  const char c = text.ptr[at + 1];
  return is_digit(c) || c == '.' || c == ' ' || c == 'G' || c == 'M' || c == 'K';
}

/* Whether the literal is in text at `at`: the definition of an occurrence, shared by both ways
 * of searching. That the fast way misses none is then all there is to test. */
static inline bool stands_at(const struct wo__needle *needle, struct wo_view text, size_t at) {
  const struct wo_view body = needle->body;
  if (at > text.len || body.len > text.len - at) return false;
  if (memcmp(text.ptr + at, body.ptr, body.len) != 0) return false;
  const size_t end = at + body.len;
  if (needle->is_before_number) return is_number_start(text, end);
  return !needle->is_line_end || end == text.len || text.ptr[end] == '\n' || text.ptr[end] == '\r';
}

/* ---- Searching ---- */

/* The window at `at`; a line feed follows the end of the text. Literals that would need other bytes there are refused by
 * stands_at. */
static uint32_t window_at(struct wo_view text, size_t at) {
  assert(at < text.len);
  if (text.len - at >= WO__WINDOW_BYTES) return wo__load_window(text.ptr + at);
  char tail[WO__WINDOW_BYTES];
  memset(tail, '\n', sizeof tail);
  memcpy(tail, text.ptr + at, text.len - at);
  return wo__load_window(tail);
}

/* Whether the slot's literals may be around its window at `at`: most windows that the bitmap lets through are in other words, and
 * have other bytes beside them. Literals that begin or end with the window allow any. */
static inline bool may_stand(const struct wo_prefilter_slot *slot, struct wo_view text, size_t at) {
  const char before = text.ptr[at > 0 ? at - 1 : 0];
  const char after = text.len - at > WO__WINDOW_BYTES ? text.ptr[at + WO__WINDOW_BYTES] : '\n';
  const bool is_before = at == 0 || (slot->before & wo__beside_bit(before)) != 0;
  return is_before & ((slot->after & wo__beside_bit(after)) != 0);
}

/* Writes the numbers of the windows [at, at + 4 * count) that are in the bitmap. This loop is where the time goes. It has no
 * branch that depends on the text: in ordinary text too many windows are in the bitmap to be foreseen. */
static uint32_t look_up(const uint32_t *bitmap, const char *ptr, size_t count, uint16_t *ret_found) {
  uint32_t found = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const char *const four = ptr + i * WO__WINDOW_BYTES;
    const bool a = wo__is_in_bitmap(bitmap, wo__load_window(four));
    const bool b = wo__is_in_bitmap(bitmap, wo__load_window(four + WO__WINDOW_BYTES));
    const bool c = wo__is_in_bitmap(bitmap, wo__load_window(four + (ptrdiff_t)2 * WO__WINDOW_BYTES));
    const bool d = wo__is_in_bitmap(bitmap, wo__load_window(four + (ptrdiff_t)3 * WO__WINDOW_BYTES));
    ret_found[found] = (uint16_t)i;
    found += a;
    ret_found[found] = (uint16_t)(i + 1);
    found += b;
    ret_found[found] = (uint16_t)(i + 2);
    found += c;
    ret_found[found] = (uint16_t)(i + 3);
    found += d;
  }
  for (; i < count; i++) {
    ret_found[found] = (uint16_t)i;
    found += wo__is_in_bitmap(bitmap, wo__load_window(ptr + i * WO__WINDOW_BYTES));
  }
  return found;
}

/* Keeps those of the numbers whose windows may be of a literal, by what is beside them. A slot that another window has is left to
 * the comparison. */
static uint32_t sift(const struct wo_prefilter *filter, struct wo_view text, size_t at, uint16_t *found, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    const size_t place = at + (size_t)found[i] * WO__WINDOW_BYTES;
    const uint32_t window = wo__load_window(text.ptr + place);
    const struct wo_prefilter_slot *const slot = &filter->tables.slots[wo__slot_of(filter, window)];
    found[kept] = found[i];
    kept += (uint32_t)((slot->head > 0) & ((slot->window != window) | may_stand(slot, text, place)));
  }
  return kept;
}

/* Looks at the next block; false at the end of the text. The last window may reach beyond the end. */
static bool next_block(const struct wo_prefilter *filter, struct wo_view text, struct wo_prefilter_cursor *cursor) {
  if (cursor->at >= text.len) return false;
  const size_t whole = (text.len - cursor->at) / WO__WINDOW_BYTES;
  const size_t count = whole < WO_PREFILTER_BLOCK / WO__WINDOW_BYTES ? whole : WO_PREFILTER_BLOCK / WO__WINDOW_BYTES;
  cursor->block = cursor->at;
  cursor->passed = 0;
  cursor->count = look_up(filter->tables.bitmap, text.ptr + cursor->at, count, cursor->found);
  cursor->count = sift(filter, text, cursor->at, cursor->found, cursor->count);
  if (count == 0) cursor->found[cursor->count++] = 0;
  cursor->at += (count == 0 ? 1 : count) * WO__WINDOW_BYTES;
  return true;
}

/* Whether the literal of this place is around the window at `at`, starting at `from` or later.
 * A literal that began before `from` was reported by an earlier search, or lies in a line that is
 * done with. */
static inline bool stands_around(const struct wo_prefilter *filter, const struct wo_prefilter_place *place, struct wo_view text,
                                 size_t from, size_t at) {
  if (at < place->offset || at - place->offset < from) return false;
  const size_t start = at - place->offset;
  if (text.len - start < place->len || wo__load_window(text.ptr + start) != place->head) return false;
  if (wo__load_window(text.ptr + start + place->len - WO__WINDOW_BYTES) != place->tail) return false;
  return stands_at(&filter->needles[place->literal], text, start);
}

/* The first window that is hit need not belong to the first literal of its line, but a literal of an earlier line would have been
 * hit before: windows are met in order, and a literal without its line feed lies within one line. That is what the header
 * promises. */
bool wo_prefilter_walk(const struct wo_prefilter *filter, struct wo_view text, struct wo_prefilter_cursor *cursor,
                       struct wo_prefilter_hit *ret_hit) {
  assert(filter != NULL);
  if (filter->needle_count == 0) return false;
  for (;;) {
    while (cursor->next > 0) {
      const struct wo_prefilter_place *const place = &filter->tables.places[cursor->next - 1];
      cursor->next = place->next;
      if (!stands_around(filter, place, text, cursor->from, cursor->window)) continue;
      *ret_hit = (struct wo_prefilter_hit){cursor->window - place->offset, filter->needles[place->literal].owner};
      return true;
    }
    while (cursor->passed == cursor->count) {
      if (!next_block(filter, text, cursor)) return false;
    }
    cursor->window = cursor->block + (size_t)cursor->found[cursor->passed++] * WO__WINDOW_BYTES;
    cursor->next = wo__find_slot(filter, window_at(text, cursor->window))->head;
  }
}

/* A literal that starts at `from` or behind it has all of its windows there. */
void wo_prefilter_go_to(struct wo_prefilter_cursor *cursor, size_t from) {
  if (from < cursor->block || from > cursor->at) {
    wo_prefilter_begin(cursor, from);
    return;
  }
  cursor->from = from;
  cursor->next = cursor->passed = 0;
  while (cursor->passed < cursor->count && cursor->block + (size_t)cursor->found[cursor->passed] * WO__WINDOW_BYTES < from)
    cursor->passed++;
}

/* Sets the owner's bit; true when it was not set before. Owners beyond the bits are not recorded. */
static bool mark_owner(uint64_t *owners, size_t words, uint32_t owner) {
  if (owner / 64 >= words) return false;
  const uint64_t bit = UINT64_C(1) << (owner % 64);
  const bool is_new = (owners[owner / 64] & bit) == 0;
  owners[owner / 64] |= bit;
  return is_new;
}

/* Literals overlap ("out of memory" is in "CUDA out of memory"), and all of them count. */
size_t wo_prefilter_mark(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words) {
  assert(filter != NULL && (owners != NULL || words == 0));
  struct wo_prefilter_cursor cursor;
  struct wo_prefilter_hit hit;
  size_t marked = 0;
  wo_prefilter_begin(&cursor, 0);
  while (wo_prefilter_walk(filter, text, &cursor, &hit)) marked += mark_owner(owners, words, hit.owner) ? 1 : 0;
  return marked;
}

/* The reference: every literal, everywhere; the first byte is looked at before the call, which makes it bearable in tests. */
size_t wo_prefilter_mark_slow(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words) {
  assert(filter != NULL && (owners != NULL || words == 0));
  size_t marked = 0;
  for (size_t i = 0; i < filter->needle_count; i++) {
    for (size_t at = 0; at < text.len; at++) {
      if (filter->needles[i].body.ptr[0] != text.ptr[at] || !stands_at(&filter->needles[i], text, at)) continue;
      marked += mark_owner(owners, words, filter->needles[i].owner) ? 1 : 0;
      break;
    }
  }
  return marked;
}
