/* SPDX-License-Identifier: Apache-2.0 */
/* Writing SVG: text of any bytes, numbers, rectangles and step lines. It knows nothing about memory. */
#ifndef WO_SVG_H
#define WO_SVG_H

#include <stddef.h>

#include "parsers/base/text.h"

/* Appends text as XML character data that is also safe in attributes: markup escaped; control bytes, invalid UTF-8, characters
 * that XML forbids and those that are not seen (wo_clean_is_hidden) become U+FFFD. Cut to max_chars characters, of which the last
 * is then an ellipsis. */
void wo_svg_escape(struct wo_text *out, struct wo_view text, size_t max_chars);

/* Appends a coordinate with at most one decimal ("12.5", "7"). Finite values only. */
void wo_svg_number(struct wo_text *out, double value);

/* Appends a form in which each '@' stands for the next of the numbers, written as a coordinate, and '$' for the CSS classes. */
void wo_svg_add(struct wo_text *out, const char *form, const char *classes, const double *numbers);

/* Appends <text> at x, y with CSS classes. Escapes and cuts as wo_svg_escape. */
void wo_svg_text(struct wo_text *out, double x, double y, const char *classes, struct wo_view text, size_t max_chars);

/* Appends <rect> with CSS classes. */
void wo_svg_rect(struct wo_text *out, double x, double y, double width, double height, const char *classes);

/* Appends a straight <path> from one point to another with CSS classes. */
void wo_svg_line(struct wo_text *out, double x1, double y1, double x2, double y2, const char *classes);

/* Steps: values that hold from x[i] to x[i + 1]. Appends path commands "M.. H.. V..", forwards (count + 1 x, count y); equal
 * neighbours are joined. `wo_svg_steps_back` continues backwards from the right end, for areas between two lines. */
void wo_svg_steps(struct wo_text *out, const double *x, const double *y, size_t count);
void wo_svg_steps_back(struct wo_text *out, const double *x, const double *y, size_t count);

/* The approximate width in pixels of a text in the page's 12 px font. */
double wo_svg_text_width(struct wo_view text);

#endif
