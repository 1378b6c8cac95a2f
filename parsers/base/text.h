/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text that every writer appends to, and the columns that text takes on a terminal.
 *
 * A text that cannot grow (memory, or the cap of WO_LIMIT_REPORT_BYTES) keeps what fitted and remembers that it failed, so that
 * writers need no check after each call. One text must not be used by two threads at once. */
#ifndef WO_TEXT_H
#define WO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/view.h"

/* How text is laid out. */
struct wo_text_style {
  size_t width;    /* columns; at least 40 */
  bool use_color;  /* ANSI colours */
  bool use_utf8;   /* box and bar characters; plain ASCII otherwise */
  bool is_verbose; /* everything in full */
};

/* A growing text, {0} when empty. When memory is out is_failed is set and the text is what fitted. */
struct wo_text {
  char *ptr;
  size_t len;
  size_t cap;
  bool is_failed;
  bool is_exact; /* written as it is, whatever it holds (wo_page_seal): a diff of the user's own files, or JSON, which is escaped */
};

/* Appends printf-formatted text / a view / `count` copies of a character. */
void wo_text_add(struct wo_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wo_text_add_view(struct wo_text *text, struct wo_view view);
void wo_text_repeat(struct wo_text *text, char c, size_t count);

/* Appends a name or text from outside (a path, a pack, a log) as it may be shown: one line, see wo_clean_utf8. */
void wo_text_add_clean(struct wo_text *text, struct wo_view raw);

/* Releases a text; NULL allowed. */
void wo_text_done(struct wo_text *text);

/* Columns that UTF-8 text takes on a terminal (combining marks 0, wide East Asian characters 2). */
size_t wo_text_columns(struct wo_view view);

/* Bytes of the first character of a non-empty view (1 for an invalid byte) and the columns it takes. */
size_t wo_text_char(struct wo_view view, size_t *ret_columns);

/* Takes the next line of at most `columns` columns off *rest: broken at a blank where there is one, else inside the word (after a
 * slash, if possible). Blanks at the break are dropped. `columns` must be at least 2. */
struct wo_view wo_text_take_line(struct wo_view *rest, size_t columns);

/* Adds a line for each part of text that fits width, every one indented; breaks at blanks only. */
void wo_text_wrap(struct wo_text *out, struct wo_view text, size_t indent, size_t width);

/* Writes text wrapped to `width` columns, each line ended: the first after `indent` blanks, further ones after `hanging`; both
 * leave room for two columns. Nothing for an empty text. */
void wo_text_flow(struct wo_text *out, struct wo_view text, size_t indent, size_t hanging, size_t width);

/* Writes a line that was built apart in the same way, and empties it. Its failure becomes that of `out`. */
void wo_text_end_line(struct wo_text *line, size_t indent, size_t hanging, size_t width, struct wo_text *out);

#endif
