/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of PyTorch's allocator from version to version: one table for the whole program (torch_rules.def). */
#ifndef WO_TORCH_RULES_H
#define WO_TORCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* A rule is the first version (settings.h) in which it holds; several may begin with the same one. */
enum wo_torch_rule {
#define WO_TORCH_RULE(id, since, text) WO_TORCH_##id = (since),
#include "cuda_replay/recording/torch_rules.def"
#undef WO_TORCH_RULE
};

/* Whether it holds in a version. */
static inline bool wo_torch_has(uint16_t torch, enum wo_torch_rule rule) {
  return torch >= (uint16_t)rule;
}

#endif
