/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every table of tests/table/ over the compiled-in patterns. One test for each file; all its wrong cases are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parsers/match/pattern.h"
#include "rules/load/rule.h"
#include "tests/support/files.h"
#include "tests/support/table.h"

#define TABLE_DIR WO_SOURCE_DIR "/tests/table/"

enum { MOST_TABLES = 64, COMPLAINT_BYTES = 64 * 1024 };

static struct {
  struct wo_pack *pack;
  struct wo_pattern_set *set;
} shared;

static int load_patterns(void **state) {
  (void)state;
  struct wo_err err;
  if (wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &shared.pack, &err) != WO_OK) {
    print_error("%s:%llu: %s\n", err.file, (unsigned long long)err.line, err.message);
    return -1;
  }
  return wo_pattern_set_new(shared.pack->patterns, shared.pack->pattern_count, NULL, &shared.set) == WO_OK ? 0 : -1;
}

static int free_patterns(void **state) {
  (void)state;
  shared.set = wo_pattern_set_free(shared.set);
  shared.pack = wo_pack_free(shared.pack);
  return 0;
}

/* *state is the file's name. */
static void run_table(void **state) {
  static char complaint[COMPLAINT_BYTES];
  const char *name = *state;
  char path[1024];
  struct wo_table table;
  size_t wrong = 0;
  snprintf(path, sizeof path, TABLE_DIR "%s", name);
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) {
    const struct wo_table_case *item = &table.items[i];
    if (wo_table_run(item, shared.set, complaint, sizeof complaint)) continue;
    wrong++;
    print_error("tests/table/%s:%llu: %.*s\n%s", name, (unsigned long long)item->line, (int)item->title.len, item->title.ptr,
                complaint);
  }
  print_message("%s: %zu of %zu cases\n", name, table.count - wrong, table.count);
  const size_t count = table.count;
  wo_table_done(&table);
  assert_true(count > 0);
  assert_int_equal(wrong, 0);
}

int main(void) {
  size_t count = 0;
  char **names = wo_files_names(TABLE_DIR, ".txt", &count);
  struct CMUnitTest tests[MOST_TABLES];
  if (count == 0 || count > MOST_TABLES) return 1;
  size_t test_count = 0;
  for (size_t i = 0; i < count; i++) {
    tests[test_count++] = (struct CMUnitTest){.name = names[i], .test_func = run_table, .initial_state = names[i]};
  }
  const int failed = _cmocka_run_group_tests("tables", tests, test_count, load_patterns, free_patterns);
  wo_files_free_names(names, count);
  return failed;
}
