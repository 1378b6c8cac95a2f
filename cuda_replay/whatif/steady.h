/* SPDX-License-Identifier: Apache-2.0 */
/* The steady state: an iteration repeated from an empty allocator until what is reserved stops growing.
 *
 * A changed pattern cannot start from the recorded cache: its old segments would stay in place. So the set that is alive at the
 * start is placed first, then the recorded requests run again and again. Between two passes, an allocation that is still alive
 * takes the place of one that was alive at the start, has the same size and died in the pass; an allocation without such a
 * successor is freed and allocated again. What was alive at the start and is freed behind the last allocation is the end of the
 * program, and stays. A pattern from the middle of a run has its first step put before it (first_step.h). A pattern that begins
 * with nothing alive is a whole program, and one that a failure ended is no iteration: both run once. Every what-if runs a
 * pattern in its steady state. One thread at a time. */
#ifndef WO_STEADY_H
#define WO_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/replay.h"
#include "cuda_replay/whatif/first_step.h"
#include "parsers/base/status.h"

enum { WO_STEADY_PASSES_MAX = 8 };

/* The position of the passes in an unrolled pattern: pass p is requests [begins[p], ends[p]); between two passes are the frees
 * and allocations that restore the state of the start. */
struct wo_passes {
  uint32_t begins[WO_STEADY_PASSES_MAX];
  uint32_t ends[WO_STEADY_PASSES_MAX];
  unsigned count;
};

/* A pattern that repeats the given one `passes` times (1 .. WO_STEADY_PASSES_MAX), behind its first step (NULL, or one with a
 * count of 0: none; then instance indices below the given pattern's count keep their meaning for the first pass). WO_E_LIMIT if
 * it would have 2^31 requests, WO_E_NOMEM. */
enum wo_status wo_steady_unroll(const struct wo_alloc_pattern *pattern, const struct wo_first_step *first, unsigned passes,
                                struct wo_alloc_pattern *ret_pattern, struct wo_passes *ret_passes);

struct wo_steady_pass {
  uint64_t reserved_bytes;  /* peaks within the pass */
  uint64_t allocated_bytes; /* in blocks */
  uint64_t requested_bytes;
  uint32_t allocated_at; /* request of the given pattern at which allocated bytes were highest */
};

struct wo_steady {
  struct wo_steady_pass passes[WO_STEADY_PASSES_MAX];
  unsigned count;
  bool is_stable;                   /* the last pass reserved nothing more */
  struct wo_replay_outcome outcome; /* of the whole run */
};

/* The last pass: the state that a long run reaches. */
const struct wo_steady_pass *wo_steady_last(const struct wo_steady *steady);

struct wo_steady_options {
  struct wo_alloc_settings settings;
  uint16_t torch;
  bool is_once; /* the recording ends with a failure; only for wo_steady_pattern_make */
};

/* Runs the pattern on a card without a limit until a pass reserves nothing more, at most WO_STEADY_PASSES_MAX passes. WO_E_LIMIT:
 * too long to be repeated; others of wo_replay_run. */
enum wo_status wo_steady_run(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                             struct wo_steady *ret_steady, struct wo_err *err);

/* How a pattern was repeated. */
struct wo_steady_course {
  unsigned passes;     /* at least 1 */
  bool has_first_step; /* a first step was put before them */
};

/* Repeats a pattern until its reserved bytes settle: a pattern of its own, released with wo_alloc_pattern_done. *ret_course (NULL
 * allowed): how. WO_E_RANGE: too long to be repeated; WO_E_NOMEM; others of wo_replay_run. */
enum wo_status wo_steady_pattern_make(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                                      struct wo_alloc_pattern *ret_pattern, struct wo_steady_course *ret_course,
                                      struct wo_err *err);

#endif
