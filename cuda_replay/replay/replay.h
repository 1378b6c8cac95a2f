/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: runs a pattern through the allocator model on a device.
 *
 * wo_replay_run is the one loop behind everything: the check of a recording, a what-if, a sweep. It fills an outcome; a recorder
 * of memory over time (memory_over_time.h) can observe every step. Pure; a run uses one thread. */
#ifndef WO_REPLAY_H
#define WO_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/start.h"

/* Called after each request with its index and the allocator's present state. NULL for none. */
struct wo_replay_observer {
  void *state;
  void (*on_step)(void *state, size_t request, const struct wo_allocator *allocator);
};

struct wo_replay_options {
  struct wo_alloc_settings settings;
  uint16_t torch;
  const struct wo_device *device;        /* borrowed */
  const struct wo_start *start;          /* NULL: from an empty allocator; the live set is allocated first, in its order */
  struct wo_allocator_observer on_event; /* {0} for none */
  struct wo_replay_observer on_step;     /* {0} for none */
  bool has_probes;                       /* probes are tried, for a run as recorded; they never fail a run */
  bool stops_at_oom;                     /* else a request that fails is skipped, with all requests that refer to it */
  uint64_t garbage_limit_bytes;          /* as in wo_allocator_options */
  const bool *stop;                      /* NULL, or read after each request: true ends the run */
};

struct wo_replay_peak {
  uint64_t reserved_bytes;
  uint64_t allocated_bytes;
  uint64_t requested_bytes;
  uint64_t active_bytes;
  uint32_t allocated_at;    /* request at which the peak of allocated bytes was first reached */
  uint32_t allocated_entry; /* the entry of that request, or WO_NO_ENTRY: before the first entry */
};

struct wo_replay_outcome {
  struct wo_replay_peak peak;
  bool has_oom;
  uint32_t oom_at;    /* request; the first that failed. WO_NO_REQUEST: the instances alive at the start did not fit */
  uint32_t oom_entry; /* the entry of that request, or WO_NO_ENTRY */
  struct wo_allocator_oom oom;
  uint64_t oom_count;
  size_t requests_run;
  uint64_t segment_events;         /* allocs, frees, maps, unmaps */
  struct wo_allocator_stats stats; /* at the end */
};

/* Runs a pattern. WO_OK also if a request met an OOM. Others: the device failed (its message is in *err), the start state does
 * not fit the settings (WO_E_USAGE), memory, the recording's `stop` (WO_E_IO). */
enum wo_status wo_replay_run(const struct wo_alloc_pattern *pattern, const struct wo_replay_options *options,
                             struct wo_replay_outcome *ret_outcome, struct wo_err *err);

#endif
