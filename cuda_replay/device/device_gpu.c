/* SPDX-License-Identifier: Apache-2.0 */
/* A real GPU as a device. See device_gpu.h.
 *
 * Everything taken is in one list with its address, so that closing gives all of it back in any state. */
#include "cuda_replay/device/device_gpu.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/device/gpu_cards.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

enum { MEMORY_PINNED = 1, LOCATION_DEVICE = 1, ACCESS_READ_WRITE = 3, HANDLE_FILE_DESCRIPTOR = 1, GRANULARITY_MINIMUM = 0 };

/* The place of gpuDirectRDMACapable in CUmemAllocationProp.allocFlags. */
enum { FLAG_RDMA = 1 };

/* The first version of torch whose handles of expandable segments can be shared between processes. */
enum { TORCH_SHARES = 206 };

/* The byte that is written to every page: fresh memory does not have this value. */
enum { TOUCH_BYTE = 0xA5 };

#define PAGE_BYTES (UINT64_C(2) << 20)

/* The growth of the peak after which the driver is asked again for the free memory. */
#define ASK_STEP_BYTES (UINT64_C(64) << 20)

enum kind { KIND_SEGMENT, KIND_RANGE, KIND_HANDLE, KIND_COUNT_ };

/* Something taken from the driver. */
struct holding {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t handle; /* of a KIND_HANDLE */
  enum kind kind;
};

struct wo_device_gpu {
  const struct wo_cuda_driver *driver;
  struct wo_device_gpu_options options;
  struct wo_device_gpu_info info;
  int device;
  bool has_context;
  bool has_virtual_memory;
  struct wo_cuda_memory_kind kind; /* of handles */
  size_t granularity_bytes;        /* of mapped memory; 0: not asked yet */
  uint64_t asked_at_bytes;         /* the peak when the driver was last asked for the free memory */
  WO_VEC(struct holding) holdings;
  struct wo_address_map places[KIND_COUNT_]; /* address -> index in holdings; a range and its first handle share an address */
  char message[320];
};

/* ---- The list of holdings ---- */

/* Makes room before the driver is called, so that everything it gives can be noted. */
static bool reserve_holding(struct wo_device_gpu *gpu, size_t more) {
  return WO_VEC_RESERVE(&gpu->holdings, more, WO_LIMIT_GPU_HOLDINGS);
}

static enum wo_status hold(struct wo_device_gpu *gpu, struct holding holding) {
  assert(gpu->holdings.count < gpu->holdings.capacity);
  const enum wo_status status = wo_address_map_put(&gpu->places[holding.kind], holding.address, (uint32_t)gpu->holdings.count);
  if (status == WO_OK) gpu->holdings.items[gpu->holdings.count++] = holding;
  return status;
}

/* Takes a holding, which must exist, off the list; the last one moves into its place. */
static struct holding let_go(struct wo_device_gpu *gpu, enum kind kind, uint64_t address) {
  uint32_t index = 0;
  const bool is_held = wo_address_map_remove(&gpu->places[kind], address, &index);
  assert(is_held && index < gpu->holdings.count);
  (void)is_held;
  const struct holding holding = gpu->holdings.items[index], last = gpu->holdings.items[--gpu->holdings.count];
  if (index == gpu->holdings.count) return holding;
  gpu->holdings.items[index] = last;
  const enum wo_status status = wo_address_map_put(&gpu->places[last.kind], last.address, index);
  assert(status == WO_OK); /* the address is in the map: nothing is allocated */
  (void)status;
  return holding;
}

/* ---- Calls ---- */

static enum wo_status fail(struct wo_device_gpu *gpu, const char *call, int result) {
  char words[160];
  snprintf(gpu->message, sizeof gpu->message, "GPU %d: %s failed: %s", gpu->options.ordinal, call,
           wo_cuda_words(gpu->driver, result, words, sizeof words));
  return WO_E_IO;
}

/* Keeps a holding that the driver did not take back, so that closing tries again. */
static enum wo_status keep(struct wo_device_gpu *gpu, struct holding holding, const char *call, int result) {
  const enum wo_status status = hold(gpu, holding);
  assert(status == WO_OK); /* it was in the list a moment ago: there is room in list and map */
  (void)status;
  return fail(gpu, call, result);
}

static enum wo_status fail_memory(struct wo_device_gpu *gpu) {
  snprintf(gpu->message, sizeof gpu->message, "out of memory in whyoom itself");
  return WO_E_NOMEM;
}

/* Checks whether a call may be made at all. */
static enum wo_status begin_call(struct wo_device_gpu *gpu) {
  if (gpu->options.is_cancelled && *gpu->options.is_cancelled) {
    snprintf(gpu->message, sizeof gpu->message, "interrupted");
    return WO_E_IO;
  }
  gpu->info.calls++;
  return WO_OK;
}

/* cudaMalloc takes whole pages for any size. */
static uint64_t pages(uint64_t size_bytes) {
  return size_bytes > UINT64_C(1) << 62 ? size_bytes : (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Asking the driver is slow, so it is asked only when the peak has grown by a step; the memory taken since is known. */
static void count_taken(struct wo_device_gpu *gpu, uint64_t size_bytes) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  gpu->info.used_bytes += size_bytes;
  assert(gpu->info.used_bytes <= gpu->info.cap_bytes);
  if (gpu->info.used_bytes <= gpu->info.peak_bytes) return;
  const uint64_t growth_bytes = gpu->info.used_bytes - gpu->info.peak_bytes;
  const bool is_covered = gpu->info.free_lowest_bytes > growth_bytes;
  gpu->info.peak_bytes = gpu->info.used_bytes;
  gpu->info.free_lowest_bytes = is_covered ? gpu->info.free_lowest_bytes - growth_bytes : 0;
  if (gpu->info.peak_bytes - gpu->asked_at_bytes < ASK_STEP_BYTES) return;
  if (gpu->driver->memory_info(&free_bytes, &total_bytes) != WO_CUDA_SUCCESS) return;
  gpu->asked_at_bytes = gpu->info.peak_bytes;
  gpu->info.free_lowest_bytes = free_bytes;
}

/* The card has less than it reported: another process took memory, or the driver needs some for itself. */
static enum wo_status note_refusal(struct wo_device_gpu *gpu, uint64_t size_bytes) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (gpu->info.refusals++ > 0) return WO_E_LIMIT;
  gpu->info.refused_bytes = size_bytes;
  gpu->info.used_at_refusal_bytes = gpu->info.used_bytes;
  if (gpu->driver->memory_info(&free_bytes, &total_bytes) == WO_CUDA_SUCCESS) gpu->info.free_at_refusal_bytes = free_bytes;
  return WO_E_LIMIT;
}

/* Writes every byte, and waits until the card has done it. */
static enum wo_status touch(struct wo_device_gpu *gpu, uint64_t address, uint64_t size_bytes) {
  if (!gpu->options.touches) return WO_OK;
  int result = gpu->driver->memory_set(address, TOUCH_BYTE, size_bytes);
  if (result == WO_CUDA_SUCCESS) result = gpu->driver->context_synchronize();
  return result == WO_CUDA_SUCCESS ? WO_OK : fail(gpu, "writing to new memory", result);
}

/* Whether the cap allows a size; the driver is not asked for more. */
static bool is_within_cap(const struct wo_device_gpu *gpu, uint64_t size_bytes) {
  return size_bytes <= gpu->info.cap_bytes && gpu->info.used_bytes <= gpu->info.cap_bytes - size_bytes;
}

/* ---- cudaMalloc, cudaFree ---- */

static enum wo_status segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_gpu *const gpu = state;
  uint64_t address = 0;
  if (!is_within_cap(gpu, pages(size_bytes))) return WO_E_LIMIT;
  enum wo_status status = begin_call(gpu);
  if (status != WO_OK) return status;
  if (!reserve_holding(gpu, 1)) return fail_memory(gpu);
  const int result = gpu->driver->memory_alloc(&address, size_bytes);
  if (result == WO_CUDA_OUT_OF_MEMORY) return note_refusal(gpu, size_bytes);
  if (result != WO_CUDA_SUCCESS) return fail(gpu, "cuMemAlloc", result);
  status = hold(gpu, (struct holding){.address = address, .size_bytes = size_bytes, .kind = KIND_SEGMENT});
  if (status != WO_OK) {
    gpu->driver->memory_free(address);
    return fail_memory(gpu);
  }
  count_taken(gpu, pages(size_bytes));
  *ret_address = address;
  return touch(gpu, address, size_bytes);
}

static enum wo_status segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_device_gpu *const gpu = state;
  const enum wo_status status = begin_call(gpu);
  if (status != WO_OK) return status;
  const struct holding holding = let_go(gpu, KIND_SEGMENT, address);
  assert(holding.size_bytes == size_bytes);
  const int result = gpu->driver->memory_free(address);
  if (result != WO_CUDA_SUCCESS) return keep(gpu, holding, "cuMemFree", result);
  gpu->info.used_bytes -= pages(size_bytes);
  return WO_OK;
}

/* ---- Expandable segments ---- */

/* Asks the driver for the granularity; PyTorch assumes that 2 MiB is right. */
static enum wo_status ask_granularity(struct wo_device_gpu *gpu) {
  if (!gpu->has_virtual_memory) {
    snprintf(gpu->message, sizeof gpu->message,
             "GPU %d: the driver cannot map memory on this card, which expandable segments need (a virtual GPU?)",
             gpu->options.ordinal);
    return WO_E_IO;
  }
  if (gpu->granularity_bytes > 0) return WO_OK;
  const int result = gpu->driver->granularity(&gpu->granularity_bytes, &gpu->kind, GRANULARITY_MINIMUM);
  if (result == WO_CUDA_SUCCESS && PAGE_BYTES % gpu->granularity_bytes == 0) return WO_OK;
  if (result != WO_CUDA_SUCCESS) return fail(gpu, "cuMemGetAllocationGranularity", result);
  snprintf(gpu->message, sizeof gpu->message,
           "GPU %d: the driver maps memory in pages of %zu bytes, and PyTorch in such of 2 MiB: expandable segments fail here",
           gpu->options.ordinal, gpu->granularity_bytes);
  return WO_E_IO;
}

static enum wo_status range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_gpu *const gpu = state;
  uint64_t address = 0;
  enum wo_status status = begin_call(gpu);
  if (status == WO_OK) status = ask_granularity(gpu);
  if (status != WO_OK) return status;
  if (!reserve_holding(gpu, 1)) return fail_memory(gpu);
  const int result = gpu->driver->address_reserve(&address, size_bytes, 0, 0, 0);
  if (result != WO_CUDA_SUCCESS) return fail(gpu, "cuMemAddressReserve", result);
  status = hold(gpu, (struct holding){.address = address, .size_bytes = size_bytes, .kind = KIND_RANGE});
  if (status != WO_OK) {
    gpu->driver->address_free(address, size_bytes);
    return fail_memory(gpu);
  }
  *ret_address = address;
  return WO_OK;
}

static enum wo_status range_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_device_gpu *const gpu = state;
  const enum wo_status status = begin_call(gpu);
  if (status != WO_OK) return status;
  const struct holding holding = let_go(gpu, KIND_RANGE, address);
  assert(holding.size_bytes == size_bytes);
  const int result = gpu->driver->address_free(address, size_bytes);
  return result == WO_CUDA_SUCCESS ? WO_OK : keep(gpu, holding, "cuMemAddressFree", result);
}

static struct wo_cuda_location location_of(const struct wo_device_gpu *gpu) {
  return (struct wo_cuda_location){.type = LOCATION_DEVICE, .id = gpu->device};
}

/* Makes `count` handles for [address, ...); all or none. They are noted with their later addresses. */
static enum wo_status create_handles(struct wo_device_gpu *gpu, uint64_t address, uint64_t handle_bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t handle = 0;
    const int result = gpu->driver->handle_create(&handle, handle_bytes, &gpu->kind, 0);
    const struct holding holding = {
        .address = address + i * handle_bytes, .size_bytes = handle_bytes, .handle = handle, .kind = KIND_HANDLE};
    if (result == WO_CUDA_SUCCESS && hold(gpu, holding) == WO_OK) continue;
    if (result == WO_CUDA_SUCCESS) gpu->driver->handle_release(handle);
    for (; i > 0; i--) {
      const struct holding made = let_go(gpu, KIND_HANDLE, address + (i - 1) * handle_bytes);
      const int released = gpu->driver->handle_release(made.handle);
      if (released != WO_CUDA_SUCCESS) return keep(gpu, made, "cuMemRelease", released);
    }
    if (result == WO_CUDA_SUCCESS) return fail_memory(gpu);
    if (result != WO_CUDA_OUT_OF_MEMORY) return fail(gpu, "cuMemCreate", result);
    return note_refusal(gpu, handle_bytes);
  }
  return WO_OK;
}

/* PyTorch creates all handles of one growth first, then maps them one by one, then sets the access of the whole. */
static enum wo_status map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_device_gpu *const gpu = state;
  const size_t count = (size_t)(size_bytes / handle_bytes);
  assert(handle_bytes > 0 && size_bytes % handle_bytes == 0);
  if (!is_within_cap(gpu, size_bytes)) return WO_E_LIMIT;
  enum wo_status status = begin_call(gpu);
  if (status != WO_OK) return status;
  if (!reserve_holding(gpu, count)) return fail_memory(gpu);
  status = create_handles(gpu, address, handle_bytes, count);
  if (status != WO_OK) return status;
  count_taken(gpu, size_bytes);
  for (size_t i = 0; i < count; i++) {
    uint32_t index = 0;
    const bool is_held = wo_address_map_find(&gpu->places[KIND_HANDLE], address + i * handle_bytes, &index);
    assert(is_held);
    (void)is_held;
    const int result = gpu->driver->map(address + i * handle_bytes, handle_bytes, 0, gpu->holdings.items[index].handle, 0);
    if (result != WO_CUDA_SUCCESS) return fail(gpu, "cuMemMap", result);
  }
  const struct wo_cuda_access access = {.location = location_of(gpu), .flags = ACCESS_READ_WRITE};
  const int result = gpu->driver->set_access(address, size_bytes, &access, 1);
  return result == WO_CUDA_SUCCESS ? touch(gpu, address, size_bytes) : fail(gpu, "cuMemSetAccess", result);
}

/* PyTorch waits for the stream first, because unmapping does not wait. Here nothing runs: touch() has waited already. */
static enum wo_status unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_device_gpu *const gpu = state;
  const enum wo_status status = begin_call(gpu);
  if (status != WO_OK) return status;
  for (uint64_t at = address; at < address + size_bytes; at += handle_bytes) {
    const struct holding holding = let_go(gpu, KIND_HANDLE, at);
    int result = gpu->driver->unmap(at, handle_bytes);
    if (result != WO_CUDA_SUCCESS) return keep(gpu, holding, "cuMemUnmap", result);
    result = gpu->driver->handle_release(holding.handle);
    if (result != WO_CUDA_SUCCESS) return keep(gpu, holding, "cuMemRelease", result);
    gpu->info.used_bytes -= handle_bytes;
  }
  return WO_OK;
}

/* ---- Looking ---- */

/* Reports the memory that the cap leaves. */
static void memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  struct wo_device_gpu *const gpu = state;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const uint64_t left_bytes = gpu->info.cap_bytes - gpu->info.used_bytes;
  const bool is_told = gpu->driver->memory_info(&free_bytes, &total_bytes) == WO_CUDA_SUCCESS;
  *ret_free_bytes = is_told && free_bytes < left_bytes ? free_bytes : left_bytes;
  *ret_total_bytes = gpu->options.total_bytes > 0 ? gpu->options.total_bytes : gpu->info.total_bytes;
}

static const char *message(void *state) {
  const struct wo_device_gpu *const gpu = state;
  return gpu->message;
}

const struct wo_device_gpu_info *wo_device_gpu_info(const struct wo_device_gpu *gpu) {
  return &gpu->info;
}

/* ---- Opening and closing ---- */

/* The message adds the mode and the other processes: users can change these. */
static enum wo_status refuse(struct wo_device_gpu *gpu, struct wo_err *err, const char *call, int result) {
  const enum wo_status status = fail(gpu, call, result);
  int mode = WO_CUDA_MODE_DEFAULT;
  if (result == WO_CUDA_OUT_OF_MEMORY) return wo_err_set(err, WO_E_LIMIT, "%s: not even a context has room on it", gpu->message);
  if (result != WO_CUDA_UNAVAILABLE) return wo_err_set(err, status, "%s", gpu->message);
  if (gpu->driver->device_attribute(&mode, WO_CUDA_COMPUTE_MODE, gpu->device) != WO_CUDA_SUCCESS) mode = WO_CUDA_MODE_DEFAULT;
  if (mode == WO_CUDA_MODE_PROHIBITED)
    return wo_err_set(err, status, "%s (the card is in prohibited mode: no process may compute on it)", gpu->message);
  return wo_err_set(err, WO_E_LIMIT, "%s (%sanother process holds it)", gpu->message,
                    mode == WO_CUDA_MODE_EXCLUSIVE ? "the card is in exclusive mode, and " : "");
}

/* 0 if the driver does not report it. */
static int attribute(const struct wo_device_gpu *gpu, enum wo_cuda_attribute which) {
  int value = 0;
  return gpu->driver->device_attribute(&value, (int)which, gpu->device) == WO_CUDA_SUCCESS ? value : 0;
}

/* Sets the properties of mapped memory: from 2.6, other processes and network cards can use it. It takes the same memory either
 * way. */
static void look_at_mapping(struct wo_device_gpu *gpu) {
  const bool shares = gpu->options.torch == 0 || gpu->options.torch >= TORCH_SHARES;
  gpu->info.is_integrated = attribute(gpu, WO_CUDA_IS_INTEGRATED) != 0;
  gpu->has_virtual_memory = wo_cuda_has_virtual_memory(gpu->driver) && attribute(gpu, WO_CUDA_HAS_VIRTUAL_MEMORY) != 0;
  gpu->kind = (struct wo_cuda_memory_kind){.type = MEMORY_PINNED, .location = location_of(gpu)};
  if (!shares) return;
  gpu->kind.handle_types = HANDLE_FILE_DESCRIPTOR;
  gpu->kind.flags[FLAG_RDMA] = attribute(gpu, WO_CUDA_HAS_RDMA) != 0;
}

/* Finds the card and reads its properties. */
static enum wo_status look(struct wo_device_gpu *gpu, struct wo_err *err) {
  const struct wo_cuda_driver *const driver = gpu->driver;
  int count = 0;
  size_t total_bytes = 0;
  int result = driver->device_count(&count);
  if (result != WO_CUDA_SUCCESS) return refuse(gpu, err, "cuDeviceGetCount", result);
  if (gpu->options.ordinal < 0 || gpu->options.ordinal >= count) {
    return wo_err_set(err, WO_E_RANGE, "there is no GPU %d: the driver shows %d", gpu->options.ordinal, count);
  }
  result = driver->device_get(&gpu->device, gpu->options.ordinal);
  if (result == WO_CUDA_SUCCESS) result = driver->device_name(gpu->info.name, (int)sizeof gpu->info.name, gpu->device);
  if (result == WO_CUDA_SUCCESS) result = driver->device_total(&total_bytes, gpu->device);
  if (result != WO_CUDA_SUCCESS) return refuse(gpu, err, "asking for its name and size", result);
  gpu->info.name[sizeof gpu->info.name - 1] = '\0';
  gpu->info.total_bytes = total_bytes;
  gpu->info.driver_version = driver->version;
  wo_gpu_uuid(driver, gpu->device, gpu->info.uuid);
  look_at_mapping(gpu);
  return WO_OK;
}

enum wo_status wo_device_gpu_too_little(const struct wo_device_gpu_info *info, int ordinal, uint64_t wanted_bytes,
                                        uint64_t reserve_bytes, struct wo_err *err) {
  char beside[64] = "";
  if (reserve_bytes > 0) snprintf(beside, sizeof beside, " beside a reserve of %.2f", (double)reserve_bytes / (1 << 30));
  return wo_err_set(err, WO_E_LIMIT,
                    "GPU %d (%s) has %.2f GiB free of %.2f, and the replay wants %.2f%s: wait, or use another --on gpu:N, a "
                    "smaller --capacity%s",
                    ordinal, info->name, (double)info->free_before_bytes / (1 << 30), (double)info->total_bytes / (1 << 30),
                    (double)wanted_bytes / (1 << 30), beside, reserve_bytes > 0 ? " or --reserve" : "");
}

/* Sets the cap; refuses a card whose free memory is less than cap and reserve, because others use it. */
static enum wo_status set_cap(struct wo_device_gpu *gpu, struct wo_err *err) {
  const uint64_t free_bytes = gpu->info.free_before_bytes;
  const uint64_t reserve_bytes = gpu->options.reserve_bytes;
  const uint64_t wanted_bytes = gpu->options.capacity_bytes;
  const uint64_t usable_bytes = free_bytes > reserve_bytes ? free_bytes - reserve_bytes : 0;
  if (usable_bytes == 0 || wanted_bytes > usable_bytes)
    return wo_device_gpu_too_little(&gpu->info, gpu->options.ordinal, wanted_bytes, reserve_bytes, err);
  gpu->info.cap_bytes = wanted_bytes > 0 ? wanted_bytes : usable_bytes;
  return WO_OK;
}

static enum wo_status open_context(struct wo_device_gpu *gpu, struct wo_err *err) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  void *context = NULL;
  int result = gpu->driver->context_retain(&context, gpu->device);
  if (result != WO_CUDA_SUCCESS) return refuse(gpu, err, "taking a context", result);
  gpu->has_context = true;
  result = gpu->driver->context_set(context);
  if (result == WO_CUDA_SUCCESS) result = gpu->driver->memory_info(&free_bytes, &total_bytes);
  if (result != WO_CUDA_SUCCESS) return refuse(gpu, err, "asking what is free", result);
  gpu->info.free_before_bytes = free_bytes;
  gpu->info.free_lowest_bytes = free_bytes;
  return set_cap(gpu, err);
}

enum wo_status wo_device_gpu_open(const struct wo_cuda_driver *driver, const struct wo_device_gpu_options *options,
                                  struct wo_device_gpu **ret_gpu, struct wo_device *ret_device, struct wo_err *err) {
  struct wo_device_gpu *const gpu = calloc(1, sizeof *gpu);
  if (!gpu) return wo_err_set(err, WO_E_NOMEM, "out of memory");
  gpu->driver = driver;
  gpu->options = *options;
  enum wo_status status = look(gpu, err);
  if (status == WO_OK) status = open_context(gpu, err);
  if (status != WO_OK) {
    wo_device_gpu_close(gpu, NULL);
    return status;
  }
  *ret_device = (struct wo_device){gpu, segment_alloc, segment_free, range_reserve, range_free, map, unmap, memory_info, message};
  *ret_gpu = gpu;
  return WO_OK;
}

/* Gives back one holding. Returns whether the driver took it. */
static bool give_back_one(const struct wo_cuda_driver *driver, const struct holding *holding) {
  switch (holding->kind) {
  case KIND_SEGMENT:
    return driver->memory_free(holding->address) == WO_CUDA_SUCCESS;
  case KIND_RANGE:
    return driver->address_free(holding->address, holding->size_bytes) == WO_CUDA_SUCCESS;
  case KIND_HANDLE:
  case KIND_COUNT_:
    break;
  }
  driver->unmap(holding->address, holding->size_bytes); /* fails for a handle that was not mapped yet */
  return driver->handle_release(holding->handle) == WO_CUDA_SUCCESS;
}

/* Handles first, because a range can only be given back when nothing is mapped in it. A holding that fails is tried once more; if
 * it fails twice it stays, and the rest is tried all the same. */
static uint64_t give_back(struct wo_device_gpu *gpu) {
  uint64_t left = 0;
  for (int kind = KIND_COUNT_ - 1; kind >= 0; kind--) {
    for (size_t i = 0; i < gpu->holdings.count; i++) {
      const struct holding *const holding = &gpu->holdings.items[i];
      if (holding->kind != (enum kind)kind) continue;
      if (!give_back_one(gpu->driver, holding) && !give_back_one(gpu->driver, holding)) left++;
    }
  }
  return left;
}

struct wo_device_gpu *wo_device_gpu_close(struct wo_device_gpu *gpu, uint64_t *ret_left) {
  if (!gpu) return NULL;
  const uint64_t left = give_back(gpu);
  if (gpu->has_context) gpu->driver->context_set(NULL); /* a current context must not outlive its last user */
  if (gpu->has_context && gpu->driver->context_release(gpu->device) != WO_CUDA_SUCCESS) gpu->driver->context_release(gpu->device);
  if (ret_left) *ret_left = left;
  for (int kind = 0; kind < KIND_COUNT_; kind++) wo_address_map_done(&gpu->places[kind]);
  WO_VEC_DONE(&gpu->holdings);
  free(gpu);
  return NULL;
}
