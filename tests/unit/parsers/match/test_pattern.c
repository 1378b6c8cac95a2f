/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: matching, named groups into fields, checking, limits, and what happens when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/units.h"
#include "parsers/match/pattern.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/prefilter_reference.h"

static const struct wo_view oom_literals[] = {{"out of memory", 13}, {"OutOfMemory", 11}};
static const struct wo_view killed_literal[] = {{"Killed\n", 7}};
static const struct wo_pattern_set_field oom_sets[] = {{WO_FIELD_STYLE, {"new", 3}}, {WO_FIELD_GPU, {"7", 1}}};

enum { OOM, KILLED, LITERAL, TWICE, SLOW, BROKEN, BEFORE, EMPTY_MATCH, PATTERN_COUNT };

static const struct wo_pattern patterns[PATTERN_COUNT] = {
    [OOM] = {.id = {"oom", 3},
             .kind = WO_KIND_CUDA_OOM,
             .literals = oom_literals,
             .literal_count = 2,
             .regex = WO_VIEW("out of memory\\. Tried to allocate (?<tried_bytes>[0-9.]+ \\wiB)(?: on GPU (?<gpu>\\d+))?"),
             .unless = WO_VIEW("warning: "),
             .sets = oom_sets,
             .set_count = 2},
    [KILLED] = {.id = {"killed", 6}, .kind = WO_KIND_KILLED, .literals = killed_literal, .literal_count = 1},
    [LITERAL] =
        {.id = {"lit", 3}, .kind = WO_KIND_NOTE, .literals = oom_literals, .literal_count = 2, .unless = WO_VIEW("quiet")},
    [TWICE] = {.id = {"twice", 5},
               .kind = WO_KIND_CONFIG,
               .literals = oom_literals,
               .literal_count = 1,
               .regex = WO_VIEW(
                   "a=(?<batch>\\d+)|b=(?<batch>\\d+)|c=(?<utilization>\\S+)|d=(?<limit_bytes>\\S+)|e=(?<parameters>[^;]+)")},
    [SLOW] =
        {.id = {"slow", 4}, .kind = WO_KIND_NOTE, .literals = oom_literals, .literal_count = 1, .regex = WO_VIEW("^(a+)+(a+)+$")},
    [BROKEN] = {.id = {"broken", 6}, .kind = WO_KIND_NOTE, .literals = oom_literals, .literal_count = 1, .regex = WO_VIEW("(")},
    [BEFORE] = {.id = {"before", 6},
                .kind = WO_KIND_PROGRESS,
                .where = WO_WHERE_BEFORE,
                .regex = WO_VIEW("step (?<step>[\\d,]+)")},
    [EMPTY_MATCH] =
        {.id = {"empty", 5}, .kind = WO_KIND_NOTE, .literals = oom_literals, .literal_count = 1, .regex = WO_VIEW("x*")},
};

/* What a callback saw. */
struct seen {
  struct wo_event_store store;
  struct wo_pattern_set *set;
  size_t calls;
  size_t stop_after;
  size_t starts[32];
  struct wo_view texts[32];
  struct wo_view batch;
  bool is_filled;
};

static bool on_match(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct seen *const seen = context;
  assert_true(seen->calls < 32);
  seen->starts[seen->calls] = wo_match_start(match);
  seen->texts[seen->calls] = wo_match_text(match);
  seen->batch = wo_match_group(match, "batch");
  seen->calls++;
  struct wo_event *const event = wo_event_add(&seen->store, pattern->kind, (struct wo_span){0}, wo_match_text(match));
  seen->is_filled = event != NULL && wo_match_fill(match, pattern, &seen->store, event);
  return seen->calls != seen->stop_after;
}

static void setup(struct seen *seen) {
  *seen = (struct seen){0};
  wo_event_store_init(&seen->store);
  assert_int_equal(wo_pattern_set_new(patterns, PATTERN_COUNT, NULL, &seen->set), WO_OK);
}

static void teardown(struct seen *seen) {
  seen->set = wo_pattern_set_free(seen->set);
  wo_event_store_done(&seen->store);
}

static size_t match(struct seen *seen, size_t index, const char *text) {
  seen->calls = 0;
  return wo_pattern_match(seen->set, index, wo_view_of(text), on_match, seen);
}

static const struct wo_event *last_event(const struct seen *seen) {
  return wo_event_get(&seen->store, (wo_event_id)seen->store.count - 1);
}

static void test_set(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(wo_pattern_count(seen.set), PATTERN_COUNT);
  assert_ptr_equal(wo_pattern_at(seen.set, KILLED), &patterns[KILLED]);
  uint64_t owners = 0;
  assert_true(wo_prefilter_mark(wo_pattern_set_prefilter(seen.set), WO_VIEW("it was Killed"), &owners, 1) == 1);
  assert_true(owners == UINT64_C(1) << KILLED);
  teardown(&seen);
  struct wo_pattern_set *set = NULL;
  assert_int_equal(wo_pattern_set_new(NULL, 0, NULL, &set), WO_OK);
  assert_int_equal(first_hit(wo_pattern_set_prefilter(set), WO_VIEW("out of memory"), 0), WO_NOT_FOUND);
  assert_null(wo_pattern_set_free(set));
  assert_null(wo_pattern_set_free(NULL));
}

static void test_fields_of_a_match(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, OOM, "CUDA out of memory. Tried to allocate 20.00 MiB on GPU 3, and so on"), 1);
  assert_int_equal(seen.starts[0], 5);
  assert_true(wo_view_is(seen.texts[0], "out of memory. Tried to allocate 20.00 MiB on GPU 3"));
  const struct wo_event *event = last_event(&seen);
  const struct wo_field *const tried = wo_event_field(event, WO_FIELD_TRIED_BYTES);
  assert_true(tried->number.mid == 20 * WO_MIB && tried->number.lo < tried->number.mid && tried->number.hi > tried->number.mid);
  assert_true(wo_event_number(event, WO_FIELD_GPU, -1) == 3); /* the group, not the fixed value */
  assert_true(wo_view_is(wo_event_text(event, WO_FIELD_STYLE), "new"));
  assert_int_equal(match(&seen, OOM, "out of memory. Tried to allocate 1.00 GiB"), 1);
  event = last_event(&seen);
  assert_true(wo_event_number(event, WO_FIELD_GPU, -1) == 7);
  teardown(&seen);
}

static void test_unless(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, OOM, "warning: out of memory. Tried to allocate 20.00 MiB"), 0);
  assert_int_equal(match(&seen, OOM, "no such text"), 0);
  assert_int_equal(match(&seen, LITERAL, "quiet out of memory"), 0);
  assert_int_equal(wo_pattern_limit_hits(seen.set), 0);
  teardown(&seen);
}

static void test_no_regex(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, LITERAL, "an OutOfMemory, out of memory"), 1);
  assert_int_equal(seen.starts[0], 3);
  assert_true(wo_view_is(seen.texts[0], "OutOfMemory"));
  assert_int_equal(match(&seen, KILLED, "Killed, then Killed"), 1);
  assert_int_equal(seen.starts[0], 13);
  assert_int_equal(match(&seen, LITERAL, "neither"), 1); /* the literal stood in the raw line */
  assert_int_equal(seen.starts[0], 0);
  assert_true(wo_view_is(seen.texts[0], "neither"));
  assert_int_equal(wo_pattern_match(seen.set, LITERAL, (struct wo_view){NULL, 0}, on_match, &seen), 1);
  assert_int_equal(seen.batch.len, 0);
  teardown(&seen);
}

static void test_several_matches(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, TWICE, "a=1 b=22 a=333"), 3);
  assert_int_equal(seen.starts[1], 4);
  assert_true(wo_view_is(seen.batch, "333"));
  assert_int_equal(match(&seen, TWICE, "b=22"), 1);
  assert_true(wo_view_is(seen.batch, "22"));
  assert_true(wo_event_number(last_event(&seen), WO_FIELD_BATCH, -1) == 22);
  assert_int_equal(match(&seen, TWICE, "a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1"),
                   WO_LIMIT_MATCHES_PER_LINE);
  seen.stop_after = 2;
  assert_int_equal(match(&seen, TWICE, "a=1 b=22 a=333"), 2);
  seen.stop_after = 0;
  assert_int_equal(match(&seen, EMPTY_MATCH, "axb"), 4); /* "", "x", "", "" */
  assert_int_equal(wo_pattern_match(seen.set, EMPTY_MATCH, (struct wo_view){NULL, 0}, on_match, &seen), 1);
  teardown(&seen);
}

/* Text -> number, by the type of the field that the group names. */
static void test_numbers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_field_id id;
    double value; /* -1: the field stays unknown */
  } rows[] = {
      {"c=0.9", WO_FIELD_UTILIZATION, 0.9},
      {"c=50%", WO_FIELD_UTILIZATION, 0.5},
      {"c=most", WO_FIELD_UTILIZATION, -1},
      {"d=64G", WO_FIELD_LIMIT_BYTES, 64 * WO_GIB},
      {"d=17179869184.00GiB", WO_FIELD_LIMIT_BYTES, -1},
      {"d=64", WO_FIELD_LIMIT_BYTES, -1},
      {"e=1,234,567", WO_FIELD_PARAMETERS, 1234567},
      {"e=7.5 B", WO_FIELD_PARAMETERS, 7.5e9},
      {"e=12K", WO_FIELD_PARAMETERS, 12000},
      {"e=3M", WO_FIELD_PARAMETERS, 3e6},
      {"e=1T", WO_FIELD_PARAMETERS, 1e12},
      {"e=1e6 pieces", WO_FIELD_PARAMETERS, 1e6},
      {"e= many", WO_FIELD_PARAMETERS, -1},
  };
  struct seen seen;
  setup(&seen);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(match(&seen, TWICE, rows[i].text), 1);
    assert_true(seen.is_filled);
    const double value = wo_event_number(last_event(&seen), rows[i].id, -1);
    if (value < rows[i].value - 1e-9 || value > rows[i].value + 1e-9) fail_msg("\"%s\": %g", rows[i].text, value);
  }
  assert_int_equal(match(&seen, BEFORE, "at step 12,000"), 1);
  assert_true(wo_event_number(last_event(&seen), WO_FIELD_STEP, -1) == 12000);
  teardown(&seen);
}

static void test_bad_regex_never_matches(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, BROKEN, "("), 0);
  assert_int_equal(match(&seen, BROKEN, "("), 0);
  teardown(&seen);
}

static void test_match_limit(void **state) {
  (void)state;
  struct seen seen;
  setup(&seen);
  assert_int_equal(match(&seen, SLOW, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), 0);
  assert_true(wo_pattern_limit_hits(seen.set) > 0);
  teardown(&seen);
}

/* A search that begins anew at each byte and runs to the end of the line. */
static const struct wo_pattern square = {.id = {"square", 6}, .regex = WO_VIEW("\\S+: not found")};

/* Lines of one length, all letters, are matched until the budget of the line is spent; the next line has one of its own. Shorter
 * ones are not counted. */
static void test_budget_of_a_line(void **state) {
  (void)state;
  enum { LONG = 64 * 1024, SHORT = 1000 };
  struct seen seen = {0};
  char *const text = malloc(LONG);
  assert_non_null(text);
  memset(text, 'a', LONG);
  text[LONG - 1] = text[SHORT - 1] = 'd'; /* without the last letter of the words PCRE2 does not search at all */
  const struct wo_view line = {text, LONG}, start = {text, SHORT};
  wo_event_store_init(&seen.store);
  assert_int_equal(wo_pattern_set_new(&square, 1, NULL, &seen.set), WO_OK);
  wo_pattern_begin_line(seen.set, SHORT);
  assert_int_equal(wo_pattern_match(seen.set, 0, start, on_match, &seen), 0);
  assert_int_equal(wo_pattern_limit_hits(seen.set), 0);
  wo_pattern_begin_line(seen.set, LONG);
  assert_int_equal(wo_pattern_match(seen.set, 0, line, on_match, &seen), 0);
  assert_int_equal(wo_pattern_match(seen.set, 0, line, on_match, &seen), 0);
  assert_int_equal(wo_pattern_limit_hits(seen.set), 2);
  memcpy(text + LONG - 12, " x: not found", 12);
  memcpy(text + 40, ": not found ", 12);
  wo_pattern_begin_line(seen.set, LONG);
  assert_int_equal(wo_pattern_match(seen.set, 0, line, on_match, &seen), 1);
  free(text);
  teardown(&seen);
}

/* Steps grow with the line for a pattern that is linear, and with its square for one that is not. */
static void test_steps(void **state) {
  (void)state;
  static const struct wo_pattern both[] = {{.regex = WO_VIEW("\\S+: not found")}, {.regex = WO_VIEW("(?<!\\S)\\S+: not found")}};
  static char text[8000];
  struct wo_pattern_set *set = NULL;
  memset(text, 'a', sizeof text);
  text[3999] = text[7999] = 'd';
  assert_int_equal(wo_pattern_set_new(both, 2, NULL, &set), WO_OK);
  for (size_t i = 0; i < 2; i++) {
    const uint64_t half = wo_pattern_steps(set, i, (struct wo_view){text, 4000}, UINT64_MAX);
    const uint64_t whole = wo_pattern_steps(set, i, (struct wo_view){text, 8000}, UINT64_MAX);
    assert_in_range(whole * 10 / half, i == 0 ? 38 : 18, i == 0 ? 42 : 22);
  }
  assert_int_equal(wo_pattern_steps(set, 0, (struct wo_view){text, 8000}, 1000), 1000);
  assert_int_equal(wo_pattern_match(set, 1, (struct wo_view){text, 8000}, on_match, NULL), 0);
  assert_int_equal(wo_pattern_limit_hits(set), 0); /* measuring spends nothing of the line's budget */
  wo_pattern_set_free(set);
}

/* Bytes that are no UTF-8 are matched like any others, even when the expression asks for UTF-8. */
static void test_bytes(void **state) {
  (void)state;
  static const struct wo_pattern raw = {.regex = WO_VIEW("(?<name>[\x80-\xff]+)")};
  struct seen seen = {0};
  wo_event_store_init(&seen.store);
  assert_int_equal(wo_pattern_set_new(&raw, 1, NULL, &seen.set), WO_OK);
  assert_int_equal(match(&seen, 0,
                         "abc\xff\xfe"
                         "def"),
                   1);
  assert_int_equal(seen.starts[0], 3);
  assert_true(wo_view_is(wo_event_text(last_event(&seen), WO_FIELD_NAME), "\xef\xbf\xbd\xef\xbf\xbd"));
  teardown(&seen);
}

/* ---- Checking ---- */

static void expect_verdict(const struct wo_pattern *pattern, enum wo_status status, const char *message, uint64_t offset) {
  struct wo_err err = {0};
  assert_int_equal(wo_pattern_check(pattern, &err), status);
  if (status == WO_OK) return;
  if (strstr(err.message, message) == NULL) fail_msg("\"%s\"", err.message);
  assert_true(err.offset == offset);
  assert_int_equal(wo_pattern_check(pattern, NULL), status);
}

static void test_check(void **state) {
  (void)state;
  static const struct wo_view too_short[] = {{"memory", 6}};
  struct wo_pattern pattern = patterns[OOM];
  expect_verdict(&pattern, WO_OK, "", 0);
  expect_verdict(&patterns[KILLED], WO_OK, "", 0);
  expect_verdict(&patterns[BEFORE], WO_OK, "", 0);
  pattern.regex = WO_VIEW("abc(?<gpu>");
  expect_verdict(&pattern, WO_E_SYNTAX, "missing", 10);
  pattern.regex = WO_VIEW("(?<graphics_card>\\d)");
  expect_verdict(&pattern, WO_E_SYNTAX, "\"graphics_card\" names no field", 0);
  pattern.regex = WO_VIEW("(*UTF)x");
  expect_verdict(&pattern, WO_E_SYNTAX, "UTF", 6);
  pattern = patterns[OOM];
  pattern.unless = WO_VIEW("[");
  expect_verdict(&pattern, WO_E_SYNTAX, "", 1);
  pattern = patterns[OOM];
  pattern.literal_count = 0;
  expect_verdict(&pattern, WO_E_SYNTAX, "no literal", 0);
  pattern.literals = too_short;
  pattern.literal_count = 1;
  expect_verdict(&pattern, WO_E_SYNTAX, "\"memory\" is shorter", 0);
  expect_verdict(&(struct wo_pattern){.where = WO_WHERE_TAIL}, WO_E_SYNTAX, "neither", 0);
}

static void test_too_many_groups(void **state) {
  (void)state;
  char regex[400] = "";
  for (int i = 0; i < 64; i++) memcpy(regex + (size_t)i * 4, "(.)?", 4);
  struct wo_pattern pattern = patterns[OOM];
  pattern.regex = (struct wo_view){regex, 256};
  expect_verdict(&pattern, WO_E_SYNTAX, "groups", 0);
  pattern.regex.len = 252;
  expect_verdict(&pattern, WO_OK, "", 0);
  /* and when nobody checks, the whole match still counts */
  pattern.regex.len = 256;
  pattern.set_count = 0;
  struct seen seen = {0};
  wo_event_store_init(&seen.store);
  assert_int_equal(wo_pattern_set_new(&pattern, 1, NULL, &seen.set), WO_OK);
  assert_int_equal(match(&seen, 0, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopq"), 3);
  assert_int_equal(seen.starts[1], 64);
  teardown(&seen);
}

/* ---- Out of memory ---- */

static void test_every_failing_allocation(void **state) {
  (void)state;
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    assert_true(n < 200);
    struct seen seen = {0};
    wo_event_store_init(&seen.store);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_pattern_set_new(patterns, PATTERN_COUNT, NULL, &seen.set);
    size_t found = 0;
    if (status == WO_OK) found = match(&seen, OOM, "out of memory. Tried to allocate 20.00 MiB");
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    if (status != WO_OK) {
      assert_int_equal(status, WO_E_NOMEM);
      assert_true(was_hit);
      assert_null(seen.set);
    } else if (found == 0) {
      /* lost, but not silently, and the next line is read again */
      assert_true(wo_pattern_limit_hits(seen.set) > 0);
      assert_int_equal(match(&seen, OOM, "out of memory. Tried to allocate 20.00 MiB"), 1);
    } else if (!seen.is_filled) {
      assert_true(seen.store.is_out_of_memory);
    }
    teardown(&seen);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_set),
      cmocka_unit_test(test_fields_of_a_match),
      cmocka_unit_test(test_unless),
      cmocka_unit_test(test_no_regex),
      cmocka_unit_test(test_several_matches),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_bad_regex_never_matches),
      cmocka_unit_test(test_match_limit),
      cmocka_unit_test(test_budget_of_a_line),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_check),
      cmocka_unit_test(test_too_many_groups),
      cmocka_unit_test(test_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
