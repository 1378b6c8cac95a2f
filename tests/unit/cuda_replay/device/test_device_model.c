/* SPDX-License-Identifier: Apache-2.0 */
/* The device that is not there: capacity, pages, addresses by policy, what exists already. */
#include "cuda_replay/device/device_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

enum { SEGMENTS = 200 };

static struct wo_device_model *open_model(struct wo_device *device, enum wo_address_policy policy, uint64_t capacity_mib) {
  const struct wo_device_model_options options = {
      .capacity_bytes = capacity_mib == 0 ? UINT64_MAX : capacity_mib * MIB,
      .policy = policy,
      .seed = 3,
  };
  struct wo_device_model *const model = wo_device_model_new(&options, device);
  assert_non_null(model);
  return model;
}

static uint64_t take(const struct wo_device *device, uint64_t size_bytes) {
  uint64_t address = 0;
  assert_int_equal(device->segment_alloc(device->state, size_bytes, &address), WO_OK);
  assert_true(address > 0);
  return address;
}

static void counts_pages(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model *const model = open_model(&device, WO_ADDRESS_ASCENDING, 10);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  const uint64_t odd = take(&device, 3 * MIB);
  assert_int_equal(wo_device_model_used(model), 4 * MIB);
  take(&device, 6 * MIB);
  uint64_t address = 5;
  assert_int_equal(device.segment_alloc(device.state, 1, &address), WO_E_LIMIT);
  assert_int_equal(address, 5);
  assert_int_equal(device.segment_free(device.state, odd, 3 * MIB), WO_OK);
  device.memory_info(device.state, &free_bytes, &total_bytes);
  assert_int_equal(free_bytes, 4 * MIB);
  assert_int_equal(total_bytes, 10 * MIB);
  assert_int_equal(device.segment_free(device.state, odd, 3 * MIB), WO_E_RANGE);
  assert_true(device.message(device.state)[0] != '\0');
  assert_null(wo_device_model_free(model));
  assert_null(wo_device_model_free(NULL));
}

static void knows_no_limit(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model *const model = open_model(&device, WO_ADDRESS_ASCENDING, 0);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  take(&device, UINT64_C(1) << 42);
  device.memory_info(device.state, &free_bytes, &total_bytes);
  assert_true(free_bytes == UINT64_MAX);
  assert_int_equal(total_bytes, UINT64_C(80) << 30);
  uint64_t address = 0;
  assert_int_equal(device.segment_alloc(device.state, UINT64_MAX, &address), WO_E_LIMIT);
  assert_int_equal(device.segment_alloc(device.state, UINT64_C(1) << 60, &address), WO_E_LIMIT);
  wo_device_model_free(model);
}

static int compare(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a;
  const uint64_t right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static uint64_t size_of(size_t i) {
  return (i % 3 == 0 ? 2 : i % 3 == 1 ? 20 : 34) * MIB;
}

/* Segments of any policy never overlap, gaps are used again, and large segments stand at multiples of 32 MiB. */
static void segments_do_not_overlap(void **state) {
  (void)state;
  for (int policy = WO_ADDRESS_ASCENDING; policy <= WO_ADDRESS_SHUFFLED; policy++) {
    struct wo_device device;
    struct wo_device_model *const model = open_model(&device, (enum wo_address_policy)policy, 0);
    static uint64_t spans[SEGMENTS][2];
    for (size_t i = 0; i < SEGMENTS; i++) spans[i][0] = take(&device, size_of(i));
    for (size_t round = 0; round < 5; round++) {
      for (size_t i = round; i < SEGMENTS; i += 3) {
        assert_int_equal(device.segment_free(device.state, spans[i][0], size_of(i)), WO_OK);
      }
      for (size_t i = round; i < SEGMENTS; i += 3) spans[i][0] = take(&device, size_of(i));
    }
    for (size_t i = 0; i < SEGMENTS; i++) {
      spans[i][1] = spans[i][0] + size_of(i);
      assert_int_equal(spans[i][0] % (size_of(i) >= 20 * MIB ? 32 * MIB : 2 * MIB), 0);
    }
    qsort(spans, SEGMENTS, sizeof spans[0], compare);
    for (size_t i = 1; i < SEGMENTS; i++) assert_true(spans[i - 1][1] <= spans[i][0]);
    wo_device_model_free(model);
  }
}

static void policies_differ(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model *model = open_model(&device, WO_ADDRESS_ASCENDING, 0);
  const uint64_t low = take(&device, 2 * MIB);
  assert_int_equal(take(&device, 2 * MIB), low + 2 * MIB);
  assert_int_equal(device.segment_free(device.state, low, 2 * MIB), WO_OK);
  assert_int_equal(take(&device, 2 * MIB), low);
  wo_device_model_free(model);
  model = open_model(&device, WO_ADDRESS_DESCENDING, 0);
  const uint64_t high = take(&device, 2 * MIB);
  assert_int_equal(take(&device, 2 * MIB), high - 2 * MIB);
  assert_int_equal(device.segment_free(device.state, high, 2 * MIB), WO_OK);
  assert_int_equal(take(&device, 2 * MIB), high);
  wo_device_model_free(model);
  model = open_model(&device, WO_ADDRESS_SHUFFLED, 0);
  const uint64_t first = take(&device, 2 * MIB);
  const uint64_t second = take(&device, 2 * MIB);
  wo_device_model_free(model);
  model = open_model(&device, WO_ADDRESS_SHUFFLED, 0);
  assert_int_equal(take(&device, 2 * MIB), first); /* the same seed, the same addresses */
  assert_int_equal(take(&device, 2 * MIB), second);
  wo_device_model_free(model);
}

static void ranges_take_addresses_only(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model *const model = open_model(&device, WO_ADDRESS_ASCENDING, 100);
  uint64_t range = 0;
  assert_int_equal(device.range_reserve(device.state, 140 * MIB, &range), WO_OK);
  assert_int_equal(wo_device_model_used(model), 0);
  assert_true(take(&device, 2 * MIB) >= range + 140 * MIB);
  assert_int_equal(device.map(device.state, range, 80 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(wo_device_model_used(model), 82 * MIB);
  assert_int_equal(device.map(device.state, range + 80 * MIB, 20 * MIB, 20 * MIB), WO_E_LIMIT);
  assert_int_equal(device.map(device.state, range + 80 * MIB, 11 * MIB, 11 * MIB), WO_E_RANGE);
  assert_int_equal(device.unmap(device.state, range, 80 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(device.range_free(device.state, range, 140 * MIB), WO_OK);
  assert_int_equal(device.range_free(device.state, range, 140 * MIB), WO_E_RANGE);
  wo_device_model_free(model);
}

static void takes_what_exists(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model *const model = open_model(&device, WO_ADDRESS_ASCENDING, 100);
  const uint64_t base = take(&device, 2 * MIB) + 2 * MIB;
  assert_int_equal(wo_device_model_take(model, base, 90 * MIB), WO_OK);
  assert_int_equal(wo_device_model_take(model, base + 88 * MIB, 4 * MIB), WO_E_RANGE);
  assert_int_equal(wo_device_model_take(model, 0, MIB), WO_E_RANGE);
  assert_int_equal(wo_device_model_take(model, UINT64_MAX, MIB), WO_E_RANGE);
  /* A range is reserved as a whole, then its runs are taken. */
  uint64_t range = 0;
  assert_int_equal(device.range_reserve(device.state, 400 * MIB, &range), WO_OK);
  assert_int_equal(wo_device_model_take(model, range + 40 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(wo_device_model_used(model), 112 * MIB);
  uint64_t free_bytes = 1;
  uint64_t total_bytes = 0;
  device.memory_info(device.state, &free_bytes, &total_bytes);
  assert_int_equal(free_bytes, 0);
  uint64_t address = 0;
  assert_int_equal(device.segment_alloc(device.state, 2 * MIB, &address), WO_E_LIMIT);
  wo_device_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_pages),
      cmocka_unit_test(knows_no_limit),
      cmocka_unit_test(segments_do_not_overlap),
      cmocka_unit_test(policies_differ),
      cmocka_unit_test(ranges_take_addresses_only),
      cmocka_unit_test(takes_what_exists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
