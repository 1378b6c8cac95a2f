/* SPDX-License-Identifier: Apache-2.0 */
/* The lint of ids and marks that the code knows: a pack must have them. */
#include <stdio.h>

#include "rules/check/rule_check_internal.h"

#define SORT_KNOB WO_SORT_KNOB
#define SORT_PHASE WO_SORT_PHASE

static const struct {
  enum wo_sort sort;
  struct wo_view id;
} known_ids[] = {
#define WO_KNOWN_ID(sort, id, why) {SORT_##sort, {id, sizeof(id) - 1}},
#include "rules/language/known_ids.def"
#undef WO_KNOWN_ID
};

static bool has_mark(const struct wo_pack *pack, enum wo_mark mark) {
  for (size_t i = 0; i < pack->own_pattern_count; i++) {
    if (pack->patterns[i].mark == mark) return true;
  }
  return false;
}

size_t wo_pack_check_known(const struct wo_pack *pack, wo_complaint_fn fn, void *context) {
  struct wo_lint lint = {.pack = pack, .fn = fn, .context = context};
  const struct wo_lint_rule no_rule = {.lint = &lint};
  for (size_t i = 0; i < sizeof known_ids / sizeof known_ids[0]; i++) {
    char part[64];
    snprintf(part, sizeof part, "the program needs a %s that no rule defines:", wo__sort_rows[known_ids[i].sort].name);
    wo__lint_link(&no_rule, known_ids[i].sort, known_ids[i].id, part);
  }
  for (int mark = WO_MARK_NONE + 1; mark < WO_MARK_COUNT_; mark++) {
    if (!has_mark(pack, (enum wo_mark)mark))
      wo__lint_complain(&no_rule, WO_E_UNKNOWN, "the program needs a mark that no pattern has: '%s'",
                        wo_mark_name((enum wo_mark)mark));
  }
  return lint.complaints;
}
