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

enum { WHOLE_PERMILLE = 10, PYTHON_PERMILLE = 60, MIDDLE_PERMILLE = 90, PERMILLE = 1000 };

static uint64_t beyond_permille(const struct wo_replay_report *report, bool is_above) {
  const bool has_native = (report->classes.facts.all_flags & WO_STACK_HAS_NATIVE) != 0;
  uint64_t most = report->start_from != WO_START_EMPTY ? MIDDLE_PERMILLE : has_native ? WHOLE_PERMILLE : PYTHON_PERMILLE;
  for (size_t i = 0; i < report->change.transform_count; i++) {
    const struct wo_transform *const transform = report->change.transforms[i].transform;
    const uint64_t own = 10 * (uint64_t)(is_above ? transform->above_pct : transform->below_pct);
    if (own > most) most = own;
  }
  return most;
}

struct wo_replay_interval wo_replay_interval(const struct wo_replay_report *report) {
  assert(report->has_bounds);
  struct wo_replay_interval interval = {UINT64_MAX, 0};
  for (int i = 0; i < WO_BOUND_COUNT_; i++) {
    if (report->bounds[i].reserved_lo_bytes < interval.lo_bytes) interval.lo_bytes = report->bounds[i].reserved_lo_bytes;
    if (report->bounds[i].reserved_hi_bytes > interval.hi_bytes) interval.hi_bytes = report->bounds[i].reserved_hi_bytes;
  }
  interval.lo_bytes -= interval.lo_bytes / PERMILLE * beyond_permille(report, false);
  interval.hi_bytes += interval.hi_bytes / PERMILLE * beyond_permille(report, true);
  return interval;
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
