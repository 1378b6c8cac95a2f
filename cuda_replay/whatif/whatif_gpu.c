/* SPDX-License-Identifier: Apache-2.0 */
/* A replay on a GPU, and on a model of it. See whatif_gpu.h. */
#include "cuda_replay/whatif/whatif_gpu.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/device/device_journal.h"
#include "cuda_replay/device/elsewhere.h"
#include "cuda_replay/device/gpu_cards.h"
#include "cuda_replay/device/nvml.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "parsers/base/units.h"

#define MIB (UINT64_C(1) << 20)

/* Without evidence from a recording: a context, and the buffers of NCCL on one node. */
#define USUAL_RESERVE_BYTES (1024 * MIB)

/* The size of a context: a capacity that comes from a recording may exceed the free memory by this much and the reserve. */
#define CONTEXT_BYTES (640 * MIB)

/* The second context may leave slightly less memory than the first one. */
#define LOOK_SLACK_BYTES (64 * MIB)

/* Memory that late-loading libraries may still take from an examined card. */
#define LOOKED_UNCERTAINTY_BYTES (256 * MIB)

struct wo_gpu_session {
  struct wo_cuda_driver driver;
  struct wo_nvml nvml;
  const struct wo_elsewhere *elsewhere; /* is open; NULL for none */
};

static const struct wo_replay_hooks no_hooks;

static const struct wo_replay_hooks *hooks_of(const struct wo_replay_hooks *hooks) {
  return hooks ? hooks : &no_hooks;
}

struct wo_gpu_libraries wo_gpu_libraries_of(const struct wo_replay_hooks *hooks) {
  const struct wo_replay_hooks *const known = hooks_of(hooks);
  return (struct wo_gpu_libraries){wo_view_of(known->cuda_library), wo_view_of(known->nvml_library)};
}

static void guard(const struct wo_replay_hooks *hooks, bool is_on) {
  if (hooks->guard) hooks->guard(hooks->state, is_on);
}

static bool is_cancelled(const struct wo_replay_hooks *hooks) {
  return hooks->is_cancelled && *hooks->is_cancelled;
}

/* ---- Examining the card ---- */

/* The memory that the recorded process and its neighbours used beside the allocator is known if the recording states the card,
 * and a failed request shows the most that the allocator could have. */
static void choose_reserve(const struct wo_gpu_place *asked, const struct wo_recording *recording, const struct wo_trace *trace,
                           struct wo_replay_gpu *gpu) {
  const struct wo_capacity seen = wo_capacity_find(recording, trace, 0);
  const bool is_known = seen.from == WO_CAPACITY_OOM_ENTRY && recording->capacity_bytes > seen.bytes;
  gpu->reserve_from = asked->has_reserve ? WO_RESERVE_OPTION : is_known ? WO_RESERVE_RECORDING : WO_RESERVE_USUAL;
  gpu->reserve_bytes = asked->has_reserve ? asked->reserve_bytes
                       : is_known         ? recording->capacity_bytes - seen.bytes
                                          : USUAL_RESERVE_BYTES;
}

/* Adds the processes on the card to a refusal, so that the user can act on it. */
static enum wo_status name_holders(const struct wo_replay_gpu *gpu, struct wo_err *err) {
  struct wo_text text = {0};
  wo_text_add(&text, "%s", err->message);
  wo_gpu_add_holders(&gpu->session->driver, &gpu->session->nvml, gpu->ordinal, &text);
  const enum wo_status status = wo_err_set(err, WO_E_LIMIT, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
  wo_text_done(&text);
  return status;
}

/* The allocator's part of the free memory. */
static enum wo_status choose_capacity(struct wo_replay_gpu *gpu, struct wo_capacity *capacity, struct wo_err *err) {
  const uint64_t usable_bytes = gpu->info.cap_bytes;
  const bool is_stated = capacity->from == WO_CAPACITY_OPTION;
  const uint64_t slack_bytes = is_stated ? 0 : CONTEXT_BYTES + gpu->reserve_bytes;
  if (capacity->from != WO_CAPACITY_NONE && capacity->bytes <= usable_bytes) return WO_OK;
  if (capacity->from != WO_CAPACITY_NONE && capacity->bytes - usable_bytes > slack_bytes)
    return wo_device_gpu_too_little(&gpu->info, gpu->ordinal, capacity->bytes, gpu->reserve_bytes, err);
  if (gpu->info.is_integrated)
    return wo_err_set(err, WO_E_USAGE,
                      "GPU %d (%s) has no memory of its own: what is free is the host's, and taking all of it would end other "
                      "processes; give --capacity",
                      gpu->ordinal, gpu->info.name);
  capacity->from = WO_CAPACITY_GPU;
  capacity->bytes = usable_bytes > LOOK_SLACK_BYTES ? usable_bytes - LOOK_SLACK_BYTES : usable_bytes;
  capacity->uncertainty_bytes = LOOKED_UNCERTAINTY_BYTES;
  return WO_OK;
}

/* Creates a context for the time of the query: the free memory without one is not the memory that a process has. */
static enum wo_status look(struct wo_replay_gpu *gpu, const struct wo_replay_hooks *hooks, struct wo_err *err) {
  struct wo_device_gpu *card = NULL;
  struct wo_device device;
  const struct wo_device_gpu_options options = {.ordinal = gpu->ordinal, .reserve_bytes = gpu->reserve_bytes};
  guard(hooks, true);
  const enum wo_status status = wo_device_gpu_open(&gpu->session->driver, &options, &card, &device, err);
  if (status == WO_OK) gpu->info = *wo_device_gpu_info(card);
  wo_device_gpu_close(card, NULL);
  guard(hooks, false);
  if (status != WO_OK || !is_cancelled(hooks)) return status;
  return wo_err_set(err, WO_E_IO, "interrupted: nothing was taken of GPU %d", gpu->ordinal);
}

/* The libraries in this process, or in one that can load them. */
static enum wo_status open_libraries(struct wo_gpu_session *session, const struct wo_replay_hooks *hooks, struct wo_err *err) {
  const struct wo_elsewhere *const elsewhere = hooks->elsewhere;
  enum wo_status status = elsewhere ? elsewhere->open(elsewhere->state, err) : WO_OK;
  if (status != WO_OK) return status;
  session->elsewhere = elsewhere;
  status = (elsewhere ? elsewhere->cuda : wo_cuda_open)(hooks->cuda_library, &session->driver, err);
  if (status == WO_OK) (elsewhere ? elsewhere->nvml : wo_nvml_open)(hooks->nvml_library, &session->nvml);
  return status;
}

enum wo_status wo_replay_gpu_look(const struct wo_gpu_place *asked, const struct wo_recording *recording,
                                  const struct wo_trace *trace, struct wo_capacity *capacity, struct wo_replay_gpu *ret_gpu,
                                  struct wo_err *err) {
  const struct wo_replay_hooks *const hooks = hooks_of(asked->hooks);
  assert(asked != NULL && capacity != NULL);
  *ret_gpu = (struct wo_replay_gpu){
      .ordinal = asked->ordinal, .touches = asked->touches, .libraries = wo_gpu_libraries_of(asked->hooks)};
  struct wo_gpu_session *const session = ret_gpu->session = calloc(1, sizeof *session);
  if (!session) return wo_err_nomem(err);
  choose_reserve(asked, recording, trace, ret_gpu);
  enum wo_status status = open_libraries(session, hooks, err);
  if (status != WO_OK) return status;
  status = wo_gpu_look(&session->driver, &session->nvml, ret_gpu->ordinal, hooks->visible_devices, err);
  if (status == WO_OK) status = look(ret_gpu, hooks, err);
  if (status == WO_OK) status = choose_capacity(ret_gpu, capacity, err);
  return status == WO_E_LIMIT ? name_holders(ret_gpu, err) : status;
}

/* ---- On the card ---- */

/* The state of the observer of steps. */
struct steps {
  const struct wo_replay_hooks *hooks;
  const struct wo_device_gpu *card;
  struct wo_gpu_progress progress;
  bool stop;
};

static void on_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct steps *const steps = state;
  (void)allocator;
  steps->stop = is_cancelled(steps->hooks);
  if (!steps->hooks->on_progress) return;
  steps->progress.done = request + 1;
  steps->progress.used_bytes = wo_device_gpu_info(steps->card)->used_bytes;
  steps->hooks->on_progress(steps->hooks->state, &steps->progress);
}

static void tell_over(const struct steps *steps) {
  struct wo_gpu_progress over = steps->progress;
  over.is_over = true;
  if (steps->hooks->on_progress) steps->hooks->on_progress(steps->hooks->state, &over);
}

/* Adds the state of the card to the error of a run that ended early. */
static enum wo_status tell_left(const struct wo_replay_gpu *gpu, enum wo_status status, struct wo_err *err) {
  const struct wo_err reason = *err;
  if (gpu->left_count == 0)
    return wo_err_set(err, status, "%s; everything that was taken of GPU %d was given back", reason.message, gpu->ordinal);
  return wo_err_set(err, status, "%s; the driver did not take back %" PRIu64 " pieces of GPU %d: they are free when whyoom ends",
                    reason.message, gpu->left_count, gpu->ordinal);
}

static enum wo_status run_pattern(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish, struct wo_device_gpu *card,
                                  const struct wo_device *device, struct wo_err *err) {
  struct steps steps = {.hooks = hooks_of(wish->hooks), .card = card};
  steps.progress = (struct wo_gpu_progress){.ordinal = gpu->ordinal, .total = wish->pattern->requests.count};
  const struct wo_replay_options options = {
      .settings = wish->settings, .torch = wish->torch, .device = device, .on_step = {&steps, on_step}, .stop = &steps.stop};
  const enum wo_status status = wo_replay_run(wish->pattern, &options, &gpu->outcome, err);
  tell_over(&steps);
  if (status == WO_OK && is_cancelled(steps.hooks)) return wo_err_set(err, WO_E_IO, "interrupted");
  return status;
}

static enum wo_status run_on_card(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish, struct wo_journal *journal,
                                  struct wo_err *err) {
  struct wo_device_gpu *card = NULL;
  struct wo_device device;
  const struct wo_device_gpu_options options = {.ordinal = gpu->ordinal,
                                                .capacity_bytes = wish->capacity_bytes,
                                                .reserve_bytes = gpu->reserve_bytes,
                                                .total_bytes = wish->capacity_bytes,
                                                .torch = wish->torch,
                                                .touches = gpu->touches,
                                                .is_cancelled = hooks_of(wish->hooks)->is_cancelled};
  guard(hooks_of(wish->hooks), true);
  enum wo_status status = wo_device_gpu_open(&gpu->session->driver, &options, &card, &device, err);
  const bool is_open = status == WO_OK;
  if (is_open) {
    const struct wo_device noted = wo_journal_device(journal, &device);
    status = run_pattern(gpu, wish, card, &noted, err);
    gpu->info = *wo_device_gpu_info(card);
  }
  wo_device_gpu_close(card, &gpu->left_count);
  guard(hooks_of(wish->hooks), false);
  if (!is_open && status == WO_E_LIMIT) return name_holders(gpu, err);
  return is_open && status != WO_OK ? tell_left(gpu, status, err) : status;
}

/* ---- On the model ---- */

/* Calls first, in order: other differences follow from a different call. */
static void compare(struct wo_replay_gpu *gpu, const struct wo_echo *echo) {
  const struct wo_replay_outcome *const card = &gpu->outcome;
  const struct wo_replay_outcome *const model = &gpu->model;
  gpu->agrees = wo_echo_agrees(echo, gpu->difference, sizeof gpu->difference);
  if (!gpu->agrees) return;
  gpu->agrees = card->oom_count == model->oom_count && card->oom_at == model->oom_at &&
                card->segment_events == model->segment_events && card->peak.reserved_bytes == model->peak.reserved_bytes;
  if (!gpu->agrees)
    snprintf(gpu->difference, sizeof gpu->difference,
             "the GPU has %" PRIu64 " failed requests and reserves %" PRIu64 " bytes, the model %" PRIu64 " and %" PRIu64,
             card->oom_count, card->peak.reserved_bytes, model->oom_count, model->peak.reserved_bytes);
}

static enum wo_status run_on_model(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish,
                                   const struct wo_journal *journal, struct wo_err *err) {
  struct wo_echo echo = {.journal = journal, .capacity_bytes = wish->capacity_bytes};
  const struct wo_device device = wo_echo_device(&echo);
  const struct wo_replay_options options = {.settings = wish->settings, .torch = wish->torch, .device = &device};
  const enum wo_status status = wo_replay_run(wish->pattern, &options, &gpu->model, err);
  if (status == WO_OK) compare(gpu, &echo);
  return status;
}

/* ---- Both ---- */

enum wo_status wo_replay_gpu_run(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish, uint64_t *operations,
                                 struct wo_err *err) {
  struct wo_journal journal = {0};
  assert(gpu->session != NULL && wish->capacity_bytes > 0);
  enum wo_status status = run_on_card(gpu, wish, &journal, err);
  if (status == WO_OK) status = run_on_model(gpu, wish, &journal, err);
  wo_journal_done(&journal);
  if (status != WO_OK) return status;
  gpu->has_run = true;
  *operations += gpu->outcome.requests_run + gpu->outcome.segment_events + gpu->model.requests_run + gpu->model.segment_events;
  return WO_OK;
}

/* A refusal below the cap is more informative than the first different call: another process or the driver took memory meanwhile.
 */
void wo_replay_gpu_tell_difference(const struct wo_replay_gpu *gpu, char *buf, size_t cap) {
  const struct wo_device_gpu_info *const info = &gpu->info;
  assert(gpu->has_run && !gpu->agrees);
  if (info->refusals == 0) {
    snprintf(buf, cap, "the GPU and the model of it part at %s", gpu->difference);
    return;
  }
  snprintf(
      buf, cap,
      "the GPU refused %.2f MiB that the model allows: %.2f GiB were taken of %.2f, and the driver says that %.2f GiB are free",
      (double)info->refused_bytes / WO_MIB, (double)info->used_at_refusal_bytes / WO_GIB, (double)info->cap_bytes / WO_GIB,
      (double)info->free_at_refusal_bytes / WO_GIB);
}

void wo_replay_gpu_done(struct wo_replay_gpu *gpu) {
  if (!gpu || !gpu->session) return;
  wo_nvml_close(&gpu->session->nvml);
  wo_cuda_close(&gpu->session->driver);
  if (gpu->session->elsewhere) gpu->session->elsewhere->close();
  free(gpu->session);
  gpu->session = NULL;
}
