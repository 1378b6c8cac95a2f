/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to standard error: one line each, "whyoom: PLACE: TEXT". A function that has something to report adds it to a text,
 * which main.c prints. Names and texts out of files lose their control characters. */
#ifndef WO_MESSAGE_H
#define WO_MESSAGE_H

#include "parsers/base/status.h"
#include "parsers/base/text.h"

/* Adds a line; `place` (a path, a setting) may be empty. Lines are cut at 2 KiB. */
void wo_message(struct wo_text *errors, struct wo_view place, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a line for an error, with the known parts of its own place, or with `path` (which may be empty) if it has none. An error
 * without words is reported by its status. */
void wo_message_error(struct wo_text *errors, struct wo_view path, const struct wo_err *err);

#endif
