/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a job that may have grown since a scan read them: they are read on from the bookmarks that the store has, and get new
 * ones. The evidence is what reading the whole files gives (analyzer/pack/bookmark.h). */
#ifndef WO_GROWN_H
#define WO_GROWN_H

#include <signal.h>

#include "analyzer/pack/bookmark.h"
#include "analyzer/store/store.h"

struct wo_grown {
  const struct wo_store_kept *kept; /* of the scan before */
  struct wo_view patterns;          /* version of what decides about evidence */
  struct wo_job *before;            /* of the evidence that was kept; NULL: not needed so far, or damaged */
  bool is_damaged;
  struct wo_text *packed; /* the new bookmarks, one for each file */
  size_t file_count, packed_bytes;
};

/* Makes *grown ready for a job with that many files. `kept` and `rules` (a version, see store.h) are borrowed. */
void wo_grown_begin(struct wo_grown *grown, const struct wo_store_kept *kept, struct wo_view rules, size_t file_count);

/* As wo_read_path, of the file that is number `at`. */
bool wo_grown_read(struct wo_grown *grown, struct wo_job *job, size_t at, const struct wo_store_file *file, const char *path,
                   const volatile sig_atomic_t *is_up, struct wo_text *errors);

/* Once the evidence of the job is packed: gives each file its new bookmark, in the arena, as far as that has room. */
void wo_grown_keep(const struct wo_grown *grown, struct wo_view evidence, struct wo_store_file *files, struct wo_arena *arena);

/* Releases what it holds, once the job has been freed. */
void wo_grown_done(struct wo_grown *grown);

#endif
