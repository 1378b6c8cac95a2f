/* empty_cache at phase changes: before and after every optimizer step, and where forward begins again after backward. */
#include <assert.h>

#include "cuda_replay/change/transform_internal.h"

/* Whether the cache is emptied between two births of these phases. */
static bool is_change(enum wo_phase before, enum wo_phase now) {
  if (before == now || before == WO_PHASE_START) return false;
  return before == WO_PHASE_OPTIMIZER || now == WO_PHASE_OPTIMIZER || (before == WO_PHASE_BACKWARD && now == WO_PHASE_FORWARD);
}

/* Copies the pattern and puts a release before each birth that begins a phase. */
enum wo_status wo__transform_empty_cache(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                         struct wo_err *err) {
  const struct wo_alloc_pattern *from = request->pattern;
  struct wo_alloc_pattern to = {.recording = from->recording};
  enum wo_phase phase = WO_PHASE_START;
  size_t inserted = 0;
  bool is_made = true;
  for (size_t i = 0; is_made && i < from->start_count; i++) is_made = wo_alloc_pattern_add_start(&to, from->instances.items[i]);
  for (size_t r = 0; is_made && r < from->requests.count; r++) {
    struct wo_request next = from->requests.items[r];
    if (next.kind != WO_REQUEST_ALLOC) {
      is_made = wo_alloc_pattern_add_request(&to, next);
      continue;
    }
    enum wo_phase now = (enum wo_phase)request->classes->marks.items[next.subject].phase;
    if (is_change(phase, now)) {
      is_made = wo_alloc_pattern_add_request(&to, (struct wo_request){.kind = WO_REQUEST_EMPTY_CACHE, .entry = WO_NO_ENTRY});
      inserted++;
    }
    phase = now;
    const struct wo_instance *instance = &from->instances.items[next.subject];
    uint32_t index;
    if (!is_made) break;
    if (instance->death == instance->birth)
      is_made = wo_alloc_pattern_add_refused(&to, *instance, next.entry, &index);
    else
      is_made = wo_alloc_pattern_add_alloc(&to, *instance, next.entry, &index);
    /* Nothing is dropped, so instances keep their indices. */
    assert(!is_made || index == next.subject);
  }
  if (is_made && inserted > 0) {
    *ret_pattern = to;
    return WO_OK;
  }
  wo_alloc_pattern_done(&to);
  if (!is_made) return wo_err_set(err, WO_E_NOMEM, "no memory for the changed recording");
  return wo_err_set(err, WO_E_RANGE, "the recording shows no change of phase (forward, backward, step), nothing would change");
}
