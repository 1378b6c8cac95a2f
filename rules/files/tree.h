/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a table. Rules are read from it, whether they were compiled in or come from a file.
 *
 * Nodes are in the order of the text, a parent before its members, with all texts after the last node. They are linked by
 * distances, so that a table can lie anywhere: a compiled-in one is constant data that needs no work when the program starts, and
 * only the pages that are used are read. */
#ifndef WO_TREE_H
#define WO_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wo_tree_type { WO_TREE_NULL, WO_TREE_FALSE, WO_TREE_TRUE, WO_TREE_NUMBER, WO_TREE_STRING, WO_TREE_ARRAY, WO_TREE_OBJECT };

/* A value. The root of a table is its first node, and node n of a table is the n-th value of the text. */
struct wo_tree {
  uint32_t type;  /* enum wo_tree_type */
  uint32_t count; /* members, of an array or an object; the first one is the next node */
  uint32_t next;  /* nodes from here to the next member of the same parent; 0: it is the last */
  uint32_t key;   /* bytes from here to the member's key, NUL-terminated; 0: it has none */
  union {
    uint64_t text; /* bytes from here to the value, NUL-terminated, of a string */
    double number;
  } as;
};
_Static_assert(sizeof(struct wo_tree) == 24, "texts stand right behind the nodes");

struct cJSON;

/* A table of a parsed text, to be freed by the caller; NULL when memory is out, or for more than 2^32 bytes. The n-th node's
 * texts come before those of the node after it. *ret_nodes and *ret_text_bytes are the sizes of its parts. */
struct wo_tree *wo_tree_of(const struct cJSON *root, size_t *ret_nodes, size_t *ret_text_bytes);

/* The first member; NULL without one. */
static inline const struct wo_tree *wo_tree_child(const struct wo_tree *node) {
  return node->count == 0 ? NULL : node + 1;
}

/* The member after this one, or NULL. */
static inline const struct wo_tree *wo_tree_next(const struct wo_tree *node) {
  return node->next == 0 ? NULL : node + node->next;
}

/* The key of a member of an object; NULL for anything else. */
static inline const char *wo_tree_key(const struct wo_tree *node) {
  return node->key == 0 ? NULL : (const char *)node + node->key;
}

/* The text of a string; NULL for anything else. */
static inline const char *wo_tree_text(const struct wo_tree *node) {
  return node->type == WO_TREE_STRING ? (const char *)node + node->as.text : NULL;
}

/* Whether a node, which may be NULL, is of a type. */
static inline bool wo_tree_is(const struct wo_tree *node, enum wo_tree_type type) {
  return node != NULL && node->type == (uint32_t)type;
}

static inline bool wo_tree_is_bool(const struct wo_tree *node) {
  return wo_tree_is(node, WO_TREE_TRUE) || wo_tree_is(node, WO_TREE_FALSE);
}

/* The first member of that key, or NULL; also NULL for what is no object. */
const struct wo_tree *wo_tree_get(const struct wo_tree *object, const char *key);

/* The member at `index`, counted from 0, or NULL. */
const struct wo_tree *wo_tree_at(const struct wo_tree *array, size_t index);

#endif
