/* SPDX-License-Identifier: Apache-2.0 */
/* See pack_words.h. */
#include "analyzer/pack/pack_words.h"

#include <stdint.h>
#include <stdlib.h>

#include "parsers/base/vec.h"

/* FNV-1a over eight bytes at a time. */
static uint64_t hash_of(struct wo_view text) {
  uint64_t hash = UINT64_C(14695981039346656037) ^ text.len;
  size_t at = 0;
  for (; at + 8 <= text.len; at += 8) {
    uint64_t part;
    memcpy(&part, text.ptr + at, 8);
    hash = (hash ^ part) * UINT64_C(1099511628211);
    hash ^= hash >> 29;
  }
  for (; at < text.len; at++) hash = (hash ^ (unsigned char)text.ptr[at]) * UINT64_C(1099511628211);
  return hash ^ hash >> 32;
}

/* The place of a text: where its number is, or an empty one where it belongs. */
static uint32_t *find_place(const struct wo__words *words, struct wo_view text) {
  size_t at = (size_t)hash_of(text) & (words->place_count - 1);
  while (words->places[at] != 0 && !wo_view_equal(words->items[words->places[at] - 1], text))
    at = (at + 1) & (words->place_count - 1);
  return &words->places[at];
}

/* Keeps half of the places empty. */
static bool grow(struct wo__words *words) {
  if (2 * (words->count + 1) <= words->place_count) return true;
  const size_t count = words->place_count > 0 ? 2 * words->place_count : 128;
  uint32_t *const places = calloc(count, sizeof *places);
  if (!places) return false;
  free(words->places);
  words->places = places;
  words->place_count = count;
  for (size_t i = 0; i < words->count; i++) *find_place(words, words->items[i]) = (uint32_t)i + 1;
  return true;
}

uint32_t wo__word(struct wo__words *words, struct wo_view text) {
  if (!grow(words) || !WO_VEC_RESERVE(words, 1, (size_t)UINT32_MAX / 2)) {
    words->is_failed = true;
    return 0;
  }
  uint32_t *const place = find_place(words, text);
  if (*place == 0) {
    words->items[words->count++] = text;
    words->bytes += text.len;
    *place = (uint32_t)words->count;
  }
  return *place - 1;
}

void wo__words_done(struct wo__words *words) {
  free(words->places);
  WO_VEC_DONE(words);
  *words = (struct wo__words){0};
}
