/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the HTML page of one job. Private to analyzer/document/, and to tests.
 *
 * The page is read from top to bottom: the first screen, then what it rests on. Ids of its sections are for links from outside:
 * verdict, card, change, others, next, evidence, memory, ranks, fixes, fix-N, settings, findings, inputs, text. */
#ifndef WO_PAGE_INTERNAL_H
#define WO_PAGE_INTERNAL_H

#include "analyzer/screen/screen.h"
#include "analyzer/story/story.h"
#include "parsers/base/output/html.h"

/* The style sheet and the script, beside the shared ones. */
extern const struct wo_html_part wo__document_style, wo__document_script;

struct wo__html {
  struct wo_text *out;
  const struct wo_report *report;
  const struct wo_screen *screen;
  const struct wo_story *story;
  const struct wo_event_store *events;
  const struct wo_event *where; /* the event of the diagnosis, or NULL */
  struct wo_text scratch;       /* for one item at a time */
};

/* Empties the scratch text and returns it / adds its content between two pieces of markup. */
struct wo_text *wo__html_start(struct wo__html *h);
void wo__html_put_scratch(struct wo__html *h, const char *before, const char *after);

/* Adds a text with a part of it marked; the part is a view into the text, or empty. */
void wo__html_marked(struct wo_text *out, struct wo_view text, struct wo_view part);

/* Adds "slurm-4711.err:12" of an event. */
void wo__html_place(struct wo_text *text, const struct wo__html *h, const struct wo_event *event);

/* Adds a button that copies a text, which is hidden without the script. */
void wo__html_copy(struct wo_text *out, struct wo_view text);

/* Whether an event has a role in the story. */
bool wo__html_has_role(const struct wo__html *h, size_t event_index, enum wo_role role);

/* A list of sentences of the report: each with its label. Nothing for none. */
void wo__html_statements(struct wo__html *h, enum wo_report_part part);

/* Parts of the page, in order. */
void wo__html_screen(struct wo__html *h);
void wo__html_card(struct wo__html *h, const struct wo_report_memory *memory);
void wo__html_evidence(struct wo__html *h);
void wo__html_memory(struct wo__html *h);
void wo__html_recording(struct wo__html *h); /* a part of memory */
void wo__html_ranks(struct wo__html *h);
void wo__html_lanes(struct wo__html *h);
void wo__html_fixes(struct wo__html *h);
void wo__html_settings(struct wo__html *h);
void wo__html_findings(struct wo__html *h);
void wo__html_inputs(struct wo__html *h);
void wo__html_whole(struct wo__html *h);

/* Whether there is anything to show in a part that jobs can lack. */
bool wo__html_has_memory(const struct wo__html *h);
bool wo__html_has_ranks(const struct wo__html *h);
bool wo__html_has_settings(const struct wo__html *h);
bool wo__html_has_findings(const struct wo__html *h);

/* Adds the reasons for and against a finding, and what would settle it / a fix with everything that is known of it, in a box that
 * can be opened; `id` is its place in the page, or NULL. */
void wo__html_reasons(struct wo__html *h, const struct wo_finding *finding);
void wo__html_fix(struct wo__html *h, const struct wo_finding_fix *fix, size_t number, bool has_place);

#endif
