/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as accounting text, or as a script's head, behind the first line that each reader begins with; the first byte chooses
 * it. Properties: a state is one of SLURM's names; an ending has a state and stands behind the figures of its job; sizes and
 * counts are never negative.
 */
#include "parsers/formats/accounting/account.h"
#include "tests/fuzz/scan_target.h"

#define COLUMNS                                                                                                                  \
  "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"                                              \
  "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"

static const char *const leads[] = {
    "JobId=5210 JobName=x\n",
    "JobID|State|ExitCode|MaxRSS|ReqMem|AllocTRES\n",
    COLUMNS,
    "\"jobs\": [\n",
    "Job ID: 5250\n",
    "#!/bin/bash\n#SBATCH --mem-per-gpu=8G ",
    "{\"nodes\":{\"gpu07\":{\"gpu_total_memory\":{\"0\":42949672960},",
};

static void check_state(const struct wo_event *event, bool *has_info) {
  const struct wo_view state = wo_event_text(event, WO_FIELD_STATE);
  if (state.len == 0) return;
  require(wo_view_equal(wo__account_state(state), state));
  if (event->kind == WO_KIND_JOB_INFO) *has_info = true;
  require(*has_info);
  require(event->kind == WO_KIND_JOB_INFO || wo_kind_class(event->kind) == WO_CLASS_ENDING || event->kind == WO_KIND_TASK_EXIT ||
          event->kind == WO_KIND_KILLED || event->kind == WO_KIND_CGROUP_OOM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const enum wo_field_id counts[] = {WO_FIELD_LIMIT_BYTES, WO_FIELD_USED_BYTES, WO_FIELD_GPUS, WO_FIELD_ELAPSED_S,
                                            WO_FIELD_NODE_COUNT};
  struct wo_event_store store;
  bool has_info = false;
  if (size == 0) return 0;
  target_scan_behind(leads[data[0] % (sizeof leads / sizeof leads[0])], data + 1, size - 1, &store);
  for (size_t i = 0; i < store.count; i++) {
    const struct wo_event *event = &store.items[i];
    check_state(event, &has_info);
    if (wo_event_field(event, WO_FIELD_STATE) == NULL && event->kind != WO_KIND_SBATCH) continue;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) require(wo_event_number(event, counts[n], 0) >= 0);
  }
  wo_event_store_done(&store);
  return 0;
}
