/* The table of the rules, and setting one. See classify.h. */
#include <assert.h>

#include "cuda_replay/classes/classify_internal.h"

static const struct {
  enum wo_alloc_class class_;
  unsigned confidence_pct;
  const char *text;
} rules[] = {
#define WO_CLASS_RULE(id, class_, confidence_pct, text) {class_, confidence_pct, text},
#include "cuda_replay/classes/classify_rules.def"
#undef WO_CLASS_RULE
};

const char *wo_class_rule_text(enum wo_class_rule rule) {
  assert(rule < WO_CLASS_RULE_COUNT_);
  return rules[rule].text;
}

unsigned wo_class_rule_confidence(enum wo_class_rule rule) {
  assert(rule < WO_CLASS_RULE_COUNT_);
  return rules[rule].confidence_pct;
}

void wo__class_set(struct wo__classing *work, size_t instance, enum wo_class_rule rule) {
  assert(rule < WO_CLASS_RULE_COUNT_);
  work->classes->marks.items[instance].rule = (uint8_t)rule;
  work->pattern->instances.items[instance].class_ = (uint32_t)rules[rule].class_ & 31u;
}
