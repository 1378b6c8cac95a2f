/* SPDX-License-Identifier: Apache-2.0 */
/* Setting the rule of an instance, and with it its class. See classify.h. */
#include <assert.h>

#include "cuda_replay/classes/classify_internal.h"

static const enum wo_alloc_class classes_of_rules[] = {
#define WO_CLASS_RULE(id, class_, confidence_pct, text) class_,
#include "cuda_replay/classes/classify_rules.def"
#undef WO_CLASS_RULE
};

void wo__class_set(struct wo__classing *work, size_t instance, enum wo_class_rule rule) {
  assert(rule < WO_CLASS_RULE_COUNT_);
  work->classes->marks.items[instance].rule = (uint8_t)rule;
  work->pattern->instances.items[instance].class_ = (uint32_t)classes_of_rules[rule] & 31u;
}
