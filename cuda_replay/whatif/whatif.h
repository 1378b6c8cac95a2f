/* SPDX-License-Identifier: Apache-2.0 */
/* What-if: a pattern at given settings, run at several orders of addresses.
 *
 * Which of two free blocks of equal size is taken depends on where the driver put their segments, and this is unknown for a run
 * that never happened. So each question is asked at ascending, descending and shuffled addresses, and the spread is part of the
 * answer. */
#ifndef WO_WHATIF_H
#define WO_WHATIF_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/replay.h"
#include "cuda_replay/replay/start.h"

/* The number of shuffles, in addition to ascending and descending. */
enum { WO_WHATIF_SHUFFLES = 3 };

/* A replay at one set of settings, over several address orders. */
struct wo_replay_case {
  struct wo_alloc_settings settings;
  struct wo_replay_outcome outcome; /* of the order that needed most; one that ran out of memory counts as the most */
  uint32_t worst_order;             /* which order that was */
  uint32_t run_count;
  uint32_t oom_count; /* runs with a failed request */
  uint64_t reserved_lo_bytes, reserved_hi_bytes;
};

struct wo_whatif_options {
  struct wo_alloc_settings settings;
  uint16_t torch;
  uint64_t capacity_bytes;      /* that the allocator may take; 0 = no limit */
  const struct wo_start *start; /* NULL: from an empty allocator; the allocations alive at the start are made first */
  unsigned shuffles;            /* runs in addition to ascending and descending; at most WO_WHATIF_SHUFFLES */
};

/* Runs the pattern once for each order of addresses. WO_OK also if requests fail. Others of wo_replay_run: WO_E_USAGE if the
 * start state does not fit the settings. *requests_run (NULL allowed) grows by the requests and segment events of all runs. */
enum wo_status wo_whatif_run(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *options,
                             struct wo_replay_case *ret_case, uint64_t *requests_run, struct wo_err *err);

/* Whether no request fails at the options' capacity, at every order of addresses (needs_all) or at one of them. Runs only as much
 * as this needs: a run stops at its first failure, and no other follows the one that decides. Begins with the order *order, and
 * sets it to the one that decided: the same order often decides the next, similar question. *order 0 at first. Statuses of
 * wo_whatif_run; *ret_fits is set only with WO_OK. */
enum wo_status wo_whatif_fits(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *options, bool needs_all,
                              unsigned *order, bool *ret_fits, struct wo_err *err);

/* Adds an outcome to a case ({.settings} at first): keeps the worst, widens the range. */
void wo_replay_case_add(struct wo_replay_case *result, const struct wo_replay_outcome *outcome);

/* A device as in the run number `order` of these, for the memory of a what-if; the state is released with wo_device_model_free.
 * NULL if memory is out. */
struct wo_device_model *wo_whatif_device(const struct wo_whatif_options *options, unsigned order, struct wo_device *ret_device);

#endif
