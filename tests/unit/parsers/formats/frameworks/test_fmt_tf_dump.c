/* SPDX-License-Identifier: Apache-2.0 */
/* The dump of TensorFlow's allocator: its figures, its largest group of chunks, and the failure that it belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_own.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

#define STAMP "2023-04-05 06:07:08.091011: "
#define TF "I tensorflow/core/common_runtime/bfc_allocator.cc:1066] "
#define RAN_OUT                                                                                                                  \
  STAMP "W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_1_bfc) ran out of memory trying to allocate "     \
        "1.25GiB (rounded to 1342177280)requested by op model/attention/Softmax\n"
#define TENSOR                                                                                                                   \
  "ResourceExhaustedError: OOM when allocating tensor with shape[16,1024,256] and type float on "                                \
  "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n"

static const char dump[] =
    STAMP TF "5 Chunks of size 1048576 totalling 5.00MiB\n" STAMP TF "3 Chunks of size 268435456 totalling 768.00MiB\n" STAMP TF
             "1 Chunks of size 536870912 totalling 512.00MiB\n" STAMP TF "Sum Total of in-use chunks: 1.26GiB\n" STAMP TF
             "total_region_allocated_bytes_: 8589934592 memory_limit_: 8589934592 available bytes: 0\n" STAMP TF "Stats: \n"
             "Limit:                      8589934592\n"
             "InUse:                      8321499136\n"
             "MaxInUse:                   8455716864\n"
             "NumAllocs:                       71023\n"
             "MaxAllocSize:                268435456\n";

static const struct wo_event *the_dump(const struct wo_event_store *store) {
  const struct wo_event *const event = sample_find(store, WO_KIND_NOTE, 0);
  assert_int_equal(sample_count(store, WO_KIND_NOTE), 1);
  assert_true(wo_view_is(event->pattern_id, "bfc-dump"));
  return event;
}

/* Scans the three parts as one log. */
static void scan_parts(struct wo_pattern_set *set, const char *before, const char *middle, const char *after,
                       struct wo_event_store *store) {
  struct sample_log log = {0};
  sample_say(&log, before);
  sample_say(&log, middle);
  sample_say(&log, after);
  sample_scan(set, sample_view(&log), CHUNK_WHOLE, store);
  sample_free(&log);
}

/* A text over and over; the caller frees it. */
static char *repeat(const char *text, size_t count) {
  struct sample_log log = {0};
  for (size_t i = 0; i < count; i++) sample_say(&log, text);
  sample_put(&log, "", 1);
  return log.text;
}

static void test_dump(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), dump, &store);
  const struct wo_event *const event = the_dump(&store);
  sample_expect_number(event, WO_FIELD_LIMIT_BYTES, 8589934592.0);
  sample_expect_number(event, WO_FIELD_USED_BYTES, 8321499136.0);
  sample_expect_number(event, WO_FIELD_PEAK_BYTES, 8455716864.0);
  sample_expect_number(event, WO_FIELD_LARGEST_BYTES, 3 * 268435456.0);
  sample_expect_number(event, WO_FIELD_COUNT, 3);
  assert_int_equal(event->span.line, 1);
  expect_stable(set_of(state), wo_view_of(dump), &store);
  wo_event_store_done(&store);
}

/* Figures are printed in full, so nothing was rounded. */
static void test_exact(void **state) {
  static const enum wo_field_id fields[] = {WO_FIELD_LARGEST_BYTES, WO_FIELD_COUNT};
  struct wo_event_store store;
  sample_scan_text(set_of(state), dump, &store);
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    const struct wo_field *const field = wo_event_field(the_dump(&store), fields[i]);
    assert_true(field->number.lo == field->number.hi);
  }
  wo_event_store_done(&store);
}

static const struct {
  const char *lines; /* behind the first group, 2 chunks of 4096 */
  double bytes;
  double count;
} groups[] = {
    {"", 8192, 2},
    {TF "1 Chunks of size 8192 totalling 8.0KiB\n", 8192, 2},
    {TF "1 Chunks of size 8193 totalling 8.0KiB\n", 8193, 1},
    {TF "9 Chunks of size 256 totalling 2.2KiB\n", 8192, 2},
    {TF "4294967295 Chunks of size 1125899906842624 totalling 4.0EiB\n", 8192, 2},
    {TF "99999999999 Chunks of size 4096 totalling 1.0TiB\n", 8192, 2},
    {TF "7 Chunks of size 9999999999999999 totalling 1.0TiB\n", 8192, 2},
    {TF "many Chunks of size 65536 totalling 1.0MiB\n", 8192, 2},
    {TF "16 Chunks of size huge totalling 1.0MiB\n", 8192, 2},
    {TF "16 Chunks of size ", 8192, 2},
    {TF "16 Chunks of size 65536", 1048576, 16},
};

static void test_groups(void **state) {
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    struct wo_event_store store;
    scan_parts(set_of(state), TF "2 Chunks of size 4096 totalling 8.0KiB\n", groups[i].lines, "", &store);
    const struct wo_event *const event = the_dump(&store);
    if (wo_event_number(event, WO_FIELD_LARGEST_BYTES, -1) != groups[i].bytes) fail_msg("row %zu", i);
    sample_expect_number(event, WO_FIELD_COUNT, groups[i].count);
    wo_event_store_done(&store);
  }
}

/* Without its chunks the dump begins at its sums; figures that are none stay unknown. */
static void test_stats_alone(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), TF "Stats: \nLimit:  unlimited\nInUse:      4096\nInUse:      8192\nMaxInUse:\n", &store);
  const struct wo_event *const event = the_dump(&store);
  sample_expect_number(event, WO_FIELD_LIMIT_BYTES, -1);
  sample_expect_number(event, WO_FIELD_USED_BYTES, 4096);
  sample_expect_number(event, WO_FIELD_PEAK_BYTES, -1);
  sample_expect_number(event, WO_FIELD_LARGEST_BYTES, -1);
  sample_expect_number(event, WO_FIELD_COUNT, -1);
  wo_event_store_done(&store);
}

/* The rounded sum of chunks in use is not the figure of the pool. */
static void test_rounded_sum(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), TF "Sum Total of in-use chunks: 1.26GiB\n", &store);
  sample_expect_number(the_dump(&store), WO_FIELD_USED_BYTES, -1);
  wo_event_store_done(&store);
}

static double limit_behind(struct wo_pattern_set *set, size_t strays, const char *stray) {
  struct wo_event_store store;
  char *const lines = repeat(stray, strays);
  scan_parts(set, TF "Stats: \n", lines, "Limit:      4294967296\n", &store);
  const double limit = wo_event_number(the_dump(&store), WO_FIELD_LIMIT_BYTES, -1);
  wo_event_store_done(&store);
  free(lines);
  return limit;
}

static void test_strays(void **state) {
  assert_true(limit_behind(set_of(state), 12, "a note on a region\n") == 4294967296.0);
  assert_true(limit_behind(set_of(state), 13, "a note on a region\n") == -1);
  assert_true(limit_behind(set_of(state), 40, "a note\nanother note\nNumAllocs:      5\n") == 4294967296.0);
  assert_true(limit_behind(set_of(state), 3000, TF "2 Chunks of size 256 totalling 512B\n") == 4294967296.0);
}

/* ---- The failure ---- */

static void expect_pool(const struct wo_event *failure, double limit, double used) {
  assert_non_null(failure);
  sample_expect_number(failure, WO_FIELD_CAPACITY_BYTES, limit);
  sample_expect_number(failure, WO_FIELD_ALLOCATED_BYTES, used);
}

/* The allocator speaks, dumps, and the operation fails: both failures are told of the pool. */
static void test_both_sides(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), RAN_OUT, dump, TENSOR, &store);
  assert_int_equal(sample_count(&store, WO_KIND_TF_OOM), 2);
  expect_pool(sample_find(&store, WO_KIND_TF_OOM, 0), 8589934592.0, 8321499136.0);
  expect_pool(sample_find(&store, WO_KIND_TF_OOM, 1), 8589934592.0, 8321499136.0);
  sample_expect_number(sample_find(&store, WO_KIND_TF_OOM, 0), WO_FIELD_TRIED_BYTES, 1.25 * WO_GIB);
  sample_expect_number(sample_find(&store, WO_KIND_TF_OOM, 1), WO_FIELD_TRIED_BYTES, 16 * WO_MIB);
  the_dump(&store);
  wo_event_store_done(&store);
}

/* XLA has the same allocator, and its failures are of another kind. */
static void test_xla(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state),
             "W external/xla/xla/tsl/framework/bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
             "2.50GiB (rounded to 2684354560)requested by op\n",
             "I external/xla/xla/tsl/framework/bfc_allocator.cc:1106] Stats: \nLimit:  34359738368\nInUse:  33285996544\n", "",
             &store);
  expect_pool(sample_find(&store, WO_KIND_JAX_OOM, 0), 34359738368.0, 33285996544.0);
  assert_int_equal(sample_count(&store, WO_KIND_TF_OOM), 0);
  wo_event_store_done(&store);
}

/* The failure's line ends the dump, is read, and is told of the pool though the dump has only just ended. */
static void test_failure_ends_the_dump(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), TF "Stats: \nLimit:  1073741824\nInUse:  536870912\n", TENSOR, "MaxInUse:  805306368\n", &store);
  expect_pool(sample_find(&store, WO_KIND_TF_OOM, 0), 1073741824.0, 536870912.0);
  sample_expect_number(the_dump(&store), WO_FIELD_PEAK_BYTES, -1);
  wo_event_store_done(&store);
}

/* A failure long after the dump has another reason. */
static void test_distance(void **state) {
  static const struct {
    size_t lines;
    double limit;
  } distances[] = {{150, 8589934592.0}, {180, 8589934592.0}, {195, -1}, {1000, -1}};
  for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
    struct wo_event_store store;
    char *const between = repeat("loss: 0.5\n", distances[i].lines);
    scan_parts(set_of(state), dump, between, TENSOR, &store);
    sample_expect_number(sample_find(&store, WO_KIND_TF_OOM, 0), WO_FIELD_CAPACITY_BYTES, distances[i].limit);
    wo_event_store_done(&store);
    free(between);
  }
}

/* Before the sums every chunk is listed, which is long. */
static void test_long_dump(void **state) {
  static const size_t lines[] = {5000, 21000};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct wo_event_store store;
    char *const chunks = repeat("InUse at 7f3a8c000000 of size 256 next 17\n", lines[i]);
    scan_parts(set_of(state), RAN_OUT, chunks, dump, &store);
    sample_expect_number(sample_find(&store, WO_KIND_TF_OOM, 0), WO_FIELD_CAPACITY_BYTES, lines[i] < 20000 ? 8589934592.0 : -1);
    wo_event_store_done(&store);
    free(chunks);
  }
}

/* A dump of one rank says nothing of another's pool. */
static void test_ranks(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), "[rank0]: " RAN_OUT, "[rank1]: " RAN_OUT,
             "[rank0]: " TF "Stats: \n[rank0]: Limit:  2147483648\n[rank0]: InUse:  1073741824\n", &store);
  const struct wo_event *const own = sample_find(&store, WO_KIND_TF_OOM, 0);
  const struct wo_event *const other = sample_find(&store, WO_KIND_TF_OOM, 1);
  assert_true(own != NULL && other != NULL && own->rank == 0 && other->rank == 1);
  expect_pool(own, 2147483648.0, 1073741824.0);
  expect_pool(other, -1, -1);
  wo_event_store_done(&store);
}

/* Failures of other allocators have nothing to do with the pool. */
static void test_other_failure(void **state) {
  struct wo_event_store store;
  scan_parts(set_of(state), torch_message, "\n", dump, &store);
  expect_torch_message(sample_find(&store, WO_KIND_CUDA_OOM, 0));
  sample_expect_number(the_dump(&store), WO_FIELD_LIMIT_BYTES, 8589934592.0);
  wo_event_store_done(&store);
}

/* Cut anywhere: one event or none, and no figure above what was printed. */
static void test_cut_anywhere(void **state) {
  for (size_t cut = 0; cut < sizeof dump; cut++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){dump, cut}, CHUNK_WHOLE, &store);
    const struct wo_event *const event = sample_find(&store, WO_KIND_NOTE, 0);
    assert_true(sample_count(&store, WO_KIND_NOTE) <= 1);
    if (event != NULL) {
      assert_true(wo_event_number(event, WO_FIELD_LIMIT_BYTES, 0) <= 8589934592.0);
      assert_true(wo_event_number(event, WO_FIELD_LARGEST_BYTES, 0) <= 3 * 268435456.0);
      assert_true(event->span.byte + event->span.length <= cut);
    }
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dump),          cmocka_unit_test(test_exact),        cmocka_unit_test(test_groups),
      cmocka_unit_test(test_stats_alone),   cmocka_unit_test(test_rounded_sum),  cmocka_unit_test(test_strays),
      cmocka_unit_test(test_both_sides),    cmocka_unit_test(test_xla),          cmocka_unit_test(test_failure_ends_the_dump),
      cmocka_unit_test(test_distance),      cmocka_unit_test(test_long_dump),    cmocka_unit_test(test_ranks),
      cmocka_unit_test(test_other_failure), cmocka_unit_test(test_cut_anywhere),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
