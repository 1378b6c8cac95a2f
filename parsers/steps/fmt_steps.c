/* Memory beside training steps, where it does not come on the scanner's short way: lines that another pattern matches too, and
 * tables of YOLO.
 *
 *         Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
 *         1/100      12.3G      1.234      2.345      1.456         32        640: 100%|####| 8/8
 *
 * A row of such a table is one progress bar, drawn again and again; the first one behind its names is read, and the names come
 * again at each epoch. */
#include "parsers/scan/scan_internal.h"
#include "parsers/steps/steps.h"

/* Slots of struct wo_open that the reader of tables uses. */
enum number { STRANGE };

/* Lines between the names and the first row: a bar that has no figures yet. */
#define STRANGE_MAX 4

static enum wo_more begin_steps(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                struct wo_open *open) {
  (void)match;
  if (!wo_steps_take(&scan->steps, open->pattern, line->raw, line->number, line->offset)) scan->store->is_out_of_memory = true;
  return WO_MORE_NO;
}

const struct wo_format wo__format_steps = {.name = "steps", .begin = begin_steps};

static enum wo_more begin_table(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                struct wo_open *open) {
  (void)scan;
  (void)match;
  (void)open;
  return wo_view_starts(wo_view_trim_start(line->text), "Epoch") ? WO_MORE_YES : WO_MORE_NO;
}

static enum wo_more feed_table(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_steps_reading reading;
  if (wo_steps_read_yolo(line->text, &reading)) {
    const struct wo_steps_place place = {.line = line->number, .byte = line->offset, .text = line->raw};
    if (!wo_steps_take_row(&scan->steps, open->pattern, &reading, &place)) scan->store->is_out_of_memory = true;
    return WO_MORE_NO;
  }
  return ++open->numbers[STRANGE] > STRANGE_MAX ? WO_MORE_NO : WO_MORE_YES;
}

const struct wo_format wo__format_steps_table = {.name = "steps_table", .begin = begin_table, .feed = feed_table};
