/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the files that a fix changes. See patch.h.
 *
 * Only scripts and configurations are changed; a setting that only a log shows gets a note, because its place is not known. */
#include "analyzer/patch/patch.h"

#include <inttypes.h>

#include "analyzer/patch/patch_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/output/shell_words.h"

enum { VALUE_BYTES = 64, PATH_BYTES = 1024 };

struct planner {
  const struct wo_report *report;
  struct wo_arena *arena;
  struct wo_patch_edit *edits;
  size_t count;
  struct wo_text *notes;
};

/* A path that is shown in another way than it was given would name another file. */
static bool is_editable(const struct wo_job_input *input) {
  return input->is_path_exact && !input->is_compressed && !input->is_unreadable &&
         (wo_view_is(input->format, "sbatch") || wo_view_is(input->format, "config"));
}

/* The size at which the fix was replayed, if the change is one of these. */
static bool find_number(const struct wo_finding_change *change, const struct wo_choice *choice, char *buf, size_t cap) {
  uint32_t value = 0;
  if (wo_view_is(change->knob, "micro_batch")) value = choice->micro_batch;
  if (wo_view_is(change->knob, "grad_accum")) value = choice->grad_accum;
  if (wo_view_is(change->knob, "seq_len")) value = choice->seq_len;
  if (value == 0) return false;
  snprintf(buf, cap, "%" PRIu32, value);
  return true;
}

static void note(struct planner *planner, const struct wo_finding_change *change, const char *why) {
  struct wo_text text = {0};
  wo_spelling_add(&text, &change->spelling);
  wo_message(planner->notes, (struct wo_view){text.ptr, text.len}, "%s", why);
  if (text.is_failed) planner->notes->is_failed = true;
  wo_text_done(&text);
}

/* The place of the present setting, if that file can be changed; else NULL. */
static const struct wo_event *find_place(const struct planner *planner, const struct wo_finding_change *change) {
  const struct wo_job *const job = planner->report->job;
  const struct wo_event *const event = wo_event_get(&job->events, change->where);
  return event && event->span.file < job->input_count && is_editable(&job->inputs[event->span.file]) ? event : NULL;
}

/* A setting of the environment that is not set yet goes into the submitted script. */
static enum wo_status add_line(struct planner *planner, const struct wo_finding_change *change) {
  const struct wo_job *const job = planner->report->job;
  for (size_t i = 0; i < job->input_count; i++) {
    if (!wo_view_is(job->inputs[i].format, "sbatch") || !is_editable(&job->inputs[i])) continue;
    struct wo_text line = {0};
    wo_spelling_add(&line, &change->spelling);
    const struct wo_view kept = wo_arena_copy(planner->arena, (struct wo_view){line.ptr, line.len});
    const bool is_failed = line.is_failed || !kept.ptr;
    wo_text_done(&line);
    planner->edits[planner->count++] = (struct wo_patch_edit){.path = job->inputs[i].path, .to = kept};
    return is_failed ? WO_E_NOMEM : WO_OK;
  }
  note(planner, change, "no batch script is among the files given; set it where the job is started");
  return WO_OK;
}

/* The text to write: the number that the search chose, else the proposed one. Empty when the line cannot be changed by itself:
 * its key is not the one of the change. */
static struct wo_view new_value(struct planner *planner, const struct wo_choice *choice, const struct wo_finding_change *change,
                                struct wo_view key) {
  char number[VALUE_BYTES];
  if (find_number(change, choice, number, sizeof number)) return wo_arena_copy(planner->arena, wo_view_of(number));
  return wo_view_equal(change->spelling.key, key) ? change->spelling.value : (struct wo_view){0};
}

/* The edit of the line in one script that assigns a variable with the value; line 0 if none does. */
static enum wo_status find_variable(struct planner *planner, const struct wo_job_input *input, struct wo_patch_edit *edit) {
  struct wo_text text = {0};
  struct wo_err err = {0};
  const struct wo_view key = edit->key;
  const enum wo_status status = wo__patch_read(input->file.ptr, &text, &err);
  if (status != WO_OK) return status == WO_E_NOMEM ? status : WO_OK;
  edit->path = input->path;
  if (wo__patch_find_variable((struct wo_view){text.ptr, text.len}, key, edit->value, edit))
    edit->key = wo_arena_copy(planner->arena, edit->key);
  wo_text_done(&text);
  return edit->key.ptr ? WO_OK : WO_E_NOMEM;
}

/* A log shows the value that a script's variable gave: `MB=8`, `--micro-batch-size "$MB"`. */
static enum wo_status add_variable(struct planner *planner, const struct wo_event *event, struct wo_view to, bool *ret_is_added) {
  const struct wo_job *const job = planner->report->job;
  struct wo_patch_edit edit = {
      .key = wo_event_text(event, WO_FIELD_KEY), .value = wo_event_text(event, WO_FIELD_VALUE), .to = to};
  *ret_is_added = false;
  for (size_t i = 0; i < job->input_count && edit.line == 0; i++) {
    if (!wo_view_is(job->inputs[i].format, "sbatch") || !is_editable(&job->inputs[i])) continue;
    if (find_variable(planner, &job->inputs[i], &edit) != WO_OK) return WO_E_NOMEM;
  }
  *ret_is_added = edit.line > 0;
  if (edit.line > 0) planner->edits[planner->count++] = edit;
  return WO_OK;
}

static enum wo_status add_change(struct planner *planner, const struct wo_choice *choice,
                                 const struct wo_finding_change *change) {
  const struct wo_event *const event = find_place(planner, change);
  const struct wo_event *const seen = wo_event_get(&planner->report->job->events, change->where);
  if (planner->count == WO_PATCH_EDITS_MAX) {
    note(planner, change, "too many changes for one patch; change it by hand");
    return WO_OK;
  }
  if (!seen && change->spelling.style == WO_STYLE_EXPORT) return add_line(planner, change);
  const struct wo_view to = seen ? new_value(planner, choice, change, wo_event_text(seen, WO_FIELD_KEY)) : (struct wo_view){0};
  bool is_added = false;
  if (!event && seen && wo_shell_is_plain(to) && add_variable(planner, seen, to, &is_added) != WO_OK) return WO_E_NOMEM;
  if (is_added) return WO_OK;
  if (!event) {
    note(planner, change, "it is set in none of the scripts and configurations given; change it where the job sets it");
  } else if (!wo_shell_is_plain(to)) { /* empty, or more than a word in a script */
    note(planner, change, "its line cannot be changed by itself");
  } else {
    planner->edits[planner->count++] =
        (struct wo_patch_edit){.path = planner->report->job->inputs[event->span.file].path,
                               .line = event->span.line,
                               .byte = event->span.byte,
                               .key = wo_event_text(event, WO_FIELD_KEY),
                               .value = wo_event_text(event, WO_FIELD_VALUE),
                               .to = to,
                               .is_command = wo_view_is(wo_event_text(event, WO_FIELD_ORIGIN), "command")};
  }
  return planner->arena->is_exhausted ? WO_E_NOMEM : WO_OK;
}

enum wo_status wo_patch_plan(const struct wo_report *report, const struct wo_finding_fix *fixes, const struct wo_choice *choices,
                             size_t choice_count, struct wo_arena *arena, const struct wo_patch_edit **ret_edits,
                             size_t *ret_count, struct wo_text *notes) {
  struct planner planner = {.report = report, .arena = arena, .notes = notes};
  planner.edits = wo_arena_array(arena, WO_PATCH_EDITS_MAX, sizeof *planner.edits);
  if (!planner.edits) return WO_E_NOMEM;
  for (size_t i = 0; i < choice_count; i++) {
    const struct wo_finding_fix *const fix = &fixes[choices[i].proposal];
    for (size_t k = 0; k < fix->change_count; k++) {
      if (add_change(&planner, &choices[i], &fix->changes[k]) != WO_OK) return WO_E_NOMEM;
    }
    for (size_t k = 0; k < fix->command_count && fix->change_count == 0; k++) {
      wo_message(notes, fix->commands[k], "a change of the program: make it by hand");
    }
  }
  *ret_edits = planner.edits;
  *ret_count = planner.count;
  return WO_OK;
}
