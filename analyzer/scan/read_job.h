/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of one job: opens each, and the files of an archive one after the other, and says what could not be read. */
#ifndef WO_READ_JOB_H
#define WO_READ_JOB_H

#include <signal.h>
#include <stdbool.h>

#include "analyzer/story/job.h"
#include "parsers/base/text.h"

/* Reads a path into the job; "-" is standard input. False when something of it could not be read: a line in `errors` says so,
 * and the job notes it. Reading ends when *is_up is set; NULL: it is never up. */
bool wo_read_path(struct wo_job *job, const char *path, const volatile sig_atomic_t *is_up, struct wo_text *errors);

/* As wo_read_path, for a log in memory. */
bool wo_read_text(struct wo_job *job, struct wo_view text, const char *name, const volatile sig_atomic_t *is_up,
                  struct wo_text *errors);

/* A part of a file that is open for reading. */
struct wo_file_part {
  int fd;
  uint64_t at, len;
};

/* As wo_read_path, for a file that is a part of another one; `path` is its name. */
bool wo_read_part(struct wo_job *job, const char *path, const struct wo_file_part *part, const volatile sig_atomic_t *is_up,
                  struct wo_text *errors);

#endif
