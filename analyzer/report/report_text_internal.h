/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the text report. Private to analyzer/report/report_*.c. */
#ifndef WO_REPORT_TEXT_INTERNAL_H
#define WO_REPORT_TEXT_INTERNAL_H

#include "analyzer/report/report.h"
#include "parsers/base/output/page.h"

/* ---- Writers ---- */

/* Indents: of paragraphs and labels, and of the lines below them. */
enum { WO__INDENT = 2, WO__FURTHER = 4 };

struct wo__writer {
  struct wo_page page;
  const struct wo_report *report;
  const struct wo_story *story;
  const struct wo_event_store *events;
  const struct wo_event *where; /* the event of the diagnosis, or NULL */
  struct wo_text scratch;       /* for one item at a time */
  wo_report_statement_fn say;   /* takes labelled texts and lines in place of the page; NULL: the page does */
  void *context;                /* its first argument */
};

/* Empties the scratch text and returns it / returns its content, valid until the next change. */
struct wo_text *wo__writer_start(struct wo__writer *w);
struct wo_view wo__writer_scratch(const struct wo__writer *w);

/* Adds "1 204 lines": a count with blanks between groups of three digits, and its noun. */
void wo__add_counted(struct wo_text *text, uint64_t count, const char *one, const char *many);

/* Adds a path without control characters: a name on disk can hold any byte. */
void wo__add_path(struct wo_text *text, struct wo_view path);

/* Adds "file:12" / "line 12" in the file of the diagnosis, "file:12" elsewhere. */
void wo__add_place(const struct wo__writer *w, struct wo_text *text, const struct wo_event *event);
void wo__add_short_place(const struct wo__writer *w, struct wo_text *text, const struct wo_event *event);

/* Ends the line / writes blanks. */
void wo__end_line(const struct wo__writer *w);
void wo__indent(const struct wo__writer *w, size_t columns);

/* Starts a labelled line, the label padded with blanks; returns the column of its text. */
size_t wo__put_label(const struct wo__writer *w, enum wo_tint tint, const char *label, size_t padded_columns);

/* Writes "  label: text", wrapped, as a line of its own / a paragraph. Nothing for an empty text. */
void wo__put_labelled(const struct wo__writer *w, const char *label, struct wo_view text);
void wo__put_paragraph(const struct wo__writer *w, struct wo_view text);

/* Writes a text, wrapped, as lines of their own: the first after `indent` blanks, further ones after `hanging`. Nothing for an
 * empty text. */
void wo__put_lines(const struct wo__writer *w, size_t indent, size_t hanging, struct wo_view text);

/* ---- Parts ---- */

/* Writes "  --> file:line  rank 3  host  GPU 1  phase  user-file:line" of an event / its text, quoted behind a gutter. */
void wo__write_location(struct wo__writer *w, const struct wo_event *event);
void wo__write_quote(const struct wo__writer *w, const struct wo_event *event);

/* Writes "tag[id]: title" with the confidence at the right margin / reasons, fixes and the fixes that are not proposed. */
void wo__write_title(struct wo__writer *w, const char *tag, const struct wo_finding *finding);
void wo__write_body(struct wo__writer *w, const struct wo_finding *finding);

/* Writes "setting: micro_batch 4 (train.sbatch:24 --micro-batch-size) over 8 (config.yaml:3): a command line beats a file" for
 * each knob that places of different sorts set differently; all settings when verbose. */
void wo__write_settings(struct wo__writer *w);

/* Whether wo__write_settings writes anything. */
bool wo__has_settings(const struct wo__writer *w);

/* Whether a trace gets a line: one sample at the start of a log gets one only if verbose. */
bool wo__is_monitor_shown(const struct wo__writer *w, const struct wo_card_trace *monitor);

/* Writes a line for each card of the traces, and one for the processes of each. */
void wo__write_monitors(struct wo__writer *w);

/* Writes one line about the memory that the program printed with its steps. */
void wo__write_steps(struct wo__writer *w);

/* Writes the steps up from a run that fits; nothing when none is known. */
void wo__write_ladder(struct wo__writer *w);

/* Writes the bar of the card's memory with its legend, and the arithmetic below it. */
void wo__page_memory(const struct wo_page *page, const struct wo_report_memory *memory);

/* Writes the ranks that failed and followed, and whether their order is sure / the other runs in the log; labelled lines. */
void wo__write_ranks(struct wo__writer *w);
void wo__write_runs(struct wo__writer *w);

/* Whether these two write anything. */
bool wo__has_ranks_or_runs(const struct wo__writer *w);

/* Writes the possible tensors of the refused request: a line for each reading, at most three; nothing without any. */
void wo__page_request(const struct wo_page *page, const struct wo_sizes *sizes);

#endif
