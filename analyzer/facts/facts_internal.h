/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the stages share (analyzer/facts/fact_stages.def). Private to this folder and its tests. */
#ifndef WO_FACTS_INTERNAL_H
#define WO_FACTS_INTERNAL_H

#include "analyzer/facts/facts.h"

/* ---- Stages ---- */

/* One stage. Words of needs and gives are separated by blanks: a fact; a group of facts, as a prefix that ends in a dot; or a
 * member of struct wo_facts. A stage that finds nothing leaves its facts unknown. If memory runs out, the arena of the facts is
 * exhausted. */
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

/* Sets all facts to unknown / runs one stage. WO_E_NOMEM. */
enum wo_status wo__facts_start(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                               struct wo_facts *ret_facts);
enum wo_status wo__facts_run(struct wo_facts *facts, const struct wo_fact_stage *stage);

/* Whether `words` contains the name, or the group that it belongs to. */
bool wo__fact_is_listed(const char *words, struct wo_view name);

/* Whether the running stage lists the fact; true if none runs. */
bool wo__fact_is_readable(const struct wo_facts *facts, struct wo_view name);

/* ---- Setting facts ----
 *
 * Names and units of numbers are those of rules/language/facts.def. */

/* Sets an exact number / a figure with its interval; an unknown figure sets nothing. */
void wo__set_number(struct wo_facts *facts, const char *name, double number, wo_event_id evidence);
void wo__set_figure(struct wo_facts *facts, const char *name, struct wo_figure figure, wo_event_id evidence);

/* Sets a number field of an event; nothing if the event lacks it. */
void wo__set_field(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id);

/* Sets a text; an empty one sets nothing. */
void wo__set_text(struct wo_facts *facts, const char *name, struct wo_view text, wo_event_id evidence);
void wo__set_bool(struct wo_facts *facts, const char *name, bool value, wo_event_id evidence);

/* ---- Reading ---- */

/* The failure of the job; NULL when it did not fail or the log does not show of what. */
const struct wo_event *wo__failure_of(const struct wo_facts *facts);

/* One figure of a memory message, computed as for the facts "oom.<figure>": tried, capacity, free, allocated, reserved,
 * reserved_unallocated or process; unknown for other words. */
struct wo_value wo__facts_figure(const struct wo_event *event, struct wo_view figure);

/* Whether an event was neither survived nor of an earlier run of the program. */
bool wo__is_of_this_end(const struct wo_job *job, const struct wo_event *event);

/* As wo_facts_get, but only for facts that a stage gives: those of the time line are unknown. */
struct wo_value wo__facts_value(const struct wo_facts *facts, struct wo_view name);

/* The value of the fact at a place (wo_fact_place), when all stages are done. */
struct wo_value wo__facts_at(const struct wo_facts *facts, size_t place);

/* The alias of a knob that a printed key (dotted or not) is or ends in, or NULL. If several match, the one with most parts. */
const struct wo_alias *wo__facts_alias(const struct wo_knob *knob, struct wo_view key);

#endif
