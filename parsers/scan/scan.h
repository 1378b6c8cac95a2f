/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner: bytes of one input -> evidence. The first arrow of the diagnosis flow.
 *
 * Fed in chunks of any size; the result does not depend on how the input was cut. Memory is bounded by the limits in
 * parsers/base/limits.h, whatever the size of the input. Lines end at LF or CR, but for line ends that a terminal put in at its
 * width: these are taken out first, lines and bytes of evidence stay those of the input (scan_wrap.c). One scan must not be used
 * by two threads at once. */
#ifndef WO_SCAN_H
#define WO_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/limits.h"
#include "parsers/base/status.h"
#include "parsers/base/text.h"
#include "parsers/event/event.h"
#include "parsers/match/pattern.h"

struct wo_scan;
struct wo_formats;

struct wo_scan_options {
  uint32_t file;       /* index that spans carry */
  bool no_prefilter;   /* look at every line with the slow reference instead (tests) */
  int32_t rank;        /* rank from the file's name, or WO_RANK_UNKNOWN */
  bool is_local_rank;  /* it counts the processes of a node */
  struct wo_view host; /* from the file's name; borrowed; or empty */
  uint64_t first_line; /* number of the first line, where the input is a part of a file; 0: 1 */
};

/* Caps that reading an input can reach. */
enum wo_cap {
#define WO_CAP(code, one, several) code,
#include "parsers/scan/caps.def"
#undef WO_CAP
  WO_CAP_COUNT_
};

/* A pattern for which lines were not searched to their end, because a limit of PCRE2 was reached. */
struct wo_unsearched {
  const struct wo_pattern *pattern;
  uint64_t lines;
  uint64_t last_line; /* the number of the last one */
};

/* Patterns that are listed there one by one. */
#define WO_SCAN_UNSEARCHED_MAX 8

/* The scanner's summary of an input once it has ended. */
struct wo_scan_summary {
  uint64_t bytes;
  uint64_t lines;               /* line feeds, plus one for a last line without */
  uint64_t long_lines;          /* lines longer than WO_LIMIT_LINE_BYTES: they are read in pieces */
  uint64_t joined_lines;        /* of `lines`: those with which the line before goes on, as a terminal had cut it */
  size_t joined_width;          /* the width at which it did so last; 0: nowhere */
  bool has_nul;                 /* NUL bytes were seen in lines that were looked at */
  uint64_t caps[WO_CAP_COUNT_]; /* how often each was reached */
  struct wo_unsearched unsearched[WO_SCAN_UNSEARCHED_MAX];
  size_t unsearched_count;
  uint64_t unsearched_others; /* lines not searched for further patterns */
};

/* The words that report a cap which was reached `count` times; they follow that number. */
const char *wo_cap_text(enum wo_cap cap, uint64_t count);

/* Makes a scanner that appends to store, uses set, and hands lines to those of the formats that patterns of the set name
 * (parsers/scan/format.h; the table of all is parsers/formats/formats.h). A name that is not among them is passed over. All must
 * outlive it. WO_E_NOMEM. */
enum wo_status wo_scan_new(struct wo_pattern_set *set, const struct wo_formats *formats, struct wo_event_store *store,
                           struct wo_scan_options options, struct wo_scan **ret_scan);

/* Makes a scanner that has ended ready for the next input, with another store or the same; wo_scan_new does it for the first. It
 * costs far less than a new scanner. */
void wo_scan_restart(struct wo_scan *scan, struct wo_event_store *store, struct wo_scan_options options);

/* Takes the next bytes of the input. WO_E_NOMEM. */
enum wo_status wo_scan_feed(struct wo_scan *scan, const char *bytes, size_t len);

/* The pattern id of an event of kind run_start that no pattern found: the first lines of the input stand there again, after an
 * end. */
#define WO_SCAN_BEGINS_AGAIN "log-begins-again"

/* A place in an input at which a scan was kept. */
struct wo_scan_place {
  uint64_t next;   /* where the bytes begin that are to be given next */
  uint64_t before; /* bytes before it that the scanner has to be given again, because it looks back at them */
};

/* Most of those. */
#define WO_SCAN_BEFORE_MAX (2 * WO_LIMIT_LOOKBACK_BYTES + 2 * WO_LIMIT_LINE_BYTES)

/* Appends to *out all that the scan has learnt from the bytes so far, but for the evidence in its store, and tells where it is to
 * go on; *ret_before are the bytes before that place, valid until the next call. The scan itself goes on as if nothing had been
 * asked; what is kept does not depend on what follows. False, and *out has something of no use behind what it had: there is no
 * such place here, because a construct over lines is open, the lines are wrapped ones, or it is too early. Between calls of
 * wo_scan_feed. */
bool wo_scan_keep(struct wo_scan *scan, struct wo_text *out, struct wo_scan_place *ret_place, struct wo_view *ret_before);

/* Brings a scanner that was just made, or made ready, with the same patterns, formats and options, to where another one was kept.
 * `before` is the place->before bytes of the input in front of place->next; the store has the evidence from there. What is given
 * to it from place->next on ends as if all had been given to it from the beginning. Any bytes are valid for `kept`. False: they
 * are damaged, or belong to another place; the scanner is to be made ready again. */
bool wo_scan_go_on(struct wo_scan *scan, struct wo_view kept, const struct wo_scan_place *place, struct wo_view before);

/* Ends the input: reads the last line, closes open constructs, looks at the tail. Call once. */
enum wo_status wo_scan_end(struct wo_scan *scan, struct wo_scan_summary *ret_summary);

/* Frees a scanner; NULL allowed; returns NULL. */
struct wo_scan *wo_scan_free(struct wo_scan *scan);

#endif
