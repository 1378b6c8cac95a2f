/* A fix for a program that grows with every step fits only for so many steps. Internal to verify. */
#ifndef WO_VERIFY_GROWTH_H
#define WO_VERIFY_GROWTH_H

#include "cuda_replay/verify/verify_trial.h"

/* Takes back a YES whose margin the growth uses up before the job ends, and says in which step; a job whose log shows growth that
 * the recording does not show, too. */
void wo_verify_apply_growth(const struct wo_verify_subject *subject, struct wo_verify_result *result);

#endif
