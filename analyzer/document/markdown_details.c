/* SPDX-License-Identifier: Apache-2.0 */
/* Everything behind the first screen as Markdown, in boxes that can be opened (<details>, which GitHub and GitLab both show).
 *
 * A ticket holds 65 536 characters on GitHub: boxes list their first rows, and the report as text gets the room that is left. */
#include "analyzer/document/markdown_internal.h"
#include "analyzer/report/report_words.h"
#include "parsers/base/clean.h"
#include "parsers/base/limits.h"

enum { ROWS_MAX = 40, WHOLE_WIDTH = 80, QUOTE_BYTES = 2000, LINE_BYTES = 300 };

static void begin(struct wo__markdown *m, const char *summary) {
  wo_text_add(m->out, "<details><summary>%s</summary>\n\n", summary);
}

static void end(struct wo__markdown *m) {
  wo_text_add(m->out, "\n</details>\n\n");
}

/* ---- Evidence ---- */

static void add_places(struct wo__markdown *m, const struct wo_argument *argument) {
  struct wo_text *const text = wo__markdown_start(m);
  for (size_t i = 0; i < argument->evidence_count && i < 3; i++) {
    const struct wo_event *const event = wo_event_get(m->events, argument->evidence[i]);
    if (event == NULL || event == m->where) continue;
    if (text->len > 0) wo_text_add(text, ", ");
    wo__markdown_place(text, m, event);
  }
  if (text->len > 0) wo__markdown_put_code(m, " ", wo__markdown_scratch(m), "");
}

static void write_arguments(struct wo__markdown *m, const char *label, const struct wo_argument *arguments, size_t count) {
  for (size_t i = 0; i < count; i++) {
    wo_text_add(m->out, "- **%s**: ", label);
    wo__markdown_put(m, "", arguments[i].text, "");
    add_places(m, &arguments[i]);
    wo_text_add(m->out, "\n");
  }
}

static void write_reasons(struct wo__markdown *m, const struct wo_finding *finding) {
  if (finding->summary.len > 0) wo__markdown_put(m, "", finding->summary, "\n\n");
  write_arguments(m, "for", finding->for_, finding->for_count);
  write_arguments(m, "against", finding->against, finding->against_count);
  for (size_t i = 0; i < finding->would_tell_count; i++)
    wo__markdown_put(m, "- **would settle it**: ", finding->would_tell[i], "\n");
}

static void write_evidence(struct wo__markdown *m) {
  if (m->where == NULL && !wo_report_tells_failure(m->report)) return;
  begin(m, "Evidence");
  if (m->where != NULL) {
    wo__markdown_place(wo__markdown_start(m), m, m->where);
    wo__markdown_put_code(m, "", wo__markdown_scratch(m), ":\n\n");
    wo_markdown_block(m->out, "text", wo_utf8_front(wo_view_trim(m->where->text), QUOTE_BYTES));
    wo_text_add(m->out, "\n");
  }
  if (wo_report_tells_failure(m->report)) write_reasons(m, &m->report->findings[0]);
  end(m);
}

/* ---- Sentences ---- */

struct statements {
  struct wo__markdown *m;
  size_t count;
};

static void say(void *context, struct wo_view label, struct wo_view text) {
  struct statements *const list = context;
  if (list->count++ == 0) begin(list->m, "Memory over time, ranks and runs");
  wo_text_add(list->m->out, "- ");
  if (label.len > 0) wo__markdown_put(list->m, "**", label, "**: ");
  wo__markdown_put(list->m, "", text, "\n");
}

static void write_statements(struct wo__markdown *m) {
  struct statements list = {.m = m};
  for (int part = WO_REPORT_PART_COURSE; part <= WO_REPORT_PART_LADDER; part++) {
    if (!wo_report_statements(m->report, (enum wo_report_part)part, say, &list)) m->out->is_failed = true;
  }
  if (list.count > 0) end(m);
}

/* ---- Fixes ---- */

static void write_lines(struct wo__markdown *m, const struct wo_finding_fix *fix) {
  struct wo_text lines = {0};
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    const struct wo_event *const where = wo_event_get(m->events, change->where);
    if (lines.len > 0) wo_text_add(&lines, "\n");
    wo_report_add_change(&lines, change);
    if (change->from.is_known || where != NULL) wo_text_add(&lines, "  # now ");
    if (change->from.is_known) wo_report_add_value(&lines, &change->from);
    if (change->from.is_known && where != NULL) wo_text_add(&lines, ", ");
    if (where != NULL) wo__markdown_place(&lines, m, where);
  }
  for (size_t i = 0; i < fix->command_count; i++)
    wo_text_add(&lines, "%s%.*s", lines.len > 0 ? "\n" : "", WO_SHOWN(fix->commands[i]));
  if (lines.len > 0) wo_text_add(m->out, "\n");
  if (lines.len > 0) wo_markdown_block(m->out, "text", (struct wo_view){lines.ptr, lines.len});
  m->out->is_failed = m->out->is_failed || lines.is_failed;
  wo_text_done(&lines);
}

static void write_item(struct wo__markdown *m) {
  if (m->scratch.len > 0) wo__markdown_put(m, "- ", wo__markdown_scratch(m), "\n");
}

/* The number is of the report; 0: the change that a recording or a run supports. */
static void write_fix(struct wo__markdown *m, const struct wo_finding_fix *fix, size_t number) {
  if (number == 0) wo__markdown_put(m, "\n**first: ", fix->title, "**\n");
  if (number > 0) wo_text_add(m->out, "\n**%zu: ", number);
  if (number > 0) wo__markdown_put(m, "", fix->title, "**\n");
  write_lines(m, fix);
  wo_text_add(m->out, "\n");
  wo_report_add_verdict(wo__markdown_start(m), fix);
  if (fix->has_saves && fix->saves_formula.len > 0) wo_text_add(&m->scratch, ": %.*s", WO_SHOWN(fix->saves_formula));
  write_item(m);
  wo_report_add_needs(wo__markdown_start(m), fix);
  write_item(m);
  wo_report_add_costs(wo__markdown_start(m), fix);
  write_item(m);
  for (size_t i = 0; i < fix->note_count; i++) wo__markdown_put(m, "- note: ", fix->notes[i], "\n");
}

static void write_fixes(struct wo__markdown *m) {
  const struct wo_finding *const finding = m->report->finding_count > 0 ? &m->report->findings[0] : NULL;
  if (finding == NULL || finding->fix_count + finding->not_proposed_count == 0) return;
  begin(m, "All fixes");
  if (m->report->first_change != NULL) write_fix(m, m->report->first_change, 0);
  for (size_t i = 0; i < finding->fix_count; i++) write_fix(m, &finding->fixes[i], i + 1);
  if (finding->not_proposed_count > 0) wo_text_add(m->out, "\n");
  for (size_t i = 0; i < finding->not_proposed_count; i++)
    wo__markdown_put(m, "- not proposed: ", finding->not_proposed[i], "\n");
  end(m);
}

/* ---- Settings, other findings ---- */

static void write_setting(struct wo__markdown *m, const struct wo_setting *setting) {
  wo__markdown_put(m, "| ", setting->knob->id, " | ");
  wo_report_add_value(wo__markdown_start(m), &setting->value);
  wo_markdown_code(m->out, wo_utf8_front(wo__markdown_scratch(m), LINE_BYTES), true);
  wo_text_add(m->out, " | ");
  wo__markdown_place(wo__markdown_start(m), m, setting->event);
  wo_markdown_code(m->out, wo__markdown_scratch(m), true);
  wo_text_add(m->out, " |%s\n", setting->has_conflict ? " other places differ |" : " |");
}

static void write_settings(struct wo__markdown *m) {
  const struct wo_facts *const facts = &m->report->facts;
  size_t shown = 0;
  for (size_t i = 0; i < facts->setting_count && shown < ROWS_MAX; i++) {
    if (facts->settings[i].event == NULL) continue;
    if (shown++ == 0) {
      begin(m, "Settings");
      wo_text_add(m->out, "| setting | value | set in | |\n| --- | --- | --- | --- |\n");
    }
    write_setting(m, &facts->settings[i]);
  }
  if (shown > 0) end(m);
}

static void write_findings(struct wo__markdown *m) {
  const struct wo_report *const report = m->report;
  const size_t first = wo_report_tells_failure(report) ? 1 : 0;
  if (report->finding_count <= first) return;
  begin(m, "Other findings");
  for (size_t i = first; i < report->finding_count; i++) {
    wo__markdown_put(m, "**", report->findings[i].title, "** ");
    wo_text_add(m->out, "(%s)\n\n", wo_report_confidence_name(report->findings[i].confidence));
    write_reasons(m, &report->findings[i]);
    wo_text_add(m->out, "\n");
  }
  end(m);
}

/* ---- Inputs, the report as text ---- */

static void write_inputs(struct wo__markdown *m) {
  const struct wo_job *const job = m->report->job;
  begin(m, "Inputs");
  for (size_t i = 0; i < job->input_count && i < ROWS_MAX; i++) {
    const struct wo_job_input *const input = &job->inputs[i];
    wo__markdown_put_code(m, "- ", input->path, "");
    wo_text_add(m->out, ", %llu lines", (unsigned long long)input->lines);
    for (size_t k = 0; k < input->note_count; k++) wo__markdown_put(m, "; ", input->notes[k], "");
    wo_text_add(m->out, "%s\n", input->is_unreadable && input->note_count == 0 ? "; could not be read" : "");
  }
  const size_t more = (job->input_count > ROWS_MAX ? job->input_count - ROWS_MAX : 0) + job->left_out_count;
  if (more > 0) wo_text_add(m->out, "- and %zu more\n", more);
  end(m);
}

/* Whole lines, as many as there is room for. */
static void write_whole(struct wo__markdown *m) {
  struct wo_text text = {0};
  wo_report_text(m->report, (struct wo_text_style){.width = WHOLE_WIDTH, .is_verbose = true}, &text);
  size_t len = text.len > 0 ? text.len - 1 : 0;
  const size_t room = m->out->len < WO_LIMIT_TICKET_BYTES ? WO_LIMIT_TICKET_BYTES - m->out->len : 0;
  if (len > room) {
    len = room;
    while (len > 0 && text.ptr[len] != '\n') len--;
  }
  if (len > 0) {
    begin(m, "The whole report as text");
    wo_markdown_block(m->out, "text", (struct wo_view){text.ptr, len});
    if (len + 1 < text.len) wo_text_add(m->out, "\n`whyoom -v` has the rest.\n");
    end(m);
  }
  m->out->is_failed = m->out->is_failed || text.is_failed;
  wo_text_done(&text);
}

void wo__markdown_details(struct wo__markdown *m) {
  write_evidence(m);
  write_statements(m);
  write_fixes(m);
  write_settings(m);
  write_findings(m);
  write_inputs(m);
  write_whole(m);
}
