/* SPDX-License-Identifier: Apache-2.0 */
/* Small queries that both writers use. See replay_report.h. */
#include "cuda_replay/command/replay_report.h"

#include <assert.h>

/* Designators connect names and enumerators in any order. */
const char *wo_replay_verdict_name(enum wo_replay_verdict verdict) {
  static const char *const names[WO_REPLAY_VERDICT_COUNT_] = {
      [WO_REPLAY_REPRODUCED] = "reproduced",   [WO_REPLAY_FITS] = "fits",
      [WO_REPLAY_NOT_FIT] = "does_not_fit",    [WO_REPLAY_DIVERGED] = "diverged",
      [WO_REPLAY_NO_CAPACITY] = "no_capacity", [WO_REPLAY_CLOSE] = "close",
      [WO_REPLAY_APPROXIMATE] = "approximate", [WO_REPLAY_REFUSED] = "refused",
      [WO_REPLAY_GPU_DIFFERS] = "gpu_differs", [WO_REPLAY_STATE_ONLY] = "state_only",
  };
  assert(verdict < WO_REPLAY_VERDICT_COUNT_);
  return names[verdict];
}

/* A sweep asks "is there a setting that fits", so its best row answers. */
const struct wo_alloc_pattern *wo_replay_needed(const struct wo_replay_report *report) {
  return report->recorded_pattern.probe_count > 0 ? &report->needed_pattern : &report->recorded_pattern;
}

const struct wo_classes *wo_replay_needed_classes(const struct wo_replay_report *report) {
  return report->recorded_pattern.probe_count > 0 ? &report->needed_classes : &report->classes;
}

const struct wo_replay_case *wo_replay_subject(const struct wo_replay_report *report) {
  assert(report != NULL);
  if (report->has_sweep && report->sweep.count > 0) return &report->sweep.rows[0].result;
  return wo_replay_shown(report);
}

bool wo_replay_is_interval(const struct wo_replay_report *report) {
  const struct wo_replay_case *const low = &report->bounds[WO_BOUND_LOW];
  const struct wo_replay_case *const high = &report->bounds[WO_BOUND_HIGH];
  if (!report->has_bounds) return false;
  return low->reserved_lo_bytes != high->reserved_lo_bytes || low->reserved_hi_bytes != high->reserved_hi_bytes ||
         low->oom_count != high->oom_count;
}

/* ---- Intervals ---- */

enum {
  WHOLE_PERMILLE = 10,
  STACKLESS_PERMILLE = 60,
  MIDDLE_PERMILLE = 30,        /* a step stands in for the first one */
  WITHOUT_FIRST_PERMILLE = 90, /* none does */
  SINGLE_PERMILLE = 100,
  KERNELS_PERMILLE = 100,
  PERMILLE = 1000,
  FIGURE_PERMILLE = 50
};

/* How far beyond an end the peak may lie, and why. */
struct beyond {
  uint64_t permille;
  enum wo_replay_width why;
};

static void reach(struct beyond *beyond, uint64_t permille, enum wo_replay_width why) {
  if (permille > beyond->permille) *beyond = (struct beyond){permille, why};
}

static struct beyond find_beyond(const struct wo_replay_report *report, bool is_above) {
  const struct wo_change *const change = &report->change;
  const bool has_stacks = (report->classes.facts.all_flags & (WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE)) != 0;
  const bool has_first_step = report->whatif_course.has_first_step;
  struct beyond beyond = {has_stacks ? WHOLE_PERMILLE : STACKLESS_PERMILLE, WO_WIDTH_REST};
  if (report->start_from != WO_START_EMPTY)
    reach(&beyond, has_first_step ? MIDDLE_PERMILLE : WITHOUT_FIRST_PERMILLE, WO_WIDTH_MIDDLE);
  if (change->has_scale && report->hides_kernels) reach(&beyond, KERNELS_PERMILLE, WO_WIDTH_KERNELS);
  if (change->has_scale && change->scale.axes[WO_AXIS_MICRO_BATCH].from == 1 && change->scale.axes[WO_AXIS_MICRO_BATCH].to > 1)
    reach(&beyond, SINGLE_PERMILLE, WO_WIDTH_SINGLE);
  for (size_t i = 0; i < change->transform_count; i++) {
    const struct wo_transform *const transform = change->transforms[i].transform;
    reach(&beyond, 10 * (uint64_t)(is_above ? transform->above_pct : transform->below_pct), WO_WIDTH_TRANSFORM);
  }
  return beyond;
}

/* What contributes most to the distance between two ends. */
struct widest {
  uint64_t bytes;
  enum wo_replay_width why;
};

static void widen(struct widest *widest, uint64_t from_bytes, uint64_t to_bytes, enum wo_replay_width why) {
  if (to_bytes > from_bytes && to_bytes - from_bytes > widest->bytes) *widest = (struct widest){to_bytes - from_bytes, why};
}

struct wo_replay_interval wo_replay_interval(const struct wo_replay_report *report) {
  assert(report->has_bounds);
  uint64_t lo_bytes = UINT64_MAX, hi_bytes = 0;
  for (int i = 0; i < WO_BOUND_COUNT_; i++) {
    if (report->bounds[i].reserved_lo_bytes < lo_bytes) lo_bytes = report->bounds[i].reserved_lo_bytes;
    if (report->bounds[i].reserved_hi_bytes > hi_bytes) hi_bytes = report->bounds[i].reserved_hi_bytes;
  }
  const struct beyond below = find_beyond(report, false), above = find_beyond(report, true);
  const struct wo_replay_case *const likely = &report->bounds[WO_BOUND_LIKELY];
  struct wo_replay_interval interval = {.lo_bytes = lo_bytes - lo_bytes / PERMILLE * below.permille,
                                        .hi_bytes = hi_bytes + hi_bytes / PERMILLE * above.permille};
  struct widest widest = {0, WO_WIDTH_REST};
  widen(&widest, likely->reserved_lo_bytes, likely->reserved_hi_bytes, WO_WIDTH_ORDER);
  widen(&widest, likely->reserved_hi_bytes, hi_bytes, WO_WIDTH_SIZES);
  widen(&widest, lo_bytes, likely->reserved_lo_bytes, WO_WIDTH_SIZES);
  widen(&widest, interval.lo_bytes, lo_bytes, below.why);
  widen(&widest, hi_bytes, interval.hi_bytes, above.why);
  const uint64_t middle_bytes = likely->reserved_lo_bytes + (likely->reserved_hi_bytes - likely->reserved_lo_bytes) / 2;
  const uint64_t off_bytes = middle_bytes / PERMILLE * FIGURE_PERMILLE;
  interval.widest = widest.why;
  interval.is_figure = interval.hi_bytes <= middle_bytes + off_bytes && interval.lo_bytes >= middle_bytes - off_bytes;
  return interval;
}

static const struct {
  const char *name, *text;
} widths[WO_WIDTH_COUNT_] = {
    [WO_WIDTH_ORDER] = {"order_of_addresses", "the order of addresses decides"},
    [WO_WIDTH_SIZES] = {"sizes", "the recording leaves open how some allocations change"},
    [WO_WIDTH_TRANSFORM] = {"transform", "real programs differ that much under this change"},
    [WO_WIDTH_SINGLE] = {"micro_batch_1", "micro-batch 1 takes paths of its own"},
    [WO_WIDTH_KERNELS] = {"kernels", "kernels of convolutions and their workspaces have no names in the recording"},
    [WO_WIDTH_MIDDLE] = {"begins_late", "the recording begins in the middle of a run"},
    [WO_WIDTH_REST] = {"rest", "real programs differ that much"},
};

const char *wo_replay_width_name(enum wo_replay_width width) {
  assert(width < WO_WIDTH_COUNT_);
  return widths[width].name;
}

const char *wo_replay_width_text(enum wo_replay_width width) {
  assert(width < WO_WIDTH_COUNT_);
  return widths[width].text;
}

uint64_t wo_replay_uncertainty(const struct wo_replay_report *report) {
  const uint64_t capacity = report->capacity.uncertainty_bytes;
  if (!report->has_bounds) return capacity;
  const uint64_t hi = wo_replay_interval(report).hi_bytes, most = wo_replay_most(report)->reserved_hi_bytes;
  return hi > most && hi - most > capacity ? hi - most : capacity;
}

const struct wo_replay_case *wo_replay_most(const struct wo_replay_report *report) {
  return report->has_bounds ? &report->bounds[WO_BOUND_HIGH] : wo_replay_subject(report);
}

const struct wo_replay_case *wo_replay_shown(const struct wo_replay_report *report) {
  if (report->has_whatif) return &report->whatif;
  return report->has_recorded ? &report->recorded : NULL;
}

/* Compares the peaks of two moments: the bytes of the cache beyond the most that was ever needed. */
double wo_replay_idle_pct(const struct wo_replay_case *result) {
  const struct wo_replay_peak *const peak = &result->outcome.peak;
  return peak->reserved_bytes > 0 ? wo_share_pct(peak->reserved_bytes - peak->allocated_bytes, peak->reserved_bytes) : 0;
}

uint64_t wo_replay_room(const struct wo_allocator_oom *oom) {
  uint64_t room = 0;
  if (oom->by_fraction) return oom->cached_free_bytes;
  return __builtin_add_overflow(oom->cached_free_bytes, oom->device_free_bytes, &room) ? UINT64_MAX : room;
}

/* Uses the order of addresses that needed most. */
uint64_t wo_replay_margin(const struct wo_replay_report *report, const struct wo_replay_case *result) {
  assert(result->reserved_lo_bytes <= result->reserved_hi_bytes);
  if (result->oom_count > 0 || report->capacity.bytes < result->reserved_hi_bytes) return 0;
  return report->capacity.bytes - result->reserved_hi_bytes;
}

void wo_replay_settings(const struct wo_replay_report *report, const struct wo_alloc_settings *settings, struct wo_text *out) {
  const size_t before = out->len;
  wo_alloc_settings_show(settings, report->torch, out);
  if (out->len == before) wo_text_add(out, "default");
}

uint32_t wo_replay_entry_of(const struct wo_replay_report *report, uint32_t request) {
  const bool is_known = request != WO_NO_REQUEST && report->pattern && request < report->pattern->requests.count;
  return is_known ? report->pattern->requests.items[request].entry : WO_NO_ENTRY;
}

void wo_replay_report_done(struct wo_replay_report *report) {
  if (report == NULL) return;
  if (report->has_memory) {
    wo_memory_over_time_done(&report->memory);
    wo_attribution_done(&report->attribution);
    wo_pins_done(&report->pins);
  }
  wo_holdings_done(&report->holdings);
  wo_look_done(&report->look);
  wo_replay_gpu_done(&report->gpu);
  wo_segment_map_done(&report->state);
  wo_alloc_pattern_done(&report->recorded_pattern);
  wo_alloc_pattern_done(&report->needed_pattern);
  wo_alloc_pattern_done(&report->whatif_pattern);
  wo_classes_done(&report->classes);
  wo_classes_done(&report->needed_classes);
  wo_start_done(&report->start);
  wo_arena_done(&report->arena);
  *report = (struct wo_replay_report){0};
}
