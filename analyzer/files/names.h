/* SPDX-License-Identifier: Apache-2.0 */
/* Reads file names: the rank of a log, its job and host, the sort of an input. */
#ifndef WO_NAMES_H
#define WO_NAMES_H

#include <stdint.h>

#include "parsers/event/event.h"

/* The rank in a file's name, or WO_RANK_UNKNOWN. By a word: "rank_3.log", "stderr.task3". As submitit writes it. By the other
 * names: `all` holds the paths of every input of the job, `path` among them (NULL with count 0: by the name alone); if it has
 * "err.0" to "err.3", "err.2" is rank 2. Any other number is a job, a date or a counter. */
int32_t wo_name_rank(struct wo_view path, const char *const *all, size_t count);

/* A worker's log in torchrun's folders: "RUN/attempt_1/3/stderr.log". */
struct wo_name_attempt {
  struct wo_view folder; /* "RUN": the launcher's, common to its attempts; empty when the path begins with the attempt */
  int32_t attempt;       /* from 0: how often the launcher had started the workers again */
  int32_t local_rank;    /* counts per node */
};

/* Parses such a path; the folder points into it. Returns false, with *ret unchanged, for any other path. */
bool wo_name_attempt(struct wo_view path, struct wo_name_attempt *ret);

/* Whether the number at the end of a name counts the tasks of a node: another name of `all` has the same number, and differs only
 * in a number before it ("gpu01.0", "gpu02.0"). */
bool wo_name_is_node_rank(struct wo_view path, const char *const *all, size_t count);

/* The local rank in torchrun's folders ("RUN/attempt_0/3/stderr.log": 3), or WO_RANK_UNKNOWN. It counts per node. */
int32_t wo_name_local_rank(struct wo_view path);

/* The host in a file's name ("log_node04_2.err": node04), or an empty view. Only words that begin like usual names of cluster
 * nodes count ("node", "gpu" with two digits, "nid", "dgx", ...). */
struct wo_view wo_name_host(struct wo_view path);

/* Whether the name ends as that of a script that people submit: .sbatch, .slurm, .sh. */
bool wo_name_is_script(struct wo_view path);

/* Whether the name ends as that of a tar archive, plain or compressed in a way that whyoom reads: .tar, .tgz, .tar.xz, ... */
bool wo_name_is_archive(struct wo_view path);

/* Whether input `file` holds jobs as `scontrol show job` prints them, and no other evidence, whatever its name is. A log that
 * quotes such a text is none. */
bool wo_name_is_control(const struct wo_event_store *store, uint32_t file);

/* The sort of input `file`, by its evidence and its name: "sbatch", "config", "scontrol", "sacct", "log", or a
 * trace: "dmon", "pmon", "query-csv", "query-apps", "smi-table", "smi-q", "smi-xml", "dcgmi", "gpustat". */
struct wo_view wo_name_format(const struct wo_event_store *store, uint32_t file, struct wo_view path);

/* The SLURM job id in the name of a log ("slurm-4711.err", "train_4711_3.out", "out-4711.2" give 4711), or an empty view. Dates,
 * and what counts steps, seeds or processes ("2026-11-26", "step_1000", "nccl.gpu01.34567"), are no ids. *ret_array_task is -1
 * without one. */
struct wo_view wo_name_job(struct wo_view path, int64_t *ret_array_task);

/* As wo_name_job, for a file of any sort ("scontrol-4711.txt"). */
struct wo_view wo_name_id(struct wo_view path, int64_t *ret_array_task);

/* The log of one process as submitit names it: "4711_0_log.out", or "4711_3_0_log.err" of an array. */
struct wo_name_submitit {
  struct wo_view id;
  int64_t task; /* of the array, or -1 */
  int32_t rank;
};

/* Parses such a name; false, with *ret undefined, for any other. */
bool wo_name_submitit(struct wo_view path, struct wo_name_submitit *ret);

/* Whether a byte stands between the words of a name: "_", "-", ".". */
bool wo_name_is_separator(char c);

/* Whether a word of the name says that the file holds the output of a program: out, err, log, stdout, stderr. */
bool wo_name_is_stream(struct wo_view path);

/* The next word of a name, cut from *rest with the "." "_" or "-" after it. Words can be empty; after the last one *rest is
 * empty. */
struct wo_view wo_name_word(struct wo_view *rest);

/* A path around the number at the end of its name: "run/out-4711.2.txt" is "run/out-4711." 2 ".txt". */
struct wo_name_number {
  struct wo_view head;
  struct wo_view tail;
  uint64_t number; /* less than WO_LIMIT_INPUT_FILES */
};

/* Splits a path at its last number that is a word of its own, with only endings after it. False when there is none, and when the
 * text before it shows that it is no rank: "epoch_0.log", "slurm-4711_0.out" (an array's task). */
bool wo_name_number(struct wo_view path, struct wo_name_number *ret);

/* Whether the text is one of an array of words, in any case of letters. */
#define WO_NAME_IS_ANY(text, words) WO_VIEW_ANY((text), wo_view_is_nocase, (words))

/* The last part of a path. */
struct wo_view wo_name_base(struct wo_view path);

/* Calls fn for each host of a list as SLURM writes them ("gpu[03-06,9],login1"), until it returns false. Names longer than 200
 * bytes are left out. The name is valid during the call only. */
void wo_name_each_host(struct wo_view list, bool (*fn)(void *context, struct wo_view host), void *context);

#endif
