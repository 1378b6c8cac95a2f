/* SPDX-License-Identifier: Apache-2.0 */
/* Bookmarks: a place in a large log from which its reading goes on another time, when the log has grown.
 *
 * A bookmark holds what the scanner knew at the place (parsers/scan/scan.h), and how much of the job's evidence was there; that
 * evidence is kept with the job (job_pack.h). Going on from it gives the evidence that reading the whole file gives, or is
 * refused, and then the whole file is read: a file whose bytes in front of the place are others, evidence of the files before it
 * that takes the room of this one's, other rules, damage. Compressed files, archives and UTF-16 have none.
 *
 *   struct wo_bookmarker marker;
 *   wo_bookmark_begin(&marker, path, size_bytes, kept, before);  before the input is read (wo_job_read)
 *   job->reader = &marker.reader;
 *   ...
 *   job->reader = NULL;
 *   wo_bookmark_end(&marker, job, &packed);  the bookmark to be kept now
 */
#ifndef WO_BOOKMARK_H
#define WO_BOOKMARK_H

#include "analyzer/story/job.h"
#include "parsers/base/text.h"

/* How much evidence a job had. */
struct wo_bookmark_count {
  size_t events, used_bytes;
  uint64_t dropped;
  uint32_t per_kind[WO_KIND_COUNT_];
};

struct wo_bookmark {
  struct wo_scan_place place;
  uint64_t before_hash;                 /* of the bytes before the place that are to be given again */
  struct wo_bookmark_count start, here; /* when the file began, and at the place */
  uint64_t events_hash;                 /* of the file's evidence at the place; not kept */
  struct wo_text state;                 /* of the scanner; empty: there is no bookmark */
};

/* What a bookmark is kept with: it is of no use beside other evidence, or with other rules. */
struct wo_bookmark_of {
  struct wo_view evidence; /* packed */
  struct wo_view rules;    /* what decides about evidence */
};

/* One file that is read. */
struct wo_bookmarker {
  struct wo_job_reader reader; /* first */
  const char *path;
  const struct wo_bookmark *from; /* or NULL */
  const struct wo_job *before;    /* whose evidence `from` belongs to */
  uint64_t tail;                  /* where the last part of the file begins */
  uint64_t next;                  /* from where on the next bookmark is put */
  bool is_continued;
  struct wo_bookmark_count start;
  struct wo_bookmark to;
};

/* Makes *marker ready for a file, of size_bytes when it was found. `path` and what follows is borrowed until wo_bookmark_end;
 * with `from` (NULL: none) reading goes on from there if it can, with the evidence of `before`: an unpacked job, whose texts the
 * job that is read then shares, so that it must outlive that. */
void wo_bookmark_begin(struct wo_bookmarker *marker, const char *path, uint64_t size_bytes, const struct wo_bookmark *from,
                       const struct wo_job *before);

/* Once the file has been read: gives its bookmark to the caller in *ret, to be released; an empty one if there is none. */
void wo_bookmark_end(struct wo_bookmarker *marker, const struct wo_job *job, struct wo_bookmark *ret);

/* Releases what it holds. */
void wo_bookmark_done(struct wo_bookmark *bookmark);

/* Appends the compressed bookmark to *out. WO_E_LIMIT: it is too large; WO_E_NOMEM. */
enum wo_status wo_bookmark_pack(const struct wo_bookmark *bookmark, struct wo_text *out);

/* The bytes that are put in front of a packed bookmark when the evidence of its job is packed too. */
enum { WO_BOOKMARK_OF_BYTES = 16 };
void wo_bookmark_of_bytes(const struct wo_bookmark_of *of, char bytes[WO_BOOKMARK_OF_BYTES]);

/* Reads packed bytes with the others in front; any bytes are valid input. False, and there is nothing to release: they are
 * damaged, of another version, or belong to something else. */
bool wo_bookmark_unpack(struct wo_view packed, const struct wo_bookmark_of *of, struct wo_bookmark *ret);

#endif
