/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for signs in the evidence of a job. Private to this folder and its tests. */
#ifndef WO_SIGNS_H
#define WO_SIGNS_H

#include "analyzer/story/job.h"

/* Tracebacks that are looked at: that of the failure first. Names of scripts; patterns and settings that were seen. */
enum { WO_SIGNS_TRACEBACKS = 4, WO_SIGNS_NAMES = 48, WO_SIGNS_PATTERNS = 256, WO_SIGNS_KNOBS = 128, WO_SIGNS_PROGRESS = 8 };

/* A text of the evidence, and the event that has it. */
struct wo_sign_text {
  struct wo_view text;
  wo_event_id event;
};

/* Size of the table of a traceback's pairs of bytes (parsers/base/pairs.h). */
enum { WO_SIGNS_PAIRS = 4096 };

/* What the signs are looked for in. Slashes of paths are '/'. */
struct wo_signs_seen {
  const struct wo_job *job;
  struct wo_sign_text frames[WO_SIGNS_TRACEBACKS];
  bool *has_pair[WO_SIGNS_TRACEBACKS]; /* of the frames: WO_SIGNS_PAIRS each */
  size_t frames_count;
  struct wo_sign_text files[2 * WO_SIGNS_TRACEBACKS];
  size_t file_count;
  struct wo_sign_text names[WO_SIGNS_NAMES];
  size_t name_count;
  struct wo_sign_text patterns[WO_SIGNS_PATTERNS];
  size_t pattern_count;
  struct wo_sign_text knobs[WO_SIGNS_KNOBS];
  size_t knob_count;
  struct wo_sign_text progress[WO_SIGNS_PROGRESS];
  size_t progress_count;
  wo_event_id kinds[WO_KIND_COUNT_]; /* the first event of each */
};

/* Gathers it. The result lives in `arena`, its texts also in the job; NULL when memory is out. */
const struct wo_signs_seen *wo_signs_collect(const struct wo_job *job, struct wo_arena *arena);

/* The event that shows the sign, or WO_EVENT_NONE. */
wo_event_id wo_signs_find(const struct wo_signs_seen *seen, const struct wo_sign *sign);

#endif
