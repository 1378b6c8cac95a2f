/* SPDX-License-Identifier: Apache-2.0 */
/* A check in progress: its input, its explanations, its runs. Private to check*.c. */
#ifndef WO_CHECK_INTERNAL_H
#define WO_CHECK_INTERNAL_H

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/pattern/release_cause.h"
#include "cuda_replay/replay/check.h"
#include "cuda_replay/replay/start.h"
#include "cuda_replay/replay/start_trial_internal.h"

struct wo__checker {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  const struct wo_replay_check_options *options;
  struct wo_replay_check *check;
  struct wo_err *err;
  struct wo_alloc_settings settings;
  struct wo_alloc_pattern pattern;
  struct wo__readings readings;
  const struct wo_start *known_start; /* NULL, or the trace's, rebuilt with these settings */
  struct wo_start start;
  bool has_maps, has_plain_segments; /* among the entries */
  uint64_t entries_run;              /* by all runs together */
  uint64_t garbage_limit_bytes;      /* as in wo_allocator_options */
  uint32_t next_pool;                /* number of a pool that nothing names */
};

/* Makes the pattern anew, with the present readings. Statuses of wo__alloc_pattern_read. */
enum wo_status wo__check_make_pattern(struct wo__checker *checker);

/* Runs the pattern with the rules of a version. Statuses of wo__start_search. */
enum wo_status wo__check_run(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial);

/* The orders in which calls that the trace lacks are tried: frees first or last, by rising or falling address. */
enum { WO__CHECK_ORDERS = 4 };

/* The trace with the calls that it lacks at its end; only its entries are a copy, and the caller's (WO_VEC_DONE). WO_E_NOMEM,
 * WO_E_LIMIT. */
enum wo_status wo__check_complete(const struct wo_trace *trace, const struct wo_strangers *strangers, unsigned order,
                                  struct wo_trace *ret_trace);

/* Counts blocks that are compared with themselves: no entry touches them, so the start has them from the end. WO_E_NOMEM. */
enum wo_status wo__check_count_left_out(struct wo__checker *checker);

/* Whether there is time for one more explanation. */
bool wo__check_can_go_on(const struct wo__checker *checker);

/* Adds what the captures of graphs allocated and released to the readings, which have nothing hidden. WO_E_NOMEM. */
enum wo_status wo__check_hide_captures(struct wo__checker *checker);

/* Whether garbage was collected at an amount of reserved memory that nothing states: the threshold is a share of the memory
 * fraction, which snapshots do not hold. */
bool wo__check_has_unknown_limit(const struct wo__checker *checker);

/* Searches that amount between the bounds that each divergence of the trial gives, and leaves the best one in the checker.
 * Statuses of wo__check_run. */
enum wo_status wo__check_find_limit(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial);

/* Explains a divergence by private pools that nothing names, as long as the trial gets farther that way. WO_E_NOMEM. */
enum wo_status wo__check_find_pools(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial);

#endif
