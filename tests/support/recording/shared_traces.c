/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the folder from the tree's own place, never from the working directory. */
#include "tests/support/recording/shared_traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_replay/recording/open/trace_open.h"

bool wo_shared_trace_open(const char *name, struct wo_shared_trace *ret_trace) {
  char path[1024];
  struct wo_err err = {0};
  snprintf(path, sizeof path, "%s/../shared/corpus/snapshots/%s", WO_SOURCE_DIR, name);
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "skipped: %s is not there\n", path);
    return false;
  }
  struct wo_shared_trace opened = {0};
  enum wo_status status = wo_trace_open(path, &opened.recording, &err);
  if (status == WO_OK) {
    opened.trace = &opened.recording->traces.items[0];
    for (size_t i = 1; i < opened.recording->traces.count; i++) {
      const struct wo_trace *other = &opened.recording->traces.items[i];
      if (other->entries.count > opened.trace->entries.count) opened.trace = other;
    }
    status = wo_alloc_pattern_make(opened.recording, opened.trace, &opened.pattern, &err);
  }
  if (status != WO_OK) {
    fprintf(stderr, "%s: %s\n", path, err.message);
    abort();
  }
  *ret_trace = opened;
  return true;
}

void wo_shared_trace_done(struct wo_shared_trace *trace) {
  wo_alloc_pattern_done(&trace->pattern);
  trace->recording = wo_recording_free(trace->recording);
}
