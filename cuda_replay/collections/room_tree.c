/* SPDX-License-Identifier: Apache-2.0 */
/* The balanced tree of rooms. Node 0 is "none": no bytes, height 0. Heights of two children differ by at most one, so that no
 * node is deeper than DEEPEST. */
#include "cuda_replay/collections/room_tree.h"

#include <assert.h>

#define NONE 0u

enum { DEEPEST = 48 };

static struct wo__room_node *node(const struct wo_room_tree *tree, uint32_t at) {
  assert(at < tree->nodes.count);
  return &tree->nodes.items[at];
}

bool wo_room_tree_reserve(struct wo_room_tree *tree, size_t rooms) {
  if (tree->nodes.capacity > rooms) return true;
  if (!WO_VEC_RESERVE(&tree->nodes, rooms + 1 - tree->nodes.count, UINT32_MAX)) return false;
  if (tree->nodes.count == 0) tree->nodes.items[tree->nodes.count++] = (struct wo__room_node){0};
  return true;
}

void wo_room_tree_done(struct wo_room_tree *tree) {
  WO_VEC_DONE(&tree->nodes);
  *tree = (struct wo_room_tree){0};
}

/* ---- Balance ---- */

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* Computes what a node knows of those below it. */
static void measure(const struct wo_room_tree *tree, uint32_t at) {
  struct wo__room_node *const own = node(tree, at);
  const struct wo__room_node *const left = node(tree, own->left);
  const struct wo__room_node *const right = node(tree, own->right);
  own->most_bytes = larger(own->room.bytes, larger(left->most_bytes, right->most_bytes));
  own->height = 1 + (left->height > right->height ? left->height : right->height);
}

/* The left child becomes the parent of its parent / the right child does. Returns the new parent. */
static uint32_t turn_right(const struct wo_room_tree *tree, uint32_t at) {
  const uint32_t up = node(tree, at)->left;
  node(tree, at)->left = node(tree, up)->right;
  node(tree, up)->right = at;
  measure(tree, at);
  measure(tree, up);
  return up;
}

static uint32_t turn_left(const struct wo_room_tree *tree, uint32_t at) {
  const uint32_t up = node(tree, at)->right;
  node(tree, at)->right = node(tree, up)->left;
  node(tree, up)->left = at;
  measure(tree, at);
  measure(tree, up);
  return up;
}

static int lean(const struct wo_room_tree *tree, uint32_t at) {
  return (int)node(tree, node(tree, at)->left)->height - (int)node(tree, node(tree, at)->right)->height;
}

/* Restores the balance of a node whose children differ by at most two. Returns the node in its place. */
static uint32_t balance(const struct wo_room_tree *tree, uint32_t at) {
  struct wo__room_node *const own = node(tree, at);
  measure(tree, at);
  if (lean(tree, at) > 1) {
    if (lean(tree, own->left) < 0) own->left = turn_left(tree, own->left);
    return turn_right(tree, at);
  }
  if (lean(tree, at) < -1) {
    if (lean(tree, own->right) > 0) own->right = turn_right(tree, own->right);
    return turn_left(tree, at);
  }
  return at;
}

/* ---- Changing ---- */

static uint32_t new_node(struct wo_room_tree *tree, struct wo_room room) {
  uint32_t at = tree->unused;
  if (at != NONE) {
    tree->unused = node(tree, at)->left;
  } else {
    assert(tree->nodes.count > 0 && tree->nodes.count < tree->nodes.capacity);
    at = (uint32_t)tree->nodes.count++;
  }
  *node(tree, at) = (struct wo__room_node){.room = room, .most_bytes = room.bytes, .height = 1};
  tree->count++;
  return at;
}

static uint32_t put(struct wo_room_tree *tree, uint32_t at, struct wo_room room) {
  if (at == NONE) return new_node(tree, room);
  struct wo__room_node *const own = node(tree, at);
  if (room.start == own->room.start) {
    own->room = room;
  } else if (room.start < own->room.start) {
    own->left = put(tree, own->left, room);
  } else {
    own->right = put(tree, own->right, room);
  }
  return balance(tree, at);
}

void wo_room_tree_put(struct wo_room_tree *tree, struct wo_room room) {
  tree->root = put(tree, tree->root, room);
}

/* Takes the first node out of a tree that has one. Returns the rest. */
static uint32_t take_first(const struct wo_room_tree *tree, uint32_t at, uint32_t *ret_first) {
  struct wo__room_node *const own = node(tree, at);
  if (own->left == NONE) {
    *ret_first = at;
    return own->right;
  }
  own->left = take_first(tree, own->left, ret_first);
  return balance(tree, at);
}

/* What remains below a node without the node itself. */
static uint32_t join_children(const struct wo_room_tree *tree, uint32_t at) {
  const struct wo__room_node *const own = node(tree, at);
  uint32_t first = NONE;
  if (own->right == NONE) return own->left;
  const uint32_t right = take_first(tree, own->right, &first);
  node(tree, first)->left = own->left;
  node(tree, first)->right = right;
  return balance(tree, first);
}

/* *gone becomes the removed node. */
static uint32_t take(const struct wo_room_tree *tree, uint32_t at, uint64_t start, uint32_t *gone) {
  if (at == NONE) return NONE;
  struct wo__room_node *const own = node(tree, at);
  if (start == own->room.start) {
    *gone = at;
    return join_children(tree, at);
  }
  if (start < own->room.start) {
    own->left = take(tree, own->left, start, gone);
  } else {
    own->right = take(tree, own->right, start, gone);
  }
  return balance(tree, at);
}

bool wo_room_tree_remove(struct wo_room_tree *tree, uint64_t start) {
  uint32_t gone = NONE;
  if (tree->root == NONE) return false;
  tree->root = take(tree, tree->root, start, &gone);
  if (gone == NONE) return false;
  node(tree, gone)->left = tree->unused;
  tree->unused = gone;
  tree->count--;
  return true;
}

/* The shape of the tree stays, and nodes above the one that changed are measured until one of them is as it was. */
void wo_room_tree_move(struct wo_room_tree *tree, uint64_t start, struct wo_room room) {
  uint32_t path[DEEPEST];
  size_t depth = 0;
  uint32_t at = tree->root;
  while (node(tree, at)->room.start != start) {
    assert(at != NONE && depth < DEEPEST);
    path[depth++] = at;
    at = start < node(tree, at)->room.start ? node(tree, at)->left : node(tree, at)->right;
  }
  node(tree, at)->room = room;
  for (;;) {
    const uint64_t before = node(tree, at)->most_bytes;
    measure(tree, at);
    if (depth == 0 || node(tree, at)->most_bytes == before) return;
    at = path[--depth];
  }
}

/* ---- Finding ---- */

/* Gives the room of a node, unless that is none. */
static bool found(const struct wo_room_tree *tree, uint32_t at, struct wo_room *ret_room) {
  if (at == NONE) return false;
  *ret_room = node(tree, at)->room;
  return true;
}

bool wo_room_tree_below(const struct wo_room_tree *tree, uint64_t start, struct wo_room *ret_room) {
  uint32_t best = NONE;
  for (uint32_t at = tree->root; at != NONE;) {
    const bool is_below = node(tree, at)->room.start <= start;
    if (is_below) best = at;
    at = is_below ? node(tree, at)->right : node(tree, at)->left;
  }
  return found(tree, best, ret_room);
}

bool wo_room_tree_above(const struct wo_room_tree *tree, uint64_t start, struct wo_room *ret_room) {
  uint32_t best = NONE;
  for (uint32_t at = tree->root; at != NONE;) {
    const bool is_above = node(tree, at)->room.start >= start;
    if (is_above) best = at;
    at = is_above ? node(tree, at)->left : node(tree, at)->right;
  }
  return found(tree, best, ret_room);
}

static uint32_t first(const struct wo_room_tree *tree, uint32_t at, uint64_t start, uint64_t bytes) {
  if (at == NONE || node(tree, at)->most_bytes < bytes) return NONE;
  const struct wo__room_node *const own = node(tree, at);
  if (own->room.start < start) return first(tree, own->right, start, bytes);
  const uint32_t left = first(tree, own->left, start, bytes);
  if (left != NONE) return left;
  return own->room.bytes >= bytes ? at : first(tree, own->right, start, bytes);
}

bool wo_room_tree_first(const struct wo_room_tree *tree, uint64_t start, uint64_t bytes, struct wo_room *ret_room) {
  return found(tree, first(tree, tree->root, start, bytes), ret_room);
}

static uint32_t last(const struct wo_room_tree *tree, uint32_t at, uint64_t start, uint64_t bytes) {
  if (at == NONE || node(tree, at)->most_bytes < bytes) return NONE;
  const struct wo__room_node *const own = node(tree, at);
  if (own->room.start > start) return last(tree, own->left, start, bytes);
  const uint32_t right = last(tree, own->right, start, bytes);
  if (right != NONE) return right;
  return own->room.bytes >= bytes ? at : last(tree, own->left, start, bytes);
}

bool wo_room_tree_last(const struct wo_room_tree *tree, uint64_t start, uint64_t bytes, struct wo_room *ret_room) {
  return found(tree, last(tree, tree->root, start, bytes), ret_room);
}
