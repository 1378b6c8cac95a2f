/* SPDX-License-Identifier: Apache-2.0 */
/* How serious the writer of a log record says that it is. */
#ifndef WO_SEVERITY_H
#define WO_SEVERITY_H

#include <stdbool.h>

/* In rising order; NONE where the line shows no level. */
enum wo_severity {
  WO_SEVERITY_NONE,
  WO_SEVERITY_DEBUG,
  WO_SEVERITY_INFO,
  WO_SEVERITY_WARNING,
  WO_SEVERITY_ERROR,
  WO_SEVERITY_FATAL
};

/* Whether the writer calls it less than that; false where the line shows no level. */
static inline bool wo_severity_is_below(enum wo_severity severity, enum wo_severity least) {
  return severity != WO_SEVERITY_NONE && severity < least;
}

#endif
