/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of causes and fixes. See rule_doc.h. */
#include "analyzer/command/rule_doc.h"

#include <assert.h>

#define NAME_MAX_SHOWN ((size_t)32)
#define EXAMPLE_LINES ((size_t)8)

static const char *const weight_names[] = {
#define WEIGHT_NAME(code, name, value) [code] = name,
    WO_WEIGHT_MAP(WEIGHT_NAME)
#undef WEIGHT_NAME
};

static const char *const confidence_names[] = {
    [WO_CONFIDENCE_POSSIBLE] = "possible", [WO_CONFIDENCE_LIKELY] = "likely", [WO_CONFIDENCE_CERTAIN] = "certain"};

/* ---- Conditions ---- */

/* Names that this block has defined. Names that do not fit are defined each time. */
struct defined {
  struct wo_doc *doc;
  struct wo_view names[NAME_MAX_SHOWN];
  size_t count;
};

/* One line of a block. */
static void add_line(struct wo_doc *doc, const char *before, struct wo_view name, const char *between, struct wo_view source) {
  struct wo_text line = {0};
  wo_text_add(&line, "%s%.*s%s%.*s", before, WO_SHOWN(name), between, WO_SHOWN(source));
  if (line.is_failed) doc->out->is_failed = true;
  if (line.len > 0) wo_doc_block_line(doc, WO_DOC_PLAIN, (struct wo_view){line.ptr, line.len}, WO_DOC_WRAP);
  wo_text_done(&line);
}

static void add_definition(void *context, struct wo_view name, const struct wo_expr *definition) {
  struct defined *const defined = context;
  for (size_t i = 0; i < defined->count; i++) {
    if (wo_view_equal(defined->names[i], name)) return;
  }
  if (defined->count < NAME_MAX_SHOWN) defined->names[defined->count++] = name;
  add_line(defined->doc, "where ", name, " = ", definition->source);
}

/* A condition and the definitions of its names; nothing for none. */
static void add_condition(struct wo_doc *doc, const char *label, const struct wo_expr *condition) {
  if (condition == NULL) return;
  struct defined defined = {.doc = doc};
  wo_doc_label(doc, label);
  wo_doc_block_start(doc);
  wo_doc_block_line(doc, WO_DOC_PLAIN, condition->source, WO_DOC_WRAP);
  wo_expr_each_definition(condition, add_definition, &defined);
  wo_doc_block_end(doc);
}

/* ---- Clauses ---- */

/* The texts of clauses; their conditions are for authors (`whyoom rules show`). */
static void add_clauses(struct wo_doc *doc, const char *label, const struct wo_clause *clauses, size_t count, bool has_weights) {
  if (count > 0) wo_doc_label(doc, label);
  for (size_t i = 0; i < count; i++) {
    wo_doc_item(doc, has_weights ? weight_names[clauses[i].weight] : "", WO_DOC_TEMPLATE, wo_template_source(clauses[i].say));
  }
}

/* A rule that a site has turned off is described too, with a line that says so. */
static void add_off(struct wo_doc *doc, const struct wo_off *off) {
  if (off == NULL) return;
  wo_doc_label(doc, "Turned off");
  wo_doc_item(doc, "", WO_DOC_PLAIN, off->why.len > 0 ? off->why : WO_VIEW("without a reason"));
}

/* ---- Causes ---- */

static void add_meaning(struct wo_doc *doc, const struct wo_cause *cause) {
  wo_doc_section(doc, "What it means");
  wo_doc_paragraph(doc, WO_DOC_PLAIN, cause->means);
  wo_doc_paragraph(doc, WO_DOC_PLAIN, cause->details);
  wo_doc_label(doc, cause->is_failure ? "Reported as" : "Reported as a note, never as the cause of a failure");
  wo_doc_item(doc, "", WO_DOC_TEMPLATE, wo_template_source(cause->title));
  wo_doc_item(doc, "", WO_DOC_TEMPLATE, wo_template_source(cause->summary));
}

/* Weights are words; `whyoom rules why` shows their effect on a score. */
static void add_knowledge(struct wo_doc *doc, const struct wo_cause *cause) {
  struct wo_text line = {0};
  wo_doc_section(doc, "How we know");
  add_condition(doc, "Considered when", cause->when);
  add_clauses(doc, "Ruled out when", cause->not_when, cause->not_when_count, false);
  add_clauses(doc, "Speaks for it, with its weight", cause->for_, cause->for_count, true);
  add_clauses(doc, "Speaks against it, with its weight", cause->against, cause->against_count, true);
  wo_text_add(&line, "The weight before any argument is %s; the finding is called %s at most.", weight_names[cause->prior],
              confidence_names[cause->at_most]);
  if (line.is_failed) doc->out->is_failed = true;
  wo_doc_paragraph(doc, WO_DOC_PLAIN, (struct wo_view){line.ptr, line.len});
  wo_text_done(&line);
}

/* A fix that does not exist is listed by its id alone; the lint reports it. */
static void add_fixes(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_cause *cause) {
  if (cause->fix_count == 0) return;
  wo_doc_section(doc, "What to do");
  wo_doc_label(doc, "Best first, where they apply; with what they cost in speed");
  for (size_t i = 0; i < cause->fix_count; i++) {
    const struct wo_fix *const fix = wo_pack_fix(pack, cause->fixes[i]);
    struct wo_text line = {0};
    if (fix) wo_text_add_view(&line, wo_template_source(fix->title));
    const struct wo_view speed = fix ? wo_template_source(fix->cost_speed) : (struct wo_view){0};
    if (speed.len > 0) wo_text_add(&line, " (%.*s)", WO_SHOWN(speed));
    if (line.is_failed) doc->out->is_failed = true;
    wo_doc_link(doc, WO_DOC_FIXES, cause->fixes[i], WO_DOC_TEMPLATE, (struct wo_view){line.ptr, line.len});
    wo_text_done(&line);
  }
}

/* Questions of other causes about this one count too: an author writes each down once. */
static void add_questions(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_cause *cause) {
  bool has_label = false;
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *const other = &pack->causes[i];
    for (size_t k = 0; k < other->would_tell_count; k++) {
      const struct wo_clause *const clause = &other->would_tell[k];
      const bool is_own = other == cause && clause->between.len > 0;
      const bool is_about = other != cause && clause->between.len > 0 && wo_view_equal(clause->between, cause->id);
      if (!is_own && !is_about) continue;
      if (!has_label) wo_doc_label(doc, "How to distinguish it from");
      has_label = true;
      wo_doc_link(doc, WO_DOC_CAUSES, is_own ? clause->between : other->id, WO_DOC_TEMPLATE, wo_template_source(clause->say));
    }
  }
}

static void add_evidence(struct wo_doc *doc, const struct wo_cause *cause) {
  bool has_label = false;
  for (size_t i = 0; i < cause->would_tell_count; i++) {
    if (cause->would_tell[i].between.len > 0) continue;
    if (!has_label) wo_doc_label(doc, "Would settle it");
    has_label = true;
    wo_doc_item(doc, "", WO_DOC_TEMPLATE, wo_template_source(cause->would_tell[i].say));
  }
}

static void add_counter_examples(struct wo_doc *doc, const struct wo_cause *cause) {
  bool has_label = false;
  for (size_t i = 0; i < cause->example_count; i++) {
    if (cause->examples[i].gives || cause->examples[i].why.len == 0) continue;
    if (!has_label) wo_doc_label(doc, "It is not this when");
    has_label = true;
    wo_doc_item(doc, "", WO_DOC_PLAIN, cause->examples[i].why);
  }
}

static void add_neighbours(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_cause *cause) {
  wo_doc_section(doc, "Looks like but is not");
  add_counter_examples(doc, cause);
  add_questions(doc, pack, cause);
  add_evidence(doc, cause);
  if (cause->exclude_count > 0) wo_doc_label(doc, "If this is found, these are not reported unless they are surer");
  for (size_t i = 0; i < cause->exclude_count; i++) {
    const struct wo_cause *const other = wo_pack_cause(pack, cause->excludes[i]);
    wo_doc_link(doc, WO_DOC_CAUSES, cause->excludes[i], WO_DOC_PLAIN, other ? other->means : (struct wo_view){0});
  }
}

static size_t count_lines(struct wo_view text) {
  size_t count = 0;
  while (text.len > 0) {
    wo_view_cut(&text, '\n');
    count++;
  }
  return count;
}

/* The last lines, and the very last one whole: it has the message. */
static void add_log(struct wo_doc *doc, struct wo_view log) {
  const size_t count = count_lines(log);
  const size_t left_out = count > EXAMPLE_LINES ? count - EXAMPLE_LINES : 0;
  wo_doc_block_start(doc);
  if (left_out > 0) wo_doc_block_line(doc, WO_DOC_PLAIN, WO_VIEW("..."), WO_DOC_CUT);
  for (size_t i = 0; log.len > 0; i++) {
    const struct wo_view line = wo_view_cut(&log, '\n');
    if (i >= left_out) wo_doc_block_line(doc, WO_DOC_PLAIN, line, log.len > 0 ? WO_DOC_CUT : WO_DOC_WRAP);
  }
  wo_doc_block_end(doc);
}

/* One log that gives the cause. */
static void add_example(struct wo_doc *doc, const struct wo_cause *cause) {
  for (size_t i = 0; i < cause->example_count; i++) {
    const struct wo_example *const example = &cause->examples[i];
    if (!example->gives) continue;
    wo_doc_section(doc, "Examples");
    if (example->title.len > 0) wo_doc_paragraph(doc, WO_DOC_PLAIN, example->title);
    add_log(doc, example->log);
    return;
  }
}

void wo_rule_doc_cause(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_cause *cause) {
  assert(doc != NULL && pack != NULL && cause != NULL);
  wo_doc_title(doc, "cause", cause->id);
  add_off(doc, cause->off);
  add_meaning(doc, cause);
  add_knowledge(doc, cause);
  add_fixes(doc, pack, cause);
  add_neighbours(doc, pack, cause);
  add_example(doc, cause);
  if (cause->reference_count == 0) return;
  wo_doc_section(doc, "References");
  for (size_t i = 0; i < cause->reference_count; i++) wo_doc_item(doc, "", WO_DOC_PLAIN, cause->references[i]);
}

/* ---- Fixes ---- */

/* Settings by the names in rules; the report writes the job's own spelling. */
static void add_changes(struct wo_doc *doc, const struct wo_fix *fix) {
  if (fix->change_count == 0) return;
  struct defined defined = {.doc = doc};
  wo_doc_label(doc, "Settings that change, written in the job's own spelling");
  wo_doc_block_start(doc);
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_knob_change *const change = &fix->changes[i];
    add_line(doc, "", change->knob, " -> ", change->to->source);
    if (change->when) add_line(doc, "", change->knob, " only if ", change->when->source);
  }
  for (size_t i = 0; i < fix->change_count; i++) {
    wo_expr_each_definition(fix->changes[i].to, add_definition, &defined);
    if (fix->changes[i].when) wo_expr_each_definition(fix->changes[i].when, add_definition, &defined);
  }
  wo_doc_block_end(doc);
}

/* The kinds of programs; nothing for a fix that is meant for all. */
static void add_programs(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_fix *fix) {
  if (fix->for_programs == 0 || fix->for_programs == WO_PROGRAM_ANY) return;
  wo_doc_section(doc, "Meant for");
  for (int kind = WO_PROGRAM_UNKNOWN + 1; kind < WO_PROGRAM_COUNT_; kind++) {
    if (fix->for_programs & WO_PROGRAM_BIT(kind))
      wo_doc_item(doc, "", WO_DOC_PLAIN, wo_view_of(wo_program_kind_name((enum wo_program_kind)kind)));
  }
  if (fix->for_programs & WO_PROGRAM_BIT(WO_PROGRAM_UNKNOWN))
    wo_doc_item(doc, "", WO_DOC_PLAIN, WO_VIEW("programs of which the log shows nothing"));
  if (fix->stand_in_count > 0) wo_doc_label(doc, "Tried in its place for other programs");
  for (size_t i = 0; i < fix->stand_in_count; i++) {
    const struct wo_fix *const other = wo_pack_fix(pack, fix->stand_ins[i]);
    wo_doc_link(doc, WO_DOC_FIXES, fix->stand_ins[i], WO_DOC_TEMPLATE,
                other ? wo_template_source(other->title) : (struct wo_view){0});
  }
}

static void add_offer(struct wo_doc *doc, const struct wo_fix *fix) {
  wo_doc_section(doc, "When it is offered");
  add_condition(doc, "Where a cause proposes it, and", fix->when);
  if (!fix->when) wo_doc_paragraph(doc, WO_DOC_PLAIN, WO_VIEW("Wherever a cause proposes it."));
  if (!fix->already && fix->conflict_count == 0) return;
  wo_doc_section(doc, "When it is not");
  add_condition(doc, "Set already", fix->already);
  add_clauses(doc, "Of no use, or harmful", fix->conflicts, fix->conflict_count, false);
}

static void add_price(struct wo_doc *doc, const struct wo_fix *fix) {
  static const char *const ranks[WO_COST_RANK_MAX + 1] = {[1] = "nothing",
                                                          "a little time or a line of code",
                                                          "time",
                                                          "time",
                                                          "results or inputs",
                                                          "other hardware",
                                                          "another method or model",
                                                          "another method or model",
                                                          "it finds out and cures nothing"};
  wo_doc_section(doc, "What it saves");
  wo_doc_paragraph(doc, WO_DOC_TEMPLATE, wo_template_source(fix->saves_formula));
  if (!fix->saves_formula) wo_doc_paragraph(doc, WO_DOC_PLAIN, WO_VIEW("Nothing can be said beforehand."));
  wo_doc_section(doc, "What it costs");
  wo_doc_item(doc, "speed", WO_DOC_TEMPLATE, wo_template_source(fix->cost_speed));
  wo_doc_item(doc, "accuracy", WO_DOC_TEMPLATE, wo_template_source(fix->cost_accuracy));
  wo_doc_item(doc, "effort", WO_DOC_TEMPLATE, wo_template_source(fix->cost_effort));
  if (fix->cost_rank >= 1 && fix->cost_rank <= WO_COST_RANK_MAX)
    wo_doc_item(doc, "in all", WO_DOC_PLAIN, wo_view_of(ranks[fix->cost_rank]));
}

static void add_commands(struct wo_doc *doc, const struct wo_fix *fix) {
  if (fix->command_count == 0) return;
  wo_doc_section(doc, "Commands");
  wo_doc_block_start(doc);
  for (size_t i = 0; i < fix->command_count; i++) {
    wo_doc_block_line(doc, WO_DOC_TEMPLATE, wo_template_source(fix->commands[i].say), WO_DOC_WHOLE);
  }
  wo_doc_block_end(doc);
}

static bool proposes(const struct wo_cause *cause, struct wo_view fix) {
  for (size_t i = 0; i < cause->fix_count; i++) {
    if (wo_view_equal(cause->fixes[i], fix)) return true;
  }
  return false;
}

static bool stands_in_for(const struct wo_fix *other, struct wo_view fix) {
  for (size_t i = 0; i < other->stand_in_count; i++) {
    if (wo_view_equal(other->stand_ins[i], fix)) return true;
  }
  return false;
}

/* The fixes that it stands in for. */
static void add_principals(struct wo_doc *doc, const struct wo_pack *pack, struct wo_view fix) {
  bool has_label = false;
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_fix *const other = wo_pack_fix(pack, pack->fixes[i].id);
    if (!other || !stands_in_for(other, fix)) continue;
    if (!has_label) wo_doc_label(doc, "In place of these, where they are not meant for the program");
    has_label = true;
    wo_doc_link(doc, WO_DOC_FIXES, other->id, WO_DOC_TEMPLATE, wo_template_source(other->title));
  }
}

static void add_causes(struct wo_doc *doc, const struct wo_pack *pack, struct wo_view fix) {
  wo_doc_section(doc, "Proposed for");
  for (size_t i = 0; i < pack->cause_count; i++) {
    if (!proposes(&pack->causes[i], fix)) continue;
    wo_doc_link(doc, WO_DOC_CAUSES, pack->causes[i].id, WO_DOC_PLAIN, pack->causes[i].means);
  }
  add_principals(doc, pack, fix);
}

void wo_rule_doc_fix(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_fix *fix) {
  assert(doc != NULL && pack != NULL && fix != NULL);
  wo_doc_title(doc, "fix", fix->id);
  add_off(doc, fix->off);
  wo_doc_section(doc, "What it does");
  wo_doc_paragraph(doc, WO_DOC_TEMPLATE, wo_template_source(fix->title));
  wo_doc_paragraph(doc, WO_DOC_PLAIN, fix->explain);
  add_changes(doc, fix);
  add_programs(doc, pack, fix);
  add_offer(doc, fix);
  add_price(doc, fix);
  add_commands(doc, fix);
  if (fix->note_count > 0) wo_doc_section(doc, "Notes");
  add_clauses(doc, "Where they apply", fix->notes, fix->note_count, false);
  add_causes(doc, pack, fix->id);
}
