/* SPDX-License-Identifier: Apache-2.0 */
/* The report of one job as a document: an HTML page to look at and to keep, Markdown for tickets.
 *
 * In: the report and its first screen. Out: everything of both, in the words of the text report. No decisions are made here.
 * Texts of logs are data in both: they are escaped, never links, never code. */
#ifndef WO_DOCUMENT_H
#define WO_DOCUMENT_H

#include "analyzer/screen/screen.h"

/* Writes the page: one file that needs nothing else and can be read without its script. `screen` is of the report. Only failures
 * of memory are possible: out->is_failed. */
void wo_document_html(const struct wo_report *report, const struct wo_screen *screen, struct wo_text *out);

/* Writes Markdown as GitHub and GitLab show it: the first screen, and the rest in sections that can be opened. */
void wo_document_markdown(const struct wo_report *report, const struct wo_screen *screen, struct wo_text *out);

#endif
