/* Hands out the compiled-in packs. */
#include "rules/load/embedded.h"

#include <assert.h>

const struct wo_rule_file *wo_rule_embedded(enum wo_load_depth depth, size_t *ret_count) {
  assert(ret_count != NULL);
  const bool is_full = depth == WO_LOAD_ALL;
  *ret_count = is_full ? wo_embedded_full_count : wo_embedded_short_count;
  return is_full ? wo_embedded_full : wo_embedded_short;
}

const struct wo_prefilter_tables *wo_rule_prefilter(void) {
  return &wo_embedded_prefilter;
}
