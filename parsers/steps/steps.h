/* Memory that programs print beside their steps, of one input: the forms that its lines have, and a series for each rank and
 * meaning. Most of a training log may be such lines, so the scanner hands them over without the detours of other readers; the
 * evidence is the same on both ways, because both end in wo_steps_take. */
#ifndef WO_STEPS_H
#define WO_STEPS_H

#include "parsers/scan/format.h"
#include "parsers/steps/steps_series.h"

struct wo_steps;

/* Whether a pattern's lines are read here: its reader is `steps`. */
bool wo_steps_is_pattern(const struct wo_pattern *pattern);

/* Reads a line, raw and without its line end, in which a literal of `pattern` stands. A line that was the last one to be taken is
 * taken already (wo_steps_match_again). `number` counts lines from 1, `offset` is the place in the input. False when memory is
 * out. `*steps` is made when it is NULL. */
bool wo_steps_take(struct wo_steps **steps, const struct wo_pattern *pattern, struct wo_view line, uint64_t number,
                   uint64_t offset);

/* Another pattern with a literal in the line that was taken last: the series that it began are evidence of the one that stands
 * first in the packs, whichever literal was met first. */
void wo_steps_match_again(struct wo_steps *steps, const struct wo_pattern *pattern);

/* As wo_steps_take for the line at the start of `text`, when it is one like the last ones and the literal, at `hit` in the text,
 * stands in it: its length, or 0, and then nothing happened. The line ends inside of the text, at a line end. *ret_is_out: memory
 * is out. */
size_t wo_steps_take_like(struct wo_steps *steps, const struct wo_pattern *pattern, struct wo_view text, size_t hit,
                          uint64_t number, uint64_t offset, bool *ret_is_out);

/* Adds a reading that was made otherwise: a row of a table. False when memory is out. */
bool wo_steps_take_row(struct wo_steps **steps, const struct wo_pattern *pattern, const struct wo_steps_reading *reading,
                       const struct wo_steps_place *place);

/* Frees it; NULL allowed; returns NULL. */
struct wo_steps *wo_steps_free(struct wo_steps *steps);

/* Turns the series into evidence, one event for each. Call once, at the end of the input. */
void wo__steps_emit(struct wo_scan *scan);

#endif
