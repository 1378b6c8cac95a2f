/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns made ready for matching, and named groups into typed fields. The prefilter decides which lines come here. */
#include "parsers/match/pattern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "parsers/base/units.h"
#include "parsers/match/regex_internal.h"

enum { GROUPS_MAX = WO__REGEX_GROUPS_MAX };

/* A PiB: no card and no node has as much. */
#define IMPOSSIBLE_BYTES (1024.0 * 1024.0 * WO_GIB)

/* The state of the pattern of the same index. */
struct item {
  struct wo__regex main;
  struct wo__regex unless;
};

struct wo_pattern_set {
  const struct wo_pattern *patterns;
  size_t count;
  struct item *items; /* one per pattern */
  struct wo_prefilter *prefilter;
  struct wo__matcher matcher;
};

/* A match. The offsets are copies, so that a callback may match other patterns: those of the matcher
 * are then overwritten. `group_count` includes the whole match; groups after the last that took
 * part are not counted by PCRE2. */
struct wo_match {
  struct wo_view text;
  const pcre2_code *code; /* NULL when the pattern has no expression */
  size_t start;
  size_t end;
  uint32_t group_count;
  PCRE2_SIZE offsets[2 * GROUPS_MAX];
};

/* ---- Making and freeing a set ---- */

/* The number of literals of patterns that look at every line, usable or not: an upper bound for the
 * array of the prefilter. */
static size_t count_line_literals(const struct wo_pattern *patterns, size_t count) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    if (patterns[i].where == WO_WHERE_LINE) total += patterns[i].literal_count;
  }
  return total;
}

/* One that is too short is left out: wo_pattern_check reports it to its author. */
bool wo_pattern_is_usable_literal(const struct wo_pattern *pattern, struct wo_view literal) {
  const struct wo_prefilter_literal wanted = {.text = literal, .is_before_number = pattern->is_before_number};
  return wo_prefilter_is_long_enough(&wanted);
}

/* Builds the prefilter over the literals of all patterns that look at every line. Patterns for the
 * lines before a failure and for the tail of a file are tried on those few lines one by one, so
 * their literals may be short. False when memory is out. */
static bool prepare_prefilter(struct wo_pattern_set *set, const struct wo_prefilter_tables *ready) {
  const size_t total = count_line_literals(set->patterns, set->count);
  struct wo_prefilter_literal *const literals = calloc(total == 0 ? 1 : total, sizeof *literals);
  if (literals == NULL) return false;
  size_t used = 0;
  for (size_t i = 0; i < set->count; i++) {
    const struct wo_pattern *const pattern = &set->patterns[i];
    for (size_t k = 0; pattern->where == WO_WHERE_LINE && k < pattern->literal_count; k++) {
      if (!wo_pattern_is_usable_literal(pattern, pattern->literals[k])) continue;
      literals[used++] = (struct wo_prefilter_literal){
          .text = pattern->literals[k], .owner = (uint32_t)i, .is_before_number = pattern->is_before_number};
    }
  }
  assert(used <= total);
  const enum wo_status status = wo_prefilter_new(literals, used, ready, &set->prefilter);
  free(literals);
  assert(status != WO_E_RANGE);
  return status == WO_OK;
}

/* Wrong expressions are no failure here: those of a user's pack are refused when it is loaded, and the built-in ones are
 * checked by the lint. */
enum wo_status wo_pattern_set_new(const struct wo_pattern *patterns, size_t count, const struct wo_prefilter_tables *ready,
                                  struct wo_pattern_set **ret_set) {
  assert((patterns != NULL || count == 0) && count <= UINT32_MAX && ret_set != NULL);
  struct wo_pattern_set *const set = calloc(1, sizeof *set);
  if (set == NULL) return WO_E_NOMEM;
  set->patterns = patterns;
  set->count = count;
  set->items = calloc(count == 0 ? 1 : count, sizeof *set->items);
  if (set->items == NULL || !wo__matcher_make(&set->matcher) || !prepare_prefilter(set, ready)) {
    wo_pattern_set_free(set);
    return WO_E_NOMEM;
  }
  *ret_set = set;
  return WO_OK;
}

struct wo_pattern_set *wo_pattern_set_free(struct wo_pattern_set *set) {
  if (set == NULL) return NULL;
  for (size_t i = 0; set->items != NULL && i < set->count; i++) {
    wo__regex_done(&set->items[i].main);
    wo__regex_done(&set->items[i].unless);
  }
  free(set->items);
  wo_prefilter_free(set->prefilter);
  wo__matcher_done(&set->matcher);
  free(set);
  return NULL;
}

const struct wo_prefilter *wo_pattern_set_prefilter(const struct wo_pattern_set *set) {
  assert(set != NULL);
  return set->prefilter;
}

size_t wo_pattern_count(const struct wo_pattern_set *set) {
  assert(set != NULL);
  return set->count;
}

const struct wo_pattern *wo_pattern_at(const struct wo_pattern_set *set, size_t index) {
  assert(set != NULL && index < set->count);
  return &set->patterns[index];
}

size_t wo_pattern_limit_hits(const struct wo_pattern_set *set) {
  assert(set != NULL);
  return set->matcher.limit_hits;
}

void wo_pattern_begin_line(struct wo_pattern_set *set, size_t len) {
  assert(set != NULL);
  set->matcher.steps_left = WO_LIMIT_REGEX_STEPS + WO_LIMIT_REGEX_STEPS_PER_BYTE * (uint64_t)len;
}

uint64_t wo_pattern_steps(struct wo_pattern_set *set, size_t index, struct wo_view text, uint64_t most) {
  assert(set != NULL && index < set->count);
  const struct wo_pattern *const pattern = &set->patterns[index];
  struct item *const item = &set->items[index];
  const uint64_t left = set->matcher.steps_left; /* of the line's own budget */
  set->matcher.steps_left = most;
  if (pattern->regex.len > 0) wo__regex_count(&set->matcher, &item->main, pattern->regex, text);
  if (pattern->unless.len > 0) wo__regex_count(&set->matcher, &item->unless, pattern->unless, text);
  const uint64_t steps = most - set->matcher.steps_left;
  set->matcher.steps_left = left;
  return steps;
}

/* ---- Matching ---- */

/* Looks for an expression from `at` on. Returns the number of groups (> 0); 0 means no match, or a limit that was hit. Text
 * before `at` is still seen by lookbehinds and \b, as it should be: the search goes on in the same line. */
static uint32_t search(struct wo_pattern_set *set, struct wo__regex *regex, struct wo_view source, struct wo_view text,
                       size_t at) {
  const int result = wo__regex_run(&set->matcher, regex, source, text, at, 0);
  if (result < 0) return 0;
  return result == 0 ? GROUPS_MAX : (uint32_t)result; /* 0: more groups than there is room for */
}

/* Whether the pattern's `unless` rules this line out: the same words as advice, as a setting's
 * name, as source code in a traceback. An `unless` that cannot be compiled, or that hits a limit,
 * rules nothing out. */
static bool is_ruled_out(struct wo_pattern_set *set, size_t index, struct wo_view text) {
  const struct wo_view unless = set->patterns[index].unless;
  if (unless.len == 0) return false;
  return search(set, &set->items[index].unless, unless, text, 0) > 0;
}

/* Fills *match from the last run. False when \K was used to make an end before the start. */
static bool take_match(const struct wo_pattern_set *set, struct wo_match *match, uint32_t group_count) {
  const PCRE2_SIZE *const offsets = pcre2_get_ovector_pointer(set->matcher.data);
  if (offsets[0] > offsets[1] || offsets[1] > match->text.len) return false;
  match->code = set->matcher.code;
  match->start = offsets[0];
  match->end = offsets[1];
  match->group_count = group_count;
  memcpy(match->offsets, offsets, (size_t)2 * group_count * sizeof *offsets);
  return true;
}

/* A pattern without expression: its match is the earliest of its literals, or the whole text when
 * the literal is not in the cleaned text (it may span a colour code or the prefix). One call,
 * whatever the callback returns. */
static size_t match_literal(const struct wo_pattern *pattern, struct wo_view text, wo_match_fn fn, void *context) {
  struct wo_match match = {.text = text, .end = text.len};
  size_t best = WO_NOT_FOUND;
  for (size_t i = 0; i < pattern->literal_count; i++) {
    struct wo_view literal = pattern->literals[i];
    const bool is_line_end = wo_view_ends(literal, "\n");
    if (is_line_end) literal.len--;
    const size_t from = is_line_end && literal.len <= text.len ? text.len - literal.len : 0;
    /* Only an earlier place is of interest. */
    const struct wo_view part = best == WO_NOT_FOUND ? text : wo_view_sub(text, 0, best + literal.len - 1);
    const size_t at = wo_view_find(part, literal, from);
    if (at == WO_NOT_FOUND) continue;
    best = at;
    match.start = at;
    match.end = at + literal.len;
  }
  fn(context, pattern, &match);
  return 1;
}

/* An empty match moves on by one byte, or it would be found again forever. `unless` overwrites the groups of the last run, which
 * is why the match is taken out of it before. */
size_t wo_pattern_match(struct wo_pattern_set *set, size_t index, struct wo_view text, wo_match_fn fn, void *context) {
  assert(set != NULL && index < set->count && fn != NULL);
  const struct wo_pattern *const pattern = &set->patterns[index];
  if (pattern->regex.len == 0) return is_ruled_out(set, index, text) ? 0 : match_literal(pattern, text, fn, context);
  struct wo__regex *const regex = &set->items[index].main;
  struct wo_match match; /* its offsets are many, and set by a match */
  match.text = text;
  size_t calls = 0;
  size_t at = 0;
  while (calls < WO_LIMIT_MATCHES_PER_LINE && at <= text.len) {
    /* `unless` is asked once, and only when there is something that it could rule out. */
    const uint32_t group_count = search(set, regex, pattern->regex, text, at);
    if (group_count == 0 || !take_match(set, &match, group_count)) break;
    if (calls == 0 && is_ruled_out(set, index, text)) break;
    calls++;
    if (!fn(context, pattern, &match)) break;
    at = match.end > match.start ? match.end : match.end + 1;
  }
  return calls;
}

/* Matches the expression at one place. Without an expression nothing matches. */
static int match_at(struct wo_pattern_set *set, size_t index, struct wo_view text, size_t start, uint32_t options) {
  assert(set != NULL && index < set->count && start <= text.len);
  const struct wo_view source = set->patterns[index].regex;
  if (source.len == 0 || text.ptr == NULL) return PCRE2_ERROR_NOMATCH;
  return wo__regex_run(&set->matcher, &set->items[index].main, source, text, start, options | PCRE2_ANCHORED);
}

size_t wo_pattern_extent(struct wo_pattern_set *set, size_t index, struct wo_view text, size_t start) {
  if (match_at(set, index, text, start, 0) < 0) return WO_NOT_FOUND;
  return pcre2_get_ovector_pointer(set->matcher.data)[1];
}

/* Hard partial matching stops wherever more text could change the result, before it takes the shorter match. There is no machine
 * code for it: few lines come here. */
bool wo_pattern_may_go_on(struct wo_pattern_set *set, size_t index, struct wo_view text, size_t start) {
  return match_at(set, index, text, start, PCRE2_PARTIAL_HARD) == PCRE2_ERROR_PARTIAL;
}

struct wo_view wo_match_text(const struct wo_match *match) {
  assert(match != NULL && match->start <= match->end);
  return wo_view_sub(match->text, match->start, match->end);
}

size_t wo_match_start(const struct wo_match *match) {
  assert(match != NULL);
  return match->start;
}

/* ---- Named groups ---- */

/* The names of an expression: `count` entries of `entry_bytes` each, a group number (two bytes,
 * high byte first) and a name that ends in NUL; equal names are in the order of the expression.
 * The layout is PCRE2's (pcre2_pattern_info, PCRE2_INFO_NAMETABLE); the table belongs to the
 * compiled code. */
struct names {
  PCRE2_SPTR table;
  uint32_t count;
  uint32_t entry_bytes;
};

/* The names of an expression; none for NULL. */
static struct names names_of(const pcre2_code *code) {
  struct names names = {0};
  if (code == NULL) return names;
  pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &names.count);
  pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &names.entry_bytes);
  pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &names.table);
  return names;
}

/* The name of entry i; its group's number goes to *ret_group. */
static struct wo_view name_at(const struct names *names, uint32_t i, uint32_t *ret_group) {
  assert(i < names->count);
  const PCRE2_SPTR entry = names->table + (size_t)i * names->entry_bytes;
  *ret_group = (uint32_t)entry[0] << 8 | entry[1];
  return wo_view_of((const char *)entry + 2);
}

/* The text of a group; ptr NULL when it took no part, which is not the same as an empty text. A
 * lookaround with \K can leave an end before its start: such a group counts as absent. */
static struct wo_view group_text(const struct wo_match *match, uint32_t group) {
  const struct wo_view none = {NULL, 0};
  if (group >= match->group_count) return none;
  const PCRE2_SIZE start = match->offsets[(size_t)2 * group];
  const PCRE2_SIZE end = match->offsets[(size_t)2 * group + 1];
  if (start == PCRE2_UNSET || end < start) return none;
  return match->text.ptr == NULL ? WO_VIEW("") : wo_view_sub(match->text, start, end);
}

/* If several groups have the name, the first that took part. */
struct wo_view wo_match_group(const struct wo_match *match, const char *name) {
  assert(match != NULL && name != NULL);
  const struct names names = names_of(match->code);
  for (uint32_t i = 0; i < names.count; i++) {
    uint32_t group = 0;
    if (!wo_view_is(name_at(&names, i, &group), name)) continue;
    const struct wo_view text = group_text(match, group);
    if (text.ptr != NULL) return text;
  }
  return (struct wo_view){NULL, 0};
}

/* ---- Fields ---- */

static struct wo_interval scaled(struct wo_interval value, double factor) {
  assert(factor > 0);
  return (struct wo_interval){.lo = value.lo * factor, .mid = value.mid * factor, .hi = value.hi * factor};
}

/* The factor that a letter after a count stands for ("1.3 B parameters"): powers of 1000, 0 when
 * it is no such letter. Sizes in bytes have their own reader, where the same letters stand for
 * powers of 1024. */
static double count_scale(struct wo_view letter) {
  if (wo_view_is(letter, "K") || wo_view_is(letter, "k")) return 1e3;
  if (wo_view_is(letter, "M")) return 1e6;
  if (wo_view_is(letter, "B") || wo_view_is(letter, "G")) return 1e9;
  return wo_view_is(letter, "T") ? 1e12 : 0;
}

/* Reads "1,234,567" in units of `scale`. False without a comma. */
static bool read_grouped(struct wo_view text, double scale, struct wo_interval *ret_value) {
  uint64_t grouped = 0;
  if (wo_view_find_char(text, ',', 0) == WO_NOT_FOUND || wo_number_grouped(&text, INT64_MAX, &grouped) != WO_OK) return false;
  *ret_value = wo_interval_exact((double)grouped * scale);
  return true;
}

/* Reads "12", "-9", "1,234,567", "1e6", "7.62 B". Commas are tried first, because the decimal
 * reader would stop at the first of them and take a million for one. */
static enum wo_status read_count(struct wo_view text, struct wo_interval *ret_value) {
  struct wo_view rest = text;
  struct wo_interval value = {0};
  if (read_grouped(text, 1, ret_value)) return WO_OK;
  const enum wo_status status = wo_number_decimal(&rest, &value, NULL);
  if (status != WO_OK) return status;
  const double scale = count_scale(wo_view_trim(rest));
  *ret_value = scale > 0 ? scaled(value, scale) : value;
  return WO_OK;
}

/* Reads "0.9" and "90%", both as a share of one: vLLM prints gpu_memory_utilization the first way
 * and cache use the second. */
static enum wo_status read_ratio(struct wo_view text, struct wo_interval *ret_value) {
  struct wo_view rest = text;
  struct wo_interval value = {0};
  const enum wo_status status = wo_number_decimal(&rest, &value, NULL);
  if (status != WO_OK) return status;
  *ret_value = wo_view_starts(wo_view_trim_start(rest), "%") ? scaled(value, 0.01) : value;
  return WO_OK;
}

/* Reads "17.66 GiB", and with a scale for bare numbers "4096" and "1,073,741,824" (CuPy). */
static enum wo_status read_bytes(struct wo_view text, double bare_scale, struct wo_interval *ret_value) {
  if (bare_scale > 0 && read_grouped(text, bare_scale, ret_value)) return WO_OK;
  return wo_units_bytes(&text, bare_scale, ret_value);
}

/* Reads a number of the field's type. Text after the number is ignored: the expression that cuts the groups knows their
 * surroundings. */
static enum wo_status read_number(struct wo_view text, enum wo_field_type type, double bare_scale,
                                  struct wo_interval *ret_value) {
  const struct wo_view rest = wo_view_trim_start(text);
  switch (type) {
  case WO_FIELD_TYPE_BYTES:
    return read_bytes(rest, bare_scale, ret_value);
  case WO_FIELD_TYPE_COUNT:
    return read_count(rest, ret_value);
  case WO_FIELD_TYPE_RATIO:
    return read_ratio(rest, ret_value);
  case WO_FIELD_TYPE_TEXT:
  default:
    return WO_E_TYPE;
  }
}

/* Where the fields of a match go. */
struct filling {
  const struct wo_pattern *pattern;
  struct wo_event_store *store;
  struct wo_event *event;
};

/* A request for more than any machine has is a corrupted shape or an overflow, not a full card. */
static bool is_impossible(enum wo_status status, const struct wo_interval *bytes) {
  return status == WO_E_RANGE || (status == WO_OK && bytes->mid >= IMPOSSIBLE_BYTES);
}

/* Sets one field. A value that cannot be read leaves the field unknown; false only when memory is out. */
static bool fill_field(const struct filling *filling, enum wo_field_id id, struct wo_view value) {
  const enum wo_field_type type = wo_field_type_of(id);
  if (type == WO_FIELD_TYPE_TEXT) return wo_event_set_text(filling->store, filling->event, id, value);
  struct wo_interval number = {0};
  const enum wo_status status = read_number(value, type, filling->pattern->bare_scale, &number);
  if (id == WO_FIELD_TRIED_BYTES && is_impossible(status, &number)) {
    wo_event_set_text(filling->store, filling->event, WO_FIELD_IMPOSSIBLE,
                      WO_VIEW("asks for more than any machine has: a corrupted shape or an overflow"));
  }
  if (status != WO_OK) return true;
  return wo_event_set_number(filling->store, filling->event, id, number);
}

/* The first value of a field stays, so named groups win over fixed values. Names that are no fields
 * cannot pass the lint; here they are ignored. */
bool wo_match_fill(const struct wo_match *match, const struct wo_pattern *pattern, struct wo_event_store *store,
                   struct wo_event *event) {
  assert(match != NULL && pattern != NULL && store != NULL && event != NULL);
  const struct filling filling = {.pattern = pattern, .store = store, .event = event};
  const struct names names = names_of(match->code);
  bool is_complete = true;
  for (uint32_t i = 0; i < names.count; i++) {
    uint32_t group = 0;
    const enum wo_field_id id = wo_field_find(name_at(&names, i, &group));
    const struct wo_view value = group_text(match, group);
    if (id != WO_FIELD_COUNT_ && value.ptr != NULL) is_complete = fill_field(&filling, id, value) && is_complete;
  }
  for (size_t i = 0; i < pattern->set_count; i++) {
    is_complete = fill_field(&filling, pattern->sets[i].id, pattern->sets[i].value) && is_complete;
  }
  return is_complete;
}

/* ---- Checking ---- */

/* Lines are found by literals: a pattern for every line needs them, and the prefilter needs them
 * long enough. Elsewhere any literal will do that is not empty. */
static enum wo_status check_literals(const struct wo_pattern *pattern, struct wo_err *err) {
  if (pattern->where == WO_WHERE_LINE && pattern->literal_count == 0) {
    return wo_err_set(err, WO_E_SYNTAX, "the pattern has no literal");
  }
  for (size_t i = 0; i < pattern->literal_count; i++) {
    const bool is_unfiltered = pattern->where != WO_WHERE_LINE && pattern->literals[i].len > 0;
    if (is_unfiltered || wo_pattern_is_usable_literal(pattern, pattern->literals[i])) continue;
    const int len = (int)pattern->literals[i].len;
    return wo_err_set(err, WO_E_SYNTAX, "the literal \"%.*s\" is shorter than %d bytes", len,
                      len == 0 ? "" : pattern->literals[i].ptr, WO_PATTERN_LITERAL_MIN);
  }
  return WO_OK;
}

/* A misspelt group would be matched and then silently thrown away. Groups without a name are allowed, as long as all of them
 * fit. */
static enum wo_status check_names(const pcre2_code *code, struct wo_err *err) {
  uint32_t group_count = 0;
  pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &group_count);
  if (group_count >= GROUPS_MAX) {
    return wo_err_set(err, WO_E_SYNTAX, "the regular expression has %u groups; %d is the most", (unsigned)group_count,
                      GROUPS_MAX - 1);
  }
  const struct names names = names_of(code);
  for (uint32_t i = 0; i < names.count; i++) {
    uint32_t group = 0;
    const struct wo_view name = name_at(&names, i, &group);
    if (wo_field_find(name) != WO_FIELD_COUNT_) continue;
    return wo_err_set(err, WO_E_SYNTAX, "the group \"%.*s\" names no field", (int)name.len, name.ptr);
  }
  return WO_OK;
}

/* An expression compiled by itself, with PCRE2's own memory and without the set: the lint needs no state. NULL, and an error at
 * the offset in the expression, if it is wrong. */
static pcre2_code *compile_alone(struct wo_view regex, struct wo_err *err) {
  int error = PCRE2_ERROR_HEAP_FAILED;
  PCRE2_SIZE offset = 0;
  pcre2_compile_context *const context = pcre2_compile_context_create(NULL);
  if (context != NULL) pcre2_set_parens_nest_limit(context, WO_LIMIT_REGEX_NESTING);
  pcre2_code *const code = context == NULL ? NULL : wo__regex_compile(regex, context, 0, &error, &offset);
  pcre2_compile_context_free(context);
  if (code != NULL) return code;
  PCRE2_UCHAR message[128] = {0};
  pcre2_get_error_message(error, message, sizeof message);
  wo_err_set(err, WO_E_SYNTAX, "%s", (const char *)message);
  wo_err_place(err, NULL, 0, 0, offset);
  return NULL;
}

enum wo_status wo_pattern_check_regex(struct wo_view regex, struct wo_err *err) {
  if (regex.len == 0) return WO_OK;
  pcre2_code *const code = compile_alone(regex, err);
  pcre2_code_free(code);
  return code != NULL ? WO_OK : WO_E_SYNTAX;
}

/* Checks one expression and its names; an empty one is fine. */
static enum wo_status check_regex(struct wo_view regex, struct wo_err *err) {
  if (regex.len == 0) return WO_OK;
  pcre2_code *const code = compile_alone(regex, err);
  if (code == NULL) return WO_E_SYNTAX;
  const enum wo_status status = check_names(code, err);
  pcre2_code_free(code);
  return status;
}

enum wo_status wo_pattern_check(const struct wo_pattern *pattern, struct wo_err *err) {
  assert(pattern != NULL);
  if (pattern->regex.len == 0 && pattern->reader.len == 0 && pattern->literal_count == 0) {
    return wo_err_set(err, WO_E_SYNTAX, "the pattern has neither a regular expression nor a reader nor a literal");
  }
  enum wo_status status = check_literals(pattern, err);
  if (status == WO_OK) status = check_regex(pattern->regex, err);
  if (status == WO_OK) status = check_regex(pattern->unless, err);
  return status;
}
