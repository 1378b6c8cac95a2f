/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's listing of buffers: the sums, the largest buffer, and where the listing ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/job/scan_own.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

static const char listing[] =
    "BufferAssignment stats:\n"
    "             parameter allocation:    1.50GiB\n"
    "              constant allocation:        40B\n"
    "        maybe_live_out allocation:  768.00MiB\n"
    "     preallocated temp allocation:   11.25GiB\n"
    "                 total allocation:   13.50GiB\n"
    "              total fragmentation:   96.00MiB (0.69%)\n"
    "Peak buffers:\n"
    "\tBuffer 1:\n"
    "\t\tSize: 2.25GiB\n"
    "\t\tOperator: op_name=\"jit(fit)/transpose(jvp(mlp))/dot_general\" source_file=\"/home/mara/fit.py\"\n"
    "\t\tXLA Label: fusion\n"
    "\t\tShape: bf16[36,4096,8192]\n"
    "\t\t==========================\n"
    "\n"
    "\tBuffer 2:\n"
    "\t\tSize: 640.00MiB\n"
    "\t\tEntry Parameter Subshape: f32[20480,8192]\n"
    "\t\t==========================\n";

/* The only event of the listing. */
static const struct wo_event *the_note(const struct wo_event_store *store) {
  const struct wo_event *const event = sample_find(store, WO_KIND_NOTE, 0);
  assert_int_equal(sample_count(store, WO_KIND_NOTE), 1);
  assert_true(wo_view_is(event->pattern_id, "jax-buffers"));
  return event;
}

static void expect_listing(const struct wo_event *event) {
  sample_expect_number(event, WO_FIELD_PARAMETER_BYTES, 1.5 * WO_GIB);
  sample_expect_number(event, WO_FIELD_TEMP_BYTES, 11.25 * WO_GIB);
  sample_expect_number(event, WO_FIELD_TOTAL_BYTES, 13.5 * WO_GIB);
  sample_expect_number(event, WO_FIELD_LARGEST_BYTES, 2.25 * WO_GIB);
  sample_expect_text(event, WO_FIELD_SHAPE, "bf16[36,4096,8192]");
  sample_expect_text(event, WO_FIELD_OPERATOR, "jit(fit)/transpose(jvp(mlp))/dot_general");
}

static void test_listing(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), listing, &store);
  const struct wo_event *const event = the_note(&store);
  assert_int_equal(event->span.line, 1);
  assert_int_equal(event->span.byte, 0);
  assert_true(wo_view_is(event->match, "BufferAssignment stats:"));
  expect_listing(event);
  expect_stable(set_of(state), wo_view_of(listing), &store);
  wo_event_store_done(&store);
}

/* Sizes are rounded to two decimals, and the event says how far. */
static void test_rounding(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), listing, &store);
  const struct wo_field *const total = wo_event_field(the_note(&store), WO_FIELD_TOTAL_BYTES);
  assert_true(total->number.lo < 13.5 * WO_GIB && total->number.lo > 13.49 * WO_GIB);
  assert_true(total->number.hi > 13.5 * WO_GIB && total->number.hi < 13.51 * WO_GIB);
  wo_event_store_done(&store);
}

/* Newer versions print the peak buffers without the sums. */
static void test_peak_buffers_alone(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), strstr(listing, "Peak buffers:"), &store);
  const struct wo_event *const event = the_note(&store);
  sample_expect_number(event, WO_FIELD_TOTAL_BYTES, -1);
  sample_expect_number(event, WO_FIELD_LARGEST_BYTES, 2.25 * WO_GIB);
  sample_expect_text(event, WO_FIELD_SHAPE, "bf16[36,4096,8192]");
  wo_event_store_done(&store);
}

/* Each row: buffers, and what is told of the largest. */
static const struct {
  const char *buffers;
  double bytes; /* -1: none */
  const char *shape;
  const char *operator;
} rows[] = {
    {"Size: 1.00GiB\nShape: f32[1]\nSize: 2.00GiB\nShape: f32[2]\n", 2 * WO_GIB, "f32[2]", NULL},
    {"Size: 2.00GiB\nShape: f32[2]\nSize: 1.00GiB\nShape: f32[1]\n", 2 * WO_GIB, "f32[2]", NULL},
    {"Size: 1.00GiB\nShape: s8[3]\nSize: 1.00GiB\nShape: s8[4]\n", WO_GIB, "s8[3]", NULL},
    {"Size: 1.00GiB\nOperator: op_name=\"a\"\nShape: f32[1]\nSize: 3.00GiB\n", 3 * WO_GIB, NULL, NULL},
    {"Size: 900.00KiB\nShape: pred[5]\nSize: 1.00MiB\nEntry Parameter Subshape: u8[6]\n", WO_MIB, "u8[6]", NULL},
    {"Size: 512B\nOperator: op_name=\"jit(f)/add\"\n", 512, NULL, "jit(f)/add"},
    {"Size: 512B\nOperator: source_file=\"x.py\"\n", 512, NULL, "source_file=\"x.py\""},
    {"Size: 512B\nOperator: op_name=\"jit(f\n", 512, NULL, "jit(f"},
    {"Size: 512B\nOperator: op_name=\"\"\nShape:\n", 512, NULL, NULL},
    {"Size: many\nShape: f32[7]\n", -1, NULL, NULL},
    {"Size: 7.00GiB\nShape: f32[7]\nSize: many\nShape: f32[8]\n", 7 * WO_GIB, "f32[7]", NULL},
    {"Size: 0B\nShape: f32[0]\n", -1, NULL, NULL},
    {"Shape: f32[7]\nOperator: op_name=\"b\"\n", -1, NULL, NULL},
    {"Size: 17179869184.00GiB\nShape: f32[9]\n", -1, NULL, NULL},
    {"Buffer 1:\nXLA Label: copy\n====\n", -1, NULL, NULL},
};

static void test_largest(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char log[512];
    struct wo_event_store store;
    snprintf(log, sizeof log, "Peak buffers:\n%s", rows[i].buffers);
    sample_scan_text(set_of(state), log, &store);
    const struct wo_event *const event = the_note(&store);
    if (fabs(wo_event_number(event, WO_FIELD_LARGEST_BYTES, -1) - rows[i].bytes) > 0.5) fail_msg("row %zu", i);
    sample_expect_text(event, WO_FIELD_SHAPE, rows[i].shape);
    sample_expect_text(event, WO_FIELD_OPERATOR, rows[i].operator);
    wo_event_store_done(&store);
  }
}

/* A sum that is no size stays unknown; of two the first counts. */
static void test_odd_sums(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "BufferAssignment stats:\n  parameter allocation: none\n  preallocated temp allocation:\n"
                   "  total allocation: 4.50GiB\n  total allocation: 9.00GiB\n  other allocation: 1.00GiB\n",
                   &store);
  const struct wo_event *const event = the_note(&store);
  sample_expect_number(event, WO_FIELD_PARAMETER_BYTES, -1);
  sample_expect_number(event, WO_FIELD_TEMP_BYTES, -1);
  sample_expect_number(event, WO_FIELD_TOTAL_BYTES, 4.5 * WO_GIB);
  wo_event_store_done(&store);
}

/* Scans the listing's header, `strays` lines of other text and a total. */
static double total_behind(struct wo_pattern_set *set, int strays, const char *stray) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "BufferAssignment stats:\n");
  for (int i = 0; i < strays; i++) sample_say(&log, stray);
  sample_say(&log, "  total allocation: 6.00GiB\n");
  sample_scan(set, sample_view(&log), CHUNK_WHOLE, &store);
  const double total = wo_event_number(the_note(&store), WO_FIELD_TOTAL_BYTES, -1);
  wo_event_store_done(&store);
  sample_free(&log);
  return total;
}

/* Wrapped operators stand between the rows; a longer stretch of other text ends the listing, blank lines never do. */
static void test_strays(void **state) {
  assert_true(total_behind(set_of(state), 0, "") == 6 * WO_GIB);
  assert_true(total_behind(set_of(state), 4, "    deduplicated_name=loop_fusion\n") == 6 * WO_GIB);
  assert_true(total_behind(set_of(state), 5, "    deduplicated_name=loop_fusion\n") == -1);
  assert_true(total_behind(set_of(state), 50, " \n") == 6 * WO_GIB);
}

/* Rows of the listing begin the count anew, and the listing has an end. */
static void test_length(void **state) {
  assert_true(total_behind(set_of(state), 20, "  Buffer 7:\n  wrapped\n  text\n") == 6 * WO_GIB);
  assert_true(total_behind(set_of(state), 299, "  Buffer 7:\n") == 6 * WO_GIB);
  assert_true(total_behind(set_of(state), 300, "  Buffer 7:\n") == -1);
}

/* The line that is not the listing's any more is read by the others. */
static void test_given_back(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "Peak buffers:\n Size: 1.00GiB\n a\n b\n c\n d\n"
                   "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3221225472 bytes.\n"
                   "Peak buffers:\n Size: 2.00GiB\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_NOTE), 2);
  sample_expect_number(sample_find(&store, WO_KIND_NOTE, 0), WO_FIELD_LARGEST_BYTES, WO_GIB);
  sample_expect_number(sample_find(&store, WO_KIND_NOTE, 1), WO_FIELD_LARGEST_BYTES, 2 * WO_GIB);
  sample_expect_number(sample_find(&store, WO_KIND_JAX_OOM, 0), WO_FIELD_TRIED_BYTES, 3 * WO_GIB);
  wo_event_store_done(&store);
}

/* Operators are as long as the program makes them: what is kept is cut. */
static void test_long_texts(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "Peak buffers:\n Size: 1.00GiB\n Operator: op_name=\"");
  sample_fill(&log, 'o', 3000);
  sample_say(&log, "\"\n Shape: (");
  sample_fill(&log, 's', 3000);
  sample_say(&log, ")\n");
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  const struct wo_view name = wo_event_text(the_note(&store), WO_FIELD_OPERATOR);
  const struct wo_view shape = wo_event_text(the_note(&store), WO_FIELD_SHAPE);
  assert_true(name.len > 100 && name.len < 256 && wo_view_ends(name, "ooo"));
  assert_true(shape.len > 100 && shape.len < 256 && wo_view_starts(shape, "(sss"));
  wo_event_store_done(&store);
  sample_free(&log);
}

/* Cut anywhere: one event or none, never more bytes than there are. */
static void test_cut_anywhere(void **state) {
  for (size_t cut = 0; cut < sizeof listing; cut++) {
    struct wo_event_store store;
    sample_scan(set_of(state), (struct wo_view){listing, cut}, CHUNK_WHOLE, &store);
    assert_int_equal(store.count, cut >= strlen("BufferAssignment stats:"));
    if (store.count > 0) {
      assert_true(wo_event_number(&store.items[0], WO_FIELD_TOTAL_BYTES, 0) <= 13.5 * WO_GIB);
      assert_true(wo_event_number(&store.items[0], WO_FIELD_LARGEST_BYTES, 0) <= 2.25 * WO_GIB);
      assert_true(store.items[0].span.byte + store.items[0].span.length <= cut);
    }
    wo_event_store_done(&store);
  }
}

/* Two ranks print their listings line by line. */
static void test_two_writers(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "[rank0]: Peak buffers:\n[rank1]: Peak buffers:\n[rank1]: \tSize: 5.00GiB\n[rank0]: \tSize: 4.00GiB\n"
                   "[rank0]: \tShape: f32[4]\n[rank1]: \tShape: f32[5]\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_NOTE), 2);
  for (int rank = 0; rank < 2; rank++) {
    const struct wo_event *const event = sample_find(&store, WO_KIND_NOTE, (size_t)rank);
    assert_int_equal(event->rank, rank);
    sample_expect_number(event, WO_FIELD_LARGEST_BYTES, (4 + rank) * WO_GIB);
    sample_expect_text(event, WO_FIELD_SHAPE, rank == 0 ? "f32[4]" : "f32[5]");
  }
  wo_event_store_done(&store);
}

/* Every allocation that can fail: the same evidence, or the status that says so. */
static void test_out_of_memory(void **state) {
  struct wo_event_store whole;
  bool was_hit = true;
  sample_scan_text(set_of(state), listing, &whole);
  for (long n = 1; was_hit; n++) {
    struct wo_event_store store;
    struct wo_scan *scan = NULL;
    struct wo_scan_summary summary;
    assert_true(n < 200);
    wo_event_store_init(&store);
    wo_fail_alloc_at(n);
    enum wo_status status = wo_scan_new(set_of(state), &wo_formats, &store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan);
    if (status == WO_OK) status = wo_scan_feed(scan, listing, strlen(listing));
    if (status == WO_OK) status = wo_scan_end(scan, &summary);
    wo_scan_free(scan);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    if (status == WO_OK) {
      sample_expect_same(&whole, &store);
    } else {
      assert_true(status == WO_E_NOMEM && was_hit);
    }
    wo_event_store_done(&store);
  }
  wo_event_store_done(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listing),      cmocka_unit_test(test_rounding),    cmocka_unit_test(test_peak_buffers_alone),
      cmocka_unit_test(test_largest),      cmocka_unit_test(test_odd_sums),    cmocka_unit_test(test_strays),
      cmocka_unit_test(test_length),       cmocka_unit_test(test_given_back),  cmocka_unit_test(test_long_texts),
      cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_two_writers), cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
