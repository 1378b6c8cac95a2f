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
};

/* Hands on a complaint, "cause <id>: ...", at the place where the rule starts. */
void wo__lint_complain(const struct wo_lint_rule *rule, enum wo_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Complains of the id of a rule that does not exist, and names the closest: "<part> '<id>' (did you mean ...)". */
void wo__lint_link(const struct wo_lint_rule *rule, enum wo_sort sort, struct wo_view id, const char *part);

/* Looks for conditions that can never hold, or never not, and for kinds that no pattern yields (rule_check_logic.c). */
void wo__lint_cause_logic(const struct wo_lint_rule *rule, const struct wo_cause *cause);
void wo__lint_fix_logic(const struct wo_lint_rule *rule, const struct wo_fix *fix);

#endif
