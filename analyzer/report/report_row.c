/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job as its row in a table of many jobs. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/files/names.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"
#include "analyzer/story/story.h"
#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* Bytes of the texts of a row that may be long; the rest is in the job's own report. */
enum { EVIDENCE_BYTES = 300, CHANGE_BYTES = 200, SETTINGS_BYTES = 4000, NODES_BYTES = 2000 };

struct filler {
  const struct wo_report *report;
  const struct wo_job *job;
  const struct wo_row_hints *hints;
  struct wo_arena *arena;
  struct wo_row *row;
};

/* ---- Values ---- */

static int64_t whole(double number) {
  return number >= 0 && number < 9e18 ? (int64_t)llround(number) : WO_ROW_UNKNOWN;
}

/* The number of a fact, or unknown. */
static int64_t fact_number(const struct filler *f, const char *name) {
  const struct wo_value value = wo_facts_get(&f->report->facts, wo_view_of(name));
  return value.is_known ? whole(value.number.mid) : WO_ROW_UNKNOWN;
}

static struct wo_view fact_text(const struct filler *f, const char *name) {
  const struct wo_value value = wo_facts_get(&f->report->facts, wo_view_of(name));
  return value.is_known ? value.text : (struct wo_view){0};
}

static int64_t known(int64_t number) {
  return number >= 0 ? number : WO_ROW_UNKNOWN;
}

/* A text that was built, at most so long, in the arena; and the builder is empty again. */
static struct wo_view take(const struct filler *f, struct wo_text *text, size_t most) {
  const struct wo_view built = wo_utf8_front((struct wo_view){text->ptr, text->len}, most);
  const struct wo_view kept = built.len > 0 ? wo_arena_copy(f->arena, built) : (struct wo_view){0};
  text->len = 0;
  return kept;
}

/* ---- Which job ---- */

/* The last field of that name that accounting, or the job's script, gives the job. */
static struct wo_view job_text(const struct filler *f, enum wo_field_id id) {
  struct wo_view text = {0};
  wo_each_event (event, &f->job->events) {
    const bool is_of_job = event->kind == WO_KIND_JOB_INFO || event->kind == WO_KIND_SBATCH;
    if (!is_of_job || event->is_quoted || wo_event_field(event, WO_FIELD_STEP_ID)) continue;
    const struct wo_view own = wo_event_text(event, id);
    if (own.len > 0 && (text.len == 0 || event->kind == WO_KIND_JOB_INFO)) text = own;
  }
  return text;
}

static int64_t job_number(const struct filler *f, enum wo_field_id id) {
  int64_t number = WO_ROW_UNKNOWN;
  wo_each_event (event, &f->job->events) {
    if (event->kind != WO_KIND_JOB_INFO || event->is_quoted || wo_event_field(event, WO_FIELD_STEP_ID)) continue;
    const double own = wo_event_number(event, id, -1);
    if (own >= 0) number = whole(own);
  }
  return number;
}

static struct wo_view node_list(const struct filler *f) {
  const struct wo_story *const story = &f->job->story;
  struct wo_text text = {0};
  for (size_t i = 0; i < story->node_count; i++) {
    if (text.len + story->nodes[i].len + 1 > NODES_BYTES) break;
    if (i > 0) wo_text_add(&text, ",");
    wo_text_add_view(&text, story->nodes[i]);
  }
  const struct wo_view nodes = take(f, &text, NODES_BYTES);
  wo_text_done(&text);
  return nodes;
}

static void fill_identity(const struct filler *f) {
  const struct wo_story *const story = &f->job->story;
  struct wo_row *const row = f->row;
  row->job_id = story->job_id;
  row->array_task = known(story->array_task);
  row->array_job = job_text(f, WO_FIELD_ARRAY_JOB);
  row->name = job_text(f, WO_FIELD_JOB_NAME);
  if (row->name.len == 0) row->name = f->hints->name;
  row->user = job_text(f, WO_FIELD_USER);
  if (row->user.len == 0) row->user = f->hints->owner;
  row->account = job_text(f, WO_FIELD_ACCOUNT);
  row->partition = job_text(f, WO_FIELD_PARTITION);
  row->nodes = node_list(f);
  row->state = wo_story_final_state(f->job);
}

/* ---- Time and cards ---- */

/* The times that lines show, of the clock that most logs have: a date and a time. Evidence is not on every line, so the span is
 * a lower bound. */
static void fill_span(const struct filler *f) {
  int64_t first = WO_TIME_UNKNOWN, last = WO_TIME_UNKNOWN;
  wo_each_event (event, &f->job->events) {
    if (event->time_ns == WO_TIME_UNKNOWN || event->time_ns < 0 || event->is_quoted) continue;
    if (first == WO_TIME_UNKNOWN || event->time_ns < first) first = event->time_ns;
    if (last == WO_TIME_UNKNOWN || event->time_ns > last) last = event->time_ns;
  }
  if (first == WO_TIME_UNKNOWN) return;
  if (f->row->start_ns == WO_ROW_UNKNOWN) f->row->start_ns = first;
  if (f->row->end_ns == WO_ROW_UNKNOWN) f->row->end_ns = last;
  if (f->row->elapsed_s != WO_ROW_UNKNOWN || last == first) return;
  f->row->elapsed_s = (last - first) / WO_NS_PER_S;
  f->row->time_from = WO_VIEW("log");
}

static void fill_time(const struct filler *f) {
  struct wo_row *const row = f->row;
  const int64_t start_s = job_number(f, WO_FIELD_START_S), end_s = job_number(f, WO_FIELD_END_S);
  row->elapsed_s = job_number(f, WO_FIELD_ELAPSED_S);
  if (start_s != WO_ROW_UNKNOWN && start_s < INT64_MAX / WO_NS_PER_S) row->start_ns = start_s * WO_NS_PER_S;
  if (end_s != WO_ROW_UNKNOWN && end_s < INT64_MAX / WO_NS_PER_S) row->end_ns = end_s * WO_NS_PER_S;
  if (row->elapsed_s == WO_ROW_UNKNOWN && start_s != WO_ROW_UNKNOWN && end_s >= start_s) row->elapsed_s = end_s - start_s;
  if (row->elapsed_s != WO_ROW_UNKNOWN) row->time_from = WO_VIEW("accounting");
  fill_span(f);
  if (row->end_ns == WO_ROW_UNKNOWN) row->end_ns = f->hints->written_ns;
}

/* Cards on all nodes: accounting and scripts give those of one node. */
static void fill_cards(const struct filler *f) {
  struct wo_row *const row = f->row;
  const int64_t per_node = fact_number(f, "slurm.gpus"), nodes = job_number(f, WO_FIELD_NODE_COUNT);
  row->gpus = fact_number(f, "gpu.count");
  if (per_node > 0 && nodes > 0 && nodes < 1000000 && per_node < 1000000) row->gpus = per_node * nodes;
  if (row->gpus > 0 && row->elapsed_s >= 0 && row->elapsed_s < INT64_MAX / row->gpus) row->gpu_s = row->gpus * row->elapsed_s;
}

/* ---- How it ended ---- */

static void fill_end(const struct filler *f) {
  const struct wo_report *const report = f->report;
  const struct wo_story *const story = &f->job->story;
  const struct wo_event *const failure = wo_event_get(&f->job->events, story->failure);
  struct wo_row *const row = f->row;
  row->outcome = wo_view_of(wo_outcome_name(story->outcome));
  row->is_failed = wo_report_tells_failure(report) || failure != NULL;
  row->phase = story->phase;
  row->step = known(story->step);
  row->step_total = known(story->step_total);
  if (report->finding_count > 0 && (row->is_failed || report->findings[0].cause->is_failure)) {
    const struct wo_finding *const finding = &report->findings[0];
    row->cause = finding->cause->id;
    row->family = finding->cause->family;
    row->confidence = wo_view_of(wo_report_confidence_name(finding->confidence));
    row->title = finding->title;
  }
  if (!failure) return;
  row->rank = known(failure->rank);
  row->gpu = whole(wo_event_number(failure, WO_FIELD_GPU, -1));
  row->node = failure->host.len > 0 ? failure->host : story->node_count == 1 ? story->nodes[0] : (struct wo_view){0};
}

static void fill_figures(const struct filler *f) {
  static const struct {
    enum wo_column_id column;
    const char *fact;
  } rows[] = {{WO_COLUMN_OF_capacity_bytes, "gpu.capacity"},
              {WO_COLUMN_OF_tried_bytes, "oom.tried"},
              {WO_COLUMN_OF_free_bytes, "oom.free"},
              {WO_COLUMN_OF_allocated_bytes, "oom.allocated"},
              {WO_COLUMN_OF_idle_bytes, "oom.reserved_unallocated"},
              {WO_COLUMN_OF_others_bytes, "oom.other_processes"},
              {WO_COLUMN_OF_host_limit_bytes, "host.limit"},
              {WO_COLUMN_OF_host_peak_bytes, "host.measured"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    wo_row_set_number(f->row, rows[i].column, fact_number(f, rows[i].fact));
}

/* ---- The program ---- */

/* "train.py, line 132, in step": file and function, without the line, which an edit moves. */
static struct wo_view user_place(const struct filler *f) {
  const struct wo_event *const traceback = wo_event_get(&f->job->events, f->job->story.traceback);
  struct wo_text text = {0};
  if (traceback == NULL || wo_event_text(traceback, WO_FIELD_FRAME_FILE).len == 0) return (struct wo_view){0};
  const struct wo_view file = wo_name_base(wo_event_text(traceback, WO_FIELD_FRAME_FILE));
  const struct wo_view function = wo_event_text(traceback, WO_FIELD_FRAME_FUNCTION);
  wo_text_add(&text, "%.*s%s%.*s", WO_SHOWN(file), function.len > 0 ? " in " : "", WO_SHOWN(function));
  const struct wo_view place = take(f, &text, EVIDENCE_BYTES);
  wo_text_done(&text);
  return place;
}

static int compare_settings(const void *a, const void *b) {
  const struct wo_setting *const *left = a, *const *right = b;
  return wo_view_compare((*left)->knob->id, (*right)->knob->id);
}

/* "knob=value", one a line, by knob. */
static struct wo_view list_settings(const struct filler *f) {
  const struct wo_facts *const facts = &f->report->facts;
  const struct wo_setting **const sorted = wo_arena_array(f->arena, facts->setting_count + 1, sizeof *sorted);
  struct wo_text text = {0};
  size_t count = 0;
  for (size_t i = 0; sorted && i < facts->setting_count; i++) {
    if (facts->settings[i].value.is_known) sorted[count++] = &facts->settings[i];
  }
  if (count > 1) qsort(sorted, count, sizeof *sorted, compare_settings);
  for (size_t i = 0; i < count && text.len < SETTINGS_BYTES; i++) {
    if (i > 0) wo_text_add(&text, "\n");
    wo_text_add(&text, "%.*s=", WO_SHOWN(sorted[i]->knob->id));
    wo_report_add_value(&text, &sorted[i]->value);
  }
  const struct wo_view settings = take(f, &text, SETTINGS_BYTES);
  wo_text_done(&text);
  return settings;
}

/* With an end, so that "a", "b" is not "ab", "". */
static uint64_t hash_more(uint64_t hash, struct wo_view text) {
  return wo_view_hash(wo_view_hash(hash, text), WO_VIEW("\n"));
}

/* Options of a script that say where its output goes, or that differ from day to day. */
static bool is_about_output(struct wo_view key) {
  static const char *const keys[] = {"output", "error", "o", "e", "dependency", "d", "begin", "comment"};
  return WO_VIEW_ANY(key, wo_view_is, keys);
}

static struct wo_view hash_work(const struct filler *f) {
  uint64_t hash = hash_more(hash_more(WO_HASH_START, f->row->user), f->row->name);
  bool is_known = f->row->settings.len > 0;
  wo_each_event (event, &f->job->events) {
    const struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
    if (event->kind != WO_KIND_SBATCH || event->is_quoted || key.len == 0 || is_about_output(key)) continue;
    hash = hash_more(hash_more(hash, key), wo_event_text(event, WO_FIELD_VALUE));
    is_known = true;
  }
  hash = hash_more(hash, f->row->settings);
  return is_known ? wo_arena_format(f->arena, "%016llx", (unsigned long long)hash) : (struct wo_view){0};
}

static void fill_program(const struct filler *f) {
  const struct wo_program *const program = &f->report->facts.program;
  struct wo_row *const row = f->row;
  if (program->kind != WO_PROGRAM_UNKNOWN) row->program = wo_view_of(wo_program_kind_name(program->kind));
  row->engine = program->name.text.len > 0 ? program->name.text : fact_text(f, "job.framework");
  row->model = fact_text(f, "model.name");
  row->place = user_place(f);
  row->settings = list_settings(f);
}

/* ---- What the report says ---- */

/* "micro_batch 8 -> 4, grad_accum 2 -> 4" in the user's own keys; the title of a fix that changes no setting. */
static struct wo_view describe_fix(const struct filler *f, const struct wo_finding_fix *fix) {
  struct wo_text text = {0};
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    const struct wo_view key = change->spelling.key.len > 0 ? change->spelling.key : change->knob;
    if (i > 0) wo_text_add(&text, ", ");
    wo_text_add_view(&text, key);
    wo_text_add(&text, " ");
    if (change->from.is_known) wo_report_add_value(&text, &change->from);
    wo_text_add(&text, change->from.is_known ? " -> " : "-> ");
    if (change->spelling.key.len > 0) wo_text_add_view(&text, change->spelling.value);
    if (change->spelling.key.len == 0) wo_report_add_value(&text, &change->to);
  }
  if (fix->change_count == 0) wo_text_add_view(&text, fix->title);
  const struct wo_view words = take(f, &text, CHANGE_BYTES);
  wo_text_done(&text);
  return words;
}

static void fill_advice(const struct filler *f) {
  const struct wo_report *const report = f->report;
  const struct wo_event *const where = wo_report_where(report);
  struct wo_row *const row = f->row;
  if (where != NULL) {
    row->evidence = wo_utf8_front(wo_view_trim(where->text), EVIDENCE_BYTES);
    row->evidence_line = (int64_t)where->span.line;
    if (where->span.file < f->job->input_count) row->evidence_path = f->job->inputs[where->span.file].path;
  }
  if (!wo_report_tells_failure(report) || report->findings[0].fix_count == 0) return;
  row->fix = report->findings[0].fixes[0].id;
  row->change = describe_fix(f, &report->findings[0].fixes[0]);
}

static void fill_inputs(const struct filler *f) {
  f->row->files = (int64_t)f->job->input_count;
  f->row->bytes = f->row->unread = 0;
  for (size_t i = 0; i < f->job->input_count; i++) {
    f->row->bytes += (int64_t)f->job->inputs[i].bytes;
    f->row->unread += f->job->inputs[i].is_unreadable;
  }
}

enum wo_status wo_report_row(const struct wo_report *report, const struct wo_row_hints *hints, struct wo_arena *arena,
                             struct wo_row *ret_row) {
  struct wo_row row = wo_row_empty();
  const struct filler f = {report, report->job, hints, arena, &row};
  row.path = hints->path;
  fill_identity(&f);
  fill_time(&f);
  fill_cards(&f);
  fill_end(&f);
  fill_figures(&f);
  fill_program(&f);
  row.work = hash_work(&f);
  fill_advice(&f);
  fill_inputs(&f);
  *ret_row = row;
  return wo_arena_is_exhausted(arena) ? WO_E_NOMEM : WO_OK;
}
