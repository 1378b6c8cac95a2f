/* SPDX-License-Identifier: Apache-2.0 */
/* HTML pages of one file that needs nothing else: escaping, the head with its policy, and the style and script that all pages
 * share.
 *
 * Logs are hostile: every text from outside goes through wo_html_text, whatever it is. A page allows its styles and scripts by
 * their hashes and nothing else, so that even a text that slipped through could not run; there are no style or event attributes
 * for that reason. */
#ifndef WO_HTML_H
#define WO_HTML_H

#include "parsers/base/text.h"

/* The content of a style or script element, and its hash ("sha256-..."). tests/support/html_page.h says which it must be. */
struct wo_html_part {
  struct wo_view text;
  const char *hash;
};

/* Colours, type, tables, boxes; / the button between light and dark, which is the element of the id "theme" and hidden without
 * the script. */
extern const struct wo_html_part wo_html_style;
extern const struct wo_html_part wo_html_script;

/* Adds a text as HTML shows it, in an element or in a quoted attribute: markup and quotes as entities, control characters as
 * blanks, and what would be hidden or turn the order of characters as U+FFFD. */
void wo_html_text(struct wo_text *out, struct wo_view text);

/* Adds `before`, the text as above, and `after`; the two are markup. */
void wo_html_put(struct wo_text *out, const char *before, struct wo_view text, const char *after);

/* Adds everything before the content of the body. `style` and `script` are the page's own, beside the shared ones. */
void wo_html_begin(struct wo_text *out, struct wo_view title, const struct wo_html_part *style,
                   const struct wo_html_part *script);

/* Adds the scripts, and everything behind the content of the body. */
void wo_html_end(struct wo_text *out, const struct wo_html_part *script);

#endif
