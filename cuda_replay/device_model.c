/* The device that is not there: counts pages, and keeps a sorted list of the address ranges that are taken. */
#include "cuda_replay/device_model.h"

#include <assert.h>

#include "parsers/base/vec.h"

#define PAGE_DEFAULT_BYTES (UINT64_C(2) << 20)
#define TOTAL_DEFAULT_BYTES (UINT64_C(80) << 30)

/* Where Linux on x86 puts device memory: the upper part of the addresses of a program. */
#define SPACE_START UINT64_C(0x600000000000)
#define SPACE_END UINT64_C(0x7fffc0000000)

/* Drivers put segments of at least LARGE_BYTES at multiples of LARGE_STRIDE_BYTES. */
#define LARGE_BYTES (UINT64_C(20) << 20)
#define LARGE_STRIDE_BYTES (UINT64_C(32) << 20)

/* Tries of the shuffled policy before it takes the lowest gap. */
enum { SHUFFLE_TRIES = 64 };

struct stretch {
  uint64_t start;
  uint64_t end;
};

struct wo_device_model {
  struct wo_device_model_options options;
  uint64_t used_bytes;
  uint64_t peak_bytes;
  uint64_t random;
  const char *message;
  struct {
    struct stretch *items; /* by address, without overlaps */
    size_t count, capacity;
  } taken;
};

/* ---- Taken addresses ---- */

/* Index of the first stretch that ends above `address`. */
static size_t stretch_at(const struct wo_device_model *model, uint64_t address) {
  size_t start = 0;
  for (size_t end = model->taken.count; start < end;) {
    const size_t middle = start + (end - start) / 2;
    if (model->taken.items[middle].end <= address) {
      start = middle + 1;
    } else {
      end = middle;
    }
  }
  return start;
}

static bool is_taken(const struct wo_device_model *model, uint64_t start, uint64_t end) {
  const size_t at = stretch_at(model, start);
  return at < model->taken.count && model->taken.items[at].start < end;
}

static enum wo_status add_stretch(struct wo_device_model *model, uint64_t start, uint64_t end) {
  assert(start < end && !is_taken(model, start, end));
  if (!WO_VEC_RESERVE(&model->taken, 1, SIZE_MAX)) return WO_E_NOMEM;
  struct stretch *const at = &model->taken.items[stretch_at(model, start)];
  memmove(at + 1, at, (model->taken.count - (size_t)(at - model->taken.items)) * sizeof *at);
  *at = (struct stretch){start, end};
  model->taken.count++;
  return WO_OK;
}

/* Removes the stretch that begins at `start`. False when there is none. */
static bool remove_stretch(struct wo_device_model *model, uint64_t start) {
  const size_t index = stretch_at(model, start);
  if (index == model->taken.count || model->taken.items[index].start != start) return false;
  struct stretch *const at = &model->taken.items[index];
  model->taken.count--;
  memmove(at, at + 1, (model->taken.count - index) * sizeof *at);
  return true;
}

/* ---- Policies: each returns a start in [SPACE_START, SPACE_END - size], or 0 when there is no gap ---- */

static uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

/* The lowest gap. */
static uint64_t find_ascending(const struct wo_device_model *model, uint64_t size_bytes, uint64_t stride_bytes) {
  uint64_t start = SPACE_START;
  for (size_t i = stretch_at(model, SPACE_START); i < model->taken.count; i++) {
    if (model->taken.items[i].start >= start && model->taken.items[i].start - start >= size_bytes) return start;
    start = round_up(model->taken.items[i].end, stride_bytes);
  }
  return start < SPACE_END && SPACE_END - start >= size_bytes ? start : 0;
}

/* The highest gap. */
static uint64_t find_descending(const struct wo_device_model *model, uint64_t size_bytes, uint64_t stride_bytes) {
  uint64_t end = SPACE_END;
  for (size_t i = model->taken.count; i > 0; i--) {
    const struct stretch *const stretch = &model->taken.items[i - 1];
    if (stretch->start >= end) continue;
    const uint64_t start = end >= size_bytes ? (end - size_bytes) / stride_bytes * stride_bytes : 0;
    if (start >= stretch->end) return start;
    end = stretch->start;
  }
  return end >= SPACE_START + size_bytes + stride_bytes ? (end - size_bytes) / stride_bytes * stride_bytes : 0;
}

/* xorshift64*: a fixed sequence for each seed. */
static uint64_t next_random(struct wo_device_model *model) {
  model->random ^= model->random >> 12;
  model->random ^= model->random << 25;
  model->random ^= model->random >> 27;
  return model->random * UINT64_C(2685821657736338717);
}

static uint64_t find_shuffled(struct wo_device_model *model, uint64_t size_bytes, uint64_t stride_bytes) {
  const uint64_t places = (SPACE_END - SPACE_START - size_bytes) / stride_bytes;
  for (int i = 0; i < SHUFFLE_TRIES && places > 0; i++) {
    const uint64_t start = SPACE_START + next_random(model) % places * stride_bytes;
    if (!is_taken(model, start, start + size_bytes)) return start;
  }
  return find_ascending(model, size_bytes, stride_bytes);
}

/* Finds addresses and takes them. WO_E_LIMIT when there are none. */
static enum wo_status take_addresses(struct wo_device_model *model, uint64_t size_bytes, uint64_t *ret_address) {
  if (size_bytes == 0 || size_bytes > SPACE_END - SPACE_START) return WO_E_LIMIT;
  const uint64_t stride_bytes = size_bytes >= LARGE_BYTES ? LARGE_STRIDE_BYTES : PAGE_DEFAULT_BYTES;
  uint64_t address = 0;
  switch (model->options.policy) {
  case WO_ADDRESS_DESCENDING:
    address = find_descending(model, size_bytes, stride_bytes);
    break;
  case WO_ADDRESS_SHUFFLED:
    address = find_shuffled(model, size_bytes, stride_bytes);
    break;
  case WO_ADDRESS_ASCENDING:
  default:
    address = find_ascending(model, size_bytes, stride_bytes);
    break;
  }
  if (address == 0) return WO_E_LIMIT;
  *ret_address = address;
  return add_stretch(model, address, address + size_bytes);
}

/* ---- Memory ---- */

/* Bytes that a piece takes, in whole pages. */
static uint64_t pages_of(const struct wo_device_model *model, uint64_t size_bytes) {
  return size_bytes > UINT64_C(1) << 62 ? size_bytes : round_up(size_bytes, model->options.page_bytes);
}

static bool has_room(const struct wo_device_model *model, uint64_t size_bytes) {
  uint64_t used_bytes = 0;
  return !__builtin_add_overflow(model->used_bytes, size_bytes, &used_bytes) && used_bytes <= model->options.capacity_bytes;
}

static void use(struct wo_device_model *model, uint64_t size_bytes) {
  model->used_bytes += size_bytes;
  if (model->used_bytes > model->peak_bytes) model->peak_bytes = model->used_bytes;
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
  if (!remove_stretch(model, address)) return fail(model, WO_E_RANGE, "a segment was freed that the device does not know");
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
  return remove_stretch(model, address) ? WO_OK : fail(model, WO_E_RANGE, "a range was freed that the device does not know");
}

/* Which addresses are mapped is the allocator's business: a range was reserved as a whole. */
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
  WO_VEC_DONE(&model->taken);
  free(model);
  return NULL;
}

uint64_t wo_device_model_used(const struct wo_device_model *model) {
  return model->used_bytes;
}

uint64_t wo_device_model_peak(const struct wo_device_model *model) {
  return model->peak_bytes;
}

enum wo_status wo_device_model_keep(struct wo_device_model *model, uint64_t address, uint64_t size_bytes) {
  uint64_t end = 0;
  if (address == 0 || size_bytes == 0 || __builtin_add_overflow(address, size_bytes, &end)) return WO_E_RANGE;
  const size_t at = stretch_at(model, address);
  if (at < model->taken.count && model->taken.items[at].start <= address && end <= model->taken.items[at].end) return WO_OK;
  if (is_taken(model, address, end)) return WO_E_RANGE;
  return add_stretch(model, address, end);
}

enum wo_status wo_device_model_take(struct wo_device_model *model, uint64_t address, uint64_t size_bytes) {
  const enum wo_status status = wo_device_model_keep(model, address, size_bytes);
  if (status == WO_OK) use(model, pages_of(model, size_bytes));
  return status;
}
