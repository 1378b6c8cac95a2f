/* The allocator's state after an entry, segment by segment. See replay_text.h. */
#include <inttypes.h>

#include "cuda_replay/replay_text.h"

static void write_sums(struct wo_replay_writer *w) {
  const struct wo_allocator_stats *const stats = &w->report->state_stats;
  char text[3][WO_SIZE_TEXT];
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "after entry %" PRIu64 ": %zu segments of %s; allocated %s, requested %s", w->report->state_at,
              w->report->state_segment_count, wo__replay_size((uint64_t)stats->reserved_bytes[WO_STAT_ALL].current, text[0]),
              wo__replay_size((uint64_t)stats->allocated_bytes[WO_STAT_ALL].current, text[1]),
              wo__replay_size((uint64_t)stats->requested_bytes[WO_STAT_ALL].current, text[2]));
  wo__replay_put(w, 2, 4);
}

static void write_segment(struct wo_replay_writer *w, const struct wo_replay_state_segment *segment) {
  wo_text_add(&w->line, "segment 0x%" PRIx64 "  %" PRIu64 " bytes  %s%s", segment->address, segment->size_bytes,
              segment->is_small ? "small" : "large", segment->is_expandable ? " expandable" : "");
  if (segment->stream != 0) wo_text_add(&w->line, "  stream 0x%" PRIx64, segment->stream);
  if (segment->pool.first != 0 || segment->pool.second != 0)
    wo_text_add(&w->line, "  pool (%" PRIu64 ", %" PRIu64 ")", segment->pool.first, segment->pool.second);
  wo__replay_put(w, 2, 4);
}

static void write_block(struct wo_replay_writer *w, const struct wo_replay_state_block *block) {
  static const char *const states[] = {
      [WO_BLOCK_FREE] = "free", [WO_BLOCK_ALLOCATED] = "allocated", [WO_BLOCK_PENDING] = "pending free"};
  wo_text_add(&w->line, "0x%" PRIx64 "  %" PRIu64 " bytes  %s", block->address, block->size_bytes, states[block->state]);
  if (block->state != WO_BLOCK_FREE) {
    if (block->requested_bytes > 0 && block->requested_bytes != block->size_bytes)
      wo_text_add(&w->line, " (requested %" PRIu64 ")", block->requested_bytes);
    if (block->is_older) {
      wo_text_add(&w->line, "  older than the recording");
    } else {
      wo_text_add(&w->line, "  entry %" PRIu32, block->birth);
    }
    if (block->stack.own.len > 0) wo_text_add(&w->line, "  ");
    wo_text_add_view(&w->line, block->stack.own);
  }
  wo__replay_put(w, 4, 8);
  if (!w->style.is_verbose) return;
  for (size_t i = 0; i < block->stack.frame_count; i++) {
    wo_text_add_view(&w->line, block->stack.frames[i]);
    wo__replay_put(w, 8, 10);
  }
}

void wo__replay_text_state(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  if (!report->has_state) return;
  write_sums(w);
  for (size_t i = 0; i < report->state_segment_count; i++) {
    const struct wo_replay_state_segment *const segment = &report->state_segments[i];
    write_segment(w, segment);
    for (size_t j = 0; j < segment->block_count; j++) write_block(w, &report->state_blocks[segment->first_block + j]);
  }
}
