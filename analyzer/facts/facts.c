/* The facts of a job by name: the stages that work them out, one after the other, and what is asked of them. */
#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"
#include "analyzer/story/timeline.h"
#include "rules/language/event_fact.h"

struct fact_row {
  const char *name;
  enum wo_unit unit;
};

/* The names are checked when rules are loaded, against the same list; a fact that a stage sets under another name is
 * a mistake of the stage. */
static const struct fact_row fact_table[] = {
#define WO_FACT(name, unit, meaning) {name, WO_UNIT_##unit},
#include "rules/language/facts.def"
#undef WO_FACT
};

#define FACT_COUNT (sizeof fact_table / sizeof fact_table[0])

/* The row of a name, or NULL. */
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
  wo__set_figure(facts, name, wo__figure_of(event, id), event->id);
}

void wo__set_text(struct wo_facts *facts, const char *name, struct wo_view text, wo_event_id evidence) {
  if (text.len > 0) wo_facts_set(facts, name, wo_value_text(text), evidence);
}

void wo__set_bool(struct wo_facts *facts, const char *name, bool value, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_bool(value ? WO_TRUE : WO_FALSE), evidence);
}

/* ---- Reading ---- */

struct wo_figure wo__figure_of(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  return field ? (struct wo_figure){true, field->number} : (struct wo_figure){.is_known = false};
}

struct wo_figure wo__exact_figure_of(const struct wo_event *event, enum wo_field_id id) {
  struct wo_figure figure = wo__figure_of(event, id);
  figure.value.lo = figure.value.hi = figure.value.mid;
  return figure;
}

const struct wo_event *wo__failure_of(const struct wo_facts *facts) {
  return wo_event_get(&facts->job->events, facts->job->story.failure);
}

bool wo__is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

bool wo__is_of_this_end(const struct wo_job *job, const struct wo_event *event) {
  const enum wo_role role = job->story.roles[event->id];
  return role != WO_ROLE_RECOVERED && role != WO_ROLE_EARLIER;
}

bool wo__is_counted(const struct wo_job *job, const struct wo_event *event) {
  return !event->is_quoted && !wo_story_is_suspicion(event) && wo__is_of_this_end(job, event);
}

/* ---- Stages ---- */

const struct wo_fact_stage *wo__fact_stages(size_t *ret_count) {
  static const struct wo_fact_stage stages[] = {
#define WO_FACT_STAGE(name, needs, gives) {#name, wo__facts_##name, needs, gives},
#include "analyzer/facts/fact_stages.def"
#undef WO_FACT_STAGE
  };
  *ret_count = sizeof stages / sizeof stages[0];
  return stages;
}

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
  *facts = (struct wo_facts){.job = job, .pack = pack, .arena = arena, .row_count = FACT_COUNT};
  facts->rows = wo_arena_array(arena, FACT_COUNT, sizeof *facts->rows);
  if (!facts->rows) return WO_E_NOMEM;
  for (size_t i = 0; i < FACT_COUNT; i++) {
    facts->rows[i] =
        (struct wo_fact_row){wo_view_of(fact_table[i].name), fact_table[i].unit, wo_value_unknown(fact_table[i].unit)};
  }
  return WO_OK;
}

enum wo_status wo__facts_run(struct wo_facts *facts, const struct wo_fact_stage *stage) {
  facts->stage = stage;
  stage->run(facts);
  facts->stage = NULL;
  return wo_arena_is_exhausted(facts->arena) ? WO_E_NOMEM : WO_OK;
}

enum wo_status wo_facts_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                             struct wo_facts *ret_facts) {
  size_t count = 0;
  const struct wo_fact_stage *const stages = wo__fact_stages(&count);
  enum wo_status status = wo__facts_start(job, pack, arena, ret_facts);
  for (size_t i = 0; i < count && status == WO_OK; i++) status = wo__facts_run(ret_facts, &stages[i]);
  return status;
}

/* ---- Facts of the time line ----
 *
 * What was seen, what came first, what grew. Worked out when a rule asks, as few rules do. */

/* The first event of a kind that counts, or NULL. Events of one file come nearly in the order of their lines; across files the
 * times decide, as far as they tell. */
static const struct wo_event *first_of(const struct wo_job *job, struct wo_view kind_name) {
  const enum wo_kind kind = wo_kind_find(kind_name);
  const struct wo_event *first = NULL;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->kind != kind || !wo__is_counted(job, event)) continue;
    const bool is_earlier_line = first && event->span.file == first->span.file && event->span.line < first->span.line;
    if (!first || is_earlier_line || wo_timeline_is_before(job->story.timeline, event, first)) first = event;
  }
  return first;
}

static struct wo_value truth_at(enum wo_truth truth, const struct wo_event *event) {
  struct wo_value value = wo_value_bool(truth);
  if (event && value.is_known) value.evidence = event->id;
  return value;
}

/* Times first, as the lines of several ranks need not be in order; then the lines of one file. One event is not before itself. */
static struct wo_value get_before(const struct wo_job *job, struct wo_view a_kind, struct wo_view b_kind) {
  const struct wo_event *a = first_of(job, a_kind);
  const struct wo_event *b = first_of(job, b_kind);
  if (!a || !b) return wo_value_unknown(WO_UNIT_BOOL);
  if (a == b) return truth_at(WO_FALSE, a);
  if (wo_timeline_is_before(job->story.timeline, a, b)) return truth_at(WO_TRUE, a);
  if (wo_timeline_is_before(job->story.timeline, b, a)) return truth_at(WO_FALSE, b);
  if (a->span.file != b->span.file || a->span.line == b->span.line) return wo_value_unknown(WO_UNIT_BOOL);
  return a->span.line < b->span.line ? truth_at(WO_TRUE, a) : truth_at(WO_FALSE, b);
}

static struct wo_value get_during(const struct wo_facts *facts, struct wo_view phase) {
  const struct wo_value known = wo_facts_get(facts, WO_VIEW("oom.phase"));
  if (!known.is_known) return wo_value_unknown(WO_UNIT_BOOL);
  struct wo_value value = wo_value_bool(wo_view_equal(known.text, phase) ? WO_TRUE : WO_FALSE);
  value.evidence = known.evidence;
  return value;
}

/* Between the first and the last message of the failing rank that give the figure; one message shows no change. Intervals are
 * taken as independent, so that rounding alone is never a rise for certain. */
static struct wo_value get_slope(const struct wo_facts *facts, struct wo_view figure) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = wo_event_get(&job->events, job->story.failure);
  struct wo_value first = wo_value_unknown(WO_UNIT_BYTES);
  struct wo_value last = first;
  size_t count = 0;
  if (wo_view_is(figure, "trace")) return wo_facts_get(facts, WO_VIEW("dmon.fb_slope"));
  if (!failure || wo_kind_class(failure->kind) != WO_CLASS_GPU_MEMORY) return first;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->kind != failure->kind || event->is_quoted || event->rank != failure->rank) continue;
    const struct wo_value value = wo__facts_figure(event, figure);
    if (!value.is_known) continue;
    if (count++ == 0) first = value;
    last = value;
  }
  if (count < 2) return wo_value_unknown(WO_UNIT_BYTES);
  const struct wo_interval a = first.number;
  const struct wo_interval b = last.number;
  const struct wo_interval change = {.lo = b.lo - a.hi, .mid = b.mid - a.mid, .hi = b.hi - a.lo};
  struct wo_value value = wo_value_number(WO_UNIT_BYTES, change);
  value.evidence = last.evidence;
  return value;
}

static struct wo_value get_event_fact(const struct wo_facts *facts, struct wo_view name) {
  struct wo_view words[WO_EVENT_WORDS];
  const struct wo_event_function *function = wo_event_fact_split(name, words);
  if (!function) return wo_value_unknown(WO_UNIT_NONE);
  switch (function->fn) {
  case WO_EVENT_SEEN: {
    const struct wo_event *first = first_of(facts->job, words[0]);
    return truth_at(first ? WO_TRUE : WO_FALSE, first);
  }
  case WO_EVENT_BEFORE:
    return get_before(facts->job, words[0], words[1]);
  case WO_EVENT_DURING:
    return get_during(facts, words[0]);
  case WO_EVENT_SLOPE:
    return get_slope(facts, words[0]);
  }
  return wo_value_unknown(WO_UNIT_NONE);
}

/* ---- Public ---- */

struct wo_value wo_facts_get(const struct wo_facts *facts, struct wo_view name) {
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
  return row != NULL ? row->value : get_event_fact(facts, name);
}

static struct wo_value get_from_source(void *context, struct wo_view name) {
  return wo_facts_get(context, name);
}

static size_t count_rows(void *context, enum wo_rows rows) {
  const struct wo_facts *facts = context;
  return rows == WO_ROWS_RANK ? facts->rank_rows.count : facts->card_rows.count;
}

static struct wo_value get_from_row(void *context, size_t row, struct wo_view name) {
  return wo_facts_get_row(context, row, name);
}

struct wo_facts_source wo_facts_source(const struct wo_facts *facts) {
  union {
    const struct wo_facts *in;
    void *out;
  } cast = {.in = facts};
  return (struct wo_facts_source){.get = get_from_source, .context = cast.out, .row_count = count_rows, .get_row = get_from_row};
}
