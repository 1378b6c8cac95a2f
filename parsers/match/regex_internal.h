/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions with a bound on their work: PCRE2 for the patterns of a set. Private to parsers/match.
 *
 * Expressions work on bytes, not on characters: a log may hold anything. Each is compiled when a line first needs it, since most
 * logs need few of the many. PCRE2's own limits count from each place where a match may start, so that they do not bound the work
 * on one line. Short texts are tried under a small limit of that kind. Long ones, and those that reach it, are matched by a
 * second form of the expression, which reports each step; the steps of a line are paid from one budget for all expressions. A
 * search that reaches a limit counts as no match and is counted. */
#ifndef WO_REGEX_INTERNAL_H
#define WO_REGEX_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* Groups of one regular expression, the whole match included. */
enum { WO__REGEX_GROUPS_MAX = 64 };

/* One form of an expression, compiled when first needed. Stays NULL if the expression is wrong; `was_tried` keeps it from being
 * compiled for every line. `uses` counts searches, not matches. */
struct wo__regex_form {
  pcre2_code *code;
  bool was_tried;
  uint32_t uses;
};

struct wo__regex {
  struct wo__regex_form plain;
  struct wo__regex_form counted; /* with a callout before each item */
};

/* What all expressions of a set share, which works because a set serves one thread and one match at a time: `data` holds the
 * groups of the last search only. Everything but the last four members is made once. */
struct wo__matcher {
  pcre2_general_context *memory;
  pcre2_compile_context *compile;
  pcre2_match_context *limits;
  pcre2_match_context *counting;
  pcre2_match_data *data;
  pcre2_jit_stack *jit_stack; /* NULL if there is no just-in-time compiler */
  const pcre2_code *code;     /* of the last search */
  uint64_t steps_left;        /* of the line's budget */
  size_t at;                  /* of the last step */
  size_t limit_hits;
};

/* False if memory is out; what was made until then is freed by wo__matcher_done. */
bool wo__matcher_make(struct wo__matcher *matcher);
void wo__matcher_done(struct wo__matcher *matcher);

void wo__regex_done(struct wo__regex *regex);

/* Compiles an expression, with `more` options; NULL with PCRE2's error and the offset of the mistake if it is wrong. Without a
 * context PCRE2's own memory is used. */
pcre2_code *wo__regex_compile(struct wo_view source, pcre2_compile_context *context, uint32_t more, int *ret_error,
                              PCRE2_SIZE *ret_offset);

/* Searches from `at` on, as pcre2_match: its result, a negative one for no match or a limit. The groups are in matcher->data. */
int wo__regex_run(struct wo__matcher *matcher, struct wo__regex *regex, struct wo_view source, struct wo_view text, size_t at,
                  uint32_t options);

/* Searches the whole text with the form that reports its steps, however short the text is; matcher->steps_left tells them. */
void wo__regex_count(struct wo__matcher *matcher, struct wo__regex *regex, struct wo_view source, struct wo_view text);

#endif
