/* SPDX-License-Identifier: Apache-2.0 */
/* A scan that is kept and gone on from, with bytes of the state changed in between, as in a store that somebody else made. Either
 * the state is refused, or the scanner goes on: no crash, ordered numbers, clean texts. A state that was not changed is taken.
 *
 * Input: how many bytes are changed, and for each its place (two bytes) and its value; then a text, which is repeated until it is
 * long enough to be kept. */
#include "tests/fuzz/scan_target.h"

enum { TEXT_BYTES = 140 * 1024, FED_BYTES = 132 * 1024, CHANGE_BYTES = 3, SEED_BYTES_MAX = 8192 };

static struct wo_view make_log(const uint8_t *data, size_t size, char *log) {
  if (size > SEED_BYTES_MAX) size = SEED_BYTES_MAX;
  for (size_t at = 0; size > 0 && at < TEXT_BYTES; at += size)
    memcpy(log + at, data, TEXT_BYTES - at < size ? TEXT_BYTES - at : size);
  return (struct wo_view){log, size > 0 ? TEXT_BYTES : 0};
}

/* A scanner that is ready, the same one each time. */
static struct wo_scan *make_scan(struct wo_event_store *store) {
  static struct wo_scan *scan;
  const struct wo_scan_options options = {.rank = WO_RANK_UNKNOWN};
  wo_event_store_init(store);
  if (scan) {
    wo_scan_restart(scan, store, options);
  } else {
    require(wo_scan_new(target_patterns(), &wo_formats, store, options, &scan) == WO_OK);
  }
  return scan;
}

/* Whether the rest of the log could be read from there. */
static bool read_rest(struct wo_view log, struct wo_view state, const struct wo_scan_place *place, struct wo_view before) {
  struct wo_event_store store;
  struct wo_scan_summary summary;
  struct wo_scan *const scan = make_scan(&store);
  const bool is_taken = wo_scan_go_on(scan, state, place, before);
  if (is_taken) {
    const struct wo_view rest = wo_view_skip(log, (size_t)place->next);
    require(wo_scan_feed(scan, rest.ptr, rest.len) == WO_OK && wo_scan_end(scan, &summary) == WO_OK);
    require(summary.bytes == log.len);
  }
  for (size_t i = 0; i < store.count; i++) {
    const struct wo_event *const event = &store.items[i];
    require(target_is_clean(event->text));
    for (uint32_t k = 0; k < event->field_count; k++) target_check_field(event, &event->fields[k]);
  }
  wo_event_store_done(&store);
  return is_taken;
}

/* Reads the first part of the log and keeps the scan there. */
static bool keep(struct wo_view log, struct wo_text *state, struct wo_scan_place *place, char *before) {
  struct wo_event_store store;
  struct wo_scan_summary summary;
  struct wo_scan *const scan = make_scan(&store);
  struct wo_view view = {0};
  require(wo_scan_feed(scan, log.ptr, FED_BYTES) == WO_OK);
  const bool is_kept = wo_scan_keep(scan, state, place, &view);
  require(!is_kept || (view.len == place->before && place->before <= WO_SCAN_BEFORE_MAX && place->next <= FED_BYTES));
  require(!is_kept || memcmp(view.ptr, log.ptr + place->next - view.len, view.len) == 0);
  if (is_kept) memcpy(before, view.ptr, view.len);
  require(wo_scan_end(scan, &summary) == WO_OK);
  wo_event_store_done(&store);
  return is_kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[TEXT_BYTES], before[WO_SCAN_BEFORE_MAX];
  if (size == 0) return 0;
  const size_t room = (size - 1) / CHANGE_BYTES, changes = data[0] % 32 < room ? data[0] % 32 : room;
  const uint8_t *const change = data + 1;
  const struct wo_view log = make_log(change + changes * CHANGE_BYTES, size - 1 - changes * CHANGE_BYTES, text);
  struct wo_text state = {0};
  struct wo_scan_place place;
  if (log.len > 0 && keep(log, &state, &place, before)) {
    for (size_t i = 0; i < changes; i++) {
      const size_t at = (size_t)change[CHANGE_BYTES * i] | (size_t)change[CHANGE_BYTES * i + 1] << 8;
      state.ptr[at % state.len] = (char)change[CHANGE_BYTES * i + 2];
    }
    const struct wo_view seen = {before, (size_t)place.before};
    const bool is_taken = read_rest(log, (struct wo_view){state.ptr, state.len}, &place, seen);
    require(is_taken || changes > 0);
    if (state.len > 0) require(!read_rest(log, (struct wo_view){state.ptr, state.len - 1}, &place, seen));
  }
  wo_text_done(&state);
  return 0;
}
