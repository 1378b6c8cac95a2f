/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: matches lie inside the text, go from left to right, and are bounded in number; fields hold ordered intervals; the
 * checker takes any expression. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/match/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 4096, REGEX_BYTES_MAX = 200 };

static const struct wo_view literals[] = {{"memory:", 7}};

static const struct wo_pattern patterns[] = {
    {.id = WO_VIEW("sizes"),
     .kind = WO_KIND_CUDA_OOM,
     .literals = literals,
     .literal_count = 1,
     .regex = WO_VIEW("(?<tried_bytes>[\\d.]+ ?[KMGT]?i?B)|(?<free_bytes>-?[\\d.e]+)"),
     .bare_scale = 1},
    {.id = WO_VIEW("counts"),
     .kind = WO_KIND_PROGRESS,
     .literals = literals,
     .literal_count = 1,
     .regex = WO_VIEW("(?<step>[-+\\d,.]+ ?[KMBT]?)|(?<utilization>[\\d.]+%?)")},
    {.id = WO_VIEW("texts"),
     .kind = WO_KIND_NOTE,
     .literals = literals,
     .literal_count = 1,
     .regex = WO_VIEW("(?<message>(?:\\S+ ?)*)x"),
     .unless = WO_VIEW("(a|aa)+$")},
    {.id = WO_VIEW("plain"), .kind = WO_KIND_KILLED, .literals = literals, .literal_count = 1},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

struct seen {
  struct wo_event_store store;
  struct wo_view text;
  size_t last_start;
};

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

static bool on_match(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct seen *const seen = context;
  const size_t start = wo_match_start(match);
  const struct wo_view text = wo_match_text(match);
  require(start >= seen->last_start && start <= seen->text.len && text.len <= seen->text.len - start);
  seen->last_start = start;
  struct wo_event *const event = wo_event_add(&seen->store, pattern->kind, (struct wo_span){0}, text);
  require(event != NULL && wo_match_fill(match, pattern, &seen->store, event));
  for (uint32_t i = 0; i < event->field_count; i++) {
    require(event->fields[i].number.lo <= event->fields[i].number.mid);
    require(event->fields[i].number.mid <= event->fields[i].number.hi);
  }
  char line[256];
  require(strlen(wo_event_to_text(event, line, sizeof line)) < sizeof line);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct seen seen = {.text = {(const char *)data, size < TEXT_BYTES_MAX ? size : TEXT_BYTES_MAX}};
  struct wo_pattern_set *set = NULL;
  wo_event_store_init(&seen.store);
  require(wo_pattern_set_new(patterns, PATTERN_COUNT, NULL, &set) == WO_OK);
  for (size_t i = 0; i < PATTERN_COUNT; i++) {
    seen.last_start = 0;
    require(wo_pattern_match(set, i, seen.text, on_match, &seen) <= WO_LIMIT_MATCHES_PER_LINE);
  }
  wo_pattern_set_free(set);
  wo_event_store_done(&seen.store);
  const struct wo_pattern any = {.where = WO_WHERE_TAIL, .regex = wo_view_sub(seen.text, 0, REGEX_BYTES_MAX)};
  struct wo_err err;
  require(wo_pattern_check(&any, &err) == WO_OK || err.message[0] != '\0');
  return 0;
}
