/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the scanner and of its readers share: the compiled-in patterns, logs that are put together piece by piece,
 * and scans of them in chunks of any size. Included after cmocka.h. */
#ifndef WO_SCAN_SAMPLE_H
#define WO_SCAN_SAMPLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/formats/formats.h"
#include "parsers/scan/scan.h"
#include "rules/load/rule.h"

/* Chunk sizes of sample_scan; any other number is a size in bytes. */
enum { CHUNK_WHOLE = 0, CHUNK_RANDOM = -1 };

/* The compiled-in patterns, ready for matching. */
struct sample_patterns {
  struct wo_pack *pack;
  struct wo_pattern_set *set;
};

/* Group set-up: *state becomes a struct sample_patterns. */
static inline int sample_setup(void **state) {
  struct sample_patterns *patterns = calloc(1, sizeof *patterns);
  struct wo_err err;
  if (patterns == NULL) return -1;
  *state = patterns;
  if (wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &patterns->pack, &err) != WO_OK) {
    print_error("%s:%llu: %s\n", err.file, (unsigned long long)err.line, err.message);
    return -1;
  }
  return wo_pattern_set_new(patterns->pack->patterns, patterns->pack->pattern_count, NULL, &patterns->set) == WO_OK ? 0 : -1;
}

static inline int sample_teardown(void **state) {
  struct sample_patterns *patterns = *state;
  wo_pattern_set_free(patterns->set);
  wo_pack_free(patterns->pack);
  free(patterns);
  return 0;
}

/* Marsaglia's xorshift64: the same numbers on every machine. */
static inline uint64_t sample_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static inline size_t sample_below(uint64_t *seed, size_t end) {
  return (size_t)(sample_random(seed) % end);
}

/* ---- Logs ---- */

/* A log that is being written. */
struct sample_log {
  char *text;
  size_t len;
  size_t cap;
};

static inline void sample_put(struct sample_log *log, const char *bytes, size_t len) {
  if (log->len + len > log->cap) {
    log->cap = 2 * (log->len + len);
    log->text = realloc(log->text, log->cap);
    assert_non_null(log->text);
  }
  if (len > 0) memcpy(log->text + log->len, bytes, len);
  log->len += len;
}

static inline void sample_say(struct sample_log *log, const char *text) {
  sample_put(log, text, strlen(text));
}

static inline void sample_fill(struct sample_log *log, char c, size_t count) {
  char block[512];
  memset(block, c, sizeof block);
  for (; count > sizeof block; count -= sizeof block) sample_put(log, block, sizeof block);
  sample_put(log, block, count);
}

static inline struct wo_view sample_view(const struct sample_log *log) {
  return (struct wo_view){log->text, log->len};
}

static inline void sample_free(struct sample_log *log) {
  free(log->text);
  *log = (struct sample_log){0};
}

/* ---- Scans ---- */

static inline size_t sample_chunk(int chunk, size_t left, uint64_t *seed) {
  static const size_t sizes[] = {1, 2, 13, 500, 4096, 30000, 70000, 300000};
  size_t len = chunk == CHUNK_WHOLE ? left : (size_t)chunk;
  if (chunk == CHUNK_RANDOM) len = 1 + sample_below(seed, sizes[sample_below(seed, sizeof sizes / sizeof sizes[0])]);
  return len < left ? len : left;
}

/* Scans a log; the store is released by the caller. Each chunk is an allocation of its own, so that reading beyond it is caught.
 */
static inline struct wo_scan_summary sample_scan_with(struct wo_pattern_set *set, struct wo_view log, int chunk,
                                                      struct wo_scan_options options, struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary = {0};
  uint64_t seed = log.len + 88172645463325252u;
  wo_event_store_init(store);
  assert_int_equal(wo_scan_new(set, &wo_formats, store, options, &scan), WO_OK);
  while (log.len > 0) {
    const size_t len = sample_chunk(chunk, log.len, &seed);
    char *const copy = malloc(len);
    assert_non_null(copy);
    memcpy(copy, log.ptr, len);
    assert_int_equal(wo_scan_feed(scan, copy, len), WO_OK);
    free(copy);
    log = wo_view_skip(log, len);
  }
  assert_int_equal(wo_scan_end(scan, &summary), WO_OK);
  assert_null(wo_scan_free(scan));
  return summary;
}

static inline struct wo_scan_summary sample_scan(struct wo_pattern_set *set, struct wo_view log, int chunk,
                                                 struct wo_event_store *store) {
  return sample_scan_with(set, log, chunk, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, store);
}

static inline void sample_scan_text(struct wo_pattern_set *set, const char *text, struct wo_event_store *store) {
  sample_scan(set, wo_view_of(text), CHUNK_WHOLE, store);
}

/* ---- Questions ---- */

/* The n-th event (from 0) of a kind, or NULL. */
static inline const struct wo_event *sample_find(const struct wo_event_store *store, enum wo_kind kind, size_t n) {
  for (size_t i = 0; i < store->count; i++) {
    if (store->items[i].kind == kind && n-- == 0) return &store->items[i];
  }
  return NULL;
}

static inline size_t sample_count(const struct wo_event_store *store, enum wo_kind kind) {
  size_t count = 0;
  while (sample_find(store, kind, count) != NULL) count++;
  return count;
}

/* Fails unless the text field is exactly `text`; NULL: the event must not have it. */
static inline void sample_expect_text(const struct wo_event *event, enum wo_field_id id, const char *text) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (text == NULL ? field == NULL : field != NULL && wo_view_is(field->text, text)) return;
  fail_msg("%s is \"%.*s\", not \"%s\"", wo_field_name(id), field != NULL ? (int)field->text.len : 0,
           field != NULL ? field->text.ptr : "", text != NULL ? text : "(nothing)");
}

/* Fails unless the number field's nominal value is `value`; -1: the event must not have it. */
static inline void sample_expect_number(const struct wo_event *event, enum wo_field_id id, double value) {
  const double found = wo_event_number(event, id, -1);
  if (fabs(found - value) > 0.5) fail_msg("%s is %.0f, not %.0f", wo_field_name(id), found, value);
}

/* Fails unless both stores hold the same evidence at the same places. */
static inline void sample_expect_same(const struct wo_event_store *a, const struct wo_event_store *b) {
  static char text_a[8192], text_b[8192];
  for (size_t i = 0; i < a->count || i < b->count; i++) {
    text_a[0] = text_b[0] = '\0';
    if (i < a->count) wo_event_to_text(&a->items[i], text_a, sizeof text_a);
    if (i < b->count) wo_event_to_text(&b->items[i], text_b, sizeof text_b);
    if (strcmp(text_a, text_b) != 0) fail_msg("event %zu: %s\nagainst: %s", i, text_a, text_b);
    assert_true(a->items[i].span.byte == b->items[i].span.byte && a->items[i].span.length == b->items[i].span.length);
    assert_true(a->items[i].of == b->items[i].of && wo_view_equal(a->items[i].text, b->items[i].text));
  }
  assert_true(a->dropped == b->dropped);
}

/* Cut anywhere, a trace of a monitor gives no more than one sum, of whole rows: never more than these samples, never a higher
 * peak. */
static inline void sample_cut_monitor(struct wo_pattern_set *set, const char *trace, double samples, double peak_bytes) {
  const size_t whole = strlen(trace);
  for (size_t len = 0; len <= whole; len++) {
    struct wo_event_store store;
    sample_scan(set, (struct wo_view){trace, len}, CHUNK_RANDOM, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_MONITOR, 0);
    assert_true(sample_count(&store, WO_KIND_MONITOR) <= 1);
    if (len == whole) assert_non_null(event);
    if (event != NULL) {
      assert_true(wo_event_number(event, WO_FIELD_SAMPLES, 0) <= samples);
      assert_true(wo_event_number(event, WO_FIELD_FB_PEAK_BYTES, 0) <= peak_bytes);
    }
    wo_event_store_done(&store);
  }
}

#endif
