/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of whole logs with their verdicts (tests/judged/). */
#ifndef JUDGED_H
#define JUDGED_H

#include <stdio.h>

#include "tests/support/job/job_sample.h"
#include "tests/support/table.h"

/* One table and how its expectations are read. */
struct judged_table {
  const char *name; /* of the file in tests/judged/ */
  size_t fewest;    /* cases that it must have */
  /* Whether a line of an expectation is true of what was made of the log. */
  bool (*holds)(const struct wo_pack *pack, const struct sample_job *sample, struct wo_view line);
  /* Prints what was made of the log, for a line that is not true. */
  void (*explain)(const struct sample_job *sample);
};

/* How many lines of a case are not true. Those that start with '#' are comments. */
static inline size_t judge_case(const struct judged_table *judged, const struct wo_pack *pack, const struct wo_table_case *item) {
  static char log[64 * 1024];
  struct sample_job sample;
  struct wo_view rest = item->expect;
  size_t failed = 0;
  assert_true(item->log.len < sizeof log);
  snprintf(log, sizeof log, "%.*s", (int)item->log.len, item->log.ptr);
  sample_log(&sample, pack, log);
  while (rest.len > 0) {
    const struct wo_view line = wo_view_trim(wo_view_cut(&rest, '\n'));
    if (line.len == 0 || line.ptr[0] == '#' || judged->holds(pack, &sample, line)) continue;
    print_error("%s:%llu: %.*s: not so: %.*s\n", judged->name, (unsigned long long)item->line, (int)item->title.len,
                item->title.ptr, (int)line.len, line.ptr);
    judged->explain(&sample);
    failed++;
  }
  sample_done(&sample);
  return failed;
}

/* Checks each case of the table. */
static inline void judge_table(const struct wo_pack *pack, const struct judged_table *judged) {
  char path[1024], complaint[512];
  struct wo_table table;
  size_t wrong = 0;
  snprintf(path, sizeof path, WO_SOURCE_DIR "/tests/judged/%s", judged->name);
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) wrong += judge_case(judged, pack, &table.items[i]);
  const size_t count = table.count;
  wo_table_done(&table);
  assert_true(count >= judged->fewest);
  assert_int_equal(wrong, 0);
}

#endif
