/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: the texts to look for in a line. This header defines a pattern; rules/ supplies the rows.
 *
 * A pattern applies to a line when one of its literals is in the raw line AND its regular expression matches the cleaned
 * text. The literal test is part of the meaning, so a prefilter that finds literals exactly can never change a result. */
#ifndef WO_PATTERN_H
#define WO_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/arena.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"
#include "parsers/event/event.h"
#include "parsers/match/prefilter.h"

/* Which lines a pattern looks at. */
enum wo_where {
  WO_WHERE_LINE,   /* every line of the input */
  WO_WHERE_BEFORE, /* only lines shortly before (and after) a memory failure: how far the job had come */
  WO_WHERE_TAIL,   /* only the last lines of an input: did it finish? */
  WO_WHERE_HEAD    /* only the first lines of an input: what a file without any word in it is */
};

/* A fixed value that a match sets, besides the named groups. */
struct wo_pattern_set_field {
  enum wo_field_id id;
  struct wo_view value;
};

struct wo_pattern {
  struct wo_view id;
  enum wo_kind kind;
  enum wo_mark mark;
  enum wo_where where;
  const struct wo_view
      *literals; /* at least one for WO_WHERE_LINE; optional, and of any length, otherwise. "\n" at the end means end of line */
  size_t literal_count;
  bool is_before_number;   /* a number is right after each literal (parsers/match/prefilter.h) */
  bool is_every_match;     /* each match in a line is evidence, as the text may be there several times; else the first one */
  bool is_fallback;        /* only for lines in which no other pattern found anything about memory */
  struct wo_view regex;    /* PCRE2 syntax; empty when `reader` decides alone. Named groups are field names */
  struct wo_view unless;   /* PCRE2: a line that matches this too is not evidence; may be empty */
  struct wo_view reader;   /* name of the multi-line reader that takes over (parsers/scan/format.h); may be empty */
  struct wo_view argument; /* handed to the reader: the knob's name for settings */
  double bare_scale;       /* bytes per unit of sizes printed without a unit; 0 if there are none */
  const struct wo_pattern_set_field *sets;
  size_t set_count;
};

struct wo_pattern_set; /* patterns made ready for matching; regexes are compiled when first needed */

/* One match, handed to a callback. Groups are read with wo_match_group. */
struct wo_match;
typedef bool (*wo_match_fn)(void *context, const struct wo_pattern *pattern, const struct wo_match *match);

/* Makes a set over `count` patterns, which must outlive it, as must the tables for the prefilter (wo_prefilter_new; may be NULL).
 * WO_E_NOMEM only; bad regexes show up in wo_pattern_check or, at match time, never match. Not thread-safe: one set per thread.
 */
enum wo_status wo_pattern_set_new(const struct wo_pattern *patterns, size_t count, const struct wo_prefilter_tables *ready,
                                  struct wo_pattern_set **ret_set);

/* Frees a set; NULL allowed; returns NULL. */
struct wo_pattern_set *wo_pattern_set_free(struct wo_pattern_set *set);

/* Whether a pattern is no more than its literals: it matches each line that has one. */
static inline bool wo_pattern_is_literal(const struct wo_pattern *pattern) {
  return pattern->regex.len == 0 && pattern->unless.len == 0;
}

/* The set's prefilter over all literals of its WO_WHERE_LINE patterns; owners are pattern indices. */
const struct wo_prefilter *wo_pattern_set_prefilter(const struct wo_pattern_set *set);

/* Whether the prefilter takes a literal of that length of the pattern. */
bool wo_pattern_is_usable_literal(const struct wo_pattern *pattern, struct wo_view literal);

/* The number of patterns, and the pattern at an index. */
size_t wo_pattern_count(const struct wo_pattern_set *set);
const struct wo_pattern *wo_pattern_at(const struct wo_pattern_set *set, size_t index);

/* A line of `len` bytes begins: its matches have a new budget of steps (WO_LIMIT_REGEX_STEPS), which all patterns share. */
void wo_pattern_begin_line(struct wo_pattern_set *set, size_t len);

/* Calls fn for each match of pattern `index` in text, left to right, not overlapping, at most WO_LIMIT_MATCHES_PER_LINE; stops
 * when fn returns false. A pattern without regex matches once, at `literal_offset`. Returns the number of calls. */
size_t wo_pattern_match(struct wo_pattern_set *set, size_t index, struct wo_view text, wo_match_fn fn, void *context);

/* The end of the match of pattern `index` that starts at `start`, or WO_NOT_FOUND. `unless` is not asked. */
size_t wo_pattern_extent(struct wo_pattern_set *set, size_t index, struct wo_view text, size_t start);

/* Whether the match of pattern `index` that starts at `start` reached the end of the text and could change if more text followed:
 * the message may be wrapped. */
bool wo_pattern_may_go_on(struct wo_pattern_set *set, size_t index, struct wo_view text, size_t start);

/* The whole match, and its place in the text. */
struct wo_view wo_match_text(const struct wo_match *match);
size_t wo_match_start(const struct wo_match *match);

/* The named group, or an empty view when it took no part. */
struct wo_view wo_match_group(const struct wo_match *match, const char *name);

/* Copies all named groups and the pattern's fixed values into the event's fields, by name and type. */
bool wo_match_fill(const struct wo_match *match, const struct wo_pattern *pattern, struct wo_event_store *store,
                   struct wo_event *event);

/* The steps that pattern `index` takes to search a text for its first match, and for `unless`; at most `most`. For checks of
 * patterns: steps are those of WO_LIMIT_REGEX_STEPS. */
uint64_t wo_pattern_steps(struct wo_pattern_set *set, size_t index, struct wo_view text, uint64_t most);

/* How many matches were given up because a PCRE2 limit was reached. */
size_t wo_pattern_limit_hits(const struct wo_pattern_set *set);

/* Compiles one expression; an empty one is fine. WO_OK, or WO_E_SYNTAX with PCRE2's words (offset = place in the expression). */
enum wo_status wo_pattern_check_regex(struct wo_view regex, struct wo_err *err);

/* Compiles one pattern and checks it: regex syntax, groups that are no field names, literals that are missing or too short.
 * WO_OK, or WO_E_SYNTAX with a message (offset = place in the regex). */
enum wo_status wo_pattern_check(const struct wo_pattern *pattern, struct wo_err *err);

#endif
