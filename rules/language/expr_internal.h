/* The tree of an expression, shared by its parser (expr_parse.c) and its evaluator (expr_eval.c) and by nobody else.
 *
 * A tree is built once, checked while it is built, and never changed. Names that stand for another expression ("let") point at
 * it, so several trees form one acyclic graph; every node knows how tall and how large it is with those expanded, and the parser
 * refuses what is too much. Evaluation and visiting can therefore recurse without a guard of their own. */
#ifndef WO_EXPR_INTERNAL_H
#define WO_EXPR_INTERNAL_H

#include "parsers/base/limits.h"
#include "rules/language/expr.h"

enum wo_op {
  WO_OP_CONSTANT,   /* of the node's unit: `number` (BOOL: 0 or 1) or `text` */
  WO_OP_FACT,       /* `text` is its name */
  WO_OP_DEFINITION, /* `definition` */
  /* From here on every op has arguments. Truth first: Kleene's logic, in the order of binding. */
  WO_OP_NOT,
  WO_OP_AND,
  WO_OP_OR,
  /* Comparisons, which the evaluator brings down to equality and "less". */
  WO_OP_EQUAL,
  WO_OP_UNEQUAL,
  WO_OP_LESS,
  WO_OP_LESS_EQUAL,
  WO_OP_GREATER,
  WO_OP_GREATER_EQUAL,
  /* Arithmetic over intervals; which units may meet is settled by the parser. */
  WO_OP_ADD,
  WO_OP_SUBTRACT,
  WO_OP_MULTIPLY,
  WO_OP_DIVIDE,
  WO_OP_NEGATE,
  /* Functions, named as rule files write them. */
  WO_OP_KNOWN,
  WO_OP_UNKNOWN,
  WO_OP_MIN,
  WO_OP_MAX,
  WO_OP_FLOOR,
  WO_OP_CEIL,
  WO_OP_ROUND,
  WO_OP_ABS,
  WO_OP_IF,
  WO_OP_OTHERWISE,
  WO_OP_HAS,
  WO_OP_ONE_OF,
  WO_OP_NOMINAL,
  WO_OP_DIVISOR_AT_MOST,
  WO_OP_POWER_OF_TWO_AT_MOST,
  /* Aggregates: one argument, evaluated for each row of a table. */
  WO_OP_ROWS_MIN,
  WO_OP_ROWS_MAX,
  WO_OP_ROWS_SUM,
  WO_OP_ROWS_SPREAD,
  WO_OP_ROWS_COUNT,
  WO_OP_ROWS_ANY,
  WO_OP_ROWS_ALL,
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
  union {
    double number;
    struct wo_view text;
    const struct wo_expr *definition;
    const struct wo_node *const *args; /* for every op behind WO_OP_DEFINITION */
  } as;
};

struct wo_expr {
  struct wo_view source;
  const struct wo_node *root;
};

/* The value of one node. */
struct wo_value wo__expr_eval_node(const struct wo_node *node, const struct wo_facts_source *facts);

/* The source that stands on one row of a table. */
struct wo_facts_source wo__expr_row(const struct wo_facts_source *facts, size_t row);

/* Calls fn for the facts below a node, in the order of the text. */
void wo__expr_each_fact(const struct wo_node *node, void (*fn)(void *context, struct wo_view name), void *context);

static inline bool wo__op_is_aggregate(enum wo_op op) {
  return op >= WO_OP_ROWS_MIN && op <= WO_OP_ROWS_ALL;
}

/* As wo_expr_parse, for text that already lives as long as the arena: it is not copied. */
enum wo_status wo__expr_parse_borrowed(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                                       const struct wo_expr **ret_expr, struct wo_err *err);

#endif
