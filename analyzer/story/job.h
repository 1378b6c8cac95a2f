/* SPDX-License-Identifier: Apache-2.0 */
/* A job: its inputs, the evidence read from them, and the story of the job: the first failure, its consequences, the end.
 *
 * Reading: wo_job_new, wo_job_expect, wo_job_read... for each input, wo_job_close. After closing a job is read-only. One job per
 * thread. */
#ifndef WO_JOB_H
#define WO_JOB_H

#include "parsers/base/exchange/curve.h"
#include "parsers/base/input/input.h"
#include "parsers/event/event.h"
#include "parsers/event/event_anonymous.h"
#include "parsers/scan/scan.h"
#include "rules/load/rule.h"

/* How a job ended. Names are the OUTCOME values of the JSON report. WO_OUTCOME(enumerator, name, text for people) */
#define WO_OUTCOME_MAP(X)                                                                                                        \
  X(WO_OUTCOME_UNKNOWN, "unknown", "the log does not show how it ended")                                                         \
  X(WO_OUTCOME_SUCCESS, "success", "no failure found")                                                                           \
  X(WO_OUTCOME_GPU_OOM, "gpu_oom", "out of GPU memory")                                                                          \
  X(WO_OUTCOME_HOST_OOM, "host_oom", "out of host memory")                                                                       \
  X(WO_OUTCOME_TIME_LIMIT, "time_limit", "stopped at its time limit")                                                            \
  X(WO_OUTCOME_CANCELLED, "cancelled", "cancelled")                                                                              \
  X(WO_OUTCOME_PREEMPTED, "preempted", "preempted")                                                                              \
  X(WO_OUTCOME_NODE_FAIL, "node_fail", "a node failed")                                                                          \
  X(WO_OUTCOME_PROGRAM_ERROR, "program_error", "the program failed")                                                             \
  X(WO_OUTCOME_NCCL, "nccl", "a collective operation failed or timed out")                                                       \
  X(WO_OUTCOME_SEGFAULT, "segfault", "invalid memory access")                                                                    \
  X(WO_OUTCOME_DISK, "disk", "disk full or over quota")                                                                          \
  X(WO_OUTCOME_HARDWARE, "hardware", "a hardware fault")                                                                         \
  X(WO_OUTCOME_OTHER, "other", "another failure")

enum wo_outcome {
#define WO_OUTCOME_ENUM(code, name, text) code,
  WO_OUTCOME_MAP(WO_OUTCOME_ENUM)
#undef WO_OUTCOME_ENUM
      WO_OUTCOME_COUNT_
};

/* The name of an outcome in the JSON report ("nccl"), and the words for it. Static. */
const char *wo_outcome_name(enum wo_outcome outcome);
const char *wo_outcome_text(enum wo_outcome outcome);

/* One input of the job. */
struct wo_job_input {
  struct wo_view path;   /* as given, with what cannot be shown replaced; "<stdin>" for a pipe. What reports show */
  struct wo_view file;   /* the same before names were replaced in it (wo_job.pseudonyms): what can be opened */
  struct wo_view format; /* log, sbatch, config, scontrol, dmon, ...: the names of the JSON report */
  uint64_t bytes;
  uint64_t lines;
  bool is_compressed;
  bool is_path_exact; /* it names a file (of no archive), and nothing was replaced or cut: commands and patches may use it */
  bool is_unreadable; /* it could not be read, or not to its end; the note says why */
  bool is_blank;      /* it holds nothing but white space, if anything; of a reading, not of evidence that was kept */
  bool is_recording;  /* allocations as PyTorch records them (snapshot, profiler): no log; `whyoom replay` reads it */
  struct wo_view notes[8];
  size_t note_count;
};

/* The part that an event plays in the story (analyzer/story/story.c). */
enum wo_role {
  WO_ROLE_NONE,
  WO_ROLE_FAILURE,
  WO_ROLE_CONSEQUENCE,
  WO_ROLE_RECOVERED,
  WO_ROLE_REPEAT,
  WO_ROLE_EARLIER, /* in an earlier run of the program in the same file */
  WO_ROLE_SURVIVED /* an error other than of memory that the program caught */
};

/* One start of the program in a file that holds several (appended logs, requeued jobs, restarts by a launcher). */
struct wo_run {
  uint32_t file;
  uint64_t first_line;
  uint64_t last_line;
  struct wo_view job_id; /* empty when unknown */
  enum wo_outcome outcome;
  wo_event_id failure; /* first of the run, or WO_EVENT_NONE */
  int64_t step_first;  /* progress first and last seen in the run, or -1 */
  int64_t step_last;
  bool is_current; /* the run of its file that is diagnosed */
  /* A launcher that restarts all workers writes a folder of logs for each attempt. Such a run spans the files of its folder;
   * `file` is the one that holds its failure, or else the first. */
  struct wo_view launch_folder; /* common to the attempts */
  uint32_t attempt;             /* from 1; 0 for a run that is part of one file */
};

/* A file with evidence: the range of its events in the store. */
struct wo_file_events {
  struct wo_view path;
  size_t first;
  size_t end;
};

struct wo_timeline; /* analyzer/story/timeline.h */

struct wo_story {
  enum wo_outcome outcome;
  wo_event_id failure; /* the first failure that was not survived, or WO_EVENT_NONE */
  wo_event_id outcome_evidence[4];
  size_t outcome_evidence_count;
  bool
      is_good_end_shown; /* a line or the accounting says that the job ended well; else a success is only the lack of a failure */
  enum wo_role *roles;   /* one per event */
  struct wo_run *runs;   /* by file, then in the order of lines; none for files that hold a single run */
  size_t run_count;
  size_t run_room;          /* runs that can be told apart: WO_LIMIT_RUNS, or fewer where there is not so much evidence */
  int32_t *run_of;          /* one per event: index into runs, or -1 */
  bool is_rank_inferred;    /* no line names the rank of the failure; srun's lines about tasks leave only this one */
  bool is_order_uncertain;  /* `rival` may have come before the failure */
  wo_event_id rival;        /* or WO_EVENT_NONE */
  int64_t rival_gap_ns;     /* between both, or -1 when their times cannot be compared */
  wo_event_id traceback;    /* traceback of the failure, or WO_EVENT_NONE */
  int64_t step;             /* progress last seen before the failure, or -1 */
  int64_t step_total;       /* or -1 */
  struct wo_view step_unit; /* step, it, epoch, episode */
  struct wo_view phase;     /* empty when unknown */
  const struct wo_timeline *timeline; /* of all events */
  const struct wo_file_events *files; /* by name */
  size_t file_count;
  struct wo_view job_id; /* empty when unknown */
  int64_t array_task;    /* or -1 */
  struct wo_view nodes[64];
  size_t node_count;
  int32_t rank_count; /* ranks seen or configured, or -1 */
};

struct wo_job;

/* Takes part in the reading of an input (analyzer/pack/bookmark.h). */
struct wo_job_reader {
  /* Called with the scanner made ready, before the first byte. True: it has brought the scanner, the evidence and the input to a
   * later place. False: the input is as it was; the scanner is made ready again. */
  bool (*begin)(struct wo_job_reader *reader, struct wo_job *job, struct wo_scan *scan, struct wo_input *input);
  /* Called behind each part of a text that the scanner took. */
  void (*after_part)(struct wo_job_reader *reader, struct wo_job *job, struct wo_scan *scan, struct wo_input *input);
};

struct wo_job {
  struct wo_arena arena;
  struct wo_event_store events;
  struct wo_job_input *inputs;
  size_t input_count;
  size_t input_capacity;
  size_t unopened_count;              /* inputs that could not be opened; the first WO_LIMIT_UNOPENED_FILES are in the list */
  size_t left_out_count;              /* inputs that are not in the list: they could not be read, or are beyond the limit */
  struct wo_job_workspace *workspace; /* read in it; not looked at after wo_job_close */
  bool owns_workspace;
  const struct wo_pack *pack;
  struct wo_overheard overheard;    /* names of all lines that were read since `pseudonyms` was set */
  struct wo_pseudonyms *pseudonyms; /* with which wo_job_close replaces names in inputs and evidence; NULL: they stay. Borrowed */
  struct wo_arena anonymous;        /* texts in which they were replaced */
  const char *const *paths;         /* of all inputs, read or not: see wo_job_expect */
  size_t path_count;
  bool is_named; /* somebody named its files, so that logs of it may lie elsewhere: standard output alone shows no good end */
  bool no_prefilter;
  size_t part_bytes; /* taken from an input at a time, at most WO_LIMIT_READ_BYTES; 0: that many (others are for tests) */
  struct wo_job_reader *reader; /* of the inputs that are read from now on; NULL: none. Borrowed */
  struct wo_curve_set curves;   /* figures of memory along the inputs, for pictures; see wo_job_keep_curves */
  struct wo_story story;        /* filled by wo_job_close */
};

/* What reading takes and jobs can share one after the other: the patterns made ready, the scanner, the buffer for bytes. A thread
 * that reads many jobs makes one workspace, and its jobs in that; any number of them work over one pack. Not for two threads, and
 * not for two jobs that are read at the same time. */
struct wo_job_workspace;

/* The pack must outlive it. WO_E_NOMEM. / NULL allowed; its jobs must be closed by then, and may be freed later. */
enum wo_status wo_job_workspace_new(const struct wo_pack *pack, struct wo_job_workspace **ret_workspace);
void wo_job_workspace_free(struct wo_job_workspace *workspace);

/* Makes an empty job over the workspace's pack. WO_E_NOMEM. */
enum wo_status wo_job_new_in(struct wo_job_workspace *workspace, struct wo_job **ret_job);

/* The same with a workspace of its own: for a single job. */
enum wo_status wo_job_new(const struct wo_pack *pack, struct wo_job **ret_job);

/* Makes an empty job into which nothing is read: its inputs and evidence, from an earlier reading, are put into it by the caller
 * (analyzer/pack), who then closes it. WO_E_NOMEM. */
enum wo_status wo_job_new_unread(const struct wo_pack *pack, struct wo_job **ret_job);

/* Passes the paths of all inputs before the first is read, because the meaning of a name can depend on the others (wo_name_rank).
 * Without this call each name is read alone. The paths are borrowed until wo_job_close. */
void wo_job_expect(struct wo_job *job, const char *const *paths, size_t count);

/* Keeps the figures of memory along the inputs from now on, thinned out (job->curves). */
void wo_job_keep_curves(struct wo_job *job);

/* Reads one input to its end and adds its evidence. WO_E_KIND: it is not text; the parts that look like text were read. A failure
 * is noted in the input's row (is_unreadable) and returned in *err; the evidence read before it stays. `input` stays the
 * caller's. */
enum wo_status wo_job_read(struct wo_job *job, struct wo_input *input, const char *path, struct wo_err *err);

/* Reads text that is already in memory (tests, examples of rules). */
enum wo_status wo_job_read_text(struct wo_job *job, struct wo_view text, const char *path);

/* The same for a part of a file, which begins at that line of it. */
enum wo_status wo_job_read_part(struct wo_job *job, struct wo_view text, const char *path, uint64_t first_line);

/* Notes an input that could not be opened; beyond the limit of files it is only counted. */
void wo_job_add_unreadable(struct wo_job *job, const char *path, const struct wo_err *err);

/* Replaces names, if the job has pseudonyms, and then fills the story: which failure came first, what followed from it, how the
 * job ended. WO_E_NOMEM. */
enum wo_status wo_job_close(struct wo_job *job);

/* Frees a job; NULL allowed; returns NULL. */
struct wo_job *wo_job_free(struct wo_job *job);

#endif
