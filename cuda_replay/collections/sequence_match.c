/* SPDX-License-Identifier: Apache-2.0 */
/* Myers' greedy algorithm for the shortest edit script, in windows: when a window has used up its edits, the path that got
 * furthest is kept and the next window begins at its end. */
#include "cuda_replay/collections/sequence_match.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EDITS_MAX = 512 };

struct matcher {
  const uint64_t *first, *second;
  size_t first_count, second_count;
  size_t first_at, second_at; /* where the window begins */
  bool is_beginning;          /* the first is matched with a beginning of the second: the match ends where the first ends */
  int edits_max;              /* of a window */
  int32_t *reach;             /* a row per number of edits: how far each diagonal gets in the first, from the window's start */
  uint32_t *matches;
};

static int32_t *row_of(const struct matcher *matcher, int edits) {
  size_t diagonals = 2 * (size_t)matcher->edits_max + 3;
  return &matcher->reach[(size_t)edits * diagonals + (size_t)matcher->edits_max + 1];
}

/* Follows equal elements along a diagonal (x - y) from x; both relative to the window. */
static int32_t slide(const struct matcher *matcher, int32_t x, int diagonal) {
  for (;;) {
    size_t i = matcher->first_at + (size_t)x, j = matcher->second_at + (size_t)(x - diagonal);
    if (i >= matcher->first_count || j >= matcher->second_count || matcher->first[i] != matcher->second[j]) return x;
    x++;
  }
}

/* Whether the path to a diagonal with this number of edits goes down (an element of the second is unmatched), not right. */
static bool goes_down(const int32_t *before, int edits, int diagonal) {
  return diagonal == -edits || (diagonal != edits && before[diagonal - 1] < before[diagonal + 1]);
}

/* The element of the first at which a diagonal is entered. -1 when that is past the end of either sequence. */
static int32_t enter(const struct matcher *matcher, const int32_t *before, int edits, int diagonal) {
  int32_t x = goes_down(before, edits, diagonal) ? before[diagonal + 1] : before[diagonal - 1] + 1;
  int32_t y = x - diagonal;
  bool is_outside = x < 0 || y < 0 || (size_t)x > matcher->first_count - matcher->first_at ||
                    (size_t)y > matcher->second_count - matcher->second_at;
  return is_outside ? -1 : x;
}

static void keep_run(struct matcher *matcher, int32_t from, int32_t to, int diagonal) {
  for (int32_t x = from; x < to; x++) {
    matcher->matches[matcher->first_at + (size_t)x] = (uint32_t)(matcher->second_at + (size_t)(x - diagonal));
  }
}

/* Walks back to the start of the window along the path that ends on a diagonal after `edits`, and keeps its matches. */
static void keep_path(struct matcher *matcher, int edits, int diagonal) {
  int end_diagonal = diagonal;
  int32_t end = row_of(matcher, edits)[diagonal];
  for (int step = edits; step > 0; step--) {
    const int32_t *before = row_of(matcher, step - 1);
    bool is_down = goes_down(before, step, diagonal);
    int32_t entered = is_down ? before[diagonal + 1] : before[diagonal - 1] + 1;
    keep_run(matcher, entered, row_of(matcher, step)[diagonal], diagonal);
    diagonal += is_down ? 1 : -1;
  }
  assert(diagonal == 0);
  keep_run(matcher, 0, row_of(matcher, 0)[0], 0);
  matcher->first_at += (size_t)end;
  matcher->second_at += (size_t)(end - end_diagonal);
}

static bool is_done(const struct matcher *matcher, size_t first_at, size_t second_at) {
  return first_at == matcher->first_count && (matcher->is_beginning || second_at == matcher->second_count);
}

/* Matches one window. Returns whether both sequences are at their ends. */
static bool run_window(struct matcher *matcher) {
  int best_edits = 0, best_diagonal = 0;
  int64_t best = -1;
  for (int edits = 0; edits <= matcher->edits_max; edits++) {
    int32_t *row = row_of(matcher, edits);
    row[-edits - 1] = row[edits + 1] = -1;
    for (int diagonal = -edits; diagonal <= edits; diagonal++) row[diagonal] = -1;
    for (int diagonal = -edits; diagonal <= edits; diagonal += 2) {
      int32_t x = edits == 0 ? 0 : enter(matcher, row_of(matcher, edits - 1), edits, diagonal);
      if (x < 0) continue;
      row[diagonal] = slide(matcher, x, diagonal);
      int64_t sum = 2 * (int64_t)row[diagonal] - diagonal;
      if (sum > best) {
        best = sum;
        best_edits = edits;
        best_diagonal = diagonal;
      }
      if (is_done(matcher, matcher->first_at + (size_t)row[diagonal], matcher->second_at + (size_t)(row[diagonal] - diagonal))) {
        keep_path(matcher, edits, diagonal);
        return true;
      }
    }
  }
  keep_path(matcher, best_edits, best_diagonal);
  return is_done(matcher, matcher->first_at, matcher->second_at);
}

static enum wo_status run(struct matcher *matcher, size_t windows_max) {
  assert(matcher->first_count < INT32_MAX / 2 && matcher->second_count < INT32_MAX / 2);
  size_t both = matcher->first_count + matcher->second_count, most = both < EDITS_MAX ? both : EDITS_MAX;
  matcher->edits_max = (int)most;
  matcher->reach = malloc((most + 1) * (2 * most + 3) * sizeof matcher->reach[0]);
  if (matcher->reach == NULL) return WO_E_NOMEM;
  for (size_t i = 0; i < matcher->first_count; i++) matcher->matches[i] = WO_NO_MATCH;
  while (windows_max > 0 && !run_window(matcher)) windows_max--;
  free(matcher->reach);
  return WO_OK;
}

enum wo_status wo_sequence_match(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                 uint32_t *matches) {
  struct matcher matcher = {
      .first = first, .second = second, .first_count = first_count, .second_count = second_count, .matches = matches};
  return run(&matcher, SIZE_MAX);
}

enum wo_status wo_sequence_match_beginning(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                           size_t edits_max, uint32_t *matches, size_t *ret_used) {
  struct matcher matcher = {.first = first,
                            .second = second,
                            .first_count = first_count,
                            .second_count = second_count,
                            .is_beginning = true,
                            .matches = matches};
  const enum wo_status status = run(&matcher, edits_max / EDITS_MAX + 2);
  if (status == WO_OK) *ret_used = matcher.second_at;
  return status;
}
