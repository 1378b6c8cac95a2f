/* Rewriting: requests of dropped instances are left out, all others are repeated in their order. */
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

struct rewrite {
  const struct wo_transform_request *request;
  wo__resize *resize;
  struct wo_alloc_pattern to;
  uint32_t *now; /* for each instance: its new index, or DROPPED */
};

#define DROPPED UINT32_MAX

/* The instances alive at the start keep their order, so that they are placed as before. */
static bool rewrite_start(struct rewrite *rewrite) {
  const struct wo_alloc_pattern *from = rewrite->request->pattern;
  for (size_t i = 0; i < from->start_count; i++) {
    struct wo_instance instance = from->instances.items[i];
    instance.size_bytes = rewrite->resize(rewrite->request, i);
    if (instance.size_bytes == 0) continue;
    rewrite->now[i] = (uint32_t)rewrite->to.instances.count;
    if (!wo_alloc_pattern_add_start(&rewrite->to, instance)) return false;
  }
  return true;
}

/* Size 0 marks an allocation that the changed program does not make. */
static bool rewrite_alloc(struct rewrite *rewrite, uint32_t from, uint32_t entry) {
  struct wo_instance instance = rewrite->request->pattern->instances.items[from];
  bool was_refused = instance.death == instance.birth;
  instance.size_bytes = rewrite->resize(rewrite->request, from);
  if (instance.size_bytes == 0) return true;
  if (was_refused) return wo_alloc_pattern_add_refused(&rewrite->to, instance, entry, &rewrite->now[from]);
  return wo_alloc_pattern_add_alloc(&rewrite->to, instance, entry, &rewrite->now[from]);
}

/* All other requests follow their instances; those of dropped ones are left out. */
static bool rewrite_requests(struct rewrite *rewrite) {
  const struct wo_alloc_pattern *from = rewrite->request->pattern;
  for (size_t r = 0; r < from->requests.count; r++) {
    struct wo_request request = from->requests.items[r];
    if (request.kind == WO_REQUEST_ALLOC) {
      if (!rewrite_alloc(rewrite, request.subject, request.entry)) return false;
      continue;
    }
    if (wo_request_has_instance(&request)) {
      request.subject = rewrite->now[request.subject];
      if (request.subject == DROPPED) continue;
    }
    if (!wo_alloc_pattern_add_request(&rewrite->to, request)) return false;
  }
  return true;
}

/* A pattern from the beginning of a program remains one: it runs once, and is not repeated as a step is. */
static bool add_extra(struct rewrite *rewrite, const struct wo_instance *extra) {
  uint32_t added;
  if (rewrite->request->pattern->start_count > 0) return wo_alloc_pattern_add_start(&rewrite->to, *extra);
  return wo_alloc_pattern_add_alloc(&rewrite->to, *extra, WO_NO_ENTRY, &added);
}

bool wo__rewrite(const struct wo_transform_request *request, wo__resize *resize, const struct wo_instance *extra,
                 size_t extra_count, struct wo_alloc_pattern *ret_pattern) {
  size_t count = request->pattern->instances.count;
  struct rewrite rewrite = {.request = request, .resize = resize, .to = {.recording = request->pattern->recording}};
  rewrite.now = malloc((count + 1) * sizeof rewrite.now[0]);
  bool is_made = rewrite.now != NULL;
  for (size_t i = 0; is_made && i < count; i++) rewrite.now[i] = DROPPED;
  for (size_t i = 0; is_made && i < extra_count; i++) is_made = add_extra(&rewrite, &extra[i]);
  is_made = is_made && rewrite_start(&rewrite) && rewrite_requests(&rewrite);
  free(rewrite.now);
  if (!is_made) {
    wo_alloc_pattern_done(&rewrite.to);
    return false;
  }
  *ret_pattern = rewrite.to;
  return true;
}
