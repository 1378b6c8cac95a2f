/* SPDX-License-Identifier: Apache-2.0 */
/* How a rule came to its verdict: each clause with its conditions and the facts that they read. */
#ifndef WO_WHY_H
#define WO_WHY_H

#include "analyzer/diagnosis/diagnose.h"
#include "parsers/base/text.h"

/* One fact that a condition read. */
struct wo_why_fact {
  struct wo_view name;
  struct wo_value value;
  struct wo_view place; /* "file:line"; empty when it comes from no line */
};

/* One condition of a clause, or a part of one. */
struct wo_why_step {
  struct wo_expr_step step;
  bool is_overlap; /* undecided only because of rounding */
  const struct wo_why_fact *facts;
  size_t fact_count; /* of leaves */
};

/* One clause: "when", "not_when", "for", "against", "already", "conflicts", "changes", "saves.lo", "saves.hi", "let". */
struct wo_why_clause {
  const char *part;
  struct wo_view name; /* of a let: its name; of a change: the knob */
  struct wo_view say;  /* the text with this job's values; may be empty */
  struct wo_view source;
  struct wo_value value; /* of the expression */
  bool is_overlap;       /* undecided only because of rounding */
  bool has_weight;
  double weight;
  double score; /* after this clause, where it has a weight */
  const struct wo_why_step *steps;
  size_t step_count;
};

/* Parts of the card, with its total and the request. */
enum { WO_WHY_PARTS = 8 };

struct wo_why_part {
  const char *name;
  struct wo_value bytes;
  bool is_asked;             /* the next is a question about this part */
  enum wo_truth would_serve; /* without it the request would have been served */
  bool is_whole;             /* so is this one: */
  enum wo_truth would_fit;   /* and the job would have fitted */
};

/* The card of the failure (analyzer/card/division.h); no parts without figures. */
struct wo_why_division {
  struct wo_why_part parts[WO_WHY_PARTS];
  size_t part_count;
  struct wo_value need;
  double allowance;
  struct wo_view dominant;
};

struct wo_why {
  const char *sort; /* "cause" or "fix" */
  struct wo_view id;
  struct wo_rule_place place;
  bool is_fired;         /* the report shows it */
  struct wo_view reason; /* one sentence: why it fired, or why not */
  bool has_score;
  double prior;
  double score;
  const struct wo_why_clause *clauses;
  size_t clause_count;
  struct wo_why_division division;
};

/* Explains a cause / a fix over the facts of the diagnosis, and whether the report shows it. Everything lives in the arena of the
 * diagnosis. WO_E_NOMEM. */
enum wo_status wo_why_cause(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause, struct wo_why *ret_why);
enum wo_status wo_why_fix(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_why *ret_why);

/* Write it for people, and as one JSON object with a final newline. */
void wo_why_text(const struct wo_why *why, struct wo_text *out);
void wo_why_json(const struct wo_why *why, struct wo_text *out);

/* Private to this folder: reads the division / writes it for people. */
void wo__why_divide(const struct wo_diagnosis *diagnosis, struct wo_why_division *ret_division);
void wo__why_division_text(const struct wo_why_division *division, struct wo_text *out);

#endif
