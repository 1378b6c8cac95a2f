/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded snapshots beside the tree (../shared/corpus/snapshots): tests that use them are skipped where they are missing. */
#ifndef WO_TEST_SHARED_TRACES_H
#define WO_TEST_SHARED_TRACES_H

#include <stdbool.h>

#include "cuda_replay/pattern/alloc_pattern.h"

struct wo_shared_trace {
  struct wo_recording *recording;
  const struct wo_trace *trace; /* the one with most entries */
  struct wo_alloc_pattern pattern;
};

/* Reads a snapshot of that name and makes its pattern. False, with a message on stderr, when the file is not there; ends the test
 * program when it cannot be read. */
bool wo_shared_trace_open(const char *name, struct wo_shared_trace *ret_trace);
void wo_shared_trace_done(struct wo_shared_trace *trace);

#endif
