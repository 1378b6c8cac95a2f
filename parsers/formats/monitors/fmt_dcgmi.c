/* `dcgmi dmon -e 203,252,...`: a names line, a line with the word ID, one row for each entity and sample.
 *
 *   #Entity   GPUTL                       FBUSD                       FBTTL
 *   ID
 *   GPU 0     45                          1234                        81920
 *   GPU-I 0   N/A                         900                         N/A
 *
 * The fields are the user's choice, so the names line tells them; it comes again every few dozen rows. Memory is in MiB. Slices
 * of a card (GPU-I, GPU-CI) and other entities have rows of their own, which are accepted and left out: they are parts of a card.
 */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses; columns are -1 when the trace has none. */
enum number { COLUMNS, USED, TOTAL, BUSY, ACTIVE, STRANGE, SKIP };

static int slot_of(struct wo_view name) {
  static const struct {
    const char *name;
    int slot;
  } rows[] = {{"FBUSD", USED}, {"FBTTL", TOTAL}, {"GPUTL", BUSY}, {"GRACT", ACTIVE}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(name, rows[i].name)) return rows[i].slot;
  }
  return -1;
}

/* Reads "#Entity FBUSD ..." or, of older builds, "# Entity ...". False when it is none, and then nothing is changed. */
static bool read_names(struct wo_view text, struct wo_open *open) {
  int64_t columns[ACTIVE + 1] = {0, -1, -1, -1, -1};
  struct wo_view word = {0};
  text = wo_view_trim_start(text);
  if (!wo_view_starts(text, "#")) return false;
  text = wo_view_skip(text, 1);
  if (!wo_view_is(wo_monitor_word(&text), "Entity")) return false;
  while ((word = wo_monitor_word(&text)).len > 0) {
    const int slot = slot_of(word);
    if (slot >= 0) columns[slot] = columns[COLUMNS];
    columns[COLUMNS]++;
  }
  if (columns[COLUMNS] == 0 || columns[COLUMNS] > WO_LIMIT_MONITOR_COLUMNS) return false;
  for (int slot = COLUMNS; slot <= ACTIVE; slot++) open->numbers[slot] = columns[slot];
  return true;
}

/* A figure of the column at `at`. */
static void keep_figure(const int64_t *column, int64_t at, double number, struct wo_monitor_sample *sample) {
  enum { PCT = 100 };
  if (number < 0) return;
  if (at == column[USED]) sample->fb_bytes = number * WO_MIB;
  if (at == column[TOTAL]) sample->capacity_bytes = number * WO_MIB;
  if (at == column[BUSY]) sample->sm_pct = number;
  /* The profiling counter is a ratio; the utilisation says the same where both are asked for. */
  if (at == column[ACTIVE] && column[BUSY] < 0) sample->sm_pct = number * PCT;
}

/* "GPU 0   45  1234": whether the row fits the names in every cell. *ret_is_card: of a whole card. */
static bool read_row(const struct wo_open *open, struct wo_view text, struct wo_monitor_sample *sample, bool *ret_is_card) {
  static const char *const entities[] = {"GPU", "GPU-I", "GPU-CI", "CPU", "Core", "Switch", "Link"};
  const struct wo_view entity = wo_monitor_word(&text);
  bool is_entity = false;
  int32_t gpu = 0;
  for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) is_entity = is_entity || wo_view_is(entity, entities[i]);
  if (!is_entity || !wo_monitor_gpu(wo_monitor_word(&text), &gpu)) return false;
  *sample = wo_monitor_sample_of(gpu);
  *ret_is_card = wo_view_is(entity, "GPU");
  for (int64_t i = 0; i < open->numbers[COLUMNS]; i++) {
    struct wo_view unit;
    double number = 0;
    if (wo_monitor_cell(wo_monitor_word(&text), &number, &unit) == WO_CELL_BAD || unit.len > 0) return false;
    keep_figure(open->numbers, i, number, sample);
  }
  if (open->numbers[USED] < 0) sample->lack = "no memory field (FBUSD): record with dcgmi dmon -e 203,252";
  return wo_view_trim(text).len == 0;
}

/* A launcher's label stands before the names and before each row, and is as long. */
static enum wo_more begin_dcgmi(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                struct wo_open *open) {
  (void)scan;
  (void)match;
  open->numbers[SKIP] = (int64_t)line->prefix.length;
  return read_names(line->text, open) ? WO_MORE_YES : WO_MORE_NO;
}

static enum wo_more feed_dcgmi(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_monitor_sample sample;
  bool is_card = false;
  const struct wo_view text = wo_view_skip(line->full, (size_t)open->numbers[SKIP]);
  if (read_names(text, open)) return WO_MORE_YES;
  if (read_row(open, text, &sample, &is_card)) {
    if (is_card) wo_monitor_add(scan, line, open->pattern, &sample, false);
    open->numbers[STRANGE] = 0;
    return WO_MORE_YES;
  }
  return wo_monitor_is_over(&open->numbers[STRANGE]) ? WO_MORE_NO : WO_MORE_YES;
}

const struct wo_format wo__format_dcgmi = {
    .name = "dcgmi", .follower = &wo__monitor_follower, .begin = begin_dcgmi, .feed = feed_dcgmi};
