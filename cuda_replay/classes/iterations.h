/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the steps of a training or serving loop begin and end in a pattern.
 *
 * Sources, most trusted first: annotations of the optimizer ('Optimizer.step#AdamW.step'), stacks inside of an optimizer's step,
 * a sequence of (size, stack) that repeats, pauses in time. Pure; one thread at a time. */
#ifndef WO_ITERATIONS_H
#define WO_ITERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"

/* How the boundaries were found, most trusted first. */
enum wo_iteration_source {
  WO_ITERATIONS_ANNOTATED, /* annotations of the optimizer */
  WO_ITERATIONS_OPTIMIZER, /* stacks of the optimizer's step */
  WO_ITERATIONS_PERIODIC,  /* a sequence that repeats */
  WO_ITERATIONS_PAUSES,    /* pauses in time */
  WO_ITERATIONS_WHOLE      /* none was found: the whole recording is one iteration */
};

/* Requests [first, end) of the pattern. */
struct wo_iteration {
  uint32_t first;
  uint32_t end;
};

struct wo_iterations {
  enum wo_iteration_source source;
  WO_VEC(struct wo_iteration) list; /* in order; together they hold all requests; at least one if there are requests */
  /* The first request after the last boundary; the iteration that begins there may be incomplete, even if the list adds it to the
   * iteration before. The count of requests if none follows the boundary; 0 without a boundary. */
  uint32_t tail;
};

/* Finds the iterations. `trace` is the trace of the pattern; NULL: no times are known. WO_E_NOMEM. */
enum wo_status wo_iterations_find(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                  struct wo_iterations *ret_iterations);

/* Releases what it owns; NULL allowed. */
void wo_iterations_done(struct wo_iterations *iterations);

#endif
