/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a packed job, which its writer and its reader share.
 *
 *   "WOJ" form-number raw-length, then compressed:
 *     texts: count, length of all, the texts, each ended by a NUL
 *     names: of kinds, of marks, of fields: count, numbers of texts each
 *     inputs: count, and for each: path, format, bytes, lines, flags, notes (count, texts)
 *     counts: inputs not opened, inputs left out; evidence dropped, flags; by kind: count, and kind and number each
 *     events: count, and for each: kind, mark, flags, severity, place, text, what its flags announce, fields
 *
 * Numbers are as in pack_bytes.h; texts and names are numbers of their lists. Numbers of a flag, a severity or a clock are for
 * ever: new ones come behind. */
#ifndef WO_PACK_FORM_H
#define WO_PACK_FORM_H

#include "parsers/event/event.h"

#define WO__PACK_MAGIC "WOJ"
#define WO__PACK_FORM 1

enum wo__pack_input_flag { WO__PACK_COMPRESSED = 1, WO__PACK_PATH_EXACT = 2, WO__PACK_UNREADABLE = 4, WO__PACK_RECORDING = 8 };

enum wo__pack_event_flag {
  WO__PACK_LOCAL_RANK = 1,
  WO__PACK_QUOTED = 2,
  WO__PACK_INHERITED = 4,   /* the stamp */
  WO__PACK_HAS_RANK = 8,    /* then: the rank */
  WO__PACK_HAS_HOST = 16,   /* its text */
  WO__PACK_HAS_TIME = 32,   /* how much later than the last time */
  WO__PACK_HAS_STAMP = 64,  /* the clock, and how much later than the last stamp */
  WO__PACK_HAS_ID = 128,    /* the pattern's id */
  WO__PACK_HAS_MATCH = 256, /* where it is in the text, and its length */
  WO__PACK_HAS_OF = 512,    /* the event that it belongs to, counted back from it */
  WO__PACK_EVENT_FLAGS = 1023
};

/* By their number in packed jobs. */
static const enum wo_severity wo__pack_severities[] = {WO_SEVERITY_NONE,    WO_SEVERITY_DEBUG, WO_SEVERITY_INFO,
                                                       WO_SEVERITY_WARNING, WO_SEVERITY_ERROR, WO_SEVERITY_FATAL};
static const enum wo_clock wo__pack_clocks[] = {WO_CLOCK_NONE, WO_CLOCK_LOCAL, WO_CLOCK_UTC, WO_CLOCK_YEARLESS};

enum {
  WO__PACK_SEVERITIES = sizeof wo__pack_severities / sizeof wo__pack_severities[0],
  WO__PACK_CLOCKS = sizeof wo__pack_clocks / sizeof wo__pack_clocks[0]
};

#endif
