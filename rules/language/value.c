/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors of values and the names of units.
 *
 * An unknown value carries its unit, so that an expression over it still has a type; nothing else in it may be looked at. The
 * code that read the value from a log adds the evidence. */
#include "rules/language/value.h"

#include <assert.h>

/* UNDECIDED in every constructor but that of truths: the truth of a number is UNDECIDED, not "false". */
struct wo_value wo_value_unknown(enum wo_unit unit) {
  return (struct wo_value){.unit = unit, .truth = WO_UNDECIDED, .evidence = WO_EVENT_NONE};
}

struct wo_value wo_value_number(enum wo_unit unit, struct wo_interval number) {
  assert(unit == WO_UNIT_NUMBER || unit == WO_UNIT_BYTES || unit == WO_UNIT_DURATION);
  assert(number.lo <= number.mid && number.mid <= number.hi);
  return (struct wo_value){.unit = unit, .is_known = true, .truth = WO_UNDECIDED, .number = number, .evidence = WO_EVENT_NONE};
}

/* For numbers written in a rule or counted here, not for those that a program rounded and printed. */
struct wo_value wo_value_exact(enum wo_unit unit, double number) {
  return wo_value_number(unit, wo_interval_exact(number));
}

/* An undecided truth is an unknown value: known() of it is false, and otherwise() replaces it. */
struct wo_value wo_value_bool(enum wo_truth truth) {
  assert(truth == WO_FALSE || truth == WO_TRUE || truth == WO_UNDECIDED);
  return (struct wo_value){.unit = WO_UNIT_BOOL, .is_known = truth != WO_UNDECIDED, .truth = truth, .evidence = WO_EVENT_NONE};
}

/* Borrowed: the text must live as long as the value is used. */
struct wo_value wo_value_text(struct wo_view text) {
  return (struct wo_value){
      .unit = WO_UNIT_TEXT, .is_known = true, .truth = WO_UNDECIDED, .text = text, .evidence = WO_EVENT_NONE};
}

/* Designated, so that the table cannot fall out of step with the enum. WO_UNIT_NONE has a name for
 * messages only ("expected bytes, got nothing") and cannot be found by it. */
static const char *const unit_names[] = {
    [WO_UNIT_NONE] = "nothing", [WO_UNIT_BOOL] = "bool",         [WO_UNIT_NUMBER] = "number",
    [WO_UNIT_BYTES] = "bytes",  [WO_UNIT_DURATION] = "duration", [WO_UNIT_TEXT] = "text",
};
enum { UNIT_COUNT = sizeof unit_names / sizeof unit_names[0] };

const char *wo_unit_name(enum wo_unit unit) {
  return (size_t)unit < UNIT_COUNT ? unit_names[unit] : "?";
}

enum wo_unit wo_unit_find(struct wo_view name) {
  for (size_t i = WO_UNIT_NONE + 1; i < UNIT_COUNT; i++) {
    if (wo_view_is_nocase(name, unit_names[i])) return (enum wo_unit)i;
  }
  return WO_UNIT_NONE;
}
