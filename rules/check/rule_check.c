/* The lint: what the loader accepts, but a good pack must not have.
 *
 * Looks at the loaded pack only. Each check is a function over one rule; each complaint names the rule, and the file and line
 * where it starts. Running the examples through a diagnosis is not done here but by `whyoom rules test`. */
#include "rules/check/rule_check.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "parsers/base/limits.h"
#include "parsers/base/clean.h"
#include "parsers/formats/formats.h"
#include "rules/load/model_shape.h"
#include "rules/language/nearest.h"

/* The families of causes; part of the JSON report, and so a promise to the programs that read it.
 * Checklist: the same names stand in docs/schema/report-1.schema.json. */
static const char *const families[] = {
    "fragmentation", "oversized_batch", "model_too_large", "other_process", "leak_growth", "sequence_length",
    "kv_cache",      "host_memory",     "secondary",       "not_memory",    "unclear",
};

const char *wo_rule_family(size_t at) {
  return at < sizeof families / sizeof families[0] ? families[at] : NULL;
}

/* More counterexamples than examples, because the usual mistake of a rule is to fire too often, not
 * too seldom. */
enum { EXAMPLES_GIVE_MIN = 1, EXAMPLES_NOT_MIN = 2, CLEAN_BYTES = 16 * 1024 };

/* Formats a complaint and hands it on at once; nothing is collected here. The place is the line
 * where the rule starts: the pack no longer knows where its single members stood. */
void wo__check_complain(struct wo_check *check, struct wo_rule_place place, enum wo_status code, const char *format, ...) {
  assert(code != WO_OK);
  struct wo_err err;
  char message[sizeof err.message];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  wo_err_set(&err, code, "%s", message);
  char file[sizeof err.file];
  snprintf(file, sizeof file, "%.*s", (int)place.file.len, place.file.ptr == NULL ? "" : place.file.ptr);
  wo_err_place(&err, file, place.line, 0, 0);
  check->complaints++;
  check->fn(check->context, &err);
}

/* Complains about a text that must be there; blanks alone do not count as one. `sort` and `id` name
 * the rule. */
static void check_text(struct wo_check *check, struct wo_rule_place place, const char *sort, struct wo_view id, const char *key,
                       struct wo_view text) {
  if (wo_view_trim(text).len > 0) return;
  wo__check_complain(check, place, WO_E_SYNTAX, "%s %.*s: '%s' is missing or empty", sort, WO_SHOWN(id), key);
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

/* Complains about an id that is not kebab-case. */
static void check_id(struct wo_check *check, struct wo_rule_place place, const char *sort, struct wo_view id) {
  if (!is_kebab(id)) wo__check_complain(check, place, WO_E_SYNTAX, "%s %.*s: the id is not kebab-case", sort, WO_SHOWN(id));
}

/* ---- patterns --------------------------------------------------------------------------------------------------------- */

/* Whether one of the pattern's literals stands in the line; patterns without literals look at every
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
static bool applies(const struct wo_check *check, size_t index, struct wo_view line) {
  if (!has_literal(&check->pack->patterns[index], line)) return false;
  char buf[CLEAN_BYTES];
  bool is_match = false;
  wo_pattern_match(check->set, index, wo_clean_line(line, buf, sizeof buf), note_match, &is_match);
  return is_match;
}

/* Says why a sample fails, because a missing literal and a wrong expression are mended differently. */
static void check_samples(struct wo_check *check, const struct wo_pattern *pattern, const struct wo_pattern_samples *samples) {
  assert(samples->pattern < check->pack->pattern_count);
  for (size_t i = 0; i < samples->match_count; i++) {
    if (applies(check, samples->pattern, samples->match[i])) continue;
    const char *const why = has_literal(pattern, samples->match[i]) ? "is not matched" : "holds none of the literals";
    wo__check_complain(check, samples->place, WO_E_SYNTAX, "pattern %.*s: sample %zu %s", WO_SHOWN(pattern->id), i + 1, why);
  }
  for (size_t i = 0; i < samples->no_match_count; i++) {
    if (!applies(check, samples->pattern, samples->no_match[i])) continue;
    wo__check_complain(check, samples->place, WO_E_SYNTAX, "pattern %.*s: line %zu of 'not' is matched", WO_SHOWN(pattern->id),
                       i + 1);
  }
}

/* Whether a line counts as one piece of evidence: a failure that is counted twice looks like two ranks. */
static bool counts_once(const struct wo_pattern *pattern) {
  const enum wo_class class = wo_kind_class(pattern->kind);
  return pattern->where == WO_WHERE_LINE && class != WO_CLASS_CONTEXT && class != WO_CLASS_NONE;
}

/* Samples that an earlier pattern of the same kind matches too: the line would give two events of one failure. */
static void check_twins(struct wo_check *check, const struct wo_pattern *pattern, const struct wo_pattern_samples *samples) {
  if (!counts_once(pattern)) return;
  for (size_t k = 0; k < samples->pattern; k++) {
    const struct wo_pattern *const earlier = &check->pack->patterns[k];
    if (earlier->kind != pattern->kind || !counts_once(earlier) || earlier->reader.len > 0) continue;
    for (size_t i = 0; i < samples->match_count; i++) {
      if (!applies(check, k, samples->match[i])) continue;
      wo__check_complain(check, samples->place, WO_E_SYNTAX, "pattern %.*s: sample %zu is also matched by %.*s, of the same kind",
                         WO_SHOWN(pattern->id), i + 1, WO_SHOWN(earlier->id));
    }
  }
}

/* A pattern whose expressions are wrong is not tried on its samples: one mistake, one complaint. An
 * unknown reader is worse than a wrong expression, as nothing would ever say that it is missing:
 * the scanner passes over names it cannot find. */
static void check_pattern(struct wo_check *check, const struct wo_pattern_samples *samples) {
  const struct wo_pattern *const pattern = &check->pack->patterns[samples->pattern];
  check_id(check, samples->place, "pattern", pattern->id);
  struct wo_err err;
  if (wo_pattern_check(pattern, &err) != WO_OK) {
    wo__check_complain(check, samples->place, err.code, "pattern %.*s: %s (at %llu)", WO_SHOWN(pattern->id), err.message,
                       (unsigned long long)err.offset);
    return;
  }
  if (pattern->reader.len > 0 && wo_format_find(&wo_formats, pattern->reader) == NULL) {
    wo__check_complain(check, samples->place, WO_E_UNKNOWN, "pattern %.*s: unknown reader '%.*s'", WO_SHOWN(pattern->id),
                       WO_SHOWN(pattern->reader));
  }
  if (pattern->regex.len == 0 && pattern->reader.len == 0 && pattern->literal_count == 0) {
    wo__check_complain(check, samples->place, WO_E_SYNTAX, "pattern %.*s: matches every line", WO_SHOWN(pattern->id));
  }
  if (samples->match_count == 0)
    wo__check_complain(check, samples->place, WO_E_SYNTAX, "pattern %.*s: no samples", WO_SHOWN(pattern->id));
  check_samples(check, pattern, samples);
  check_twins(check, pattern, samples);
}

/* ---- causes ----------------------------------------------------------------------------------------------------------- */

/* Whether it is one of the families above. */
static bool is_family(struct wo_view family) {
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    if (wo_view_is(family, families[i])) return true;
  }
  return false;
}

/* " (did you mean ...?)" for the id of a cause / of a fix that does not exist. */
static const char *hint_cause(const struct wo_pack *pack, struct wo_view id, char *buf, size_t cap) {
  struct wo_nearest nearest = {.want = id};
  for (size_t i = 0; i < pack->cause_count; i++) wo_nearest_offer(&nearest, pack->causes[i].id);
  return wo_nearest_hint(wo_nearest_best(&nearest), buf, cap);
}

static const char *hint_fix(const struct wo_pack *pack, struct wo_view id, char *buf, size_t cap) {
  struct wo_nearest nearest = {.want = id};
  for (size_t i = 0; i < pack->fix_count; i++) wo_nearest_offer(&nearest, pack->fixes[i].id);
  return wo_nearest_hint(wo_nearest_best(&nearest), buf, cap);
}

/* Causes that a question separates from. */
static void check_questions(struct wo_check *check, const struct wo_cause *cause) {
  for (size_t i = 0; i < cause->would_tell_count; i++) {
    const struct wo_view id = cause->would_tell[i].between;
    char hint[WO_NEAREST_BYTES];
    if (id.len == 0) continue;
    if (wo_pack_cause(check->pack, id) == NULL) {
      wo__check_complain(check, cause->place, WO_E_UNKNOWN, "cause %.*s: 'between' names unknown cause '%.*s'%s",
                         WO_SHOWN(cause->id), WO_SHOWN(id), hint_cause(check->pack, id, hint, sizeof hint));
    } else if (wo_view_equal(id, cause->id)) {
      wo__check_complain(check, cause->place, WO_E_SYNTAX, "cause %.*s: 'between' names the cause itself", WO_SHOWN(id));
    }
  }
}

/* Ids of other rules that a cause names. Only here, not at loading: a folder given with --rules may
 * well name what another file of it brings, and a dangling name does no harm at run time. */
static void check_cause_links(struct wo_check *check, const struct wo_cause *cause) {
  for (size_t i = 0; i < cause->exclude_count; i++) {
    const struct wo_view id = cause->excludes[i];
    char hint[WO_NEAREST_BYTES];
    if (wo_pack_cause(check->pack, id) == NULL) {
      wo__check_complain(check, cause->place, WO_E_UNKNOWN, "cause %.*s: excludes unknown cause '%.*s'%s", WO_SHOWN(cause->id),
                         WO_SHOWN(id), hint_cause(check->pack, id, hint, sizeof hint));
    }
    if (wo_view_equal(id, cause->id))
      wo__check_complain(check, cause->place, WO_E_SYNTAX, "cause %.*s: excludes itself", WO_SHOWN(id));
  }
  for (size_t i = 0; i < cause->fix_count; i++) {
    if (wo_pack_fix(check->pack, cause->fixes[i]) != NULL) continue;
    char hint[WO_NEAREST_BYTES];
    wo__check_complain(check, cause->place, WO_E_UNKNOWN, "cause %.*s: unknown fix '%.*s'%s", WO_SHOWN(cause->id),
                       WO_SHOWN(cause->fixes[i]), hint_fix(check->pack, cause->fixes[i], hint, sizeof hint));
  }
  check_questions(check, cause);
}

/* Examples must be there, in both directions, and the ones that do not give the cause must say why.
 * The why is for the reader of the rule: it names the neighbour that the log shows instead. */
static void check_cause_examples(struct wo_check *check, const struct wo_cause *cause) {
  size_t gives = 0;
  for (size_t i = 0; i < cause->example_count; i++) {
    const struct wo_example *const example = &cause->examples[i];
    gives += example->gives;
    if (wo_view_trim(example->log).len == 0) {
      wo__check_complain(check, cause->place, WO_E_SYNTAX, "cause %.*s: example %zu has an empty log", WO_SHOWN(cause->id),
                         i + 1);
    }
    if (!example->gives && example->why.len == 0) {
      wo__check_complain(check, cause->place, WO_E_SYNTAX, "cause %.*s: example %zu does not say why not", WO_SHOWN(cause->id),
                         i + 1);
    }
  }
  assert(gives <= cause->example_count);
  const size_t others = cause->example_count - gives;
  if (gives < EXAMPLES_GIVE_MIN || others < EXAMPLES_NOT_MIN) {
    wo__check_complain(check, cause->place, WO_E_SYNTAX,
                       "cause %.*s: %zu examples that give it and %zu that do not (at least %d and %d)", WO_SHOWN(cause->id),
                       gives, others, EXAMPLES_GIVE_MIN, EXAMPLES_NOT_MIN);
  }
}

/* Everything about one cause. `would_tell` is asked for because a cause that nothing could confirm
 * or refute is an opinion. */
static void check_cause(struct wo_check *check, const struct wo_cause *cause) {
  check_id(check, cause->place, "cause", cause->id);
  check_text(check, cause->place, "cause", cause->id, "title", wo_template_source(cause->title));
  check_text(check, cause->place, "cause", cause->id, "summary", wo_template_source(cause->summary));
  check_text(check, cause->place, "cause", cause->id, "means", cause->means);
  if (!is_family(cause->family)) {
    wo__check_complain(check, cause->place, WO_E_UNKNOWN, "cause %.*s: unknown family '%.*s'", WO_SHOWN(cause->id),
                       WO_SHOWN(cause->family));
  }
  if (cause->would_tell_count == 0) {
    wo__check_complain(check, cause->place, WO_E_SYNTAX, "cause %.*s: 'would_tell' is missing or empty", WO_SHOWN(cause->id));
  }
  check_cause_links(check, cause);
  wo__check_cause_logic(check, cause);
  check_cause_examples(check, cause);
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
  return false;
}

/* One item of replays_as: an option of `whyoom replay` without its dashes, and its value, which may hold expressions. */
static bool is_replay_item(struct wo_view item) {
  static const char *const words[] = {
#define WO_REPLAY_WORD(text) text,
#include "rules/check/replay_words.def"
#undef WO_REPLAY_WORD
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    if (!wo_view_starts(item, words[i])) continue;
    if (wo_view_ends(word, "=") || wo_view_ends(word, ":")) return item.len > word.len;
    if (item.len == word.len || item.ptr[word.len] == '=') return true;
  }
  return false;
}

/* The text cut at blanks that stand outside of braces. */
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

/* A slip here would only show when somebody verifies that very fix. */
static void check_replay(struct wo_check *check, const struct wo_fix *fix) {
  struct wo_view rest = wo_template_source(fix->replays_as);
  while (rest.len > 0) {
    const struct wo_view item = cut_item(&rest);
    if (item.len == 0 || is_replay_item(item)) continue;
    wo__check_complain(check, fix->place, WO_E_UNKNOWN,
                       "fix %.*s: replays_as: '%.*s' is no option of `whyoom replay` (scale=..., set=KEY:VALUE, transform=NAME)",
                       WO_SHOWN(fix->id), WO_SHOWN(item));
  }
}

/* Everything about one fix. Without its cost a user cannot weigh it. */
static void check_fix(struct wo_check *check, const struct wo_fix *fix) {
  check_id(check, fix->place, "fix", fix->id);
  check_text(check, fix->place, "fix", fix->id, "title", wo_template_source(fix->title));
  check_text(check, fix->place, "fix", fix->id, "cost.speed", wo_template_source(fix->cost_speed));
  check_text(check, fix->place, "fix", fix->id, "cost.accuracy", wo_template_source(fix->cost_accuracy));
  check_text(check, fix->place, "fix", fix->id, "cost.effort", wo_template_source(fix->cost_effort));
  for (size_t i = 0; i < fix->change_count; i++) {
    if (wo_pack_knob(check->pack, fix->changes[i].knob) != NULL) continue;
    wo__check_complain(check, fix->place, WO_E_UNKNOWN, "fix %.*s: unknown knob '%.*s'", WO_SHOWN(fix->id),
                       WO_SHOWN(fix->changes[i].knob));
  }
  if (fix->already != NULL && fix->already_say == NULL) {
    wo__check_complain(check, fix->place, WO_E_SYNTAX, "fix %.*s: 'already' without 'already_say'", WO_SHOWN(fix->id));
  }
  if (!is_proposed(check->pack, fix->id))
    wo__check_complain(check, fix->place, WO_E_SYNTAX, "fix %.*s: no cause proposes it", WO_SHOWN(fix->id));
  check_replay(check, fix);
  wo__check_fix_logic(check, fix);
}

/* What a knob means is shown by `explain`; its spellings were checked at loading. */
static void check_knob(struct wo_check *check, const struct wo_knob *knob) {
  check_text(check, knob->place, "knob", knob->id, "means", knob->means);
}

/* Without its meaning a name is only another spelling. */
static void check_define(struct wo_check *check, const struct wo_define *define) {
  check_text(check, define->place, "define", define->id, "means", define->means);
}

/* The count that the shape gives must be the published one: a digit that was mistyped in either would else be believed. */
static void check_model(struct wo_check *check, const struct wo_model_shape *shape) {
  const double computed = wo_model_shape_parameters(shape);
  check_text(check, shape->place, "model", shape->id, "source", shape->source);
  if (shape->name_count == 0) {
    wo__check_complain(check, shape->place, WO_E_SYNTAX, "model %.*s: 'names' is missing or empty", WO_SHOWN(shape->id));
  }
  if (computed == 0) {
    wo__check_complain(check, shape->place, WO_E_UNKNOWN, "model %.*s: unknown architecture '%.*s'", WO_SHOWN(shape->id),
                       WO_SHOWN(shape->architecture));
  } else if (computed != shape->parameters) {
    wo__check_complain(check, shape->place, WO_E_RANGE, "model %.*s: the shape has %.0f parameters, not %.0f",
                       WO_SHOWN(shape->id), computed, shape->parameters);
  }
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/* Duplicate ids, phases and terms. The latter two do not keep their place, as no message of a
 * diagnosis ever needs it; complaints name them by id. */
static void check_others(struct wo_check *check) {
  const struct wo_pack *const pack = check->pack;
  const struct wo_rule_place nowhere = {0};
  for (size_t i = 0; i < pack->duplicate_count; i++) {
    const struct wo_duplicate *const duplicate = &pack->duplicates[i];
    wo__check_complain(check, duplicate->place, WO_E_SYNTAX, "the id '%.*s' is taken", WO_SHOWN(duplicate->id));
  }
  for (size_t i = 0; i < pack->phase_count; i++) {
    if (pack->phases[i].any_of_count > 0) continue;
    wo__check_complain(check, nowhere, WO_E_SYNTAX, "phase %.*s: 'any_of' is missing or empty", WO_SHOWN(pack->phases[i].phase));
  }
  for (size_t i = 0; i < pack->term_count; i++) {
    const struct wo_term *const term = &pack->terms[i];
    check_text(check, nowhere, "term", term->id, "title", term->title);
    check_text(check, nowhere, "term", term->id, "text", term->text);
  }
}

/* The order is that of the loaded arrays, hence of the files: a corrected pack is read beside its
 * complaints. Checking goes on after each of them, so that one run shows all. */
size_t wo_pack_check(const struct wo_pack *pack, wo_complaint_fn fn, void *context) {
  assert(pack != NULL && fn != NULL);
  struct wo_check check = {.pack = pack, .fn = fn, .context = context};
  if (wo_pattern_set_new(pack->patterns, pack->pattern_count, &check.set) == WO_OK) {
    for (size_t i = 0; i < pack->sample_count; i++) check_pattern(&check, &pack->samples[i]);
  } else {
    wo__check_complain(&check, (struct wo_rule_place){0}, WO_E_NOMEM, "patterns: %s", wo_status_text(WO_E_NOMEM));
  }
  for (size_t i = 0; i < pack->cause_count; i++) check_cause(&check, &pack->causes[i]);
  for (size_t i = 0; i < pack->fix_count; i++) check_fix(&check, &pack->fixes[i]);
  for (size_t i = 0; i < pack->knob_count; i++) check_knob(&check, &pack->knobs[i]);
  for (size_t i = 0; i < pack->model_count; i++) check_model(&check, &pack->models[i]);
  for (size_t i = 0; i < pack->define_count; i++) check_define(&check, &pack->defines[i]);
  check_others(&check);
  wo_pattern_set_free(check.set);
  return check.complaints;
}
