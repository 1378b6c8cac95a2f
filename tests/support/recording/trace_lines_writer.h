/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of the line form of recordings, for tests and benchmarks: what it writes, the reader takes for an equal recording. */
#ifndef WO_TESTS_TRACE_LINES_WRITER_H
#define WO_TESTS_TRACE_LINES_WRITER_H

#include "cuda_replay/recording/json/trace_lines.h"

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
