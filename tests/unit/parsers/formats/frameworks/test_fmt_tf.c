/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's tensors: the size that the shape and the type give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static const struct {
  const char *shape;
  const char *type; /* NULL: not printed */
  double bytes;     /* -1: unknown */
  double batch;
} rows[] = {
    {"8,16", "float", 512, 8},
    {"8,16", "half", 256, 8},
    {"8,16", "bfloat16", 256, 8},
    {"8,16", "double", 1024, 8},
    {"8,16", "int64", 1024, 8},
    {"8,16", "complex64", 1024, 8},
    {"8,16", "complex128", 2048, 8},
    {"8,16", "int8", 128, 8},
    {"8,16", "bool", 128, 8},
    {"8,16", "uint16", 256, 8},
    {"8,16", "int32", 512, 8},
    {"8, 16", "float", 512, 8},
    {"7", "float", 28, -1},
    {"3,0,5", "float", 0, 3},
    {"1048576,1048576", "float", 4398046511104, -1},
    {"65536,4", "float", 1048576, 65536},
    {"64,512,1024", NULL, 134217728, 64},
    {"", "float", -1, -1},
    {"8,", "float", 32, -1},
    {"99999999999999,5", "float", -1, -1},
    {"1000000000,1000000000,1000000000", "float", -1, -1},
};

static void test_sizes(void **state) {
  const struct sample_patterns *patterns = *state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    char log[256];
    if (rows[i].type != NULL) {
      snprintf(log, sizeof log,
               "ResourceExhaustedError: OOM when allocating tensor with shape[%s] and type %s on "
               "/job:localhost/replica:0/task:0/device:GPU:2 by allocator GPU_2_bfc\n",
               rows[i].shape, rows[i].type);
    } else {
      snprintf(log, sizeof log, "ResourceExhaustedError: OOM when allocating tensor with shape[%s]\n", rows[i].shape);
    }
    sample_scan_text(patterns->set, log, &store);
    const struct wo_event *event = sample_find(&store, WO_KIND_TF_OOM, 0);
    if (event == NULL) fail_msg("nothing found in %s", log);
    assert_true(fabs(wo_event_number(event, WO_FIELD_TRIED_BYTES, -1) - rows[i].bytes) < 0.5);
    assert_true(fabs(wo_event_number(event, WO_FIELD_BATCH, -1) - rows[i].batch) < 0.5);
    assert_true(wo_event_number(event, WO_FIELD_GPU, -1) == (rows[i].type != NULL ? 2 : -1));
    sample_expect_text(event, WO_FIELD_DTYPE, rows[i].type);
    wo_event_store_done(&store);
  }
}

/* The size is exact: it was not printed, so nothing was rounded. */
static void test_the_size_is_exact(void **state) {
  const struct sample_patterns *patterns = *state;
  struct wo_event_store store;
  sample_scan_text(patterns->set,
                   "OOM when allocating tensor with shape[3,5] and type float on /device:GPU:0 by allocator GPU_0_bfc", &store);
  const struct wo_field *tried = wo_event_field(sample_find(&store, WO_KIND_TF_OOM, 0), WO_FIELD_TRIED_BYTES);
  assert_true(tried != NULL && tried->number.lo == 60 && tried->number.hi == 60);
  wo_event_store_done(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_the_size_is_exact),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
