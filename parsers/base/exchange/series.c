/* Figures of memory for pictures. See series.h. */
#include "parsers/base/exchange/series.h"

#include <string.h>

/* All series of a set, and room for a block of the arena. */
#define SET_BYTES ((size_t)2 * 1024 * 1024)

void wo_series_set_init(struct wo_series_set *set) {
  *set = (struct wo_series_set){.count = 0};
  wo_arena_init(&set->arena, SET_BYTES);
}

void wo_series_set_done(struct wo_series_set *set) {
  if (set != NULL) wo_arena_done(&set->arena);
}

static bool is_key(const struct wo_series_key *a, const struct wo_series_key *b) {
  return a->source == b->source && a->card == b->card && a->rank == b->rank && strcmp(a->name, b->name) == 0;
}

static struct wo_series *find(const struct wo_series_set *set, const struct wo_series_key *key) {
  for (struct wo_series *series = set->first; series != NULL; series = series->next) {
    if (series->file == set->file && is_key(&series->key, key)) return series;
  }
  return NULL;
}

/* Two stretches become one. */
static void join(struct wo_series *series) {
  for (size_t i = 0; i < WO_SERIES_STRETCHES / 2; i++) {
    const struct wo_series_stretch *const a = &series->stretches[2 * i], *const b = &series->stretches[2 * i + 1];
    series->stretches[i] = (struct wo_series_stretch){.low = b->low.bytes < a->low.bytes ? b->low : a->low,
                                                      .high = b->high.bytes > a->high.bytes ? b->high : a->high};
  }
  series->count = WO_SERIES_STRETCHES / 2;
  series->width *= 2;
}

static void begin(struct wo_series *series) {
  series->has_places = true;
  series->figures = series->last = 0;
  series->width = 1;
  series->count = 0;
  series->last_at = WO_SERIES_NO_PLACE;
}

void wo_series_add(struct wo_series_set *set, struct wo_series_key key, struct wo_series_point point) {
  struct wo_series *series = find(set, &key);
  if (series == NULL) {
    series = set->count < WO_SERIES_MAX ? wo_arena_alloc(&set->arena, sizeof *series) : NULL;
    set->left_out += series == NULL;
    if (series == NULL) return;
    *(set->last != NULL ? &set->last->next : &set->first) = series;
    set->last = series;
    set->count++;
    series->key = key;
    series->file = set->file;
    begin(series);
  }
  if (point.at < 0 || point.at < series->last_at) series->has_places = false;
  series->last_at = point.at;
  series->figures++;
  const bool is_full = series->count == 0 || series->last == series->width;
  if (is_full && series->count == WO_SERIES_STRETCHES) join(series);
  if (is_full) {
    series->stretches[series->count++] = (struct wo_series_stretch){point, point};
    series->last = 1;
    return;
  }
  struct wo_series_stretch *const stretch = &series->stretches[series->count - 1];
  if (point.bytes < stretch->low.bytes) stretch->low = point;
  if (point.bytes > stretch->high.bytes) stretch->high = point;
  series->last++;
}

void wo_series_restart(struct wo_series_set *set, struct wo_series_key key) {
  struct wo_series *const series = find(set, &key);
  if (series != NULL) begin(series);
}

size_t wo_series_points(const struct wo_series *series, struct wo_series_point *points) {
  size_t count = 0;
  for (size_t i = 0; i < series->count; i++) {
    const struct wo_series_stretch *const stretch = &series->stretches[i];
    const bool is_low_first = stretch->low.x <= stretch->high.x;
    points[count++] = is_low_first ? stretch->low : stretch->high;
    if (stretch->low.x != stretch->high.x) points[count++] = is_low_first ? stretch->high : stretch->low;
  }
  return count;
}
