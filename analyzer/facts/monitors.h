/* Figures of monitoring traces, for each file and GPU. */
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
  struct wo_figure active_samples;
  struct wo_figure sm_active_mean_pct;
  struct wo_figure idle_pct;       /* share of its samples with a load below 5 % */
  struct wo_figure fb_trend_per_s; /* bytes; unknown without time stamps */
  struct wo_figure fb_trend_per_sample;
  struct wo_figure fb_late_rise_bytes; /* minimum rise of memory in its second half */
  struct wo_view lack;                 /* why the trace has no memory figure, or empty */
  wo_event_id evidence;
};

/* Figures of one process in the monitoring traces of one file. */
struct wo_card_process {
  uint32_t file;       /* index of the input */
  int32_t gpu;         /* -1 when the trace does not name the GPU */
  uint64_t pid;        /* 0 when the trace does not name the process: `name` is a user then */
  struct wo_view name; /* program, or user; may be empty */
  uint64_t samples;
  struct wo_figure peak_bytes; /* a lower bound */
  wo_event_id evidence;
};

#endif
