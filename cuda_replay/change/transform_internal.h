/* Private to transform*.c: writes a pattern again with other sizes, without dropped instances, with additional ones at the front.
 */
#ifndef WO_TRANSFORM_INTERNAL_H
#define WO_TRANSFORM_INTERNAL_H

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/change/transforms.h"

/* The new size of an instance; 0 drops it. */
typedef uint64_t wo__resize(const struct wo_transform_request *request, size_t instance);

/* A pattern with resized instances and, before them, `extra_count` more that are alive from the start to the end. False if memory
 * is out. */
bool wo__rewrite(const struct wo_transform_request *request, wo__resize *resize, const struct wo_instance *extra,
                 size_t extra_count, struct wo_alloc_pattern *ret_pattern);

/* The rule of an instance / whether it is of a class and not a copy or temporary of such an instance. */
enum wo_class_rule wo__rule_of(const struct wo_transform_request *request, size_t instance);
bool wo__is_parameter(const struct wo_transform_request *request, size_t instance);
bool wo__is_gradient(const struct wo_transform_request *request, size_t instance);
bool wo__is_state(const struct wo_transform_request *request, size_t instance);

/* Bytes of all parameters / of the largest one. */
uint64_t wo__parameter_bytes(const struct wo_transform_request *request, uint64_t *ret_largest);

/* The transforms of the table, each kind in a file of its own. */
#define WO_TRANSFORM(id, name, amount_min, amount_max, summary, assumption) wo_transform_apply_one wo__transform_##id;
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM

#endif
