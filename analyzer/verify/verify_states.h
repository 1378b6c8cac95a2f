/* SPDX-License-Identifier: Apache-2.0 */
/* The model states that a card held at the failure, for a reconstruction: from settings and facts, by the arithmetic of the
 * budget where the states are divided over the cards. */
#ifndef WO_VERIFY_STATES_H
#define WO_VERIFY_STATES_H

#include "analyzer/report/report.h"
#include "parsers/base/arena.h"
#include "parsers/base/exchange/proposal.h"

/* The number of a fact, or -1 when it is unknown. */
double wo_verify_number(const struct wo_report *report, const char *fact);

/* Fills weights, gradients, optimizer, fixed, parameters, trainable and states of *sizes, whose capacity is set. Unknown figures
 * are -1; `states` says how the states are divided, or why that is not known. Texts live in the arena. WO_E_NOMEM. */
enum wo_status wo_verify_states_read(const struct wo_report *report, struct wo_arena *arena, struct wo_job_sizes *sizes);

#endif
