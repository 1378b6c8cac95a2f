/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: how values look, and that nothing is written after a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "parsers/base/output/json_out.h"
#include "tests/support/failing_alloc.h"

/* One value of each sort; those that JSON cannot say among them. */
static cJSON *build(struct wo_json_out *out) {
  static const struct wo_view texts[] = {{"a", 1}, {"", 0}, {"b\"c", 3}};
  cJSON *const root = cJSON_CreateObject();
  wo_json_put_count(out, root, "largest", UINT64_MAX);
  wo_json_put_known(out, root, "zero", 0);
  wo_json_put_known(out, root, "unknown", -1);
  wo_json_put_bytes(out, root, "bytes", 1023.6);
  wo_json_put(out, root, "half", wo_json_number(0.5));
  wo_json_put(out, root, "nan", wo_json_number(NAN));
  wo_json_put(out, root, "minus_zero", wo_json_number(-0.0));
  wo_json_put(out, root, "huge", wo_json_number(1e300));
  wo_json_put_text(out, root, "text", (struct wo_view){"a\tb\x1b\xff", 5});
  wo_json_put_text(out, root, "absent", (struct wo_view){NULL, 0});
  wo_json_put_exact(out, root, "exact", (struct wo_view){"a\tb\n\x1b\xC3\xA9", 7});
  wo_json_put_exact(out, root, "no_utf8", (struct wo_view){"a\xff", 2});
  wo_json_put_exact(out, root, "with_nul", (struct wo_view){"a\0b", 3});
  wo_json_put_exact(out, root, "empty", (struct wo_view){NULL, 0});
  wo_json_put_name(out, root, "name", "model");
  wo_json_put_bool(out, root, "truth", true);
  wo_json_put_texts(out, root, "texts", texts, 3);
  wo_json_put_count(out, wo_json_put_object(out, root, "object"), "n", 1);
  wo_json_push(out, wo_json_put_array(out, root, "array"), wo_json_count(7));
  return root;
}

static const char expected[] = "{\n"
                               "  \"largest\": 18446744073709551615,\n"
                               "  \"zero\": 0,\n"
                               "  \"unknown\": null,\n"
                               "  \"bytes\": 1024,\n"
                               "  \"half\": 0.5,\n"
                               "  \"nan\": null,\n"
                               "  \"minus_zero\": 0,\n"
                               "  \"huge\": 1e+300,\n"
                               "  \"text\": \"a b \xEF\xBF\xBD\",\n"
                               "  \"absent\": null,\n"
                               "  \"exact\": \"a\\tb\\n\\u001b\xC3\xA9\",\n"
                               "  \"no_utf8\": null,\n"
                               "  \"with_nul\": null,\n"
                               "  \"empty\": null,\n"
                               "  \"name\": \"model\",\n"
                               "  \"truth\": true,\n"
                               "  \"texts\": [\"a\", \"\", \"b\\\"c\"],\n"
                               "  \"object\": {\n"
                               "    \"n\": 1\n"
                               "  },\n"
                               "  \"array\": [7]\n"
                               "}\n";

static void test_values(void **state) {
  struct wo_json_out out = {0};
  struct wo_text text = {0};
  (void)state;
  cJSON *const root = build(&out);
  assert_false(out.is_failed);
  wo_json_finish(&out, root, &text);
  assert_string_equal(text.ptr, expected);
  wo_text_done(&text);
}

/* Putting into what could not be made fails, and the text says so. */
static void test_nothing_after_a_failure(void **state) {
  struct wo_json_out out = {0};
  struct wo_text text = {0};
  (void)state;
  cJSON *const root = cJSON_CreateObject();
  assert_null(wo_json_put_object(&out, NULL, "lost"));
  assert_true(out.is_failed);
  wo_json_finish(&out, root, &text);
  assert_true(text.is_failed);
  assert_int_equal(text.len, 0);
  wo_text_done(&text);

  struct wo_json_out none = {0};
  wo_json_finish(&none, NULL, &text);
  assert_true(text.is_failed);
}

/* Exact texts keep every character; those that a terminal must not get are escaped. */
static void test_exact_texts_are_escaped(void **state) {
  (void)state;
  const struct wo_view exact = WO_VIEW("\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\xe2\x80\x8d\xc3\xa9\x01");
  struct wo_json_out out = {0};
  struct wo_text text = {0};
  cJSON *const root = cJSON_CreateObject();
  wo_json_put_exact(&out, root, "exact", exact);
  wo_json_put_text(&out, root, "shown", exact);
  wo_json_finish(&out, root, &text);
  assert_string_equal(text.ptr, "{\n  \"exact\": \"\\u007f\\u009b\\u202e\\udb40\\udc41\\u200d\xc3\xa9\\u0001\",\n"
                                "  \"shown\": \"  \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9 \"\n}\n");
  cJSON *const back = cJSON_Parse(text.ptr);
  assert_string_equal(cJSON_GetObjectItem(back, "exact")->valuestring, exact.ptr);
  cJSON_Delete(back);
  wo_text_done(&text);
}

static void test_failing_allocations(void **state) {
  (void)state;
  for (long n = 1; n < 20; n++) {
    struct wo_json_out out = {0};
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    wo_json_finish(&out, build(&out), &text);
    wo_fail_alloc_off();
    assert_int_equal(text.is_failed, wo_fail_alloc_hit());
    if (!text.is_failed) assert_string_equal(text.ptr, expected);
    wo_text_done(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_nothing_after_a_failure),
      cmocka_unit_test(test_exact_texts_are_escaped),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
