/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in the text report that the job's files set differently: a reader who changed a file without effect learns why. */
#include "analyzer/report/report_text_internal.h"
#include "analyzer/report/report_words.h"

static bool is_shown(const struct wo__writer *w, const struct wo_setting *setting) {
  return setting->event != NULL && (setting->has_conflict || w->page.style.is_verbose);
}

bool wo__has_settings(const struct wo__writer *w) {
  for (size_t i = 0; i < w->report->facts.setting_count; i++) {
    if (is_shown(w, &w->report->facts.settings[i])) return true;
  }
  return false;
}

/* "(train.sbatch:24 --micro-batch-size)"; the key is left out if the reader has just seen it. */
static void add_origin(const struct wo__writer *w, struct wo_text *text, const struct wo_value *value, bool has_key) {
  const struct wo_event *event = wo_event_get(w->events, value->evidence);
  if (event == NULL) return;
  wo_text_add(text, " (");
  wo__add_place(w, text, event);
  if (has_key) {
    wo_text_add(text, wo_view_starts(wo_event_text(event, WO_FIELD_STYLE), "flag") ? " --" : " ");
    wo_text_add_view(text, wo_event_text(event, WO_FIELD_KEY));
  }
  wo_text_add(text, ")");
}

static void write_setting(struct wo__writer *w, const struct wo_setting *setting) {
  struct wo_text *const text = wo__writer_start(w);
  wo_text_add(text, "%.*s ", WO_SHOWN(setting->knob->id));
  wo_report_add_value(text, &setting->value);
  add_origin(w, text, &setting->value, true);
  const char *lead = " over ";
  for (size_t i = 0; i < setting->other_count; i++) {
    const struct wo_setting_other *const other = &setting->others[i];
    if (!other->is_conflict && !w->page.style.is_verbose) continue;
    wo_text_add(text, "%s", lead);
    wo_report_add_value(text, &other->value);
    add_origin(w, text, &other->value, w->page.style.is_verbose);
    wo_text_add(text, ": %.*s", WO_SHOWN(other->why_not));
    lead = "; over ";
  }
  wo__put_labelled(w, "setting:", wo__writer_scratch(w));
}

void wo__write_settings(struct wo__writer *w) {
  for (size_t i = 0; i < w->report->facts.setting_count; i++) {
    if (is_shown(w, &w->report->facts.settings[i])) write_setting(w, &w->report->facts.settings[i]);
  }
}
