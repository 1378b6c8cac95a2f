/* SPDX-License-Identifier: Apache-2.0 */
/* Facts without which a condition cannot hold, and the texts that they must have. Found by the form of the expression alone, so
 * that a rule need not even be read where one of them is unknown or another text. */
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

static bool add_value(struct wo_need *need, const struct wo_node *node) {
  if (node->op != WO_OP_CONSTANT || node->unit != WO_UNIT_TEXT || need->value_count == WO_NEED_VALUES) return false;
  if (wo_view_find(node->as.text, WO_VIEW("|"), 0) != WO_NOT_FOUND) return false;
  need->values[need->value_count++] = node->as.text;
  return true;
}

/* The texts of a comparison with the fact: fact == "a", one_of(fact, "a", "b"). */
static bool add_compared(struct wo_need *need, const struct wo_node *node) {
  const struct wo_node *const fact = node->as.args[0];
  if (fact->op != WO_OP_FACT || !wo_view_equal(fact->as.text, need->name)) return false;
  for (size_t i = 1; i < node->arg_count; i++) {
    if (!add_value(need, node->as.args[i])) return false;
  }
  return true;
}

/* Adds the texts of the fact with which alone the condition can be true; false when it may be true with others. */
static bool add_values(struct wo_need *need, const struct wo_node *node) {
  const size_t before = need->value_count;
  switch (node->op) {
  case WO_OP_DEFINITION:
    return add_values(need, node->as.definition->root);
  case WO_OP_AND:
    for (size_t i = 0; i < node->arg_count; i++) {
      if (add_values(need, node->as.args[i])) return true;
      need->value_count = before;
    }
    return false;
  case WO_OP_OR:
    for (size_t i = 0; i < node->arg_count; i++) {
      if (!add_values(need, node->as.args[i])) return false;
    }
    return true;
  case WO_OP_EQUAL:
  case WO_OP_ONE_OF:
    return add_compared(need, node);
  default:
    return false;
  }
}

struct collection {
  const struct wo_node *root;
  struct wo_need *needs;
  size_t count, cap;
};

static void collect(void *context, struct wo_view name) {
  struct collection *const c = context;
  for (size_t i = 0; i < c->count; i++) {
    if (wo_view_equal(c->needs[i].name, name)) return;
  }
  if (c->count == c->cap || !holds_only_with(c->root, name)) return;
  struct wo_need *const need = &c->needs[c->count++];
  *need = (struct wo_need){.name = name};
  if (!add_values(need, c->root)) need->value_count = 0;
}

size_t wo_expr_needs(const struct wo_expr *expr, struct wo_need *needs, size_t cap) {
  assert(expr != NULL && (needs != NULL || cap == 0));
  struct collection collection = {.root = expr->root, .needs = needs, .cap = cap};
  wo_expr_each_fact(expr, collect, &collection);
  return collection.count;
}

/* As much of the text as fits; cap > len. */
static size_t append(char *buf, size_t cap, size_t len, struct wo_view text) {
  wo_view_copy(text, buf + len, cap - len);
  return len + (text.len < cap - len ? text.len : cap - len - 1);
}

size_t wo_need_text(const struct wo_need *need, char *buf, size_t cap) {
  assert(need != NULL && buf != NULL && cap > 0);
  const size_t name = append(buf, cap, 0, need->name);
  size_t len = name;
  for (size_t i = 0; i < need->value_count; i++) {
    if (len + 1 + need->values[i].len >= cap) {
      buf[name] = '\0';
      return name;
    }
    buf[len++] = i == 0 ? '=' : '|';
    len = append(buf, cap, len, need->values[i]);
  }
  return len;
}

bool wo_need_is_met(struct wo_view need, const struct wo_facts_source *facts) {
  const size_t equals = wo_view_find(need, WO_VIEW("="), 0);
  const struct wo_value value = facts->get(facts->context, wo_view_sub(need, 0, equals == WO_NOT_FOUND ? need.len : equals));
  if (!value.is_known || equals == WO_NOT_FOUND) return value.is_known;
  struct wo_view rest = wo_view_skip(need, equals + 1);
  for (;;) {
    const size_t bar = wo_view_find(rest, WO_VIEW("|"), 0);
    if (wo_view_equal(wo_view_sub(rest, 0, bar == WO_NOT_FOUND ? rest.len : bar), value.text)) return true;
    if (bar == WO_NOT_FOUND) return false;
    rest = wo_view_skip(rest, bar + 1);
  }
}
