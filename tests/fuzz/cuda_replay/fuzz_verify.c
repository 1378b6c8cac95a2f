/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the proof: any recording x any sizes of a job x any proposals. Three parts of text, so that seeds can be read: a line of
 * sizes ("micro_batch=8 allocated=7e9 measured_peak=nan"), a line of proposals divided by ';', and trace lines. Without trace
 * lines the pattern is reconstructed from the sizes, and only then does a measured run bind it.
 *
 * Properties: an answer, or a refusal with a reason; ends in order; a margin that is the card less the high end; what fits leaves
 * the uncertainty; only what fits is chosen; only a recording that is a witness proves. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/inspect/holdings.h"
#include "cuda_replay/verify/reconstruct.h"
#include "cuda_replay/verify/verify.h"
#include "tests/fuzz/trace_target.h"

enum { ENTRIES_MAX = 300, SUBJECTS_MAX = 3, PROPOSALS_MAX = 5 };

/* ---- Reading the input ---- */

static const struct {
  const char *name;
  size_t offset;
} numbers[] = {
    {"capacity", offsetof(struct wo_job_sizes, capacity_bytes)},
    {"tried", offsetof(struct wo_job_sizes, tried_bytes)},
    {"free", offsetof(struct wo_job_sizes, free_bytes)},
    {"allocated", offsetof(struct wo_job_sizes, allocated_bytes)},
    {"unallocated", offsetof(struct wo_job_sizes, unallocated_bytes)},
    {"non_pytorch", offsetof(struct wo_job_sizes, non_pytorch_bytes)},
    {"other", offsetof(struct wo_job_sizes, other_bytes)},
    {"weights", offsetof(struct wo_job_sizes, weights_bytes)},
    {"gradients", offsetof(struct wo_job_sizes, gradients_bytes)},
    {"optimizer", offsetof(struct wo_job_sizes, optimizer_bytes)},
    {"fixed", offsetof(struct wo_job_sizes, fixed_bytes)},
    {"parameters", offsetof(struct wo_job_sizes, parameters)},
    {"trainable", offsetof(struct wo_job_sizes, trainable)},
    {"micro_batch", offsetof(struct wo_job_sizes, micro_batch)},
    {"seq_len", offsetof(struct wo_job_sizes, seq_len)},
    {"layers", offsetof(struct wo_job_sizes, layers)},
    {"hidden", offsetof(struct wo_job_sizes, hidden)},
    {"vocabulary", offsetof(struct wo_job_sizes, vocabulary)},
    {"measured_batch", offsetof(struct wo_job_sizes, measured.micro_batch)},
    {"measured_length", offsetof(struct wo_job_sizes, measured.seq_len)},
    {"measured_peak", offsetof(struct wo_job_sizes, measured.peak_bytes)},
    {"measured_fixed", offsetof(struct wo_job_sizes, measured.fixed_bytes)},
    {"measured_token", offsetof(struct wo_job_sizes, measured.least_bytes_per_token)},
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0], OF_MEASURED = 18 };

static double *number_of(struct wo_job_sizes *sizes, size_t index) {
  return (double *)(void *)((char *)sizes + numbers[index].offset);
}

static double read_number(struct wo_view text) {
  struct wo_interval value = {0};
  bool is_integer = false;
  if (wo_view_is(text, "nan")) return NAN;
  if (wo_view_is(text, "inf")) return INFINITY;
  if (wo_view_is(text, "-inf")) return -INFINITY;
  return wo_number_decimal(&text, &value, &is_integer) == WO_OK ? value.mid : -1;
}

/* A run that was measured keeps what measured_run.h demands of it; how large its figures are is nobody's promise. */
static void settle_measured(struct wo_measured_run *run) {
  const bool is_run = run->micro_batch >= 1 && run->micro_batch < 1e18 && run->peak_bytes > 0 && run->peak_bytes < 1e18;
  if (!is_run) *run = (struct wo_measured_run){0};
  if (!(run->seq_len > 0 && run->seq_len < 1e18)) run->seq_len = 0;
  if (!(run->fixed_bytes > 0)) run->fixed_bytes = 0;
  if (run->fixed_bytes > run->peak_bytes) run->fixed_bytes = run->peak_bytes;
  if (!(run->least_bytes_per_token > 0 && run->least_bytes_per_token < 1e18)) run->least_bytes_per_token = 0;
}

static struct wo_job_sizes read_sizes(struct wo_view line) {
  struct wo_job_sizes sizes = {.phase = WO_VIEW("forward")};
  for (size_t i = 0; i < OF_MEASURED; i++) *number_of(&sizes, i) = -1;
  while ((line = wo_view_trim(line)).len > 0) {
    struct wo_view value = wo_view_cut(&line, ' ');
    const struct wo_view name = wo_view_cut(&value, '=');
    if (wo_view_is(name, "contradicting")) sizes.are_contradicting = true;
    if (wo_view_is(name, "checkpointing")) sizes.has_checkpointing = true;
    if (wo_view_is(name, "fused")) sizes.measured.is_attention_fused = true;
    if (wo_view_is(name, "conf")) sizes.alloc_conf = value;
    if (wo_view_is(name, "torch")) sizes.torch = value;
    for (size_t i = 0; i < NUMBERS; i++) {
      if (wo_view_is(name, numbers[i].name)) *number_of(&sizes, i) = read_number(value);
    }
  }
  settle_measured(&sizes.measured);
  return sizes;
}

static size_t read_proposals(struct wo_view line, struct wo_proposal *proposals) {
  size_t count = 0;
  for (; line.len > 0 && count < PROPOSALS_MAX; count++) {
    const struct wo_view text = wo_view_cut(&line, ';');
    proposals[count] = (struct wo_proposal){.id = WO_VIEW("fix"),
                                            .title = WO_VIEW("a fix"),
                                            .change = wo_proposed_change_read(text),
                                            .cost_rank = 1 + (unsigned)(text.len % 9)};
  }
  return count;
}

/* ---- What must hold ---- */

static void check_result(const struct wo_verify_result *result, const struct wo_verify_subject *subjects, size_t count) {
  bool is_of_some = count == 0 || result->fit == WO_VERIFY_UNTRIED;
  require(result->fit < WO_VERIFY_FIT_COUNT_ && memchr(result->why, '\0', sizeof result->why));
  require(result->reserved_lo_bytes <= result->reserved_hi_bytes && !result->is_on_gpu);
  require(!result->gets_past || result->fit == WO_VERIFY_UNSURE);
  for (size_t i = 0; i < count && !is_of_some; i++) {
    const uint64_t capacity = subjects[i].capacity_bytes;
    const int64_t margin = capacity == 0 ? 0 : (int64_t)capacity - (int64_t)result->reserved_hi_bytes;
    const bool leaves_it = result->reserved_hi_bytes <= wo_verify_sure_bytes(&subjects[i]);
    is_of_some = result->margin_bytes == margin && (result->fit != WO_VERIFY_YES || leaves_it);
  }
  require(is_of_some);
}

static bool is_witness(const struct wo_verify_request *request) {
  for (size_t i = 0; i < request->subject_count; i++) {
    if (request->subjects[i].is_open || request->subjects[i].why_not_proven[0] != '\0') return false;
  }
  return !request->lacks_activations;
}

static void check_verify(const struct wo_verify *verify, const struct wo_verify_request *request) {
  check_result(&verify->baseline, request->subjects, request->subject_count);
  for (size_t i = 0; i < verify->row_count; i++) {
    const struct wo_verify_row *const row = &verify->rows[i];
    check_result(&row->result, request->subjects, request->subject_count);
    require(row->choice_count <= WO_CHOICES_MAX && (row->result.fit != WO_VERIFY_YES || is_witness(request)));
    for (size_t k = 0; k < row->choice_count; k++) require(row->choices[k].proposal < request->job->proposal_count);
  }
  if (verify->chosen) require(verify->chosen->choice_count > 0 && verify->chosen->result.fit == WO_VERIFY_YES);
  if (verify->verdict == WO_VERIFY_PROVEN || verify->verdict == WO_VERIFY_ACCEPTED) require(verify->chosen != NULL);
  require(verify->verdict != WO_VERIFY_PROVEN || !request->is_reconstructed);
  require((verify->verdict == WO_VERIFY_NO_PATTERN) == (request->subject_count == 0));
}

static void check_texts(const struct wo_verify *verify) {
  struct wo_text text = {0}, json = {0};
  wo_verify_text(verify, (struct wo_text_style){.width = 100}, &text);
  wo_verify_json(verify, &json);
  require(!text.is_failed && text.len > 0 && !json.is_failed && json.len > 0);
  wo_text_done(&text);
  wo_text_done(&json);
}

/* ---- One input ---- */

static size_t make_subjects(const struct wo_recording *recording, const struct wo_job_sizes *sizes,
                            struct wo_verify_subject *subjects) {
  size_t count = 0;
  for (size_t i = 0; recording && i < recording->traces.count && count < SUBJECTS_MAX; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    struct wo_err err = {0};
    if (trace->entries.count == 0 || trace->entries.count > ENTRIES_MAX || wo_trace_lack(recording, trace)) continue;
    const enum wo_status status = wo_verify_subject_make(recording, trace, WO_VIEW("t"), sizes, 0, 0, &subjects[count], &err);
    require(status == WO_OK || err.message[0] != '\0');
    if (status == WO_OK) count++;
  }
  return count;
}

static struct wo_recording *read_recording(struct wo_view bytes, const struct wo_job_sizes *sizes, bool *ret_lacks) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (bytes.len > 0) return trace_read(wo_trace_lines_read, bytes, SIZE_MAX);
  const enum wo_status status = wo_reconstruct(sizes, &recording, ret_lacks, &err);
  require((status == WO_OK) == (recording != NULL) && (status == WO_OK || err.message[0] != '\0'));
  return recording;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_view rest = {(const char *)data, size};
  const struct wo_job_sizes sizes = read_sizes(wo_view_cut(&rest, '\n'));
  struct wo_proposal proposals[PROPOSALS_MAX];
  struct wo_verify_subject subjects[SUBJECTS_MAX];
  struct wo_verify verify;
  struct wo_err err = {0};
  const struct wo_diagnosed job = {.has_gpu_oom = true,
                                   .proposals = proposals,
                                   .proposal_count = read_proposals(wo_view_cut(&rest, '\n'), proposals),
                                   .sizes = sizes};
  struct wo_verify_request request = {
      .job = &job, .subjects = subjects, .is_reconstructed = rest.len == 0, .accepts_reconstructed = size % 2 == 0};
  struct wo_recording *const recording = read_recording(rest, &job.sizes, &request.lacks_activations);
  request.subject_count = make_subjects(recording, &job.sizes, subjects);
  if (request.subject_count == 0) request.refusal = WO_VIEW("nothing to replay");
  require(wo_verify_make(&request, &verify, &err) == WO_OK);
  check_verify(&verify, &request);
  check_texts(&verify);
  wo_verify_done(&verify);
  for (size_t i = 0; i < request.subject_count; i++) wo_verify_subject_done(&subjects[i]);
  wo_recording_free(recording);
  return 0;
}
