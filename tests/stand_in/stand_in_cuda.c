/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver that is not there: the functions of cuda_symbols.def over the memory of a stand-in (standin.h).
 *
 * For tests only (WHYOOM_CUDA_LIBRARY names it). It has a size, counts memory in pages of 2 MiB, checks that it is used as the
 * real one wants (started, with a context current on the thread, addresses that were given out, whole mappings, access before
 * writing; stricter than the real one where a handle is released that is still mapped), fails where it is told to, and
 * writes every call to a file, so that a test can hold the calls against what the allocator decided. Environment:
 *
 *   STAND_IN_TOTAL   bytes of each card (24 GiB)         STAND_IN_OTHER  bytes that other processes hold (0)
 *   STAND_IN_CARDS   how many there are (1)              STAND_IN_MODE   compute mode (0)
 *   STAND_IN_LOG     file for the calls                  STAND_IN_SLOW_US  what each call takes
 *   STAND_IN_FAIL    SYMBOL:N:RESULT, the N-th call of SYMBOL and no other gives RESULT; SYMBOL:N+:RESULT, also each later one
 *   STAND_IN_LOST    N: from the N-th call on every call gives 719, as a card that fell off the bus
 *   STAND_IN_LATER   N:BYTES, from the N-th call on other processes hold BYTES more
 *   STAND_IN_DOWN    1: addresses fall instead of rising
 *   STAND_IN_CONTEXT bytes that a context takes (0)  STAND_IN_PAGE  granularity of mapped memory (2 MiB)
 *   STAND_IN_INTEGRATED, STAND_IN_NO_VMM, STAND_IN_NO_RDMA  1: the card is such a one
 *   STAND_IN_NAME    what the cards are called before their number (Stand-in)
 *
 * SYMBOL is the name of the function here, with its version ("cuMemAlloc_v2"). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_replay/device/cuda_driver.h"
#include "tests/stand_in/environment.h"
#include "tests/stand_in/standin.h"

#define PAGE_BYTES (UINT64_C(2) << 20)
#define LOST 719

enum { NOT_INITIALIZED = 3, INVALID_CONTEXT = 201, CONTEXT_IS_DESTROYED = 709 };

enum { SLOTS = 1 << 18, THINGS_MAX = SLOTS / 4 * 3, RANGES_MAX = 1 << 12 };

/* A handle, a mapping or a page that is mapped; size 0: an empty slot. */
struct thing {
  enum { HANDLE = 1, MAPPING, PAGE } kind;
  uint64_t at; /* address, or the handle */
  uint64_t size_bytes;
  uint64_t handle;    /* of a mapping */
  bool is_mapped;     /* of a handle */
  bool is_accessible; /* of a page */
};

/* Reserved addresses: a few, so that they stand in a list. */
struct range {
  uint64_t at;
  uint64_t size_bytes;
  uint64_t mapped_pages;
};

/* All there is. One thread uses it, as the real one would be used. */
static struct {
  bool is_ready;
  struct wo_standin memory; /* its capacity is what others and contexts leave */
  uint64_t other_bytes;
  uint64_t next_handle;
  int cards, mode;
  long slow_us, lost_at, calls, fail_at, fail_result;
  bool fails_on;
  char fail_symbol[64];
  FILE *log;
  long later_at;
  uint64_t later_bytes;
  uint64_t context_bytes, granularity_bytes;
  bool is_integrated, has_vmm, has_rdma;
  bool is_started;
  int retained;              /* contexts: how often; one card is used at a time */
  struct thing slots[SLOTS]; /* a hash table by kind and address, searched forward */
  size_t thing_count;
  struct range ranges[RANGES_MAX];
  size_t range_count;
} card;

/* What is current on this thread. */
static _Thread_local const void *current;

static void read_fault(void) {
  const char *const text = getenv("STAND_IN_FAIL");
  const char *at = text ? strchr(text, ':') : NULL;
  if (!at || (size_t)(at - text) >= sizeof card.fail_symbol) return;
  memcpy(card.fail_symbol, text, (size_t)(at - text));
  at++;
  card.fail_at = (long)digits(&at);
  card.fails_on = *at == '+';
  if (*at == '+') at++;
  if (*at == ':') at++;
  card.fail_result = (long)digits(&at);
}

static void read_later(void) {
  const char *at = getenv("STAND_IN_LATER");
  if (!at) return;
  card.later_at = (long)digits(&at);
  if (*at == ':') at++;
  card.later_bytes = digits(&at);
}

static void make_ready(void) {
  if (card.is_ready) return;
  const char *const log = getenv("STAND_IN_LOG");
  card.is_ready = true;
  wo_standin_reset(&card.memory, number_of("STAND_IN_TOTAL", UINT64_C(24) << 30),
                   number_of("STAND_IN_DOWN", 0) == 1 ? WO_STANDIN_DESCENDING : WO_STANDIN_ASCENDING, 0);
  card.memory.is_one_space = true;
  card.other_bytes = number_of("STAND_IN_OTHER", 0);
  card.cards = (int)number_of("STAND_IN_CARDS", 1);
  card.mode = (int)number_of("STAND_IN_MODE", 0);
  card.slow_us = (long)number_of("STAND_IN_SLOW_US", 0);
  card.lost_at = (long)number_of("STAND_IN_LOST", 0);
  card.context_bytes = number_of("STAND_IN_CONTEXT", 0);
  card.granularity_bytes = number_of("STAND_IN_PAGE", PAGE_BYTES);
  card.is_integrated = number_of("STAND_IN_INTEGRATED", 0) == 1;
  card.has_vmm = number_of("STAND_IN_NO_VMM", 0) == 0;
  card.has_rdma = number_of("STAND_IN_NO_RDMA", 0) == 0;
  card.next_handle = 1;
  card.log = log ? fopen(log, "w") : NULL;
  read_fault();
  read_later();
}

/* Begins a call: WO_CUDA_SUCCESS, or what it shall fail with. */
static int begin(const char *symbol) {
  make_ready();
  card.calls++;
  if (card.slow_us > 0) nanosleep(&(struct timespec){card.slow_us / 1000000, card.slow_us % 1000000 * 1000}, NULL);
  if (card.later_at > 0 && card.calls == card.later_at) card.other_bytes += card.later_bytes;
  if (card.lost_at > 0 && card.calls >= card.lost_at) return LOST;
  if (card.fail_at > 0 && strcmp(symbol, card.fail_symbol) == 0) {
    const bool is_due = card.fail_at == 1;
    if (!is_due || !card.fails_on) card.fail_at--;
    if (is_due) return (int)card.fail_result;
  }
  return card.is_started || strcmp(symbol, "cuInit") == 0 || strcmp(symbol, "cuDriverGetVersion") == 0 ? WO_CUDA_SUCCESS
                                                                                                       : NOT_INITIALIZED;
}

/* The same for a call that works in the thread's context. */
static int begin_current(const char *symbol) {
  const int result = begin(symbol);
  if (result != WO_CUDA_SUCCESS) return result;
  return !current ? INVALID_CONTEXT : card.retained == 0 ? CONTEXT_IS_DESTROYED : WO_CUDA_SUCCESS;
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

/* The memory of the card, with what others and the context leave of it now. */
static struct wo_standin *memory(void) {
  const uint64_t taken = card.other_bytes + (card.retained > 0 ? card.context_bytes : 0);
  card.memory.capacity_bytes = taken < card.memory.total_bytes ? card.memory.total_bytes - taken : 0;
  return &card.memory;
}

/* ---- Things ---- */

static size_t slot_of(int kind, uint64_t at) {
  const uint64_t key = (at + (uint64_t)kind) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(key >> 44) % SLOTS;
}

static struct thing *find(int kind, uint64_t at) {
  for (size_t i = slot_of(kind, at); card.slots[i].size_bytes > 0; i = (i + 1) % SLOTS) {
    if ((int)card.slots[i].kind == kind && card.slots[i].at == at) return &card.slots[i];
  }
  return NULL;
}

static bool add(struct thing thing) {
  size_t i = slot_of((int)thing.kind, thing.at);
  if (card.thing_count == THINGS_MAX) return false;
  while (card.slots[i].size_bytes > 0) i = (i + 1) % SLOTS;
  card.slots[i] = thing;
  card.thing_count++;
  return true;
}

/* Empties a slot; what stands behind it and belongs before it moves up. */
static void drop(struct thing *thing) {
  size_t hole = (size_t)(thing - card.slots);
  for (size_t i = (hole + 1) % SLOTS; card.slots[i].size_bytes > 0; i = (i + 1) % SLOTS) {
    const size_t home = slot_of((int)card.slots[i].kind, card.slots[i].at);
    if ((i + SLOTS - home) % SLOTS < (i + SLOTS - hole) % SLOTS) continue;
    card.slots[hole] = card.slots[i];
    hole = i;
  }
  card.slots[hole] = (struct thing){0};
  card.thing_count--;
}

/* The range that [at, at + size) lies in, or NULL. */
static struct range *range_at(uint64_t at, uint64_t size_bytes) {
  for (size_t i = 0; i < card.range_count; i++) {
    struct range *const range = &card.ranges[i];
    if (at >= range->at && at + size_bytes <= range->at + range->size_bytes) return range;
  }
  return NULL;
}

/* Whether [at, at + size) lies in a reserved range and touches no mapping. */
static bool is_mappable(uint64_t at, uint64_t size_bytes) {
  if (!range_at(at, size_bytes)) return false;
  for (uint64_t page = at; page < at + size_bytes; page += PAGE_BYTES) {
    if (find(PAGE, page)) return false;
  }
  return true;
}

/* Whether [at, at + size) consists of whole mappings. */
static bool is_mapped(uint64_t at, uint64_t size_bytes) {
  const uint64_t end = at + size_bytes;
  while (at < end) {
    const struct thing *const mapping = find(MAPPING, at);
    if (!mapping || mapping->size_bytes > end - at) return false;
    at += mapping->size_bytes;
  }
  return size_bytes > 0;
}

/* Whether the card may write there: inside of a segment (of which the front is looked at), or on pages with access. */
static bool is_writable(uint64_t at, uint64_t size_bytes) {
  const uint64_t segment_bytes = range_at(at, 1) ? 0 : wo_standin_size(&card.memory, at);
  if (segment_bytes > 0) return size_bytes <= pages(segment_bytes);
  for (uint64_t page = at / PAGE_BYTES * PAGE_BYTES; page < at + size_bytes; page += PAGE_BYTES) {
    const struct thing *const found = find(PAGE, page);
    if (!found || !found->is_accessible) return false;
  }
  return true;
}

static bool is_right_kind(const struct wo_cuda_memory_kind *kind) {
  const bool is_plain = kind->type == 1 && (kind->handle_types == 0 || kind->handle_types == 1) && !kind->win32_meta_data;
  bool are_flags_right = kind->flags[0] == 0 && kind->flags[1] <= (card.has_rdma ? 1 : 0);
  for (size_t i = 2; i < sizeof kind->flags; i++) are_flags_right = are_flags_right && kind->flags[i] == 0;
  return is_plain && are_flags_right && kind->location.type == 1 && kind->location.id >= 0 && kind->location.id < card.cards;
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
  if (result == WO_CUDA_SUCCESS && flags != 0) return end(WO_CUDA_INVALID_VALUE, "cuInit", flags, 0);
  card.is_started = result == WO_CUDA_SUCCESS && card.cards > 0;
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
  const char *const wanted = getenv("STAND_IN_NAME");
  snprintf(name, (size_t)size, "%s %d", wanted ? wanted : "Stand-in", device);
  return begin("cuDeviceGetName");
}

int cuDeviceTotalMem_v2(size_t *ret_bytes, int device) {
  const int result = begin("cuDeviceTotalMem_v2");
  (void)device;
  *ret_bytes = card.memory.total_bytes;
  return result;
}

int cuDeviceGetAttribute(int *ret_value, int attribute, int device) {
  const int result = begin("cuDeviceGetAttribute");
  if (result != WO_CUDA_SUCCESS) return result;
  if (device < 0 || device >= card.cards) return WO_CUDA_INVALID_DEVICE;
  switch (attribute) {
  case WO_CUDA_COMPUTE_MODE:
    *ret_value = card.mode;
    return result;
  case WO_CUDA_IS_INTEGRATED:
    *ret_value = card.is_integrated;
    return result;
  case WO_CUDA_HAS_VIRTUAL_MEMORY:
    *ret_value = card.has_vmm;
    return result;
  case WO_CUDA_HAS_RDMA:
    *ret_value = card.has_rdma;
    return result;
  default:
    return WO_CUDA_INVALID_VALUE;
  }
}

int cuDeviceGetUuid_v2(struct wo_cuda_uuid *ret_uuid, int device) {
  memset(ret_uuid->bytes, 0xab, sizeof ret_uuid->bytes);
  ret_uuid->bytes[15] = (unsigned char)device;
  return begin("cuDeviceGetUuid_v2");
}

int cuDevicePrimaryCtxRetain(void **ret_context, int device) {
  int result = begin("cuDevicePrimaryCtxRetain");
  if (result == WO_CUDA_SUCCESS && card.mode == WO_CUDA_MODE_PROHIBITED) result = WO_CUDA_UNAVAILABLE;
  if (result == WO_CUDA_SUCCESS && card.retained == 0 && card.context_bytes > wo_standin_free_bytes(memory()))
    result = WO_CUDA_OUT_OF_MEMORY;
  if (result == WO_CUDA_SUCCESS) *ret_context = &card;
  if (result == WO_CUDA_SUCCESS) card.retained++;
  return end(result, "cuDevicePrimaryCtxRetain", (uint64_t)device, 0);
}

/* What is still held is told in the log: nothing may be. */
int cuDevicePrimaryCtxRelease_v2(int device) {
  int result = begin("cuDevicePrimaryCtxRelease_v2");
  if (result == WO_CUDA_SUCCESS && card.retained == 0) result = INVALID_CONTEXT;
  if (result == WO_CUDA_SUCCESS) card.retained--;
  return end(result, "cuDevicePrimaryCtxRelease_v2", (uint64_t)device, card.memory.used_bytes);
}

int cuCtxSetCurrent(void *context) {
  const int result = begin("cuCtxSetCurrent");
  if (result != WO_CUDA_SUCCESS) return result;
  if (context && (context != &card || card.retained == 0)) return INVALID_CONTEXT;
  current = context;
  return WO_CUDA_SUCCESS;
}

int cuCtxSynchronize(void) {
  return begin_current("cuCtxSynchronize");
}

int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total) {
  const int result = begin_current("cuMemGetInfo_v2");
  *ret_free = wo_standin_free_bytes(memory());
  *ret_total = card.memory.total_bytes;
  return result;
}

int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes) {
  int result = begin_current("cuMemAlloc_v2");
  if (result == WO_CUDA_SUCCESS && bytes == 0) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemAlloc", 0, bytes);
  *ret_address = wo_standin_malloc(memory(), bytes);
  return end(*ret_address ? result : WO_CUDA_OUT_OF_MEMORY, "cuMemAlloc", *ret_address, bytes);
}

int cuMemFree_v2(uint64_t address) {
  int result = begin_current("cuMemFree_v2");
  const uint64_t bytes = range_at(address, 1) ? 0 : wo_standin_size(&card.memory, address);
  if (result == WO_CUDA_SUCCESS && bytes == 0) result = WO_CUDA_INVALID_VALUE;
  if (result == WO_CUDA_SUCCESS) wo_standin_free(&card.memory, address);
  return end(result, "cuMemFree", address, bytes);
}

int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  int result = begin_current("cuMemsetD8_v2");
  (void)value;
  if (result == WO_CUDA_SUCCESS && !is_writable(address, bytes)) result = WO_CUDA_INVALID_VALUE;
  return end(result, "cuMemsetD8", address, bytes);
}

int cuMemAddressReserve(uint64_t *ret_address, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags) {
  int result = begin("cuMemAddressReserve");
  if (result == WO_CUDA_SUCCESS && !card.has_vmm) result = 801; /* CUDA_ERROR_NOT_SUPPORTED */
  if (result == WO_CUDA_SUCCESS && ((alignment & (alignment - 1)) != 0 || wanted != 0)) result = WO_CUDA_INVALID_VALUE;
  if (result == WO_CUDA_SUCCESS && (bytes == 0 || bytes % PAGE_BYTES != 0 || flags != 0)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemAddressReserve", 0, bytes);
  if (card.range_count == RANGES_MAX) return end(LOST, "cuMemAddressReserve", 0, bytes);
  *ret_address = wo_standin_reserve(&card.memory, bytes);
  if (*ret_address == 0) return end(LOST, "cuMemAddressReserve", 0, bytes);
  card.ranges[card.range_count++] = (struct range){.at = *ret_address, .size_bytes = bytes};
  return end(result, "cuMemAddressReserve", *ret_address, bytes);
}

int cuMemAddressFree(uint64_t address, size_t bytes) {
  int result = begin("cuMemAddressFree");
  struct range *const range = range_at(address, 1);
  const bool is_right = range && range->at == address && range->size_bytes == bytes && range->mapped_pages == 0;
  if (result == WO_CUDA_SUCCESS && !is_right) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemAddressFree", address, bytes);
  wo_standin_unreserve(&card.memory, address);
  *range = card.ranges[--card.range_count];
  return end(result, "cuMemAddressFree", address, bytes);
}

int cuMemGetAllocationGranularity(size_t *ret_bytes, const struct wo_cuda_memory_kind *kind, int option) {
  const int result = begin("cuMemGetAllocationGranularity");
  *ret_bytes = card.granularity_bytes;
  return result != WO_CUDA_SUCCESS                             ? result
         : is_right_kind(kind) && (option == 0 || option == 1) ? WO_CUDA_SUCCESS
                                                               : WO_CUDA_INVALID_VALUE;
}

int cuMemCreate(uint64_t *ret_handle, size_t bytes, const struct wo_cuda_memory_kind *kind, unsigned long long flags) {
  int result = begin("cuMemCreate");
  const bool is_right = bytes > 0 && bytes % card.granularity_bytes == 0 && is_right_kind(kind) && flags == 0;
  if (result == WO_CUDA_SUCCESS && !is_right) result = WO_CUDA_INVALID_VALUE;
  if (result == WO_CUDA_SUCCESS && !wo_standin_create(memory(), bytes)) result = WO_CUDA_OUT_OF_MEMORY;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemCreate", 0, bytes);
  *ret_handle = card.next_handle++;
  if (!add((struct thing){.kind = HANDLE, .at = *ret_handle, .size_bytes = bytes})) return end(LOST, "cuMemCreate", 0, bytes);
  return end(result, "cuMemCreate", *ret_handle, bytes);
}

int cuMemRelease(uint64_t handle) {
  int result = begin("cuMemRelease");
  struct thing *const thing = find(HANDLE, handle);
  const uint64_t bytes = thing ? thing->size_bytes : 0;
  if (result == WO_CUDA_SUCCESS && (!thing || thing->is_mapped)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemRelease", handle, bytes);
  wo_standin_release(&card.memory, bytes);
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
  for (uint64_t page = address; page < address + bytes; page += PAGE_BYTES) {
    if (!add((struct thing){.kind = PAGE, .at = page, .size_bytes = PAGE_BYTES})) result = LOST;
  }
  if (!add((struct thing){.kind = MAPPING, .at = address, .size_bytes = bytes, .handle = handle})) result = LOST;
  range_at(address, bytes)->mapped_pages += bytes / PAGE_BYTES;
  return end(result, "cuMemMap", address, bytes);
}

int cuMemUnmap(uint64_t address, size_t bytes) {
  int result = begin("cuMemUnmap");
  struct thing *const mapping = find(MAPPING, address);
  if (result == WO_CUDA_SUCCESS && (!mapping || mapping->size_bytes != bytes)) result = WO_CUDA_INVALID_VALUE;
  if (result != WO_CUDA_SUCCESS) return end(result, "cuMemUnmap", address, bytes);
  struct thing *const handle = find(HANDLE, mapping->handle);
  if (handle) handle->is_mapped = false;
  range_at(address, bytes)->mapped_pages -= bytes / PAGE_BYTES;
  drop(mapping);
  for (uint64_t page = address; page < address + bytes; page += PAGE_BYTES) drop(find(PAGE, page));
  return end(result, "cuMemUnmap", address, bytes);
}

int cuMemSetAccess(uint64_t address, size_t bytes, const struct wo_cuda_access *access, size_t count) {
  int result = begin("cuMemSetAccess");
  const bool is_right = count == 1 && access->flags == 3 && access->location.type == 1 && access->location.id >= 0 &&
                        access->location.id < card.cards && is_mapped(address, bytes);
  if (result == WO_CUDA_SUCCESS && !is_right) result = WO_CUDA_INVALID_VALUE;
  for (uint64_t page = address; result == WO_CUDA_SUCCESS && page < address + bytes; page += PAGE_BYTES)
    find(PAGE, page)->is_accessible = true;
  return end(result, "cuMemSetAccess", address, bytes);
}
