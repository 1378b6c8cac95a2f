/* SPDX-License-Identifier: Apache-2.0 */
/* Round axes, class order, and the writing of SVG: the parts that both plots are made of. */
#include "cuda_replay/plot/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/plot/svg.h"
#include "tests/support/replay/memory_over_time_sample.h"

static void axes_have_round_steps(void **state) {
  (void)state;
  static const struct {
    double most;
    int ticks;
    double step;
    const char *unit;
    const char *label; /* of the first step */
  } rows[] = {
      {0, 5, 0.01 * 1024, "KiB", "0.01 KiB"},
      {1000.0 * SAMPLE_KIB, 5, 200.0 * SAMPLE_KIB, "KiB", "200 KiB"},
      {1.8 * SAMPLE_GIB, 5, 0.5 * SAMPLE_GIB, "GiB", "0.5 GiB"},
      {22.0 * SAMPLE_GIB, 7, 5.0 * SAMPLE_GIB, "GiB", "5 GiB"},
      {63.0 * SAMPLE_GIB, 7, 10.0 * SAMPLE_GIB, "GiB", "10 GiB"},
      {80.0 * SAMPLE_GIB, 4, 20.0 * SAMPLE_GIB, "GiB", "20 GiB"},
      {3000.0 * SAMPLE_GIB, 4, 1024.0 * SAMPLE_GIB, "TiB", "1 TiB"},
      {1e18, 1, 1e6 * 1024 * SAMPLE_GIB, "TiB", "1,000,000 TiB"},
  };
  char label[48];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct wo_plot_axis axis = wo_plot_axis_bytes(rows[i].most, rows[i].ticks);
    if (axis.step != rows[i].step) fail_msg("row %zu: step %f", i, axis.step);
    assert_string_equal(axis.unit, rows[i].unit);
    assert_string_equal(wo_plot_axis_label(&axis, axis.step, label, sizeof label), rows[i].label);
    assert_true(axis.top >= rows[i].most && axis.top > 0 && axis.top / axis.step <= rows[i].ticks + 0.5);
  }
}

static void axes_of_time_and_counts(void **state) {
  (void)state;
  char label[48];
  struct wo_plot_axis axis = wo_plot_axis_us(450e3, 12);
  assert_string_equal(axis.unit, "ms");
  assert_true(axis.step == 50e3);
  axis = wo_plot_axis_us(2 * 3600e6, 12);
  assert_string_equal(axis.unit, "min");
  assert_true(axis.step == 600e6);
  axis = wo_plot_axis_count(12664, 10);
  assert_true(axis.step == 2000);
  assert_string_equal(wo_plot_axis_label(&axis, 12000, label, sizeof label), "12,000");
  assert_string_equal(wo_plot_axis_label(&axis, 1234567, label, sizeof label), "1,234,567");
  assert_string_equal(wo_plot_axis_label(&axis, 999, label, sizeof label), "999");
  axis = wo_plot_axis_count(3, 10);
  assert_true(axis.step == 1); /* no half requests */
  axis = wo_plot_axis_count(4294967295.0, 10);
  assert_true(axis.step == 5e8);
}

static void every_class_has_a_place_and_a_name(void **state) {
  (void)state;
  unsigned seen = 0;
  for (int i = 0; i < WO_CLASS_COUNT_; i++) {
    seen |= 1U << wo_plot_class_order()[i];
    assert_true(strlen(wo_plot_class_label((enum wo_alloc_class)i, false)) > 0);
  }
  assert_int_equal(seen, (1U << WO_CLASS_COUNT_) - 1);
  assert_string_equal(wo_plot_class_label(WO_CLASS_UNKNOWN, true), "allocated");
  assert_string_equal(wo_plot_class_label(WO_CLASS_UNKNOWN, false), "other");
}

static void a_far_capacity_is_not_drawn(void **state) {
  (void)state;
  struct wo_memory_over_time memory = {0};
  memory.peak[WO_MEMORY_RESERVED].bytes = 10 * SAMPLE_GIB;
  struct wo_plot plot = {.memory = &memory};
  assert_false(wo_plot_has_capacity(&plot));
  plot.capacity_bytes = UINT64_MAX;
  assert_false(wo_plot_has_capacity(&plot));
  plot.capacity_bytes = 20 * SAMPLE_GIB;
  assert_true(wo_plot_shows_capacity(&plot));
  assert_true(wo_plot_most_bytes(&plot) == 20.0 * SAMPLE_GIB);
  plot.capacity_bytes = 80 * SAMPLE_GIB;
  assert_true(wo_plot_has_capacity(&plot) && !wo_plot_shows_capacity(&plot));
  assert_true(wo_plot_most_bytes(&plot) == 10.0 * SAMPLE_GIB);
}

/* ---- SVG ---- */

static void escapes_any_bytes(void **state) {
  (void)state;
#define BAD "\xEF\xBF\xBD"
  static const struct {
    struct wo_view text;
    size_t max_chars;
    const char *expected;
  } rows[] = {
      {{"plain", 5}, 10, "plain"},
      {{"<a href=\"x\">&'", 14}, 99, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"},
      {{"a\0b\x1b[31m\n\x7f", 10}, 99, "a" BAD "b" BAD "[31m" BAD BAD},
      {{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9}, 99, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {{"\xFFx\xC3", 3}, 99, BAD "x" BAD},
      {{"\xED\xA0\x80", 3}, 99, BAD BAD BAD},                 /* a surrogate */
      {{"\xC0\xBC\xE0\x80\xBC", 5}, 99, BAD BAD BAD BAD BAD}, /* '<' spelled too long */
      {{"\xEF\xBF\xBF\xEF\xBF\xBE", 6}, 99, BAD BAD},         /* no characters */
      {{"\xC2\x85", 2}, 99, BAD},                             /* C1 control */
      {{"\xE2\x80\xAE"
        "evil\xE2\x81\xA6",
        10},
       99,
       BAD "evil" BAD},                               /* direction marks */
      {{"\xF4\x90\x80\x80", 4}, 99, BAD BAD BAD BAD}, /* beyond Unicode */
      {{"abcdef", 6}, 4, "abc\xE2\x80\xA6"},
      {{"abcd", 4}, 4, "abcd"},
      {{"&&&&", 4}, 2, "&amp;\xE2\x80\xA6"},
      {{NULL, 0}, 4, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_text out = {0};
    wo_text_add(&out, "|");
    wo_svg_escape(&out, rows[i].text, rows[i].max_chars);
    if (strcmp(out.ptr + 1, rows[i].expected) != 0) fail_msg("row %zu: %s", i, out.ptr);
    wo_text_done(&out);
  }
#undef BAD
}

static void writes_short_numbers_and_steps(void **state) {
  (void)state;
  struct wo_text out = {0};
  wo_svg_number(&out, 12);
  wo_text_add(&out, " ");
  wo_svg_number(&out, 12.349);
  wo_text_add(&out, " ");
  wo_svg_number(&out, -0.25);
  wo_text_add(&out, " ");
  wo_svg_number(&out, 0.04);
  wo_text_add(&out, " ");
  const double x[] = {0, 1, 2, 3, 4};
  const double y[] = {5, 5, 7, 7.04};
  wo_svg_steps(&out, x, y, 4);
  wo_text_add(&out, " ");
  wo_svg_steps_back(&out, x, y, 4);
  assert_string_equal(out.ptr, "12 12.3 -0.2 0 M0,5H2V7H4 V7H2V5H0");
  wo_text_done(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_have_round_steps),
      cmocka_unit_test(axes_of_time_and_counts),
      cmocka_unit_test(every_class_has_a_place_and_a_name),
      cmocka_unit_test(a_far_capacity_is_not_drawn),
      cmocka_unit_test(escapes_any_bytes),
      cmocka_unit_test(writes_short_numbers_and_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
