/* Whether the length that a job states is that of its data. */
#include <assert.h>

#include "cuda_replay/change/scale_internal.h"

/* A batch is on the device before anything is computed from it: the allocations at the beginning of a pass that are looked at. */
enum { BEGINNING = 16 };

/* Identifiers, masks and positions have 1 to 8 bytes for each token; a loss drops the last one, a loader may add one. */
static bool is_of_tokens(uint64_t size_bytes, uint64_t micro_batch, uint64_t seq_len) {
  for (uint64_t width = 1; width <= 8; width *= 2) {
    for (int shift = -1; shift <= 1; shift++) {
      if (size_bytes == width * micro_batch * (seq_len + (uint64_t)(int64_t)shift)) return true;
    }
  }
  return false;
}

bool wo_scale_has_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t micro_batch,
                         uint32_t seq_len) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  unsigned in_pass = 0;
  bool was_forward = false;
  if (micro_batch == 0 || seq_len < 2) return false;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const bool is_forward = classes->marks.items[i].phase == WO_PHASE_FORWARD;
    if (is_forward && !was_forward) in_pass = 0;
    was_forward = is_forward;
    enum wo_scale_reason reason;
    if (!is_forward || wo__scale_is_constant(classes->marks.items[i].rule, &reason) || in_pass++ >= BEGINNING) continue;
    if (is_of_tokens(pattern->instances.items[i].size_bytes, micro_batch, seq_len)) return true;
  }
  return false;
}
