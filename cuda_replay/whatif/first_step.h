/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of a program whose recording begins later.
 *
 * Optimizers make their states at the end of the first step, in what its activations left behind. Those blocks stay where they
 * are to the end, so that all later steps find other gaps than they would beside states that were made first. A recording from
 * the middle of a run does not hold that step; one of its later steps stands in for it. Pure; one thread at a time. */
#ifndef WO_FIRST_STEP_H
#define WO_FIRST_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "parsers/base/status.h"

/* Which requests of a pattern stand in for the first step, and what it makes. */
struct wo_first_step {
  uint32_t first, end; /* requests [first, end) */
  uint32_t states_at;  /* the request of these before which the states are made; `end`: behind all */
  uint32_t *states;    /* instances alive at the start, in the order in which they are made */
  size_t count;        /* 0: nothing is known of a first step, and nothing else here is set */
};

/* Finds them in a pattern with classes (classify.h): the first step that the recording has whole, and the states of all
 * parameters, parameter by parameter. count is 0 for a pattern that begins with no states or shows no step of an optimizer.
 * WO_E_NOMEM. */
enum wo_status wo_first_step_find(const struct wo_alloc_pattern *pattern, struct wo_first_step *ret_step);

/* Releases what it owns; NULL allowed. */
void wo_first_step_done(struct wo_first_step *step);

#endif
