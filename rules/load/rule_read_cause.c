/* SPDX-License-Identifier: Apache-2.0 */
/* Causes: their keys, and where each goes.
 *
 * The tables say what a rule file may hold; docs/rules.md says it for authors. A key that is missing leaves its field zero, which
 * every user of these structs reads as "not given". The parts that are needed to weigh a cause are required here; the lint checks
 * the rest. */
#include <assert.h>

#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* The highest confidence that a cause may reach, however much evidence it has. For causes that rest on absence ("nothing else
 * explains it"): adding up signs would end in a certainty that is not possible. */
static const struct wo_rule_word confidence_names[] = {
    {"certain", WO_CONFIDENCE_CERTAIN}, {"likely", WO_CONFIDENCE_LIKELY}, {"possible", WO_CONFIDENCE_POSSIBLE}};
static const struct wo_rule_words confidences = {"confidence", confidence_names, COUNT_OF(confidence_names)};

/* `title` pins the sentence that a user sees, `why` is for the reader of a counterexample. Whether an example is meant to give
 * the cause must be said, because false is no safe default. */
static const struct wo_member example_members[] = {
    {.key = "gives", .read = wo__load_bool, WO_AT(wo_example, gives), .is_needed = true},
    {.key = "log", .read = wo__load_lines, WO_AT(wo_example, log), .is_needed = true},
    {.key = "title", .read = wo__load_text, WO_AT(wo_example, title)},
    {.key = "why", .read = wo__load_text, WO_AT(wo_example, why)},
};

static bool read_example(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  return wo__load_members(loader, value, example_members, COUNT_OF(example_members), target);
}

static const struct wo_items examples = {sizeof(struct wo_example), read_example};

static const struct wo_member needs_member = {.key = "needs", .read = wo__load_texts, WO_ARRAY_AT(wo_cause, needs, need_count)};

/* Only embed.c writes it: an author's would be a second truth beside the condition. A user's definition may have made it untrue.
 */
static bool read_needs(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  if (loader->json->owned_root == NULL) return loader->has_user_defines || wo__load_texts(loader, value, &needs_member, target);
  return wo__load_fail(loader, value, WO_RULE_KEY, WO_E_UNKNOWN, "unknown key 'needs': it follows from 'when'");
}

#define CLAUSES(part, count, form) .read = wo__load_clauses, WO_ARRAY_AT(wo_cause, part, count), .how = &wo__form_##form

/* In the order in which rules are written. The id is read before the table, the lets before
 * everything that may use them. The condition is the one part without which a cause cannot be weighed. */
static const struct wo_member cause_members[] = {
    {.key = "cause", .read = wo__load_skip},
    {.key = "let", .read = wo__load_skip},
    {.key = "family", .read = wo__load_text, WO_AT(wo_cause, family)},
    {.key = "title", .read = wo__load_template, WO_AT(wo_cause, title)},
    {.key = "headline", .read = wo__load_template, WO_AT(wo_cause, headline)},
    {.key = "show", CLAUSES(show, show_count, row)},
    {.key = "summary", .read = wo__load_template, WO_AT(wo_cause, summary)},
    {.key = "means", .read = wo__load_text, WO_AT(wo_cause, means)},
    {.key = "details", .read = wo__load_text, WO_AT(wo_cause, details), .is_deep = true},
    {.key = "when", .read = wo__load_expr, WO_AT(wo_cause, when), .unit = WO_UNIT_BOOL, .is_head = true, .is_needed = true},
    {.key = "not_when", CLAUSES(not_when, not_when_count, condition), .is_head = true},
    {.key = "prior", .read = wo__load_weight, WO_AT(wo_cause, prior)},
    {.key = "at_most", .read = wo__load_word, WO_AT(wo_cause, at_most), .how = &confidences},
    {.key = "is_failure", .read = wo__load_bool, WO_AT(wo_cause, is_failure)},
    {.key = "for", CLAUSES(for_, for_count, argument)},
    {.key = "against", CLAUSES(against, against_count, argument)},
    {.key = "excludes", .read = wo__load_texts, WO_ARRAY_AT(wo_cause, excludes, exclude_count)},
    {.key = "would_tell", CLAUSES(would_tell, would_tell_count, question)},
    {.key = "fixes", .read = wo__load_texts, WO_ARRAY_AT(wo_cause, fixes, fix_count)},
    {.key = "references", .read = wo__load_texts, WO_ARRAY_AT(wo_cause, references, reference_count), .is_deep = true},
    {.key = "examples",
     .read = wo__load_items,
     WO_ARRAY_AT(wo_cause, examples, example_count),
     .how = &examples,
     .is_deep = true},
    {.key = "needs", .read = read_needs},
};

bool wo__load_cause(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  struct wo_cause *const cause = rule;
  if (loader->part == WO_PART_NEEDS) return wo__load_texts(loader, wo_tree_get(object, "needs"), &needs_member, cause);
  cause->prior = WO_WEIGHT_MEDIUM;
  cause->at_most = WO_CONFIDENCE_CERTAIN;
  cause->is_failure = true;
  const bool has_lets = wo__load_lets(loader, wo_tree_get(object, "let"));
  return !loader->is_stopped && wo__load_members(loader, object, cause_members, COUNT_OF(cause_members), cause) && has_lets;
}
