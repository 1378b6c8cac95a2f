/* The counting device: every call goes on to the device behind it; what succeeds is counted. */
#include "cuda_replay/replay/device_counting_internal.h"

#include <assert.h>

#define PAGE_BYTES ((uint64_t)2 * 1024 * 1024)

uint64_t wo__device_pages(uint64_t size_bytes) {
  return (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void count_growth(struct wo__device_counter *counter, uint64_t size_bytes) {
  counter->event_count++;
  counter->used_bytes += wo__device_pages(size_bytes);
  if (counter->used_bytes > counter->peak_bytes) counter->peak_bytes = counter->used_bytes;
}

/* Handles that are no whole pages can come to less in one piece than in several. */
static void count_release(struct wo__device_counter *counter, uint64_t size_bytes) {
  const uint64_t released_bytes = wo__device_pages(size_bytes);
  counter->event_count++;
  counter->used_bytes -= released_bytes < counter->used_bytes ? released_bytes : counter->used_bytes;
}

static enum wo_status counted_segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo__device_counter *const counter = state;
  const enum wo_status status = counter->device->segment_alloc(counter->device->state, size_bytes, ret_address);
  if (status == WO_OK) count_growth(counter, size_bytes);
  return status;
}

static enum wo_status counted_segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo__device_counter *const counter = state;
  const enum wo_status status = counter->device->segment_free(counter->device->state, address, size_bytes);
  if (status == WO_OK) count_release(counter, size_bytes);
  return status;
}

static enum wo_status counted_range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  const struct wo__device_counter *const counter = state;
  return counter->device->range_reserve(counter->device->state, size_bytes, ret_address);
}

static enum wo_status counted_range_free(void *state, uint64_t address, uint64_t size_bytes) {
  const struct wo__device_counter *const counter = state;
  return counter->device->range_free(counter->device->state, address, size_bytes);
}

static enum wo_status counted_map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo__device_counter *const counter = state;
  const enum wo_status status = counter->device->map(counter->device->state, address, size_bytes, handle_bytes);
  if (status == WO_OK) count_growth(counter, size_bytes);
  return status;
}

static enum wo_status counted_unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo__device_counter *const counter = state;
  const enum wo_status status = counter->device->unmap(counter->device->state, address, size_bytes, handle_bytes);
  if (status == WO_OK) count_release(counter, size_bytes);
  return status;
}

static void counted_memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo__device_counter *const counter = state;
  counter->device->memory_info(counter->device->state, ret_free_bytes, ret_total_bytes);
}

static const char *counted_message(void *state) {
  const struct wo__device_counter *const counter = state;
  return counter->device->message(counter->device->state);
}

struct wo_device wo__device_counting(struct wo__device_counter *counter) {
  assert(counter->device);
  return (struct wo_device){.state = counter,
                            .segment_alloc = counted_segment_alloc,
                            .segment_free = counted_segment_free,
                            .range_reserve = counted_range_reserve,
                            .range_free = counted_range_free,
                            .map = counted_map,
                            .unmap = counted_unmap,
                            .memory_info = counted_memory_info,
                            .message = counted_message};
}
