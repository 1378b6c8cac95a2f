/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of an expression, shared only by its parser (expr_parse.c) and its evaluator (expr_eval.c).
 *
 * A tree is built once, checked while it is built, and never changed. Names that stand for another expression ("let") point at
 * it, so several trees form one acyclic graph; every node knows how tall and how large it is with those expanded, and the parser
 * refuses what is too much. Evaluation and visiting can therefore recurse without a guard of their own. */
#ifndef WO_EXPR_INTERNAL_H
#define WO_EXPR_INTERNAL_H

#include "parsers/base/limits.h"
#include "rules/language/expr.h"

enum wo_op {
#define WO_OP(code, eval) code,
#define WO_OP_FUNCTION(code, eval, name, shape, least, most) code,
#include "rules/language/ops.def"
#undef WO_OP
#undef WO_OP_FUNCTION
  WO_OP_COUNT_
};

struct wo_node {
  enum wo_op op;
  enum wo_unit unit;
  enum wo_rows rows;     /* the table whose columns it uses outside of an aggregate */
  bool has_aggregate;    /* definitions expanded */
  struct wo_view source; /* as written; the name of a definition */
  uint32_t height;       /* 1 for a leaf; definitions expanded */
  uint32_t nodes;        /* in this tree; definitions expanded */
  uint32_t arg_count;
  uint32_t place; /* of a fact, from 1 (struct wo_names); 0: it is not known */
  union {
    double number;
    struct wo_view text;
    const struct wo_expr *definition;
    const struct wo_node *const *args; /* for every op after WO_OP_DEFINITION */
  } as;
};

/* The value of one node. */
struct wo_value wo__expr_eval_node(const struct wo_node *node, const struct wo_facts_source *facts);

/* The source that is on one row of a table. */
struct wo_facts_source wo__expr_row(const struct wo_facts_source *facts, size_t row);

static inline bool wo__op_is_aggregate(enum wo_op op) {
  return op >= WO_OP_ROWS_MIN && op <= WO_OP_ROWS_ALL;
}

/* As wo_expr_parse, for text that already lives as long as the arena: it is not copied. */
enum wo_status wo__expr_parse_borrowed(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                                       const struct wo_expr **ret_expr, struct wo_err *err);

#endif
