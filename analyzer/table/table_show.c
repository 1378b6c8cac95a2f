/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as people read them. See table_internal.h. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/fleet/chance.h"
#include "analyzer/table/table_internal.h"
#include "parsers/base/units.h"

static const double seconds_an_hour = 3600.0;

/* Blanks between groups of three digits. */
void wo__show_count(struct wo_text *out, int64_t count) {
  char digits[24];
  const int len = snprintf(digits, sizeof digits, "%lld", (long long)count);
  for (int i = 0; i < len; i++) {
    if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-') wo_text_repeat(out, ' ', 1);
    wo_text_repeat(out, digits[i], 1);
  }
}

void wo__show_counted(struct wo_text *out, int64_t count, const char *one, const char *many) {
  wo__show_count(out, count);
  wo_text_add(out, " %s", count == 1 ? one : many);
}

void wo__show_hours(struct wo_text *out, int64_t gpu_s) {
  if (gpu_s == WO_ROW_UNKNOWN) {
    wo_text_add(out, "?");
    return;
  }
  const double hours = (double)gpu_s / seconds_an_hour;
  if (hours >= 999.95) {
    wo__show_count(out, (int64_t)llround(hours));
  } else {
    wo_text_add(out, hours < 9.995 ? "%.2f" : "%.1f", hours);
  }
}

void wo__show_lost(struct wo_text *out, const struct wo_fleet_sum *sum) {
  const bool is_unknown = sum->lost_unknown > 0 && sum->lost_unknown == sum->failed;
  wo__show_hours(out, is_unknown ? WO_ROW_UNKNOWN : sum->lost_s);
  if (!is_unknown && sum->lost_unknown > 0) wo_text_add(out, "+");
}

/* The calendar's part of "2025-03-11T04:00:12". */
static void show_calendar(struct wo_text *out, int64_t ns, size_t len) {
  char text[40];
  if (ns == WO_ROW_UNKNOWN) return;
  wo_units_time_text(ns, text, sizeof text);
  for (char *c = text; *c != '\0'; c++) *c = *c == 'T' ? ' ' : *c;
  wo_text_add_view(out, wo_view_sub(wo_view_of(text), 0, len));
}

void wo__show_time(struct wo_text *out, int64_t ns) {
  show_calendar(out, ns, sizeof "2025-03-11 04:00" - 1);
}

void wo__show_day(struct wo_text *out, int64_t ns) {
  show_calendar(out, ns, sizeof "2025-03-11" - 1);
}

bool wo__show_job_id(struct wo_text *out, const struct wo_row *row) {
  if (row->array_job.len > 0 && row->array_task != WO_ROW_UNKNOWN) {
    wo_text_add_clean(out, row->array_job);
    wo_text_add(out, "_%lld", (long long)row->array_task);
    return true;
  }
  wo_text_add_clean(out, row->job_id);
  return row->job_id.len > 0;
}

void wo__show_condition(struct wo_text *out, const struct wo_fleet_split *split) {
  static const char *const relations[] = {[WO_FLEET_AT_LEAST] = " >= ",
                                          [WO_FLEET_AT_MOST] = " <= ",
                                          [WO_FLEET_EQUAL] = " = ",
                                          [WO_FLEET_OTHER_THAN] = " other than "};
  wo_text_add_clean(out, split->knob);
  if (split->value.len == 0) {
    wo_text_add(out, split->relation == WO_FLEET_EQUAL ? " not shown" : " shown");
    return;
  }
  wo_text_add(out, "%s", relations[split->relation]);
  wo_text_add_clean(out, split->value);
}

void wo__show_split(struct wo_text *out, const struct wo_fleet_split *split) {
  wo__show_condition(out, split);
  wo_text_add(out, ": ");
  wo__show_count(out, split->failed);
  wo_text_add(out, " of ");
  wo__show_count(out, split->jobs);
  wo_text_add(out, " failed; else ");
  wo__show_count(out, split->other_failed);
  wo_text_add(out, " of ");
  wo__show_count(out, split->other_jobs);
}

void wo__show_chance(struct wo_text *out, double ln_chance, const char *things) {
  if (ln_chance > log(0.05)) {
    wo_text_add(out, "too few to rule out chance");
    return;
  }
  wo_text_add(out, "by chance in ");
  wo_chance_add(out, ln_chance);
  wo_text_add(out, " %s", things);
}

void wo__show_node(struct wo_text *out, const struct wo_fleet_node *node) {
  wo__show_count(out, node->failed);
  wo_text_add(out, " of ");
  wo__show_count(out, node->jobs);
  wo_text_add(out, node->expected > 0.0 && node->expected < 0.095 ? " jobs, %.2f expected, " : " jobs, %.1f expected, ",
              node->expected);
  wo__show_chance(out, node->ln_chance, "fleets");
  if (node->users == 1) wo_text_add(out, "; all of one user");
}

void wo__show_settings(struct wo_text *out, struct wo_view settings, const char *divider) {
  bool is_first = true;
  while (settings.len > 0) {
    const struct wo_view line = wo_view_cut(&settings, '\n');
    if (line.len == 0) continue;
    if (!is_first) wo_text_add(out, "%s", divider);
    wo_text_add_clean(out, line);
    is_first = false;
  }
}

void wo__show_place(struct wo_text *out, const struct wo_row *row) {
  wo_text_add_clean(out, row->evidence_path.len > 0 ? row->evidence_path : row->path);
  if (row->evidence_path.len > 0 && row->evidence_line != WO_ROW_UNKNOWN)
    wo_text_add(out, ":%lld", (long long)row->evidence_line);
}
