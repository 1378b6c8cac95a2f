/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a step after the request that it was refused, taken from the whole step before it.
 *
 * The recording of a job that ran out of memory ends at the refused request: the loss, backward and the optimizer of that step
 * are not in it, so a change that gets past the request is not shown to get through the step. If the recording holds a whole step
 * before it, the allocations of both steps are aligned (by stacks, in order), and the requests of the whole step after the
 * refused one are appended to the failed step, in that step's sizes. The aligned part shows how sizes differ; a size that it does
 * not decide is an interval, and two patterns are made. docs/verify.md describes the rules. Pure; one thread at a time. */
#ifndef WO_STEP_COMPLETION_H
#define WO_STEP_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/steps/step_growth.h"
#include "cuda_replay/classes/classify.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"

struct wo_step_completion {
  bool is_made;
  bool is_interval;    /* low and high differ */
  bool varies;         /* steps differ in size, so a larger one than any recorded may follow */
  bool goes_on;        /* the recording continues after its last refused request: the program caught the failure */
  uint32_t pass_first; /* request at which the pass that failed begins; 0: none did */
  uint32_t refused;    /* this request; WO_NO_REQUEST: the pattern has none */
  struct wo_alloc_pattern low,
      high; /* up to the refused request, that one served, the rest; if is_made, low only if is_interval */
  struct wo_classes low_classes, high_classes; /* of these patterns */
  size_t whole_count;                          /* allocations of the whole step */
  size_t added_count;                          /* allocations of the refused request and of the rest of the step */
  struct wo_step_growth growth;                /* of the steps before the refused request, or of all if none was refused */
  double ratio;  /* size ratio between the two steps, weighted by bytes; 1 if no size changed. 0 .. 2^60 */
  char why[160]; /* the reason if there is a refused request that nothing completes; else empty */
};

/* Completes the step of the pattern's last refused request. `classes` belong to the pattern, `trace` is its trace (NULL:
 * annotations and times are not used). WO_OK also if nothing can be completed; WO_E_NOMEM. After WO_OK released with
 * wo_step_completion_done. */
enum wo_status wo_step_completion_make(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                       const struct wo_trace *trace, struct wo_step_completion *ret_completion);

/* Releases what it owns; NULL allowed. */
void wo_step_completion_done(struct wo_step_completion *completion);

#endif
