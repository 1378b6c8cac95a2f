/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about expressions besides their value: why they are undecided, their parts, and whether they are constant.
 *
 * Everything here walks a checked tree, whose height the parser has bounded. */
#include <assert.h>

#include "rules/language/event_fact.h"
#include "rules/language/expr_internal.h"

enum wo_rows wo_rows_of(struct wo_view name) {
  if (wo_view_starts(name, "rank.")) return WO_ROWS_RANK;
  return wo_view_starts(name, "card.") ? WO_ROWS_CARD : WO_ROWS_NONE;
}

/* ---- constants -------------------------------------------------------------------------------------------------------- */

static struct wo_value know_nothing(void *context, struct wo_view name) {
  (void)context, (void)name;
  return wo_value_unknown(WO_UNIT_NONE);
}

enum wo_truth wo_expr_constant(const struct wo_expr *expr) {
  const struct wo_facts_source open = {.get = know_nothing, .is_open = true};
  return wo_expr_truth(expr, &open);
}

/* The name of a let is replaced by its expression: two rules may use different names for one thing. */
static const struct wo_node *resolve(const struct wo_node *node) {
  while (node->op == WO_OP_DEFINITION) node = node->as.definition->root;
  return node;
}

static bool is_same(const struct wo_node *a, const struct wo_node *b) {
  a = resolve(a);
  b = resolve(b);
  if (a->op != b->op || a->unit != b->unit) return false;
  if (a->op == WO_OP_FACT) return wo_view_equal(a->as.text, b->as.text);
  if (a->op == WO_OP_CONSTANT) {
    return a->unit == WO_UNIT_TEXT ? wo_view_equal(a->as.text, b->as.text) : a->as.number == b->as.number;
  }
  if (a->arg_count != b->arg_count) return false;
  for (size_t i = 0; i < a->arg_count; i++) {
    if (!is_same(a->as.args[i], b->as.args[i])) return false;
  }
  return true;
}

/* Whether one of the conditions that `whole` asks for is `part`. */
static bool asks_for(const struct wo_node *whole, const struct wo_node *part) {
  whole = resolve(whole);
  if (is_same(whole, part)) return true;
  return whole->op == WO_OP_AND && (asks_for(whole->as.args[0], part) || asks_for(whole->as.args[1], part));
}

/* As asks_for, with `part` taken apart: all of an "and", one of an "or". */
static bool asks_for_all(const struct wo_node *whole, const struct wo_node *part) {
  part = resolve(part);
  if (part->op == WO_OP_AND && !asks_for(whole, part)) {
    return asks_for_all(whole, part->as.args[0]) && asks_for_all(whole, part->as.args[1]);
  }
  if (part->op == WO_OP_OR && !asks_for(whole, part)) {
    return asks_for_all(whole, part->as.args[0]) || asks_for_all(whole, part->as.args[1]);
  }
  return asks_for(whole, part);
}

bool wo_expr_implies(const struct wo_expr *whole, const struct wo_expr *part) {
  assert(whole != NULL && part != NULL);
  return asks_for_all(whole->root, part->root);
}

/* ---- what rounding leaves open ---------------------------------------------------------------------------------------- */

struct overlap_walk {
  const struct wo_facts_source *facts;
  bool has_unknown; /* something else than rounding is in the way */
  bool is_found;
  struct wo_overlap first;
};

static bool is_comparison(enum wo_op op) {
  return op >= WO_OP_EQUAL && op <= WO_OP_GREATER_EQUAL;
}

/* The interval of a count comes from rows without a value, not from rounding. */
static bool counts_rows(const struct wo_node *node) {
  node = resolve(node);
  if (node->op == WO_OP_ROWS_COUNT) return true;
  for (size_t i = 0; node->op > WO_OP_DEFINITION && i < node->arg_count; i++) {
    if (counts_rows(node->as.args[i])) return true;
  }
  return false;
}

static void walk_comparison(struct overlap_walk *walk, const struct wo_node *node) {
  const struct wo_value left = wo__expr_eval_node(node->as.args[0], walk->facts);
  const struct wo_value right = wo__expr_eval_node(node->as.args[1], walk->facts);
  if (!left.is_known || !right.is_known || counts_rows(node->as.args[0]) || counts_rows(node->as.args[1])) {
    walk->has_unknown = true;
    return;
  }
  if (!walk->is_found) walk->first = (struct wo_overlap){.source = node->source, .left = left, .right = right};
  walk->is_found = true;
}

static void walk_open(struct overlap_walk *walk, const struct wo_node *node);

/* any() and all() are open for the rows that are. */
static void walk_rows(struct overlap_walk *walk, const struct wo_node *node) {
  const struct wo_facts_source *const facts = walk->facts;
  const size_t rows = facts->row_count == NULL ? 0 : facts->row_count(facts->context, node->as.args[0]->rows);
  if (rows == 0) walk->has_unknown = true;
  for (size_t i = 0; i < rows; i++) {
    const struct wo_facts_source one = wo__expr_row(facts, i);
    walk->facts = &one;
    walk_open(walk, node->as.args[0]);
    walk->facts = facts;
  }
}

/* Looks for what leaves a condition open; parts that are decided leave nothing open. */
static void walk_open(struct overlap_walk *walk, const struct wo_node *node) {
  node = resolve(node);
  if (wo__expr_eval_node(node, walk->facts).truth != WO_UNDECIDED) return;
  if (is_comparison(node->op)) {
    walk_comparison(walk, node);
  } else if (node->op == WO_OP_AND || node->op == WO_OP_OR || node->op == WO_OP_NOT) {
    for (size_t i = 0; i < node->arg_count; i++) walk_open(walk, node->as.args[i]);
  } else if (node->op == WO_OP_ROWS_ANY || node->op == WO_OP_ROWS_ALL) {
    walk_rows(walk, node);
  } else {
    walk->has_unknown = true;
  }
}

bool wo_expr_overlap(const struct wo_expr *expr, const struct wo_facts_source *facts, struct wo_overlap *ret_overlap) {
  assert(expr != NULL && facts != NULL);
  if (expr->root->unit != WO_UNIT_BOOL) return false;
  struct overlap_walk walk = {.facts = facts};
  walk_open(&walk, expr->root);
  if (walk.has_unknown || !walk.is_found) return false;
  if (ret_overlap != NULL) *ret_overlap = walk.first;
  return true;
}

/* ---- taking apart ----------------------------------------------------------------------------------------------------- */

struct steps {
  const struct wo_facts_source *facts;
  void (*fn)(void *context, const struct wo_expr_step *step);
  void *context;
};

static bool is_divisible(const struct wo_node *node) {
  const bool is_logic = node->op == WO_OP_AND || node->op == WO_OP_OR || node->op == WO_OP_NOT;
  return is_logic || node->op == WO_OP_DEFINITION;
}

static void emit(const struct steps *steps, const struct wo_node *node, unsigned depth) {
  const struct wo_expr_step step = {.depth = depth,
                                    .expr = {node->source, node},
                                    .is_definition = node->op == WO_OP_DEFINITION,
                                    .is_leaf = !is_divisible(node),
                                    .value = wo__expr_eval_node(node, steps->facts)};
  steps->fn(steps->context, &step);
}

static void take_apart(const struct steps *steps, const struct wo_node *node, unsigned depth);

/* "a and b and c" is one list, though its tree is two nodes tall; another connective below stands for itself. */
static void take_operand(const struct steps *steps, const struct wo_node *node, enum wo_op op, unsigned depth) {
  if (node->op == op) {
    for (size_t i = 0; i < node->arg_count; i++) take_operand(steps, node->as.args[i], op, depth);
    return;
  }
  emit(steps, node, depth);
  if (is_divisible(node)) take_apart(steps, node, depth + 1);
}

static void take_apart(const struct steps *steps, const struct wo_node *node, unsigned depth) {
  if (node->op == WO_OP_DEFINITION) {
    const struct wo_node *const root = node->as.definition->root;
    if (is_divisible(root) && root->op != WO_OP_DEFINITION) {
      take_apart(steps, root, depth);
    } else {
      take_operand(steps, root, WO_OP_COUNT_, depth);
    }
    return;
  }
  for (size_t i = 0; i < node->arg_count; i++) take_operand(steps, node->as.args[i], node->op, depth);
}

void wo_expr_explain(const struct wo_expr *expr, const struct wo_facts_source *facts,
                     void (*fn)(void *context, const struct wo_expr_step *step), void *context) {
  assert(expr != NULL && facts != NULL && fn != NULL);
  const struct steps steps = {.facts = facts, .fn = fn, .context = context};
  if (expr->root->op == WO_OP_AND || expr->root->op == WO_OP_OR) {
    take_apart(&steps, expr->root, 0);
  } else {
    take_operand(&steps, expr->root, WO_OP_COUNT_, 0);
  }
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

static void each_definition(const struct wo_node *node,
                            void (*fn)(void *context, struct wo_view name, const struct wo_expr *definition), void *context) {
  if (node->op == WO_OP_DEFINITION) {
    each_definition(node->as.definition->root, fn, context);
    fn(context, node->source, node->as.definition);
  }
  for (size_t i = 0; node->op > WO_OP_DEFINITION && i < node->arg_count; i++) each_definition(node->as.args[i], fn, context);
}

void wo_expr_each_definition(const struct wo_expr *expr,
                             void (*fn)(void *context, struct wo_view name, const struct wo_expr *definition), void *context) {
  assert(expr != NULL && fn != NULL);
  each_definition(expr->root, fn, context);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------------ */

/* Kinds that the name of a fact holds. */
static void visit_name(struct wo_view name, void (*fn)(void *context, struct wo_view kind), void *context) {
  struct wo_view words[WO_EVENT_WORDS];
  if (wo_view_starts(name, "count.")) fn(context, wo_view_skip(name, 6));
  const struct wo_event_function *const function = wo_event_fact_split(name, words);
  if (function == NULL || (function->fn != WO_EVENT_SEEN && function->fn != WO_EVENT_BEFORE)) return;
  for (size_t i = 0; i < function->word_count; i++) fn(context, words[i]);
}

static bool is_kind_fact(const struct wo_node *node) {
  return node->op == WO_OP_FACT && wo_view_is(node->as.text, "oom.kind");
}

static void visit_kinds(const struct wo_node *node, void (*fn)(void *context, struct wo_view kind), void *context) {
  node = resolve(node);
  if (node->op == WO_OP_FACT) visit_name(node->as.text, fn, context);
  if (node->op <= WO_OP_DEFINITION) return;
  const bool compares = node->op == WO_OP_ONE_OF || node->op == WO_OP_EQUAL || node->op == WO_OP_UNEQUAL;
  bool has_kind = false;
  for (size_t i = 0; i < node->arg_count; i++) has_kind = has_kind || is_kind_fact(resolve(node->as.args[i]));
  for (size_t i = 0; i < node->arg_count; i++) {
    const struct wo_node *const arg = resolve(node->as.args[i]);
    const bool is_kind = compares && has_kind && arg->op == WO_OP_CONSTANT && arg->unit == WO_UNIT_TEXT;
    if (is_kind) fn(context, arg->as.text);
    if (!is_kind) visit_kinds(arg, fn, context);
  }
}

void wo_expr_each_kind(const struct wo_expr *expr, void (*fn)(void *context, struct wo_view kind), void *context) {
  assert(expr != NULL && fn != NULL);
  visit_kinds(expr->root, fn, context);
}
