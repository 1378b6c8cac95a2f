/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are looked at for progress, success and failure: matched pattern after pattern, and cleaned only if need be. */
#include "parsers/scan/candidate.h"

#include <string.h>

#include "parsers/base/clean.h"

struct wo_candidate wo__candidate_of(const struct wo_scan *scan, const struct wo_line *line) {
  return (struct wo_candidate){.raw = line->raw, .line = line, .hits = wo_literal_net_find(scan->net, line->raw)};
}

/* Cleaning repairs a cut in the middle of a character. */
struct wo_view wo__candidate_end(struct wo_view raw) {
  return raw.len > WO_SCAN_AROUND_BYTES ? wo_view_skip(raw, raw.len - WO_SCAN_AROUND_BYTES) : raw;
}

struct wo_candidate wo__candidate_at(const struct wo_scan *scan, struct wo_view raw, uint64_t number, uint64_t offset) {
  const struct wo_view end = wo__candidate_end(raw);
  const uint64_t skipped = raw.len - end.len;
  return (struct wo_candidate){
      .raw = end, .number = number, .offset = offset + skipped, .hits = wo_literal_net_find(scan->net, end)};
}

const struct wo_line *wo__candidate_line(struct wo_scan *scan, struct wo_candidate *candidate) {
  if (candidate->line == NULL) {
    wo_scan_make_line(scan, candidate->raw, candidate->number, candidate->offset, &candidate->made);
    candidate->line = &candidate->made;
  }
  return candidate->line;
}

bool wo__candidate_has_literal(const struct wo_scan *scan, size_t pattern, const struct wo_candidate *candidate) {
  return wo_literal_net_has(scan->net, &candidate->hits, pattern);
}

struct found {
  bool is_found;
  struct wo_candidate_step *step;
};

static bool on_found(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct found *const found = context;
  (void)pattern;
  found->is_found = true;
  if (found->step) wo_view_copy(wo_match_group(match, "step"), found->step->text, sizeof found->step->text);
  return false;
}

size_t wo__candidate_match(struct wo_scan *scan, const struct wo_places *places, struct wo_candidate *candidate,
                           struct wo_candidate_step *ret_step) {
  struct found found = {.step = ret_step};
  size_t at = 0;
  size_t pattern = wo_literal_net_next(scan->net, &candidate->hits, places, &at);
  if (pattern == WO_NOT_FOUND) return WO_NOT_FOUND;
  wo_pattern_begin_line(scan->set, candidate->raw.len);
  for (; pattern != WO_NOT_FOUND; pattern = wo_literal_net_next(scan->net, &candidate->hits, places, &at)) {
    const struct wo_line *const line = wo__candidate_line(scan, candidate);
    wo_pattern_match(scan->set, pattern, line->full, on_found, &found);
    wo__scan_note_limits(scan, wo_pattern_at(scan->set, pattern), line->number);
    if (found.is_found) break;
  }
  return pattern;
}

/* Whether a tracker of experiments repeats the last figures of the run in the line, when that is over. */
static bool is_recap(struct wo_view raw) {
  return wo_view_has(raw, "wandb:");
}

size_t wo__candidate_progress(struct wo_scan *scan, struct wo_candidate *candidate, struct wo_candidate_step *ret_step) {
  const size_t pattern = wo__candidate_match(scan, &scan->before, candidate, ret_step);
  return pattern != WO_NOT_FOUND && is_recap(candidate->raw) ? WO_NOT_FOUND : pattern;
}

struct addition {
  struct wo_scan *scan;
  const struct wo_line *line;
  wo_event_id of;
  struct wo_event *event;
};

static bool on_addition(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct addition *const c = context;
  c->event = wo__scan_add_match(c->scan, c->line, pattern, match);
  if (c->event) c->event->of = c->of;
  return false;
}

struct wo_event *wo__candidate_add(struct wo_scan *scan, size_t pattern, struct wo_candidate *candidate, wo_event_id of) {
  struct addition c = {.scan = scan, .line = wo__candidate_line(scan, candidate), .of = of};
  wo_pattern_begin_line(scan->set, candidate->raw.len);
  wo_pattern_match(scan->set, pattern, c.line->full, on_addition, &c);
  wo__scan_note_limits(scan, wo_pattern_at(scan->set, pattern), c.line->number);
  return c.event;
}
