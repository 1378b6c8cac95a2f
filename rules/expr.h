/* Expressions over facts: the conditions and formulas of rule files.
 *
 *   expr    = or
 *   or      = and { "or" and }
 *   and     = not { "and" not }
 *   not     = [ "not" ] cmp
 *   cmp     = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
 *   sum     = product { ("+" | "-") product }
 *   product = unary { ("*" | "/") unary }
 *   unary   = [ "-" ] primary
 *   primary = number | percentage ("10%") | size ("512MiB", "2 GiB") | "text" | true | false | name
 *           | function "(" ... ")" | "(" expr ")"
 *   name    = letter { letter | digit | "_" | "." }
 *
 * Functions:
 *
 *   known(x)  unknown(x)            whether it has a value
 *   min(a,b,...)  max(a,b,...)  floor(x)  ceil(x)  round(x)  abs(x)
 *   if(cond,a,b)                    one of two values of one unit
 *   otherwise(x, default)           x, or the default when x is unknown
 *   has(text,"part")                ASCII case ignored
 *   one_of(text,"a","b",...)        byte by byte
 *   nominal(x)                      drops the interval
 *   divisor_at_most(n, limit)       largest whole divisor of n that is <= limit, at least 1
 *   power_of_two_at_most(x)
 *
 * Types are checked when parsing: bytes + bytes, bytes / bytes = number, bytes * number, comparison
 * of equal units only. Intervals are carried through arithmetic; a comparison that some values in
 * the intervals satisfy and others do not is UNDECIDED, as is anything over an unknown fact;
 * and/or/not follow Kleene's three-valued logic. No loops, no side effects, bounded depth. Division
 * by an interval that contains zero is unknown. */
#ifndef WO_EXPR_H
#define WO_EXPR_H

#include "parsers/base/arena.h"
#include "parsers/base/status.h"
#include "rules/value.h"

struct wo_expr; /* lives in the arena it was parsed into */

/* What the parser needs to know about names. unit_of returns WO_UNIT_NONE for a name that does not
 * exist. definition (may be NULL) returns an expression that the name stands for (a "let"), or
 * NULL. */
struct wo_names {
  enum wo_unit (*unit_of)(void *context, struct wo_view name);
  const struct wo_expr *(*definition)(void *context, struct wo_view name);
  void *context;
};

/* Supplies the value of a fact at evaluation. */
struct wo_facts_source {
  struct wo_value (*get)(void *context, struct wo_view name);
  void *context;
};

/* Parses and type-checks text. On failure err->column is the place in text (from 1), and the message says what was expected. */
enum wo_status wo_expr_parse(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                             const struct wo_expr **ret_expr, struct wo_err *err);

/* The unit of the expression's value. */
enum wo_unit wo_expr_unit(const struct wo_expr *expr);

/* The text it was parsed from. */
struct wo_view wo_expr_source(const struct wo_expr *expr);

/* Its value over the given facts. Total. The value's evidence is that of the first known fact it used. */
struct wo_value wo_expr_eval(const struct wo_expr *expr, const struct wo_facts_source *facts);

/* As wo_expr_eval for a BOOL expression: unknown counts as WO_UNDECIDED. */
enum wo_truth wo_expr_truth(const struct wo_expr *expr, const struct wo_facts_source *facts);

/* Calls fn with the name of each fact that the expression can use (definitions expanded; a name may come more than once). */
void wo_expr_each_fact(const struct wo_expr *expr, void (*fn)(void *context, struct wo_view name), void *context);

#endif
