/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of one pattern at several address orders. See whatif.h. */
#include "cuda_replay/whatif/whatif.h"

#include <assert.h>

#include "cuda_replay/device/device_model.h"

/* Ascending and descending addresses. */
enum { ORDERS_WITHOUT_SHUFFLES = 2 };

/* Memory that already exists keeps its place. */
static enum wo_status take_start(struct wo_device_model *model, const struct wo_start *start) {
  for (size_t i = 0; i < start->segments.count; i++) {
    const struct wo_allocator_segment *const segment = &start->segments.items[i];
    const enum wo_status status = wo_device_model_take(model, segment->address, segment->size_bytes);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* The seed of a shuffle is its number, so that the same question always has the same answer. */
struct wo_device_model *wo_whatif_device(const struct wo_whatif_options *options, unsigned order, struct wo_device *ret_device) {
  static const enum wo_address_policy policies[ORDERS_WITHOUT_SHUFFLES] = {WO_ADDRESS_ASCENDING, WO_ADDRESS_DESCENDING};
  const bool is_shuffled = order >= ORDERS_WITHOUT_SHUFFLES;
  const struct wo_device_model_options wanted = {
      .capacity_bytes = options->capacity_bytes > 0 ? options->capacity_bytes : UINT64_MAX,
      .policy = is_shuffled ? WO_ADDRESS_SHUFFLED : policies[order],
      .seed = order,
  };
  return wo_device_model_new(&wanted, ret_device);
}

/* A start that is larger than the capacity is no out-of-memory error of the program: it never ran on that card. */
static enum wo_status run_order(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *options, unsigned order,
                                bool stops_at_oom, struct wo_replay_outcome *ret_outcome, struct wo_err *err) {
  struct wo_device device;
  struct wo_device_model *const model = wo_whatif_device(options, order, &device);
  if (!model) return wo_err_nomem(err);
  enum wo_status status = options->start ? take_start(model, options->start) : WO_OK;
  const struct wo_replay_options replay = {.settings = options->settings,
                                           .torch = options->torch,
                                           .device = &device,
                                           .start = options->start,
                                           .stops_at_oom = stops_at_oom};
  if (status == WO_E_LIMIT) {
    status = wo_err_set(err, WO_E_USAGE, "what the recording begins with is more than the capacity");
  } else if (status == WO_OK) {
    status = wo_replay_run(pattern, &replay, ret_outcome, err);
  }
  wo_device_model_free(model);
  return status;
}

/* Whether a is worse than b: a request failed earlier, else more was reserved. */
static bool is_worse(const struct wo_replay_outcome *a, const struct wo_replay_outcome *b) {
  if (a->has_oom != b->has_oom) return a->has_oom;
  if (a->has_oom) return a->oom_at < b->oom_at;
  return a->peak.reserved_bytes > b->peak.reserved_bytes;
}

/* All figures of a case come from one run: the worst of several would not describe any run. */
void wo_replay_case_add(struct wo_replay_case *result, const struct wo_replay_outcome *outcome) {
  const uint64_t reserved = outcome->peak.reserved_bytes;
  const bool is_first = result->run_count == 0;
  if (is_first || reserved < result->reserved_lo_bytes) result->reserved_lo_bytes = reserved;
  if (is_first || reserved > result->reserved_hi_bytes) result->reserved_hi_bytes = reserved;
  if (is_first || is_worse(outcome, &result->outcome)) {
    result->outcome = *outcome;
    result->worst_order = result->run_count;
  }
  result->run_count++;
  if (outcome->has_oom) result->oom_count++;
  assert(result->reserved_lo_bytes <= result->reserved_hi_bytes);
}

/* A case is returned as a whole or not at all. */
enum wo_status wo_whatif_run(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *options,
                             struct wo_replay_case *ret_case, uint64_t *requests_run, struct wo_err *err) {
  assert(pattern != NULL && options != NULL && options->shuffles <= WO_WHATIF_SHUFFLES);
  struct wo_replay_case result = {.settings = options->settings};
  for (unsigned order = 0; order < ORDERS_WITHOUT_SHUFFLES + options->shuffles; order++) {
    struct wo_replay_outcome outcome;
    const enum wo_status status = run_order(pattern, options, order, false, &outcome, err);
    if (status != WO_OK) return status;
    wo_replay_case_add(&result, &outcome);
    if (requests_run) *requests_run += outcome.requests_run + outcome.segment_events;
  }
  *ret_case = result;
  return WO_OK;
}

enum wo_status wo_whatif_fits(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *options, bool needs_all,
                              unsigned *order, bool *ret_fits, struct wo_err *err) {
  assert(pattern != NULL && options != NULL && options->shuffles <= WO_WHATIF_SHUFFLES);
  const unsigned count = ORDERS_WITHOUT_SHUFFLES + options->shuffles, first = *order;
  for (unsigned i = 0; i < count; i++) {
    const unsigned tried = (first + i) % count;
    struct wo_replay_outcome outcome;
    const enum wo_status status = run_order(pattern, options, tried, true, &outcome, err);
    if (status != WO_OK) return status;
    if (outcome.has_oom != needs_all) continue;
    *order = tried;
    *ret_fits = !needs_all;
    return WO_OK;
  }
  *ret_fits = needs_all;
  return WO_OK;
}
