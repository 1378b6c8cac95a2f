/* SPDX-License-Identifier: Apache-2.0 */
/* Confirms results on a card. See verify_gpu.h.
 *
 * `run` is the only function that sends a pattern to the card; the others decide what to send, and evaluate the result. */
#include "cuda_replay/verify/verify_gpu.h"

#include <assert.h>
#include <stdio.h>

#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/verify/verify.h"

struct confirmer {
  struct wo_verify *verify;
  struct wo_gpu_place asked;   /* the requested place, with the reserve chosen */
  struct wo_replay_gpu looked; /* the card and the libraries; each run starts from a copy */
  struct wo_err reason;        /* of a failure */
};

/* ---- The card ---- */

/* The memory that the card must have: the largest amount that any rank's card surely leaves; 0 if one of them is not known. */
static uint64_t wanted_bytes(const struct wo_verify *verify) {
  uint64_t most = 0;
  for (size_t i = 0; i < verify->asked.subject_count; i++) {
    const uint64_t sure = wo_verify_sure_bytes(&verify->asked.subjects[i]);
    if (sure == 0) return 0;
    if (sure > most) most = sure;
  }
  return most;
}

/* Without --reserve nothing has to stay free beside the capacity: the uncertainty is already subtracted, and a card of the same
 * size as the job's has no more. */
static enum wo_status look(struct confirmer *confirmer) {
  struct wo_verify_gpu *const gpu = &confirmer->verify->gpu;
  const struct wo_verify_subject *const subject = &confirmer->verify->asked.subjects[0];
  struct wo_capacity capacity = {.from = WO_CAPACITY_OPTION, .bytes = wanted_bytes(confirmer->verify)};
  confirmer->asked = *confirmer->verify->asked.gpu;
  confirmer->asked.has_reserve = true;
  const enum wo_status status = wo_replay_gpu_look(&confirmer->asked, subject->recording, subject->trace, &capacity,
                                                   &confirmer->looked, &confirmer->reason);
  if (status != WO_OK) return status;
  gpu->is_found = true;
  gpu->card = confirmer->looked.info;
  gpu->reserve_bytes = confirmer->looked.reserve_bytes;
  return WO_OK;
}

/* ---- Runs ---- */

/* Stores the result of a run. */
static enum wo_status keep(struct confirmer *confirmer, const struct wo_replay_gpu *card, struct wo_verify_gpu_run *run) {
  struct wo_verify_gpu *const gpu = &confirmer->verify->gpu;
  char text[sizeof card->difference + 80];
  run->outcome = card->outcome;
  run->calls = card->info.calls;
  run->agrees = card->agrees;
  gpu->card = card->info;
  gpu->left_count += card->left_count;
  gpu->run_count++;
  if (run->agrees) return WO_OK;
  wo_replay_gpu_tell_difference(card, text, sizeof text);
  run->difference = wo_arena_copy(&confirmer->verify->arena, wo_view_of(text));
  return run->difference.ptr ? WO_OK : WO_E_NOMEM;
}

/* The only function that sends a pattern to the card: a row's high end, or the unchanged job (NULL), of one rank. */
static enum wo_status run(struct confirmer *confirmer, const struct wo_verify_row *row, size_t subject,
                          const struct wo_verify_gpu_run **ret_run) {
  struct wo_verify_gpu *const gpu = &confirmer->verify->gpu;
  struct wo_replay_gpu card = confirmer->looked;
  struct wo_verify_high_end end;
  uint64_t operations = 0;
  const struct wo_verify_subject *const asked = &confirmer->verify->asked.subjects[subject];
  enum wo_status status = wo_verify_high_end_make(asked, row ? &row->replayed : NULL, &end, &confirmer->reason);
  if (status != WO_OK) return status;
  struct wo_verify_gpu_run *const run = &gpu->runs[gpu->run_count];
  *run = (struct wo_verify_gpu_run){.row = row, .subject = subject, .capacity_bytes = end.capacity_bytes};
  const struct wo_replay_gpu_wish wish = {.pattern = &end.pattern,
                                          .settings = end.settings,
                                          .torch = asked->torch,
                                          .capacity_bytes = end.capacity_bytes,
                                          .hooks = confirmer->asked.hooks};
  status = wo_replay_gpu_run(&card, &wish, &operations, &confirmer->reason);
  wo_verify_high_end_done(&end);
  if (status == WO_OK) status = keep(confirmer, &card, run);
  *ret_run = run;
  return status;
}

/* ---- Evaluating the runs ---- */

/* Withdraws a "yes" with the reason "GPU 0 gives another result: ...", cut to its room. */
static void take_back(struct wo_verify_result *result, int ordinal, struct wo_view what) {
  result->is_on_gpu = true;
  result->fit = WO_VERIFY_UNSURE;
  snprintf(result->why, sizeof result->why, "not confirmed on GPU %d: %.*s", ordinal, (int)(what.len < 170 ? what.len : 170),
           what.ptr);
}

/* The unchanged job must fail on some rank, or a fix that fits proves nothing. */
static enum wo_status confirm_failure(struct confirmer *confirmer, bool *ret_is_shown) {
  struct wo_verify *const verify = confirmer->verify;
  *ret_is_shown = false;
  for (size_t i = 0; i < verify->asked.subject_count && !*ret_is_shown; i++) {
    const struct wo_verify_gpu_run *ran = NULL;
    const enum wo_status status = run(confirmer, NULL, i, &ran);
    if (status != WO_OK) return status;
    if (!ran->agrees) {
      take_back(&verify->baseline, verify->gpu.ordinal, ran->difference);
      return WO_OK;
    }
    *ret_is_shown = ran->outcome.has_oom;
  }
  verify->baseline.is_on_gpu = true;
  if (!*ret_is_shown) take_back(&verify->baseline, verify->gpu.ordinal, WO_VIEW("it fits there as it is"));
  return WO_OK;
}

/* A row must fit on every rank. */
static enum wo_status confirm_row(struct confirmer *confirmer, struct wo_verify_row *row) {
  for (size_t i = 0; i < confirmer->verify->asked.subject_count; i++) {
    const struct wo_verify_gpu_run *ran = NULL;
    const enum wo_status status = run(confirmer, row, i, &ran);
    if (status != WO_OK) return status;
    row->result.is_on_gpu = true;
    if (ran->agrees && !ran->outcome.has_oom) continue;
    take_back(&row->result, confirmer->verify->gpu.ordinal,
              ran->agrees ? WO_VIEW("a request fails at the addresses that its driver gives") : ran->difference);
    return WO_OK;
  }
  return WO_OK;
}

/* Row by row, as long as a row is chosen that the card has not confirmed. */
static enum wo_status confirm_choice(struct confirmer *confirmer) {
  struct wo_verify *const verify = confirmer->verify;
  for (size_t tried = 0; verify->chosen && tried < WO_VERIFY_GPU_ROWS_MAX; tried++) {
    struct wo_verify_row *const row = &verify->rows[verify->chosen - verify->rows];
    const enum wo_status status = confirm_row(confirmer, row);
    if (status != WO_OK || row->result.fit == WO_VERIFY_YES) return status;
    verify->chosen = wo_verify_cheapest(verify);
  }
  verify->chosen = NULL;
  return WO_OK;
}

/* ---- All together ---- */

static enum wo_status confirm(struct confirmer *confirmer) {
  struct wo_verify *const verify = confirmer->verify;
  bool is_shown = false;
  const size_t runs_max = (WO_VERIFY_GPU_ROWS_MAX + 1) * verify->asked.subject_count;
  verify->gpu.runs = wo_arena_array(&verify->arena, runs_max, sizeof *verify->gpu.runs);
  if (!verify->gpu.runs) return WO_E_NOMEM;
  enum wo_status status = look(confirmer);
  if (status == WO_OK) status = confirm_failure(confirmer, &is_shown);
  if (status != WO_OK) return status;
  if (is_shown && verify->chosen) return confirm_choice(confirmer);
  if (!is_shown) verify->verdict = WO_VERIFY_UNCONFIRMED;
  if (!is_shown) verify->chosen = NULL;
  return WO_OK;
}

/* A row that was not confirmed is not chosen, whatever the reason. */
static void settle(struct wo_verify *verify, enum wo_status status, const struct wo_err *reason) {
  if (status != WO_OK) {
    verify->gpu.error = *reason;
    verify->gpu.error.code = status;
    if (verify->gpu.error.message[0] == '\0') wo_err_set(&verify->gpu.error, status, "%s", wo_status_text(status));
    verify->chosen = NULL;
  }
  if (verify->gpu.model_row && !verify->chosen) verify->verdict = WO_VERIFY_UNCONFIRMED;
}

/* Whether there is something to run, on a card whose size is known. */
static bool is_anything_to_run(const struct wo_verify *verify) {
  return verify->asked.job->has_gpu_oom && verify->asked.subject_count > 0 && verify->verdict != WO_VERIFY_NOT_SHOWN &&
         wanted_bytes(verify) > 0;
}

enum wo_status wo_verify_confirm(struct wo_verify *verify, struct wo_err *err) {
  assert(verify && verify->asked.gpu && err);
  const struct wo_gpu_place *const asked = verify->asked.gpu;
  struct confirmer confirmer = {.verify = verify};
  struct wo_verify_gpu *const gpu = &verify->gpu;
  const double begin = wo_hooks_seconds_now(asked->hooks);
  *gpu = (struct wo_verify_gpu){.is_asked = true,
                                .ordinal = asked->ordinal,
                                .touches = asked->touches,
                                .has_seconds = verify->asked.has_times,
                                .libraries = wo_gpu_libraries_of(asked->hooks)};
  if (asked->hooks && asked->hooks->visible_devices) gpu->visible_devices = wo_view_of(asked->hooks->visible_devices);
  if (!is_anything_to_run(verify)) return WO_OK;
  gpu->model_row = verify->chosen;
  const enum wo_status status = confirm(&confirmer);
  wo_replay_gpu_done(&confirmer.looked);
  gpu->seconds = wo_hooks_seconds_now(asked->hooks) - begin;
  if (status == WO_E_NOMEM) return wo_err_nomem(err);
  settle(verify, status, &confirmer.reason);
  return WO_OK;
}
