/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as one page of HTML: memory over time by call site, by class and by category, the segments at any moment, every
 * block's stack, and a search.
 *
 * The page is one file without anything from elsewhere, and its policy allows nothing else. Without scripts it has a picture and
 * tables. It is made of the entries alone (lives.h), so that a recording that the model does not reproduce is shown all the same.
 * However long the recording is, the file stays below 5 MB: memory over time is put together in columns, and single blocks are
 * kept around the peak, the failures and the end, and where they are large; the page says so. All text of the recording is
 * hostile: it is escaped, in HTML and in the data of the script. Pure; one thread. */
#ifndef WO_VIEWER_H
#define WO_VIEWER_H

#include "cuda_replay/category/look.h"
#include "parsers/base/text.h"

enum wo_viewer_tone { WO_VIEWER_GOOD, WO_VIEWER_DOUBTFUL, WO_VIEWER_BAD };

/* The input; everything is borrowed, and any bytes. */
struct wo_viewer {
  const struct wo_look *look;
  struct wo_view title;    /* the file */
  struct wo_view subtitle; /* settings, version of torch */
  struct wo_view verdict;  /* the first line of the report */
  struct wo_view reasons;  /* further lines, each ended by a line break; may be empty */
  enum wo_viewer_tone tone;
  struct wo_view report; /* the whole report for people, without colours */
};

/* Appends the page. Deterministic. WO_E_NOMEM: what was appended is of no use. */
enum wo_status wo_viewer_html(const struct wo_viewer *viewer, struct wo_text *out);

#endif
