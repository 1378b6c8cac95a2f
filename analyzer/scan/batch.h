/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on their way through the threads: their files in, their rows out. */
#ifndef WO_BATCH_H
#define WO_BATCH_H

#include <signal.h>

#include "analyzer/archive/tar.h"
#include "analyzer/archive/walk.h"
#include "analyzer/scan/accounts.h"
#include "analyzer/scan/pool.h"
#include "analyzer/store/store.h"
#include "parsers/base/arena.h"
#include "parsers/base/text.h"
#include "rules/load/rule.h"

/* An archive that a thread reads, before its jobs are known. */
struct wo_batch_reading {
  struct wo_tar *tar;
  const struct wo_walk_options *walk;
  struct wo_spool spool;         /* as of wo_tar_read, which takes it */
  volatile sig_atomic_t is_over; /* set by the owner of the threads: the reading is to end */
  _Atomic int64_t began_ns;      /* 0: it has not begun, or there is no time limit */
};

/* One job. */
struct wo_batch_job {
  const char **paths; /* of its files, logs first */
  struct wo_store_file *files;
  size_t path_count, file_count, log_count; /* files: those of the paths, then those of the accounts */
  struct wo_view name, owner;
  struct wo_account_text *accounts; /* what files of many jobs say of it */
  size_t account_count;
  struct wo_store_kept grown;                 /* what the store has of files that may have grown */
  const struct wo_tar *tar;                   /* that the files of the paths are in; NULL: none */
  const struct wo_tar_member *const *members; /* the same files in it */
  void *archive;                              /* the owner's, for `tar` */
  struct wo_view kept;                        /* evidence of its files, which are not read again then; or empty */
  /* Filled by the thread. */
  bool is_done; /* else memory ran out, or the evidence is damaged */
  struct wo_row row;
  bool has_ended;          /* the job says so */
  struct wo_view evidence; /* packed; empty if none is to be kept */
};

/* Jobs that one thread diagnoses one after the other. Everything lives in the arena. */
struct wo_batch {
  struct wo_pool_item item;     /* first */
  struct wo_arena arena, grown; /* grown: of what the store has; it may be full */
  struct wo_batch_job jobs[WO_LIMIT_BATCH_JOBS];
  size_t job_count;
  struct wo_batch_reading *reading; /* NULL, or the batch has no jobs but this */
  int64_t size_bytes;
  struct wo_text messages; /* of files that could not be read, one a line */
  size_t message_count;
};

struct wo_batch *wo_batch_new(void);
struct wo_batch *wo_batch_free(struct wo_batch *batch);

/* A file, and what a file of accounting says of a job, as files of the job for the store. Their paths stay where they are. */
struct wo_store_file wo_batch_file(const struct wo_walk_file *file);
struct wo_store_file wo_batch_account_file(const struct wo_account_text *text);

/* Adds a job with what `accounts` has of it. Each such text is a file of the job for the store, known by a hash of it, so that a
 * job is diagnosed again when its own accounting changes, and not when that of others does. WO_E_NOMEM. */
enum wo_status wo_batch_add(struct wo_batch *batch, const struct wo_walk_job *job, struct wo_view owner,
                            struct wo_accounts *accounts);

/* Whether it should go to a thread now. */
bool wo_batch_is_full(const struct wo_batch *batch);

/* How long a thread has been at its job, and the flag that ends it. */
struct wo_batch_watch {
  _Atomic int64_t began_ns;         /* 0: it is at none */
  volatile sig_atomic_t is_time_up; /* set by the owner of the threads */
};

/* Shared by the threads; read only, but for the watches. */
struct wo_diagnoser {
  const struct wo_pack *pack;
  bool no_prefilter;
  bool keeps_evidence;
  struct wo_view rules; /* their version */
  bool (*enter_thread)(void *context);
  void *context;
  int64_t (*now_ns)(void *context); /* NULL: no time limit */
  struct wo_batch_watch *watches;   /* one for each thread */
  _Atomic size_t watch_count;       /* that are taken */
};

/* Ends jobs that take longer: what was read of them counts. To be called some times a second. */
void wo_batch_heed_limit(struct wo_diagnoser *diagnoser, int64_t now_ns, int64_t limit_ns);

/* The work of a pool whose context is a struct wo_diagnoser and whose items are batches. */
extern const struct wo_pool_work wo_batch_work;

#endif
