/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom rules list|check|test|show|why|pages`: reads the packs whole, lints them, runs their examples.
 *
 * For authors of rules, who run it on a folder of their own: `whyoom rules test DIR`. Packs that cannot be read give the exit
 * status of an error. */
#include "analyzer/command/commands.h"
#include "analyzer/diagnosis/why.h"
#include "parsers/base/limits.h"
#include "rules/files/rule_dir.h"

/* ---- list ---- */

/* The place of a rule that is not built in, and the reason why a rule is off. Ends the line. */
static void add_origin(struct wo_text *out, struct wo_rule_place place, const struct wo_off *off) {
  if (place.is_user) {
    wo_text_add(out, "  [%s", place.is_replacing ? "replaced by " : "");
    wo_command_add_place(out, place);
    wo_text_add(out, "]");
  }
  if (off) {
    wo_text_add(out, "  [off: %.*s, ", WO_SHOWN(off->why));
    wo_command_add_place(out, off->place);
    wo_text_add(out, "]");
  }
  wo_text_add(out, "\n");
}

/* The user's patterns are few and listed; the built-in ones are only counted. */
static void list_patterns(const struct wo_pack *pack, struct wo_text *out) {
  wo_text_add(out, "patterns: %zu\n", pack->pattern_count);
  for (size_t i = 0; i < pack->sample_count; i++) {
    if (!pack->samples[i].place.is_user) continue;
    const struct wo_view id = pack->patterns[pack->samples[i].pattern].id;
    wo_text_add(out, "  %-34.*s", WO_SHOWN(id));
    add_origin(out, pack->samples[i].place, NULL);
  }
}

/* Definitions, and patterns that are turned off: those are no longer in the pack. */
static void list_others(const struct wo_pack *pack, struct wo_text *out) {
  wo_text_add(out, "definitions (%zu)\n", pack->define_count);
  for (size_t i = 0; i < pack->define_count; i++) {
    const struct wo_define *define = &pack->defines[i];
    wo_text_add(out, "  def.%-30.*s %.*s", WO_SHOWN(define->id), WO_SHOWN(define->means));
    add_origin(out, define->place, NULL);
  }
  for (size_t i = 0; i < pack->off_count; i++) {
    const struct wo_off *off = &pack->offs[i];
    if (wo_pack_cause(pack, off->id) || wo_pack_fix(pack, off->id)) continue;
    wo_text_add(out, "pattern %.*s", WO_SHOWN(off->id));
    add_origin(out, (struct wo_rule_place){.is_user = false}, off);
  }
}

/* One line each, for grep, the id first. Titles are shown as they were written, with the braces of their values, since there is
 * no job to fill them from. A rule without a file after it is built in. */
static enum wo_exit list_rules(const struct wo_call *call, const struct wo_pack *pack) {
  struct wo_text *const out = call->out;
  if (call->format == WO_OUT_PATTERNS) {
    wo_rules_list_patterns(pack, out);
    return WO_EXIT_FINE;
  }
  wo_text_add(out, "causes (%zu)\n", pack->cause_count);
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *cause = &pack->causes[i];
    wo_text_add(out, "  %-34.*s %-16.*s %.*s", WO_SHOWN(cause->id), WO_SHOWN(cause->family), WO_SHOWN(cause->means));
    add_origin(out, cause->place, cause->off);
  }
  wo_text_add(out, "fixes (%zu)\n", pack->fix_count);
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_fix *fix = &pack->fixes[i];
    const struct wo_view title = wo_template_source(fix->title);
    wo_text_add(out, "  %-34.*s %.*s", WO_SHOWN(fix->id), WO_SHOWN(title));
    add_origin(out, fix->place, fix->off);
  }
  wo_text_add(out, "knobs (%zu)\n", pack->knob_count);
  for (size_t i = 0; i < pack->knob_count; i++) {
    const struct wo_knob *knob = &pack->knobs[i];
    wo_text_add(out, "  %-34.*s %zu spellings, such as %.*s", WO_SHOWN(knob->id), knob->alias_count,
                knob->alias_count ? (int)knob->aliases[0].key.len : 0, knob->alias_count ? knob->aliases[0].key.ptr : "");
    add_origin(out, knob->place, NULL);
  }
  list_patterns(pack, out);
  list_others(pack, out);
  wo_text_add(out, "models of known shape: %zu\n", pack->model_count);
  return WO_EXIT_FINE;
}

/* ---- show ---- */

/* Whether a file has a rule with that id: the first key of a rule is its sort. */
static bool defines(struct wo_view text, struct wo_view id) {
  static const char *const sorts[] = {"cause", "fix", "knob", "pattern", "phase", "term", "model", "define"};
  for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++) {
    char needle[160];
    snprintf(needle, sizeof needle, "\"%s\": \"%.*s\"", sorts[i], WO_SHOWN(id));
    if (wo_view_has(text, needle)) return true;
  }
  return false;
}

/* The place of the user's own rule with that id, of any sort; NULL for none. */
static const struct wo_rule_place *find_own(const struct wo_pack *pack, struct wo_view id) {
  const struct wo_cause *cause = wo_pack_cause(pack, id);
  const struct wo_fix *fix = wo_pack_fix(pack, id);
  const struct wo_knob *knob = wo_pack_knob(pack, id);
  if (cause && cause->place.is_user) return &cause->place;
  if (fix && fix->place.is_user) return &fix->place;
  if (knob && knob->place.is_user) return &knob->place;
  for (size_t i = 0; i < pack->sample_count; i++) {
    const struct wo_pattern_samples *samples = &pack->samples[i];
    if (samples->place.is_user && wo_view_equal(pack->patterns[samples->pattern].id, id)) return &samples->place;
  }
  const struct wo_define *define = wo_pack_define(pack, id);
  return define && define->place.is_user ? &define->place : NULL;
}

/* Adds a file of the user's unchanged. */
static bool add_file(const struct wo_rule_place *place, struct wo_text *out) {
  char *const path = strndup(place->file.ptr, place->file.len);
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  char buf[4096];
  bool is_read = path && wo_input_open(path, &input, &err) == WO_OK;
  for (size_t got = 1; is_read && got > 0;) {
    is_read = wo_input_read(input, buf, sizeof buf, &got, &err) == WO_OK;
    if (is_read) wo_text_add_view(out, (struct wo_view){buf, got});
  }
  wo_input_close(input);
  free(path);
  return is_read;
}

/* Adds the places that turn the rule off; nothing without a pack, when that is broken. */
static void add_off(const struct wo_pack *pack, struct wo_view id, struct wo_text *out) {
  for (size_t i = 0; pack && i < pack->off_count; i++) {
    const struct wo_off *off = &pack->offs[i];
    if (!wo_view_equal(off->id, id)) continue;
    wo_text_add(out, "// turned off by ");
    wo_command_add_place(out, off->place);
    wo_text_add(out, ": %.*s\n", WO_SHOWN(off->why));
  }
}

/* The compiled-in file that defines the rule; false without one. */
static bool add_built_in(struct wo_view id, struct wo_text *out) {
  size_t count = 0;
  const struct wo_rule_file *files = wo_rule_embedded(WO_LOAD_ALL, &count);
  for (size_t i = 0; i < count; i++) {
    const struct wo_view text = {files[i].data, files[i].size};
    if (!defines(text, id)) continue;
    wo_text_add(out, "// built in: %s\n%.*s", files[i].name, WO_SHOWN(text));
    return true;
  }
  return false;
}

/* Names the rule that may have been meant. `own` has the rules of the user's folder too; NULL: no folder was given. */
static void report_no_rule(const struct wo_call *call, const struct wo_pack *own) {
  struct wo_nearest nearest = {.want = wo_view_of(call->words[1])};
  struct wo_pack *loaded = NULL;
  char hint[WO_NEAREST_BYTES];
  if (!own) wo_pack_load_all(NULL, WO_LOAD_ALL, &loaded, NULL);
  const struct wo_pack *const pack = own ? own : loaded;
  if (pack) {
    wo_command_offer_rules(pack, &nearest);
    for (size_t i = 0; i < pack->pattern_count; i++) wo_nearest_offer(&nearest, pack->patterns[i].id);
  }
  wo_message(call->errors, (struct wo_view){0}, "no rule is called \"%s\"%s; `whyoom rules list` names them all", call->words[1],
             wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
  wo_pack_free(loaded);
}

/* Adds the whole file with the rule: its comments and neighbours explain it. The user's own rule wins over the built-in one that
 * it replaces. If the user's folder cannot be loaded, built-in rules are still shown: then it helps most. */
static enum wo_exit show_rule(const struct wo_call *call) {
  if (call->word_count < 2) {
    wo_message(call->errors, (struct wo_view){0}, "rules show needs the id of a rule");
    return WO_EXIT_ERROR;
  }
  const struct wo_view id = wo_view_of(call->words[1]);
  struct wo_pack *pack = call->rules_dir.len > 0 ? wo_command_load(call, WO_LOAD_ALL) : NULL;
  const struct wo_rule_place *own = pack ? find_own(pack, id) : NULL;
  add_off(pack, id, call->out);
  if (own) {
    wo_text_add(call->out, "// ");
    wo_text_add_clean(call->out, own->file);
    wo_text_add(call->out, ", line %llu%s\n", (unsigned long long)own->line,
                own->is_replacing ? ", in place of the built-in rule" : "");
  }
  const bool is_shown = own ? add_file(own, call->out) : add_built_in(id, call->out);
  /* One line says so. Whether the rule is in that folder is not known then: nothing is said of the rule. */
  const bool is_unloaded = call->rules_dir.len > 0 && pack == NULL;
  if (!is_shown && !is_unloaded) report_no_rule(call, pack);
  wo_pack_free(pack);
  return is_shown && !is_unloaded ? WO_EXIT_FINE : WO_EXIT_ERROR;
}

/* ---- why ---- */

/* Explains over the facts of a closed job. */
static enum wo_status explain(const struct wo_call *call, const struct wo_pack *pack, const struct wo_job *job,
                              struct wo_arena *arena) {
  const struct wo_view id = wo_view_of(call->words[1]);
  const struct wo_cause *cause = wo_pack_cause(pack, id);
  const struct wo_fix *fix = wo_pack_fix(pack, id);
  struct wo_facts facts;
  struct wo_why why;
  enum wo_status status = wo_facts_make(job, pack, arena, &facts);
  if (status != WO_OK) return status;
  const struct wo_diagnosis diagnosis = {.facts = &facts, .pack = pack, .source = wo_facts_source(&facts), .arena = arena};
  status = cause ? wo_why_cause(&diagnosis, cause, &why) : wo_why_fix(&diagnosis, fix, &why);
  if (status != WO_OK) return status;
  if (call->format == WO_OUT_JSON) {
    wo_why_json(&why, call->out);
  } else {
    wo_why_text(&why, call->out);
  }
  return WO_OK;
}

static enum wo_exit explain_job(const struct wo_call *call, const struct wo_pack *pack, const struct wo_job *job) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  const enum wo_status status = explain(call, pack, job, &arena);
  if (status != WO_OK) wo_message(call->errors, (struct wo_view){0}, "%s", wo_status_text(status));
  wo_arena_done(&arena);
  return status == WO_OK ? WO_EXIT_FINE : WO_EXIT_ERROR;
}

/* Inputs that cannot be read are reported, and the rest is explained, as in a diagnosis. */
static enum wo_exit show_why(const struct wo_call *call, const struct wo_pack *pack) {
  if (call->word_count < 3) {
    wo_message(call->errors, (struct wo_view){0}, "rules why needs the id of a cause or a fix, and the files of a job");
    return WO_EXIT_ERROR;
  }
  const struct wo_view id = wo_view_of(call->words[1]);
  if (!wo_pack_cause(pack, id) && !wo_pack_fix(pack, id)) {
    wo_message(call->errors, (struct wo_view){0}, "no cause or fix is called \"%s\"; `whyoom rules list` names them all",
               call->words[1]);
    return WO_EXIT_ERROR;
  }
  struct wo_job *job = NULL;
  const enum wo_exit reading = wo_command_read_job(call, pack, call->words + 2, call->word_count - 2, &job);
  if (!job) return WO_EXIT_ERROR;
  const enum wo_exit code = explain_job(call, pack, job);
  wo_job_free(job);
  return reading == WO_EXIT_FINE ? code : WO_EXIT_ERROR;
}

/* ---- The command ---- */

static const struct wo_option rules_options[] = {
    WO_OPTION("format", "text|json|patterns",
              "for people (default) or for programs; patterns:\nof list, for other programs such as rg",
              WO_TO_READER(wo_call_read_format), .choices = "text|json|patterns"),
};

#define VERBS "list|check|test|show|why|pages"
enum { VERB_CHECK = 1, VERB_TEST = 2, VERB_SHOW = 3, VERB_WHY = 4 };

/* In the order of VERBS. Those that help most when a pack is broken load for themselves. */
static enum wo_exit (*const verbs[])(const struct wo_call *call, const struct wo_pack *pack) = {
    list_rules, NULL, wo_run_rules_test, NULL, show_why, wo_run_rules_pages};
static enum wo_exit (*const loading_verbs[])(const struct wo_call *call) = {
    [VERB_CHECK] = wo_run_rules_check, [VERB_SHOW] = show_rule};

/* A folder named behind list, check or test is meant as --rules: a word that is given is never passed over. False when there are
 * more words than the verb takes. */
static bool take_folder(const struct wo_call *call, int verb, struct wo_call *ret_call) {
  *ret_call = *call;
  const bool takes_folder = verb < VERB_SHOW;
  const size_t most = takes_folder && call->rules_dir.len > 0 && !call->are_site_rules ? 1 : 2;
  if (call->word_count > most && verb != VERB_WHY) {
    wo_message(call->errors, (struct wo_view){0}, "rules %s takes one %s, not also '%s'", call->words[0],
               takes_folder        ? "folder of rules"
               : verb == VERB_SHOW ? "id"
                                   : "folder",
               call->words[most]);
    return false;
  }
  if (takes_folder && call->word_count == 2) ret_call->rules_dir = wo_view_of(call->words[1]);
  return true;
}

/* A folder without a rule file is a mistake where its rules are to be checked: nothing would be, and all would seem well. */
static bool has_rule_file(const struct wo_call *call, int verb) {
  struct wo_rule_files files = {0};
  const bool is_asked = (verb == VERB_CHECK || verb == VERB_TEST) && call->rules_dir.len > 0;
  /* Whatever cannot be read is reported by loading. */
  const bool has_any = !is_asked || wo_rule_dir_read(call->rules_dir.ptr, &files, NULL) != WO_OK || files.count > 0;
  wo_rule_files_done(&files);
  if (!has_any) wo_message(call->errors, call->rules_dir, "holds no rule file (a name that ends in .json): nothing is checked");
  return has_any;
}

static void report_no_verb(const struct wo_call *call) {
  struct wo_nearest nearest = {.want = wo_view_of(call->words[0])};
  struct wo_view rest = wo_view_of(VERBS);
  char hint[WO_NEAREST_BYTES];
  while (rest.len > 0) wo_nearest_offer(&nearest, wo_view_cut(&rest, '|'));
  wo_message(call->errors, (struct wo_view){0}, "rules needs one of list, check, test, show, why and pages, not '%s'%s",
             call->words[0], wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

/* Without a word the rules are listed. */
enum wo_exit wo_run_rules(const struct wo_call *call) {
  const struct wo_view word = call->word_count > 0 ? wo_view_of(call->words[0]) : (struct wo_view){0};
  const int verb = word.len > 0 ? wo_option_choice(VERBS, word) : 0;
  if (verb < 0) {
    report_no_verb(call);
    return WO_EXIT_ERROR;
  }
  struct wo_call with_folder;
  if (!take_folder(call, verb, &with_folder)) return WO_EXIT_ERROR;
  if (call->format == WO_OUT_PATTERNS && verb != 0) {
    wo_message(call->errors, (struct wo_view){0}, "--format patterns is for `whyoom rules list`");
    return WO_EXIT_ERROR;
  }
  if (!has_rule_file(&with_folder, verb)) return WO_EXIT_ERROR;
  if (!verbs[verb]) return loading_verbs[verb](&with_folder);
  struct wo_pack *pack = wo_command_load(&with_folder, WO_LOAD_ALL);
  const enum wo_exit code = pack ? verbs[verb](&with_folder, pack) : WO_EXIT_ERROR;
  wo_pack_free(pack);
  return code;
}

const struct wo_command wo_command_rules = {
    .name = "rules",
    .is_long = true,
    .needs_more = "pages",
    .summary = "the rules: list, lint, test, show, why one holds on a job, pages",
    .usage = "rules [list|check|test] [DIR]\n"
             "rules show ID [--rules DIR]\n"
             "rules list --format patterns\n"
             "rules why ID PATH... [--rules DIR] [--format json]\n"
             "rules pages DIR [--rules DIR]",
    .synopsis = "rules list|check|test [DIR]\nrules show ID\nrules why ID PATH...\nrules pages DIR",
    .words = VERBS,
    .first_path = 2, /* of `why ID` */
    .options = rules_options,
    .option_count = sizeof rules_options / sizeof rules_options[0],
    .about = "  list     the causes and fixes, one line each, and where each comes from;\n"
             "           with --format patterns a regular expression for each pattern of\n"
             "           every line, as `rg --no-unicode -f` takes them\n"
             "  check    lint every rule: ids, units, unknown facts, missing parts\n"
             "  test     run every rule's own examples\n"
             "  show     the file that a rule stands in, by ID\n"
             "  why      each condition of a cause or a fix on the job in these files, with\n"
             "           the facts in it, their values and places\n"
             "  pages    write a Markdown page for each cause and fix, and an index, into DIR\n"
             "\n"
             "Rules are data: JSON files compiled into the program. --rules DIR reads more,\n"
             "which add rules, replace those of the same id, or turn rules off; list, check\n"
             "and test take DIR also as their word.\n",
    .ending = "exit status: 0 all is well; 1 a complaint or a failed example; 2 wrong usage,\n"
              "or a rule file or input could not be read. why: 0 whatever the verdict is.\n"
              "pages: 2 as well where a page could not be written\n",
    .examples = "# your own rules: are they well formed, and do their examples hold?\n"
                "whyoom rules check site-rules\n"
                "whyoom rules test site-rules\n"
                "# why was this cause found for a job, or why not?\n"
                "whyoom rules why fragmentation slurm-4711.err slurm-4711.out\n"
                "# a built-in rule, as a pattern for one of your own\n"
                "whyoom rules show oversized-micro-batch\n",
};
