/* Lines, colours, sizes and frames of the text report. See replay_text_internal.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text_internal.h"
#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* Bytes of a name that are shown. */
enum { NAME_BYTES = 200 };

/* Colours carry nothing that the words do not say. */
void wo__replay_color(struct wo_replay_writer *w, enum wo_replay_color color) {
  static const char *const codes[] = {[WO_REPLAY_PLAIN] = "\x1b[0m",
                                      [WO_REPLAY_BOLD] = "\x1b[1m",
                                      [WO_REPLAY_RED] = "\x1b[1;31m",
                                      [WO_REPLAY_GREEN] = "\x1b[1;32m",
                                      [WO_REPLAY_YELLOW] = "\x1b[1;33m"};
  if (w->style.use_color) wo_text_add(w->out, "%s", codes[color]);
}

void wo__replay_put(struct wo_replay_writer *w, size_t indent, size_t hanging) {
  wo_text_end_line(&w->line, indent, hanging, w->style.width, w->out);
}

/* Breaks at blanks only: a setting that is longer than the line keeps its length and can be copied. */
void wo__replay_put_behind(struct wo_replay_writer *w, size_t column) {
  assert(column > 2);
  struct wo_view rest = {w->line.ptr, w->line.len};
  size_t at = 0;
  while (rest.len > 0) {
    const struct wo_view word = wo_view_cut(&rest, ' ');
    const size_t columns = wo_text_columns(word);
    const bool is_full = at > column && at + 1 + columns > w->style.width;
    if (columns == 0) continue;
    if (is_full) wo_text_add(w->out, "\n");
    wo_text_repeat(w->out, ' ', is_full ? column : at == 0 ? 2 : 1);
    wo_text_add_view(w->out, word);
    at = (is_full || at == 0 ? column : at + 1) + columns;
  }
  wo_text_add(w->out, "\n");
  if (w->line.is_failed) w->out->is_failed = true;
  w->line.len = 0;
}

const char *wo__replay_size(uint64_t bytes, char *buf) {
  return wo_units_bytes_text((double)bytes, buf, WO_SIZE_TEXT);
}

void wo__replay_count(struct wo_text *out, uint64_t count, const char *one, const char *many) {
  wo_text_add(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

void wo__replay_settings(const struct wo_replay_report *report, const struct wo_alloc_settings *settings, struct wo_text *out) {
  const size_t before = out->len;
  wo_alloc_settings_show(settings, report->torch, out);
  if (out->len == before) wo_text_add(out, "default");
}

void wo__replay_clean(struct wo_text *out, struct wo_view raw) {
  char text[NAME_BYTES];
  wo_text_add_view(out, wo_clean_utf8(raw, text, sizeof text));
}

/* Files of compiled code are "??" or paths of a build machine: the function alone tells more. */
void wo__replay_frame(const struct wo_replay_writer *w, uint32_t index, struct wo_text *out) {
  if (index == WO_NO_FRAME) {
    wo_text_add(out, "(no stack recorded)");
    return;
  }
  assert(index < w->report->recording->frames.count);
  const struct wo_frame *const frame = &w->report->recording->frames.items[index];
  if (wo_frame_origin(frame) != WO_FRAME_NATIVE) {
    wo__replay_clean(out, w->style.is_verbose ? frame->file : wo_frame_file_name(frame));
    wo_text_add(out, ":%" PRIu32 " ", frame->line);
  }
  wo__replay_clean(out, w->style.is_verbose ? frame->function : wo_frame_function_name(frame));
}

/* Rounded to the nearest column, and never beyond the bar. */
static void add_bar(struct wo_text *out, char c, uint64_t bytes, uint64_t all, size_t columns, size_t *used) {
  size_t count = (size_t)((double)bytes / (double)all * (double)columns + 0.5);
  if (count > columns - *used) count = columns - *used;
  wo_text_repeat(out, c, count);
  *used += count;
}

/* In use, idle, free at the moment that the segment map shows: of the capacity where it is known, else of what was reserved. */
void wo__replay_bar(struct wo_replay_writer *w, uint64_t in_use, uint64_t reserved) {
  const bool has_capacity = w->report->capacity.bytes >= reserved && w->report->capacity.bytes > 0;
  const uint64_t all = has_capacity ? w->report->capacity.bytes : reserved;
  const size_t columns = (w->style.width < 100 ? w->style.width : 100) - 6;
  char text[3][WO_SIZE_TEXT];
  size_t used = 0;
  if (all == 0) return;
  wo_text_add(w->out, "  [");
  add_bar(w->out, '#', in_use, all, columns, &used);
  add_bar(w->out, '.', reserved - in_use, all, columns, &used);
  wo_text_repeat(w->out, ' ', columns - used);
  wo_text_add(w->out, "]\n");
  wo_text_add(&w->line, "# in use %s  . idle in segments %s (%.1f %%)", wo__replay_size(in_use, text[0]),
              wo__replay_size(reserved - in_use, text[1]), wo_share_pct(reserved - in_use, reserved));
  if (has_capacity) wo_text_add(&w->line, "  not taken %s", wo__replay_size(all - reserved, text[2]));
  wo__replay_put(w, 4, 4);
}
