/* Messages that a console wrapped or a logger broke into lines: the lines are joined by a blank for as long as the pattern's
 * expression asks for more text, and matched again as one. Shared by the reader `joined` and by readers that work out more from
 * the same match. */
#ifndef WO_FMT_JOINED_H
#define WO_FMT_JOINED_H

#include "parsers/scan/format.h"

/* Called with the event of a complete message, its fields filled from the match. May be NULL. */
typedef void (*wo__joined_fn)(struct wo_scan *scan, struct wo_event *event, const struct wo_match *match);

/* The three steps of a reader (struct wo_format), with what is to be done with the event. */
enum wo_more wo__joined_begin(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                              struct wo_open *open, wo__joined_fn then);
enum wo_more wo__joined_feed(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open);
void wo__joined_finish(struct wo_scan *scan, struct wo_open *open, wo__joined_fn then);

/* Whether a line cannot belong to an open message: blank, a traceback, a launcher, a line of a logger when the message has no
 * time. `text` is the line without prefix and box. */
bool wo__joined_is_foreign(struct wo_view text, const struct wo_line *line, const struct wo_open *open);

#endif
