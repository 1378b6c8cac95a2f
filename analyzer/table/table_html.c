/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page: its head, its figures, and the order of its parts. See html_internal.h. */
#include "analyzer/table/html_internal.h"

/* ---- Figures ---- */

static void begin_figure(struct wo_text *out, const char *words) {
  wo_text_add(out, "<div><dt>%s</dt><dd>", words);
}

static void end_figure(struct wo_text *out, const char *below) {
  wo_text_add(out, "</dd>%s%s%s</div>\n", below[0] != '\0' ? "<dd class=\"below\">" : "", below, below[0] != '\0' ? "</dd>" : "");
}

static void write_hours_figure(struct wo_text *out, const struct wo_fleet_totals *totals) {
  begin_figure(out, "GPU-hours lost");
  if (totals->sum.failed == 0) {
    wo_text_add(out, "none");
  } else {
    wo__show_lost(out, &totals->sum);
  }
  wo_text_add(out, "</dd>");
  if (totals->gpu_unknown < totals->sum.jobs) {
    wo_text_add(out, "<dd class=\"below\">of ");
    wo__show_hours(out, totals->gpu_s);
    wo_text_add(out, " used</dd>");
  }
  if (totals->sum.lost_unknown > 0) {
    wo_text_add(out, "<dd class=\"below\">not known for ");
    wo__show_counted(out, totals->sum.lost_unknown, "job", "jobs");
    wo_text_add(out, "</dd>");
  }
  wo_text_add(out, "</div>\n");
}

static void write_figures(struct wo_text *out, const struct wo_fleet *fleet) {
  const struct wo_fleet_totals *const totals = &fleet->totals;
  wo_text_add(out, "<dl class=\"figures\">\n");
  begin_figure(out, "failed jobs");
  wo__show_count(out, totals->sum.failed);
  wo_text_add(out, "</dd><dd class=\"below\">of ");
  wo__show_count(out, totals->sum.jobs);
  end_figure(out, "");
  write_hours_figure(out, totals);
  begin_figure(out, "went well");
  wo__show_count(out, totals->ok);
  end_figure(out, "");
  begin_figure(out, "end without saying how");
  wo__show_count(out, totals->open);
  end_figure(out, "");
  if (fleet->repeat_count > 0) {
    begin_figure(out, "GPU-hours of repeats");
    wo__show_hours(out, fleet->again_s == 0 && fleet->again_unknown > 0 ? WO_ROW_UNKNOWN : fleet->again_s);
    end_figure(out, "submitted again unchanged");
  }
  if (fleet->node_count > 0) {
    begin_figure(out, "suspect nodes");
    wo__show_count(out, (int64_t)fleet->node_count);
    wo_text_add(out, "</dd><dd class=\"below\">of ");
    wo__show_count(out, fleet->nodes_seen);
    end_figure(out, "");
  }
  wo_text_add(out, "</dl>\n");
}

/* The folders and the span of time. */
static void write_scope(struct wo__table *table) {
  struct wo_text *const out = table->out;
  const struct wo_fleet_totals *const totals = &table->fleet->totals;
  struct wo_view roots = table->options->roots;
  wo_text_add(out, "<p class=\"scope\">");
  for (bool is_first = true; roots.len > 0; is_first = false) {
    wo_text_add(out, "%s", is_first ? "" : ", ");
    wo_html_text(out, wo_view_cut(&roots, '\n'));
  }
  if (totals->first_ns != WO_ROW_UNKNOWN) {
    wo_text_add(out, "%s", table->options->roots.len > 0 ? "; " : "");
    wo__show_day(out, totals->first_ns);
    wo_text_add(out, " to ");
    wo__show_day(out, totals->last_ns);
  }
  wo_text_add(out, "</p>\n");
}

static void write_note(void *context, struct wo_view note) {
  struct wo_text *const out = context;
  wo_text_add(out, "<p class=\"note\">");
  wo_html_text(out, note);
  wo_text_add(out, "</p>\n");
}

enum wo_status wo__write_html(struct wo__table *table) {
  struct wo_text *const out = table->out;
  wo_html_begin(out, WO_VIEW("GPU jobs: whyoom"), &wo__table_style, &wo__table_script);
  wo_text_add(out, "<header><h1>GPU jobs</h1>\n");
  write_scope(table);
  wo_text_add(out, "<button type=\"button\" id=\"theme\" hidden=\"\">Light or dark</button>\n");
  wo_text_add(out, "</header>\n<main>\n");
  wo__html_links(table);
  write_figures(out, table->fleet);
  wo__table_notes(table, write_note, out);
  wo__html_charts(table);
  wo__html_sections(table);
  const enum wo_status status = wo__html_jobs(table);
  if (status != WO_OK) return status;
  wo_text_add(out, "<footer>Made by whyoom %s. A \"+\" behind hours: those of some jobs are not known.</footer>\n",
              WHYOOM_VERSION);
  wo_html_end(out, &wo__table_script);
  return WO_OK;
}
