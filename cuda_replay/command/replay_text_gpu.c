/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a GPU, for people. See replay_text_internal.h. */
#include <assert.h>

#include "cuda_replay/command/replay_text_internal.h"
#include "cuda_replay/whatif/whatif_gpu_text.h"

static void write_card(struct wo_replay_writer *w) {
  static const char *const froms[] = {[WO_RESERVE_OPTION] = "",
                                      [WO_RESERVE_RECORDING] = " (what the recorded run had beside PyTorch)",
                                      [WO_RESERVE_USUAL] = " (usual; --reserve sets it)"};
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  wo_text_add(&w->line, "on ");
  wo_gpu_add_card(&gpu->info, gpu->ordinal, w->report->visible_devices, &w->line);
  wo_text_add(&w->line, ": %s for the allocator of %s free, reserve %s%s", WO_BYTES_TEXT(gpu->info.cap_bytes),
              WO_BYTES_TEXT(gpu->info.free_before_bytes), WO_BYTES_TEXT(gpu->reserve_bytes), froms[gpu->reserve_from]);
  wo__replay_put(w, 2, 4);
  if (wo_gpu_add_libraries(&gpu->libraries, &w->line)) wo__replay_put(w, 4, 6);
}

/* The result on the card, in the card's own figures. */
static void write_result(struct wo_replay_writer *w) {
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  wo_gpu_add_request(&gpu->outcome, &w->line);
  wo_text_add(&w->line, "; reserved %s at most, then %s free on the card; ", WO_BYTES_TEXT(gpu->outcome.peak.reserved_bytes),
              WO_BYTES_TEXT(gpu->info.free_lowest_bytes));
  wo__replay_count(&w->line, gpu->info.calls, "call", "calls");
  wo_text_add(&w->line, " of the driver%s; ", gpu->touches ? ", every byte written" : "");
  wo_gpu_add_left(gpu->left_count, &w->line);
  wo__replay_put(w, 4, 6);
}

/* Whether the model of this card can be trusted. */
static void write_agreement(struct wo_replay_writer *w) {
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  if (gpu->agrees) {
    wo_text_add(&w->line, "the model agrees: the same ");
    wo__replay_count(&w->line, gpu->outcome.segment_events, "segment event", "segment events");
    wo_text_add(&w->line, " in the same order, the same %s", gpu->outcome.has_oom ? "failed request" : "peak");
  } else {
    wo_text_add(&w->line, "the model does not agree, ");
    wo__replay_clean(&w->line, wo_view_of(gpu->difference));
  }
  wo__replay_put(w, 4, 6);
}

void wo__replay_text_gpu(struct wo_replay_writer *w) {
  assert(w->line.len == 0);
  if (!w->report->gpu.has_run) return;
  write_card(w);
  write_result(w);
  write_agreement(w);
}
