/* Tables of whole logs with their verdicts (tests/judged/). */
#ifndef JUDGED_H
#define JUDGED_H

#include <stdio.h>

#include "rules/load/rule.h"
#include "tests/support/table.h"

/* Reads tests/judged/<name> and checks each case. `check` prints what is wrong with a case, and returns how much; the table must
 * have `fewest` cases. */
static inline void judge_table(const struct wo_pack *pack, const char *name, size_t fewest,
                               size_t (*check)(const struct wo_pack *, const struct wo_table_case *)) {
  char path[1024], complaint[512];
  struct wo_table table;
  size_t wrong = 0;
  snprintf(path, sizeof path, WO_SOURCE_DIR "/tests/judged/%s", name);
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) wrong += check(pack, &table.items[i]);
  const size_t count = table.count;
  wo_table_done(&table);
  assert_true(count >= fewest);
  assert_int_equal(wrong, 0);
}

#endif
