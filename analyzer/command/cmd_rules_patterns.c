/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom rules list --format patterns`: the patterns that are looked for on every line, as regular expressions for other
 * programs, one a line.
 *
 * Rust's syntax is meant, as ripgrep reads it (`rg --no-unicode -f LIST`). Groups lose their names, since patterns share them.
 * A pattern that needs what that syntax lacks (a look around, a reference back, an atomic group, a line feed) is left out, and so
 * are conditions that one expression cannot hold: what rules a line out, and what a reader makes of it. */
#include "analyzer/command/commands.h"

/* A pattern being spelled. */
struct spelling {
  struct wo_view in;
  size_t at;
  struct wo_text *out;
  bool is_in_class;
  bool is_negated;
};

/* The character `ahead` of the next one; NUL behind the end. */
static char peek(const struct spelling *s, size_t ahead) {
  return s->at + ahead < s->in.len ? s->in.ptr[s->at + ahead] : '\0';
}

static bool is_one_of(char c, const char *set) {
  while (*set != '\0' && *set != c) set++;
  return *set != '\0' && c != '\0';
}

static void copy(struct spelling *s, size_t count) {
  wo_text_add_view(s->out, wo_view_sub(s->in, s->at, s->at + count));
  s->at += count;
}

/* A byte by itself: with a backslash where it means something, and as a number where it is no printable character. */
static void add_plain(struct wo_text *out, char c) {
  if ((unsigned char)c < ' ' || (unsigned char)c >= 0x7f) {
    wo_text_add(out, "\\x%02x", (unsigned)(unsigned char)c);
  } else {
    wo_text_add(out, is_one_of(c, "\\.+*?()|[]{}^$#&-~") ? "\\%c" : "%c", c);
  }
}

/* `(?<name>`, `(?:`, `(?i)`, `(?i:`; false for other groups. */
static bool spell_group(struct spelling *s) {
  if (peek(s, 1) == '*') return false;
  if (peek(s, 1) != '?') {
    copy(s, 1);
    return true;
  }
  const size_t name = peek(s, 2) == 'P' ? 3 : 2;
  if (peek(s, name) == '<' && (wo_is_alpha(peek(s, name + 1)) || peek(s, name + 1) == '_')) {
    const size_t end = wo_view_find_char(s->in, '>', s->at);
    if (end == WO_NOT_FOUND) return false;
    wo_text_add(s->out, "(?:");
    s->at = end + 1;
    return true;
  }
  size_t end = 2;
  while (is_one_of(peek(s, end), "imsx-")) end++;
  if (peek(s, end) != ':' && (peek(s, end) != ')' || end == 2)) return false;
  copy(s, end + 1);
  return true;
}

/* An escape; false for those that mean something else, or nothing, in Rust. */
static bool spell_escape(struct spelling *s) {
  const char c = peek(s, 1);
  if (c == '\0' || is_one_of(c, "0123456789kgKGRXQECNZhHVpPcoulLU")) return false;
  if (c == 'n' && !s->is_negated) return false;
  if (c == 'e') {
    wo_text_add(s->out, "\\x1b");
    s->at += 2;
    return true;
  }
  if (wo_is_alpha(c)) {
    copy(s, 2);
    return true;
  }
  add_plain(s->out, c);
  s->at += 2;
  return true;
}

/* Inside of a class a bracket and doubled signs mean something in Rust only. */
static bool spell_in_class(struct spelling *s, size_t begin) {
  const char c = peek(s, 0);
  if (c == '\\') return spell_escape(s);
  if ((unsigned char)c >= 0x80 || (c == '[' && is_one_of(peek(s, 1), ":.="))) return false;
  if (c == ']' && s->at > begin) {
    s->is_in_class = s->is_negated = false;
    copy(s, 1);
  } else if (is_one_of(c, "[]&~")) {
    add_plain(s->out, c);
    s->at++;
  } else {
    copy(s, 1);
  }
  return true;
}

static bool spell_class(struct spelling *s) {
  copy(s, 1);
  s->is_in_class = true;
  s->is_negated = peek(s, 0) == '^';
  if (s->is_negated) copy(s, 1);
  const size_t begin = s->at;
  while (s->at < s->in.len && s->is_in_class) {
    if (!spell_in_class(s, begin)) return false;
  }
  return !s->is_in_class;
}

/* `{2}`, `{2,}`, `{2,5}`: its length, or 0 for a brace that is only a character. */
static size_t repeat_len(const struct spelling *s) {
  size_t end = 1;
  while (wo_is_digit(peek(s, end))) end++;
  if (end == 1) return 0;
  if (peek(s, end) == ',') end++;
  while (wo_is_digit(peek(s, end))) end++;
  return peek(s, end) == '}' ? end + 1 : 0;
}

/* Repeats may be lazy, not possessive. */
static bool spell_repeat(struct spelling *s, size_t len) {
  copy(s, len);
  if (peek(s, 0) == '?') copy(s, 1);
  return peek(s, 0) != '+';
}

static bool spell_next(struct spelling *s) {
  const char c = peek(s, 0);
  const size_t repeat = is_one_of(c, "*+?") ? 1 : c == '{' ? repeat_len(s) : 0;
  if (repeat > 0) return spell_repeat(s, repeat);
  if (c == '(') return spell_group(s);
  if (c == '[') return spell_class(s);
  if (c == '\\') return spell_escape(s);
  if (is_one_of(c, "{}") || (unsigned char)c < ' ' || (unsigned char)c >= 0x7f) {
    if (c == '\n' || c == '\0') return false;
    add_plain(s->out, c);
    s->at++;
    return true;
  }
  copy(s, 1);
  return true;
}

/* False if Rust's syntax lacks something. */
static bool spell_regex(struct wo_view regex, struct wo_text *out) {
  struct spelling s = {.in = regex, .out = out};
  while (s.at < regex.len) {
    if (!spell_next(&s)) return false;
  }
  return true;
}

/* The literals of a pattern without an expression. */
static void spell_literals(const struct wo_pattern *pattern, struct wo_text *out) {
  for (size_t i = 0; i < pattern->literal_count; i++) {
    struct wo_view literal = pattern->literals[i];
    const bool is_line_end = wo_view_ends(literal, "\n");
    if (is_line_end) literal.len--;
    if (i > 0) wo_text_add(out, "|");
    for (size_t at = 0; at < literal.len; at++) add_plain(out, literal.ptr[at]);
    if (pattern->is_before_number && !is_line_end) wo_text_add(out, "[0-9][0-9. GMK]");
    if (is_line_end) wo_text_add(out, "$");
  }
}

void wo_rules_list_patterns(const struct wo_pack *pack, struct wo_text *out) {
  for (size_t i = 0; i < pack->pattern_count; i++) {
    const struct wo_pattern *const pattern = &pack->patterns[i];
    const size_t start = out->len;
    if (pattern->where != WO_WHERE_LINE) continue;
    if (pattern->regex.len == 0) spell_literals(pattern, out);
    const bool is_spelled = pattern->regex.len == 0 || spell_regex(pattern->regex, out);
    if (is_spelled && out->len > start) {
      wo_text_add(out, "\n");
    } else {
      out->len = start;
    }
  }
}
