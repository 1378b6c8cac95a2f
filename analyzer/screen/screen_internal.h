/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the first screen. Private to analyzer/screen/. */
#ifndef WO_SCREEN_INTERNAL_H
#define WO_SCREEN_INTERNAL_H

#include "analyzer/screen/screen.h"

/* One screen that is being made. Texts are built in `scratch` and kept in the arena. */
struct wo__screen_maker {
  const struct wo_report *report;
  const struct wo_story *story;
  const struct wo_event_store *events;
  const struct wo_event *where; /* the event of the diagnosis, or NULL */
  struct wo_view words;         /* the inputs on a command line, or empty */
  struct wo_arena *arena;
  struct wo_text scratch;
  struct wo_screen *screen;
};

/* Empties the scratch text and returns it / keeps its content. */
struct wo_text *wo__screen_start(struct wo__screen_maker *m);
struct wo_view wo__screen_keep(struct wo__screen_maker *m);

/* The value of a fact of the report. */
struct wo_value wo__screen_fact(const struct wo__screen_maker *m, const char *name);

/* A title in the middle of a sentence: without its capital letter, unless it begins with a name. */
struct wo_view wo__screen_lower(struct wo__screen_maker *m, struct wo_view title);

/* "run.sh:32" of an event: the name of its file without the folders. */
void wo__screen_add_place(const struct wo__screen_maker *m, struct wo_text *text, const struct wo_event *event);

/* The parts: the rows with their bar, quote and place / the fixes / what to do next. */
void wo__screen_rows(struct wo__screen_maker *m);
void wo__screen_fixes(struct wo__screen_maker *m);
void wo__screen_next(struct wo__screen_maker *m);

#endif
