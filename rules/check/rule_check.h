/* SPDX-License-Identifier: Apache-2.0 */
/* The lint: `whyoom rules check`. */
#ifndef WO_RULE_CHECK_H
#define WO_RULE_CHECK_H

#include "rules/load/rule.h"

/* The names of families, in the order of docs/rules.md; NULL after the last one. */
const char *wo_rule_family(size_t at);

/* Lints a pack loaded with WO_LOAD_ALL: ids, families, missing parts, dangling references, patterns
 * (wo_pattern_check, their samples), causes without one example that gives and two that do not,
 * fixes that no cause proposes. Rules that are mistaken are passed over. A complaint has the line and column of the value that it
 * is about if the pack keeps its files, else the line of the rule. What a pattern costs on hard lines is measured for the user's
 * patterns, for built-in ones only in a pack without the user's files. Returns the number of complaints. */
size_t wo_pack_check(const struct wo_pack *pack, wo_complaint_fn fn, void *context);

/* Complains of ids and marks that the program knows (rules/language/known_ids.def, parsers/event/marks.def) and that no rule of
 * the pack has: for packs with all built-in rules. */
size_t wo_pack_check_known(const struct wo_pack *pack, wo_complaint_fn fn, void *context);

#endif
