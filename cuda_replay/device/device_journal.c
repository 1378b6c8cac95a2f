/* SPDX-License-Identifier: Apache-2.0 */
/* Records the calls of a device, and compares later calls with them. See device_journal.h. */
#include "cuda_replay/device/device_journal.h"

#include <assert.h>
#include <stdio.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

#define PAGE_BYTES (UINT64_C(2) << 20)

/* The start of addresses that no driver gives: above 2^56. */
#define OWN_ADDRESSES (UINT64_C(1) << 57)

/* ---- Recording ---- */

/* Makes a call; one that gives an address sets it. */
static enum wo_status pass_on(const struct wo_device *device, struct wo_journal_call *call) {
  switch (call->kind) {
  case WO_JOURNAL_SEGMENT_ALLOC:
    return device->segment_alloc(device->state, call->size_bytes, &call->address);
  case WO_JOURNAL_SEGMENT_FREE:
    return device->segment_free(device->state, call->address, call->size_bytes);
  case WO_JOURNAL_RANGE_RESERVE:
    return device->range_reserve(device->state, call->size_bytes, &call->address);
  case WO_JOURNAL_RANGE_FREE:
    return device->range_free(device->state, call->address, call->size_bytes);
  case WO_JOURNAL_MAP:
    return device->map(device->state, call->address, call->size_bytes, call->handle_bytes);
  default:
    return device->unmap(device->state, call->address, call->size_bytes, call->handle_bytes);
  }
}

/* Makes room before the call, so that every call on the device is recorded. */
static enum wo_status note(struct wo_journal *journal, struct wo_journal_call call, uint64_t *ret_address) {
  if (!WO_VEC_RESERVE(&journal->calls, 1, 4 * WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  const enum wo_status status = pass_on(journal->device, &call);
  if (status == WO_OK && ret_address != NULL) *ret_address = call.address;
  call.is_refused = status == WO_E_LIMIT;
  if (status == WO_OK || status == WO_E_LIMIT) journal->calls.items[journal->calls.count++] = call;
  return status;
}

static enum wo_status noted_segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  return note(state, (struct wo_journal_call){0, size_bytes, 0, WO_JOURNAL_SEGMENT_ALLOC, false}, ret_address);
}

static enum wo_status noted_segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  return note(state, (struct wo_journal_call){address, size_bytes, 0, WO_JOURNAL_SEGMENT_FREE, false}, NULL);
}

static enum wo_status noted_range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  return note(state, (struct wo_journal_call){0, size_bytes, 0, WO_JOURNAL_RANGE_RESERVE, false}, ret_address);
}

static enum wo_status noted_range_free(void *state, uint64_t address, uint64_t size_bytes) {
  return note(state, (struct wo_journal_call){address, size_bytes, 0, WO_JOURNAL_RANGE_FREE, false}, NULL);
}

static enum wo_status noted_map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  return note(state, (struct wo_journal_call){address, size_bytes, handle_bytes, WO_JOURNAL_MAP, false}, NULL);
}

static enum wo_status noted_unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  return note(state, (struct wo_journal_call){address, size_bytes, handle_bytes, WO_JOURNAL_UNMAP, false}, NULL);
}

static void noted_memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo_journal *const journal = state;
  journal->device->memory_info(journal->device->state, ret_free_bytes, ret_total_bytes);
}

static const char *noted_message(void *state) {
  const struct wo_journal *const journal = state;
  const char *const message = journal->device->message(journal->device->state);
  return message[0] != '\0' ? message : "out of memory in whyoom itself";
}

struct wo_device wo_journal_device(struct wo_journal *journal, const struct wo_device *device) {
  assert(journal != NULL && device != NULL);
  journal->device = device;
  return (struct wo_device){journal,   noted_segment_alloc, noted_segment_free, noted_range_reserve, noted_range_free,
                            noted_map, noted_unmap,         noted_memory_info,  noted_message};
}

void wo_journal_done(struct wo_journal *journal) {
  if (journal) WO_VEC_DONE(&journal->calls);
}

/* ---- Comparing ---- */

static uint64_t pages(uint64_t size_bytes) {
  assert(size_bytes < UINT64_C(1) << 62);
  return (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static bool has_room(const struct wo_echo *echo, uint64_t size_bytes) {
  return size_bytes <= echo->capacity_bytes && echo->used_bytes <= echo->capacity_bytes - size_bytes;
}

/* The address is compared if the call takes one; if the call gives one, it comes from the journal. */
static bool is_same(const struct wo_journal_call *wanted, const struct wo_journal_call *got) {
  const bool gives = got->kind == WO_JOURNAL_SEGMENT_ALLOC || got->kind == WO_JOURNAL_RANGE_RESERVE;
  return wanted->kind == got->kind && wanted->size_bytes == got->size_bytes && wanted->handle_bytes == got->handle_bytes &&
         wanted->is_refused == got->is_refused && (gives || wanted->address == got->address);
}

/* Compares a call with the journal; NULL from the first difference on. */
static const struct wo_journal_call *compare(struct wo_echo *echo, const struct wo_journal_call *got) {
  const size_t at = echo->at++;
  if (echo->has_difference) return NULL;
  if (at < echo->journal->calls.count && is_same(&echo->journal->calls.items[at], got)) return &echo->journal->calls.items[at];
  echo->has_difference = true;
  echo->got = *got;
  echo->at_difference = at;
  return NULL;
}

/* A call that gives addresses. */
static enum wo_status give(struct wo_echo *echo, const struct wo_journal_call *call, uint64_t *ret_address) {
  const struct wo_journal_call *const same = compare(echo, call);
  if (call->is_refused) return WO_E_LIMIT;
  if (echo->next_address == 0) echo->next_address = OWN_ADDRESSES;
  *ret_address = same ? same->address : echo->next_address;
  if (!same) echo->next_address += pages(call->size_bytes);
  return WO_OK;
}

static enum wo_status echo_segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_echo *const echo = state;
  const struct wo_journal_call call = {
      .kind = WO_JOURNAL_SEGMENT_ALLOC, .size_bytes = size_bytes, .is_refused = !has_room(echo, pages(size_bytes))};
  const enum wo_status status = give(echo, &call, ret_address);
  if (status == WO_OK) echo->used_bytes += pages(size_bytes);
  return status;
}

static enum wo_status echo_segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_echo *const echo = state;
  compare(echo, &(struct wo_journal_call){.kind = WO_JOURNAL_SEGMENT_FREE, .address = address, .size_bytes = size_bytes});
  assert(echo->used_bytes >= pages(size_bytes));
  echo->used_bytes -= pages(size_bytes);
  return WO_OK;
}

static enum wo_status echo_range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  const struct wo_journal_call call = {.kind = WO_JOURNAL_RANGE_RESERVE, .size_bytes = size_bytes};
  return give(state, &call, ret_address);
}

static enum wo_status echo_range_free(void *state, uint64_t address, uint64_t size_bytes) {
  compare(state, &(struct wo_journal_call){.kind = WO_JOURNAL_RANGE_FREE, .address = address, .size_bytes = size_bytes});
  return WO_OK;
}

static enum wo_status echo_map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_echo *const echo = state;
  const struct wo_journal_call call = {address, size_bytes, handle_bytes, WO_JOURNAL_MAP, !has_room(echo, size_bytes)};
  compare(echo, &call);
  if (call.is_refused) return WO_E_LIMIT;
  echo->used_bytes += size_bytes;
  return WO_OK;
}

static enum wo_status echo_unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_echo *const echo = state;
  compare(echo, &(struct wo_journal_call){address, size_bytes, handle_bytes, WO_JOURNAL_UNMAP, false});
  assert(echo->used_bytes >= size_bytes);
  echo->used_bytes -= size_bytes;
  return WO_OK;
}

static void echo_memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo_echo *const echo = state;
  *ret_free_bytes = echo->capacity_bytes - echo->used_bytes;
  *ret_total_bytes = echo->capacity_bytes;
}

static const char *echo_message(void *state) {
  (void)state;
  return "";
}

struct wo_device wo_echo_device(struct wo_echo *echo) {
  assert(echo != NULL && echo->journal != NULL && echo->capacity_bytes < UINT64_C(1) << 62);
  return (struct wo_device){echo,     echo_segment_alloc, echo_segment_free, echo_range_reserve, echo_range_free,
                            echo_map, echo_unmap,         echo_memory_info,  echo_message};
}

/* "refuses a segment of 20.00 MiB" */
static const char *describe(const struct wo_journal_call *call, char *buf, size_t cap) {
  static const char *const verbs[WO_JOURNAL_KIND_COUNT_] = {[WO_JOURNAL_SEGMENT_ALLOC] = "gives a segment of",
                                                            [WO_JOURNAL_SEGMENT_FREE] = "takes back a segment of",
                                                            [WO_JOURNAL_RANGE_RESERVE] = "reserves addresses for",
                                                            [WO_JOURNAL_RANGE_FREE] = "takes back addresses for",
                                                            [WO_JOURNAL_MAP] = "maps",
                                                            [WO_JOURNAL_UNMAP] = "unmaps"};
  snprintf(buf, cap, "%s %s",
           !call->is_refused              ? verbs[call->kind]
           : call->kind == WO_JOURNAL_MAP ? "refuses to map"
                                          : "refuses a segment of",
           WO_BYTES_TEXT(call->size_bytes));
  return buf;
}

bool wo_echo_agrees(const struct wo_echo *echo, char *buf, size_t cap) {
  const size_t count = echo->journal->calls.count;
  char gpu[96];
  char model[96];
  const size_t at = echo->has_difference ? echo->at_difference : echo->at;
  if (!echo->has_difference && echo->at == count) return true;
  snprintf(buf, cap, "call %zu: the GPU %s, the model %s", at,
           at < count ? describe(&echo->journal->calls.items[at], gpu, sizeof gpu) : "is not asked any more",
           echo->has_difference ? describe(&echo->got, model, sizeof model) : "is not asked any more");
  return false;
}
