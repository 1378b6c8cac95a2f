/* SPDX-License-Identifier: Apache-2.0 */
/* The page of any recording, and its comparison with itself: the first two bytes choose the part and the categories, the rest is
 * a file of trace lines. Whatever it says, the page is well-formed, holds nothing that means something to a browser, and nothing
 * grew between a recording and itself. */
#include "cuda_replay/compare/compare.h"
#include "cuda_replay/viewer/viewer.h"
#include "cuda_replay/viewer/viewer_growth.h"
#include "tests/fuzz/trace_target.h"
#include "tests/support/replay/page_check.h"

static void check_page(const struct wo_look *look, struct wo_view bytes) {
  const struct wo_viewer viewer = {
      .look = look, .title = bytes, .subtitle = bytes, .verdict = bytes, .reasons = bytes, .report = bytes};
  struct wo_text page = {0};
  require(wo_viewer_html(&viewer, &page) == WO_OK);
  require(wo_page_flaw((struct wo_view){page.ptr, page.len}) == NULL);
  wo_text_done(&page);
}

static void check_growth(const struct wo_look *look, struct wo_view bytes, enum wo_compare_at at) {
  const struct wo_compare_side sides[2] = {{look, bytes}, {look, bytes}};
  struct wo_compare compare;
  struct wo_text text = {0};
  require(wo_compare_make(sides, look->categories, at, &compare) == WO_OK);
  uint64_t sum = 0;
  for (size_t i = 0; i < compare.sites.count; i++) {
    const struct wo_compare_row *const row = &compare.sites.items[i];
    require(row->sum[0].bytes == row->sum[1].bytes && row->sum[0].count == row->sum[1].count);
    sum += row->sum[0].bytes;
  }
  require(sum == compare.moment[0].bytes);
  wo_compare_text(&compare, (struct wo_text_style){.width = 80, .is_verbose = true}, &text);
  for (size_t i = 0; i < text.len; i++) require(text.ptr[i] == '\n' || (unsigned char)text.ptr[i] >= ' ');
  wo_compare_json(&compare, (struct wo_text_style){.width = 80}, &text);
  text.len = 0;
  wo_viewer_growth(&compare, (struct wo_text_style){.width = 80}, &text);
  require(wo_page_flaw((struct wo_view){text.ptr, text.len}) == NULL);
  wo_text_done(&text);
  wo_compare_done(&compare);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const struct wo_view bytes = {(const char *)data + 2, size - 2};
  struct wo_recording *const recording = trace_read(wo_trace_lines_read, bytes, SIZE_MAX);
  struct wo_categories categories = {0};
  struct wo_err err = {0};
  if (recording == NULL) return 0;
  (void)wo_categories_add(&categories, wo_view_sub(bytes, 0, data[1] % 16), &err);
  if (data[1] % 2 == 0) require(wo_categories_add(&categories, WO_VIEW("a|b=</script>"), &err) == WO_OK);
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_look_part part = {
        .has_first = data[0] % 4 == 1, .first = data[0] / 8, .has_last = data[0] % 3 == 1, .last = data[0]};
    struct wo_look look;
    const enum wo_status status = wo_look_make(recording, &recording->traces.items[i], NULL, &categories, part, &look, &err);
    require(status == WO_OK || status == WO_E_USAGE);
    if (status != WO_OK) continue;
    check_page(&look, bytes);
    check_growth(&look, bytes, data[0] % 2 == 0 ? WO_COMPARE_PEAK : WO_COMPARE_END);
    wo_look_done(&look);
  }
  wo_recording_free(recording);
  return 0;
}
