/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings: sites are matched by function and file, then by line; rows are by growth; sums add up. */
#include "cuda_replay/compare/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/number.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"

static const struct wo_categories none;

/* `lines` behind a header. */
static struct wo_recording *read_lines(const char *lines) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_test_read(lines, strlen(lines), SIZE_MAX, &recording, &err) != WO_OK)
    fail_msg("line %d: %s", (int)err.line, err.message);
  return recording;
}

struct pair {
  struct wo_recording *recordings[2];
  struct wo_look looks[2];
  struct wo_compare compare;
};

static void make(struct pair *pair, const char *before, const char *after, enum wo_compare_at at) {
  const char *const texts[2] = {before, after};
  struct wo_compare_side sides[2];
  struct wo_err err = {0};
  for (int i = 0; i < 2; i++) {
    pair->recordings[i] = read_lines(texts[i]);
    assert_int_equal(wo_look_make(pair->recordings[i], &pair->recordings[i]->traces.items[0], NULL, &none,
                                  (struct wo_look_part){0}, &pair->looks[i], &err),
                     WO_OK);
    sides[i] = (struct wo_compare_side){&pair->looks[i], i == 0 ? WO_VIEW("before") : WO_VIEW("after")};
  }
  assert_int_equal(wo_compare_make(sides, &none, at, &pair->compare), WO_OK);
}

static void done(struct pair *pair) {
  wo_compare_done(&pair->compare);
  for (int i = 0; i < 2; i++) {
    wo_look_done(&pair->looks[i]);
    wo_recording_free(pair->recordings[i]);
  }
}

#define HEAD "{\"whyoom_trace\":1}\n"
#define FRAME(n, function, file, line) "{\"frame\":" n ",\"function\":\"" function "\",\"file\":\"" file "\",\"line\":" line "}\n"
#define STACK(n) "{\"stack\":" n ",\"frames\":[" n "]}\n"
#define ALLOC(bytes, id, stack) "{\"alloc\":" bytes ",\"id\":" id ",\"stack\":" stack "}\n"

/* "step" is in two lines of both, of which one moved; "old" is gone, "new" is new; folders differ. */
static const char before[] = HEAD FRAME("0", "step", "/a/train.py", "10") FRAME("1", "step", "/a/train.py", "20")
    FRAME("2", "old", "/a/train.py", "5") FRAME("3", "same", "/a/x.py", "1") STACK("0") STACK("1") STACK("2") STACK("3")
        ALLOC("100", "1", "0") ALLOC("200", "2", "1") ALLOC("400", "3", "2") ALLOC("8", "4", "3") "{\"alloc\":16,\"id\":9}\n";
static const char after[] = HEAD FRAME("0", "step", "/b/train.py", "13") FRAME("1", "step", "/b/train.py", "20")
    FRAME("2", "new", "/b/train.py", "5") FRAME("3", "same", "/b/x.py", "1") STACK("0") STACK("1") STACK("2") STACK("3")
        ALLOC("150", "1", "0") ALLOC("1200", "2", "1") ALLOC("70", "3", "2") ALLOC("8", "4", "3") "{\"free\":2}\n";

struct expected {
  long long growth;
  uint64_t before, after;
  bool is_line_same;
};

static void sites_are_matched_by_name_then_by_line(void **state) {
  (void)state;
  struct pair pair;
  make(&pair, before, after, WO_COMPARE_PEAK);
  static const struct expected rows[] = {{1000, 200, 1200, true}, {70, 0, 70, false},  {50, 100, 150, false},
                                         {0, 8, 8, true},         {-16, 16, 0, false}, {-400, 400, 0, false}};
  assert_int_equal(pair.compare.sites.count, sizeof rows / sizeof *rows);
  int64_t sum = 0;
  for (size_t i = 0; i < pair.compare.sites.count; i++) {
    const struct wo_compare_row *const row = &pair.compare.sites.items[i];
    assert_int_equal((long long)(row->sum[1].bytes - row->sum[0].bytes), rows[i].growth);
    assert_int_equal(row->sum[0].bytes, rows[i].before);
    assert_int_equal(row->sum[1].bytes, rows[i].after);
    assert_int_equal(row->is_line_same, rows[i].is_line_same);
    sum += rows[i].growth;
  }
  assert_int_equal(pair.compare.moment[1].bytes - pair.compare.moment[0].bytes, sum);
  done(&pair);
}

static void the_end_is_another_moment(void **state) {
  (void)state;
  struct pair pair;
  make(&pair, before, after, WO_COMPARE_END);
  assert_int_equal(pair.compare.moment[0].bytes, 724);
  assert_int_equal(pair.compare.moment[1].bytes, 228);
  assert_int_equal(pair.compare.moment[1].entry, 5);
  done(&pair);
}

/* With --to, the end is that of the part, so the report names it. */
static void the_report_names_the_end(void **state) {
  (void)state;
  struct pair pair;
  struct wo_text text = {0};
  make(&pair, before, after, WO_COMPARE_END);
  wo_compare_text(&pair.compare, (struct wo_text_style){.width = 80}, &text);
  static const char *const parts[] = {"A before: 724 bytes in use in 5 blocks at the end, after entry 4\n",
                                      "B after: 228 bytes in use in 3 blocks at the end, after entry 5\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(text.ptr, parts[i]) == NULL) fail_msg("no \"%s\" in\n%s", parts[i], text.ptr);
  }
  wo_text_done(&text);
  done(&pair);
}

/* A recording and itself: nothing grew. */
static void equal_recordings_have_no_growth(void **state) {
  (void)state;
  struct pair pair;
  struct wo_text text = {0};
  make(&pair, before, before, WO_COMPARE_PEAK);
  for (size_t i = 0; i < pair.compare.sites.count; i++)
    assert_int_equal(pair.compare.sites.items[i].sum[0].bytes, pair.compare.sites.items[i].sum[1].bytes);
  wo_compare_text(&pair.compare, (struct wo_text_style){.width = 80}, &text);
  assert_non_null(strstr(text.ptr, "B less A: 0 bytes"));
  assert_non_null(strstr(text.ptr, "without a change"));
  assert_null(strstr(text.ptr, "new:"));
  wo_text_done(&text);
  done(&pair);
}

static void the_report_names_what_is_new_and_gone(void **state) {
  (void)state;
  struct pair pair;
  struct wo_text text = {0}, json = {0};
  make(&pair, before, after, WO_COMPARE_PEAK);
  wo_compare_text(&pair.compare, (struct wo_text_style){.width = 80}, &text);
  static const char *const parts[] = {"+1000 bytes  step train.py:20  (200 bytes to 1.17 KiB", "new train.py:5  (new: 1 block)",
                                      "old train.py:5  (gone: 1 block)", "step train.py:13 (line 10 in A)",
                                      "at the peak, after entry 3"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(text.ptr, parts[i]) == NULL) fail_msg("no \"%s\" in\n%s", parts[i], text.ptr);
  }
  wo_compare_json(&pair.compare, (struct wo_text_style){.width = 80}, &json);
  assert_non_null(strstr(json.ptr, "\"growth_bytes\": -400"));
  assert_non_null(strstr(json.ptr, "whyoom.replay-diff/1"));
  wo_text_done(&text);
  wo_text_done(&json);
  done(&pair);
}

/* A program with one block of each of `sites` functions; in the second recording half of them grew, and half shrank. */
static struct wo_text many_sites(size_t sites, bool is_after) {
  struct wo_text text = {0};
  wo_text_add(&text, HEAD);
  for (size_t i = 0; i < sites; i++) {
    const size_t bytes = !is_after ? 10000 : i < sites / 2 ? 10001 + i : 9999 - i;
    wo_text_add(&text, "{\"frame\":%zu,\"function\":\"f%zu\",\"file\":\"m.py\",\"line\":1}\n{\"stack\":%zu,\"frames\":[%zu]}\n",
                i, i, i, i);
    wo_text_add(&text, "{\"alloc\":%zu,\"id\":%zu,\"stack\":%zu}\n", bytes, i + 1, i);
  }
  return text;
}

/* What shrank is last in the list, so a long one keeps both ends; what is left out is summed up, and all adds up. */
static void both_ends_of_a_long_list_are_kept(void **state) {
  (void)state;
  enum { SITES = 700 };
  struct wo_text texts[2] = {many_sites(SITES, false), many_sites(SITES, true)}, json = {0};
  struct pair pair;
  make(&pair, texts[0].ptr, texts[1].ptr, WO_COMPARE_PEAK);
  wo_compare_json(&pair.compare, (struct wo_text_style){.width = 80}, &json);
  assert_non_null(strstr(json.ptr, "\"sites_left_out\": 200"));
  assert_non_null(strstr(json.ptr, "\"growth_bytes\": 350"));  /* the most */
  assert_non_null(strstr(json.ptr, "\"growth_bytes\": -700")); /* the least */
  int64_t sum = 0;
  size_t count = 0;
  const char *at = strstr(json.ptr, "\"sites\"");
  assert_non_null(at);
  while ((at = strstr(at, "growth_bytes\": ")) != NULL) {
    at += strlen("growth_bytes\": ");
    const bool is_less = *at == '-';
    uint64_t size = 0;
    struct wo_view rest = wo_view_of(at + is_less);
    assert_int_equal(wo_number_u64(&rest, UINT64_MAX, &size), WO_OK);
    sum += is_less ? -(int64_t)size : (int64_t)size;
    count++;
  }
  assert_int_equal(count, 501); /* the last one is that of what is left out */
  assert_int_equal(sum, (int64_t)(pair.compare.moment[1].bytes - pair.compare.moment[0].bytes));
  done(&pair);
  wo_text_done(&texts[0]);
  wo_text_done(&texts[1]);
  wo_text_done(&json);
}

/* Names with terminal escapes and marks of direction. */
static void hostile_names_are_cleaned(void **state) {
  (void)state;
  struct pair pair;
  struct wo_text text = {0};
  make(&pair, before, after, WO_COMPARE_PEAK);
  for (size_t i = 0; i < pair.recordings[1]->frames.count; i++)
    pair.recordings[1]->frames.items[i].function = WO_VIEW("\x1b[31mred\x1b]0;x\x07\n\xe2\x80\xae");
  wo_compare_text(&pair.compare, (struct wo_text_style){.width = 80}, &text);
  for (size_t i = 0; i < text.len; i++) assert_true(text.ptr[i] == '\n' || (unsigned char)text.ptr[i] >= ' ');
  assert_null(strstr(text.ptr, "\xe2\x80\xae"));
  wo_text_done(&text);
  done(&pair);
}

static void memory_may_run_out(void **state) {
  (void)state;
  struct pair pair;
  make(&pair, before, after, WO_COMPARE_PEAK);
  for (long n = 1;; n++) {
    struct wo_compare compare;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_compare_make(pair.compare.side, &none, WO_COMPARE_PEAK, &compare);
    wo_fail_alloc_off();
    assert_int_equal(status, wo_fail_alloc_hit() ? WO_E_NOMEM : WO_OK);
    wo_compare_done(&compare);
    if (status == WO_OK) break;
  }
  done(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sites_are_matched_by_name_then_by_line),
      cmocka_unit_test(the_end_is_another_moment),
      cmocka_unit_test(the_report_names_the_end),
      cmocka_unit_test(equal_recordings_have_no_growth),
      cmocka_unit_test(the_report_names_what_is_new_and_gone),
      cmocka_unit_test(both_ends_of_a_long_list_are_kept),
      cmocka_unit_test(hostile_names_are_cleaned),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
