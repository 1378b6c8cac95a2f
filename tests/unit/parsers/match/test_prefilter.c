/* SPDX-License-Identifier: Apache-2.0 */
/* The literal prefilter: equal to the slow reference on any text, at any alignment, and at the ends of buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/match/prefilter.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/prefilter_reference.h"

#define LITERAL(text, number)                                                                                                    \
  { WO_VIEW(text), (number), false }

static const struct wo_prefilter_literal literals[] = {
    LITERAL("out of memory", 0),
    LITERAL("OutOfMemoryError", 1),
    LITERAL("CUDA_ERROR_OUT_OF_MEMORY", 2),
    LITERAL("oom-kill", 3),
    LITERAL("Killed\n", 4),
    LITERAL("out of memory", 65), /* the same again for another owner */
    LITERAL("memory\tand more", 66),
    LITERAL("aaaaaaa", 67),
    LITERAL("RuntimeError: CUDA error\n", 68),
    LITERAL("a\nb\nc\nd\n", 69),
    LITERAL("\xff\xfe\x80\x00\x01\x02\x03", 70),
    LITERAL("Traceback (most recent call last):", 71),
};
enum { LITERAL_COUNT = sizeof literals / sizeof literals[0], WORDS = 2 };

/* The literals of the filter under test. */
static const struct wo_prefilter_literal *known = literals;
static size_t known_count = LITERAL_COUNT;

static struct wo_prefilter *make_filter(void) {
  struct wo_prefilter *filter = NULL;
  assert_int_equal(wo_prefilter_new(literals, LITERAL_COUNT, NULL, &filter), WO_OK);
  return filter;
}

/* Start of the line that holds `at`. */
static size_t line_start(struct wo_view text, size_t at) {
  while (at > 0 && text.ptr[at - 1] != '\n' && text.ptr[at - 1] != '\r') at--;
  return at;
}

/* Fast and slow agree on the line of the next occurrence and on the owners; the text is copied to a block of its own size. */
static void check_text(const struct wo_prefilter *filter, struct wo_view view, size_t from) {
  char *const copy = malloc(view.len == 0 ? 1 : view.len);
  assert_non_null(copy);
  if (view.len > 0) memcpy(copy, view.ptr, view.len);
  const struct wo_view text = {copy, view.len};
  const size_t fast = first_hit(filter, text, from);
  const size_t slow = reference_next(known, known_count, text, from);
  assert_int_equal(fast == WO_NOT_FOUND, slow == WO_NOT_FOUND);
  if (fast != WO_NOT_FOUND) {
    assert_true(fast >= from);
    assert_int_equal(reference_next(known, known_count, text, fast), fast); /* it is an occurrence */
    assert_int_equal(line_start(text, fast), line_start(text, slow));
  }
  uint64_t fast_owners[WORDS] = {0};
  uint64_t slow_owners[WORDS] = {0};
  assert_int_equal(wo_prefilter_mark(filter, text, fast_owners, WORDS), wo_prefilter_mark_slow(filter, text, slow_owners, WORDS));
  assert_memory_equal(fast_owners, slow_owners, sizeof fast_owners);
  free(copy);
}

/* ---- Single occurrences ---- */

static void test_all_alignments_and_ends(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  for (size_t i = 0; i < LITERAL_COUNT; i++) {
    const struct wo_view literal = literals[i].text;
    for (size_t before = 0; before < 40; before++) {
      for (size_t after = 0; after < 24; after++) {
        char text[128];
        memset(text, '.', sizeof text);
        memcpy(text + before, literal.ptr, literal.len);
        const struct wo_view view = {text, before + literal.len + after};
        assert_int_equal(reference_next(known, known_count, view, 0), before);
        check_text(filter, view, 0);
        check_text(filter, view, before);
        check_text(filter, view, before + 1);
      }
    }
  }
  wo_prefilter_free(filter);
}

static void test_every_literal_reports_its_owner(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  for (size_t i = 0; i < LITERAL_COUNT; i++) {
    uint64_t owners[WORDS] = {0};
    assert_true(wo_prefilter_mark(filter, literals[i].text, owners, WORDS) >= 1);
    assert_true((owners[literals[i].owner / 64] >> (literals[i].owner % 64) & 1) == 1);
    assert_int_equal(wo_prefilter_mark(filter, literals[i].text, owners, WORDS), 0); /* nothing is new */
  }
  uint64_t one = 0;
  assert_int_equal(wo_prefilter_mark(filter, WO_VIEW("out of memory"), &one, 1), 1); /* owner 65 has no place */
  assert_int_equal(wo_prefilter_mark(filter, WO_VIEW("out of memory"), NULL, 0), 0);
  wo_prefilter_free(filter);
}

static void test_case_matters(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  assert_int_equal(first_hit(filter, WO_VIEW("Out of memory, OUT OF MEMORY, outofmemoryerror"), 0), WO_NOT_FOUND);
  assert_int_equal(first_hit(filter, WO_VIEW("Out of memory, out of memory"), 0), 15);
  wo_prefilter_free(filter);
}

static void test_end_of_line(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  static const struct {
    const char *text;
    bool is_found;
  } rows[] = {
      {"Killed", true},
      {"Killed\n", true},
      {"Killed\r\n", true},
      {"Killed\rnext", true},
      {"x Killed", true},
      {"xx Killed", true},
      {"xxx Killed", true},
      {"xxxx Killed\nmore", true},
      {"Killed process", false},
      {"Killed.", false},
      {"Kille", false},
      {"Killed \n", false},
      {"Killed. Killed", true},
      {"RuntimeError: CUDA error: x", false},
      {"RuntimeError: CUDA error\r", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_view text = wo_view_of(rows[i].text);
    if ((first_hit(filter, text, 0) != WO_NOT_FOUND) != rows[i].is_found) fail_msg("\"%s\"", rows[i].text);
    for (size_t from = 0; from <= text.len; from++) check_text(filter, text, from);
  }
  wo_prefilter_free(filter);
}

static void test_edges(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  assert_int_equal(first_hit(filter, (struct wo_view){NULL, 0}, 0), WO_NOT_FOUND);
  assert_int_equal(first_hit(filter, WO_VIEW("out of memory"), 100), WO_NOT_FOUND);
  assert_int_equal(reference_next(known, known_count, (struct wo_view){NULL, 0}, 0), WO_NOT_FOUND);
  uint64_t owners[WORDS] = {0};
  assert_int_equal(wo_prefilter_mark(filter, (struct wo_view){NULL, 0}, owners, WORDS), 0);
  assert_int_equal(wo_prefilter_mark_slow(filter, (struct wo_view){NULL, 0}, owners, WORDS), 0);
  wo_prefilter_free(filter);
  assert_null(wo_prefilter_free(NULL));
}

static void test_no_literals(void **state) {
  (void)state;
  struct wo_prefilter *filter = NULL;
  assert_int_equal(wo_prefilter_new(NULL, 0, NULL, &filter), WO_OK);
  known_count = 0;
  check_text(filter, WO_VIEW("out of memory"), 0);
  known_count = LITERAL_COUNT;
  wo_prefilter_free(filter);
}

static void test_short_literal(void **state) {
  (void)state;
  struct wo_prefilter *filter = NULL;
  const struct wo_prefilter_literal six = LITERAL("sixsix", 0);
  const struct wo_prefilter_literal empty = {{NULL, 0}, 0, false};
  assert_int_equal(wo_prefilter_new(&six, 1, NULL, &filter), WO_E_RANGE);
  assert_int_equal(wo_prefilter_new(&empty, 1, NULL, &filter), WO_E_RANGE);
  assert_null(filter);
}

/* Five bytes are enough before a number, which is looked at to its second byte; the end of a line is none. */
static void test_before_number(void **state) {
  (void)state;
  static const struct wo_prefilter_literal numbered[] = {
      {WO_VIEW(" mem "), 0, true}, {WO_VIEW("memory="), 1, true}, {WO_VIEW("memory\n"), 2, true}};
  static const char *const texts[] = {
      "a mem 12",    "a mem 9.5GiB", "a mem 1\n",       "a mem 7",   "a mem 7 GiB, memory=3G",   "a mem 0x1",
      "memory=12\n", "memory=1M",    "memory\r memory", "memory 12", " mem  mem 1K mem 22 mem ."};
  static const struct wo_prefilter_literal short_ones[] = {{WO_VIEW("mem "), 0, true}, {WO_VIEW("mem :\n"), 0, true}};
  struct wo_prefilter *filter = NULL;
  for (size_t i = 0; i < sizeof short_ones / sizeof short_ones[0]; i++) {
    assert_false(wo_prefilter_is_long_enough(&short_ones[i]));
    assert_int_equal(wo_prefilter_new(&short_ones[i], 1, NULL, &filter), WO_E_RANGE);
  }
  assert_int_equal(wo_prefilter_new(numbered, sizeof numbered / sizeof numbered[0], NULL, &filter), WO_OK);
  known = numbered;
  known_count = sizeof numbered / sizeof numbered[0];
  uint64_t owners = 0;
  size_t found = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    for (size_t from = 0; from < 5; from++) check_text(filter, wo_view_of(texts[i]), from);
    found += wo_prefilter_mark(filter, wo_view_of(texts[i]), &owners, 1);
    owners = 0;
  }
  assert_int_equal(found, 8);
  known = literals;
  known_count = LITERAL_COUNT;
  wo_prefilter_free(filter);
}

/* ---- Random texts ---- */

/* Marsaglia's xorshift64. */
static uint64_t next_random(uint64_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random;
}

/* Fills text with pieces of literals, whole literals, line ends and noise. */
static size_t fill_text(char *text, size_t cap, uint64_t *random) {
  size_t len = 0;
  const size_t want = next_random(random) % cap;
  while (len < want) {
    const uint64_t choice = next_random(random) % 8;
    const struct wo_view literal = literals[next_random(random) % LITERAL_COUNT].text;
    size_t start = choice < 3 ? 0 : next_random(random) % literal.len;
    size_t count = choice < 2 ? literal.len : next_random(random) % (literal.len - start) + 1;
    char noise = "\n\r .a"[next_random(random) % 5];
    const bool is_noise = choice >= 6;
    const char *const piece = is_noise ? &noise : literal.ptr + start;
    if (is_noise) count = 1;
    if (count > want - len) count = want - len;
    memcpy(text + len, piece, count);
    len += count;
  }
  return len;
}

static void test_random_texts(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  uint64_t random = UINT64_C(0x123456789abcdef);
  for (int round = 0; round < 20000; round++) {
    char text[200];
    const size_t len = fill_text(text, sizeof text, &random);
    check_text(filter, (struct wo_view){text, len}, next_random(&random) % (len + 1));
  }
  wo_prefilter_free(filter);
}

/* All occurrences that the reference finds line by line are found line by line. */
static void test_all_lines(void **state) {
  (void)state;
  struct wo_prefilter *filter = make_filter();
  uint64_t random = 42;
  for (int round = 0; round < 200; round++) {
    char bytes[2000];
    const struct wo_view text = {bytes, fill_text(bytes, sizeof bytes, &random)};
    size_t fast = first_hit(filter, text, 0);
    size_t slow = reference_next(known, known_count, text, 0);
    while (slow != WO_NOT_FOUND) {
      assert_true(fast != WO_NOT_FOUND);
      assert_int_equal(line_start(text, fast), line_start(text, slow));
      size_t end = slow;
      while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') end++;
      fast = first_hit(filter, text, end);
      slow = reference_next(known, known_count, text, end);
    }
    assert_int_equal(fast, WO_NOT_FOUND);
  }
  wo_prefilter_free(filter);
}

/* Tables of the same literals are taken, whoever owns them; those of others are not, and the filter finds the same either way. */
static void test_ready_tables(void **state) {
  (void)state;
  struct wo_prefilter *const first = make_filter();
  const struct wo_prefilter_tables tables = wo_prefilter_tables(first);
  struct wo_prefilter_literal other[LITERAL_COUNT];
  memcpy(other, literals, sizeof literals);
  struct wo_prefilter *filter = NULL;
  assert_int_equal(wo_prefilter_new(other, LITERAL_COUNT, &tables, &filter), WO_OK);
  assert_ptr_equal(wo_prefilter_tables(filter).places, tables.places);
  check_text(filter, WO_VIEW("CUDA out of memory\nKilled\n"), 0);
  wo_prefilter_free(filter);
  known = other;
  other[3].owner = 4;
  assert_int_equal(wo_prefilter_new(other, LITERAL_COUNT, &tables, &filter), WO_OK);
  assert_ptr_equal(wo_prefilter_tables(filter).places, tables.places);
  uint64_t owners[WORDS] = {0};
  assert_int_equal(wo_prefilter_mark(filter, WO_VIEW("an oom-kill event"), owners, WORDS), 1);
  assert_int_equal(owners[0], 1 << 4);
  wo_prefilter_free(filter);
  const struct wo_view changes[] = {WO_VIEW("oom-kilL"), WO_VIEW("oom-kill\n"), WO_VIEW("oom-kill\0"), WO_VIEW("oom-kil")};
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    other[3].text = changes[i];
    assert_int_equal(wo_prefilter_new(other, LITERAL_COUNT, &tables, &filter), WO_OK);
    assert_ptr_not_equal(wo_prefilter_tables(filter).places, tables.places);
    check_text(filter, WO_VIEW("an oom-kill, an oom-kilL\nand an oom-kill\n"), 0);
    wo_prefilter_free(filter);
  }
  assert_int_equal(wo_prefilter_new(literals, LITERAL_COUNT - 1, &tables, &filter), WO_OK);
  assert_ptr_not_equal(wo_prefilter_tables(filter).places, tables.places);
  known = literals;
  wo_prefilter_free(filter);
  wo_prefilter_free(first);
}

static void test_every_failing_allocation(void **state) {
  (void)state;
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    assert_true(n < 20);
    struct wo_prefilter *filter = NULL;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_prefilter_new(literals, LITERAL_COUNT, NULL, &filter);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_int_equal(status, was_hit ? WO_E_NOMEM : WO_OK);
    assert_int_equal(filter == NULL, was_hit);
    wo_prefilter_free(filter);
  }
}

/* Going to a place, forward or back, finds what a new walk from there finds. */
static void test_going_to_places(void **state) {
  static char text[3 * WO_PREFILTER_BLOCK];
  struct wo_prefilter *const filter = make_filter();
  struct wo_prefilter_cursor cursor;
  struct wo_prefilter_hit hit = {0}, want = {0};
  uint32_t seed = 11;
  (void)state;
  memset(text, '.', sizeof text);
  for (size_t at = 5; at + 60 < sizeof text; at += 61) {
    const struct wo_view literal = literals[at % LITERAL_COUNT].text;
    memcpy(text + at, literal.ptr, literal.len);
  }
  const struct wo_view view = {text, sizeof text};
  wo_prefilter_begin(&cursor, 0);
  for (int i = 0; i < 3000; i++) {
    struct wo_prefilter_cursor fresh;
    seed = seed * 1664525 + 1013904223;
    const size_t from = (seed >> 8) % sizeof text;
    wo_prefilter_go_to(&cursor, from);
    wo_prefilter_begin(&fresh, from);
    for (int hits = 0; hits < 3; hits++) {
      const bool is_found = wo_prefilter_walk(filter, view, &fresh, &want);
      assert_int_equal(wo_prefilter_walk(filter, view, &cursor, &hit), is_found);
      if (is_found) assert_int_equal(line_start(view, hit.start), line_start(view, want.start));
    }
  }
  wo_prefilter_free(filter);
}

/* Each literal at each place around the border of two blocks, and at the end of the text there. */
static void test_borders_of_blocks(void **state) {
  (void)state;
  struct wo_prefilter *const filter = make_filter();
  static char text[2 * WO_PREFILTER_BLOCK];
  for (size_t i = 0; i < LITERAL_COUNT; i++) {
    const struct wo_view literal = literals[i].text;
    for (size_t start = WO_PREFILTER_BLOCK - 40; start < WO_PREFILTER_BLOCK + 8; start++) {
      memset(text, '.', sizeof text);
      memcpy(text + start, literal.ptr, literal.len);
      if (literals[i].is_before_number) memcpy(text + start + literal.len, "12", 2);
      for (size_t from = 0; from < 4; from++) check_text(filter, (struct wo_view){text, sizeof text}, from);
      check_text(filter, (struct wo_view){text, start + literal.len}, 1);
    }
  }
  wo_prefilter_free(filter);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_alignments_and_ends),
      cmocka_unit_test(test_every_literal_reports_its_owner),
      cmocka_unit_test(test_case_matters),
      cmocka_unit_test(test_end_of_line),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_no_literals),
      cmocka_unit_test(test_short_literal),
      cmocka_unit_test(test_before_number),
      cmocka_unit_test(test_random_texts),
      cmocka_unit_test(test_all_lines),
      cmocka_unit_test(test_borders_of_blocks),
      cmocka_unit_test(test_going_to_places),
      cmocka_unit_test(test_ready_tables),
      cmocka_unit_test(test_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
