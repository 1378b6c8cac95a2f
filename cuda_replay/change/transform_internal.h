/* SPDX-License-Identifier: Apache-2.0 */
/* Private to transform*.c: writes a pattern again, request by request. */
#ifndef WO_TRANSFORM_INTERNAL_H
#define WO_TRANSFORM_INTERNAL_H

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/change/transforms.h"

#define WO__GONE UINT32_MAX

/* A pattern that is written again. */
struct wo__rewriting {
  const struct wo_alloc_pattern *from;
  struct wo_alloc_pattern to;
  uint32_t *now; /* for each instance of `from`: the one of `to` that represents it; WO__GONE if there is none */
};

/* Begins with the instances that are alive at the start. False if memory is out. */
bool wo__rewriting_begin_alive(struct wo__rewriting *work, const struct wo_alloc_pattern *from);

/* Repeats a request: an allocation is represented by the one that it adds; another request refers to what represents its
 * instance, and is left out if nothing does. False if memory is out. */
bool wo__repeat_request(struct wo__rewriting *work, const struct wo_request *request);

/* Frees what represents an instance, if anything does. False if memory is out. */
bool wo__free_now(struct wo__rewriting *work, uint32_t instance);

/* Ends with the pattern, or with WO_E_NOMEM if it is not made, or with WO_E_RANGE and the reason if nothing was changed (NULL:
 * something was). */
enum wo_status wo__rewriting_end(struct wo__rewriting *work, bool is_made, const char *why_unchanged,
                                 struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

/* The new size of an instance; 0 drops it. */
typedef uint64_t wo__resize(const struct wo_transform_request *request, size_t instance);

/* The pattern with resized instances and, before them, one more that is alive from the start to the end (NULL: none).
 * WO_E_NOMEM. */
enum wo_status wo__rewrite(const struct wo_transform_request *request, wo__resize *resize, const struct wo_instance *extra,
                           struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

/* The rule of an instance / whether it is of a class and not a copy or temporary of such an instance. */
enum wo_class_rule wo__rule_of(const struct wo_transform_request *request, size_t instance);
bool wo__is_parameter(const struct wo_transform_request *request, size_t instance);
bool wo__is_gradient(const struct wo_transform_request *request, size_t instance);
bool wo__is_state(const struct wo_transform_request *request, size_t instance);

/* Bytes of all parameters / of the largest one. */
uint64_t wo__parameter_bytes(const struct wo_transform_request *request, uint64_t *ret_largest);

/* The transforms of the table, each kind in a file of its own. */
#define WO_TRANSFORM(id, name, amount_min, amount_max, above_pct, below_pct, summary, assumption)                                \
  wo_transform_apply_one wo__transform_##id;
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM

#endif
