/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in card as the device of an allocator model. */
#include "tests/support/gpu/standin_device.h"

static enum wo_status segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  const uint64_t address = wo_standin_malloc(state, size_bytes);
  *ret_address = address;
  return address ? WO_OK : WO_E_LIMIT;
}

static enum wo_status segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  (void)size_bytes;
  return wo_standin_free(state, address) ? WO_OK : WO_E_RANGE;
}

static enum wo_status range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  *ret_address = wo_standin_reserve(state, size_bytes);
  return *ret_address ? WO_OK : WO_E_LIMIT;
}

static enum wo_status range_free(void *state, uint64_t address, uint64_t size_bytes) {
  (void)size_bytes;
  return wo_standin_unreserve(state, address) ? WO_OK : WO_E_RANGE;
}

static enum wo_status map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  for (uint64_t done = 0; done < size_bytes; done += handle_bytes) {
    if (wo_standin_create(state, handle_bytes)) continue;
    for (; done; done -= handle_bytes) wo_standin_release(state, handle_bytes);
    return WO_E_LIMIT;
  }
  wo_standin_map(state, address, size_bytes);
  return WO_OK;
}

static enum wo_status unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  for (uint64_t done = 0; done < size_bytes; done += handle_bytes) wo_standin_release(state, handle_bytes);
  wo_standin_unmap(state, address, size_bytes);
  return WO_OK;
}

static void memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo_standin *standin = state;
  *ret_free_bytes = wo_standin_free_bytes(standin);
  *ret_total_bytes = standin->total_bytes;
}

static const char *message(void *state) {
  (void)state;
  return "the stand-in knows no such segment";
}

struct wo_device wo_standin_device(struct wo_standin *standin) {
  return (struct wo_device){.state = standin,
                            .segment_alloc = segment_alloc,
                            .segment_free = segment_free,
                            .range_reserve = range_reserve,
                            .range_free = range_free,
                            .map = map,
                            .unmap = unmap,
                            .memory_info = memory_info,
                            .message = message};
}
