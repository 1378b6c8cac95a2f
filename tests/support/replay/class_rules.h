/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of classification in words, for messages. */
#ifndef WO_TESTS_CLASS_RULES_H
#define WO_TESTS_CLASS_RULES_H

#include "cuda_replay/classes/classify.h"

struct class_rule_row {
  unsigned confidence_pct;
  const char *text;
};

static const struct class_rule_row class_rules[WO_CLASS_RULE_COUNT_] = {
#define WO_CLASS_RULE(id, class_, confidence_pct, text) {confidence_pct, text},
#include "cuda_replay/classes/classify_rules.def"
#undef WO_CLASS_RULE
};

#endif
