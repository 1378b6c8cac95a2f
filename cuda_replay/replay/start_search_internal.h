/* Finds the sizes that looking ahead left open: runs a trial, and if the model takes the free block after an open block but the
 * recording did not, bounds the size so that the model would not. Private to check.c. */
#ifndef WO_START_SEARCH_INTERNAL_H
#define WO_START_SEARCH_INTERNAL_H

#include "cuda_replay/replay/start_trial_internal.h"

/* Runs trials with different sizes of the start's open blocks until one is equal or WO_START_SEARCH_RUNS_MAX are spent.
 * *ret_trial is the equal one, else the one that got farthest; the start keeps its sizes. *ret_runs counts. WO_OK, WO_E_NOMEM,
 * WO_E_USAGE as wo__start_trial_run. */
enum wo_status wo__start_search(const struct wo__start_trial_input *input, struct wo_start *start,
                                struct wo__start_trial *ret_trial, size_t *ret_runs, struct wo_err *err);

enum { WO_START_SEARCH_RUNS_MAX = 64 };

#endif
