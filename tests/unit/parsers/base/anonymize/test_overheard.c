/* SPDX-License-Identifier: Apache-2.0 */
/* Names in lines that are not shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "parsers/base/anonymize/overheard.h"
#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"

/* The text with the pseudonyms of what was overheard. */
static void assert_shown(const struct wo_overheard *overheard, struct wo_pseudonyms *p, const char *text, const char *expected) {
  struct wo_text out = {0};
  wo_overheard_tell(overheard, p);
  wo_pseudonyms_add_text(p, wo_view_of(text), NULL, 0, &out);
  wo_text_add_view(&out, (struct wo_view){"", 1});
  assert_string_equal(out.ptr, expected);
  wo_text_done(&out);
}

/* Parts that cut a line, colours, the last line without an end; names of evidence come first. */
static void test_lines(void **state) {
  (void)state;
  struct wo_overheard overheard = {0};
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  wo_pseudonyms_learn(p, WO_NAME_OF_USER, WO_VIEW("otto"));
  wo_overheard_read(&overheard, WO_VIEW("saved to /scratch/walrus/x\nread \x1b[31m/scratch/hu"));
  wo_overheard_read(&overheard, WO_VIEW("sh/y\nuser=ma"));
  wo_overheard_read(&overheard, WO_VIEW("ra otto"));
  wo_overheard_end(&overheard);
  assert_shown(&overheard, p, "walrus, hush, mara, otto, red", "dir1, dir2, user2, user1, red");
  wo_overheard_done(&overheard);
  wo_overheard_done(&overheard);
  wo_pseudonyms_free(p);
}

/* A line of any length, and any number of names. */
static void test_limits(void **state) {
  (void)state;
  struct wo_overheard overheard = {0};
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  char line[64];
  for (unsigned i = 0; i < 2 * WO_LIMIT_OVERHEARD; i++) {
    snprintf(line, sizeof line, " /scratch/qq%uzz%u/x", i, i);
    wo_overheard_read(&overheard, wo_view_of(line));
    assert_true(overheard.line.len <= WO_LIMIT_LINE_BYTES + sizeof line);
  }
  wo_overheard_end(&overheard);
  assert_true(overheard.names->names.count >= WO_LIMIT_OVERHEARD && overheard.names->names.count < WO_LIMIT_OVERHEARD + 1000);
  assert_shown(&overheard, p, "qq7zz7", "dir8");
  assert_false(p->is_full);
  wo_overheard_done(&overheard);
  wo_pseudonyms_free(p);
}

/* Without memory less is known, and nothing breaks. */
static void test_failing_allocations(void **state) {
  (void)state;
  bool is_hit = true;
  for (long at = 1; is_hit; at++) {
    struct wo_overheard overheard = {0};
    wo_fail_alloc_at(at);
    wo_overheard_read(&overheard, WO_VIEW("/scratch/walrus/x\n/scratch/hu"));
    wo_overheard_read(&overheard, WO_VIEW("sh/y\n"));
    wo_overheard_end(&overheard);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    wo_overheard_done(&overheard);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
