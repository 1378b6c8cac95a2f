/* Looks up the table of version rules. */
#include "cuda_replay/recording/torch_rules.h"

#include <assert.h>

static const uint16_t first_versions[] = {
#define WO_TORCH_RULE(id, since, text) since,
#include "cuda_replay/recording/torch_rules.def"
#undef WO_TORCH_RULE
};

uint16_t wo_torch_since(enum wo_torch_rule rule) {
  assert((unsigned)rule < (unsigned)WO_TORCH_RULE_COUNT_);
  return first_versions[rule];
}
