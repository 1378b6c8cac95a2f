/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the Markdown of one job. Private to analyzer/document/, and to tests. */
#ifndef WO_MARKDOWN_INTERNAL_H
#define WO_MARKDOWN_INTERNAL_H

#include "analyzer/screen/screen.h"
#include "analyzer/story/story.h"
#include "parsers/base/output/markdown.h"

struct wo__markdown {
  struct wo_text *out;
  const struct wo_report *report;
  const struct wo_screen *screen;
  const struct wo_event_store *events;
  const struct wo_event *where; /* the event of the diagnosis, or NULL */
  struct wo_text scratch;       /* for one item at a time */
};

/* Empties the scratch text and returns it / returns its content. */
struct wo_text *wo__markdown_start(struct wo__markdown *m);
struct wo_view wo__markdown_scratch(const struct wo__markdown *m);

/* Adds `before`, the text as words / as code, and `after`; the two are Markdown. */
void wo__markdown_put(struct wo__markdown *m, const char *before, struct wo_view text, const char *after);
void wo__markdown_put_code(struct wo__markdown *m, const char *before, struct wo_view text, const char *after);

/* Adds "slurm-4711.err:12" of an event. */
void wo__markdown_place(struct wo_text *text, const struct wo__markdown *m, const struct wo_event *event);

/* Adds everything behind the first screen, in boxes that can be opened. */
void wo__markdown_details(struct wo__markdown *m);

#endif
