/* What a step would have done after the request that it was refused, taken from the whole step before it.
 *
 * The recording of a job that ran out of memory ends at the refused request: the loss, backward and the optimizer of that step
 * are not in it, so a change that gets past the request is not shown to get through the step. Where the recording holds a whole
 * step before, its allocations are aligned with those of the step that failed (by stacks, in order), and what it did behind the
 * refused request is put behind the step that failed, in that step's sizes. How sizes differ is read off the aligned part; what
 * is not decided by it is an interval, and two patterns come out. docs/verify.md tells the rules. Pure; one thread at a time. */
#ifndef WO_STEP_COMPLETION_H
#define WO_STEP_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"

struct wo_step_completion {
  bool is_made;
  bool is_interval;                  /* low and high differ */
  bool varies;                       /* steps differ in size, so that one larger than any that is recorded may come */
  bool goes_on;                      /* the recording goes on behind its last refused request: the program caught the failure */
  uint32_t refused;                  /* that request; WO_NO_REQUEST: the pattern has none */
  struct wo_alloc_pattern low, high; /* up to the refused request, that request as one that is served, the rest of the step. Only
                                      * when is_made; low only when is_interval */
  struct wo_classes low_classes, high_classes; /* of these */
  size_t whole_count;                          /* allocations of the whole step */
  size_t added_count;                          /* those that the refused request and what follows are made of */
  double ratio;  /* of most bytes whose size differs between the two steps; 1 when none does. 0 .. 2^60 */
  char why[160]; /* there is a refused request, and nothing completes it: the reason. Else empty */
};

/* Completes the step of the pattern's last refused request. `classes` are the pattern's own, `trace` the one that it was made of
 * (NULL: annotations and times are not used). WO_OK also when nothing can be completed; WO_E_NOMEM. After WO_OK released with
 * wo_step_completion_done. */
enum wo_status wo_step_completion_make(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                       const struct wo_trace *trace, struct wo_step_completion *ret_completion);

/* Releases what it owns; NULL allowed. */
void wo_step_completion_done(struct wo_step_completion *completion);

#endif
