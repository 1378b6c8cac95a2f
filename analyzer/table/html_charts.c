/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of the HTML page, as inline SVG that needs no script. See html_internal.h.
 *
 * Words are HTML around the pictures, so that they keep their size on a narrow page. */
#include "analyzer/table/html_internal.h"

enum { BARS = 8, DAY_HEIGHT = 120 };

/* What a bar is long for: lost hours, or failed jobs. */
static int64_t measure(const struct wo_fleet_sum *sum, bool by_hours) {
  return by_hours ? sum->lost_s : sum->failed;
}

static void show_measure(struct wo_text *out, const struct wo_fleet_sum *sum, bool by_hours) {
  if (by_hours) {
    wo__show_lost(out, sum);
  } else {
    wo__show_count(out, sum->failed);
  }
}

/* One bar: its word, which filters the jobs, the bar, the figure. */
static void write_bar(struct wo_text *out, const struct wo_fleet_entry *entry, bool by_hours, int64_t most) {
  const int64_t value = measure(&entry->sum, by_hours);
  wo_text_add(out, "<li><span class=\"name\">");
  if (entry->key.len > 0) {
    wo_text_add(out, "<a href=\"#jobs\" data-filter=\"\">");
    wo_html_text(out, entry->key);
    wo_text_add(out, "</a>");
  } else {
    wo_text_add(out, "not known");
  }
  wo_text_add(out, "</span><svg class=\"bar %s\" aria-hidden=\"true\"><rect width=\"%.2f%%\" height=\"100%%\" rx=\"2\"/></svg>",
              entry->key.len == 0 ? "unknown"
              : by_hours          ? "hours"
                                  : "count",
              most > 0 ? 100.0 * (double)value / (double)most : 0.0);
  wo_text_add(out, "<span class=\"value\">");
  show_measure(out, &entry->sum, by_hours);
  wo_text_add(out, "</span></li>\n");
}

/* Whether the bar of one value comes before that of another: the longer one, and that of no known value last. */
static bool is_before(const struct wo_fleet_entry *a, const struct wo_fleet_entry *b, bool by_hours) {
  if ((a->key.len == 0) != (b->key.len == 0)) return b->key.len == 0;
  return measure(&a->sum, by_hours) > measure(&b->sum, by_hours);
}

/* The values with the longest bars. */
static void write_bars(struct wo_text *out, const struct wo_fleet_list *list, const char *heading, bool by_hours) {
  const struct wo_fleet_entry *shown[BARS];
  size_t count = 0;
  for (size_t i = 0; i < list->count; i++) {
    const struct wo_fleet_entry *const entry = &list->items[i];
    size_t at = count;
    while (at > 0 && is_before(entry, shown[at - 1], by_hours)) at--;
    if (at == BARS) continue;
    if (count < BARS) count++;
    for (size_t k = count - 1; k > at; k--) shown[k] = shown[k - 1];
    shown[at] = entry;
  }
  int64_t most = 0;
  for (size_t i = 0; i < count; i++) {
    const int64_t value = measure(&shown[i]->sum, by_hours);
    most = value > most ? value : most;
  }
  if (most <= 0) return;
  wo_text_add(out, "<figure><figcaption>%s</figcaption><ul class=\"bars\">\n", heading);
  for (size_t i = 0; i < count; i++) write_bar(out, shown[i], by_hours, most);
  wo_text_add(out, "</ul></figure>\n");
}

/* ---- Time ---- */

static const int64_t day_ns = INT64_C(86400) * 1000000000;

static void write_day_label(struct wo_text *out, const struct wo_fleet_day *day, bool by_hours, int64_t span) {
  wo_text_add(out, "<title>");
  wo__show_day(out, day->start_ns);
  if (span > 1) {
    wo_text_add(out, " to ");
    wo__show_day(out, day->start_ns + (span - 1) * day_ns);
  }
  wo_text_add(out, ": ");
  wo__show_count(out, day->sum.failed);
  wo_text_add(out, " of ");
  wo__show_counted(out, day->sum.jobs, "job", "jobs");
  wo_text_add(out, " failed");
  if (by_hours) {
    wo_text_add(out, ", ");
    wo__show_lost(out, &day->sum);
    wo_text_add(out, " GPU-hours lost");
  }
  wo_text_add(out, "</title>");
}

static void write_days(struct wo_text *out, const struct wo_fleet *fleet, const char *heading, bool by_hours) {
  int64_t most = 0;
  for (size_t i = 0; i < fleet->day_count; i++) {
    const int64_t value = measure(&fleet->days[i].sum, by_hours);
    most = value > most ? value : most;
  }
  if (most == 0 || fleet->day_count < 2) return;
  const int64_t span_ns = fleet->day_span * day_ns;
  const struct wo_fleet_day *const first = &fleet->days[0], *const last = &fleet->days[fleet->day_count - 1];
  const int64_t columns = (last->start_ns - first->start_ns) / span_ns + 1;
  const struct wo_fleet_sum highest = {.failed = most, .lost_s = most};
  wo_text_add(out, "<figure><figcaption>%s%s</figcaption><div class=\"top\">", heading,
              fleet->day_span == 1   ? " by day"
              : fleet->day_span == 7 ? " by week"
                                     : " by time");
  show_measure(out, &highest, by_hours);
  wo_text_add(
      out, "</div><svg class=\"days %s\" role=\"img\" viewBox=\"0 0 %lld %d\" preserveAspectRatio=\"none\"><title>%s</title>\n",
      by_hours ? "hours" : "count", (long long)columns * 10, DAY_HEIGHT, heading);
  for (size_t i = 0; i < fleet->day_count; i++) {
    const struct wo_fleet_day *const day = &fleet->days[i];
    const double height = (double)DAY_HEIGHT * (double)measure(&day->sum, by_hours) / (double)most;
    const long long x = (long long)((day->start_ns - first->start_ns) / span_ns) * 10;
    wo_text_add(out, "<g><rect class=\"hit\" x=\"%lld\" y=\"0\" width=\"10\" height=\"%d\"/>", x, DAY_HEIGHT);
    wo_text_add(out, "<rect x=\"%lld\" y=\"%.2f\" width=\"8\" height=\"%.2f\"/>", x + 1, (double)DAY_HEIGHT - height, height);
    write_day_label(out, day, by_hours, fleet->day_span);
    wo_text_add(out, "</g>\n");
  }
  wo_text_add(out, "</svg><div class=\"axis\"><span>");
  wo__show_day(out, first->start_ns);
  wo_text_add(out, "</span><span>");
  wo__show_day(out, last->start_ns + span_ns - day_ns);
  wo_text_add(out, "</span></div></figure>\n");
}

void wo__html_charts(struct wo__table *table) {
  const struct wo_fleet *const fleet = table->fleet;
  struct wo_text *const out = table->out;
  if (fleet->totals.sum.failed == 0) return;
  wo_text_add(out, "<section class=\"charts\" aria-label=\"charts\">\n");
  write_bars(out, &fleet->lists[WO_FLEET_BY_CAUSE], "GPU-hours lost by cause", true);
  write_bars(out, &fleet->lists[WO_FLEET_BY_CAUSE], "Failed jobs by cause", false);
  write_days(out, fleet, "GPU-hours lost", true);
  write_days(out, fleet, "Failed jobs", false);
  write_bars(out, &fleet->lists[WO_FLEET_BY_NODE], "Failed jobs by the node that failed first", false);
  write_bars(out, &fleet->lists[WO_FLEET_BY_USER], "GPU-hours lost by user", true);
  wo_text_add(out, "</section>\n");
}
