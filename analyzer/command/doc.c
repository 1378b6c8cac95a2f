/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of a document. */
#include "analyzer/command/doc.h"

#include <assert.h>

#include "analyzer/command/commands.h"

/* Columns of a block in Markdown: viewers do not wrap there. */
#define BLOCK_COLUMNS ((size_t)110)

/* Indents on a terminal: of paragraphs, and of the lines below them. */
enum { INDENT = 2, FURTHER = 4 };

/* ---- Placeholders ---- */

/* Bytes of the expression at the start of the view, up to its closing brace; a brace in a quoted text does not count. */
static size_t measure_expression(struct wo_view text) {
  bool is_quoted = false;
  for (size_t i = 0; i < text.len; i++) {
    if (is_quoted && text.ptr[i] == '\\') {
      i++;
      continue;
    }
    if (text.ptr[i] == '"') is_quoted = !is_quoted;
    if (text.ptr[i] == '}' && !is_quoted) return i;
  }
  return text.len;
}

static bool is_name_byte(char c) {
  return wo_is_word(c) || c == '.';
}

/* The length of a prefix that is left out, if a name starts here; 0 for none. */
static size_t skip_prefix(struct wo_view text, size_t at) {
  static const char *const prefixes[] = {"oom.", "gpu.", "config."};
  if (at > 0 && is_name_byte(text.ptr[at - 1])) return 0;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    const size_t len = strlen(prefixes[i]);
    if (text.len - at > len && memcmp(text.ptr + at, prefixes[i], len) == 0) return len;
  }
  return 0;
}

/* Whether an expression chooses between texts of the rule's own. */
static bool is_choice(struct wo_view expression) {
  return memchr(expression.ptr, '"', expression.len) != NULL;
}

/* Dots for a choice; several in a row are one. */
static void add_choice(struct wo_text *out) {
  const bool has_dots = out->len >= 3 && memcmp(out->ptr + out->len - 3, "...", 3) == 0;
  if (!has_dots) wo_text_add(out, "...");
}

/* An expression without its format, between angle brackets. */
static void add_placeholder(struct wo_text *out, struct wo_view expression) {
  if (is_choice(expression)) {
    add_choice(out);
    return;
  }
  const char *const colon = memchr(expression.ptr, ':', expression.len);
  if (colon) expression.len = (size_t)(colon - expression.ptr);
  wo_text_add(out, "<");
  for (size_t i = 0; i < expression.len; i++) {
    i += skip_prefix(expression, i);
    wo_text_add_view(out, wo_view_sub(expression, i, i + 1));
  }
  wo_text_add(out, ">");
}

/* Takes the next piece of a template off *rest: a placeholder without its braces, or one literal byte. True for a placeholder. */
static bool take_piece(struct wo_view *rest, enum wo_doc_sort sort, struct wo_view *ret_piece) {
  assert(rest->len > 0);
  const char c = rest->ptr[0];
  const bool is_brace = sort == WO_DOC_TEMPLATE && (c == '{' || c == '}');
  if (is_brace && c == '{' && rest->len > 1 && rest->ptr[1] != '{') {
    const size_t len = measure_expression(wo_view_sub(*rest, 1, rest->len));
    *ret_piece = wo_view_sub(*rest, 1, len + 1);
    *rest = wo_view_sub(*rest, len + 2, rest->len);
    return true;
  }
  const bool is_doubled = is_brace && rest->len > 1 && rest->ptr[1] == c;
  *ret_piece = wo_view_sub(*rest, 0, 1);
  *rest = wo_view_sub(*rest, is_doubled ? 2 : 1, rest->len);
  return false;
}

static void add_unescaped(struct wo_text *out, enum wo_doc_sort sort, struct wo_view text) {
  while (text.len > 0) {
    struct wo_view piece;
    if (take_piece(&text, sort, &piece)) {
      add_placeholder(out, piece);
    } else {
      wo_text_add_view(out, piece);
    }
  }
}

/* ---- Markdown ---- */

/* Whether a byte would be read as markup. An underscore within a word is none; marks of a list or a heading are markup only at
 * the start of a block. */
static bool is_markup(char before, char c, char behind) {
  if (c == '_') return !is_name_byte(before) || !is_name_byte(behind) || before == '_' || behind == '_';
  if (before == '\0' && strchr("#+->", c)) return true;
  return strchr("\\*<[]~$|", c) != NULL;
}

/* Placeholders are code, unless the text is within code already. Two spans of code need something between them. */
static void add_markdown(struct wo_text *out, enum wo_doc_sort sort, struct wo_view text) {
  bool is_code = false;
  char before = '\0';
  while (text.len > 0) {
    struct wo_view piece;
    if (take_piece(&text, sort, &piece)) {
      const bool is_span = !is_code && !is_choice(piece);
      if (is_span) wo_text_add(out, before == '`' ? " `" : "`");
      add_placeholder(out, piece);
      if (is_span) wo_text_add(out, "`");
      before = is_span ? '`' : '.';
      continue;
    }
    const char c = piece.ptr[0];
    if (c == '`') is_code = !is_code;
    if (!is_code && c != '`' && is_markup(before, c, text.len > 0 ? text.ptr[0] : ' ')) wo_text_add(out, "\\");
    wo_text_add(out, "%c", c == '\n' ? ' ' : c);
    before = c;
  }
}

/* ---- Pieces ---- */

static struct wo_view scratch_view(const struct wo_doc *doc) {
  return (struct wo_view){doc->scratch.ptr, doc->scratch.len};
}

/* If the scratch text failed, the page would have a hole: it fails too. */
static void wrap_scratch(struct wo_doc *doc, size_t indent, size_t width) {
  if (doc->scratch.is_failed) doc->out->is_failed = true;
  if (doc->scratch.len > 0) wo_text_wrap(doc->out, scratch_view(doc), indent, width);
}

/* The bullet is in the indent of the first line. */
static void wrap_item(struct wo_doc *doc) {
  const size_t start = doc->out->len;
  wrap_scratch(doc, FURTHER, doc->width);
  if (doc->out->len > start + INDENT) doc->out->ptr[start + INDENT] = '-';
}

void wo_doc_done(struct wo_doc *doc) {
  if (doc != NULL) wo_text_done(&doc->scratch);
}

/* One empty line separates blocks of Markdown. */
static void part(struct wo_doc *doc) {
  const struct wo_text *const out = doc->out;
  if (out->len < 2 || out->ptr[out->len - 1] != '\n' || out->ptr[out->len - 2] != '\n') wo_text_add(doc->out, "\n");
}

void wo_doc_title(struct wo_doc *doc, const char *sort, struct wo_view id) {
  assert(doc != NULL && sort != NULL);
  if (doc->form == WO_DOC_TEXT) {
    wo_text_add(doc->out, "%s %.*s\n", sort, WO_SHOWN(id));
  } else {
    wo_text_add(doc->out, "# %.*s (%s)\n", WO_SHOWN(id), sort);
  }
}

void wo_doc_section(struct wo_doc *doc, const char *name) {
  assert(doc != NULL && name != NULL);
  part(doc);
  wo_text_add(doc->out, doc->form == WO_DOC_TEXT ? "%s\n" : "## %s\n\n", name);
}

/* Some readers of Markdown need an empty line between a label and its list. */
void wo_doc_label(struct wo_doc *doc, const char *label) {
  assert(doc != NULL && label != NULL);
  if (doc->form == WO_DOC_MARKDOWN) part(doc);
  wo_text_add(doc->out, doc->form == WO_DOC_TEXT ? "  %s:\n" : "%s:\n\n", label);
}

void wo_doc_paragraph(struct wo_doc *doc, enum wo_doc_sort sort, struct wo_view text) {
  assert(doc != NULL);
  if (text.len == 0) return;
  if (doc->form == WO_DOC_MARKDOWN) {
    part(doc);
    add_markdown(doc->out, sort, text);
    wo_text_add(doc->out, "\n");
    return;
  }
  doc->scratch.len = 0;
  add_unescaped(&doc->scratch, sort, text);
  wrap_scratch(doc, INDENT, doc->width);
}

void wo_doc_item(struct wo_doc *doc, const char *lead, enum wo_doc_sort sort, struct wo_view text) {
  assert(doc != NULL && lead != NULL);
  if (text.len == 0) return;
  const char *const colon = lead[0] != '\0' ? ": " : "";
  if (doc->form == WO_DOC_MARKDOWN) {
    wo_text_add(doc->out, "- %s%s", lead, colon);
    add_markdown(doc->out, sort, text);
    wo_text_add(doc->out, "\n");
    return;
  }
  doc->scratch.len = 0;
  wo_text_add(&doc->scratch, "%s%s", lead, colon);
  add_unescaped(&doc->scratch, sort, text);
  wrap_item(doc);
}

void wo_doc_link(struct wo_doc *doc, const char *folder, struct wo_view id, enum wo_doc_sort sort, struct wo_view text) {
  assert(doc != NULL && folder != NULL);
  const char *const colon = text.len > 0 ? ": " : "";
  if (doc->form == WO_DOC_MARKDOWN) {
    wo_text_add(doc->out, "- [%.*s](../%s/%.*s.md)%s", WO_SHOWN(id), folder, WO_SHOWN(id), colon);
    add_markdown(doc->out, sort, text);
    wo_text_add(doc->out, "\n");
    return;
  }
  doc->scratch.len = 0;
  wo_text_add(&doc->scratch, "%.*s%s", WO_SHOWN(id), colon);
  add_unescaped(&doc->scratch, sort, text);
  wrap_item(doc);
}

void wo_doc_row(struct wo_doc *doc, const char *folder, struct wo_view id, struct wo_view template_, struct wo_view plain) {
  assert(doc != NULL && doc->form == WO_DOC_MARKDOWN);
  wo_text_add(doc->out, "| [%.*s](%s/%.*s.md) | ", WO_SHOWN(id), folder, WO_SHOWN(id));
  add_markdown(doc->out, WO_DOC_TEMPLATE, template_);
  wo_text_add(doc->out, " | ");
  add_markdown(doc->out, WO_DOC_PLAIN, plain);
  wo_text_add(doc->out, " |\n");
}

/* Four backticks: the text in the block may have three. */
void wo_doc_block_start(struct wo_doc *doc) {
  assert(doc != NULL);
  if (doc->form == WO_DOC_TEXT) return;
  part(doc);
  wo_text_add(doc->out, "````text\n");
}

void wo_doc_block_end(struct wo_doc *doc) {
  assert(doc != NULL);
  if (doc->form == WO_DOC_MARKDOWN) wo_text_add(doc->out, "````\n");
}

/* The longest start of a line that is no wider than `columns`; characters stay whole. */
static struct wo_view cut_line(struct wo_view text, size_t columns) {
  if (wo_text_columns(text) <= columns) return text;
  size_t len = 0;
  for (size_t used = 0; len < text.len;) {
    size_t next = len + 1;
    while (next < text.len && ((unsigned char)text.ptr[next] & 0xC0) == 0x80) next++;
    used += wo_text_columns(wo_view_sub(text, len, next));
    if (used > columns) break;
    len = next;
  }
  return wo_view_sub(text, 0, len);
}

void wo_doc_block_line(struct wo_doc *doc, enum wo_doc_sort sort, struct wo_view text, enum wo_doc_fit fit) {
  assert(doc != NULL && doc->width > FURTHER + 4);
  const size_t indent = doc->form == WO_DOC_TEXT ? FURTHER : 0;
  const size_t width = doc->form == WO_DOC_TEXT ? doc->width : BLOCK_COLUMNS;
  doc->scratch.len = 0;
  add_unescaped(&doc->scratch, sort, text);
  if (fit == WO_DOC_WRAP) {
    wrap_scratch(doc, indent, width);
    return;
  }
  if (doc->scratch.is_failed) doc->out->is_failed = true;
  const struct wo_view whole = scratch_view(doc);
  const bool is_whole = fit == WO_DOC_WHOLE || wo_text_columns(whole) <= width - indent;
  const struct wo_view shown = is_whole ? whole : cut_line(whole, width - indent - 4);
  wo_text_repeat(doc->out, ' ', indent);
  wo_text_add(doc->out, "%.*s%s\n", WO_SHOWN(shown), shown.len < whole.len ? " ..." : "");
}
