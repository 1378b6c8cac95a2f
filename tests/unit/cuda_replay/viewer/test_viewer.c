/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a recording: sums of its columns, which blocks it keeps, its size, and names that are hostile. */
#include "cuda_replay/viewer/viewer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/viewer/viewer_internal.h"
#include "parsers/base/number.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/recording/shared_traces.h"
#include "tests/support/replay/page_check.h"

static const struct wo_categories none;

static struct wo_view view_of(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

static struct wo_recording *read_text(struct wo_view text) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_test_read(text.ptr, text.len, SIZE_MAX, &recording, &err) != WO_OK) fail_msg("line %d: %s", (int)err.line, err.message);
  return recording;
}

static struct wo_look look_at(const struct wo_recording *recording, struct wo_look_part part) {
  struct wo_look look;
  struct wo_err err = {0};
  assert_int_equal(wo_look_make(recording, &recording->traces.items[0], NULL, &none, part, &look, &err), WO_OK);
  return look;
}

/* A program of `count` requests with `sites` call sites and a failure, made by a formula. */
static struct wo_recording *make_program(size_t count, size_t sites) {
  struct wo_text text = {0};
  uint64_t random = 1;
  wo_text_add(&text, "{\"whyoom_trace\":1}\n");
  for (size_t i = 0; i < sites; i++)
    wo_text_add(&text, "{\"frame\":%zu,\"function\":\"f%zu\",\"file\":\"m.py\",\"line\":%zu}\n{\"stack\":%zu,\"frames\":[%zu]}\n",
                i, i, i + 1, i, i);
  size_t freed = 0, made = 0;
  for (size_t i = 0; i < count; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    if (i == count / 2) {
      wo_text_add(&text, "{\"oom\":1024,\"device_free\":7}\n");
    } else if (random >> 60 < 9 || freed == made) {
      wo_text_add(&text, "{\"alloc\":%u,\"id\":%zu,\"stack\":%zu,\"time_us\":%zu}\n", (unsigned)(random >> 40 & 0xfffff) + 1,
                  made, made % sites, 1000 + i);
      made++;
    } else {
      wo_text_add(&text, "{\"free\":%zu}\n", freed++);
    }
  }
  struct wo_recording *const recording = read_text(view_of(&text));
  wo_text_done(&text);
  return recording;
}

static struct wo_viewer page_of(const struct wo_look *look) {
  return (struct wo_viewer){
      .look = look, .title = WO_VIEW("t"), .subtitle = WO_VIEW("s"), .verdict = WO_VIEW("v"), .report = WO_VIEW("r\n")};
}

/* ---- Columns ---- */

/* The sums of one moment, the slow way. */
static uint64_t sum_at(const struct wo__viewer *viewer, size_t grouping, size_t group, uint32_t entry) {
  uint64_t sum = 0;
  for (size_t i = 0; i < viewer->look->lives.blocks.count; i++) {
    const struct wo_life *const life = &viewer->look->lives.blocks.items[i];
    if (wo_life_is_at(life->birth, life->death, entry) && wo__viewer_group_of(viewer, grouping, life) == group)
      sum += life->size_bytes;
  }
  return sum;
}

static uint32_t entry_before(struct wo_window window) {
  return window.first == 0 ? WO_NO_ENTRY : window.first - 1;
}

static void check_columns(const struct wo__viewer *viewer, size_t most) {
  const struct wo__viewer_columns *const columns = &viewer->columns;
  assert_true(columns->count <= most);
  assert_true((uint64_t)columns->count * columns->width >= viewer->window.end - viewer->window.first);
  for (size_t i = 0; i < columns->count; i += 1 + columns->count / 50) {
    for (size_t g = 0; g < viewer->grouping_count; g++) {
      uint64_t sum = 0;
      for (size_t k = 0; k < viewer->groupings[g].count; k++) {
        const uint64_t value = columns->values[i * columns->groups + viewer->groupings[g].first + k];
        assert_int_equal(value, sum_at(viewer, g, k, columns->at[i]));
        sum += value;
      }
      assert_int_equal(sum, columns->bytes[i]);
    }
    const uint32_t begin = viewer->window.first + (uint32_t)i * columns->width;
    for (uint32_t at = begin; at < begin + columns->width && at < viewer->window.end; at++)
      assert_true(wo_lives_at(&viewer->look->lives, at).bytes <= columns->bytes[i]);
  }
  for (size_t g = 0; g < viewer->grouping_count; g++) {
    for (size_t k = 0; k < viewer->groupings[g].count; k++)
      assert_int_equal(columns->before[viewer->groupings[g].first + k], sum_at(viewer, g, k, entry_before(viewer->window)));
  }
}

static struct wo__viewer begin(const struct wo_look *look) {
  struct wo__viewer viewer = {.look = look, .window = look->window};
  viewer.peak = wo_lives_peak(&look->lives, look->window);
  assert_true(wo__viewer_group(&viewer));
  return viewer;
}

static void columns_have_the_sums_of_their_highest_moment(void **state) {
  (void)state;
  struct wo_recording *const recording = make_program(900, 40);
  static const struct wo_look_part parts[] = {
      {0}, {.has_first = true, .first = 300, .has_last = true, .last = 700}, {.has_last = true, .last = 0}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct wo_look look = look_at(recording, parts[i]);
    for (size_t most = 1; most <= 2000; most = most * 7 + 1) {
      struct wo__viewer viewer = begin(&look);
      assert_true(wo__viewer_fill_columns(&viewer, most));
      check_columns(&viewer, most);
      wo__viewer_done(&viewer);
    }
    wo_look_done(&look);
  }
  wo_recording_free(recording);
}

/* Segments come and go; some entries release one and others get several. */
static struct wo_recording *make_segments(size_t count) {
  struct wo_text text = {0};
  uint64_t random = 3;
  bool is_there[16] = {0};
  wo_text_add(&text, "{\"whyoom_trace\":1}\n");
  for (size_t i = 0; i < count; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    const size_t place = random >> 60;
    const uint64_t address = (place + 1) << 30, size_bytes = (uint64_t)(place + 1) << 21;
    if (random >> 40 & 1) {
      wo_text_add(&text, "{\"oom\":1024,\"device_free\":7}\n");
    } else {
      wo_text_add(&text, "{\"%s\":%" PRIu64 ",\"addr\":%" PRIu64 "}\n", is_there[place] ? "segment_free" : "segment_alloc",
                  size_bytes, address);
      is_there[place] = !is_there[place];
    }
  }
  struct wo_recording *const recording = read_text(view_of(&text));
  wo_text_done(&text);
  return recording;
}

/* Reserved bytes after an entry, the slow way. */
static uint64_t reserved_at(const struct wo_lives *lives, uint32_t entry) {
  uint64_t sum = 0;
  for (size_t i = 0; i < lives->ranges.count; i++) {
    if (wo_life_is_at(lives->ranges.items[i].birth, lives->ranges.items[i].death, entry))
      sum += lives->ranges.items[i].size_bytes;
  }
  return sum;
}

static void check_reserved(const struct wo__viewer *viewer) {
  const struct wo__viewer_columns *const columns = &viewer->columns;
  const struct wo_lives *const lives = &viewer->look->lives;
  const uint64_t before = reserved_at(lives, entry_before(viewer->window));
  uint64_t most_of_all = before;
  assert_int_equal(columns->reserved_before, before);
  for (size_t i = 0; i < columns->count; i++) {
    const uint32_t begin = viewer->window.first + (uint32_t)i * columns->width;
    uint64_t most = 0;
    for (uint32_t at = begin; at < begin + columns->width && at < viewer->window.end; at++) {
      const uint64_t now = reserved_at(lives, at);
      if (now > most) most = now;
    }
    assert_int_equal(columns->reserved[i], most);
    if (most > most_of_all) most_of_all = most;
  }
  assert_int_equal(columns->reserved_most, most_of_all);
}

/* A release is in the column of its entry, not in the one behind it. */
static void columns_have_the_most_reserved_bytes(void **state) {
  (void)state;
  struct wo_recording *const recording = make_segments(300);
  static const struct wo_look_part parts[] = {{0}, {.has_first = true, .first = 100, .has_last = true, .last = 250}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct wo_look look = look_at(recording, parts[i]);
    assert_true(look.lives.ranges.count > 40);
    for (size_t most = 1; most <= 400; most = most * 2 + 1) {
      struct wo__viewer viewer = begin(&look);
      assert_true(wo__viewer_fill_columns(&viewer, most));
      check_reserved(&viewer);
      wo__viewer_done(&viewer);
    }
    wo_look_done(&look);
  }
  wo_recording_free(recording);
}

/* ---- Times ---- */

/* The next number of a row of digits, as viewer.js reads it. */
static uint64_t read_code(const char **text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  uint64_t number = 0;
  for (unsigned bits = 0;; bits += 5) {
    const uint64_t digit = (uint64_t)(strchr(digits, *(*text)++) - digits);
    number |= (digit & 31) << bits;
    if (digit < 32) return number;
  }
}

/* Ages are read off samples of the times: the last entry is one of them, whatever the number of entries. */
static void the_last_entry_has_its_time(void **state) {
  (void)state;
  static const size_t counts[] = {1, 2, 511, 512, 513, 1200, 1537};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct wo_text text = {0};
    wo_text_add(&text, "{\"whyoom_trace\":1}\n");
    for (size_t k = 0; k < counts[i]; k++)
      wo_text_add(&text, "{\"alloc\":512,\"id\":%zu,\"time_us\":%zu}\n", k + 1, 7000 + k * k);
    struct wo_recording *const recording = read_text(view_of(&text));
    struct wo_look look = look_at(recording, (struct wo_look_part){0});
    struct wo_viewer page = page_of(&look);
    text.len = 0;
    assert_int_equal(wo_viewer_html(&page, &text), WO_OK);
    const char *at = strstr(text.ptr, "\"timestep\":");
    assert_non_null(at);
    uint64_t step = 0, now = 0, last = 0;
    struct wo_view number = wo_view_of(at + strlen("\"timestep\":"));
    assert_int_equal(wo_number_u64(&number, UINT32_MAX, &step), WO_OK);
    at = strstr(at, "\"times\":\"") + strlen("\"times\":\"");
    for (uint64_t k = 0; *at != '"'; k++) {
      last = k * step < counts[i] - 1 ? k * step : counts[i] - 1;
      now += read_code(&at);
      assert_int_equal(now, last * last);
    }
    assert_int_equal(last, counts[i] - 1);
    wo_look_done(&look);
    wo_recording_free(recording);
    wo_text_done(&text);
  }
}

/* ---- The choice ---- */

/* In an exact window no block is missing, and limits hold. */
static void windows_are_complete(void **state) {
  (void)state;
  struct wo_recording *const recording = make_program(3000, 10);
  struct wo_look look = look_at(recording, (struct wo_look_part){0});
  for (size_t limit = 1; limit < 4000; limit *= 3) {
    struct wo__viewer viewer = begin(&look);
    assert_true(wo__viewer_choose(&viewer, limit, 10));
    size_t kept = 0, all = 0;
    for (size_t i = 0; i < look.lives.blocks.count; i++) {
      const struct wo_life *const life = &look.lives.blocks.items[i];
      kept += viewer.is_kept[i];
      all++;
      for (size_t k = 0; k < viewer.exact_count; k++)
        assert_true(viewer.is_kept[i] || !wo_life_is_in(life->birth, life->death, viewer.exact[k]));
    }
    assert_int_equal(kept, viewer.kept_count);
    assert_true(kept <= limit);
    assert_int_equal(viewer.is_all_kept, limit >= all);
    if (limit >= 1000) assert_true(viewer.exact_count > 0);
    wo__viewer_done(&viewer);
  }
  wo_look_done(&look);
  wo_recording_free(recording);
}

/* ---- The tree of frames ---- */

/* Each stack of the page, from its innermost node outwards, is the stack of the recording. */
static void the_tree_has_the_stacks(void **state) {
  (void)state;
  struct wo_shared_trace shared;
  if (!wo_shared_trace_open("lm-ctx512-fullstep-torch2.6.pickle", &shared)) skip();
  struct wo_look look;
  struct wo_err err = {0};
  assert_int_equal(wo_look_make(shared.recording, shared.trace, NULL, &none, (struct wo_look_part){0}, &look, &err), WO_OK);
  struct wo__viewer viewer = begin(&look);
  assert_true(wo__viewer_fill_columns(&viewer, 100) && wo__viewer_choose(&viewer, 1000, 10) && wo__viewer_name(&viewer));
  assert_int_equal(viewer.stacks.count, viewer.stack_count);
  size_t frames = 0;
  for (size_t i = 0; i < viewer.stacks.count; i++) {
    const struct wo_stack stack = shared.recording->stacks.items[viewer.stacks.items[i].stack];
    uint32_t node = viewer.stacks.items[i].node;
    for (uint32_t k = 0; k < stack.count; k++, node = viewer.nodes.items[node].parent)
      assert_int_equal(viewer.nodes.items[node].frame, shared.recording->stack_frames.items[stack.first + k]);
    assert_int_equal(node, UINT32_MAX);
    frames += stack.count;
  }
  assert_true(viewer.nodes.count < frames);
  wo__viewer_done(&viewer);
  wo_look_done(&look);
  wo_shared_trace_done(&shared);
}

/* ---- The page ---- */

static void check_page(const struct wo_look *look, size_t most_bytes) {
  struct wo_text text = {0}, again = {0};
  const struct wo_viewer page = page_of(look);
  assert_int_equal(wo_viewer_html(&page, &text), WO_OK);
  const char *const flaw = wo_page_flaw(view_of(&text));
  if (flaw != NULL) fail_msg("%s:\n%.3000s", flaw, text.ptr);
  assert_true(text.len < most_bytes);
  assert_int_equal(wo_viewer_html(&page, &again), WO_OK);
  assert_true(wo_view_equal(view_of(&text), view_of(&again)));
  wo_text_done(&text);
  wo_text_done(&again);
}

static void pages_of_any_program_are_well_formed(void **state) {
  (void)state;
  static const size_t counts[] = {1, 2, 30, 500};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct wo_recording *const recording = make_program(counts[i], 1 + i * 30);
    struct wo_look look = look_at(recording, (struct wo_look_part){0});
    check_page(&look, 200000);
    wo_look_done(&look);
    wo_recording_free(recording);
  }
}

/* Names that try to leave their element, their string, their line. */
static void hostile_names_are_inert(void **state) {
  (void)state;
  static const char *const names[] = {"</script><script>alert(1)</script>",
                                      "<img src=x onerror=alert(1)>",
                                      "\"><svg/onload=alert(1)>",
                                      "]]>&lt;<!--",
                                      "\\\"],\"x\":[\"",
                                      "\xe2\x80\xa8\xe2\x80\xae\x1b[31m",
                                      "\xff\xfe",
                                      ""};
  struct wo_recording *const recording = make_program(200, 8);
  for (size_t i = 0; i < 8; i++)
    recording->frames.items[i] = (struct wo_frame){wo_view_of(names[i]), wo_view_of(names[(i + 3) % 8]), (uint32_t)i};
  struct wo_categories categories = {0};
  struct wo_err err = {0};
  struct wo_look look;
  assert_int_equal(wo_categories_add(&categories, WO_VIEW("alert=</script><b>"), &err), WO_OK);
  assert_int_equal(wo_look_make(recording, &recording->traces.items[0], NULL, &categories, (struct wo_look_part){0}, &look, &err),
                   WO_OK);
  struct wo_viewer page = page_of(&look);
  page.title = page.verdict = page.reasons = page.report = wo_view_of(names[0]);
  page.subtitle = wo_view_of(names[1]);
  struct wo_text text = {0};
  assert_int_equal(wo_viewer_html(&page, &text), WO_OK);
  const char *const flaw = wo_page_flaw(view_of(&text));
  if (flaw != NULL) fail_msg("%s", flaw);
  assert_null(strstr(text.ptr, "<img"));
  assert_null(strstr(text.ptr, "<script>alert"));
  assert_null(strstr(text.ptr, "<svg/onload"));
  assert_non_null(strstr(text.ptr, "&lt;script&gt;alert(1)"));
  assert_non_null(strstr(text.ptr, "\\u003cscript\\u003ealert(1)"));
  wo_text_done(&text);
  wo_look_done(&look);
  wo_recording_free(recording);
}

/* Many blocks, sites and names: the limits hold, and the page says what it left out. */
static void long_recordings_stay_small(void **state) {
  (void)state;
  struct wo_recording *const recording = make_program(150000, 3000);
  struct wo_look look = look_at(recording, (struct wo_look_part){0});
  struct wo_viewer page = page_of(&look);
  struct wo_text text = {0};
  assert_true(look.lives.blocks.count > WO_LIMIT_VIEWER_BLOCKS);
  assert_int_equal(wo_viewer_html(&page, &text), WO_OK);
  assert_null(wo_page_flaw(view_of(&text)));
  assert_non_null(strstr(text.ptr, "blocks are in the page one by one"));
  assert_non_null(strstr(text.ptr, "\"all\":false"));
  assert_non_null(strstr(text.ptr, "<details id=\"report\" open=\"open\">")); /* it is on paper without scripts, too */
  wo_text_done(&text);
  wo_look_done(&look);
  wo_recording_free(recording);
}

/* As much of everything as a page can hold: deep stacks of long names full of markup, and sizes, addresses and sites without any
 * order. */
static void the_worst_page_is_small(void **state) {
  (void)state;
  enum { FRAMES = 9000, STACKS = 30000, DEPTH = 9, REQUESTS = 160000 };
  struct wo_text text = {0};
  uint64_t random = 7;
  wo_text_add(&text, "{\"whyoom_trace\":1}\n");
  for (int i = 0; i < FRAMES; i++) {
    wo_text_add(&text, "{\"frame\":%d,\"function\":\"%d", i, i);
    wo_text_repeat(&text, '<', 300);
    wo_text_add(&text, "\",\"file\":\"");
    wo_text_repeat(&text, '&', 200);
    wo_text_add(&text, "%d\",\"line\":%d}\n", i, i * 997);
  }
  for (int i = 0; i < STACKS; i++) {
    wo_text_add(&text, "{\"stack\":%d,\"frames\":[%d", i, i % FRAMES);
    for (int k = 1; k < DEPTH; k++)
      wo_text_add(&text, ",%u", (unsigned)((random = random * 6364136223846793005 + 1) >> 33) % FRAMES);
    wo_text_add(&text, "]}\n");
  }
  uint64_t addresses[4096];
  for (size_t i = 0; i < REQUESTS; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t *const address = &addresses[i % 4096];
    if (i >= 4096 && *address != 0) {
      wo_text_add(&text, "{\"free_requested\":1,\"addr\":%" PRIu64 "}\n", *address);
      *address = 0;
    } else {
      *address = random >> 17;
      wo_text_add(&text, "{\"alloc\":%" PRIu64 ",\"addr\":%" PRIu64 ",\"stack\":%d}\n", (random >> 30) + 1, *address,
                  (int)(random >> 40) % STACKS);
    }
  }
  struct wo_recording *const recording = read_text(view_of(&text));
  struct wo_look look = look_at(recording, (struct wo_look_part){0});
  struct wo_viewer page = page_of(&look);
  text.len = 0;
  assert_int_equal(wo_viewer_html(&page, &text), WO_OK);
  const char *const flaw = wo_page_flaw(view_of(&text));
  if (flaw != NULL) fail_msg("%s: %zu bytes", flaw, text.len);
  assert_true(text.len > 2000000); /* or the program is none of the worst */
  assert_non_null(strstr(text.ptr, "stacks are in the page, those with most memory"));
  wo_text_done(&text);
  wo_look_done(&look);
  wo_recording_free(recording);
}

/* Recordings without entries, without blocks, with requests only. */
static void every_recording_has_a_page(void **state) {
  (void)state;
  static const char *const lines[] = {
      "{\"whyoom_trace\":1}\n{\"snapshot\":5}\n",
      "{\"whyoom_trace\":1}\n{\"segment\":4096,\"addr\":4096}\n{\"block\":4096,\"state\":\"allocated\"}\n",
      "{\"whyoom_trace\":1}\n{\"alloc\":18446744073709551615,\"id\":1}\n{\"alloc\":18446744073709551615,\"id\":2}\n",
      "{\"whyoom_trace\":1}\n{\"oom\":5,\"device_free\":0}\n{\"free\":3}\n",
      "{\"whyoom_trace\":1}\n{\"segment_alloc\":512,\"addr\":513}\n{\"alloc\":1,\"addr\":513}\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (wo_test_read(lines[i], strlen(lines[i]), SIZE_MAX, &recording, &err) != WO_OK) continue;
    struct wo_look look = look_at(recording, (struct wo_look_part){0});
    check_page(&look, 200000);
    wo_look_done(&look);
    wo_recording_free(recording);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  struct wo_recording *const recording = make_program(60, 5);
  struct wo_look look = look_at(recording, (struct wo_look_part){0});
  const struct wo_viewer page = page_of(&look);
  for (long n = 1;; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_viewer_html(&page, &text);
    wo_fail_alloc_off();
    assert_int_equal(status, wo_fail_alloc_hit() ? WO_E_NOMEM : WO_OK);
    wo_text_done(&text);
    if (status == WO_OK) break;
  }
  wo_look_done(&look);
  wo_recording_free(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_have_the_sums_of_their_highest_moment),
      cmocka_unit_test(columns_have_the_most_reserved_bytes),
      cmocka_unit_test(the_last_entry_has_its_time),
      cmocka_unit_test(windows_are_complete),
      cmocka_unit_test(the_tree_has_the_stacks),
      cmocka_unit_test(pages_of_any_program_are_well_formed),
      cmocka_unit_test(hostile_names_are_inert),
      cmocka_unit_test(long_recordings_stay_small),
      cmocka_unit_test(the_worst_page_is_small),
      cmocka_unit_test(every_recording_has_a_page),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
