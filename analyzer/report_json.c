/* The report as one JSON object, schema whyoom.report/1 (docs/schema/report-1.schema.json).
 *
 * In: struct wo_report. Out: JSON text, two blanks of indentation. What is unknown is null or a
 * missing key, never zero. Sizes, lines and offsets are written as exact integers (as raw numbers:
 * cJSON's own go through double and may get an exponent). cJSON builds and prints; whatever it
 * cannot allocate makes the text failed and empty.
 *
 * For programs: keys never change their meaning within a schema, new ones may come. Order is for
 * people who look at the file; readers must not rely on it, but a diff of two reports does. */
#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>

#include "analyzer/ladder.h"
#include "analyzer/report_text.h"
#include "analyzer/sizes.h"
#include "parsers/base/units.h"
#include "parsers/base/clean.h"

#ifndef WHYOOM_VERSION
#define WHYOOM_VERSION "unknown"
#endif

/* From here on a double holds no fraction and %.0f is exact. */
#define WHOLE_MAX 9223372036854775807.0

enum { UTF8_GROWTH = 3, ID_BYTES = 24 };

/* What every part needs. Items that cannot be made are counted as failed and left out. */
struct writer {
  const struct wo_report *report;
  const struct wo_job *job;
  struct wo_text scratch; /* NUL-terminated copies of views */
  bool is_failed;
};

/* ---- Values ----
 *
 * put_x(w, object, key, x) adds a key, x_item(x) makes a value. Ownership is cJSON's: an item that was added belongs to its
 * parent, one that could not be added is deleted here. So nothing but the root is ever released, on success and on failure. */

/* Puts an item under a key. Takes the item over, NULL included (which is a failure). */
static cJSON *put(struct writer *w, cJSON *object, const char *key, cJSON *item) {
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

/* Appends an item to an array; as put. */
static cJSON *push(struct writer *w, cJSON *array, cJSON *item) {
  if (item != NULL && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

/* Puts an empty object / array under a key and returns it. NULL when memory is out: putting into NULL fails in turn, so that
 * callers need not look. */
static cJSON *put_object(struct writer *w, cJSON *object, const char *key) {
  return put(w, object, key, cJSON_CreateObject());
}

static cJSON *put_array(struct writer *w, cJSON *object, const char *key) {
  return put(w, object, key, cJSON_CreateArray());
}

/* A string of any bytes: JSON text must be UTF-8, and paths on disk need not be. NULL when memory is out. */
static cJSON *text_item(struct writer *w, struct wo_view view) {
  w->scratch.len = 0;
  wo_text_repeat(&w->scratch, ' ', view.len * UTF8_GROWTH + 1);
  if (w->scratch.is_failed) return NULL;
  const struct wo_view clean = wo_clean_utf8(view, w->scratch.ptr, w->scratch.len - 1);
  w->scratch.ptr[clean.len] = '\0';
  return cJSON_CreateString(w->scratch.ptr);
}

/* An absent text is null. */
static void put_text(struct writer *w, cJSON *object, const char *key, struct wo_view view) {
  put(w, object, key, view.len == 0 ? cJSON_CreateNull() : text_item(w, view));
}

/* A name from one of our own lists: plain ASCII, never absent. */
static void put_name(struct writer *w, cJSON *object, const char *key, const char *name) {
  put(w, object, key, cJSON_CreateString(name));
}

/* An array of texts, in order; empty ones are kept, since positions may mean something. */
static void put_texts(struct writer *w, cJSON *object, const char *key, const struct wo_view *views, size_t count) {
  cJSON *const array = put_array(w, object, key);
  for (size_t i = 0; i < count; i++) push(w, array, text_item(w, views[i]));
}

/* An unsigned number, exact over the whole range of 64 bits. */
static cJSON *count_item(uint64_t count) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, count);
  return cJSON_CreateRaw(digits);
}

/* For what cannot be unknown: lines, bytes, how often. */
static void put_count(struct writer *w, cJSON *object, const char *key, uint64_t count) {
  put(w, object, key, count_item(count));
}

/* A number of the report's integers that are -1 when unknown; those are null. Never zero: rank 0
 * and step 0 exist. */
static void put_known(struct writer *w, cJSON *object, const char *key, int64_t value) {
  put(w, object, key, value < 0 ? cJSON_CreateNull() : count_item((uint64_t)value));
}

/* Whole numbers exactly, others as doubles; what JSON cannot say (infinity, NaN) is null. "-0" is
 * written as 0, which all readers agree on. */
static cJSON *number_item(double value) {
  if (!isfinite(value)) return cJSON_CreateNull();
  if (value != floor(value) || fabs(value) >= WHOLE_MAX) return cJSON_CreateNumber(value);
  char digits[32];
  snprintf(digits, sizeof digits, "%.0f", value == 0 ? 0.0 : value);
  return cJSON_CreateRaw(digits);
}

/* Bytes are whole: a printed size is a product of a fraction and a power of 1024, and its fraction
 * of a byte means nothing. */
static void put_bytes(struct writer *w, cJSON *object, const char *key, double bytes) {
  put(w, object, key, number_item(round(bytes)));
}

/* A time as RFC 3339, as far as the log tells it. No zone is written, since most logs name none;
 * the times of one report compare with each other. */
static void put_time(struct writer *w, cJSON *object, const char *key, int64_t time_ns) {
  char text[48];
  const bool is_known = time_ns != WO_TIME_UNKNOWN;
  put(w, object, key, is_known ? cJSON_CreateString(wo_units_time_text(time_ns, text, sizeof text)) : cJSON_CreateNull());
}

/* "e7", or null. Ids are texts so that nobody computes with them; they hold within one report only. */
static cJSON *id_item(wo_event_id id) {
  char text[ID_BYTES];
  if (id == WO_EVENT_NONE) return cJSON_CreateNull();
  snprintf(text, sizeof text, "e%" PRId32, id);
  return cJSON_CreateString(text);
}

/* An array of evidence ids, in the order in which an argument names them. */
static void put_ids(struct writer *w, cJSON *object, const char *key, const wo_event_id *ids, size_t count) {
  cJSON *const array = put_array(w, object, key);
  for (size_t i = 0; i < count; i++) push(w, array, id_item(ids[i]));
}

/* The ids of all events that play the given role. */
static void put_role_ids(struct writer *w, cJSON *object, const char *key, enum wo_role role) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const array = put_array(w, object, key);
  for (size_t i = 0; story->roles != NULL && i < w->job->events.count; i++) {
    if (story->roles[i] == role) push(w, array, id_item((wo_event_id)i));
  }
}

/* A value of the rule language; unknown is null. Durations are nanoseconds, and sizes bytes,
 * whatever the log printed. The nominal value only: whoever needs the interval finds it beside. */
static cJSON *value_item(struct writer *w, const struct wo_value *value) {
  if (!value->is_known) return cJSON_CreateNull();
  switch (value->unit) {
  case WO_UNIT_BOOL:
    return value->truth == WO_UNDECIDED ? cJSON_CreateNull() : cJSON_CreateBool(value->truth == WO_TRUE);
  case WO_UNIT_TEXT:
    return text_item(w, value->text);
  case WO_UNIT_BYTES:
  case WO_UNIT_DURATION:
    return number_item(round(value->number.mid));
  case WO_UNIT_NUMBER:
    return number_item(value->number.mid);
  case WO_UNIT_NONE:
    break;
  }
  return cJSON_CreateNull();
}

/* The unit as the schema names it. The rule language has one unit for counts and ratios, the schema
 * tells them apart by value: a ratio that happens to be whole is called a count. */
static const char *unit_name(const struct wo_value *value) {
  switch (value->unit) {
  case WO_UNIT_BOOL:
    return "bool";
  case WO_UNIT_BYTES:
    return "bytes";
  case WO_UNIT_DURATION:
    return "ns";
  case WO_UNIT_TEXT:
    return "text";
  case WO_UNIT_NUMBER:
  case WO_UNIT_NONE:
    break;
  }
  return value->number.mid == floor(value->number.mid) ? "count" : "ratio";
}

/* ---- Job ---- */

/* The files. A path is what the user gave, so that a reader can find the file again; "unknown" is a format of its own. */
static void put_inputs(struct writer *w, cJSON *root) {
  cJSON *const array = put_array(w, root, "inputs");
  for (size_t i = 0; i < w->job->input_count; i++) {
    const struct wo_job_input *const input = &w->job->inputs[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put(w, object, "path", text_item(w, input->path));
    put(w, object, "format", text_item(w, input->format.len > 0 ? input->format : WO_VIEW("unknown")));
    put_count(w, object, "bytes", input->bytes);
    put_count(w, object, "lines", input->lines);
    put(w, object, "compressed", cJSON_CreateBool(input->is_compressed));
    put(w, object, "unreadable", cJSON_CreateBool(input->is_unreadable));
    put_texts(w, object, "notes", input->notes, input->note_count);
  }
}

/* The runs of files that hold several. The index counts within all of them, from 1 as people count. */
static void put_runs(struct writer *w, cJSON *job) {
  cJSON *const array = put_array(w, job, "runs");
  for (size_t i = 0; i < w->job->story.run_count; i++) {
    const struct wo_run *const run = &w->job->story.runs[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put_count(w, object, "index", i + 1);
    put(w, object, "path", text_item(w, w->job->inputs[run->file].path));
    put_count(w, object, "first_line", run->first_line);
    put_count(w, object, "last_line", run->last_line);
    put_text(w, object, "job_id", run->job_id);
    put_name(w, object, "outcome", wo_outcome_name(run->outcome));
    put_known(w, object, "step_first", run->step_first);
    put_known(w, object, "step_last", run->step_last);
    put(w, object, "current", cJSON_CreateBool(run->is_current));
    put(w, object, "evidence", id_item(run->failure));
  }
}

/* Who failed and who followed. `uncertain` says that another rank may have been first. */
static void put_ranks(struct writer *w, cJSON *job) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const array = put_array(w, job, "rank_table");
  for (size_t i = 0; i < w->report->rank_count; i++) {
    const struct wo_rank *const rank = &w->report->ranks[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put_count(w, object, "rank", (uint64_t)rank->rank);
    put_text(w, object, "host", rank->host);
    put_known(w, object, "gpu", rank->gpu);
    put_name(w, object, "status", wo_rank_status_name(rank->status));
    put(w, object, "evidence", id_item(rank->evidence));
  }
  put(w, job, "order_uncertain", cJSON_CreateBool(story->is_order_uncertain));
  put(w, job, "order_rival", id_item(story->is_order_uncertain ? story->rival : WO_EVENT_NONE));
}

/* What is known of the job as a whole. Nodes is empty, not null, when none is known: readers can always loop over it. */
static void put_job(struct writer *w, cJSON *root) {
  const struct wo_story *const story = &w->job->story;
  cJSON *const object = put_object(w, root, "job");
  put_text(w, object, "id", story->job_id);
  put_known(w, object, "array_task", story->array_task);
  put_texts(w, object, "nodes", story->nodes, story->node_count);
  put_known(w, object, "ranks", story->rank_count);
  put_name(w, object, "outcome", wo_outcome_name(story->outcome));
  put_ids(w, object, "outcome_evidence", story->outcome_evidence, story->outcome_evidence_count);
  put_role_ids(w, object, "recovered", WO_ROLE_RECOVERED);
  put_runs(w, object);
  put_ranks(w, object);
}

/* The node of a failure: of the line's prefix, or the single one that the message names. */
static struct wo_view host_of(const struct wo_event *event) {
  if (event->host.len > 0) return event->host;
  const struct wo_view named = wo_event_text(event, WO_FIELD_HOST);
  const bool is_list = wo_view_find_char(named, '[', 0) != WO_NOT_FOUND || wo_view_find_char(named, ',', 0) != WO_NOT_FOUND;
  return is_list ? (struct wo_view){NULL, 0} : named;
}

/* The first failure that was not survived. The step is the last one seen before it, hence a property of the story and not of the
 * event. */
static void put_failure(struct writer *w, cJSON *root) {
  const struct wo_story *const story = &w->job->story;
  const struct wo_event *const event = wo_event_get(&w->job->events, story->failure);
  if (event == NULL) {
    put(w, root, "failure", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put_object(w, root, "failure");
  put_name(w, object, "kind", wo_kind_name(event->kind));
  put_known(w, object, "rank", event->rank);
  put(w, object, "rank_inferred", cJSON_CreateBool(story->is_rank_inferred));
  put_text(w, object, "host", host_of(event));
  put_known(w, object, "gpu", (int64_t)wo_event_number(event, WO_FIELD_GPU, -1));
  put_time(w, object, "time", event->time_ns);
  put_known(w, object, "step", story->step);
  put_known(w, object, "step_total", story->step_total);
  put_text(w, object, "step_unit", story->step_unit);
  put_text(w, object, "phase", story->phase);
  put(w, object, "evidence", id_item(event->id));
  put(w, object, "traceback", id_item(story->traceback));
  put_role_ids(w, object, "consequences", WO_ROLE_CONSEQUENCE);
}

/* ---- Findings ---- */

/* Arguments keep the order of the report: the heaviest first. */
static void put_arguments(struct writer *w, cJSON *finding, const char *key, const struct wo_argument *arguments, size_t count) {
  cJSON *const array = put_array(w, finding, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put(w, object, "text", text_item(w, arguments[i].text));
    put(w, object, "weight", number_item(arguments[i].weight));
    put_ids(w, object, "evidence", arguments[i].evidence, arguments[i].evidence_count);
  }
}

/* Changed settings. "to" is the value, "spelled" the same in the words of the user's framework: programs want the one, people the
 * other. */
static void put_changes(struct writer *w, cJSON *fix_object, const struct wo_report_fix *fix) {
  cJSON *const array = put_array(w, fix_object, "changes");
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_report_change *const change = &fix->changes[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put(w, object, "knob", text_item(w, change->knob));
    put(w, object, "from", value_item(w, &change->from));
    put(w, object, "to", value_item(w, &change->to));
    put_text(w, object, "spelled", change->spelled);
    put(w, object, "where", id_item(change->where));
  }
}

/* What a fix frees, as an interval: a single number would promise more than is known. */
static void put_saves(struct writer *w, cJSON *fix_object, const struct wo_report_fix *fix) {
  if (!fix->has_saves) {
    put(w, fix_object, "saves_bytes", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put_object(w, fix_object, "saves_bytes");
  put_bytes(w, object, "lo", fix->saves_bytes.lo);
  put_bytes(w, object, "hi", fix->saves_bytes.hi);
  put_text(w, object, "formula", fix->saves_formula);
}

/* What the fix leaves free. */
static void put_headroom(struct writer *w, cJSON *fix_object, const struct wo_report_fix *fix) {
  struct wo_interval room;
  if (!wo_suffice_headroom(fix, &room)) {
    put(w, fix_object, "headroom_bytes", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put_object(w, fix_object, "headroom_bytes");
  put_bytes(w, object, "lo", room.lo);
  put_bytes(w, object, "hi", room.hi);
}

/* One proposal. Its proof belongs to replaying: always null here. */
static void put_fix(struct writer *w, cJSON *array, const struct wo_report_fix *fix) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put(w, object, "id", text_item(w, fix->id));
  put(w, object, "title", text_item(w, fix->title));
  put_changes(w, object, fix);
  put_saves(w, object, fix);
  put_name(w, object, "suffices", wo_suffices_name(fix->suffices));
  put_headroom(w, object, fix);
  put_texts(w, object, "needs", fix->needs, fix->need_count);
  cJSON *const cost = put_object(w, object, "cost");
  put(w, cost, "rank", fix->cost_rank > 0 ? number_item(fix->cost_rank) : cJSON_CreateNull());
  put_text(w, cost, "speed", fix->cost_speed);
  put_text(w, cost, "accuracy", fix->cost_accuracy);
  put_text(w, cost, "effort", fix->cost_effort);
  put_texts(w, object, "commands", fix->commands, fix->command_count);
  put_texts(w, object, "notes", fix->notes, fix->note_count);
  put(w, object, "proof", cJSON_CreateNull());
}

/* One finding. The family is the stable vocabulary, the id is finer; both are given because both are asked for. */
static void put_finding(struct writer *w, cJSON *array, const struct wo_report_finding *finding) {
  assert(finding->cause != NULL && finding->score >= 0 && finding->score <= 1);
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put(w, object, "id", text_item(w, finding->cause->id));
  put(w, object, "family", text_item(w, finding->cause->family));
  put(w, object, "title", text_item(w, finding->title));
  put(w, object, "summary", text_item(w, finding->summary));
  put_name(w, object, "confidence", wo__confidence_name(finding->confidence));
  put(w, object, "score", number_item(finding->score));
  put(w, object, "is_failure", cJSON_CreateBool(finding->cause->is_failure));
  put_arguments(w, object, "for", finding->for_, finding->for_count);
  put_arguments(w, object, "against", finding->against, finding->against_count);
  put_texts(w, object, "would_tell", finding->would_tell, finding->would_tell_count);
  cJSON *const fixes = put_array(w, object, "fixes");
  for (size_t i = 0; i < finding->fix_count; i++) put_fix(w, fixes, &finding->fixes[i]);
  put_texts(w, object, "not_proposed", finding->not_proposed, finding->not_proposed_count);
}

/* ---- Memory and facts ----
 *
 * A printed "17.66 GiB" stands for every size that prints so. The nominal value comes first, as a plain integer that most readers
 * want; lo and hi are there for those who add sizes up and must know how far off the sum can be. */

/* A size and the interval that its printed form stands for. */
static void put_interval(struct writer *w, cJSON *object, const char *key, struct wo_interval bytes) {
  assert(bytes.lo <= bytes.mid && bytes.mid <= bytes.hi);
  put_bytes(w, object, key, bytes.mid);
  put_bytes(w, object, "lo", bytes.lo);
  put_bytes(w, object, "hi", bytes.hi);
}

/* The card. Parts are given also when they contradict each other, with the flag that says so: leaving them out would hide the
 * very thing that a reader must see. */
static void put_memory(struct writer *w, cJSON *root) {
  const struct wo_report_memory *const memory = &w->report->memory;
  if (!w->report->has_memory) {
    put(w, root, "memory", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put_object(w, root, "memory");
  /* A card of no bytes does not exist: zero is how an unknown capacity arrives. */
  const bool has_capacity = memory->capacity_bytes.mid > 0;
  put_known(w, object, "gpu", memory->gpu);
  put(w, object, "capacity_bytes", has_capacity ? number_item(round(memory->capacity_bytes.mid)) : cJSON_CreateNull());
  put(w, object, "contradictory", cJSON_CreateBool(memory->is_contradictory));
  cJSON *const parts = put_array(w, object, "parts");
  for (size_t i = 0; i < memory->part_count; i++) {
    cJSON *const part = push(w, parts, cJSON_CreateObject());
    put(w, part, "name", text_item(w, memory->parts[i].name));
    put_interval(w, part, "bytes", memory->parts[i].bytes);
  }
  put_texts(w, object, "arithmetic", memory->arithmetic, memory->arithmetic_count);
}

/* One tensor that has the size of the request. */
static void put_reading(struct writer *w, cJSON *array, const struct wo_size_reading *reading) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put(w, object, "id", text_item(w, reading->id));
  put(w, object, "meaning", text_item(w, reading->meaning));
  put(w, object, "formula", text_item(w, reading->formula));
  put_bytes(w, object, "bytes", reading->bytes);
  put(w, object, "specific", cJSON_CreateBool(reading->is_specific));
  put_texts(w, object, "assumed", reading->assumed, reading->assumed_count);
}

/* What was missing when the failure came: fixes are measured by it. */
static void put_shortage(struct writer *w, cJSON *root) {
  const struct wo_shortage shortage = w->report->shortage;
  cJSON *const object = put(w, root, "shortage", shortage.is_known ? cJSON_CreateObject() : cJSON_CreateNull());
  if (shortage.is_known) put_interval(w, object, "bytes", shortage.bytes), put_text(w, object, "formula", shortage.formula);
}

/* The refused request and what it can have been. The number of readings that were tried is given because it tells how likely a
 * chance hit is. */
static void put_request(struct writer *w, cJSON *root) {
  const struct wo_sizes *const sizes = w->report->request;
  if (sizes == NULL) {
    put(w, root, "request", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put_object(w, root, "request");
  put_interval(w, object, "bytes", sizes->request);
  put_count(w, object, "tried", sizes->tried_count);
  put_count(w, object, "fitting", sizes->match_count);
  cJSON *const readings = put_array(w, object, "readings");
  for (size_t i = 0; i < sizes->reading_count; i++) put_reading(w, readings, &sizes->readings[i]);
}

/* A known fact under its dotted name; unknown ones are left out. lo and hi come only where the printed number left some doubt. */
static void put_fact(struct writer *w, cJSON *facts, const struct wo_report_fact *fact) {
  const struct wo_value *const value = &fact->value;
  if (!value->is_known) return;
  w->scratch.len = 0;
  wo_text_add_view(&w->scratch, fact->name);
  if (w->scratch.is_failed || fact->name.len == 0) {
    w->is_failed = true;
    return;
  }
  cJSON *const object = put_object(w, facts, w->scratch.ptr); /* the key is copied */
  put(w, object, "value", value_item(w, value));
  put_name(w, object, "unit", unit_name(value));
  put(w, object, "evidence", id_item(value->evidence));
  const bool has_number = value->unit != WO_UNIT_TEXT && value->unit != WO_UNIT_BOOL;
  if (!has_number || value->number.lo == value->number.hi) return;
  const bool is_whole = value->unit != WO_UNIT_NUMBER; /* bytes and nanoseconds */
  put(w, object, "lo", number_item(is_whole ? round(value->number.lo) : value->number.lo));
  put(w, object, "hi", number_item(is_whole ? round(value->number.hi) : value->number.hi));
}

/* Consequences by sort. Every single one stands in the evidence with its role. */
static void put_folds(struct writer *w, cJSON *root) {
  cJSON *const array = put_array(w, root, "folded");
  for (size_t i = 0; i < w->report->fold_count; i++) {
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put(w, object, "what", text_item(w, w->report->folds[i].what));
    put_count(w, object, "count", w->report->folds[i].count);
    put_count(w, object, "ranks", w->report->folds[i].rank_count);
  }
}

/* ---- Evidence ---- */

/* A field by its type: sizes are whole bytes, counts and ratios whatever they are. */
static void put_field(struct writer *w, cJSON *fields, const struct wo_field *field) {
  const char *const name = wo_field_name(field->id);
  switch (wo_field_type_of(field->id)) {
  case WO_FIELD_TYPE_TEXT:
    put(w, fields, name, text_item(w, field->text));
    break;
  case WO_FIELD_TYPE_BYTES:
    put_bytes(w, fields, name, field->number.mid);
    break;
  case WO_FIELD_TYPE_COUNT:
  case WO_FIELD_TYPE_RATIO:
    put(w, fields, name, number_item(field->number.mid));
    break;
  }
}

/* The part that an event plays, or NULL for none; the key is then left out. */
static const char *role_name(enum wo_role role) {
  switch (role) {
  case WO_ROLE_FAILURE:
    return "failure";
  case WO_ROLE_CONSEQUENCE:
    return "consequence";
  case WO_ROLE_RECOVERED:
    return "recovered";
  case WO_ROLE_REPEAT:
    return "repeat";
  case WO_ROLE_EARLIER:
    return "earlier_run";
  case WO_ROLE_NONE:
    break;
  }
  return NULL;
}

/* One piece of evidence. Keys that are seldom true are left out when they are not: a report can hold thousands of these. */
static void put_event(struct writer *w, cJSON *array, const struct wo_event *event, enum wo_role role) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  const bool has_file = event->span.file < w->job->input_count;
  put(w, object, "id", id_item(event->id));
  put_name(w, object, "kind", wo_kind_name(event->kind));
  put_text(w, object, "path", has_file ? w->job->inputs[event->span.file].path : (struct wo_view){NULL, 0});
  put_count(w, object, "line", event->span.line);
  put_count(w, object, "byte", event->span.byte);
  put_count(w, object, "length", event->span.length);
  put_known(w, object, "rank", event->rank);
  put_text(w, object, "host", event->host);
  put_time(w, object, "time", event->time_ns);
  if (role_name(role) != NULL) put_name(w, object, "role", role_name(role));
  if (event->of != WO_EVENT_NONE) put(w, object, "of", id_item(event->of));
  if (event->is_quoted) put(w, object, "quoted", cJSON_CreateTrue());
  put_text(w, object, "pattern", event->pattern_id);
  put(w, object, "text", text_item(w, event->text));
  cJSON *const fields = put_object(w, object, "fields");
  for (uint32_t i = 0; i < event->field_count; i++) put_field(w, fields, &event->fields[i]);
}

/* All evidence. The position in the store is the id, so that "e7" is found by counting as well as by searching. */
static void put_evidence(struct writer *w, cJSON *root) {
  const struct wo_event_store *const events = &w->job->events;
  const enum wo_role *const roles = w->job->story.roles;
  cJSON *const array = put_array(w, root, "evidence");
  for (size_t i = 0; i < events->count && !w->is_failed; i++) {
    assert(events->items[i].id == (wo_event_id)i);
    put_event(w, array, &events->items[i], roles == NULL ? WO_ROLE_NONE : roles[i]);
  }
  put_count(w, root, "evidence_dropped", events->dropped);
}

/* ---- Traces ---- */

static void put_figure(struct writer *w, cJSON *object, const char *key, struct wo_report_figure figure) {
  put(w, object, key, figure.is_known ? number_item(figure.value) : cJSON_CreateNull());
}

static void put_figure_bytes(struct writer *w, cJSON *object, const char *key, struct wo_report_figure figure) {
  if (figure.is_known) figure.value = round(figure.value);
  put_figure(w, object, key, figure);
}

/* A slope and the ends of its interval, or null. */
static void put_slope(struct writer *w, cJSON *object, const char *key, const struct wo_report_slope *slope) {
  if (!slope->is_known) {
    put(w, object, key, cJSON_CreateNull());
    return;
  }
  cJSON *const item = cJSON_CreateObject();
  put(w, object, key, item);
  put_figure(w, item, "value", (struct wo_report_figure){true, slope->value.mid});
  put_figure(w, item, "lo", (struct wo_report_figure){true, slope->value.lo});
  put_figure(w, item, "hi", (struct wo_report_figure){true, slope->value.hi});
}

/* One card of one trace. What the trace has no column for is null: most of them lack something. */
static void put_monitor(struct writer *w, cJSON *array, const struct wo_report_monitor *monitor) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  assert(monitor->file < w->job->input_count);
  put(w, object, "path", text_item(w, w->job->inputs[monitor->file].path));
  put_count(w, object, "gpu", (uint64_t)monitor->gpu);
  put_count(w, object, "samples", monitor->samples);
  put_figure_bytes(w, object, "fb_peak_bytes", monitor->fb_peak_bytes);
  put_figure_bytes(w, object, "fb_last_bytes", monitor->fb_last_bytes);
  put_figure(w, object, "fb_slope_bytes_per_s", monitor->fb_slope_bytes_per_s);
  put_figure(w, object, "fb_slope_bytes_per_sample", monitor->fb_slope_bytes_per_sample);
  put_figure(w, object, "sm_mean_pct", monitor->sm_mean_pct);
  put_figure_bytes(w, object, "capacity_bytes", monitor->capacity_bytes);
  put_figure(w, object, "active_samples", monitor->active_samples);
  put_figure(w, object, "sm_active_mean_pct", monitor->sm_active_mean_pct);
  put_figure(w, object, "idle_pct", monitor->idle_pct);
  put_slope(w, object, "fb_trend_bytes_per_s", &monitor->fb_trend_per_s);
  put_slope(w, object, "fb_trend_bytes_per_sample", &monitor->fb_trend_per_sample);
  put_figure_bytes(w, object, "fb_late_rise_bytes", monitor->fb_late_rise_bytes);
  put(w, object, "note", monitor->lack.len > 0 ? text_item(w, monitor->lack) : cJSON_CreateNull());
  put(w, object, "evidence", id_item(monitor->evidence));
}

static void put_process(struct writer *w, cJSON *array, const struct wo_report_process *process) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  assert(process->file < w->job->input_count);
  put(w, object, "path", text_item(w, w->job->inputs[process->file].path));
  put_figure(w, object, "gpu", (struct wo_report_figure){process->gpu >= 0, process->gpu});
  put_figure(w, object, "pid", (struct wo_report_figure){process->pid > 0, (double)process->pid});
  put(w, object, "name", process->name.len > 0 ? text_item(w, process->name) : cJSON_CreateNull());
  put_count(w, object, "samples", process->samples);
  put_figure_bytes(w, object, "peak_bytes", process->peak_bytes);
  put(w, object, "evidence", id_item(process->evidence));
}

static void put_monitors(struct writer *w, cJSON *root) {
  cJSON *const array = put_array(w, root, "monitors");
  for (size_t i = 0; i < w->report->monitor_count; i++) put_monitor(w, array, &w->report->monitors[i]);
  cJSON *const processes = put_array(w, root, "gpu_processes");
  for (size_t i = 0; i < w->report->process_count; i++) put_process(w, processes, &w->report->processes[i]);
}

/* ---- Settings ---- */

/* What a knob is set to, and the values that do not count with the reason. */
static void put_setting(struct writer *w, cJSON *array, const struct wo_report_setting *setting) {
  cJSON *const object = push(w, array, cJSON_CreateObject());
  put(w, object, "knob", text_item(w, setting->knob));
  put(w, object, "value", value_item(w, &setting->value));
  put(w, object, "spelled", text_item(w, setting->spelled));
  put(w, object, "evidence", id_item(setting->value.evidence));
  cJSON *const others = put_array(w, object, "others");
  for (size_t i = 0; i < setting->other_count; i++) {
    cJSON *const other = push(w, others, cJSON_CreateObject());
    put(w, other, "value", value_item(w, &setting->others[i].value));
    put(w, other, "evidence", id_item(setting->others[i].value.evidence));
    put(w, other, "why_not", text_item(w, setting->others[i].why_not));
    put(w, other, "conflict", cJSON_CreateBool(setting->others[i].is_conflict));
  }
}

static void put_settings(struct writer *w, cJSON *root) {
  cJSON *const array = put_array(w, root, "settings");
  for (size_t i = 0; i < w->report->setting_count; i++) put_setting(w, array, &w->report->settings[i]);
}

/* ---- The whole ---- */

/* The keys in the order in which people read them; the long lists come last. */
static void put_report(struct writer *w, cJSON *root) {
  const struct wo_report *const report = w->report;
  put_name(w, root, "schema", "whyoom.report/1");
  cJSON *const tool = put_object(w, root, "tool");
  put_name(w, tool, "name", "whyoom");
  put_name(w, tool, "version", WHYOOM_VERSION);
  put_inputs(w, root);
  put_job(w, root);
  put_failure(w, root);
  cJSON *const findings = put_array(w, root, "findings");
  for (size_t i = 0; i < report->finding_count; i++) put_finding(w, findings, &report->findings[i]);
  put_memory(w, root);
  put_shortage(w, root);
  put_request(w, root);
  put_monitors(w, root);
  put(w, root, "ladder", report->ladder != NULL ? wo_ladder_json(report->ladder) : cJSON_CreateNull());
  cJSON *const facts = put_object(w, root, "facts");
  for (size_t i = 0; i < report->fact_count; i++) put_fact(w, facts, &report->facts[i]);
  put_settings(w, root);
  put_folds(w, root);
  put_text(w, root, "resubmit", report->resubmit);
  put_evidence(w, root);
}

/* Tabs stand between tokens only, since a tab inside a string is escaped. */
void wo__add_printed_json(struct wo_text *out, const char *printed) {
  for (const char *at = printed; *at != '\0';) {
    const size_t plain = strcspn(at, "\t");
    wo_text_add_view(out, (struct wo_view){at, plain});
    at += plain;
    if (*at != '\t') continue;
    const bool is_behind_key = plain > 0 && at[-1] == ':';
    wo_text_repeat(out, ' ', is_behind_key ? 1 : 2);
    at++;
  }
  wo_text_add(out, "\n");
}

/* A report that is not whole is not written at all: half a JSON object helps nobody. */
void wo_report_json(const struct wo_report *report, struct wo_text *out) {
  assert(report != NULL && report->job != NULL && out != NULL);
  struct writer w = {.report = report, .job = report->job};
  /* Build everything, look once whether that worked, print, tidy up: there is one way through. */
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_report(&w, root);
  char *const printed = root == NULL || w.is_failed ? NULL : cJSON_Print(root);
  if (printed == NULL) {
    out->is_failed = true;
  } else {
    wo__add_printed_json(out, printed);
  }
  cJSON_free(printed);
  cJSON_Delete(root);
  wo_text_done(&w.scratch);
}
