/* Counts the passes that a pattern needs on a card without a limit, and unrolls them. See steady_pattern.h. */
#include "cuda_replay/whatif/steady_pattern.h"

#include <assert.h>

#include "cuda_replay/whatif/steady.h"

/* A pattern with more requests than this runs one pass: protects time. */
enum { REPEATED_REQUESTS_MAX = 4 * 1000 * 1000 };

/* Passes until the reserved bytes settle. */
static enum wo_status count_passes(const struct wo_alloc_pattern *pattern, const struct wo_steady_pattern_options *options,
                                   unsigned *ret_passes, struct wo_err *err) {
  *ret_passes = 1;
  if (pattern->start_count == 0 || options->is_once) return WO_OK;
  if (pattern->requests.count > REPEATED_REQUESTS_MAX) return WO_OK;
  const struct wo_steady_options steady_options = {
      .settings = options->settings, .torch = options->torch, .device = {.capacity_bytes = UINT64_MAX}};
  struct wo_steady steady;
  const enum wo_status status = wo_steady_run(pattern, &steady_options, &steady, err);
  if (status == WO_OK) *ret_passes = steady.count;
  assert(*ret_passes >= 1);
  return status;
}

enum wo_status wo_steady_pattern_make(const struct wo_alloc_pattern *pattern, const struct wo_steady_pattern_options *options,
                                      struct wo_alloc_pattern *ret_pattern, unsigned *ret_passes, struct wo_err *err) {
  struct wo_passes passes;
  unsigned count = 1;
  enum wo_status status = count_passes(pattern, options, &count, err);
  if (status == WO_OK) status = wo_steady_unroll(pattern, count, ret_pattern, &passes, NULL);
  if (status == WO_OK && ret_passes) *ret_passes = count;
  if (status == WO_E_LIMIT) return wo_err_set(err, WO_E_RANGE, "the recording is too long to be repeated");
  return status == WO_E_NOMEM ? wo_err_set(err, status, "%s", wo_status_text(status)) : status;
}
