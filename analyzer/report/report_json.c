/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one JSON object, schema whyoom.report/1 (docs/schema/report-1.schema.json). See report.h; json_out.h describes
 * how values look.
 *
 * Keys never change their meaning within a schema; new ones may be added. The order is for people who look at the file and for
 * diffs of two reports; readers must not rely on it. */
#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>

#include "analyzer/report/report_json_internal.h"
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"
#include "analyzer/facts/sizes.h"
#include "parsers/base/units.h"

struct writer {
  const struct wo_report *report;
  const struct wo_job *job;
  struct wo_json_out json;
  struct wo_text line; /* for one text at a time */
};

/* ---- Values ---- */

/* An object under the key; null, and NULL returned, if there is nothing to put in. */
static cJSON *put_object_if(struct writer *w, cJSON *parent, const char *key, bool has_content) {
  cJSON *const item = wo_json_put_part(&w->json, parent, key, has_content);
  return has_content ? item : NULL;
}

/* A time as RFC 3339, as far as the log gives it. No zone is written, since most logs name none; times of one report can be
 * compared. */
static void put_time(struct writer *w, cJSON *object, const char *key, int64_t time_ns) {
  char text[48];
  const bool is_known = time_ns != WO_TIME_UNKNOWN;
  wo_json_put(&w->json, object, key,
              is_known ? cJSON_CreateString(wo_units_time_text(time_ns, text, sizeof text)) : cJSON_CreateNull());
}

/* An array of evidence ids, in the order in which an argument names them. */
static void put_ids(struct writer *w, cJSON *object, const char *key, const wo_event_id *ids, size_t count) {
  cJSON *const array = wo_json_put_array(&w->json, object, key);
  for (size_t i = 0; i < count; i++) wo_json_push(&w->json, array, wo__json_id(ids[i]));
}

/* The ids of all events that play the given role. */
static void put_role_ids(struct writer *w, cJSON *object, const char *key, enum wo_role role) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const array = wo_json_put_array(&w->json, object, key);
  for (size_t i = 0; story->roles != NULL && i < w->job->events.count; i++) {
    if (story->roles[i] == role) wo_json_push(&w->json, array, wo__json_id((wo_event_id)i));
  }
}

/* A value of the rule language; unknown is null. Durations are nanoseconds and sizes are bytes, whatever unit the log printed.
 * Only the nominal value: the interval has keys of its own. */
static cJSON *value_item(struct writer *w, const struct wo_value *value) {
  const bool is_whole = value->unit == WO_UNIT_BYTES || value->unit == WO_UNIT_DURATION;
  if (!value->is_known || value->unit == WO_UNIT_NONE) return cJSON_CreateNull();
  if (value->unit == WO_UNIT_TEXT) return wo_json_text(&w->json, value->text);
  if (value->unit != WO_UNIT_BOOL) return wo_json_number(is_whole ? round(value->number.mid) : value->number.mid);
  return value->truth == WO_UNDECIDED ? cJSON_CreateNull() : cJSON_CreateBool(value->truth == WO_TRUE);
}

/* The unit as the schema names it. The rule language has one unit for counts and ratios; the schema separates them by value: a
 * ratio that happens to be whole is called a count. */
static const char *unit_name(const struct wo_value *value) {
  static const char *const names[] = {
      [WO_UNIT_BOOL] = "bool", [WO_UNIT_BYTES] = "bytes", [WO_UNIT_DURATION] = "ns", [WO_UNIT_TEXT] = "text"};
  if (value->unit != WO_UNIT_NUMBER && value->unit != WO_UNIT_NONE) return names[value->unit];
  return value->number.mid == floor(value->number.mid) ? "count" : "ratio";
}

/* ---- Job ---- */

/* The files. A path is as the user gave it, so that a reader can find the file again; "unknown" is a format of its own. */
static void put_inputs(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put_array(&w->json, root, "inputs");
  for (size_t i = 0; i < w->job->input_count; i++) {
    const struct wo_job_input *const input = &w->job->inputs[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put(&w->json, object, "path", wo_json_text(&w->json, input->path));
    wo_json_put(&w->json, object, "format", wo_json_text(&w->json, input->format.len > 0 ? input->format : WO_VIEW("unknown")));
    wo_json_put_count(&w->json, object, "bytes", input->bytes);
    wo_json_put_count(&w->json, object, "lines", input->lines);
    wo_json_put_bool(&w->json, object, "compressed", input->is_compressed);
    wo_json_put_bool(&w->json, object, "unreadable", input->is_unreadable);
    wo_json_put_texts(&w->json, object, "notes", input->notes, input->note_count);
  }
  if (w->job->left_out_count > 0) wo_json_put_count(&w->json, root, "inputs_left_out", w->job->left_out_count);
}

/* The runs of files that hold several. The index counts all runs of all files, from 1. */
static void put_runs(struct writer *w, cJSON *job) {
  cJSON *const array = wo_json_put_array(&w->json, job, "runs");
  for (size_t i = 0; i < w->job->story.run_count; i++) {
    const struct wo_run *const run = &w->job->story.runs[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_count(&w->json, object, "index", i + 1);
    wo_json_put(&w->json, object, "path", wo_json_text(&w->json, w->job->inputs[run->file].path));
    wo_json_put_count(&w->json, object, "first_line", run->first_line);
    wo_json_put_count(&w->json, object, "last_line", run->last_line);
    wo_json_put_text(&w->json, object, "job_id", run->job_id);
    wo_json_put_name(&w->json, object, "outcome", wo_outcome_name(run->outcome));
    wo_json_put_known(&w->json, object, "step_first", run->step_first);
    wo_json_put_known(&w->json, object, "step_last", run->step_last);
    wo_json_put_bool(&w->json, object, "current", run->is_current);
    wo_json_put(&w->json, object, "evidence", wo__json_id(run->failure));
  }
}

/* The ranks that failed and those that followed. `order_uncertain`: another rank may have been first. */
static void put_ranks(struct writer *w, cJSON *job) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const array = wo_json_put_array(&w->json, job, "rank_table");
  for (size_t i = 0; i < w->report->facts.rank_count; i++) {
    const struct wo_rank *const rank = &w->report->facts.ranks[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_count(&w->json, object, "rank", (uint64_t)rank->rank);
    wo_json_put_text(&w->json, object, "host", rank->host);
    wo_json_put_known(&w->json, object, "gpu", rank->gpu);
    wo_json_put_name(&w->json, object, "status", wo_rank_status_name(rank->status));
    wo_json_put(&w->json, object, "evidence", wo__json_id(rank->evidence));
  }
  wo_json_put_bool(&w->json, job, "order_uncertain", story->is_order_uncertain);
  wo_json_put(&w->json, job, "order_rival", wo__json_id(story->is_order_uncertain ? story->rival : WO_EVENT_NONE));
}

/* What kind of program it is, which one, and where it ran; a null for what the log does not tell. */
static void put_program(struct writer *w, cJSON *job) {
  const struct wo_program *const program = &w->report->facts.program;
  cJSON *const object = wo_json_put_object(&w->json, job, "program");
  wo_json_put_name(&w->json, object, "kind", wo_program_kind_name(program->kind));
  wo_json_put_text(&w->json, object, "name", program->name.text);
  wo_json_put_text(&w->json, object, "platform", program->platform.text);
  wo_json_put_text(&w->json, object, "vendor", program->vendor.text);
  wo_json_put(&w->json, object, "evidence", wo__json_id(program->kind_evidence));
}

/* The job as a whole. `nodes` is empty, not null, when none is known: readers can always loop over it. */
static void put_job(struct writer *w, cJSON *root) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const object = wo_json_put_object(&w->json, root, "job");
  wo_json_put_text(&w->json, object, "id", story->job_id);
  wo_json_put_known(&w->json, object, "array_task", story->array_task);
  wo_json_put_texts(&w->json, object, "nodes", story->nodes, story->node_count);
  wo_json_put_known(&w->json, object, "ranks", story->rank_count);
  wo_json_put_name(&w->json, object, "outcome", wo_outcome_name(story->outcome));
  put_ids(w, object, "outcome_evidence", story->outcome_evidence, story->outcome_evidence_count);
  put_role_ids(w, object, "recovered", WO_ROLE_RECOVERED);
  put_program(w, object);
  put_runs(w, object);
  put_ranks(w, object);
}

/* The node of a failure: the one in the line's prefix, or the single one that the message names. */
static struct wo_view host_of(const struct wo_event *event) {
  if (event->host.len > 0) return event->host;
  const struct wo_view named = wo_event_text(event, WO_FIELD_HOST);
  const bool is_list = wo_view_find_char(named, '[', 0) != WO_NOT_FOUND || wo_view_find_char(named, ',', 0) != WO_NOT_FOUND;
  return is_list ? (struct wo_view){NULL, 0} : named;
}

/* The first failure that was not survived. The step is the last one before it: it belongs to the story, not to the event. */
static void put_failure(struct writer *w, cJSON *root) {
  const struct wo_story *const story = &w->job->story;
  const struct wo_event *const event = wo_event_get(&w->job->events, story->failure);
  cJSON *const object = put_object_if(w, root, "failure", event != NULL);
  if (object == NULL) return;
  wo_json_put_name(&w->json, object, "kind", wo_kind_name(event->kind));
  wo_json_put_known(&w->json, object, "rank", event->rank);
  wo_json_put_bool(&w->json, object, "rank_inferred", story->is_rank_inferred);
  wo_json_put_text(&w->json, object, "host", host_of(event));
  wo_json_put_known(&w->json, object, "gpu", wo_event_whole(event, WO_FIELD_GPU, -1));
  put_time(w, object, "time", event->time_ns);
  const bool has_steps = wo_program_has_steps(&w->report->facts.program);
  wo_json_put_known(&w->json, object, "step", has_steps ? story->step : -1);
  wo_json_put_known(&w->json, object, "step_total", has_steps ? story->step_total : -1);
  wo_json_put_text(&w->json, object, "step_unit", has_steps ? story->step_unit : (struct wo_view){0});
  wo_json_put_text(&w->json, object, "phase", story->phase);
  wo_json_put(&w->json, object, "evidence", wo__json_id(event->id));
  wo_json_put(&w->json, object, "traceback", wo__json_id(story->traceback));
  put_role_ids(w, object, "consequences", WO_ROLE_CONSEQUENCE);
}

/* ---- Findings ---- */

/* Arguments keep the order of the report: the heaviest first. */
static void put_arguments(struct writer *w, cJSON *finding, const char *key, const struct wo_argument *arguments, size_t count) {
  cJSON *const array = wo_json_put_array(&w->json, finding, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put(&w->json, object, "text", wo_json_text(&w->json, arguments[i].text));
    wo_json_put(&w->json, object, "weight", wo_json_number(arguments[i].weight));
    put_ids(w, object, "evidence", arguments[i].evidence, arguments[i].evidence_count);
  }
}

/* The rows of numbers that make the cause visible on the first screen. */
static void put_rows(struct writer *w, cJSON *finding_object, const struct wo_finding *finding) {
  cJSON *const array = wo_json_put_array(&w->json, finding_object, "shown");
  for (size_t i = 0; i < finding->row_count; i++) {
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put(&w->json, object, "label", wo_json_text(&w->json, finding->rows[i].label));
    wo_json_put(&w->json, object, "text", wo_json_text(&w->json, finding->rows[i].text));
  }
}

/* The text to paste; null if there is no spelling. */
static void put_spelling(struct writer *w, cJSON *object, const struct wo_spelling *spelling) {
  w->line.len = 0;
  wo_spelling_add(&w->line, spelling);
  if (w->line.is_failed) w->json.is_failed = true;
  wo_json_put_text(&w->json, object, "spelled", (struct wo_view){w->line.ptr, w->line.len});
}

/* Changed settings. "to" is the value, for programs; "spelled" is the same in the words of the user's framework, for people. */
static void put_changes(struct writer *w, cJSON *fix_object, const struct wo_finding_fix *fix) {
  cJSON *const array = wo_json_put_array(&w->json, fix_object, "changes");
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put(&w->json, object, "knob", wo_json_text(&w->json, change->knob));
    wo_json_put(&w->json, object, "from", value_item(w, &change->from));
    wo_json_put(&w->json, object, "to", value_item(w, &change->to));
    put_spelling(w, object, &change->spelling);
    wo_json_put(&w->json, object, "where", wo__json_id(change->where));
  }
}

/* The bytes that a fix frees, as an interval: a single number would promise more than is known. */
static void put_saves(struct writer *w, cJSON *fix_object, const struct wo_finding_fix *fix) {
  cJSON *const object = put_object_if(w, fix_object, "saves_bytes", fix->has_saves);
  if (object == NULL) return;
  wo_json_put_bytes(&w->json, object, "lo", fix->saves_bytes.lo);
  wo_json_put_bytes(&w->json, object, "hi", fix->saves_bytes.hi);
  wo_json_put_text(&w->json, object, "formula", fix->saves_formula);
}

/* The bytes that stay free with the fix. */
static void put_headroom(struct writer *w, cJSON *fix_object, const struct wo_finding_fix *fix) {
  struct wo_interval room;
  cJSON *const object = put_object_if(w, fix_object, "headroom_bytes", wo_suffice_headroom(fix, &room));
  if (object == NULL) return;
  wo_json_put_bytes(&w->json, object, "lo", room.lo);
  wo_json_put_bytes(&w->json, object, "hi", room.hi);
}

/* The result of `whyoom verify`; null in a diagnosis. */
static void put_proof(struct writer *w, cJSON *fix_object, const struct wo_proof *proof) {
  cJSON *const object = put_object_if(w, fix_object, "proof", proof != NULL);
  if (object == NULL) return;
  wo_json_put_name(&w->json, object, "on", proof->on);
  wo_json_put_name(&w->json, object, "pattern", proof->pattern);
  wo_json_put_bool(&w->json, object, "fits", proof->fits);
  wo_json_put_bytes(&w->json, object, "peak_reserved_bytes", proof->peak_reserved_bytes);
  wo_json_put_bytes(&w->json, object, "margin_bytes", proof->margin_bytes);
}

static void put_fix(struct writer *w, cJSON *object, const struct wo_finding_fix *fix) {
  wo_json_put(&w->json, object, "id", wo_json_text(&w->json, fix->id));
  wo_json_put(&w->json, object, "title", wo_json_text(&w->json, fix->title));
  put_changes(w, object, fix);
  put_saves(w, object, fix);
  wo_json_put_name(&w->json, object, "suffices", wo_suffices_name(fix->suffices));
  put_headroom(w, object, fix);
  wo_json_put_texts(&w->json, object, "needs", fix->needs, fix->need_count);
  cJSON *const cost = wo_json_put_object(&w->json, object, "cost");
  wo_json_put(&w->json, cost, "rank", fix->cost_rank > 0 ? wo_json_number(fix->cost_rank) : cJSON_CreateNull());
  wo_json_put_text(&w->json, cost, "speed", fix->cost_speed);
  wo_json_put_text(&w->json, cost, "accuracy", fix->cost_accuracy);
  wo_json_put_text(&w->json, cost, "effort", fix->cost_effort);
  wo_json_put_texts(&w->json, object, "commands", fix->commands, fix->command_count);
  wo_json_put_texts(&w->json, object, "notes", fix->notes, fix->note_count);
  if (fix->support.len > 0) wo_json_put_text(&w->json, object, "support", fix->support);
  put_proof(w, object, fix->proof);
}

/* One finding. The family is the stable vocabulary; the id is finer. */
static void put_finding(struct writer *w, cJSON *array, const struct wo_finding *finding) {
  assert(finding->cause != NULL && finding->score >= 0 && finding->score <= 1);
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put(&w->json, object, "id", wo_json_text(&w->json, finding->cause->id));
  wo_json_put(&w->json, object, "family", wo_json_text(&w->json, finding->cause->family));
  wo_json_put(&w->json, object, "title", wo_json_text(&w->json, finding->title));
  if (finding->headline.len > 0) wo_json_put(&w->json, object, "headline", wo_json_text(&w->json, finding->headline));
  put_rows(w, object, finding);
  wo_json_put(&w->json, object, "summary", wo_json_text(&w->json, finding->summary));
  wo_json_put_name(&w->json, object, "confidence", wo_report_confidence_name(finding->confidence));
  wo_json_put(&w->json, object, "score", wo_json_number(finding->score));
  wo_json_put_bool(&w->json, object, "is_failure", finding->cause->is_failure);
  put_arguments(w, object, "for", finding->for_, finding->for_count);
  put_arguments(w, object, "against", finding->against, finding->against_count);
  wo_json_put_texts(&w->json, object, "would_tell", finding->would_tell, finding->would_tell_count);
  cJSON *const fixes = wo_json_put_array(&w->json, object, "fixes");
  for (size_t i = 0; i < finding->fix_count; i++) {
    put_fix(w, wo_json_push(&w->json, fixes, cJSON_CreateObject()), &finding->fixes[i]);
  }
  wo_json_put_texts(&w->json, object, "not_proposed", finding->not_proposed, finding->not_proposed_count);
}

/* ---- Memory and facts ---- */

/* A size and the interval of all sizes that are printed the same ("17.66 GiB"). Most readers need the nominal value, a plain
 * integer; lo and hi are for those who add sizes up and must know how far off the sum can be. */
static void put_interval(struct writer *w, cJSON *object, const char *key, struct wo_interval bytes) {
  assert(bytes.lo <= bytes.mid && bytes.mid <= bytes.hi);
  wo_json_put_bytes(&w->json, object, key, bytes.mid);
  wo_json_put_bytes(&w->json, object, "lo", bytes.lo);
  wo_json_put_bytes(&w->json, object, "hi", bytes.hi);
}

/* The card. Parts that contradict each other are written too, with a flag: without them a reader could not see the
 * contradiction. */
static void put_memory(struct writer *w, cJSON *root) {
  const struct wo_report_memory *const memory = &w->report->memory;
  cJSON *const object = put_object_if(w, root, "memory", w->report->has_memory);
  if (object == NULL) return;
  /* An unknown capacity is zero here: no card has zero bytes. */
  const bool has_capacity = memory->capacity_bytes.mid > 0;
  wo_json_put_known(&w->json, object, "gpu", memory->gpu);
  wo_json_put(&w->json, object, "capacity_bytes",
              has_capacity ? wo_json_number(round(memory->capacity_bytes.mid)) : cJSON_CreateNull());
  wo_json_put_bool(&w->json, object, "contradictory", memory->is_contradictory);
  cJSON *const parts = wo_json_put_array(&w->json, object, "parts");
  for (size_t i = 0; i < memory->part_count; i++) {
    cJSON *const part = wo_json_push(&w->json, parts, cJSON_CreateObject());
    wo_json_put(&w->json, part, "name", wo_json_text(&w->json, memory->parts[i].name));
    put_interval(w, part, "bytes", memory->parts[i].bytes);
  }
  wo_json_put_texts(&w->json, object, "arithmetic", memory->arithmetic, memory->arithmetic_count);
}

/* One tensor that has the size of the request. */
static void put_reading(struct writer *w, cJSON *array, const struct wo_size_reading *reading) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put(&w->json, object, "id", wo_json_text(&w->json, reading->id));
  wo_json_put(&w->json, object, "meaning", wo_json_text(&w->json, reading->meaning));
  wo_json_put(&w->json, object, "formula", wo_json_text(&w->json, reading->formula));
  wo_json_put_bytes(&w->json, object, "bytes", reading->bytes);
  wo_json_put_bool(&w->json, object, "specific", reading->is_specific);
  wo_json_put_texts(&w->json, object, "assumed", reading->assumed, reading->assumed_count);
}

/* The bytes that were missing at the failure: fixes are measured by them. */
static void put_shortage(struct writer *w, cJSON *root) {
  const struct wo_shortage shortage = w->report->shortage;
  cJSON *const object = put_object_if(w, root, "shortage", shortage.is_known);
  if (object == NULL) return;
  put_interval(w, object, "bytes", shortage.bytes);
  wo_json_put_text(&w->json, object, "formula", shortage.formula);
}

/* The refused request and the tensors that it may have been. The number of tried readings shows how likely a chance hit is. */
static void put_request(struct writer *w, cJSON *root) {
  const struct wo_sizes *const sizes = w->report->request;
  cJSON *const object = put_object_if(w, root, "request", sizes != NULL);
  if (object == NULL) return;
  put_interval(w, object, "bytes", sizes->request);
  wo_json_put_count(&w->json, object, "tried", sizes->tried_count);
  wo_json_put_count(&w->json, object, "fitting", sizes->match_count);
  cJSON *const readings = wo_json_put_array(&w->json, object, "readings");
  for (size_t i = 0; i < sizes->reading_count; i++) put_reading(w, readings, &sizes->readings[i]);
}

/* A known fact under its dotted name; unknown ones are left out: there are many. lo and hi only if the printed number is not
 * exact. */
static void put_fact(struct writer *w, cJSON *facts, const char *group, struct wo_view name, const struct wo_value *value) {
  if (!value->is_known) return;
  w->json.scratch.len = 0;
  wo_text_add(&w->json.scratch, "%s%.*s", group, WO_SHOWN(name));
  if (w->json.scratch.is_failed || name.len == 0) {
    w->json.is_failed = true;
    return;
  }
  cJSON *const object = wo_json_put_object(&w->json, facts, w->json.scratch.ptr); /* the key is copied */
  wo_json_put(&w->json, object, "value", value_item(w, value));
  wo_json_put_name(&w->json, object, "unit", unit_name(value));
  wo_json_put(&w->json, object, "evidence", wo__json_id(value->evidence));
  const bool has_number = value->unit != WO_UNIT_TEXT && value->unit != WO_UNIT_BOOL;
  if (!has_number || value->number.lo == value->number.hi) return;
  const bool is_whole = value->unit != WO_UNIT_NUMBER; /* bytes and nanoseconds */
  wo_json_put(&w->json, object, "lo", wo_json_number(is_whole ? round(value->number.lo) : value->number.lo));
  wo_json_put(&w->json, object, "hi", wo_json_number(is_whole ? round(value->number.hi) : value->number.hi));
}

static void put_facts(struct writer *w, cJSON *root) {
  const struct wo_facts *const facts = &w->report->facts;
  cJSON *const object = wo_json_put_object(&w->json, root, "facts");
  for (size_t i = 0; i < facts->row_count; i++) put_fact(w, object, "", facts->rows[i].name, &facts->rows[i].value);
  for (size_t i = 0; i < facts->setting_count; i++)
    put_fact(w, object, "config.", facts->settings[i].knob->id, &facts->settings[i].value);
}

/* Consequences by sort. Each one is in the evidence, with its role. */
static void put_folds(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put_array(&w->json, root, "folded");
  for (size_t i = 0; i < w->report->fold_count; i++) {
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put(&w->json, object, "what", wo_json_text(&w->json, w->report->folds[i].what));
    wo_json_put_count(&w->json, object, "count", w->report->folds[i].count);
    wo_json_put_count(&w->json, object, "ranks", w->report->folds[i].rank_count);
  }
}

/* ---- Evidence ---- */

/* A field by its type: sizes are whole bytes, counts and ratios are not rounded. */
static void put_field(struct writer *w, cJSON *fields, const struct wo_field *field) {
  const char *const name = wo_field_name(field->id);
  const enum wo_field_type type = wo_field_type_of(field->id);
  const double number = type == WO_FIELD_TYPE_BYTES ? round(field->number.mid) : field->number.mid;
  wo_json_put(&w->json, fields, name, type == WO_FIELD_TYPE_TEXT ? wo_json_text(&w->json, field->text) : wo_json_number(number));
}

/* The name of an event's role, or NULL for none: the key is then left out. */
static const char *role_name(enum wo_role role) {
  static const char *const names[] = {[WO_ROLE_NONE] = NULL,
                                      [WO_ROLE_FAILURE] = "failure",
                                      [WO_ROLE_CONSEQUENCE] = "consequence",
                                      [WO_ROLE_RECOVERED] = "recovered",
                                      [WO_ROLE_REPEAT] = "repeat",
                                      [WO_ROLE_EARLIER] = "earlier_run",
                                      [WO_ROLE_SURVIVED] = "survived"};
  return names[role];
}

/* One piece of evidence. Keys that are seldom true are left out when they are false: a report can hold thousands of these. */
static void put_event(struct writer *w, cJSON *array, const struct wo_event *event, enum wo_role role) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  const bool has_file = event->span.file < w->job->input_count;
  wo_json_put(&w->json, object, "id", wo__json_id(event->id));
  wo_json_put_name(&w->json, object, "kind", wo_kind_name(event->kind));
  wo_json_put_text(&w->json, object, "path", has_file ? w->job->inputs[event->span.file].path : (struct wo_view){NULL, 0});
  wo_json_put_count(&w->json, object, "line", event->span.line);
  wo_json_put_count(&w->json, object, "byte", event->span.byte);
  wo_json_put_count(&w->json, object, "length", event->span.length);
  wo_json_put_known(&w->json, object, "rank", event->rank);
  wo_json_put_text(&w->json, object, "host", event->host);
  put_time(w, object, "time", event->time_ns);
  if (role_name(role) != NULL) wo_json_put_name(&w->json, object, "role", role_name(role));
  if (event->of != WO_EVENT_NONE) wo_json_put(&w->json, object, "of", wo__json_id(event->of));
  if (event->is_quoted) wo_json_put(&w->json, object, "quoted", cJSON_CreateTrue());
  wo_json_put_text(&w->json, object, "pattern", event->pattern_id);
  wo_json_put(&w->json, object, "text", wo_json_text(&w->json, event->text));
  cJSON *const fields = wo_json_put_object(&w->json, object, "fields");
  for (uint32_t i = 0; i < event->field_count; i++) put_field(w, fields, &event->fields[i]);
}

/* All evidence. The position in the store is the id, so that "e7" is found by counting as well as by searching. */
static void put_evidence(struct writer *w, cJSON *root) {
  const struct wo_event_store *const events = &w->job->events;
  const enum wo_role *const roles = w->job->story.roles;
  cJSON *const array = wo_json_put_array(&w->json, root, "evidence");
  for (size_t i = 0; i < events->count && !w->json.is_failed; i++) {
    assert(events->items[i].id == (wo_event_id)i);
    put_event(w, array, &events->items[i], roles == NULL ? WO_ROLE_NONE : roles[i]);
  }
  wo_json_put_count(&w->json, root, "evidence_dropped", events->dropped);
}

/* ---- Traces ---- */

static void put_figure(struct writer *w, cJSON *object, const char *key, struct wo_figure figure) {
  wo_json_put(&w->json, object, key, figure.is_known ? wo_json_number(figure.value.mid) : cJSON_CreateNull());
}

static void put_figure_bytes(struct writer *w, cJSON *object, const char *key, struct wo_figure figure) {
  figure.value.mid = round(figure.value.mid);
  put_figure(w, object, key, figure);
}

/* A slope and the ends of its interval, or null. */
static void put_slope(struct writer *w, cJSON *object, const char *key, const struct wo_figure *slope) {
  cJSON *const item = put_object_if(w, object, key, slope->is_known);
  if (item == NULL) return;
  wo_json_put(&w->json, item, "value", wo_json_number(slope->value.mid));
  wo_json_put(&w->json, item, "lo", wo_json_number(slope->value.lo));
  wo_json_put(&w->json, item, "hi", wo_json_number(slope->value.hi));
}

/* One card of one trace. A figure without a column in the trace is null; most traces lack some. */
static void put_monitor(struct writer *w, cJSON *array, const struct wo_card_trace *monitor) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  assert(monitor->file < w->job->input_count);
  wo_json_put(&w->json, object, "path", wo_json_text(&w->json, w->job->inputs[monitor->file].path));
  wo_json_put_count(&w->json, object, "gpu", (uint64_t)monitor->gpu);
  wo_json_put_count(&w->json, object, "samples", monitor->samples);
  put_figure_bytes(w, object, "fb_peak_bytes", monitor->fb_peak_bytes);
  put_figure_bytes(w, object, "fb_last_bytes", monitor->fb_last_bytes);
  put_figure(w, object, "fb_slope_bytes_per_s", monitor->fb_slope_bytes_per_s);
  put_figure(w, object, "fb_slope_bytes_per_sample", monitor->fb_slope_bytes_per_sample);
  put_figure(w, object, "sm_mean_pct", monitor->sm_mean_pct);
  put_figure_bytes(w, object, "capacity_bytes", monitor->capacity_bytes);
  put_figure(w, object, "active_samples", monitor->course.active_samples);
  put_figure(w, object, "sm_active_mean_pct", monitor->course.sm_active_mean_pct);
  put_figure(w, object, "idle_pct", monitor->course.idle_pct);
  put_slope(w, object, "fb_trend_bytes_per_s", &monitor->course.fb_trend_per_s);
  put_slope(w, object, "fb_trend_bytes_per_sample", &monitor->course.fb_trend_per_sample);
  put_figure_bytes(w, object, "fb_late_rise_bytes", monitor->course.fb_late_rise_bytes);
  wo_json_put(&w->json, object, "note", monitor->lack.len > 0 ? wo_json_text(&w->json, monitor->lack) : cJSON_CreateNull());
  wo_json_put(&w->json, object, "evidence", wo__json_id(monitor->evidence));
}

static void put_process(struct writer *w, cJSON *array, const struct wo_event *process) {
  const double pid = wo_event_number(process, WO_FIELD_PID, 0);
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  assert(process->span.file < w->job->input_count);
  wo_json_put(&w->json, object, "path", wo_json_text(&w->json, w->job->inputs[process->span.file].path));
  put_figure(w, object, "gpu", wo_figure_of(process, WO_FIELD_GPU));
  wo_json_put_maybe(&w->json, object, "pid", pid > 0, (uint64_t)pid);
  wo_json_put_text(&w->json, object, "name", wo_event_text(process, WO_FIELD_NAME));
  put_figure(w, object, "samples", wo_figure_of(process, WO_FIELD_SAMPLES));
  put_figure_bytes(w, object, "peak_bytes", wo_figure_of(process, WO_FIELD_PEAK_BYTES));
  wo_json_put(&w->json, object, "evidence", wo__json_id(process->id));
}

static void put_steps_row(struct writer *w, cJSON *array, const struct wo_event *row) {
  const struct wo_figure slope = wo_figure_of(row, WO_FIELD_SLOPE_BYTES_PER_STEP);
  const double jump_line = wo_event_number(row, WO_FIELD_JUMP_LINE, 0);
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put(&w->json, object, "path", wo_json_text(&w->json, w->job->inputs[row->span.file].path));
  wo_json_put(&w->json, object, "figure", wo_json_text(&w->json, wo_event_text(row, WO_FIELD_NAME)));
  wo_json_put_known(&w->json, object, "rank", row->rank);
  wo_json_put_bool(&w->json, object, "is_of_last_run", wo_facts_is_counted(w->job, row));
  put_figure(w, object, "prints", wo_figure_of(row, WO_FIELD_SAMPLES));
  wo_json_put_text(&w->json, object, "step_unit", wo_event_text(row, WO_FIELD_STEP_UNIT));
  put_figure(w, object, "first_step", wo_figure_of(row, WO_FIELD_STEP_FIRST));
  put_figure(w, object, "last_step", wo_figure_of(row, WO_FIELD_STEP));
  put_figure(w, object, "peak_step", wo_figure_of(row, WO_FIELD_STEP_PEAK));
  put_figure_bytes(w, object, "first_bytes", wo_figure_of(row, WO_FIELD_FIRST_BYTES));
  put_figure_bytes(w, object, "last_bytes", wo_figure_of(row, WO_FIELD_LAST_BYTES));
  put_figure_bytes(w, object, "peak_bytes", wo_figure_of(row, WO_FIELD_PEAK_BYTES));
  put_figure_bytes(w, object, "lowest_bytes", wo_figure_of(row, WO_FIELD_LOWEST_BYTES));
  put_slope(w, object, "slope_bytes_per_step", &slope);
  put_figure_bytes(w, object, "late_rise_bytes", wo_figure_of(row, WO_FIELD_LATE_RISE_BYTES));
  put_figure_bytes(w, object, "jump_bytes", wo_figure_of(row, WO_FIELD_JUMP_BYTES));
  put_figure_bytes(w, object, "jump_from_bytes", wo_figure_of(row, WO_FIELD_JUMP_FROM_BYTES));
  put_figure(w, object, "jump_step", wo_figure_of(row, WO_FIELD_JUMP_STEP));
  wo_json_put_maybe(&w->json, object, "jump_line", jump_line > 0, (uint64_t)jump_line);
  put_figure_bytes(w, object, "fall_bytes", wo_figure_of(row, WO_FIELD_FALL_BYTES));
  wo_json_put_count(&w->json, object, "falls", wo_event_count(row, WO_FIELD_FALL_COUNT));
  put_figure(w, object, "restarts", wo_figure_of(row, WO_FIELD_RESTART_COUNT));
  put_figure(w, object, "wraps", wo_figure_of(row, WO_FIELD_WRAP_COUNT));
  put_figure(w, object, "first_line", wo_figure_of(row, WO_FIELD_LINE_FIRST));
  wo_json_put_count(&w->json, object, "last_line", row->span.line);
  wo_json_put(&w->json, object, "evidence", wo__json_id(row->id));
}

static void put_steps(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put_array(&w->json, root, "steps");
  for (size_t i = 0; i < w->report->facts.step_count; i++) put_steps_row(w, array, w->report->facts.steps[i]);
}

static void put_monitors(struct writer *w, cJSON *root) {
  const struct wo_facts *const facts = &w->report->facts;
  cJSON *const array = wo_json_put_array(&w->json, root, "monitors");
  for (size_t i = 0; i < facts->monitor_count; i++) put_monitor(w, array, &facts->monitors[i]);
  cJSON *const processes = wo_json_put_array(&w->json, root, "gpu_processes");
  for (size_t i = 0; i < facts->process_count; i++) put_process(w, processes, facts->processes[i]);
}

/* ---- Settings ---- */

static void put_setting(struct writer *w, cJSON *array, const struct wo_setting *setting) {
  const struct wo_spelling spelling = wo_spell_setting(setting->event);
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put(&w->json, object, "knob", wo_json_text(&w->json, setting->knob->id));
  wo_json_put(&w->json, object, "value", value_item(w, &setting->value));
  put_spelling(w, object, &spelling);
  wo_json_put(&w->json, object, "evidence", wo__json_id(setting->value.evidence));
  cJSON *const others = wo_json_put_array(&w->json, object, "others");
  for (size_t i = 0; i < setting->other_count; i++) {
    cJSON *const other = wo_json_push(&w->json, others, cJSON_CreateObject());
    wo_json_put(&w->json, other, "value", value_item(w, &setting->others[i].value));
    wo_json_put(&w->json, other, "evidence", wo__json_id(setting->others[i].value.evidence));
    wo_json_put(&w->json, other, "why_not", wo_json_text(&w->json, setting->others[i].why_not));
    wo_json_put_bool(&w->json, other, "conflict", setting->others[i].is_conflict);
  }
}

static void put_settings(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put_array(&w->json, root, "settings");
  for (size_t i = 0; i < w->report->facts.setting_count; i++) {
    const struct wo_setting *const setting = &w->report->facts.settings[i];
    if (setting->event != NULL) put_setting(w, array, setting);
  }
}

/* ---- The whole ---- */

/* The keys in the order in which people read them; the long lists come last. */
static void put_report(struct writer *w, cJSON *root) {
  const struct wo_report *const report = w->report;
  wo_json_put_name(&w->json, root, "schema", "whyoom.report/1");
  cJSON *const tool = wo_json_put_object(&w->json, root, "tool");
  wo_json_put_name(&w->json, tool, "name", "whyoom");
  wo_json_put_name(&w->json, tool, "version", WHYOOM_VERSION);
  put_inputs(w, root);
  put_job(w, root);
  put_failure(w, root);
  cJSON *const findings = wo_json_put_array(&w->json, root, "findings");
  for (size_t i = 0; i < report->finding_count; i++) put_finding(w, findings, &report->findings[i]);
  if (report->first_change != NULL) put_fix(w, wo_json_put_object(&w->json, root, "first_change"), report->first_change);
  put_memory(w, root);
  put_shortage(w, root);
  put_request(w, root);
  put_monitors(w, root);
  put_steps(w, root);
  if (report->ladder != NULL) {
    wo__json_ladder(&w->json, root, "ladder", report->ladder);
  } else {
    wo_json_put(&w->json, root, "ladder", cJSON_CreateNull());
  }
  put_facts(w, root);
  put_settings(w, root);
  put_folds(w, root);
  wo_json_put_text(&w->json, root, "resubmit", report->resubmit);
  if (report->verify_json.len > 0) {
    cJSON *const verify =
        wo_json_put(&w->json, root, "verify", cJSON_ParseWithLength(report->verify_json.ptr, report->verify_json.len));
    wo_json_put_exact(&w->json, verify, "patch", report->verify_patch);
  }
  put_evidence(w, root);
}

void wo_report_json(const struct wo_report *report, struct wo_text *out) {
  assert(report != NULL && report->job != NULL && out != NULL);
  struct writer w = {.report = report, .job = report->job};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_report(&w, root);
  wo_json_finish(&w.json, root, out);
  wo_text_done(&w.line);
}
