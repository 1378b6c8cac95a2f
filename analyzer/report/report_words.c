/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all writers of a report use. See report_words.h. */
#include "analyzer/report/report_words.h"

#include <math.h>

#include "analyzer/files/names.h"
#include "parsers/base/units.h"

void wo_report_add_value(struct wo_text *text, const struct wo_value *value) {
  char buf[40];
  const double number = value->number.mid;
  switch (value->unit) {
  case WO_UNIT_BOOL:
    wo_text_add(text, "%s", value->truth == WO_TRUE ? "true" : "false");
    break;
  case WO_UNIT_NUMBER:
    wo_text_add(text, number == floor(number) && fabs(number) < 1e15 ? "%.0f" : "%g", number);
    break;
  case WO_UNIT_BYTES:
    wo_text_add(text, "%s", wo_units_bytes_text(number, buf, sizeof buf));
    break;
  case WO_UNIT_DURATION:
    wo_text_add(text, "%s", wo_units_duration_text((int64_t)number, buf, sizeof buf));
    break;
  case WO_UNIT_TEXT:
    wo_text_add_view(text, value->text);
    break;
  case WO_UNIT_NONE:
    break;
  }
}

void wo_report_add_range(struct wo_text *text, struct wo_interval bytes) {
  const bool is_small = bytes.hi < WO_GIB;
  const double unit = is_small ? WO_MIB : WO_GIB;
  const int decimals = is_small ? 0 : 1;
  if (bytes.lo <= 0) {
    wo_text_add(text, "up to ");
  } else if (bytes.hi - bytes.lo > bytes.hi / 100) {
    wo_text_add(text, "%.*f to ", decimals, bytes.lo / unit);
  }
  wo_text_add(text, "%.*f %s", decimals, bytes.hi / unit, is_small ? "MiB" : "GiB");
}

/* A replay of what was recorded says more than two intervals. */
static void add_replayed(struct wo_text *text, const struct wo_proof *proof) {
  const char *const verdict = proof->fits ? "enough" : proof->margin_bytes < 0 ? "not enough" : "may be enough";
  const struct wo_view path = wo_name_base(proof->path);
  wo_text_add(text, "%s: replayed on ", verdict);
  if (path.len > 0) wo_text_add_clean(text, path);
  if (path.len == 0) wo_text_add(text, "the %s pattern", proof->pattern);
  if (proof->is_rough) {
    wo_text_add(text, ", it does not fit");
    return;
  }
  wo_text_add(text, ", %s is %s", WO_BYTES_TEXT(fabs(proof->margin_bytes)), proof->margin_bytes < 0 ? "missing" : "left");
}

const char *wo_report_verdict_words(enum wo_suffices suffices) {
  static const char *const words[] = {[WO_SUFFICES_UNKNOWN] = "",
                                      [WO_SUFFICES_YES] = "enough",
                                      [WO_SUFFICES_MAYBE] = "may be enough",
                                      [WO_SUFFICES_NO] = "not enough"};
  return words[suffices];
}

void wo_report_add_verdict(struct wo_text *text, const struct wo_finding_fix *fix) {
  if (fix->proof != NULL && fix->proof->is_tried) {
    add_replayed(text, fix->proof);
    return;
  }
  if (fix->support.len > 0) {
    wo_text_add_view(text, fix->support);
    return;
  }
  const char *const verdict = wo_report_verdict_words(fix->suffices);
  wo_text_add(text, "%s", verdict);
  if (!fix->has_saves) return;
  wo_text_add(text, "%sfrees ", verdict[0] != '\0' ? ": " : "");
  wo_report_add_range(text, fix->saves_bytes);
  if (fix->suffices == WO_SUFFICES_UNKNOWN || fix->shortage_bytes.hi <= 0) return;
  wo_text_add(text, " where ");
  wo_report_add_range(text, fix->shortage_bytes);
  wo_text_add(text, " is missing");
}

void wo_report_add_reading(struct wo_text *text, const struct wo_sizes *sizes, size_t index) {
  const struct wo_size_reading *const reading = &sizes->readings[index];
  wo_text_add(text, "%s: %s = ", index == 0 ? "the request" : "or", WO_BYTES_TEXT(sizes->request.mid));
  wo_text_add(text, "%.*s: %.*s", WO_SHOWN(reading->formula), WO_SHOWN(reading->meaning));
  for (size_t i = 0; i < reading->assumed_count; i++) wo_text_add(text, "; %.*s", WO_SHOWN(reading->assumed[i]));
  if (!reading->is_specific) wo_text_add(text, "; powers of two alone, which coincide easily");
  if (index == 0 && sizes->match_count > 1) wo_text_add(text, "; one of %zu readings that fit", sizes->match_count);
}

const char *wo_report_confidence_name(enum wo_confidence confidence) {
  static const char *const names[] = {
      [WO_CONFIDENCE_POSSIBLE] = "possible", [WO_CONFIDENCE_LIKELY] = "likely", [WO_CONFIDENCE_CERTAIN] = "certain"};
  return names[confidence];
}

void wo_report_add_change(struct wo_text *text, const struct wo_finding_change *change) {
  wo_spelling_add(text, &change->spelling);
  if (change->spelling.key.len > 0) return;
  wo_text_add(text, "%.*s=", WO_SHOWN(change->knob));
  wo_report_add_value(text, &change->to);
}

/* Adds "what: text" to a row of costs; "none" is written as "unchanged". */
static void add_cost(struct wo_text *text, const char *what, struct wo_view cost) {
  if (cost.len == 0) return;
  if (text->len > 0) wo_text_add(text, "; ");
  wo_text_add(text, "%s: ", what);
  wo_text_add_view(text, wo_view_is(cost, "none") ? WO_VIEW("unchanged") : cost);
}

/* The meaning of a fact, from the list of facts; the name itself for settings. */
static void add_meaning(struct wo_text *text, struct wo_view name) {
  const struct wo_fact *const fact = wo_fact_find(name);
  if (fact != NULL) {
    wo_text_add(text, "%.*s (%.*s)", (int)strcspn(fact->meaning, ":;"), fact->meaning, WO_SHOWN(name));
  } else {
    wo_text_add_view(text, name);
  }
}

void wo_report_add_costs(struct wo_text *text, const struct wo_finding_fix *fix) {
  add_cost(text, "speed", fix->cost_speed);
  add_cost(text, "results", fix->cost_accuracy);
  add_cost(text, "effort", fix->cost_effort);
}

void wo_report_add_needs(struct wo_text *text, const struct wo_finding_fix *fix) {
  for (size_t i = 0; i < fix->need_count; i++) {
    wo_text_add(text, "%s", i == 0 ? "saving unknown: the log does not show " : ", ");
    add_meaning(text, fix->needs[i]);
  }
}

/* ---- Quotes ---- */

struct wo_view wo_report_decisive(const struct wo_event *event) {
  const struct wo_view lead = WO_VIEW("Tried to allocate ");
  const size_t at = wo_view_find(event->text, lead, 0);
  if (at == WO_NOT_FOUND) return (struct wo_view){event->text.ptr, 0};
  struct wo_view rest = wo_view_skip(event->text, at + lead.len);
  struct wo_interval bytes;
  if (wo_units_bytes(&rest, 0, &bytes) != WO_OK) return (struct wo_view){event->text.ptr, 0};
  return (struct wo_view){event->text.ptr + at, (size_t)(rest.ptr - event->text.ptr) - at};
}

struct wo_view wo_report_found(const struct wo_event *event) {
  const struct wo_view part = wo_report_decisive(event);
  return part.len > 0 || event->match.len == 0 || event->match.len * 2 > event->text.len ? part : event->match;
}
