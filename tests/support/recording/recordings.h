/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings in tests: reading them out of memory, piece by piece, and comparing them. */
#ifndef WO_TEST_RECORDINGS_H
#define WO_TEST_RECORDINGS_H

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/open/trace_open.h"

/* Bytes that come in pieces of at most `piece` bytes. After `fail_at` bytes the feed fails (SIZE_MAX: never). */
struct wo_test_bytes {
  const char *bytes;
  size_t len, at, piece, fail_at;
};

/* The feed of such bytes. */
struct wo_trace_feed wo_test_feed(struct wo_test_bytes *bytes);

/* wo_trace_read over bytes in memory, named "trace". *ret_recording is NULL on failure. */
enum wo_status wo_test_read(const char *bytes, size_t len, size_t piece, struct wo_recording **ret_recording, struct wo_err *err);

/* The first thing in which two recordings differ ("entry 7 of trace 0"), or NULL. Notes are compared by their number only. */
const char *wo_test_difference(const struct wo_recording *a, const struct wo_recording *b);

/* Whether a note holds the text. */
bool wo_test_has_note(const struct wo_recording *recording, const char *text);

#endif
