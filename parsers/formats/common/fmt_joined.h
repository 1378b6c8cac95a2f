/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a console wrapped or a logger broke into lines: the lines are joined by a blank for as long as the pattern's
 * expression asks for more text, and matched again as one. Shared by the reader `joined` and by readers that compute more from
 * the same match. */
#ifndef WO_FMT_JOINED_H
#define WO_FMT_JOINED_H

#include "parsers/scan/format.h"

/* The state of a message that is being joined: the place of the match in its first line, and in the message the start and end of
 * the match, the length of the text that gave it, and of the prefix. */
struct wo_joined {
  size_t span_start, span_length;
  size_t match_start, match_end;
  size_t kept_length, prefix_length;
};

/* The constants of such a reader; without them the event is left as it is. */
struct wo_joined_as {
  /* Called with the event of a complete message, its fields filled from the match. */
  void (*complete)(struct wo_event_store *store, struct wo_event *event, const struct wo_match *match);
};

/* The three steps of a reader (struct wo_format) whose state is a struct wo_joined. */
enum wo_more wo__joined_begin(struct wo_open *open, const struct wo_match *match);
enum wo_more wo__joined_feed(struct wo_open *open);
void wo__joined_finish(struct wo_open *open);

/* Whether a line cannot belong to an open message: blank, a traceback, a launcher, a line of a logger when the message has no
 * time. `text` is the line without prefix and box. */
bool wo__joined_is_foreign(const struct wo_open *open, struct wo_view text);

#endif
