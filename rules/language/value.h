/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the rule language: typed, possibly unknown, with the rounding interval of printed numbers. */
#ifndef WO_VALUE_H
#define WO_VALUE_H

#include <stdbool.h>

#include "parsers/base/number.h"
#include "parsers/base/view.h"
#include "parsers/event/event.h"

/* NUMBER covers counts and ratios; DURATION is in nanoseconds. */
enum wo_unit { WO_UNIT_NONE, WO_UNIT_BOOL, WO_UNIT_NUMBER, WO_UNIT_BYTES, WO_UNIT_DURATION, WO_UNIT_TEXT };

/* Truth of a comparison between intervals or of a condition over unknown facts. */
enum wo_truth { WO_FALSE, WO_TRUE, WO_UNDECIDED };

/* A value. When is_known is false, only `unit` means anything. BOOL uses `truth` (an unknown BOOL
 * is WO_UNDECIDED), TEXT uses `text` (borrowed), the others `number`. `evidence` is where it was
 * read, or WO_EVENT_NONE. */
struct wo_value {
  enum wo_unit unit;
  bool is_known;
  enum wo_truth truth;
  struct wo_interval number;
  struct wo_view text;
  wo_event_id evidence;
};

/* Constructors; evidence is WO_EVENT_NONE. */
struct wo_value wo_value_unknown(enum wo_unit unit);
struct wo_value wo_value_number(enum wo_unit unit, struct wo_interval number);
struct wo_value wo_value_exact(enum wo_unit unit, double number);
struct wo_value wo_value_bool(enum wo_truth truth);
struct wo_value wo_value_text(struct wo_view text);

/* Name of a unit as rule files and messages write it ("bytes"). */
const char *wo_unit_name(enum wo_unit unit);

/* The unit of that name (upper or lower case), or WO_UNIT_NONE. */
enum wo_unit wo_unit_find(struct wo_view name);

#endif
