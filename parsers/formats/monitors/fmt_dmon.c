/* `nvidia-smi dmon`: a names line, a units line, one row for each card and sample.
 *
 *   # gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk    fb  bar1
 *   # Idx     W     C     C     %     %     %     %   MHz   MHz    MB    MB
 *       0    29    69     -    97    42     0     0  4996  1845 30211     5
 *
 * Which columns there are depends on -s, on -o and on the driver, so they are taken from the names line, and again whenever it is
 * repeated. The set without -s has no fb column. Rows are split at blanks (or commas, with --format csv): wide values push the
 * row. A row that does not fit the names in every cell is not one: dmon in the background of a job shares its output. */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses; columns are -1 when the trace has none. */
enum number { COLUMNS, GPU, FB, SM, DATE, TIME, STRANGE, SKIP };

static bool is_separator(char c) {
  return wo_is_space(c) || c == ',';
}

/* Splits at blanks and commas. The number of cells, or 0 when there are too many. */
static size_t split(struct wo_view text, struct wo_view *cells) {
  size_t count = 0;
  size_t at = 0;
  for (;;) {
    while (at < text.len && is_separator(text.ptr[at])) at++;
    if (at == text.len) return count;
    if (count == WO_LIMIT_MONITOR_COLUMNS) return 0;
    const size_t start = at;
    while (at < text.len && !is_separator(text.ptr[at])) at++;
    cells[count++] = wo_view_sub(text, start, at);
  }
}

/* Where in open->numbers a column is noted, or -1 for those that nobody asks for. */
static int slot_of(struct wo_view name) {
  static const struct {
    const char *name;
    int slot;
  } rows[] = {{"gpu", GPU}, {"fb", FB}, {"sm", SM}, {"Date", DATE}, {"Time", TIME}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is_nocase(name, rows[i].name)) return rows[i].slot;
  }
  return -1;
}

/* Reads the names line. False for other tables that begin alike: pmon has a row for each process. */
static bool read_names(struct wo_view text, struct wo_open *open) {
  struct wo_view cells[WO_LIMIT_MONITOR_COLUMNS];
  text = wo_view_trim_start(text);
  if (!wo_view_starts(text, "#")) return false;
  const size_t count = split(wo_view_skip(text, 1), cells);
  for (int slot = GPU; slot <= TIME; slot++) open->numbers[slot] = -1;
  for (size_t i = 0; i < count; i++) {
    const int slot = slot_of(cells[i]);
    if (wo_view_is(cells[i], "pid")) return false;
    if (slot >= 0 && open->numbers[slot] < 0) open->numbers[slot] = (int64_t)i;
  }
  open->numbers[COLUMNS] = (int64_t)count;
  return open->numbers[GPU] >= 0 && count > 1;
}

/* "20240131" and "12:00:05" of -o DT. A time without its date says nothing across midnight, and is not used. */
static double read_time(struct wo_view date, struct wo_view time) {
  char text[32];
  enum { DATE_LEN = 8, TIME_LEN = 8 };
  if (date.len != DATE_LEN || time.len != TIME_LEN) return WO_MONITOR_MISSING;
  snprintf(text, sizeof text, "%.4s-%.2s-%.2s %.8s", date.ptr, date.ptr + 4, date.ptr + 6, time.ptr);
  return wo_monitor_time(wo_view_of(text));
}

/* Digits and colons: "20240131" and "12:00:05". A date is not checked further here; a trace whose dates are wrong still has good
 * figures. */
static bool is_clock(struct wo_view cell) {
  for (size_t i = 0; i < cell.len; i++) {
    if (!wo_is_digit(cell.ptr[i]) && cell.ptr[i] != ':') return false;
  }
  return true;
}

/* Whether the row fits the names in every cell. Fills the sample. */
static bool read_row(const struct wo_open *open, const struct wo_view *cells, struct wo_monitor_sample *sample) {
  const int64_t *const column = open->numbers;
  int32_t gpu = 0;
  if (!wo_monitor_gpu(cells[column[GPU]], &gpu)) return false;
  *sample = wo_monitor_sample_of(gpu);
  for (int64_t i = 0; i < column[COLUMNS]; i++) {
    double number = 0;
    struct wo_view unit;
    if (i == column[DATE] || i == column[TIME]) {
      if (!is_clock(cells[i])) return false;
      continue;
    }
    if (wo_monitor_cell(cells[i], &number, &unit) == WO_CELL_BAD || unit.len > 0) return false;
    if (i == column[FB] && number >= 0) sample->fb_bytes = number * WO_MIB;
    if (i == column[SM]) sample->sm_pct = number;
  }
  if (column[FB] < 0) sample->lack = "no memory column (fb): record with nvidia-smi dmon -s mu";
  if (column[DATE] >= 0 && column[TIME] >= 0) sample->time_s = read_time(cells[column[DATE]], cells[column[TIME]]);
  return true;
}

/* A launcher's label stands before the names and before each row, and is as long; dates of -o D are no label of the row. */
static enum wo_more begin_dmon(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                               struct wo_open *open) {
  (void)scan;
  (void)match;
  open->numbers[SKIP] = (int64_t)line->prefix.length;
  return read_names(line->text, open) ? WO_MORE_YES : WO_MORE_NO;
}

/* The names line comes again every few dozen rows, with the units line behind it; the latter is the one that says "Idx". A pmon
 * beside it has names of its own. */
static enum wo_more feed_dmon(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_view cells[WO_LIMIT_MONITOR_COLUMNS];
  struct wo_monitor_sample sample;
  const struct wo_view text = wo_view_skip(line->full, (size_t)open->numbers[SKIP]);
  if (wo_view_starts(wo_view_trim_start(text), "#")) {
    const bool is_names = wo_view_has(text, "gpu") && !wo_view_has(text, "Idx") && !wo_view_has(text, "pid");
    return !is_names || read_names(text, open) ? WO_MORE_YES : WO_MORE_NO;
  }
  if (split(text, cells) == (size_t)open->numbers[COLUMNS] && read_row(open, cells, &sample)) {
    wo_monitor_add(scan, line, open->pattern, &sample, false);
    open->numbers[STRANGE] = 0;
    return WO_MORE_YES;
  }
  return wo_monitor_is_over(&open->numbers[STRANGE]) ? WO_MORE_NO : WO_MORE_YES;
}

const struct wo_format wo__format_dmon = {
    .name = "dmon", .follower = &wo__monitor_follower, .begin = begin_dmon, .feed = feed_dmon};
