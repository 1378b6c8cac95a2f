/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are looked at for how far the job had come, or how it ended: a few around a failure and at the end of an input, by
 * few patterns, so that their literals may be short and need no prefilter. Only the scanner includes this. */
#ifndef WO_CANDIDATE_H
#define WO_CANDIDATE_H

#include "parsers/scan/scan_internal.h"

/* A line. It is cleaned when a literal is in it: most hold none. */
struct wo_candidate {
  struct wo_view raw;
  uint64_t number;
  uint64_t offset;
  const struct wo_line *line; /* NULL: not made yet */
  struct wo_line made;
  struct wo_net_hits hits; /* patterns that have a literal in it */
};

/* The candidate of a line that was read for other reasons, and of one that was not: of this the end is looked at. */
struct wo_candidate wo__candidate_of(const struct wo_scan *scan, const struct wo_line *line);
struct wo_candidate wo__candidate_at(const struct wo_scan *scan, struct wo_view raw, uint64_t number, uint64_t offset);

/* The end of a line, which is as much of it as a candidate has. */
struct wo_view wo__candidate_end(struct wo_view raw);

/* The line, made when it is first asked for. Its texts are in the scanner's buffer for clean text, until the next line is made.
 */
const struct wo_line *wo__candidate_line(struct wo_scan *scan, struct wo_candidate *candidate);

/* The number that a match has in its group "step", as it is printed; empty without one. */
struct wo_candidate_step {
  char text[24];
};

/* The first of the patterns that matches, or WO_NOT_FOUND. Nothing is added. ret_step may be NULL. */
size_t wo__candidate_match(struct wo_scan *scan, const struct wo_places *places, struct wo_candidate *candidate,
                           struct wo_candidate_step *ret_step);

/* The same for the patterns of progress. */
size_t wo__candidate_progress(struct wo_scan *scan, struct wo_candidate *candidate, struct wo_candidate_step *ret_step);

/* Whether one of the pattern's literals is in the line; true without literals. */
bool wo__candidate_has_literal(const struct wo_scan *scan, size_t pattern, const struct wo_candidate *candidate);

/* Adds the event of a pattern that matches, as part of the event `of` (or WO_EVENT_NONE). NULL when limits are reached. */
struct wo_event *wo__candidate_add(struct wo_scan *scan, size_t pattern, struct wo_candidate *candidate, wo_event_id of);

/* What the lines before a failure look like, and which of these shapes come again. */
#define WO_SCAN_SHAPES_MAX 16

struct wo_before {
  struct {
    uint64_t shape;
    int lines;
    bool is_seen_again;
  } shapes[WO_SCAN_SHAPES_MAX];
  size_t count;
  int lines;
  int lines_again; /* after the failure */
  uint64_t step;   /* the last one before it */
  bool has_step;
};

enum wo_again {
  WO_AGAIN_NOT,
  WO_AGAIN_SURE,  /* most of what was printed before the failure is printed again */
  WO_AGAIN_OTHERS /* a step beyond the last one: after a kill, another process makes it */
};

void wo__before_learn(struct wo_scan *scan, const struct wo_line *line, struct wo_before *before);

/* Compares the next line after the failure. */
enum wo_again wo__before_compare(struct wo_scan *scan, struct wo_before *before, struct wo_candidate candidate);

#endif
