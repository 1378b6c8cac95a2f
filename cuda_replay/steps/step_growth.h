/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program keeps more memory with every step: a list of losses with their graphs, outputs that are collected.
 *
 * An allocation of a whole step that is still alive when the whole steps of the recording end, a later one among them, was kept.
 * Steps replace their own data, and only the first makes states, so that a program that does not grow keeps nothing of a later
 * step. With fewer whole steps, what the last one keeps is growth if the step behind it has made the same once more, of the same
 * size at the same place, and both are alive; or if it was made behind the backward pass, where a program keeps results and
 * nothing else is made for good but states of the optimizer. Pure; any thread. */
#ifndef WO_STEP_GROWTH_H
#define WO_STEP_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/classes/iterations.h"
#include "cuda_replay/pattern/alloc_pattern.h"

struct wo_step_growth {
  uint64_t step_bytes; /* requested, that two of three steps keep at least; 0: nothing, or too few steps */
  size_t whole_steps;  /* of the recording */
  bool is_shown;       /* these are enough to show that there is none */
};

/* The growth of a pattern with its classes and iterations; those of a whole program begin with its first step. Three whole steps
 * show it, two of a recording from the middle of a run. refused: the request that failed behind them (its size is the rounded
 * one); NULL: none. WO_E_NOMEM. */
enum wo_status wo_step_growth_find(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                   const struct wo_iterations *iterations, const struct wo_instance *refused,
                                   struct wo_step_growth *ret_growth);

#endif
