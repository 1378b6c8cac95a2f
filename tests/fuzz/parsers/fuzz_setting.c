/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes behind keys that knobs know, in front of them, and around them. Properties: a setting has knob, key, value and style,
 * and the same path however the input is cut; the place begins with the key and ends with the value when nothing had to be
 * cleaned. */
#include "tests/fuzz/scan_target.h"

static bool is_printable(struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] < 0x20 || text.ptr[i] > 0x7e) return false;
  }
  return true;
}

static void check_setting(const struct wo_event *event, struct wo_view log) {
  const struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
  const struct wo_view value = wo_event_text(event, WO_FIELD_VALUE);
  require(wo_event_text(event, WO_FIELD_KNOB).len > 0 && wo_event_text(event, WO_FIELD_STYLE).len > 0);
  require(key.len > 0 && value.len > 0 && value.len <= 3 * 200); /* an invalid byte becomes three */
  const struct wo_view origin = wo_event_text(event, WO_FIELD_ORIGIN);
  require(wo_event_text(event, WO_FIELD_PATH).len <= 3 * WO_LIMIT_PATH_BYTES);
  require(origin.len == 0 || wo_view_is(origin, "effective") || wo_view_is(origin, "command") ||
          wo_view_is(origin, "environment"));
  if (!is_printable(log)) return;
  const struct wo_view place = wo_view_sub(log, (size_t)event->span.byte, (size_t)event->span.byte + event->span.length);
  require(place.len >= key.len + value.len && wo_view_equal(wo_view_sub(place, 0, key.len), key));
  require(wo_view_equal(wo_view_skip(place, place.len - value.len), value));
}

/* The path is read backwards from the setting, so it must not depend on how much of the input was there. */
static void check_chunks(struct wo_view log, const struct wo_event_store *whole) {
  struct wo_event_store store;
  target_scan(log, 7, false, &store);
  require(store.count == whole->count);
  for (size_t i = 0; i < store.count; i++) {
    require(wo_view_equal(wo_event_text(&store.items[i], WO_FIELD_PATH), wo_event_text(&whole->items[i], WO_FIELD_PATH)));
    require(wo_view_equal(wo_event_text(&store.items[i], WO_FIELD_VALUE), wo_event_text(&whole->items[i], WO_FIELD_VALUE)));
  }
  wo_event_store_done(&store);
}

static void check_log(struct wo_view log) {
  struct wo_event_store store;
  const uint64_t joined_lines = target_scan(log, 0, false, &store);
  target_check_store(&store, log, joined_lines);
  check_chunks(log, &store);
  for (size_t i = 0; i < store.count; i++) {
    if (wo_event_field(&store.items[i], WO_FIELD_KNOB) != NULL) check_setting(&store.items[i], log);
  }
  wo_event_store_done(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const leads[] = {"micro_batch_size",
                                      "run --micro-batch-size",
                                      "{\"micro_batch_size\"",
                                      "export PYTORCH_CUDA_ALLOC_CONF=",
                                      "{\"zero_optimization\": {",
                                      "optimizer:\n  ",
                                      "LoraConfig(",
                                      "[zero_optimization]\n",
                                      "a:\n  b:\n    micro_batch_size: 1\n"};
  static const char key[] = "seq_length";
  char *const log = malloc(size + 64);
  require(log != NULL);
  for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
    const size_t lead = strlen(leads[i]);
    memcpy(log, leads[i], lead);
    if (size > 0) memcpy(log + lead, data, size);
    check_log((struct wo_view){log, lead + size});
  }
  /* The first half, a key, the second half. */
  const size_t half = size / 2;
  if (size > 0) memcpy(log, data, half);
  memcpy(log + half, key, sizeof key - 1);
  if (size > 0) memcpy(log + half + sizeof key - 1, data + half, size - half);
  check_log((struct wo_view){log, size + sizeof key - 1});
  free(log);
  return 0;
}
