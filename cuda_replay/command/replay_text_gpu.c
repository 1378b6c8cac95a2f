/* What a GPU did, for people. See replay_text.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text.h"
#include "parsers/base/clean.h"

/* Bytes of a card's name, of CUDA_VISIBLE_DEVICES and of a difference that are shown. */
enum { SHOWN_BYTES = 240 };

static void add_clean(struct wo_text *out, struct wo_view raw) {
  char text[SHOWN_BYTES];
  wo_text_add_view(out, wo_clean_utf8(raw, text, sizeof text));
}

/* The number is the driver's, so what it counts by belongs to it. */
static void write_card(struct wo_replay_writer *w) {
  static const char *const froms[] = {[WO_RESERVE_OPTION] = "",
                                      [WO_RESERVE_RECORDING] = " (what the recorded run had beside PyTorch)",
                                      [WO_RESERVE_USUAL] = " (usual; --reserve sets it)"};
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  char text[3][WO_SIZE_TEXT];
  wo_text_add(&w->line, "on GPU %d, ", gpu->ordinal);
  add_clean(&w->line, wo_view_of(gpu->info.name));
  wo_text_add(&w->line, " (CUDA %d.%d", gpu->info.driver_version / 1000, gpu->info.driver_version % 1000 / 10);
  if (w->report->visible_devices.len > 0) {
    wo_text_add(&w->line, ", counted in CUDA_VISIBLE_DEVICES=");
    add_clean(&w->line, w->report->visible_devices);
  }
  wo_text_add(&w->line, "): %s for the allocator of %s free, reserve %s%s", wo__replay_size(gpu->info.cap_bytes, text[0]),
              wo__replay_size(gpu->info.free_before_bytes, text[1]), wo__replay_size(gpu->reserve_bytes, text[2]),
              froms[gpu->reserve_from]);
  wo__replay_put(w, 2, 4);
}

/* What came of it on the card, in the card's own figures. */
static void write_result(struct wo_replay_writer *w) {
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  char text[3][WO_SIZE_TEXT];
  if (gpu->outcome.has_oom) {
    wo_text_add(&w->line, "a request of %s failed", wo__replay_size(gpu->outcome.oom.requested_bytes, text[0]));
    if (gpu->oom_entry != WO_NO_ENTRY) wo_text_add(&w->line, " at entry %" PRIu32, gpu->oom_entry);
  } else {
    wo_text_add(&w->line, "every request was served");
  }
  wo_text_add(&w->line, "; reserved %s at most, then %s free on the card; ",
              wo__replay_size(gpu->outcome.peak.reserved_bytes, text[1]), wo__replay_size(gpu->info.free_lowest_bytes, text[2]));
  wo__replay_count(&w->line, gpu->info.calls, "call", "calls");
  wo_text_add(&w->line, " of the driver%s; ", gpu->touches ? ", every byte written" : "");
  if (gpu->left_count == 0) {
    wo_text_add(&w->line, "everything was given back");
  } else {
    wo_text_add(&w->line, "the driver did not take back ");
    wo__replay_count(&w->line, gpu->left_count, "piece", "pieces");
  }
  wo__replay_put(w, 4, 6);
}

/* Whether the model can be believed about this card. */
static void write_agreement(struct wo_replay_writer *w) {
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  if (gpu->agrees) {
    wo_text_add(&w->line, "the model agrees: the same ");
    wo__replay_count(&w->line, gpu->outcome.segment_events, "segment event", "segment events");
    wo_text_add(&w->line, " in the same order, the same %s", gpu->outcome.has_oom ? "failed request" : "peak");
  } else {
    wo_text_add(&w->line, "the model does not agree, ");
    add_clean(&w->line, wo_view_of(gpu->difference));
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
