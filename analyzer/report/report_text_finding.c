/* SPDX-License-Identifier: Apache-2.0 */
/* A finding as text: its title, its place, the evidence word for word, reasons, and fixes that can be pasted.
 *
 *   error[fragmentation]: 11.62 GiB lay idle in pieces while 2.00 GiB was refused
 *     --> slurm-88213.err:20917  rank 3  gpu12  GPU 1  backward  model/attention.py:208
 *         | CUDA out of memory. Tried to allocate 2.00 GiB.
 *         |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^
 *     for:     11.62 GiB is 30 % of the card
 *     fix 1  expandable segments on
 *            export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
 *
 * In: struct wo_finding and its event. Out: lines of a page. Only a setting or command may be wider than the page: a broken one
 * could not be pasted. */
#include <assert.h>

#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"
#include "parsers/base/units.h"

enum {
  PLACES_NAMED = 2,    /* after one argument */
  QUOTE_COLUMNS = 640, /* of an evidence line, unless verbose */
  QUOTE_END_LINES = 3  /* at the end of one that is longer */
};

/* ---- Small texts ---- */

/* "  label: one; two; three", wrapped. */
static void put_joined(struct wo__writer *w, const char *label, const struct wo_view *texts, size_t count) {
  struct wo_text *const text = wo__writer_start(w);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) wo_text_add(text, "; ");
    wo_text_add_view(text, texts[i]);
  }
  wo__put_labelled(w, label, wo__writer_scratch(w));
}

/* ---- Where it failed ---- */

/* The phase for people: "decode" alone could mean any decoding. */
static struct wo_view phase_label(struct wo_view phase) {
  return wo_view_is(phase, "decode") ? WO_VIEW("auxiliary decode pass") : phase;
}

void wo__write_location(struct wo__writer *w, const struct wo_event *event) {
  const size_t indent = WO__INDENT + 4;
  const struct wo_page *const page = &w->page;
  wo__indent(w, WO__INDENT);
  wo_page_put(page, WO_TINT_PLACE, WO_VIEW("-->"));
  wo__indent(w, 1);
  wo__add_place(w, wo__writer_start(w), event);
  size_t column = wo_page_item(page, indent, indent, WO_TINT_PLACE, wo__writer_scratch(w));
  struct wo_text *text = wo__writer_start(w);
  if (event->rank != WO_RANK_UNKNOWN) wo_text_add(text, "rank %d", (int)event->rank);
  const bool is_inferred = w->story->is_rank_inferred && event->id == w->story->failure;
  if (is_inferred) wo_text_add(text, " (from srun: the only task that left by itself)");
  column = wo_page_item(page, column, indent, WO_TINT_PLAIN, wo__writer_scratch(w));
  column = wo_page_item(page, column, indent, WO_TINT_PLAIN, event->host);
  /* The card as the process numbers it, which is the number in the message. */
  const double gpu = wo_event_number(event, WO_FIELD_GPU, -1);
  text = wo__writer_start(w);
  if (gpu >= 0) wo_text_add(text, "GPU %.0f", gpu);
  column = wo_page_item(page, column, indent, WO_TINT_PLAIN, wo__writer_scratch(w));
  column = wo_page_item(page, column, indent, WO_TINT_PLAIN, phase_label(w->story->phase));
  /* The user's own line, not the library's: the user can change that one. */
  const struct wo_event *const traceback = wo_event_get(w->events, w->story->traceback);
  text = wo__writer_start(w);
  if (traceback != NULL && wo_event_text(traceback, WO_FIELD_FRAME_FILE).len > 0) {
    wo_text_add_view(text, wo_event_text(traceback, WO_FIELD_FRAME_FILE));
    wo_text_add(text, ":%.0f", wo_event_number(traceback, WO_FIELD_FRAME_LINE, 0));
  }
  wo_page_item(page, column, indent, WO_TINT_PLACE, wo__writer_scratch(w));
  wo__end_line(w);
}

/* The bar that separates the words of a log from ours. */
static void put_gutter(const struct wo__writer *w) {
  wo__indent(w, WO__INDENT + 4);
  wo_page_put(&w->page, WO_TINT_PLACE, w->page.style.use_utf8 ? WO_VIEW("\xE2\x94\x82") : WO_VIEW("|"));
  wo__indent(w, 1);
}

/* Carets below the decisive part of a quoted line, if it has any: a part that was wrapped gets them on both lines. Columns are
 * counted, not bytes, or a wide character before the part would shift them. */
static void put_carets(const struct wo__writer *w, struct wo_view line, struct wo_view part) {
  const char *const first = part.ptr > line.ptr ? part.ptr : line.ptr;
  const char *const line_end = line.ptr + line.len;
  const char *const end = part.ptr + part.len < line_end ? part.ptr + part.len : line_end;
  if (first >= end) return;
  char carets[256];
  const size_t columns = wo_text_columns((struct wo_view){first, (size_t)(end - first)});
  const size_t count = columns < sizeof carets ? columns : sizeof carets;
  memset(carets, '^', count);
  put_gutter(w);
  wo__indent(w, wo_text_columns((struct wo_view){line.ptr, (size_t)(first - line.ptr)}));
  wo_page_put(&w->page, WO_TINT_ERROR, (struct wo_view){carets, count});
  wo__end_line(w);
}

/* PyTorch ends its messages with the same advice in every case, which is no evidence. From 1.10 on it suggests
 * max_split_size_mb, from 2.2 on expandable segments, even if they are on already. */
static struct wo_view without_advice(struct wo_view text) {
  static const char *const openings[] = {" If reserved but unallocated memory is large", " If reserved memory is >>"};
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
    const size_t at = wo_view_find(text, wo_view_of(openings[i]), 0);
    if (at != WO_NOT_FOUND) return wo_view_sub(text, 0, at);
  }
  return text;
}

/* Which lines of a wrapped text are shown: from `first` on, and the last ones of the text. */
struct shown {
  size_t first, count;
  size_t last; /* lines at the end that are shown as well */
};

static size_t count_lines(struct wo_view text, size_t room) {
  size_t count = 0;
  for (; text.len > 0; count++) wo_text_take_line(&text, room);
  return count;
}

/* The line of the wrapped text in which the part begins. */
static size_t line_of(struct wo_view text, size_t room, const char *part) {
  size_t at = 0;
  for (; text.len > 0; at++) {
    const struct wo_view line = wo_text_take_line(&text, room);
    if (part < line.ptr + line.len) return at;
  }
  return at;
}

/* A long text is shown around the part that decides; if no part does, by its start and its end, where messages say most. */
static struct shown choose_lines(const struct wo_event *event, struct wo_view text, size_t room, size_t most) {
  const struct wo_view part = wo_report_found(event);
  const size_t count = count_lines(text, room);
  if (count <= most || most <= QUOTE_END_LINES) return (struct shown){.count = count <= most ? count : most};
  const size_t at = part.len > 0 ? line_of(text, room, part.ptr) : 0;
  if (at + 1 >= most - QUOTE_END_LINES) return (struct shown){.first = at - 1, .count = most};
  return (struct shown){.count = most - QUOTE_END_LINES, .last = part.len > 0 ? 0 : QUOTE_END_LINES};
}

static void put_dots(const struct wo__writer *w) {
  put_gutter(w);
  wo_page_put(&w->page, WO_TINT_FAINT, WO_VIEW("..."));
  wo__end_line(w);
}

void wo__write_quote(const struct wo__writer *w, const struct wo_event *event) {
  const size_t room = w->page.style.width - (WO__INDENT + 6);
  const size_t most = w->page.style.is_verbose ? SIZE_MAX : QUOTE_COLUMNS / room + 1;
  const struct wo_view whole = wo_view_trim(event->text);
  struct wo_view rest = w->page.style.is_verbose ? whole : without_advice(whole);
  const bool is_cut = rest.len < whole.len;
  const size_t count = count_lines(rest, room);
  const struct shown shown = choose_lines(event, rest, room, most);
  bool is_gap = false;
  for (size_t at = 0; rest.len > 0; at++) {
    const struct wo_view line = wo_text_take_line(&rest, room);
    const bool is_shown = (at >= shown.first && at - shown.first < shown.count) || at + shown.last >= count;
    if (!is_shown) {
      if (!is_gap) put_dots(w);
      is_gap = true;
      continue;
    }
    is_gap = false;
    put_gutter(w);
    wo_page_put(&w->page, WO_TINT_PLAIN, line);
    wo__end_line(w);
    put_carets(w, line, wo_report_decisive(event));
  }
  if (is_cut && !is_gap) put_dots(w);
}

/* ---- A finding ---- */

/* "error[fragmentation]: title                likely". The id in brackets is an argument of `whyoom explain`. */
void wo__write_title(struct wo__writer *w, const char *tag, const struct wo_finding *finding) {
  const struct wo_view confidence = wo_view_of(wo_report_confidence_name(finding->confidence));
  const size_t width = w->page.style.width;
  wo_text_add(wo__writer_start(w), "%s[%.*s]:", tag, WO_SHOWN(finding->cause->id));
  size_t column = wo_page_flow(&w->page, 0, WO__INDENT, WO_TINT_ERROR, wo__writer_scratch(w));
  wo__indent(w, 1);
  column = wo_page_flow(&w->page, column + 1, WO__INDENT, WO_TINT_STRONG, finding->title);
  /* At the right margin of the last line of the title, or on a line of its own if there is no room. */
  if (column + 2 + confidence.len > width) {
    wo__end_line(w);
    column = 0;
  }
  wo__indent(w, width - column - confidence.len);
  wo_page_put(&w->page, WO_TINT_FAINT, confidence);
  wo__end_line(w);
}

/* The text of an argument with the places of its evidence, without the place of the diagnosis itself. */
static void add_argument(const struct wo__writer *w, struct wo_text *text, const struct wo_argument *argument) {
  size_t named = 0;
  wo_text_add_view(text, argument->text);
  for (size_t i = 0; i < argument->evidence_count; i++) {
    const struct wo_event *const event = wo_event_get(w->events, argument->evidence[i]);
    if (event == NULL || event == w->where) continue;
    if (named == PLACES_NAMED) {
      wo_text_add(text, ", ...");
      break;
    }
    wo_text_add(text, named == 0 ? " (" : ", ");
    wo__add_short_place(w, text, event);
    named++;
  }
  if (named > 0) wo_text_add(text, ")");
}

/* Reasons in a column after a common label, so that they can be compared. */
static void write_arguments(struct wo__writer *w, const char *label, const struct wo_argument *arguments, size_t count) {
  const size_t label_columns = sizeof "against:" - 1;
  if (count == 0) return;
  const size_t column = wo__put_label(w, WO_TINT_FAINT, label, label_columns);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) wo__indent(w, column);
    add_argument(w, wo__writer_start(w), &arguments[i]);
    wo_page_flow(&w->page, column, column, WO_TINT_PLAIN, wo__writer_scratch(w));
    wo__end_line(w);
  }
}

/* ---- Fixes ---- */

/* "# now 32, train.sbatch:14": the present value and the place to edit; nothing when neither is known. */
static void add_present(const struct wo__writer *w, struct wo_text *text, const struct wo_finding_change *change) {
  const struct wo_event *const where = wo_event_get(w->events, change->where);
  if (!change->from.is_known && where == NULL) return;
  wo_text_add(text, "# now ");
  if (change->from.is_known) wo_report_add_value(text, &change->from);
  if (change->from.is_known && where != NULL) wo_text_add(text, ", ");
  if (where != NULL) wo__add_place(w, text, where);
}

/* A changed setting, whole and on one line, so that it can be pasted; the present setting after it as a comment, or below. */
static void write_change(struct wo__writer *w, size_t indent, const struct wo_finding_change *change) {
  wo_report_add_change(wo__writer_start(w), change);
  wo__indent(w, indent);
  wo_page_put(&w->page, WO_TINT_FIX, wo__writer_scratch(w));
  const size_t column = indent + wo_text_columns(wo__writer_scratch(w));
  /* '#' starts a comment in shells, YAML and Hydra files: the line can be pasted with its comment. */
  add_present(w, wo__writer_start(w), change);
  if (w->scratch.len > 0 && column + 2 + wo_text_columns(wo__writer_scratch(w)) <= w->page.style.width) {
    wo__indent(w, 2);
    wo_page_put(&w->page, WO_TINT_FAINT, wo__writer_scratch(w));
  } else if (w->scratch.len > 0) {
    wo_page_break(&w->page, indent + 2);
    wo_page_flow(&w->page, indent + 2, indent + 4, WO_TINT_FAINT, wo__writer_scratch(w));
  }
  wo__end_line(w);
}

/* The facts that are missing to compute the saving of a fix. */
static void write_needs(struct wo__writer *w, size_t indent, const struct wo_finding_fix *fix) {
  wo_report_add_needs(wo__writer_start(w), fix);
  wo__put_lines(w, indent, indent + 2, wo__writer_scratch(w));
}

/* "enough: frees 2.1 to 3.4 GiB of the 1.2 GiB missing: ...": the verdict, and the sum behind it, so that a reader can check it.
 */
static void write_saves(struct wo__writer *w, size_t indent, const struct wo_finding_fix *fix) {
  write_needs(w, indent, fix);
  wo_report_add_verdict(wo__writer_start(w), fix);
  if (fix->has_saves && fix->saves_formula.len > 0) {
    wo_text_add(&w->scratch, ": %.*s", WO_SHOWN(fix->saves_formula));
  }
  wo__put_lines(w, indent, indent + 2, wo__writer_scratch(w));
}

/* One proposal (number 0: the change that is supported best): title, lines to paste, saving, cost, notes. The settings and the
 * commands follow each other without a gap, because they are copied together. */
static void write_fix(struct wo__writer *w, const struct wo_finding_fix *fix, size_t number) {
  char label[32];
  snprintf(label, sizeof label, number > 0 ? "fix %zu " : "first ", number);
  const size_t indent = wo__put_label(w, WO_TINT_FIX, label, 0);
  wo_page_flow(&w->page, indent, indent, WO_TINT_STRONG, fix->title);
  wo__end_line(w);
  for (size_t i = 0; i < fix->change_count; i++) write_change(w, indent, &fix->changes[i]);
  for (size_t i = 0; i < fix->command_count; i++) {
    wo__indent(w, indent);
    wo_page_put(&w->page, WO_TINT_FIX, fix->commands[i]);
    wo__end_line(w);
  }
  write_saves(w, indent, fix);
  wo_report_add_costs(wo__writer_start(w), fix);
  wo__put_lines(w, indent, indent + 2, wo__writer_scratch(w));
  for (size_t i = 0; i < fix->note_count; i++) {
    wo_text_add(wo__writer_start(w), "note: %.*s", WO_SHOWN(fix->notes[i]));
    wo__put_lines(w, indent, indent + 2, wo__writer_scratch(w));
  }
}

void wo__write_body(struct wo__writer *w, const struct wo_finding *finding) {
  write_arguments(w, "for:", finding->for_, finding->for_count);
  write_arguments(w, "against:", finding->against, finding->against_count);
  if (finding->fix_count > 0) wo__end_line(w);
  const struct wo_finding_fix *const first = finding == w->report->findings ? w->report->first_change : NULL;
  if (first != NULL) write_fix(w, first, 0);
  for (size_t i = 0; i < finding->fix_count; i++) write_fix(w, &finding->fixes[i], i + 1);
  put_joined(w, "not proposed:", finding->not_proposed, finding->not_proposed_count);
  put_joined(w, "would settle it:", finding->would_tell, finding->would_tell_count);
}
