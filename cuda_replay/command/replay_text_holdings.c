/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a snapshot without a usable history. See replay_text_internal.h.
 *
 * It first says clearly that this is a state. replay_text_holders.c writes the holders and the pins. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text_internal.h"

/* Rows of streams and pools without --verbose. */
enum { PLACES_SHOWN = 8, SIZE_COLUMNS = 12 };

static void write_what_it_is(struct wo_replay_writer *w) {
  wo_text_add(&w->line,
              "this is the state when the snapshot was taken, not a replay: it shows who holds memory, not how much a run "
              "needs");
  if (w->report->has_question) wo_text_add(&w->line, "; your question needs a recording with a history");
  wo__replay_put(w, 2, 4);
}

static void write_sums(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_segment_use *const use = &report->attribution.use;
  const uint64_t in_use = report->attribution.total.block_bytes;
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "held: ");
  wo__replay_count(&w->line, report->holdings.segment_count, "segment", "segments");
  wo_text_add(&w->line, " of %s, ", WO_BYTES_TEXT(use->reserved_bytes));
  wo__replay_count(&w->line, report->holdings.block_count, "block", "blocks");
  wo_text_add(&w->line, " of %s in use", WO_BYTES_TEXT(in_use));
  if (report->holdings.knows_requested) wo_text_add(&w->line, " (requested %s)", WO_BYTES_TEXT(use->live_bytes));
  if (use->pending_bytes > 0)
    wo_text_add(&w->line, ", of these %s freed and waiting for other streams", WO_BYTES_TEXT(use->pending_bytes));
  wo__replay_put(w, 2, 4);
  if (use->reserved_bytes > 0) wo__replay_bar(w, in_use, use->reserved_bytes);
}

/* The idle memory, and the reason why it is not given back to the device. */
static void write_idle(struct wo_replay_writer *w) {
  const struct wo_holdings *const holdings = &w->report->holdings;
  const struct wo_segment_use *const use = &w->report->attribution.use;
  if (use->pinned_free_bytes + use->releasable_bytes == 0) return;
  wo_text_add(&w->line, "idle: torch.cuda.empty_cache() would give back %s", WO_BYTES_TEXT(holdings->releasable_bytes));
  wo_text_add(&w->line, "; %s stay beside blocks in use", WO_BYTES_TEXT(use->pinned_free_bytes));
  if (holdings->private_idle_bytes > 0)
    wo_text_add(&w->line, "; %s stay in private pools, for as long as their graphs or pools live",
                WO_BYTES_TEXT(holdings->private_idle_bytes));
  wo_text_add(&w->line, "; the largest free block has %s", WO_BYTES_TEXT(use->largest_free_bytes));
  wo__replay_put(w, 2, 4);
}

/* Free memory is shown beside the requested bytes. Whether one piece would have been enough depends on stream and pool, which the
 * entry does not have before 2.10. */
static void write_refusal(struct wo_replay_writer *w) {
  const struct wo_holdings *const holdings = &w->report->holdings;
  if (!holdings->has_oom) return;
  wo_text_add(&w->line, "it was taken when a request of %s was refused, with %s free on the device",
              WO_BYTES_TEXT(holdings->oom_bytes), WO_BYTES_TEXT(holdings->oom_free_bytes));
  wo__replay_put(w, 2, 4);
}

static void write_place(struct wo_replay_writer *w, const struct wo_holdings_place *place) {
  const bool is_private = place->pool.first != 0 || place->pool.second != 0;
  wo_text_add(&w->line, "%*s reserved  %*s in use  %*s idle  ", SIZE_COLUMNS, WO_BYTES_TEXT(place->use.reserved_bytes),
              SIZE_COLUMNS, WO_BYTES_TEXT(place->block_bytes), SIZE_COLUMNS,
              WO_BYTES_TEXT(place->use.reserved_bytes - place->block_bytes));
  if (place->stream == 0) {
    wo_text_add(&w->line, "default stream");
  } else {
    wo_text_add(&w->line, "stream 0x%" PRIx64, place->stream);
  }
  if (is_private) wo_text_add(&w->line, ", private pool (%" PRIu64 ", %" PRIu64 ")", place->pool.first, place->pool.second);
  wo__replay_put(w, 2, 6);
}

/* A single row would only repeat the sums. */
static void write_places(struct wo_replay_writer *w) {
  const struct wo_holdings *const holdings = &w->report->holdings;
  const bool is_all = w->style.is_verbose || holdings->places.count <= PLACES_SHOWN;
  const size_t shown = is_all ? holdings->places.count : PLACES_SHOWN;
  if (holdings->places.count < 2) return;
  wo_text_add(w->out, "\n  by stream and pool\n");
  for (size_t i = 0; i < shown; i++) write_place(w, &holdings->places.items[i]);
  if (shown < holdings->places.count)
    wo_text_add(w->out, "    and %zu more; --verbose shows them\n", holdings->places.count - shown);
}

void wo__replay_text_holdings(struct wo_replay_writer *w) {
  assert(w->line.len == 0 && w->report->has_holdings && w->report->has_memory);
  write_what_it_is(w);
  write_sums(w);
  write_idle(w);
  write_refusal(w);
  write_places(w);
}
