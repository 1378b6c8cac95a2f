/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: every style with its key, value and place, and what only looks like a setting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

struct row {
  const char *line;
  const char *knob;
  const char *key;
  const char *value;
  const char *style;
};

static const struct row rows[] = {
    {"per_device_train_batch_size=8", "micro_batch", "per_device_train_batch_size", "8", "equals"},
    {"per_device_train_batch_size = 8", "micro_batch", "per_device_train_batch_size", "8", "equals"},
    {"a.b.micro_batch_size=8 c=9", "micro_batch", "a.b.micro_batch_size", "8", "equals"},
    {"Args(x=1, micro_batch_size=8, y=2)", "micro_batch", "micro_batch_size", "8", "equals"},
    {"  micro_batch_size: 8", "micro_batch", "micro_batch_size", "8", "colon"},
    {"train.micro_batch_size: 8 # per card", "micro_batch", "train.micro_batch_size", "8", "colon"},
    {"\"micro_batch_size\": 8,", "micro_batch", "micro_batch_size", "8", "json"},
    {"{'micro_batch_size': '8'}", "micro_batch", "micro_batch_size", "8", "json"},
    {"run --micro_batch_size 8 --x", "micro_batch", "micro_batch_size", "8", "flag"},
    {"run --micro-batch-size 8", "micro_batch", "micro-batch-size", "8", "flag"},
    {"run -micro_batch_size 8", "micro_batch", "micro_batch_size", "8", "flag"},
    {"run --micro_batch_size=8", "micro_batch", "micro_batch_size", "8", "flag-equals"},
    {"export PER_DEVICE_BATCH=8", "micro_batch", "PER_DEVICE_BATCH", "8", "export"},
    {"micro_batch_size ....... 8", "micro_batch", "micro_batch_size", "8", "dots"},
    {"  micro_batch_size .................................... 8", "micro_batch", "micro_batch_size", "8", "dots"},
    {"micro_batch_size=\"8\"", "micro_batch", "micro_batch_size", "8", "equals"},
    {"micro_batch_size=8;", "micro_batch", "micro_batch_size", "8", "equals"},
    {"micro_batch_size=8)", "micro_batch", "micro_batch_size", "8", "equals"},
    {"micro_batch_size: -1", "micro_batch", "micro_batch_size", "-1", "colon"},
    {"[rank0]: micro_batch_size: 8", "micro_batch", "micro_batch_size", "8", "colon"},
    {"2025-01-06 15:18:19,123 INFO micro_batch_size: 8", "micro_batch", "micro_batch_size", "8", "colon"},
    {"#SBATCH --export=micro_batch_size=8", "micro_batch", "micro_batch_size", "8", "equals"},
    {"+ python run.py micro_batch_size=8", "micro_batch", "micro_batch_size", "8", "equals"},
    {"\"mbs\": 8", "micro_batch", "mbs", "8", "json"},
    {"PYTORCH_CUDA_ALLOC_CONF=backend:native", "alloc_conf", "PYTORCH_CUDA_ALLOC_CONF", "backend:native", "equals"},
    {"export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4,max_split_size_mb:64", "alloc_conf", "PYTORCH_CUDA_ALLOC_CONF",
     "roundup_power2_divisions:4,max_split_size_mb:64", "export"},
    {"PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True'", "alloc_conf", "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True",
     "colon"},
};

/* The event of that knob. */
static const struct wo_event *find_knob(const struct wo_event_store *store, const char *knob) {
  for (size_t i = 0; i < store->count; i++) {
    if (wo_view_is(wo_event_text(&store->items[i], WO_FIELD_KNOB), knob)) return &store->items[i];
  }
  return NULL;
}

/* The place begins with the key and ends with the value. */
static void expect_place(const struct wo_event *event, const struct row *row) {
  const struct wo_view place =
      wo_view_sub(wo_view_of(row->line), (size_t)event->span.byte, (size_t)event->span.byte + event->span.length);
  if (!wo_view_starts(place, row->key) || !wo_view_ends(place, row->value)) {
    fail_msg("\"%s\": the place is \"%.*s\"", row->line, (int)place.len, place.ptr);
  }
}

static void test_styles(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].line, &store);
    const struct wo_event *event = find_knob(&store, rows[i].knob);
    if (event == NULL) fail_msg("\"%s\": nothing found", rows[i].line);
    assert_int_equal(event->kind, WO_KIND_CONFIG);
    assert_false(event->is_quoted);
    sample_expect_text(event, WO_FIELD_KEY, rows[i].key);
    sample_expect_text(event, WO_FIELD_VALUE, rows[i].value);
    sample_expect_text(event, WO_FIELD_STYLE, rows[i].style);
    expect_place(event, &rows[i]);
    wo_event_store_done(&store);
  }
}

static void test_no_settings(void **state) {
  static const char *const lines[] = {
      "# micro_batch_size=8", /* comments */
      "   #micro_batch_size: 8",
      "--micro_batch_size MICRO_BATCH_SIZE", /* placeholders */
      "--micro_batch_size {1,2,4}",
      "--micro_batch_size [N]",
      "--micro_batch_size <n>",
      "micro_batch_size: $MBS",
      "micro_batch_size=%d",
      "micro_batch_size: (see below)",
      "micro_batch_size: -",
      "micro_batch_size:", /* no value */
      "micro_batch_size=",
      "--micro_batch_size",
      "micro_batch_size",
      "the micro_batch_size is too large", /* prose */
      "try setting micro_batch_size=4",
      "Consider micro_batch_size=4",
      "reduce micro_batch_size: 4",
      "use micro_batch_size=4",
      "micro_batch_size=4 to avoid the failure",
      "my_micro_batch_size2=4", /* other names */
      "xmicro_batch_size=4",
      "micro_batch_size_hint=4",
      "micro_batch_size.auto=4",
      "x-micro_batch_size=4",
      "if micro_batch_size == 4", /* code */
      "micro_batch_size::type",
      "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), lines[i], &store);
    if (sample_count(&store, WO_KIND_CONFIG) != 0) {
      const struct wo_event *event = sample_find(&store, WO_KIND_CONFIG, 0);
      const struct wo_view value = wo_event_text(event, WO_FIELD_VALUE);
      fail_msg("\"%s\": found a setting with value \"%.*s\"", lines[i], (int)value.len, value.ptr);
    }
    wo_event_store_done(&store);
  }
}

/* Words that end like a word of advice are none. */
static void test_words_that_are_no_advice(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), "dataset micro_batch_size=4\nretry: micro_batch_size=6\n", &store);
  assert_int_equal(sample_count(&store, WO_KIND_CONFIG), 2);
  wo_event_store_done(&store);
}

/* A value that is too long to be one. */
static void test_long_values(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  sample_say(&log, "micro_batch_size=");
  sample_fill(&log, '7', 200);
  sample_say(&log, " micro_batch_size=");
  sample_fill(&log, '8', 201);
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  assert_int_equal(sample_count(&store, WO_KIND_CONFIG), 1);
  assert_int_equal(wo_event_text(sample_find(&store, WO_KIND_CONFIG, 0), WO_FIELD_VALUE).len, 200);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* Several settings on a line, each with its own knob. */
static void test_many_on_a_line(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), "launch actor.micro_batch_size=2 critic.micro_batch_size=3 data.max_prompt_length=512 --bf16\n",
                   &store);
  static const char *const values[] = {"2", "3"};
  size_t found = 0;
  for (size_t i = 0; i < store.count; i++) {
    if (!wo_view_is(wo_event_text(&store.items[i], WO_FIELD_KNOB), "micro_batch")) continue;
    assert_true(found < 2);
    sample_expect_text(&store.items[i], WO_FIELD_VALUE, values[found++]);
  }
  assert_int_equal(found, 2);
  sample_expect_text(find_knob(&store, "prompt_len"), WO_FIELD_VALUE, "512");
  wo_event_store_done(&store);
}

/* Two names for the same key are two settings, the same name and value one. */
static void test_repetitions(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state), "a.micro_batch_size=2\nb.micro_batch_size=2\na.micro_batch_size=2\na.micro_batch_size=4\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_CONFIG), 3);
  wo_event_store_done(&store);
}

/* Behind the cut of an over-long line: found once, with its whole value. */
static void test_at_a_cut(void **state) {
  for (size_t back = 0; back < 24; back++) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "micro_batch_size=3 "); /* the key is in the first piece, too */
    sample_fill(&log, 'x', WO_LIMIT_LINE_BYTES - 19 - back);
    sample_say(&log, " micro_batch_size=12345 ");
    sample_fill(&log, 'y', 1000);
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    assert_int_equal(sample_count(&store, WO_KIND_CONFIG), 2);
    sample_expect_text(sample_find(&store, WO_KIND_CONFIG, 1), WO_FIELD_VALUE, "12345");
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_styles),      cmocka_unit_test(test_no_settings),    cmocka_unit_test(test_words_that_are_no_advice),
      cmocka_unit_test(test_long_values), cmocka_unit_test(test_many_on_a_line), cmocka_unit_test(test_repetitions),
      cmocka_unit_test(test_at_a_cut),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
