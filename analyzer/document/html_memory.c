/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time: of monitoring traces, and of the figures that the program printed. See page_internal.h. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/document/html_plot.h"
#include "analyzer/facts/monitors.h"
#include "analyzer/facts/step_memory.h"
#include "analyzer/files/names.h"
#include "parsers/base/units.h"

/* Plots of a page: prints come first, then traces in their order. */
enum { PLOTS_MAX = 12 };

struct plots {
  struct wo__html *h;
  size_t count, more;
  struct wo_curve_point points[WO__PLOT_LINES_MAX][WO__PLOT_POINTS_MAX];
};

static void add_line(struct plots *plots, struct wo__plot *plot, const struct wo_curve *curve, struct wo_view name) {
  if (plot->line_count == WO__PLOT_LINES_MAX) return;
  struct wo__plot_line *const line = &plot->lines[plot->line_count];
  line->name = name;
  line->points = plots->points[plot->line_count];
  line->count = wo_curve_points(curve, plots->points[plot->line_count++]);
}

static void show(struct plots *plots, struct wo__plot *plot) {
  char id[32];
  if (plots->count == PLOTS_MAX) {
    plots->more++;
    return;
  }
  snprintf(id, sizeof id, "plot-%zu", ++plots->count);
  plot->id = id;
  plot->title = (struct wo_view){plots->h->scratch.ptr, plots->h->scratch.len};
  wo__html_plot(plots->h->out, plot);
}

static struct wo_view path_of(const struct wo__html *h, uint32_t file) {
  return file < h->report->job->input_count ? wo_name_base(h->report->job->inputs[file].path) : WO_VIEW("?");
}

/* ---- Traces ---- */

/* The trace that facts have of a curve; NULL: its figures were refused. */
static const struct wo_card_trace *trace_of(const struct wo_facts *facts, const struct wo_curve *curve) {
  for (size_t i = 0; i < facts->monitor_count; i++) {
    const struct wo_card_trace *const trace = &facts->monitors[i];
    if (trace->file == curve->file && trace->gpu == curve->key.card && trace->fb_peak_bytes.is_known) return trace;
  }
  return NULL;
}

static void show_trace(struct plots *plots, const struct wo_curve *curve) {
  struct wo__html *const h = plots->h;
  const struct wo_card_trace *const trace = trace_of(&h->report->facts, curve);
  if (trace == NULL || curve->figures < 3) return;
  const double capacity = trace->capacity_bytes.is_known ? trace->capacity_bytes.value.mid
                          : h->report->has_memory        ? h->report->memory.capacity_bytes.mid
                                                         : 0;
  struct wo__plot plot = {.axis = curve->has_places ? WO__PLOT_SECONDS : WO__PLOT_SAMPLES,
                          .limit_bytes = capacity >= trace->fb_peak_bytes.value.mid ? capacity : 0,
                          .limit = "the card"};
  struct wo_text *const text = wo__html_start(h);
  wo_text_add(text, "GPU %d by ", (int)curve->key.card);
  wo_text_add_clean(text, path_of(h, curve->file));
  add_line(plots, &plot, curve, WO_VIEW("memory in use"));
  show(plots, &plot);
}

/* ---- Prints ---- */

/* "peak_allocated" is "peak allocated". */
static struct wo_view name_of(const struct wo_curve *curve) {
  static const char *const names[][2] = {
      {"peak_allocated", "peak allocated"}, {"peak_reserved", "peak reserved"}, {"used", "in use"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (wo_view_is(wo_view_of(curve->key.name), names[i][0])) return wo_view_of(names[i][1]);
  }
  return wo_view_of(curve->key.name);
}

static bool is_printed(const struct wo_curve *curve, const struct wo_event *row) {
  return curve->file == row->span.file && (curve->key.rank == row->rank || curve->key.rank < 0) && !curve->key.is_of_rest;
}

/* Series of prints have names of figures; those of traces are told apart by their source. */
static bool is_of_row(const struct wo_curve *curve, const struct wo_event *row) {
  return is_printed(curve, row) && wo_view_is(wo_event_text(row, WO_FIELD_NAME), curve->key.name) &&
         curve->figures == wo_event_count(row, WO_FIELD_SAMPLES);
}

/* The figures of the rank that explains the failure best: the leading one first, the others of that rank beside it. */
static void show_prints(struct plots *plots) {
  struct wo__html *const h = plots->h;
  const double capacity = h->report->has_memory ? h->report->memory.capacity_bytes.mid : 0;
  const struct wo_event *const row = wo_step_memory_lead(&h->report->facts, capacity);
  const struct wo_curve *lead = row != NULL ? h->report->job->curves.first : NULL;
  while (lead != NULL && !is_of_row(lead, row)) lead = lead->next;
  if (lead == NULL) return;
  struct wo__plot plot = {.axis = lead->has_places ? WO__PLOT_STEPS : WO__PLOT_SAMPLES,
                          .limit_bytes = capacity >= wo_event_number(row, WO_FIELD_PEAK_BYTES, 0) ? capacity : 0,
                          .limit = "the card"};
  struct wo_text *const text = wo__html_start(h);
  wo_text_add(text, "Printed by ");
  if (row->rank >= 0) wo_text_add(text, "rank %d in ", (int)row->rank);
  wo_text_add_clean(text, path_of(h, row->span.file));
  add_line(plots, &plot, lead, name_of(lead));
  for (const struct wo_curve *curve = h->report->job->curves.first; curve != NULL; curve = curve->next) {
    const bool is_beside = curve != lead && curve->key.source == lead->key.source && curve->key.rank == lead->key.rank &&
                           curve->key.card == lead->key.card && is_printed(curve, row) && curve->has_places == lead->has_places;
    if (is_beside) add_line(plots, &plot, curve, name_of(curve));
  }
  show(plots, &plot);
}

/* ---- The section ---- */

bool wo__html_has_memory(const struct wo__html *h) {
  return h->report->recorded != NULL ||
         h->report->facts.monitor_count + h->report->facts.process_count + h->report->facts.step_count > 0;
}

void wo__html_memory(struct wo__html *h) {
  const struct wo_curve_set *const set = &h->report->job->curves;
  if (!wo__html_has_memory(h)) return;
  wo_text_add(h->out, "<section id=\"memory\" aria-labelledby=\"memory-title\"><h2 id=\"memory-title\">Memory over time</h2>\n");
  wo__html_statements(h, WO_REPORT_PART_MEMORY);
  struct plots *const plots = malloc(sizeof *plots);
  if (plots == NULL || wo_arena_is_exhausted(&set->arena)) h->out->is_failed = true;
  if (plots != NULL) {
    plots->h = h;
    plots->count = plots->more = 0;
    show_prints(plots);
    for (const struct wo_curve *curve = set->first; curve != NULL; curve = curve->next) show_trace(plots, curve);
    wo__html_recording(h);
    if (plots->more > 0) wo_text_add(h->out, "<p class=\"rest\">%zu more cards are not drawn</p>\n", plots->more);
  }
  free(plots);
  wo_text_add(h->out, "</section>\n");
}
