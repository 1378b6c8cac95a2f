/* SPDX-License-Identifier: Apache-2.0 */
/* How far a result on a reconstructed pattern can be trusted: as far as a measured run of the same job goes, else within a wide
 * interval.
 *
 * A reconstruction ends at the refused request and knows the job from one set of totals; a run that was measured to its end
 * bounds it from both sides. One thread. */
#ifndef WO_VERIFY_MEASURED_H
#define WO_VERIFY_MEASURED_H

#include "cuda_replay/verify/verify_trial.h"

/* Applies the bounds of subject->sizes->measured to a result of wo_verify_try for the same change (NULL: the unchanged job). Does
 * nothing without a measured run, to a change that could not be tried, and to one of more than micro-batch and length, since the
 * run was made without it. At no more work than was measured the measured peak decides; above it, the result is at least the
 * prediction of wo_measured_run_predict. Returns whether it did. */
bool wo_verify_apply_measured(const struct wo_verify_subject *subject, const struct wo_change *change,
                              struct wo_verify_result *result);

/* Widens the result of a change of sizes or of the program to the interval that held for real programs (docs/training.md), and
 * judges it anew. A lower bound, and the job as it was, stay as they are. */
void wo_verify_widen_reconstructed(const struct wo_verify_subject *subject, const struct wo_change *change,
                                   struct wo_verify_result *result);

#endif
