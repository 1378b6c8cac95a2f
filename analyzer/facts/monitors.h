/* What monitoring traces show, for each file and card. */
#ifndef WO_MONITORS_H
#define WO_MONITORS_H

#include "analyzer/report/report.h"

/* Gathers the job's monitor events; those of one card in one file become one row. The rows live in `arena`. WO_E_NOMEM. */
enum wo_status wo_monitors_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_monitor **ret_monitors,
                                size_t *ret_count);

/* Gathers the processes that traces show, by file, the largest first. The rows live in `arena`. WO_E_NOMEM. */
enum wo_status wo_processes_make(const struct wo_job *job, struct wo_arena *arena, const struct wo_report_process **ret_processes,
                                 size_t *ret_count);

#endif
