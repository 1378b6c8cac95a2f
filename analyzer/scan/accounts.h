/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting of many jobs in one file (`sacct` of a user or a day, `scontrol show job`), found by the id of a job.
 *
 * Only places are kept, 40 bytes for each job and file, so that a file of a million rows costs little; the text is read again
 * when a job asks for it. Not for two threads at once. */
#ifndef WO_ACCOUNTS_H
#define WO_ACCOUNTS_H

#include <stdbool.h>

#include "analyzer/scan/read_job.h"
#include "parsers/base/arena.h"
#include "parsers/base/status.h"

struct wo_accounts;

/* WO_E_NOMEM. */
enum wo_status wo_accounts_new(struct wo_accounts **ret_accounts);
struct wo_accounts *wo_accounts_free(struct wo_accounts *accounts);

/* Looks through a file: a table of sacct with its header, or blocks of scontrol; plain text. Any other content says nothing.
 * WO_E_IO with the system's reason; WO_E_LIMIT: more jobs than WO_LIMIT_ACCOUNTS, the first ones are kept; WO_E_NOMEM. */
enum wo_status wo_accounts_add(struct wo_accounts *accounts, const char *path, struct wo_err *err);

/* The same for a part of a file, which is known by `path` and stays open as long as the accounts. */
enum wo_status wo_accounts_add_part(struct wo_accounts *accounts, const char *path, const struct wo_file_part *part,
                                    struct wo_err *err);
/* Whether nothing is known of any job. */
bool wo_accounts_is_empty(const struct wo_accounts *accounts);

/* To be called once, after all files. */
void wo_accounts_sort(struct wo_accounts *accounts);

/* Whether all files that say something are still as they were when they were looked through. */
bool wo_accounts_are_current(const struct wo_accounts *accounts);

/* What one file says of one job: lines as they are there, with the header of their table before them. */
struct wo_account_text {
  const char *path; /* lives as long as the accounts */
  struct wo_view text;
  uint64_t first_line; /* of the job's own lines in the file, less the lines of the header */
};

/* Finds a job's text in each file that has it, in the order of the files, at most `most`, into the arena. `task` is that of an
 * array, or -1. Returns their number. A file that cannot be read any more, or has changed, is left out. */
size_t wo_accounts_find(struct wo_accounts *accounts, struct wo_view job_id, int64_t task, struct wo_arena *arena,
                        struct wo_account_text *texts, size_t most);

#endif
