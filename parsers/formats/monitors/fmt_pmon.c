/* `nvidia-smi pmon`: a names line, a units line, one row for each process and sample.
 *
 *   # gpu        pid  type    sm   mem   enc   dec    fb   command
 *   # Idx          #   C/G     %     %     %     %    MB   name
 *       0      14835     C    45    15     0     0  6021   python train.py
 *       1          -     -     -     -     -     -     -   -
 *
 * Which columns there are depends on -s, -o and the driver; the command is always the last one and may hold blanks. A card
 * without processes has a row of dashes. Only -s m has the memory. */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses; columns are -1 when the trace has none. */
enum number { COLUMNS, GPU, PID, TYPE, FB, CLOCKS, STRANGE, SKIP };

/* Columns of -o DT, which stand in front and hold no figures. */
static bool is_clock_name(struct wo_view name) {
  return wo_view_is_nocase(name, "Date") || wo_view_is_nocase(name, "Time");
}

static int slot_of(struct wo_view name) {
  static const struct {
    const char *name;
    int slot;
  } rows[] = {{"gpu", GPU}, {"pid", PID}, {"type", TYPE}, {"fb", FB}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(name, rows[i].name)) return rows[i].slot;
  }
  return -1;
}

/* Reads the names line. False when it is none, and then nothing is changed. */
static bool read_names(struct wo_view text, struct wo_open *open) {
  int64_t columns[CLOCKS + 1] = {0, -1, -1, -1, -1, 0};
  struct wo_view word = {0};
  struct wo_view last = {0};
  text = wo_view_trim_start(text);
  if (!wo_view_starts(text, "#")) return false;
  text = wo_view_skip(text, 1);
  while ((word = wo_monitor_word(&text)).len > 0) {
    const int slot = slot_of(word);
    if (slot >= 0) columns[slot] = columns[COLUMNS];
    if (is_clock_name(word)) columns[CLOCKS]++;
    columns[COLUMNS]++;
    last = word;
  }
  const bool is_names = columns[GPU] == columns[CLOCKS] && columns[PID] > columns[GPU] && columns[TYPE] > columns[PID];
  if (!is_names || !(wo_view_is(last, "command") || wo_view_is(last, "name"))) return false;
  for (int slot = COLUMNS; slot <= CLOCKS; slot++) open->numbers[slot] = columns[slot];
  return true;
}

/* Compute, graphics, or both; M for a client of the multi-process service. */
static bool is_type(struct wo_view cell) {
  enum { LONGEST = 5 };
  for (size_t i = 0; i < cell.len; i++) {
    if (wo_view_find_char(WO_VIEW("CGM+-"), cell.ptr[i], 0) == WO_NOT_FOUND) return false;
  }
  return cell.len > 0 && cell.len <= LONGEST;
}

/* One cell in front of the command. False when nothing of the kind can stand there. */
static bool read_cell(const int64_t *column, int64_t at, struct wo_view cell, struct wo_monitor_use *use) {
  struct wo_view unit;
  double number = 0;
  if (at < column[CLOCKS]) return wo_is_digit(cell.ptr[0]);
  if (at == column[GPU]) return wo_monitor_gpu(cell, &use->gpu);
  if (at == column[PID]) return wo_view_is(cell, "-") || wo_monitor_pid(cell, &use->pid);
  if (at == column[TYPE]) return is_type(cell);
  if (wo_monitor_cell(cell, &number, &unit) == WO_CELL_BAD || unit.len > 0) return false;
  if (at == column[FB] && number >= 0) use->bytes = number * WO_MIB;
  return true;
}

/* Whether the row fits the names in every cell. */
static bool read_row(const struct wo_open *open, struct wo_view text, struct wo_monitor_use *use) {
  *use = (struct wo_monitor_use){.gpu = -1, .bytes = WO_MONITOR_MISSING};
  for (int64_t i = 0; i < open->numbers[COLUMNS] - 1; i++) {
    const struct wo_view cell = wo_monitor_word(&text);
    if (cell.len == 0 || !read_cell(open->numbers, i, cell, use)) return false;
  }
  use->name = wo_view_trim(text);
  return use->name.len > 0;
}

/* A launcher's label stands before the names and before each row, and is as long. */
static enum wo_more begin_pmon(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                               struct wo_open *open) {
  (void)scan;
  (void)match;
  open->numbers[SKIP] = (int64_t)line->prefix.length;
  return read_names(line->text, open) ? WO_MORE_YES : WO_MORE_NO;
}

/* Lines with '#' that are no names are units, or those of a dmon beside it. */
static enum wo_more feed_pmon(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_monitor_use use;
  const struct wo_view text = wo_view_skip(line->full, (size_t)open->numbers[SKIP]);
  if (read_names(text, open)) return WO_MORE_YES;
  if (wo_view_starts(wo_view_trim_start(text), "#")) return WO_MORE_YES;
  if (!read_row(open, text, &use)) return wo_monitor_is_over(&open->numbers[STRANGE]) ? WO_MORE_NO : WO_MORE_YES;
  open->numbers[STRANGE] = 0;
  if (use.pid > 0) wo_monitor_add_process(scan, line, open->pattern, &use);
  return WO_MORE_YES;
}

const struct wo_format wo__format_pmon = {
    .name = "pmon", .follower = &wo__monitor_follower, .begin = begin_pmon, .feed = feed_pmon};
