/* SPDX-License-Identifier: Apache-2.0 */
/* How far a log that just stops had come, where no known form of progress tells it: a number out of a total, "286/573" or
 * "[350/500]", that has grown over the lines above and had further to go. */
#include "parsers/scan/scan_counter.h"

#include "parsers/base/number.h"

/* Digits of a number, and of the smallest total: of fewer things one is no progress. */
enum { DIGITS_MAX = 9, TOTAL_LEAST = 5 };

/* Bytes before a share in which its name is. */
enum { RESULT_BYTES = 20 };

/* A number out of a total, and where the text goes on. */
struct share {
  uint64_t step, total;
  size_t end;
};

static size_t digits_end(struct wo_view text, size_t at) {
  while (at < text.len && wo_is_digit(text.ptr[at])) at++;
  return at;
}

/* Whether the character may stand beside a share: dates, versions, paths and decimals have others. */
static bool is_border(struct wo_view text, size_t at) {
  if (at >= text.len) return true;
  const char c = text.ptr[at];
  return !(wo_is_word(c) || c == '/' || c == '.' || c == ':' || c == '-');
}

static uint64_t number_between(struct wo_view text, size_t start, size_t end) {
  struct wo_view in = wo_view_sub(text, start, end);
  uint64_t number = 0;
  return wo_number_u64(&in, INT64_MAX, &number) == WO_OK ? number : 0;
}

/* Whether the words before a share make it a result, or a size: "Accuracy: 9812/10000". */
static bool is_result(struct wo_view text, size_t start) {
  static const char *const words[] = {"cc",   "orrect",  "score", "recall", "recision", "pass",
                                      "fail", "success", "mem",   "used",   "top"};
  const size_t from = start > RESULT_BYTES ? start - RESULT_BYTES : 0;
  char before[RESULT_BYTES];
  for (size_t i = from; i < start; i++) before[i - from] = wo_lower(text.ptr[i]);
  const struct wo_pairs_of pairs = wo_view_pairs((struct wo_view){before, start - from});
  return WO_PAIRS_ANY(&pairs, words);
}

/* A total of any size. */
#define ANY_TOTAL UINT64_MAX

/* The next share at or behind `at`, of that total; false if there is none. */
static bool next_share(struct wo_view text, size_t at, uint64_t total, struct share *ret) {
  for (size_t slash = wo_view_find_char(text, '/', at); slash != WO_NOT_FOUND; slash = wo_view_find_char(text, '/', slash + 1)) {
    size_t start = slash;
    while (start > 0 && wo_is_digit(text.ptr[start - 1])) start--;
    const size_t end = digits_end(text, slash + 1);
    const bool is_sized = start < slash && slash - start <= DIGITS_MAX && end > slash + 1 && end - slash - 1 <= DIGITS_MAX;
    if (!is_sized || (start > 0 && !is_border(text, start - 1)) || !is_border(text, end)) continue;
    *ret = (struct share){number_between(text, start, slash), number_between(text, slash + 1, end), end};
    if (ret->total < TOTAL_LEAST || ret->step > ret->total || (total != ANY_TOTAL && ret->total != total)) continue;
    if (!is_result(text, start)) return true;
  }
  return false;
}

/* The newest shares of the log, from its last line that has any. */
static void take_newest(struct wo_counter *counter, struct wo_view text) {
  struct share share = {0};
  for (size_t at = 0; counter->count < WO_SCAN_COUNTERS && next_share(text, at, ANY_TOTAL, &share); at = share.end) {
    counter->items[counter->count++] =
        (struct wo_counter_series){.step = share.step, .total = share.total, .earliest = share.step};
  }
}

/* A line above belongs to a series when it has the same total: with less of it to the same round, with more to an earlier one. */
static void take_earlier(struct wo_counter_series *series, struct wo_view text) {
  struct share share = {0};
  for (size_t at = 0; next_share(text, at, series->total, &share); at = share.end) {
    if (share.step > series->highest) series->highest = share.step;
    if (share.step >= series->earliest || series->highest > series->step) continue;
    const uint64_t stride = series->earliest - share.step;
    if (stride > series->stride) series->stride = stride;
    series->earliest = share.step;
    series->earlier++;
    return;
  }
}

void wo__counter_look(struct wo_counter *counter, struct wo_view line) {
  counter->lines++;
  if (counter->count == 0) {
    if (counter->lines <= WO_SCAN_COUNTER_LAST) take_newest(counter, line);
    return;
  }
  for (size_t i = 0; i < counter->count; i++) take_earlier(&counter->items[i], line);
}

const struct wo_counter_series *wo__counter_unfinished(const struct wo_counter *counter) {
  for (size_t i = 0; i < counter->count; i++) {
    const struct wo_counter_series *const series = &counter->items[i];
    const uint64_t next = series->step + series->stride;
    if (series->earlier >= WO_SCAN_COUNTER_EARLIER && next < series->total) return series;
    if (series->earlier >= 1 && next <= series->highest) return series;
  }
  return NULL;
}
