/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of lines: what a program prints again and again differs in its numbers only. */
#include "parsers/base/number.h"
#include "parsers/scan/candidate.h"

enum {
  SHAPED_LINES = 64,    /* before a failure that are looked at */
  SHAPED_LINES_MIN = 8, /* and that there must be */
  LINES_AGAIN = 20,     /* after it */
  SHARE_AGAIN = 80,     /* per cent of the lines before it whose shape must come again */
  LEAST_LETTERS = 6,    /* of the words of a shape */
  FIGURES = 2,          /* with names in such a line */
  NAME_REACH = 3        /* bytes between a name and its figure */
};

static uint64_t add_byte(uint64_t hash, char c) {
  return (hash ^ (unsigned char)c) * UINT64_C(1099511628211); /* FNV-1a */
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static struct wo_view next_word(struct wo_view *rest) {
  size_t start = 0;
  while (start < rest->len && is_blank(rest->ptr[start])) start++;
  size_t end = start;
  while (end < rest->len && !is_blank(rest->ptr[end])) end++;
  const struct wo_view word = wo_view_sub(*rest, start, end);
  *rest = wo_view_skip(*rest, end);
  return word;
}

/* Names of files, dates, values: words that differ from one print to the next. */
static bool has_digit(struct wo_view word) {
  for (size_t i = 0; i < word.len; i++) {
    if (wo_is_digit(word.ptr[i])) return true;
  }
  return false;
}

uint64_t wo__scan_shape(struct wo_view text) {
  const uint64_t start = UINT64_C(14695981039346656037);
  uint64_t hash = start;
  size_t letters = 0;
  bool was_number = false;
  for (struct wo_view word = next_word(&text); word.len > 0; word = next_word(&text)) {
    const bool is_number = has_digit(word);
    if (is_number && !was_number) hash = add_byte(hash, '#');
    const size_t before = letters;
    for (size_t i = 0; i < word.len && !is_number; i++) {
      if (!wo_is_alpha(word.ptr[i])) continue;
      hash = add_byte(hash, word.ptr[i]);
      letters++;
    }
    if (letters > before) hash = add_byte(hash, ' ');
    was_number = is_number || (was_number && letters == before);
  }
  return letters < LEAST_LETTERS ? 0 : hash | 1;
}

/* ---- Series ---- */

static uint64_t hash_numbers(struct wo_view text) {
  uint64_t hash = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (wo_is_digit(text.ptr[i])) hash = add_byte(hash ^ 1, text.ptr[i]);
  }
  return hash;
}

/* How many figures stand right behind a name: "loss: 2.1", "lr=3e-4", "acc 0.9". */
static int count_figures(struct wo_view text) {
  int figures = 0;
  for (size_t i = 1; i < text.len; i++) {
    if (!wo_is_digit(text.ptr[i]) || wo_is_word(text.ptr[i - 1]) || text.ptr[i - 1] == '.') continue;
    size_t at = i;
    while (at > 0 && i - at < NAME_REACH && !wo_is_word(text.ptr[at - 1])) at--;
    figures += at < i && at > 0 && wo_is_alpha(text.ptr[at - 1]);
  }
  return figures;
}

/* Words of a program that tries again and again. */
static bool is_about_trying(struct wo_view text) {
  static const char *const words[] = {"retry",   "retri",     "attempt",     "wait",    "trying", "warn",
                                      "timeout", "timed out", "unreachable", "refused", "cannot", "could not",
                                      "dump",    "thread",    "process",     "signal",  "rank"};
  return WO_VIEW_ANY(text, wo_view_has_nocase, words);
}

bool wo__series_grows(struct wo_series *series, struct wo_view text, int least) {
  const uint64_t numbers = hash_numbers(text);
  const uint64_t shape = numbers != 0 ? wo__scan_shape(text) : 0;
  if (shape == 0 || wo__scan_is_about_end(text) || is_about_trying(text)) return false;
  size_t at = 0;
  while (at < series->count && series->shapes[at].shape != shape) at++;
  if (at == WO_SCAN_SERIES_MAX) return false;
  if (at == series->count) {
    series->shapes[series->count++].shape = shape;
  } else if (series->shapes[at].numbers == numbers) {
    return false;
  }
  series->shapes[at].numbers = numbers;
  return ++series->shapes[at].lines >= least - (count_figures(text) >= FIGURES);
}

/* ---- The lines before a failure, and those after it ---- */

static size_t find_shape(const struct wo_before *before, uint64_t shape) {
  size_t at = 0;
  while (at < before->count && before->shapes[at].shape != shape) at++;
  return at;
}

static void learn_line(struct wo_scan *scan, struct wo_candidate *candidate, struct wo_before *before) {
  const uint64_t shape = wo__scan_shape(candidate->raw);
  struct wo_candidate_step step = {""};
  if (!before->has_step && wo__candidate_progress(scan, candidate, &step) != WO_NOT_FOUND) {
    struct wo_view text = wo_view_of(step.text);
    before->has_step = wo_number_u64(&text, UINT32_MAX, &before->step) == WO_OK;
  }
  if (shape == 0) return;
  before->lines++;
  const size_t at = find_shape(before, shape);
  if (at == WO_SCAN_SHAPES_MAX) return;
  if (at == before->count) before->shapes[before->count++].shape = shape;
  before->shapes[at].lines++;
}

/* The scanner's own buffer for clean text still holds the line of the failure. */
void wo__before_learn(struct wo_scan *scan, const struct wo_line *line, struct wo_before *before) {
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  char *const clean = scan->clean;
  char buf[WO_SCAN_AROUND_BYTES];
  scan->clean = buf;
  for (int lines = 0; lines < SHAPED_LINES && wo__scan_previous_line(&walk, &raw, &offset); lines++) {
    struct wo_candidate candidate = wo__candidate_at(scan, raw, walk.number, offset);
    learn_line(scan, &candidate, before);
  }
  scan->clean = clean;
}

static bool is_further_step(struct wo_scan *scan, const struct wo_before *before, struct wo_candidate *candidate) {
  struct wo_candidate_step step = {""};
  uint64_t number = 0;
  if (!before->has_step || wo__candidate_progress(scan, candidate, &step) == WO_NOT_FOUND) return false;
  struct wo_view text = wo_view_of(step.text);
  return wo_number_u64(&text, UINT32_MAX, &number) == WO_OK && number > before->step;
}

static bool is_most_seen_again(const struct wo_before *before) {
  int again = 0;
  for (size_t i = 0; i < before->count; i++) again += before->shapes[i].is_seen_again ? before->shapes[i].lines : 0;
  return again * 100 >= before->lines * SHARE_AGAIN;
}

enum wo_again wo__before_compare(struct wo_scan *scan, struct wo_before *before, struct wo_candidate candidate) {
  const uint64_t shape = before->lines >= SHAPED_LINES_MIN ? wo__scan_shape(candidate.raw) : 0;
  const size_t at = shape != 0 ? find_shape(before, shape) : before->count;
  if (before->lines_again == 0 && is_further_step(scan, before, &candidate)) return WO_AGAIN_OTHERS;
  if (at == before->count) return WO_AGAIN_NOT;
  before->shapes[at].is_seen_again = true;
  before->lines_again++;
  return before->lines_again >= LINES_AGAIN && is_most_seen_again(before) ? WO_AGAIN_SURE : WO_AGAIN_NOT;
}
