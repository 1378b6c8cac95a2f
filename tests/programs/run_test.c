/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a folder's tests: runs the one that is named, with its arguments. WO_TEST_LIST is a header that the build makes of
 * the files' names; one row each.
 *
 *   wo_tests_FOLDER NAME [ARGUMENT...]     without a name: prints the names */
#include <stdio.h>
#include <string.h>

/* A row is WO_TEST(name), or WO_TEST_WITH_ARGUMENTS(name) when the test's main takes them. */
#define WO_TEST(name) int name##_main(void);
#define WO_TEST_WITH_ARGUMENTS(name) int name##_main(int argc, char **argv);
#include WO_TEST_LIST
#undef WO_TEST
#undef WO_TEST_WITH_ARGUMENTS

struct test {
  const char *name;
  int (*run)(void);
  int (*run_with_arguments)(int argc, char **argv);
};

static const struct test tests[] = {
#define WO_TEST(name) {#name, name##_main, NULL},
#define WO_TEST_WITH_ARGUMENTS(name) {#name, NULL, name##_main},
#include WO_TEST_LIST
#undef WO_TEST
#undef WO_TEST_WITH_ARGUMENTS
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      return tests[i].run != NULL ? tests[i].run() : tests[i].run_with_arguments(argc - 1, argv + 1);
    }
  }
  if (argc >= 2) fprintf(stderr, "%s: no test is called %s\n", argv[0], argv[1]);
  return 2;
}
