/* Memory that programs printed beside their steps: one row for each file, rank and figure. */
#ifndef WO_STEP_MEMORY_H
#define WO_STEP_MEMORY_H

#include "analyzer/facts/facts.h"
#include "analyzer/report/report.h"

/* Gathers the job's events of that kind, in their order. The rows live in `arena`. WO_E_NOMEM. */
enum wo_status wo_step_memory_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_steps **ret_rows,
                                   size_t *ret_count);

/* The row that tells most of the failure, or NULL: of the rank that failed, else the one with the highest figure; what is in use
 * before what was the highest so far. Rows of earlier runs are left out, and those with more than the card has (`capacity_bytes`;
 * 0 when it is unknown). */
const struct wo_report_steps *wo_step_memory_lead(const struct wo_job *job, const struct wo_report_steps *rows, size_t count,
                                                  double capacity_bytes);

/* Sets the facts steps.*. Call once gpu.capacity is set. WO_E_NOMEM. */
enum wo_status wo_facts_read_steps(struct wo_facts *facts);

#endif
