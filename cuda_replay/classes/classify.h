/* SPDX-License-Identifier: Apache-2.0 */
/* The class of each allocation (parameter, gradient, optimizer state, activation, ...) and the rule that decided it.
 *
 * It is decided by phase (forward, backward, optimizer step: from the stack), by life (until the end of the recording, of the
 * phase, of the operation) and by size (a gradient is as large as its parameter). The rules are in one table, classify_rules.def;
 * the first that holds decides. Without stacks only life and size are left, and the confidence is lower. One thread at a time. */
#ifndef WO_CLASSIFY_H
#define WO_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/classes/stack_facts.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"

enum wo_class_rule {
#define WO_CLASS_RULE(id, class_, confidence_pct, text) WO_CLASS_RULE_##id,
#include "cuda_replay/classes/classify_rules.def"
#undef WO_CLASS_RULE
  WO_CLASS_RULE_COUNT_
};

/* The phase of an iteration in which an allocation was made. */
enum wo_phase { WO_PHASE_START, WO_PHASE_FORWARD, WO_PHASE_BACKWARD, WO_PHASE_OPTIMIZER, WO_PHASE_COUNT_ };

struct wo_class_mark {
  uint8_t rule;  /* enum wo_class_rule; the class itself is in the instance */
  uint8_t phase; /* enum wo_phase */
};

/* Rules and phases of a pattern, one for each instance. */
struct wo_classes {
  WO_VEC(struct wo_class_mark) marks;
  struct wo_stack_facts_set facts; /* of all stacks of the recording */
};

/* Sets class_ of every instance and fills *ret_classes. `trace` is the trace of the pattern, for the times of annotations; NULL:
 * annotations are not used. WO_E_NOMEM. */
enum wo_status wo_classify(struct wo_alloc_pattern *pattern, const struct wo_trace *trace, struct wo_classes *ret_classes);

/* Releases what it owns; NULL allowed. */
void wo_classes_done(struct wo_classes *classes);

#endif
