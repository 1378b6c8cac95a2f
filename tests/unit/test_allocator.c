/* The allocator model, rule by rule. */
#include "cuda_replay/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/device_model.h"

#define MIB (UINT64_C(1) << 20)

static void smoke(void **state) {
  (void)state;
  struct wo_device device;
  struct wo_device_model_options dopt = {.capacity_bytes = 100 * MIB};
  struct wo_device_model *model = wo_device_model_new(&dopt, &device);
  struct wo_allocator_options options = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
  struct wo_allocator *a = NULL;
  assert_int_equal(wo_allocator_new(&options, &a, NULL), WO_OK);
  wo_block_id ids[64];
  uint64_t seed = 1;
  size_t live = 0;
  for (int i = 0; i < 20000; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t r = seed >> 33;
    if (live < 64 && r % 2 == 0) {
      const uint64_t size = (r >> 1) % 4 == 0 ? 1 + (r >> 3) % (30 * MIB) : 1 + (r >> 3) % (2 * MIB);
      const enum wo_status status = wo_allocator_malloc(a, size, (r >> 8) % 3, &ids[live]);
      if (status == WO_OK)
        live++;
      else
        assert_int_equal(status, WO_E_LIMIT);
    } else if (live > 0) {
      const size_t k = (r >> 3) % live;
      wo_allocator_free_block(a, ids[k], false);
      ids[k] = ids[--live];
    }
    const char *why = NULL;
    if (!wo_allocator_is_valid(a, &why)) fail_msg("%s", why);
    assert_int_equal(wo_device_model_used(model), wo_allocator_stats(a)->reserved_bytes[0].current);
  }
  assert_true(wo_allocator_stats(a)->num_ooms > 0);
  wo_allocator_free(a);
  wo_device_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(smoke)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
