/* One run of a check, with its present explanations. See check_internal.h. */
#include "cuda_replay/replay/check_internal.h"

enum wo_status wo__check_run(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  const struct wo__start_trial_input input = {.recording = checker->recording,
                                              .trace = checker->trace,
                                              .pattern = &checker->pattern,
                                              .start = &checker->start,
                                              .settings = checker->settings,
                                              .torch = torch};
  size_t runs = 0;
  const enum wo_status status = wo__start_search(&input, &checker->start, ret_trial, &runs, checker->err);
  checker->check->layouts_tried += runs;
  checker->entries_run += (uint64_t)runs * checker->trace->entries.count;
  return status;
}

enum wo_status wo__check_make_pattern(struct wo__checker *checker) {
  wo_alloc_pattern_done(&checker->pattern);
  checker->readings.unsure.count = 0;
  return wo__alloc_pattern_read(checker->recording, checker->trace, &checker->readings, &checker->pattern, checker->err);
}
