/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of lines. See page.h. */
#include "parsers/base/output/page.h"

#include <assert.h>

#include "parsers/base/clean.h"

enum { BAR_INDENT = 2 };

/* ANSI codes of the tints, from the eight colours that every terminal has. */
static const char *const tint_codes[] = {
    [WO_TINT_PLAIN] = "",         [WO_TINT_ERROR] = "\033[1;31m", [WO_TINT_PLACE] = "\033[36m",  [WO_TINT_FIX] = "\033[32m",
    [WO_TINT_STRONG] = "\033[1m", [WO_TINT_FAINT] = "\033[2m",    [WO_TINT_GOOD] = "\033[1;32m", [WO_TINT_WARNING] = "\033[1;33m",
};
_Static_assert(sizeof tint_codes / sizeof *tint_codes == WO_TINT_COUNT_, "one code per tint");

void wo_page_tint(const struct wo_page *page, enum wo_tint tint) {
  assert(page != NULL && (size_t)tint < WO_TINT_COUNT_);
  if (page->style.use_color) wo_text_add_view(page->out, wo_view_of(tint_codes[tint]));
}

void wo_page_plain(const struct wo_page *page) {
  if (page->style.use_color) wo_text_add_view(page->out, WO_VIEW("\033[0m"));
}

/* Codes enclose the text tightly: a tint that is still on at the end of a line colours the rest of the terminal. */
void wo_page_put(const struct wo_page *page, enum wo_tint tint, struct wo_view view) {
  const bool is_tinted = tint != WO_TINT_PLAIN && view.len > 0;
  if (is_tinted) wo_page_tint(page, tint);
  wo_text_add_view(page->out, view);
  if (is_tinted) wo_page_plain(page);
}

/* Blanks at the end of a line are taken back first, so that callers may write separators before they know what follows. */
void wo_page_break(const struct wo_page *page, size_t indent) {
  struct wo_text *const out = page->out;
  assert(out != NULL && indent < page->style.width);
  while (out->len > 0 && out->ptr[out->len - 1] == ' ') out->len--;
  wo_text_repeat(out, '\n', 1);
  wo_text_repeat(out, ' ', indent);
}

static size_t first_word_columns(struct wo_view text) {
  return wo_text_columns(wo_view_cut(&text, ' '));
}

/* The first word moves to a new line when it fits there and not here. A word that fits nowhere is cut where it is: a new line
 * would only waste the old one. */
size_t wo_page_flow(const struct wo_page *page, size_t column, size_t indent, enum wo_tint tint, struct wo_view text) {
  assert(indent + 2 <= page->style.width);
  const size_t width = page->style.width;
  const size_t word = first_word_columns(text);
  if (column > indent && (column + 2 > width || (column + word > width && indent + word <= width))) {
    wo_page_break(page, indent);
    column = indent;
  }
  for (struct wo_view rest = text; rest.len > 0;) {
    const struct wo_view line = wo_text_take_line(&rest, width - column);
    wo_page_put(page, tint, line);
    column += wo_text_columns(line);
    if (rest.len == 0) break;
    wo_page_break(page, indent);
    column = indent;
  }
  return column;
}

/* An item that is longer than a line is cut as by flow, from a line of its own. */
size_t wo_page_item(const struct wo_page *page, size_t column, size_t indent, enum wo_tint tint, struct wo_view text) {
  assert(column >= indent);
  if (text.len == 0) return column;
  if (column > indent && column + 2 + wo_text_columns(text) > page->style.width) {
    wo_page_break(page, indent);
    column = indent;
  } else if (column > indent) {
    wo_text_repeat(page->out, ' ', 2);
    column += 2;
  }
  return wo_page_flow(page, column, indent, tint, text);
}

static void put_cells(const struct wo_page *page, const struct wo_bar_part *part, size_t count) {
  if (count > 0 && part->tint != WO_TINT_PLAIN) wo_page_tint(page, part->tint);
  for (size_t i = 0; i < count; i++) wo_text_add_view(page->out, part->fill);
  if (count > 0 && part->tint != WO_TINT_PLAIN) wo_page_plain(page);
}

void wo_page_bar(const struct wo_page *page, const struct wo_bar_part *parts, size_t count, size_t cells) {
  size_t used = 0;
  wo_text_repeat(page->out, ' ', BAR_INDENT);
  wo_text_add(page->out, "[");
  for (size_t i = 0; i < count; i++) {
    const size_t room = cells - used;
    const size_t drawn = parts[i].cells < room ? parts[i].cells : room;
    put_cells(page, &parts[i], drawn);
    used += drawn;
  }
  wo_text_repeat(page->out, ' ', cells - used);
  wo_text_add(page->out, "]\n");
}

/* ---- The seal ---- */

/* Length of a code for a colour as pages and charts write it at the front of a text: ESC [, an optional "1;", a colour from 31 to
 * 36 or one of 0, 1 and 2, m. Codes that hide text or move the cursor are none. 0: another text. */
static size_t tint_length(struct wo_view text) {
  size_t at = 2;
  if (!wo_view_starts(text, "\033[")) return 0;
  if (wo_view_starts(wo_view_skip(text, at), "1;3")) at += 2;
  const struct wo_view rest = wo_view_sub(text, at, at + 3);
  const bool is_color = rest.len == 3 && rest.ptr[0] == '3' && rest.ptr[1] >= '1' && rest.ptr[1] <= '6' && rest.ptr[2] == 'm';
  const bool is_weight = at == 2 && rest.len >= 2 && rest.ptr[0] >= '0' && rest.ptr[0] <= '2' && rest.ptr[1] == 'm';
  return is_color ? at + 3 : is_weight ? at + 2 : 0;
}

static bool is_plain(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\t';
}

/* Bytes of printable ASCII, line feeds and tabs at the front of a text. */
static size_t plain_length(struct wo_view text) {
  size_t len = 0, stop = 0;
  while (len == stop && len < text.len) {
    len = wo_clean_printable_until(text, len);
    stop = text.len - len < sizeof(uint64_t) ? text.len : len + sizeof(uint64_t);
    while (len < stop && is_plain(text.ptr[len])) len++;
  }
  return len;
}

/* The next piece of a text that has one form: plain bytes, or one character or code. *ret_shown is what may be written. */
static size_t seal_piece(struct wo_view rest, bool use_color, struct wo_view *ret_shown) {
  size_t read = plain_length(rest);
  if (read == 0 && use_color) read = tint_length(rest);
  *ret_shown = wo_view_sub(rest, 0, read);
  if (read == 0) *ret_shown = wo_clean_character(rest, &read);
  return read;
}

/* Copied from the first piece on that must not be written; most texts have none. */
void wo_page_seal(struct wo_text *text, bool use_color) {
  assert(text != NULL);
  struct wo_text sealed = {0};
  const struct wo_view all = {text->ptr, text->len};
  bool is_changed = false;
  for (size_t at = 0; at < all.len && !text->is_exact;) {
    struct wo_view shown;
    const size_t read = seal_piece(wo_view_skip(all, at), use_color, &shown);
    if (!is_changed && shown.ptr != all.ptr + at) {
      is_changed = true;
      wo_text_add_view(&sealed, wo_view_sub(all, 0, at));
    }
    if (is_changed) wo_text_add_view(&sealed, shown);
    at += read;
  }
  if (!is_changed) return;
  sealed.is_failed = sealed.is_failed || text->is_failed;
  wo_text_done(text);
  *text = sealed;
}
