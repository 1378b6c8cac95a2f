/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of log records in front of a line: times in their many forms, levels, files, logger names. */
#include <stdio.h>
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/prefix/prefix_internal.h"

/* Bytes of a record in JSON in which its level and its time are. */
#define JSON_HEAD_BYTES 300

/* ---- Times ---- */

/* Offset after `HH:MM:SS` and a fraction at `at`, or 0. */
static size_t clock_end(struct wo_view view, size_t at) {
  const size_t width = sizeof "00:00:00" - 1;
  const struct wo_view clock = wo_view_sub(view, at, at + width);
  if (clock.len < width) return 0;
  for (size_t i = 0; i < width; i++) {
    if (i % 3 == 2 ? clock.ptr[i] != ':' : !wo_is_digit(clock.ptr[i])) return 0;
  }
  const size_t end = at + width;
  const bool has_fraction = has_char(view, end, '.') || has_char(view, end, ',');
  const size_t fraction_end = has_fraction ? skip_digits(view, end + 1) : end;
  return fraction_end > end + 1 ? fraction_end : end;
}

/* A logger's time is a word of its own. TensorFlow writes `: ` after it. Returns the offset of what follows, or 0. */
static size_t after_time(struct wo_view rest, size_t end) {
  if (end == rest.len) return end;
  if (wo_view_starts(wo_view_skip(rest, end), ": ")) return end + 2;
  if (has_char(rest, end, ',')) end++;
  return has_char(rest, end, ' ') ? end + 1 : 0;
}

/* Whether a calendar time ends in "Z", "+01:00" or the like. */
static bool has_zone(struct wo_view time) {
  const size_t date_end = sizeof "2025-01-06" - 1;
  if (wo_view_ends(time, "Z") || wo_view_ends(time, "z")) return true;
  return wo_view_find_char(time, '+', date_end) != WO_NOT_FOUND || wo_view_find_char(time, '-', date_end) != WO_NOT_FOUND;
}

/* Length of a calendar time with a year at the front of view, or 0. */
static size_t calendar_time(struct wo_view view, struct wo_stamp *ret) {
  struct wo_view left = view;
  int64_t time_ns = 0;
  const bool is_likely = view.len >= sizeof "2025-01-06 15:18:19" - 1 && view.ptr[4] == '-' && wo_is_digit(view.ptr[0]);
  if (!is_likely || wo_units_time(&left, &time_ns) != WO_OK) return 0;
  const size_t length = view.len - left.len;
  const enum wo_clock clock = has_zone(wo_view_sub(view, 0, length)) ? WO_CLOCK_UTC : WO_CLOCK_LOCAL;
  *ret = (struct wo_stamp){.clock = clock, .time_ns = time_ns};
  return length;
}

/* Makes a stamp of a date and the clock time that is at `at`. Without a year (0) it is one of 2000, which has every day. An
 * impossible date makes none. */
static struct wo_stamp make_stamp(struct wo_view view, size_t at, unsigned year, unsigned month, unsigned day) {
  char text[64];
  const struct wo_view clock = wo_view_sub(view, at, clock_end(view, at));
  snprintf(text, sizeof text, "%04u-%02u-%02u %.*s", year > 0 ? year : 2000, month, day, (int)(clock.len < 32 ? clock.len : 32),
           clock.len > 0 ? clock.ptr : "");
  struct wo_view in = wo_view_of(text);
  struct wo_stamp stamp = {.clock = year > 0 ? WO_CLOCK_LOCAL : WO_CLOCK_YEARLESS};
  if (wo_units_time(&in, &stamp.time_ns) != WO_OK) return (struct wo_stamp){.clock = WO_CLOCK_NONE};
  return stamp;
}

/* The number that fills [start, end), at most six digits. */
static unsigned number_between(struct wo_view view, size_t start, size_t end) {
  unsigned number = 0;
  for (size_t i = start; i < end && i < start + 6; i++) number = number * 10 + (unsigned)(view.ptr[i] - '0');
  return number;
}

/* `2025-01-06 15:18:19,123 ` and the other forms of ISO 8601. */
size_t wo__prefix_iso_time(struct wo_view rest, struct reading *reading) {
  struct wo_stamp stamp = {.clock = WO_CLOCK_NONE};
  const size_t end = calendar_time(rest, &stamp);
  const size_t length = end == 0 ? 0 : after_time(rest, end);
  if (length > 0) note_stamp(reading, stamp, true);
  return length;
}

/* The level of one of glog's letters (information, warning, error, fatal) at `at`, or NONE. */
static enum wo_severity letter_severity(struct wo_view view, size_t at) {
  if (has_char(view, at, 'I')) return WO_SEVERITY_INFO;
  if (has_char(view, at, 'W')) return WO_SEVERITY_WARNING;
  if (has_char(view, at, 'E')) return WO_SEVERITY_ERROR;
  return has_char(view, at, 'F') ? WO_SEVERITY_FATAL : WO_SEVERITY_NONE;
}

/* `[2025-01-06 15:18:19,123] `, `[15:18:19] `, Optuna's `[I 2025-01-06 15:18:19,123] `, and NeMo's
 * `[NeMo W 2025-01-06 15:18:19 file:12] `. */
size_t wo__prefix_bracketed_time(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '[')) return 0;
  const bool is_nemo = wo_view_starts(rest, "[NeMo ") && rest.len > 8 && rest.ptr[7] == ' ';
  const bool has_letter = has_char(rest, 2, ' ') && letter_severity(rest, 1) != WO_SEVERITY_NONE;
  const size_t start = is_nemo ? 8 : has_letter ? 3 : 1;
  struct wo_stamp stamp = {.clock = WO_CLOCK_NONE};
  size_t end = calendar_time(wo_view_skip(rest, start), &stamp);
  end = end > 0 ? start + end : clock_end(rest, start);
  if (end > 0 && is_nemo) end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ']', end);
  if (end == 0 || end == WO_NOT_FOUND || !has_char(rest, end, ']')) return 0;
  if (is_nemo || has_letter) note_severity(reading, letter_severity(rest, is_nemo ? 6 : 1));
  if (stamp.clock != WO_CLOCK_NONE) note_stamp(reading, stamp, true);
  return skip_blank(rest, end + 1);
}

/* `03-19 07:27:53 `, `03/19 07:27:53 `, `03/19/2025 07:27:53 `: month and day, as Python's loggers write them. Day and month may
 * be the other way round, so this serves for comparing lines only. */
size_t wo__prefix_short_time(struct wo_view rest, struct reading *reading) {
  if (skip_digits(rest, 0) != 2 || skip_digits(rest, 3) != 5) return 0;
  const char separator = rest.ptr[2];
  if (separator != '-' && separator != '/') return 0;
  const size_t date_end = separator == '/' && has_char(rest, 5, '/') ? skip_digits(rest, 6) : 5;
  const size_t end = has_char(rest, date_end, ' ') ? clock_end(rest, date_end + 1) : 0;
  const size_t length = end == 0 ? 0 : after_time(rest, end);
  const unsigned year = date_end == 10 ? number_between(rest, 6, 10) : 0;
  if (length > 0 && (year > 0 || date_end == 5)) {
    note_stamp(reading, make_stamp(rest, date_end + 1, year, number_between(rest, 0, 2), number_between(rest, 3, 5)), false);
  }
  return length;
}

/* `[  514.682838] ` by the kernel, seconds since the machine started. */
size_t wo__prefix_kernel_time(struct wo_view rest, struct reading *reading) {
  (void)reading;
  if (!has_char(rest, 0, '[')) return 0;
  const size_t start = skip_blanks(rest, 1);
  const size_t whole_end = skip_digits(rest, start);
  const size_t end = has_char(rest, whole_end, '.') ? skip_digits(rest, whole_end + 1) : 0;
  if (whole_end == start || end <= whole_end + 1 || !has_char(rest, end, ']')) return 0;
  return skip_blank(rest, end + 1);
}

/* The month that the three letters at `at` name, or 0. */
static unsigned month_at(struct wo_view view, size_t at) {
  const struct wo_view name = wo_view_sub(view, at, at + 3);
  if (name.len < 3 || !is_any(name.ptr[0], "JFMASOND")) return 0; /* most lines are done here */
  const size_t found = wo_view_find(WO_VIEW("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), name, 0);
  return found != WO_NOT_FOUND && found % 4 == 0 ? (unsigned)(found / 4 + 1) : 0;
}

/* Offset after `Jan  6 15:18:46` at `at`, or 0. */
static size_t month_time_end(struct wo_view view, size_t at) {
  if (month_at(view, at) == 0 || !has_char(view, at + 3, ' ')) return 0;
  const size_t day = skip_blanks(view, at + 3);
  const size_t day_end = skip_digits(view, day);
  return day_end > day && has_char(view, day_end, ' ') ? clock_end(view, day_end + 1) : 0;
}

/* `Jan  6 15:18:46 gpu01 kernel: `: time and host by syslog and the journal; the tag stays for other readers. */
size_t wo__prefix_syslog_head(struct wo_view rest, struct reading *reading) {
  const size_t time_end = month_time_end(rest, 0);
  if (time_end == 0 || !has_char(rest, time_end, ' ')) return 0;
  const size_t host_end = skip_host(rest, time_end + 1);
  const size_t tag_end = wo_view_find_char(wo_view_skip(rest, host_end), ' ', 1);
  if (!has_char(rest, host_end, ' ') || tag_end == WO_NOT_FOUND || rest.ptr[host_end + tag_end - 1] != ':') return 0;
  const size_t day = skip_blanks(rest, 3);
  const size_t day_end = skip_digits(rest, day);
  note_host(reading, wo_view_sub(rest, time_end + 1, host_end));
  note_stamp(reading, make_stamp(rest, day_end + 1, 0, month_at(rest, 0), number_between(rest, day, day_end)), false);
  return host_end + 1;
}

/* `[Mon Jan  6 15:18:46 2025] ` by dmesg -T. */
size_t wo__prefix_dmesg_time(struct wo_view rest, struct reading *reading) {
  (void)reading;
  const size_t month = sizeof "[Mon " - 1;
  if (!has_char(rest, 0, '[') || !has_char(rest, month - 1, ' ')) return 0;
  const size_t end = month_time_end(rest, month);
  const size_t year_end = end == 0 ? 0 : skip_digits(rest, end + 1);
  if (end == 0 || !has_char(rest, end, ' ') || year_end != end + 5 || !has_char(rest, year_end, ']')) return 0;
  return skip_blank(rest, year_end + 1);
}

/* `kernel: ` by the journal; in a record also `>> ` between a transformers time and its text, and `stderr F ` after the time, by
 * the container runtimes of Kubernetes. */
size_t wo__prefix_fixed(struct wo_view rest, struct reading *reading) {
  static const char *const texts[] = {"kernel: ", ">> ", "stderr F ", "stderr P ", "stdout F ", "stdout P "};
  const size_t count = reading->has_log_part ? sizeof texts / sizeof texts[0] : 1;
  if (!is_any(rest.ptr[0], "k>s")) return 0; /* most lines are done here */
  for (size_t i = 0; i < count; i++) {
    if (wo_view_starts(rest, texts[i])) return strlen(texts[i]);
  }
  return 0;
}

/* ---- Parts of log records ---- */

/* Offset after `] ` of a log tag that ends in a line number (`path.cc:607] `), searched from `at`; 0 when there is none. */
static size_t numbered_tag_end(struct wo_view rest, size_t at) {
  const size_t end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ']', at);
  if (end == WO_NOT_FOUND || !wo_is_digit(rest.ptr[end - 1])) return 0;
  size_t digits = end;
  while (digits > at && wo_is_digit(rest.ptr[digits - 1])) digits--;
  return digits > at && rest.ptr[digits - 1] == ':' ? skip_blank(rest, end + 1) : 0;
}

/* `W0106 15:18:46.670320 209443 path:1] ` by glog, `[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] ` by PyTorch: severity,
 * month and day, time. */
size_t wo__prefix_glog_tag(struct wo_view rest, struct reading *reading) {
  const size_t start = has_char(rest, 0, '[') ? 1 : 0;
  const enum wo_severity severity = letter_severity(rest, start);
  if (severity == WO_SEVERITY_NONE) return 0;
  const size_t day_end = skip_digits(rest, start + 1);
  const size_t width = day_end - start - 1;
  if (width < 3 || width > 4 || !has_char(rest, day_end, ' ')) return 0;
  const size_t end = clock_end(rest, day_end + 1);
  const size_t length = end == 0 || !has_char(rest, end, ' ') ? 0 : numbered_tag_end(rest, end);
  if (length == 0) return 0;
  note_severity(reading, severity);
  const unsigned month = number_between(rest, start + 1, day_end - 2);
  note_stamp(reading, make_stamp(rest, day_end + 1, 0, month, number_between(rest, day_end - 2, day_end)), false);
  return length;
}

/* `I tensorflow/core/framework/op.cc:100] ` after TensorFlow's time. */
size_t wo__prefix_tensorflow_tag(struct wo_view rest, struct reading *reading) {
  const enum wo_severity severity = letter_severity(rest, 0);
  if (severity == WO_SEVERITY_NONE || !has_char(rest, 1, ' ')) return 0;
  const size_t path_end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ' ', 2);
  const size_t end = numbered_tag_end(rest, 2);
  if (path_end == WO_NOT_FOUND || end > path_end + 1) return 0;
  if (end > 0) note_severity(reading, severity);
  return end;
}

/* Names of levels, as loggers write them. */
static const struct level {
  const char *name;
  enum wo_severity severity;
} levels[] = {
    {"INFO", WO_SEVERITY_INFO},   {"WARNING", WO_SEVERITY_WARNING}, {"WARN", WO_SEVERITY_WARNING}, {"ERROR", WO_SEVERITY_ERROR},
    {"DEBUG", WO_SEVERITY_DEBUG}, {"CRITICAL", WO_SEVERITY_FATAL},  {"FATAL", WO_SEVERITY_FATAL},  {"TRACE", WO_SEVERITY_DEBUG},
};

/* Length of a level's name at the front of view, or 0; *ret gets the level. */
static size_t level_name(struct wo_view view, enum wo_severity *ret) {
  if (view.len == 0 || !is_any(view.ptr[0], "IWEDCFT")) return 0;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (levels[i].name[0] != view.ptr[0]) continue;
    const size_t len = strlen(levels[i].name);
    if (!wo_view_starts(view, levels[i].name) || (view.len > len && wo_is_word(view.ptr[len]))) continue;
    *ret = levels[i].severity;
    return len;
  }
  return 0;
}

/* `[TM][ERROR] `: words in brackets, the last one a level. */
static enum wo_severity bracketed_severity(struct wo_view text) {
  enum wo_severity severity = WO_SEVERITY_NONE;
  for (int words = 0; words < 3 && has_char(text, 0, '['); words++) {
    const size_t len = level_name(wo_view_skip(text, 1), &severity);
    if (len > 0) return has_char(text, len + 1, ']') ? severity : WO_SEVERITY_NONE;
    const size_t end = wo_view_find_char(wo_view_sub(text, 0, 16), ']', 0);
    if (end == WO_NOT_FOUND) return WO_SEVERITY_NONE;
    text = wo_view_skip(text, skip_blank(text, end + 1));
  }
  return WO_SEVERITY_NONE;
}

/* The text behind one of the keys of a record in JSON, without its quotation mark; empty without. */
static struct wo_view json_value(struct wo_view record, const char *const *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t at = wo_view_find(record, wo_view_of(keys[i]), 0);
    if (at == WO_NOT_FOUND) continue;
    const struct wo_view value = wo_view_trim_start(wo_view_skip(record, at + strlen(keys[i])));
    if (has_char(value, 0, '"')) return wo_view_skip(value, 1);
  }
  return (struct wo_view){0};
}

/* `{"time":"2025-01-06T15:18:19Z","level":"ERROR","msg":...`: loggers of services write their records as JSON, and levels in
 * capitals or not. The record itself stays the text of the line. */
void wo__prefix_json_record(struct wo_view text, struct reading *reading) {
  static const char *const level_keys[] = {"\"level\":", "\"levelname\":", "\"severity\":", "\"lvl\":"};
  static const char *const time_keys[] = {"\"time\":", "\"timestamp\":", "\"ts\":", "\"asctime\":", "\"@timestamp\":"};
  char name[12];
  if (!wo_view_starts(text, "{\"")) return;
  const struct wo_view head = wo_view_sub(text, 0, JSON_HEAD_BYTES);
  const struct wo_view level = json_value(head, level_keys, sizeof level_keys / sizeof level_keys[0]);
  const size_t len = level.len < sizeof name ? level.len : sizeof name;
  for (size_t i = 0; i < len; i++)
    name[i] = (char)(level.ptr[i] >= 'a' && level.ptr[i] <= 'z' ? level.ptr[i] - 'a' + 'A' : level.ptr[i]);
  enum wo_severity severity = WO_SEVERITY_NONE;
  if (level_name((struct wo_view){name, len}, &severity) == 0) return;
  note_severity(reading, severity);
  struct wo_stamp stamp = {.clock = WO_CLOCK_NONE};
  if (calendar_time(json_value(head, time_keys, sizeof time_keys / sizeof time_keys[0]), &stamp) > 0)
    note_stamp(reading, stamp, true);
}

/* In Python's default format a colon and the logger's name follow the level. */
enum wo_severity wo__prefix_leading_severity(struct wo_view text) {
  enum wo_severity severity = WO_SEVERITY_NONE;
  if (has_char(text, 0, '[')) return bracketed_severity(text);
  if (text.len == 0 || !is_any(text.ptr[0], "IWEDCFT")) return WO_SEVERITY_NONE;
  const size_t len = level_name(text, &severity);
  return len > 0 && has_char(text, len, ':') ? severity : WO_SEVERITY_NONE;
}

/* Offset after `- `, `| ` or `: ` at `at`, with the blanks before it; `at` when there is none. */
static size_t skip_separator(struct wo_view rest, size_t at) {
  const size_t mark = skip_blanks(rest, at);
  if (mark >= rest.len || !is_any(rest.ptr[mark], "-|:")) return at;
  return has_char(rest, mark + 1, ' ') || mark + 1 == rest.len ? skip_blank(rest, mark + 1) : at;
}

/* `ERROR 03-19 07:27:53 ` (vLLM), `ERROR    | 2025-01-06 15:18:19 | ` (Loguru): at the start of a line a level counts only with
 * such a time after it, since `ERROR: CUDA out of memory` is the program's text. */
size_t wo__prefix_leading_level(struct wo_view rest, struct reading *reading) {
  enum wo_severity severity = WO_SEVERITY_NONE;
  const size_t end = level_name(rest, &severity);
  if (end == 0 || !has_char(rest, end, ' ')) return 0;
  const size_t next = skip_separator(rest, skip_blanks(rest, end));
  const struct wo_view after = wo_view_skip(rest, next);
  struct wo_stamp stamp = {.clock = WO_CLOCK_NONE};
  if (wo__prefix_short_time(after, reading) == 0 && calendar_time(after, &stamp) == 0) return 0;
  note_severity(reading, severity);
  return next;
}

/* `INFO `, `[INFO] `, `<INFO> `, `- ERROR - `, `| INFO     | ` after a time. */
size_t wo__prefix_level_word(struct wo_view rest, struct reading *reading) {
  enum wo_severity severity = WO_SEVERITY_NONE;
  const size_t start = skip_separator(rest, 0);
  const bool is_angled = has_char(rest, start, '<');
  const bool is_bracketed = is_angled || has_char(rest, start, '[');
  const size_t name = is_bracketed ? start + 1 : start;
  const size_t len = level_name(wo_view_skip(rest, name), &severity);
  if (len == 0 || (is_bracketed && !has_char(rest, name + len, is_angled ? '>' : ']'))) return 0;
  const size_t end = is_bracketed ? name + len + 1 : name + len;
  const size_t after = skip_separator(rest, end);
  if (after == end && end < rest.len && rest.ptr[end] != ' ') return 0;
  note_severity(reading, severity);
  return after > end ? after : skip_blanks(rest, end);
}

/* `17:19:47 <INFO> `, `20:13:55 | INFO | `: a clock without a date is the time of a record when a level follows. */
size_t wo__prefix_clock(struct wo_view rest, struct reading *reading) {
  const size_t end = clock_end(rest, 0);
  const size_t time = end == 0 ? 0 : after_time(rest, end);
  const size_t level = time == 0 ? 0 : wo__prefix_level_word(wo_view_skip(rest, time), reading);
  return level == 0 ? 0 : time + level;
}

/* `[INFO|trainer.py:1234] ` by transformers; a time and `>> ` follow. */
size_t wo__prefix_transformers_tag(struct wo_view rest, struct reading *reading) {
  enum wo_severity severity = WO_SEVERITY_NONE;
  const size_t len = has_char(rest, 0, '[') ? level_name(wo_view_skip(rest, 1), &severity) : 0;
  const size_t end = len == 0 || !has_char(rest, 1 + len, '|') ? 0 : numbered_tag_end(rest, len + 2);
  if (end > 0) note_severity(reading, severity);
  return end;
}

/* `[core.py:560] `, `[file.py:12:function] `. */
size_t wo__prefix_file_tag(struct wo_view rest, struct reading *reading) {
  (void)reading;
  if (!has_char(rest, 0, '[')) return 0;
  const struct wo_view head = wo_view_sub(rest, 0, TAG_BYTES_MAX);
  const size_t colon = wo_view_find_char(head, ':', 0);
  const size_t end = wo_view_find_char(head, ']', 0);
  if (colon == WO_NOT_FOUND || end == WO_NOT_FOUND || colon > end) return 0;
  const size_t line_end = skip_digits(rest, colon + 1);
  if (!is_source_file(wo_view_sub(rest, 1, colon)) || line_end == colon + 1) return 0;
  if (line_end != end && rest.ptr[line_end] != ':') return 0;
  return end + 1 < rest.len && rest.ptr[end + 1] != ' ' ? 0 : skip_blank(rest, end + 1);
}

/* `- torch.distributed - ` and `module:function:12 - ` (Loguru) in the middle of a log record. */
size_t wo__prefix_logger_name(struct wo_view rest, struct reading *reading) {
  (void)reading;
  const bool is_first = wo_view_starts(rest, "- "); /* the level follows, and needs its own "- " */
  const size_t start = is_first || wo_view_starts(rest, "| ") ? 2 : 0;
  size_t end = start;
  while (end < rest.len && (is_host_char(rest.ptr[end]) || is_any(rest.ptr[end], ":<>"))) end++;
  const bool is_place = wo_view_find_char(wo_view_sub(rest, start, end), ':', 0) != WO_NOT_FOUND;
  if (end == start || (!is_first && !is_place)) return 0;
  return wo_view_starts(wo_view_skip(rest, end), " - ") ? end + (is_first ? 1 : 3) : 0;
}

/* `E   ` by pytest, at the start of a line, with whatever indentation the test had. */
size_t wo__prefix_pytest_mark(struct wo_view rest, struct reading *reading) {
  (void)reading;
  return wo_view_starts(rest, "E   ") ? skip_blanks(rest, 1) : 0;
}
