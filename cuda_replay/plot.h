/* What plots show: one value for all of them (plot_svg.h, plot_term.h), borrowed from whoever made the course. */
#ifndef WO_PLOT_H
#define WO_PLOT_H

#include "cuda_replay/attribution.h"
#include "cuda_replay/course.h"
#include "parsers/base/text.h"

struct wo_plot {
  const struct wo_pattern *pattern;         /* names of stacks; classes */
  const struct wo_course *course;           /* its map may be empty */
  const struct wo_attribution *attribution; /* of that map; NULL = none is shown */
  uint64_t capacity_bytes;                  /* what the allocator may take; 0 or UINT64_MAX = not known, no line */
  struct wo_view title;                     /* any bytes; empty = a plain one ("Memory of the GPU") */
  struct wo_view subtitle;                  /* settings, torch version; any bytes; may be empty */
};

/* The order in which classes are stacked, lowest first: what lives longest lies at the bottom. WO_CLASS_COUNT_ of them. */
const enum wo_alloc_class *wo_plot_class_order(void);

/* What a class is called in a legend ("optimizer state"; unknown: "allocated" when it is the only one, else "other"). */
const char *wo_plot_class_label(enum wo_alloc_class class_, bool is_only);

/* Whether the course has bytes of that class at any moment. */
bool wo_plot_has_class(const struct wo_course *course, enum wo_alloc_class class_);

/* A round step (1, 2 or 5 times a power of ten; for bytes a power of two up to 512 of a unit, then 1, 2, 5, ... of the next) that
 * cuts [0, most] into at most `count` parts (count >= 1). Never 0. */
uint64_t wo_plot_step(uint64_t most, unsigned count, bool is_bytes);

#endif
