/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of the states that model and optimizer keep: sharding, offload, 8-bit states. Sizes change, the order does not;
 * gathered or staged copies are modelled as buffers that live from the start to the end. */
#include <assert.h>

#include "cuda_replay/change/transform_internal.h"

static uint64_t size_of(const struct wo_transform_request *request, size_t i) {
  return request->pattern->instances.items[i].size_bytes;
}

/* A share of `amount`: shards are padded to the same size. */
static uint64_t share_of(const struct wo_transform_request *request, size_t i) {
  assert(request->amount > 0);
  uint64_t size = size_of(request, i);
  return size / request->amount + (size % request->amount > 0);
}

/* Additional buffers: none, copies of parameters in use (not at the low end: NOT_LOW), or these and whole gradients before they
 * are sharded. */
enum buffer { BUFFER_NONE, BUFFER_NOT_LOW, BUFFER_PARAMETERS, BUFFER_SHARDS };

/* Buffers for the parameters in use. The unit that is gathered at a time (a layer, a block) is unknown, so the bounds are the
 * largest parameter once, and an eighth of all parameters twice; likely is twice the larger of the largest parameter and a
 * sixteenth of all (the next unit is fetched ahead). The rest of a sharded model is a unit too: the embedding with the head, that
 * is two of the largest parameters. At the high end it exists three times: gathered, as whole gradients, and in the flat buffer
 * that these are reduced from. */
static struct wo_instance working_buffer(const struct wo_transform_request *request, enum buffer buffer) {
  uint64_t largest, total = wo__parameter_bytes(request, &largest);
  uint64_t size = largest;
  if (request->bound == WO_BOUND_LIKELY) size = 2 * (largest > total / 16 ? largest : total / 16);
  if (request->bound == WO_BOUND_HIGH) {
    const bool is_sharded = buffer == BUFFER_SHARDS;
    const uint64_t pair = largest < total / 2 ? 2 * largest : total, unit = is_sharded ? pair : largest;
    size = (is_sharded ? 3 : 2) * (unit > total / 8 ? unit : total / 8);
  }
  return (struct wo_instance){.size_bytes = size > 0 ? size : 1, .stack = WO_NO_STACK, .class_ = WO_CLASS_COMMUNICATION};
}

/* ---- Sharding ---- */

static uint64_t resize_shard(const struct wo_transform_request *request, size_t i) {
  bool is_shared = wo__is_parameter(request, i) || wo__is_gradient(request, i) || wo__is_state(request, i);
  return is_shared ? share_of(request, i) : size_of(request, i);
}

static uint64_t resize_shard_gradients(const struct wo_transform_request *request, size_t i) {
  bool is_shared = wo__is_gradient(request, i) || wo__is_state(request, i);
  /* Gradients are reduced bucket by bucket. The gradients of a bucket are whole until then; the high end keeps all of them whole.
   */
  if (request->bound == WO_BOUND_HIGH && wo__is_gradient(request, i)) return size_of(request, i);
  return is_shared ? share_of(request, i) : size_of(request, i);
}

static uint64_t resize_shard_optimizer(const struct wo_transform_request *request, size_t i) {
  return wo__is_state(request, i) ? share_of(request, i) : size_of(request, i);
}

/* ---- Offload ---- */

static bool is_step_temporary(const struct wo_transform_request *request, size_t i) {
  return wo__rule_of(request, i) == WO_CLASS_RULE_OPTIMIZER_TEMPORARY;
}

/* The step runs on the CPU, so its temporaries are dropped too; at the high end they stay. */
static uint64_t resize_offload_optimizer(const struct wo_transform_request *request, size_t i) {
  if (wo__is_state(request, i)) return 0;
  if (is_step_temporary(request, i) && request->bound != WO_BOUND_HIGH) return 0;
  return size_of(request, i);
}

static uint64_t resize_offload_parameters(const struct wo_transform_request *request, size_t i) {
  return wo__is_parameter(request, i) ? 0 : size_of(request, i);
}

/* ---- 8-bit states ---- */

/* A state of 4 bytes for each element becomes 1 byte, plus 4 bytes of scale for each block of 256. Small states stay as they are.
 */
static uint64_t resize_8bit(const struct wo_transform_request *request, size_t i) {
  enum { SMALL_ELEMENTS = 4096, BLOCK = 256 };
  uint64_t size = size_of(request, i), elements = size / 4;
  if (!wo__is_state(request, i) || elements < SMALL_ELEMENTS) return size;
  /* States of 2 bytes would only be halved. */
  if (request->bound == WO_BOUND_HIGH) elements = size / 2;
  return elements + (elements + BLOCK - 1) / BLOCK * 4;
}

/* ---- The transforms ---- */

/* Which instances the recording must have, how sizes change, and whether a buffer is added. */
struct row {
  bool (*is_one)(const struct wo_transform_request *request, size_t instance);
  const char *what;
  wo__resize *resize;
  enum buffer buffer;
};

static enum wo_status rewrite_states(const struct row *row, const struct wo_transform_request *request,
                                     struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  const bool has_buffer = row->buffer != BUFFER_NONE && (row->buffer != BUFFER_NOT_LOW || request->bound != WO_BOUND_LOW);
  size_t found = 0;
  while (found < request->pattern->instances.count && !row->is_one(request, found)) found++;
  if (found == request->pattern->instances.count)
    return wo_err_set(err, WO_E_RANGE, "the recording shows no %s, nothing would change", row->what);
  const struct wo_instance buffer = working_buffer(request, row->buffer);
  return wo__rewrite(request, row->resize, has_buffer ? &buffer : NULL, ret_pattern, err);
}

#define STATES_TRANSFORM(id, is_one, what, resize, buffer)                                                                       \
  enum wo_status wo__transform_##id(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,            \
                                    struct wo_err *err) {                                                                        \
    return rewrite_states(&(struct row){is_one, what, resize, buffer}, request, ret_pattern, err);                               \
  }

STATES_TRANSFORM(shard, wo__is_parameter, "parameters", resize_shard, BUFFER_SHARDS)
STATES_TRANSFORM(shard_gradients, wo__is_state, "optimizer states", resize_shard_gradients, BUFFER_PARAMETERS)
STATES_TRANSFORM(shard_optimizer, wo__is_state, "optimizer states", resize_shard_optimizer, BUFFER_NOT_LOW)
STATES_TRANSFORM(offload_optimizer, wo__is_state, "optimizer states", resize_offload_optimizer, BUFFER_NOT_LOW)
STATES_TRANSFORM(offload_parameters, wo__is_parameter, "parameters", resize_offload_parameters, BUFFER_PARAMETERS)
STATES_TRANSFORM(8bit_optimizer, wo__is_state, "optimizer states", resize_8bit, BUFFER_NONE)
