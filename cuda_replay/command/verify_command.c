/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the recordings, or reconstructs one, runs the proof and writes it. See verify_command.h. */
#include "cuda_replay/command/verify_command.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/verify/reconstruct.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/recording/trace_anonymous.h"
#include "cuda_replay/verify/verify.h"
#include "parsers/base/command/message.h"

/* The size of the largest jobs that people examine by hand. */
enum { SUBJECTS_MAX = 256 };

/* One run of the command. */
struct run {
  const struct wo_call *call;
  const struct wo_verify_args *args;
  const struct wo_diagnosed *job;
  const struct wo_replay_hooks *hooks;
  struct wo_scale_spec recorded_at;
  struct wo_recording *recordings[WO_VERIFY_TRACES_MAX];
  size_t recording_count;
  struct wo_verify_subject subjects[SUBJECTS_MAX];
  size_t subject_count;
  bool lacks_activations;
  struct wo_err refusal;
  struct wo_text *out;
};

static enum wo_exit fail(const struct run *run, struct wo_view path, const struct wo_err *err) {
  wo_message_error(run->call->errors, path, err);
  return WO_EXIT_ERROR;
}

/* ---- Options ---- */

/* "micro_batch=4": recorded at 4, and the log has the job's own value (0 here); "micro_batch=4:8" gives it. */
static enum wo_status read_recorded_size(struct wo_view item, struct wo_scale_spec *sizes, struct wo_err *err) {
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
    if (!has_own) spec.axes[axis].to = 0;
    sizes->axes[axis] = spec.axes[axis];
  }
  return WO_OK;
}

static bool read_recorded_at(void *target, const struct wo_option_value *value) {
  struct wo_verify_args *const args = target;
  struct wo_scale_spec sizes = args->recorded_at;
  struct wo_view rest = value->text;
  do {
    if (read_recorded_size(wo_view_trim(wo_view_cut(&rest, ',')), &sizes, value->err) != WO_OK) return false;
  } while (rest.len > 0);
  args->recorded_at = sizes;
  return true;
}

static bool read_trace(void *target, const struct wo_option_value *value) {
  struct wo_verify_args *const args = target;
  if (value->text.len == 0) {
    wo_err_set(value->err, WO_E_USAGE, "--trace wants a recording");
  } else if (wo_view_is(value->text, "none")) {
    args->takes_no_trace = true;
    return true;
  } else if (args->trace_count == WO_VERIFY_TRACES_MAX) {
    wo_err_set(value->err, WO_E_USAGE, "--trace can be given %d times at the most", WO_VERIFY_TRACES_MAX);
  } else {
    args->traces[args->trace_count++] = value->text;
    return true;
  }
  return false;
}

static const struct wo_option options[] = {
    WO_OPTION("trace", "TRACE",
              "a recording, as for whyoom replay; one for each\nrank, the worst decides. Without this option those among\n"
              "the LOGs, or beside them with the job's id in the name;\nelse, or with none, a pattern is reconstructed from the\n"
              "log's figures: no proof",
              WO_TO_READER(read_trace), .path = WO_PATH_READ, .wants = "a recording"),
    WO_OPTION("recorded-at", "SIZES",
              "the recording is of a run with other sizes, which went\nthrough: micro_batch=2,seq_len=512",
              WO_TO_READER(read_recorded_at), .wants = "sizes, such as micro_batch=2,seq_len=512"),
    WO_OPTION("accept-reconstructed", NULL, "take a fix that fits the reconstructed pattern",
              WO_TO_FLAG(struct wo_verify_args, accepts_reconstructed)),
    WO_OPTION("accept-by-hand", NULL, "changes of the program that a fix needs are made",
              WO_TO_FLAG(struct wo_verify_args, accepts_by_hand)),
    WO_OPTION("capacity", "SIZE", "what PyTorch can have of the card; without it what the\nmessage or the recording shows",
              WO_TO_READER(wo_replay_read_capacity), .wants = "a size, such as 79.1GiB"),
    WO_OPTION("torch", "VERSION", "follow the rules of that version: 2.6", WO_TO_READER(wo_replay_read_torch),
              .wants = "a version of torch from 1.13 on, such as 2.6"),
    WO_OPTION("on", "model|gpu[:N]",
              "where it runs: on the model alone (the default), or what\nfits there also on GPU N, which must confirm it",
              WO_TO_READER(wo_replay_read_on), .choices = "model|gpu", .wants = "model, gpu or gpu:N"),
    WO_OPTION("touch", NULL, "write every byte on the GPU", WO_TO_FLAG(struct wo_verify_args, replay.gpu.touches)),
    WO_OPTION("reserve", "SIZE", "what stays free on the GPU beside the capacity", WO_TO_READER(wo_replay_read_reserve),
              .wants = "a size, such as 1.5GiB"),
    WO_OPTION("no-times", NULL, "leave out how long the GPU took", WO_TO_FLAG(struct wo_verify_args, replay.no_times)),
    WO_OPTION(
        "patch", NULL,
        "the chosen fix as a unified diff of your own files, for\ngit apply or patch -p1; the report goes to standard error",
        WO_TO_FLAG(struct wo_verify_args, is_patch)),
    WO_OPTION("write", NULL, "with --patch: change the files as well, if the whole fix\nis proven",
              WO_TO_FLAG(struct wo_verify_args, is_write)),
};

const struct wo_command wo_command_verify = {
    .name = "verify",
    .needs_more = "on|write",
    .summary = "diagnose a failed job and prove which of the proposed fixes fits",
    .usage = "verify [OPTION...] LOG... [--trace TRACE...]",
    .about = "Diagnoses a failed job and replays each proposed fix at the job's own capacity:\n"
             "which of them fits, by what margin, at what cost. The largest micro-batch or\n"
             "length that fits is searched; where no fix is enough alone, sets of two and\n"
             "three are tried. Options stand for this command alone:\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .ending = "exit status: 0 a fix is proven to fit; 1 nothing that is proposed fits; 2 wrong\n"
              "usage, some input could not be read, or the GPU could not be had; 3 not proven:\n"
              "only reconstructed, a margin below the uncertainty, the GPU does not confirm\n"
              "it, a change of the program is still to be made, or the patch is not the whole\n"
              "fix. --exit-zero turns 1 into 0\n",
    .examples = "# which fix is enough? the recording is looked for beside the log\n"
                "whyoom verify slurm-4711.err slurm-4711.out train.sbatch\n"
                "# with the recordings of two ranks: the worse one decides\n"
                "whyoom verify job.err job.sh --trace snapshot.pickle \\\n"
                "  --trace snapshot-rank1.pickle\n"
                "# the change of your own files, to look at or for git apply\n"
                "whyoom verify job.err job.sh --trace snapshot.pickle --patch > fix.diff\n"
                "# change them, and submit only what is proven to fit\n"
                "whyoom verify job.err job.sh --trace snapshot.pickle --patch --write &&\n"
                "  sbatch job.sh\n",
};

/* Writing files needs two options, so that no mistake causes it. */
enum wo_status wo_verify_args_read(const struct wo_call *call, struct wo_verify_args *ret_args, struct wo_err *err) {
  struct wo_verify_args args = {0};
  if (call->word_count == 0) return wo_err_set(err, WO_E_USAGE, "verify wants the log of a failed job (whyoom help verify)");
  enum wo_status status = wo_call_apply(call, &args, err);
  if (status == WO_OK) status = wo_replay_args_check(&args.replay, err);
  if (status != WO_OK) return status;
  if (args.is_write && !args.is_patch)
    return wo_err_set(err, WO_E_USAGE, "--write changes files: give --patch with it, to see how");
  if (args.trace_count == 0 && (args.recorded_at.axes[0].from > 0 || args.recorded_at.axes[1].from > 0))
    return wo_err_set(err, WO_E_USAGE, "--recorded-at tells the sizes of a recording: give it with --trace");
  *ret_args = args;
  return WO_OK;
}

/* Takes the job's own sizes from the log if the option does not give them. */
static enum wo_status fill_recorded_at(struct run *run, struct wo_err *err) {
  run->recorded_at = run->args->recorded_at;
  for (enum wo_scale_axis_id axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const double own = axis == WO_AXIS_MICRO_BATCH ? run->job->sizes.micro_batch : run->job->sizes.seq_len;
    if (run->recorded_at.axes[axis].from == 0 || run->recorded_at.axes[axis].to > 0) continue;
    if (!(own >= 1 && own <= 1e9))
      return wo_err_set(err, WO_E_USAGE, "--recorded-at: the log does not show the job's own %s: give both, as %s=%u:SIZE",
                        wo_scale_axis_name(axis), wo_scale_axis_name(axis), run->recorded_at.axes[axis].from);
    run->recorded_at.axes[axis].to = (uint32_t)own;
  }
  return WO_OK;
}

/* ---- Subjects ---- */

/* Reports missing data and how to get it: one line for each device, since the missing data may belong to a rank's own card. */
static void tell_lack(const struct run *run, struct wo_view path, const struct wo_trace *trace, const char *lack) {
  wo_message(run->call->errors, path,
             "device %d: %s; `whyoom replay` shows who holds its memory, `whyoom record -- COMMAND` records what can be replayed",
             trace->device, lack);
}

static enum wo_status add_subjects(struct run *run, struct wo_recording *recording, struct wo_view path, struct wo_err *err) {
  for (size_t i = 0; i < recording->traces.count; i++) {
    const char *const lack = wo_trace_lack(recording, &recording->traces.items[i]);
    if (lack) tell_lack(run, path, &recording->traces.items[i], lack);
    if (lack || recording->traces.items[i].entries.count == 0) continue;
    if (run->subject_count == SUBJECTS_MAX)
      return wo_err_set(err, WO_E_LIMIT, "more than %d devices: give the recordings of fewer ranks", SUBJECTS_MAX);
    const enum wo_status status = wo_verify_subject_make(recording, &recording->traces.items[i], path, &run->job->sizes,
                                                         run->args->replay.change.capacity_bytes, run->args->replay.torch,
                                                         &run->subjects[run->subject_count], err);
    if (status != WO_OK) return status;
    run->subjects[run->subject_count].is_lower_bound = run->lacks_activations;
    wo_verify_subject_rescale(&run->subjects[run->subject_count++], &run->recorded_at);
  }
  return WO_OK;
}

/* The name of a recording for reports, which outlive the recordings: it is kept with the pseudonyms. */
static struct wo_view shown_path(const struct run *run, size_t i) {
  struct wo_pseudonyms *const pseudonyms = run->call->pseudonyms;
  return pseudonyms ? wo_pseudonyms_path(pseudonyms, run->args->traces[i], &pseudonyms->arena) : run->args->traces[i];
}

/* Every recording must be readable and have a run: a skipped one may belong to the rank that fails. A recording without a run is
 * a result, and part of the report. */
static bool open_traces(struct run *run) {
  for (size_t i = 0; i < run->args->trace_count; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const size_t before = run->subject_count;
    enum wo_status status = wo_trace_open(run->args->traces[i].ptr, &recording, &err);
    if (status == WO_OK) run->recordings[run->recording_count++] = recording;
    if (status == WO_OK) recording->stop = run->call->stop;
    if (status == WO_OK) wo_recording_anonymize(recording, run->call->pseudonyms);
    if (status == WO_OK) status = add_subjects(run, recording, shown_path(run, i), &err);
    if (status == WO_OK && run->subject_count == before && recording->traces.count > 0) {
      wo_err_set(&run->refusal, WO_E_RANGE,
                 "the snapshot shows who held the memory but has no requests, so no fix can be tried on it: record the run with "
                 "`whyoom record -- COMMAND`");
    } else if (status == WO_OK && run->subject_count == before) {
      status = wo_err_set(&err, WO_E_USAGE, "has no entries of any device: `whyoom record -- COMMAND` makes a recording");
    }
    if (status == WO_OK) continue;
    if (err.message[0] == '\0') wo_err_set(&err, status, "%s", wo_status_text(status));
    fail(run, run->args->traces[i], &err);
    return false;
  }
  return true;
}

/* A refusal is a result, and part of the report. */
static bool reconstruct(struct run *run) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  enum wo_status status = wo_reconstruct(&run->job->sizes, &recording, &run->lacks_activations, &err);
  if (status == WO_E_RANGE) {
    run->refusal = err;
    return true;
  }
  if (status == WO_OK) run->recordings[run->recording_count++] = recording;
  if (status == WO_OK) recording->stop = run->call->stop;
  if (status == WO_OK) status = add_subjects(run, recording, (struct wo_view){0}, &err);
  if (status != WO_OK) fail(run, (struct wo_view){0}, &err);
  return status == WO_OK;
}

/* ---- The answer ---- */

static enum wo_exit exit_of(const struct run *run, const struct wo_verify *verify) {
  const enum wo_verify_verdict verdict = verify->verdict;
  if (wo_verify_is_open_by_hand(verify)) return WO_EXIT_NOT_PROVEN;
  if (verdict == WO_VERIFY_PROVEN || verdict == WO_VERIFY_ACCEPTED) return WO_EXIT_FINE;
  if (verdict != WO_VERIFY_NONE_FITS) return WO_EXIT_NOT_PROVEN;
  return run->call->exit_zero ? WO_EXIT_FINE : WO_EXIT_FAILURE_FOUND;
}

static struct wo_proof proof_of(const struct wo_verify *verify, const struct wo_verify_result *result) {
  return (struct wo_proof){.is_tried = true,
                           .on = result->is_on_gpu ? "gpu" : "model",
                           .pattern = verify->asked.is_reconstructed ? "reconstructed" : "recorded",
                           .path = verify->asked.is_reconstructed ? (struct wo_view){0} : verify->asked.subjects[0].path,
                           .fits = result->fit == WO_VERIFY_YES,
                           .peak_reserved_bytes = (double)result->reserved_hi_bytes,
                           .margin_bytes = (double)result->margin_bytes};
}

static void fill_proofs(const struct wo_verify *verify, struct wo_verify_answer *answer) {
  for (size_t i = 0; i < verify->asked.job->proposal_count && answer->proofs; i++) {
    const struct wo_verify_row *const row = wo_verify_row_of(verify, i);
    answer->proofs[i] = (struct wo_proof){.is_tried = false};
    if (row && row->result.fit != WO_VERIFY_UNTRIED) answer->proofs[i] = proof_of(verify, &row->as_proposed);
    if (row && row->is_rough) answer->proofs[i].is_rough = true;
  }
  const bool is_recorded = !verify->asked.is_reconstructed && verify->baseline.fit != WO_VERIFY_UNTRIED;
  if (is_recorded && answer->as_it_was) *answer->as_it_was = proof_of(verify, &verify->baseline);
  if (verify->verdict == WO_VERIFY_PROVEN) answer->chosen = proof_of(verify, &verify->chosen->result);
  if (!verify->chosen || verify->verdict == WO_VERIFY_NOT_SHOWN) return;
  answer->choice_count = verify->chosen->choice_count;
  answer->is_open_by_hand = wo_verify_is_open_by_hand(verify);
  for (size_t i = 0; i < answer->choice_count; i++) answer->choices[i] = verify->chosen->choices[i];
}

static enum wo_exit answer_call(struct run *run, struct wo_verify_answer *answer) {
  struct wo_verify verify;
  struct wo_err err = {0};
  struct wo_gpu_place gpu = run->args->replay.gpu;
  gpu.hooks = run->hooks;
  const struct wo_verify_request request = {.job = run->job,
                                            .subjects = run->subjects,
                                            .subject_count = run->refusal.message[0] == '\0' ? run->subject_count : 0,
                                            .is_reconstructed = run->args->trace_count == 0,
                                            .accepts_reconstructed = run->args->accepts_reconstructed,
                                            .accepts_by_hand = run->args->accepts_by_hand,
                                            .is_quick = run->args->is_quick,
                                            .lacks_activations = run->lacks_activations,
                                            .refusal = wo_view_of(run->refusal.message),
                                            .gpu = run->args->replay.has_gpu ? &gpu : NULL,
                                            .has_times = !run->args->replay.no_times};
  if (wo_verify_make(&request, &verify, &err) != WO_OK) return fail(run, (struct wo_view){0}, &err);
  if (run->call->format == WO_OUT_JSON) {
    wo_verify_json(&verify, run->out);
  } else {
    wo_verify_text(&verify, run->call->style, run->out);
  }
  fill_proofs(&verify, answer);
  enum wo_exit code = exit_of(run, &verify);
  /* If the requested GPU was not available, the exit code is an error, as for a replay; the model's result is reported anyway. */
  if (verify.gpu.error.code != WO_OK) code = fail(run, (struct wo_view){0}, &verify.gpu.error);
  wo_verify_done(&verify);
  return code;
}

static void close_all(struct run *run) {
  for (size_t i = 0; i < run->subject_count; i++) wo_verify_subject_done(&run->subjects[i]);
  for (size_t i = 0; i < run->recording_count; i++) wo_recording_free(run->recordings[i]);
}

enum wo_exit wo_run_verify(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_diagnosed *job,
                           const struct wo_replay_hooks *hooks, struct wo_verify_answer *answer, struct wo_text *out) {
  struct run *const run = calloc(1, sizeof *run);
  struct wo_err err = {.code = WO_E_NOMEM};
  assert(call && args && job && answer && out);
  enum wo_exit code = WO_EXIT_ERROR;
  if (!run) {
    wo_message_error(call->errors, (struct wo_view){0}, &err);
    return code;
  }
  *run = (struct run){.call = call, .args = args, .job = job, .hooks = hooks, .out = out};
  if (fill_recorded_at(run, &err) != WO_OK) {
    fail(run, (struct wo_view){0}, &err);
  } else if (!job->has_gpu_oom || (args->trace_count > 0 ? open_traces(run) : reconstruct(run))) {
    code = answer_call(run, answer);
  }
  close_all(run);
  free(run);
  return code;
}
