/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on settings that divide the jobs of a sweep into those that failed and those that went well. */
#ifndef WO_FLEET_SPLIT_H
#define WO_FLEET_SPLIT_H

#include "analyzer/fleet/fleet.h"

/* The settings of one sweep, with how often each value failed: what is needed of any number of jobs. Values are copied into the
 * arena. {0} with an arena when empty. */
struct wo__sweep_knobs {
  struct wo_arena *arena;
  struct wo__sweep_knob *knobs; /* a list, newest first */
  size_t knob_count;
  int64_t failed, jobs;
  int64_t left_out;                     /* values of settings beyond the cap */
  int64_t showing_failed, showing_jobs; /* of the jobs that show any setting of rank 0 */
  bool is_job_failed, is_job_showing;   /* the job that was begun last */
};

/* Begins a job / adds one of its settings. A job's later value of a setting it has given already does not count. Of conditions
 * that divide equally well, the one whose setting has the lower rank comes first. */
void wo__sweep_begin_job(struct wo__sweep_knobs *sweep, bool is_failed);
void wo__sweep_add(struct wo__sweep_knobs *sweep, size_t rank, struct wo_view knob, struct wo_view value);

/* Finds the conditions that divide best into the members splits and knobs of *ret, in the arena of the sweep, which is one of
 * `sweeps` that are looked at. */
void wo__sweep_divide(struct wo__sweep_knobs *sweep, int64_t sweeps, struct wo_fleet_sweep *ret);

#endif
