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

#endif
