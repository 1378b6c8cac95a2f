/* SPDX-License-Identifier: Apache-2.0 */
/* Applies exponents to sizes: exact if the recorded value divides the size, else rounded up. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/change/scale.h"
#include "parsers/base/vec.h"

#define SIZE_MAX_BYTES ((uint64_t)1 << 60)

/* size * to / from, rounded up; false when it leaves 1 .. 2^60. */
static bool scale_once(uint64_t *size, struct wo_scale_axis axis) {
  assert(axis.from > 0 && axis.to > 0);
  unsigned __int128 product = (unsigned __int128)*size * axis.to;
  unsigned __int128 scaled = (product + axis.from - 1) / axis.from;
  if (scaled > SIZE_MAX_BYTES) return false;
  assert(scaled > 0 || *size == 0);
  *size = (uint64_t)scaled;
  return true;
}

/* If the new value is the smaller one, a higher exponent shrinks the pattern more: the bound is about bytes, not about exponents.
 */
static enum wo_bound exponent_bound(const struct wo_scale_spec *spec, enum wo_scale_axis_id id, enum wo_bound bound) {
  if (bound == WO_BOUND_LIKELY || spec->axes[id].to >= spec->axes[id].from) return bound;
  return bound == WO_BOUND_LOW ? WO_BOUND_HIGH : WO_BOUND_LOW;
}

/* The axis as a size with a shift counts it; a length of 1 has no position to omit. */
static struct wo_scale_axis shifted(struct wo_scale_axis axis, int shift) {
  if (shift < 0 && (axis.from < 2 || axis.to < 2)) return axis;
  return (struct wo_scale_axis){(uint32_t)((int64_t)axis.from + shift), (uint32_t)((int64_t)axis.to + shift)};
}

static bool scale_size(uint64_t *size, const struct wo_exponent *exponent, const struct wo_scale_spec *spec,
                       enum wo_bound bound) {
  for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
    struct wo_scale_axis axis = spec->axes[id];
    if (axis.from == axis.to) continue;
    if (id == WO_AXIS_SEQ_LEN) axis = shifted(axis, exponent->shift);
    for (unsigned times = exponent->power[id][exponent_bound(spec, id, bound)]; times > 0; times--) {
      if (!scale_once(size, axis)) return false;
    }
  }
  return true;
}

enum wo_status wo_scale_apply(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                              const struct wo_scale_spec *spec, enum wo_bound bound, struct wo_alloc_pattern *ret_pattern,
                              struct wo_err *err) {
  assert(exponents->list.count == pattern->instances.count);
  struct wo_alloc_pattern scaled;
  bool is_change = false;
  for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) is_change = is_change || spec->axes[id].from != spec->axes[id].to;
  if (!wo_alloc_pattern_copy(pattern, &scaled)) return wo_err_set(err, WO_E_NOMEM, "no memory for the scaled pattern");
  for (size_t i = 0; i < scaled.instances.count; i++) {
    struct wo_instance *instance = &scaled.instances.items[i];
    uint64_t size = instance->size_bytes;
    if (exponents->list.items[i].reason == WO_SCALE_REASON_PLAN && bound == WO_BOUND_LOW && is_change) {
      size = 1; /* another plan may need none, and one that is refused its workspace is not taken */
    } else if (!scale_size(&size, &exponents->list.items[i], spec, bound)) {
      wo_alloc_pattern_done(&scaled);
      return wo_err_set(err, WO_E_RANGE,
                        "allocation %zu of %" PRIu64 " bytes would not be within 1 byte and 2^60 bytes when scaled", i,
                        pattern->instances.items[i].size_bytes);
    }
    instance->size_bytes = size;
  }
  *ret_pattern = scaled;
  return WO_OK;
}
