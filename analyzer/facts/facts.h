/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a job: values by name, with unit, rounding interval and origin. Rules are evaluated over them. */
#ifndef WO_FACTS_H
#define WO_FACTS_H

#include "analyzer/card/figure.h"
#include "analyzer/program/program.h"
#include "rules/language/expr.h"

/* A value that the inputs give for a knob, but that does not count. */
struct wo_setting_other {
  const struct wo_event *event;
  struct wo_value value;
  struct wo_view why_not; /* "a command line beats a file" */
  bool is_conflict;       /* the same key has another value at another sort of place */
};

/* The setting of a knob, chosen among all that the inputs give. */
struct wo_setting {
  const struct wo_knob *knob;
  const struct wo_event *event; /* where it is set, preferably at an editable place with the same value; NULL: not given */
  const struct wo_event *edit;  /* where it can be changed, perhaps with another value; NULL when no such place is known */
  struct wo_value value;
  struct wo_setting_other *others; /* values that do not count, in the order of the inputs; WO_LIMIT_SETTING_OTHERS at most */
  size_t other_count;
  bool has_conflict;
};

/* Whether an event was neither quoted, survived, suspected nor of an earlier run: "count.<kind>" counts these. */
bool wo_facts_is_counted(const struct wo_job *job, const struct wo_event *event);

/* One fact with its value. */
struct wo_fact_row {
  struct wo_view name;
  enum wo_unit unit;
  struct wo_value value;
};

/* A table that aggregates of rules read (rules/language/rows.def): one value for each row and column. */
struct wo_fact_table {
  const struct wo_value *values;
  size_t count; /* of rows */
};

struct wo_facts {
  const struct wo_job *job;
  const struct wo_pack *pack;
  struct wo_arena *arena;
  struct wo_fact_row *rows; /* in the order of rules/language/facts.def */
  size_t row_count;
  struct wo_setting *settings;
  size_t setting_count;
  uint32_t counts[WO_KIND_COUNT_];
  const struct wo_card_trace *monitors; /* analyzer/facts/monitors.h; by file, then in the order of the trace */
  size_t monitor_count;
  const struct wo_event **processes; /* of WO_KIND_GPU_PROCESS: by file, then the largest first */
  size_t process_count;
  const struct wo_event **steps; /* analyzer/facts/step_memory.h; in the order of the evidence */
  size_t step_count;
  const struct wo_rank *ranks; /* analyzer/facts/ranks.h; by number */
  size_t rank_count;
  const struct wo_sizes *sizes; /* analyzer/facts/sizes.h */
  struct wo_program program;    /* what kind of program it is */
  struct wo_fact_table rank_rows;
  struct wo_fact_table card_rows;
  const struct wo_fact_stage *stage; /* the one that runs; NULL when all are done */
};

/* Computes all facts of a closed job, stage by stage (analyzer/facts/fact_stages.def). Values live in `arena`. WO_E_NOMEM. */
enum wo_status wo_facts_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                             struct wo_facts *ret_facts);

/* The value of a fact, `config.<knob>` and `count.<kind>` included; unknown for names that do not exist. */
struct wo_value wo_facts_get(const struct wo_facts *facts, struct wo_view name);

/* The facts as the source of wo_expr_eval. */
struct wo_facts_source wo_facts_source(const struct wo_facts *facts);

/* The setting chosen for a knob, or NULL when the inputs do not give it. */
const struct wo_setting *wo_facts_setting(const struct wo_facts *facts, struct wo_view knob);

/* The alias of a knob that matches the key of a setting's event: path and key are the alias or end in it. NULL if none. */
const struct wo_alias *wo_facts_event_alias(const struct wo_knob *knob, const struct wo_event *event);

/* Sets a fact of rules/language/facts.def. */
void wo_facts_set(struct wo_facts *facts, const char *name, struct wo_value value, wo_event_id evidence);

/* The spelling for a knob that no input sets: that of the program that the log names, else the newest that the release of PyTorch
 * is sure to read, else the first. Never NULL; the knob must have an alias. Reads job.torch_release and the program. */
const struct wo_alias *wo_facts_default_alias(const struct wo_facts *facts, const struct wo_knob *knob);

/* The value of a column in a row of its table; unknown if there is no such column or row. */
struct wo_value wo_facts_get_row(const struct wo_facts *facts, size_t row, struct wo_view name);

#endif
