/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of the scanner and of its readers share: the compiled-in patterns, loaded once; a scan of any bytes in
 * chunks; and what must hold for every piece of evidence. */
#ifndef WO_FUZZ_SCAN_TARGET_H
#define WO_FUZZ_SCAN_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/formats/formats.h"
#include "parsers/scan/scan.h"
#include "rules/load/embedded.h"
#include "rules/load/rule.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The compiled-in patterns. Made at the first call and kept: loading takes longer than many runs. */
static inline struct wo_pattern_set *target_patterns(void) {
  static struct wo_pack *pack;
  static struct wo_pattern_set *set;
  struct wo_err err;
  if (set != NULL) return set;
  require(wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) == WO_OK);
  require(wo_pattern_set_new(pack->patterns, pack->pattern_count, wo_rule_prefilter(), &set) == WO_OK);
  return set;
}

/* Scans a log in chunks of at most `chunk` bytes, the sizes varying; 0 = in one. Returns how many lines were joined with the one
 * before. */
static inline uint64_t target_scan(struct wo_view log, size_t chunk, bool no_prefilter, struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  const size_t bytes = log.len;
  size_t len = chunk;
  wo_event_store_init(store);
  const struct wo_scan_options options = {.no_prefilter = no_prefilter, .rank = WO_RANK_UNKNOWN};
  require(wo_scan_new(target_patterns(), &wo_formats, store, options, &scan) == WO_OK);
  while (log.len > 0) {
    if (chunk == 0 || len > log.len) len = log.len;
    require(wo_scan_feed(scan, log.ptr, len) == WO_OK);
    log = wo_view_skip(log, len);
    len = 1 + (len * 7 + 3) % (chunk + 1);
  }
  require(wo_scan_end(scan, &summary) == WO_OK);
  require(summary.bytes == bytes && summary.lines <= bytes);
  wo_scan_free(scan);
  return summary.joined_lines;
}

/* Valid UTF-8 without control characters: cleaning it again changes nothing. */
static inline bool target_is_clean(struct wo_view text) {
  char buf[WO_LIMIT_MESSAGE_BYTES];
  return wo_view_equal(wo_clean_utf8(text, buf, sizeof buf), text);
}

/* Sizes in PyTorch's messages are never negative; elsewhere a log may print one that is. */
static inline bool target_is_torch(const struct wo_event *event) {
  return wo_view_is(event->pattern_id, "torch-oom");
}

/* Ordered intervals, clean texts. */
static inline void target_check_field(const struct wo_event *event, const struct wo_field *field) {
  if (wo_field_type_of(field->id) == WO_FIELD_TYPE_TEXT) {
    require(field->text.len <= WO_LIMIT_MESSAGE_BYTES && target_is_clean(field->text));
    return;
  }
  require(field->number.lo <= field->number.mid && field->number.mid <= field->number.hi);
  require(!target_is_torch(event) || field->number.mid >= 0);
}

/* The place lies inside the input, and the line number fits it: of a line that was joined it is that of the first. */
static inline void target_check_event(const struct wo_event *event, const struct wo_event_store *store, struct wo_view log,
                                      uint64_t joined_lines) {
  require(event->span.byte <= log.len && event->span.length <= log.len - event->span.byte);
  uint64_t line = 1;
  for (size_t i = 0; i < event->span.byte; i++) line += log.ptr[i] == '\n';
  require(event->span.line <= line && line - event->span.line <= joined_lines);
  require(event->rank >= 0 || event->rank == WO_RANK_UNKNOWN);
  require(event->of == WO_EVENT_NONE || wo_event_get(store, event->of) != NULL);
  require(event->text.len <= WO_LIMIT_EVENT_TEXT_BYTES && target_is_clean(event->text));
  for (uint32_t i = 0; i < event->field_count; i++) target_check_field(event, &event->fields[i]);
}

static inline void target_check_store(const struct wo_event_store *store, struct wo_view log, uint64_t joined_lines) {
  for (size_t i = 0; i < store->count; i++) target_check_event(&store->items[i], store, log, joined_lines);
}

/* Both hold the same evidence at the same places. */
static inline void target_check_same(const struct wo_event_store *a, const struct wo_event_store *b) {
  static char text_a[16384], text_b[16384];
  require(a->count == b->count && a->dropped == b->dropped);
  for (size_t i = 0; i < a->count; i++) {
    const struct wo_event *in_a = &a->items[i], *in_b = &b->items[i];
    require(strcmp(wo_event_to_text(in_a, text_a, sizeof text_a), wo_event_to_text(in_b, text_b, sizeof text_b)) == 0);
    require(in_a->span.byte == in_b->span.byte && in_a->span.length == in_b->span.length);
    require(wo_view_equal(in_a->pattern_id, in_b->pattern_id));
    require(in_a->of == in_b->of && in_a->is_quoted == in_b->is_quoted && wo_view_equal(in_a->text, in_b->text));
  }
}

/* Scans `lead` and the data behind it; checks all evidence. The store is released by the caller. Returns how many lines were
 * joined with the one before. */
static inline uint64_t target_scan_behind(const char *lead, const uint8_t *data, size_t size, struct wo_event_store *store) {
  const size_t lead_len = strlen(lead);
  char *const log = malloc(lead_len + size + 1);
  require(log != NULL);
  memcpy(log, lead, lead_len);
  if (size > 0) memcpy(log + lead_len, data, size);
  const struct wo_view view = {log, lead_len + size};
  const uint64_t joined_lines = target_scan(view, 0, false, store);
  target_check_store(store, view, joined_lines);
  free(log);
  return joined_lines;
}

#endif
