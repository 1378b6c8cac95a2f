/* SPDX-License-Identifier: Apache-2.0 */
/* See joined.h. */
#include "analyzer/joined/joined.h"

#include "analyzer/patch/patch.h"
#include "analyzer/verify/recordings.h"
#include "analyzer/verify/verify_plan.h"
#include "cuda_replay/command/verify_command.h"
#include "cuda_replay/picture/picture.h"

/* The choices that settings make, where those of the program are made already. Returns their number. */
static size_t without_by_hand(const struct wo_verify_plan *plan, const struct wo_verify_answer *answer,
                              struct wo_choice choices[WO_CHOICES_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < answer->choice_count; i++) {
    if (plan->fixes[answer->choices[i].proposal].change_count > 0) choices[count++] = answer->choices[i];
  }
  return count;
}

static const char *why_not_written(const struct wo_verify_plan *plan, const struct wo_verify_answer *answer) {
  if (!plan->is_complete) return "an input could not be read";
  return answer->is_open_by_hand ? "a change of the program is still to be made (--accept-by-hand)" : "the fix is not proven";
}

/* --patch: the chosen fix as a change of the job's files. A part of the diff alone is not proven: a script must then stop, so 0
 * becomes WO_EXIT_NOT_PROVEN. Only a whole fix that is proven (or accepted), from inputs that could all be read, is written.
 * Returns the exit code that `code` becomes. */
static enum wo_exit run_patch(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_verify_plan *plan,
                              const struct wo_verify_answer *answer, enum wo_exit code, struct wo_text *diff) {
  const bool is_proven = code == WO_EXIT_FINE && plan->is_complete;
  struct wo_choice made[WO_CHOICES_MAX];
  if (answer->choice_count == 0) {
    wo_message(call->errors, WO_VIEW("--patch"), "no fix is chosen, so there is nothing to change");
    return code;
  }
  const size_t made_count = args->accepts_by_hand ? without_by_hand(plan, answer, made) : answer->choice_count;
  const enum wo_patch_result result = wo_patch_run(plan->report, plan->fixes, args->accepts_by_hand ? made : answer->choices,
                                                   made_count, args->is_write && is_proven, diff, call->errors);
  if (result == WO_PATCH_FAILED) return WO_EXIT_ERROR;
  if (args->is_write && !is_proven)
    wo_message(call->errors, WO_VIEW("--write"), "nothing is written, because %s", why_not_written(plan, answer));
  if (result == WO_PATCH_WHOLE || (code != WO_EXIT_FINE && !answer->is_open_by_hand)) return code;
  wo_message(call->errors, WO_VIEW("--patch"),
             "what is told above is not in the patch, and only the whole fix is shown to fit: make it before you resubmit");
  if (args->is_write && is_proven) wo_message(call->errors, WO_VIEW("--write"), "nothing is written, because a part is no fix");
  return WO_EXIT_NOT_PROVEN;
}

/* Proves what the plan proposes, and writes the report with it. */
static enum wo_exit prove(const struct wo_call *call, const struct wo_verify_args *args, struct wo_verify_plan *plan,
                          const struct wo_replay_hooks *hooks) {
  const bool is_json = call->format == WO_OUT_JSON;
  struct wo_text proved = {0}, diff = {0};
  struct wo_verify_answer answer = {.proofs = plan->proofs, .as_it_was = &plan->as_it_was};
  enum wo_exit code = wo_run_verify(call, args, &plan->diagnosed, hooks, &answer, &proved);
  const struct wo_view text = {proved.ptr, proved.len};
  /* The output of --patch is the diff alone, for `| git apply`; the report goes to stderr. */
  if (!is_json) wo_text_add_view(args->is_patch ? call->errors : call->out, text);
  if (args->is_patch && code != WO_EXIT_ERROR) code = run_patch(call, args, plan, &answer, code, &diff);
  const struct wo_view patch = {diff.ptr, diff.len};
  if (!is_json) wo_text_add_view(call->out, patch);
  /* A terminal applies no patch: there it is sealed as all texts are. */
  call->out->is_exact = !is_json && args->is_patch && (call->output.len > 0 || !call->is_stdout_terminal);
  struct wo_report proven = *plan->report;
  if (is_json && !wo_verify_plan_attach(plan, answer.choices, answer.choice_count, &answer.chosen, &proven))
    call->out->is_failed = true;
  if (is_json && text.len > 0) wo_verify_plan_json(&proven, text, patch, call->out);
  if (proved.is_failed || diff.is_failed) call->out->is_failed = true;
  wo_text_done(&proved);
  wo_text_done(&diff);
  return plan->is_complete ? code : WO_EXIT_ERROR;
}

/* A recording among the files, or beside them by its name, is used without being asked for. */
static void use_recordings(const struct wo_job *job, struct wo_kept_folder *kept, struct wo_arena *arena,
                           struct wo_verify_args *args) {
  if (args->trace_count > 0 || args->takes_no_trace) return;
  args->trace_count = wo_recordings_find(job, kept, arena, args->traces, WO_VERIFY_TRACES_MAX);
}

/* Both flows meet here: the diagnosis gives its proposals, the proof returns its results. */
enum wo_exit wo_joined_verify(const struct wo_call *call, const struct wo_replay_hooks *hooks) {
  struct wo_verify_args args;
  struct wo_verify_plan plan;
  struct wo_kept_folder beside = {0};
  struct wo_err err = {0};
  if (wo_verify_args_read(call, &args, &err) != WO_OK) {
    wo_message_error(call->errors, (struct wo_view){0}, &err);
    return WO_EXIT_ERROR;
  }
  if (call->is_anonymous && args.is_patch) {
    wo_message(call->errors, WO_VIEW("--anonymize"), "a patch needs the real names of files: use --%s without it",
               args.is_write ? "write" : "patch");
    return WO_EXIT_ERROR;
  }
  const bool is_read = wo_verify_plan_read(call, &plan);
  if (is_read) use_recordings(plan.job, &beside, &plan.arena, &args);
  wo_kept_folder_done(&beside);
  const enum wo_exit code = is_read ? prove(call, &args, &plan, hooks) : WO_EXIT_ERROR;
  wo_verify_plan_done(&plan);
  return code;
}

/* What the message says that PyTorch could have; 0: not known. */
static double left_to_pytorch(const struct wo_job_sizes *sizes) {
  const bool is_known = sizes->allocated_bytes >= 0 && sizes->unallocated_bytes >= 0 && sizes->free_bytes >= 0;
  return is_known && !sizes->are_contradicting ? sizes->allocated_bytes + sizes->unallocated_bytes + sizes->free_bytes : 0;
}

/* Of several ranks the one on which a request failed; a page has room for one. */
static void draw_recording(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_job_sizes *sizes,
                           struct wo_arena *arena, struct wo_report *report) {
  enum { TRIED = 4 };
  struct wo_recorded_memory *const memory = wo_arena_alloc(arena, sizeof *memory);
  for (size_t i = 0; memory != NULL && i < args->trace_count && i < TRIED; i++) {
    struct wo_recorded_memory found;
    if (!wo_picture_make(args->traces[i].ptr, left_to_pytorch(sizes), call->pseudonyms, arena, &found)) continue;
    if (report->recorded == NULL || found.has_failed) *memory = found;
    report->recorded = memory;
    if (found.has_failed) break;
  }
}

/* What proofs of one call's jobs keep: the plan lives as long as its report. */
struct proofs {
  const struct wo_replay_hooks *hooks;
  struct wo_verify_plan plan;
  struct wo_kept_folder beside;
};

/* Replays the recording of a diagnosed job: the report then says what that shows, and not only what two intervals allow. */
static void prove_report(void *context, const struct wo_call *call, struct wo_arena *arena, struct wo_report *report) {
  struct proofs *const proofs = context;
  struct wo_verify_plan *const plan = &proofs->plan;
  struct wo_verify_args args = {0};
  struct wo_text proved = {0};
  if (report->job->story.outcome != WO_OUTCOME_GPU_OOM || !wo_report_tells_failure(report)) return;
  wo_verify_plan_done(plan);
  *plan = (struct wo_verify_plan){0};
  wo_arena_init(&plan->arena, WO_LIMIT_REPORT_BYTES);
  use_recordings(report->job, &proofs->beside, &plan->arena, &args);
  args.is_quick = call->format != WO_OUT_JSON; /* people wait for it, and need no figure of what does not fit */
  if (args.trace_count == 0 || wo_verify_plan_fill(report, plan) != WO_OK) return;
  struct wo_verify_answer answer = {.proofs = plan->proofs, .as_it_was = &plan->as_it_was};
  if (wo_run_verify(call, &args, &plan->diagnosed, proofs->hooks, &answer, &proved) == WO_EXIT_ERROR) {
    wo_message(call->errors, args.traces[0], "this recording is not used: the report is of the logs alone");
  } else {
    if (!wo_verify_plan_attach(plan, answer.choices, answer.choice_count, &answer.chosen, report)) arena->is_exhausted = true;
    if (call->format == WO_OUT_JSON) report->verify_json = wo_arena_copy(arena, (struct wo_view){proved.ptr, proved.len});
  }
  if (call->format == WO_OUT_HTML) draw_recording(call, &args, &plan->diagnosed.sizes, arena, report);
  wo_text_done(&proved);
}

enum wo_exit wo_joined_diagnose(const struct wo_call *call, const struct wo_replay_hooks *hooks) {
  struct proofs proofs = {.hooks = hooks};
  const struct wo_prover prover = {.context = &proofs, .prove = prove_report};
  const enum wo_exit code = wo_run_diagnose(call, &prover);
  wo_verify_plan_done(&proofs.plan);
  wo_kept_folder_done(&proofs.beside);
  return code;
}
