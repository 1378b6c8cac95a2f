/* SPDX-License-Identifier: Apache-2.0 */
/* Rooms by their start, each of so many bytes: finds the first or the last one that is large enough.
 *
 * A balanced tree (AVL) whose nodes know the largest room below them, so that every operation takes a time that grows with the
 * logarithm of the number of rooms. Only wo_room_tree_reserve allocates. One tree is used by one thread. */
#ifndef WO_ROOM_TREE_H
#define WO_ROOM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/vec.h"

struct wo_room {
  uint64_t start;
  uint64_t bytes;
  uint64_t value; /* the owner's own */
};

/* For room_tree.c. */
struct wo__room_node {
  struct wo_room room;
  uint64_t most_bytes; /* of this room and of those below */
  uint32_t left, right;
  uint32_t height;
};

/* {0} is an empty tree without storage. Members are for room_tree.c. */
struct wo_room_tree {
  WO_VEC(struct wo__room_node) nodes; /* the first one stands for "none" */
  uint32_t root;
  uint32_t unused; /* head of the list of unused nodes, which `left` links */
  size_t count;
};

/* Makes storage for at least `rooms` rooms in total. False when memory is out; the tree is unchanged then. */
bool wo_room_tree_reserve(struct wo_room_tree *tree, size_t rooms);

/* Releases the storage; the tree is {0} afterwards. */
void wo_room_tree_done(struct wo_room_tree *tree);

/* Adds a room, for which there must be storage, or replaces the one of this start. / Removes the room of a start; false when
 * there is none. */
void wo_room_tree_put(struct wo_room_tree *tree, struct wo_room room);
bool wo_room_tree_remove(struct wo_room_tree *tree, uint64_t start);

/* Replaces the room that begins at `start`, which must exist, by one that may begin and end elsewhere, but on the same side of
 * all other rooms. */
void wo_room_tree_move(struct wo_room_tree *tree, uint64_t start, struct wo_room room);

/* The room with the highest start at or below / with the lowest start at or above a start. False when there is none. */
bool wo_room_tree_below(const struct wo_room_tree *tree, uint64_t start, struct wo_room *ret_room);
bool wo_room_tree_above(const struct wo_room_tree *tree, uint64_t start, struct wo_room *ret_room);

/* Of the rooms of at least so many bytes, the first one that starts at or above `start` / the last one that starts at or below
 * it. False when there is none. */
bool wo_room_tree_first(const struct wo_room_tree *tree, uint64_t start, uint64_t bytes, struct wo_room *ret_room);
bool wo_room_tree_last(const struct wo_room_tree *tree, uint64_t start, uint64_t bytes, struct wo_room *ret_room);

#endif
