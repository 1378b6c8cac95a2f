/* SPDX-License-Identifier: Apache-2.0 */
/* The budget for people: verdict, table, the formula of each row, inputs. See budget_report.h. */
#include <math.h>
#include <stdio.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "parsers/base/units.h"

enum { LABEL_COLUMNS = 30, NUMBER_COLUMNS = 10, LABEL_MAX = 28 };

struct writer {
  const struct wo_budget_report *report;
  const struct wo_budget *budget;
  struct wo_text *out;
  size_t width;
  bool has_stated;
  bool has_moments; /* some component is not there all the time */
};

static double value(const struct writer *w, enum wo_budget_key key) {
  return w->report->input.values[key];
}

/* ---- Table ---- */

static void add_gib(const struct writer *w, double bytes) {
  char text[64];
  wo_units_gib_text(bytes, 2, text, sizeof text);
  wo_text_add(w->out, "%*s", NUMBER_COLUMNS, text);
}

static void trim_end(struct wo_text *out) {
  while (out->len > 0 && out->ptr[out->len - 1] == ' ') out->len--;
  wo_text_add(out, "\n");
}

static void add_label(const struct writer *w, struct wo_view label) {
  const struct wo_view shown = wo_view_sub(label, 0, LABEL_MAX);
  wo_text_add(w->out, "  %-*.*s", LABEL_COLUMNS - 2, WO_SHOWN(shown));
}

/* One line of the table, with the range if it is one, and what is there at the peak; `at_peak` below 0: not a part of it. */
static void add_line(const struct writer *w, struct wo_view label, struct wo_interval bytes, double at_peak,
                     const struct wo_interval *stated) {
  add_label(w, label);
  add_gib(w, bytes.mid);
  if (bytes.lo != bytes.hi) {
    add_gib(w, bytes.lo);
    add_gib(w, bytes.hi);
  } else {
    wo_text_repeat(w->out, ' ', (size_t)2 * NUMBER_COLUMNS);
  }
  if (at_peak >= 0 && w->has_moments) {
    add_gib(w, at_peak);
  } else if (stated && w->has_moments) {
    wo_text_repeat(w->out, ' ', NUMBER_COLUMNS);
  }
  if (stated) add_gib(w, stated->mid);
  trim_end(w->out);
}

static double peak_bytes(const struct writer *w, const struct wo_budget_row *row) {
  return row->bytes.mid * row->share[w->budget->peak].mid;
}

static void write_row(const struct writer *w, const struct wo_budget_row *row) {
  const struct wo_interval *const stated = row->is_stated ? &row->stated : NULL;
  if (row->is_known) {
    add_line(w, row->label, row->bytes, peak_bytes(w, row), stated);
    return;
  }
  add_label(w, row->label);
  wo_text_add(w->out, "%*s\n", NUMBER_COLUMNS, "?");
}

/* The rows in their order, states first; the sum of the states follows the last of them. */
static void write_table(const struct writer *w) {
  const struct wo_budget *const budget = w->budget;
  wo_text_add(w->out, "  %-*s%*s%*s%*s", LABEL_COLUMNS - 2, "GiB", NUMBER_COLUMNS, "assumed", NUMBER_COLUMNS, "low",
              NUMBER_COLUMNS, "high");
  if (w->has_moments) wo_text_add(w->out, "%*s", NUMBER_COLUMNS, "at peak");
  wo_text_add(w->out, "%*s", NUMBER_COLUMNS, w->has_stated ? "stated" : "");
  trim_end(w->out);
  for (size_t i = 0; i < budget->row_count; i++) {
    if (i > 0 && budget->rows[i - 1].is_state && !budget->rows[i].is_state) {
      add_line(w, WO_VIEW("= model states"), budget->states, -1, NULL);
    }
    write_row(w, &budget->rows[i]);
  }
  const bool has_ranks = w->report->input.extra_count > 0;
  if (has_ranks) add_line(w, WO_VIEW("= total, other ranks"), budget->others, budget->others.mid, NULL);
  add_line(w, has_ranks ? WO_VIEW("= total, rank with the extra") : WO_VIEW("= total"), budget->total, budget->total.mid, NULL);
  if (value(w, WO_BUDGET_CAPACITY) > 0) {
    const double capacity = value(w, WO_BUDGET_CAPACITY), limit = w->budget->limit;
    add_line(w, WO_VIEW("card"), wo_interval_exact(capacity), -1, NULL);
    if (limit < capacity) add_line(w, WO_VIEW("of it for the engine"), wo_interval_exact(limit), -1, NULL);
  }
}

/* ---- Lines below ---- */

static void put(const struct writer *w, struct wo_text *line) {
  wo_text_wrap(w->out, (struct wo_view){line->ptr, line->len}, 2, w->width);
  line->len = 0;
}

static void write_how(const struct writer *w, const struct wo_budget_row *row, struct wo_text *line) {
  if (row->formula.len == 0 && row->assumption.len == 0) return;
  wo_text_add(line, "%.*s: %.*s", WO_SHOWN(row->label), WO_SHOWN(row->formula));
  if (row->formula.len > 0 && row->assumption.len > 0) wo_text_add(line, "; ");
  wo_text_add_view(line, row->assumption);
  if (row->is_stated) {
    wo_text_add(line, ". %.*s", WO_SHOWN(row->stated_note));
  }
  put(w, line);
}

/* When the peak is, and what of it are tensors. */
static void write_peak(const struct writer *w, struct wo_text *line) {
  if (!w->has_moments) return;
  wo_text_add(line, "the peak is %s", wo_budget_moment_words(w->budget->peak));
  wo_text_add(line, ": %s of tensors", WO_BYTES_TEXT(w->budget->in_use.mid));
  if (w->budget->in_use.lo != w->budget->in_use.hi) {
    wo_text_add(line, ", %s", WO_BYTES_TEXT(w->budget->in_use.lo));
    wo_text_add(line, " to %s", WO_BYTES_TEXT(w->budget->in_use.hi));
  }
  if (value(w, WO_BUDGET_ROLLOUT) == 0) wo_text_add(line, " (PyTorch's max_memory_allocated)");
  if (value(w, WO_BUDGET_PIPELINE) > 1)
    wo_text_add(line, "; of the %s pipeline stage%s", w->budget->is_last_stage ? "last" : "first",
                value(w, WO_BUDGET_PIPELINE_STAGE) > 0 ? "" : ", which needs more");
  put(w, line);
}

/* The last part of a path: the job's report has the whole path in its first line. */
static struct wo_view short_origin(struct wo_view origin) {
  const size_t slash = wo_view_find_last(origin, WO_VIEW("/"), origin.len);
  return slash == WO_NOT_FOUND ? origin : wo_view_skip(origin, slash + 1);
}

/* The measured peak that the table is scaled to. */
static void write_calibration(const struct writer *w, struct wo_text *line) {
  const struct wo_budget_calibration *const by = &w->report->calibration;
  if (by->measured_bytes == 0) return;
  const struct wo_view origin = short_origin(by->origin);
  wo_text_add(line, "measured: %s of tensors at the peak", WO_BYTES_TEXT(by->measured_bytes));
  if (origin.len > 0) wo_text_add(line, " (%.*s)", WO_SHOWN(origin));
  wo_text_add(line, ", computed for that run %s", WO_BYTES_TEXT(by->computed_bytes));
  wo_text_add(line, ": activations and loss are scaled by %.2f", w->report->input.live_factor);
  put(w, line);
}

static void write_host(const struct writer *w, struct wo_text *line) {
  if (w->budget->host.mid == 0) return;
  const double ranks = fmax(1, value(w, WO_BUDGET_GPUS));
  wo_text_add(line, "on the host: %s for each rank, %s for %.0f", WO_BYTES_TEXT(w->budget->host.mid),
              WO_BYTES_TEXT(w->budget->host.mid * ranks), ranks);
  put(w, line);
}

static void write_batches(const struct writer *w, struct wo_text *line) {
  if (!w->budget->has_batches) return;
  if (w->budget->batch_likely < 1) {
    wo_text_add(line, "largest micro-batch: none fits, not even 1");
  } else if (w->budget->batch_sure == w->budget->batch_likely) {
    wo_text_add(line, "largest micro-batch: %.0f", w->budget->batch_sure);
  } else {
    wo_text_add(line, "largest micro-batch: %.0f by these assumptions, %.0f for sure", w->budget->batch_likely,
                w->budget->batch_sure);
  }
  put(w, line);
}

/* What an engine has left for its cache, in tokens and in sequences. */
static void write_room(const struct writer *w, struct wo_text *line) {
  const struct wo_budget *const budget = w->budget;
  if (!budget->has_room) return;
  const double length = value(w, WO_BUDGET_MAX_LEN);
  if (budget->room.hi == 0) {
    wo_text_add(line, "there is no room for a KV cache");
    put(w, line);
    return;
  }
  const double sequences = length > 0 ? budget->room.mid / budget->token_bytes / length : 0;
  wo_text_add(line, "room for the KV cache: %s", WO_BYTES_TEXT(budget->room.mid));
  wo_text_add(line, " (%s to", WO_BYTES_TEXT(budget->room.lo));
  wo_text_add(line, " %s), %.0f tokens", WO_BYTES_TEXT(budget->room.hi), floor(budget->room.mid / budget->token_bytes));
  if (length > 0) wo_text_add(line, ", %.*f sequences of %.0f", sequences < 10 ? 1 : 0, sequences, length);
  if (sequences >= 1) wo_text_add(line, "; further ones wait");
  put(w, line);
}

static void write_stages(const struct writer *w, struct wo_text *line) {
  if (!w->budget->has_stages) return;
  const double parts = fmax(1, value(w, WO_BUDGET_TENSOR)) * fmax(1, value(w, WO_BUDGET_PIPELINE));
  wo_text_add(line, "model states of a card if divided over %.0f:", floor(value(w, WO_BUDGET_GPUS) / parts));
  for (int stage = 0; stage < 4; stage++) {
    const char *const text = WO_BYTES_TEXT(w->budget->stages[stage].mid);
    wo_text_add(line, "%s %s%.0d %s", stage > 0 ? "," : "", stage == 0 ? "not divided" : "ZeRO-", stage, text);
  }
  wo_text_add(line, " (FSDP: as ZeRO-3)");
  put(w, line);
}

static void write_figures(const struct writer *w, struct wo_text *line) {
  for (size_t i = 0; i < w->report->figure_count; i++) {
    const struct wo_budget_figure *const figure = &w->report->figures[i];
    wo_text_add(line, "measured, %.*s", WO_SHOWN(figure->label));
    wo_text_add(line, " %s", WO_BYTES_TEXT(figure->bytes.mid));
    const struct wo_view origin = short_origin(figure->origin);
    if (origin.len > 0) wo_text_add(line, " (%.*s)", WO_SHOWN(origin));
    wo_text_add(line, ": %.*s", WO_SHOWN(figure->note));
    put(w, line);
  }
}

/* The next input that is given, or WO_BUDGET_KEY_COUNT_. */
static int next_input(const struct writer *w, int key) {
  do key++;
  while (key < WO_BUDGET_KEY_COUNT_ && value(w, (enum wo_budget_key)key) == 0);
  return key;
}

/* Neighbours with the same origin have it once, after the last of them; options need none. */
static void write_inputs(const struct writer *w, struct wo_text *line) {
  const int first = next_input(w, -1);
  if (first == WO_BUDGET_KEY_COUNT_) return;
  wo_text_add(line, "inputs:");
  for (int key = first; key < WO_BUDGET_KEY_COUNT_;) {
    const struct wo_view origin = w->report->origins[key];
    const int next = next_input(w, key);
    const bool is_last = next == WO_BUDGET_KEY_COUNT_ || !wo_view_equal(origin, w->report->origins[next]);
    char text[64];
    wo_text_add(line, " %s", wo_budget_key_option((enum wo_budget_key)key)->name);
    if (wo_budget_key_option((enum wo_budget_key)key)->value)
      wo_text_add(line, " %s",
                  wo_budget_value_text((enum wo_budget_key)key, value(w, (enum wo_budget_key)key), text, sizeof text));
    const struct wo_view shown = short_origin(origin);
    if (is_last && shown.len > 0 && !wo_view_starts(origin, "--")) wo_text_add(line, " (%.*s)", WO_SHOWN(shown));
    if (next < WO_BUDGET_KEY_COUNT_) wo_text_add(line, is_last ? ";" : ",");
    key = next;
  }
  put(w, line);
}

static void write_unused(const struct writer *w, struct wo_text *line) {
  struct wo_budget_unused unused[WO_BUDGET_KEY_COUNT_];
  const size_t count = wo_budget_unused(w->report, unused);
  if (count == 0) return;
  for (size_t i = 0; i < count; i++)
    wo_text_add(line, "%s --%s (%s)", i > 0 ? "," : "without effect:", wo_budget_key_option(unused[i].key)->name, unused[i].why);
  put(w, line);
}

/* ---- The first line ---- */

/* If the low end would fit, the verdict depends on the assumptions and says so. */
static void write_misfit(const struct writer *w, struct wo_text *line, const char *total, const char *card, const char *margin) {
  char low[32];
  const double capacity = w->budget->limit;
  const bool is_sure = w->budget->judged.lo > capacity;
  wo_text_add(line, "does not fit%s: %s%s for a card of %s, %s short (%.0f %% of the card)",
              is_sure ? "" : " by these assumptions", w->budget->is_complete ? "" : "at least ", total, card, margin,
              100 * -w->budget->margin / capacity);
  if (!is_sure) wo_text_add(line, "; the low end is %s", wo_units_bytes_text(w->budget->judged.lo, low, sizeof low));
}

static void write_verdict(const struct writer *w, struct wo_text *line) {
  const double capacity = w->budget->seen.mid > 0 ? value(w, WO_BUDGET_CAPACITY) : w->budget->limit;
  char seen[32];
  const char *const margin = WO_BYTES_TEXT(fabs(w->budget->margin));
  const char *const card = WO_BYTES_TEXT(capacity);
  const char *const total = WO_BYTES_TEXT(w->budget->judged.mid);
  switch (w->budget->verdict) {
  case WO_BUDGET_FITS:
    wo_text_add(line, "fits: %s of %s, %s left", total, card, margin);
    break;
  case WO_BUDGET_TIGHT:
    wo_text_add(line, "tight: %s of %s leaves %s, but not at the high end", total, card, margin);
    break;
  case WO_BUDGET_NOT_FIT:
    if (w->budget->seen.mid > 0) {
      wo_units_bytes_text(w->budget->seen.mid, seen, sizeof seen);
      wo_text_add(line, "does not fit: the log asks for %s on a card of %s; the components below explain only %s of it", seen,
                  card, total);
      break;
    }
    write_misfit(w, line, total, card, margin);
    break;
  case WO_BUDGET_OPEN:
    wo_text_add(line, "%s%s", total, w->budget->is_complete ? " in all" : " of what is known");
    if (capacity > 0) wo_text_add(line, " on a card of %s, %s are left for the rest", card, margin);
    break;
  }
  wo_text_wrap(w->out, (struct wo_view){line->ptr, line->len}, 0, w->width);
  line->len = 0;
}

void wo_budget_text(const struct wo_budget_report *report, struct wo_text_style style, struct wo_text *out) {
  struct writer w = {.report = report, .budget = &report->budget, .out = out, .width = style.width};
  struct wo_text line = {0};
  for (size_t i = 0; i < report->budget.row_count; i++) {
    const struct wo_budget_row *const row = &report->budget.rows[i];
    w.has_stated = w.has_stated || row->is_stated;
    w.has_moments = w.has_moments || (row->is_known && peak_bytes(&w, row) != row->bytes.mid);
  }
  write_verdict(&w, &line);
  wo_text_add(out, "\n");
  write_table(&w);
  wo_text_add(out, "\n");
  write_peak(&w, &line);
  write_calibration(&w, &line);
  for (size_t i = 0; i < report->budget.row_count; i++) write_how(&w, &report->budget.rows[i], &line);
  write_host(&w, &line);
  write_batches(&w, &line);
  write_room(&w, &line);
  write_stages(&w, &line);
  write_figures(&w, &line);
  write_inputs(&w, &line);
  write_unused(&w, &line);
  out->is_failed = out->is_failed || line.is_failed;
  wo_text_done(&line);
}
