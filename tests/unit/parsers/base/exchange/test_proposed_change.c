/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a rule's replays_as, read into values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/exchange/proposed_change.h"

static void expect(const char *text, size_t count, enum wo_proposed_sort sort, const char *words, uint32_t from, uint32_t to) {
  const struct wo_proposed_change change = wo_proposed_change_read(wo_view_of(text));
  const struct wo_proposed_part *const part = &change.parts[count > 0 ? count - 1 : 0];
  if (change.count != count) fail_msg("%s: %zu parts", text, change.count);
  if (count > 0 && (part->sort != sort || part->from != from || part->to != to)) fail_msg("%s: another value", text);
  if (words && !wo_view_is(part->text, words)) fail_msg("%s: %.*s", text, (int)part->text.len, part->text.ptr);
}

/* The last part of each text. */
static void test_values(void **state) {
  (void)state;
  expect("", 0, WO_PROPOSED_OTHER, NULL, 0, 0);
  expect("  ", 0, WO_PROPOSED_OTHER, NULL, 0, 0);
  expect("scale=micro_batch=32:16", 1, WO_PROPOSED_MICRO_BATCH, NULL, 32, 16);
  expect(" set=a:b  scale=seq_len=4096:2048 ", 2, WO_PROPOSED_SEQ_LEN, NULL, 4096, 2048);
  expect("set=expandable_segments:True,x:1", 1, WO_PROPOSED_SETTINGS, "expandable_segments:True,x:1", 0, 0);
  expect("transform=shard=8", 1, WO_PROPOSED_TRANSFORM, "shard", 0, 8);
  expect("transform=accumulate=4:8", 1, WO_PROPOSED_TRANSFORM, "accumulate", 4, 8);
  expect("transform=empty-cache", 1, WO_PROPOSED_TRANSFORM, "empty-cache", 0, 0);
}

static void test_others(void **state) {
  (void)state;
  static const char *const texts[] = {"scale=micro_batch=32",
                                      "scale=micro_batch=0:1",
                                      "scale=micro_batch=1:x",
                                      "scale=depth=2:1",
                                      "scale=seq_len=-4:2",
                                      "set=expandable_segments",
                                      "scale=seq_len=8589934592:1",
                                      "transform=",
                                      "transform=shard=many",
                                      "transform=accumulate=1:",
                                      "transform=accumulate=:2",
                                      "transform=accumulate=0:2",
                                      "scale=micro_batch=1:2:3",
                                      "capacity=8GiB",
                                      "offload"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) expect(texts[i], 1, WO_PROPOSED_OTHER, texts[i], 0, 0);
}

/* More parts than there is room for are not lost without a word. */
static void test_many(void **state) {
  (void)state;
  expect("set=a:1 set=b:1 set=c:1 set=d:1 set=e:1 set=f:1", 6, WO_PROPOSED_SETTINGS, "f:1", 0, 0);
  expect("set=a:1 set=b:1 set=c:1 set=d:1 set=e:1 set=f:1 set=g:1", 6, WO_PROPOSED_OTHER, "set=g:1", 0, 0);
}

/* What the patch changes, against what is replayed. */
static void test_covered(void **state) {
  (void)state;
  static const struct {
    const char *replay, *knob, *text;
    double from, to;
    bool is_covered;
  } rows[] = {
      {"scale=micro_batch=8:4 transform=accumulate=1:2", "micro_batch", "", 8, 4, true},
      {"scale=micro_batch=8:4 transform=accumulate=1:2", "grad_accum", "", 1, 2, true},
      {"scale=micro_batch=8:4 transform=accumulate=1:2", "grad_accum", "", 0, 2, true}, /* not set before */
      {"scale=micro_batch=8:4 transform=accumulate=1:2", "grad_accum", "", 4, 8, false},
      {"scale=micro_batch=8:4", "grad_accum", "", 1, 2, false},
      {"scale=micro_batch=8:4", "micro_batch", "", 8, 2, false},
      {"scale=seq_len=8:4", "micro_batch", "", 8, 4, false},
      {"set=expandable_segments:True", "alloc_conf", "expandable_segments:True", 0, 0, true},
      {"set=expandable_segments:True", "alloc_conf", "roundup_power2_divisions:8,expandable_segments:True", 0, 0, false},
      {"transform=checkpoint", "checkpointing", "full", 0, 0, true},
      {"transform=checkpoint", "optimizer_offload", "", 0, 1, false},
      {"transform=checkpoint", "learning_rate", "", 0, 1, false}, /* of which no replay knows anything */
      {"", "micro_batch", "", 8, 4, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_proposed_change change = wo_proposed_change_read(wo_view_of(rows[i].replay));
    const struct wo_changed_setting setting = {wo_view_of(rows[i].knob), rows[i].from, rows[i].to, wo_view_of(rows[i].text)};
    if (wo_proposed_change_covers(&change, &setting) != rows[i].is_covered) fail_msg("row %zu", i);
    const size_t before = change.count;
    wo_proposed_change_leave_out(&change, setting.knob);
    assert_int_equal(change.count, before + 1);
    assert_int_equal(change.parts[before].sort, WO_PROPOSED_LEFT_OUT);
  }
  struct wo_proposed_change full = wo_proposed_change_read(WO_VIEW("set=a:1 set=b:1 set=c:1 set=d:1 set=e:1 set=f:1"));
  wo_proposed_change_leave_out(&full, WO_VIEW("micro_batch"));
  assert_int_equal(full.count, WO_PROPOSED_PARTS_MAX);
  assert_int_equal(full.parts[WO_PROPOSED_PARTS_MAX - 1].sort, WO_PROPOSED_LEFT_OUT);
  assert_string_equal(wo_proposed_change_word(WO_VIEW("grad_accum")), "transform=accumulate=");
  assert_null(wo_proposed_change_word(WO_VIEW("learning_rate")));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_others), cmocka_unit_test(test_many),
                                     cmocka_unit_test(test_covered)};
  return cmocka_run_group_tests_name("proposed_change", tests, NULL, NULL);
}
