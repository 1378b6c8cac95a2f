/* Which lines of which files a fix changes, and all of `whyoom verify --patch`. See patch.h.
 *
 * Only scripts and configurations are changed; a setting that shows in a log alone is told, as nobody knows where it is set. */
#include <assert.h>

#include "analyzer/patch.h"
#include "analyzer/patch_internal.h"
#include "parsers/base/clean.h"

enum { EDITS_MAX = 32, VALUE_BYTES = 64, PATH_BYTES = 1024 };

struct planner {
  const struct wo_report *report;
  struct wo_arena *arena;
  struct wo_patch_edit *edits;
  size_t count;
  struct wo_text *notes;
};

static bool is_editable(const struct wo_job_input *input) {
  return !input->is_compressed && !input->is_unreadable &&
         (wo_view_is(input->format, "sbatch") || wo_view_is(input->format, "config"));
}

/* "--batch-size 8", "batch_size: 8", "\"batch_size\": 8", "export X=8" -> 8. */
static struct wo_view value_of(struct wo_view spelled, struct wo_view key) {
  const size_t at = wo_view_find(spelled, key, 0);
  if (at == WO_NOT_FOUND) return (struct wo_view){0};
  struct wo_view value = wo_view_skip(spelled, at + key.len);
  while (value.len > 0 && (value.ptr[0] == '"' || value.ptr[0] == ':' || value.ptr[0] == '=' || value.ptr[0] == ' '))
    value = wo_view_skip(value, 1);
  if (value.len > 0 && value.ptr[value.len - 1] == '"') value.len--;
  return value;
}

/* The value that the search settled on, where it is not the proposed one; accumulation grows by as much as the batch shrinks. */
static bool find_number(const struct wo_report_change *change, const struct wo_report_fix *fix, const struct wo_choice *choice,
                        char *buf, size_t cap) {
  double value = 0;
  if (wo_view_is(change->knob, "micro_batch")) value = choice->micro_batch;
  if (wo_view_is(change->knob, "seq_len")) value = choice->seq_len;
  for (size_t i = 0; i < fix->change_count && wo_view_is(change->knob, "grad_accum") && choice->micro_batch > 0; i++) {
    if (wo_view_is(fix->changes[i].knob, "micro_batch") && change->from.is_known && fix->changes[i].from.is_known)
      value = change->from.number.mid * fix->changes[i].from.number.mid / choice->micro_batch;
  }
  if (!(value >= 1 && value < 1e9) || value != (double)(uint32_t)value) return false;
  snprintf(buf, cap, "%u", (unsigned)value);
  return true;
}

static void note(struct planner *planner, const struct wo_report_change *change, const char *why) {
  wo_text_add(planner->notes, "whyoom: ");
  wo_text_add_view(planner->notes, change->spelled);
  wo_text_add(planner->notes, ": %s\n", why);
}

/* A file that sets it, when the setting that counts is a log's: the script of the same key. */
static const struct wo_event *find_place(const struct planner *planner, const struct wo_report_change *change) {
  const struct wo_job *const job = planner->report->job;
  const struct wo_event *const event = wo_event_get(&job->events, change->where);
  return event && event->span.file < job->input_count && is_editable(&job->inputs[event->span.file]) ? event : NULL;
}

/* Settings of the environment go into the script that is submitted, where they are not set yet. */
static enum wo_status add_line(struct planner *planner, const struct wo_report_change *change) {
  const struct wo_job *const job = planner->report->job;
  for (size_t i = 0; i < job->input_count; i++) {
    if (!wo_view_is(job->inputs[i].format, "sbatch") || !is_editable(&job->inputs[i])) continue;
    planner->edits[planner->count++] = (struct wo_patch_edit){.path = job->inputs[i].path, .to = change->spelled};
    return WO_OK;
  }
  note(planner, change, "no batch script is among the files given; set it where the job is started");
  return WO_OK;
}

static enum wo_status add_change(struct planner *planner, const struct wo_report_fix *fix, const struct wo_choice *choice,
                                 const struct wo_report_change *change) {
  char number[VALUE_BYTES];
  const struct wo_event *const event = find_place(planner, change);
  if (planner->count == EDITS_MAX) return WO_OK;
  if (change->where == WO_EVENT_NONE && wo_view_starts(change->spelled, "export ")) return add_line(planner, change);
  if (!event) {
    note(planner, change, "it is set in none of the scripts and configurations given; change it where the job sets it");
    return WO_OK;
  }
  struct wo_patch_edit edit = {.path = planner->report->job->inputs[event->span.file].path,
                               .line = event->span.line,
                               .key = wo_event_text(event, WO_FIELD_KEY),
                               .value = wo_event_text(event, WO_FIELD_VALUE)};
  edit.to = value_of(change->spelled, edit.key);
  if (find_number(change, fix, choice, number, sizeof number)) {
    edit.to = wo_arena_copy(planner->arena, wo_view_of(number));
    if (!edit.to.ptr) return WO_E_NOMEM;
  }
  if (edit.to.len == 0) {
    note(planner, change, "its line cannot be changed by itself");
    return WO_OK;
  }
  planner->edits[planner->count++] = edit;
  return WO_OK;
}

enum wo_status wo_patch_plan(const struct wo_report *report, const struct wo_report_fix *fixes, const struct wo_choice *choices,
                             size_t choice_count, struct wo_arena *arena, const struct wo_patch_edit **ret_edits,
                             size_t *ret_count, struct wo_text *notes) {
  struct planner planner = {.report = report, .arena = arena, .notes = notes};
  planner.edits = wo_arena_array(arena, EDITS_MAX, sizeof *planner.edits);
  if (!planner.edits) return WO_E_NOMEM;
  for (size_t i = 0; i < choice_count; i++) {
    const struct wo_report_fix *const fix = &fixes[choices[i].proposal];
    for (size_t k = 0; k < fix->change_count; k++) {
      if (add_change(&planner, fix, &choices[i], &fix->changes[k]) != WO_OK) return WO_E_NOMEM;
    }
    for (size_t k = 0; k < fix->command_count && fix->change_count == 0; k++) {
      const struct wo_report_change told = {.spelled = fix->commands[k]};
      note(&planner, &told, "a change of the program, which is yours to make");
    }
  }
  *ret_edits = planner.edits;
  *ret_count = planner.count;
  return WO_OK;
}

/* ---- Files ---- */

struct file {
  struct wo_view path;
  struct wo_text before, after;
};

static void tell(struct wo_text *errors, struct wo_view path, const struct wo_err *err) {
  char text[PATH_BYTES];
  wo_text_add(errors, "whyoom: ");
  wo_text_add_view(errors, wo_clean_utf8(path, text, sizeof text));
  wo_text_add(errors, ": %s\n", err->message);
}

/* The paths of inputs are NUL-terminated copies in the job's arena. */
static bool change_file(struct file *file, const struct wo_patch_edit *edits, size_t count, struct wo_text *errors) {
  struct wo_err err = {0};
  enum wo_status status = wo__patch_read(file->path.ptr, &file->before, &err);
  if (status == WO_OK)
    status = wo_patch_apply((struct wo_view){file->before.ptr, file->before.len}, edits, count, file->path, &file->after, &err);
  if (status != WO_OK) tell(errors, file->path, &err);
  return status == WO_OK;
}

static size_t list_files(const struct wo_patch_edit *edits, size_t count, struct file *files) {
  size_t file_count = 0;
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < file_count && !wo_view_equal(files[k].path, edits[i].path)) k++;
    if (k == file_count) files[file_count++] = (struct file){.path = edits[i].path};
  }
  return file_count;
}

/* All files are changed in memory before the first is written. */
static bool run_files(struct file *files, size_t count, const struct wo_patch_edit *edits, size_t edit_count, bool is_writing,
                      struct wo_text *out, struct wo_text *errors) {
  for (size_t i = 0; i < count; i++) {
    if (!change_file(&files[i], edits, edit_count, errors)) return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct wo_view before = {files[i].before.ptr, files[i].before.len}, after = {files[i].after.ptr, files[i].after.len};
    struct wo_err err = {0};
    wo_patch_diff(files[i].path, before, after, out);
    if (!is_writing || wo_view_equal(before, after)) continue;
    if (wo_patch_write(files[i].path.ptr, before, after, &err) != WO_OK) {
      tell(errors, files[i].path, &err);
      return false;
    }
  }
  return true;
}

bool wo_patch_run(const struct wo_report *report, const struct wo_report_fix *fixes, const struct wo_choice *choices,
                  size_t choice_count, bool is_writing, struct wo_text *out, struct wo_text *errors) {
  struct wo_arena arena;
  struct file files[EDITS_MAX];
  const struct wo_patch_edit *edits = NULL;
  size_t count = 0;
  assert(report && out && errors);
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  bool is_done = wo_patch_plan(report, fixes, choices, choice_count, &arena, &edits, &count, errors) == WO_OK;
  const size_t file_count = is_done ? list_files(edits, count, files) : 0;
  if (!is_done) wo_text_add(errors, "whyoom: %s\n", wo_status_text(WO_E_NOMEM));
  is_done = is_done && run_files(files, file_count, edits, count, is_writing, out, errors);
  for (size_t i = 0; i < file_count; i++) {
    wo_text_done(&files[i].before);
    wo_text_done(&files[i].after);
  }
  wo_arena_done(&arena);
  return is_done;
}
