/* What file names tell: the rank a per-task log belongs to, the sort of an input. */
#ifndef WO_NAMES_H
#define WO_NAMES_H

#include "parsers/event.h"

/* The rank that a file's name tells, or WO_RANK_UNKNOWN. By a word: "rank_3.log", "stderr.task3". By the company it keeps: `all`
 * holds the paths of every input of the job, `path` among them (NULL with count 0: by the name alone), and where they have
 * "err.0" to "err.3", "err.2" is rank 2. A number that nothing explains is a job, a date or a counter. */
int32_t wo_name_rank(struct wo_view path, const char *const *all, size_t count);

/* The sort of input `file`, by its evidence and its name: "sbatch", "config", "scontrol", "dmon" or "log". */
struct wo_view wo_name_format(const struct wo_event_store *store, uint32_t file, struct wo_view path);

/* The SLURM job id in a file name ("slurm-4711.err", "train_4711_3.out" gives 4711), or an empty view. *ret_array_task is -1
 * without one. */
struct wo_view wo_name_job(struct wo_view path, int64_t *ret_array_task);

/* The last part of a path. */
struct wo_view wo_name_base(struct wo_view path);

#endif
