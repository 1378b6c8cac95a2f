/* SPDX-License-Identifier: Apache-2.0 */
/* A finding: a cause with its arguments and fixes. The diagnosis makes this value; the report, the patch and the proof read it.
 *
 * Everything lives in the arena of the diagnosis. Texts are valid UTF-8 without control characters. */
#ifndef WO_FINDING_H
#define WO_FINDING_H

#include "analyzer/diagnosis/spell.h"
#include "analyzer/facts/facts.h"
#include "parsers/base/exchange/proposal.h"
#include "rules/load/rule.h"

/* One argument for or against a finding. */
struct wo_argument {
  struct wo_view text;
  double weight;
  const wo_event_id *evidence;
  size_t evidence_count;
};

/* A changed knob. */
struct wo_finding_change {
  struct wo_view knob;
  struct wo_value from; /* unknown when the job's files do not set it */
  struct wo_value to;
  struct wo_spelling spelling; /* of the new value, in the user's own key and style: "ppo_micro_batch_size_per_gpu=16" */
  wo_event_id where;           /* evidence of the present setting, or WO_EVENT_NONE */
};

/* Whether a fix alone saves enough for the refused request. */
enum wo_suffices { WO_SUFFICES_UNKNOWN, WO_SUFFICES_YES, WO_SUFFICES_MAYBE, WO_SUFFICES_NO };

/* The memory that was missing at the failure. */
struct wo_shortage {
  bool is_known;
  struct wo_interval bytes;
  struct wo_view formula;
};

struct wo_finding_fix {
  struct wo_view id;
  struct wo_view title;
  unsigned cost_rank; /* 1: costs nothing; WO_COST_RANK_MAX: no cure */
  enum wo_suffices suffices;
  struct wo_interval shortage_bytes; /* the shortage it was compared with; all zero when unknown */
  const struct wo_view *needs;       /* unknown facts without which the saving is unknown; else none */
  size_t need_count;
  const struct wo_finding_change *changes;
  size_t change_count;
  bool has_saves;
  struct wo_interval saves_bytes;
  struct wo_view saves_formula;
  struct wo_view cost_speed;
  struct wo_view cost_accuracy;
  struct wo_view cost_effort;
  const struct wo_view *commands;
  size_t command_count;
  const struct wo_view *notes;
  size_t note_count;
  struct wo_view support;           /* what shows whether it is enough, in place of the two intervals; or empty */
  struct wo_proposed_change replay; /* the change as a replay makes it */
  const struct wo_proof *proof;     /* of `whyoom verify`; NULL: none */
};

/* A row of the first screen: "steady", "67.04 GiB of 79.15 GiB". */
struct wo_finding_row {
  struct wo_view label;
  struct wo_view text;
};

struct wo_finding {
  const struct wo_cause *cause;
  struct wo_view title;
  struct wo_view headline; /* the cause in a few words; empty: the title is short */
  const struct wo_finding_row *rows;
  size_t row_count;
  struct wo_view summary;
  enum wo_confidence confidence;
  double score;
  const struct wo_argument *for_;
  size_t for_count;
  const struct wo_argument *against;
  size_t against_count;
  const struct wo_view *would_tell;
  size_t would_tell_count;
  const struct wo_finding_fix *fixes;
  size_t fix_count;
  const struct wo_view *not_proposed; /* "gradient checkpointing (already on, slurm-1.err:12)" */
  size_t not_proposed_count;
};

#endif
