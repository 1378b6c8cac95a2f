/* Repeats an iteration: first as a longer pattern, then through the replay loop, observing each step. */
#include "cuda_replay/whatif/steady.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"

/* A pattern with more requests than this runs one pass: protects time. */
enum { REPEATED_REQUESTS_MAX = 4 * 1000 * 1000 };

/* ---- Unrolling ---- */

struct unroll {
  const struct wo_alloc_pattern *from;
  struct wo_alloc_pattern to;
  uint32_t *now;        /* for each instance of `from`: the instance of `to` that represents it in this pass */
  uint32_t *successors; /* instances that replace those alive at the start */
  uint8_t *is_heir;     /* for each instance: whether it replaces one of those */
};

/* A request that was refused in the recorded run is tried, and given back, in each pass. */
static bool repeat_alloc(struct unroll *unroll, uint32_t from, uint32_t entry) {
  const struct wo_instance *const instance = &unroll->from->instances.items[from];
  return wo_alloc_pattern_add_again(&unroll->to, instance, entry, &unroll->now[from]);
}

static bool repeat_request(struct unroll *unroll, const struct wo_request *request) {
  if (request->kind == WO_REQUEST_ALLOC) return repeat_alloc(unroll, request->subject, request->entry);
  struct wo_request repeated = *request;
  if (wo_request_has_instance(request)) repeated.subject = unroll->now[request->subject];
  return wo_alloc_pattern_add_request(&unroll->to, repeated);
}

/* Between two passes: survivors become the instances that they replace, other survivors are freed, and an instance that died
 * without a successor is allocated again. */
static bool reset(struct unroll *unroll) {
  const struct wo_alloc_pattern *from = unroll->from;
  for (size_t i = from->start_count; i < from->instances.count; i++) {
    bool is_left = from->instances.items[i].death == WO_NO_REQUEST && unroll->is_heir[i] == 0;
    if (is_left && !wo_alloc_pattern_add_free(&unroll->to, unroll->now[i])) return false;
  }
  for (uint32_t i = 0; i < from->start_count; i++) {
    if (from->instances.items[i].death == WO_NO_REQUEST) continue;
    if (unroll->successors[i] != WO_NO_SUCCESSOR)
      unroll->now[i] = unroll->now[unroll->successors[i]];
    else if (!repeat_alloc(unroll, i, WO_NO_ENTRY))
      return false;
  }
  return true;
}

/* Before the first pass, every instance alive at the start represents itself. */
static bool begin_unroll(struct unroll *unroll) {
  const struct wo_alloc_pattern *from = unroll->from;
  size_t count = from->instances.count + 1;
  unroll->now = calloc(count, sizeof unroll->now[0]);
  unroll->is_heir = calloc(count, 1);
  if (unroll->now == NULL || unroll->is_heir == NULL || !wo_alloc_pattern_successors(from, &unroll->successors)) return false;
  for (uint32_t i = 0; i < from->start_count; i++) {
    if (unroll->successors[i] != WO_NO_SUCCESSOR) unroll->is_heir[unroll->successors[i]] = 1;
    if (!wo_alloc_pattern_add_start(&unroll->to, from->instances.items[i])) return false;
    unroll->now[i] = i;
  }
  return true;
}

/* Writes the passes one after the other; before the first there is no reset. */
static bool run_unroll(struct unroll *unroll, unsigned passes, struct wo_passes *ret_passes) {
  if (!begin_unroll(unroll)) return false;
  *ret_passes = (struct wo_passes){.count = passes};
  for (unsigned pass = 0; pass < passes; pass++) {
    if (pass > 0 && !reset(unroll)) return false;
    ret_passes->begins[pass] = (uint32_t)unroll->to.requests.count;
    for (size_t r = 0; r < unroll->from->requests.count; r++) {
      if (!repeat_request(unroll, &unroll->from->requests.items[r])) return false;
    }
    ret_passes->ends[pass] = (uint32_t)unroll->to.requests.count;
  }
  return true;
}

enum wo_status wo_steady_unroll(const struct wo_alloc_pattern *pattern, unsigned passes, struct wo_alloc_pattern *ret_pattern,
                                struct wo_passes *ret_passes) {
  assert(passes >= 1 && passes <= WO_STEADY_PASSES_MAX);
  /* A pass adds at most its requests, and a free and an allocation for each instance. */
  if (pattern->requests.count + pattern->instances.count >= (size_t)INT32_MAX / passes / 2) return WO_E_LIMIT;
  struct unroll unroll = {.from = pattern, .to = {.recording = pattern->recording}};
  bool is_made = run_unroll(&unroll, passes, ret_passes);
  free(unroll.now);
  free(unroll.is_heir);
  free(unroll.successors);
  if (!is_made) {
    wo_alloc_pattern_done(&unroll.to);
    return WO_E_NOMEM;
  }
  *ret_pattern = unroll.to;
  return WO_OK;
}

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
static enum wo_status settle(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                             struct wo_alloc_pattern *ret_pattern, struct wo_steady *ret_steady, struct wo_err *err) {
  const bool is_program = pattern->start_count == 0;
  for (unsigned count = is_program ? 1 : 2;; count *= 2) {
    struct wo_passes passes;
    enum wo_status status = wo_steady_unroll(pattern, count, ret_pattern, &passes);
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
  struct wo_alloc_pattern unrolled;
  const enum wo_status status = settle(pattern, options, &unrolled, ret_steady, err);
  if (status == WO_OK) wo_alloc_pattern_done(&unrolled);
  return status;
}

enum wo_status wo_steady_pattern_make(const struct wo_alloc_pattern *pattern, const struct wo_steady_options *options,
                                      struct wo_alloc_pattern *ret_pattern, unsigned *ret_passes, struct wo_err *err) {
  const bool is_single = pattern->start_count == 0 || options->is_once || pattern->requests.count > REPEATED_REQUESTS_MAX;
  struct wo_passes passes;
  struct wo_steady steady = {.count = 1};
  const enum wo_status status =
      is_single ? wo_steady_unroll(pattern, 1, ret_pattern, &passes) : settle(pattern, options, ret_pattern, &steady, err);
  if (status == WO_OK && ret_passes) *ret_passes = steady.count;
  if (status == WO_E_LIMIT) return wo_err_set(err, WO_E_RANGE, "the recording is too long to be repeated");
  return status == WO_E_NOMEM ? wo_err_set(err, status, "%s", wo_status_text(status)) : status;
}
