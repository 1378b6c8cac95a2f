/* Growth against the margin. See verify_growth.h. */
#include "cuda_replay/verify/verify_growth.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "parsers/base/units.h"

/* No log shows how many steps a job has in all (a total is often that of an epoch). After so many a growth does not matter. */
#define STEPS_MOST 1e6

void wo_verify_apply_growth(const struct wo_verify_subject *subject, struct wo_verify_result *result) {
  assert(subject && result);
  const uint64_t step_bytes = subject->completed.growth.step_bytes;
  if (result->fit != WO_VERIFY_YES) return;
  if (step_bytes > 0) {
    const double more = floor(fmax((double)result->margin_bytes, 0) / (double)step_bytes);
    if (more >= STEPS_MOST) return;
    result->fit = WO_VERIFY_UNSURE;
    snprintf(result->why, sizeof result->why,
             "every step keeps %s more: it fits until step %.0f or so, as long as that is not mended",
             WO_BYTES_TEXT((double)step_bytes), subject->failed_step + more);
  } else if (subject->grows_in_log && !subject->completed.growth.is_shown) {
    result->fit = WO_VERIFY_UNSURE;
    snprintf(result->why, sizeof result->why,
             "the log shows memory that grows from step to step, and the recording does not show by how much: record at least "
             "four steps");
  }
}
