/* `nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv`: one header, one row for each process and sample.
 *
 *   pid, process_name, used_gpu_memory [MiB]
 *   4711, python, 29500 MiB
 *
 * The columns are the user's choice, in any order. The card is told by an address at best, which no other trace has, so it stays
 * unknown. */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses; columns are -1 when the trace has none. */
enum number { COLUMNS, PID, NAME, USED, STRANGE, SKIP, HAS_UNITS };

static int slot_of(struct wo_view name) {
  static const struct {
    const char *name;
    int slot;
  } rows[] = {{"pid", PID},
              {"process_name", NAME},
              {"name", NAME},
              {"used_gpu_memory [MiB]", USED},
              {"used_gpu_memory", USED},
              {"used_memory [MiB]", USED}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(name, rows[i].name)) return rows[i].slot;
  }
  return -1;
}

/* A column's name: a word of small letters, and a unit in brackets. */
static bool is_name(struct wo_view cell) {
  for (size_t i = 0; i < cell.len; i++) {
    const char c = cell.ptr[i];
    if (!wo_is_word(c) && c != '.' && c != ' ' && c != '[' && c != ']') return false;
  }
  return cell.len > 0 && wo_is_alpha(cell.ptr[0]);
}

/* False when the line is no header, and then nothing is changed. */
static bool read_header(struct wo_view text, struct wo_open *open) {
  int64_t columns[USED + 1] = {0, -1, -1, -1};
  while (text.len > 0) {
    const struct wo_view cell = wo_view_trim(wo_view_cut(&text, ','));
    const int slot = slot_of(cell);
    if (!is_name(cell) || columns[COLUMNS] == WO_LIMIT_MONITOR_COLUMNS) return false;
    if (slot >= 0) columns[slot] = columns[COLUMNS];
    columns[COLUMNS]++;
  }
  if (columns[PID] < 0 || columns[USED] < 0) return false;
  for (int slot = COLUMNS; slot <= USED; slot++) open->numbers[slot] = columns[slot];
  return true;
}

/* A size that lost its unit where the others have one was cut by a kill. */
static bool read_size(struct wo_open *open, struct wo_view cell, double *ret_bytes) {
  struct wo_view unit;
  const enum wo_cell kind = wo_monitor_cell(cell, ret_bytes, &unit);
  if (kind != WO_CELL_NUMBER) return kind == WO_CELL_MISSING;
  if (unit.len == 0 && open->numbers[HAS_UNITS]) return false;
  const double scale = unit.len > 0 ? wo_monitor_unit_bytes(unit) : WO_MIB;
  open->numbers[HAS_UNITS] = unit.len > 0;
  *ret_bytes *= scale;
  return scale > 0;
}

/* Whether the row fits the header in every cell. */
static bool read_row(struct wo_open *open, struct wo_view text, struct wo_monitor_use *use) {
  int64_t at = 0;
  *use = (struct wo_monitor_use){.gpu = -1, .bytes = WO_MONITOR_MISSING};
  for (; text.len > 0; at++) {
    const struct wo_view cell = wo_view_trim(wo_view_cut(&text, ','));
    if (cell.len == 0) return false;
    if (at == open->numbers[PID] && !wo_monitor_pid(cell, &use->pid)) return false;
    if (at == open->numbers[NAME]) use->name = cell;
    if (at == open->numbers[USED] && !read_size(open, cell, &use->bytes)) return false;
  }
  return at == open->numbers[COLUMNS];
}

/* A launcher's label stands before the header and before each row, and is as long. */
static enum wo_more begin_apps(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                               struct wo_open *open) {
  (void)scan;
  (void)match;
  open->numbers[SKIP] = (int64_t)line->prefix.length;
  return read_header(line->text, open) ? WO_MORE_YES : WO_MORE_NO;
}

static enum wo_more feed_apps(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_monitor_use use;
  const struct wo_view text = wo_view_skip(line->full, (size_t)open->numbers[SKIP]);
  if (read_header(text, open)) return WO_MORE_YES;
  if (!read_row(open, text, &use)) return wo_monitor_is_over(&open->numbers[STRANGE]) ? WO_MORE_NO : WO_MORE_YES;
  open->numbers[STRANGE] = 0;
  wo_monitor_add_process(scan, line, open->pattern, &use);
  return WO_MORE_YES;
}

const struct wo_format wo__format_query_apps = {
    .name = "query_apps", .follower = &wo__monitor_follower, .begin = begin_apps, .feed = feed_apps};
