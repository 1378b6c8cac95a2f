/* SPDX-License-Identifier: Apache-2.0 */
/* The memory and load of one card over time, thinned out while it is read, and its trend. */
#include "parsers/formats/common/monitor_trend.h"

#include <math.h>

/* ---- Adding ---- */

static void add_point(struct wo_trend_point *into, const struct wo_trend_point *other) {
  into->fb_sum += other->fb_sum;
  into->fb_count += other->fb_count;
  into->sm_sum += other->sm_sum;
  into->sm_count += other->sm_count;
  into->idle_count += other->idle_count;
  into->time_sum += other->time_sum;
  into->time_count += other->time_count;
  into->index_sum += other->index_sum;
  into->samples += other->samples;
}

static void thin_out(struct wo_trend *trend) {
  for (size_t i = 0; i < WO_TREND_POINTS / 2; i++) {
    struct wo_trend_point pair = trend->points[2 * i];
    add_point(&pair, &trend->points[2 * i + 1]);
    trend->points[i] = pair;
  }
  trend->count = WO_TREND_POINTS / 2;
  trend->stride *= 2;
}

/* The point that the next sample goes to. */
static struct wo_trend_point *next_point(struct wo_trend *trend) {
  if (trend->count == 0) trend->stride = 1;
  if (trend->count > 0 && trend->points[trend->count - 1].samples < trend->stride) return &trend->points[trend->count - 1];
  if (trend->count == WO_TREND_POINTS) thin_out(trend);
  trend->points[trend->count] = (struct wo_trend_point){.samples = 0};
  return &trend->points[trend->count++];
}

static void note_range(struct wo_trend *trend, double fb_bytes) {
  if (!trend->has_fb || fb_bytes < trend->fb_min) trend->fb_min = fb_bytes;
  if (!trend->has_fb || fb_bytes > trend->fb_max) trend->fb_max = fb_bytes;
  trend->has_fb = true;
}

void wo_trend_begin(struct wo_trend *trend) {
  trend->count = 0;
  trend->stride = trend->samples = 0;
  trend->has_fb = false;
  trend->fb_min = trend->fb_max = trend->time_first = 0;
}

void wo_trend_add(struct wo_trend *trend, double fb_bytes, double sm_pct, double time_s, bool is_continued) {
  const bool is_more = is_continued && trend->count > 0;
  struct wo_trend_point sample = {.index_sum = is_more ? 0 : trend->samples, .samples = is_more ? 0 : 1};
  if (fb_bytes >= 0) {
    sample.fb_sum = fb_bytes;
    sample.fb_count = 1;
    note_range(trend, fb_bytes);
  }
  if (sm_pct >= 0) {
    sample.sm_sum = sm_pct;
    sample.sm_count = 1;
    sample.idle_count = sm_pct < WO_TREND_IDLE_PCT ? 1 : 0;
  }
  if (time_s >= 0) {
    if (trend->time_first <= 0) trend->time_first = time_s;
    sample.time_sum = time_s - trend->time_first;
    sample.time_count = 1;
  }
  trend->samples += sample.samples;
  add_point(is_more ? &trend->points[trend->count - 1] : next_point(trend), &sample);
}

/* ---- Going on another time ---- */

/* Sums, whatever their sign: products of several of them are still numbers. */
static void keep_sum(struct wo_keep *keep, double *sum) {
  wo_keep_double(keep, sum, -WO_TREND_SUM_MOST, WO_TREND_SUM_MOST);
}

static void keep_point(struct wo_trend_point *point, struct wo_keep *keep) {
  keep_sum(keep, &point->fb_sum);
  wo_keep_count(keep, &point->fb_count, WO_TREND_SUM_MOST);
  keep_sum(keep, &point->sm_sum);
  wo_keep_count(keep, &point->sm_count, WO_TREND_SUM_MOST);
  wo_keep_count(keep, &point->idle_count, WO_TREND_SUM_MOST);
  keep_sum(keep, &point->time_sum);
  wo_keep_count(keep, &point->time_count, WO_TREND_SUM_MOST);
  keep_sum(keep, &point->index_sum);
  wo_keep_count(keep, &point->samples, WO_TREND_SUM_MOST);
}

void wo_trend_keep(struct wo_trend *trend, struct wo_keep *keep) {
  wo_keep_size(keep, &trend->count, WO_TREND_POINTS);
  wo_keep_count(keep, &trend->stride, WO_TREND_SUM_MOST);
  wo_keep_count(keep, &trend->samples, WO_TREND_SUM_MOST);
  wo_keep_flag(keep, &trend->has_fb);
  keep_sum(keep, &trend->fb_min);
  keep_sum(keep, &trend->fb_max);
  keep_sum(keep, &trend->time_first);
  for (size_t i = 0; i < trend->count; i++) keep_point(&trend->points[i], keep);
}

/* ---- The job's part ---- */

/* Memory above which something runs. A tenth of the way from the lowest to the highest figure leaves out a desktop's share. */
static double active_level(const struct wo_trend *trend) {
  if (trend->fb_min >= trend->fb_max / 2) return 0;
  return trend->fb_min + (trend->fb_max - trend->fb_min) / 10;
}

static bool is_active(const struct wo_trend_point *point, double level) {
  return point->fb_count > 0 && point->fb_sum / point->fb_count > level;
}

struct wo_trend_span wo_trend_active(const struct wo_trend *trend) {
  const double level = active_level(trend);
  struct wo_trend_span span = {0, trend->count};
  if (level <= 0) return span;
  while (span.first < span.end && !is_active(&trend->points[span.first], level)) span.first++;
  while (span.end > span.first && !is_active(&trend->points[span.end - 1], level)) span.end--;
  return span;
}

/* ---- Slopes ---- */

/* Points with both figures. */
struct series {
  double x[WO_TREND_POINTS];
  double y[WO_TREND_POINTS];
  size_t count;
};

/* Shifted to the first point, so that small differences of large numbers keep their digits. */
static void collect(const struct wo_trend *trend, struct wo_trend_span span, bool is_per_second, struct series *series) {
  series->count = 0;
  for (size_t i = span.first; i < span.end; i++) {
    const struct wo_trend_point *const point = &trend->points[i];
    if (point->fb_count <= 0 || (is_per_second && point->time_count <= 0)) continue;
    const size_t n = series->count++;
    series->x[n] = is_per_second ? point->time_sum / point->time_count : point->index_sum / point->samples;
    series->y[n] = point->fb_sum / point->fb_count;
  }
  for (size_t i = series->count; i-- > 0;) {
    series->x[i] -= series->x[0];
    series->y[i] -= series->y[0];
  }
}

/* Student's factor for an interval of 95 %. */
static double student(double freedom) {
  static const double table[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
  const size_t count = sizeof table / sizeof table[0];
  const size_t whole = freedom < 1 ? 1 : freedom > (double)count ? count + 1 : (size_t)freedom;
  return whole <= count ? table[whole - 1] : 1.96 + 2.7 / freedom;
}

/* How many independent samples n with the correlation r of neighbours are worth; two belong to the line itself. */
static double freedom_of(double n, double r) {
  const double worth = r > 0 ? n * (1 - r) / (1 + r) : n;
  return worth - 2 > 1 ? worth - 2 : 1;
}

/* The line through the series, and how sure its slope is. False when all x are one. */
static bool fit(const struct series *series, struct wo_interval *ret) {
  const double n = (double)series->count;
  double x = 0, y = 0, xx = 0, xy = 0, square = 0, product = 0, before = 0;
  for (size_t i = 0; i < series->count; i++) {
    x += series->x[i] / n;
    y += series->y[i] / n;
  }
  for (size_t i = 0; i < series->count; i++) {
    xx += (series->x[i] - x) * (series->x[i] - x);
    xy += (series->x[i] - x) * (series->y[i] - y);
  }
  if (series->count < 3 || xx <= 0) return false;
  const double slope = xy / xx;
  for (size_t i = 0; i < series->count; i++) {
    const double rest = series->y[i] - y - slope * (series->x[i] - x);
    square += rest * rest;
    if (i > 0) product += rest * before;
    before = rest;
  }
  const double freedom = freedom_of(n, square > 0 ? product / square : 0);
  const double margin = student(freedom) * sqrt(square / freedom / xx);
  *ret = (struct wo_interval){.lo = slope - margin, .mid = slope, .hi = slope + margin};
  return isfinite(ret->lo) && isfinite(ret->hi);
}

bool wo_trend_slope(const struct wo_trend *trend, struct wo_trend_span span, bool is_per_second, struct wo_interval *ret) {
  struct series series;
  collect(trend, span, is_per_second, &series);
  return fit(&series, ret);
}

bool wo_trend_late_rise(const struct wo_trend *trend, struct wo_trend_span span, double *ret_bytes) {
  enum { LEAST = 6 };
  struct series series;
  struct wo_interval slope;
  span.first += (span.end - span.first) / 2;
  collect(trend, span, false, &series);
  if (series.count < LEAST || !fit(&series, &slope)) return false;
  *ret_bytes = slope.lo > 0 ? slope.lo * series.x[series.count - 1] : 0;
  return true;
}

/* ---- Load ---- */

bool wo_trend_load(const struct wo_trend *trend, struct wo_trend_span span, double *ret_mean_pct, double *ret_idle_pct) {
  struct wo_trend_point all = {.samples = 0};
  for (size_t i = span.first; i < span.end; i++) add_point(&all, &trend->points[i]);
  if (all.sm_count <= 0) return false;
  *ret_mean_pct = all.sm_sum / all.sm_count;
  *ret_idle_pct = 100 * all.idle_count / all.sm_count;
  return true;
}

double wo_trend_rounded(double value, double parts) {
  enum { EXACT_BITS = 53 };
  const double scaled = value * parts;
  const double most = (double)(INT64_C(1) << EXACT_BITS);
  if (scaled <= -most || scaled >= most) return value;
  return (double)(int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5) / parts;
}

struct wo_interval wo_trend_whole(struct wo_interval value) {
  return (struct wo_interval){wo_trend_rounded(value.lo, 1), wo_trend_rounded(value.mid, 1), wo_trend_rounded(value.hi, 1)};
}
