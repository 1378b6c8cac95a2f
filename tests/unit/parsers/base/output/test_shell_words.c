/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the shell: what is quoted, what is refused, and that a real shell gives every word back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parsers/base/output/shell_words.h"
#include "tests/support/failing_alloc.h"

static void test_words(void **state) {
  (void)state;
  static const struct {
    const char *word, *quoted; /* NULL: refused */
  } rows[] = {{"train.sbatch", "train.sbatch"},
              {"/home/u/a-b_c@1%2+3=4:5,6.sh", "/home/u/a-b_c@1%2+3=4:5,6.sh"},
              {"", "''"},
              {"my job.sh", "'my job.sh'"},
              {"~/x", "'~/x'"},
              {"=ls", "'=ls'"},
              {"it's", "'it'\\''s'"},
              {"'", "''\\'''"},
              {"a;b", "'a;b'"},
              {"$(x)`y`!z#\\", "'$(x)`y`!z#\\'"},
              {"*?[a]{b}<>|&", "'*?[a]{b}<>|&'"},
              {"\xc3\xa9", "'\xc3\xa9'"},
              {"a\nb", NULL},
              {"a\tb", NULL},
              {"\x1b[m", NULL},
              {"\xff", NULL},
              {"\xc2\x9b", NULL},
              {"\xe2\x80\xae", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_text text = {0};
    const bool is_added = wo_shell_add_word(&text, wo_view_of(rows[i].word));
    assert_true(is_added == (rows[i].quoted != NULL));
    if (is_added) assert_string_equal(text.ptr, rows[i].quoted);
    if (!is_added) assert_int_equal(text.len, 0);
    assert_true(wo_shell_is_plain(wo_view_of(rows[i].word)) == (is_added && strcmp(rows[i].word, rows[i].quoted) == 0));
    wo_text_done(&text);
  }
}

static void test_paths(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, 4096);
  assert_true(wo_view_is(wo_shell_path(&arena, WO_VIEW("-x.sh")), "./-x.sh"));
  assert_true(wo_view_is(wo_shell_path(&arena, WO_VIEW("x-.sh")), "x-.sh"));
  wo_arena_done(&arena);
}

static void test_commands(void **state) {
  (void)state;
  const struct wo_view words[] = {WO_VIEW("sbatch"), WO_VIEW("a b"), WO_VIEW("--x=1"), WO_VIEW("bad\n")};
  struct wo_text text = {0};
  assert_true(wo_shell_add_command(&text, words, 3));
  assert_string_equal(text.ptr, "sbatch 'a b' --x=1");
  text.len = 0;
  assert_false(wo_shell_add_command(&text, words, 4));
  assert_int_equal(text.len, 0);
  wo_text_done(&text);
}

/* Every byte that is not refused, between two letters, as sh reads it. */
static void test_a_shell_gives_words_back(void **state) {
  (void)state;
  for (int c = 1; c < 128; c++) {
    const char word[] = {'a', (char)c, 'b', '\0'};
    struct wo_text line = {0};
    char read[16] = "";
    wo_text_add(&line, "printf %%s ");
    if (!wo_shell_add_word(&line, wo_view_of(word))) {
      assert_true(c < 0x20 || c == 0x7f);
      wo_text_done(&line);
      continue;
    }
    FILE *const shell = popen(line.ptr, "r");
    assert_non_null(shell);
    const size_t len = fread(read, 1, sizeof read - 1, shell);
    assert_int_equal(pclose(shell), 0);
    assert_int_equal(len, 3);
    assert_string_equal(read, word);
    wo_text_done(&line);
  }
}

static void test_failing_allocations(void **state) {
  (void)state;
  struct wo_text text = {0};
  wo_fail_alloc_at(1);
  wo_shell_add_word(&text, WO_VIEW("it's"));
  wo_fail_alloc_off();
  assert_true(text.is_failed);
  wo_text_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_commands),
      cmocka_unit_test(test_a_shell_gives_words_back),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
