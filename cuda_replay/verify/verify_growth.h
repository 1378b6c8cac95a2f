/* SPDX-License-Identifier: Apache-2.0 */
/* A fix for a program that grows with every step fits only for so many steps. Internal to verify. */
#ifndef WO_VERIFY_GROWTH_H
#define WO_VERIFY_GROWTH_H

#include "cuda_replay/verify/verify_trial.h"

/* Takes back a YES whose margin the growth uses up, and says until which step it lasts: NO if that is before the total of the
 * log, at the least rate that the changed program (NULL: unchanged) can have; a job whose log shows growth that the recording
 * does not show is UNSURE, too. */
void wo_verify_apply_growth(const struct wo_verify_subject *subject, const struct wo_change *change,
                            struct wo_verify_result *result);

#endif
