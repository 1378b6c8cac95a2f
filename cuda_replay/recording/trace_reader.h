/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of a reader of recordings: the functions of a file format. The table of the readers is
 * recording/open/trace_formats.def. */
#ifndef WO_TRACE_READER_H
#define WO_TRACE_READER_H

#include <stdbool.h>

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_source.h"

/* The bytes that a reader gets to recognise a file. */
enum { WO_TRACE_SNIFF_BYTES = 64 * 1024 };

/* Whether a file with this beginning has this format. `front` holds up to WO_TRACE_SNIFF_BYTES, gzip expanded; less only if the
 * file is shorter. Pure. */
typedef bool wo_trace_sniff(struct wo_view front);

/* Reads everything into *recording, which is new. WO_OK also for a file that ends early or breaks: then is_truncated is set and a
 * note says where. On any other result (refused, memory out, nothing in it) *err is filled and the caller throws the recording
 * away. err's offset is set if it is known; its file is not set. The guarantees of trace.h hold afterwards for any bytes. */
typedef enum wo_status wo_trace_reading(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err);

/* One format. */
struct wo_trace_reader {
  const char *name;  /* "chrome_trace" */
  const char *title; /* for people */
  wo_trace_sniff *sniff;
  wo_trace_reading *read;
};

#endif
