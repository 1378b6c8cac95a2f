/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder: from a run that fits to larger micro-batches and sequences, with the peak memory that each needs. */
#ifndef WO_LADDER_H
#define WO_LADDER_H

#include "analyzer/diagnosis/diagnose.h"
#include "parsers/base/exchange/measured_run.h"

enum { WO_LADDER_RUNGS_MAX = 8 };

/* safe: the upper end fits below the margin. no: the lower end does not fit, or a run that was no larger failed. tight: between.
 */
enum wo_ladder_verdict { WO_LADDER_SAFE, WO_LADDER_TIGHT, WO_LADDER_NO };

/* The run that fits, and the card. Bytes on the card with the highest peak; 0 = unknown unless noted otherwise. */
struct wo_ladder_base {
  struct wo_measured_run run;
  double capacity_bytes;
  double global_batch; /* samples of one update, kept on each rung */
  double cards;
  double failed_micro_batch; /* a larger run that failed; 0: none */
  double failed_seq_len;
};

/* One step up. */
struct wo_ladder_rung {
  double micro_batch;
  double seq_len;      /* 0: unknown */
  double grad_accum;   /* nearest to the global batch; 0: unknown */
  double global_batch; /* with that accumulation; 0: unknown */
  double token_factor; /* tokens in one pass over those of the base */
  struct wo_interval peak_bytes;
  enum wo_ladder_verdict verdict;
};

struct wo_ladder {
  struct wo_ladder_base base;
  double margin_bytes; /* of the card, left free because traces miss short peaks */
  bool is_trace;       /* the peak is from a monitoring trace; else from PyTorch's statistics */
  bool is_hint;        /* the settings of that run come from the name of its file */
  struct wo_view path; /* of that file */
  wo_event_id evidence;
  struct wo_ladder_rung rungs[WO_LADDER_RUNGS_MAX];
  size_t rung_count;
};

/* Computes the rungs of a base into ladder->rungs, smallest first: first the micro-batch, then the length. Depends on its
 * arguments only. No rungs when the base itself leaves no margin. */
void wo_ladder_climb(const struct wo_ladder_base *base, struct wo_ladder *ladder);

/* Settings in the name of a file: "dmon_mb1_seq1024.txt" has micro-batch 1 and length 1024. A missing setting stays 0. Returns
 * whether there was any. */
bool wo_ladder_name_hint(struct wo_view path, double *ret_micro_batch, double *ret_seq_len);

/* The ladder of a job, in *ret_ladder. False when no run that fits is known with its micro-batch and its peak. */
bool wo_ladder_find(const struct wo_diagnosis *diagnosis, struct wo_ladder *ret_ladder);

/* The step to take: the largest that is safe, else the smallest that may fit; NULL: none. Steps in length are no safer than the
 * first one. */
const struct wo_ladder_rung *wo_ladder_choice(const struct wo_ladder *ladder);

/* The change from the settings that failed to that step, spelled as the user set them, with the peak as its support. False when
 * the ladder does not begin at a smaller run than the one that failed, or no step may fit. */
bool wo_ladder_change(const struct wo_diagnosis *diagnosis, const struct wo_ladder *ladder, struct wo_finding_fix *ret_fix);

/* "safe", "tight" or "no". */
const char *wo_ladder_verdict_name(enum wo_ladder_verdict verdict);

#endif
