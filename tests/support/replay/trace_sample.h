/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings out of text by a reader of choice, and into the line form, for the tests of the JSON readers. */
#ifndef WO_TEST_TRACE_SAMPLE_H
#define WO_TEST_TRACE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/text.h"

typedef enum wo_status wo_trace_read_fn(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err);

/* Reads bytes that come `chunk_bytes` at a time (0 = all at once); *ret_recording is NULL unless WO_OK. */
enum wo_status wo_sample_read(wo_trace_read_fn *read, struct wo_view bytes, size_t chunk_bytes,
                              struct wo_recording **ret_recording, struct wo_err *err);

/* Bytes that a reader must refuse: with this status, this line (0: of no matter) and a message that holds these words. */
struct wo_sample_refused {
  const char *text;
  enum wo_status status;
  uint32_t line;
  const char *message;
};

/* Fails the test where a row is not refused so. Rows are read whole, by one byte and by two. */
void wo_sample_expect_refused(wo_trace_read_fn *read, const struct wo_sample_refused *rows, size_t count);

/* The recording in the line form; false when writing failed. *out grows from what it is. */
bool wo_sample_write(const struct wo_recording *recording, struct wo_text *out);

#endif
