/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a job: runs the stages one after the other, and gives the values when all are done. */
#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/timeline.h"
#include "rules/language/event_fact.h"

const struct wo_fact_stage *wo__fact_stages(size_t *ret_count) {
  static const struct wo_fact_stage stages[] = {
#define WO_FACT_STAGE(name, needs, gives) {#name, wo__facts_##name, needs, gives},
#include "analyzer/facts/fact_stages.def"
#undef WO_FACT_STAGE
  };
  *ret_count = sizeof stages / sizeof stages[0];
  return stages;
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
 * Which kinds were seen, which came first, which figures grew. Computed when a rule asks, because few rules do. */

/* The first event of a kind that counts, or NULL. Events of one file come nearly in the order of their lines; across files the
 * times decide, if they are known. */
static const struct wo_event *first_of(const struct wo_job *job, struct wo_view kind_name) {
  const enum wo_kind kind = wo_kind_find(kind_name);
  const struct wo_event *first = NULL;
  wo_each_event (event, &job->events) {
    if (event->kind != kind || !wo_facts_is_counted(job, event)) continue;
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

/* Times decide first, because lines of several ranks may be out of order; then the lines of one file. An event is not before
 * itself. */
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

/* Change between the first and the last message of the failing rank that give the figure; unknown with one message. Intervals are
 * treated as independent, so that rounding alone is never a certain rise. */
static struct wo_value get_slope(const struct wo_facts *facts, struct wo_view figure) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = wo_event_get(&job->events, job->story.failure);
  struct wo_value first = wo_value_unknown(WO_UNIT_BYTES);
  struct wo_value last = first;
  size_t count = 0;
  if (wo_view_is(figure, "trace")) return wo_facts_get(facts, WO_VIEW("dmon.fb_slope"));
  if (!failure || wo_kind_class(failure->kind) != WO_CLASS_GPU_MEMORY) return first;
  wo_each_event (event, &job->events) {
    if (event->kind != failure->kind || event->is_quoted || event->rank != failure->rank) continue;
    const struct wo_value value = wo__facts_figure(event, figure);
    if (!value.is_known) continue;
    if (count++ == 0) first = value;
    last = value;
  }
  if (count < 2) return wo_value_unknown(WO_UNIT_BYTES);
  struct wo_value value = wo_value_number(WO_UNIT_BYTES, wo_interval_minus(last.number, first.number));
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

/* ---- Asking ---- */

struct wo_value wo_facts_get(const struct wo_facts *facts, struct wo_view name) {
  const struct wo_value value = wo__facts_value(facts, name);
  return value.unit != WO_UNIT_NONE ? value : get_event_fact(facts, name);
}

static struct wo_value get_from_source(void *context, struct wo_view name) {
  return wo_facts_get(context, name);
}

static struct wo_value get_at(void *context, size_t place) {
  return wo__facts_at(context, place);
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
  return (struct wo_facts_source){.get = get_from_source, .get_at = get_at, .context = cast.out, .row_count = count_rows, .get_row = get_from_row};
}
