/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a trace as the readers see them: a window that slides over a stream, with a look ahead and a place in the stream.
 *
 * Memory is one buffer of WO_LIMIT_READ_BYTES for streams of any length. A stream that breaks (a damaged gzip member, a disk that
 * fails) looks like one that ends there: readers keep what they have read, and wo_trace_read adds the note. One source must not
 * be used by two threads at once. */
#ifndef WO_TRACE_SOURCE_H
#define WO_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/input/input.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* The origin of a source's bytes: `fill` puts up to cap (> 0) bytes into buf; *ret_len 0 means the end. It is not called again
 * after a failure or the end. */
struct wo_trace_feed {
  void *context;
  enum wo_status (*fill)(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err);
};

/* A source. Readers may read [at, end) directly if that is faster, and move `at` forward; they change nothing else. */
struct wo_trace_source {
  const char *at;
  const char *end;
  char *buffer;
  uint64_t end_offset; /* of `end` in the stream: bytes taken from the feed so far */
  struct wo_trace_feed feed;
  const char *name;       /* for messages */
  bool is_at_end;         /* the feed has nothing more */
  enum wo_status failure; /* the failure that ended the feed; else WO_OK */
  struct wo_err failure_err;
};

/* A source over any feed. `name` is borrowed. Released with wo_trace_source_done. WO_E_NOMEM. */
enum wo_status wo_trace_source_init(struct wo_trace_source *source, struct wo_trace_feed feed, const char *name);

/* The feed of an open input (plain or gzip), which stays the caller's. */
struct wo_trace_feed wo_trace_feed_input(struct wo_input *input);

/* Releases the buffer. A source of {0} is allowed. */
void wo_trace_source_done(struct wo_trace_source *source);

/* The bytes at the front: at least `want` of them (at most WO_LIMIT_READ_BYTES), fewer only if the stream ends; more if they are
 * in the window. Empty at the end. The view is valid until the next call. */
struct wo_view wo_trace_source_peek(struct wo_trace_source *source, size_t want);

/* Moves past `count` bytes, which need not be in the window. False if the stream ends before that: then all bytes are taken. */
bool wo_trace_source_skip(struct wo_trace_source *source, uint64_t count);

/* The offset of `at` in the stream (after expansion). */
uint64_t wo_trace_source_offset(const struct wo_trace_source *source);

#endif
