/* SPDX-License-Identifier: Apache-2.0 */
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
 * Aggregates over the ranks that the log names (rank.*) and the cards of monitoring traces (card.*), whose columns are in
 * rules/language/rows.def and may be used inside of them only, one table at a time and no aggregate within another:
 *
 *   max(rank.x)  min(rank.x)  spread(rank.x)   over the rows where it is known; unknown where it is known in none
 *   sum(rank.x)                                unknown unless it is known in every row
 *   any(cond)  all(cond)                       "or" and "and" over the rows; unknown without rows
 *   count(cond)                                rows where it holds; an interval, when some are undecided
 *
 * The time line, by kinds of evidence (parsers/event/event_kinds.def), without quotes:
 *
 *   seen(kind)            whether there is such an event, as count.<kind> > 0
 *   before(kind, kind)    whether the first of the one came before the first of the other; unknown where one is missing, or
 *                         neither times nor lines tell
 *   during(phase)         whether the failure came in that phase (load, forward, backward, optimizer, eval, generate, ...)
 *   slope(figure)         change of a figure from the first to the last message of the failing rank (allocated, reserved,
 *                         reserved_unallocated, free, process, tried), or of the memory in use over a trace (trace)
 *
 * Types are checked when parsing: bytes + bytes, bytes / bytes = number, bytes * number, comparison
 * of equal units only. Intervals are carried through arithmetic; a comparison that some values in
 * the intervals satisfy and others do not is UNDECIDED, as is anything over an unknown fact;
 * and/or/not follow Kleene's three-valued logic. No loops, no side effects, bounded depth. Division
 * by an interval that contains zero is unknown. */
#ifndef WO_EXPR_H
#define WO_EXPR_H

#include "parsers/base/arena.h"
#include "parsers/base/nearest/nearest.h"
#include "parsers/base/status.h"
#include "rules/language/value.h"

struct wo_node; /* the tree; lives in the arena that it was parsed into */

struct wo_expr {
  struct wo_view source; /* the text that it was parsed from */
  const struct wo_node *root;
};

/* The names that the parser can use. unit_of returns WO_UNIT_NONE for a name that does not exist. definition (may be NULL)
 * returns an expression that the name stands for (a "let"), or NULL. */
struct wo_names {
  /* Offers the names that exist, for messages; may be NULL. */
  void (*offer)(void *context, struct wo_known_names *known);
  enum wo_unit (*unit_of)(void *context, struct wo_view name);
  /* Where a source finds the fact of that name, or WO_NOT_FOUND; may be NULL. */
  size_t (*place_of)(void *context, struct wo_view name);
  const struct wo_expr *(*definition)(void *context, struct wo_view name);
  void *context;
};

/* Fills *err with a message on a name that does not exist, and on the closest one that does. */
void wo_names_complain(const struct wo_names *names, struct wo_view name, struct wo_err *err);

/* The tables that aggregates go over. */
enum wo_rows { WO_ROWS_NONE, WO_ROWS_RANK, WO_ROWS_CARD };

/* The table that a name is a column of: "rank.free" of WO_ROWS_RANK. */
enum wo_rows wo_rows_of(struct wo_view name);

/* Supplies the value of a fact at evaluation. get_at (may be NULL) is asked for those whose place was known when the expression
 * was parsed. row_count and get_row (both NULL: no rows) supply the tables; `row` is the
 * evaluator's own and to be left 0. is_open: no fact is settled, so that known() of one is undecided (wo_expr_constant). */
struct wo_facts_source {
  struct wo_value (*get)(void *context, struct wo_view name);
  struct wo_value (*get_at)(void *context, size_t place);
  void *context;
  size_t (*row_count)(void *context, enum wo_rows rows);
  struct wo_value (*get_row)(void *context, size_t row, struct wo_view name);
  size_t row;
  bool is_open;
};

/* Parses and type-checks text. On failure err->column is the place in text (from 1), and the message says what was expected. */
enum wo_status wo_expr_parse(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                             const struct wo_expr **ret_expr, struct wo_err *err);

/* The unit of the expression's value. */
enum wo_unit wo_expr_unit(const struct wo_expr *expr);

/* Its value over the given facts. Total. The value's evidence is that of the first known fact it used. */
struct wo_value wo_expr_eval(const struct wo_expr *expr, const struct wo_facts_source *facts);

/* As wo_expr_eval for a BOOL expression: unknown counts as WO_UNDECIDED. */
enum wo_truth wo_expr_truth(const struct wo_expr *expr, const struct wo_facts_source *facts);

/* The value that a BOOL expression has whatever the facts are; WO_UNDECIDED when that depends on them. */
enum wo_truth wo_expr_constant(const struct wo_expr *expr);

/* Whether what `part` asks for is among what `whole` asks for together ("a and b"), written alike: then `part`
 * holds whenever `whole` does. */
bool wo_expr_implies(const struct wo_expr *whole, const struct wo_expr *part);

/* A comparison that the rounding of printed numbers leaves open. */
struct wo_overlap {
  struct wo_view source; /* as the rule has it */
  struct wo_value left;
  struct wo_value right;
};

/* Whether a BOOL expression is undecided for rounding alone: all that it would take to decide it are exacter numbers.
 * *ret_overlap (may be NULL) is the first such comparison. False for what is decided, and where an unknown fact has a part in
 * it. */
bool wo_expr_overlap(const struct wo_expr *expr, const struct wo_facts_source *facts, struct wo_overlap *ret_overlap);

/* One condition within a condition. */
struct wo_expr_step {
  unsigned depth;      /* 0 for the parts of the whole */
  struct wo_expr expr; /* its source is as written */
  bool is_definition;  /* a name; what it stands for follows one deeper */
  bool is_leaf;        /* not taken apart further */
  struct wo_value value;
};

/* Takes a condition apart: calls fn with the operands of and, or, not and of definitions, in the order of the text. A value that
 * is no condition is one step. */
void wo_expr_explain(const struct wo_expr *expr, const struct wo_facts_source *facts,
                     void (*fn)(void *context, const struct wo_expr_step *step), void *context);

/* Calls fn with each name in the expression that stands for another expression (lets and definitions), inner ones first; one that
 * is used twice comes twice. */
void wo_expr_each_definition(const struct wo_expr *expr,
                             void (*fn)(void *context, struct wo_view name, const struct wo_expr *definition), void *context);

/* Calls fn with each kind that the expression compares oom.kind with, counts, or looks for on the time line. */
void wo_expr_each_kind(const struct wo_expr *expr, void (*fn)(void *context, struct wo_view kind), void *context);

/* Calls fn with the name of each fact that the expression can use (definitions expanded; a name may come more than once). */
void wo_expr_each_fact(const struct wo_expr *expr, void (*fn)(void *context, struct wo_view name), void *context);

/* A fact without which a BOOL expression is not true, whatever the others are. With values, it is not true either where the fact
 * is another text than each of them. */
#define WO_NEED_VALUES 24
#define WO_NEED_BYTES 320 /* room for the text of nearly all */
struct wo_need {
  struct wo_view name;
  struct wo_view values[WO_NEED_VALUES]; /* parts of the expression */
  size_t value_count;                    /* 0: any value */
};

/* The needs of a BOOL expression: facts, each once, in the order of the text with definitions expanded. Returns how many were
 * stored; there may be more than `cap`, and some that the form of the expression does not show. */
size_t wo_expr_needs(const struct wo_expr *expr, struct wo_need *needs, size_t cap);

/* Writes a need as text, "oom.kind" or "oom.kind=cuda_oom|hip_oom", NUL-terminated: without the values where they have no room.
 * Returns its length; cap > 0. */
size_t wo_need_text(const struct wo_need *need, char *buf, size_t cap);

/* Whether a need that is written so can be met with these facts. */
bool wo_need_is_met(struct wo_view need, const struct wo_facts_source *facts);

#endif
