/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder upwards in the text report: the run that fits, then a line for each step up. */
#include "analyzer/diagnosis/ladder.h"
#include "analyzer/report/report_text_internal.h"
#include "parsers/base/units.h"

/* "micro-batch 2 x length 1024". */
static void add_settings(struct wo_text *text, double micro_batch, double seq_len) {
  wo_text_add(text, "micro-batch %.0f", micro_batch);
  if (seq_len > 0) wo_text_add(text, " x length %.0f", seq_len);
}

/* Settings out of a file's name are marked: a person typed the name, the program did not print it. */
static void write_base(struct wo__writer *w, const struct wo_ladder *ladder) {
  const struct wo_ladder_base *const base = &ladder->base;
  struct wo_text *const text = wo__writer_start(w);
  wo_text_add(text, "a run with ");
  add_settings(text, base->run.micro_batch, base->run.seq_len);
  wo_text_add(text, " fits: peak %s of %s", WO_BYTES_TEXT(base->run.peak_bytes), WO_BYTES_TEXT(base->capacity_bytes));
  if (ladder->is_hint) {
    wo_text_add(text, " (settings by the name of ");
    wo__add_path(text, ladder->path);
    wo_text_add(text, ", a hint only)");
  }
  wo__put_labelled(w, "ladder:", wo__writer_scratch(w));
}

/* A line below the first one. */
static void put_further(const struct wo__writer *w) {
  const size_t indent = WO__INDENT + sizeof "ladder:";
  wo__put_lines(w, indent, indent + 2, wo__writer_scratch(w));
}

/* "16 times as many tokens in one pass as the run that fits: 8 x 2048 = 16384, not 1 x 1024 = 1024". */
static void write_failed(struct wo__writer *w, const struct wo_ladder_base *base) {
  if (base->failed_micro_batch <= 0 || base->run.seq_len <= 0 || base->failed_seq_len <= 0) return;
  const double own = base->run.micro_batch * base->run.seq_len;
  const double failed = base->failed_micro_batch * base->failed_seq_len;
  wo_text_add(wo__writer_start(w),
              "the run that failed has %.3g times the tokens in one pass: %.0f x %.0f = %.0f, not %.0f x %.0f = %.0f",
              failed / own, base->failed_micro_batch, base->failed_seq_len, failed, base->run.micro_batch, base->run.seq_len,
              own);
  put_further(w);
}

/* "micro-batch 3 x length 1024, accumulation 21 (252 samples for an update, not 256): 34.6 to 88.5 GiB, tight". */
static void write_rung(struct wo__writer *w, const struct wo_ladder *ladder, const struct wo_ladder_rung *rung) {
  static const char *const words[] = {
      [WO_LADDER_SAFE] = "safe", [WO_LADDER_TIGHT] = "tight: may or may not fit", [WO_LADDER_NO] = "will not fit"};
  struct wo_text *const text = wo__writer_start(w);
  add_settings(text, rung->micro_batch, rung->seq_len);
  if (rung->grad_accum > 0) wo_text_add(text, ", accumulation %.0f", rung->grad_accum);
  if (rung->grad_accum > 0 && rung->global_batch != ladder->base.global_batch) {
    wo_text_add(text, " (%.0f samples for an update, not %.0f)", rung->global_batch, ladder->base.global_batch);
  }
  wo_text_add(text, ": %.1f to %.1f GiB, %s", rung->peak_bytes.lo / WO_GIB, rung->peak_bytes.hi / WO_GIB, words[rung->verdict]);
  put_further(w);
}

/* The bounds in words and numbers, so that they can be checked. */
static void write_formula(struct wo__writer *w, const struct wo_ladder *ladder) {
  const struct wo_ladder_base *const base = &ladder->base;
  struct wo_text *const text = wo__writer_start(w);
  const char *const fixed = WO_BYTES_TEXT(base->run.fixed_bytes);
  const char *const peak = WO_BYTES_TEXT(base->run.peak_bytes);
  wo_text_add(text, "upper end: %s + (%s - %s) x tokens%s, everything except the states grows; lower end: the present peak",
              fixed, peak, fixed,
              base->run.is_attention_fused || base->run.seq_len <= 0
                  ? ""
                  : " (with the square of the length: attention is not known to be fused)");
  if (base->run.least_bytes_per_token > 0) wo_text_add(text, ", or the memory that one pass surely holds");
  wo_text_add(text, "; safe leaves %s free. One short run with the next step narrows it", WO_BYTES_TEXT(ladder->margin_bytes));
  put_further(w);
}

static void write_choice(struct wo__writer *w, const struct wo_ladder *ladder) {
  const struct wo_ladder_rung *const choice = wo_ladder_choice(ladder);
  const bool is_safe = choice && choice->verdict == WO_LADDER_SAFE;
  struct wo_text *const text = wo__writer_start(w);
  wo_text_add(text, is_safe ? "largest safe step: " : choice ? "no step surely fits; try first: " : "no step fits: stay");
  if (choice) add_settings(text, choice->micro_batch, choice->seq_len);
  put_further(w);
}

void wo__write_ladder(struct wo__writer *w) {
  const struct wo_ladder *const ladder = w->report->ladder;
  if (ladder == NULL) return;
  write_base(w, ladder);
  write_failed(w, &ladder->base);
  for (size_t i = 0; i < ladder->rung_count; i++) write_rung(w, ladder, &ladder->rungs[i]);
  if (ladder->rung_count > 0) write_choice(w, ladder);
  write_formula(w, ladder);
}
