/* Whether a program keeps more memory with every step: a list of losses with their graphs, outputs that are collected.
 *
 * An allocation of a whole step that is still alive when the whole steps of the recording end, a later one among them, was kept.
 * Steps replace their own data, and only the first makes states, so that a program that does not grow keeps nothing of a later
 * step. Pure; any thread. */
#ifndef WO_STEP_GROWTH_H
#define WO_STEP_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/pattern/alloc_pattern.h"

struct wo_step_growth {
  uint64_t step_bytes; /* requested, that two of three steps keep at least; 0: nothing, or too few steps */
  size_t whole_steps;  /* of the recording */
  bool is_shown;       /* these are enough to show a growth */
};

/* The growth of a pattern with its iterations; those of a whole program begin with its first step. Three whole steps show it, two
 * of a recording from the middle of a run. */
struct wo_step_growth wo_step_growth_find(const struct wo_alloc_pattern *pattern, const struct wo_iterations *iterations);

#endif
