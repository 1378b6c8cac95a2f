/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns checked request by request. */
#include "cuda_replay/pattern/alloc_pattern_valid.h"

/* Whether birth and death name requests that name the instance back. */
static bool is_instance_valid(const struct wo_alloc_pattern *pattern, size_t i) {
  const struct wo_instance *instance = &pattern->instances.items[i];
  bool is_start = i < pattern->start_count;
  if ((instance->birth == WO_NO_REQUEST) != is_start) return false;
  if (!is_start) {
    if (instance->birth >= pattern->requests.count) return false;
    const struct wo_request *birth = &pattern->requests.items[instance->birth];
    const bool is_birth = birth->kind == WO_REQUEST_ALLOC || birth->kind == WO_REQUEST_PROBE;
    if (!is_birth || birth->subject != i) return false;
  }
  if (instance->death == WO_NO_REQUEST) return true;
  if (instance->death >= pattern->requests.count || (!is_start && instance->death < instance->birth)) return false;
  if (!is_start && instance->death == instance->birth) return true;
  const struct wo_request *death = &pattern->requests.items[instance->death];
  return (death->kind == WO_REQUEST_FREE || death->kind == WO_REQUEST_DEFER) && death->subject == i;
}

bool wo_alloc_pattern_is_valid(const struct wo_alloc_pattern *pattern) {
  if (pattern->start_count > pattern->instances.count) return false;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    if (!is_instance_valid(pattern, i)) return false;
  }
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    if (wo_request_has_instance(request) && request->subject >= pattern->instances.count) return false;
    const bool is_birth = request->kind == WO_REQUEST_ALLOC || request->kind == WO_REQUEST_PROBE;
    if (is_birth && pattern->instances.items[request->subject].birth != r) return false;
    bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
    if (is_free && pattern->instances.items[request->subject].death != r) return false;
  }
  return true;
}
