/* SPDX-License-Identifier: Apache-2.0 */
/* The proof: proposals of a diagnosis x recordings of the job -> which of them fits, with what margin, and what to do.
 *
 * Each proposal is tried alone; if it changes the micro-batch or the length, the largest value that fits is searched. If none
 * fits alone, or only a length below the proposed one does, sets of two and three are tried, the cheapest first. The model
 * searches; a GPU can confirm the result (verify_gpu.h). One thread. */
#ifndef WO_VERIFY_H
#define WO_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/verify/verify_gpu.h"
#include "cuda_replay/verify/verify_trial.h"
#include "parsers/base/arena.h"
#include "parsers/base/text.h"

/* The result. */
enum wo_verify_verdict {
  WO_VERIFY_PROVEN,        /* a fix fits, on a recording of the job */
  WO_VERIFY_ACCEPTED,      /* a fix fits on a reconstructed pattern, and the user accepts that */
  WO_VERIFY_RECONSTRUCTED, /* the same, but the user does not accept it */
  WO_VERIFY_NONE_FITS,     /* no proposal can fit */
  WO_VERIFY_OPEN,          /* some may fit: less to spare than the uncertainty, or too little is known */
  WO_VERIFY_NOT_SHOWN,     /* the recording fits without a change: it does not show the failure */
  WO_VERIFY_NO_PATTERN,    /* no recording, and nothing to reconstruct one from */
  WO_VERIFY_NO_FAILURE,    /* the job did not run out of GPU memory */
  WO_VERIFY_UNCONFIRMED,   /* the requested GPU does not confirm the model's result, or could not run it */
  WO_VERIFY_VERDICT_COUNT_
};

/* The verdict's name in JSON ("none_fits"). Never NULL. */
const char *wo_verify_verdict_name(enum wo_verify_verdict verdict);

/* One fix, or a set of them. */
struct wo_verify_row {
  struct wo_choice choices[WO_CHOICES_MAX];
  size_t choice_count;       /* 0: the search for a micro-batch that no proposal has */
  struct wo_view title;      /* of the fixes, joined by " + ", with the values that were judged */
  struct wo_view change;     /* what was replayed ("micro_batch 32 -> 8"); may be empty */
  unsigned cost;             /* sum of the ranks */
  bool is_searched;          /* a value was searched: that of `change` is the largest that fits, or the smallest that is tried */
  bool is_as_proposed;       /* the search ended at the proposed value */
  bool is_beyond;            /* a length below the proposed one: it drops more of the data, which counts as double the cost */
  struct wo_change replayed; /* the change of `change`, to be run again; its texts belong to the proposals */
  bool is_rough;             /* the proposed values do not fit, and by how much was not looked for */
  struct wo_verify_result result;      /* of the rank with the worst result */
  struct wo_verify_result as_proposed; /* at the proposed values; the same where is_as_proposed */
};

struct wo_verify_request {
  const struct wo_diagnosed *job;
  const struct wo_verify_subject *subjects; /* at least one, or none and a refusal */
  size_t subject_count;
  bool is_reconstructed;
  bool accepts_reconstructed;
  bool accepts_by_hand;           /* changes of the program are made already */
  bool is_quick;                  /* rows that do not fit get rough figures (wo_verify_row.is_rough), for a quarter of the time */
  bool lacks_activations;         /* the reconstructed pattern has only the model's states: a change that fits there is open */
  struct wo_view refusal;         /* why there is no pattern; empty if there is one */
  const struct wo_gpu_place *gpu; /* --on gpu; NULL: the model alone */
  bool has_times;                 /* the report includes how long a GPU took */
};

struct wo_verify {
  struct wo_arena arena;
  struct wo_verify_request asked;   /* borrowed */
  struct wo_verify_result baseline; /* the job as it was */
  struct wo_verify_row *rows;       /* single fixes in the order of the diagnosis, the extra search, then sets */
  size_t row_count;
  const struct wo_verify_row *chosen; /* NULL if none fits */
  bool is_batch_refuted;              /* the smallest micro-batch does not fit */
  size_t sets_tried;
  bool is_cut; /* there were more sets than were tried */
  enum wo_verify_verdict verdict;
  struct wo_verify_gpu gpu;
};

/* Makes the whole proof. WO_E_NOMEM. Released with wo_verify_done after WO_OK only; the request is borrowed until then. */
enum wo_status wo_verify_make(const struct wo_verify_request *request, struct wo_verify *ret_verify, struct wo_err *err);
void wo_verify_done(struct wo_verify *verify);

/* The row to choose: the cheapest that fits; of equal ones the first in the diagnosis. NULL if none fits. */
const struct wo_verify_row *wo_verify_cheapest(const struct wo_verify *verify);

/* Whether the proof is whole but for a change of the program that its author still has to make. */
bool wo_verify_is_open_by_hand(const struct wo_verify *verify);

/* Whether a part of the row is a change of the program, which no setting can make. */
bool wo_verify_row_has_by_hand(const struct wo_verify *verify, const struct wo_verify_row *row);

/* The row of a single proposal, or NULL. */
const struct wo_verify_row *wo_verify_row_of(const struct wo_verify *verify, size_t proposal);

/* Joins the changes of `count` proposals. WO_E_USAGE with the reason, also if two of them exclude each other. */
enum wo_status wo_verify_join_changes(const struct wo_proposed_change *const *proposed, size_t count,
                                      struct wo_change *ret_change, struct wo_err *err);

/* The report for people / a JSON object (without a newline at its end; docs/verify.md). */
void wo_verify_text(const struct wo_verify *verify, struct wo_text_style style, struct wo_text *out);
void wo_verify_json(const struct wo_verify *verify, struct wo_text *out);

#endif
