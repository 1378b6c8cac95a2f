/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, colours, sizes and frames of the text report. See replay_text_internal.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/command/replay_text_internal.h"
#include "parsers/base/clean.h"

/* The most bytes of a name that are shown. */
enum { NAME_BYTES = 200 };

/* Colours add no information to the words. */
void wo__replay_color(struct wo_replay_writer *w, enum wo_tint tint) {
  const struct wo_page page = {w->out, w->style};
  if (tint == WO_TINT_PLAIN)
    wo_page_plain(&page);
  else
    wo_page_tint(&page, tint);
}

void wo__replay_put(struct wo_replay_writer *w, size_t indent, size_t hanging) {
  wo_text_end_line(&w->line, indent, hanging, w->style.width, w->out);
}

/* Breaks at blanks only: a setting that is longer than the line stays whole and can be copied. */
void wo__replay_put_behind(struct wo_replay_writer *w, size_t column) {
  struct wo_text lines = {0};
  assert(column > 2);
  wo_text_wrap(&lines, (struct wo_view){w->line.ptr, w->line.len}, column, w->style.width);
  /* The existing text replaces the first line's indent, except for two blanks. */
  const size_t kept = lines.len > column ? column - 2 : 0;
  wo_text_add_view(w->out, wo_view_skip((struct wo_view){lines.ptr, lines.len}, kept));
  if (lines.is_failed || w->line.is_failed) w->out->is_failed = true;
  w->line.len = 0;
  wo_text_done(&lines);
}

void wo__replay_count(struct wo_text *out, uint64_t count, const char *one, const char *many) {
  wo_text_add(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

void wo__replay_clean(struct wo_text *out, struct wo_view raw) {
  char text[NAME_BYTES];
  wo_text_add_view(out, wo_clean_utf8(raw, text, sizeof text));
}

/* Files of compiled code are "??" or paths of a build machine, so only the function is shown. */
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

/* Rounded to the nearest column. */
static size_t count_cells(uint64_t bytes, uint64_t all, size_t columns) {
  return (size_t)((double)bytes / (double)all * (double)columns + 0.5);
}

/* In use, idle, free at the moment of the segment map: of the capacity if it is known, else of the reserved bytes. */
void wo__replay_bar(struct wo_replay_writer *w, uint64_t in_use, uint64_t reserved) {
  const bool has_capacity = w->report->capacity.bytes >= reserved && w->report->capacity.bytes > 0;
  const uint64_t all = has_capacity ? w->report->capacity.bytes : reserved;
  const size_t columns = (w->style.width < 100 ? w->style.width : 100) - 6;
  if (all == 0) return;
  const struct wo_bar_part parts[] = {{WO_VIEW("#"), WO_TINT_PLAIN, count_cells(in_use, all, columns)},
                                      {WO_VIEW("."), WO_TINT_PLAIN, count_cells(reserved - in_use, all, columns)}};
  wo_page_bar(&(struct wo_page){w->out, w->style}, parts, 2, columns);
  wo_text_add(&w->line, "# in use %s  . idle in segments %s (%.1f %%)", WO_BYTES_TEXT(in_use), WO_BYTES_TEXT(reserved - in_use),
              wo_share_pct(reserved - in_use, reserved));
  if (has_capacity) wo_text_add(&w->line, "  not taken %s", WO_BYTES_TEXT(all - reserved));
  wo__replay_put(w, 4, 4);
}
