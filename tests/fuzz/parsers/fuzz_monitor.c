/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the rows of a monitoring trace; the first byte chooses the header. Properties: a card has one event in a trace of
 * one format; the last figure is not above the peak; a mean lies within what was printed; chunks do not matter. */
#include "tests/fuzz/scan_target.h"

static const char *const leads[] = {
    "# gpu    sm    fb\n",
    "#Date       Time        gpu    sm    fb\n",
    "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n",
    "timestamp,memory.used,memory.total\n",
    "uuid, memory.used [MiB]\n",
    "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n",
    "==============NVSMI LOG==============\n",
    "",
    "# gpu        pid  type    sm   mem    fb   command\n",
    "pid, process_name, used_gpu_memory [MiB]\n",
    "<nvidia_smi_log>\n<gpu id=\"00000000:08:00.0\">\n<fb_memory_usage>\n",
    "#Entity   GPUTL                       FBUSD                       FBTTL\n",
    "    \"query_time\": \"2024-01-01T12:00:00\",\n        \"index\": 0,\n",
    "|                  PyTorch CUDA memory summary, device ID 0                 |\n",
    "2023/06/22 18:56:56.252, 0, 22 %, 841 MiB, 8192 MiB\n",
};

static void check(const struct wo_event *event) {
  const double peak = wo_event_number(event, WO_FIELD_FB_PEAK_BYTES, 0);
  const double last = wo_event_number(event, WO_FIELD_FB_LAST_BYTES, 0);
  const double gpu = wo_event_number(event, WO_FIELD_GPU, -1);
  require(gpu >= 0 && gpu < 1024);
  require(wo_event_number(event, WO_FIELD_SAMPLES, 0) >= 1);
  require(last >= 0 && peak >= last);
  require(wo_event_number(event, WO_FIELD_SM_MEAN_PCT, 0) >= 0);
  const double idle = wo_event_number(event, WO_FIELD_IDLE_PCT, 0);
  require(idle >= 0 && idle <= 100);
  require(wo_event_number(event, WO_FIELD_ACTIVE_SAMPLES, 0) <= wo_event_number(event, WO_FIELD_SAMPLES, 0));
  require(wo_event_number(event, WO_FIELD_FB_LATE_RISE_BYTES, 0) >= 0);
  const struct wo_field *const trend = wo_event_field(event, WO_FIELD_FB_TREND_BYTES_PER_SAMPLE);
  require(!trend || (trend->number.lo <= trend->number.mid && trend->number.mid <= trend->number.hi));
}

static void check_process(const struct wo_event *event) {
  require(wo_event_number(event, WO_FIELD_SAMPLES, 0) >= 1);
  require(wo_event_number(event, WO_FIELD_GPU, 0) >= 0 && wo_event_number(event, WO_FIELD_PID, 1) >= 1);
  require(wo_event_number(event, WO_FIELD_PEAK_BYTES, 0) >= 0);
}

/* Whether an event before it tells of the same card. */
static bool is_told(const struct wo_event_store *store, const struct wo_event *event) {
  for (size_t i = 0; i < (size_t)event->id; i++) {
    const struct wo_event *const other = &store->items[i];
    const bool is_same = wo_event_number(other, WO_FIELD_GPU, -1) == wo_event_number(event, WO_FIELD_GPU, -1);
    if (other->kind == WO_KIND_MONITOR && is_same && wo_view_equal(other->pattern_id, event->pattern_id)) return true;
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { BYTES_MAX = 6000, LEADS = sizeof leads / sizeof leads[0] };
  static char log[BYTES_MAX + 256];
  struct wo_event_store whole, other;
  if (size == 0) return 0;
  if (size > BYTES_MAX) size = BYTES_MAX;
  const char *const lead = leads[data[0] % LEADS];
  const size_t lead_len = strlen(lead);
  memcpy(log, lead, lead_len);
  memcpy(log + lead_len, data + 1, size - 1);
  const struct wo_view view = {log, lead_len + size - 1};
  const uint64_t joined_lines = target_scan(view, 0, false, &whole);
  target_check_store(&whole, view, joined_lines);
  for (size_t i = 0; i < whole.count; i++) {
    if (whole.items[i].kind == WO_KIND_GPU_PROCESS) check_process(&whole.items[i]);
    if (whole.items[i].kind != WO_KIND_MONITOR) continue;
    check(&whole.items[i]);
    require(!is_told(&whole, &whole.items[i]));
  }
  target_scan(view, 1 + size % 61, false, &other);
  target_check_same(&whole, &other);
  wo_event_store_done(&other);
  wo_event_store_done(&whole);
  return 0;
}
