/* SPDX-License-Identifier: Apache-2.0 */
/* Property: the prefilter finds what the slow reference finds, from any place on, in any bytes. The input itself supplies some of
 * the literals, so that windows of all kinds are tried. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/match/prefilter.h"
#include "tests/support/prefilter_reference.h"

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
    const bool is_before_number = (rest->ptr[0] & 1) != 0;
    const size_t least = WO_PATTERN_LITERAL_MIN - (is_before_number ? WO_PREFILTER_NUMBER_BYTES : 0);
    const size_t len = (size_t)(unsigned char)rest->ptr[0] / 2 % 16 + least;
    if (rest->len < 1 + len) break;
    const struct wo_prefilter_literal literal = {wo_view_sub(*rest, 1, 1 + len), (uint32_t)count, is_before_number};
    if (!wo_prefilter_is_long_enough(&literal)) break;
    literals[count] = literal;
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

static void check_next(const struct wo_prefilter *filter, const struct wo_prefilter_literal *literals, size_t count,
                       struct wo_view text, size_t from) {
  const bool may_span = spans_lines(literals, count);
  const size_t fast = first_hit(filter, text, from);
  const size_t slow = reference_next(literals, count, text, from);
  require((fast == WO_NOT_FOUND) == (slow == WO_NOT_FOUND));
  if (fast == WO_NOT_FOUND) return;
  require(fast >= slow && fast < text.len);
  require(reference_next(literals, count, text, fast) == fast);
  require(may_span || !has_line_end(text, slow, fast));
}

/* A walk finds every occurrence, once each: as many as the reference counts at each place. */
static void check_walk(const struct wo_prefilter *filter, const struct wo_prefilter_literal *literals, size_t count,
                       struct wo_view text, size_t from) {
  struct wo_prefilter_cursor cursor;
  wo_prefilter_begin(&cursor, from);
  struct wo_prefilter_hit hit;
  uint64_t seen[TEXT_BYTES_MAX] = {0};
  while (wo_prefilter_walk(filter, text, &cursor, &hit)) {
    require(hit.start >= from && hit.start < text.len && hit.owner < LITERALS_MAX);
    require((seen[hit.start] & UINT64_C(1) << hit.owner) == 0);
    seen[hit.start] |= UINT64_C(1) << hit.owner;
  }
  for (size_t at = from; at < text.len; at++) {
    const size_t next = reference_next(literals, count, text, at);
    const size_t end = next == WO_NOT_FOUND ? text.len : next;
    for (; at < end; at++) require(seen[at] == 0);
    require(next == WO_NOT_FOUND || seen[next] != 0);
  }
}

/* The same from tables that were made before; tables of other literals are not used. */
static void check_ready(const struct wo_prefilter *filter, const struct wo_prefilter_literal *literals, size_t count,
                        struct wo_view text) {
  const struct wo_prefilter_tables tables = wo_prefilter_tables(filter);
  struct wo_prefilter *ready = NULL, *other = NULL;
  uint64_t owners = 0, same = 0;
  require(wo_prefilter_new(literals, count, &tables, &ready) == WO_OK);
  require(wo_prefilter_tables(ready).places == tables.places);
  require(wo_prefilter_mark(filter, text, &owners, WORDS) == wo_prefilter_mark(ready, text, &same, WORDS) && owners == same);
  require(wo_prefilter_new(literals, count - 1, &tables, &other) == WO_OK);
  require(wo_prefilter_tables(other).places != tables.places);
  wo_prefilter_free(ready);
  wo_prefilter_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_view rest = {(const char *)data, size < TEXT_BYTES_MAX ? size : TEXT_BYTES_MAX};
  struct wo_prefilter_literal literals[LITERALS_MAX];
  const struct wo_view whole = rest;
  const size_t count = read_literals(&rest, literals);
  struct wo_prefilter *filter = NULL;
  require(wo_prefilter_new(literals, count, NULL, &filter) == WO_OK);
  for (size_t from = 0; from < 8 && from <= whole.len; from++) check_next(filter, literals, count, whole, from);
  check_next(filter, literals, count, rest, 0);
  check_walk(filter, literals, count, rest, size % 5 < rest.len ? size % 5 : 0);
  check_ready(filter, literals, count, rest);
  uint64_t fast = 0;
  uint64_t slow = 0;
  require(wo_prefilter_mark(filter, rest, &fast, WORDS) == wo_prefilter_mark_slow(filter, rest, &slow, WORDS));
  require(fast == slow);
  wo_prefilter_free(filter);
  return 0;
}
