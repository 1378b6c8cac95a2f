/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a check, with its present explanations. See check_internal.h. */
#include "cuda_replay/replay/check_internal.h"

/* The entries of all runs together after which nothing more is tried, and so many runs of a long recording. */
#define ENTRIES_RUN_MAX 8000000
#define RUNS_OF_ALL 32

enum wo_status wo__check_run(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  const struct wo__start_trial_input input = {.recording = checker->recording,
                                              .trace = checker->trace,
                                              .pattern = &checker->pattern,
                                              .start = &checker->start,
                                              .settings = checker->settings,
                                              .torch = torch,
                                              .garbage_limit_bytes = checker->garbage_limit_bytes};
  size_t runs = 0;
  const enum wo_status status = wo__start_search(&input, &checker->start, ret_trial, &runs, checker->err);
  checker->check->layouts_tried += runs;
  checker->entries_run += (uint64_t)runs * checker->trace->entries.count;
  return status;
}

bool wo__check_can_go_on(const struct wo__checker *checker) {
  return checker->entries_run < ENTRIES_RUN_MAX + RUNS_OF_ALL * (uint64_t)checker->trace->entries.count;
}

enum wo_status wo__check_make_pattern(struct wo__checker *checker) {
  wo_alloc_pattern_done(&checker->pattern);
  checker->readings.unsure.count = 0;
  return wo__alloc_pattern_read(checker->recording, checker->trace, &checker->readings, &checker->pattern, checker->err);
}
