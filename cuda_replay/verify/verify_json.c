/* SPDX-License-Identifier: Apache-2.0 */
/* The proof as JSON: the object "verify" of the report (docs/verify.md, docs/schema/report-1.schema.json). See verify.h. */
#include <assert.h>

#include "cuda_replay/verify/verify.h"
#include "cuda_replay/whatif/whatif_gpu_text.h"
#include "parsers/base/output/json_out.h"

struct writer {
  struct wo_json_out json;
  const struct wo_verify *verify;
};

static const char *fit_name(const struct wo_verify *verify, enum wo_verify_fit fit) {
  static const char *const names[] = {
      [WO_VERIFY_YES] = "yes", [WO_VERIFY_UNSURE] = "not_sure", [WO_VERIFY_NO] = "no", [WO_VERIFY_UNTRIED] = "not_tried"};
  assert(fit < WO_VERIFY_FIT_COUNT_);
  /* A pattern that was not recorded shows at most that it is likely. */
  return fit == WO_VERIFY_YES && verify->asked.is_reconstructed ? "likely" : names[fit];
}

/* Unknown values are null: figures of a fix that was not replayed, a margin without a capacity. */
static void put_result(struct writer *w, cJSON *object, const struct wo_verify_result *result) {
  const bool is_tried = result->fit != WO_VERIFY_UNTRIED;
  const bool has_margin = is_tried && w->verify->asked.subjects[0].capacity_bytes > 0;
  wo_json_put_name(&w->json, object, "fits", fit_name(w->verify, result->fit));
  wo_json_put_maybe(&w->json, object, "peak_reserved_lo_bytes", is_tried, result->reserved_lo_bytes);
  wo_json_put_maybe(&w->json, object, "peak_reserved_hi_bytes", is_tried, result->reserved_hi_bytes);
  wo_json_put(&w->json, object, "margin_bytes", has_margin ? wo_json_number((double)result->margin_bytes) : cJSON_CreateNull());
  wo_json_put_text(&w->json, object, "why", wo_view_of(result->why));
  wo_json_put_text(&w->json, object, "on", wo_view_of(!is_tried ? "" : result->is_on_gpu ? "gpu" : "model"));
}

static void put_row(struct writer *w, cJSON *array, const struct wo_verify_row *row) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  cJSON *const fixes = wo_json_put_array(&w->json, object, "fixes");
  for (size_t i = 0; i < row->choice_count; i++)
    wo_json_push(&w->json, fixes, wo_json_text(&w->json, w->verify->asked.job->proposals[row->choices[i].proposal].id));
  wo_json_put_text(&w->json, object, "title", row->title);
  wo_json_put_text(&w->json, object, "replayed_as", row->change);
  wo_json_put_bool(&w->json, object, "searched", row->is_searched);
  wo_json_put_count(&w->json, object, "cost_rank", row->cost);
  wo_json_put_bool(&w->json, object, "chosen", row == w->verify->chosen);
  wo_json_put_bool(&w->json, object, "by_hand", wo_verify_row_has_by_hand(w->verify, row));
  put_result(w, object, &row->result);
  if (row->choice_count == 0 || row->is_as_proposed || row->result.fit == WO_VERIFY_UNTRIED) return;
  put_result(w, wo_json_put_object(&w->json, object, "as_proposed"), &row->as_proposed);
}

static void put_completion(struct writer *w, cJSON *subject, const struct wo_step_completion *completed) {
  cJSON *const object = wo_json_put_part(&w->json, subject, "completed", completed->is_made);
  if (!completed->is_made) return;
  wo_json_put_count(&w->json, object, "allocations", completed->added_count);
  wo_json_put_count(&w->json, object, "of_whole_step", completed->whole_count);
  wo_json_put(&w->json, object, "size_ratio", wo_json_number(completed->ratio));
  wo_json_put_bool(&w->json, object, "interval", completed->is_interval);
  wo_json_put_bool(&w->json, object, "program_went_on", completed->goes_on);
}

/* Null if the recording is of the failed run itself. */
static void put_recorded_at(struct writer *w, cJSON *subject_object, const struct wo_verify_subject *subject) {
  cJSON *const object = wo_json_put_part(&w->json, subject_object, "recorded_at", wo_verify_is_of_another_run(subject));
  for (enum wo_scale_axis_id axis = 0; axis < WO_AXIS_COUNT_; axis++)
    if (subject->recorded_at.axes[axis].from > 0)
      wo_json_put_count(&w->json, object, wo_scale_axis_name(axis), subject->recorded_at.axes[axis].from);
}

static void put_subject(struct writer *w, cJSON *array, const struct wo_verify_subject *subject) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  const bool is_known = subject->capacity_bytes > 0;
  wo_json_put_text(&w->json, object, "trace", subject->path);
  wo_json_put_count(&w->json, object, "device", (uint64_t)subject->trace->device);
  wo_json_put_maybe(&w->json, object, "capacity_bytes", is_known, subject->capacity_bytes);
  wo_json_put_maybe(&w->json, object, "uncertainty_bytes", is_known, subject->uncertainty_bytes);
  wo_json_put_name(&w->json, object, "capacity_from", subject->capacity_from);
  wo_json_put_bool(&w->json, object, "ends_at_oom", subject->ends_at_oom);
  put_recorded_at(w, object, subject);
  put_completion(w, object, &subject->completed);
  wo_json_put_text(&w->json, object, "not_completed", wo_view_of(subject->completed.why));
}

static void put_run(struct writer *w, cJSON *array, const struct wo_verify_gpu_run *run) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  const struct wo_replay_outcome *const outcome = &run->outcome;
  wo_json_put_maybe(&w->json, object, "row", run->row != NULL, run->row ? (uint64_t)(run->row - w->verify->rows) : 0);
  wo_json_put_count(&w->json, object, "trace", run->subject);
  wo_json_put_count(&w->json, object, "capacity_bytes", run->capacity_bytes);
  wo_json_put_count(&w->json, object, "peak_reserved_bytes", outcome->peak.reserved_bytes);
  wo_json_put_count(&w->json, object, "segment_events", outcome->segment_events);
  wo_json_put_count(&w->json, object, "calls", run->calls);
  wo_json_put_count(&w->json, object, "failed_requests", outcome->oom_count);
  wo_json_put_maybe(&w->json, object, "failed_entry", outcome->oom_entry != WO_NO_ENTRY, outcome->oom_entry);
  wo_json_put_bool(&w->json, object, "model_agrees", run->agrees);
  wo_json_put_text(&w->json, object, "difference", run->difference);
}

/* Null if no GPU was requested; values that were not found are null. */
static void put_gpu(struct writer *w, cJSON *root) {
  const struct wo_verify_gpu *const gpu = &w->verify->gpu;
  char driver[WO_GPU_DRIVER_TEXT] = "";
  cJSON *const object = wo_json_put_part(&w->json, root, "gpu", gpu->is_asked);
  if (!gpu->is_asked) return;
  wo_json_put_count(&w->json, object, "ordinal", (uint64_t)gpu->ordinal);
  wo_json_put_text(&w->json, object, "visible_devices", gpu->visible_devices);
  wo_json_put_text(&w->json, object, "cuda_library", gpu->libraries.cuda);
  wo_json_put_text(&w->json, object, "nvml_library", gpu->libraries.nvml);
  wo_json_put_text(&w->json, object, "name", wo_view_of(gpu->card.name));
  wo_json_put_text(&w->json, object, "uuid", wo_view_of(gpu->card.uuid));
  wo_json_put_text(&w->json, object, "driver", wo_view_of(gpu->is_found ? wo_gpu_driver_text(&gpu->card, driver) : ""));
  wo_json_put_maybe(&w->json, object, "total_bytes", gpu->is_found, gpu->card.total_bytes);
  wo_json_put_maybe(&w->json, object, "free_before_bytes", gpu->is_found, gpu->card.free_before_bytes);
  wo_json_put_maybe(&w->json, object, "reserve_bytes", gpu->is_found, gpu->reserve_bytes);
  wo_json_put_bool(&w->json, object, "touched", gpu->touches);
  cJSON *const runs = wo_json_put_array(&w->json, object, "runs");
  for (size_t i = 0; i < gpu->run_count; i++) put_run(w, runs, &gpu->runs[i]);
  wo_json_put_count(&w->json, object, "pieces_left", gpu->left_count);
  wo_json_put(&w->json, object, "seconds", gpu->is_found && gpu->has_seconds ? wo_json_number(gpu->seconds) : cJSON_CreateNull());
  wo_json_put_text(&w->json, object, "error", wo_view_of(gpu->error.message));
}

void wo_verify_json(const struct wo_verify *verify, struct wo_text *out) {
  struct writer w = {.verify = verify};
  assert(verify && out);
  cJSON *const root = cJSON_CreateObject();
  const struct wo_verify_request *const asked = &verify->asked;
  wo_json_put_name(&w.json, root, "verdict", wo_verify_verdict_name(verify->verdict));
  wo_json_put_name(&w.json, root, "on", verify->gpu.is_asked ? "gpu" : "model");
  wo_json_put(&w.json, root, "pattern",
              asked->subject_count == 0 ? cJSON_CreateNull()
                                        : cJSON_CreateString(asked->is_reconstructed ? "reconstructed" : "recorded"));
  wo_json_put_text(&w.json, root, "refusal", asked->refusal);
  cJSON *const subjects = wo_json_put_array(&w.json, root, "traces");
  for (size_t i = 0; i < asked->subject_count; i++) put_subject(&w, subjects, &asked->subjects[i]);
  cJSON *const baseline = wo_json_put_part(&w.json, root, "as_it_was", asked->subject_count > 0);
  if (asked->subject_count > 0) put_result(&w, baseline, &verify->baseline);
  cJSON *const rows = wo_json_put_array(&w.json, root, "rows");
  for (size_t i = 0; i < verify->row_count; i++) put_row(&w, rows, &verify->rows[i]);
  wo_json_put_bool(&w.json, root, "no_batch_size_fits", verify->is_batch_refuted);
  wo_json_put_count(&w.json, root, "sets_tried", verify->sets_tried);
  put_gpu(&w, root);
  wo_json_finish(&w.json, root, out);
}
