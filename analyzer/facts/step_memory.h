/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that programs printed with their steps: one event for each file, rank and figure, over all prints of that rank.
 *
 * WO_FIELD_NAME is the figure: allocated, reserved, used (the line does not say which), free, peak_allocated or peak_reserved.
 * The late rise is the least rise in the second half; the spread is the highest less the lowest, and the jump the largest rise
 * between two prints, both after the first ones; the slope is per print if no step is printed. Only the first, last, peak and
 * lowest bytes and the slope have the interval of their rounding. Falls are by more than a twentieth of the highest; restarts are
 * runs before this one in the same file; wraps count how often the step number began again, for example at each epoch. */
#ifndef WO_STEP_MEMORY_H
#define WO_STEP_MEMORY_H

#include "analyzer/facts/facts.h"

/* The row that explains the failure best, or NULL: a row of the rank that failed, then memory in use before peaks, then the
 * highest figure. Rows of earlier runs are left out, and rows with more than the card has (`capacity_bytes`; 0 when it is
 * unknown). */
const struct wo_event *wo_step_memory_lead(const struct wo_facts *facts, double capacity_bytes);

#endif
