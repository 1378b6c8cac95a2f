/* SPDX-License-Identifier: Apache-2.0 */
/* Facts besides the failure that few rules read: from survived failures, XLA's messages on its program,
 * and remarks on the allocator's settings. None changes the story. */
#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"

/* The last GPU memory failure that was survived, with the largest request among those of its kind. */
static void read_recovered(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const struct wo_event *last = NULL;
  const struct wo_event *largest = NULL;
  wo_each_event (event, &job->events) {
    if (job->story.roles[event->id] != WO_ROLE_RECOVERED || wo_kind_class(event->kind) != WO_CLASS_GPU_MEMORY) continue;
    last = event;
    const double tried = wo_event_number(event, WO_FIELD_TRIED_BYTES, 0);
    if (tried > 0 && (largest == NULL || tried > wo_event_number(largest, WO_FIELD_TRIED_BYTES, 0))) largest = event;
  }
  if (last == NULL) return;
  wo__set_text(facts, "recovered.kind", wo_view_of(wo_kind_name(last->kind)), last->id);
  wo__set_text(facts, "recovered.text", wo_view_sub(wo_view_trim(last->text), 0, 400), last->id);
  if (largest != NULL && largest->kind == last->kind) wo__set_field(facts, "recovered.tried", largest, WO_FIELD_TRIED_BYTES);
}

/* The mark separates remarks: many others have the same kind. */
static void read_remark(struct wo_facts *facts, const struct wo_event *event) {
  if (event->mark == WO_MARK_XLA_BUFFERS) {
    wo__set_field(facts, "xla.program", event, WO_FIELD_TOTAL_BYTES);
    wo__set_field(facts, "xla.parameters", event, WO_FIELD_PARAMETER_BYTES);
    wo__set_field(facts, "xla.temporary", event, WO_FIELD_TEMP_BYTES);
  } else if (event->mark == WO_MARK_ALLOCATOR_REMARK) {
    wo__set_text(facts, "alloc.remark", wo_event_text(event, WO_FIELD_MESSAGE), event->id);
  } else if (event->mark == WO_MARK_TEST_RUN) {
    wo__set_bool(facts, "job.is_test_run", true, event->id);
  }
}

static void read_remarks(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    if (event->kind == WO_KIND_NOTE && !event->is_quoted) read_remark(facts, event);
  }
}

/* Whether the program imports torch above a line of its own source. */
static bool has_import_above(const struct wo_job *job, const struct wo_event *line) {
  wo_each_event (event, &job->events) {
    if (event->mark != WO_MARK_TORCH_IMPORT) continue;
    if (event->span.file == line->span.file && event->span.line < line->span.line) return true;
  }
  return false;
}

/* The name to set, and whether the release reads the name that is set: only newer releases read PYTORCH_ALLOC_CONF (the knob says
 * since when). */
static void read_alloc_name(struct wo_facts *facts, const struct wo_setting *conf) {
  const struct wo_knob *const knob = wo_pack_knob(facts->pack, WO_VIEW("alloc_conf"));
  if (knob == NULL || knob->alias_count == 0) return;
  const struct wo_value release = wo__facts_value(facts, WO_VIEW("job.torch_release"));
  const struct wo_alias *const plainest = wo_facts_default_alias(facts, knob);
  const struct wo_alias *const used = conf != NULL && conf->event != NULL ? wo_facts_event_alias(knob, conf->event) : NULL;
  const bool is_refuted = used != NULL && release.is_known && release.number.hi < used->torch_since;
  const bool is_sure = used != NULL && (used->torch_since == 0 || (release.is_known && release.number.lo >= used->torch_since));
  if (is_refuted || is_sure) wo__set_bool(facts, "alloc.is_read", is_sure, release.evidence);
  const struct wo_view name = used != NULL && !is_refuted ? wo_event_text(conf->event, WO_FIELD_KEY) : plainest->key;
  wo_facts_set(facts, "alloc.name", wo_value_text(name), WO_EVENT_NONE);
}

/* The name of the variable, the name that the message advises, and whether the program sets it too late. */
static void read_alloc_variable(struct wo_facts *facts, const struct wo_event *failure) {
  static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  for (size_t i = 0; failure != NULL && i < sizeof names / sizeof names[0]; i++) {
    if (!wo_view_has(failure->text, names[i])) continue;
    wo__set_text(facts, "alloc.advised", wo_view_of(names[i]), failure->id);
    break;
  }
  const struct wo_setting *const conf = wo_facts_setting(facts, WO_VIEW("alloc_conf"));
  read_alloc_name(facts, conf);
  if (conf == NULL || conf->event == NULL) return;
  wo__set_text(facts, "alloc.variable", wo_event_text(conf->event, WO_FIELD_KEY), conf->event->id);
  if (!wo_view_has(conf->event->text, "os.environ")) return;
  const bool is_late = has_import_above(facts->job, conf->event);
  wo__set_bool(facts, "alloc.is_set_late", is_late, conf->event->id);
}

void wo__facts_signs(struct wo_facts *facts) {
  const struct wo_event *const failure = wo__failure_of(facts);
  if (failure != NULL && wo_kind_class(failure->kind) == WO_CLASS_GPU_MEMORY) {
    wo__set_field(facts, "oom.other_process_count", failure, WO_FIELD_OTHER_PROCESS_COUNT);
    wo__set_field(facts, "oom.active", failure, WO_FIELD_ACTIVE_BYTES);
  }
  read_recovered(facts);
  read_remarks(facts);
  read_alloc_variable(facts, failure);
}
