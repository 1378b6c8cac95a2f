/* Small questions about a report that both writers ask. See replay_report.h. */
#include "cuda_replay/replay_report.h"

#include <assert.h>

const char *wo_replay_verdict_name(enum wo_replay_verdict verdict) {
  static const char *const names[WO_REPLAY_VERDICT_COUNT_] = {
      [WO_REPLAY_REPRODUCED] = "reproduced",   [WO_REPLAY_FITS] = "fits",
      [WO_REPLAY_NOT_FIT] = "does_not_fit",    [WO_REPLAY_DIVERGED] = "diverged",
      [WO_REPLAY_NO_CAPACITY] = "no_capacity", [WO_REPLAY_CLOSE] = "close",
      [WO_REPLAY_APPROXIMATE] = "approximate", [WO_REPLAY_REFUSED] = "refused",
  };
  assert(verdict < WO_REPLAY_VERDICT_COUNT_);
  return names[verdict];
}

const struct wo_replay_case *wo_replay_subject(const struct wo_replay_report *report) {
  assert(report != NULL);
  if (report->has_whatif) return &report->whatif;
  return report->has_recorded ? &report->recorded : NULL;
}

double wo_replay_idle_pct(const struct wo_replay_case *result) {
  const uint64_t reserved_bytes = result->outcome.peak.reserved_bytes;
  return reserved_bytes > 0 ? 100.0 * (double)result->idle_at_peak_bytes / (double)reserved_bytes : 0;
}

uint64_t wo_replay_margin(const struct wo_replay_report *report, const struct wo_replay_case *result) {
  if (result->oom_count > 0 || report->capacity_bytes < result->reserved_hi_bytes) return 0;
  return report->capacity_bytes - result->reserved_hi_bytes;
}
