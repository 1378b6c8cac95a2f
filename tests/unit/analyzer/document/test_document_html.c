/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page of one job as a browser takes it: analyzer/document/html_*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/exchange/recorded_memory.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/html_page.h"
#include "tests/support/job/document_sample.h"

/* The page of some files, with a NUL, to be released with free. */
static char *page_of(const struct wo_pack *pack, const struct sample_file *files, size_t count) {
  struct document_sample sample;
  struct wo_text out = {0};
  document_read(&sample, pack, files, count);
  document_write(&sample, wo_document_html, &out);
  wo_text_add(&out, "%c", '\0');
  assert_false(out.is_failed);
  document_done(&sample);
  return out.ptr;
}

static void expect_parts(const char *page, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(page, parts[i]) == NULL) fail_msg("no \"%s\" in the page", parts[i]);
  }
}

#define EXPECT_PARTS(page, ...)                                                                                                  \
  expect_parts((page), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void expect_safe(const char *page) {
  wo_page_expect_policy(page);
  wo_page_expect_well_formed(page);
  wo_page_expect_inert(page);
}

/* ---- What is on it ---- */

static void test_parts_in_order(void **state) {
  char *const page = page_of(*state, document_job, DOCUMENT_JOB_FILES);
  static const char *const ids[] = {"verdict", "card",  "change",   "next",   "evidence", "memory",
                                    "ranks",   "fixes", "settings", "inputs", "text"};
  const char *at = page;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char id[64];
    snprintf(id, sizeof id, " id=\"%s\"", ids[i]);
    const char *const found = strstr(at, id);
    if (found == NULL) fail_msg("no %s behind the part before", id);
    at = found;
  }
  EXPECT_PARTS(page, "<html lang=\"en\">", "<span class=\"kind\">OUT OF GPU MEMORY</span>",
               "<mark>Tried to allocate 2.00 GiB</mark>", "36.53 GiB tensors", "1.25 GiB free", "a.err:4");
  free(page);
}

/* The figures of the trace and of the prints are all there, and the peak among them. */
static void test_pictures(void **state) {
  char *const page = page_of(*state, document_job, DOCUMENT_JOB_FILES);
  EXPECT_PARTS(page, "data-name=\"memory in use\"", "data-axis=\"sample\"", "data-axis=\"step\"", "data-name=\"allocated\"",
               "data-name=\"reserved\"", "GPU 0 by dmon.txt");
  char point[64];
  snprintf(point, sizeof point, " 4 %.0f", 38000 * WO_MIB); /* the fourth sample */
  EXPECT_PARTS(page, point);
  EXPECT_PARTS(page, "<path class=\"mark dead\"", "rank 1 failed");
  free(page);
}

/* A recording is drawn as it was handed over; its names are hostile too. */
static void test_recording(void **state) {
  static const struct wo_curve_point reserved[] = {{1, 1, 4e9}, {2, 2, 6e9}, {3, 3, 6e9}},
                                     allocated[] = {{1, 1, 3e9}, {2, 2, 5e9}, {3, 3, 2e9}};
  static const struct wo_recorded_segment segments[] = {{.bytes = 4e9, .used_bytes = 3e9, .block_count = 2},
                                                        {.bytes = 2e9, .first_block = 2, .block_count = 1, .is_small = true}};
  static const struct wo_recorded_block blocks[] = {{"activation", 0, 3e9}, {"free", 3e9, 1e9}, {"optimizer_state", 0, 2e9}};
  const struct wo_recorded_memory memory = {.path = WO_VIEW("dir/" HOSTILE ".pickle"),
                                            .is_exact = true,
                                            .requests = 3,
                                            .allocated = allocated,
                                            .reserved = reserved,
                                            .point_count = 3,
                                            .has_failed = true,
                                            .moment = 3,
                                            .allocated_bytes = 5e9,
                                            .reserved_bytes = 6e9,
                                            .segments = segments,
                                            .segment_count = 2,
                                            .blocks = blocks,
                                            .block_count = 3,
                                            .holder_count = 1,
                                            .holders = {{WO_VIEW("f " HOSTILE), WO_VIEW("g " HOSTILE), "activation", 3e9, 7}}};
  struct document_sample sample;
  struct wo_text out = {0};
  document_read(&sample, *state, document_job, DOCUMENT_JOB_FILES);
  sample.report->recorded = &memory;
  document_write(&sample, wo_document_html, &out);
  wo_text_add(&out, "%c", '\0');
  assert_false(out.is_failed);
  document_done(&sample);
  expect_safe(out.ptr);
  EXPECT_PARTS(out.ptr, "Segments when the request failed", "<rect class=\"sort optimizer_state\" x=\"0\" width=\"10000\"",
               "optimizer state, 1.86 GiB at 0 bytes", "data-name=\"reserved\"", "10000 3 6000000000",
               "segment of 1.86 GiB, small pool");
  wo_text_done(&out);
}

/* ---- Hostile texts ---- */

static void test_hostile_texts_are_inert(void **state) {
  char *const page = page_of(*state, document_job, DOCUMENT_JOB_FILES);
  expect_safe(page);
  wo_page_expect_links(page, 8);
  static const char *const refused[] = {"<script>alert", "<img", "\xe2\x80\xae", "``", "]]>"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    if (strstr(page, refused[i]) != NULL) fail_msg("the page has %s", refused[i]);
  }
  EXPECT_PARTS(page, "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39; &#96;x&#96;");
  free(page);
}

/* Bytes that are no text, and a job of which nothing is known. */
static void test_odd_inputs(void **state) {
  static const struct sample_file files[][1] = {{{"empty.err", ""}},
                                                {{"a\"b<c>.err", "x\xff\xfe\x01\x1b[31m\n"}},
                                                {{"ok.out", "epoch 1\nTraining completed.\n"}},
                                                {{"cut.err", "torch.OutOfMemoryError: CUDA out of memory. Tried to"}}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *const page = page_of(*state, files[i], 1);
    expect_safe(page);
    EXPECT_PARTS(page, "id=\"verdict\"", "id=\"inputs\"", "id=\"text\"");
    free(page);
  }
}

/* A log of any length makes a page of bounded length. */
static void test_long_logs(void **state) {
  struct wo_text log = {0}, dmon = {0};
  wo_text_add(&dmon, "# gpu    fb    sm\n# Idx    MB     %%\n");
  for (int i = 0; i < 20000; i++) {
    wo_text_add(&log, "step %d | allocated %d.%02d GiB | " HOSTILE "\n", i, 10 + i / 1000, i % 100);
    wo_text_add(&dmon, "    0 %d    50\n", i == 12345 ? 40001 : 30000 + i % 100);
  }
  for (int rank = 0; rank < 500; rank++) wo_text_add(&log, "[rank%d]: " OOM_ON("0"), rank);
  wo_text_add(&log, "%c", '\0');
  wo_text_add(&dmon, "%c", '\0');
  assert_false(log.is_failed || dmon.is_failed);
  char *const page = page_of(*state, (const struct sample_file[]){{"a.err", log.ptr}, {"dmon.txt", dmon.ptr}}, 2);
  assert_in_range(strlen(page), 10000, 2000000);
  expect_safe(page);
  char peak[64];
  snprintf(peak, sizeof peak, " 12346 %.0f", 40001 * WO_MIB); /* one sample among twenty thousand */
  EXPECT_PARTS(page, peak, "more ranks are not drawn");
  free(page);
  wo_text_done(&log);
  wo_text_done(&dmon);
}

/* ---- Memory ---- */

static void test_failing_allocations(void **state) {
  struct document_sample sample;
  document_read(&sample, *state, document_job, DOCUMENT_JOB_FILES);
  size_t failures = 0;
  for (long n = 1; n < 3000; n += 1 + n / 20) {
    struct wo_text out = {0};
    wo_fail_alloc_at(n);
    document_write(&sample, wo_document_html, &out);
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
      cmocka_unit_test(test_parts_in_order),          cmocka_unit_test(test_pictures),   cmocka_unit_test(test_recording),
      cmocka_unit_test(test_hostile_texts_are_inert), cmocka_unit_test(test_odd_inputs), cmocka_unit_test(test_long_logs),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
