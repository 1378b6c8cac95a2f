/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of trace readers share: reading bytes, whole and chopped, and what must hold of what comes out. */
#ifndef WO_FUZZ_TRACE_TARGET_H
#define WO_FUZZ_TRACE_TARGET_H

#include <stdint.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "parsers/base/text.h"
#include "tests/support/recording/trace_lines_writer.h"
#include "tests/fuzz/require.h"
#include "cuda_replay/recording/recording_valid.h"

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct trace_chunks {
  struct wo_view left;
  size_t chunk_bytes;
};

static inline enum wo_status trace_fill(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct trace_chunks *const chunks = context;
  size_t len = chunks->left.len < cap ? chunks->left.len : cap;
  (void)err;
  if (len > chunks->chunk_bytes) len = chunks->chunk_bytes;
  if (len > 0) memcpy(buf, chunks->left.ptr, len);
  chunks->left = wo_view_skip(chunks->left, len);
  *ret_len = len;
  return WO_OK;
}

/* The recording of some bytes, NULL when they are refused, with a message. */
static inline struct wo_recording *trace_read(enum wo_status (*read)(struct wo_trace_source *, struct wo_recording *,
                                                                     struct wo_err *),
                                              struct wo_view bytes, size_t chunk_bytes) {
  struct trace_chunks chunks = {bytes, chunk_bytes};
  struct wo_trace_source source;
  struct wo_err err = {0};
  require(wo_trace_source_init(&source, (struct wo_trace_feed){&chunks, trace_fill}, "fuzz") == WO_OK);
  struct wo_recording *recording = wo_recording_new();
  require(recording != NULL);
  if (read(&source, recording, &err) != WO_OK) {
    require(err.message[0] != '\0' && err.offset <= bytes.len);
    recording = wo_recording_free(recording);
  }
  wo_trace_source_done(&source);
  require(recording == NULL || wo_recording_is_valid(recording));
  return recording;
}

static inline enum wo_status trace_put(void *context, struct wo_view bytes, struct wo_err *err) {
  struct wo_text *const text = context;
  wo_text_add_view(text, bytes);
  return text->is_failed ? wo_err_set(err, WO_E_LIMIT, "the text is full") : WO_OK;
}

/* The line form of a recording; false when it is longer than a text may be. */
static inline bool trace_write(const struct wo_recording *recording, struct wo_text *out) {
  return wo_trace_lines_write(recording, &(struct wo_trace_sink){out, trace_put}, NULL) == WO_OK;
}

/* Reads bytes twice, whole and chopped, and requires the same; then writes the line form, reads that and writes it again: the
 * same bytes. */
static inline void trace_check(enum wo_status (*read)(struct wo_trace_source *, struct wo_recording *, struct wo_err *),
                               struct wo_view bytes) {
  struct wo_recording *whole = trace_read(read, bytes, SIZE_MAX), *chopped = trace_read(read, bytes, 1 + bytes.len % 7);
  struct wo_text first = {0}, second = {0}, third = {0};
  require((whole == NULL) == (chopped == NULL));
  if (whole != NULL && trace_write(whole, &first) && trace_write(chopped, &second)) {
    require(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
    struct wo_recording *const again = trace_read(wo_trace_lines_read, (struct wo_view){first.ptr, first.len}, SIZE_MAX);
    require(again != NULL && trace_write(again, &third));
    require(first.len == third.len && memcmp(first.ptr, third.ptr, first.len) == 0);
    wo_recording_free(again);
  }
  wo_text_done(&first);
  wo_text_done(&second);
  wo_text_done(&third);
  wo_recording_free(whole);
  wo_recording_free(chopped);
}

#endif
