/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of monitoring traces, for each file and GPU. Processes in traces stay events of WO_KIND_GPU_PROCESS, each over all
 * samples of one file: without a pid its name is a user, and its peak is a lower bound. */
#ifndef WO_MONITORS_H
#define WO_MONITORS_H

#include "analyzer/facts/facts.h"

/* Figures of one GPU in the monitoring traces of one file. */
struct wo_card_trace {
  uint32_t file; /* index of the input */
  int32_t gpu;
  uint64_t samples;
  struct wo_figure fb_peak_bytes; /* a lower bound: sampling misses short peaks */
  struct wo_figure fb_last_bytes;
  struct wo_figure fb_slope_bytes_per_s; /* unknown without time stamps */
  struct wo_figure fb_slope_bytes_per_sample;
  struct wo_figure sm_mean_pct;
  struct wo_figure capacity_bytes;
  /* The next figures cover the samples with clearly more memory in use than when nothing ran, that is, while the job ran. */
  struct {
    struct wo_figure active_samples;
    struct wo_figure sm_active_mean_pct;
    struct wo_figure idle_pct;       /* share of its samples with a load below 5 % */
    struct wo_figure fb_trend_per_s; /* bytes; unknown without time stamps */
    struct wo_figure fb_trend_per_sample;
    struct wo_figure fb_late_rise_bytes; /* minimum rise of memory in its second half */
  } course;
  struct wo_view lack; /* why the trace has no memory figure, or empty */
  wo_event_id evidence;
};

#endif
