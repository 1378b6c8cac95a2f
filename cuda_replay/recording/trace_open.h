/* From a file to a recording: the table of the trace formats, and the one way in. */
#ifndef WO_TRACE_OPEN_H
#define WO_TRACE_OPEN_H

#include <stdbool.h>

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_source.h"

/* Bytes that a reader may look at to recognise a file. */
enum { WO_TRACE_SNIFF_BYTES = 64 * 1024 };

/* One format; a row of trace_formats.def. */
struct wo_trace_reader {
  const char *name;  /* of the row */
  const char *title; /* for people */

  /* Whether a file that begins so is of this format. `front` holds up to WO_TRACE_SNIFF_BYTES, gzip expanded; less only when the
   * file is shorter. Pure. */
  bool (*sniff)(struct wo_view front);

  /* Reads everything into *recording, which is new. WO_OK also for a file that ends early or breaks: then is_truncated is set and
   * a note says where. On any other result (refused, memory out, nothing in it) *err is filled and the caller throws the
   * recording away. err's offset is set where it is known, its file is not. wo_recording_is_valid holds afterwards, whatever the
   * bytes. */
  enum wo_status (*read)(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err);
};

#define WO_TRACE_READER(name, title)                                                                                             \
  bool wo_##name##_sniff(struct wo_view front);                                                                                  \
  enum wo_status wo_##name##_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err);
#include "cuda_replay/recording/trace_formats.def"
#undef WO_TRACE_READER

/* The reader of a file that begins so, or NULL. */
const struct wo_trace_reader *wo_trace_reader_find(struct wo_view front);

/* Reads a source of any format. *ret_recording is the caller's (wo_recording_free). Failures name the file: as reader->read, and
 * WO_E_SYNTAX for a file that is empty or of no known format, with what it looks like and what to do. */
enum wo_status wo_trace_read(struct wo_trace_source *source, struct wo_recording **ret_recording, struct wo_err *err);

/* Opens and reads a file ("-" is standard input); failures as wo_input_open and wo_trace_read. */
enum wo_status wo_trace_open(const char *path, struct wo_recording **ret_recording, struct wo_err *err);

#endif
