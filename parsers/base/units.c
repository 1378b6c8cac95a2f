/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations and calendar times: text to bytes and nanoseconds, and back.
 *
 * The one place that knows that a KiB is 1024 bytes, what SLURM means by "1-12:30", and how days
 * are counted. Everything above works in bytes and nanoseconds only. The writers use printf
 * conversions; the program never leaves the C locale.
 *
 * Sizes in logs are powers of 1024 under any name: PyTorch's "GiB", the "GB" that its MPS backend printed for the same, the
 * kernel's "kB", SLURM's "G". So units are read by their first letter. Only the pattern that found a number without a unit knows
 * its unit. */
#include "parsers/base/units.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The first value that does not fit into a signed 64-bit count of bytes. */
#define BYTES_END 9223372036854775808.0

enum { S_PER_MIN = 60, S_PER_HOUR = 3600, S_PER_DAY = 86400 };

/* ---- Sizes ---- */

/* Skips blanks, line breaks and line breaks written as backslash-n (a message inside a JSON string
 * or a Python repr): consoles wrap between a number and its unit. */
static struct wo_view skip_gap(struct wo_view view) {
  for (;;) {
    const struct wo_view next = wo_view_trim_start(view);
    if (!wo_view_starts(next, "\\n")) return next;
    view = wo_view_skip(next, 2);
  }
}

/* The power of 1024 that a unit's first letter stands for, 0 when it is none. No log goes beyond P. */
static double prefix_scale(char c) {
  switch (wo_lower(c)) {
  case 'k':
    return WO_KIB;
  case 'm':
    return WO_MIB;
  case 'g':
    return WO_GIB;
  case 't':
    return WO_GIB * 1024.0;
  case 'p':
    return WO_GIB * 1024.0 * 1024.0;
  default:
    return 0.0;
  }
}

/* A small b after a capital letter means bits and is refused ("Gb" is
 * what networks are measured in); small letters throughout ("kb") mean bytes. A single letter will do: SLURM and TensorFlow write
 * "64G" and "17.79G". */
double wo_units_scale(struct wo_view word) {
  if (wo_view_is(word, "B") || wo_view_is_nocase(word, "byte") || wo_view_is_nocase(word, "bytes")) return 1.0;
  const double scale = word.len == 0 ? 0.0 : prefix_scale(word.ptr[0]);
  const struct wo_view tail = wo_view_skip(word, 1);
  if (tail.len == 0 || wo_view_is_nocase(tail, "iB") || wo_view_is_nocase(tail, "i")) return scale;
  if (wo_view_is(tail, "B")) return scale;
  return wo_view_is(tail, "b") && word.ptr[0] == wo_lower(word.ptr[0]) ? scale : 0.0;
}

/* The letters, digits and underscores at the front: a unit must be all of them, so that "2 GPUs" is
 * no size, nor "4 bytes_per_element". */
static struct wo_view leading_word(struct wo_view view) {
  size_t len = 0;
  while (len < view.len && wo_is_word(view.ptr[len])) len++;
  return wo_view_sub(view, 0, len);
}

/* The nearest whole number, halves away from zero; |value| must be below BYTES_END, or the cast
 * would be undefined. */
static double whole(double value) {
  assert(value < BYTES_END && value > -BYTES_END);
  const double magnitude = value < 0 ? -value : value;
  if (magnitude >= 4503599627370496.0) return value; /* from 2^52 on every double is whole */
  const double rounded = (double)(int64_t)(magnitude + 0.5);
  return value < 0 ? -rounded : rounded;
}

/* A number of units as bytes. A count of bytes is whole, so the middle is rounded; the ends are kept, widened where the number is
 * more precise than a byte. Sizes beyond what can be counted are refused: PyTorch prints "17179869184.00 GiB", which is no size,
 * for a process whose use WSL does not know. */
static enum wo_status scale_interval(const struct wo_interval *number, double scale, struct wo_interval *ret_bytes) {
  const double lo = number->lo * scale;
  const double hi = number->hi * scale;
  if (!(hi < BYTES_END && lo > -BYTES_END)) return WO_E_RANGE;
  const double mid = whole(number->mid * scale);
  *ret_bytes = (struct wo_interval){.lo = lo < mid ? lo : mid, .mid = mid, .hi = hi > mid ? hi : mid};
  return WO_OK;
}

/* *in moves only if the unit was understood, or if none is needed. */
enum wo_status wo_units_bytes(struct wo_view *in, double bare_scale, struct wo_interval *ret_bytes) {
  assert(in != NULL && ret_bytes != NULL && isfinite(bare_scale));
  struct wo_view rest = *in;
  struct wo_interval number = {0};
  const enum wo_status number_status = wo_number_decimal(&rest, &number, NULL);
  if (number_status != WO_OK) return number_status;
  const struct wo_view unit_at = skip_gap(rest);
  const struct wo_view word = leading_word(unit_at);
  /* A unit, if there is one, decides; no letters may follow a bare number, so that "16Gn" is not 16. */
  double scale = wo_units_scale(word);
  if (scale > 0) {
    rest = wo_view_skip(unit_at, word.len);
  } else if (bare_scale > 0 && leading_word(rest).len == 0) {
    scale = bare_scale;
  } else {
    return WO_E_SYNTAX;
  }
  const enum wo_status status = scale_interval(&number, scale, ret_bytes);
  if (status == WO_OK) *in = rest;
  return status;
}

char *wo_units_bytes_text(double bytes, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  assert(isfinite(bytes));
  const double size = bytes < 0 ? -bytes : bytes;
  const char *const sign = bytes < 0 ? "-" : "";
  /* The comparisons are those of c10's format_size: a whole 1024 of a unit is still printed in it. */
  if (size <= WO_KIB) {
    snprintf(buf, cap, "%s%.0f bytes", sign, size);
  } else if (size <= WO_MIB) {
    snprintf(buf, cap, "%s%.2f KiB", sign, size / WO_KIB);
  } else if (size <= WO_GIB) {
    snprintf(buf, cap, "%s%.2f MiB", sign, size / WO_MIB);
  } else {
    snprintf(buf, cap, "%s%.2f GiB", sign, size / WO_GIB);
  }
  return buf;
}

/* Without the unit: for columns and legends that name it once. */
char *wo_units_gib_text(double bytes, int decimals, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  assert(isfinite(bytes) && decimals >= 0);
  snprintf(buf, cap, "%.*f", decimals, bytes / WO_GIB);
  return buf;
}

/* ---- Durations ---- */

/* Reads up to `max_count` numbers with ':' between them. A colon with no digit after it is left
 * where it is: it ends a word of the line. */
static enum wo_status read_fields(struct wo_view *rest, uint64_t *fields, size_t max_count, size_t *ret_count) {
  /* Far beyond any job's length, and small enough that seconds in 64 bits cannot overflow. */
  const uint64_t field_max = 1000000000;
  size_t count = 0;
  for (;;) {
    const enum wo_status status = wo_number_u64(rest, field_max, &fields[count]);
    if (status != WO_OK) return status;
    count++;
    if (count == max_count || rest->len < 2 || rest->ptr[0] != ':' || !wo_is_digit(rest->ptr[1])) break;
    *rest = wo_view_skip(*rest, 1);
  }
  *ret_count = count;
  return WO_OK;
}

/* Every field but the leading one is bounded by the unit before it. The leading one is not: SLURM
 * takes "90" minutes and "100:00:00" as they are. */
static bool fields_fit(const uint64_t fields[3], size_t count) {
  return (count < 2 || fields[1] < 60) && (count < 3 || fields[2] < 60);
}

/* After "D-" the fields are hours, minutes, seconds, from the left: "1-12" is a day and twelve
 * hours. *ret_s includes the days. */
static enum wo_status read_day_part(struct wo_view *rest, uint64_t days, uint64_t *ret_s) {
  uint64_t f[3] = {0};
  size_t count = 0;
  const enum wo_status status = read_fields(rest, f, 3, &count);
  if (status != WO_OK) return status;
  if (f[0] >= 24 || !fields_fit(f, count)) return WO_E_RANGE;
  *ret_s = days * S_PER_DAY + f[0] * S_PER_HOUR + f[1] * S_PER_MIN + f[2];
  return WO_OK;
}

/* The forms of sbatch --time: "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours",
 * "days-hours:minutes" and "days-hours:minutes:seconds". */
enum wo_status wo_units_slurm_duration(struct wo_view *in, int64_t *ret_ns) {
  assert(in != NULL && ret_ns != NULL);
  struct wo_view rest = *in;
  uint64_t f[3] = {0};
  size_t count = 0;
  uint64_t total_s = 0;
  enum wo_status status = read_fields(&rest, f, 3, &count);
  if (status != WO_OK) return status;
  if (count == 1 && rest.len > 1 && rest.ptr[0] == '-' && wo_is_digit(rest.ptr[1])) {
    rest = wo_view_skip(rest, 1);
    status = read_day_part(&rest, f[0], &total_s);
    if (status != WO_OK) return status;
  } else {
    if (!fields_fit(f, count)) return WO_E_RANGE;
    /* Without days, one and two fields start with minutes; only three start with hours. */
    total_s = count == 3 ? f[0] * S_PER_HOUR + f[1] * S_PER_MIN + f[2] : f[0] * S_PER_MIN + f[1];
  }
  if (total_s > (uint64_t)(INT64_MAX / WO_NS_PER_S)) return WO_E_RANGE;
  *in = rest;
  *ret_ns = (int64_t)total_s * WO_NS_PER_S;
  return WO_OK;
}

/* As sacct prints Elapsed: "1-02:03:04", and no days where there are none. Parts of a second are
 * dropped. */
char *wo_units_duration_text(int64_t ns, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  /* Negated as unsigned, since the smallest value has no positive counterpart. */
  const uint64_t total_s = (ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns) / (uint64_t)WO_NS_PER_S;
  const char *const sign = ns < 0 ? "-" : "";
  const unsigned days = (unsigned)(total_s / S_PER_DAY);
  const unsigned hours = (unsigned)(total_s / S_PER_HOUR % 24);
  const unsigned minutes = (unsigned)(total_s / S_PER_MIN % 60);
  const unsigned seconds = (unsigned)(total_s % 60);
  if (days > 0) {
    snprintf(buf, cap, "%s%u-%02u:%02u:%02u", sign, days, hours, minutes, seconds);
  } else {
    snprintf(buf, cap, "%s%02u:%02u:%02u", sign, hours, minutes, seconds);
  }
  return buf;
}

/* ---- Calendar times ---- */

/* A calendar time as printed, not checked yet. */
struct calendar {
  int year, month, day, hour, minute, second;
  int64_t fraction_ns;
  int64_t zone_s; /* east of UTC */
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar. The year is taken to start in March,
 * so that the leap day is its last day and the lengths of the months before it follow a line; 400
 * years are one full cycle. C17 has no timegm, and mktime would ask for the time zone of this
 * machine. */
static int64_t days_of_date(int year, int month, int day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

/* The inverse of days_of_date: sets year, month and day of *date and leaves the rest. */
static void date_of_days(int64_t days, struct calendar *date) {
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t march_month = (5 * day_of_year + 2) / 153;
  date->day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
  date->month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
  date->year = (int)(year_of_era + era * 400 + (date->month <= 2));
}

/* To refuse dates that do not exist. A number that looks like a date but is none is part of the
 * program's text. */
static int days_in_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  assert(month >= 1 && month <= 12);
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : days[month - 1];
}

/* Times are at the front of most lines: these two are inline, and small. */
static inline bool read_fixed(struct wo_view *rest, size_t count, int *ret_value) {
  if (rest->len < count) return false;
  int value = 0;
  for (size_t i = 0; i < count; i++) {
    const unsigned digit = (unsigned char)rest->ptr[i] - (unsigned)'0';
    if (digit > 9) return false;
    value = value * 10 + (int)digit;
  }
  *rest = (struct wo_view){rest->ptr + count, rest->len - count};
  *ret_value = value;
  return true;
}

static inline bool read_one_of(struct wo_view *rest, const char *allowed) {
  for (const char *c = allowed; rest->len > 0 && *c != '\0'; c++) {
    if (rest->ptr[0] != *c) continue;
    *rest = (struct wo_view){rest->ptr + 1, rest->len - 1};
    return true;
  }
  return false;
}

/* "2025-01-06". Slashes and other orders are not guessed: the place of the month differs by country. */
static bool read_date(struct wo_view *rest, struct calendar *time) {
  return read_fixed(rest, 4, &time->year) && read_one_of(rest, "-") && read_fixed(rest, 2, &time->month) &&
         read_one_of(rest, "-") && read_fixed(rest, 2, &time->day);
}

/* "15:18:19", two digits each. */
static bool read_clock(struct wo_view *rest, struct calendar *time) {
  return read_fixed(rest, 2, &time->hour) && read_one_of(rest, ":") && read_fixed(rest, 2, &time->minute) &&
         read_one_of(rest, ":") && read_fixed(rest, 2, &time->second);
}

/* Reads ".123" or ",123" when a digit follows. Digits below a nanosecond are dropped. */
static void read_fraction(struct wo_view *rest, struct calendar *time) {
  if (rest->len < 2 || (rest->ptr[0] != '.' && rest->ptr[0] != ',') || !wo_is_digit(rest->ptr[1])) return;
  int64_t unit_ns = WO_NS_PER_S / 10;
  size_t at = 1;
  for (; at < rest->len && wo_is_digit(rest->ptr[at]); at++) {
    /* The unit becomes zero after the ninth digit. */
    time->fraction_ns += (rest->ptr[at] - '0') * unit_ns;
    unit_ns /= 10;
  }
  *rest = wo_view_skip(*rest, at);
}

/* Reads "Z", "+hh:mm" or "+hhmm". Text that is no zone stays unread, such as the '-' of a following word. Without a zone a time
 * is taken for UTC: times of one job are compared with each other, and its programs share a clock far more often than a zone. */
static enum wo_status read_zone(struct wo_view *rest, struct calendar *time) {
  struct wo_view zone = *rest;
  if (read_one_of(&zone, "Zz") && leading_word(zone).len == 0) {
    *rest = zone;
    return WO_OK;
  }
  zone = *rest;
  int hours = 0;
  int minutes = 0;
  if (!read_one_of(&zone, "+-") || !read_fixed(&zone, 2, &hours)) return WO_OK;
  read_one_of(&zone, ":");
  if (!read_fixed(&zone, 2, &minutes) || leading_word(zone).len > 0) return WO_OK;
  if (hours > 23 || minutes > 59) return WO_E_RANGE;
  const int64_t offset_s = hours * S_PER_HOUR + minutes * S_PER_MIN;
  time->zone_s = rest->ptr[0] == '-' ? -offset_s : offset_s;
  *rest = zone;
  return WO_OK;
}

/* Whether the date and the clock exist. The years are those that 64 bits of nanoseconds can hold
 * whole. Second 60 is a leap second, and then the same as the second after it. */
static bool is_possible(const struct calendar *time) {
  return time->year >= 1678 && time->year <= 2261 && time->month >= 1 && time->month <= 12 && time->day >= 1 &&
         time->day <= days_in_month(time->year, time->month) && time->hour <= 23 && time->minute <= 59 && time->second <= 60;
}

/* "2025-01-06T15:18:19.123Z" (ISO 8601, RFC 3339), with a blank or an underscore for the T as
 * loggers and file names have it. */
enum wo_status wo_units_time(struct wo_view *in, int64_t *ret_ns) {
  assert(in != NULL && ret_ns != NULL);
  struct wo_view rest = *in;
  struct calendar time = {0};
  if (!read_date(&rest, &time) || !read_one_of(&rest, "T _") || !read_clock(&rest, &time)) return WO_E_SYNTAX;
  if (!is_possible(&time)) return WO_E_RANGE;
  read_fraction(&rest, &time);
  const enum wo_status status = read_zone(&rest, &time);
  if (status != WO_OK) return status;
  /* No overflow: is_possible has bounded the year, and a zone is less than a day. */
  const int64_t clock_s = time.hour * S_PER_HOUR + time.minute * S_PER_MIN + time.second;
  const int64_t total_s = days_of_date(time.year, time.month, time.day) * S_PER_DAY + clock_s - time.zone_s;
  *in = rest;
  *ret_ns = total_s * WO_NS_PER_S + time.fraction_ns;
  return WO_OK;
}

char *wo_units_time_text(int64_t ns, char *buf, size_t cap) {
  assert(buf != NULL || cap == 0);
  /* Division rounds towards zero; times before 1970 must round down. */
  const int64_t total_s = ns / WO_NS_PER_S - (ns % WO_NS_PER_S < 0);
  const int64_t days = total_s / S_PER_DAY - (total_s % S_PER_DAY < 0);
  const int clock_s = (int)(total_s - days * S_PER_DAY);
  assert(clock_s >= 0 && clock_s < S_PER_DAY);
  struct calendar date = {0};
  date_of_days(days, &date);
  snprintf(buf, cap, "%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month, date.day, clock_s / S_PER_HOUR,
           clock_s / S_PER_MIN % 60, clock_s % 60);
  return buf;
}
