/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: text laid out in lines of a given width, with tints, hanging indents and bars. All writers of text for people use them.
 *
 * A page keeps no state of its own: the column is passed in and handed back, so that a writer sees where it is and a test can
 * start anywhere. Columns count from 0. Nothing here allocates but the text itself; when memory is out the text says so
 * (is_failed) and everything goes on as if it had been written. Escape codes never span a line break, so that a text can be cut,
 * paged and searched line by line. */
#ifndef WO_PAGE_H
#define WO_PAGE_H

#include "parsers/base/text.h"

/* The role of a stretch of text, for colouring. PLAIN writes no escape codes, and so does every tint when colours are off. */
enum wo_tint {
  WO_TINT_PLAIN,
  WO_TINT_ERROR,
  WO_TINT_PLACE,
  WO_TINT_FIX,
  WO_TINT_STRONG,
  WO_TINT_FAINT,
  WO_TINT_GOOD,
  WO_TINT_WARNING,
  WO_TINT_COUNT_
};

struct wo_page {
  struct wo_text *out;
  struct wo_text_style style;
};

/* Writes a view in a tint; no wrapping. */
void wo_page_put(const struct wo_page *page, enum wo_tint tint, struct wo_view view);

/* Starts a tint that holds until wo_page_plain, within a line. */
void wo_page_tint(const struct wo_page *page, enum wo_tint tint);
void wo_page_plain(const struct wo_page *page);

/* Ends the line and starts the next one at `indent`. Blanks at the end of the line are taken back. */
void wo_page_break(const struct wo_page *page, size_t indent);

/* Writes text from `column` on, wrapped to the width; further lines start at `indent`. Returns the column after it. */
size_t wo_page_flow(const struct wo_page *page, size_t column, size_t indent, enum wo_tint tint, struct wo_view text);

/* As wo_page_flow for one item of a row: items are two blanks apart and move to the next line as a whole when they can. */
size_t wo_page_item(const struct wo_page *page, size_t column, size_t indent, enum wo_tint tint, struct wo_view text);

/* One part of a bar. */
struct wo_bar_part {
  struct wo_view fill; /* of one column */
  enum wo_tint tint;
  size_t cells;
};

/* Writes "  [###...  ]" of `cells` columns between the brackets as a line: parts beyond them are cut, what they leave stays
 * blank. */
void wo_page_bar(const struct wo_page *page, const struct wo_bar_part *parts, size_t count, size_t cells);

/* Replaces everything in a finished text that a terminal would not show as it is: control characters but line feeds, tabs and our
 * own tints, and what wo_clean_is_hidden names. Writers clean the names and texts that they get; this holds for those that do
 * not. A text whose is_exact is set stays as it is. */
void wo_page_seal(struct wo_text *text, bool use_color);

#endif
