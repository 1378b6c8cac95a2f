/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in driver's log, foretold. See stand_in_mirror.h. */
#include "tests/support/gpu/stand_in_mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

static void expect(struct wo_mirror *mirror, const char *symbol, uint64_t at, uint64_t size_bytes) {
  wo_text_add(&mirror->expected, "%s 0x%" PRIx64 " %" PRIu64 " 0\n", symbol, at, size_bytes);
}

static enum wo_status mirror_segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_mirror *const mirror = state;
  *ret_address = wo_standin_malloc(&mirror->memory, size_bytes);
  if (*ret_address == 0) return WO_E_LIMIT;
  expect(mirror, "cuMemAlloc", *ret_address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_mirror *const mirror = state;
  assert_true(wo_standin_free(&mirror->memory, address));
  expect(mirror, "cuMemFree", address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_mirror *const mirror = state;
  *ret_address = wo_standin_reserve(&mirror->memory, size_bytes);
  expect(mirror, "cuMemAddressReserve", *ret_address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_range_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_mirror *const mirror = state;
  assert_true(wo_standin_unreserve(&mirror->memory, address));
  expect(mirror, "cuMemAddressFree", address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_mirror *const mirror = state;
  if (!wo_standin_create(&mirror->memory, size_bytes)) return WO_E_LIMIT;
  for (uint64_t at = address; at < address + size_bytes; at += handle_bytes) {
    assert_int_equal(wo_address_map_put(&mirror->handles, at, (uint32_t)mirror->next_handle), WO_OK);
    expect(mirror, "cuMemCreate", mirror->next_handle++, handle_bytes);
  }
  for (uint64_t at = address; at < address + size_bytes; at += handle_bytes) expect(mirror, "cuMemMap", at, handle_bytes);
  expect(mirror, "cuMemSetAccess", address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_mirror *const mirror = state;
  wo_standin_release(&mirror->memory, size_bytes);
  for (uint64_t at = address; at < address + size_bytes; at += handle_bytes) {
    uint32_t handle = 0;
    assert_true(wo_address_map_remove(&mirror->handles, at, &handle));
    expect(mirror, "cuMemUnmap", at, handle_bytes);
    expect(mirror, "cuMemRelease", handle, handle_bytes);
  }
  return WO_OK;
}

static void mirror_memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  const struct wo_mirror *const mirror = state;
  *ret_free_bytes = wo_standin_free_bytes(&mirror->memory);
  *ret_total_bytes = mirror->capacity_bytes;
}

static const char *mirror_message(void *state) {
  (void)state;
  return "";
}

struct wo_device wo_mirror_device(struct wo_mirror *mirror) {
  if (mirror->next_handle == 0) mirror->next_handle = 1;
  if (mirror->memory.total_bytes == 0) {
    wo_standin_reset(&mirror->memory, mirror->capacity_bytes, mirror->is_falling ? WO_STANDIN_DESCENDING : WO_STANDIN_ASCENDING,
                     0);
    mirror->memory.is_one_space = true;
  }
  return (struct wo_device){mirror,     mirror_segment_alloc, mirror_segment_free, mirror_range_reserve, mirror_range_free,
                            mirror_map, mirror_unmap,         mirror_memory_info,  mirror_message};
}

void wo_mirror_restart(struct wo_mirror *mirror, uint64_t capacity_bytes) {
  wo_mirror_done(mirror);
  mirror->capacity_bytes = capacity_bytes;
  mirror->memory.capacity_bytes = capacity_bytes;
  mirror->memory.used_bytes = 0;
  mirror->memory.region_count = 0;
}

void wo_mirror_done(struct wo_mirror *mirror) {
  wo_text_done(&mirror->expected);
  wo_address_map_done(&mirror->handles);
}
