/* SPDX-License-Identifier: Apache-2.0 */
/* The course of one card through a trace of any length: at most WO_TREND_POINTS points, each the sum of as many samples as the
 * others; when they are used up, two become one. Answers that need the whole course (where the job began and ended, whether
 * memory rose in its second half) are computed from them at the end. */
#ifndef WO_MONITOR_TREND_H
#define WO_MONITOR_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/keep/keep.h"
#include "parsers/base/number.h"

/* Points kept; even. */
#define WO_TREND_POINTS 128

/* A card whose kernels run in less than this share of the time, in percent, is idle. */
#define WO_TREND_IDLE_PCT 5.0

/* Largest sum that is kept for another time: products of four of them are numbers still. */
#define WO_TREND_SUM_MOST 1e40

/* Sums over the samples of one stretch. */
struct wo_trend_point {
  double fb_sum, fb_count; /* memory in use, in bytes */
  double sm_sum, sm_count; /* load, in percent */
  double idle_count;       /* samples with a load below WO_TREND_IDLE_PCT */
  double time_sum, time_count;
  double index_sum, samples;
};

/* Zeroed memory is an empty course. */
struct wo_trend {
  struct wo_trend_point points[WO_TREND_POINTS];
  size_t count;
  double stride;  /* samples of a full point */
  double samples; /* seen */
  bool has_fb;    /* a figure of memory was seen */
  double fb_min;  /* lowest and highest of them */
  double fb_max;
  double time_first; /* seconds since 1970; times are summed as differences from it. 0 before the first */
};

/* Points from `first` up to, not including, `end`. */
struct wo_trend_span {
  size_t first, end;
};

/* Makes it empty again. Points beyond the count are not looked at, and so not cleared. */
void wo_trend_begin(struct wo_trend *trend);

/* Adds a sample. Figures below zero are unknown. `is_continued`: further figures of the sample before. */
void wo_trend_add(struct wo_trend *trend, double fb_bytes, double sm_pct, double time_s, bool is_continued);

/* Writes a course, or reads one into zeroed memory. */
void wo_trend_keep(struct wo_trend *trend, struct wo_keep *keep);

/* From the first to the last point at which clearly more memory was in use than when nothing ran: the job began at the first one
 * and ended at the last one. All points where no memory is known, or where it never fell below half of its peak. */
struct wo_trend_span wo_trend_active(const struct wo_trend *trend);

/* The slope of the memory in use along the span, in bytes per second or per sample: `mid` by least squares, `lo` and `hi` the
 * ends of its 95 % confidence interval, with neighbouring samples counted as partly the same information when they deviate alike.
 * False with fewer than three points, or without times. */
bool wo_trend_slope(const struct wo_trend *trend, struct wo_trend_span span, bool is_per_second, struct wo_interval *ret);

/* By how many bytes memory rose at least in the second half of the span: the lower end of the interval, 0 when that is not above
 * zero. False with fewer than six points in that half: that is too short to distinguish growth from a step. */
bool wo_trend_late_rise(const struct wo_trend *trend, struct wo_trend_span span, double *ret_bytes);

/* Mean load and share of idle samples in the span, both in percent. False when no load is known. */
bool wo_trend_load(const struct wo_trend *trend, struct wo_trend_span span, double *ret_mean_pct, double *ret_idle_pct);

/* Rounds to a multiple of 1/parts: digits beyond the printed ones are noise, and differ between compilers. */
double wo_trend_rounded(double value, double parts);
struct wo_interval wo_trend_whole(struct wo_interval value); /* all three to a whole number */

#endif
