/* SPDX-License-Identifier: Apache-2.0 */
/* Categories: by frame, annotation and metadata, the first one counts, and no expression hangs. */
#include "cuda_replay/category/look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"

/* Blocks: 1 by its frame, 2 inside of an annotation, 3 with metadata, 4 with nothing, 5 with all of them. */
static const char lines[] = "{\"whyoom_trace\":1}\n"
                            "{\"frame\":0,\"function\":\"attend\",\"file\":\"/home/me/model.py\",\"line\":31}\n"
                            "{\"frame\":1,\"function\":\"main\",\"file\":\"/home/me/train.py\",\"line\":12}\n"
                            "{\"stack\":0,\"frames\":[0,1]}\n{\"stack\":1,\"frames\":[1]}\n"
                            "{\"annotation\":\"encoder\",\"stage\":\"start\",\"time_us\":200}\n"
                            "{\"annotation\":\"encoder\",\"stage\":\"end\",\"time_us\":300}\n"
                            "{\"annotation\":\"encoder\",\"stage\":\"start\",\"time_us\":500}\n"
                            "{\"annotation\":\"encoder\",\"stage\":\"end\",\"time_us\":600}\n"
                            "{\"alloc\":10,\"id\":1,\"stack\":0,\"time_us\":100}\n"
                            "{\"alloc\":20,\"id\":2,\"stack\":1,\"time_us\":250}\n"
                            "{\"alloc\":40,\"id\":3,\"stack\":1,\"time_us\":350,\"metadata\":\"layer 3\"}\n"
                            "{\"alloc\":80,\"id\":4,\"stack\":1,\"time_us\":400}\n"
                            "{\"alloc\":160,\"id\":5,\"stack\":0,\"time_us\":550,\"metadata\":\"layer 3\"}\n";

static struct wo_recording *read_lines(void) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_test_read(lines, strlen(lines), SIZE_MAX, &recording, &err) != WO_OK)
    fail_msg("line %d: %s", (int)err.line, err.message);
  return recording;
}

static void add(struct wo_categories *categories, const char *text) {
  struct wo_err err = {0};
  if (wo_categories_add(categories, wo_view_of(text), &err) != WO_OK) fail_msg("%s: %s", text, err.message);
}

/* Checks the categories of the five blocks: a digit for each. */
static void check(const char *const *texts, size_t count, const char *expected) {
  struct wo_recording *const recording = read_lines();
  struct wo_categories categories = {0};
  struct wo_look look;
  struct wo_err err = {0};
  for (size_t i = 0; i < count; i++) add(&categories, texts[i]);
  assert_int_equal(wo_look_make(recording, &recording->traces.items[0], NULL, &categories, (struct wo_look_part){0}, &look, &err),
                   WO_OK);
  assert_int_equal(look.lives.blocks.count, strlen(expected));
  for (size_t i = 0; i < look.lives.blocks.count; i++) assert_int_equal(look.lives.blocks.items[i].category, expected[i] - '0');
  struct wo_sum sums[WO_LIMIT_CATEGORIES + 1];
  wo_look_categories(&look, 4, sums);
  uint64_t all = 0;
  for (size_t i = 0; i <= categories.count; i++) all += sums[i].bytes;
  assert_int_equal(all, 310);
  wo_look_done(&look);
  wo_recording_free(recording);
}

static void each_source_is_looked_at(void **state) {
  (void)state;
  check((const char *const[]){"attend=a"}, 1, "10001");
  check((const char *const[]){"model.py:31 =a"}, 1, "10001");
  check((const char *const[]){"^encoder$=e"}, 1, "01001");
  check((const char *const[]){"^layer [0-9]+$=l"}, 1, "00101");
  check((const char *const[]){"main$=m"}, 1, "11111");
}

static void the_first_one_counts(void **state) {
  (void)state;
  check((const char *const[]){"encoder=e", "attend=a", "layer=l"}, 3, "21301");
  check((const char *const[]){"layer=l", "attend=a", "encoder=e"}, 3, "23101");
}

/* The last '=' divides, so that an expression can hold one. */
static void texts_are_divided_at_the_last_sign(void **state) {
  (void)state;
  struct wo_categories categories = {0};
  add(&categories, "a=b=name");
  assert_true(wo_view_is(categories.items[0].regex, "a=b"));
  assert_true(wo_view_is(wo_category_name(&categories, 1), "name"));
  static const char *const wrong[] = {"", "=", "x", "x=", "=x", "(=x", "[a=x", "a**b(=x"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct wo_err err = {0};
    assert_int_equal(wo_categories_add(&categories, wo_view_of(wrong[i]), &err), WO_E_USAGE);
    assert_int_not_equal(err.message[0], '\0');
    assert_int_equal(categories.count, 1);
  }
}

static void there_is_a_most(void **state) {
  (void)state;
  struct wo_categories categories = {0};
  struct wo_err err = {0};
  for (int i = 0; i < WO_LIMIT_CATEGORIES; i++) add(&categories, "x=y");
  assert_int_equal(wo_categories_add(&categories, WO_VIEW("x=y"), &err), WO_E_USAGE);
}

/* An expression that backtracks without end gives up, which is counted. */
static void no_expression_hangs(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines();
  char name[600];
  memset(name, 'a', sizeof name);
  memcpy(&name[sizeof name - 2], "!b", 2);
  recording->frames.items[0].function = (struct wo_view){name, sizeof name};
  struct wo_categories categories = {0};
  struct wo_look look;
  struct wo_err err = {0};
  add(&categories, "(a+)+(a+)+(a+)+b=never");
  assert_int_equal(wo_look_make(recording, &recording->traces.items[0], NULL, &categories, (struct wo_look_part){0}, &look, &err),
                   WO_OK);
  assert_true(look.given_up > 0);
  wo_look_done(&look);
  wo_recording_free(recording);
}

/* After some texts on which it gave up, an expression is not tried any more. All texts are counted that it may match, and each
 * once however many expressions it is. */
static void all_texts_that_may_match_are_counted(void **state) {
  (void)state;
  enum { FRAMES = WO_LIMIT_CATEGORY_GIVEN_UP + 100 };
  struct wo_text text = {0};
  wo_text_add(&text, "{\"whyoom_trace\":1}\n");
  for (int i = 0; i < FRAMES; i++) {
    wo_text_add(&text, "{\"frame\":%d,\"function\":\"", i);
    wo_text_repeat(&text, 'a', 600);
    wo_text_add(&text,
                "!b%d\",\"file\":\"m.py\",\"line\":1}\n{\"stack\":%d,\"frames\":[%d]}\n{\"alloc\":1,\"id\":%d,\"stack\":%d}\n", i,
                i, i, i + 1, i);
  }
  struct wo_recording *recording = NULL;
  struct wo_categories categories = {0};
  struct wo_look look;
  struct wo_err err = {0};
  assert_int_equal(wo_test_read(text.ptr, text.len, SIZE_MAX, &recording, &err), WO_OK);
  add(&categories, "(a+)+(a+)+(a+)+b=never");
  add(&categories, "(a+)+(a+)+(a+)+c=never");
  add(&categories, "m.py=file");
  assert_int_equal(wo_look_make(recording, &recording->traces.items[0], NULL, &categories, (struct wo_look_part){0}, &look, &err),
                   WO_OK);
  assert_int_equal(look.given_up, FRAMES);
  for (size_t i = 0; i < look.lives.blocks.count; i++) assert_int_equal(look.lives.blocks.items[i].category, 3);
  wo_look_done(&look);
  wo_recording_free(recording);
  wo_text_done(&text);
}

static void parts_are_checked(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines();
  const struct wo_categories none = {0};
  struct wo_look look;
  struct wo_err err = {0};
  const struct wo_trace *const trace = &recording->traces.items[0];
  struct wo_look_part part = {.has_first = true, .first = 1, .has_last = true, .last = 99};
  assert_int_equal(wo_look_make(recording, trace, NULL, &none, part, &look, &err), WO_OK);
  assert_int_equal(look.window.first, 1);
  assert_int_equal(look.window.end, 5);
  wo_look_done(&look);
  part = (struct wo_look_part){.has_last = true, .last = 2};
  assert_int_equal(wo_look_make(recording, trace, NULL, &none, part, &look, &err), WO_OK);
  assert_int_equal(look.window.end, 3);
  wo_look_done(&look);
  part = (struct wo_look_part){.has_first = true, .first = 5};
  assert_int_equal(wo_look_make(recording, trace, NULL, &none, part, &look, &err), WO_E_USAGE);
  wo_recording_free(recording);
}

static void memory_may_run_out(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines();
  struct wo_categories categories = {0};
  add(&categories, "attend=a");
  for (long n = 1;; n++) {
    struct wo_look look;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status =
        wo_look_make(recording, &recording->traces.items[0], NULL, &categories, (struct wo_look_part){0}, &look, &err);
    wo_fail_alloc_off();
    assert_int_equal(status, wo_fail_alloc_hit() ? WO_E_NOMEM : WO_OK);
    wo_look_done(&look);
    if (status == WO_OK) break;
  }
  wo_recording_free(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_source_is_looked_at),
      cmocka_unit_test(the_first_one_counts),
      cmocka_unit_test(texts_are_divided_at_the_last_sign),
      cmocka_unit_test(there_is_a_most),
      cmocka_unit_test(no_expression_hangs),
      cmocka_unit_test(all_texts_that_may_match_are_counted),
      cmocka_unit_test(parts_are_checked),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
