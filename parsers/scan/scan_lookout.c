/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the literals of the text: where the next one is, and which are in the line being read. */
#include <string.h>

#include "parsers/scan/scan_internal.h"

static void mark_owner(struct wo_scan *scan, uint32_t owner) {
  scan->owners[owner / 64] |= UINT64_C(1) << (owner % 64);
  scan->has_owners = true;
}

bool wo__lookout_next(const struct wo_scan *scan, const struct wo_prefilter *filter, struct wo_lookout *out, size_t from,
                      struct wo_prefilter_hit *ret_hit) {
  if (out->passed > from) {
    wo_prefilter_go_to(&out->cursor, from);
    out->passed = from;
    out->has_hit = out->is_over = false;
  }
  do {
    if (out->is_over) return false;
    if (!out->has_hit) out->has_hit = wo_prefilter_walk(filter, (struct wo_view){scan->buf, out->end}, &out->cursor, &out->hit);
    out->is_over = !out->has_hit;
    out->has_hit = false;
  } while (!out->is_over && out->hit.start < from);
  *ret_hit = out->hit;
  return !out->is_over;
}

size_t wo__lookout_peek(const struct wo_scan *scan, const struct wo_prefilter *filter, struct wo_lookout *out, size_t from) {
  struct wo_prefilter_hit hit;
  if (!wo__lookout_next(scan, filter, out, from, &hit)) return SIZE_MAX;
  out->has_hit = true;
  return hit.start;
}

bool wo__scan_next_hit(struct wo_scan *scan, size_t from, struct wo_prefilter_hit *ret_hit) {
  return wo__lookout_next(scan, scan->prefilter, &scan->lookout, from, ret_hit);
}

/* Goes on with the walk over the literals to the end of the line. What starts in front of it was in an earlier line, or in a
 * label. */
static void walk_line(struct wo_scan *scan, size_t start, size_t end) {
  struct wo_lookout *const out = &scan->lookout;
  struct wo_prefilter_hit hit;
  while (wo__scan_next_hit(scan, start, &hit)) {
    out->has_hit = hit.start >= end;
    if (out->has_hit) break;
    mark_owner(scan, hit.owner);
  }
  out->passed = end;
}

/* A piece ends where its line does not, and the next one begins inside of it. */
bool wo__scan_mark_owners(struct wo_scan *scan, struct wo_view raw, size_t start, bool is_piece) {
  if (scan->has_owners) memset(scan->owners, 0, scan->owner_words * sizeof *scan->owners);
  scan->has_owners = false;
  if (scan->options.no_prefilter) {
    scan->has_owners = wo_prefilter_mark_slow(scan->prefilter, raw, scan->owners, scan->owner_words) > 0;
  } else if (is_piece || start + raw.len > scan->lookout.end) {
    scan->has_owners = wo_prefilter_mark(scan->prefilter, raw, scan->owners, scan->owner_words) > 0;
    scan->lookout.passed = SIZE_MAX;
  } else {
    walk_line(scan, start, start + raw.len);
  }
  return scan->has_owners;
}
