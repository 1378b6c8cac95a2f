/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: pages about rules, written as wrapped text for a terminal or as Markdown for a folder.
 *
 * The caller names the kind of each piece (a section, an item, a condition), and the form decides how it looks, so both forms
 * have the same content. No function returns an error: when memory is out, `out` is failed (is_failed). */
#ifndef WO_DOC_H
#define WO_DOC_H

#include "analyzer/report/report.h"
#include "rules/language/expr.h"

enum wo_doc_form { WO_DOC_TEXT, WO_DOC_MARKDOWN };

/* The kind of a text: PLAIN is shown unchanged, TEMPLATE has expressions in braces. There is no job to fill them from, so they
 * are shown as <tried>, without the prefixes "oom.", "gpu." and "config."; one that chooses between texts is shown as "...". */
enum wo_doc_sort { WO_DOC_PLAIN, WO_DOC_TEMPLATE };

struct wo_doc {
  struct wo_text *out; /* borrowed */
  enum wo_doc_form form;
  size_t width;           /* columns of TEXT, more than 8; MARKDOWN has no width */
  struct wo_text scratch; /* one piece at a time; starts as {0} */
};

/* Frees the scratch text; `out` stays. */
void wo_doc_done(struct wo_doc *doc);

/* "cause fragmentation" / "# fragmentation (cause)". */
void wo_doc_title(struct wo_doc *doc, const char *sort, struct wo_view id);

/* A heading of the second order. */
void wo_doc_section(struct wo_doc *doc, const char *name);

/* A line that names the items below it. */
void wo_doc_label(struct wo_doc *doc, const char *label);

/* A paragraph; nothing for an empty text. */
void wo_doc_paragraph(struct wo_doc *doc, enum wo_doc_sort sort, struct wo_view text);

/* An item of a list; "lead: text", or the text alone for a lead of "". Nothing for an empty text. */
void wo_doc_item(struct wo_doc *doc, const char *lead, enum wo_doc_sort sort, struct wo_view text);

/* An item that names another page: id, which is a link to `folder`/id.md in Markdown, and a text, which may be empty. */
void wo_doc_link(struct wo_doc *doc, const char *folder, struct wo_view id, enum wo_doc_sort sort, struct wo_view text);

/* The row of an index in Markdown: link, first text, second text. */
void wo_doc_row(struct wo_doc *doc, const char *folder, struct wo_view id, struct wo_view template_, struct wo_view plain);

/* Unchanged lines, between wo_doc_block_start and wo_doc_block_end. */
void wo_doc_block_start(struct wo_doc *doc);
void wo_doc_block_end(struct wo_doc *doc);

/* A line that is wider than the page is broken at blanks, cut with dots, or left whole, to be pasted. */
enum wo_doc_fit { WO_DOC_WRAP, WO_DOC_CUT, WO_DOC_WHOLE };

/* A line of a block. */
void wo_doc_block_line(struct wo_doc *doc, enum wo_doc_sort sort, struct wo_view text, enum wo_doc_fit fit);

#endif
