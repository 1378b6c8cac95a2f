/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal chart: at most 16 lines of the width asked for, in either set of characters, whatever the run. */
#include "cuda_replay/plot/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/replay/memory_over_time_sample.h"
#include "tests/support/failing_alloc.h"

static struct wo_text charted(struct memory_sample *sample, struct wo_text_style style) {
  struct wo_memory_over_time memory;
  struct wo_text text = {0};
  assert_int_equal(memory_sample_record(sample, &memory), WO_OK);
  const struct wo_plot plot = {.pattern = &sample->pattern, .memory = &memory, .capacity_bytes = sample->device.capacity_bytes};
  wo_plot_term(&plot, style, &text);
  assert_false(text.is_failed);
  wo_memory_over_time_done(&memory);
  return text;
}

/* Rises to 320 MiB in four steps of 80, falls to 80, then fails. */
static void make_hill(struct memory_sample *sample) {
  memory_sample_init(sample);
  sample->device.capacity_bytes = 400 * SAMPLE_MIB;
  uint32_t held[4];
  for (size_t i = 0; i < 4; i++) held[i] = memory_sample_alloc(sample, 80 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_UNKNOWN);
  for (size_t i = 4; i > 1; i--) memory_sample_free(sample, held[i - 1]);
  memory_sample_alloc(sample, 500 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_UNKNOWN);
}

static void draws_a_hill(void **state) {
  (void)state;
  static const char expected[] = "# allocated 320.00 MiB  : reserved 320.00 MiB\n"
                                 "400 MiB |-----------------------------------X---\n"
                                 "        |                                       \n"
                                 "300 MiB |               #####:::::::::::::::    \n"
                                 "        |          ###############::::::::::    \n"
                                 "200 MiB |          ###############::::::::::    \n"
                                 "        |     #########################:::::    \n"
                                 "100 MiB |#######################################\n"
                                 "        |#######################################\n"
                                 "       0+---------------------------------------\n"
                                 "                                      8 requests\n"
                                 " unused |....................222225555577777....\n"
                                 "1 segment at the failure  . free  # full\n"
                                 "        |#######################################\n"
                                 "        |#######################################\n";
  struct memory_sample sample;
  make_hill(&sample);
  struct wo_text text = charted(&sample, (struct wo_text_style){.width = 48});
  assert_string_equal(text.ptr, expected);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

/* Lines, columns and characters of a chart. */
static void assert_shape(const struct wo_text *text, struct wo_text_style style) {
  struct wo_view rest = {text->ptr, text->len};
  size_t lines = 0;
  const size_t width = style.width < 40 ? 40 : style.width > 200 ? 200 : style.width;
  assert_true(wo_view_ends(rest, "\n"));
  for (; rest.len > 0; lines++) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    size_t columns = 0;
    for (size_t at = 0; at < line.len;) {
      if (line.ptr[at] == '\x1b') {
        assert_true(style.use_color);
        while (line.ptr[at] != 'm') at++;
        at++;
        continue;
      }
      size_t one = 0;
      if (!style.use_utf8) assert_true(line.ptr[at] >= ' ' && line.ptr[at] < 0x7F);
      at += wo_text_char(wo_view_skip(line, at), &one);
      columns += one;
    }
    if (columns > width) fail_msg("%zu columns of %zu: %.*s", columns, width, (int)line.len, line.ptr);
  }
  assert_true(lines >= 12 && lines <= 16);
}

static void fits_every_width(void **state) {
  (void)state;
  for (uint64_t seed = 300; seed < 312; seed++) {
    struct memory_sample sample;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = seed % 3 ? 300 * SAMPLE_MIB : UINT64_MAX;
    memory_sample_random(&sample, seed, 10 + (seed - 300) * 200);
    for (size_t width = 0; width < 260; width += 13) {
      const struct wo_text_style style = {.width = width, .use_utf8 = width % 2, .use_color = width % 3 == 0};
      struct wo_text text = charted(&sample, style);
      assert_shape(&text, style);
      wo_text_done(&text);
    }
    memory_sample_done(&sample);
  }
}

/* Counts a character in the text. */
static size_t count_of(const struct wo_text *text, const char *what) {
  size_t count = 0;
  for (size_t at = 0; (at = wo_view_find((struct wo_view){text->ptr, text->len}, wo_view_of(what), at)) != WO_NOT_FOUND; at++)
    count++;
  return count;
}

static void marks_failure_and_capacity(void **state) {
  (void)state;
  struct memory_sample sample;
  make_hill(&sample);
  struct wo_text text = charted(&sample, (struct wo_text_style){.width = 120, .use_utf8 = true});
  assert_int_equal(count_of(&text, "\u25BC"), 2); /* in the chart, and in the legend */
  assert_true(count_of(&text, "\u2588") > 100);
  assert_int_equal(count_of(&text, "failed: 500.00 MiB"), 1);
  assert_int_equal(count_of(&text, "capacity 400.00 MiB"), 1);
  assert_int_equal(count_of(&text, "segment at the failure"), 1);
  assert_int_equal(count_of(&text, "8 requests"), 1);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

static void says_nothing_of_nothing(void **state) {
  (void)state;
  struct memory_sample sample;
  memory_sample_init(&sample);
  struct wo_text text = charted(&sample, (struct wo_text_style){.width = 80});
  assert_int_equal(text.len, 0);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

static void survives_failing_allocations(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  make_hill(&sample);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  const struct wo_plot plot = {.pattern = &sample.pattern, .memory = &memory};
  long failures = 0;
  for (long n = 1;; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    wo_plot_term(&plot, (struct wo_text_style){.width = 200, .use_utf8 = true}, &text);
    wo_fail_alloc_off();
    assert_int_equal(text.is_failed, wo_fail_alloc_hit());
    wo_text_done(&text);
    if (!wo_fail_alloc_hit()) break;
    failures++;
  }
  assert_true(failures >= 4);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_a_hill),
      cmocka_unit_test(fits_every_width),
      cmocka_unit_test(marks_failure_and_capacity),
      cmocka_unit_test(says_nothing_of_nothing),
      cmocka_unit_test(survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
