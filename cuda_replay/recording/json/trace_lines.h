/* whyoom's own form of recordings: JSON lines, to be written by other tools and by hand, and exact for every recording.
 *
 * docs/trace-lines.md is the contract with users. A header line, then frames and stacks (numbered, each defined once), entries,
 * segments with their blocks, annotations and notes, one object on each line. Reading what was written gives an equal recording;
 * writing what was read gives the same bytes, where they were written by wo_trace_lines_write. Both stream. */
#ifndef WO_TRACE_LINES_H
#define WO_TRACE_LINES_H

#include "cuda_replay/recording/trace_reader.h"

/* The version of the form that is written, and the newest that is read. */
enum { WO_TRACE_LINES_VERSION = 1 };

/* The reader. It fails at the first line that is wrong, as a replay without it would prove nothing: WO_E_SYNTAX, WO_E_TYPE,
 * WO_E_RANGE or WO_E_UNKNOWN with the line and what was expected. A file that ends inside of a line gives the lines before it. Keys
 * that are not known are passed over, with one note. */
wo_trace_sniff wo_trace_lines_sniff;
wo_trace_reading wo_trace_lines_read;

/* Where the writer's bytes go. */
struct wo_trace_sink {
  void *context;
  /* Takes all of `bytes`; any status but WO_OK ends the writing and is handed on, with *err as the function filled it. */
  enum wo_status (*put)(void *context, struct wo_view bytes, struct wo_err *err);
};

/* Writes a valid recording (wo_recording_is_valid). Texts go out byte by byte, also where they are no UTF-8. WO_E_NOMEM, or what
 * the sink returned. Not written: streams, pools and texts that nothing refers to keep their place, blocks that belong to no
 * segment are left out. */
enum wo_status wo_trace_lines_write(const struct wo_recording *recording, const struct wo_trace_sink *sink, struct wo_err *err);

#endif
