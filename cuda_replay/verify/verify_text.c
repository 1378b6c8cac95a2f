/* SPDX-License-Identifier: Apache-2.0 */
/* The proof for people: first a table, then the verdict, and last the line to resubmit with. See verify.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/verify/verify.h"
#include "cuda_replay/whatif/whatif_gpu_text.h"
#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* Columns after the title: needs, margin, fits, proof, cost. */
enum {
  PEAK_COLUMNS = 17,
  MARGIN_COLUMNS = 11,
  FITS_COLUMNS = 10,
  PROOF_COLUMNS = 15,
  COST_COLUMNS = 4,
  TITLE_MIN = 20,
  INDENT = 3
};

/* If a GPU was requested, the proof names the last authority: "recorded, model", "reconstructed, model". */
enum { GPU_PROOF_COLUMNS = 17, GPU_RECONSTRUCTED_COLUMNS = 22 };

enum { PATH_BYTES = 1024 };

struct writer {
  const struct wo_verify *verify;
  struct wo_text *out;
  struct wo_text line; /* under construction */
  size_t width;
};

static void end_line(struct writer *w, size_t indent) {
  wo_text_end_line(&w->line, indent, indent, w->width, w->out);
}

static void add_wrapped(const struct writer *w, struct wo_view text, size_t indent) {
  wo_text_flow(w->out, text, indent, indent, w->width);
}

static size_t proof_columns(const struct wo_verify *verify) {
  if (!verify->gpu.is_asked) return PROOF_COLUMNS;
  return verify->asked.is_reconstructed ? GPU_RECONSTRUCTED_COLUMNS : GPU_PROOF_COLUMNS;
}

/* The rest of the width, for titles. */
static size_t title_columns(const struct writer *w) {
  const size_t others = PEAK_COLUMNS + MARGIN_COLUMNS + FITS_COLUMNS + proof_columns(w->verify) + COST_COLUMNS + INDENT;
  return w->width > others + TITLE_MIN ? w->width - others - 1 : TITLE_MIN;
}

static const char *fit_text(const struct wo_verify *verify, enum wo_verify_fit fit) {
  static const char *const texts[] = {
      [WO_VERIFY_YES] = "yes", [WO_VERIFY_UNSURE] = "not sure", [WO_VERIFY_NO] = "no", [WO_VERIFY_UNTRIED] = "-"};
  assert(fit < WO_VERIFY_FIT_COUNT_);
  /* A pattern that was not recorded shows at most that it is likely. */
  return fit == WO_VERIFY_YES && verify->asked.is_reconstructed ? "likely" : texts[fit];
}

/* ---- Lines ---- */

/* "20.71 GiB", or "19.80-20.71 GiB" if the ends differ when printed. */
static void peak_text(const struct wo_verify_result *result, char *buf, size_t cap) {
  char lo[32], hi[32];
  wo_units_gib_text((double)result->reserved_lo_bytes, 2, lo, sizeof lo);
  wo_units_gib_text((double)result->reserved_hi_bytes, 2, hi, sizeof hi);
  if (result->fit == WO_VERIFY_UNTRIED)
    snprintf(buf, cap, "-");
  else if (wo_view_is(wo_view_of(lo), hi))
    snprintf(buf, cap, "%s GiB", hi);
  else
    snprintf(buf, cap, "%s-%s GiB", lo, hi);
}

static void margin_text(const struct wo_verify *verify, const struct wo_verify_result *result, char *buf, size_t cap) {
  char gib[32];
  snprintf(buf, cap, "-");
  if (result->fit != WO_VERIFY_UNTRIED && verify->asked.subjects[0].capacity_bytes > 0)
    snprintf(buf, cap, "%s GiB", wo_units_gib_text((double)result->margin_bytes, 2, gib, sizeof gib));
}

static const char *proof_text(const struct wo_verify *verify, const struct wo_verify_result *result) {
  const bool is_reconstructed = verify->asked.is_reconstructed;
  if (result->fit == WO_VERIFY_UNTRIED) return "none";
  if (!verify->gpu.is_asked) return is_reconstructed ? "reconstructed" : "recorded";
  if (result->is_on_gpu) return is_reconstructed ? "reconstructed, GPU" : "recorded, GPU";
  return is_reconstructed ? "reconstructed, model" : "recorded, model";
}

/* One row: the title in its column, wrapped below the figures if it is longer. */
static void add_row(const struct writer *w, const char *number, struct wo_view title, const struct wo_verify_result *result,
                    unsigned cost) {
  const size_t columns = title_columns(w);
  char peak[80], margin[40], cost_text[16] = "";
  peak_text(result, peak, sizeof peak);
  margin_text(w->verify, result, margin, sizeof margin);
  if (cost > 0) snprintf(cost_text, sizeof cost_text, "%u", cost);
  const struct wo_view first = wo_text_take_line(&title, columns);
  wo_text_add(w->out, "%*s ", INDENT - 1, number);
  wo_text_add_view(w->out, first);
  const size_t taken = wo_text_columns(first);
  wo_text_repeat(w->out, ' ', taken < columns ? columns - taken : 0);
  wo_text_add(w->out, " %*s %*s  %-*s%-*s%*s\n", PEAK_COLUMNS - 1, peak, MARGIN_COLUMNS - 1, margin, FITS_COLUMNS - 1,
              fit_text(w->verify, result->fit), (int)proof_columns(w->verify) - 1, proof_text(w->verify, result),
              COST_COLUMNS - 1, cost_text);
  wo_text_flow(w->out, title, INDENT, INDENT, INDENT + columns);
}

/* Describes a searched value by the first axis that shrinks: micro-batch, then length. */
static void add_searched(const struct wo_verify_row *row, struct wo_text *text) {
  const struct wo_scale_axis *const batch = &row->replayed.scale.axes[WO_AXIS_MICRO_BATCH];
  const bool is_batch = batch->to < batch->from;
  if (row->result.fit != WO_VERIFY_YES)
    wo_text_add(text, "%s", is_batch ? ": the smallest micro-batch there is" : ": the shortest length that is tried");
  else
    wo_text_add(text, "%s", is_batch ? ": the largest micro-batch that fits" : ": the greatest length that fits");
}

/* The lines below a row: the replayed change, and why it is no answer. If the job fits without a change, the searched value is no
 * limit. */
static void add_remarks(struct writer *w, const struct wo_verify_row *row) {
  if (row->change.len > 0) {
    wo_text_add(&w->line, "replayed as ");
    wo_text_add_view(&w->line, row->change);
    if (row->is_searched && w->verify->baseline.fit != WO_VERIFY_YES) add_searched(row, &w->line);
    if (row->choice_count > 0 && !row->is_as_proposed)
      wo_text_add(&w->line, "; as proposed: %s", fit_text(w->verify, row->as_proposed.fit));
  }
  if (row->result.why[0] != '\0') wo_text_add(&w->line, "%s%s", w->line.len > 0 ? "; " : "", row->result.why);
  end_line(w, INDENT + 2);
}

/* Whether a row has figures, or the recording gives a reason why it has none. */
static bool is_in_table(const struct wo_verify_row *row) {
  return row->result.fit != WO_VERIFY_UNTRIED || row->change.len > 0;
}

/* The others on one line, since each would have the same reason. */
static void add_untried(struct writer *w) {
  for (size_t i = 0; i < w->verify->row_count; i++) {
    if (is_in_table(&w->verify->rows[i])) continue;
    wo_text_add(&w->line, "%s%zu ", w->line.len > 0 ? "; " : "not replayed: ", i + 1);
    wo_text_add_view(&w->line, w->verify->rows[i].title);
  }
  end_line(w, 0);
}

static void add_table(struct writer *w) {
  const struct wo_verify *const verify = w->verify;
  wo_text_add(w->out, "%*s %-*s %*s%*s  %-*s%-*s%*s\n", INDENT - 1, "", (int)title_columns(w), "fix", PEAK_COLUMNS - 1, "needs",
              MARGIN_COLUMNS, "margin", FITS_COLUMNS - 1, "fits", (int)proof_columns(verify) - 1, "proof", COST_COLUMNS - 1,
              "cost");
  if (verify->asked.subject_count > 0) {
    add_row(w, "", WO_VIEW("as it was"), &verify->baseline, 0);
    add_wrapped(w, wo_view_of(verify->baseline.why), INDENT + 2);
  }
  for (size_t i = 0; i < verify->row_count; i++) {
    char number[32];
    if (!is_in_table(&verify->rows[i])) continue;
    snprintf(number, sizeof number, "%zu", i + 1);
    add_row(w, number, verify->rows[i].title, &verify->rows[i].result, verify->rows[i].cost);
    add_remarks(w, &verify->rows[i]);
  }
}

/* ---- Replayed patterns ---- */

/* The completion of the failed step: from the whole step before it, or unknown. */
static void add_completion(const struct wo_verify_subject *subject, struct wo_text *line) {
  const struct wo_step_completion *const completed = &subject->completed;
  if (completed->is_made) {
    wo_text_add(line, "; the step that failed is completed from the whole step before it (%zu allocations of %zu",
                completed->added_count, completed->whole_count);
    if (completed->ratio < 0.999 || completed->ratio > 1.001) wo_text_add(line, "; sizes x%.2f", completed->ratio);
    wo_text_add(line, "%s)", completed->is_interval ? ", some as an interval" : "");
    if (subject->is_largest_step) wo_text_add(line, "; it has the job's full length, so no step is larger");
  }
  if (subject->is_open)
    wo_text_add(line, "; the recording ends at the refused request, without the rest of the step: %s", completed->why);
  if (completed->refused != WO_NO_REQUEST && completed->goes_on)
    wo_text_add(line, "; the program caught the failure%s",
                completed->is_made ? ": its later requests are replayed too" : " and went on with something else");
}

/* A recording of another run, and the sizes that it was changed to. */
static void add_recorded_at(const struct wo_verify_subject *subject, struct wo_text *line) {
  for (enum wo_scale_axis_id axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const struct wo_scale_axis sizes = subject->recorded_at.axes[axis];
    if (sizes.from > 0)
      wo_text_add(line, "; recorded at %s %" PRIu32 ", the job as it was is that at %" PRIu32, wo_scale_axis_name(axis),
                  sizes.from, sizes.to);
  }
}

/* The run that bounds a reconstructed pattern. */
static void add_measured(const struct wo_job_sizes *sizes, struct wo_text *line) {
  char path[PATH_BYTES];
  if (!sizes || sizes->measured.micro_batch < 1) return;
  wo_text_add(line, "; held to a run that was measured: %s at micro-batch %.0f", WO_BYTES_TEXT(sizes->measured.peak_bytes),
              sizes->measured.micro_batch);
  if (sizes->measured.seq_len > 0) wo_text_add(line, ", length %.0f", sizes->measured.seq_len);
  if (sizes->measured_path.len == 0) return;
  wo_text_add(line, " (");
  wo_text_add_view(line, wo_clean_utf8(sizes->measured_path, path, sizeof path));
  wo_text_add(line, ")");
}

static void add_subjects(struct writer *w) {
  const struct wo_verify_request *const asked = &w->verify->asked;
  for (size_t i = 0; i < asked->subject_count; i++) {
    const struct wo_verify_subject *const subject = &asked->subjects[i];
    char path[PATH_BYTES];
    if (asked->is_reconstructed) {
      wo_text_add(&w->line, "pattern: reconstructed from the log's figures, not recorded");
      if (asked->job->sizes.states.len > 0) {
        wo_text_add(&w->line, "; model states are this card's part of ");
        wo_text_add_view(&w->line, asked->job->sizes.states);
      }
    } else {
      wo_text_add(&w->line, "pattern: recorded, ");
      wo_text_add_view(&w->line, wo_clean_utf8(subject->path, path, sizeof path));
      wo_text_add(&w->line, ", device %d", subject->trace->device);
    }
    if (subject->capacity_bytes > 0)
      wo_text_add(&w->line, "; replayed on the model of a card that leaves PyTorch %s, uncertain by %s (%s)",
                  WO_BYTES_TEXT(subject->capacity_bytes), WO_BYTES_TEXT(subject->uncertainty_bytes), subject->capacity_from);
    add_recorded_at(subject, &w->line);
    add_measured(subject->sizes, &w->line);
    if (!asked->is_reconstructed) add_completion(subject, &w->line);
    if (subject->why_not_proven[0] != '\0') wo_text_add(&w->line, "; no proof: %s", subject->why_not_proven);
    end_line(w, 0);
  }
}

/* ---- Results of the GPU ---- */

static size_t number_of(const struct wo_verify *verify, const struct wo_verify_row *row) {
  return (size_t)(row - verify->rows) + 1;
}

static void add_card(const struct wo_verify_gpu *gpu, struct wo_text *line) {
  uint64_t least = UINT64_MAX, most = 0, calls = 0;
  for (size_t i = 0; i < gpu->run_count; i++) {
    const struct wo_verify_gpu_run *const run = &gpu->runs[i];
    if (run->capacity_bytes < least) least = run->capacity_bytes;
    if (run->capacity_bytes > most) most = run->capacity_bytes;
    calls += run->calls;
  }
  wo_gpu_add_card(&gpu->card, gpu->ordinal, gpu->visible_devices, line);
  wo_text_add(line, ": %s free, ", WO_BYTES_TEXT(gpu->card.free_before_bytes));
  if (gpu->run_count == 0) {
    wo_text_add(line, "no run came to its end");
    return;
  }
  if (least < most) wo_text_add(line, "%s to ", WO_BYTES_TEXT(least));
  wo_text_add(line, "%s for PyTorch, what the job's card is sure to leave; %zu %s", WO_BYTES_TEXT(most), gpu->run_count,
              gpu->run_count == 1 ? "run" : "runs");
  if (gpu->has_seconds) wo_text_add(line, " in %.1f s", gpu->seconds);
  wo_text_add(line, ", %" PRIu64 " calls of the driver%s; ", calls, gpu->touches ? ", every byte written" : "");
  wo_gpu_add_left(gpu->left_count, line);
}

/* The result of a row's runs on all ranks. The last run decides: a row that is not confirmed ends with it, and so does the
 * unchanged job if it failed. */
static void add_runs(const struct wo_verify *verify, const struct wo_verify_row *row, struct wo_text *line) {
  const struct wo_verify_gpu_run *last = NULL;
  uint64_t reserved_bytes = 0;
  size_t count = 0;
  for (size_t i = 0; i < verify->gpu.run_count; i++) {
    if (verify->gpu.runs[i].row != row) continue;
    last = &verify->gpu.runs[i];
    if (last->outcome.peak.reserved_bytes > reserved_bytes) reserved_bytes = last->outcome.peak.reserved_bytes;
    count++;
  }
  if (!last) return;
  if (row) wo_text_add(line, "fix %zu: ", number_of(verify, row));
  if (!row) wo_text_add(line, "as it was: ");
  wo_gpu_add_request(&last->outcome, line);
  if (count > 1) wo_text_add(line, last->outcome.has_oom ? " on the last of %zu ranks" : " on %zu ranks", count);
  wo_text_add(line, "; reserved %s at most; ", WO_BYTES_TEXT(reserved_bytes));
  if (last->agrees) {
    wo_text_add(line, "the model of that card agrees");
  } else {
    wo_text_add(line, "not as on the model: ");
    wo_text_add_view(line, last->difference);
  }
}

/* The card, the unchanged job, then each row that was run, in the order of the table. */
static void add_gpu(struct writer *w) {
  const struct wo_verify *const verify = w->verify;
  const struct wo_verify_gpu *const gpu = &verify->gpu;
  if (gpu->is_asked && !gpu->is_found && gpu->error.code == WO_OK) {
    wo_text_add(&w->line, "GPU %d: nothing was run, since nothing is left to confirm", gpu->ordinal);
    end_line(w, 0);
  }
  if (gpu->is_found) add_card(gpu, &w->line);
  if (gpu->is_found) end_line(w, 0);
  if (gpu->is_asked && wo_gpu_add_libraries(&gpu->libraries, &w->line)) end_line(w, gpu->is_found ? 2 : 0);
  if (!gpu->is_found) return;
  add_runs(verify, NULL, &w->line);
  end_line(w, 2);
  for (size_t i = 0; i < verify->row_count; i++) {
    add_runs(verify, &verify->rows[i], &w->line);
    end_line(w, 2);
  }
}

/* ---- The verdict ---- */

static void add_chosen(const struct wo_verify *verify, struct wo_text *text) {
  wo_text_add(text, " fix %zu fits with %s to spare", number_of(verify, verify->chosen),
              WO_BYTES_TEXT(verify->chosen->result.margin_bytes));
  if (verify->chosen->result.is_on_gpu) wo_text_add(text, ", and GPU %d confirms it", verify->gpu.ordinal);
}

/* The model's result, and the result on the card. */
static void add_unconfirmed(const struct wo_verify *verify, struct wo_text *text) {
  const struct wo_verify_gpu *const gpu = &verify->gpu;
  if (gpu->error.code != WO_OK) {
    wo_text_add(text, "fix %zu fits on the model, and GPU %d could not confirm it: standard error tells why",
                number_of(verify, gpu->model_row), gpu->ordinal);
  } else if (verify->baseline.fit == WO_VERIFY_UNSURE && verify->baseline.is_on_gpu) {
    wo_text_add(text, "GPU %d does not show the failure, so a fix that fits there proves nothing", gpu->ordinal);
  } else {
    wo_text_add(text, "GPU %d confirms none of the fixes that fit on the model", gpu->ordinal);
  }
}

static void add_none(const struct wo_verify *verify, struct wo_text *text) {
  if (verify->is_batch_refuted && verify->asked.lacks_activations)
    wo_text_add(text, " no batch size fits: the model's states alone exceed the card");
  else if (verify->is_batch_refuted)
    wo_text_add(text, " no batch size fits, nor does anything else that can be replayed");
  else
    wo_text_add(text, " nothing that can be replayed fits");
  if (verify->sets_tried > 0)
    wo_text_add(text, ", alone or in %zu sets of two or three%s", verify->sets_tried, verify->is_cut ? " (the cheapest)" : "");
  const char *before = "; perhaps fix ";
  for (size_t i = 0; i < verify->row_count; i++) {
    if (verify->rows[i].choice_count == 0 || verify->rows[i].result.fit != WO_VERIFY_UNSURE) continue;
    wo_text_add(text, "%s%zu", before, i + 1);
    before = ", ";
  }
  if (before[0] == ',') wo_text_add(text, ", which only a recording can show");
}

/* The number of sets that were tried, and the evidence that would decide, if the recording is too short. */
static void add_open(const struct wo_verify *verify, struct wo_text *text) {
  bool is_open = false;
  if (verify->sets_tried > 0) wo_text_add(text, ", alone or in %zu sets of two or three", verify->sets_tried);
  for (size_t i = 0; i < verify->asked.subject_count; i++) is_open = is_open || verify->asked.subjects[i].is_open;
  if (!is_open) return;
  wo_text_add(text,
              "; a recording with a whole step would settle it: `whyoom record` of a run at a smaller micro-batch or length, "
              "given with --recorded-at, or of this one with the step before the failure");
}

static void add_not_shown(const struct wo_verify *verify, struct wo_text *text) {
  const bool is_of_another_run = verify->asked.subject_count > 0 && wo_verify_is_of_another_run(&verify->asked.subjects[0]);
  wo_text_add(text, "%s",
              is_of_another_run
                  ? "at the job's own sizes the recording fits without a change, so it does not show the failure; is "
                    "it of the same program?"
                  : "the pattern fits without a change, so it does not show the failure; record the run that fails");
}

static void add_no_pattern(const struct wo_verify *verify, struct wo_text *text) {
  if (verify->asked.is_reconstructed) wo_text_add(text, "no recording was given, and no pattern can be reconstructed: ");
  wo_text_add_view(text, verify->asked.refusal);
}

static void add_verdict(const struct wo_verify *verify, struct wo_text *text) {
  static const struct {
    const char *begin;
    void (*add_details)(const struct wo_verify *verify, struct wo_text *text); /* NULL: none */
    const char *end;
  } verdicts[WO_VERIFY_VERDICT_COUNT_] = {
      [WO_VERIFY_PROVEN] = {"proven:", add_chosen, ""},
      [WO_VERIFY_ACCEPTED] = {"accepted, not proven: on the reconstructed pattern", add_chosen, ""},
      [WO_VERIFY_RECONSTRUCTED] = {"not proven: on the reconstructed pattern", add_chosen,
                                   "; a recording would prove it (docs/verify.md), --accept-reconstructed takes it as it is"},
      [WO_VERIFY_NONE_FITS] = {"does not fit:", add_none, ""},
      [WO_VERIFY_OPEN] = {"not proven: no fix is shown to fit", add_open, ""},
      [WO_VERIFY_NOT_SHOWN] = {"not proven: ", add_not_shown, ""},
      [WO_VERIFY_NO_PATTERN] = {"not proven: ", add_no_pattern, ""},
      [WO_VERIFY_NO_FAILURE] = {"nothing to prove: no file given shows a job that ran out of GPU memory (give recordings with "
                                "--trace)",
                                NULL, ""},
      [WO_VERIFY_UNCONFIRMED] = {"not proven: ", add_unconfirmed, ""},
  };
  wo_text_add(text, "%s", verdicts[verify->verdict].begin);
  if (verdicts[verify->verdict].add_details) verdicts[verify->verdict].add_details(verify, text);
  wo_text_add(text, "%s", verdicts[verify->verdict].end);
  if (wo_verify_is_open_by_hand(verify)) wo_text_add(text, ", once the program is changed by hand");
}

/* ---- Next steps ---- */

static void add_marked(struct writer *w, const char *mark, struct wo_view text) {
  if (text.len == 0) return;
  wo_text_add(&w->line, "%s", mark);
  wo_text_add_view(&w->line, text);
  end_line(w, INDENT);
}

/* The chosen settings with the user's own keys; if the search changed a value, the replayed change is printed. Changes that no
 * setting can make are marked, since a patch does not include them. */
static void add_settings(struct writer *w) {
  const struct wo_verify_row *const chosen = w->verify->chosen;
  if (!chosen->is_as_proposed) add_wrapped(w, chosen->change, INDENT);
  for (size_t i = 0; i < chosen->choice_count; i++) {
    const struct wo_proposal *const proposal = &w->verify->asked.job->proposals[chosen->choices[i].proposal];
    if (proposal->is_by_hand)
      add_marked(w, "by hand: ", proposal->paste.len > 0 ? proposal->paste : proposal->title);
    else if (chosen->is_as_proposed)
      add_marked(w, "", proposal->paste);
    add_marked(w, "speed: ", proposal->speed);
  }
}

/* How to apply the fix: nothing is changed yet. */
static void add_way(const struct writer *w) {
  static const char *const ways[] = {
      "--patch prints these changes of your files, --patch --write makes them",
      "what is marked `by hand` is a change of the program: make it, then say so with --accept-by-hand",
      "what is marked `by hand` is a change of the program: make it, then say so with --accept-by-hand; --patch shows the rest "
      "as "
      "a change of your files, --patch --write makes it. Only all of it together is shown to fit",
  };
  const struct wo_verify_row *const chosen = w->verify->chosen;
  size_t by_hand = 0;
  for (size_t i = 0; i < chosen->choice_count; i++)
    by_hand += w->verify->asked.job->proposals[chosen->choices[i].proposal].is_by_hand ? 1 : 0;
  if (w->verify->asked.accepts_by_hand && by_hand == chosen->choice_count) return;
  if (w->verify->asked.accepts_by_hand) by_hand = 0;
  add_wrapped(w, wo_view_of(ways[by_hand == 0 ? 0 : by_hand == chosen->choice_count ? 1 : 2]), 0);
}

/* The next step without a proof: the recording that would give one, or the way out where nothing fits. */
static const char *next_step(enum wo_verify_verdict verdict) {
  switch (verdict) {
  case WO_VERIFY_RECONSTRUCTED:
  case WO_VERIFY_OPEN:
  case WO_VERIFY_NO_PATTERN:
  case WO_VERIFY_NOT_SHOWN:
    return "next: record the run that fails, `whyoom record -- COMMAND`, and give its recording with --trace";
  case WO_VERIFY_NONE_FITS:
    return "next: `whyoom -v` with the same files has the fixes that no replay can show; else a larger card, or the work over "
           "more "
           "cards";
  case WO_VERIFY_NO_FAILURE:
    return "next: `whyoom` with the same files says how the job ended";
  case WO_VERIFY_UNCONFIRMED:
    return "next: leave out --on gpu for the model's result, or run it on an idle card of the job's kind";
  default:
    return "";
  }
}

/* The line to resubmit with is last, so that it is easy to find and copy. */
static void add_next(struct writer *w) {
  const struct wo_verify *const verify = w->verify;
  if (verify->verdict != WO_VERIFY_PROVEN && verify->verdict != WO_VERIFY_ACCEPTED) {
    if (!verify->asked.job->sizes.is_other_allocator) add_wrapped(w, wo_view_of(next_step(verify->verdict)), 0);
    return;
  }
  wo_text_add(w->out, "\n");
  add_settings(w);
  add_way(w);
  if (verify->asked.job->resubmit.len == 0) return;
  wo_text_add(w->out, wo_verify_is_open_by_hand(verify) ? "then resubmit: " : "resubmit: ");
  wo_text_add_view(w->out, verify->asked.job->resubmit);
  wo_text_add(w->out, "\n");
}

void wo_verify_text(const struct wo_verify *verify, struct wo_text_style style, struct wo_text *out) {
  assert(verify && out);
  struct writer w = {.verify = verify, .out = out, .width = style.width};
  if (verify->asked.job->has_gpu_oom) {
    if (verify->asked.subject_count > 0) {
      add_table(&w);
      wo_text_add(out, "\n");
    }
    add_untried(&w);
    add_subjects(&w);
    add_gpu(&w);
  }
  add_verdict(verify, &w.line);
  end_line(&w, 0);
  add_next(&w);
  wo_text_done(&w.line);
}
