/* How serious the writer of a log record says that it is. */
#ifndef WO_SEVERITY_H
#define WO_SEVERITY_H

/* In rising order; NONE where the line shows no level. */
enum wo_severity {
  WO_SEVERITY_NONE,
  WO_SEVERITY_DEBUG,
  WO_SEVERITY_INFO,
  WO_SEVERITY_WARNING,
  WO_SEVERITY_ERROR,
  WO_SEVERITY_FATAL
};

#endif
