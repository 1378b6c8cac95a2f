/* SPDX-License-Identifier: Apache-2.0 */
/* Prefixes of lines: one table of lines and what is to be read from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/units.h"
#include "parsers/event/event.h"
#include "parsers/prefix/prefix.h"

#define NONE WO_RANK_UNKNOWN

struct row {
  const char *line;
  int32_t rank;
  bool is_local;
  const char *host;
  const char *source;
  const char *rest;
};

static const struct row rows[] = {
    /* launchers */
    {"[rank3]: Traceback (most recent call last):", 3, false, "", "[rank3]", "Traceback (most recent call last):"},
    {"[rank3]:   File \"/a.py\", line 3", 3, false, "", "[rank3]", "  File \"/a.py\", line 3"},
    {"[rank12]:", 12, false, "", "[rank12]", ""},
    {"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught", 0, false, "", "[rank0]",
     "Watchdog caught"},
    {"[rank0]:[W506 02:07:08.408 Module.cpp:12] Warning", 0, false, "", "[rank0]", "Warning"},
    {"[Rank 5] RuntimeError: x", 5, false, "", "", "RuntimeError: x"},
    {"[RANK 07] 2025-01-06 15:18:19 - ERROR - boom", 7, false, "", "", "boom"},
    {"[default0]:Traceback", 0, true, "", "[default0]", "Traceback"},
    {"[default0]:  File \"/a.py\"", 0, true, "", "[default0]", "  File \"/a.py\""},
    {"[trainer13]: x y", 13, true, "", "[trainer13]", "x y"},
    {"[default1]:[rank9]: x", 9, false, "", "[default1]:[rank9]", "x"},
    {"[gpu187:1]:Traceback", 1, true, "gpu187", "[gpu187:1]", "Traceback"},
    {"[core.py:560]: x", NONE, false, "", "", "[core.py:560]: x"},
    {"0: hello there", 0, false, "", "0", "hello there"},
    {" 8: hello there", 8, false, "", "8", "hello there"},
    {"  8:   File \"x\"", 8, false, "", "8", "  File \"x\""},
    {"127: hello", 127, false, "", "127", "hello"},
    {"P0 3: hello", 3, false, "", "P0 3", "hello"},
    {"3: [default1]: x", 1, true, "", "3: [default1]", "x"},
    {"0: [rank5]: x", 5, false, "", "0: [rank5]", "x"},
    {"3: 4", NONE, false, "", "", "3: 4"},
    {"  17: 37.23% (94 questions)", NONE, false, "", "", "  17: 37.23% (94 questions)"},
    {"    0: \"cuda\",", NONE, false, "", "", "    0: \"cuda\","},
    {"12:34:56 x", NONE, false, "", "", "12:34:56 x"},
    {"1234567: x", NONE, false, "", "", "1234567: x"},
    {"[1,3]<stderr>:Traceback", 3, false, "", "[1,3]", "Traceback"},
    {"[1,3]<stdout>:  File \"x\"", 3, false, "", "[1,3]", "  File \"x\""},
    {"[1,3]<stderr>:   File \"x\"", 3, false, "", "[1,3]", "  File \"x\""},
    {"[2]<stderr>:RuntimeError", 2, false, "", "[2]", "RuntimeError"},
    {"[3] Traceback (most recent call last):", 3, false, "", "[3]", "Traceback (most recent call last):"},
    {"[1] 4711", NONE, false, "", "", "[1] 4711"},
    {"[3, 4] list", NONE, false, "", "", "[3, 4] list"},
    {"  [0]:", NONE, false, "", "", "  [0]:"},
    /* hosts */
    {"node01: Out of memory here", NONE, false, "node01", "node01", "Out of memory here"},
    {"node1: Out of memory here", NONE, false, "node1", "node1", "Out of memory here"},
    {"ip-10-0-0-12: some text", NONE, false, "ip-10-0-0-12", "ip-10-0-0-12", "some text"},
    {"gpu01.cluster.local: some text", NONE, false, "gpu01.cluster.local", "gpu01.cluster.local", "some text"},
    {"worker-0: [rank2]: x y", 2, false, "worker-0", "worker-0: [rank2]", "x y"},
    {"fp16: true", NONE, false, "", "", "fp16: true"},
    {"bf16: enabled by user", NONE, false, "", "", "bf16: enabled by user"},
    {"gpu0: 3 GiB used", NONE, false, "", "", "gpu0: 3 GiB used"},
    {"vllm-1  | Out of memory here", NONE, false, "", "vllm-1", "Out of memory here"},
    {"sd-web-ui  |   File \"a.py\", line 3, in f", NONE, false, "", "sd-web-ui", "  File \"a.py\", line 3, in f"},
    {"loss  | 0.31", NONE, false, "", "", "loss  | 0.31"},
    {"a-b| c", NONE, false, "", "", "a-b| c"},
    {"- | c", NONE, false, "", "", "- | c"},
    {"node01: 8", NONE, false, "", "", "node01: 8"},
    {"srun: error: gpu01: task 0: Killed", NONE, false, "", "", "srun: error: gpu01: task 0: Killed"},
    {"slurmstepd-gpu01: error: x y", NONE, false, "", "", "slurmstepd-gpu01: error: x y"},
    {"slurmstepd: error: Detected 1 oom_kill event", NONE, false, "", "", "slurmstepd: error: Detected 1 oom_kill event"},
    {"python3.10: can't open file", NONE, false, "", "", "python3.10: can't open file"},
    {"RuntimeError: CUDA error 2: out of memory", NONE, false, "", "", "RuntimeError: CUDA error 2: out of memory"},
    {"Error2: x y", NONE, false, "", "", "Error2: x y"},
    {"wandb: Run data", NONE, false, "", "", "wandb: Run data"},
    {"libcuda.so.12: cannot open file", NONE, false, "", "", "libcuda.so.12: cannot open file"},
    {"gpu01:4711:4720 [3] NCCL WARN Cuda failure", NONE, false, "gpu01", "gpu01:4711:4720", "NCCL WARN Cuda failure"},
    {"gpu01:4711:4720 [3] misc/socket.cc:50 NCCL WARN x", NONE, false, "gpu01", "gpu01:4711:4720", "NCCL WARN x"},
    {"[2025-01-06 15:18:19] gpu01:4711:4720 [0] init.cc:9 NCCL WARN x", NONE, false, "gpu01", "gpu01:4711:4720", "NCCL WARN x"},
    /* workers */
    {"(WorkerDict pid=123, ip=10.0.0.2) text", NONE, false, "10.0.0.2", "WorkerDict pid=123, ip=10.0.0.2", "text"},
    {"(WorkerDict pid=123)   File \"x\"", NONE, false, "", "WorkerDict pid=123", "  File \"x\""},
    {"(pid=123) text", NONE, false, "", "pid=123", "text"},
    {"(raylet) text", NONE, false, "", "raylet", "text"},
    {"(VllmWorker rank=1 pid=123) ERROR 03-19 07:27:53 [file.py:375] Out", 1, false, "", "VllmWorker rank=1 pid=123", "Out"},
    {"(EngineCore_DP0 pid=97048) ERROR 08-19 04:35:24 [core.py:560]   File \"x\"", NONE, false, "", "EngineCore_DP0 pid=97048",
     "  File \"x\""},
    {"(EngineCore_DP0 pid=1) (Worker_TP1 pid=2) text", NONE, false, "", "EngineCore_DP0 pid=1) (Worker_TP1 pid=2", "text"},
    {"(EngineCore_DP0 pid=97048) torch.OutOfMemoryError: x", NONE, false, "", "EngineCore_DP0 pid=97048",
     "torch.OutOfMemoryError: x"},
    {"(GPU 0; 79.35 GiB total capacity)", NONE, false, "", "", "(GPU 0; 79.35 GiB total capacity)"},
    {"(mypid=12) text", NONE, false, "", "", "(mypid=12) text"},
    /* times, levels, tags */
    {"2025-01-06 15:18:19,123 - __main__ - ERROR - boom", NONE, false, "", "", "boom"},
    {"2025-01-06 15:18:19,123 INFO boom", NONE, false, "", "", "boom"},
    {"15:18:19 <INFO> boom", NONE, false, "", "", "boom"},
    {"15:18:19 - WARNING - boom", NONE, false, "", "", "boom"},
    {"15:18:19 boom", NONE, false, "", "", "15:18:19 boom"},
    {"2025-01-06T15:18:19Z boom", NONE, false, "", "", "boom"},
    {"2025-01-06T15:18:19.123456789Z stderr F boom", NONE, false, "", "", "boom"},
    {"[2025-01-06 15:18:19,123] [INFO] [file.py:12:fn] [Rank 0] text", 0, false, "", "", "text"},
    {"2025-01-06 15:18:19.123 | INFO     | pkg.mod:fn:12 - text", NONE, false, "", "", "text"},
    {"2025-01-06 15:18:19.123456: I tensorflow/core/op.cc:100] text", NONE, false, "", "", "text"},
    {"[INFO|trainer.py:1234] 2025-01-06 15:18:19,123 >> text", NONE, false, "", "", "text"},
    {"[NeMo W 2025-01-06 15:18:19 nemo_logging:349] text", NONE, false, "", "", "text"},
    {"ERROR 03-19 07:27:53 [core.py:560] text", NONE, false, "", "", "text"},
    {"ERROR    | 2025-01-06 15:18:19 | pkg.mod:fn:12 - text", NONE, false, "", "", "text"},
    {"01/06/2025 15:18:19 - INFO - __main__ - text", NONE, false, "", "", "__main__ - text"},
    {"ERROR: CUDA out of memory", NONE, false, "", "", "ERROR: CUDA out of memory"},
    {"INFO:root:text", NONE, false, "", "", "INFO:root:text"},
    {"W0106 15:18:46.670320 209443 torch/run.py:1] text", NONE, false, "", "", "text"},
    {"E0106 15:18:46.670320 209443 site-packages/api.py:833] failed (exitcode: 1)", NONE, false, "", "", "failed (exitcode: 1)"},
    {"[  514.682838] Out of memory: Killed process 1", NONE, false, "", "", "Out of memory: Killed process 1"},
    {"Jan  6 15:18:46 gpu01 kernel: [ 5.5] Out of memory", NONE, false, "gpu01", "", "Out of memory"},
    {"Jan 06 15:18:46 gpu01 slurmstepd[12]: error: x", NONE, false, "gpu01", "", "slurmstepd[12]: error: x"},
    {"[Mon Jan  6 15:18:46 2025] NVRM: Xid", NONE, false, "", "", "NVRM: Xid"},
    {"E       torch.OutOfMemoryError: x", NONE, false, "", "", "torch.OutOfMemoryError: x"},
    {"E  x", NONE, false, "", "", "E  x"},
    /* no prefix */
    {"", NONE, false, "", "", ""},
    {"  File \"/a.py\", line 3, in f", NONE, false, "", "", "  File \"/a.py\", line 3, in f"},
    {"    return x", NONE, false, "", "", "    return x"},
    {"torch.OutOfMemoryError: CUDA out of memory.", NONE, false, "", "", "torch.OutOfMemoryError: CUDA out of memory."},
    {"2025-01-06 15:18:19abc", NONE, false, "", "", "2025-01-06 15:18:19abc"},
    {"[rank]: x", NONE, false, "", "", "[rank]: x"},
    {"[rank99999999999999999999]: x", NONE, false, "", "", "[rank99999999999999999999]: x"},
};

static void check_row(const struct row *row) {
  const struct wo_view line = wo_view_of(row->line);
  const struct wo_prefix prefix = wo_prefix_read(line);
  const struct wo_view rest = wo_view_skip(line, prefix.length);
  if (!wo_view_is(rest, row->rest) || !wo_view_is(prefix.source, row->source)) {
    fail_msg("\"%s\": source \"%.*s\", rest \"%.*s\"", row->line, (int)prefix.source.len,
             prefix.source.len == 0 ? "" : prefix.source.ptr, (int)rest.len, rest.ptr);
  }
  if (!wo_view_is(prefix.host, row->host) || prefix.rank != row->rank || prefix.is_local_rank != row->is_local) {
    fail_msg("\"%s\": rank %d, host \"%.*s\"", row->line, (int)prefix.rank, (int)prefix.host.len,
             prefix.host.len == 0 ? "" : prefix.host.ptr);
  }
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_row(&rows[i]);
}

/* A line that is cut anywhere gives a prefix inside it. */
static void test_severities(void **state) {
  (void)state;
  static const struct {
    const char *line;
    enum wo_severity severity;
  } severities[] = {
      {"{\"time\":\"2026-01-02T03:04:05Z\",\"level\":\"ERROR\",\"msg\":\"no route\"}", WO_SEVERITY_ERROR},
      {"{\"ts\": 12, \"level\": \"info\", \"msg\": \"up\"}", WO_SEVERITY_INFO},
      {"{\"severity\":\"WARNING\"}", WO_SEVERITY_WARNING},
      {"{\"level\":3,\"msg\":\"ERROR\"}", WO_SEVERITY_NONE},
      {"{\"msg\":\"level\"", WO_SEVERITY_NONE},
      {"2025-01-06 15:18:19,123 - __main__ - ERROR - boom", WO_SEVERITY_ERROR},
      {"2025-01-06 15:18:19,123 INFO boom", WO_SEVERITY_INFO},
      {"15:18:19 <ERROR> boom", WO_SEVERITY_ERROR},
      {"15:18:19 | INFO     | boom", WO_SEVERITY_INFO},
      {"15:18:19 <b> boom", WO_SEVERITY_NONE},
      {"2025-01-06 15:18:19 | WARNING | fairseq.trainer | boom", WO_SEVERITY_WARNING},
      {"[2025-01-06 15:18:19,123] [DEBUG] [file.py:12:fn] [Rank 0] text", WO_SEVERITY_DEBUG},
      {"ERROR    | 2025-01-06 15:18:19 | pkg.mod:fn:12 - text", WO_SEVERITY_ERROR},
      {"2025-01-06 15:18:19.123456: W tensorflow/core/op.cc:100] text", WO_SEVERITY_WARNING},
      {"[WARNING|trainer.py:1234] 2025-01-06 15:18:19,123 >> text", WO_SEVERITY_WARNING},
      {"[NeMo W 2025-01-06 15:18:19 nemo_logging:349] text", WO_SEVERITY_WARNING},
      {"(EngineCore pid=4) WARNING 03-19 07:27:53 [core.py:560] ImportError: x", WO_SEVERITY_WARNING},
      {"E0106 15:18:46.670320 209443 site-packages/api.py:833] failed", WO_SEVERITY_ERROR},
      {"[rank0]:[W506 02:07:08.408 Module.cpp:12] Warning", WO_SEVERITY_WARNING},
      {"WARNING:root:no card", WO_SEVERITY_WARNING},
      {"ERROR: no card", WO_SEVERITY_ERROR},
      {"[rank1]: CRITICAL: no card", WO_SEVERITY_FATAL},
      {"[TM][ERROR] no card", WO_SEVERITY_ERROR},
      {"ERRORS: 7", WO_SEVERITY_NONE},
      {"INFO", WO_SEVERITY_NONE},
      {"Info: no card", WO_SEVERITY_NONE},
      {"[core.py:560]: x", WO_SEVERITY_NONE},
      {"", WO_SEVERITY_NONE},
  };
  for (size_t i = 0; i < sizeof severities / sizeof severities[0]; i++) {
    const enum wo_severity found = wo_prefix_read(wo_view_of(severities[i].line)).severity;
    if (found != severities[i].severity) fail_msg("\"%s\": severity %d", severities[i].line, (int)found);
  }
}

static void test_cut_lines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const size_t len = strlen(rows[i].line);
    for (size_t cut = 0; cut <= len; cut++) {
      char *const copy = malloc(cut == 0 ? 1 : cut); /* exact size: reading beyond it is caught */
      assert_non_null(copy);
      memcpy(copy, rows[i].line, cut);
      assert_true(wo_prefix_read((struct wo_view){copy, cut}).length <= cut);
      free(copy);
    }
  }
  assert_int_equal(wo_prefix_read((struct wo_view){NULL, 0}).length, 0);
}

static void test_times(void **state) {
  (void)state;
  static const char *const with_date[] = {
      "2025-01-06 15:18:19,000 INFO x",
      "[2025-01-06 15:18:19,000] [INFO] x",
      "[NeMo W 2025-01-06 15:18:19 f:1] x",
      "[rank1]: 2025-01-06T15:18:19Z x",
  };
  static const char *const without_date[] = {"ERROR 03-19 07:27:53 [a.py:1] x", "W0106 15:18:46.1 2 p:1] x", "[ 5.5] x", "x"};
  struct wo_view text = WO_VIEW("2025-01-06 15:18:19");
  int64_t expected_ns = 0;
  assert_int_equal(wo_units_time(&text, &expected_ns), WO_OK);
  for (size_t i = 0; i < sizeof with_date / sizeof with_date[0]; i++) {
    assert_true(wo_prefix_read(wo_view_of(with_date[i])).time_ns == expected_ns);
  }
  for (size_t i = 0; i < sizeof without_date / sizeof without_date[0]; i++) {
    assert_true(wo_prefix_read(wo_view_of(without_date[i])).time_ns == WO_TIME_UNKNOWN);
  }
}

struct stamp_row {
  const char *line;
  enum wo_clock clock;
  const char *time; /* as wo_units_time reads it; NULL for none */
};

static const struct stamp_row stamp_rows[] = {
    {"2026-03-05T20:24:06.111 x y", WO_CLOCK_LOCAL, "2026-03-05T20:24:06.111"},
    {"[2026-03-05 20:24:06,111] [INFO] x", WO_CLOCK_LOCAL, "2026-03-05T20:24:06.111"},
    {"2026-03-05T20:24:06Z x", WO_CLOCK_UTC, "2026-03-05T20:24:06"},
    {"2026-03-05T20:24:06.5+01:00 x", WO_CLOCK_UTC, "2026-03-05T19:24:06.5"},
    {"2026-03-05T20:24:06-0500 x", WO_CLOCK_UTC, "2026-03-06T01:24:06"},
    {"E0305 20:24:06.111 4711 a/b.py:12] x", WO_CLOCK_YEARLESS, "2000-03-05T20:24:06.111"},
    {"[rank2]:[E305 20:24:06.25 ProcessGroupNCCL.cpp:607] x", WO_CLOCK_YEARLESS, "2000-03-05T20:24:06.25"},
    {"ERROR 03-05 20:24:06 [core.py:560] x", WO_CLOCK_YEARLESS, "2000-03-05T20:24:06"},
    {"03/05/2026 20:24:06 - INFO - __main__ - x", WO_CLOCK_LOCAL, "2026-03-05T20:24:06"},
    {"Feb 29 20:24:06 gpu01 slurmstepd[12]: error: x", WO_CLOCK_YEARLESS, "2000-02-29T20:24:06"},
    {"ERROR 13-45 20:24:06 [core.py:560] x", WO_CLOCK_NONE, NULL},
    {"[20:24:06] x", WO_CLOCK_NONE, NULL},
    {"[  514.682838] x", WO_CLOCK_NONE, NULL},
    {"step 4 of 5", WO_CLOCK_NONE, NULL},
};

static void test_stamps(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof stamp_rows / sizeof stamp_rows[0]; i++) {
    const struct stamp_row *row = &stamp_rows[i];
    const struct wo_stamp stamp = wo_prefix_read(wo_view_of(row->line)).stamp;
    int64_t expected_ns = 0;
    struct wo_view text = row->time ? wo_view_of(row->time) : (struct wo_view){0};
    if (row->time) assert_int_equal(wo_units_time(&text, &expected_ns), WO_OK);
    if (stamp.clock != row->clock || (row->time && stamp.time_ns != expected_ns))
      fail_msg("\"%s\": clock %d", row->line, (int)stamp.clock);
    assert_false(stamp.is_inherited);
  }
}

static void test_rank_inside(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int32_t rank;
  } inside[] = {{"x [rank3]: y", 3},  {"[rank1]: a [rank12]: b", 12}, {"[rank3]", NONE}, {"[rank]: x", NONE},
                {"[rankx]: x", NONE}, {"[rank99999999999]: x", NONE}, {"", NONE}};
  for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
    int32_t rank = NONE;
    const bool is_found = wo_prefix_rank_inside(wo_view_of(inside[i].text), &rank);
    if (rank != inside[i].rank || is_found != (rank != NONE)) fail_msg("\"%s\": rank %d", inside[i].text, (int)rank);
  }
}

static void test_unbox(void **state) {
  (void)state;
  static const char *const boxes[][2] = {
      {"\xe2\x94\x82 text in a box  \xe2\x94\x82", "text in a box"},
      {"  \xe2\x94\x83text\xe2\x94\x83 ", "text"},
      {"| a | b |", "a | b"},
      {"| left only", "| left only"},
      {"\xe2\x94\x82 left only", "\xe2\x94\x82 left only"},
      {"|", "|"},
      {"||", ""},
      {"  plain  ", "plain"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
    assert_true(wo_view_is(wo_prefix_unbox(wo_view_of(boxes[i][0])), boxes[i][1]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),  cmocka_unit_test(test_severities), cmocka_unit_test(test_cut_lines),
      cmocka_unit_test(test_times), cmocka_unit_test(test_stamps),     cmocka_unit_test(test_rank_inside),
      cmocka_unit_test(test_unbox),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
