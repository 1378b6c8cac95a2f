/* The stand-in driver's log, foretold. See stand_in_mirror.h. */
#include "tests/support/gpu/stand_in_mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#define PAGE_BYTES (UINT64_C(2) << 20)

static uint64_t pages(uint64_t bytes) {
  return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void expect(struct wo_mirror *mirror, const char *symbol, uint64_t at, uint64_t size_bytes) {
  wo_text_add(&mirror->expected, "%s 0x%" PRIx64 " %" PRIu64 " 0\n", symbol, at, size_bytes);
}

static uint64_t new_addresses(struct wo_mirror *mirror, uint64_t size_bytes) {
  const uint64_t at = mirror->is_falling ? mirror->next_address - pages(size_bytes) : mirror->next_address;
  mirror->next_address = mirror->is_falling ? at : at + pages(size_bytes);
  return at;
}

static enum wo_status mirror_segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_mirror *const mirror = state;
  if (mirror->used_bytes + pages(size_bytes) > mirror->capacity_bytes) return WO_E_LIMIT;
  mirror->used_bytes += pages(size_bytes);
  *ret_address = new_addresses(mirror, size_bytes);
  expect(mirror, "cuMemAlloc", *ret_address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  struct wo_mirror *const mirror = state;
  mirror->used_bytes -= pages(size_bytes);
  expect(mirror, "cuMemFree", address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_mirror *const mirror = state;
  *ret_address = new_addresses(mirror, size_bytes);
  expect(mirror, "cuMemAddressReserve", *ret_address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_range_free(void *state, uint64_t address, uint64_t size_bytes) {
  expect(state, "cuMemAddressFree", address, size_bytes);
  return WO_OK;
}

static enum wo_status mirror_map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_mirror *const mirror = state;
  if (mirror->used_bytes + size_bytes > mirror->capacity_bytes) return WO_E_LIMIT;
  mirror->used_bytes += size_bytes;
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
  mirror->used_bytes -= size_bytes;
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
  *ret_free_bytes = mirror->capacity_bytes - mirror->used_bytes;
  *ret_total_bytes = mirror->capacity_bytes;
}

static const char *mirror_message(void *state) {
  (void)state;
  return "";
}

struct wo_device wo_mirror_device(struct wo_mirror *mirror) {
  if (mirror->next_handle == 0) mirror->next_handle = 1;
  if (mirror->next_address == 0) mirror->next_address = UINT64_C(0x7f0000000000);
  return (struct wo_device){mirror,     mirror_segment_alloc, mirror_segment_free, mirror_range_reserve, mirror_range_free,
                            mirror_map, mirror_unmap,         mirror_memory_info,  mirror_message};
}

void wo_mirror_done(struct wo_mirror *mirror) {
  wo_text_done(&mirror->expected);
  wo_address_map_done(&mirror->handles);
}
