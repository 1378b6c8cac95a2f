/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the lint. Private to rules/check. */
#ifndef WO_RULE_CHECK_INTERNAL_H
#define WO_RULE_CHECK_INTERNAL_H

#include "rules/check/rule_check.h"
#include "rules/load/pack_internal.h"

/* One run of the lint. The set is made once, because making it compiles the prefilter over all literals; NULL when memory was
 * out, and then no pattern is checked. */
struct wo_lint {
  const struct wo_pack *pack;
  wo_complaint_fn fn;
  void *context;
  size_t complaints;
  struct wo_pattern_set *set; /* over all patterns of the pack */
};

/* The rule that is looked at, for complaints. */
struct wo_lint_rule {
  struct wo_lint *lint;
  struct wo_rule_place place;
  enum wo_sort sort; /* WO_SORT_NONE: the complaint is about no rule */
  struct wo_view id;
  const char *key; /* the member that it is about ("cost.speed" is one of a member); NULL: the rule */
  size_t item;     /* of that member, if it is an array: counted from 1; 0: the member itself */
};

/* The same rule, for complaints about an item of a member. */
static inline struct wo_lint_rule wo__lint_at(const struct wo_lint_rule *rule, const char *key, size_t item) {
  struct wo_lint_rule at = *rule;
  at.key = key;
  at.item = item;
  return at;
}

/* Hands on a complaint, "cause <id>: ...", at the value that it is about, as far as that can be found. */
void wo__lint_complain(const struct wo_lint_rule *rule, enum wo_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Complains of the id of a rule that does not exist, and names the closest: "<part> '<id>' (did you mean ...)". */
void wo__lint_link(const struct wo_lint_rule *rule, enum wo_sort sort, struct wo_view id, const char *part);

/* Complains of a word that is none of those that were offered: "unknown family 'x' (A, B, C)". */
void wo__lint_word(const struct wo_lint_rule *rule, const char *what, struct wo_known_names *known);

/* Looks for conditions that can never hold, or never not, and for kinds that no pattern yields (rule_check_logic.c). */
void wo__lint_cause_logic(const struct wo_lint_rule *rule, const struct wo_cause *cause);
void wo__lint_fix_logic(const struct wo_lint_rule *rule, const struct wo_fix *fix);

#endif
