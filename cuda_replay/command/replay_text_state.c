/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's state after an entry, segment by segment. See replay_text_internal.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text_internal.h"

/* Enough to recognise the state. */
static void write_sums(struct wo_replay_writer *w) {
  const struct wo_segment_map *const map = &w->report->state;
  uint64_t in_use = 0;
  for (size_t i = 0; i < map->blocks.count; i++) {
    if (map->blocks.items[i].state != WO_BLOCK_FREE) in_use += map->blocks.items[i].size_bytes;
  }
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "after entry %" PRIu64 ": ", w->report->state_at);
  wo__replay_count(&w->line, map->segments.count, "segment", "segments");
  wo_text_add(&w->line, " of %s, %s in use", WO_BYTES_TEXT(map->reserved_bytes), WO_BYTES_TEXT(in_use));
  wo__replay_put(w, 2, 4);
}

/* The default stream and pool are not named. */
static void write_segment(struct wo_replay_writer *w, const struct wo_map_segment *segment) {
  wo_text_add(&w->line, "segment 0x%" PRIx64 "  %" PRIu64 " bytes  %s%s", segment->address, segment->size_bytes,
              segment->is_small ? "small" : "large", segment->is_expandable ? " expandable" : "");
  if (segment->stream != 0) wo_text_add(&w->line, "  stream 0x%" PRIx64, segment->stream);
  if (segment->pool.first != 0 || segment->pool.second != 0)
    wo_text_add(&w->line, "  pool (%" PRIu64 ", %" PRIu64 ")", segment->pool.first, segment->pool.second);
  wo__replay_put(w, 2, 4);
}

/* The owner: the entry that made the block, and the program's own line. */
static void add_owner(struct wo_replay_writer *w, uint32_t index) {
  const struct wo_alloc_pattern *const pattern = w->report->pattern;
  if (index == WO_NO_INSTANCE || !pattern) return;
  assert(index < pattern->instances.count);
  const struct wo_instance *const instance = &pattern->instances.items[index];
  if (instance->birth == WO_NO_REQUEST) {
    wo_text_add(&w->line, "  older than the recording");
  } else {
    wo_text_add(&w->line, "  entry %" PRIu32, pattern->requests.items[instance->birth].entry);
  }
  const struct wo_stack_sites sites = wo_stack_sites(w->report->recording, NULL, instance->stack);
  if (sites.asker == WO_NO_FRAME) return;
  wo_text_add(&w->line, "  ");
  wo__replay_frame(w, sites.user != WO_NO_FRAME ? sites.user : sites.asker, &w->line);
}

/* Exact bytes, since this list is for comparison with other tools. */
static void write_block(struct wo_replay_writer *w, const struct wo_map_block *block) {
  static const char *const states[] = {
      [WO_BLOCK_FREE] = "free", [WO_BLOCK_ALLOCATED] = "allocated", [WO_BLOCK_PENDING] = "pending free"};
  wo_text_add(&w->line, "0x%" PRIx64 "  %" PRIu64 " bytes  %s", block->address, block->size_bytes, states[block->state]);
  if (block->state != WO_BLOCK_FREE) {
    if (block->requested_bytes != block->size_bytes) wo_text_add(&w->line, " (requested %" PRIu64 ")", block->requested_bytes);
    add_owner(w, block->instance);
  }
  wo__replay_put(w, 4, 8);
}

/* By rising address, as in the map. */
void wo__replay_text_state(struct wo_replay_writer *w) {
  const struct wo_segment_map *const map = &w->report->state;
  if (!w->report->has_state) return;
  write_sums(w);
  for (size_t i = 0; i < map->segments.count; i++) {
    const struct wo_map_segment *const segment = &map->segments.items[i];
    write_segment(w, segment);
    for (size_t j = 0; j < segment->block_count; j++) write_block(w, &map->blocks.items[segment->first_block + j]);
  }
}
