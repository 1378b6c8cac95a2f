/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the HTML writer. Its page is one file that needs nothing else (parsers/base/output/html.h). */
#ifndef WO_HTML_INTERNAL_H
#define WO_HTML_INTERNAL_H

#include "analyzer/table/table_sections.h"
#include "parsers/base/output/html.h"

/* The style sheet and the script, beside the shared ones. */
extern const struct wo_html_part wo__table_style, wo__table_script;

/* Adds the name of a job's page, from the path of its row: "job-0123456789abcdef". */
void wo__html_page_name(struct wo_text *out, struct wo_view path);

/* Parts of the page, in order. */
void wo__html_links(struct wo__table *table);
void wo__html_charts(struct wo__table *table);
void wo__html_sections(struct wo__table *table);
enum wo_status wo__html_jobs(struct wo__table *table);

#endif
