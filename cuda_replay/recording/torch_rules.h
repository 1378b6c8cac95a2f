/* Changes of PyTorch's allocator from version to version: one table for the whole program (torch_rules.def). */
#ifndef WO_TORCH_RULES_H
#define WO_TORCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum wo_torch_rule {
#define WO_TORCH_RULE(id, since, text) WO_TORCH_##id,
#include "cuda_replay/recording/torch_rules.def"
#undef WO_TORCH_RULE
  WO_TORCH_RULE_COUNT_
};

/* The first version (settings.h) in which a rule holds. */
uint16_t wo_torch_since(enum wo_torch_rule rule);

/* Whether it holds in a version. */
static inline bool wo_torch_has(uint16_t torch, enum wo_torch_rule rule) {
  return torch >= wo_torch_since(rule);
}

#endif
