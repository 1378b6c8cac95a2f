/* SPDX-License-Identifier: Apache-2.0 */
/* One question of `whyoom verify`: does the job, with this change, fit on the card on which it failed?
 *
 * A subject is one rank's recording with the capacity of its card. Every question goes through wo_verify_try, on the model of a
 * device; verify_gpu.h repeats a result on a GPU if requested. One thread. */
#ifndef WO_VERIFY_TRIAL_H
#define WO_VERIFY_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/whatif/capacity.h"
#include "cuda_replay/classes/classify.h"
#include "cuda_replay/steps/step_completion.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/change/change.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/exchange/proposal.h"

struct wo_verify_subject {
  const struct wo_recording *recording; /* borrowed */
  const struct wo_trace *trace;         /* of it */
  struct wo_view path;                  /* for messages; empty if it is reconstructed */
  struct wo_alloc_pattern pattern;      /* owned, as recorded */
  struct wo_classes classes;            /* owned */
  struct wo_scale_spec recorded_at;     /* sizes of the recorded run -> those of the failed job, if they differ; else {0} */
  const struct wo_job_sizes *sizes;     /* borrowed; the figures of a reconstructed pattern. NULL: it was recorded */
  uint16_t torch;
  uint64_t capacity_bytes;             /* capacity of the card for PyTorch; 0 = not known */
  uint64_t uncertainty_bytes;          /* by how much it can be smaller in another run */
  const char *capacity_from;           /* in words */
  bool is_largest_step;                /* steps differ in size, and the failed one is as large as any can be; of a recording
                                          without a failure, one of them */
  bool ends_at_oom;                    /* the recording ends with its last failure: the rest of the step is not in it */
  struct wo_step_completion completed; /* owned: the failed step with the rest that it would have had, if that is known */
  bool is_lower_bound;                 /* a reconstructed pattern has only the model's states */
  uint32_t micro_batch;                /* of the job, as its log shows it; 0: not known */
  uint32_t seq_len;                    /* likewise; its steps may be shorter */
  bool has_other_batch;                /* the pass that failed, and that nothing completes, has a batch of its own */
  struct wo_pass_length longest;       /* of the recorded passes, if longer steps may come */
  double failed_step;                  /* the step that failed, from 1: as the log counts, else as the recording does */
  double step_total;                   /* of the log; often of one epoch; 0: not known */
  bool grows_in_log;                   /* the diagnosis is growth over steps */
  bool is_open;             /* it is not known: getting past the refused request does not show that the step succeeds */
  char why_not_proven[160]; /* why a replay of it is no proof; empty: it is one */
};

enum wo_verify_fit {
  WO_VERIFY_YES,     /* at the high end of its need, with the uncertainty to spare */
  WO_VERIFY_UNSURE,  /* between the two, or some needed fact is not known */
  WO_VERIFY_NO,      /* not even at the low end */
  WO_VERIFY_UNTRIED, /* cannot be replayed */
  WO_VERIFY_FIT_COUNT_
};

struct wo_verify_result {
  enum wo_verify_fit fit;
  /* The memory that PyTorch needs: if it fits, the peak of reserved bytes, else the smallest capacity at which it would fit, to
   * within a 128th (32 MiB for a small one): at the low end in one order of addresses, at the high end in all. Without a capacity
   * it is the peak on an unlimited card; a trial with no shuffles may return that, too. */
  uint64_t reserved_lo_bytes;
  uint64_t reserved_hi_bytes;
  int64_t margin_bytes; /* capacity less the high end; if negative, at least this much is missing at the high end */
  bool gets_past;       /* UNSURE only because the recording ends at the refused request: it fits up to there */
  char why[200];        /* for UNSURE and UNTRIED, and for NO if it is not the size of a step; may be empty */
  bool is_on_gpu;       /* a GPU decided (verify_gpu.h); else the model */
};

/* Whether the recording is of another run than the failed one: its sizes differ. */
static inline bool wo_verify_is_of_another_run(const struct wo_verify_subject *subject) {
  const struct wo_scale_axis *const axes = subject->recorded_at.axes;
  return axes[WO_AXIS_MICRO_BATCH].from > 0 || axes[WO_AXIS_SEQ_LEN].from > 0;
}

/* Prepares a subject. A step with a refused request is completed (step_completion.h), unless the pattern is a reconstructed one,
 * whose end is invented anyway. A program that caught the failure is tried in both ways: as recorded, and with that step
 * completed. The capacity is --capacity (stated_bytes, 0 = none), else the one that the log's message leaves to PyTorch, else the
 * one that the recording's own failure shows, else the card that the file names. torch: 0 = as recorded. WO_E_RANGE if the
 * recording contradicts itself, WO_E_NOMEM. A subject of a reconstructed pattern borrows `sizes`. Released with
 * wo_verify_subject_done after WO_OK only. */
enum wo_status wo_verify_subject_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_view path,
                                      const struct wo_job_sizes *sizes, uint64_t stated_bytes, uint16_t torch,
                                      struct wo_verify_subject *ret_subject, struct wo_err *err);
void wo_verify_subject_done(struct wo_verify_subject *subject);

/* Makes it the recording of another run of the job: sizes recorded -> the job's own. Does nothing without any. */
void wo_verify_subject_rescale(struct wo_verify_subject *subject, const struct wo_scale_spec *recorded_at);

/* For `shuffles`: two orders of addresses, and without figures where it does not fit, which is then UNSURE. For a search. */
#define WO_VERIFY_YES_ALONE UINT32_MAX

/* Tries a change (no change allowed). A change that cannot be applied to the recording is UNTRIED with its reason, and no
 * failure. shuffles: orders of addresses in addition to two; fewer are faster and less sure. WO_E_NOMEM. */
enum wo_status wo_verify_try(const struct wo_verify_subject *subject, const struct wo_change *change, unsigned shuffles,
                             struct wo_verify_result *ret_result, struct wo_err *err);

/* The run that decides whether a change is enough: the high end of the changed program's need, and the memory that the subject's
 * card surely leaves to PyTorch. */
struct wo_verify_high_end {
  struct wo_alloc_pattern pattern; /* owned, in its steady state */
  struct wo_alloc_settings settings;
  uint64_t capacity_bytes; /* less the uncertainty; 0: not known, or smaller than the uncertainty */
};

/* Makes it, to be run elsewhere; if a step was completed, it is the completed one. change: as for wo_verify_try, one that was not
 * UNTRIED. Else WO_E_USAGE or WO_E_RANGE with the reason; WO_E_NOMEM. Released with wo_verify_high_end_done after WO_OK only. */
enum wo_status wo_verify_high_end_make(const struct wo_verify_subject *subject, const struct wo_change *change,
                                       struct wo_verify_high_end *ret_end, struct wo_err *err);
void wo_verify_high_end_done(struct wo_verify_high_end *end);

/* The memory that the subject's card surely leaves to PyTorch: the capacity less its uncertainty; 0: not known, or nothing. */
static inline uint64_t wo_verify_sure_bytes(const struct wo_verify_subject *subject) {
  return subject->capacity_bytes > subject->uncertainty_bytes ? subject->capacity_bytes - subject->uncertainty_bytes : 0;
}

/* Nothing is better: any result that is joined to it replaces it. */
#define WO_VERIFY_BEST ((struct wo_verify_result){.fit = WO_VERIFY_YES, .margin_bytes = INT64_MAX})

/* Takes over `other` if it is worse: a job that does not fit on one rank does not fit. */
void wo_verify_result_join(struct wo_verify_result *result, const struct wo_verify_result *other);

#endif
