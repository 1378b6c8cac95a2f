/* Facts: what the job knows, by name, with unit, rounding interval and origin. The source that rules are evaluated over. */
#ifndef WO_FACTS_H
#define WO_FACTS_H

#include "analyzer/story/job.h"
#include "rules/language/expr.h"

/* A value that the inputs give for a knob and that does not count. */
struct wo_setting_other {
  const struct wo_event *event;
  struct wo_value value;
  struct wo_view why_not; /* "a command line beats a file" */
  bool is_conflict;       /* the same key, set differently at a place of another sort */
};

/* A setting that was chosen among all that the inputs give for one knob. */
struct wo_setting {
  const struct wo_knob *knob;
  const struct wo_event *event; /* where it stands, at a place that can be edited when one has the same value; NULL: not given */
  const struct wo_event *edit;  /* where it can be changed, perhaps with another value; NULL when no such place is known */
  struct wo_value value;
  struct wo_setting_other *others; /* values that do not count, in the order of the inputs; WO_LIMIT_SETTING_OTHERS at most */
  size_t other_count;
  bool has_conflict;
};

/* One fact with its value. */
struct wo_fact_row {
  struct wo_view name;
  enum wo_unit unit;
  struct wo_value value;
};

/* A table that aggregates go over (rules/language/rows.def): one value for each row and column. */
struct wo_fact_table {
  const struct wo_value *values;
  size_t row_count;
};

struct wo_facts {
  const struct wo_job *job;
  const struct wo_pack *pack;
  struct wo_arena *arena;
  struct wo_fact_row *rows; /* those of rules/language/facts.def, in that order */
  size_t row_count;
  struct wo_setting *settings;
  size_t setting_count;
  uint32_t counts[WO_KIND_COUNT_];
  struct wo_fact_table ranks;
  struct wo_fact_table cards;
};

/* Works out all facts of a closed job. Values live in `arena`. WO_E_NOMEM. */
enum wo_status wo_facts_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                             struct wo_facts *ret_facts);

/* The value of a fact, `config.<knob>` and `count.<kind>` included; unknown for names that do not exist. */
struct wo_value wo_facts_get(const struct wo_facts *facts, struct wo_view name);

/* The facts as the source of wo_expr_eval. */
struct wo_facts_source wo_facts_source(const struct wo_facts *facts);

/* The setting chosen for a knob, or NULL when the inputs do not give it. */
const struct wo_setting *wo_facts_setting(const struct wo_facts *facts, struct wo_view knob);

/* The alias of a knob that a printed key (dotted or not) is or ends in, or NULL. Of several the one with most parts. */
const struct wo_alias *wo_facts_alias(const struct wo_knob *knob, struct wo_view key);

/* As wo_facts_alias for the key of a setting's event, its path included. */
const struct wo_alias *wo_facts_event_alias(const struct wo_knob *knob, const struct wo_event *event);

/* Sets a fact of rules/language/facts.def; used by the modules that work facts out. */
void wo_facts_set(struct wo_facts *facts, const char *name, struct wo_value value, wo_event_id evidence);

/* Chooses the settings (analyzer/facts/facts_settings.c) and reads the memory of the card (analyzer/facts/memory.c). */
enum wo_status wo_facts_read_settings(struct wo_facts *facts);
void wo_facts_read_memory(struct wo_facts *facts);

/* Takes the chosen configuration of PyTorch's allocator apart (analyzer/facts/alloc_conf.c): drops parts that only another
 * configuration has, and sets alloc.unknown_keys. Call once the settings are chosen. WO_E_NOMEM. */
enum wo_status wo_facts_read_alloc_conf(struct wo_facts *facts);

/* Reads which release of PyTorch failed (analyzer/facts/torch_release.c): job.torch, job.torch_release. */
void wo_facts_read_torch(struct wo_facts *facts);

/* The spelling in which a knob that stands nowhere is written: the newest that the release of PyTorch is sure to read, else the
 * first. Never NULL; the knob must have an alias. Asks for job.torch_release. */
const struct wo_alias *wo_facts_default_alias(const struct wo_facts *facts, const struct wo_knob *knob);

/* Reads signs beside the failure (analyzer/facts/signs.c): frames, survived failures, XLA's program, remarks on settings. */
void wo_facts_read_signs(struct wo_facts *facts);

/* Read what the ranks show together (analyzer/facts/ranks.c), and the earlier runs in the log (analyzer/facts/restarts.c). */
void wo_facts_read_workload(struct wo_facts *facts);
void wo_facts_read_ranks(struct wo_facts *facts);
void wo_facts_read_restarts(struct wo_facts *facts);

/* Fills the tables of ranks and cards (analyzer/facts/row_facts.c). WO_E_NOMEM. */
enum wo_status wo_facts_read_rows(struct wo_facts *facts);

/* The value of a column in a row of its table; unknown for names that are no column and rows that are not there. */
struct wo_value wo_facts_get_row(const struct wo_facts *facts, size_t row, struct wo_view name);

/* The value of a fact of the time line, such as "before(nccl_timeout,cuda_oom)" (analyzer/facts/event_facts.c); unknown for other
 * names. */
struct wo_value wo_facts_get_event_fact(const struct wo_facts *facts, struct wo_view name);

/* What one memory message says of its card, worked out as for the facts "oom.<figure>": tried, capacity, free, allocated,
 * reserved, reserved_unallocated or process; unknown for other words. */
struct wo_value wo_facts_figure_of(const struct wo_event *event, struct wo_view figure);

/* Whether an event was neither quoted, survived, suspected nor of an earlier run: one that "count.<kind>" counts. */
bool wo_facts_is_counted(const struct wo_job *job, const struct wo_event *event);

#endif
