/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of memory for pictures. See curve.h. */
#include "parsers/base/exchange/curve.h"

#include <string.h>

/* All curves of a set, and room for a block of the arena. */
#define SET_BYTES ((size_t)2 * 1024 * 1024)

void wo_curve_set_init(struct wo_curve_set *set) {
  *set = (struct wo_curve_set){.count = 0};
  wo_arena_init(&set->arena, SET_BYTES);
}

void wo_curve_set_done(struct wo_curve_set *set) {
  if (set != NULL) wo_arena_done(&set->arena);
}

static bool is_key(const struct wo_curve_key *a, const struct wo_curve_key *b) {
  return a->source == b->source && a->card == b->card && a->rank == b->rank && strcmp(a->name, b->name) == 0;
}

static struct wo_curve *find(const struct wo_curve_set *set, const struct wo_curve_key *key) {
  for (struct wo_curve *curve = set->first; curve != NULL; curve = curve->next) {
    if (curve->file == set->file && is_key(&curve->key, key)) return curve;
  }
  return NULL;
}

/* Two stretches become one. */
static void join(struct wo_curve *curve) {
  for (size_t i = 0; i < WO_CURVE_STRETCHES / 2; i++) {
    const struct wo_curve_stretch *const a = &curve->stretches[2 * i], *const b = &curve->stretches[2 * i + 1];
    curve->stretches[i] = (struct wo_curve_stretch){.low = b->low.bytes < a->low.bytes ? b->low : a->low,
                                                     .high = b->high.bytes > a->high.bytes ? b->high : a->high};
  }
  curve->count = WO_CURVE_STRETCHES / 2;
  curve->width *= 2;
}

static void begin(struct wo_curve *curve) {
  curve->has_places = true;
  curve->figures = curve->last = 0;
  curve->width = 1;
  curve->count = 0;
  curve->last_at = WO_CURVE_NO_PLACE;
}

void wo_curve_add(struct wo_curve_set *set, struct wo_curve_key key, struct wo_curve_point point) {
  struct wo_curve *curve = find(set, &key);
  if (curve == NULL) {
    curve = set->count < WO_CURVE_MAX ? wo_arena_alloc(&set->arena, sizeof *curve) : NULL;
    set->left_out += curve == NULL;
    if (curve == NULL) return;
    *(set->last != NULL ? &set->last->next : &set->first) = curve;
    set->last = curve;
    set->count++;
    curve->key = key;
    curve->file = set->file;
    begin(curve);
  }
  if (point.at < 0 || point.at < curve->last_at) curve->has_places = false;
  curve->last_at = point.at;
  curve->figures++;
  const bool is_full = curve->count == 0 || curve->last == curve->width;
  if (is_full && curve->count == WO_CURVE_STRETCHES) join(curve);
  if (is_full) {
    curve->stretches[curve->count++] = (struct wo_curve_stretch){point, point};
    curve->last = 1;
    return;
  }
  struct wo_curve_stretch *const stretch = &curve->stretches[curve->count - 1];
  if (point.bytes < stretch->low.bytes) stretch->low = point;
  if (point.bytes > stretch->high.bytes) stretch->high = point;
  curve->last++;
}

void wo_curve_restart(struct wo_curve_set *set, struct wo_curve_key key) {
  struct wo_curve *const curve = find(set, &key);
  if (curve != NULL) begin(curve);
}

size_t wo_curve_points(const struct wo_curve *curve, struct wo_curve_point *points) {
  size_t count = 0;
  for (size_t i = 0; i < curve->count; i++) {
    const struct wo_curve_stretch *const stretch = &curve->stretches[i];
    const bool is_low_first = stretch->low.x <= stretch->high.x;
    points[count++] = is_low_first ? stretch->low : stretch->high;
    if (stretch->low.x != stretch->high.x) points[count++] = is_low_first ? stretch->high : stretch->low;
  }
  return count;
}
