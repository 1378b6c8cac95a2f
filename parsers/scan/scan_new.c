/* SPDX-License-Identifier: Apache-2.0 */
/* Making a scanner, and making it ready for the next input: what depends on the patterns alone is made once, and of the rest only
 * what an input has used is cleared. */
#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/scan/scan_internal.h"
#include "parsers/scan/wrap/wrap.h"

/* Collects the patterns of a place, behind those that were collected before: those for words of a stage, or the others. */
static struct wo_places collect_places(struct wo_scan *scan, enum wo_where where, bool is_stage, size_t *used) {
  struct wo_places places = {.items = scan->by_place + *used};
  for (size_t i = 0; i < wo_pattern_count(scan->set); i++) {
    const struct wo_pattern *const pattern = wo_pattern_at(scan->set, i);
    if (pattern->where == where && (pattern->kind == WO_KIND_STAGE) == is_stage) scan->by_place[*used + places.count++] = i;
  }
  *used += places.count;
  return places;
}

/* The reader of each pattern, and how its lines are treated. Most patterns have none, or the reader of the one before, named by
 * the same text. False without memory. */
static bool find_readers(struct wo_scan *scan, const struct wo_formats *formats) {
  const size_t total = wo_pattern_count(scan->set);
  struct wo_view name = {0};
  const struct wo_format *reader = NULL;
  scan->ways = calloc(total + 1, sizeof *scan->ways);
  scan->first_ways = calloc(total + 1, sizeof *scan->first_ways);
  scan->readers = calloc(total + 1, sizeof *scan->readers);
  if (!scan->ways || !scan->first_ways || !scan->readers) return false;
  for (size_t i = 0; i < total; i++) {
    const struct wo_pattern *const pattern = wo_pattern_at(scan->set, i);
    if (pattern->reader.len == 0) {
      if (pattern->kind == WO_KIND_MEMORY_USE || pattern->kind == WO_KIND_RUN_START) scan->first_ways[i] = WO_SCAN_WAY_FLOOD;
      if (pattern->kind == WO_KIND_FRAMEWORK) scan->first_ways[i] = WO_SCAN_WAY_FIRST;
      continue;
    }
    if (pattern->reader.ptr != name.ptr || pattern->reader.len != name.len) reader = wo_format_find(formats, pattern->reader);
    name = pattern->reader;
    scan->readers[i] = reader;
    if (reader && reader->short_way) scan->first_ways[i] = WO_SCAN_WAY_SHORT;
  }
  return true;
}

/* Bytes of the largest state, rounded up so that states can lie one after the other. */
static size_t largest_state(const struct wo_formats *formats) {
  size_t most = wo__format_aftermath.state_bytes;
  for (size_t i = 0; i < formats->count; i++) {
    if (formats->items[i]->state_bytes > most) most = formats->items[i]->state_bytes;
  }
  return (most + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* The followers of the formats, each once. */
static void find_followers(struct wo_scan *scan, const struct wo_formats *formats) {
  for (size_t i = 0; i < formats->count; i++) {
    const struct wo_follower *const follower = formats->items[i]->follower;
    bool is_known = follower == NULL;
    for (size_t j = 0; j < scan->followed_count; j++) is_known = is_known || scan->followed[j].follower == follower;
    if (is_known) continue;
    assert(scan->followed_count < WO_SCAN_FOLLOWERS_MAX);
    scan->followed[scan->followed_count++].follower = follower;
  }
}

static void free_followed(struct wo_scan *scan) {
  for (size_t i = 0; i < scan->followed_count; i++) {
    const struct wo_followed *const followed = &scan->followed[i];
    if (followed->state && followed->follower->done) followed->follower->done(followed->state);
    free(followed->state);
    scan->followed[i].state = NULL;
  }
}

/* Everything that an input leaves behind. Texts and tables are not cleared: what is in them counts only as far as it was written
 * for the input that is read. */
void wo_scan_restart(struct wo_scan *scan, struct wo_event_store *store, struct wo_scan_options options) {
  assert(scan->open_count == 0 && store);
  struct wo_unwrap *const unwrap = &scan->unwrap;
  free_followed(scan);
  wo_prefilter_free(scan->opening.filter);
  memcpy(scan->ways, scan->first_ways, wo_pattern_count(scan->set));
  if (scan->setting_count > 0) memset(scan->settings, 0, sizeof scan->settings);
  scan->setting_count = 0;
  scan->store = store;
  scan->options = options;
  scan->limit_hits = wo_pattern_limit_hits(scan->set);
  scan->buf_len = scan->pos = scan->line_start = 0;
  scan->buf_offset = scan->open_start = scan->long_lines = 0;
  scan->line_number = options.first_line > 0 ? options.first_line : 1;
  scan->is_in_long_line = scan->has_nul = scan->is_at_end = scan->is_about_memory = false;
  unwrap->wrap->width = 0;
  unwrap->wrap->has_begun = unwrap->wrap->is_whole = false;
  unwrap->raw_start = unwrap->raw_end = unwrap->parts = unwrap->line_bytes = unwrap->width = 0;
  unwrap->is_in_long_line = false;
  unwrap->total = unwrap->dropped = (struct wo_taken_out){0};
  unwrap->seams.count = 0;
  scan->pending_count = scan->context_count = 0;
  scan->walk_memo = (struct wo_walk_memo){0};
  scan->stamp_memo.is_set = false;
  scan->walked_bytes = scan->looked_back_bytes = 0;
  scan->opening.filter = NULL;
  scan->opening.has_no_filter = scan->opening.is_over = false;
  scan->opening.count = scan->opening.again = scan->opening.found = 0;
  scan->opening.watched = 0;
  scan->label = (struct wo_label){0};
  scan->told = (struct wo_scan_summary){0};
}

/* The memory of a scanner. False if there is none. */
static bool make_room(struct wo_scan *scan, const struct wo_formats *formats) {
  const size_t count = wo_pattern_count(scan->set);
  scan->buf_cap = 2 * WO_LIMIT_LOOKBACK_BYTES + 2 * WO_LIMIT_LINE_BYTES + WO_LIMIT_READ_BYTES + WO_LIMIT_WRAP_LAST_BYTES;
  scan->unwrap.wrap = calloc(1, sizeof *scan->unwrap.wrap);
  scan->buf = malloc(scan->buf_cap);
  scan->clean = malloc(WO_LIMIT_LINE_BYTES);
  scan->state_bytes = largest_state(formats);
  scan->states = malloc(WO_LIMIT_OPEN_READERS * scan->state_bytes);
  scan->messages = malloc((size_t)WO_LIMIT_OPEN_READERS * WO_LIMIT_MESSAGE_BYTES);
  scan->owner_words = count / 64 + 1;
  scan->owners = calloc(scan->owner_words, sizeof *scan->owners);
  scan->by_place = calloc(3 * count + 1, sizeof *scan->by_place); /* those of the tail also by their sort */
  return scan->buf && scan->unwrap.wrap && scan->clean && scan->messages && scan->states && scan->owners && scan->by_place &&
         find_readers(scan, formats);
}

enum wo_status wo_scan_new(struct wo_pattern_set *set, const struct wo_formats *formats, struct wo_event_store *store,
                           struct wo_scan_options options, struct wo_scan **ret_scan) {
  assert(set && formats && store && ret_scan);
  struct wo_scan *scan = calloc(1, sizeof *scan);
  if (!scan) return WO_E_NOMEM;
  scan->set = set;
  scan->prefilter = wo_pattern_set_prefilter(set);
  find_followers(scan, formats);
  if (!make_room(scan, formats)) {
    wo_scan_free(scan);
    return WO_E_NOMEM;
  }
  size_t used = 0;
  scan->before = collect_places(scan, WO_WHERE_BEFORE, false, &used);
  scan->stages = collect_places(scan, WO_WHERE_BEFORE, true, &used);
  scan->tail = collect_places(scan, WO_WHERE_TAIL, false, &used);
  scan->net = wo_literal_net_new(set, scan->by_place, used);
  scan->head = collect_places(scan, WO_WHERE_HEAD, false, &used);
  if (!scan->net) {
    wo_scan_free(scan);
    return WO_E_NOMEM;
  }
  wo_literal_net_place(scan->net, &scan->before);
  wo_literal_net_place(scan->net, &scan->stages);
  wo__scan_sort_tail(scan, scan->by_place + used);
  wo_scan_restart(scan, store, options);
  *ret_scan = scan;
  return WO_OK;
}

struct wo_scan *wo_scan_free(struct wo_scan *scan) {
  if (!scan) return NULL;
  free(scan->buf);
  free(scan->unwrap.wrap);
  WO_VEC_DONE(&scan->unwrap.seams);
  free(scan->clean);
  free(scan->messages);
  free(scan->states);
  free(scan->owners);
  free(scan->by_place);
  wo_literal_net_free(scan->net);
  wo_prefilter_free(scan->opening.filter);
  free(scan->ways);
  free(scan->first_ways);
  free(scan->readers);
  free_followed(scan);
  free(scan);
  return NULL;
}
