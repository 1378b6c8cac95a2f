/* Facts without which a condition cannot hold. Found by the form of the expression alone, so that a rule need not even be read
 * where one of them is unknown. */
#include <assert.h>

#include "rules/language/expr_internal.h"

static bool is_known_only_with(const struct wo_node *node, struct wo_view name);

static bool any_arg(const struct wo_node *node, struct wo_view name) {
  for (size_t i = 0; i < node->arg_count; i++) {
    if (is_known_only_with(node->as.args[i], name)) return true;
  }
  return false;
}

/* Whether the node has no value without the fact. Of and/or one operand may settle the value, and of what asks for the unknown,
 * or goes over rows, nothing is claimed. */
static bool is_known_only_with(const struct wo_node *node, struct wo_view name) {
  switch (node->op) {
  case WO_OP_FACT:
    return wo_view_equal(node->as.text, name);
  case WO_OP_DEFINITION:
    return is_known_only_with(node->as.definition->root, name);
  case WO_OP_CONSTANT:
  case WO_OP_AND:
  case WO_OP_OR:
  case WO_OP_KNOWN:
  case WO_OP_UNKNOWN:
    return false;
  case WO_OP_OTHERWISE:
    return is_known_only_with(node->as.args[0], name) && is_known_only_with(node->as.args[1], name);
  case WO_OP_IF:
    return is_known_only_with(node->as.args[0], name);
  default:
    return !wo__op_is_aggregate(node->op) && any_arg(node, name);
  }
}

/* Whether the condition is not true without the fact. */
static bool holds_only_with(const struct wo_node *node, struct wo_view name) {
  bool all = true;
  switch (node->op) {
  case WO_OP_DEFINITION:
    return holds_only_with(node->as.definition->root, name);
  case WO_OP_AND:
    for (size_t i = 0; i < node->arg_count; i++) {
      if (holds_only_with(node->as.args[i], name)) return true;
    }
    return false;
  case WO_OP_OR:
    for (size_t i = 0; i < node->arg_count; i++) all = all && holds_only_with(node->as.args[i], name);
    return all;
  case WO_OP_KNOWN:
    return is_known_only_with(node->as.args[0], name);
  default:
    return is_known_only_with(node, name);
  }
}

struct collection {
  const struct wo_node *root;
  struct wo_view *names;
  size_t count, cap;
};

static void collect(void *context, struct wo_view name) {
  struct collection *const c = context;
  for (size_t i = 0; i < c->count; i++) {
    if (wo_view_equal(c->names[i], name)) return;
  }
  if (c->count < c->cap && holds_only_with(c->root, name)) c->names[c->count++] = name;
}

size_t wo_expr_needs(const struct wo_expr *expr, struct wo_view *names, size_t cap) {
  assert(expr != NULL && (names != NULL || cap == 0));
  struct collection collection = {.root = expr->root, .names = names, .cap = cap};
  wo_expr_each_fact(expr, collect, &collection);
  return collection.count;
}
