/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns are unrolled by steady.h, whose own tests hold it to be right. */
#include "tests/support/replay/cut_steps.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"

#include <stdlib.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/device/device_model.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/replay/replay.h"

/* Holds also in builds without asserts. */
static void require(bool holds) {
  if (!holds) abort();
}

struct wo_alloc_pattern wo_cut_steps_make(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *other,
                                          unsigned from, unsigned passes, struct wo_passes *ret_passes) {
  struct wo_alloc_pattern steps, others;
  require(wo_steady_unroll(first, NULL, passes, &steps, ret_passes) == WO_OK);
  if (!other) return steps;
  require(wo_steady_unroll(other, NULL, passes, &others, ret_passes) == WO_OK);
  require(others.instances.count == steps.instances.count && others.requests.count == steps.requests.count);
  for (size_t i = 0; i < steps.instances.count; i++) {
    struct wo_instance *const instance = &steps.instances.items[i];
    if (instance->birth == WO_NO_REQUEST || instance->birth < ret_passes->begins[from]) continue;
    require(others.instances.items[i].birth == instance->birth);
    instance->size_bytes = others.instances.items[i].size_bytes;
  }
  wo_alloc_pattern_done(&others);
  return steps;
}

struct wo_alloc_pattern wo_cut_before(const struct wo_alloc_pattern *truth, uint32_t request) {
  struct wo_alloc_pattern cut = {.recording = truth->recording};
  uint32_t added;
  for (size_t i = 0; i < truth->start_count; i++) require(wo_alloc_pattern_add_start(&cut, truth->instances.items[i]));
  for (uint32_t r = 0; r < request; r++) {
    const struct wo_request *const made = &truth->requests.items[r];
    if (made->kind == WO_REQUEST_ALLOC)
      require(wo_alloc_pattern_add_alloc(&cut, truth->instances.items[made->subject], made->entry, &added));
    else
      require(wo_alloc_pattern_add_request(&cut, *made));
  }
  require(wo_alloc_pattern_is_valid(&cut));
  return cut;
}

struct wo_alloc_pattern wo_cut_at(const struct wo_alloc_pattern *truth, uint32_t request) {
  struct wo_alloc_pattern cut = wo_cut_before(truth, request);
  struct wo_instance refused = truth->instances.items[truth->requests.items[request].subject];
  uint32_t added;
  refused.size_bytes = wo_alloc_round(&truth->recording->settings, refused.size_bytes);
  require(wo_alloc_pattern_add_refused(&cut, refused, WO_NO_ENTRY, &added));
  return cut;
}

struct wo_cut_peaks wo_cut_peaks_of(const struct wo_alloc_pattern *pattern) {
  struct wo_device device;
  struct wo_replay_outcome outcome;
  struct wo_err err = {0};
  const struct wo_device_model_options wanted = {.capacity_bytes = UINT64_MAX};
  struct wo_device_model *const model = wo_device_model_new(&wanted, &device);
  const struct wo_replay_options options = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
  require(model != NULL && wo_replay_run(pattern, &options, &outcome, &err) == WO_OK);
  wo_device_model_free(model);
  return (struct wo_cut_peaks){outcome.peak.allocated_bytes, outcome.peak.reserved_bytes};
}

static bool is_same_request(const struct wo_alloc_pattern *truth, const struct wo_alloc_pattern *completed, uint32_t r) {
  const struct wo_request *const a = &truth->requests.items[r], *const b = &completed->requests.items[r];
  if (a->kind != b->kind || a->stream != b->stream || a->pool != b->pool) return false;
  if (!wo_request_has_instance(a)) return a->subject == b->subject;
  const struct wo_instance *const left = &truth->instances.items[a->subject], *const right =
                                                                                  &completed->instances.items[b->subject];
  if (a->kind != WO_REQUEST_ALLOC) return a->subject == b->subject || left->size_bytes == right->size_bytes;
  return a->subject == b->subject && left->stack == right->stack;
}

uint32_t wo_cut_common(const struct wo_alloc_pattern *truth, const struct wo_alloc_pattern *completed) {
  uint32_t r = 0;
  while (r < truth->requests.count && r < completed->requests.count && is_same_request(truth, completed, r)) r++;
  return r;
}

bool wo_cut_is_same(const struct wo_alloc_pattern *truth, const struct wo_alloc_pattern *completed) {
  if (wo_cut_common(truth, completed) < completed->requests.count) return false;
  for (size_t i = 0; i < completed->instances.count; i++) {
    if (truth->instances.items[i].size_bytes != completed->instances.items[i].size_bytes) return false;
  }
  return true;
}
