/* SPDX-License-Identifier: Apache-2.0 */
/* A lane for each rank: when it failed, and when others followed. See page_internal.h. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/document/page_internal.h"
#include "analyzer/facts/ranks.h"
#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* Lanes that are drawn: ranks that failed first, then those that followed; silent ones only of a small job. Marks in all of them.
 */
enum { LANES_MAX = 32, SILENT_MAX = 8, MARKS_MAX = 512, WIDTH = 10000, HEIGHT = 100, MARGIN = 200 };

struct mark {
  const struct wo_event *event;
  int32_t rank;
  bool is_failure; /* of its own; else it follows from another one */
};

/* Along which marks are set: times, if all have one; else lines, if all are in one file; else nothing. */
enum along { ALONG_TIME, ALONG_LINES, ALONG_NOTHING };

struct lanes {
  struct wo__html *h;
  const struct wo_rank *ranks[LANES_MAX];
  size_t count, more;
  struct mark marks[MARKS_MAX];
  size_t mark_count;
  enum along along;
  double first, last;
};

/* ---- What is drawn ---- */

static void choose_ranks(struct lanes *lanes) {
  const struct wo_facts *const facts = &lanes->h->report->facts;
  static const enum wo_rank_status order[] = {WO_RANK_FAILED, WO_RANK_FOLLOWED, WO_RANK_SILENT};
  for (size_t pass = 0; pass < sizeof order / sizeof *order; pass++) {
    for (size_t i = 0; i < facts->rank_count; i++) {
      if (facts->ranks[i].status != order[pass]) continue;
      if (lanes->count == LANES_MAX || (order[pass] == WO_RANK_SILENT && facts->rank_count > SILENT_MAX)) {
        lanes->more++;
      } else {
        lanes->ranks[lanes->count++] = &facts->ranks[i];
      }
    }
  }
}

static bool has_lane(const struct lanes *lanes, int32_t rank) {
  for (size_t i = 0; i < lanes->count; i++) {
    if (lanes->ranks[i]->rank == rank) return true;
  }
  return false;
}

static void add_mark(struct lanes *lanes, const struct wo_event *event, int32_t rank, bool is_failure) {
  for (size_t i = 0; i < lanes->mark_count; i++) {
    if (lanes->marks[i].event != event || lanes->marks[i].rank != rank) continue;
    lanes->marks[i].is_failure |= is_failure;
    return;
  }
  if (lanes->mark_count < MARKS_MAX) lanes->marks[lanes->mark_count++] = (struct mark){event, rank, is_failure};
}

static void collect(struct lanes *lanes) {
  struct wo__html *const h = lanes->h;
  for (size_t i = 0; i < lanes->count; i++) {
    const struct wo_event *const event = wo_event_get(h->events, lanes->ranks[i]->evidence);
    if (event != NULL) add_mark(lanes, event, lanes->ranks[i]->rank, lanes->ranks[i]->status == WO_RANK_FAILED);
  }
  for (size_t i = 0; i < h->events->count; i++) {
    const struct wo_event *const event = &h->events->items[i];
    const bool is_sure = !event->is_local_rank || h->story->node_count <= 1;
    if (wo__html_has_role(h, i, WO_ROLE_CONSEQUENCE) && is_sure && has_lane(lanes, event->rank))
      add_mark(lanes, event, event->rank, false);
  }
}

static double place_of(const struct lanes *lanes, const struct wo_event *event) {
  return lanes->along == ALONG_TIME ? (double)event->time_ns / (double)WO_NS_PER_S : (double)event->span.line;
}

static void choose_axis(struct lanes *lanes) {
  bool has_times = lanes->mark_count > 0, is_one_file = lanes->mark_count > 0;
  for (size_t i = 0; i < lanes->mark_count; i++) {
    has_times = has_times && lanes->marks[i].event->time_ns != WO_TIME_UNKNOWN;
    is_one_file = is_one_file && lanes->marks[i].event->span.file == lanes->marks[0].event->span.file;
  }
  lanes->along = has_times ? ALONG_TIME : is_one_file ? ALONG_LINES : ALONG_NOTHING;
  lanes->first = INFINITY;
  lanes->last = -INFINITY;
  for (size_t i = 0; i < lanes->mark_count; i++) {
    lanes->first = fmin(lanes->first, place_of(lanes, lanes->marks[i].event));
    lanes->last = fmax(lanes->last, place_of(lanes, lanes->marks[i].event));
  }
}

/* ---- Lanes ---- */

static void add_when(struct wo_text *text, const struct lanes *lanes, const struct wo_event *event) {
  char time[48];
  if (lanes->along != ALONG_TIME) return;
  const struct wo_view clock = wo_view_of(wo_units_time_text(event->time_ns, time, sizeof time));
  wo_text_add(text, "%.*s", WO_SHOWN(wo_view_skip(clock, sizeof "2025-03-11T" - 1)));
}

/* "rank 3 on gpu12". */
static void write_name(struct lanes *lanes, const struct wo_rank *rank) {
  struct wo_text *const text = wo__html_start(lanes->h);
  wo_text_add(text, "rank %d", (int)rank->rank);
  if (rank->host.len > 0) wo_text_add(text, " on %.*s", WO_SHOWN(rank->host));
  wo__html_put_scratch(lanes->h, "<span class=\"who\">", "</span>\n");
}

static long x_of(const struct lanes *lanes, const struct wo_event *event) {
  const double span = lanes->last - lanes->first;
  if (lanes->along == ALONG_NOTHING || !(span > 0)) return WIDTH / 2;
  return MARGIN + lround((WIDTH - 2 * MARGIN) * (place_of(lanes, event) - lanes->first) / span);
}

/* A mark is a line without length, whose round ends keep their form however the picture is stretched. */
static void write_mark(struct lanes *lanes, const struct mark *mark) {
  struct wo_text *const text = wo__html_start(lanes->h);
  wo_text_add(lanes->h->out, "<path class=\"mark %s\" d=\"M%ld %dh0\"><title>", mark->is_failure ? "dead" : "after",
              x_of(lanes, mark->event), HEIGHT / 2);
  wo_text_add(text, "%s: ", mark->is_failure ? "failed" : "followed");
  wo__html_place(text, lanes->h, mark->event);
  if (lanes->along == ALONG_TIME) wo_text_add(text, ", ");
  add_when(text, lanes, mark->event);
  wo_text_add(text, ": %.*s", WO_SHOWN(wo_utf8_front(wo_view_trim(mark->event->text), 160)));
  wo__html_put_scratch(lanes->h, "", "</title></path>\n");
}

/* Lines end at the last mark of a rank that failed: it was gone then. */
static void write_lane(struct lanes *lanes, const struct wo_rank *rank) {
  struct wo_text *const out = lanes->h->out;
  const struct wo_event *const shown = wo_event_get(lanes->h->events, rank->evidence);
  write_name(lanes, rank);
  wo_text_add(out, "<svg role=\"img\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" aria-label=\"rank %d %s", WIDTH, HEIGHT,
              (int)rank->rank,
              rank->status == WO_RANK_FAILED     ? "failed"
              : rank->status == WO_RANK_FOLLOWED ? "followed"
                                                 : "reports no failure of its own");
  if (shown != NULL) {
    struct wo_text *const text = wo__html_start(lanes->h);
    wo__html_place(text, lanes->h, shown);
    wo__html_put_scratch(lanes->h, ", ", "");
  }
  const bool is_gone = rank->status == WO_RANK_FAILED && shown != NULL;
  wo_text_add(out, "\">\n<line class=\"life\" x1=\"0\" x2=\"%ld\" y1=\"%d\" y2=\"%d\"/>\n", is_gone ? x_of(lanes, shown) : WIDTH,
              HEIGHT / 2, HEIGHT / 2);
  for (int is_failure = 0; is_failure <= 1; is_failure++) {
    for (size_t i = 0; i < lanes->mark_count; i++) {
      if (lanes->marks[i].rank == rank->rank && lanes->marks[i].is_failure == (is_failure != 0))
        write_mark(lanes, &lanes->marks[i]);
    }
  }
  wo_text_add(out, "</svg>\n");
}

static void write_axis(struct lanes *lanes) {
  struct wo_text *const out = lanes->h->out;
  if (lanes->along == ALONG_NOTHING || !(lanes->last > lanes->first)) return;
  wo_text_add(out, "<div class=\"axis\" aria-hidden=\"true\">");
  for (size_t k = 0; k < 2; k++) {
    const double at = k == 0 ? lanes->first : lanes->last;
    wo_text_add(out, "<span>");
    const struct wo_event moment = {.time_ns = (int64_t)(at * (double)WO_NS_PER_S)};
    if (lanes->along == ALONG_TIME) add_when(out, lanes, &moment);
    if (lanes->along == ALONG_LINES) wo_text_add(out, "line %.0f", at);
    wo_text_add(out, "</span>");
  }
  wo_text_add(out, "</div>\n");
}

static void write_lanes(struct lanes *lanes) {
  struct wo_text *const out = lanes->h->out;
  wo_text_add(out,
              "<figure class=\"chart\" id=\"lanes\"><figcaption>Who failed, who followed</figcaption>\n<ul class=\"legend\">"
              "<li><svg class=\"dot dead\" aria-hidden=\"true\"><circle cx=\"6\" cy=\"6\" r=\"5\"/></svg>failed</li>"
              "<li><svg class=\"dot after\" aria-hidden=\"true\"><circle cx=\"6\" cy=\"6\" r=\"4\"/></svg>followed</li></ul>\n"
              "<div class=\"lanes\">\n");
  for (size_t i = 0; i < lanes->count; i++) write_lane(lanes, lanes->ranks[i]);
  write_axis(lanes);
  wo_text_add(out, "</div>\n");
  if (lanes->more > 0)
    wo_text_add(out, "<p class=\"rest\">%zu more rank%s not drawn</p>\n", lanes->more, lanes->more == 1 ? " is" : "s are");
  wo_text_add(out, "</figure>\n");
}

/* A failure of one process, or of ranks that no line names, has no lanes. */
void wo__html_lanes(struct wo__html *h) {
  if (h->report->facts.rank_count < 2 || !wo_report_tells_failure(h->report)) return;
  struct lanes *const lanes = calloc(1, sizeof *lanes);
  if (lanes == NULL) {
    h->out->is_failed = true;
    return;
  }
  lanes->h = h;
  choose_ranks(lanes);
  collect(lanes);
  choose_axis(lanes);
  if (lanes->mark_count > 0) write_lanes(lanes);
  free(lanes);
}
