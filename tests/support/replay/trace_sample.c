/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings out of text, and back. */
#include "tests/support/recording/trace_lines_writer.h"
#include "tests/support/replay/trace_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines.h"

/* ---- Reading ---- */

struct chunks {
  struct wo_view left;
  size_t chunk_bytes;
};

static enum wo_status fill(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct chunks *const chunks = context;
  (void)err;
  size_t len = chunks->left.len < cap ? chunks->left.len : cap;
  if (chunks->chunk_bytes > 0 && len > chunks->chunk_bytes) len = chunks->chunk_bytes;
  if (len > 0) memcpy(buf, chunks->left.ptr, len);
  chunks->left = wo_view_skip(chunks->left, len);
  *ret_len = len;
  return WO_OK;
}

enum wo_status wo_sample_read(wo_trace_read_fn *read, struct wo_view bytes, size_t chunk_bytes,
                              struct wo_recording **ret_recording, struct wo_err *err) {
  struct chunks chunks = {bytes, chunk_bytes};
  struct wo_trace_source source;
  *ret_recording = NULL;
  enum wo_status status = wo_trace_source_init(&source, (struct wo_trace_feed){&chunks, fill}, "sample");
  if (status != WO_OK) return status;
  struct wo_recording *const recording = wo_recording_new();
  status = recording == NULL ? WO_E_NOMEM : read(&source, recording, err);
  *ret_recording = status == WO_OK ? recording : wo_recording_free(recording);
  wo_trace_source_done(&source);
  return status;
}

void wo_sample_expect_refused(wo_trace_read_fn *read, const struct wo_sample_refused *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_sample_read(read, wo_view_of(rows[i].text), i % 3, &recording, &err);
    const bool is_place = rows[i].line == 0 || err.line == rows[i].line;
    if (status != rows[i].status || !is_place || !strstr(err.message, rows[i].message))
      fail_msg("row %zu: %s, line %u: %s", i, wo_status_text(status), (unsigned)err.line, err.message);
    assert_null(recording);
  }
}

/* ---- Writing ---- */

static enum wo_status put(void *context, struct wo_view bytes, struct wo_err *err) {
  struct wo_text *const text = context;
  wo_text_add_view(text, bytes);
  return text->is_failed ? wo_err_set(err, WO_E_NOMEM, "the text is full") : WO_OK;
}

bool wo_sample_write(const struct wo_recording *recording, struct wo_text *out) {
  return wo_trace_lines_write(recording, &(struct wo_trace_sink){out, put}, NULL) == WO_OK;
}
