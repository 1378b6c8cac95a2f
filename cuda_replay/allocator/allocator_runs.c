/* SPDX-License-Identifier: Apache-2.0 */
/* Where a range has room: runs of blocks in a row that are free or unmapped, with at least one that is unmapped. A request that
 * needs new memory takes the lowest run that is long enough; the tree of a shelf's runs finds it without a walk. */
#include "cuda_replay/allocator/allocator_internal.h"

/* Blocks in a row whose runs are found again, and the runs of which only a part is among them. */
struct stretch {
  uint32_t first;
  uint32_t behind; /* the block behind the last one, or WO__NONE */
  uint64_t end;    /* of the last one */
  bool has_left, has_right;
  struct wo_room left, right;
};

/* A run that is being found. */
struct run {
  uint64_t start;
  uint32_t first; /* WO__NONE: none has begun */
  bool has_unmapped;
};

/* A free neighbour counts too, since it may have been no part of a run before. An unmapped neighbour is in a run that stays. */
static struct stretch find_stretch(struct wo_allocator *a, uint32_t first, uint64_t end) {
  const uint32_t before = wo__block(a, first)->prev;
  struct stretch stretch = {.first = wo__is_open(a, before) && !wo__is_unmapped(a, before) ? before : first};
  uint32_t id = stretch.first;
  for (; id != WO__NONE; id = wo__block(a, id)->next) {
    const struct wo__block *const block = wo__block(a, id);
    if (block->address >= end && block->state != WO__FREE) break;
    stretch.end = block->address + block->size_bytes;
    a->steps++;
  }
  stretch.behind = id;
  const struct wo_room_tree *const runs = &wo__shelf(a, wo__block(a, first)->shelf)->runs;
  const struct wo__block *const start = wo__block(a, stretch.first);
  stretch.has_left = wo__is_unmapped(a, start->prev) && wo_room_tree_below(runs, start->address - 1, &stretch.left);
  stretch.has_right = wo__is_unmapped(a, id) && wo_room_tree_below(runs, stretch.end, &stretch.right);
  return stretch;
}

/* Removes the runs that begin in [start, end). */
static void remove_runs(struct wo__shelf *shelf, uint64_t start, uint64_t end) {
  struct wo_room room;
  while (wo_room_tree_above(&shelf->runs, start, &room) && room.start < end) wo_room_tree_remove(&shelf->runs, room.start);
}

static void end_run(struct wo__shelf *shelf, struct run *run, uint64_t end) {
  if (run->first != WO__NONE && run->has_unmapped)
    wo_room_tree_put(&shelf->runs, (struct wo_room){run->start, end - run->start, run->first});
  *run = (struct run){.first = WO__NONE};
}

void wo__runs_update(struct wo_allocator *a, uint32_t first, uint64_t end) {
  struct wo__shelf *const shelf = wo__shelf(a, wo__block(a, first)->shelf);
  const struct stretch stretch = find_stretch(a, first, end);
  struct run run = {.first = WO__NONE};
  if (stretch.has_left) run = (struct run){stretch.left.start, (uint32_t)stretch.left.value, true};
  const uint64_t remove_from = stretch.has_left ? stretch.left.start : wo__block(a, stretch.first)->address;
  const uint64_t remove_to = stretch.has_right ? stretch.end + 1 : end > stretch.end ? end : stretch.end;
  remove_runs(shelf, remove_from, remove_to);
  for (uint32_t id = stretch.first; id != stretch.behind; id = wo__block(a, id)->next) {
    const struct wo__block *const block = wo__block(a, id);
    if (!wo__is_open(a, id)) {
      end_run(shelf, &run, block->address);
      continue;
    }
    if (run.first == WO__NONE) run = (struct run){.start = block->address, .first = id};
    run.has_unmapped |= block->state == WO__UNMAPPED;
  }
  if (stretch.has_right && run.first == WO__NONE) run = (struct run){.start = stretch.end, .first = stretch.behind};
  run.has_unmapped |= stretch.has_right;
  end_run(shelf, &run, stretch.has_right ? stretch.right.start + stretch.right.bytes : stretch.end);
}

/* The run that goes on in the unmapped block `behind` begins at another block. */
static void move_start(struct wo_allocator *a, uint32_t first, uint32_t behind) {
  struct wo_room_tree *const runs = &wo__shelf(a, wo__block(a, behind)->shelf)->runs;
  const uint64_t start = wo__block(a, first)->address;
  struct wo_room run;
  const bool is_found = wo_room_tree_below(runs, wo__block(a, behind)->address, &run);
  assert(is_found);
  if (!is_found || run.start == start) return;
  wo_room_tree_move(runs, run.start, (struct wo_room){start, run.start + run.bytes - start, first});
}

/* Blocks without an unmapped neighbour are in no run, before and after. Where only what is behind them is unmapped, its run
 * begins at the first block that is open. */
void wo__runs_note(struct wo_allocator *a, uint32_t id) {
  const struct wo__block *const block = wo__block(a, id);
  const uint32_t next = block->next;
  const bool has_rest = wo__is_open(a, next) && !wo__is_unmapped(a, next);
  const uint32_t behind = has_rest ? wo__block(a, next)->next : next;
  if (wo__is_open(a, block->prev)) {
    if (!wo__is_unmapped(a, block->prev) && !wo__is_unmapped(a, behind)) return;
    wo__runs_update(a, id, block->address + block->size_bytes);
  } else if (wo__is_unmapped(a, behind)) {
    move_start(a, wo__is_open(a, id) ? id : has_rest ? next : behind, behind);
  }
}
