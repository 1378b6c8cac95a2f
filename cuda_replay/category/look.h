/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as people look at it: its lives, with their classes and categories, and its call sites. */
#ifndef WO_LOOK_H
#define WO_LOOK_H

#include <stdbool.h>

#include "cuda_replay/category/category.h"
#include "cuda_replay/lives/lives.h"
#include "cuda_replay/lives/sites.h"

struct wo_look {
  struct wo_lives lives;
  struct wo_sites sites;
  const struct wo_categories *categories; /* borrowed */
  struct wo_window window;                /* the entries that are looked at */
  uint64_t given_up;                      /* texts on which an expression gave up, or was not tried */
};

/* The part of a trace that is asked for: entries `first` to `last`, both included. */
struct wo_look_part {
  bool has_first;
  bool has_last;
  uint64_t first;
  uint64_t last;
};

/* Makes it of a trace; both are borrowed. `classed`: the trace's classified pattern, or NULL. WO_E_USAGE if the trace has no such
 * part, WO_E_NOMEM; *ret_look is empty then. */
enum wo_status wo_look_make(const struct wo_recording *recording, const struct wo_trace *trace,
                            const struct wo_alloc_pattern *classed, const struct wo_categories *categories,
                            struct wo_look_part part, struct wo_look *ret_look, struct wo_err *err);

/* Releases what it owns; NULL and {0} allowed. */
void wo_look_done(struct wo_look *look);

/* Sums over the blocks of a moment by category, of which there are categories->count and, first, that of none. */
void wo_look_categories(const struct wo_look *look, uint32_t entry, struct wo_sum sums[WO_LIMIT_CATEGORIES + 1]);

#endif
