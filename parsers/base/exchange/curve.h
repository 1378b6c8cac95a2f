/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of memory along time, steps or requests, thinned out while they are read so that peaks stay: for pictures.
 *
 * A curve of any length takes bounded memory: it is a list of stretches of as many figures each, of which the lowest and the
 * highest are kept; when all are in use, neighbours are joined. Kept only for a writer that draws: a set is given to the readers,
 * or none is. Pure; a set must not be used by two threads at once. */
#ifndef WO_CURVE_H
#define WO_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/arena.h"

/* Stretches of a curve, even; two figures of each are kept. Curves of a set. */
enum { WO_CURVE_STRETCHES = 250, WO_CURVE_MAX = 64 };

/* One figure. */
struct wo_curve_point {
  double x;  /* its place, not below that of the one before: a count of figures or steps */
  double at; /* what is shown for its place: seconds since 1970, the step as it is printed; WO_CURVE_NO_PLACE: nothing */
  double bytes;
};

#define WO_CURVE_NO_PLACE (-1.0)

struct wo_curve_stretch {
  struct wo_curve_point low, high;
};

/* Which figures belong together. */
struct wo_curve_key {
  const void *source; /* the reader or pattern that found them: two readers of one file do not mix */
  const char *name;   /* of the figure: "used", "allocated"; static */
  bool is_of_rest;    /* the figure says what is not in use */
  int32_t card;       /* or -1 */
  int32_t rank;       /* or -1 */
};

struct wo_curve {
  struct wo_curve_key key;
  uint32_t file;   /* index of the input */
  bool has_places; /* of all figures, none before the one before it */
  uint64_t figures;
  uint64_t width; /* figures of a full stretch */
  uint64_t last;  /* figures of the last stretch */
  size_t count;
  double last_at;
  struct wo_curve_stretch stretches[WO_CURVE_STRETCHES];
  struct wo_curve *next;
};

struct wo_curve_set {
  struct wo_arena arena;
  struct wo_curve *first, *last; /* in the order in which they began */
  size_t count;
  uint32_t file;     /* index of the input that is read now; set by whoever reads */
  uint64_t left_out; /* figures without room for a curve of their own */
};

/* Makes the set empty; / releases it, NULL allowed. */
void wo_curve_set_init(struct wo_curve_set *set);
void wo_curve_set_done(struct wo_curve_set *set);

/* Adds a figure to the curve of that key and the set's file. Without memory the set's arena is exhausted. */
void wo_curve_add(struct wo_curve_set *set, struct wo_curve_key key, struct wo_curve_point point);

/* The same for a program that has started again: what is there of the curve is dropped. */
void wo_curve_restart(struct wo_curve_set *set, struct wo_curve_key key);

/* The figures in order, at most 2 * WO_CURVE_STRETCHES; returns their number. */
size_t wo_curve_points(const struct wo_curve *curve, struct wo_curve_point *points);

#endif
