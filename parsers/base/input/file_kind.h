/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold no text of a log, known by their first bytes: named as what they are, with what to do instead. */
#ifndef WO_FILE_KIND_H
#define WO_FILE_KIND_H

#include <stdbool.h>

#include "parsers/base/view.h"

/* Bytes that decide: of a shorter input fewer are enough. */
enum { WO_FILE_KIND_BYTES = 40 };

struct wo_file_kind {
  const char *name;   /* "a zip archive" */
  const char *advice; /* "`unzip -p FILE | whyoom` if it holds logs" */
};

/* The kind of a file that begins with these bytes; NULL for text, for what whyoom expands itself, and for all that it does not
 * know. Static. */
const struct wo_file_kind *wo_file_kind(struct wo_view front);

/* Whether the beginning of a file is no text: many control characters that logs do not contain, short runs of NUL, or bytes that
 * are no UTF-8. Long runs of NUL are in logs whose last blocks were lost with their node, and logs in other encodings are mostly
 * ASCII. */
bool wo_file_is_binary(struct wo_view front);

/* Whether there is nothing to see in a text: blanks, NULs and other control characters, escape sequences, a byte order mark. */
bool wo_file_is_blank(struct wo_view text);

#endif
