/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a Python exception: its class and its message. */
#ifndef WO_EXCEPTION_LINE_H
#define WO_EXCEPTION_LINE_H

#include "parsers/event/event.h"

/* Length of the exception's class at the start of text ("torch.OutOfMemoryError"), or 0. A class is a dotted name followed by ':'
 * or the end, whose last part looks like one. */
size_t wo_exception_class(struct wo_view text);

/* Whether the text has a letter: lines of dashes only divide. */
bool wo_exception_has_words(struct wo_view text);

/* Sets the message of an exception's event, cut: exceptions of torch.compile and of Ray hold whole programs or other tracebacks.
 */
void wo_exception_set_message(struct wo_event_store *store, struct wo_event *event, struct wo_view message);

#endif
