/* What file names tell: the rank a per-task log belongs to, the sort of an input. */
#ifndef WO_NAMES_H
#define WO_NAMES_H

#include <stdint.h>

#include "parsers/event/event.h"

/* The rank that a file's name tells, or WO_RANK_UNKNOWN. By a word: "rank_3.log", "stderr.task3". By the company it keeps: `all`
 * holds the paths of every input of the job, `path` among them (NULL with count 0: by the name alone), and where they have
 * "err.0" to "err.3", "err.2" is rank 2. A number that nothing explains is a job, a date or a counter. */
int32_t wo_name_rank(struct wo_view path, const char *const *all, size_t count);

/* A worker's log in torchrun's folders: "RUN/attempt_1/3/stderr.log". */
struct wo_name_attempt {
  struct wo_view folder; /* "RUN": the launcher's, common to its attempts; empty when the path begins with the attempt */
  int32_t attempt;       /* from 0: how often the launcher had started the workers again */
  int32_t local_rank;    /* counts per node */
};

/* Takes such a path apart; the folder points into it. False, and *ret stays, for any other path. */
bool wo_name_attempt(struct wo_view path, struct wo_name_attempt *ret);

/* Whether the number at the end of a name counts the tasks of a node: another name of `all` has the same number, and differs in a
 * number in front of it only ("gpu01.0", "gpu02.0"). */
bool wo_name_is_node_rank(struct wo_view path, const char *const *all, size_t count);

/* The local rank that torchrun's folders tell ("RUN/attempt_0/3/stderr.log": 3), or WO_RANK_UNKNOWN. It counts per node. */
int32_t wo_name_local_rank(struct wo_view path);

/* The host that a word of a file's name is ("log_node04_2.err": node04), or an empty view. Only words that begin as nodes of
 * clusters are called ("node", "gpu" with two digits, "nid", "dgx", ...). */
struct wo_view wo_name_host(struct wo_view path);

/* The sort of input `file`, by its evidence and its name: "sbatch", "config", "scontrol", "sacct", "log", or a
 * trace: "dmon", "pmon", "query-csv", "query-apps", "smi-table", "smi-q", "smi-xml", "dcgmi", "gpustat". */
struct wo_view wo_name_format(const struct wo_event_store *store, uint32_t file, struct wo_view path);

/* The SLURM job id in the name of a log ("slurm-4711.err", "train_4711_3.out", "out-4711.2" give 4711), or an empty view.
 * *ret_array_task is -1 without one. */
struct wo_view wo_name_job(struct wo_view path, int64_t *ret_array_task);

/* As wo_name_job, for a file of any sort ("scontrol-4711.txt"). */
struct wo_view wo_name_id(struct wo_view path, int64_t *ret_array_task);

/* Whether a word of the name says that it holds what a program printed: out, err, log, stdout, stderr. */
bool wo_name_is_stream(struct wo_view path);

/* The next word of a name, cut from *rest with the "." "_" or "-" behind it. Words can be empty; after the last one *rest is. */
struct wo_view wo_name_word(struct wo_view *rest);

/* A path around the number at the end of its name: "run/out-4711.2.txt" is "run/out-4711." 2 ".txt". */
struct wo_name_number {
  struct wo_view head;
  struct wo_view tail;
  uint64_t number; /* less than WO_LIMIT_INPUT_FILES */
};

/* Takes the last number apart that stands alone, with nothing but endings behind it. False when there is none, and when what
 * stands in front tells that it is no rank: "epoch_0.log", "slurm-4711_0.out" (an array's task). */
bool wo_name_number(struct wo_view path, struct wo_name_number *ret);

/* The last part of a path. */
struct wo_view wo_name_base(struct wo_view path);

/* Calls fn for each host of a list as SLURM writes them ("gpu[03-06,9],login1"), until it returns false. Names longer than 200
 * bytes are left out. The name is valid during the call only. */
void wo_name_each_host(struct wo_view list, bool (*fn)(void *context, struct wo_view host), void *context);

#endif
