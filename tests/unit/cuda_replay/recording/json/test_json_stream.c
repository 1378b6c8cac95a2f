/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON tokenizer: tokens and places, what is let pass, what is refused, cuts, and the values of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/json_stream.h"
#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"

/* A stream over bytes that come in pieces. */
struct stream {
  struct wo_test_bytes bytes;
  struct wo_trace_source source;
  struct wo_json_stream json;
};

static void start(struct stream *stream, struct wo_view text, size_t piece, bool ends_at_newline) {
  stream->bytes = (struct wo_test_bytes){text.ptr, text.len, 0, piece, SIZE_MAX};
  assert_int_equal(wo_trace_source_init(&stream->source, wo_test_feed(&stream->bytes), "text"), WO_OK);
  wo_json_stream_init(&stream->json, &stream->source, ends_at_newline);
}

static void end(struct stream *stream) {
  wo_json_stream_done(&stream->json);
  wo_trace_source_done(&stream->source);
}

/* One token as the tables write it. */
static void show(struct wo_text *out, const struct wo_json_token *token) {
  static const char *const marks[] = {"END", "CUT", "{", "}", "[", "]", "k:", "s:", "n:", "true", "false", "null"};
  wo_text_add(out, "%s%s", out->len > 0 ? " " : "", marks[token->kind]);
  if (token->kind == WO_JSON_KEY || token->kind == WO_JSON_STRING || token->kind == WO_JSON_NUMBER)
    wo_text_add_view(out, token->text);
  if (token->is_cut) wo_text_add(out, "...");
}

/* All tokens of a text, and the message where it fails. */
static void tokens_of(struct wo_view text, size_t piece, bool ends_at_newline, struct wo_text *out) {
  struct stream stream;
  start(&stream, text, piece, ends_at_newline);
  for (;;) {
    struct wo_json_token token;
    struct wo_err err = {0};
    if (wo_json_stream_next(&stream.json, &token, &err) != WO_OK) {
      wo_text_add(out, " %s:%u:%u:%u: %s", wo_status_text(err.code), (unsigned)err.line, err.column, (unsigned)err.offset,
                  err.message);
      break;
    }
    show(out, &token);
    if (token.kind == WO_JSON_END || token.kind == WO_JSON_CUT) break;
  }
  end(&stream);
}

static const struct {
  const char *text;
  const char *tokens;
} rows[] = {
    {"", "END"},
    {" \t\r\n ", "END"},
    {"\xEF\xBB\xBF[]", "[ ] END"},
    {"{}", "{ } END"},
    {"[1,-2,0.5,1e3,-1.5E-3,0]", "[ n:1 n:-2 n:0.5 n:1e3 n:-1.5E-3 n:0 ] END"},
    {"[true,false,null]", "[ true false null ] END"},
    {"[NaN,Infinity,-Infinity]", "[ n:NaN n:Infinity n:-Infinity ] END"},
    {"{\"a\":1,\"b\" : [ ] , \"c\":{\"d\":\"e\"}}", "{ k:a n:1 k:b [ ] k:c { k:d s:e } } END"},
    {"{\"a\":1}\n{\"b\":2}", "{ k:a n:1 } { k:b n:2 } END"},
    {"1 2\"x\"", "n:1 n:2 s:x END"},
    {"[1,]", "[ n:1 ] END"},
    {"{\"a\":1,}", "{ k:a n:1 } END"},
    {"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[ s:\"\\/\b\f\n\r\t ] END"},
    {"[\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"]", "[ s:A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ] END"},
    {"[\"\\ud83dx\\ude00\\ud83d\\u0041\"]", "[ s:\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
                                            "A ] END"},
    {"[\"\\q \\u12G4 \xff\"]", "[ s:\\q \\u12G4 \xff ] END"},
    {"[\"tab\there\"]", "[ s:tab\there ] END"},
    {"{\"\":\"\"}", "{ k: s: } END"},
    {"{\"a\\nb\"  \r\n :1}", "{ k:a\nb n:1 } END"},
    {"[01]", "[ n:01 ] END"},
    /* Cut */
    {"[", "[ CUT"},
    {"[1", "[ CUT"},
    {"[1,", "[ n:1 CUT"},
    {"[\"ab", "[ CUT"},
    {"[\"ab\\", "[ CUT"},
    {"[\"ab\\u12", "[ CUT"},
    {"[tru", "[ CUT"},
    {"[-", "[ CUT"},
    {"[-Inf", "[ CUT"},
    {"{\"a\"", "{ CUT"},
    {"{\"a\":", "{ k:a CUT"},
    {"{\"a\":1", "{ k:a CUT"},
    {"{\"a\":{}", "{ k:a { } CUT"},
    {"\"ab", "CUT"},
    /* Wrong */
    {"]", " malformed input:1:1:0: is no JSON here: expected a value, found ']'"},
    {"[}", "[ malformed input:1:2:1: is no JSON here: expected a value, found '}'"},
    {"{]", "{ malformed input:1:2:1: is no JSON here: expected a key or '}', found ']'"},
    {"{1:2}", "{ malformed input:1:2:1: is no JSON here: expected a key or '}', found '1'"},
    {"{\"a\"\n 1}", "{ malformed input:2:2:6: is no JSON here: expected a colon, found '1'"},
    {"{\"a\":}", "{ k:a malformed input:1:6:5: is no JSON here: expected a value, found '}'"},
    {"[1 2]", "[ n:1 malformed input:1:4:3: is no JSON here: expected ',' or ']', found '2'"},
    {"{\"a\":1]", "{ k:a n:1 malformed input:1:7:6: is no JSON here: expected ',' or '}', found ']'"},
    {"[,1]", "[ malformed input:1:2:1: is no JSON here: expected a value, found ','"},
    {"[\n\n\x01", "[ malformed input:3:1:3: is no JSON here: expected a value, found the byte 0x01"},
    {"[nope]", "[ malformed input:1:2:1: is no JSON here: expected a value, found 'n'"},
    {"[truely]", "[ malformed input:1:2:1: is no JSON here: expected a value, found 't'"},
    {"[1.]", "[ malformed input:1:2:1: is no JSON here: expected a number, found '1'"},
    {"[1e]", "[ malformed input:1:2:1: is no JSON here: expected a number, found '1'"},
    {"[--1]", "[ malformed input:1:2:1: is no JSON here: expected a number, found '-'"},
    {"[1-2]", "[ malformed input:1:2:1: is no JSON here: expected a number, found '1'"},
    {"[+1]", "[ malformed input:1:2:1: is no JSON here: expected a value, found '+'"},
    {"[.5]", "[ malformed input:1:2:1: is no JSON here: expected a value, found '.'"},
};

static void test_tokens(void **state) {
  (void)state;
  static const size_t pieces[] = {SIZE_MAX, 1, 2, 3};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
      struct wo_text out = {0};
      tokens_of(wo_view_of(rows[i].text), pieces[j], false, &out);
      const struct wo_view got = wo_view_trim_start((struct wo_view){out.ptr, out.len});
      if (!wo_view_equal(got, wo_view_trim_start(wo_view_of(rows[i].tokens))))
        fail_msg("row %zu (%s), pieces of %zu: got %.*s", i, rows[i].text, pieces[j], (int)got.len, got.ptr);
      wo_text_done(&out);
    }
  }
}

static void test_lines(void **state) {
  (void)state;
  struct wo_text out = {0};
  tokens_of(WO_VIEW("{\"a\":\"x\"}\n{\"b\":\"no end\n{\"c\":1}"), SIZE_MAX, true, &out);
  assert_true(wo_view_has((struct wo_view){out.ptr, out.len},
                          "{ k:a s:x } { k:b malformed input:2:6:15: has a string here that does not end"));
  wo_text_done(&out);
}

/* After the end and after an error there is only the cut. */
static void test_stays_ended(void **state) {
  (void)state;
  struct stream stream;
  struct wo_json_token token;
  start(&stream, WO_VIEW("[}"), SIZE_MAX, false);
  assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
  assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_E_SYNTAX);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
    assert_int_equal(token.kind, WO_JSON_CUT);
    assert_int_equal(wo_json_stream_skip(&stream.json, NULL), WO_OK);
    wo_json_stream_leave(&stream.json);
  }
  end(&stream);
}

/* ---- Long and deep ---- */

static void test_long_strings(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 7, 8, 9, 4095, 4096, 262143, 262144, 262145, 1048576, 1048577, 3000000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    struct wo_text text = {0};
    struct stream stream;
    struct wo_json_token token;
    wo_text_add(&text, "{\"");
    wo_text_repeat(&text, 'k', lengths[i]);
    wo_text_add(&text, "\":\"");
    wo_text_repeat(&text, 'v', lengths[i]);
    wo_text_add(&text, "\"}");
    start(&stream, (struct wo_view){text.ptr, text.len}, 100000, false);
    assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
    for (int j = 0; j < 2; j++) {
      const size_t kept = lengths[i] < WO_LIMIT_JSON_STRING_BYTES ? lengths[i] : WO_LIMIT_JSON_STRING_BYTES;
      assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
      assert_int_equal(token.kind, j == 0 ? WO_JSON_KEY : WO_JSON_STRING);
      assert_int_equal(token.text.len, kept);
      assert_int_equal(token.is_cut, lengths[i] > kept);
      assert_true(kept == 0 || token.text.ptr[kept - 1] == (j == 0 ? 'k' : 'v'));
    }
    assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
    assert_int_equal(token.kind, WO_JSON_OBJECT_END);
    end(&stream);
    wo_text_done(&text);
  }
}

static void test_depth(void **state) {
  (void)state;
  for (size_t depth = WO_LIMIT_JSON_DEPTH - 1; depth <= WO_LIMIT_JSON_DEPTH + 1; depth++) {
    struct wo_text text = {0};
    struct stream stream;
    struct wo_json_token token = {0};
    struct wo_err err = {0};
    enum wo_status status = WO_OK;
    wo_text_repeat(&text, '[', depth);
    wo_text_repeat(&text, ']', depth);
    start(&stream, (struct wo_view){text.ptr, text.len}, SIZE_MAX, false);
    for (size_t i = 0; i < 2 * depth && status == WO_OK; i++) status = wo_json_stream_next(&stream.json, &token, &err);
    assert_int_equal(status, depth <= WO_LIMIT_JSON_DEPTH ? WO_OK : WO_E_LIMIT);
    if (status != WO_OK) assert_int_equal(err.offset, WO_LIMIT_JSON_DEPTH);
    end(&stream);
    wo_text_done(&text);
  }
}

static void test_long_number(void **state) {
  (void)state;
  struct wo_text text = {0}, out = {0};
  wo_text_add(&text, "[");
  wo_text_repeat(&text, '9', WO_LIMIT_JSON_NUMBER_BYTES + 1);
  tokens_of((struct wo_view){text.ptr, text.len}, SIZE_MAX, false, &out);
  assert_true(wo_view_has((struct wo_view){out.ptr, out.len}, "a limit was reached:1:2:1: has a number of more than"));
  wo_text_done(&text);
  wo_text_done(&out);
}

/* ---- Passing over ---- */

/* What comes after the first value of a list was passed over. */
static const struct {
  const char *text;
  const char *rest;
} skips[] = {
    {"[1,2]", "n:2 ] END"},
    {"[\"]\\\"[\",2]", "n:2 ] END"},
    {"[{\"a\":[1,{\"b\":\"}\"}],\"c\":null},2]", "n:2 ] END"},
    {"[[[[]]],2]", "n:2 ] END"},
    {"[null,2]", "n:2 ] END"},
    {"[[1},2]", "n:2 ] END"}, /* brackets are counted, not matched */
    {"[{\"a\":[", "CUT"},
    {"[\"abc", "CUT"},
    {"[\"abc\\", "CUT"},
    {"[", "CUT"},
};

static void test_skip(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof skips / sizeof skips[0]; i++) {
    for (size_t piece = 1; piece < 5; piece++) {
      struct stream stream;
      struct wo_json_token token;
      struct wo_text out = {0};
      start(&stream, wo_view_of(skips[i].text), piece, false);
      assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
      assert_int_equal(wo_json_stream_skip(&stream.json, NULL), WO_OK);
      do {
        assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
        show(&out, &token);
      } while (token.kind != WO_JSON_END && token.kind != WO_JSON_CUT);
      if (!wo_view_is((struct wo_view){out.ptr, out.len}, skips[i].rest)) fail_msg("row %zu: %.*s", i, (int)out.len, out.ptr);
      wo_text_done(&out);
      end(&stream);
    }
  }
}

static void test_leave(void **state) {
  (void)state;
  struct stream stream;
  struct wo_json_token token;
  start(&stream, WO_VIEW("[{\"a\":{\"b\":[1,\"}\"]},\"c\":[{}]},\n7]"), 1, false);
  for (int i = 0; i < 3; i++) assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK); /* behind "a": */
  wo_json_stream_leave(&stream.json);
  assert_int_equal(stream.json.depth, 1);
  assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
  assert_true(token.kind == WO_JSON_NUMBER && wo_view_is(token.text, "7") && stream.json.line == 2);
  end(&stream);
}

/* ---- Numbers ---- */

static const struct {
  const char *text;
  bool is_u64;
  uint64_t u64;
  bool is_i64;
  int64_t i64;
  bool is_fixed; /* with 3 decimals */
  int64_t fixed;
} numbers[] = {
    {"0", true, 0, true, 0, true, 0},
    {"-0", true, 0, true, 0, true, 0},
    {"18446744073709551615", true, UINT64_MAX, false, 0, false, 0},
    {"18446744073709551616", false, 0, false, 0, false, 0},
    {"9223372036854775807", true, INT64_MAX, true, INT64_MAX, false, 0},
    {"-9223372036854775808", false, 0, true, INT64_MIN, false, 0},
    {"-9223372036854775809", false, 0, false, 0, false, 0},
    {"1e3", true, 1000, true, 1000, true, 1000000},
    {"12.0", true, 12, true, 12, true, 12000},
    {"1.5e1", true, 15, true, 15, true, 15000},
    {"1200e-2", true, 12, true, 12, true, 12000},
    {"1.5", false, 0, false, 0, true, 1500},
    {"-1.5", false, 0, false, 0, true, -1500},
    {"-7", false, 0, true, -7, true, -7000},
    {"12.3456", false, 0, false, 0, true, 12345},
    {"-12.3456", false, 0, false, 0, true, -12346},
    {"0.0001", false, 0, false, 0, true, 0},
    {"-0.0001", false, 0, false, 0, true, -1},
    {"1e-400", false, 0, false, 0, true, 0},
    {"1e400", false, 0, false, 0, false, 0},
    {"0e999999999999999999999", true, 0, true, 0, true, 0},
    {"1e999999999999999999999", false, 0, false, 0, false, 0},
    {"1e-999999999999999999999", false, 0, false, 0, true, 0},
    {"5817361234567.890", false, 0, false, 0, true, 5817361234567890},
    {"00000000000000000000000000000007", true, 7, true, 7, true, 7000},
    {"0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001", false, 0, false,
     0, true, 0},
    {"1.0000000000000000000000000", true, 1, true, 1, true, 1000},
    {"1.0000000000000000000000001", false, 0, false, 0, true, 1000},
    {"NaN", false, 0, false, 0, false, 0},
    {"-Infinity", false, 0, false, 0, false, 0},
    {"", false, 0, false, 0, false, 0},
    {"-", false, 0, false, 0, false, 0},
};

static void test_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    const struct wo_view text = wo_view_of(numbers[i].text);
    uint64_t u64 = 0;
    int64_t i64 = 0, fixed = 0;
    const bool is_u64 = wo_json_number_u64(text, &u64), is_i64 = wo_json_number_i64(text, &i64),
               is_fixed = wo_json_number_fixed(text, 3, &fixed);
    if (is_u64 != numbers[i].is_u64 || u64 != numbers[i].u64) fail_msg("u64 of %s", numbers[i].text);
    if (is_i64 != numbers[i].is_i64 || i64 != numbers[i].i64) fail_msg("i64 of %s", numbers[i].text);
    if (is_fixed != numbers[i].is_fixed || fixed != numbers[i].fixed)
      fail_msg("fixed of %s: %lld", numbers[i].text, (long long)fixed);
  }
}

/* Taken in one step or not at all; what is not taken is the next token. */
static void test_take(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_taken;
    uint64_t value;
  } takes[] = {
      {"12,                         ", true, 12},
      {" 0]                          ", true, 0},
      {"999999999999999999}           ", true, 999999999999999999},
      {"9999999999999999999}          ", false, 0},
      {"12.5                          ", false, 0},
      {"12e1                          ", false, 0},
      {"-1                            ", false, 0},
      {"\"12\"                          ", false, 0},
      {"  12                          ", false, 0},
      {"12,", false, 0},
  };
  for (size_t i = 0; i < sizeof takes / sizeof takes[0]; i++) {
    struct stream stream;
    uint64_t value = 0;
    start(&stream, wo_view_of(takes[i].text), SIZE_MAX, false);
    wo_trace_source_peek(&stream.source, 1);
    assert_int_equal(wo_json_stream_take_u64(&stream.json, &value), takes[i].is_taken);
    assert_true(value == takes[i].value);
    assert_true(takes[i].is_taken == (wo_trace_source_offset(&stream.source) > 0));
    end(&stream);
  }
}

/* Doubles come back from what printf makes of them; the bits walk through all exponents. */
static void test_doubles(void **state) {
  (void)state;
  static const double plain[] = {
      0, 1, 0.1, 0.8, 0.3333333333333333, 1e22, 1e23, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308};
  double back = 0;
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", plain[i]);
    assert_true(wo_json_number_double(wo_view_of(digits), &back));
    assert_true(back == plain[i]);
    snprintf(digits, sizeof digits, "-%.17g", plain[i]);
    assert_true(wo_json_number_double(wo_view_of(digits), &back));
    assert_true(back == -plain[i]);
  }
  uint64_t bits = 88172645463325252;
  for (int i = 0; i < 20000; i++) {
    double value = 0;
    char digits[40];
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    const uint64_t sign_free = bits & ~(UINT64_C(1) << 63);
    memcpy(&value, &sign_free, sizeof value);
    if (!(value < 1e300)) continue;
    snprintf(digits, sizeof digits, "%.19g", value);
    assert_true(wo_json_number_double(wo_view_of(digits), &back));
    assert_true(back == value);
  }
  assert_false(wo_json_number_double(WO_VIEW("1e309"), &back));
  assert_false(wo_json_number_double(WO_VIEW("NaN"), &back));
  assert_false(wo_json_number_double(WO_VIEW(""), &back));
}

static void test_out_of_memory(void **state) {
  (void)state;
  struct stream stream;
  struct wo_json_token token;
  start(&stream, WO_VIEW("[\"a\\nb\"]"), SIZE_MAX, false);
  assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_OK);
  wo_fail_alloc_at(1);
  assert_int_equal(wo_json_stream_next(&stream.json, &token, NULL), WO_E_NOMEM);
  wo_fail_alloc_off();
  end(&stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tokens),       cmocka_unit_test(test_lines), cmocka_unit_test(test_stays_ended),
      cmocka_unit_test(test_long_strings), cmocka_unit_test(test_depth), cmocka_unit_test(test_long_number),
      cmocka_unit_test(test_skip),         cmocka_unit_test(test_leave), cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_doubles),      cmocka_unit_test(test_take),  cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
