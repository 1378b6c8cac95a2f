/* What the files of the lint share. Private to rules/. */
#ifndef WO_RULE_CHECK_H
#define WO_RULE_CHECK_H

#include "rules/load/rule.h"

/* One run of the lint. The set is made once, because making it compiles the prefilter over all literals; NULL when memory was
 * out, and then no pattern is checked. */
struct wo_check {
  const struct wo_pack *pack;
  wo_complaint_fn fn;
  void *context;
  size_t complaints;
  struct wo_pattern_set *set; /* over all patterns of the pack */
};

/* Hands on a complaint about a rule, at the place where the rule starts. */
void wo__check_complain(struct wo_check *check, struct wo_rule_place place, enum wo_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Looks for conditions that can never hold, or never not, and for kinds that no pattern yields (rule_check_logic.c). */
void wo__check_cause_logic(struct wo_check *check, const struct wo_cause *cause);
void wo__check_fix_logic(struct wo_check *check, const struct wo_fix *fix);

/* For printf: "%.*s". Evaluates its argument more than once. The empty string keeps NULL from printf, which may not be given it
 * even with a precision of zero. */
#define WO_SHOWN(view) (int)(view).len, (view).ptr == NULL ? "" : (view).ptr

#endif
