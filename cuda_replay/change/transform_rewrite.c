/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting: requests of instances that nothing represents are left out, all others are repeated in their order. */
#include "cuda_replay/change/transform_internal.h"

#include <assert.h>
#include <stdlib.h>

enum wo_class_rule wo__rule_of(const struct wo_transform_request *request, size_t instance) {
  return (enum wo_class_rule)request->classes->marks.items[instance].rule;
}

bool wo__is_parameter(const struct wo_transform_request *request, size_t instance) {
  enum wo_class_rule rule = wo__rule_of(request, instance);
  return rule == WO_CLASS_RULE_PARAMETER || rule == WO_CLASS_RULE_START_SETUP || rule == WO_CLASS_RULE_PERSISTENT;
}

bool wo__is_gradient(const struct wo_transform_request *request, size_t instance) {
  return request->pattern->instances.items[instance].class_ == WO_CLASS_GRADIENT;
}

bool wo__is_state(const struct wo_transform_request *request, size_t instance) {
  return request->pattern->instances.items[instance].class_ == WO_CLASS_OPTIMIZER;
}

uint64_t wo__parameter_bytes(const struct wo_transform_request *request, uint64_t *ret_largest) {
  uint64_t total = 0;
  *ret_largest = 0;
  for (size_t i = 0; i < request->pattern->instances.count; i++) {
    uint64_t size = request->pattern->instances.items[i].size_bytes;
    if (!wo__is_parameter(request, i)) continue;
    if (__builtin_add_overflow(total, size, &total)) total = UINT64_MAX;
    if (size > *ret_largest) *ret_largest = size;
  }
  return total;
}

/* ---- Request by request ---- */

/* Nothing is represented yet. */
static bool begin(struct wo__rewriting *work, const struct wo_alloc_pattern *from) {
  *work = (struct wo__rewriting){.from = from, .to = {.recording = from->recording}};
  work->now = malloc((from->instances.count + 1) * sizeof work->now[0]);
  for (size_t i = 0; work->now != NULL && i < from->instances.count; i++) work->now[i] = WO__GONE;
  return work->now != NULL;
}

bool wo__rewriting_begin_alive(struct wo__rewriting *work, const struct wo_alloc_pattern *from) {
  if (!begin(work, from)) return false;
  for (uint32_t i = 0; i < from->start_count; i++) {
    if (!wo_alloc_pattern_add_start(&work->to, from->instances.items[i])) return false;
    work->now[i] = i;
  }
  return true;
}

bool wo__repeat_request(struct wo__rewriting *work, const struct wo_request *request) {
  struct wo_request repeated = *request;
  if (request->kind == WO_REQUEST_ALLOC) {
    const struct wo_instance *const instance = &work->from->instances.items[request->subject];
    return wo_alloc_pattern_add_again(&work->to, instance, request->entry, &work->now[request->subject]);
  }
  if (wo_request_has_instance(request)) {
    repeated.subject = work->now[request->subject];
    if (repeated.subject == WO__GONE) return true;
  }
  return wo_alloc_pattern_add_request(&work->to, repeated);
}

bool wo__free_now(struct wo__rewriting *work, uint32_t instance) {
  const uint32_t now = work->now[instance];
  work->now[instance] = WO__GONE;
  return now == WO__GONE || wo_alloc_pattern_add_free(&work->to, now);
}

enum wo_status wo__rewriting_end(struct wo__rewriting *work, bool is_made, const char *why_unchanged,
                                 struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  free(work->now);
  if (is_made && why_unchanged == NULL) {
    *ret_pattern = work->to;
    return WO_OK;
  }
  wo_alloc_pattern_done(&work->to);
  if (!is_made) return wo_err_set(err, WO_E_NOMEM, "no memory for the changed recording");
  return wo_err_set(err, WO_E_RANGE, "%s", why_unchanged);
}

/* ---- Other sizes ---- */

/* Size 0 marks an allocation that the changed program does not make. The instances alive at the start keep their order, so that
 * they are placed as before. */
static bool rewrite_start(struct wo__rewriting *work, const struct wo_transform_request *request, wo__resize *resize) {
  for (size_t i = 0; i < work->from->start_count; i++) {
    struct wo_instance instance = work->from->instances.items[i];
    instance.size_bytes = resize(request, i);
    if (instance.size_bytes == 0) continue;
    work->now[i] = (uint32_t)work->to.instances.count;
    if (!wo_alloc_pattern_add_start(&work->to, instance)) return false;
  }
  return true;
}

static bool rewrite_requests(struct wo__rewriting *work, const struct wo_transform_request *request, wo__resize *resize) {
  for (size_t r = 0; r < work->from->requests.count; r++) {
    const struct wo_request *const from = &work->from->requests.items[r];
    bool is_added = true;
    if (from->kind != WO_REQUEST_ALLOC) {
      is_added = wo__repeat_request(work, from);
    } else {
      struct wo_instance instance = work->from->instances.items[from->subject];
      instance.size_bytes = resize(request, from->subject);
      if (instance.size_bytes > 0)
        is_added = wo_alloc_pattern_add_again(&work->to, &instance, from->entry, &work->now[from->subject]);
    }
    if (!is_added) return false;
  }
  return true;
}

/* A pattern from the beginning of a program remains one: it runs once, and is not repeated as a step is. */
static bool add_extra(struct wo__rewriting *work, const struct wo_instance *extra) {
  uint32_t added;
  if (work->from->start_count > 0) return wo_alloc_pattern_add_start(&work->to, *extra);
  return wo_alloc_pattern_add_alloc(&work->to, *extra, WO_NO_ENTRY, &added);
}

enum wo_status wo__rewrite(const struct wo_transform_request *request, wo__resize *resize, const struct wo_instance *extra,
                           struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  struct wo__rewriting work;
  const bool is_made = begin(&work, request->pattern) && (extra == NULL || add_extra(&work, extra)) &&
                       rewrite_start(&work, request, resize) && rewrite_requests(&work, request, resize);
  return wo__rewriting_end(&work, is_made, NULL, ret_pattern, err);
}
