/* Figures of memory along time, steps or requests, thinned out while they are read so that peaks stay: for pictures.
 *
 * A series of any length takes bounded memory: it is a list of stretches of as many figures each, of which the lowest and the
 * highest are kept; when all are in use, neighbours are joined. Kept only for a writer that draws: a set is given to the readers,
 * or none is. Pure; a set must not be used by two threads at once. */
#ifndef WO_SERIES_H
#define WO_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/arena.h"

/* Stretches of a series, even; two figures of each are kept. Series of a set. */
enum { WO_SERIES_STRETCHES = 250, WO_SERIES_MAX = 64 };

/* One figure. */
struct wo_series_point {
  double x;  /* its place, not below that of the one before: a count of figures or steps */
  double at; /* what is shown for its place: seconds since 1970, the step as it is printed; WO_SERIES_NO_PLACE: nothing */
  double bytes;
};

#define WO_SERIES_NO_PLACE (-1.0)

struct wo_series_stretch {
  struct wo_series_point low, high;
};

/* Which figures belong together. */
struct wo_series_key {
  const void *source; /* the reader or pattern that found them: two readers of one file do not mix */
  const char *name;   /* of the figure: "used", "allocated"; static */
  int32_t card;       /* or -1 */
  int32_t rank;       /* or -1 */
};

struct wo_series {
  struct wo_series_key key;
  uint32_t file;   /* index of the input */
  bool has_places; /* of all figures, none before the one before it */
  uint64_t figures;
  uint64_t width; /* figures of a full stretch */
  uint64_t last;  /* figures of the last stretch */
  size_t count;
  double last_at;
  struct wo_series_stretch stretches[WO_SERIES_STRETCHES];
  struct wo_series *next;
};

struct wo_series_set {
  struct wo_arena arena;
  struct wo_series *first, *last; /* in the order in which they began */
  size_t count;
  uint32_t file;     /* index of the input that is read now; set by whoever reads */
  uint64_t left_out; /* figures without room for a series of their own */
};

/* Makes the set empty; / releases it, NULL allowed. */
void wo_series_set_init(struct wo_series_set *set);
void wo_series_set_done(struct wo_series_set *set);

/* Adds a figure to the series of that key and the set's file. Without memory the set's arena is exhausted. */
void wo_series_add(struct wo_series_set *set, struct wo_series_key key, struct wo_series_point point);

/* The same for a program that has started again: what is there of the series is dropped. */
void wo_series_restart(struct wo_series_set *set, struct wo_series_key key);

/* The figures in order, at most 2 * WO_SERIES_STRETCHES; returns their number. */
size_t wo_series_points(const struct wo_series *series, struct wo_series_point *points);

#endif
