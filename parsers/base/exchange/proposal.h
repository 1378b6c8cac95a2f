/* SPDX-License-Identifier: Apache-2.0 */
/* The values that one flow hands to the other: a diagnosed job and the changes proposed for it.
 *
 * The diagnosis (analyzer) fills it, the proof (cuda_replay) reads it, and neither knows the other; only the program's main wires
 * them. Texts are views that the diagnosis keeps alive. Bytes are -1 if the job does not show them. */
#ifndef WO_PROPOSAL_H
#define WO_PROPOSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/exchange/measured_run.h"
#include "parsers/base/exchange/proposed_change.h"
#include "parsers/base/view.h"

/* One proposed change. */
struct wo_proposal {
  struct wo_view id;                /* of the fix ("reduce-micro-batch"): a promise */
  struct wo_view title;             /* one line for people */
  struct wo_proposed_change change; /* as a replay makes it */
  unsigned cost_rank;               /* 1 costs nothing .. 9 is no cure (docs/rules.md) */
  struct wo_view speed;             /* words on what it costs; may be empty */
  struct wo_view accuracy;
  struct wo_view paste; /* the changed settings in the user's own keys, joined by blanks; may be empty */
  bool is_by_hand;      /* no setting of the job makes it: `paste` is a change of the program, for its author */
};

/* Sizes of the failed job that a pattern can be reconstructed from when nothing was recorded. */
struct wo_job_sizes {
  double capacity_bytes; /* of the card, from the message or the trace of nvidia-smi */
  double tried_bytes;    /* the refused request ("Tried to allocate") */
  double free_bytes;
  double allowed_bytes;     /* that the program allows PyTorch to take (a memory fraction) */
  double allocated_bytes;   /* by PyTorch at the failure */
  double unallocated_bytes; /* reserved by PyTorch but unallocated */
  double non_pytorch_bytes; /* context, NCCL, libraries */
  double other_bytes;       /* other processes */
  bool are_contradicting;   /* the figures cannot all be true: nothing may be reconstructed from them */
  bool is_other_allocator;  /* not PyTorch's allocator for CUDA refused: another framework, an engine's own pool, another maker's
                               card */
  double weights_bytes;     /* states of the model on this card, from settings; -1 unknown */
  double gradients_bytes;
  double optimizer_bytes;
  double fixed_bytes;    /* buffers of sharding, which no batch changes; -1 unknown */
  struct wo_view states; /* how these are divided over the cards ("ZeRO stage 3 over 8 cards"), empty where they are not; where
                            they are unknown, why */
  double parameters;     /* count, all and trainable; -1 unknown */
  double trainable;
  double micro_batch; /* settings; -1 unknown */
  double seq_len;
  double layers;
  double hidden;
  double vocabulary;
  double step;       /* the last one that was counted; -1 unknown */
  double step_total; /* as the log prints it, often of one epoch; -1 unknown */
  bool grows;        /* the diagnosis is memory that grows from step to step */
  bool has_checkpointing;
  bool is_full_length; /* the refused request has the size of a tensor at the job's own length, so that no step can be longer */
  struct wo_view alloc_conf;       /* PYTORCH_CUDA_ALLOC_CONF as the job had it; may be empty */
  struct wo_view torch;            /* version as printed ("2.6.0+cu124"); may be empty */
  struct wo_measured_run measured; /* another run of the job that fit; micro_batch 0: none is known */
  struct wo_view measured_path;    /* the file that shows it; may be empty */
  struct wo_view phase;            /* of the failure: "forward", "backward", "optimizer", ...; may be empty */
};

/* A diagnosed job. */
struct wo_diagnosed {
  bool has_gpu_oom;        /* without one there is nothing to prove */
  struct wo_view cause;    /* id of the first finding; may be empty */
  struct wo_view resubmit; /* the line to submit the job with again; may be empty */
  struct wo_job_sizes sizes;
  const struct wo_proposal *proposals; /* best first */
  size_t proposal_count;
};

/* The result of the proof of one proposal, for the diagnosis to show beside it. */
struct wo_proof {
  bool is_tried;              /* else nothing below is known */
  const char *on;             /* "model"; a GPU says "gpu" */
  const char *pattern;        /* "recorded" or "reconstructed" */
  struct wo_view path;        /* of the recording, of the first rank; empty for a reconstructed pattern */
  bool fits;                  /* with a margin above the uncertainty */
  double peak_reserved_bytes; /* at the high end */
  double margin_bytes;        /* negative: that much is missing */
  bool is_rough;              /* it does not fit, and the two figures are only near */
};

/* A proposal that was chosen, with the sizes at which it was replayed; a patch writes these. 0: the change has no such size. */
struct wo_choice {
  size_t proposal; /* index */
  uint32_t micro_batch;
  uint32_t grad_accum;
  uint32_t seq_len;
};

enum { WO_CHOICES_MAX = 3 };

#endif
