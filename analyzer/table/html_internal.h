/* Parts of the HTML writer: one file that needs nothing else.
 *
 * Logs are hostile: every text from outside goes through wo__html_text, whatever it is. The page allows its own style and script
 * by their hashes and nothing else, so that even a text that slipped through could not run; there are no style or event
 * attributes for that reason. */
#ifndef WO_HTML_INTERNAL_H
#define WO_HTML_INTERNAL_H

#include "analyzer/table/table_sections.h"

/* The style sheet and the script, and the hashes by which the page allows them ("sha256-..."). */
extern const char *const wo__html_style[];
extern const size_t wo__html_style_count;
extern const char *const wo__html_script[];
extern const size_t wo__html_script_count;
extern const char wo__html_style_hash[], wo__html_script_hash[];

/* Adds a text as HTML shows it, in an element or in a quoted attribute. */
void wo__html_text(struct wo_text *out, struct wo_view text);

/* Adds the name of a job's page, from the path of its row: "job-0123456789abcdef". */
void wo__html_page_name(struct wo_text *out, struct wo_view path);
uint64_t wo__html_page_hash(struct wo_view path);

/* Parts of the page, in order. */
void wo__html_links(struct wo__table *table);
void wo__html_charts(struct wo__table *table);
void wo__html_sections(struct wo__table *table);
enum wo_status wo__html_jobs(struct wo__table *table);

#endif
