/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs as words of a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/show/inputs.h"
#include "tests/support/files.h"

static char folder[4096];

static int setup(void **state) {
  (void)state;
  return !wo_files_scratch(folder, sizeof folder) || chdir(folder) != 0;
}

static int teardown(void **state) {
  (void)state;
  return chdir("/") != 0 ? -1 : (wo_files_remove_scratch(folder), 0);
}

static void expect(const char *const *words, size_t count, const char *expected) {
  struct wo_arena arena;
  char copies[8][64];
  char *list[8];
  assert_true(count <= 8);
  for (size_t i = 0; i < count; i++) {
    snprintf(copies[i], sizeof copies[i], "%s", words[i]);
    list[i] = copies[i];
  }
  wo_arena_init(&arena, 1 << 16);
  const struct wo_view shown = wo_show_inputs(list, count, &arena);
  if (!wo_view_is(shown, expected)) fail_msg("%.*s, not %s", WO_SHOWN(shown), expected);
  wo_arena_done(&arena);
}

#define EXPECT(expected, ...)                                                                                                    \
  expect((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), expected)

static void touch(const char *name) {
  FILE *const file = fopen(name, "w");
  assert_non_null(file);
  fclose(file);
}

static void test_words(void **state) {
  (void)state;
  EXPECT("a.err", "a.err");
  EXPECT("a.err 'b c.sh'", "a.err", "b c.sh");
  EXPECT("./-x.err", "-x.err");
  EXPECT("", "-");
  EXPECT("", "a.err", "-");
  EXPECT("", "a\033[1m.err");
  expect(NULL, 0, "");
}

/* Only where the shell's star gives the same words. */
static void test_pattern(void **state) {
  (void)state;
  touch("a.err");
  touch("b.out");
  touch("c.sh");
  touch(".hidden");
  EXPECT("*", "a.err", "b.out", "c.sh");
  EXPECT("a.err b.out", "a.err", "b.out");
  EXPECT("a.err b.out d.sh", "a.err", "b.out", "d.sh");
  touch("d.txt");
  EXPECT("a.err b.out c.sh", "a.err", "b.out", "c.sh");
  EXPECT("./a.err ./b.out c.sh", "./a.err", "./b.out", "c.sh");
  EXPECT("./*", "./a.err", "./b.out", "./c.sh", "./d.txt");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_pattern)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
