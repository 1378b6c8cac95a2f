/* SPDX-License-Identifier: Apache-2.0 */
/* See seal.h. */
#include "analyzer/show/seal.h"

#include "parsers/base/output/page.h"

/* The files that a call names, in messages. */
static void replace_paths(const struct wo_call *call) {
  static const char *const options[] = {"store", "trace", "plot", "baseline"};
  for (size_t i = 0; i < call->word_count; i++)
    wo_pseudonyms_replace_path(call->pseudonyms, wo_view_of(call->words[i]), call->errors);
  for (size_t i = 0; i < call->given_count; i++) {
    if (WO_VIEW_ANY(call->given[i].name, wo_view_is, options))
      wo_pseudonyms_replace_path(call->pseudonyms, call->given[i].value, call->errors);
  }
}

void wo_show_seal_errors(const struct wo_call *call) {
  struct wo_text shown = {0};
  if (call->pseudonyms && call->errors->len > 0) {
    replace_paths(call);
    wo_pseudonyms_learn_text(call->pseudonyms, (struct wo_view){call->errors->ptr, call->errors->len});
    wo_pseudonyms_add_text(call->pseudonyms, (struct wo_view){call->errors->ptr, call->errors->len}, NULL, 0, &shown);
    shown.is_failed = shown.is_failed || call->errors->is_failed;
    wo_text_done(call->errors);
    *call->errors = shown;
  }
  wo_page_seal(call->errors, call->style.use_color);
}
