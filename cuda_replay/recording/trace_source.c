/* SPDX-License-Identifier: Apache-2.0 */
/* The window over a stream. The bytes that are left move to the front of the buffer before more is read, so that a look ahead is
 * always one piece of memory. */
#include "cuda_replay/recording/trace_source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"

/* A compressed recording ends with its last gzip member; bytes behind it are no part of it (wo_input_tail_offset). */
static enum wo_status fill_from_input(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  const enum wo_status status = wo_input_read(context, buf, cap, ret_len, err);
  if (status == WO_OK && wo_input_tail_offset(context) > 0) *ret_len = 0;
  return status;
}

struct wo_trace_feed wo_trace_feed_input(struct wo_input *input) {
  assert(input != NULL);
  return (struct wo_trace_feed){input, fill_from_input};
}

enum wo_status wo_trace_source_init(struct wo_trace_source *source, struct wo_trace_feed feed, const char *name) {
  assert(feed.fill != NULL && name != NULL);
  *source = (struct wo_trace_source){.feed = feed, .name = name};
  source->buffer = malloc(WO_LIMIT_READ_BYTES);
  if (source->buffer == NULL) return WO_E_NOMEM;
  source->at = source->end = source->buffer;
  return WO_OK;
}

void wo_trace_source_done(struct wo_trace_source *source) {
  free(source->buffer);
  *source = (struct wo_trace_source){0};
}

/* Reads more bytes after those in the window. A failure is kept for later: the reader first uses the bytes before it. */
static void read_more(struct wo_trace_source *source) {
  const size_t left = (size_t)(source->end - source->at);
  assert(left < WO_LIMIT_READ_BYTES && !source->is_at_end);
  /* Pipes give little at a time: bytes that are at the front already must not move again for each piece. */
  if (source->at != source->buffer) memmove(source->buffer, source->at, left);
  size_t len = 0;
  source->failure =
      source->feed.fill(source->feed.context, source->buffer + left, WO_LIMIT_READ_BYTES - left, &len, &source->failure_err);
  if (source->failure != WO_OK) len = 0;
  assert(len <= WO_LIMIT_READ_BYTES - left);
  source->is_at_end = len == 0;
  source->at = source->buffer;
  source->end = source->buffer + left + len;
  source->end_offset += len;
}

struct wo_view wo_trace_source_peek(struct wo_trace_source *source, size_t want) {
  assert(want <= WO_LIMIT_READ_BYTES);
  while ((size_t)(source->end - source->at) < want && !source->is_at_end) read_more(source);
  return (struct wo_view){source->at, (size_t)(source->end - source->at)};
}

bool wo_trace_source_skip(struct wo_trace_source *source, uint64_t count) {
  for (;;) {
    const size_t there = (size_t)(source->end - source->at);
    if (count <= there) {
      source->at += count;
      return true;
    }
    count -= there;
    source->at = source->end;
    if (wo_trace_source_peek(source, 1).len == 0) return false;
  }
}

uint64_t wo_trace_source_offset(const struct wo_trace_source *source) {
  return source->end_offset - (uint64_t)(source->end - source->at);
}
