/* Who holds the memory at the peak, and which small blocks keep whole segments from being freed. See replay_text.h.
 *
 * The program's own frame stands first: it is the line that one can change. */
#include <inttypes.h>

#include "cuda_replay/replay_text.h"

/* Rows without --verbose, so that the first screen holds all parts. Frames below the own one, likewise. */
enum { STACKS_SHOWN = 6, PINS_SHOWN = 5, FRAMES_SHOWN = 2, NAME_COLUMNS = 20, SIZE_COLUMNS = 12 };

static double share_pct(uint64_t bytes, uint64_t all) {
  return all > 0 ? 100.0 * (double)bytes / (double)all : 0;
}

static size_t shown_of(const struct wo_replay_writer *w, size_t count, size_t most) {
  return w->style.is_verbose || count < most ? count : most;
}

/* "pattern.py:3 f"; without frames a word that says so, since an empty line looks like a fault of ours. */
static void add_own(struct wo_text *line, const struct wo_replay_stack *stack) {
  if (stack->own.len > 0) {
    wo_text_add_view(line, stack->own);
  } else {
    wo_text_add(line, "(no stack recorded)");
  }
}

/* The frames between the allocator and the program's own: what the library did there. */
static void write_frames(struct wo_replay_writer *w, const struct wo_replay_stack *stack, size_t indent) {
  const size_t most = w->style.is_verbose ? stack->frame_count : FRAMES_SHOWN;
  size_t shown = 0;
  for (size_t i = 0; i < stack->frame_count && shown < most; i++) {
    if (wo_view_equal(stack->frames[i], stack->own)) {
      if (!w->style.is_verbose) return;
      continue;
    }
    wo_text_add(&w->line, "%s", shown == 0 ? "in " : "by ");
    wo_text_add_view(&w->line, stack->frames[i]);
    wo__replay_put(w, indent, indent + 3);
    shown++;
  }
}

static uint64_t sum_of(const struct wo_replay_holder *rows, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += rows[i].bytes;
  return sum;
}

static void write_classes(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const uint64_t all = sum_of(report->classes, report->class_count);
  char text[WO_SIZE_TEXT];
  if (report->class_count == 0) return;
  wo_text_add(w->out, "\n  what holds %s at the peak\n", wo__replay_size(all, text));
  for (size_t i = 0; i < report->class_count; i++) {
    const struct wo_replay_holder *const row = &report->classes[i];
    wo_text_add(w->out, "    %-*s%*s  %5.1f %%  ", NAME_COLUMNS, wo_alloc_class_name(row->class_), SIZE_COLUMNS,
                wo__replay_size(row->bytes, text), share_pct(row->bytes, all));
    wo__replay_count(w->out, row->block_count, "block", "blocks");
    wo_text_add(w->out, "\n");
  }
}

static void write_stacks(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const uint64_t all = sum_of(report->stacks, report->stack_count) + report->stacks_rest_bytes;
  const size_t shown = shown_of(w, report->stack_count, STACKS_SHOWN);
  char text[WO_SIZE_TEXT];
  if (report->stack_count == 0) return;
  wo_text_add(w->out, "\n  who asked for it\n");
  for (size_t i = 0; i < shown; i++) {
    const struct wo_replay_holder *const row = &report->stacks[i];
    wo_text_add(&w->line, "%*s  %5.1f %%  ", SIZE_COLUMNS, wo__replay_size(row->bytes, text), share_pct(row->bytes, all));
    add_own(&w->line, &row->stack);
    wo_text_add(&w->line, "  (");
    wo__replay_count(&w->line, row->block_count, "block", "blocks");
    if (row->class_ != WO_CLASS_UNKNOWN) wo_text_add(&w->line, ", %s", wo_alloc_class_name(row->class_));
    wo_text_add(&w->line, ")");
    wo__replay_put(w, 2, SIZE_COLUMNS + 13);
    write_frames(w, &row->stack, SIZE_COLUMNS + 13);
  }
  const uint64_t rest = all - sum_of(report->stacks, shown);
  if (rest > 0) wo_text_add(w->out, "  %*s  %5.1f %%  others\n", SIZE_COLUMNS, wo__replay_size(rest, text), share_pct(rest, all));
}

static void write_pin(struct wo_replay_writer *w, const struct wo_replay_pin *pin) {
  char segment[WO_SIZE_TEXT], held[WO_SIZE_TEXT];
  wo_text_add(&w->line, "segment of %s held by %s in ", wo__replay_size(pin->segment_bytes, segment),
              wo__replay_size(pin->held_by_bytes, held));
  wo__replay_count(&w->line, pin->block_count, "block", "blocks");
  wo_text_add(&w->line, ": ");
  add_own(&w->line, &pin->stack);
  wo_text_add(&w->line, "  (");
  if (pin->class_ != WO_CLASS_UNKNOWN) wo_text_add(&w->line, "%s, ", wo_alloc_class_name(pin->class_));
  if (pin->is_older) {
    wo_text_add(&w->line, "older than the recording");
  } else {
    wo_text_add(&w->line, "since entry %" PRIu32, pin->birth);
  }
  wo_text_add(&w->line, ", at 0x%" PRIx64 ")", pin->address);
  wo__replay_put(w, 4, 6);
  write_frames(w, &pin->stack, 6);
}

static void write_pins(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const size_t shown = shown_of(w, report->pin_count, PINS_SHOWN);
  char text[WO_SIZE_TEXT];
  if (report->pin_count == 0) return;
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "what pins segments: %s lie idle in ", wo__replay_size(report->pins_idle_bytes, text));
  wo__replay_count(&w->line, report->pins_total, "segment that a few small blocks keep", "segments that a few small blocks keep");
  wo__replay_put(w, 2, 4);
  for (size_t i = 0; i < shown; i++) write_pin(w, &report->pins[i]);
  if (report->pins_total > shown) {
    wo_text_add(&w->line, "and %zu more", report->pins_total - shown);
    wo__replay_put(w, 4, 4);
  }
}

void wo__replay_text_holders(struct wo_replay_writer *w) {
  write_classes(w);
  write_stacks(w);
  write_pins(w);
}
