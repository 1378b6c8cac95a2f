/* SPDX-License-Identifier: Apache-2.0 */
/* The model device: counts pages, and keeps the address ranges that are in use. */
#include "cuda_replay/device/device_model.h"

#include <assert.h>

#include "cuda_replay/collections/stretches.h"

#define PAGE_DEFAULT_BYTES (UINT64_C(2) << 20)
#define TOTAL_DEFAULT_BYTES (UINT64_C(80) << 30)

/* The addresses of device memory under Linux on x86: the upper part of a program's addresses. */
#define SPACE_START UINT64_C(0x600000000000)
#define SPACE_END UINT64_C(0x7fffc0000000)

/* Drivers put segments of at least LARGE_BYTES at multiples of LARGE_STRIDE_BYTES. */
#define LARGE_BYTES (UINT64_C(20) << 20)
#define LARGE_STRIDE_BYTES (UINT64_C(32) << 20)

/* Tries of the shuffled policy before it takes the lowest gap. */
enum { SHUFFLE_TRIES = 64 };

struct wo_device_model {
  struct wo_device_model_options options;
  uint64_t used_bytes;
  uint64_t random;
  const char *message;
  struct wo_stretches taken;
};

/* ---- Taken addresses ---- */

static bool is_taken(const struct wo_device_model *model, uint64_t start, uint64_t end) {
  struct wo_stretch stretch;
  return wo_stretches_above(&model->taken, start, &stretch) && stretch.start < end;
}

static enum wo_status add_stretch(struct wo_device_model *model, uint64_t start, uint64_t end) {
  assert(start < end && !is_taken(model, start, end));
  return wo_stretches_add(&model->taken, (struct wo_stretch){start, end}) ? WO_OK : WO_E_NOMEM;
}

/* ---- Policies: each returns a start in [SPACE_START, SPACE_END - size], or 0 when there is no gap ---- */

/* xorshift64*: a fixed sequence for each seed. */
static uint64_t next_random(struct wo_device_model *model) {
  model->random ^= model->random >> 12;
  model->random ^= model->random << 25;
  model->random ^= model->random >> 27;
  return model->random * UINT64_C(2685821657736338717);
}

static uint64_t find_shuffled(struct wo_device_model *model, const struct wo_gap_wish *wish) {
  const uint64_t places = (SPACE_END - SPACE_START - wish->size_bytes) / wish->stride_bytes;
  bool has_gap = true;
  for (int i = 0; i < SHUFFLE_TRIES && places > 0; i++) {
    const uint64_t start = SPACE_START + next_random(model) % places * wish->stride_bytes;
    /* In a full space only the numbers are drawn, as if all places had been tried. */
    if (i == 1) has_gap = wo_stretches_lowest_gap(&model->taken, wish) != 0;
    if (has_gap && !is_taken(model, start, start + wish->size_bytes)) return start;
  }
  return wo_stretches_lowest_gap(&model->taken, wish);
}

static uint64_t find_addresses(struct wo_device_model *model, const struct wo_gap_wish *wish) {
  switch (model->options.policy) {
  case WO_ADDRESS_DESCENDING:
    return wo_stretches_highest_gap(&model->taken, wish);
  case WO_ADDRESS_SHUFFLED:
    return find_shuffled(model, wish);
  case WO_ADDRESS_ASCENDING:
  default:
    return wo_stretches_lowest_gap(&model->taken, wish);
  }
}

/* Finds free addresses and takes them. WO_E_LIMIT when there are none. */
static enum wo_status take_addresses(struct wo_device_model *model, uint64_t size_bytes, uint64_t *ret_address) {
  if (size_bytes == 0 || size_bytes > SPACE_END - SPACE_START) return WO_E_LIMIT;
  const struct wo_gap_wish wish = {
      .space_start = SPACE_START,
      .space_end = SPACE_END,
      .size_bytes = size_bytes,
      .stride_bytes = size_bytes >= LARGE_BYTES ? LARGE_STRIDE_BYTES : PAGE_DEFAULT_BYTES,
  };
  const uint64_t address = find_addresses(model, &wish);
  if (address == 0) return WO_E_LIMIT;
  *ret_address = address;
  return add_stretch(model, address, address + size_bytes);
}

/* ---- Memory ---- */

/* Bytes that a piece takes, in whole pages. */
static uint64_t pages_of(const struct wo_device_model *model, uint64_t size_bytes) {
  const uint64_t page_bytes = model->options.page_bytes;
  return size_bytes > UINT64_C(1) << 62 ? size_bytes : (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
}

static bool has_room(const struct wo_device_model *model, uint64_t size_bytes) {
  uint64_t used_bytes = 0;
  return !__builtin_add_overflow(model->used_bytes, size_bytes, &used_bytes) && used_bytes <= model->options.capacity_bytes;
}

static void use(struct wo_device_model *model, uint64_t size_bytes) {
  model->used_bytes += size_bytes;
}

static void unuse(struct wo_device_model *model, uint64_t size_bytes) {
  assert(model->used_bytes >= size_bytes);
  model->used_bytes -= size_bytes;
}

static enum wo_status fail(struct wo_device_model *model, enum wo_status status, const char *message) {
  model->message = message;
  return status;
}

/* ---- The device's calls ---- */

static enum wo_status segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_model *const model = state;
  if (!has_room(model, pages_of(model, size_bytes))) return WO_E_LIMIT;
  const enum wo_status status = take_addresses(model, size_bytes, ret_address);
  if (status == WO_OK) use(model, pages_of(model, size_bytes));
  return status == WO_E_NOMEM ? fail(model, status, "out of memory for the model of the device") : status;
}

static enum wo_status segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_device_model *const model = state;
  if (!wo_stretches_remove(&model->taken, address))
    return fail(model, WO_E_RANGE, "a segment was freed that the device does not know");
  unuse(model, pages_of(model, size_bytes));
  return WO_OK;
}

static enum wo_status range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_model *const model = state;
  const enum wo_status status = take_addresses(model, size_bytes, ret_address);
  if (status == WO_E_LIMIT) return fail(model, WO_E_RANGE, "no room in the address space for another expandable segment");
  return status == WO_OK ? status : fail(model, status, "out of memory for the model of the device");
}

static enum wo_status range_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_device_model *const model = state;
  (void)size_bytes;
  return wo_stretches_remove(&model->taken, address) ? WO_OK
                                                     : fail(model, WO_E_RANGE, "a range was freed that the device does not know");
}

/* Only memory is counted: the allocator keeps the mapped addresses, and the range was reserved as a whole. */
static enum wo_status map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_device_model *const model = state;
  (void)address;
  if (handle_bytes == 0 || handle_bytes % model->options.page_bytes != 0) {
    return fail(model, WO_E_RANGE,
                "the driver refuses handles that are no multiple of its page: choose an even large_segment_size_mb");
  }
  if (!has_room(model, size_bytes)) return WO_E_LIMIT;
  use(model, size_bytes);
  return WO_OK;
}

static enum wo_status unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  (void)address;
  (void)handle_bytes;
  unuse(state, size_bytes);
  return WO_OK;
}

static void memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo_device_model *const model = state;
  const bool has_limit = model->options.capacity_bytes != UINT64_MAX;
  const bool is_over = model->used_bytes > model->options.capacity_bytes;
  const uint64_t free_bytes = is_over ? 0 : model->options.capacity_bytes - model->used_bytes;
  *ret_free_bytes = has_limit ? free_bytes : UINT64_MAX;
  *ret_total_bytes = model->options.total_bytes;
}

static const char *message(void *state) {
  return ((const struct wo_device_model *)state)->message;
}

/* ---- Life ---- */

struct wo_device_model *wo_device_model_new(const struct wo_device_model_options *options, struct wo_device *ret_device) {
  struct wo_device_model *const model = calloc(1, sizeof *model);
  if (model == NULL) return NULL;
  model->options = *options;
  model->message = "";
  model->taken.stride_bytes = LARGE_STRIDE_BYTES;
  model->random = (options->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  if (model->random == 0) model->random = 1;
  if (model->options.page_bytes == 0) model->options.page_bytes = PAGE_DEFAULT_BYTES;
  if (model->options.total_bytes == 0) {
    model->options.total_bytes = options->capacity_bytes == UINT64_MAX ? TOTAL_DEFAULT_BYTES : options->capacity_bytes;
  }
  *ret_device = (struct wo_device){
      .state = model,
      .segment_alloc = segment_alloc,
      .segment_free = segment_free,
      .range_reserve = range_reserve,
      .range_free = range_free,
      .map = map,
      .unmap = unmap,
      .memory_info = memory_info,
      .message = message,
  };
  return model;
}

struct wo_device_model *wo_device_model_free(struct wo_device_model *model) {
  if (model == NULL) return NULL;
  wo_stretches_done(&model->taken);
  free(model);
  return NULL;
}

uint64_t wo_device_model_used(const struct wo_device_model *model) {
  return model->used_bytes;
}

enum wo_status wo_device_model_take(struct wo_device_model *model, uint64_t address, uint64_t size_bytes) {
  uint64_t end = 0;
  if (address == 0 || size_bytes == 0 || __builtin_add_overflow(address, size_bytes, &end)) return WO_E_RANGE;
  struct wo_stretch stretch = {0};
  const bool has_above = wo_stretches_above(&model->taken, address, &stretch);
  const bool is_inside = has_above && stretch.start <= address && end <= stretch.end;
  if (has_above && !is_inside && stretch.start < end) return WO_E_RANGE;
  const enum wo_status status = is_inside ? WO_OK : add_stretch(model, address, end);
  if (status == WO_OK) use(model, pages_of(model, size_bytes));
  return status;
}
