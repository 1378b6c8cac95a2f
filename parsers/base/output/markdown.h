/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown as GitHub and GitLab show it, with texts from outside in it.
 *
 * Logs are hostile: what they say becomes no markup, no link, no mention of a person or of another ticket, and cannot end the
 * code that it stands in. Everything is on one line, as wo_clean_utf8 shows it. */
#ifndef WO_MARKDOWN_H
#define WO_MARKDOWN_H

#include "parsers/base/text.h"

/* Adds a text as words of a paragraph, an item or a cell. Characters that would begin a mention or a link get a mark of no width
 * (&#8203;) behind them, because these are found in the text that is shown. */
void wo_markdown_text(struct wo_text *out, struct wo_view text);

/* Adds a text as code within a line; nothing for an empty one. In a cell of a table bars are escaped. */
void wo_markdown_code(struct wo_text *out, struct wo_view text, bool is_in_cell);

/* Adds lines as a block of code: its fence is longer than any in them. `language` may be "". */
void wo_markdown_block(struct wo_text *out, const char *language, struct wo_view lines);

#endif
