/* The table of version rules, read. */
#include "cuda_replay/torch_rules.h"

#include <assert.h>

struct rule {
  uint16_t since;
  const char *text;
};

static const struct rule rules[] = {
#define WO_TORCH_RULE(id, since, text) {since, text},
#include "cuda_replay/torch_rules.def"
#undef WO_TORCH_RULE
};

uint16_t wo_torch_since(enum wo_torch_rule rule) {
  assert((unsigned)rule < (unsigned)WO_TORCH_RULE_COUNT_);
  return rules[rule].since;
}

const char *wo_torch_rule_text(enum wo_torch_rule rule) {
  assert((unsigned)rule < (unsigned)WO_TORCH_RULE_COUNT_);
  return rules[rule].text;
}
