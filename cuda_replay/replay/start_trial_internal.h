/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a recording through the model, compared step by step, and the search over runs. Private to check.c. */
#ifndef WO_START_TRIAL_INTERNAL_H
#define WO_START_TRIAL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/replay/check.h"
#include "cuda_replay/replay/device_recorded.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/start.h"

/* The input of a run; all borrowed. */
struct wo__start_trial_input {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  const struct wo_alloc_pattern *pattern;
  const struct wo_start *start;
  struct wo_alloc_settings settings;
  uint16_t torch;
  uint64_t garbage_limit_bytes; /* 0: as the settings say */
};

/* Where the model put an allocation that was recorded elsewhere. */
struct wo__misplaced {
  bool is_known;
  uint64_t address;        /* of the free block that the model chose */
  uint64_t free_bytes;     /* its size then */
  uint64_t rounded_bytes;  /* the requested size, rounded */
  uint64_t recorded_bytes; /* the free block that the recorded run chose; UINT64_MAX: new memory */
  bool is_lower;           /* the model's choice has a lower address than the recorded one: it wins ties */
};

struct wo__start_trial {
  bool is_equal;
  uint64_t addresses_equal, segment_events_equal, refusals_equal;
  size_t cursor; /* the entry at which the comparison ended */
  char expected[WO_CHECK_TEXT_BYTES];
  char got[WO_CHECK_TEXT_BYTES];
  struct wo__misplaced misplaced;
  uint64_t released_address; /* of the segment that the model released at the difference; 0: it did something else */
  uint64_t released_bytes;   /* its size */
  uint64_t peak_reserved_bytes, peak_allocated_bytes;
};

/* Runs it. WO_OK with any result; WO_E_NOMEM; WO_E_USAGE with *err for settings or a start that the model cannot take. */
enum wo_status wo__start_trial_run(const struct wo__start_trial_input *input, struct wo__start_trial *ret_trial,
                                   struct wo_err *err);

/* Compares the allocator's segments and blocks with those of the snapshot. On the first difference *ret_equal is false and both
 * texts describe it. WO_E_NOMEM. */
enum wo_status wo__start_compare_layout(const struct wo__start_trial_input *input, const struct wo_allocator *allocator,
                                        bool *ret_equal, char *expected, char *got);

/* Finds the sizes that looking ahead left open: runs trials with different sizes of the start's open blocks until one is equal or
 * WO_START_SEARCH_RUNS_MAX are spent. If the model takes the free block after an open block but the recording did not, it bounds
 * the size so that the model would not. *ret_trial is the equal one, else the one that got farthest; the start keeps its sizes.
 * *ret_runs counts. WO_OK, WO_E_NOMEM, WO_E_USAGE as wo__start_trial_run. */
enum wo_status wo__start_search(const struct wo__start_trial_input *input, struct wo_start *start,
                                struct wo__start_trial *ret_trial, size_t *ret_runs, struct wo_err *err);

enum { WO_START_SEARCH_RUNS_MAX = 64 };

#endif
