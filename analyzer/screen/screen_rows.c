/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that show the failure: rows that the cause's rule asks for, the refused request and the room for it, the bar, and
 * the place in the log. */
#include <math.h>

#include "analyzer/facts/sizes.h"
#include "analyzer/files/names.h"
#include "analyzer/report/report_words.h"
#include "analyzer/screen/screen_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

static void add_row(struct wo__screen_maker *m, const char *label, struct wo_view text) {
  if (text.len == 0 || m->screen->row_count == WO_SCREEN_ROWS_MAX) return;
  m->screen->rows[m->screen->row_count++] = (struct wo_finding_row){wo_view_of(label), text};
}

/* "2.32 GiB: the fp32 logits, 2 x 2048 x 152064 x 4 B", "51.19 GiB, more than the whole card of 44.40 GiB". */
static void add_request(struct wo__screen_maker *m) {
  const struct wo_value tried = wo__screen_fact(m, "oom.tried"), capacity = wo__screen_fact(m, "gpu.capacity");
  const struct wo_sizes *const sizes = m->report->request;
  if (!tried.is_known) return;
  struct wo_text *const text = wo__screen_start(m);
  wo_text_add(text, "%s", WO_BYTES_TEXT(tried.number.mid));
  if (capacity.is_known && tried.number.lo > capacity.number.hi) {
    wo_text_add(text, ", more than the whole card of %s", WO_BYTES_TEXT(capacity.number.mid));
  } else if (sizes != NULL && sizes->reading_count > 0 && sizes->readings[0].is_specific) {
    const struct wo_size_reading *const reading = &sizes->readings[0];
    const size_t end = wo_view_find(reading->formula, WO_VIEW(" ("), 0);
    wo_text_add(text, ": %.*s, %.*s", WO_SHOWN(reading->meaning),
                WO_SHOWN(end == WO_NOT_FOUND ? reading->formula : wo_view_sub(reading->formula, 0, end)));
  }
  add_row(m, "wanted", wo__screen_keep(m));
}

/* Whether the missing memory is that of the refused request, and not what else the job needs. */
static bool is_short_of_request(const struct wo__screen_maker *m) {
  const struct wo_value tried = wo__screen_fact(m, "oom.tried"), room = wo__screen_fact(m, "oom.free");
  const struct wo_shortage *const shortage = &m->report->shortage;
  return shortage->is_known && tried.is_known && room.is_known && shortage->bytes.hi <= tried.number.hi - room.number.lo + WO_MIB;
}

/* Whether the report is about memory in pieces. */
static bool is_in_pieces(const struct wo__screen_maker *m) {
  return wo_view_is(m->report->findings[0].cause->family, "fragmentation");
}

/* "1.55 GiB free + 612.41 MiB idle; short by 166 to 799 MiB". Where the memory was enough and lay in pieces, that is said
 * instead.
 */
static void add_room(struct wo__screen_maker *m) {
  const struct wo_value tried = wo__screen_fact(m, "oom.tried"), room = wo__screen_fact(m, "oom.free");
  const struct wo_value idle = wo__screen_fact(m, "oom.reserved_unallocated");
  const struct wo_value contradiction = wo__screen_fact(m, "oom.contradiction");
  if (!tried.is_known || !room.is_known) return;
  struct wo_text *const text = wo__screen_start(m);
  wo_text_add(text, "%s free", WO_BYTES_TEXT(room.number.mid));
  const bool has_idle = idle.is_known && !contradiction.is_known && room.number.mid < tried.number.mid;
  const double sum = room.number.mid + (has_idle ? idle.number.mid : 0);
  if (has_idle) wo_text_add(text, " + %s idle", WO_BYTES_TEXT(idle.number.mid));
  if (room.number.mid >= tried.number.mid) {
    wo_text_add(text, m->report->memory.is_room_clear ? ": the card itself was not full" : ": full but for rounding");
  } else if (has_idle && sum >= tried.number.mid && is_in_pieces(m)) {
    wo_text_add(text, " = %s: enough, but in pieces", WO_BYTES_TEXT(sum));
  } else if (is_short_of_request(m)) {
    wo_text_add(text, "; short by ");
    wo_report_add_range(text, m->report->shortage.bytes);
  }
  add_row(m, "had", wo__screen_keep(m));
  if (contradiction.is_known) add_row(m, "but", contradiction.text);
}

/* "15.9 to 79.2 GiB": more than the refused request was short of. */
static void add_shortage(struct wo__screen_maker *m) {
  const struct wo_shortage *const shortage = &m->report->shortage;
  struct wo_text *const text = wo__screen_start(m);
  wo_report_add_range(text, shortage->bytes);
  if (shortage->formula.len > 0) wo_text_add(text, ": %.*s", WO_SHOWN(shortage->formula));
  add_row(m, "short", wo__screen_keep(m));
}

/* ---- Where ---- */

/* "; the other 3 only followed", "; 3 more ranks alike", "; the other 3 show no failure". */
static void add_ranks(const struct wo__screen_maker *m, struct wo_text *text) {
  const struct wo_report *const report = m->report;
  size_t failed = 0, followed = 0;
  for (size_t i = 0; i < report->facts.rank_count; i++) {
    failed += report->facts.ranks[i].status == WO_RANK_FAILED;
    followed += report->facts.ranks[i].status == WO_RANK_FOLLOWED;
  }
  if (failed > 1) wo_text_add(text, "; %zu more rank%s alike", failed - 1, failed == 2 ? "" : "s");
  if (failed != 1 || report->facts.rank_count < 2) return;
  const size_t others = report->facts.rank_count - 1;
  if (followed > 0)
    wo_text_add(text, followed == others && others > 1 ? "; the other %zu only followed" : "; %zu more only followed", followed);
  else if (others > 1)
    wo_text_add(text, "; the other %zu show no failure", others);
}

/* The line of the failure in the log, and the user's own line of code. */
static void make_where(struct wo__screen_maker *m) {
  if (m->where == NULL) return;
  struct wo_text *const text = wo__screen_start(m);
  wo__screen_add_place(m, text, m->where);
  const struct wo_event *const traceback = wo_event_get(m->events, m->story->traceback);
  const struct wo_view file = traceback == NULL ? (struct wo_view){0} : wo_event_text(traceback, WO_FIELD_FRAME_FILE);
  if (file.len > 0)
    wo_text_add(text, ", %.*s:%.0f", WO_SHOWN(wo_name_base(file)), wo_event_number(traceback, WO_FIELD_FRAME_LINE, 0));
  add_ranks(m, text);
  m->screen->where = wo__screen_keep(m);
}

/* A failure without figures of memory is shown by the words of the log. */
static void make_quote(struct wo__screen_maker *m) {
  const bool has_figures = wo__screen_fact(m, "oom.tried").is_known && m->report->has_memory;
  if (has_figures || m->where == NULL || m->screen->tone == WO_SCREEN_GOOD) return;
  const struct wo_view text = wo_view_trim(m->where->text);
  const struct wo_view words = m->where->match.len > 0 && text.len > 160 ? m->where->match : text;
  m->screen->quote = wo_view_trim(words);
}

void wo__screen_rows(struct wo__screen_maker *m) {
  const struct wo_report *const report = m->report;
  const bool is_told = wo_report_tells_failure(report);
  for (size_t i = 0; is_told && i < report->findings[0].row_count && i < WO_SCREEN_ROWS_MAX; i++)
    m->screen->rows[m->screen->row_count++] = report->findings[0].rows[i];
  if (is_told && m->story->outcome == WO_OUTCOME_GPU_OOM) {
    const bool is_more = report->shortage.is_known && wo__screen_fact(m, "oom.tried").is_known && !is_short_of_request(m);
    if (is_more) {
      add_shortage(m);
    } else {
      add_request(m);
      add_room(m);
    }
    if (report->has_memory && !report->memory.is_contradictory && report->memory.part_count > 0)
      m->screen->memory = &report->memory;
  }
  make_quote(m);
  make_where(m);
}
