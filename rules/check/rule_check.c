/* SPDX-License-Identifier: Apache-2.0 */
/* The lint: finds mistakes that the loader accepts, but that a good pack must not have.
 *
 * Looks at the loaded pack only. Each check is a function over one rule; each complaint names the rule, and the file and line
 * where it starts. Running the examples through a diagnosis is not done here but by `whyoom rules test`. */
#include "rules/check/rule_check_internal.h"

#include <assert.h>

#include "parsers/base/limits.h"
#include "parsers/base/clean.h"
#include "parsers/base/exchange/proposed_change.h"
#include "parsers/formats/formats.h"
#include "rules/check/pattern_attack.h"
#include "rules/language/event_fact.h"
#include "rules/load/model_shape.h"

/* The families of causes; part of the JSON report, and so a promise to the programs that read it.
 * Checklist: the same names are in docs/schema/report-1.schema.json. */
static const char *const families[] = {
    "fragmentation", "oversized_batch", "model_too_large", "other_process", "leak_growth", "sequence_length",
    "kv_cache",      "host_memory",     "secondary",       "not_memory",    "unclear",
};

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

const char *wo_rule_family(size_t at) {
  return at < COUNT_OF(families) ? families[at] : NULL;
}

/* More counterexamples than examples, because the usual mistake of a rule is to fire too often, not
 * too seldom. */
enum { EXAMPLES_GIVE_MIN = 1, EXAMPLES_NOT_MIN = 2, CLEAN_BYTES = 4 * 1024 };

/* Complains about a text that must be there; blanks alone do not count as one. */
static void check_text(const struct wo_lint_rule *rule, const char *key, struct wo_view text) {
  const struct wo_lint_rule at = wo__lint_at(rule, key, 0);
  if (wo_view_trim(text).len == 0) wo__lint_complain(&at, WO_E_SYNTAX, "'%s' is missing or empty", key);
}

/* Kebab-case for the ids that users type: lower-case words joined by '-', as in "oversized-batch".
 * Stricter than the loader's is_id, since knobs ("micro_batch") and phases follow the names of
 * configuration files. "a--b" passes: it is ugly, not ambiguous. */
static bool is_kebab(struct wo_view id) {
  for (size_t i = 0; i < id.len; i++) {
    const char c = id.ptr[i];
    const bool is_dash = c == '-' && i > 0 && i + 1 < id.len;
    if (!is_dash && !wo_is_digit(c) && !(wo_is_alpha(c) && wo_lower(c) == c)) return false;
  }
  return id.len > 0;
}

static void check_id(const struct wo_lint_rule *rule) {
  if (!is_kebab(rule->id)) wo__lint_complain(rule, WO_E_SYNTAX, "the id is not kebab-case");
}

/* ---- patterns --------------------------------------------------------------------------------------------------------- */

/* Whether one of the pattern's literals is in the line; patterns without literals look at every
 * line of their place. A line feed at the end of a literal means the end of the line, which a
 * sample, being one line, does not spell out. */
static bool has_literal(const struct wo_pattern *pattern, struct wo_view line) {
  for (size_t i = 0; i < pattern->literal_count; i++) {
    struct wo_view literal = pattern->literals[i];
    const bool is_at_end = wo_view_ends(literal, "\n");
    if (is_at_end) literal.len--;
    const size_t at = is_at_end && literal.len <= line.len ? line.len - literal.len : 0;
    if (wo_view_find(line, literal, at) != WO_NOT_FOUND) return true;
  }
  return pattern->literal_count == 0;
}

/* Stops at the first match. */
static bool note_match(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  (void)pattern, (void)match;
  *(bool *)context = true;
  return false;
}

/* Whether the pattern applies to a raw line, as the scanner would decide: literals in the raw line,
 * the expression in the cleaned one. The prefix of launchers is not taken off here, so samples are
 * written with the text of the program alone, or the expression must allow for it. */
static bool applies(const struct wo_lint *lint, size_t index, struct wo_view line) {
  if (!has_literal(&lint->pack->patterns[index], line)) return false;
  char buf[CLEAN_BYTES];
  bool is_match = false;
  wo_pattern_match(lint->set, index, wo_clean_line(line, buf, sizeof buf), note_match, &is_match);
  return is_match;
}

/* Says why a sample fails, because a missing literal and a wrong expression need different corrections. */
static void check_samples(const struct wo_lint_rule *rule, const struct wo_pattern *pattern,
                          const struct wo_pattern_samples *samples) {
  for (size_t i = 0; i < samples->match_count; i++) {
    if (applies(rule->lint, samples->pattern, samples->match[i])) continue;
    const char *const why = has_literal(pattern, samples->match[i]) ? "is not matched" : "holds none of the literals";
    const struct wo_lint_rule at = wo__lint_at(rule, "samples", i + 1);
    wo__lint_complain(&at, WO_E_SYNTAX, "sample %zu %s", i + 1, why);
  }
  for (size_t i = 0; i < samples->no_match_count; i++) {
    const struct wo_lint_rule at = wo__lint_at(rule, "not", i + 1);
    if (applies(rule->lint, samples->pattern, samples->no_match[i]))
      wo__lint_complain(&at, WO_E_SYNTAX, "line %zu of 'not' is matched", i + 1);
  }
}

/* Whether a line counts as one piece of evidence: a failure that is counted twice looks like two ranks. */
static bool counts_once(const struct wo_pattern *pattern) {
  const enum wo_class class = wo_kind_class(pattern->kind);
  return pattern->where == WO_WHERE_LINE && class != WO_CLASS_CONTEXT && class != WO_CLASS_NONE && !pattern->is_fallback;
}

/* Samples that an earlier pattern of the same kind matches too: the line would give two events of one failure. */
static void check_twins(const struct wo_lint_rule *rule, const struct wo_pattern *pattern,
                        const struct wo_pattern_samples *samples) {
  if (!counts_once(pattern)) return;
  for (size_t k = 0; k < samples->pattern; k++) {
    const struct wo_pattern *const earlier = &rule->lint->pack->patterns[k];
    if (earlier->kind != pattern->kind || !counts_once(earlier) || earlier->reader.len > 0) continue;
    for (size_t i = 0; i < samples->match_count; i++) {
      if (!applies(rule->lint, k, samples->match[i])) continue;
      const struct wo_lint_rule at = wo__lint_at(rule, "samples", i + 1);
      wo__lint_complain(&at, WO_E_SYNTAX, "sample %zu is also matched by %.*s, of the same kind", i + 1, WO_SHOWN(earlier->id));
    }
  }
}

/* The hardest line so far. */
struct hardest {
  struct wo_lint *lint;
  size_t pattern;
  uint64_t steps;
  char start[48]; /* of the line */
};

static void look_at_line(void *context, struct wo_view line) {
  struct hardest *const hardest = context;
  const uint64_t most = UINT64_C(4) * WO_ATTACK_STEPS_PER_BYTE * line.len;
  const uint64_t steps = wo_pattern_steps(hardest->lint->set, hardest->pattern, line, most);
  if (steps <= hardest->steps) return;
  hardest->steps = steps;
  wo_view_copy(line, hardest->start, sizeof hardest->start);
}

/* A pattern whose work grows faster than the line can hold up the reading of a log for as long as the log's author likes.
 * Measuring takes most of the time of a lint, and beside a user's folder it would say nothing new of the patterns that are built
 * in. */
static void check_cost(const struct wo_lint_rule *rule, const struct wo_pattern_samples *samples) {
  const bool has_user_files = rule->lint->pack->user_files_hash != WO__RULE_HASH_START;
  if (has_user_files && !samples->place.is_user) return;
  struct hardest hardest = {.lint = rule->lint, .pattern = samples->pattern};
  wo_pattern_attacks(&rule->lint->pack->patterns[samples->pattern], samples, WO_ATTACK_LEN, look_at_line, &hardest);
  if (hardest.steps <= (uint64_t)WO_ATTACK_STEPS_PER_BYTE * WO_ATTACK_LEN) return;
  const struct wo_lint_rule at = wo__lint_at(rule, "regex", 0);
  wo__lint_complain(
      &at, WO_E_LIMIT,
      "takes %llu steps or more for each byte of a line that begins with \"%s\", of %d bytes; %d are the most: let a "
      "match begin at fewer places (a word's start, a fixed word), or bound the repeats",
      (unsigned long long)(hardest.steps / WO_ATTACK_LEN), hardest.start, WO_ATTACK_LEN, WO_ATTACK_STEPS_PER_BYTE);
}

static void complain_reader(const struct wo_lint_rule *rule, struct wo_view reader) {
  struct wo_known_names known = {.nearest.want = reader};
  for (size_t i = 0; i < wo_formats.count; i++) wo_known_offer(&known, wo_view_of(wo_formats.items[i]->name));
  const struct wo_lint_rule at = wo__lint_at(rule, "reader", 0);
  wo__lint_word(&at, "reader", &known);
}

/* A pattern whose expressions are wrong is not tried on its samples: one mistake, one complaint. An unknown reader is worse than
 * a wrong expression, as no message would ever report it: the scanner ignores names it cannot find. */
static void check_pattern(struct wo_lint *lint, const struct wo_pattern_samples *samples) {
  const struct wo_pattern *const pattern = &lint->pack->patterns[samples->pattern];
  const struct wo_lint_rule rule = {lint, samples->place, WO_SORT_PATTERN, pattern->id, NULL, 0};
  check_id(&rule);
  struct wo_err err;
  if (wo_pattern_check(pattern, &err) != WO_OK) {
    const struct wo_lint_rule at = wo__lint_at(&rule, "regex", 0);
    wo__lint_complain(&at, err.code, "%s (at %llu)", err.message, (unsigned long long)err.offset);
    return;
  }
  if (pattern->reader.len > 0 && wo_format_find(&wo_formats, pattern->reader) == NULL) complain_reader(&rule, pattern->reader);
  if (pattern->regex.len == 0 && pattern->reader.len == 0 && pattern->literal_count == 0)
    wo__lint_complain(&rule, WO_E_SYNTAX, "matches every line");
  if (samples->match_count == 0) wo__lint_complain(&rule, WO_E_SYNTAX, "no samples");
  check_samples(&rule, pattern, samples);
  check_twins(&rule, pattern, samples);
  check_cost(&rule, samples);
}

/* ---- causes ----------------------------------------------------------------------------------------------------------- */

/* Each id of a list is that of a rule. */
static void check_ids(const struct wo_lint_rule *rule, const char *key, enum wo_sort sort, const struct wo_view *ids,
                      size_t count, const char *unknown) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_lint_rule at = wo__lint_at(rule, key, i + 1);
    wo__lint_link(&at, sort, ids[i], unknown);
  }
}

/* Each word of a list is the name of a kind of evidence. */
static void check_kinds(const struct wo_lint_rule *rule, const char *key, const struct wo_view *kinds, size_t count,
                        const char *unknown) {
  for (size_t i = 0; i < count; i++) {
    if (wo_kind_find(kinds[i]) != WO_KIND_UNKNOWN) continue;
    struct wo_known_names known = {.nearest.want = kinds[i]};
    wo_event_kinds_offer(&known.nearest);
    const struct wo_lint_rule at = wo__lint_at(rule, key, i + 1);
    wo__lint_word(&at, unknown, &known);
  }
}

/* The word is one of those that the program knows, or not given. */
static void check_word(const struct wo_lint_rule *rule, const char *key, struct wo_view word, const char *const *words,
                       size_t count) {
  struct wo_known_names known = {.nearest.want = word};
  for (size_t i = 0; i < count; i++) {
    if (wo_view_is(word, words[i])) return;
    wo_known_offer(&known, wo_view_of(words[i]));
  }
  const struct wo_lint_rule at = wo__lint_at(rule, key, 0);
  if (word.len > 0) wo__lint_word(&at, key, &known);
}

/* Ids of other rules that a cause names. Only here, not at loading: a folder given with --rules may
 * well name what another file of it brings, and a dangling name does no harm at run time. */
static void check_cause_links(const struct wo_lint_rule *rule, const struct wo_cause *cause) {
  for (size_t i = 0; i < cause->exclude_count; i++) {
    const struct wo_lint_rule at = wo__lint_at(rule, "excludes", i + 1);
    wo__lint_link(&at, WO_SORT_CAUSE, cause->excludes[i], "excludes unknown cause");
    if (wo_view_equal(cause->excludes[i], cause->id)) wo__lint_complain(&at, WO_E_SYNTAX, "excludes itself");
  }
  check_ids(rule, "fixes", WO_SORT_FIX, cause->fixes, cause->fix_count, "unknown fix");
  for (size_t i = 0; i < cause->would_tell_count; i++) {
    const struct wo_view id = cause->would_tell[i].between;
    if (id.len == 0) continue;
    const struct wo_lint_rule at = wo__lint_at(rule, "would_tell", i + 1);
    wo__lint_link(&at, WO_SORT_CAUSE, id, "'between' names unknown cause");
    if (wo_view_equal(id, cause->id)) wo__lint_complain(&at, WO_E_SYNTAX, "'between' names the cause itself");
  }
}

/* Examples must be there, in both directions, and the ones that do not give the cause must say why. The reason is for the reader
 * of the rule: it names the similar cause that the log shows instead. */
static void check_cause_examples(const struct wo_lint_rule *rule, const struct wo_cause *cause) {
  size_t gives = 0;
  for (size_t i = 0; i < cause->example_count; i++) {
    const struct wo_example *const example = &cause->examples[i];
    const struct wo_lint_rule at = wo__lint_at(rule, "examples", i + 1);
    gives += example->gives;
    if (wo_view_trim(example->log).len == 0) wo__lint_complain(&at, WO_E_SYNTAX, "example %zu has an empty log", i + 1);
    if (!example->gives && example->why.len == 0) wo__lint_complain(&at, WO_E_SYNTAX, "example %zu does not say why not", i + 1);
  }
  assert(gives <= cause->example_count);
  const size_t others = cause->example_count - gives;
  const struct wo_lint_rule at = wo__lint_at(rule, "examples", 0);
  if (gives < EXAMPLES_GIVE_MIN || others < EXAMPLES_NOT_MIN) {
    wo__lint_complain(&at, WO_E_SYNTAX, "%zu examples that give it and %zu that do not (at least %d and %d)", gives, others,
                      EXAMPLES_GIVE_MIN, EXAMPLES_NOT_MIN);
  }
}

/* `would_tell` is required because a cause that nothing could confirm or refute is an opinion. */
static void check_cause(struct wo_lint *lint, const struct wo_cause *cause) {
  const struct wo_lint_rule rule = {lint, cause->place, WO_SORT_CAUSE, cause->id, NULL, 0};
  check_id(&rule);
  check_text(&rule, "title", wo_template_source(cause->title));
  check_text(&rule, "summary", wo_template_source(cause->summary));
  check_text(&rule, "means", cause->means);
  if (cause->family.len == 0) wo__lint_complain(&rule, WO_E_SYNTAX, "'family' is missing or empty");
  check_word(&rule, "family", cause->family, families, COUNT_OF(families));
  if (cause->would_tell_count == 0) wo__lint_complain(&rule, WO_E_SYNTAX, "'would_tell' is missing or empty");
  check_cause_links(&rule, cause);
  wo__lint_cause_logic(&rule, cause);
  check_cause_examples(&rule, cause);
}

/* ---- fixes and knobs -------------------------------------------------------------------------------------------------- */

/* Whether some cause proposes the fix. One that none does can never be seen by a user. Quadratic
 * over a few dozen rules, in a command that people run by hand. */
static bool is_proposed(const struct wo_pack *pack, struct wo_view fix) {
  for (size_t i = 0; i < pack->cause_count; i++) {
    for (size_t j = 0; j < pack->causes[i].fix_count; j++) {
      if (wo_view_equal(pack->causes[i].fixes[j], fix)) return true;
    }
  }
  for (size_t i = 0; i < pack->fix_count; i++) {
    for (size_t j = 0; j < pack->fixes[i].stand_in_count; j++) {
      if (wo_view_equal(pack->fixes[i].stand_ins[j], fix)) return true;
    }
  }
  return false;
}

/* Advice to a program for which it is not meant does harm, so each of ours says for which it is. A stand-in is only looked at
 * where the fix itself is not meant for the program. */
static void check_programs(const struct wo_lint_rule *rule, const struct wo_fix *fix) {
  const struct wo_lint_rule at = wo__lint_at(rule, "stand_ins", 0);
  if (fix->for_programs == 0 && !fix->place.is_user) wo__lint_complain(rule, WO_E_SYNTAX, "'for_programs' is missing or empty");
  check_ids(rule, "stand_ins", WO_SORT_FIX, fix->stand_ins, fix->stand_in_count, "unknown fix");
  if (fix->stand_in_count > 0 && (fix->for_programs == 0 || fix->for_programs == WO_PROGRAM_ANY))
    wo__lint_complain(&at, WO_E_SYNTAX, "'stand_ins' of a fix that is meant for any program are never tried");
}

/* One item of replays_as: an option of `whyoom replay` without its dashes, and its value, which may hold expressions: settings
 * may begin with those that the job has. */
static bool is_replay_item(struct wo_view item) {
  static const char *const words[] = {
#define WO_REPLAY_WORD(text) text,
#include "rules/check/replay_words.def"
#undef WO_REPLAY_WORD
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    if (wo_view_starts(item, "set={") && wo_view_starts(word, "set=") && wo_view_has(item, words[i] + sizeof "set=" - 1))
      return true;
    if (!wo_view_starts(item, words[i])) continue;
    if (wo_view_ends(word, "=") || wo_view_ends(word, ":")) return item.len > word.len;
    if (item.len == word.len || item.ptr[word.len] == '=') return true;
  }
  return false;
}

/* The text cut at blanks that are outside of braces. */
static struct wo_view cut_item(struct wo_view *rest) {
  size_t at = 0, depth = 0;
  for (; at < rest->len && (depth > 0 || rest->ptr[at] != ' '); at++) {
    if (rest->ptr[at] == '{') depth++;
    if (rest->ptr[at] == '}' && depth > 0) depth--;
  }
  const struct wo_view item = wo_view_sub(*rest, 0, at);
  *rest = wo_view_skip(*rest, at + 1);
  return item;
}

/* What the patch of a fix changes, its replay must change too, or it would be proven without its price: gradients stay alive from
 * the first pass on once a step accumulates. */
static void check_replayed_changes(const struct wo_lint_rule *rule, const struct wo_fix *fix) {
  const struct wo_view source = wo_template_source(fix->replays_as);
  for (size_t i = 0; i < fix->change_count && source.len > 0; i++) {
    const struct wo_view knob = fix->changes[i].knob;
    const char *const word = wo_proposed_change_word(knob);
    if (word && wo_view_has(source, word)) continue;
    const struct wo_lint_rule at = wo__lint_at(rule, "replays_as", 0);
    wo__lint_complain(&at, WO_E_SYNTAX, "it changes '%.*s', and replays_as %s%s%s", WO_SHOWN(knob),
                      word ? "has no '" : "cannot say so", word ? word : "", word ? "'" : "");
  }
}

/* A mistake here would only show when a user verifies this fix. */
static void check_replay(const struct wo_lint_rule *rule, const struct wo_fix *fix) {
  struct wo_view rest = wo_template_source(fix->replays_as);
  while (rest.len > 0) {
    const struct wo_view item = cut_item(&rest);
    if (item.len == 0 || is_replay_item(item)) continue;
    const struct wo_lint_rule at = wo__lint_at(rule, "replays_as", 0);
    wo__lint_complain(&at, WO_E_UNKNOWN,
                      "replays_as: '%.*s' is no option of `whyoom replay` (scale=..., set=KEY:VALUE, transform=NAME)",
                      WO_SHOWN(item));
  }
}

/* Without its cost a user cannot weigh a fix. */
static void check_fix(struct wo_lint *lint, const struct wo_fix *fix) {
  const struct wo_lint_rule rule = {lint, fix->place, WO_SORT_FIX, fix->id, NULL, 0};
  check_id(&rule);
  check_text(&rule, "title", wo_template_source(fix->title));
  check_text(&rule, "cost.speed", wo_template_source(fix->cost_speed));
  check_text(&rule, "cost.accuracy", wo_template_source(fix->cost_accuracy));
  check_text(&rule, "cost.effort", wo_template_source(fix->cost_effort));
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_lint_rule at = wo__lint_at(&rule, "changes", i + 1);
    wo__lint_link(&at, WO_SORT_KNOB, fix->changes[i].knob, "unknown knob");
  }
  const struct wo_lint_rule at_already = wo__lint_at(&rule, "already", 0);
  if (fix->already != NULL && fix->already_say == NULL)
    wo__lint_complain(&at_already, WO_E_SYNTAX, "'already' without 'already_say'");
  if (lint->pack->mistake_count == 0 && !is_proposed(lint->pack, fix->id))
    wo__lint_complain(&rule, WO_E_SYNTAX, "no cause proposes it");
  check_programs(&rule, fix);
  check_replay(&rule, fix);
  check_replayed_changes(&rule, fix);
  wo__lint_fix_logic(&rule, fix);
}

/* The count that the shape gives must be the published one: otherwise a mistyped digit in either would go unnoticed. */
static void check_model(struct wo_lint *lint, const struct wo_model_shape *shape) {
  const struct wo_lint_rule rule = {lint, shape->place, WO_SORT_MODEL, shape->id, NULL, 0};
  const struct wo_lint_rule at_architecture = wo__lint_at(&rule, "architecture", 0);
  const struct wo_lint_rule at_parameters = wo__lint_at(&rule, "parameters", 0);
  const double computed = wo_model_shape_parameters(shape);
  check_text(&rule, "source", shape->source);
  if (shape->name_count == 0) wo__lint_complain(&rule, WO_E_SYNTAX, "'names' is missing or empty");
  if (computed == 0) {
    wo__lint_complain(&at_architecture, WO_E_UNKNOWN, "unknown architecture '%.*s'", WO_SHOWN(shape->architecture));
  } else if (computed != shape->parameters) {
    wo__lint_complain(&at_parameters, WO_E_RANGE, "the shape has %.0f parameters, not %.0f", computed, shape->parameters);
  }
}

/* ---- signs ------------------------------------------------------------------------------------------------------------- */

static void check_patterns(const struct wo_lint_rule *rule, const struct wo_sign *sign) {
  const struct wo_pack *const pack = rule->lint->pack;
  for (size_t i = 0; i < sign->pattern_count; i++) {
    struct wo_known_names known = {.nearest.want = sign->patterns[i]};
    /* Patterns with a mistake, and those of such settings, were taken out. */
    const bool is_setting = wo_view_starts(sign->patterns[i], "setting:");
    const bool is_read = is_setting || wo_pack_index_find(pack->index, WO_SORT_PATTERN, sign->patterns[i]) != WO_NOT_FOUND;
    bool is_known = pack->mistake_count > 0 && is_read;
    for (size_t k = 0; k < pack->pattern_count && !is_known; k++) {
      wo_nearest_offer(&known.nearest, pack->patterns[k].id);
      is_known = wo_view_equal(pack->patterns[k].id, sign->patterns[i]);
    }
    const struct wo_lint_rule at = wo__lint_at(rule, "patterns", i + 1);
    if (!is_known) wo__lint_word(&at, "pattern", &known);
  }
}

/* Names that match nothing would be silent for ever. */
static void check_sign(struct wo_lint *lint, const struct wo_sign *sign) {
  static const char *const platforms[] = {"linux", "windows", "wsl", "macos"};
  static const char *const managers[] = {"slurm", "lsf", "pbs", "kubernetes"};
  static const char *const vendors[] = {"nvidia", "amd", "intel", "apple", "huawei"};
  const struct wo_lint_rule rule = {lint, sign->place, WO_SORT_SIGN, sign->id, NULL, 0};
  check_id(&rule);
  if (sign->kind == WO_PROGRAM_UNKNOWN && sign->name.len + sign->platform.len + sign->vendor.len + sign->manager.len == 0)
    wo__lint_complain(&rule, WO_E_SYNTAX, "shows nothing: 'kind', 'name', 'platform', 'vendor' and 'manager' are missing");
  if (sign->frame_count + sign->file_count + sign->script_count + sign->pattern_count + sign->knob_count + sign->progress_count +
          sign->kind_count ==
      0)
    wo__lint_complain(&rule, WO_E_SYNTAX, "is shown by nothing: no list of texts");
  check_word(&rule, "platform", sign->platform, platforms, COUNT_OF(platforms));
  check_word(&rule, "vendor", sign->vendor, vendors, COUNT_OF(vendors));
  check_word(&rule, "manager", sign->manager, managers, COUNT_OF(managers));
  check_patterns(&rule, sign);
  check_ids(&rule, "knobs", WO_SORT_KNOB, sign->knobs, sign->knob_count, "unknown knob");
  check_kinds(&rule, "evidence", sign->kinds, sign->kind_count, "kind of evidence");
}

/* A misspelled kind would be one that no failure has. */
static void check_phase(const struct wo_lint_rule *rule, const struct wo_phase_hint *hint) {
  const size_t count = hint->any_of_count + hint->function_count + hint->word_count + hint->said_count + hint->kind_count;
  if (count == 0) wo__lint_complain(rule, WO_E_SYNTAX, "'any_of' is missing or empty");
  check_kinds(rule, "kinds", hint->kinds, hint->kind_count, "kind");
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/* Knobs and definitions must have a meaning: without it a name is only another spelling. Their expressions and spellings were
 * checked at loading. */
static void check_meanings(struct wo_lint *lint) {
  const struct wo_pack *const pack = lint->pack;
  for (size_t i = 0; i < pack->knob_count; i++) {
    const struct wo_knob *const knob = &pack->knobs[i];
    const struct wo_lint_rule rule = {lint, knob->place, WO_SORT_KNOB, knob->id, NULL, 0};
    if (!knob->place.is_mistaken) check_text(&rule, "means", knob->means);
  }
  for (size_t i = 0; i < pack->define_count; i++) {
    const struct wo_define *const define = &pack->defines[i];
    const struct wo_lint_rule rule = {lint, define->place, WO_SORT_DEFINE, define->id, NULL, 0};
    if (!define->place.is_mistaken) check_text(&rule, "means", define->means);
  }
}

static void check_others(struct wo_lint *lint) {
  const struct wo_pack *const pack = lint->pack;
  for (size_t i = 0; i < pack->model_count; i++) {
    if (!pack->models[i].place.is_mistaken) check_model(lint, &pack->models[i]);
  }
  for (size_t i = 0; i < pack->sign_count; i++) {
    if (!pack->signs[i].place.is_mistaken) check_sign(lint, &pack->signs[i]);
  }
  for (size_t i = 0; i < pack->duplicate_count; i++) {
    const struct wo_lint_rule nothing = {.lint = lint, .place = pack->duplicates[i].place, .id = pack->duplicates[i].id};
    wo__lint_complain(&nothing, WO_E_SYNTAX, "the id '%.*s' is taken", WO_SHOWN(pack->duplicates[i].id));
  }
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_lint_rule rule = {lint, pack->phases[i].place, WO_SORT_PHASE, pack->phases[i].phase, NULL, 0};
    if (!rule.place.is_mistaken) check_phase(&rule, &pack->phases[i]);
  }
  for (size_t i = 0; i < pack->term_count; i++) {
    const struct wo_lint_rule rule = {lint, pack->terms[i].place, WO_SORT_TERM, pack->terms[i].id, NULL, 0};
    if (!rule.place.is_mistaken) check_text(&rule, "title", pack->terms[i].title);
    if (!rule.place.is_mistaken) check_text(&rule, "text", pack->terms[i].text);
  }
}

/* The order is that of the loaded arrays, and so of the files: a corrected pack is read beside its complaints. Checking goes on
 * after each of them, so that one run shows all. Loading has complained of mistaken rules already. */
size_t wo_pack_check(const struct wo_pack *pack, wo_complaint_fn fn, void *context) {
  assert(pack != NULL && fn != NULL);
  struct wo_lint lint = {.pack = pack, .fn = fn, .context = context};
  if (wo_pattern_set_new(pack->patterns, pack->pattern_count, NULL, &lint.set) == WO_OK) {
    for (size_t i = 0; i < pack->sample_count; i++) check_pattern(&lint, &pack->samples[i]);
  } else {
    wo__lint_complain(&(struct wo_lint_rule){.lint = &lint}, WO_E_NOMEM, "patterns: %s", wo_status_text(WO_E_NOMEM));
  }
  for (size_t i = 0; i < pack->cause_count; i++) {
    if (!pack->causes[i].place.is_mistaken) check_cause(&lint, &pack->causes[i]);
  }
  for (size_t i = 0; i < pack->fix_count; i++) {
    if (!pack->fixes[i].place.is_mistaken) check_fix(&lint, &pack->fixes[i]);
  }
  check_meanings(&lint);
  check_others(&lint);
  wo_pattern_set_free(lint.set);
  return lint.complaints;
}
