/* What the stages share that work facts out (analyzer/facts/fact_stages.def). Private to this folder, and to its tests. */
#ifndef WO_FACTS_INTERNAL_H
#define WO_FACTS_INTERNAL_H

#include "analyzer/facts/facts.h"

/* ---- Stages ---- */

/* One stage. Words of needs and gives are separated by blanks: a fact; a group of facts that begin with it, ending in a dot; or a
 * part of struct wo_facts. A stage that finds nothing leaves its facts unknown; memory that runs out exhausts the facts' arena.
 */
struct wo_fact_stage {
  const char *name;
  void (*run)(struct wo_facts *facts);
  const char *needs;
  const char *gives;
};

#define WO_FACT_STAGE(name, needs, gives) void wo__facts_##name(struct wo_facts *facts);
#include "analyzer/facts/fact_stages.def"
#undef WO_FACT_STAGE

/* All stages, in the order in which they run. */
const struct wo_fact_stage *wo__fact_stages(size_t *ret_count);

/* Starts with all facts unknown / runs one stage over them. WO_E_NOMEM. */
enum wo_status wo__facts_start(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                               struct wo_facts *ret_facts);
enum wo_status wo__facts_run(struct wo_facts *facts, const struct wo_fact_stage *stage);

/* Whether a word of `words` is the name, or the group that it belongs to. */
bool wo__fact_is_listed(const char *words, struct wo_view name);

/* Whether the stage at work, if any, says that it reads the fact. */
bool wo__fact_is_readable(const struct wo_facts *facts, struct wo_view name);

/* ---- Setting facts ----
 *
 * The names are those of rules/language/facts.def, and numbers are in the unit that stands there. */

/* A number as it is / a figure with its interval; nothing for an unknown one. */
void wo__set_number(struct wo_facts *facts, const char *name, double number, wo_event_id evidence);
void wo__set_figure(struct wo_facts *facts, const char *name, struct wo_figure figure, wo_event_id evidence);

/* A number field of an event, where the event has it. */
void wo__set_field(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id);

/* A text; nothing for an empty one. */
void wo__set_text(struct wo_facts *facts, const char *name, struct wo_view text, wo_event_id evidence);
void wo__set_bool(struct wo_facts *facts, const char *name, bool value, wo_event_id evidence);

/* ---- Reading ---- */

/* NULL when the job did not fail, or when nothing tells of what. */
const struct wo_event *wo__failure_of(const struct wo_facts *facts);

/* Whether it tells of memory: of the card or of the host. */
bool wo__is_memory(const struct wo_event *event);

/* A number field with the interval that its print stands for / with its middle for all of it, as figures of traces are exact as
 * far as anybody knows. Unknown without the field. */
struct wo_figure wo__figure_of(const struct wo_event *event, enum wo_field_id id);
struct wo_figure wo__exact_figure_of(const struct wo_event *event, enum wo_field_id id);

/* What one memory message says of its card, worked out as for the facts "oom.<figure>": tried, capacity, free, allocated,
 * reserved, reserved_unallocated or process; unknown for other words. */
struct wo_value wo__facts_figure(const struct wo_event *event, struct wo_view figure);

/* Whether an event was neither survived nor of an earlier run of the program. */
bool wo__is_of_this_end(const struct wo_job *job, const struct wo_event *event);

/* Whether an event was neither quoted, survived, suspected nor of an earlier run: one that "count.<kind>" counts. */
bool wo__is_counted(const struct wo_job *job, const struct wo_event *event);

/* As wo_facts_get, for facts that a stage gives: those of the time line are unknown. */
struct wo_value wo__facts_value(const struct wo_facts *facts, struct wo_view name);

/* The alias of a knob that a printed key (dotted or not) is or ends in, or NULL. Of several the one with most parts. */
const struct wo_alias *wo__facts_alias(const struct wo_knob *knob, struct wo_view key);

#endif
