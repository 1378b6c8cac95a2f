/* SPDX-License-Identifier: Apache-2.0 */
/* empty_cache at phase changes: before and after every optimizer step, and where forward begins again after backward. */
#include "cuda_replay/change/transform_internal.h"

/* Whether the cache is emptied between two births of these phases. */
static bool is_change(enum wo_phase before, enum wo_phase now) {
  if (before == now || before == WO_PHASE_START) return false;
  return before == WO_PHASE_OPTIMIZER || now == WO_PHASE_OPTIMIZER || (before == WO_PHASE_BACKWARD && now == WO_PHASE_FORWARD);
}

/* Copies the pattern and puts a release before each birth that begins a phase. */
enum wo_status wo__transform_empty_cache(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                         struct wo_err *err) {
  static const struct wo_request empty_cache = {.kind = WO_REQUEST_EMPTY_CACHE, .entry = WO_NO_ENTRY};
  const char *why = "the recording shows no change of phase (forward, backward, step), nothing would change";
  struct wo__rewriting work;
  enum wo_phase phase = WO_PHASE_START;
  bool is_made = wo__rewriting_begin_alive(&work, request->pattern);
  for (size_t r = 0; is_made && r < work.from->requests.count; r++) {
    const struct wo_request *const next = &work.from->requests.items[r];
    const bool is_birth = next->kind == WO_REQUEST_ALLOC;
    const enum wo_phase now = is_birth ? (enum wo_phase)request->classes->marks.items[next->subject].phase : phase;
    if (is_change(phase, now)) {
      is_made = wo_alloc_pattern_add_request(&work.to, empty_cache);
      why = NULL;
    }
    phase = now;
    is_made = is_made && wo__repeat_request(&work, next);
  }
  return wo__rewriting_end(&work, is_made, why, ret_pattern, err);
}
