/* SPDX-License-Identifier: Apache-2.0 */
/* The SVG plot: well-formed whatever the names, stable, bounded, right with and without classes, failures and stacks. */
#include "cuda_replay/plot/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/vec.h"
#include "tests/support/replay/memory_over_time_sample.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/xml.h"

static void assert_well_formed(const struct wo_text *text) {
  size_t at = 0;
  assert_false(text->is_failed);
  assert_int_equal(strlen(text->ptr), text->len);
  if (!wo_xml_is_well_formed((struct wo_view){text->ptr, text->len}, &at)) fail_msg("at byte %zu: %.60s", at, text->ptr + at);
  assert_null(strstr(text->ptr, "nan"));
  assert_null(strstr(text->ptr, "inf"));
}

/* The check itself. */
static void the_check_refuses_what_is_no_xml(void **state) {
  (void)state;
  static const struct {
    struct wo_view text;
    bool is_good;
  } rows[] = {
      {WO_VIEW("<a>x &amp; y<b c=\"d\"/></a>\n"), true},
      {WO_VIEW("<a></a>"), false},
      {WO_VIEW("<a><b></a></b>\n"), false},
      {WO_VIEW("<a>&</a>\n"), false},
      {WO_VIEW("<a b=\"<\"></a>\n"), false},
      {WO_VIEW("<a b=\"1\" b=\"2\"></a>\n"), false},
      {WO_VIEW("<a>\x01</a>\n"), false},
      {WO_VIEW("<a>\xFF</a>\n"), false},
      {WO_VIEW("<a>\xED\xA0\x80</a>\n"), false},
      {WO_VIEW("<a>"), false},
      {WO_VIEW("<a></a>\n<a></a>\n"), false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t at = 0;
    assert_int_equal(wo_xml_is_well_formed(rows[i].text, &at), rows[i].is_good);
  }
}

/* ---- Plots ---- */

/* Records the sample and writes its plot. */
static struct wo_text plotted(struct memory_sample *sample, struct wo_view title, struct wo_view subtitle) {
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  struct wo_text text = {0};
  assert_int_equal(memory_sample_record(sample, &memory), WO_OK);
  assert_int_equal(wo_attribution_make(&sample->pattern, &memory.map, &attribution), WO_OK);
  const struct wo_plot plot = {.pattern = &sample->pattern,
                               .memory = &memory,
                               .attribution = &attribution,
                               .capacity_bytes = sample->device.capacity_bytes,
                               .title = title,
                               .subtitle = subtitle};
  wo_plot_svg(&plot, &text);
  wo_attribution_done(&attribution);
  wo_memory_over_time_done(&memory);
  return text;
}

static const struct sample_frame forward_line[] = {{"forward", "/home/me/model.py", 87}, {"main", "/home/me/train.py", 12}};
static const struct sample_frame step_line[] = {{"step", "/e/site-packages/apex/adam.py", 5}, {"main", "/home/me/train.py", 14}};

/* A training step in small: parameters, activations that rise and fall, gradients, and a failure at the end. */
static void make_step(struct memory_sample *sample) {
  uint32_t activations[6];
  memory_sample_init(sample);
  sample->device.capacity_bytes = 400 * SAMPLE_MIB;
  sample->stops_at_oom = true;
  const uint32_t forward = memory_sample_stack(sample, forward_line, 2);
  const uint32_t step = memory_sample_stack(sample, step_line, 2);
  memory_sample_alive(sample, 40 * SAMPLE_MIB, WO_NO_STACK, WO_CLASS_PARAMETER);
  memory_sample_alive(sample, 3000, step, WO_CLASS_OPTIMIZER);
  for (size_t i = 0; i < 6; i++) {
    activations[i] = memory_sample_alloc(sample, (16 + 2 * i) * SAMPLE_MIB, forward, WO_CLASS_ACTIVATION);
    memory_sample_free(sample, memory_sample_alloc(sample, 11 * SAMPLE_MIB, forward, WO_CLASS_TEMPORARY));
  }
  for (size_t i = 6; i > 0; i--) {
    memory_sample_free(sample, activations[i - 1]);
    memory_sample_alloc(sample, 4 * SAMPLE_MIB + 70000, step, WO_CLASS_GRADIENT);
  }
  memory_sample_alloc(sample, 380 * SAMPLE_MIB, step, WO_CLASS_LOGITS);
}

static void a_small_plot_is_as_it_was(void **state) {
  (void)state;
  struct memory_sample sample;
  static const char path[] = WO_SOURCE_DIR "/tests/unit/cuda_replay/plot/plot_small.svg";
  make_step(&sample);
  struct wo_text text = plotted(&sample, WO_VIEW("A small step"), WO_VIEW("torch 2.6"));
  assert_well_formed(&text);
  if (getenv("WHYOOM_UPDATE_GOLDEN")) assert_true(wo_files_write(path, (struct wo_view){text.ptr, text.len}));
  size_t len = 0;
  char *const kept = wo_files_read(path, &len);
  assert_non_null(kept);
  assert_string_equal(text.ptr, kept);
  free(kept);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

static void tells_what_it_shows(void **state) {
  (void)state;
  static const char *const parts[] = {"<title id=\"title\">GPU memory</title>",
                                      "out of memory at request 30, entry 30: 380.00 MiB asked for",
                                      "capacity 400.00 MiB",
                                      "parameters, up to 40.00 MiB",
                                      "temporaries, up to",
                                      "Segments when memory ran out",
                                      "no stack recorded",
                                      "adam.py",
                                      "train.py",
                                      "prefers-color-scheme:dark",
                                      "aria-labelledby"};
  struct memory_sample sample;
  make_step(&sample);
  struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!strstr(text.ptr, parts[i])) fail_msg("lacks %s", parts[i]);
  }
  assert_null(strstr(text.ptr, "<script"));
  assert_null(strstr(text.ptr, "http://www.w3.org/1999"));
  wo_text_done(&text);
  memory_sample_done(&sample);
}

/* Without classes there is one colour, called "allocated". */
static void needs_no_classes(void **state) {
  (void)state;
  struct memory_sample sample;
  make_step(&sample);
  for (size_t i = 0; i < sample.pattern.instances.count; i++) sample.pattern.instances.items[i].class_ = WO_CLASS_UNKNOWN;
  struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
  assert_well_formed(&text);
  assert_non_null(strstr(text.ptr, ">allocated, up to"));
  assert_null(strstr(text.ptr, "activations"));
  wo_text_done(&text);
  memory_sample_done(&sample);
}

static void hostile_names_stay_text(void **state) {
  (void)state;
  static const struct sample_frame evil[] = {{"</title></svg><script>alert(1)</script>", "/x/\"onload=\"&amp;.py", 1},
                                             {"\x01\x02\xFF\xFE\xC0\x80\xED\xA0\x80]]>", "/y/<!--\xE2\x80\xAE.py", 4294967295U}};
  char *const long_name = calloc(1, 100001);
  assert_non_null(long_name);
  memset(long_name, '<', 100000);
  const struct sample_frame lengthy = {long_name, long_name, 2};
  struct memory_sample sample;
  memory_sample_init(&sample);
  memory_sample_alloc(&sample, 50 * SAMPLE_MIB, memory_sample_stack(&sample, evil, 2), (enum wo_alloc_class)0);
  memory_sample_alloc(&sample, 50 * SAMPLE_MIB, memory_sample_stack(&sample, evil + 1, 1), (enum wo_alloc_class)31);
  memory_sample_alloc(&sample, 50 * SAMPLE_MIB, memory_sample_stack(&sample, &lengthy, 1), WO_CLASS_INPUT);
  struct wo_text text = plotted(&sample, WO_VIEW("<b>\x00\xFF&"), wo_view_of(long_name));
  assert_well_formed(&text);
  assert_null(strstr(text.ptr, "<script"));
  assert_true(text.len < 50000);
  wo_text_done(&text);
  memory_sample_done(&sample);
  free(long_name);
}

/* Nothing at all, a single request, one that fails at once, and one after which nothing is left. */
static void draws_the_smallest_programs(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    struct memory_sample sample;
    memory_sample_init(&sample);
    if (kind == 2) sample.device.capacity_bytes = SAMPLE_MIB;
    if (kind > 0) memory_sample_alloc(&sample, 1, WO_NO_STACK, WO_CLASS_UNKNOWN);
    if (kind == 3) memory_sample_free(&sample, 0);
    if (kind == 3) memory_sample_request(&sample, WO_REQUEST_EMPTY_CACHE, 0);
    struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
    assert_well_formed(&text);
    wo_text_done(&text);
    memory_sample_done(&sample);
  }
}

/* Times that jump, fall back and lie at the ends of their range. */
static void draws_any_times(void **state) {
  (void)state;
  static const int64_t times[] = {INT64_MIN + 1, 5, INT64_MAX, -3, WO_NO_TIME, 1000, INT64_MAX - 1};
  struct memory_sample sample;
  memory_sample_init(&sample);
  memory_sample_random(&sample, 5, 70);
  for (size_t i = 0; i < sample.trace->entries.count; i++) sample.trace->entries.items[i].time_us = times[i % 7];
  struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
  assert_well_formed(&text);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

/* How often a text stands in another. */
static size_t count_of(const struct wo_text *text, const char *what) {
  size_t count = 0;
  for (const char *at = text->ptr; (at = strstr(at, what)) != NULL; at++) count++;
  return count;
}

/* Adds what PyTorch records of a step at that time, from two devices. */
static void annotate(struct wo_recording *recording, int64_t time_us) {
  struct wo_annotation mark = {.name = WO_VIEW("Optimizer.step#AdamW.step"), .time_us = time_us, .is_start = true};
  assert_true(WO_VEC_RESERVE(&recording->annotations, 4, 1000));
  recording->annotations.items[recording->annotations.count++] = mark;
  recording->annotations.items[recording->annotations.count++] = mark;
  mark.is_start = false;
  recording->annotations.items[recording->annotations.count++] = mark;
  mark.name = WO_VIEW("Optimizer.zero_grad#AdamW.zero_grad");
  mark.is_start = true;
  recording->annotations.items[recording->annotations.count++] = mark;
}

/* Starts of steps are marked, once where two devices mark the same; a crowd of them is left out. */
static void marks_the_steps_of_the_optimizer(void **state) {
  (void)state;
  for (size_t marks = 3; marks < 100; marks += 90) {
    struct memory_sample sample;
    memory_sample_init(&sample);
    memory_sample_random(&sample, 9, 200);
    for (size_t i = 0; i < marks; i++) annotate(sample.recording, 2000 * (int64_t)i);
    struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
    assert_well_formed(&text);
    assert_int_equal(count_of(&text, "class=\"step\""), marks == 3 ? 3 : 0);
    assert_int_equal(count_of(&text, "steps begin"), marks == 3 ? 1 : 0);
    assert_int_equal(count_of(&text, ">time<"), 1);
    wo_text_done(&text);
    memory_sample_done(&sample);
  }
}

/* A program that was made to run three times repeats its times: its steps are marked each time, and there is no axis of time. */
static void marks_steps_of_repeated_iterations(void **state) {
  (void)state;
  struct memory_sample sample;
  memory_sample_init(&sample);
  memory_sample_random(&sample, 9, 300);
  for (size_t i = 0; i < sample.trace->entries.count; i++) sample.trace->entries.items[i].time_us = 1000 * (int64_t)(i % 100);
  annotate(sample.recording, 50500);
  struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
  assert_well_formed(&text);
  assert_int_equal(count_of(&text, "class=\"step\""), 3);
  assert_int_equal(count_of(&text, ">time<"), 0);
  wo_text_done(&text);
  memory_sample_done(&sample);
}

/* Long programs and many segments do not make it long. */
static void stays_small(void **state) {
  (void)state;
  for (int is_expandable = 0; is_expandable < 2; is_expandable++) {
    struct memory_sample sample;
    memory_sample_init(&sample);
    sample.settings.expandable_segments = is_expandable;
    for (size_t i = 0; i < 30000; i++) {
      const uint64_t bytes = 512 + i * 7919 % (i % 50 == 0 ? 64 * SAMPLE_MIB : 300 * SAMPLE_KIB);
      memory_sample_alloc(&sample, bytes, WO_NO_STACK, (enum wo_alloc_class)(i % WO_CLASS_COUNT_));
    }
    for (uint32_t i = 0; i < 30000; i += 3) memory_sample_free(&sample, i);
    struct wo_text text = plotted(&sample, (struct wo_view){0}, (struct wo_view){0});
    assert_well_formed(&text);
    assert_true(text.len < 1024 * 1024);
    wo_text_done(&text);
    memory_sample_done(&sample);
  }
}

static void random_programs_are_well_formed(void **state) {
  (void)state;
  for (uint64_t seed = 200; seed < 230; seed++) {
    struct memory_sample sample;
    memory_sample_init(&sample);
    sample.device.capacity_bytes = (100 + seed % 7 * 100) * SAMPLE_MIB;
    sample.settings.expandable_segments = seed % 2 == 0;
    memory_sample_random(&sample, seed, seed * 20);
    struct wo_text text = plotted(&sample, WO_VIEW("random"), (struct wo_view){0});
    assert_well_formed(&text);
    wo_text_done(&text);
    memory_sample_done(&sample);
  }
}

static void survives_failing_allocations(void **state) {
  (void)state;
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  make_step(&sample);
  assert_int_equal(memory_sample_record(&sample, &memory), WO_OK);
  assert_int_equal(wo_attribution_make(&sample.pattern, &memory.map, &attribution), WO_OK);
  const struct wo_plot plot = {.pattern = &sample.pattern, .memory = &memory, .attribution = &attribution};
  long failures = 0;
  for (long n = 1;; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    wo_plot_svg(&plot, &text);
    wo_fail_alloc_off();
    assert_int_equal(text.is_failed, wo_fail_alloc_hit());
    wo_text_done(&text);
    if (!wo_fail_alloc_hit()) break;
    failures++;
  }
  assert_true(failures > 10);
  wo_attribution_done(&attribution);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_check_refuses_what_is_no_xml),
      cmocka_unit_test(a_small_plot_is_as_it_was),
      cmocka_unit_test(tells_what_it_shows),
      cmocka_unit_test(needs_no_classes),
      cmocka_unit_test(hostile_names_stay_text),
      cmocka_unit_test(draws_the_smallest_programs),
      cmocka_unit_test(draws_any_times),
      cmocka_unit_test(marks_the_steps_of_the_optimizer),
      cmocka_unit_test(marks_steps_of_repeated_iterations),
      cmocka_unit_test(stays_small),
      cmocka_unit_test(random_programs_are_well_formed),
      cmocka_unit_test(survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
