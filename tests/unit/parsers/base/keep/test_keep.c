/* SPDX-License-Identifier: Apache-2.0 */
/* A state comes back as it was written; what is out of bounds, cut or too long is refused, whichever way it goes. */
#include "parsers/base/keep/keep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct sample {
  uint64_t number;
  size_t size;
  int64_t time_ns;
  int32_t rank;
  bool is_set;
  double share, count;
  char text[8];
};

static const struct sample whole = {7, 3, -5, -1, true, -0.25, 1e6, "abc\0def"};

static void keep_sample(struct wo_keep *keep, struct sample *sample) {
  wo_keep_number(keep, &sample->number, 10);
  wo_keep_size(keep, &sample->size, 4);
  wo_keep_signed(keep, &sample->time_ns, -5, 5);
  wo_keep_int(keep, &sample->rank, -1, 100);
  wo_keep_flag(keep, &sample->is_set);
  wo_keep_double(keep, &sample->share, -1, 1);
  wo_keep_count(keep, &sample->count, 1e9);
  wo_keep_bytes(keep, sample->text, sizeof sample->text);
}

static bool write_sample(struct sample sample, struct wo_text *out) {
  struct wo_keep keep = {.out = out};
  keep_sample(&keep, &sample);
  return wo_keep_is_whole(&keep);
}

static bool read_sample(struct wo_view bytes, struct sample *ret) {
  struct wo_keep keep = {.in = bytes};
  *ret = (struct sample){0};
  keep_sample(&keep, ret);
  return wo_keep_is_whole(&keep);
}

static void test_it_comes_back(void **state) {
  (void)state;
  struct wo_text out = {0};
  struct sample back;
  assert_true(write_sample(whole, &out));
  assert_true(read_sample((struct wo_view){out.ptr, out.len}, &back));
  assert_true(back.number == 7 && back.size == 3 && back.time_ns == -5 && back.rank == -1 && back.is_set);
  assert_true(back.share == -0.25 && back.count == 1e6);
  assert_memory_equal(back.text, whole.text, sizeof whole.text);
  for (size_t i = 0; i < out.len; i++) assert_false(read_sample((struct wo_view){out.ptr, i}, &back));
  wo_text_add(&out, "x");
  assert_false(read_sample((struct wo_view){out.ptr, out.len}, &back));
  wo_text_done(&out);
}

static void test_bounds_when_written(void **state) {
  (void)state;
  struct sample wrong[8];
  struct wo_text out = {0};
  for (size_t i = 0; i < 8; i++) wrong[i] = whole;
  wrong[0].number = 11;
  wrong[1].size = 5;
  wrong[2].time_ns = INT64_MIN;
  wrong[3].rank = 101;
  wrong[4].share = (double)NAN;
  wrong[5].share = (double)INFINITY;
  wrong[6].count = 0.5;
  wrong[7].count = -1;
  for (size_t i = 0; i < 8; i++) assert_false(write_sample(wrong[i], &out));
  wo_text_done(&out);
}

/* Whatever one byte becomes: what is read is within bounds. */
static void test_bounds_when_read(void **state) {
  (void)state;
  struct wo_text out = {0};
  assert_true(write_sample(whole, &out));
  for (size_t i = 0; i < out.len; i++) {
    for (int c = 0; c < 256; c++) {
      struct sample back;
      const char was = out.ptr[i];
      out.ptr[i] = (char)c;
      read_sample((struct wo_view){out.ptr, out.len}, &back);
      out.ptr[i] = was;
      assert_true(back.number <= 10 && back.size <= 4 && back.time_ns >= -5 && back.time_ns <= 5);
      assert_true(back.rank >= -1 && back.rank <= 100 && back.share >= -1 && back.share <= 1);
      assert_true(back.count >= 0 && back.count <= 1e9 && back.count == floor(back.count));
    }
  }
  wo_text_done(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_comes_back),
      cmocka_unit_test(test_bounds_when_written),
      cmocka_unit_test(test_bounds_when_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
