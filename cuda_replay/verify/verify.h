/* The proof: proposals of a diagnosis x recordings of the job -> which of them fits, by what margin, and what to do.
 *
 * Each proposal is tried alone; where it changes the micro-batch or the length, the largest value that fits is searched. Where
 * none fits alone, or only a length below the proposed one does, sets of two and three are tried, the cheapest first. The model
 * searches; a GPU can be asked to confirm what it found (verify_gpu.h). One thread. */
#ifndef WO_VERIFY_H
#define WO_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/verify/verify_gpu.h"
#include "cuda_replay/verify/verify_trial.h"
#include "parsers/base/arena.h"
#include "parsers/base/text.h"

/* What it comes to. */
enum wo_verify_verdict {
  WO_VERIFY_PROVEN,        /* a fix fits, on a recording of the job */
  WO_VERIFY_ACCEPTED,      /* a fix fits on a reconstructed pattern, which the user accepts */
  WO_VERIFY_RECONSTRUCTED, /* the same, and the user does not */
  WO_VERIFY_NONE_FITS,     /* nothing that is proposed can fit */
  WO_VERIFY_OPEN,          /* some may fit: less to spare than is uncertain, or too little is known */
  WO_VERIFY_NOT_SHOWN,     /* the recording fits as it is: it does not show the failure */
  WO_VERIFY_NO_PATTERN,    /* no recording, and nothing to reconstruct one from */
  WO_VERIFY_NO_FAILURE,    /* the job did not run out of GPU memory */
  WO_VERIFY_UNCONFIRMED,   /* the GPU that was asked for does not confirm what the model found, or could not run it */
  WO_VERIFY_VERDICT_COUNT_
};

/* The verdict's name in JSON ("none_fits"). Never NULL. */
const char *wo_verify_verdict_name(enum wo_verify_verdict verdict);

/* One fix, or a set of them. */
struct wo_verify_row {
  struct wo_choice choices[WO_CHOICES_MAX];
  size_t choice_count;   /* 0: the search for a micro-batch that nobody proposes */
  struct wo_view title;  /* of the fixes, joined by " + " */
  struct wo_view change; /* what was replayed ("micro_batch 32 -> 8"); may be empty */
  unsigned cost;         /* sum of the ranks */
  bool is_searched;      /* a value was searched: the one of `change` is the largest that fits, or the smallest that is tried */
  bool is_as_proposed;   /* the search came to the proposed value */
  bool is_beyond;        /* a length below the proposed one: it drops more of the data, which counts as double the cost */
  struct wo_change replayed;      /* what `change` says, to be run again; its texts are the proposals' */
  struct wo_verify_result result; /* of the rank where it is worst */
};

struct wo_verify_request {
  const struct wo_diagnosed *job;
  const struct wo_verify_subject *subjects; /* at least one, or none with a refusal */
  size_t subject_count;
  bool is_reconstructed;
  bool accepts_reconstructed;
  bool lacks_activations;         /* the reconstructed pattern holds the model's states alone: what fits there is open */
  struct wo_view refusal;         /* why there is no pattern; empty when there is one */
  const struct wo_gpu_place *gpu; /* --on gpu; NULL: the model alone */
  bool has_times;                 /* the report says how long a GPU took */
};

struct wo_verify {
  struct wo_arena arena;
  struct wo_verify_request asked;   /* borrowed */
  struct wo_verify_result baseline; /* the job as it was */
  struct wo_verify_row *rows;       /* single fixes in the order of the diagnosis, the extra search, then sets */
  size_t row_count;
  const struct wo_verify_row *chosen; /* NULL when none fits */
  bool is_batch_refuted;              /* the smallest micro-batch does not fit */
  size_t sets_tried;
  bool is_cut; /* there were more sets than are tried */
  enum wo_verify_verdict verdict;
  struct wo_verify_gpu gpu;
};

/* Works all of it out. WO_E_NOMEM. Released with wo_verify_done after WO_OK only; what was asked is borrowed until then. */
enum wo_status wo_verify_make(const struct wo_verify_request *request, struct wo_verify *ret_verify, struct wo_err *err);
void wo_verify_done(struct wo_verify *verify);

/* The row to choose: the cheapest that fits; of equal ones the one that the diagnosis names first. NULL when none does. */
const struct wo_verify_row *wo_verify_cheapest(const struct wo_verify *verify);

/* Whether a part of the row is a change of the program, which no setting makes. */
bool wo_verify_row_has_by_hand(const struct wo_verify *verify, const struct wo_verify_row *row);

/* The row of a single proposal, or NULL. */
const struct wo_verify_row *wo_verify_row_of(const struct wo_verify *verify, size_t proposal);

/* What `count` proposals change together. WO_E_USAGE with what is wrong, or when two of them exclude each other. */
enum wo_status wo_verify_join_changes(const struct wo_proposed_change *const *proposed, size_t count,
                                      struct wo_change *ret_change, struct wo_err *err);

/* The report for people / a JSON object (without a final newline in front of it; docs/verify.md). */
void wo_verify_text(const struct wo_verify *verify, struct wo_text_style style, struct wo_text *out);
void wo_verify_json(const struct wo_verify *verify, struct wo_text *out);

#endif
