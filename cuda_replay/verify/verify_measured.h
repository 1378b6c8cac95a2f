/* What a measured run of the same job says of a change, where the pattern is only reconstructed.
 *
 * A reconstruction ends at the refused request and knows the job by one set of totals; a run that was measured to its end binds
 * it from both sides. One thread. */
#ifndef WO_VERIFY_MEASURED_H
#define WO_VERIFY_MEASURED_H

#include "cuda_replay/verify/verify_trial.h"

/* Puts the bounds of subject->sizes->measured on a result of wo_verify_try for the same change (NULL: the job as it was). Nothing
 * happens without a measured run, to what could not be tried, and to a change of more than micro-batch and length, since the run
 * was made without it. At no more work than was measured the measured peak decides; above it, the result needs at least what
 * wo_measured_run_predict says. */
void wo_verify_apply_measured(const struct wo_verify_subject *subject, const struct wo_change *change,
                              struct wo_verify_result *result);

#endif
