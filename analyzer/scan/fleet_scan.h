/* SPDX-License-Identifier: Apache-2.0 */
/* Scans an archive: walks over its folders, diagnoses each job whose files changed since the store saw them, on several threads,
 * and puts its row into the store.
 *
 * The rows do not depend on the number of threads nor on the order in which they end. A scan that is stopped, by a signal or a
 * kill, leaves the jobs that were done in the store; the next one goes on from there. */
#ifndef WO_FLEET_SCAN_H
#define WO_FLEET_SCAN_H

#include <signal.h>

#include "analyzer/archive/walk.h"
#include "analyzer/scan/accounts.h"
#include "analyzer/store/store.h"
#include "parsers/base/text.h"
#include "rules/load/rule.h"

/* How far a scan has come. */
struct wo_scan_progress {
  uint64_t jobs_found, jobs_done;
  uint64_t jobs_same;  /* not read again, because nothing changed */
  uint64_t jobs_again; /* diagnosed again from kept evidence, because the rules changed */
  uint64_t files_done, bytes_done;
  int64_t elapsed_ns;
  double share; /* of the folders, from 0 to 1 */
};

/* What the process around a scan gives it; every member may be NULL. */
struct wo_scan_hooks {
  void *context;
  int64_t (*now_ns)(void *context);                     /* monotonic: for waiting, limits and progress */
  int64_t (*clock_ns)(void *context);                   /* since 1970: when a scan began */
  struct wo_view (*owner)(void *context, uint32_t uid); /* the name of a user; empty if there is none; stays valid */
  void (*on_progress)(void *context, const struct wo_scan_progress *progress); /* some times a second */
  bool (*enter_thread)(void *context); /* called on each thread before it reads anything; false: it must not */
  const volatile sig_atomic_t *is_cancelled;
  const char *temp_folder; /* where compressed archives are expanded; NULL: /var/tmp or /tmp */
};

/* For scans that come again and again over an archive that grows (analyzer/live): who decides which jobs are read, and which rows
 * are kept. */
struct wo_scan_live {
  void *context;
  struct wo_accounts *accounts;                                     /* of the whole archive: none is looked for */
  bool is_part;                                                     /* of a scan that the store has noted already */
  bool (*on_folder)(void *context, const char *path, bool is_root); /* whether to walk it (walk.h); may be NULL */
  /* Whether a job is to be read now; `is_same`: the store has it as it is, and it is not read in any case. */
  bool (*on_found)(void *context, const struct wo_walk_job *job, bool is_same);
  /* Whether a row is put into the store. `has_ended`: the job says so (wo_story_has_ended). Then, once it is there. */
  bool (*on_row)(void *context, const struct wo_row *row, bool has_ended);
  void (*on_stored)(void *context, const struct wo_row *row);
};

struct wo_scan_settings {
  const char *const *roots;
  size_t root_count;
  struct wo_walk_options walk;
  size_t threads;
  size_t time_limit_s; /* for one job; 0 = none */
  bool no_prefilter;
  bool keeps_evidence;             /* packs it into the store */
  struct wo_view rules;            /* version of the rules */
  const struct wo_scan_live *live; /* NULL: a scan of its own */
};

/* The account of a scan that has ended. */
struct wo_scan_account {
  struct wo_scan_progress progress;
  struct wo_walk_counts walk;
  uint64_t problems; /* files and folders that could not be read */
  bool was_cancelled;
};

/* Scans. The pack must not be one for a single job (enum wo_load_depth). Messages go to `errors`, one line each, the first ones
 * in full and the rest counted. WO_E_IO: the store could not be written; WO_E_LIMIT: no thread could be started; WO_E_NOMEM. What
 * was done before is in the store in each case. */
enum wo_status wo_fleet_scan(const struct wo_pack *pack, struct wo_store *store, const struct wo_scan_settings *settings,
                             const struct wo_scan_hooks *hooks, struct wo_text *errors, struct wo_scan_account *ret_account,
                             struct wo_err *err);

#endif
