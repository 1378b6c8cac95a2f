/* SPDX-License-Identifier: Apache-2.0 */
/* A budget as writers see it: the inputs with their origins, the table, and the figures of the job's log. */
#ifndef WO_BUDGET_REPORT_H
#define WO_BUDGET_REPORT_H

#include "analyzer/budget/budget.h"
#include "analyzer/model/model_config.h"
#include "analyzer/facts/facts.h"
#include "analyzer/report/report.h"
#include "rules/load/model_shape.h"

/* A figure of the log, compared with the budget. Texts live in the arena. */
struct wo_budget_figure {
  struct wo_view label; /* "allocated by PyTorch" */
  struct wo_interval bytes;
  struct wo_view origin; /* "slurm-4711.err:20" */
  struct wo_view note;   /* the difference and its possible cause */
};

/* A measured peak that the budget is scaled to. Texts live in the arena. */
struct wo_budget_calibration {
  double measured_bytes; /* 0: there is none */
  double computed_bytes; /* at the settings of that run, without it */
  struct wo_view origin; /* "train-1.log:812" */
};

struct wo_budget_report {
  struct wo_budget_input input;
  struct wo_view origins[WO_BUDGET_KEY_COUNT_]; /* empty for inputs that are not given */
  struct wo_budget budget;
  struct wo_budget_figure figures[WO_LIMIT_BUDGET_FIGURES];
  size_t figure_count;
  struct wo_budget_calibration calibration;
  bool are_cards_ranks_seen; /* the number of cards is the number of ranks in the log; there may be more */
  bool is_sharding_assumed;  /* the job divides its states; the way is assumed */
};

/* Takes over a job's settings and facts, with origins. Keys that the job does not give stay. */
void wo_budget_from_facts(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report);

/* Takes over the shape and the size of a known model, which replace earlier values. */
void wo_budget_from_shape(const struct wo_model_shape *shape, struct wo_arena *arena, struct wo_budget_report *report);

/* The same for a model that its own files describe (model_config.h): `path` is theirs. Without a configuration only the size is
 * taken; what the tensors add up to counts where the shape's own count is not known. */
void wo_budget_from_model(const struct wo_model_shape *shape, const struct wo_model_tensors *tensors, const char *path,
                          struct wo_arena *arena, struct wo_budget_report *report);

/* Takes the highest peak of tensors in use that a run printed (a step's, or a memory summary's), computes the same run (its
 * micro-batch, length, passes and cards; everything else as the report has it), and scales what grows with the batch so that both
 * agree: input.live_factor. Does nothing where no peak was printed. *ret_why says why a peak could not be used; NULL otherwise.
 * WO_E_NOMEM. */
enum wo_status wo_budget_calibrate(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report,
                                   const char **ret_why);

/* The file and line of an event: "slurm-4711.err:20"; empty where it has none. */
struct wo_view wo__budget_place(const struct wo_facts *facts, struct wo_arena *arena, wo_event_id id);

/* Compares the finished table with the figures of the log at the same settings. The verdict becomes "does not fit" if the log
 * shows more memory in use and requested than the card has. */
void wo_budget_compare(const struct wo_facts *facts, struct wo_arena *arena, struct wo_budget_report *report);

/* Writes the budget for people / as one JSON object of schema whyoom.budget/1. */
void wo_budget_text(const struct wo_budget_report *report, struct wo_text_style style, struct wo_text *out);
void wo_budget_json(const struct wo_budget_report *report, struct wo_text *out);

/* An option that changes nothing, and why: a literal. */
struct wo_budget_unused {
  enum wo_budget_key key;
  const char *why;
};

/* Lists the options of the command line (not settings of a job) that change nothing in this budget. Returns their number. */
size_t wo_budget_unused(const struct wo_budget_report *report, struct wo_budget_unused unused[WO_BUDGET_KEY_COUNT_]);

#endif
