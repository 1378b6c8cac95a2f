/* SPDX-License-Identifier: Apache-2.0 */
/* `sacct --json`: old and new numbers, pretty and on one line, steps, several jobs, escapes, depth, and documents that break off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

#define NUMBER(n) "{\"set\": true, \"infinite\": false, \"number\": " #n "}"
#define UNSET "{\"set\": false, \"infinite\": false, \"number\": 0}"
#define INFINITE "{\"set\": false, \"infinite\": true, \"number\": 0}"

static const char fresh[] =
    "{\n"
    "  \"meta\": {\"plugin\": {\"type\": \"openapi\"}},\n"
    "  \"jobs\": [\n"
    "    {\n"
    "      \"account\": \"lab \\\"42\\\"\",\n"
    "      \"allocation_nodes\": 3,\n"
    "      \"array\": {\"job_id\": 700, \"task_id\": " NUMBER(
        6) "},\n"
           "      \"derived_exit_code\": {\"return_code\": " NUMBER(
               9) ", \"signal\": {\"id\": " UNSET "}},\n"
                  "      \"time\": {\"elapsed\": 512, \"limit\": " NUMBER(
                      90) "},\n"
                          "      \"exit_code\": {\n"
                          "        \"status\": [\"ERROR\"],\n"
                          "        \"return_code\": " NUMBER(
                              14) ",\n"
                                  "        \"signal\": {\"id\": " UNSET ", \"name\": \"\"}\n"
                                  "      },\n"
                                  "      \"job_id\": 706,\n"
                                  "      \"name\": \"sweep [a, {b}]\",\n"
                                  "      \"nodes\": \"gpu[1-3]\",\n"
                                  "      \"state\": {\"current\": [\"FAILED\"], \"reason\": \"None\"},\n"
                                  "      \"steps\": [\n"
                                  "        {\n"
                                  "          \"time\": {\"elapsed\": 500},\n"
                                  "          \"exit_code\": {\"return_code\": " NUMBER(0) ", \"signal\": {\"id\": " NUMBER(
                                      125) "}},\n"
                                           "          \"state\": [\"OUT_OF_MEMORY\"],\n"
                                           "          \"step\": {\"id\": \"706.0\", \"name\": \"python\"},\n"
                                           "          \"tres\": {\"requested\": {\"max\": [\n"
                                           "            {\"type\": \"cpu\", \"name\": \"\", \"id\": 1, \"count\": 77},\n"
                                           "            {\"type\": \"mem\", \"name\": \"\", \"id\": 2, \"count\": 8192000}\n"
                                           "          ]}}\n"
                                           "        }\n"
                                           "      ],\n"
                                           "      \"tres\": {\"allocated\": [\n"
                                           "        {\"type\": \"cpu\", \"name\": \"\", \"id\": 1, \"count\": 48},\n"
                                           "        {\"type\": \"mem\", \"name\": \"\", \"id\": 2, \"count\": 6144},\n"
                                           "        {\"type\": \"node\", \"name\": \"\", \"id\": 4, \"count\": 3},\n"
                                           "        {\"type\": \"gres\", \"name\": \"gpu\", \"id\": 1001, \"count\": 12}\n"
                                           "      ]}\n"
                                           "    }\n"
                                           "  ]\n"
                                           "}\n";

/* ---- Values ---- */

struct row {
  const char *log;
  size_t n; /* of the job or step */
  enum wo_field_id field;
  const char *text; /* NULL: the number counts, -1 for none */
  double number;
};

/* A job of a few keys, and one with a step. */
#define JOB(keys) "{\"jobs\": [ {\"job_id\": 8, " keys "} ]}\n"
#define STEP(keys) JOB("\"steps\": [ {" keys "} ]")
#define ALLOCATED(items) "\"tres\": {\"allocated\": [" items "]}"

static const struct row rows[] = {
    {fresh, 0, WO_FIELD_JOB, "706", 0},
    {fresh, 0, WO_FIELD_JOB_NAME, "sweep [a, {b}]", 0},
    {fresh, 0, WO_FIELD_NODES, "gpu[1-3]", 0},
    {fresh, 0, WO_FIELD_STATE, "FAILED", 0},
    {fresh, 0, WO_FIELD_ARRAY_JOB, "700", 0},
    {fresh, 0, WO_FIELD_ARRAY_TASK, NULL, 6},
    {fresh, 0, WO_FIELD_NODE_COUNT, NULL, 3},
    {fresh, 0, WO_FIELD_ELAPSED_S, NULL, 512},
    {fresh, 0, WO_FIELD_TIME_LIMIT_S, NULL, 5400},
    {fresh, 0, WO_FIELD_LIMIT_BYTES, NULL, 2 * WO_GIB},
    {fresh, 0, WO_FIELD_GPUS, NULL, 4},
    {fresh, 0, WO_FIELD_USED_BYTES, NULL, -1},
    {fresh, 1, WO_FIELD_STEP_ID, "706.0", 0},
    {fresh, 1, WO_FIELD_STATE, "OUT_OF_MEMORY", 0},
    {fresh, 1, WO_FIELD_USED_BYTES, NULL, 8192000},
    {fresh, 1, WO_FIELD_ELAPSED_S, NULL, 500},
    {fresh, 1, WO_FIELD_LIMIT_BYTES, NULL, -1},
    /* Before 23.02: bare numbers and texts. */
    {JOB("\"state\": {\"current\": \"TIMEOUT\"}"), 0, WO_FIELD_STATE, "TIMEOUT", 0},
    {JOB("\"time\": {\"limit\": 30, \"elapsed\": 4}"), 0, WO_FIELD_TIME_LIMIT_S, NULL, 1800},
    {JOB("\"array\": {\"job_id\": 0, \"task_id\": null}"), 0, WO_FIELD_ARRAY_JOB, NULL, -1},
    {JOB("\"array\": {\"job_id\": 5, \"task_id\": 0}"), 0, WO_FIELD_ARRAY_TASK, NULL, 0},
    {STEP("\"step\": {\"id\": \"batch\"}"), 1, WO_FIELD_STEP_ID, "8.batch", 0},
    {STEP("\"step\": {\"id\": 0}"), 1, WO_FIELD_STEP_ID, "8.0", 0},
    {STEP("\"state\": \"FAILED\""), 1, WO_FIELD_STATE, "FAILED", 0},
    /* Numbers that are not set, infinite, null or none. */
    {JOB("\"time\": {\"limit\": " INFINITE "}"), 0, WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {JOB("\"time\": {\"limit\": null}"), 0, WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {JOB("\"time\": {\"limit\": -4}"), 0, WO_FIELD_TIME_LIMIT_S, NULL, -1},
    {JOB("\"time\": {\"elapsed\": 1.5}"), 0, WO_FIELD_ELAPSED_S, NULL, -1},
    {JOB("\"time\": {\"elapsed\": 99999999999999999999}"), 0, WO_FIELD_ELAPSED_S, NULL, -1},
    {JOB("\"allocation_nodes\": 0"), 0, WO_FIELD_NODE_COUNT, NULL, -1},
    {JOB("\"array\": {\"job_id\": 0, \"task_id\": " UNSET "}"), 0, WO_FIELD_ARRAY_TASK, NULL, -1},
    /* Texts. */
    {JOB("\"name\": \"a \\\"b\\\" \\\\\", \"nodes\": \"n1\""), 0, WO_FIELD_NODES, "n1", 0},
    {JOB("\"name\": \"}]\", \"nodes\": \"n1\""), 0, WO_FIELD_JOB_NAME, "}]", 0},
    {JOB("\"name\": \"\", \"nodes\": \"n1\""), 0, WO_FIELD_JOB_NAME, NULL, -1},
    {JOB("\"nodes\": \"None assigned\""), 0, WO_FIELD_NODES, NULL, -1},
    {JOB("\"state\": {\"current\": [\"GLUM\"]}"), 0, WO_FIELD_STATE, NULL, -1},
    {JOB("\"state\": {\"current\": [\"RUNNING\", \"COMPLETING\"]}"), 0, WO_FIELD_STATE, "RUNNING", 0},
    /* The same keys in other places. */
    {JOB("\"het\": {\"job_id\": 3, \"name\": \"h\"}"), 0, WO_FIELD_JOB, "8", 0},
    {JOB("\"x\": {\"y\": [ [ {\"name\": \"z\", \"nodes\": \"q\"} ] ]}, \"nodes\": \"n1\""), 0, WO_FIELD_NODES, "n1", 0},
    {JOB("\"x\": {\"y\": [ [ {\"name\": \"z\"} ] ]}"), 0, WO_FIELD_JOB_NAME, NULL, -1},
    /* Resources: nothing asked for, other cards, one node, keys in the order of the alphabet. */
    {JOB(ALLOCATED("{\"type\": \"mem\", \"count\": 100}")), 0, WO_FIELD_LIMIT_BYTES, NULL, 100 * WO_MIB},
    {JOB(ALLOCATED("{\"type\": \"mem\", \"count\": 0}")), 0, WO_FIELD_LIMIT_BYTES, NULL, -1},
    {JOB(ALLOCATED("{\"type\": \"gres\", \"name\": \"gpu\", \"count\": 2}")), 0, WO_FIELD_GPUS, NULL, 2},
    {JOB(ALLOCATED("{\"type\": \"gres\", \"name\": \"mps\", \"count\": 2}")), 0, WO_FIELD_GPUS, NULL, -1},
    {JOB(ALLOCATED("{\"count\": 9, \"type\": \"mem\"}, {\"count\": 4, \"type\": \"node\"}")), 0, WO_FIELD_LIMIT_BYTES, NULL, -1},
    {JOB("\"tres\": {\"requested\": [{\"type\": \"mem\", \"count\": 5}]}"), 0, WO_FIELD_LIMIT_BYTES, NULL, -1},
    {STEP("\"tres\": {\"requested\": {\"max\": [{\"type\": \"mem\", \"count\": 0}]}}"), 1, WO_FIELD_USED_BYTES, NULL, -1},
    /* The front of the document, and line ends of Windows. */
    {"{\"jobs\":[{\"job_id\":8,\"nodes\":\"n1\"}]}\n", 0, WO_FIELD_NODES, "n1", 0},
    {"{\r\n \"jobs\": [\r\n  {\r\n   \"job_id\": 8,\r\n   \"allocation_nodes\": 2\r\n  }\r\n ]\r\n}\r\n", 0, WO_FIELD_NODE_COUNT,
     NULL, 2},
};

static void test_values(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), rows[i].log, &store);
    const struct wo_event *info = sample_find(&store, WO_KIND_JOB_INFO, rows[i].n);
    if (info == NULL) fail_msg("no job %zu: %s", rows[i].n, rows[i].log);
    if (rows[i].text != NULL) sample_expect_text(info, rows[i].field, rows[i].text);
    if (rows[i].text == NULL) sample_expect_number(info, rows[i].field, rows[i].number);
    if (rows[i].text == NULL && rows[i].number < 0 && wo_event_field(info, rows[i].field)) fail_msg("%s", rows[i].log);
    wo_event_store_done(&store);
  }
}

/* On one line, without blanks: the same jobs with the same figures. */
static void test_compact(void **state) {
  struct sample_log log = {0};
  struct wo_event_store pretty, compact;
  bool is_text = false;
  for (size_t i = 0; fresh[i] != '\0'; i++) {
    if (fresh[i] == '"' && fresh[i - 1] != '\\') is_text = !is_text;
    if (is_text || (fresh[i] != ' ' && fresh[i] != '\n')) sample_put(&log, fresh + i, 1);
  }
  sample_scan_text(set_of(state), fresh, &pretty);
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &compact);
  assert_int_equal(pretty.count, compact.count);
  for (size_t i = 0; i < pretty.count; i++) {
    assert_int_equal(pretty.items[i].kind, compact.items[i].kind);
    assert_int_equal(pretty.items[i].field_count, compact.items[i].field_count);
    for (size_t k = 0; k < pretty.items[i].field_count; k++) {
      const struct wo_field *field = &pretty.items[i].fields[k];
      const struct wo_field *other = wo_event_field(&compact.items[i], field->id);
      assert_true(other && wo_view_equal(field->text, other->text) && fabs(field->number.mid - other->number.mid) < 0.5);
    }
  }
  wo_event_store_done(&pretty);
  wo_event_store_done(&compact);
  sample_free(&log);
}

/* ---- Endings ---- */

#define FAILED "\"state\": {\"current\": [\"FAILED\"]}"

static void test_endings(void **state) {
  static const struct {
    const char *log;
    enum wo_kind kind;
    double code; /* -1: not told */
    const char *signal;
  } ends[] = {
      {JOB("\"exit_code\": {\"return_code\": 7, \"signal\": {\"signal_id\": 0}}, " FAILED), WO_KIND_TASK_EXIT, 7, NULL},
      {JOB("\"exit_code\": {\"return_code\": 0, \"signal\": {\"signal_id\": 11}}, " FAILED), WO_KIND_TASK_EXIT, 0, "11"},
      {JOB("\"exit_code\": {\"signal\": {\"id\": " NUMBER(6) "}, \"return_code\": " NUMBER(2) "}, " FAILED), WO_KIND_TASK_EXIT, 2,
       "6"},
      {JOB(FAILED), WO_KIND_TASK_EXIT, -1, NULL},
      {JOB("\"exit_code\": {\"return_code\": null}, " FAILED), WO_KIND_TASK_EXIT, -1, NULL},
      {JOB("\"derived_exit_code\": {\"return_code\": 0, \"signal\": {\"signal_id\": 125}}, " FAILED), WO_KIND_CGROUP_OOM, -1,
       NULL},
      {JOB("\"state\": {\"current\": [\"FAILED\"], \"reason\": \"OutOfMemory\"}"), WO_KIND_CGROUP_OOM, -1, NULL},
      {JOB("\"state\": {\"current\": [\"TIMEOUT\"]}"), WO_KIND_TIME_LIMIT, -1, NULL},
      {STEP("\"step\": {\"id\": \"8.0\"}, \"state\": [\"OUT_OF_MEMORY\"]"), WO_KIND_CGROUP_OOM, -1, NULL},
      /* A code without a state ends nothing, and is not taken for that of a step. */
      {JOB("\"exit_code\": {\"return_code\": 0, \"signal\": {\"id\": 125}}, \"steps\": []}, {\"job_id\": 8, " FAILED),
       WO_KIND_TASK_EXIT, -1, NULL},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), ends[i].log, &store);
    const struct wo_event *end = sample_find(&store, ends[i].kind, 0);
    if (end == NULL) fail_msg("no %s: %s", wo_kind_name(ends[i].kind), ends[i].log);
    sample_expect_number(end, WO_FIELD_EXIT_CODE, ends[i].code);
    sample_expect_text(end, WO_FIELD_SIGNAL, ends[i].signal);
    sample_expect_text(end, WO_FIELD_JOB, wo_event_field(end, WO_FIELD_STEP_ID) ? NULL : "8");
    wo_event_store_done(&store);
  }
}

/* Each job keeps its own; a failed step is no ending. */
static void test_jobs(void **state) {
  struct wo_event_store store;
  sample_scan_text(set_of(state),
                   "{\"jobs\": [\n{\"job_id\": 1, \"exit_code\": {\"return_code\": 3}, " FAILED
                   ",\n \"steps\": [{\"state\": \"FAILED\", \"step\": {\"id\": \"1.0\"}}], \"nodes\": \"n1\"},\n"
                   "{\"job_id\": 2, \"state\": {\"current\": [\"NODE_FAIL\"]}, \"steps\": [], \"nodes\": \"n2\"},\n"
                   "{\"job_id\": 3, \"state\": {\"current\": [\"COMPLETED\"]}, \"nodes\": \"n3\"}\n]}\n",
                   &store);
  assert_int_equal(sample_count(&store, WO_KIND_JOB_INFO), 4);
  sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_NODES, "n1");
  sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 1), WO_FIELD_STEP_ID, "1.0");
  sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 2), WO_FIELD_NODES, "n2");
  sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 3), WO_FIELD_JOB, "3");
  assert_int_equal(sample_count(&store, WO_KIND_TASK_EXIT), 1);
  sample_expect_number(sample_find(&store, WO_KIND_TASK_EXIT, 0), WO_FIELD_EXIT_CODE, 3);
  sample_expect_text(sample_find(&store, WO_KIND_NODE_FAIL, 0), WO_FIELD_JOB, "2");
  wo_event_store_done(&store);
}

/* ---- One line that is longer than a piece ---- */

/* Jobs on one line, with texts of `fill` bytes between their figures: quotes behind backslashes stand in them. */
static void say_long_jobs(struct sample_log *log, int count, size_t fill) {
  char text[300];
  sample_say(log, "{\"jobs\":[");
  for (int i = 0; i < count; i++) {
    snprintf(text, sizeof text, "%s{\"exit_code\":{\"return_code\":" NUMBER(3) "},\"environment\":[\"", i > 0 ? "," : "");
    sample_say(log, text);
    for (size_t n = 0; n < fill; n += 4) sample_say(log, n % 3 == 0 ? "a\\\"," : "[{\\\\");
    snprintf(text, sizeof text,
             "\"],\"job_id\":%d,\"job_state\":[\"FAILED\"],\"node_count\":" NUMBER(2) ",\"state_reason\":\"NonZeroExitCode\","
                                                                                      "\"tres_alloc_str\":\"cpu=8,mem=64G,node=2,"
                                                                                      "gres/gpu=16\"}",
             700 + i);
    sample_say(log, text);
  }
  sample_say(log, "]}\n");
}

/* Every job is found once, whole, and where it stands, wherever the cuts between the pieces fall. */
static void expect_long_jobs(const struct wo_event_store *store, struct wo_view log, int count) {
  char id[16];
  assert_int_equal(sample_count(store, WO_KIND_JOB_INFO), count);
  assert_int_equal(sample_count(store, WO_KIND_TASK_EXIT), count);
  for (int i = 0; i < count; i++) {
    const struct wo_event *info = sample_find(store, WO_KIND_JOB_INFO, (size_t)i);
    const struct wo_event *end = sample_find(store, WO_KIND_TASK_EXIT, (size_t)i);
    snprintf(id, sizeof id, "%d", 700 + i);
    sample_expect_text(info, WO_FIELD_JOB, id);
    sample_expect_number(info, WO_FIELD_LIMIT_BYTES, 32 * WO_GIB);
    sample_expect_number(info, WO_FIELD_GPUS, 8);
    sample_expect_text(end, WO_FIELD_JOB, id);
    sample_expect_number(end, WO_FIELD_EXIT_CODE, 3);
    assert_true(log.ptr[info->span.byte] == '{');
    assert_memory_equal(log.ptr + end->span.byte, "FAILED", 6);
    assert_true(wo_view_starts(end->text, "FAILED"));
  }
}

static void test_long_line(void **state) {
  static const size_t fills[] = {0, 400, 7000, 9001, 56000, 65536, 150000};
  static const int chunks[] = {CHUNK_WHOLE, CHUNK_RANDOM, 4096};
  for (size_t i = 0; i < sizeof fills / sizeof fills[0] * 3; i++) {
    const size_t fill = fills[i / 3];
    const int count = fill < 1000 ? 300 : 12;
    struct sample_log log = {0};
    struct wo_event_store store;
    say_long_jobs(&log, count, fill);
    sample_scan(set_of(state), sample_view(&log), chunks[i % 3], &store);
    expect_long_jobs(&store, sample_view(&log), count);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

/* ---- Depth, and what is no document ---- */

/* Deeper than names can be kept the document is left; what was read until then stays. */
static void test_depth(void **state) {
  for (size_t depth = 1; depth < 400; depth += 1 + depth / 4) {
    struct sample_log log = {0};
    struct wo_event_store store;
    sample_say(&log, "{\"jobs\": [ {\"job_id\": 8, " FAILED ", \"x\": ");
    sample_fill(&log, '[', depth);
    sample_fill(&log, ']', depth);
    sample_say(&log, ", \"nodes\": \"n1\"} ]}\n");
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    sample_expect_text(sample_find(&store, WO_KIND_JOB_INFO, 0), WO_FIELD_NODES, depth < 120 ? "n1" : NULL);
    assert_int_equal(sample_count(&store, WO_KIND_TASK_EXIT), 1);
    wo_event_store_done(&store);
    sample_free(&log);
  }
}

static void test_nothing(void **state) {
  static const char *const logs[] = {
      "{\"jobs\": []}\n",
      "{\"jobs\": [ 1, \"a\", null ]}\n",
      "{\"cron_jobs\": [ {\"job_id\": 8} ]}\n",
      "{\"jobs\": [ ] } ] }\n",
      "{\"jobs\": [ \"\n",
      "say \"jobs\": [ {\"job_id\": 8} ]\n",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    struct wo_event_store store;
    sample_scan_text(set_of(state), logs[i], &store);
    if (store.count != 0) fail_msg("taken for jobs: %s", logs[i]);
    wo_event_store_done(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),    cmocka_unit_test(test_compact), cmocka_unit_test(test_endings),
      cmocka_unit_test(test_jobs),      cmocka_unit_test(test_depth),   cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_long_line),
  };
  return cmocka_run_group_tests_name("fmt_sacct_json", tests, sample_setup, sample_teardown);
}
