/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks and runs: who failed when, and who followed. See page_internal.h. */
#include "analyzer/document/page_internal.h"
#include "analyzer/facts/ranks.h"
#include "parsers/base/clean.h"

enum { EVENTS_MAX = 300 };

struct seen {
  size_t count;
};

static void count_statement(void *context, struct wo_view label, struct wo_view text) {
  (void)label;
  (void)text;
  ((struct seen *)context)->count++;
}

bool wo__html_has_ranks(const struct wo__html *h) {
  struct seen seen = {0};
  if (!wo_report_statements(h->report, WO_REPORT_PART_COURSE, count_statement, &seen)) h->out->is_failed = true;
  return seen.count > 0;
}

/* The lines of a role in a box, in the order of the inputs. */
static void write_events(struct wo__html *h, enum wo_role role, const char *words) {
  size_t count = 0;
  for (size_t i = 0; i < h->events->count; i++) count += wo__html_has_role(h, i, role);
  if (count == 0) return;
  wo_text_add(h->out, "<details class=\"lines\"><summary>%s <span>%zu</span></summary>\n<ul class=\"events\">\n", words, count);
  for (size_t i = 0, shown = 0; i < h->events->count && shown < EVENTS_MAX; i++) {
    const struct wo_event *const event = &h->events->items[i];
    if (!wo__html_has_role(h, i, role)) continue;
    shown++;
    struct wo_text *const text = wo__html_start(h);
    wo__html_place(text, h, event);
    if (event->rank != WO_RANK_UNKNOWN) wo_text_add(text, ", rank %d", (int)event->rank);
    wo__html_put_scratch(h, "<li><span class=\"place\">", "</span> ");
    wo_html_put(h->out, "", wo_utf8_front(wo_view_trim(event->text), 500), "</li>\n");
  }
  wo_text_add(h->out, "</ul>\n");
  if (count > EVENTS_MAX) wo_text_add(h->out, "<p class=\"rest\">%zu more</p>\n", count - EVENTS_MAX);
  wo_text_add(h->out, "</details>\n");
}

void wo__html_ranks(struct wo__html *h) {
  if (!wo__html_has_ranks(h)) return;
  wo_text_add(h->out, "<section id=\"ranks\" aria-labelledby=\"ranks-title\"><h2 id=\"ranks-title\">Ranks and runs</h2>\n");
  wo__html_statements(h, WO_REPORT_PART_COURSE);
  wo__html_lanes(h);
  write_events(h, WO_ROLE_CONSEQUENCE, "Lines that only follow from the failure");
  write_events(h, WO_ROLE_RECOVERED, "Memory failures that the program caught");
  wo_text_add(h->out, "</section>\n");
}
