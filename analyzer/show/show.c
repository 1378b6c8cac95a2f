/* From a report to the form that was asked for. See show.h. */
#include "analyzer/show/show.h"

#include "analyzer/screen/screen.h"
#include "analyzer/show/inputs.h"
#include "parsers/base/limits.h"

/* The first screen, or its one line. */
static void show_screen(const struct wo_call *call, const struct wo_report *report) {
  struct wo_arena arena;
  struct wo_screen screen;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  const struct wo_view words = wo_show_inputs(call->words, call->word_count, &arena);
  if (wo_screen_make(report, words, &arena, &screen) != WO_OK) {
    call->out->is_failed = true;
  } else if (call->format == WO_OUT_ONELINE) {
    wo_screen_oneline(&screen, call->out);
  } else {
    wo_screen_text(&screen, call->style, call->out);
  }
  wo_arena_done(&arena);
}

void wo_show_report(const struct wo_call *call, const struct wo_report *report) {
  if (call->format == WO_OUT_JSON) {
    wo_report_json(report, call->out);
  } else if (call->is_verbose && call->format == WO_OUT_TEXT) {
    wo_report_text(report, call->style, call->out);
  } else {
    show_screen(call, report);
  }
}
