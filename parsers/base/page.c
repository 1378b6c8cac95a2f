/* Pages: text laid out in lines of a given width, with tints and hanging indents.
 *
 * A page keeps no state of its own: the column is passed in and handed back, so that a writer sees where it stands and a test can
 * start anywhere.
 *
 * In: views. Out: lines that are no wider than the style's width. Knows nothing of reports. Escape codes never span a line break,
 * so that a report can be cut, paged and searched line by line. */
#include <assert.h>

#include "analyzer/report/report_text.h"

/* ANSI codes of the tints, from the eight colours that every terminal has. */
static const char *const tint_codes[] = {
    [WO__TINT_PLAIN] = "",       [WO__TINT_ERROR] = "\033[1;31m", [WO__TINT_PLACE] = "\033[36m",
    [WO__TINT_FIX] = "\033[32m", [WO__TINT_STRONG] = "\033[1m",   [WO__TINT_FAINT] = "\033[2m",
};
_Static_assert(sizeof tint_codes / sizeof *tint_codes == WO__TINT_COUNT_, "one code per tint");

/* Codes stand tight around the text: a tint that is still on at the end of a line colours the rest of the terminal. */
void wo__page_put(const struct wo__page *page, enum wo__tint tint, struct wo_view view) {
  assert(page != NULL && (size_t)tint < WO__TINT_COUNT_);
  const bool is_tinted = page->style.use_color && tint != WO__TINT_PLAIN && view.len > 0;
  if (is_tinted) wo_text_add_view(page->out, wo_view_of(tint_codes[tint]));
  wo_text_add_view(page->out, view);
  if (is_tinted) wo_text_add_view(page->out, WO_VIEW("\033[0m"));
}

/* Blanks at the end of a line are taken back first, so that callers may write separators before they know what follows. */
void wo__page_break(const struct wo__page *page, size_t indent) {
  struct wo_text *const out = page->out;
  assert(out != NULL && indent < page->style.width);
  while (out->len > 0 && out->ptr[out->len - 1] == ' ') out->len--;
  wo_text_repeat(out, '\n', 1);
  wo_text_repeat(out, ' ', indent);
}

/* Columns of the text up to its first blank. */
static size_t first_word_columns(struct wo_view text) {
  return wo_text_columns(wo_view_cut(&text, ' '));
}

/* The first word moves to a new line when it fits there and not here. A word that fits nowhere is cut where it stands: a new line
 * would only waste the old one. */
size_t wo__page_flow(const struct wo__page *page, size_t column, size_t indent, enum wo__tint tint, struct wo_view text) {
  assert(indent + 2 <= page->style.width);
  const size_t width = page->style.width;
  const size_t word = first_word_columns(text);
  if (column > indent && (column + 2 > width || (column + word > width && indent + word <= width))) {
    wo__page_break(page, indent);
    column = indent;
  }
  for (struct wo_view rest = text; rest.len > 0;) {
    const struct wo_view line = wo_text_take_line(&rest, width - column);
    wo__page_put(page, tint, line);
    column += wo_text_columns(line);
    if (rest.len == 0) break;
    wo__page_break(page, indent);
    column = indent;
  }
  return column;
}

/* An item that is longer than a line is cut as by flow, from a line of its own. */
size_t wo__page_item(const struct wo__page *page, size_t column, size_t indent, enum wo__tint tint, struct wo_view text) {
  assert(column >= indent);
  if (text.len == 0) return column;
  if (column > indent && column + 2 + wo_text_columns(text) > page->style.width) {
    wo__page_break(page, indent);
    column = indent;
  } else if (column > indent) {
    wo_text_repeat(page->out, ' ', 2);
    column += 2;
  }
  return wo__page_flow(page, column, indent, tint, text);
}
