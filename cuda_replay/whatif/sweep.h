/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep: one pattern at every allocator setting that can help, best first.
 *
 * Which settings are tried is a table (sweep.c). Settings that always harm (max_split_size_mb together with expandable_segments)
 * are not in it; settings that harm this pattern are marked. One thread. */
#ifndef WO_SWEEP_H
#define WO_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/whatif/whatif.h"
#include "parsers/base/arena.h"
#include "parsers/base/view.h"

/* The value of a row compared with the recorded settings. */
enum wo_sweep_worth {
  WO_SWEEP_SAME,    /* the difference is smaller than that between address orders, or than a hundredth */
  WO_SWEEP_BETTER,  /* reserves less, or fits where the recorded settings do not */
  WO_SWEEP_HARMFUL, /* reserves more, or runs out of memory where they do not */
  WO_SWEEP_WORTH_COUNT_
};

struct wo_sweep_row {
  struct wo_view text;  /* as PYTORCH_CUDA_ALLOC_CONF spells it; "default" without any */
  struct wo_view needs; /* a call that it requires beside that string, or empty */
  struct wo_replay_case result;
  enum wo_sweep_worth worth;
  bool is_recorded; /* the recorded settings */
};

struct wo_sweep {
  struct wo_sweep_row *rows; /* best first; in the arena, with their texts */
  size_t count;
  struct wo_view advice; /* one sentence: which setting helps by how much, or why none does */
  struct wo_view paste;  /* the line for the job's script; empty if no setting helps */
};

/* Runs all settings of the version; base->settings are the recorded ones, which get a row too. Rows that need a capacity (garbage
 * collection) are omitted without one. *requests_run as in wo_whatif_run. WO_E_NOMEM; others of wo_whatif_run. */
enum wo_status wo_sweep_run(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *base, struct wo_arena *arena,
                            struct wo_sweep *ret_sweep, uint64_t *requests_run, struct wo_err *err);

#endif
