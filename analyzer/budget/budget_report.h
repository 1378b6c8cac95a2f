/* A budget as writers see it: the inputs with their origins, the table, and what the job's log measured. */
#ifndef WO_BUDGET_REPORT_H
#define WO_BUDGET_REPORT_H

#include "analyzer/budget/budget.h"
#include "analyzer/facts/facts.h"
#include "analyzer/report/report.h"
#include "rules/load/model_shape.h"

/* A figure of the log beside what the budget says. Texts live in the arena. */
struct wo_budget_figure {
  struct wo_view label; /* "allocated by PyTorch" */
  struct wo_interval bytes;
  struct wo_view origin; /* "slurm-4711.err:20" */
  struct wo_view note;   /* the difference, and where it must lie */
};

struct wo_budget_report {
  struct wo_budget_input input;
  struct wo_view origins[WO_BUDGET_KEY_COUNT_]; /* empty for what is not given */
  struct wo_budget budget;
  struct wo_budget_figure figures[WO_LIMIT_BUDGET_FIGURES];
  size_t figure_count;
  bool are_cards_ranks_seen; /* the number of cards is that of the ranks that the log shows; there may be more */
  bool is_sharding_assumed;  /* the job divides its states, and how was taken for granted */
};

/* Takes over what a job's settings and facts say, with origins. Keys that the job does not give stay. */
void wo_budget_from_facts(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report);

/* Takes over the shape and the size of a known model, in place of what stood there. */
void wo_budget_from_shape(const struct wo_model_shape *shape, struct wo_arena *arena, struct wo_budget_report *report);

/* Compares the finished table with what the log measured at the same settings. A log that asks for more than the card has
 * overrules the verdict. */
void wo_budget_compare(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report);

/* Writes the budget for people / as one JSON object of schema whyoom.budget/1. */
void wo_budget_text(const struct wo_budget_report *report, struct wo_text_style style, struct wo_text *out);
void wo_budget_json(const struct wo_budget_report *report, struct wo_text *out);

#endif
