/* SPDX-License-Identifier: Apache-2.0 */
/* The store of facts by name, which all stages fill and read. */
#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"

/* The row of a name, or NULL. The names are checked when rules are loaded, against the same list (wo_fact_list); a fact that a
 * stage sets under another name is a mistake of the stage. */
static struct wo_fact_row *find_row(const struct wo_facts *facts, struct wo_view name) {
  const size_t at = wo_fact_place(facts->pack, name);
  assert(at >= facts->row_count || wo_view_equal(facts->rows[at].name, name));
  return at < facts->row_count ? &facts->rows[at] : NULL;
}

/* ---- Setting facts ---- */

void wo_facts_set(struct wo_facts *facts, const char *name, struct wo_value value, wo_event_id evidence) {
  struct wo_fact_row *const row = find_row(facts, wo_view_of(name));
  assert(row != NULL && row->unit == value.unit && "fact is missing in rules/language/facts.def");
  assert(facts->stage == NULL || wo__fact_is_listed(facts->stage->gives, wo_view_of(name)));
  if (row == NULL) return;
  value.evidence = evidence;
  row->value = value;
}

/* A fact's own unit. */
static enum wo_unit unit_of(const struct wo_facts *facts, const char *name) {
  const struct wo_fact_row *const row = find_row(facts, wo_view_of(name));
  assert(row != NULL && "fact is missing in rules/language/facts.def");
  return row != NULL ? row->unit : WO_UNIT_NUMBER;
}

void wo__set_number(struct wo_facts *facts, const char *name, double number, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_exact(unit_of(facts, name), number), evidence);
}

void wo__set_figure(struct wo_facts *facts, const char *name, struct wo_figure figure, wo_event_id evidence) {
  if (figure.is_known) wo_facts_set(facts, name, wo_value_number(unit_of(facts, name), figure.value), evidence);
}

void wo__set_field(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id) {
  wo__set_figure(facts, name, wo_figure_of(event, id), event->id);
}

void wo__set_text(struct wo_facts *facts, const char *name, struct wo_view text, wo_event_id evidence) {
  if (text.len > 0) wo_facts_set(facts, name, wo_value_text(text), evidence);
}

void wo__set_bool(struct wo_facts *facts, const char *name, bool value, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_bool(value ? WO_TRUE : WO_FALSE), evidence);
}

/* ---- Reading ---- */

const struct wo_event *wo__failure_of(const struct wo_facts *facts) {
  return wo_event_get(&facts->job->events, facts->job->story.failure);
}

bool wo__is_of_this_end(const struct wo_job *job, const struct wo_event *event) {
  const enum wo_role role = job->story.roles[event->id];
  return role != WO_ROLE_RECOVERED && role != WO_ROLE_SURVIVED && role != WO_ROLE_EARLIER;
}

bool wo_facts_is_counted(const struct wo_job *job, const struct wo_event *event) {
  return !event->is_quoted && !wo_story_is_suspicion(event) && wo__is_of_this_end(job, event);
}

/* ---- Access of a stage ---- */

bool wo__fact_is_listed(const char *words, struct wo_view name) {
  for (struct wo_view rest = wo_view_of(words); rest.len > 0;) {
    const struct wo_view word = wo_view_cut(&rest, ' ');
    const bool is_group = wo_view_ends(word, ".");
    if (wo_view_equal(is_group ? wo_view_sub(name, 0, word.len) : name, word)) return true;
  }
  return false;
}

bool wo__fact_is_readable(const struct wo_facts *facts, struct wo_view name) {
  const struct wo_fact_stage *const stage = facts->stage;
  return stage == NULL || wo__fact_is_listed(stage->needs, name) || wo__fact_is_listed(stage->gives, name);
}

enum wo_status wo__facts_start(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                               struct wo_facts *ret_facts) {
  struct wo_facts *const facts = ret_facts;
  size_t count = 0;
  const struct wo_fact *const list = wo_fact_list(&count);
  *facts = (struct wo_facts){.job = job, .pack = pack, .arena = arena};
  facts->rows = wo_arena_array(arena, count, sizeof *facts->rows);
  if (!facts->rows) return WO_E_NOMEM;
  for (size_t i = 0; i < count && wo_rows_of(list[i].name) == WO_ROWS_NONE; i++) {
    facts->rows[facts->row_count++] = (struct wo_fact_row){list[i].name, list[i].unit, wo_value_unknown(list[i].unit)};
  }
  return WO_OK;
}

/* ---- Asking ---- */

const struct wo_setting *wo_facts_setting(const struct wo_facts *facts, struct wo_view knob) {
  assert(wo__fact_is_readable(facts, WO_VIEW("config.")) && "the stage does not say that it needs settings");
  for (size_t i = 0; i < facts->setting_count; i++) {
    if (wo_view_equal(facts->settings[i].knob->id, knob)) return facts->settings[i].event ? &facts->settings[i] : NULL;
  }
  return NULL;
}

struct wo_value wo__facts_at(const struct wo_facts *facts, size_t place) {
  assert(facts->stage == NULL && "rules are asked when all stages are done");
  return place < facts->row_count ? facts->rows[place].value : wo_value_unknown(WO_UNIT_NONE);
}

struct wo_value wo__facts_value(const struct wo_facts *facts, struct wo_view name) {
  assert(wo__fact_is_readable(facts, name) && "not among what the stage needs");
  if (wo_view_starts(name, "config.")) {
    const struct wo_setting *setting = wo_facts_setting(facts, wo_view_skip(name, 7));
    const struct wo_knob *knob = wo_pack_knob(facts->pack, wo_view_skip(name, 7));
    return setting ? setting->value : wo_value_unknown(knob ? knob->unit : WO_UNIT_NONE);
  }
  if (wo_view_starts(name, "count.")) {
    const enum wo_kind kind = wo_kind_find(wo_view_skip(name, 6));
    return wo_value_exact(WO_UNIT_NUMBER, (double)facts->counts[kind]);
  }
  const struct wo_fact_row *const row = find_row(facts, name);
  return row != NULL ? row->value : wo_value_unknown(WO_UNIT_NONE);
}
