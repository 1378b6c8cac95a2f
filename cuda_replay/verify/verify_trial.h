/* One question of `whyoom verify`: does the job fit, changed in this way, on the card that it failed on?
 *
 * A subject is what is asked about: one rank's recording with the capacity of its card. Every question goes through
 * wo_verify_try, on the model of a device; what it found is run again on a GPU by verify_gpu.h where that is wanted. One thread.
 */
#ifndef WO_VERIFY_TRIAL_H
#define WO_VERIFY_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/whatif/capacity.h"
#include "cuda_replay/classes/classify.h"
#include "cuda_replay/change/step_completion.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/change/change.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/exchange/proposal.h"

struct wo_verify_subject {
  const struct wo_recording *recording; /* borrowed */
  const struct wo_trace *trace;         /* of it */
  struct wo_view path;                  /* for messages; empty when it is reconstructed */
  struct wo_alloc_pattern pattern;      /* owned, as recorded */
  struct wo_classes classes;            /* owned */
  struct wo_scale_spec recorded_at;     /* sizes of the recorded run -> those of the failed job, where they differ; else {0} */
  const struct wo_job_sizes *sizes;     /* borrowed; what the pattern was reconstructed from. NULL: it was recorded */
  uint16_t torch;
  uint64_t capacity_bytes;             /* what PyTorch can have of the card; 0 = not known */
  uint64_t uncertainty_bytes;          /* how much less it can be in another run */
  const char *capacity_from;           /* in words */
  bool is_largest_step;                /* steps differ in size, and the one that failed is as large as any can be */
  bool ends_at_oom;                    /* the recording's last failure is its end: what the step does then is not in it */
  struct wo_step_completion completed; /* owned: the step that failed with what it would have done then, where that can be told */
  bool is_open;             /* nothing tells it: what gets past the refused request is not shown to get through the step */
  char why_not_proven[160]; /* why a replay of it is no proof; empty: nothing speaks against one */
};

enum wo_verify_fit {
  WO_VERIFY_YES,     /* at the high end of what it can need, with the uncertainty to spare */
  WO_VERIFY_UNSURE,  /* between the two, or something that is needed is not known */
  WO_VERIFY_NO,      /* not even at the low end */
  WO_VERIFY_UNTRIED, /* cannot be replayed */
  WO_VERIFY_FIT_COUNT_
};

struct wo_verify_result {
  enum wo_verify_fit fit;
  /* What PyTorch needs: where it fits the peak of reserved bytes, else the least that it could have and fit, to within a 128th
   * (32 MiB for a small one): at the low end in one order of addresses, at the high end in all. Without a capacity it is the peak
   * on a card without end; a trial with no shuffles may give that, too. */
  uint64_t reserved_lo_bytes;
  uint64_t reserved_hi_bytes;
  int64_t margin_bytes; /* capacity less the high end; negative: that much is missing at least at the high end */
  bool gets_past;       /* UNSURE only because the recording ends at the refused request: as far as it goes, it fits */
  char why[200];        /* of UNSURE and UNTRIED; may be empty */
  bool is_on_gpu;       /* a GPU had the last word (verify_gpu.h); else the model */
};

/* Prepares a subject. A step that was refused a request is completed (step_completion.h), unless the pattern is a reconstructed
 * one, whose end is made up anyway. A program that caught the failure is tried both ways: as recorded, and with that step
 * completed. The capacity is --capacity (stated_bytes, 0 = none), else what the log's message leaves to PyTorch, else what the
 * recording's own failure shows, else the card that the file names. torch: 0 = as recorded. WO_E_RANGE when the recording
 * contradicts itself, WO_E_NOMEM. `sizes` stays borrowed by a subject of a reconstructed pattern. Released with
 * wo_verify_subject_done after WO_OK only. */
enum wo_status wo_verify_subject_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_view path,
                                      const struct wo_job_sizes *sizes, uint64_t stated_bytes, uint16_t torch,
                                      struct wo_verify_subject *ret_subject, struct wo_err *err);
void wo_verify_subject_done(struct wo_verify_subject *subject);

/* Tries a change (no change allowed). A change that the recording cannot be put through is UNTRIED with its reason, and no
 * failure. shuffles: orders of addresses beside two; fewer are faster and less sure. WO_E_NOMEM. */
enum wo_status wo_verify_try(const struct wo_verify_subject *subject, const struct wo_change *change, unsigned shuffles,
                             struct wo_verify_result *ret_result, struct wo_err *err);

/* What decides whether a change is enough: the high end of what the changed program can need, and what PyTorch can be sure to
 * have of the subject's card. */
struct wo_verify_high_end {
  struct wo_alloc_pattern pattern; /* owned, in its steady state */
  struct wo_alloc_settings settings;
  uint64_t capacity_bytes; /* less the uncertainty; 0: not known, or not above it */
};

/* Makes it, so that it can be run elsewhere; of a step that was completed it is the completed one. change: as for wo_verify_try,
 * one that was not UNTRIED. Else WO_E_USAGE or WO_E_RANGE with the reason; WO_E_NOMEM. Released with wo_verify_high_end_done
 * after WO_OK only. */
enum wo_status wo_verify_high_end_make(const struct wo_verify_subject *subject, const struct wo_change *change,
                                       struct wo_verify_high_end *ret_end, struct wo_err *err);
void wo_verify_high_end_done(struct wo_verify_high_end *end);

/* What PyTorch can be sure to have of the subject's card: the capacity less its uncertainty; 0: not known, or nothing. */
static inline uint64_t wo_verify_sure_bytes(const struct wo_verify_subject *subject) {
  return subject->capacity_bytes > subject->uncertainty_bytes ? subject->capacity_bytes - subject->uncertainty_bytes : 0;
}

/* Takes over `other` where it is worse news: what does not fit on one rank does not fit. */
void wo_verify_result_join(struct wo_verify_result *result, const struct wo_verify_result *other);

#endif
