/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: text with expressions in braces.
 *
 * Parsing cuts the text into parts, each either literal or an expression with a format; rendering
 * writes the parts one after another. The text is copied once, and all parts borrow from that copy.
 *
 *   "{oom.tried} was refused"  ->  {oom.tried}, " was refused"  ->  "2.00 GiB was refused"
 *
 * Formats are few on purpose: the look of a number is the report's style, and should not change from rule to rule. Which formats
 * a value can have is checked at loading. */
#include "rules/language/template.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/output/shell_words.h"
#include "parsers/base/units.h"
#include "rules/language/expr_internal.h"

/* How a value is written, by its name after the colon. DEFAULT goes by the unit. */
enum format {
  FORMAT_DEFAULT,
  FORMAT_BYTES,
  FORMAT_GIB,
  FORMAT_PCT,
  FORMAT_PCT1,
  FORMAT_INT,
  FORMAT_X1,
  FORMAT_TEXT,
  FORMAT_COUNT_
};

/* A stretch of literal text (expr NULL) or an expression. */
struct part {
  struct wo_view literal;
  const struct wo_expr *expr;
  enum format format;
};

/* `source` is the text as the rule has it: `rules list` shows it in place of values that only a job
 * has. */
struct wo_template {
  struct wo_view source;
  const struct part *parts;
  size_t part_count;
};

/* Largest text of one number. */
enum { NUMBER_TEXT_BYTES = 64 };

/* ---- parsing ---------------------------------------------------------------------------------------------------------- */

/* Formats by name, and the unit that each can write; NONE for any. */
struct format_row {
  const char *name;
  enum wo_unit unit;
};

static const struct format_row formats[] = {
    [FORMAT_DEFAULT] = {"", WO_UNIT_NONE},  [FORMAT_BYTES] = {"bytes", WO_UNIT_BYTES}, [FORMAT_GIB] = {"gib", WO_UNIT_BYTES},
    [FORMAT_PCT] = {"pct", WO_UNIT_NUMBER}, [FORMAT_PCT1] = {"pct1", WO_UNIT_NUMBER},  [FORMAT_INT] = {"int", WO_UNIT_NUMBER},
    [FORMAT_X1] = {"x1", WO_UNIT_NUMBER},   [FORMAT_TEXT] = {"text", WO_UNIT_NONE},
};
_Static_assert(sizeof formats / sizeof formats[0] == FORMAT_COUNT_, "one row per format");

/* One parse; `text` is the template's own copy already. */
struct parser {
  struct wo_arena *arena;
  struct wo_view text;
  const struct wo_names *names;
  struct wo_err *err;
};

/* Something is wrong at a byte of the text. Columns count from 1. Returns its code. */
static enum wo_status fail_at(struct parser *p, size_t at, enum wo_status code, const char *message) {
  wo_err_set(p->err, code, "%s", message);
  wo_err_place(p->err, NULL, 0, (uint32_t)at + 1, at);
  return code;
}

/* Offset of the next `a` or `b` that is not in a quoted text, or the end: has(name, "a:b") has no format in it. Quotes have no
 * escapes in expressions, so each one opens or closes. */
static size_t find_outside_quotes(struct wo_view text, size_t from, char a, char b) {
  bool is_quoted = false;
  size_t at = from;
  for (; at < text.len; at++) {
    const char c = text.ptr[at];
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == a || c == b)) break;
  }
  return at;
}

/* Reads the name of a format, [start, end), blanks around it allowed. DEFAULT has no name and
 * cannot be asked for. */
static enum wo_status find_format(struct parser *p, size_t start, size_t end, enum format *ret_format) {
  const struct wo_view name = wo_view_trim(wo_view_sub(p->text, start, end));
  for (size_t i = FORMAT_DEFAULT + 1; i < FORMAT_COUNT_; i++) {
    if (!wo_view_is(name, formats[i].name)) continue;
    *ret_format = (enum format)i;
    return WO_OK;
  }
  wo_err_set(p->err, WO_E_UNKNOWN, "unknown format '%.*s'", WO_SHOWN(name));
  wo_err_place(p->err, NULL, 0, (uint32_t)start + 1, start);
  return WO_E_UNKNOWN;
}

/* Parses the inside of a pair of braces, [start, end). Errors of the expression count from its own
 * start and are moved to the template's. A format that cannot write the value is a type error:
 * percentages of bytes are a slip that would print absurd numbers. */
static enum wo_status parse_inside(struct parser *p, size_t start, size_t end, struct part *ret_part) {
  assert(start <= end && end <= p->text.len);
  const size_t colon = find_outside_quotes(wo_view_sub(p->text, 0, end), start, ':', ':');
  struct part part = {.format = FORMAT_DEFAULT};
  const struct wo_view text = wo_view_sub(p->text, start, colon);
  enum wo_status status = wo__expr_parse_borrowed(p->arena, text, p->names, &part.expr, p->err);
  if (status != WO_OK) {
    const size_t column = p->err == NULL ? 0 : start + p->err->column;
    wo_err_place(p->err, NULL, 0, (uint32_t)column, column == 0 ? 0 : column - 1);
    return status;
  }
  if (colon < end) status = find_format(p, colon + 1, end, &part.format);
  if (status != WO_OK) return status;
  const enum wo_unit want = formats[part.format].unit;
  const enum wo_unit got = wo_expr_unit(part.expr);
  if (want != WO_UNIT_NONE && want != got) {
    wo_err_set(p->err, WO_E_TYPE, "format %s expects %s, got %s", formats[part.format].name, wo_unit_name(want),
               wo_unit_name(got));
    wo_err_place(p->err, NULL, 0, (uint32_t)start + 1, start);
    return WO_E_TYPE;
  }
  *ret_part = part;
  return WO_OK;
}

/* Reads the part that starts at `at`, which is inside. *ret_end is where the next one starts,
 * always further on. A doubled brace is a part of its own, one brace long. */
static enum wo_status parse_part(struct parser *p, size_t at, struct part *ret_part, size_t *ret_end) {
  const char c = p->text.ptr[at];
  const bool is_doubled = at + 1 < p->text.len && p->text.ptr[at + 1] == c;
  if ((c == '{' || c == '}') && is_doubled) {
    *ret_part = (struct part){.literal = wo_view_sub(p->text, at, at + 1)};
    *ret_end = at + 2;
    return WO_OK;
  }
  if (c == '}') return fail_at(p, at, WO_E_SYNTAX, "'}' without '{' (write '}}' for a brace)");
  if (c == '{') {
    const size_t end = find_outside_quotes(p->text, at + 1, '}', '}');
    if (end == p->text.len) return fail_at(p, at, WO_E_SYNTAX, "'{' without '}' (write '{{' for a brace)");
    *ret_end = end + 1;
    return parse_inside(p, at + 1, end, ret_part);
  }
  size_t end = at;
  while (end < p->text.len && p->text.ptr[end] != '{' && p->text.ptr[end] != '}') end++;
  *ret_part = (struct part){.literal = wo_view_sub(p->text, at, end)};
  *ret_end = end;
  return WO_OK;
}

/* An upper bound of the number of parts: each brace ends one and starts one. */
static size_t part_limit(struct wo_view text) {
  size_t limit = 1;
  for (size_t i = 0; i < text.len; i++) limit += text.ptr[i] == '{' || text.ptr[i] == '}';
  return limit;
}

/* Parts are counted before they are cut, so that they are in one array. */
enum wo_status wo_template_parse(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                                 const struct wo_template **ret_template, struct wo_err *err) {
  assert(arena != NULL && names != NULL && ret_template != NULL);
  struct parser p = {.arena = arena, .text = wo_arena_copy(arena, text), .names = names, .err = err};
  struct wo_template *const result = wo_arena_alloc(arena, sizeof *result);
  const size_t limit = part_limit(text);
  struct part *const parts = wo_arena_array(arena, limit, sizeof *parts);
  if (p.text.ptr == NULL || result == NULL || parts == NULL) return wo_err_nomem(err);
  size_t count = 0;
  for (size_t at = 0; at < p.text.len; count++) {
    assert(count < limit);
    const enum wo_status status = parse_part(&p, at, &parts[count], &at);
    if (status != WO_OK) return status;
  }
  *result = (struct wo_template){.source = p.text, .parts = parts, .part_count = count};
  *ret_template = result;
  return WO_OK;
}

/* ---- rendering -------------------------------------------------------------------------------------------------------- */

/* Writes x with the given decimals, dropping zeros at the end when `is_short`, and never as "-0": a
 * difference of two equal sizes can come out a hair below zero. */
static void write_number(double x, int decimals, bool is_short, char *buf, size_t cap) {
  snprintf(buf, cap, "%.*f", decimals, x);
  size_t len = strlen(buf);
  if (is_short && decimals > 0) {
    while (buf[len - 1] == '0') buf[--len] = '\0';
    if (buf[len - 1] == '.') buf[--len] = '\0';
  }
  if (buf[0] == '-' && strspn(buf + 1, "0.") == len - 1) memmove(buf, buf + 1, len);
}

/* Whole numbers as such, others with up to two decimals; what would vanish or overflow that way in two digits and an exponent. */
static void write_default_number(double x, char *buf, size_t cap) {
  const double size = x < 0 ? -x : x;
  if (size >= 1e18 || (size > 0 && size < 0.005)) {
    snprintf(buf, cap, "%.2g", x);
    return;
  }
  write_number(x, 2, true, buf, cap);
}

/* Writes a known quantity. Fixed formats of numbers beyond any memory or count fall back to an exponent, which also keeps the
 * text within its buffer. Only the nominal value of an interval is shown: the log printed it, and a reader wants to find it
 * there. */
static void write_quantity(struct wo_value value, enum format format, char *buf, size_t cap) {
  const double x = value.number.mid;
  const bool is_huge = x >= 1e18 || x <= -1e18;
  if (format == FORMAT_GIB) {
    wo_units_gib_text(x, 2, buf, cap);
  } else if (format == FORMAT_PCT || format == FORMAT_PCT1) {
    if (is_huge) write_default_number(x * 100, buf, cap - 2);
    if (!is_huge) write_number(x * 100, format == FORMAT_PCT ? 0 : 1, false, buf, cap - 2);
    memcpy(buf + strlen(buf), " %", 3);
  } else if (is_huge && value.unit == WO_UNIT_NUMBER) {
    write_default_number(x, buf, cap);
  } else if (format == FORMAT_INT) {
    write_number(x, 0, false, buf, cap);
  } else if (format == FORMAT_X1) {
    write_number(x, 1, false, buf, cap);
  } else if (value.unit == WO_UNIT_BYTES) {
    wo_units_bytes_text(x, buf, cap);
  } else if (value.unit == WO_UNIT_DURATION && !is_huge) {
    wo_units_duration_text((int64_t)x, buf, cap);
  } else {
    write_default_number(x, buf, cap);
  }
}

/* The text of one part, which lives as long as the template, the facts or the arena. Unknown values
 * are written, not left out: a sentence with a "?" is worth more than one with a hole, and the
 * caller may drop it. */
static struct wo_view render_part(const struct part *part, const struct wo_facts_source *facts, struct wo_arena *arena,
                                  bool *has_unknown) {
  if (part->expr == NULL) return part->literal;
  const struct wo_value value = wo_expr_eval(part->expr, facts);
  if (!value.is_known) {
    if (has_unknown != NULL) *has_unknown = true;
    return WO_VIEW("?");
  }
  if (value.unit == WO_UNIT_TEXT) return value.text;
  if (value.unit == WO_UNIT_BOOL) return value.truth == WO_TRUE ? WO_VIEW("yes") : WO_VIEW("no");
  char buf[NUMBER_TEXT_BYTES];
  write_quantity(value, part->format, buf, sizeof buf);
  return wo_arena_copy(arena, wo_view_of(buf));
}

/* The texts of all parts; NULL when memory is out. */
static struct wo_view *render_parts(const struct wo_template *template_, const struct wo_facts_source *facts,
                                    struct wo_arena *arena, bool *has_unknown) {
  struct wo_view *const texts = wo_arena_array(arena, template_->part_count, sizeof *texts);
  for (size_t i = 0; texts != NULL && i < template_->part_count; i++) {
    texts[i] = render_part(&template_->parts[i], facts, arena, has_unknown);
    if (texts[i].ptr == NULL && wo_arena_is_exhausted(arena)) return NULL;
  }
  return texts;
}

/* Values first, then one copy of the exact size: nothing is written twice into the arena but numbers. If the text is empty, the
 * arena knows whether memory ran out. */
struct wo_view wo_template_render(const struct wo_template *template_, const struct wo_facts_source *facts,
                                  struct wo_arena *arena, bool *has_unknown) {
  assert(facts != NULL && arena != NULL);
  const struct wo_view *const texts = template_ == NULL ? NULL : render_parts(template_, facts, arena, has_unknown);
  return texts == NULL ? (struct wo_view){0} : wo_arena_join(arena, texts, template_->part_count);
}

/* Whether the template's own text before a part has opened quotes, as far as counting shows. */
static bool is_in_quotes(const struct wo_template *template_, size_t part) {
  size_t quotes = 0;
  for (size_t i = 0; i < part; i++) {
    const struct wo_view literal = template_->parts[i].literal;
    for (size_t k = 0; k < literal.len; k++) quotes += memchr("\"'`", literal.ptr[k], 3) != NULL;
  }
  return quotes > 0;
}

/* Replaces the text of a value by its quoted form. False if that is impossible. */
static bool quote_part(const struct wo_template *template_, size_t part, struct wo_arena *arena, struct wo_view *text) {
  struct wo_text word = {0};
  if (template_->parts[part].expr == NULL || wo_expr_unit(template_->parts[part].expr) != WO_UNIT_TEXT) return true;
  if (wo_shell_is_plain(*text)) return true;
  bool is_quoted = !is_in_quotes(template_, part) && wo_shell_add_word(&word, *text) && !word.is_failed;
  if (is_quoted) *text = wo_arena_copy(arena, (struct wo_view){word.ptr, word.len});
  wo_text_done(&word);
  return is_quoted && text->ptr != NULL;
}

struct wo_view wo_template_render_command(const struct wo_template *template_, const struct wo_facts_source *facts,
                                          struct wo_arena *arena) {
  assert(facts != NULL && arena != NULL);
  struct wo_view *const texts = template_ == NULL ? NULL : render_parts(template_, facts, arena, NULL);
  if (texts == NULL) return (struct wo_view){0};
  for (size_t i = 0; i < template_->part_count; i++) {
    if (!quote_part(template_, i, arena, &texts[i])) return (struct wo_view){0};
  }
  return wo_arena_join(arena, texts, template_->part_count);
}

struct wo_view wo_template_source(const struct wo_template *template_) {
  return template_ == NULL ? (struct wo_view){0} : template_->source;
}

void wo_template_each_fact(const struct wo_template *template_, void (*fn)(void *context, struct wo_view name), void *context) {
  if (template_ == NULL) return;
  for (size_t i = 0; i < template_->part_count; i++) {
    if (template_->parts[i].expr != NULL) wo_expr_each_fact(template_->parts[i].expr, fn, context);
  }
}
