/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: what is wrong, the numbers that show it, the change to make first, and what else there is. At most 23 lines
 * of 80 columns: with the prompt below them they stay on a terminal of 24. The report has the rest.
 *
 * In: struct wo_report. Out: struct wo_screen, which the writers of text, one line, Markdown and HTML lay out. Every number in it
 * is one of the report's, in the report's own words, so that it can be found again there and in JSON. Texts live in the given
 * arena or in the report, and are valid UTF-8 without control characters. */
#ifndef WO_SCREEN_H
#define WO_SCREEN_H

#include "analyzer/report/report.h"

enum { WO_SCREEN_LINES = 23, WO_SCREEN_ROWS_MAX = 8, WO_SCREEN_CHANGES_MAX = 6, WO_SCREEN_NEXT_MAX = 3 };

/* How the verdict is coloured, and which sections there are. */
enum wo_screen_tone { WO_SCREEN_GOOD, WO_SCREEN_NOTE, WO_SCREEN_FAILURE };

/* A line of the change: a setting with its old and new value, or a line of code or shell (`now` and `then` are then empty). */
struct wo_screen_change {
  struct wo_view place; /* "run_lora.sh:32"; or empty: it is set nowhere yet */
  struct wo_view text;  /* "--per_device_train_batch_size", or the whole line */
  struct wo_view now;   /* "2"; empty: not set */
  struct wo_view then;  /* "1" */
};

/* A fix in a row of a table. */
struct wo_screen_fix {
  size_t number;        /* of the fix in the report, from 1 */
  struct wo_view title; /* as in the report; a writer may cut it */
  struct wo_view frees; /* "1.2 to 4.7 GiB", or of a replay "lacks 1.20 GiB", "leaves 0.40 GiB"; or empty */
  struct wo_view price; /* "10 to 30 % slower"; or empty */
  const struct wo_finding_fix *fix;
  bool is_enough; /* alone: by its replay, else by its interval */
};

/* What to do, and the command for it. */
struct wo_screen_next {
  struct wo_view label;   /* "everything" */
  struct wo_view command; /* as it is pasted; or empty */
  struct wo_view words;   /* the same in words, where the command has no room: "the same files with -v" */
};

struct wo_screen {
  struct wo_view job; /* "job 90817 on ws-rtx2, GPU 0 (23.64 GiB): died at step 41 of 1464, forward pass" */
  enum wo_screen_tone tone;
  struct wo_view verdict;    /* "OUT OF GPU MEMORY" */
  struct wo_view cause;      /* "the batch is too large"; or empty */
  struct wo_view confidence; /* "likely"; or empty */
  struct wo_finding_row rows[WO_SCREEN_ROWS_MAX];
  size_t row_count;
  const struct wo_report_memory *memory; /* for the bar; or NULL */
  struct wo_view quote;                  /* the words of the log, where no number shows the failure; or empty */
  struct wo_view where;                  /* "slurm-90817.err:59, finetune_lora.py:132"; or empty */
  struct wo_screen_fix first;            /* number 0: none */
  bool is_first_proven;                  /* by a recording: the others are other ways, and not for when it is not enough */
  struct wo_view first_verdict;          /* "enough: frees 1.2 to 4.4 GiB where 166 to 799 MiB is missing"; or empty */
  struct wo_screen_change changes[WO_SCREEN_CHANGES_MAX];
  size_t change_count;                /* kept */
  size_t more_changes;                /* left out */
  const struct wo_screen_fix *others; /* the fixes after the first; those that a recording refutes are last */
  size_t other_count;
  struct wo_view also;    /* other findings, with their confidence; or empty */
  struct wo_view already; /* "gradient checkpointing, 16-bit weights": set in the job; or empty */
  struct wo_view not_it;  /* "fragmentation, slow growth": ruled out by figures; or empty */
  struct wo_view settle;  /* the evidence that would decide; or empty */
  struct wo_view notes;   /* inputs that were not read, or not wholly; or empty */
  struct wo_screen_next next[WO_SCREEN_NEXT_MAX];
  size_t next_count;
};

/* Makes the first screen of a report. `words` are the inputs as they stand on a command line ("*", "a.err b.sh"), for the
 * commands that it names; empty: they came through a pipe. WO_E_NOMEM. */
enum wo_status wo_screen_make(const struct wo_report *report, struct wo_view words, struct wo_arena *arena,
                              struct wo_screen *ret_screen);

/* Writes it as text: at most WO_SCREEN_LINES lines if the page is at least 80 columns wide. */
void wo_screen_text(const struct wo_screen *screen, struct wo_text_style style, struct wo_text *out);

/* Writes it as one line without colours: "job 4711, GPU 0 (23.64 GiB): died at step 41, backward pass; OUT OF GPU MEMORY: the
 * batch is too large (likely); first: ...". */
void wo_screen_oneline(const struct wo_screen *screen, struct wo_text *out);

#endif
