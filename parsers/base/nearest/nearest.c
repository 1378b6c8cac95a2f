/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of names, for "did you mean". */
#include "parsers/base/nearest/nearest.h"

#include <stdio.h>
#include <string.h>

#include "parsers/base/limits.h"

/* Names that are longer are not compared: no name of ours is. */
enum { NAME_MAX_BYTES = 64 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Letters that are wrong, missing, too many, or swapped with their neighbour (Levenshtein's distance, and Damerau's swaps of
 * neighbours), by three rows of the table at a time. Both names are at most NAME_MAX_BYTES long. */
static size_t distance_of(struct wo_view a, struct wo_view b) {
  size_t rows[3][NAME_MAX_BYTES + 1];
  for (size_t j = 0; j <= b.len; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    const size_t *const before = rows[(i + 1) % 3]; /* row i - 2, once there is one */
    const size_t *const last = rows[(i - 1) % 3];
    size_t *const row = rows[i % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.len; j++) {
      const size_t changed = last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
      row[j] = least(changed, least(row[j - 1], last[j]) + 1);
      const bool is_swap = i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
      if (is_swap) row[j] = least(row[j], before[j - 2] + 1);
    }
  }
  return rows[a.len % 3][b.len];
}

void wo_nearest_offer(struct wo_nearest *nearest, struct wo_view candidate) {
  if (nearest->want.len > NAME_MAX_BYTES || candidate.len > NAME_MAX_BYTES || candidate.len == 0) return;
  const size_t distance = distance_of(nearest->want, candidate);
  if (nearest->best.len > 0 && distance >= nearest->distance) return;
  nearest->best = candidate;
  nearest->distance = distance;
}

/* A third of the letters may be wrong; more is another word. */
struct wo_view wo_nearest_best(const struct wo_nearest *nearest) {
  const bool is_close = nearest->best.len > 0 && nearest->distance <= nearest->want.len / 3;
  return is_close ? nearest->best : (struct wo_view){0};
}

const char *wo_nearest_hint(struct wo_view best, char *buf, size_t cap) {
  buf[0] = '\0';
  if (best.len > 0) snprintf(buf, cap, " (did you mean '%.*s'?)", WO_SHOWN(best));
  return buf;
}

/* Bytes that stay for ", ..." and what is around the names. */
enum { AROUND_BYTES = 12 };

void wo_known_offer(struct wo_known_names *known, struct wo_view candidate) {
  wo_nearest_offer(&known->nearest, candidate);
  const size_t room = sizeof known->list - AROUND_BYTES;
  const bool is_cut = known->len > 3 && memcmp(known->list + known->len - 3, "...", 3) == 0;
  if (is_cut || candidate.len == 0) return;
  const char *const between = known->len == 0 ? "" : ", ";
  if (known->len + candidate.len + 2 > room) candidate = WO_VIEW("...");
  known->len +=
      (size_t)snprintf(known->list + known->len, sizeof known->list - known->len, "%s%.*s", between, WO_SHOWN(candidate));
}

const char *wo_known_hint(struct wo_known_names *known) {
  const struct wo_view best = wo_nearest_best(&known->nearest);
  if (best.len > 0) return wo_nearest_hint(best, known->list, sizeof known->list);
  if (known->len == 0) return "";
  memmove(known->list + 2, known->list, known->len);
  memcpy(known->list, " (", 2);
  memcpy(known->list + 2 + known->len, ")", 2);
  return known->list;
}
