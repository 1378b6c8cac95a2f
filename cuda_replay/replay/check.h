/* SPDX-License-Identifier: Apache-2.0 */
/* Check of a recording: whether the model, run at the recorded settings with the recorded segment addresses, reproduces it.
 *
 * It compares every address of an allocation, every segment event (kind, address, size, order), every refused request, and every
 * block of every segment at the end. A single difference proves that the start, the settings, the version of torch or the model
 * is wrong; the first difference is reported. */
#ifndef WO_CHECK_H
#define WO_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/settings.h"
#include "cuda_replay/recording/trace.h"

/* The most versions with different rules. */
enum { WO_CHECK_VERSIONS_MAX = 16, WO_CHECK_TEXT_BYTES = 160, WO_CHECK_WHY_BYTES = 480 };

enum wo_check_verdict {
  WO_CHECK_EQUAL,    /* everything agrees */
  WO_CHECK_DIVERGED, /* a difference: expected, got, why */
  WO_CHECK_REFUSED   /* cannot be checked: why */
};

struct wo_start;

/* Zero is a good default. */
struct wo_replay_check_options {
  const struct wo_alloc_settings *settings; /* NULL: as recorded */
  uint16_t torch;                           /* 0: as recorded; if that is open, every version whose rules differ */
  const struct wo_start *start;             /* borrowed: the trace's, rebuilt with these settings; NULL: it is rebuilt */
};

struct wo_replay_check {
  enum wo_check_verdict verdict;
  uint64_t entries_compared; /* up to the divergence, or all */
  uint64_t allocations;      /* in the trace */
  uint64_t addresses_equal;
  uint64_t segment_events; /* in the trace */
  uint64_t segment_events_equal;
  uint64_t refusals; /* `oom` entries in the trace */
  uint64_t refusals_equal;
  bool final_layout_equal;
  size_t diverged_at; /* the entry; the number of entries if only the final layout differs */
  char expected[WO_CHECK_TEXT_BYTES];
  char got[WO_CHECK_TEXT_BYTES];
  char why[WO_CHECK_WHY_BYTES];
  uint16_t torch;                                 /* of the run that is reported here */
  uint16_t versions_tried[WO_CHECK_VERSIONS_MAX]; /* by rising version; each also represents the versions up to the next */
  bool versions_agree[WO_CHECK_VERSIONS_MAX];
  size_t version_count;
  /* The start: its blocks, and how it was found. */
  uint64_t peak_reserved_bytes, peak_allocated_bytes;
  size_t open_blocks;           /* blocks whose size at the start could not be decided by looking ahead */
  size_t layouts_tried;         /* runs that were needed, of all versions */
  uint64_t garbage_limit_bytes; /* reserved memory beyond which garbage was collected, as its releases show; 0: not searched */
  size_t hidden_pools;          /* segments that were released, and that only a private pool which nothing names explains */
  /* Left out of the comparison, or compared with itself. */
  size_t entries_skipped;    /* at the beginning: the rest of a call that began before the recording */
  size_t blocks;             /* of the snapshot, free ones included */
  size_t blocks_changed;     /* while the snapshot was taken: taken to be by calls that the trace lacks (struct wo_start) */
  size_t blocks_untouched;   /* live since before the recording, or of idle segments, and named by no entry: the start has them
                                from the end */
  size_t blocks_unexplained; /* those of them that are live and whose size is not that of their request: an address or the
                                settings were changed */
};

/* Checks a trace. WO_OK for every verdict; WO_E_NOMEM. */
enum wo_status wo_replay_check_run(const struct wo_recording *recording, const struct wo_trace *trace,
                                   const struct wo_replay_check_options *options, struct wo_replay_check *ret_check,
                                   struct wo_err *err);

#endif
