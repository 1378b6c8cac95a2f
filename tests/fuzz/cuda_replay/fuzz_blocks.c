/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes behind the first lines of messages and blocks that go on in further lines: wrapped messages, XLA's buffers, the BFC
 * allocator's dump, the kernel's tables. Properties: evidence stands inside the input with clean texts and ordered intervals,
 * what was said in the first line stays, sizes of blocks are not negative, and chunks and the prefilter change nothing. */
#include "tests/fuzz/scan_target.h"

static const char *const leads[] = {
    "RESOURCE_EXHAUSTED: Out of memory while trying to\n",
    "[rank1]: ValueError: To serve at least one request with the model's max seq len (4096),\n[rank1]: ",
    "ResourceExhaustedError: OOM when allocating tensor with shape[8,16]\n",
    "Prefill out of memory. Try to lower your batch size.\n",
    "BufferAssignment stats:\n",
    "I tensorflow/core/common_runtime/bfc_allocator.cc:702] Stats: \n",
    "Memory cgroup stats for /slurm/uid_1/job_2/step_0:\n",
    "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n",
    "memory: usage 1024kB, limit 2048kB, failcnt 1\n",
};

static const enum wo_field_id sums[] = {WO_FIELD_LARGEST_BYTES, WO_FIELD_COUNT};

static void check_lead(const char *lead, const uint8_t *data, size_t size) {
  struct wo_event_store store;
  const uint64_t joined_lines = target_scan_behind(lead, data, size, &store);
  require(store.count >= 1 || joined_lines > 0 || store.dropped > 0 ||
          strstr(lead, "OOM when") != NULL); /* may turn out to be the host's */
  for (size_t i = 0; i < store.count; i++) {
    const struct wo_event *event = &store.items[i];
    if (event->kind != WO_KIND_NOTE) continue;
    for (size_t k = 0; k < sizeof sums / sizeof sums[0]; k++) require(wo_event_number(event, sums[k], 0) >= 0);
  }
  wo_event_store_done(&store);
}

/* A message before the bytes and one behind them. */
static void check_same(const uint8_t *data, size_t size) {
  struct wo_event_store whole, pieces;
  const size_t lead_len = strlen(leads[0]);
  char *const log = malloc(2 * lead_len + size + 1);
  require(log != NULL);
  memcpy(log, leads[0], lead_len);
  if (size > 0) memcpy(log + lead_len, data, size);
  memcpy(log + lead_len + size, leads[0], lead_len);
  const struct wo_view view = {log, 2 * lead_len + size};
  target_scan(view, 0, false, &whole);
  target_scan(view, 3, true, &pieces);
  target_check_same(&whole, &pieces);
  wo_event_store_done(&whole);
  wo_event_store_done(&pieces);
  free(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) check_lead(leads[i], data, size);
  check_same(data, size);
  return 0;
}
