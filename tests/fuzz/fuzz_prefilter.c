/* Property: the prefilter finds what the slow reference finds, from any place on, in any bytes. The input itself supplies some of
 * the literals, so that windows of all kinds are tried. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/prefilter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LITERALS_MAX = 8, FIXED_COUNT = 4, WORDS = 1, TEXT_BYTES_MAX = 4096 };

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

/* The fixed literals, and up to four pieces from the front of the input: a length byte, then the piece. */
static size_t read_literals(struct wo_view *rest, struct wo_prefilter_literal *literals) {
  static const struct wo_view fixed[FIXED_COUNT] = {{"out of memory", 13}, {"Killed\n", 7}, {"oom-kill", 8}, {"aaaaaaa", 7}};
  size_t count = 0;
  for (; count < FIXED_COUNT; count++) literals[count] = (struct wo_prefilter_literal){fixed[count], (uint32_t)count, false};
  while (count < LITERALS_MAX && rest->len > 0) {
    const size_t len = (size_t)(unsigned char)rest->ptr[0] % 16 + WO_PATTERN_LITERAL_MIN;
    if (rest->len < 1 + len) break;
    literals[count] = (struct wo_prefilter_literal){wo_view_sub(*rest, 1, 1 + len), (uint32_t)count, (len & 1) != 0};
    *rest = wo_view_skip(*rest, 1 + len);
    count++;
  }
  return count;
}

/* Whether some line ends in [start, end). */
static bool has_line_end(struct wo_view text, size_t start, size_t end) {
  for (size_t i = start; i < end; i++) {
    if (text.ptr[i] == '\n' || text.ptr[i] == '\r') return true;
  }
  return false;
}

/* Literals taken from the input may span lines; only then may the first occurrence start in an earlier line. */
static bool spans_lines(const struct wo_prefilter_literal *literals, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (has_line_end(literals[i].text, 0, literals[i].text.len - 1)) return true;
  }
  return false;
}

static void check_next(const struct wo_prefilter *filter, struct wo_view text, size_t from, bool may_span) {
  const size_t fast = wo_prefilter_next(filter, text, from);
  const size_t slow = wo_prefilter_next_slow(filter, text, from);
  require((fast == WO_NOT_FOUND) == (slow == WO_NOT_FOUND));
  if (fast == WO_NOT_FOUND) return;
  require(fast >= slow && fast < text.len);
  require(wo_prefilter_next_slow(filter, text, fast) == fast);
  require(may_span || !has_line_end(text, slow, fast));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_view rest = {(const char *)data, size < TEXT_BYTES_MAX ? size : TEXT_BYTES_MAX};
  struct wo_prefilter_literal literals[LITERALS_MAX];
  const struct wo_view whole = rest;
  const size_t count = read_literals(&rest, literals);
  const bool may_span = spans_lines(literals, count);
  struct wo_prefilter *filter = NULL;
  require(wo_prefilter_new(literals, count, &filter) == WO_OK);
  for (size_t from = 0; from < 8 && from <= whole.len; from++) check_next(filter, whole, from, may_span);
  check_next(filter, rest, 0, may_span);
  uint64_t fast = 0;
  uint64_t slow = 0;
  require(wo_prefilter_mark(filter, rest, &fast, WORDS) == wo_prefilter_mark_slow(filter, rest, &slow, WORDS));
  require(fast == slow);
  wo_prefilter_free(filter);
  return 0;
}
