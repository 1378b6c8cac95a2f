/* Opens the recordings, or reconstructs one, runs the proof and writes it. See verify_command.h. */
#include "cuda_replay/command/verify_command.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/verify/reconstruct.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/verify/verify.h"
#include "parsers/base/clean.h"

/* A rank's recording each, at the most; the width of the largest jobs that people look at by hand. */
enum { RECORDINGS_MAX = 64, SUBJECTS_MAX = 256, SHOWN_BYTES = 1024 };

struct call {
  const struct wo_verify_call *wanted;
  struct wo_replay_args args; /* capacity, torch, and where it runs */
  bool accepts_reconstructed;
  struct wo_view traces[RECORDINGS_MAX];
  size_t trace_count;
  struct wo_scale_spec recorded_at;
  struct wo_recording *recordings[RECORDINGS_MAX];
  size_t recording_count;
  struct wo_verify_subject subjects[SUBJECTS_MAX];
  size_t subject_count;
  bool lacks_activations;
  struct wo_err refusal;
  struct wo_text *out, *errors;
};

static enum wo_replay_exit fail(struct call *call, struct wo_view path, const struct wo_err *err) {
  char text[SHOWN_BYTES];
  wo_text_add(call->errors, "whyoom: ");
  if (path.len > 0) {
    wo_text_add_view(call->errors, wo_clean_utf8(path, text, sizeof text));
    wo_text_add(call->errors, ": ");
  }
  wo_text_add_view(call->errors, wo_clean_utf8(wo_view_of(err->message), text, sizeof text));
  wo_text_add(call->errors, "\n");
  return WO_REPLAY_EXIT_ERROR;
}

/* ---- Options ---- */

/* The size of the job itself, as the log tells it; 0 when it does not. */
static uint32_t own_size(const struct wo_job_sizes *sizes, enum wo_scale_axis_id axis) {
  const double size = axis == WO_AXIS_MICRO_BATCH ? sizes->micro_batch : sizes->seq_len;
  return size >= 1 && size <= 1e9 ? (uint32_t)size : 0;
}

/* "micro_batch=4": recorded at 4, and the log tells the job's own; "micro_batch=4:8" tells it. */
static enum wo_status read_recorded_size(struct call *call, struct wo_view item, struct wo_err *err) {
  struct wo_scale_spec spec;
  char pair[128];
  struct wo_view value = item;
  wo_view_cut(&value, '=');
  const bool has_own = wo_view_has(value, ":");
  const int length =
      snprintf(pair, sizeof pair, "%.*s%s%.*s", (int)(item.len < 40 ? item.len : 40), item.len > 0 ? item.ptr : "",
               has_own ? "" : ":", has_own ? 0 : (int)(value.len < 40 ? value.len : 40), value.len > 0 ? value.ptr : "");
  struct wo_err reason = {0};
  const enum wo_status status = wo_scale_parse((struct wo_view){pair, (size_t)length}, &spec, &reason);
  if (status != WO_OK) return wo_err_set(err, status, "--recorded-at: %.200s", reason.message);
  for (enum wo_scale_axis_id axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    if (spec.axes[axis].from == 0) continue;
    if (!has_own) spec.axes[axis].to = own_size(&call->wanted->job->sizes, axis);
    if (spec.axes[axis].to == 0)
      return wo_err_set(err, WO_E_USAGE, "--recorded-at: the log does not tell the job's own %s: give both, as %s=%u:SIZE",
                        wo_scale_axis_name(axis), wo_scale_axis_name(axis), spec.axes[axis].from);
    call->recorded_at.axes[axis] = spec.axes[axis];
  }
  return WO_OK;
}

static enum wo_status read_recorded_at(struct call *call, struct wo_view text, struct wo_err *err) {
  do {
    const enum wo_status status = read_recorded_size(call, wo_view_trim(wo_view_cut(&text, ',')), err);
    if (status != WO_OK) return status;
  } while (text.len > 0);
  return WO_OK;
}

/* Those that a replay has, too, are read by it. Others belong to whoever called. */
static enum wo_status read_option(struct call *call, struct wo_replay_option option, struct wo_err *err) {
  if (wo_view_is(option.name, "accept-reconstructed")) {
    call->accepts_reconstructed = true;
    return WO_OK;
  }
  if (wo_view_is(option.name, "trace")) {
    if (option.value.len == 0) return wo_err_set(err, WO_E_USAGE, "--trace wants a recording");
    if (call->trace_count == RECORDINGS_MAX)
      return wo_err_set(err, WO_E_USAGE, "--trace can be given %d times at the most", RECORDINGS_MAX);
    call->traces[call->trace_count++] = option.value;
    return WO_OK;
  }
  if (wo_view_is(option.name, "recorded-at")) return read_recorded_at(call, option.value, err);
  static const char *const of_replay[] = {"capacity", "torch", "on", "touch", "reserve", "no-times"};
  for (size_t i = 0; i < sizeof of_replay / sizeof of_replay[0]; i++) {
    if (wo_view_is(option.name, of_replay[i])) return wo_replay_args_apply(&call->args, option, err);
  }
  return WO_OK;
}

/* ---- Subjects ---- */

/* What is missing and how to get it: one line for each device, since a rank's own card may be the one that lacks it. */
static void tell_lack(const struct call *call, struct wo_view path, const struct wo_trace *trace, const char *lack) {
  char text[SHOWN_BYTES];
  wo_text_add(call->errors, "whyoom: ");
  wo_text_add_view(call->errors, wo_clean_utf8(path, text, sizeof text));
  wo_text_add(call->errors,
              ": device %d: %s; `whyoom replay` shows who holds its memory, `whyoom record -- COMMAND` records what can be "
              "replayed\n",
              trace->device, lack);
}

static enum wo_status add_subjects(struct call *call, struct wo_recording *recording, struct wo_view path, struct wo_err *err) {
  for (size_t i = 0; i < recording->traces.count; i++) {
    const char *const lack = wo_trace_lack(recording, &recording->traces.items[i]);
    if (lack) tell_lack(call, path, &recording->traces.items[i], lack);
    if (lack || recording->traces.items[i].entries.count == 0) continue;
    if (call->subject_count == SUBJECTS_MAX)
      return wo_err_set(err, WO_E_LIMIT, "more than %d devices: give the recordings of fewer ranks", SUBJECTS_MAX);
    const enum wo_status status =
        wo_verify_subject_make(recording, &recording->traces.items[i], path, &call->wanted->job->sizes, call->args.capacity_bytes,
                               call->args.torch, &call->subjects[call->subject_count], err);
    if (status != WO_OK) return status;
    call->subjects[call->subject_count++].recorded_at = call->recorded_at;
  }
  return WO_OK;
}

/* Every recording must be read and have a run: the one that is left out may be the rank that fails. One without a run is a
 * result, and told in the report. */
static bool open_traces(struct call *call) {
  for (size_t i = 0; i < call->trace_count; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const size_t before = call->subject_count;
    enum wo_status status = wo_trace_open(call->traces[i].ptr, &recording, &err);
    if (status == WO_OK) call->recordings[call->recording_count++] = recording;
    if (status == WO_OK) status = add_subjects(call, recording, call->traces[i], &err);
    if (status == WO_OK && call->subject_count == before && recording->traces.count > 0) {
      wo_err_set(
          &call->refusal, WO_E_RANGE,
          "the snapshot holds who had the memory and not what was asked for, so no fix can be tried on it: record the run with "
          "`whyoom record -- COMMAND`");
    } else if (status == WO_OK && call->subject_count == before) {
      status = wo_err_set(&err, WO_E_USAGE, "records nothing of any device: `whyoom record -- COMMAND` makes a recording");
    }
    if (status == WO_OK) continue;
    if (err.message[0] == '\0') wo_err_set(&err, status, "%s", wo_status_text(status));
    fail(call, call->traces[i], &err);
    return false;
  }
  return true;
}

/* A refusal is a result, and told in the report. */
static bool reconstruct(struct call *call) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  enum wo_status status = wo_reconstruct(&call->wanted->job->sizes, &recording, &call->lacks_activations, &err);
  if (status == WO_E_RANGE) {
    call->refusal = err;
    return true;
  }
  if (status == WO_OK) call->recordings[call->recording_count++] = recording;
  if (status == WO_OK) status = add_subjects(call, recording, (struct wo_view){0}, &err);
  if (status != WO_OK) fail(call, (struct wo_view){0}, &err);
  return status == WO_OK;
}

/* ---- The answer ---- */

static enum wo_replay_exit exit_of(const struct call *call, enum wo_verify_verdict verdict) {
  switch (verdict) {
  case WO_VERIFY_PROVEN:
  case WO_VERIFY_ACCEPTED:
    return WO_REPLAY_EXIT_FINE;
  case WO_VERIFY_NONE_FITS:
    return call->wanted->exit_zero ? WO_REPLAY_EXIT_FINE : WO_REPLAY_EXIT_FAILS;
  case WO_VERIFY_RECONSTRUCTED:
  case WO_VERIFY_OPEN:
  case WO_VERIFY_NOT_SHOWN:
  case WO_VERIFY_NO_PATTERN:
  case WO_VERIFY_NO_FAILURE:
  case WO_VERIFY_UNCONFIRMED:
  case WO_VERIFY_VERDICT_COUNT_:
    break;
  }
  return WO_REPLAY_EXIT_NOT_PROVEN;
}

static void fill_proofs(const struct wo_verify *verify, struct wo_verify_answer *answer) {
  for (size_t i = 0; i < verify->asked.job->proposal_count && answer->proofs; i++) {
    const struct wo_verify_row *const row = wo_verify_row_of(verify, i);
    answer->proofs[i] = (struct wo_proof){.is_tried = false};
    if (!row || row->result.fit == WO_VERIFY_UNTRIED) continue;
    answer->proofs[i] = (struct wo_proof){.is_tried = true,
                                          .on = row->result.is_on_gpu ? "gpu" : "model",
                                          .pattern = verify->asked.is_reconstructed ? "reconstructed" : "recorded",
                                          .fits = row->result.fit == WO_VERIFY_YES,
                                          .peak_reserved_bytes = (double)row->result.reserved_hi_bytes,
                                          .margin_bytes = (double)row->result.margin_bytes};
  }
  if (!verify->chosen || verify->verdict == WO_VERIFY_NOT_SHOWN) return;
  answer->choice_count = verify->chosen->choice_count;
  for (size_t i = 0; i < answer->choice_count; i++) answer->choices[i] = verify->chosen->choices[i];
}

static enum wo_replay_exit answer_call(struct call *call, struct wo_verify_answer *answer) {
  struct wo_verify verify;
  struct wo_err err = {0};
  const struct wo_gpu_place gpu = wo_replay_args_gpu(&call->args);
  const struct wo_verify_request request = {.job = call->wanted->job,
                                            .subjects = call->subjects,
                                            .subject_count = call->refusal.message[0] == '\0' ? call->subject_count : 0,
                                            .is_reconstructed = call->trace_count == 0,
                                            .accepts_reconstructed = call->accepts_reconstructed,
                                            .lacks_activations = call->lacks_activations,
                                            .refusal = wo_view_of(call->refusal.message),
                                            .gpu = call->args.has_gpu ? &gpu : NULL,
                                            .has_times = !call->args.no_times};
  if (wo_verify_make(&request, &verify, &err) != WO_OK) return fail(call, (struct wo_view){0}, &err);
  if (call->wanted->is_json) {
    wo_verify_json(&verify, call->out);
  } else {
    wo_verify_text(&verify, call->wanted->style, call->out);
  }
  fill_proofs(&verify, answer);
  enum wo_replay_exit code = exit_of(call, verify.verdict);
  /* A GPU that was asked for and could not be had is no answer, as for a replay; what the model says is reported all the same. */
  if (verify.gpu.error.code != WO_OK) code = fail(call, (struct wo_view){0}, &verify.gpu.error);
  wo_verify_done(&verify);
  return code;
}

static void close_all(struct call *call) {
  for (size_t i = 0; i < call->subject_count; i++) wo_verify_subject_done(&call->subjects[i]);
  for (size_t i = 0; i < call->recording_count; i++) wo_recording_free(call->recordings[i]);
}

enum wo_replay_exit wo_verify_command(const struct wo_verify_call *wanted, struct wo_verify_answer *answer, struct wo_text *out,
                                      struct wo_text *errors) {
  struct call *const call = calloc(1, sizeof *call);
  struct wo_err err = {0};
  assert(wanted && wanted->job && answer && out && errors);
  enum wo_replay_exit code = WO_REPLAY_EXIT_ERROR;
  if (!call) {
    wo_text_add(errors, "whyoom: %s\n", wo_status_text(WO_E_NOMEM));
    return code;
  }
  *call = (struct call){.wanted = wanted, .out = out, .errors = errors};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < wanted->option_count && status == WO_OK; i++) status = read_option(call, wanted->options[i], &err);
  if (status == WO_OK) status = wo_replay_args_check(&call->args, &err);
  if (status == WO_OK && call->trace_count == 0 && (call->recorded_at.axes[0].from > 0 || call->recorded_at.axes[1].from > 0))
    status = wo_err_set(&err, WO_E_USAGE, "--recorded-at tells the sizes of a recording: give it with --trace");
  call->args.hooks = wanted->hooks;
  if (status != WO_OK) {
    fail(call, (struct wo_view){0}, &err);
  } else if (!wanted->job->has_gpu_oom || (call->trace_count > 0 ? open_traces(call) : reconstruct(call))) {
    code = answer_call(call, answer);
  }
  close_all(call);
  free(call);
  return code;
}
