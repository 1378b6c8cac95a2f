/* Files that hold no text of a log, known by their first bytes: named as what they are, with what to do instead. */
#ifndef WO_FILE_KIND_H
#define WO_FILE_KIND_H

#include "parsers/base/view.h"

/* Bytes that decide: of a shorter input fewer are enough. */
enum { WO_FILE_KIND_BYTES = 24 };

struct wo_file_kind {
  const char *name;   /* "a zip archive" */
  const char *advice; /* "`unzip -p FILE | whyoom` reads the logs in it" */
};

/* The kind of a file that begins with these bytes; NULL for text, for what whyoom expands itself, and for all that it does not
 * know. Static. */
const struct wo_file_kind *wo_file_kind(struct wo_view front);

#endif
