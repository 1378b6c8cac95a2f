/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence store: tables, limits, cleaning, canonical text, and what happens when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/event/event.h"
#include "tests/support/failing_alloc.h"

static const struct wo_span some_span = {.line = 3, .byte = 40, .length = 5};

static struct wo_event *add(struct wo_event_store *store, enum wo_kind kind) {
  return wo_event_add(store, kind, some_span, WO_VIEW("text"));
}

/* ---- Tables ---- */

static void test_kind_names_round_trip(void **state) {
  (void)state;
  for (int i = 0; i < WO_KIND_COUNT_; i++) {
    const enum wo_kind kind = (enum wo_kind)i;
    assert_int_equal(wo_kind_find(wo_view_of(wo_kind_name(kind))), kind);
  }
  assert_int_equal(wo_kind_find(WO_VIEW("no such kind")), WO_KIND_UNKNOWN);
  assert_int_equal(wo_kind_find((struct wo_view){NULL, 0}), WO_KIND_UNKNOWN);
  assert_string_equal(wo_kind_name(WO_KIND_COUNT_), "unknown");
}

static void test_kind_classes(void **state) {
  (void)state;
  assert_int_equal(wo_kind_class(WO_KIND_UNKNOWN), WO_CLASS_NONE);
  assert_int_equal(wo_kind_class(WO_KIND_CUDA_OOM), WO_CLASS_GPU_MEMORY);
  assert_int_equal(wo_kind_class(WO_KIND_CGROUP_OOM), WO_CLASS_HOST_MEMORY);
  assert_int_equal(wo_kind_class(WO_KIND_CONFIG), WO_CLASS_CONTEXT);
}

static void test_field_names_round_trip(void **state) {
  (void)state;
  for (int i = 0; i < WO_FIELD_COUNT_; i++) {
    assert_int_equal(wo_field_find(wo_view_of(wo_field_name((enum wo_field_id)i))), i);
  }
  assert_int_equal(wo_field_find(WO_VIEW("tried_byte")), WO_FIELD_COUNT_);
  assert_int_equal(wo_field_find((struct wo_view){NULL, 0}), WO_FIELD_COUNT_);
  assert_string_equal(wo_field_name(WO_FIELD_COUNT_), "?");
  assert_int_equal(wo_field_type_of(WO_FIELD_TRIED_BYTES), WO_FIELD_TYPE_BYTES);
  assert_int_equal(wo_field_type_of(WO_FIELD_GPU), WO_FIELD_TYPE_COUNT);
  assert_int_equal(wo_field_type_of(WO_FIELD_UTILIZATION), WO_FIELD_TYPE_RATIO);
  assert_int_equal(wo_field_type_of(WO_FIELD_COUNT_), WO_FIELD_TYPE_TEXT);
}

/* ---- Adding ---- */

static void test_new_event_knows_nothing(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  const struct wo_event *const event = wo_event_add(&store, WO_KIND_CUDA_OOM, some_span, WO_VIEW("a\x1b[1mb\xff\tc"));
  assert_non_null(event);
  assert_int_equal(event->id, 0);
  assert_int_equal(event->rank, WO_RANK_UNKNOWN);
  assert_true(event->time_ns == WO_TIME_UNKNOWN);
  assert_int_equal(event->of, WO_EVENT_NONE);
  assert_int_equal(event->field_count, 0);
  assert_int_equal(event->span.line, 3);
  assert_true(wo_view_is(event->text, "a [1mb\xef\xbf\xbd c"));
  assert_ptr_equal(wo_event_get(&store, 0), event);
  assert_null(wo_event_get(&store, 1));
  assert_null(wo_event_get(&store, WO_EVENT_NONE));
  wo_event_store_done(&store);
  wo_event_store_done(NULL);
}

static void test_long_text_is_cut(void **state) {
  (void)state;
  static char text[3 * WO_LIMIT_MESSAGE_BYTES];
  memset(text, 'x', sizeof text);
  struct wo_event_store store;
  wo_event_store_init(&store);
  struct wo_event *const event = wo_event_add(&store, WO_KIND_NOTE, some_span, (struct wo_view){text, sizeof text});
  assert_int_equal(event->text.len, WO_LIMIT_EVENT_TEXT_BYTES);
  assert_true(wo_event_set_text(&store, event, WO_FIELD_MESSAGE, (struct wo_view){text, sizeof text}));
  assert_int_equal(wo_event_text(event, WO_FIELD_MESSAGE).len, WO_LIMIT_MESSAGE_BYTES);
  wo_event_store_done(&store);
}

static void test_flood_of_one_kind(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  for (size_t i = 0; i < WO_LIMIT_EVENTS_PER_KIND + 10; i++) {
    assert_int_equal(add(&store, WO_KIND_PROGRESS) != NULL, i < WO_LIMIT_EVENTS_PER_KIND);
  }
  assert_int_equal(store.dropped, 10);
  assert_int_equal(store.per_kind[WO_KIND_PROGRESS], WO_LIMIT_EVENTS_PER_KIND + 10);
  assert_non_null(add(&store, WO_KIND_CUDA_OOM));
  assert_false(store.is_out_of_memory);
  wo_event_store_done(&store);
}

/* Every kind that only describes the job floods the store, and still the failure at the end is kept. */
static void test_context_never_crowds_out_failures(void **state) {
  (void)state;
  static char text[WO_LIMIT_EVENT_TEXT_BYTES];
  memset(text, 'x', sizeof text);
  struct wo_event_store store;
  wo_event_store_init(&store);
  for (size_t i = 0; i < WO_LIMIT_EVENTS_PER_KIND; i++) {
    for (int kind = 0; kind < WO_KIND_COUNT_; kind++) {
      if (wo_kind_class((enum wo_kind)kind) != WO_CLASS_CONTEXT) continue;
      struct wo_event *const event = wo_event_add(&store, (enum wo_kind)kind, some_span, (struct wo_view){text, sizeof text});
      if (event != NULL) wo_event_set_text(&store, event, WO_FIELD_MESSAGE, (struct wo_view){text, sizeof text});
    }
  }
  assert_true(store.dropped > 0);
  assert_true(store.count <= WO_LIMIT_EVENTS / 2);
  for (size_t i = 0; i < WO_LIMIT_EVENTS_PER_KIND; i++) assert_non_null(add(&store, WO_KIND_CUDA_OOM));
  wo_event_store_done(&store);
}

/* Failures may use all of the room, and then the cap is reached without being mistaken for a lack of memory. */
static void test_memory_cap(void **state) {
  (void)state;
  static char text[WO_LIMIT_EVENT_TEXT_BYTES];
  memset(text, 'x', sizeof text);
  struct wo_event_store store;
  wo_event_store_init(&store);
  size_t refused = 0;
  for (int kind = WO_KIND_CUDA_OOM; kind <= WO_KIND_TASK_EXIT; kind++) {
    for (size_t i = 0; i < WO_LIMIT_EVENTS_PER_KIND; i++) {
      if (wo_event_add(&store, (enum wo_kind)kind, some_span, (struct wo_view){text, sizeof text}) == NULL) refused++;
    }
  }
  assert_true(refused > 0);
  assert_int_equal(store.dropped, refused);
  assert_true(store.arena.used_bytes <= WO_LIMIT_STORE_BYTES);
  assert_false(store.is_out_of_memory);
  wo_event_store_done(&store);
}

/* ---- Fields ---- */

static void test_fields_keep_first_value(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  struct wo_event *const event = add(&store, WO_KIND_CUDA_OOM);
  assert_null(wo_event_field(event, WO_FIELD_GPU));
  assert_true(wo_event_number(event, WO_FIELD_GPU, -1) == -1);
  assert_true(wo_event_set_number(&store, event, WO_FIELD_GPU, wo_interval_exact(2)));
  assert_true(wo_event_set_number(&store, event, WO_FIELD_GPU, wo_interval_exact(5)));
  assert_true(wo_event_number(event, WO_FIELD_GPU, -1) == 2);
  assert_true(wo_event_set_text(&store, event, WO_FIELD_HOST, WO_VIEW("n1")));
  assert_true(wo_event_set_text(&store, event, WO_FIELD_HOST, WO_VIEW("n2")));
  assert_true(wo_view_is(wo_event_text(event, WO_FIELD_HOST), "n1"));
  assert_true(wo_event_number(event, WO_FIELD_HOST, -1) == -1);
  assert_int_equal(wo_event_text(event, WO_FIELD_NAME).len, 0);
  wo_event_store_done(&store);
}

static void test_all_fields_in_any_order(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  struct wo_event *const event = add(&store, WO_KIND_CUDA_OOM);
  for (int i = 0; i < WO_FIELD_COUNT_; i++) {
    const enum wo_field_id id =
        (enum wo_field_id)(i * 7 % WO_FIELD_COUNT_); /* 7 shares no factor with the count, or some repeat */
    assert_true(wo_field_type_of(id) == WO_FIELD_TYPE_TEXT ? wo_event_set_text(&store, event, id, WO_VIEW("v"))
                                                           : wo_event_set_number(&store, event, id, wo_interval_exact(i)));
  }
  for (uint32_t i = 1; i < event->field_count; i++) assert_true(event->fields[i - 1].id < event->fields[i].id);
  wo_event_store_done(&store);
}

/* ---- Text ---- */

/* Numbers from elsewhere may be none that an integer can hold. */
static void test_whole_numbers(void **state) {
  (void)state;
  static const struct {
    double number;
    int64_t whole;
    uint64_t count;
    int32_t index;
  } rows[] = {{41.75, 41, 41, 41}, {-85, -85, 0, -85}, {0x1p40, INT64_C(1) << 40, UINT64_C(1) << 40, 7},
              {0x1p63, 7, 0, 7},   {-0x1p63, 7, 0, 7}, {1e300, 7, 0, 7},
              {-1e300, 7, 0, 7}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_event_store store;
    wo_event_store_init(&store);
    struct wo_event *const event = wo_event_add(&store, WO_KIND_PROGRESS, (struct wo_span){0}, WO_VIEW("x"));
    assert_true(wo_event_set_number(&store, event, WO_FIELD_STEP, wo_interval_exact(rows[i].number)));
    assert_int_equal(wo_event_whole(event, WO_FIELD_STEP, 7), rows[i].whole);
    assert_int_equal(wo_event_count(event, WO_FIELD_STEP), rows[i].count);
    assert_int_equal(wo_event_index(event, WO_FIELD_STEP, 7), rows[i].index);
    assert_int_equal(wo_event_whole(event, WO_FIELD_SAMPLES, -1), -1);
    assert_int_equal(wo_event_count(event, WO_FIELD_SAMPLES), 0);
    wo_event_store_done(&store);
  }
}

static void test_to_text(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  struct wo_event *const event = add(&store, WO_KIND_CUDA_OOM);
  char buf[256];
  assert_string_equal(wo_event_to_text(event, buf, sizeof buf), "cuda_oom line=3");
  event->rank = 7;
  event->host = WO_VIEW("n01");
  wo_event_set_text(&store, event, WO_FIELD_MESSAGE, WO_VIEW("a \"b\" \\c"));
  wo_event_set_number(&store, event, WO_FIELD_UTILIZATION, wo_interval_exact(0.123456789));
  wo_event_set_number(&store, event, WO_FIELD_TRIED_BYTES, wo_interval_exact(18962288435.0));
  wo_event_set_number(&store, event, WO_FIELD_EXIT_CODE, wo_interval_exact(-9));
  assert_string_equal(wo_event_to_text(event, buf, sizeof buf),
                      "cuda_oom line=3 rank=7 host=n01 tried_bytes=18962288435 "
                      "utilization=0.123457 exit_code=-9 message=\"a \\\"b\\\" \\\\c\"");
  assert_string_equal(wo_event_to_text(event, buf, 5), "cuda");
  assert_string_equal(wo_event_to_text(event, buf, 1), "");
  assert_ptr_equal(wo_event_to_text(event, buf, 0), buf);
  wo_event_set_number(&store, event, WO_FIELD_GPU, wo_interval_exact(1e18));
  assert_non_null(strstr(wo_event_to_text(event, buf, sizeof buf), "gpu=1000000000000000000 "));
  wo_event_store_done(&store);
}

/* ---- Out of memory ---- */

static bool fill_store(struct wo_event_store *store) {
  struct wo_event *const event = add(store, WO_KIND_CUDA_OOM);
  if (event == NULL) return false;
  bool is_complete = wo_event_set_text(store, event, WO_FIELD_HOST, WO_VIEW("n1"));
  for (int id = 0; id < 12; id++) {
    if (wo_field_type_of((enum wo_field_id)id) == WO_FIELD_TYPE_TEXT) continue;
    is_complete = wo_event_set_number(store, event, (enum wo_field_id)id, wo_interval_exact(id)) && is_complete;
  }
  return is_complete;
}

static void test_every_failing_allocation(void **state) {
  (void)state;
  bool was_hit = true;
  for (long n = 1; was_hit; n++) {
    assert_true(n < 100);
    struct wo_event_store store;
    wo_event_store_init(&store);
    wo_fail_alloc_at(n);
    const bool is_complete = fill_store(&store) && fill_store(&store);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    assert_true(is_complete == !was_hit);
    assert_true(store.is_out_of_memory == was_hit);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kind_names_round_trip),
      cmocka_unit_test(test_kind_classes),
      cmocka_unit_test(test_field_names_round_trip),
      cmocka_unit_test(test_new_event_knows_nothing),
      cmocka_unit_test(test_long_text_is_cut),
      cmocka_unit_test(test_flood_of_one_kind),
      cmocka_unit_test(test_context_never_crowds_out_failures),
      cmocka_unit_test(test_memory_cap),
      cmocka_unit_test(test_fields_keep_first_value),
      cmocka_unit_test(test_all_fields_in_any_order),
      cmocka_unit_test(test_whole_numbers),
      cmocka_unit_test(test_to_text),
      cmocka_unit_test(test_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
