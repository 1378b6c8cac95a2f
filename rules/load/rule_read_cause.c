/* Causes, phases and terms: their keys, and where each goes.
 *
 * The tables say what a rule file may hold; docs/rules.md says it for authors. A key that is
 * missing leaves its field zero, which every user of these structs reads as "not given". What must
 * not be missing, and cannot be weighed without, is asked for here; the rest is the lint's
 * business. */
#include <assert.h>
#include <string.h>

#include "rules/load/rule_read.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

/* The most that a cause may be called, however much speaks for it. For causes that rest on absence
 * ("nothing else explains it"): adding up signs would end in a certainty that nobody can have. */
static bool read_confidence(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  static const char *const names[] = {
      [WO_CONFIDENCE_POSSIBLE] = "possible", [WO_CONFIDENCE_LIKELY] = "likely", [WO_CONFIDENCE_CERTAIN] = "certain"};
  const char *const name = wo__load_string(loader, value);
  if (name == NULL) return false;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (strcmp(name, names[i]) != 0) continue;
    ((struct wo_cause *)target)->at_most = (enum wo_confidence)i;
    return true;
  }
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "unknown confidence '%s' (certain, likely, possible)", name);
}

/* ---- examples --------------------------------------------------------------------------------------------------------- */

/* `title` pins the sentence that a user sees, `why` is for the reader of a counterexample. */
static const struct wo_member example_members[] = {
    {.key = "gives", .read = wo__load_bool, .offset = offsetof(struct wo_example, gives)},
    {.key = "log", .read = wo__load_lines, .offset = offsetof(struct wo_example, log)},
    {.key = "title", .read = wo__load_text, .offset = offsetof(struct wo_example, title)},
    {.key = "why", .read = wo__load_text, .offset = offsetof(struct wo_example, why)},
};

/* One example. Whether it is meant to give the cause must be said, because false is no safe default. */
static bool read_example(struct wo_loader *loader, const struct wo_tree *value, struct wo_example *example) {
  if (!wo__load_members(loader, value, example_members, COUNT_OF(example_members), example)) return false;
  if (wo_tree_get(value, "gives") == NULL) {
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'gives'");
  }
  if (example->log.ptr == NULL) return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'log'");
  return true;
}

/* All examples of a cause, in their order, by which `rules test` numbers them. */
static bool read_examples(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  (void)member;
  struct wo_cause *const cause = target;
  const size_t count = wo__load_array_len(loader, value);
  if (count == WO_NOT_FOUND) return false;
  struct wo_example *const examples = wo_arena_array(&loader->pack->arena, count, sizeof *examples);
  if (examples == NULL) return wo__load_fail_nomem(loader);
  size_t i = 0;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL; child = wo_tree_next(child)) {
    if (!read_example(loader, child, &examples[i++])) return false;
  }
  assert(i == count);
  cause->examples = examples;
  cause->example_count = count;
  return true;
}

/* ---- causes ----------------------------------------------------------------------------------------------------------- */

#define IN_CAUSE(field) .offset = offsetof(struct wo_cause, field)
#define COUNT_IN_CAUSE(field) .count_offset = offsetof(struct wo_cause, field)

/* In the order in which rules are written. The id is read before the table, the lets before
 * everything that may use them. */
static const struct wo_member cause_members[] = {
    {.key = "cause", .read = wo__load_skip},
    {.key = "let", .read = wo__load_skip},
    {.key = "family", .read = wo__load_text, IN_CAUSE(family)},
    {.key = "title", .read = wo__load_template, IN_CAUSE(title)},
    {.key = "summary", .read = wo__load_template, IN_CAUSE(summary)},
    {.key = "means", .read = wo__load_text, IN_CAUSE(means)},
    {.key = "details", .read = wo__load_text, IN_CAUSE(details), .is_deep = true},
    {.key = "when", .read = wo__load_expr, IN_CAUSE(when), .extra = WO_UNIT_BOOL, .is_head = true},
    {.key = "not_when",
     .read = wo__load_clauses,
     IN_CAUSE(not_when),
     COUNT_IN_CAUSE(not_when_count),
     .extra = WO_CLAUSE_CONDITION,
     .is_head = true},
    {.key = "prior", .read = wo__load_weight, IN_CAUSE(prior)},
    {.key = "at_most", .read = read_confidence},
    {.key = "is_failure", .read = wo__load_bool, IN_CAUSE(is_failure)},
    {.key = "for", .read = wo__load_clauses, IN_CAUSE(for_), COUNT_IN_CAUSE(for_count), .extra = WO_CLAUSE_ARGUMENT},
    {.key = "against", .read = wo__load_clauses, IN_CAUSE(against), COUNT_IN_CAUSE(against_count), .extra = WO_CLAUSE_ARGUMENT},
    {.key = "excludes", .read = wo__load_texts, IN_CAUSE(excludes), COUNT_IN_CAUSE(exclude_count)},
    {.key = "would_tell",
     .read = wo__load_clauses,
     IN_CAUSE(would_tell),
     COUNT_IN_CAUSE(would_tell_count),
     .extra = WO_CLAUSE_QUESTION},
    {.key = "fixes", .read = wo__load_texts, IN_CAUSE(fixes), COUNT_IN_CAUSE(fix_count)},
    {.key = "references", .read = wo__load_texts, IN_CAUSE(references), COUNT_IN_CAUSE(reference_count), .is_deep = true},
    {.key = "examples", .read = read_examples, .is_deep = true},
};

/* The condition is the one part without which a cause cannot be weighed; the lint asks for the rest. */
bool wo__load_cause(struct wo_loader *loader, const struct wo_tree *object, struct wo_cause *cause) {
  assert(cause->id.len > 0);
  cause->prior = WO_WEIGHT_MEDIUM;
  cause->at_most = WO_CONFIDENCE_CERTAIN;
  cause->is_failure = true;
  if (!wo__load_lets(loader, wo_tree_get(object, "let"))) return false;
  if (!wo__load_members(loader, object, cause_members, COUNT_OF(cause_members), cause)) return false;
  return cause->when != NULL || wo__load_fail(loader, object, WO_JSON_VALUE, WO_E_SYNTAX, "missing key 'when'");
}

/* ---- phases and terms ------------------------------------------------------------------------------------------------- */

/* The fact that a hint sets. */
static bool read_hint_fact(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo__load_text(loader, value, member, target)) return false;
  const struct wo_view name = ((struct wo_phase_hint *)target)->fact;
  if (wo_fact_unit(loader->pack, name) == WO_UNIT_BOOL) return true;
  return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_UNKNOWN, "'%s' is no fact that is true or false", name.ptr);
}

static const struct wo_member phase_members[] = {
    {.key = "phase", .read = wo__load_skip},
    {.key = "fact", .read = read_hint_fact, .offset = offsetof(struct wo_phase_hint, fact)},
    {.key = "innermost", .read = wo__load_bool, .offset = offsetof(struct wo_phase_hint, is_innermost)},
    {.key = "any_of",
     .read = wo__load_texts,
     .offset = offsetof(struct wo_phase_hint, any_of),
     .count_offset = offsetof(struct wo_phase_hint, any_of_count)},
};

/* A phase; that it lists something is the lint's business. */
bool wo__load_phase(struct wo_loader *loader, const struct wo_tree *object, struct wo_phase_hint *phase) {
  if (!wo__load_members(loader, object, phase_members, COUNT_OF(phase_members), phase)) return false;
  return !phase->is_innermost || phase->fact.len > 0 ||
         wo__load_fail(loader, object, WO_JSON_VALUE, WO_E_SYNTAX, "'innermost' without 'fact'");
}

/* A term's text is prose without values: it is read by people who have no failed job at hand. */
static const struct wo_member term_members[] = {
    {.key = "term", .read = wo__load_skip},
    {.key = "title", .read = wo__load_text, .offset = offsetof(struct wo_term, title)},
    {.key = "text", .read = wo__load_text, .offset = offsetof(struct wo_term, text)},
};

/* A term for `explain`. Never read for a diagnosis, so nothing here needs to be marked as deep. */
bool wo__load_term(struct wo_loader *loader, const struct wo_tree *object, struct wo_term *term) {
  return wo__load_members(loader, object, term_members, COUNT_OF(term_members), term);
}
