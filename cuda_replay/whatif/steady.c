/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a repeated iteration through the replay loop, observing each step. */
#include "cuda_replay/whatif/steady.h"

#include <assert.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/whatif/first_step.h"

/* A pattern with more requests than this runs one pass: protects time. */
enum { REPEATED_REQUESTS_MAX = 4 * 1000 * 1000 };

/* ---- Running ---- */

/* Observes each step of a run and keeps the peaks of each pass. */
struct watch {
  const struct wo_passes *passes;
  struct wo_steady *steady;
  unsigned pass;
};

/* Statistics are signed, as in torch; none is below 0 here. */
static uint64_t current_of(const struct wo_stat *stat) {
  return stat->current > 0 ? (uint64_t)stat->current : 0;
}

/* Reads the peaks after each request: between two requests nothing grows. */
static void watch_step(void *state, size_t request, const struct wo_allocator *allocator) {
  struct watch *watch = state;
  const struct wo_allocator_stats *stats = wo_allocator_stats(allocator);
  assert(request < watch->passes->ends[watch->passes->count - 1]);
  while (watch->pass + 1 < watch->passes->count && request >= watch->passes->ends[watch->pass]) watch->pass++;
  struct wo_steady_pass *pass = &watch->steady->passes[watch->pass];
  uint64_t reserved = current_of(&stats->reserved_bytes[WO_STAT_ALL]);
  uint64_t allocated = current_of(&stats->allocated_bytes[WO_STAT_ALL]);
  uint64_t requested = current_of(&stats->requested_bytes[WO_STAT_ALL]);
  if (reserved > pass->reserved_bytes) pass->reserved_bytes = reserved;
  if (requested > pass->requested_bytes) pass->requested_bytes = requested;
  if (allocated > pass->allocated_bytes) {
    pass->allocated_bytes = allocated;
    uint32_t begin = watch->passes->begins[watch->pass];
    pass->allocated_at = request < begin ? 0 : (uint32_t)request - begin;
  }
}

/* Each run needs a device of its own, without the segments of the run before. */
static enum wo_status run_passes(const struct wo_alloc_pattern *unrolled, const struct wo_passes *passes,
                                 const struct wo_steady_options *options, struct wo_steady *steady, struct wo_err *err) {
  struct wo_device device;
  const struct wo_device_model_options endless = {.capacity_bytes = UINT64_MAX};
  struct wo_device_model *model = wo_device_model_new(&endless, &device);
  if (model == NULL) return wo_err_set(err, WO_E_NOMEM, "no memory for the model of the device");
  *steady = (struct wo_steady){.count = passes->count};
  struct watch watch = {.passes = passes, .steady = steady};
  struct wo_replay_options replay = {
      .settings = options->settings, .torch = options->torch, .device = &device, .on_step = {&watch, watch_step}};
  enum wo_status status = wo_replay_run(unrolled, &replay, &steady->outcome, err);
  wo_device_model_free(model);
  return status;
}

/* Whether the last pass reserved no more than the largest of the passes before it. */
static bool is_stable(const struct wo_steady *steady) {
  const struct wo_steady_pass *last = &steady->passes[steady->count - 1];
  for (unsigned pass = 0; pass + 1 < steady->count; pass++) {
    if (steady->passes[pass].reserved_bytes >= last->reserved_bytes) return true;
  }
  return false;
}

const struct wo_steady_pass *wo_steady_last(const struct wo_steady *steady) {
  assert(steady->count >= 1 && steady->count <= WO_STEADY_PASSES_MAX);
  return &steady->passes[steady->count - 1];
}

/* Tries more and more passes; the pattern of the last try is the caller's. */
static enum wo_status settle(const struct wo_alloc_pattern *pattern, const struct wo_first_step *first,
                             const struct wo_steady_options *options, struct wo_alloc_pattern *ret_pattern,
                             struct wo_steady *ret_steady, struct wo_err *err) {
  const bool is_program = pattern->start_count == 0;
  for (unsigned count = is_program ? 1 : 2;; count *= 2) {
    struct wo_passes passes;
    enum wo_status status = wo_steady_unroll(pattern, first, count, ret_pattern, &passes);
    if (status == WO_E_LIMIT) return wo_err_set(err, status, "the recording is too long to be repeated %u times", count);
    if (status != WO_OK) return wo_err_set(err, status, "no memory for the repeated recording");
    status = run_passes(ret_pattern, &passes, options, ret_steady, err);
    ret_steady->is_stable = status == WO_OK && (is_program || is_stable(ret_steady));
    if (status == WO_OK && (ret_steady->is_stable || count >= WO_STEADY_PASSES_MAX)) return WO_OK;
    wo_alloc_pattern_done(ret_pattern);
    if (status != WO_OK) return status;
  }
}

enum wo_status wo_steady_run(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                             struct wo_steady *ret_steady, struct wo_err *err) {
  struct wo_first_step first;
  struct wo_alloc_pattern unrolled;
  enum wo_status status = wo_first_step_find(pattern, &first);
  if (status != WO_OK) return wo_err_nomem(err);
  status = settle(pattern, &first, options, &unrolled, ret_steady, err);
  if (status == WO_OK) wo_alloc_pattern_done(&unrolled);
  wo_first_step_done(&first);
  return status;
}

enum wo_status wo_steady_pattern_make(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                                      struct wo_alloc_pattern *ret_pattern, struct wo_steady_course *ret_course,
                                      struct wo_err *err) {
  const bool is_single = pattern->start_count == 0 || options->is_once || pattern->requests.count > REPEATED_REQUESTS_MAX;
  struct wo_first_step first;
  struct wo_passes passes;
  struct wo_steady steady = {.count = 1};
  enum wo_status status = wo_first_step_find(pattern, &first);
  if (status != WO_OK) return wo_err_nomem(err);
  status = is_single ? wo_steady_unroll(pattern, &first, 1, ret_pattern, &passes)
                     : settle(pattern, &first, options, ret_pattern, &steady, err);
  if (status == WO_OK && ret_course) *ret_course = (struct wo_steady_course){steady.count, first.count > 0};
  wo_first_step_done(&first);
  if (status == WO_E_LIMIT) return wo_err_set(err, WO_E_RANGE, "the recording is too long to be repeated");
  return status == WO_E_NOMEM ? wo_err_set(err, status, "%s", wo_status_text(status)) : status;
}
