/* SPDX-License-Identifier: Apache-2.0 */
/* Names in lines of a file that are not shown: one that stands only there can also stand in a line that is shown, where nothing
 * shows that it is a name ("saved to /scratch/hush", and later "RuntimeError: hush"). Lines are read as the file is; nothing of
 * them is kept but names, in a table of their own, so that what evidence shows comes first and has the lower numbers. */
#ifndef WO_OVERHEARD_H
#define WO_OVERHEARD_H

#include "parsers/base/anonymize/pseudonyms.h"

/* Empty when all is 0. */
struct wo_overheard {
  struct wo_pseudonyms *names; /* NULL: none */
  struct wo_text line;         /* the beginning of a line */
};

/* Releases; NULL allowed. */
void wo_overheard_done(struct wo_overheard *overheard);

/* Reads a part of a file, which can end in the middle of a line / the end of a file. Without memory, and beyond
 * WO_LIMIT_OVERHEARD names, less is known. */
void wo_overheard_read(struct wo_overheard *overheard, struct wo_view part);
void wo_overheard_end(struct wo_overheard *overheard);

/* Learns what was overheard and is not known yet. */
void wo_overheard_tell(const struct wo_overheard *overheard, struct wo_pseudonyms *pseudonyms);

#endif
