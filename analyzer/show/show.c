/* SPDX-License-Identifier: Apache-2.0 */
/* From a report to the form that was asked for. See show.h. */
#include "analyzer/show/show.h"

#include "analyzer/document/document.h"
#include "analyzer/show/inputs.h"
#include "parsers/base/limits.h"

/* The first screen, its one line, or a document that begins with it. */
static void show_screen(const struct wo_call *call, struct wo_arena *arena, const struct wo_report *report) {
  struct wo_screen screen;
  const struct wo_view words = wo_pseudonyms_text(call->pseudonyms, wo_show_inputs(call->words, call->word_count, arena), arena);
  if (wo_screen_make(report, words, arena, &screen) != WO_OK) {
    call->out->is_failed = true;
  } else if (call->format == WO_OUT_ONELINE) {
    wo_screen_oneline(&screen, call->out);
  } else if (call->format == WO_OUT_HTML) {
    wo_document_html(report, &screen, call->out);
  } else if (call->format == WO_OUT_MARKDOWN) {
    wo_document_markdown(report, &screen, call->out);
  } else {
    wo_screen_text(&screen, call->style, call->out);
  }
}

void wo_show_report(const struct wo_call *call, const struct wo_prover *prover, const struct wo_report *report) {
  struct wo_report shown = *report;
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  if (prover != NULL) prover->prove(prover->context, call, &arena, &shown);
  if (call->format == WO_OUT_JSON) {
    wo_report_json(&shown, call->out);
  } else if (call->is_verbose && call->format == WO_OUT_TEXT) {
    wo_report_text(&shown, call->style, call->out);
  } else {
    show_screen(call, &arena, &shown);
  }
  if (wo_arena_is_exhausted(&arena)) call->out->is_failed = true;
  wo_arena_done(&arena);
}
