/* A CUDA driver that is not there: the functions of cuda_symbols.def over counters and a made-up address space.
 *
 * For tests only (WHYOOM_CUDA_LIBRARY names it). It has a size, counts memory in pages of 2 MiB, checks that it is used as the
 * real one wants (addresses that were given out, handles of the right size, no mapping twice), fails where it is told to, and
 * writes every call to a file, so that a test can hold the calls against what the allocator decided. Environment:
 *
 *   STAND_IN_TOTAL   bytes of each card (24 GiB)         STAND_IN_OTHER  bytes that other processes hold (0)
 *   STAND_IN_CARDS   how many there are (1)              STAND_IN_MODE   compute mode (0)
 *   STAND_IN_LOG     file for the calls                  STAND_IN_SLOW_US  what each call takes
 *   STAND_IN_FAIL    SYMBOL:N:RESULT, the N-th call of SYMBOL and no other gives RESULT
 *   STAND_IN_LOST    N: from the N-th call on every call gives 719, as a card that fell off the bus
 *
 * SYMBOL is the name of the function here, with its version ("cuMemAlloc_v2"). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_replay/cuda_driver.h"

#define PAGE_BYTES (UINT64_C(2) << 20)
#define LOST 719

enum { THINGS_MAX = 1 << 17 };

/* A segment, a reserved range, a handle, or a mapping; size 0: a free row. */
struct thing {
  enum { SEGMENT = 1, RANGE, HANDLE, MAPPING } kind;
  uint64_t at; /* address, or the handle */
  uint64_t size_bytes;
  uint64_t handle; /* of a mapping */
  bool is_mapped;  /* of a handle */
};

/* All there is. One thread uses it, as the real one would be used. */
static struct {
  bool is_ready;
  uint64_t total_bytes, other_bytes, used_bytes;
  uint64_t next_address, next_handle;
  int cards, mode;
  long slow_us, lost_at, calls, fail_at, fail_result;
  char fail_symbol[64];
  FILE *log;
  struct thing things[THINGS_MAX];
  size_t thing_count;
} card;

/* The digits at the front of *text, which moves behind them. */
static uint64_t digits(const char **text) {
  uint64_t number = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++) number = number * 10 + (uint64_t)(**text - '0');
  return number;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? digits(&text) : otherwise;
}

static void read_fault(void) {
  const char *const text = getenv("STAND_IN_FAIL");
  const char *at = text ? strchr(text, ':') : NULL;
  if (!at || (size_t)(at - text) >= sizeof card.fail_symbol) return;
  memcpy(card.fail_symbol, text, (size_t)(at - text));
  at++;
  card.fail_at = (long)digits(&at);
  if (*at == ':') at++;
  card.fail_result = (long)digits(&at);
}

static void make_ready(void) {
  if (card.is_ready) return;
  const char *const log = getenv("STAND_IN_LOG");
  card.is_ready = true;
  card.total_bytes = number_of("STAND_IN_TOTAL", UINT64_C(24) << 30);
  card.other_bytes = number_of("STAND_IN_OTHER", 0);
  card.cards = (int)number_of("STAND_IN_CARDS", 1);
  card.mode = (int)number_of("STAND_IN_MODE", 0);
  card.slow_us = (long)number_of("STAND_IN_SLOW_US", 0);
  card.lost_at = (long)number_of("STAND_IN_LOST", 0);
  card.next_address = UINT64_C(0x7f0000000000);
  card.next_handle = 1;
  card.log = log ? fopen(log, "w") : NULL;
  read_fault();
}

/* Begins a call: WO_CUDA_SUCCESS, or what it shall fail with. */
static int begin(const char *symbol) {
  make_ready();
  card.calls++;
  if (card.slow_us > 0) nanosleep(&(struct timespec){card.slow_us / 1000000, card.slow_us % 1000000 * 1000}, NULL);
  if (card.lost_at > 0 && card.calls >= card.lost_at) return LOST;
  if (card.fail_at > 0 && strcmp(symbol, card.fail_symbol) == 0 && --card.fail_at == 0) return (int)card.fail_result;
  return WO_CUDA_SUCCESS;
}

/* Writes a call with what it gave. Each line is flushed: a test may kill the program. */
static int end(int result, const char *symbol, uint64_t at, uint64_t size_bytes) {
  if (!card.log) return result;
  fprintf(card.log, "%s 0x%llx %llu %d\n", symbol, (unsigned long long)at, (unsigned long long)size_bytes, result);
  fflush(card.log);
  return result;
}

static uint64_t pages(uint64_t bytes) {
  return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t free_bytes(void) {
  const uint64_t taken = card.used_bytes + card.other_bytes;
  return taken < card.total_bytes ? card.total_bytes - taken : 0;
}

/* ---- Things ---- */

static struct thing *find(int kind, uint64_t at) {
  for (size_t i = card.thing_count; i > 0; i--) {
    struct thing *const thing = &card.things[i - 1];
    if ((int)thing->kind == kind && thing->at == at && thing->size_bytes > 0) return thing;
  }
  return NULL;
}

static bool add(struct thing thing) {
  if (card.thing_count == THINGS_MAX) return false;
  card.things[card.thing_count++] = thing;
  return true;
}

static void drop(struct thing *thing) {
  *thing = card.things[--card.thing_count];
}

/* Whether [at, at + size) lies in a reserved range and touches no mapping. */
static bool is_mappable(uint64_t at, uint64_t size_bytes) {
  bool is_reserved = false;
  for (size_t i = 0; i < card.thing_count; i++) {
    const struct thing *const thing = &card.things[i];
    if (thing->kind == RANGE && at >= thing->at && at + size_bytes <= thing->at + thing->size_bytes) is_reserved = true;
    if (thing->kind == MAPPING && at < thing->at + thing->size_bytes && thing->at < at + size_bytes) return false;
  }
  return is_reserved;
}

/* ---- The driver ---- */

int cuInit(unsigned flags);
int cuDriverGetVersion(int *ret_version);
int cuGetErrorName(int error, const char **ret_name);
int cuGetErrorString(int error, const char **ret_text);
int cuDeviceGetCount(int *ret_count);
int cuDeviceGet(int *ret_device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceTotalMem_v2(size_t *ret_bytes, int device);
int cuDeviceGetAttribute(int *ret_value, int attribute, int device);
int cuDeviceGetUuid_v2(struct wo_cuda_uuid *ret_uuid, int device);
int cuDevicePrimaryCtxRetain(void **ret_context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes);
int cuMemAddressReserve(uint64_t *ret_address, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags);
int cuMemAddressFree(uint64_t address, size_t bytes);
int cuMemGetAllocationGranularity(size_t *ret_bytes, const struct wo_cuda_memory_kind *kind, int option);
int cuMemCreate(uint64_t *ret_handle, size_t bytes, const struct wo_cuda_memory_kind *kind, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags);
int cuMemUnmap(uint64_t address, size_t bytes);
int cuMemSetAccess(uint64_t address, size_t bytes, const struct wo_cuda_access *access, size_t count);

int cuInit(unsigned flags) {
  const int result = begin("cuInit");
  return end(result != WO_CUDA_SUCCESS || card.cards > 0 ? result : WO_CUDA_NO_DEVICE, "cuInit", flags, 0);
}

int cuDriverGetVersion(int *ret_version) {
  *ret_version = 12040;
  return begin("cuDriverGetVersion");
}

int cuGetErrorName(int error, const char **ret_name) {
  *ret_name = error == WO_CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == LOST ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
  return *ret_name ? WO_CUDA_SUCCESS : WO_CUDA_INVALID_VALUE;
}

int cuGetErrorString(int error, const char **ret_text) {
  *ret_text = error == WO_CUDA_OUT_OF_MEMORY ? "out of memory" : error == LOST ? "unspecified launch failure" : NULL;
  return *ret_text ? WO_CUDA_SUCCESS : WO_CUDA_INVALID_VALUE;
}

int cuDeviceGetCount(int *ret_count) {
  const int result = begin("cuDeviceGetCount");
  *ret_count = card.cards;
  return result;
}

int cuDeviceGet(int *ret_device, int ordinal) {
  const int result = begin("cuDeviceGet");
  *ret_device = ordinal;
  return result != WO_CUDA_SUCCESS ? result : ordinal >= 0 && ordinal < card.cards ? WO_CUDA_SUCCESS : WO_CUDA_INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "Stand-in %d", device);
  return begin("cuDeviceGetName");
}

int cuDeviceTotalMem_v2(size_t *ret_bytes, int device) {
  const int result = begin("cuDeviceTotalMem_v2");
  (void)device;
  *ret_bytes = card.total_bytes;
  return result;
}

int cuDeviceGetAttribute(int *ret_value, int attribute, int device) {
  const int result = begin("cuDeviceGetAttribute");
  (void)device;
  *ret_value = attribute == WO_CUDA_COMPUTE_MODE ? card.mode : attribute == WO_CUDA_HAS_VIRTUAL_MEMORY;
  return result;
}

int cuDeviceGetUuid_v2(struct wo_cuda_uuid *ret_uuid, int device) {
  memset(ret_uuid->bytes, 0xab, sizeof ret_uuid->bytes);
  ret_uuid->bytes[15] = (unsigned char)device;
  return begin("cuDeviceGetUuid_v2");
}

int cuDevicePrimaryCtxRetain(void **ret_context, int device) {
  const int result = begin("cuDevicePrimaryCtxRetain");
  *ret_context = &card;
  return end(result == WO_CUDA_SUCCESS && card.mode == WO_CUDA_MODE_PROHIBITED ? WO_CUDA_UNAVAILABLE : result,
             "cuDevicePrimaryCtxRetain", (uint64_t)device, 0);
}

/* What is still held is told in the log: nothing may be. */
int cuDevicePrimaryCtxRelease_v2(int device) {
  const int result = begin("cuDevicePrimaryCtxRelease_v2");
  return end(result, "cuDevicePrimaryCtxRelease_v2", (uint64_t)device, card.used_bytes);
}

int cuCtxSetCurrent(void *context) {
  const int result = begin("cuCtxSetCurrent");
  return result != WO_CUDA_SUCCESS ? result : context == &card ? WO_CUDA_SUCCESS : WO_CUDA_INVALID_VALUE;
}

int cuCtxSynchronize(void) {
  return begin("cuCtxSynchronize");
}

int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total) {
  const int result = begin("cuMemGetInfo_v2");
  *ret_free = free_bytes();
  *ret_total = card.total_bytes;
  return result;
}

int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes) {
  int result = begin("cuMemAlloc_v2");
  if (result == WO_CUDA_SUCCESS && bytes == 0) result = WO_CUDA_INVALID_VALUE;
  if (result == WO_CUDA_SUCCESS && pages(bytes) > free_bytes()) result = WO_CUDA_OUT_OF_MEMORY;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemAlloc", 0, bytes);
  *ret_address = card.next_address;
  if (!add((struct thing){.kind = SEGMENT, .at = *ret_address, .size_bytes = bytes})) return end(LOST, "cuMemAlloc", 0, bytes);
  card.next_address += pages(bytes);
  card.used_bytes += pages(bytes);
  return end(result, "cuMemAlloc", *ret_address, bytes);
}

int cuMemFree_v2(uint64_t address) {
  int result = begin("cuMemFree_v2");
  struct thing *const segment = find(SEGMENT, address);
  const uint64_t bytes = segment ? segment->size_bytes : 0;
  if (result == WO_CUDA_SUCCESS && !segment) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemFree", address, bytes);
  card.used_bytes -= pages(bytes);
  drop(segment);
  return end(result, "cuMemFree", address, bytes);
}

int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  (void)value;
  return end(begin("cuMemsetD8_v2"), "cuMemsetD8", address, bytes);
}

int cuMemAddressReserve(uint64_t *ret_address, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags) {
  int result = begin("cuMemAddressReserve");
  (void)alignment, (void)wanted;
  if (result == WO_CUDA_SUCCESS && (bytes == 0 || bytes % PAGE_BYTES != 0 || flags != 0)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemAddressReserve", 0, bytes);
  *ret_address = card.next_address;
  card.next_address += bytes;
  if (!add((struct thing){.kind = RANGE, .at = *ret_address, .size_bytes = bytes}))
    return end(LOST, "cuMemAddressReserve", 0, bytes);
  return end(result, "cuMemAddressReserve", *ret_address, bytes);
}

int cuMemAddressFree(uint64_t address, size_t bytes) {
  int result = begin("cuMemAddressFree");
  struct thing *const range = find(RANGE, address);
  if (result == WO_CUDA_SUCCESS && (!range || range->size_bytes != bytes)) result = WO_CUDA_INVALID_VALUE;
  for (size_t i = 0; range && i < card.thing_count; i++) {
    if (card.things[i].kind == MAPPING && card.things[i].at >= address && card.things[i].at < address + bytes) {
      result = WO_CUDA_INVALID_VALUE;
    }
  }
  if (result == WO_CUDA_SUCCESS) drop(range);
  return end(result, "cuMemAddressFree", address, bytes);
}

int cuMemGetAllocationGranularity(size_t *ret_bytes, const struct wo_cuda_memory_kind *kind, int option) {
  (void)kind, (void)option;
  *ret_bytes = PAGE_BYTES;
  return begin("cuMemGetAllocationGranularity");
}

int cuMemCreate(uint64_t *ret_handle, size_t bytes, const struct wo_cuda_memory_kind *kind, unsigned long long flags) {
  int result = begin("cuMemCreate");
  const bool is_right = bytes > 0 && bytes % PAGE_BYTES == 0 && kind->type == 1 && kind->location.type == 1 &&
                        kind->location.id >= 0 && kind->location.id < card.cards && flags == 0;
  if (result == WO_CUDA_SUCCESS && !is_right) result = WO_CUDA_INVALID_VALUE;
  if (result == WO_CUDA_SUCCESS && bytes > free_bytes()) result = WO_CUDA_OUT_OF_MEMORY;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemCreate", 0, bytes);
  *ret_handle = card.next_handle++;
  if (!add((struct thing){.kind = HANDLE, .at = *ret_handle, .size_bytes = bytes})) return end(LOST, "cuMemCreate", 0, bytes);
  card.used_bytes += bytes;
  return end(result, "cuMemCreate", *ret_handle, bytes);
}

int cuMemRelease(uint64_t handle) {
  int result = begin("cuMemRelease");
  struct thing *const thing = find(HANDLE, handle);
  const uint64_t bytes = thing ? thing->size_bytes : 0;
  if (result == WO_CUDA_SUCCESS && (!thing || thing->is_mapped)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemRelease", handle, bytes);
  card.used_bytes -= bytes;
  drop(thing);
  return end(result, "cuMemRelease", handle, bytes);
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
  int result = begin("cuMemMap");
  struct thing *const thing = find(HANDLE, handle);
  const bool is_right = thing && !thing->is_mapped && thing->size_bytes == bytes && offset == 0 && flags == 0 &&
                        address % PAGE_BYTES == 0 && is_mappable(address, bytes);
  if (result == WO_CUDA_SUCCESS && !is_right) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemMap", address, bytes);
  thing->is_mapped = true;
  if (!add((struct thing){.kind = MAPPING, .at = address, .size_bytes = bytes, .handle = handle})) result = LOST;
  return end(result, "cuMemMap", address, bytes);
}

int cuMemUnmap(uint64_t address, size_t bytes) {
  int result = begin("cuMemUnmap");
  struct thing *const mapping = find(MAPPING, address);
  if (result == WO_CUDA_SUCCESS && (!mapping || mapping->size_bytes != bytes)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemUnmap", address, bytes);
  struct thing *const handle = find(HANDLE, mapping->handle);
  if (handle) handle->is_mapped = false;
  drop(mapping);
  return end(result, "cuMemUnmap", address, bytes);
}

int cuMemSetAccess(uint64_t address, size_t bytes, const struct wo_cuda_access *access, size_t count) {
  int result = begin("cuMemSetAccess");
  if (result == WO_CUDA_SUCCESS && (count != 1 || access->flags != 3 || !find(MAPPING, address))) result = WO_CUDA_INVALID_VALUE;
  return end(result, "cuMemSetAccess", address, bytes);
}
