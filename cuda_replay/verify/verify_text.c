/* The proof for people: a table first, then what it comes to, and the line to resubmit with as the last. See verify.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/verify/verify.h"
#include "parsers/base/clean.h"
#include "parsers/base/page.h"
#include "parsers/base/units.h"

/* Columns behind the title: needs, margin, fits, proof, cost. */
enum {
  PEAK_COLUMNS = 17,
  MARGIN_COLUMNS = 11,
  FITS_COLUMNS = 10,
  PROOF_COLUMNS = 15,
  COST_COLUMNS = 4,
  TITLE_MIN = 20,
  INDENT = 3
};

/* Where a GPU was asked for, the proof says who had the last word: "recorded, model", "reconstructed, model". */
enum { GPU_PROOF_COLUMNS = 17, GPU_RECONSTRUCTED_COLUMNS = 22 };

enum { PATH_BYTES = 1024, SHOWN_BYTES = 240 };

static size_t proof_columns(const struct wo_verify *verify) {
  if (!verify->gpu.is_asked) return PROOF_COLUMNS;
  return verify->asked.is_reconstructed ? GPU_RECONSTRUCTED_COLUMNS : GPU_PROOF_COLUMNS;
}

/* What is left of the width for titles. */
static size_t title_columns(const struct wo_verify *verify, size_t width) {
  const size_t others = PEAK_COLUMNS + MARGIN_COLUMNS + FITS_COLUMNS + proof_columns(verify) + COST_COLUMNS + INDENT;
  return width > others + TITLE_MIN ? width - others - 1 : TITLE_MIN;
}

static const char *fit_text(enum wo_verify_fit fit) {
  static const char *const texts[] = {
      [WO_VERIFY_YES] = "yes", [WO_VERIFY_UNSURE] = "not sure", [WO_VERIFY_NO] = "no", [WO_VERIFY_UNTRIED] = "-"};
  assert(fit < WO_VERIFY_FIT_COUNT_);
  return texts[fit];
}

/* ---- Lines ---- */

/* Text wrapped to the width, each line indented. */
static void add_wrapped(struct wo_text *out, struct wo_view text, size_t indent, size_t width) {
  const size_t columns = width > indent + TITLE_MIN ? width : indent + TITLE_MIN;
  wo_page_lines(&(struct wo_page){out, {.width = columns}}, indent, indent, text);
}

/* "20.71 GiB", or "19.80-20.71 GiB" where the ends differ when printed. */
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
  const bool is_known = result->fit != WO_VERIFY_UNTRIED && verify->asked.subjects[0].capacity_bytes > 0;
  char gib[32];
  if (is_known)
    snprintf(buf, cap, "%s GiB", wo_units_gib_text((double)result->margin_bytes, 2, gib, sizeof gib));
  else
    snprintf(buf, cap, "-");
}

static const char *proof_text(const struct wo_verify *verify, const struct wo_verify_result *result) {
  const bool is_reconstructed = verify->asked.is_reconstructed;
  if (result->fit == WO_VERIFY_UNTRIED) return "none";
  if (!verify->gpu.is_asked) return is_reconstructed ? "reconstructed" : "recorded";
  if (result->is_on_gpu) return is_reconstructed ? "reconstructed, GPU" : "recorded, GPU";
  return is_reconstructed ? "reconstructed, model" : "recorded, model";
}

/* One row: the title in its column, wrapped below the figures where it is longer. */
static void add_row(const struct wo_verify *verify, const char *number, struct wo_view title,
                    const struct wo_verify_result *result, unsigned cost, size_t width, struct wo_text *out) {
  const size_t columns = title_columns(verify, width);
  char peak[80], margin[40], cost_text[16] = "";
  peak_text(result, peak, sizeof peak);
  margin_text(verify, result, margin, sizeof margin);
  if (cost > 0) snprintf(cost_text, sizeof cost_text, "%u", cost);
  const struct wo_view first = wo_text_take_line(&title, columns);
  wo_text_add(out, "%*s ", INDENT - 1, number);
  wo_text_add_view(out, first);
  const size_t taken = wo_text_columns(first);
  wo_text_repeat(out, ' ', taken < columns ? columns - taken : 0);
  wo_text_add(out, " %*s %*s  %-*s%-*s%*s\n", PEAK_COLUMNS - 1, peak, MARGIN_COLUMNS - 1, margin, FITS_COLUMNS - 1,
              fit_text(result->fit), (int)proof_columns(verify) - 1, proof_text(verify, result), COST_COLUMNS - 1, cost_text);
  add_wrapped(out, title, INDENT, INDENT + columns);
}

/* What the value of a search is: of micro-batch and length it is the first that gets smaller. */
static void add_searched(const struct wo_verify_row *row, struct wo_text *text) {
  const struct wo_scale_axis *const batch = &row->replayed.scale.axes[WO_AXIS_MICRO_BATCH];
  const bool is_batch = batch->to < batch->from;
  if (row->result.fit != WO_VERIFY_YES)
    wo_text_add(text, "%s", is_batch ? ": the smallest micro-batch there is" : ": the shortest length that is tried");
  else
    wo_text_add(text, "%s%s", is_batch ? ": the largest micro-batch that fits" : ": the greatest length that fits",
                row->is_beyond ? "; the proposed length is not shown to fit" : "");
}

/* What stands below a row: what was replayed, and why it is no answer. Where the job fits as it was, the value of a search is no
 * limit. */
static void add_remarks(const struct wo_verify_row *row, bool is_failing, size_t width, struct wo_text *out) {
  struct wo_text text = {0};
  if (row->change.len > 0) {
    wo_text_add(&text, "replayed as ");
    wo_text_add_view(&text, row->change);
    if (row->is_searched && is_failing) add_searched(row, &text);
  }
  if (row->result.why[0] != '\0') wo_text_add(&text, "%s%s", text.len > 0 ? "; " : "", row->result.why);
  if (text.is_failed) out->is_failed = true;
  if (text.len > 0) add_wrapped(out, (struct wo_view){text.ptr, text.len}, INDENT + 2, width);
  wo_text_done(&text);
}

/* Whether a row has figures, or a reason of the recording why it has none. */
static bool is_in_table(const struct wo_verify_row *row) {
  return row->result.fit != WO_VERIFY_UNTRIED || row->change.len > 0;
}

/* The others on one line, since each of them would say the same. */
static void add_untried(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  struct wo_text text = {0};
  for (size_t i = 0; i < verify->row_count; i++) {
    if (is_in_table(&verify->rows[i])) continue;
    wo_text_add(&text, "%s%zu ", text.len > 0 ? "; " : "not replayed: ", i + 1);
    wo_text_add_view(&text, verify->rows[i].title);
  }
  if (text.is_failed) out->is_failed = true;
  add_wrapped(out, (struct wo_view){text.ptr, text.len}, 0, width);
  wo_text_done(&text);
}

static void add_table(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  const size_t columns = title_columns(verify, width);
  wo_text_add(out, "%*s %-*s %*s%*s  %-*s%-*s%*s\n", INDENT - 1, "", (int)columns, "fix", PEAK_COLUMNS - 1, "needs",
              MARGIN_COLUMNS, "margin", FITS_COLUMNS - 1, "fits", (int)proof_columns(verify) - 1, "proof", COST_COLUMNS - 1,
              "cost");
  if (verify->asked.subject_count > 0) {
    add_row(verify, "", WO_VIEW("as it was"), &verify->baseline, 0, width, out);
    if (verify->baseline.why[0] != '\0') add_wrapped(out, wo_view_of(verify->baseline.why), INDENT + 2, width);
  }
  for (size_t i = 0; i < verify->row_count; i++) {
    char number[32];
    if (!is_in_table(&verify->rows[i])) continue;
    snprintf(number, sizeof number, "%zu", i + 1);
    add_row(verify, number, verify->rows[i].title, &verify->rows[i].result, verify->rows[i].cost, width, out);
    add_remarks(&verify->rows[i], verify->baseline.fit != WO_VERIFY_YES, width, out);
  }
}

/* ---- What was replayed, and where ---- */

/* What became of the step that failed: it is made up of itself and the one before it, or it is not known. */
static void add_completion(const struct wo_verify_subject *subject, struct wo_text *line) {
  const struct wo_continuation *const completed = &subject->completed;
  if (completed->is_made) {
    wo_text_add(line, "; the step that failed is completed from the whole step before it (%zu allocations of %zu",
                completed->added_count, completed->whole_count);
    if (completed->ratio < 0.999 || completed->ratio > 1.001) wo_text_add(line, "; sizes x%.2f", completed->ratio);
    wo_text_add(line, "%s)", completed->is_interval ? ", some as an interval" : "");
    if (subject->is_largest_step) wo_text_add(line, ", and of the job's full length by the size of its request: none is larger");
  }
  if (subject->is_open)
    wo_text_add(line, "; the recording ends at the refused request: what the step does after it is not in it, as %s",
                completed->why);
  if (completed->refused != WO_NO_REQUEST && completed->goes_on)
    wo_text_add(line, "; the program caught the failure%s",
                completed->is_made ? ": what it did then is replayed as well" : " and went on with something else");
}

/* A recording of another run, and what was made of it. */
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
  char peak[32], path[PATH_BYTES];
  if (!sizes || sizes->measured.micro_batch < 1) return;
  wo_text_add(line, "; held to a run that was measured: %s at micro-batch %.0f",
              wo_units_bytes_text(sizes->measured.peak_bytes, peak, sizeof peak), sizes->measured.micro_batch);
  if (sizes->measured.seq_len > 0) wo_text_add(line, ", length %.0f", sizes->measured.seq_len);
  if (sizes->measured_path.len == 0) return;
  wo_text_add(line, " (");
  wo_text_add_view(line, wo_clean_utf8(sizes->measured_path, path, sizeof path));
  wo_text_add(line, ")");
}

static void add_subjects(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  const struct wo_verify_request *const asked = &verify->asked;
  for (size_t i = 0; i < asked->subject_count; i++) {
    const struct wo_verify_subject *const subject = &asked->subjects[i];
    struct wo_text line = {0};
    char path[PATH_BYTES], size[32], uncertain[32];
    if (asked->is_reconstructed) {
      wo_text_add(&line, "pattern: reconstructed from the log's figures, not recorded");
      if (asked->job->sizes.states.len > 0) {
        wo_text_add(&line, "; model states are this card's part of ");
        wo_text_add_view(&line, asked->job->sizes.states);
      }
    } else {
      wo_text_add(&line, "pattern: recorded, ");
      wo_text_add_view(&line, wo_clean_utf8(subject->path, path, sizeof path));
      wo_text_add(&line, ", device %d", subject->trace->device);
    }
    if (subject->capacity_bytes > 0)
      wo_text_add(&line, "; replayed on the model of a card that leaves PyTorch %s, uncertain by %s (%s)",
                  wo_units_bytes_text((double)subject->capacity_bytes, size, sizeof size),
                  wo_units_bytes_text((double)subject->uncertainty_bytes, uncertain, sizeof uncertain), subject->capacity_from);
    add_recorded_at(subject, &line);
    add_measured(subject->sizes, &line);
    if (!asked->is_reconstructed) add_completion(subject, &line);
    if (subject->doubt[0] != '\0') wo_text_add(&line, "; no proof: %s", subject->doubt);
    if (line.is_failed) out->is_failed = true;
    if (line.len > 0) add_wrapped(out, (struct wo_view){line.ptr, line.len}, 0, width);
    wo_text_done(&line);
  }
}

/* ---- What the GPU said ---- */

static size_t number_of(const struct wo_verify *verify, const struct wo_verify_row *row) {
  return (size_t)(row - verify->rows) + 1;
}

/* One line, and it is empty again. */
static void end_line(struct wo_text *line, size_t indent, size_t width, struct wo_text *out) {
  if (line->is_failed) out->is_failed = true;
  add_wrapped(out, (struct wo_view){line->ptr, line->len}, indent, width);
  wo_text_done(line);
}

/* The number is the driver's, so what it counts by belongs to it. */
static void add_card(const struct wo_verify_gpu *gpu, struct wo_text *line) {
  char text[SHOWN_BYTES], size[32];
  uint64_t least = UINT64_MAX, most = 0, calls = 0;
  for (size_t i = 0; i < gpu->run_count; i++) {
    const struct wo_verify_gpu_run *const run = &gpu->runs[i];
    if (run->capacity_bytes < least) least = run->capacity_bytes;
    if (run->capacity_bytes > most) most = run->capacity_bytes;
    calls += run->calls;
  }
  wo_text_add(line, "GPU %d, ", gpu->ordinal);
  wo_text_add_view(line, wo_clean_utf8(wo_view_of(gpu->card.name), text, sizeof text));
  wo_text_add(line, " (CUDA %d.%d", gpu->card.driver_version / 1000, gpu->card.driver_version % 1000 / 10);
  if (gpu->visible_devices.len > 0) {
    wo_text_add(line, ", counted in CUDA_VISIBLE_DEVICES=");
    wo_text_add_view(line, wo_clean_utf8(gpu->visible_devices, text, sizeof text));
  }
  wo_text_add(line, "): %s free, ", wo_units_bytes_text((double)gpu->card.free_before_bytes, size, sizeof size));
  if (gpu->run_count == 0) {
    wo_text_add(line, "no run came to its end");
    return;
  }
  if (least < most) wo_text_add(line, "%s to ", wo_units_bytes_text((double)least, size, sizeof size));
  wo_text_add(line, "%s for PyTorch, what the job's card is sure to leave; %zu %s",
              wo_units_bytes_text((double)most, size, sizeof size), gpu->run_count, gpu->run_count == 1 ? "run" : "runs");
  if (gpu->has_seconds) wo_text_add(line, " in %.1f s", gpu->seconds);
  wo_text_add(line, ", %" PRIu64 " calls of the driver%s; ", calls, gpu->touches ? ", every byte written" : "");
  if (gpu->left_count > 0)
    wo_text_add(line, "the driver did not take back %" PRIu64 " pieces", gpu->left_count);
  else
    wo_text_add(line, "everything was given back");
}

/* What the runs of a row came to, all ranks together: the last one decides, for a row that is not confirmed ends with it, and so
 * does the job as it was when it failed. */
static void add_runs(const struct wo_verify *verify, const struct wo_verify_row *row, struct wo_text *line) {
  const struct wo_verify_gpu_run *last = NULL;
  uint64_t reserved_bytes = 0;
  size_t count = 0;
  char size[32], peak[32];
  for (size_t i = 0; i < verify->gpu.run_count; i++) {
    if (verify->gpu.runs[i].row != row) continue;
    last = &verify->gpu.runs[i];
    if (last->reserved_bytes > reserved_bytes) reserved_bytes = last->reserved_bytes;
    count++;
  }
  if (!last) return;
  if (row) wo_text_add(line, "fix %zu: ", number_of(verify, row));
  if (!row) wo_text_add(line, "as it was: ");
  if (last->failed_requests > 0)
    wo_text_add(line, "a request of %s failed", wo_units_bytes_text((double)last->failed_bytes, size, sizeof size));
  else
    wo_text_add(line, "every request was served");
  if (last->failed_requests > 0 && last->failed_entry != WO_NO_ENTRY) wo_text_add(line, " at entry %" PRIu32, last->failed_entry);
  if (count > 1) wo_text_add(line, last->failed_requests > 0 ? " on the last of %zu ranks" : " on %zu ranks", count);
  wo_text_add(line, "; reserved %s at most; ", wo_units_bytes_text((double)reserved_bytes, peak, sizeof peak));
  if (last->agrees) {
    wo_text_add(line, "the model of that card agrees");
  } else {
    wo_text_add(line, "not as on the model: ");
    wo_text_add_view(line, last->difference);
  }
}

/* The card, the job as it was, then each row that was run, in the order of the table. */
static void add_gpu(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  struct wo_text line = {0};
  const struct wo_verify_gpu *const gpu = &verify->gpu;
  if (gpu->is_asked && !gpu->is_found && gpu->error.code == WO_OK) {
    wo_text_add(&line, "GPU %d: nothing was run, since nothing is left to confirm", gpu->ordinal);
    end_line(&line, 0, width, out);
  }
  if (!gpu->is_found) return;
  add_card(gpu, &line);
  end_line(&line, 0, width, out);
  add_runs(verify, NULL, &line);
  end_line(&line, 2, width, out);
  for (size_t i = 0; i < verify->row_count; i++) {
    add_runs(verify, &verify->rows[i], &line);
    end_line(&line, 2, width, out);
  }
}

/* ---- The verdict ---- */

static void add_chosen(const struct wo_verify *verify, struct wo_text *text) {
  char margin[32];
  wo_text_add(text, " fix %zu fits with %s to spare", number_of(verify, verify->chosen),
              wo_units_bytes_text((double)verify->chosen->result.margin_bytes, margin, sizeof margin));
  if (verify->chosen->result.is_on_gpu) wo_text_add(text, ", and GPU %d confirms it", verify->gpu.ordinal);
}

/* What the model found, and what became of it on the card. */
static void add_unconfirmed(const struct wo_verify *verify, struct wo_text *text) {
  const struct wo_verify_gpu *const gpu = &verify->gpu;
  if (gpu->error.code != WO_OK) {
    wo_text_add(text, "not proven: fix %zu fits on the model, and GPU %d could not confirm it: standard error tells why",
                number_of(verify, gpu->model_row), gpu->ordinal);
  } else if (verify->baseline.fit == WO_VERIFY_UNSURE && verify->baseline.is_on_gpu) {
    wo_text_add(text, "not proven: the failure is not confirmed on GPU %d, so that a fix that fits there shows nothing",
                gpu->ordinal);
  } else {
    wo_text_add(text, "not proven: of the fixes that fit on the model none is confirmed on GPU %d", gpu->ordinal);
  }
}

static void add_none(const struct wo_verify *verify, struct wo_text *text) {
  if (verify->is_batch_refuted && verify->asked.lacks_activations)
    wo_text_add(text, " no batch size fits: the model's states alone exceed the card");
  else if (verify->is_batch_refuted)
    wo_text_add(text, " no batch size does, nor does anything else that can be replayed");
  else
    wo_text_add(text, " nothing that can be replayed does");
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

/* What would settle it, where the recording is too short. */
static void add_missing_evidence(const struct wo_verify *verify, struct wo_text *text) {
  bool is_open = false;
  for (size_t i = 0; i < verify->asked.subject_count; i++) is_open = is_open || verify->asked.subjects[i].is_open;
  if (!is_open) return;
  wo_text_add(text,
              "; a recording with a whole step would settle it: `whyoom record` of a run at a smaller micro-batch or length, "
              "given with --recorded-at, or of this one with the step before the failure");
}

static bool is_of_another_run(const struct wo_verify *verify) {
  if (verify->asked.subject_count == 0) return false;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++)
    if (verify->asked.subjects[0].recorded_at.axes[axis].from > 0) return true;
  return false;
}

static void add_verdict(const struct wo_verify *verify, struct wo_text *text) {
  switch (verify->verdict) {
  case WO_VERIFY_PROVEN:
    wo_text_add(text, "proven:");
    add_chosen(verify, text);
    break;
  case WO_VERIFY_ACCEPTED:
    wo_text_add(text, "accepted, not proven: on the reconstructed pattern");
    add_chosen(verify, text);
    break;
  case WO_VERIFY_RECONSTRUCTED:
    wo_text_add(text, "not proven: on the reconstructed pattern");
    add_chosen(verify, text);
    wo_text_add(text, "; a recording would prove it (docs/verify.md), --accept-reconstructed takes it as it is");
    break;
  case WO_VERIFY_NONE_FITS:
    wo_text_add(text, "does not fit:");
    add_none(verify, text);
    break;
  case WO_VERIFY_OPEN:
    wo_text_add(text, "not proven: no fix is shown to fit");
    if (verify->sets_tried > 0) wo_text_add(text, ", alone or in %zu sets of two or three", verify->sets_tried);
    add_missing_evidence(verify, text);
    break;
  case WO_VERIFY_NOT_SHOWN:
    if (is_of_another_run(verify))
      wo_text_add(
          text, "not proven: brought to the job's own sizes the recording fits as it is, so it does not show the failure: is it "
                "of the same program?");
    else
      wo_text_add(text, "not proven: the pattern fits as it is, so it does not show the failure; record the run that fails");
    break;
  case WO_VERIFY_NO_PATTERN:
    wo_text_add(text, "not proven: ");
    if (verify->asked.is_reconstructed) wo_text_add(text, "there is no recording, and none can be reconstructed: ");
    wo_text_add_view(text, verify->asked.refusal);
    break;
  case WO_VERIFY_NO_FAILURE:
    wo_text_add(text, "nothing to prove: the files given show no job that ended because the GPU's memory ran out (recordings go "
                      "behind --trace)");
    break;
  case WO_VERIFY_UNCONFIRMED:
    add_unconfirmed(verify, text);
    break;
  case WO_VERIFY_VERDICT_COUNT_:
    break;
  }
}

/* ---- What to do ---- */

static void add_marked(struct wo_text *out, const char *mark, struct wo_view text, size_t width) {
  struct wo_text line = {0};
  if (text.len == 0) return;
  wo_text_add(&line, "%s", mark);
  wo_text_add_view(&line, text);
  end_line(&line, INDENT, width, out);
}

/* The chosen settings in the user's own keys; a value that the search changed is told as what was replayed. What no setting makes
 * is marked, since a patch does not hold it. */
static void add_settings(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  const struct wo_verify_row *const chosen = verify->chosen;
  if (!chosen->is_as_proposed) add_wrapped(out, chosen->change, INDENT, width);
  for (size_t i = 0; i < chosen->choice_count; i++) {
    const struct wo_proposal *const proposal = &verify->asked.job->proposals[chosen->choices[i].proposal];
    if (proposal->is_by_hand)
      add_marked(out, "by hand: ", proposal->paste.len > 0 ? proposal->paste : proposal->title, width);
    else if (chosen->is_as_proposed)
      add_marked(out, "", proposal->paste, width);
    add_marked(out, "speed: ", proposal->speed, width);
  }
}

/* How the job comes to have it: nothing is changed yet. */
static void add_way(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  static const char *const ways[] = {
      "--patch shows these as a change of your files, --patch --write makes it",
      "this is a change of the program, which is yours to make before you resubmit",
      "what is marked `by hand` is a change of the program, which is yours to make before you resubmit; --patch shows the rest "
      "as a "
      "change of your files, --patch --write makes it. Only all of it together is shown to fit",
  };
  const struct wo_verify_row *const chosen = verify->chosen;
  size_t by_hand = 0;
  for (size_t i = 0; i < chosen->choice_count; i++)
    by_hand += verify->asked.job->proposals[chosen->choices[i].proposal].is_by_hand ? 1 : 0;
  add_wrapped(out, wo_view_of(ways[by_hand == 0 ? 0 : by_hand == chosen->choice_count ? 1 : 2]), 0, width);
}

/* The line to resubmit with is the last one, so that it can be copied without looking for it. */
static void add_resubmit(const struct wo_verify *verify, size_t width, struct wo_text *out) {
  if (verify->verdict != WO_VERIFY_PROVEN && verify->verdict != WO_VERIFY_ACCEPTED) return;
  wo_text_add(out, "\n");
  add_settings(verify, width, out);
  add_way(verify, width, out);
  if (verify->asked.job->resubmit.len == 0) return;
  wo_text_add(out, "resubmit: ");
  wo_text_add_view(out, verify->asked.job->resubmit);
  wo_text_add(out, "\n");
}

void wo_verify_text(const struct wo_verify *verify, struct wo_text_style style, struct wo_text *out) {
  struct wo_text verdict = {0};
  assert(verify && out);
  if (verify->asked.job->has_gpu_oom) {
    if (verify->asked.subject_count > 0) {
      add_table(verify, style.width, out);
      wo_text_add(out, "\n");
    }
    add_untried(verify, style.width, out);
    add_subjects(verify, style.width, out);
    add_gpu(verify, style.width, out);
  }
  add_verdict(verify, &verdict);
  if (verdict.is_failed) out->is_failed = true;
  add_wrapped(out, (struct wo_view){verdict.ptr, verdict.len}, 0, style.width);
  wo_text_done(&verdict);
  add_resubmit(verify, style.width, out);
}
