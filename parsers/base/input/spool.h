/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files: bytes that are expanded once and read in any order. They have no name, so that nobody else finds them, and are
 * gone when the process ends, however it does. */
#ifndef WO_SPOOL_H
#define WO_SPOOL_H

#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

struct wo_spool {
  int fd;       /* open for reading and writing; -1: there is none */
  int why;      /* the system's reason for that */
  uint64_t len; /* bytes in it */
};

/* Makes one in the folder; NULL: in /var/tmp or /tmp. Whether that failed shows when bytes are added. */
void wo_spool_open(struct wo_spool *spool, const char *folder);

/* Appends bytes / a part of a file that is open for reading. WO_E_IO with the system's reason; what fitted is in it. WO_E_NOMEM.
 */
enum wo_status wo_spool_add(struct wo_spool *spool, struct wo_view bytes, struct wo_err *err);
enum wo_status wo_spool_copy(struct wo_spool *spool, int fd, uint64_t at, uint64_t len, struct wo_err *err);

/* Closes it, once or more. */
void wo_spool_close(struct wo_spool *spool);

#endif
