/* SPDX-License-Identifier: Apache-2.0 */
/* From cJSON's trees to tables. */
#include "rules/files/tree.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* A table that is being filled: the next node, the next byte of text. */
struct filling {
  struct wo_tree *node;
  char *text;
};

/* Nodes and bytes of text of a value and all below it. Recursion here and below ends where cJSON's did. */
static void measure(const cJSON *value, size_t *nodes, size_t *text_bytes) {
  ++*nodes;
  if (value->string != NULL) *text_bytes += strlen(value->string) + 1;
  if (cJSON_IsString(value)) *text_bytes += strlen(value->valuestring) + 1;
  for (const cJSON *child = value->child; child != NULL; child = child->next) measure(child, nodes, text_bytes);
}

/* Puts a text after those before it; returns its distance from a node. */
static size_t put_text(struct filling *filling, const struct wo_tree *node, const char *text) {
  const size_t distance = (size_t)(filling->text - (const char *)node);
  const size_t size = strlen(text) + 1;
  memcpy(filling->text, text, size);
  filling->text += size;
  return distance;
}

static enum wo_tree_type type_of(const cJSON *value) {
  if (cJSON_IsObject(value)) return WO_TREE_OBJECT;
  if (cJSON_IsArray(value)) return WO_TREE_ARRAY;
  if (cJSON_IsString(value)) return WO_TREE_STRING;
  if (cJSON_IsNumber(value)) return WO_TREE_NUMBER;
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? WO_TREE_TRUE : WO_TREE_FALSE;
  return WO_TREE_NULL;
}

/* Fills the nodes of a value and all below it. */
static void fill(struct filling *filling, const cJSON *value) {
  struct wo_tree *const node = filling->node++;
  *node = (struct wo_tree){.type = (uint32_t)type_of(value)};
  if (value->string != NULL) node->key = (uint32_t)put_text(filling, node, value->string);
  if (node->type == WO_TREE_STRING) node->as.text = put_text(filling, node, value->valuestring);
  if (node->type == WO_TREE_NUMBER) node->as.number = value->valuedouble;
  for (const cJSON *child = value->child; child != NULL; child = child->next) {
    struct wo_tree *const member = filling->node;
    fill(filling, child);
    node->count++;
    if (child->next != NULL) member->next = (uint32_t)(filling->node - member);
  }
}

struct wo_tree *wo_tree_of(const cJSON *root, size_t *ret_nodes, size_t *ret_text_bytes) {
  size_t nodes = 0;
  size_t text_bytes = 0;
  measure(root, &nodes, &text_bytes);
  const size_t size = nodes * sizeof(struct wo_tree) + text_bytes;
  struct wo_tree *const tree = size > UINT32_MAX ? NULL : malloc(size);
  if (tree == NULL) return NULL;
  struct filling filling = {.node = tree, .text = (char *)(tree + nodes)};
  fill(&filling, root);
  assert(filling.node == tree + nodes && filling.text == (char *)tree + size);
  *ret_nodes = nodes;
  *ret_text_bytes = text_bytes;
  return tree;
}

const struct wo_tree *wo_tree_get(const struct wo_tree *object, const char *key) {
  if (!wo_tree_is(object, WO_TREE_OBJECT)) return NULL;
  const struct wo_tree *member = wo_tree_child(object);
  while (member != NULL && strcmp(wo_tree_key(member), key) != 0) member = wo_tree_next(member);
  return member;
}

const struct wo_tree *wo_tree_at(const struct wo_tree *array, size_t index) {
  if (array == NULL || index >= array->count) return NULL;
  const struct wo_tree *member = wo_tree_child(array);
  for (; index > 0; index--) member = wo_tree_next(member);
  return member;
}
