/* SPDX-License-Identifier: Apache-2.0 */
/* The Markdown of one job: analyzer/document/markdown*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/job/document_sample.h"

/* The Markdown of some files, with a NUL, to be released with free. */
static char *markdown_of(const struct wo_pack *pack, const struct sample_file *files, size_t count) {
  struct document_sample sample;
  struct wo_text out = {0};
  document_read(&sample, pack, files, count);
  document_write(&sample, wo_document_markdown, &out);
  wo_text_add(&out, "%c", '\0');
  assert_false(out.is_failed);
  document_done(&sample);
  return out.ptr;
}

/* The line at *rest, which moves behind it. */
static struct wo_view next_line(struct wo_view *rest) {
  return wo_view_cut(rest, '\n');
}

/* Backticks at the front of a line. */
static size_t fence_of(struct wo_view line) {
  size_t count = 0;
  while (count < line.len && line.ptr[count] == '`') count++;
  return count;
}

/* Blocks of code are closed, boxes too and never within one, and rows of a table have one number of cells. */
static void expect_sound(const char *text) {
  struct wo_view rest = wo_view_of(text);
  size_t fence = 0, boxes = 0, cells = 0;
  while (rest.len > 0) {
    const struct wo_view line = next_line(&rest);
    const size_t ticks = fence_of(line);
    if (fence > 0) {
      if (ticks == line.len && ticks >= fence) fence = 0;
      continue;
    }
    if (ticks >= 3) {
      fence = ticks;
      continue;
    }
    assert_null(strstr(text, "<script"));
    if (wo_view_starts(line, "<details>")) boxes++;
    if (wo_view_is(line, "</details>")) assert_true(boxes-- > 0);
    size_t bars = 0;
    for (size_t i = 0; i < line.len; i++) bars += line.ptr[i] == '|' && (i == 0 || line.ptr[i - 1] != '\\');
    const bool is_row = wo_view_starts(line, "|");
    if (is_row && cells > 0) assert_int_equal(bars, cells);
    cells = is_row ? bars : 0;
  }
  assert_int_equal(fence, 0);
  assert_int_equal(boxes, 0);
}

/* What a ticket needs at once is before the first box. */
static void test_main_part(void **state) {
  char *const text = markdown_of(*state, document_job, DOCUMENT_JOB_FILES);
  char *const box = strstr(text, "<details>");
  assert_non_null(box);
  size_t lines = 0;
  for (const char *c = text; c < box; c++) lines += *c == '\n';
  assert_in_range(lines, 10, 60);
  *box = '\0';
  static const char *const parts[] = {"## OUT OF GPU MEMORY: ", "\n### Change first: ", "\n- **where**: `a.err:4",
                                      "36.53 tensors", "```sh\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(text, parts[i]) == NULL) fail_msg("no \"%s\" in\n%s", parts[i], text);
  }
  free(text);
}

/* Outside of code no word of the log is markup, or calls anybody. */
static void test_hostile_texts_are_inert(void **state) {
  char *const text = markdown_of(*state, document_job, DOCUMENT_JOB_FILES);
  static const char *const boxes[] = {"Evidence", "All fixes", "Settings", "Inputs", "The whole report as text"};
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
    char summary[128];
    snprintf(summary, sizeof summary, "\n<details><summary>%s</summary>\n\n", boxes[i]);
    if (strstr(text, summary) == NULL) fail_msg("no box %s", boxes[i]);
  }
  struct wo_view rest = wo_view_of(text);
  size_t fence = 0;
  while (rest.len > 0) {
    const struct wo_view line = next_line(&rest);
    const size_t ticks = fence_of(line);
    const bool is_fence = ticks >= 3 && (fence == 0 || (ticks == line.len && ticks >= fence));
    if (is_fence) fence = fence == 0 ? ticks : 0;
    if (is_fence || fence > 0) continue;
    if (wo_view_find_char(line, '`', 0) == WO_NOT_FOUND) {
      assert_false(wo_view_has(line, "<script"));
      assert_false(wo_view_has(line, "@root"));
    }
    assert_false(wo_view_has(line, "\xe2\x80\xae"));
  }
  assert_int_equal(fence, 0);
  free(text);
}

static void test_odd_inputs(void **state) {
  static const struct sample_file files[][1] = {{{"empty.err", ""}},
                                                {{"```.err", "```\n</details>\n```````\nTraceback (most recent call last):\n"
                                                             "ValueError: ``` </details> | x\n"}},
                                                {{"ok.out", "epoch 1\nTraining completed.\n"}}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *const text = markdown_of(*state, files[i], 1);
    assert_true(strncmp(text, "## ", 3) == 0);
    expect_sound(text);
    free(text);
  }
}

/* A ticket holds 65536 characters. */
static void test_fits_a_ticket(void **state) {
  struct wo_text log = {0};
  for (int i = 0; i < 3000; i++) wo_text_add(&log, "[rank%d]: " OOM_ON("0"), i % 900);
  wo_text_add(&log, "%c", '\0');
  char *const text = markdown_of(*state, (const struct sample_file[]){{"a.err", log.ptr}}, 1);
  assert_in_range(strlen(text), 2000, 65536);
  free(text);
  wo_text_done(&log);
}

static void test_failing_allocations(void **state) {
  struct document_sample sample;
  document_read(&sample, *state, document_job, DOCUMENT_JOB_FILES);
  size_t failures = 0;
  for (long n = 1; n < 3000; n += 1 + n / 20) {
    struct wo_text out = {0};
    wo_fail_alloc_at(n);
    document_write(&sample, wo_document_markdown, &out);
    wo_fail_alloc_off();
    const bool is_hit = wo_fail_alloc_hit();
    if (is_hit) assert_true(out.is_failed);
    failures += is_hit;
    wo_text_done(&out);
    if (!is_hit) break;
  }
  assert_in_range(failures, 5, 1000);
  document_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_main_part),     cmocka_unit_test(test_hostile_texts_are_inert), cmocka_unit_test(test_odd_inputs),
      cmocka_unit_test(test_fits_a_ticket), cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
