/* `gpustat --json`: indented, one key a line.
 *
 *   "query_time": "2024-01-01T12:00:00.123456",
 *   "gpus": [
 *       {
 *           "index": 0,
 *           "utilization.gpu": 98,
 *           "memory.used": 30000,
 *           "memory.total": 81920,
 *           "processes": [
 *               {
 *                   "command": "python",
 *                   "gpu_memory_usage": 29500,
 *                   "pid": 4711
 *               }
 *
 * Figures are MiB and percent without units; null is unknown. */
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses: the card, or -1; the process being read: its pid (0: unknown) and MiB (-1). */
enum number { GPU, PID, MIB, TIME_S };

/* The slot of texts with the program's name. */
enum { NAME = 0 };

/* Lines of the largest document that is believed. */
#define DOCUMENT_LINES 20000

/* `"key": value,` without quotes and comma. False for lines that are no pair. */
static bool read_pair(struct wo_view text, struct wo_view *ret_key, struct wo_view *ret_value) {
  text = wo_view_trim(text);
  if (!wo_view_starts(text, "\"")) return false;
  text = wo_view_skip(text, 1);
  const size_t end = wo_view_find(text, WO_VIEW("\": "), 0);
  if (end == WO_NOT_FOUND) return false;
  *ret_key = wo_view_sub(text, 0, end);
  struct wo_view value = wo_view_trim(wo_view_skip(text, end + 3));
  if (wo_view_ends(value, ",")) value.len--;
  if (wo_view_starts(value, "\"") && wo_view_ends(value, "\"") && value.len >= 2) value = wo_view_sub(value, 1, value.len - 1);
  *ret_value = value;
  return true;
}

static bool read_number(struct wo_view value, double *ret_number) {
  struct wo_view unit;
  return wo_monitor_cell(value, ret_number, &unit) == WO_CELL_NUMBER && unit.len == 0;
}

static void forget_process(struct wo_open *open) {
  open->numbers[PID] = 0;
  open->numbers[MIB] = -1;
  open->texts[NAME][0] = '\0';
}

/* The brace that closes a process. */
static void add_process(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  const struct wo_monitor_use use = {.gpu = (int32_t)open->numbers[GPU],
                                     .pid = (uint64_t)open->numbers[PID],
                                     .name = wo_view_of(open->texts[NAME]),
                                     .bytes = open->numbers[MIB] < 0 ? WO_MONITOR_MISSING : (double)open->numbers[MIB] * WO_MIB};
  if (open->numbers[PID] > 0 && open->numbers[GPU] >= 0) wo_monitor_add_process(scan, line, open->pattern, &use);
  forget_process(open);
}

/* Keys of a process. */
static void read_process(struct wo_open *open, struct wo_view key, struct wo_view value) {
  double number = 0;
  if (wo_view_is(key, "command")) {
    const size_t most = sizeof open->texts[NAME] - 1;
    const size_t len = value.len < most ? value.len : most;
    memcpy(open->texts[NAME], value.ptr, len);
    open->texts[NAME][len] = '\0';
  }
  if (wo_view_is(key, "gpu_memory_usage") && read_number(value, &number) && number < 1e9) open->numbers[MIB] = (int64_t)number;
  if (wo_view_is(key, "pid") && read_number(value, &number) && number < 1e10) open->numbers[PID] = (int64_t)number;
}

/* Keys of a card. Each figure is a part of the sample that its index began. */
static void read_card(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, struct wo_view key,
                      struct wo_view value) {
  int32_t gpu = 0;
  double number = 0;
  if (wo_view_is(key, "index")) open->numbers[GPU] = wo_monitor_gpu(value, &gpu) ? gpu : -1;
  if (open->numbers[GPU] < 0) return;
  struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)open->numbers[GPU]);
  if (wo_view_is(key, "index")) {
    wo_monitor_add(scan, line, open->pattern, &sample, false);
    return;
  }
  if (!read_number(value, &number)) return;
  if (wo_view_is(key, "utilization.gpu") && number <= 100) {
    sample.sm_pct = number;
  } else if (wo_view_is(key, "memory.used")) {
    sample.fb_bytes = number * WO_MIB;
    sample.time_s = (double)open->numbers[TIME_S];
  } else if (wo_view_is(key, "memory.total")) {
    sample.capacity_bytes = number * WO_MIB;
  } else {
    return;
  }
  wo_monitor_add(scan, line, open->pattern, &sample, true);
}

static enum wo_more begin_json(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                               struct wo_open *open) {
  struct wo_view key;
  struct wo_view value;
  (void)scan;
  (void)match;
  if (!read_pair(line->text, &key, &value)) return WO_MORE_NO;
  open->numbers[GPU] = -1;
  open->numbers[TIME_S] = (int64_t)wo_monitor_time(value);
  forget_process(open);
  return WO_MORE_YES;
}

/* The document ends with a brace at the margin; another one begins with its own time. */
static enum wo_more feed_json(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_view key;
  struct wo_view value;
  if (wo_view_starts(line->full, "}") || open->lines > DOCUMENT_LINES) return WO_MORE_NO;
  if (wo_view_starts(wo_view_trim(line->full), "}")) {
    add_process(scan, line, open);
    return WO_MORE_YES;
  }
  if (!read_pair(line->full, &key, &value)) return WO_MORE_YES;
  if (wo_view_is(key, "query_time")) return WO_MORE_NO_UNREAD;
  read_process(open, key, value);
  read_card(scan, line, open, key, value);
  return WO_MORE_YES;
}

const struct wo_format wo__format_gpustat_json = {
    .name = "gpustat_json", .follower = &wo__monitor_follower, .begin = begin_json, .feed = feed_json};
