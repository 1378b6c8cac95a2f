/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom rules check|test`: the lint of rules, and their own examples.
 *
 * A complaint or a failed example gives the exit status of a failed job, rules that cannot be loaded give that of an error. */
#include <stdlib.h>

#include "analyzer/command/commands.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"
#include "rules/check/rule_check.h"

/* ---- examples ---- */

/* The diagnosis of one example. The title is copied, because the report is freed before the comparison. */
struct example_result {
  struct wo_view first_id; /* borrowed from the pack; empty when there is no finding */
  char title[512];
  struct wo_view tied_id; /* of the second finding, when its score is the same as the first one's */
};

/* The number of first findings among which a cause must be for an example to give it. A user reads the first finding. A cause
 * that is at most possible may follow a surer one or "unclear"; notes follow everything. */
static size_t count_judged(const struct wo_report *report, const struct wo_cause *cause) {
  if (!cause->is_failure) return report->finding_count;
  const size_t most = cause->at_most == WO_CONFIDENCE_POSSIBLE ? 2 : 1;
  return report->finding_count < most ? report->finding_count : most;
}

/* The finding to judge an example by: the cause's own if it is among those that count, else the first; NULL for none. */
static const struct wo_finding *find_judged(const struct wo_report *report, const struct wo_cause *cause) {
  const size_t count = count_judged(report, cause);
  for (size_t i = 0; i < count; i++) {
    if (wo_view_equal(report->findings[i].cause->id, cause->id)) return &report->findings[i];
  }
  return report->finding_count > 0 ? &report->findings[0] : NULL;
}

/* Diagnoses one example as a log by itself. False when it could not be run; an example without a finding is true. */
static bool run_example(const struct wo_pack *pack, const struct wo_cause *cause, const struct wo_example *example,
                        struct example_result *ret) {
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  *ret = (struct example_result){.title = ""};
  if (wo_job_new(pack, &job) != WO_OK) return false;
  const bool is_made = wo_job_read_text(job, example->log, "example") == WO_OK && wo_job_close(job) == WO_OK &&
                       wo_report_make(job, pack, &report) == WO_OK;
  const struct wo_finding *const finding = is_made ? find_judged(report, cause) : NULL;
  if (finding != NULL) {
    ret->first_id = finding->cause->id;
    const struct wo_view title = wo_view_sub(finding->title, 0, sizeof ret->title - 1);
    memcpy(ret->title, title.ptr, title.len);
    ret->title[title.len] = '\0';
    const struct wo_finding *const others = report->findings;
    const bool is_tied = report->finding_count > 1 && others[1].cause->is_failure && others[1].score >= others[0].score;
    if (is_tied) ret->tied_id = others[finding == &others[1] ? 0 : 1].cause->id;
  }
  wo_report_free(report);
  wo_job_free(job);
  return is_made;
}

/* ---- check ---- */

/* The complaints of one check. They are sorted by place: loading reads a folder in several passes, and its author from top to
 * bottom. */
struct complaints {
  struct wo_err *items;
  size_t count;
  size_t capacity;
  size_t left_out; /* beyond the limit, or without memory */
};

static void note_complaint(void *context, const struct wo_err *complaint) {
  struct complaints *const all = context;
  if (all->count >= WO_LIMIT_RULE_COMPLAINTS || !WO_VEC_RESERVE(all, 1, WO_LIMIT_RULE_COMPLAINTS)) {
    all->left_out++;
    return;
  }
  all->items[all->count++] = *complaint;
}

static int compare_places(const void *left, const void *right) {
  const struct wo_err *const a = left, *const b = right;
  const int files = strcmp(a->file, b->file);
  if (files != 0) return files;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  if (a->column != b->column) return a->column < b->column ? -1 : 1;
  return strcmp(a->message, b->message);
}

/* A folder that cannot be read, or memory that is out, is no matter of the rules. */
static const struct wo_err *find_trouble(const struct complaints *all) {
  for (size_t i = 0; i < all->count; i++) {
    const enum wo_status code = all->items[i].code;
    if (code == WO_E_IO || code == WO_E_KIND || code == WO_E_NOMEM) return &all->items[i];
  }
  return NULL;
}

/* "file:line:column: message", as compilers print it, so that editors find the place. */
static void add_complaint(const struct wo_err *complaint, struct wo_text *out) {
  if (complaint->file[0] != '\0') {
    wo_command_add_place(out, (struct wo_rule_place){.file = wo_view_of(complaint->file), .line = complaint->line});
    if (complaint->column > 0) wo_text_add(out, ":%u", complaint->column);
    wo_text_add(out, ": ");
  }
  wo_text_add_clean(out, wo_view_of(complaint->message));
  wo_text_add(out, "\n");
}

/* Examples that two causes claim with one score: the order of the files then decides which one comes first. */
static void check_ties(const struct wo_pack *pack, struct complaints *all) {
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *cause = &pack->causes[i];
    for (size_t k = 0; k < cause->example_count && !cause->off; k++) {
      struct example_result result;
      if (!cause->examples[k].gives || !run_example(pack, cause, &cause->examples[k], &result) || result.tied_id.len == 0)
        continue;
      struct wo_err tie;
      wo_err_set(&tie, WO_E_SYNTAX, "cause %.*s: example %zu is claimed by %.*s and %.*s with one score", WO_SHOWN(cause->id),
                 k + 1, WO_SHOWN(result.first_id), WO_SHOWN(result.tied_id));
      char file[sizeof tie.file];
      wo_view_copy(cause->place.file, file, sizeof file);
      wo_err_place(&tie, file, cause->place.line, 0, 0);
      note_complaint(all, &tie);
    }
  }
}

/* The counts are printed also without complaints: an empty folder would otherwise look like one without faults. */
static void add_counts(const struct wo_pack *pack, const struct complaints *all, struct wo_text *out) {
  const size_t count = all->count + all->left_out;
  if (all->left_out > 0) wo_text_add(out, "%zu more complaints\n", all->left_out);
  if (pack)
    wo_text_add(out, "%zu causes, %zu fixes, %zu knobs, %zu patterns: ", pack->cause_count, pack->fix_count, pack->knob_count,
                pack->pattern_count);
  wo_text_add(out, "%zu complaint%s\n", count, count == 1 ? "" : "s");
}

/* Rules with mistakes cannot be run on examples, and what the program needs may be among them. */
enum wo_exit wo_run_rules_check(const struct wo_call *call) {
  struct complaints all = {0};
  struct wo_pack *pack = NULL;
  const struct wo_load_notes notes = {.fn = note_complaint, .context = &all, .keeps_rest = true};
  const bool is_loaded = wo_pack_load_all_noting(call->rules_dir.ptr, WO_LOAD_ALL, notes, &pack) == WO_OK;
  const size_t mistakes = all.count + all.left_out;
  if (pack) wo_pack_check(pack, note_complaint, &all);
  if (is_loaded) wo_pack_check_known(pack, note_complaint, &all);
  if (is_loaded) check_ties(pack, &all);
  if (all.count > 0) qsort(all.items, all.count, sizeof *all.items, compare_places);
  const struct wo_err *const trouble = pack ? NULL : find_trouble(&all);
  if (trouble) {
    wo_message_error(call->errors, (struct wo_view){0}, trouble);
  } else {
    for (size_t i = 0; i < all.count; i++) add_complaint(&all.items[i], call->out);
    add_counts(pack, &all, call->out);
    if (!is_loaded)
      wo_message(call->errors, call->rules_dir, "the rules cannot be loaded: %zu mistake%s", mistakes, mistakes == 1 ? "" : "s");
  }
  const bool has_any = all.count + all.left_out > 0;
  free(all.items);
  wo_pack_free(pack);
  return !is_loaded ? WO_EXIT_ERROR : has_any ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

/* ---- test ---- */

/* Runs the examples of one cause; returns the number that failed, with a line for each. See count_judged for the findings that
 * count: a cause that comes later in its own example has lost to a neighbour. */
static size_t test_cause(const struct wo_pack *pack, const struct wo_cause *cause, struct wo_text *out) {
  size_t failed = 0;
  for (size_t i = 0; i < cause->example_count; i++) {
    const struct wo_example *example = &cause->examples[i];
    struct example_result result;
    const bool is_run = run_example(pack, cause, example, &result);
    const bool gives = is_run && wo_view_equal(result.first_id, cause->id);
    const bool is_titled = !example->gives || example->title.len == 0 || wo_view_equal(wo_view_of(result.title), example->title);
    if (is_run && gives == example->gives && is_titled) continue;
    failed++;
    wo_command_add_place(out, cause->place);
    wo_text_add(out, ": example %zu of %.*s: ", i + 1, WO_SHOWN(cause->id));
    if (gives == example->gives) {
      wo_text_add(out, "title is \"%s\", expected \"%.*s\"\n", result.title, WO_SHOWN(example->title));
    } else {
      wo_text_add(out, "first finding is %.*s, which it %s\n", result.first_id.len ? (int)result.first_id.len : 4,
                  result.first_id.len ? result.first_id.ptr : "none", example->gives ? "must not be" : "must not give");
    }
  }
  return failed;
}

/* Only causes have examples; the lint checks the samples of patterns. */
enum wo_exit wo_run_rules_test(const struct wo_call *call, const struct wo_pack *pack) {
  struct wo_text *const out = call->out;
  size_t examples = 0;
  size_t failed = 0;
  for (size_t i = 0; i < pack->cause_count; i++) {
    if (pack->causes[i].off) continue;
    examples += pack->causes[i].example_count;
    failed += test_cause(pack, &pack->causes[i], out);
  }
  wo_text_add(out, "%zu examples of %zu causes: %zu failed\n", examples, pack->cause_count, failed);
  return failed == 0 ? WO_EXIT_FINE : WO_EXIT_FAILURE_FOUND;
}
