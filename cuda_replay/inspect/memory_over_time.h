/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time of a replay: over its requests, in bounded memory for any length of run, and the segments at its peak.
 *
 * A recorder observes every step of a run (replay.h) and sums steps up in bins. When all bins are in use, neighbours are joined
 * and the width doubles, so the result depends on the steps alone. wo_memory_over_time_record does everything: one run for the
 * memory over time, a second one up to the moment of the peak for the segment map. */
#ifndef WO_MEMORY_OVER_TIME_H
#define WO_MEMORY_OVER_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/replay/replay.h"
#include "cuda_replay/inspect/segment_map.h"

/* The most bins; once all were used, at least half of them stay in use. The most OOMs whose place is kept. */
enum { WO_MEMORY_BINS_MAX = 2048, WO_MEMORY_OOMS_MAX = 64 };

/* The recorded series. Bytes, as torch.cuda.memory_stats counts them; UNUSED is reserved - allocated. */
enum wo_memory_series {
  WO_MEMORY_RESERVED,
  WO_MEMORY_ALLOCATED,
  WO_MEMORY_ACTIVE,
  WO_MEMORY_REQUESTED,
  WO_MEMORY_UNUSED,
  WO_MEMORY_SERIES_COUNT_
};

/* Requests [first, first + count) summed up: the lowest, highest and last value of each series separately. */
struct wo_memory_bin {
  uint32_t first;
  uint32_t count;
  int64_t first_us; /* time of the first request of which one is known / of the last; WO_NO_TIME */
  int64_t last_us;
  uint64_t low_bytes[WO_MEMORY_SERIES_COUNT_];
  uint64_t high_bytes[WO_MEMORY_SERIES_COUNT_];
  uint64_t last_bytes[WO_MEMORY_SERIES_COUNT_];
  double low_fragmentation; /* (reserved - allocated) / reserved, 0 .. 1; 0 without memory */
  double high_fragmentation;
  double last_fragmentation;
  /* Allocated bytes of each class at one moment, so that they add up: where allocated was highest (the sum is its high_bytes),
   * and at the end. */
  uint64_t top_class_bytes[WO_CLASS_COUNT_];
  uint64_t last_class_bytes[WO_CLASS_COUNT_];
  uint64_t oom_count; /* requests that failed */
};

/* A value and the place where it was first reached. */
struct wo_memory_place {
  uint64_t bytes;
  uint32_t request; /* WO_NO_REQUEST: before the first one; with bytes 0: never above 0 */
  uint32_t entry;   /* of the trace, or WO_NO_ENTRY */
  int64_t time_us;  /* or WO_NO_TIME */
};

/* The moment of the segment map: the first request that failed, else the peak of allocated bytes. STATE: the moment of the
 * snapshot itself, in memory over time without steps (holdings.h). */
enum wo_memory_moment { WO_MOMENT_NONE, WO_MOMENT_OOM, WO_MOMENT_PEAK, WO_MOMENT_STATE };

struct wo_memory_over_time {
  struct wo_memory_bin *bins; /* without gaps, each bin_requests long, the last one may be shorter */
  size_t bin_count;
  uint32_t bin_requests;  /* a power of two */
  uint32_t request_count; /* steps seen */
  int64_t first_us;       /* times of the first and last request that has a time, or WO_NO_TIME */
  int64_t last_us;
  struct wo_memory_place peak[WO_MEMORY_SERIES_COUNT_];
  struct wo_memory_place class_peak[WO_CLASS_COUNT_];
  bool has_oom;
  struct wo_allocator_oom oom;                     /* of the first */
  struct wo_memory_place ooms[WO_MEMORY_OOMS_MAX]; /* bytes = allocated immediately after */
  uint32_t oom_kept;                               /* places in ooms */
  uint64_t oom_count;                              /* all, including those whose place is not kept */
  enum wo_memory_moment moment;
  struct wo_memory_place moment_at; /* bytes = allocated */
  struct wo_segment_map map;        /* at the moment; empty with WO_MOMENT_NONE */
  struct wo_replay_outcome outcome; /* of the run */
};

/* ---- All in one ---- */

/* fresh returns a device in its first state; the one returned before is not used any more. NULL if memory is out. on_step is
 * called in both runs, for devices that must know the current request ({0} for none). */
struct wo_memory_devices {
  void *state;
  const struct wo_device *(*fresh)(void *state);
  struct wo_replay_observer on_step;
};

/* Runs the pattern (options->device and the observers in options are not used) and records its memory
 * over time and the segment map. trace: for times and entries; NULL = not known. Statuses of wo_replay_run; *ret_memory is
 * released with wo_memory_over_time_done after WO_OK only. */
enum wo_status wo_memory_over_time_record(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                          const struct wo_replay_options *options, const struct wo_memory_devices *devices,
                                          struct wo_memory_over_time *ret_memory, struct wo_err *err);

/* Releases what it owns; NULL allowed. */
void wo_memory_over_time_done(struct wo_memory_over_time *memory);

/* For wo_memory_map_at: the state before the first request; needs a start. */
#define WO_MAP_AT_START (WO_NO_REQUEST - 1)

/* Runs the pattern once in the same way, and takes the segment map after request map_at. It is empty if the run did not get
 * there. */
enum wo_status wo_memory_map_at(const struct wo_alloc_pattern *pattern, const struct wo_trace *trace,
                                const struct wo_replay_options *options, const struct wo_memory_devices *devices, uint32_t map_at,
                                struct wo_segment_map *ret_map, struct wo_err *err);

/* ---- Reading ---- */

/* An empty place: 0 bytes, nothing known. */
struct wo_memory_place wo_memory_no_place(void);

/* Memory over time in at most `count` columns of about equal width in requests: fills columns and returns their number (0 for an
 * empty pattern). Every bin is in one column. */
size_t wo_memory_columns(const struct wo_memory_over_time *memory, size_t count, struct wo_memory_bin *columns);

#endif
