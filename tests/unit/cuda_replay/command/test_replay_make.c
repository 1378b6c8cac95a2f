/* SPDX-License-Identifier: Apache-2.0 */
/* From a recording to the report of `whyoom replay`: verdicts, figures, refusals, memory that is out, real recordings. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/command/replay_command.h"
#include "cuda_replay/command/replay_make.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/replay/trace_sample.h"

#define RECORDINGS WO_SOURCE_DIR "/tests/recordings/"
#define SNAPSHOTS WO_SOURCE_DIR "/../shared/corpus/snapshots"

/* Options in one string, "set=a:b check". */
static void read_args(const char *text, struct wo_replay_args *args) {
  struct wo_view rest = wo_view_of(text);
  struct wo_err err = {0};
  enum wo_status status = WO_OK;
  *args = (struct wo_replay_args){0};
  while (rest.len > 0 && status == WO_OK) {
    struct wo_view value = wo_view_cut(&rest, ' ');
    const struct wo_view name = wo_view_cut(&value, '=');
    status = wo_command_apply(&wo_command_replay, (struct wo_given){name, value}, args, &err);
  }
  if (status == WO_OK) status = wo_replay_args_check(args, &err);
  if (status != WO_OK) fail_msg("%s: %s", text, err.message);
}

static struct wo_recording *open_recording(const char *name) {
  char path[512];
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  snprintf(path, sizeof path, RECORDINGS "%s.jsonl", name);
  if (wo_trace_open(path, &recording, &err) != WO_OK) fail_msg("%s: %s", path, err.message);
  return recording;
}

static struct wo_recording *recording_of(const char *lines) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_sample_read(wo_trace_lines_read, wo_view_of(lines), 0, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  return recording;
}

/* ---- Intervals ---- */

/* Beyond the ends by 1 %, by 6 % without stacks, by 3 or 9 % from the middle of a run, by 10 % from micro-batch 1, by 10 % and 5
 * % for checkpointing. */
static void intervals_reach_beyond_their_ends(void **state) {
  (void)state;
  struct wo_replay_report report = {.has_bounds = true, .classes.facts.all_flags = WO_STACK_HAS_PYTHON};
  static const struct wo_transform checkpoint = {.above_pct = 10, .below_pct = 5};
  report.bounds[WO_BOUND_LOW] = (struct wo_replay_case){.reserved_lo_bytes = 90000, .reserved_hi_bytes = 95000};
  report.bounds[WO_BOUND_LIKELY] = (struct wo_replay_case){.reserved_lo_bytes = 100000, .reserved_hi_bytes = 110000};
  report.bounds[WO_BOUND_HIGH] = (struct wo_replay_case){.reserved_lo_bytes = 100000, .reserved_hi_bytes = 100000};
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 89100);
  assert_int_equal(wo_replay_interval(&report).hi_bytes, 111100);
  assert_int_equal(wo_replay_uncertainty(&report), 11100);
  report.capacity.uncertainty_bytes = 20000;
  assert_int_equal(wo_replay_uncertainty(&report), 20000);
  report.start_from = WO_START_REBUILT;
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 81900); /* no step stands in for the first one */
  report.whatif_course.has_first_step = true;
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 87300);
  assert_int_equal(wo_replay_interval(&report).hi_bytes, 113300);
  report.start_from = WO_START_EMPTY;
  report.classes.facts.all_flags = 0;
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 84600);
  report.classes.facts.all_flags = WO_STACK_HAS_PYTHON;
  report.change.has_scale = true;
  report.change.scale.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){1, 4};
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 81000);
  assert_int_equal(wo_replay_interval(&report).hi_bytes, 121000);
  report.change.scale.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){4, 1};
  assert_int_equal(wo_replay_interval(&report).hi_bytes, 111100);
  report.change.transforms[report.change.transform_count++].transform = &checkpoint;
  assert_int_equal(wo_replay_interval(&report).lo_bytes, 85500);
  assert_int_equal(wo_replay_interval(&report).hi_bytes, 121000);
}

/* One figure stands for an interval of at most 5 % to either side; else the report names what makes it wide. */
static void figures_are_close(void **state) {
  (void)state;
  static const struct {
    uint64_t low, least, most, high;
    bool is_figure;
    enum wo_replay_width widest;
  } rows[] = {
      {1000000, 1000000, 1000000, 1000000, true, WO_WIDTH_REST},  {985000, 985000, 1000000, 1000000, true, WO_WIDTH_ORDER},
      {1000000, 1000000, 1000000, 1030000, true, WO_WIDTH_SIZES}, {1000000, 1000000, 1000000, 1050000, false, WO_WIDTH_SIZES},
      {940000, 1000000, 1000000, 1000000, false, WO_WIDTH_SIZES}, {900000, 900000, 1000000, 1000000, false, WO_WIDTH_ORDER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_replay_report report = {.has_bounds = true, .classes.facts.all_flags = WO_STACK_HAS_PYTHON};
    report.bounds[WO_BOUND_LOW] = (struct wo_replay_case){.reserved_lo_bytes = rows[i].low, .reserved_hi_bytes = rows[i].low};
    report.bounds[WO_BOUND_LIKELY] =
        (struct wo_replay_case){.reserved_lo_bytes = rows[i].least, .reserved_hi_bytes = rows[i].most};
    report.bounds[WO_BOUND_HIGH] = (struct wo_replay_case){.reserved_lo_bytes = rows[i].high, .reserved_hi_bytes = rows[i].high};
    const struct wo_replay_interval interval = wo_replay_interval(&report);
    if (interval.is_figure != rows[i].is_figure || interval.widest != rows[i].widest)
      fail_msg("row %zu: %d, %s", i, interval.is_figure, wo_replay_width_name(interval.widest));
  }
  for (int width = 0; width < WO_WIDTH_COUNT_; width++) {
    assert_true(strlen(wo_replay_width_text((enum wo_replay_width)width)) > 0);
  }
}

/* ---- Verdicts ---- */

static void test_verdicts(void **state) {
  (void)state;
  static const struct {
    const char *recording;
    const char *options;
    enum wo_replay_verdict verdict;
  } rows[] = {
      {"small", "", WO_REPLAY_REPRODUCED},
      {"small", "check", WO_REPLAY_REPRODUCED},
      {"small", "check set=roundup_power2_divisions:1", WO_REPLAY_REPRODUCED},
      {"small", "check set=expandable_segments:True", WO_REPLAY_DIVERGED},
      {"small", "set=expandable_segments:True", WO_REPLAY_NO_CAPACITY},
      {"small", "set=expandable_segments:True capacity=8GiB", WO_REPLAY_FITS},
      {"small", "capacity=8GiB", WO_REPLAY_FITS},
      {"small", "capacity=100MiB", WO_REPLAY_CLOSE},
      {"small", "capacity=20MiB", WO_REPLAY_NOT_FIT},
      {"small", "sweep", WO_REPLAY_REPRODUCED},
      {"small", "sweep capacity=8GiB", WO_REPLAY_FITS},
      {"small", "sweep capacity=10MiB", WO_REPLAY_NOT_FIT},
      {"small", "at=3", WO_REPLAY_REPRODUCED},
      {"fragmented", "", WO_REPLAY_NOT_FIT},
      {"fragmented", "check", WO_REPLAY_REPRODUCED},
      {"fragmented", "set=expandable_segments:True", WO_REPLAY_FITS},
      {"fragmented", "set=max_split_size_mb:512", WO_REPLAY_NOT_FIT},
      {"fragmented", "sweep", WO_REPLAY_FITS},
      {"diverged", "", WO_REPLAY_DIVERGED},
      {"diverged", "check", WO_REPLAY_DIVERGED},
      {"diverged", "capacity=8GiB", WO_REPLAY_APPROXIMATE},
      {"diverged", "sweep", WO_REPLAY_APPROXIMATE},
      {"dropped", "", WO_REPLAY_REFUSED},
      {"dropped", "sweep", WO_REPLAY_REFUSED},
      {"state", "", WO_REPLAY_STATE_ONLY},
      {"state", "check", WO_REPLAY_STATE_ONLY},
      {"state", "sweep capacity=8GiB", WO_REPLAY_STATE_ONLY},
      {"state", "at=0", WO_REPLAY_STATE_ONLY},
      {"asked", "", WO_REPLAY_NO_CAPACITY},
      {"asked", "check", WO_REPLAY_REFUSED},
      {"asked", "capacity=80GiB", WO_REPLAY_FITS},
      {"asked", "capacity=24GiB", WO_REPLAY_NOT_FIT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *recording = open_recording(rows[i].recording);
    struct wo_replay_args args;
    struct wo_replay_report report;
    struct wo_err err = {0};
    read_args(rows[i].options, &args);
    if (wo_replay_make(recording, &recording->traces.items[0], WO_VIEW("x"), &args, &report, &err) != WO_OK)
      fail_msg("%s %s: %s", rows[i].recording, rows[i].options, err.message);
    if (report.verdict != rows[i].verdict)
      fail_msg("%s %s: %s", rows[i].recording, rows[i].options, wo_replay_verdict_name(report.verdict));
    const bool has_reason =
        report.verdict == WO_REPLAY_APPROXIMATE || report.verdict == WO_REPLAY_REFUSED || report.verdict == WO_REPLAY_STATE_ONLY;
    assert_true(has_reason == (report.why.len > 0));
    wo_replay_report_done(&report);
    wo_recording_free(recording);
  }
}

/* The text of --check for one trace. */
static void check_text(const struct wo_recording *recording, const struct wo_trace *trace, bool shows_memory,
                       struct wo_text *text) {
  const struct wo_replay_args args = {.is_check = true, .shows_memory = shows_memory, .no_times = true};
  struct wo_replay_report report;
  struct wo_err err = {0};
  if (wo_replay_make(recording, trace, WO_VIEW("x"), &args, &report, &err) != WO_OK) fail_msg("%s", err.message);
  wo_replay_text(&report, (struct wo_text_style){.width = 100}, text);
  if (!shows_memory && report.verdict == WO_REPLAY_REPRODUCED && report.check.refusals == 0) assert_false(report.has_memory);
  wo_replay_report_done(&report);
}

/* --check says the same whether or not the memory is followed beside it. */
static void check_needs_no_memory(void **state) {
  (void)state;
  glob_t found;
  assert_int_equal(glob(RECORDINGS "*.jsonl", 0, NULL, &found), 0);
  assert_int_equal(glob(WO_SOURCE_DIR "/tests/oracle/cases/*.jsonl", GLOB_APPEND, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (wo_trace_open(found.gl_pathv[i], &recording, &err) != WO_OK) fail_msg("%s: %s", found.gl_pathv[i], err.message);
    for (size_t j = 0; j < recording->traces.count; j++) {
      struct wo_text with = {0}, without = {0};
      check_text(recording, &recording->traces.items[j], true, &with);
      check_text(recording, &recording->traces.items[j], false, &without);
      assert_false(with.is_failed || without.is_failed);
      if (with.len != without.len || memcmp(with.ptr, without.ptr, with.len) != 0) fail_msg("%s", found.gl_pathv[i]);
      wo_text_done(&with);
      wo_text_done(&without);
    }
    wo_recording_free(recording);
  }
  globfree(&found);
}

/* Wishes that a recording cannot meet. */
static void test_refused_wishes(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"set=expandable_segment:True", "expandable_segments"},
                                        {"set=large_segment_size_mb:64", "2.11"},
                                        {"set=backend:cudaMallocAsync", "cannot be modelled"},
                                        {"torch=2.0 set=expandable_segments:True", "2.1"},
                                        {"at=11", "11 entries"}};
  struct wo_recording *recording = open_recording("small");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_replay_args args;
    struct wo_replay_report report;
    struct wo_err err = {0};
    read_args(rows[i][0], &args);
    assert_true(wo_replay_make(recording, &recording->traces.items[0], WO_VIEW("x"), &args, &report, &err) != WO_OK);
    if (!wo_view_has(wo_view_of(err.message), rows[i][1])) fail_msg("%s: %s", rows[i][0], err.message);
  }
  wo_recording_free(recording);
}

/* ---- Figures ---- */

static void test_figures(void **state) {
  (void)state;
  struct wo_recording *recording = open_recording("fragmented");
  struct wo_replay_args args;
  struct wo_replay_report report;
  struct wo_err err = {0};
  read_args("set=expandable_segments:True", &args);
  assert_int_equal(wo_replay_make(recording, &recording->traces.items[0], WO_VIEW("x"), &args, &report, &err), WO_OK);
  assert_int_equal(report.capacity.from, WO_CAPACITY_OOM_ENTRY);
  assert_true(report.capacity.bytes == UINT64_C(8) << 30);
  assert_true(report.has_recorded && report.recorded.outcome.oom_entry == 238);
  assert_true(report.has_baseline && report.baseline.oom_count == report.baseline.run_count);
  assert_int_equal(report.whatif.run_count, 2 + WO_WHATIF_SHUFFLES);
  assert_int_equal(report.whatif.oom_count, 0);
  assert_false(report.has_warm); /* the recording begins empty, so there is no other start */
  assert_true(report.whatif.reserved_hi_bytes + wo_replay_margin(&report, &report.whatif) == report.capacity.bytes);
  assert_true(wo_replay_idle_pct(&report.baseline) > wo_replay_idle_pct(&report.whatif));
  assert_true(report.has_memory && report.attribution.total.block_bytes > 0);
  assert_true(report.operation_count > 5 * recording->traces.items[0].entries.count);
  wo_replay_report_done(&report);
  wo_recording_free(recording);
}

/* The state dump agrees with the file's own segments after the last entry. */
static void test_state_at_the_end(void **state) {
  (void)state;
  static const char *const names[] = {"small", "fragmented"};
  for (size_t n = 0; n < 2; n++) {
    struct wo_recording *recording = open_recording(names[n]);
    const struct wo_trace *const trace = &recording->traces.items[0];
    struct wo_replay_args args = {.has_at = true, .at_entry = trace->entries.count - 1};
    struct wo_replay_report report;
    struct wo_err err = {0};
    assert_int_equal(wo_replay_make(recording, trace, WO_VIEW("x"), &args, &report, &err), WO_OK);
    assert_true(report.has_state);
    assert_int_equal(report.state.segments.count, trace->segments.count);
    assert_int_equal(report.state.blocks.count, trace->blocks.count);
    for (size_t i = 0; i < trace->blocks.count; i++) {
      assert_true(report.state.blocks.items[i].address == trace->blocks.items[i].address);
      assert_true(report.state.blocks.items[i].size_bytes == trace->blocks.items[i].size_bytes);
      assert_int_equal(report.state.blocks.items[i].state, trace->blocks.items[i].state);
    }
    wo_replay_report_done(&report);
    wo_recording_free(recording);
  }
}

/* ---- Capacity ---- */

#define HEAD "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n"
#define ONE "{\"segment_alloc\":2097152,\"addr\":2097152}\n{\"alloc\":512,\"addr\":2097152}\n"
#define END                                                                                                                      \
  "{\"segment\":2097152,\"addr\":2097152,\"small\":true}\n{\"block\":512,\"state\":\"allocated\"}\n{\"block\":2096640,"          \
  "\"state\":\"free\"}\n"

static void test_capacity(void **state) {
  (void)state;
  static const struct {
    const char *lines;
    uint64_t stated_bytes;
    enum wo_capacity_from from;
    uint64_t bytes;
  } rows[] = {
      {HEAD ONE END, 0, WO_CAPACITY_NONE, 0},
      {HEAD ONE END, 1000, WO_CAPACITY_OPTION, 1000},
      {"{\"whyoom_trace\":1,\"capacity_bytes\":4096}\n" ONE END, 0, WO_CAPACITY_FILE, 4096},
      {"{\"whyoom_trace\":1,\"capacity_bytes\":4096}\n" ONE END, 1000, WO_CAPACITY_OPTION, 1000},
      /* Reserved 2 MiB, 1 MiB free, 20 MiB wanted: the card. */
      {HEAD ONE "{\"oom\":2097152,\"device_free\":1048576}\n" END, 0, WO_CAPACITY_OOM_ENTRY, 3145728},
      {HEAD ONE "{\"oom\":2097152,\"device_free\":1048576}\n" END, 1000, WO_CAPACITY_OPTION, 1000},
      /* Plenty was free: a fraction of the program refused. */
      {HEAD ONE "{\"oom\":2097152,\"device_free\":1073741824}\n" END, 0, WO_CAPACITY_FRACTION, 2097152},
      /* Without segments at the end the sum runs up from nothing; the last of several counts. */
      {HEAD ONE "{\"oom\":2097152,\"device_free\":1048576}\n", 0, WO_CAPACITY_OOM_ENTRY, 3145728},
      {HEAD "{\"oom\":2097152,\"device_free\":7}\n" ONE "{\"oom\":2097152,\"device_free\":512}\n", 0, WO_CAPACITY_OOM_ENTRY,
       2097664},
      /* Sizes that cannot be. */
      {HEAD "{\"segment_alloc\":18446744073709551615,\"addr\":1}\n{\"oom\":512,\"device_free\":512}\n", 0, WO_CAPACITY_NONE, 0},
      {HEAD "{\"oom\":512,\"device_free\":18446744073709551615}\n", 0, WO_CAPACITY_NONE, 0},
      {HEAD "{\"oom\":18446744073709551615,\"device_free\":512}\n", 0, WO_CAPACITY_NONE, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *recording = recording_of(rows[i].lines);
    const struct wo_capacity capacity = wo_capacity_find(recording, &recording->traces.items[0], rows[i].stated_bytes);
    if (capacity.from != rows[i].from || capacity.bytes != rows[i].bytes)
      fail_msg("row %zu: %d, %llu bytes", i, (int)capacity.from, (unsigned long long)capacity.bytes);
    assert_true((capacity.from == WO_CAPACITY_NONE) == (capacity.uncertainty_bytes == 0) || capacity.from == WO_CAPACITY_NONE);
    wo_recording_free(recording);
  }
}

/* ---- Memory that is out ---- */

/* Each allocation fails in turn: a report without a hole, or WO_E_NOMEM, and nothing lost (the sanitizers look). */
static void fail_each_allocation(const char *name, const char *const *wishes, size_t count) {
  struct wo_recording *recording = open_recording(name);
  for (size_t i = 0; i < count; i++) {
    struct wo_replay_args args;
    read_args(wishes[i], &args);
    bool is_done = false;
    for (long n = 1; !is_done; n += n < 400 ? 1 : 97) {
      struct wo_replay_report report;
      struct wo_err err = {0};
      struct wo_text text = {0};
      wo_fail_alloc_at(n);
      const enum wo_status status = wo_replay_make(recording, &recording->traces.items[0], WO_VIEW("x"), &args, &report, &err);
      if (status == WO_OK) {
        wo_replay_text(&report, (struct wo_text_style){.width = 80}, &text);
        wo_replay_json(&report, &text);
        wo_replay_report_done(&report);
      } else if (status != WO_E_NOMEM) {
        fail_msg("%s, allocation %ld: %s: %s", wishes[i], n, wo_status_text(status), err.message);
      }
      wo_fail_alloc_off();
      is_done = !wo_fail_alloc_hit();
      if (is_done) assert_true(status == WO_OK && !text.is_failed && text.len > 0);
      wo_text_done(&text);
    }
  }
  wo_recording_free(recording);
}

static void test_failing_allocations(void **state) {
  (void)state;
  static const char *const wishes[] = {"", "set=expandable_segments:True", "sweep capacity=1GiB", "at=5"};
  fail_each_allocation("small", wishes, 4);
  fail_each_allocation("state", wishes, 1);
  fail_each_allocation("dropped", wishes, 1);
}

/* ---- The command ---- */

static enum wo_exit run(char **paths, size_t count, const struct wo_given *options, size_t option_count, struct wo_text *out,
                        struct wo_text *errors) {
  struct wo_call call = {.command = &wo_command_replay,
                         .words = paths,
                         .word_count = count,
                         .given_count = option_count,
                         .style = {.width = 80},
                         .out = out,
                         .errors = errors};
  for (size_t i = 0; i < option_count; i++) call.given[i] = options[i];
  return wo_run_replay(&call, NULL);
}

/* It must be told what to replay. */
static void test_no_recording(void **state) {
  (void)state;
  struct wo_text out = {0}, errors = {0};
  assert_int_equal(run(NULL, 0, NULL, 0, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "replay wants a recording"));
  wo_text_done(&out);
  wo_text_done(&errors);
}

/* The gravest exit code wins, and every file is reported. */
static void test_several_files(void **state) {
  (void)state;
  static char small[] = RECORDINGS "small.jsonl", diverged[] = RECORDINGS "diverged.jsonl";
  static char held[] = RECORDINGS "state.jsonl";
  static char dropped[] = RECORDINGS "dropped.jsonl", nothing[] = RECORDINGS "nothing.jsonl";
  static const struct {
    char *paths[3];
    enum wo_exit exit;
  } rows[] = {
      {{small}, WO_EXIT_FINE},
      {{small, dropped}, WO_EXIT_NOT_PROVEN},
      {{dropped, diverged, small}, WO_EXIT_FAILURE_FOUND},
      {{nothing, diverged, small}, WO_EXIT_ERROR},
      {{held, small}, WO_EXIT_NOT_PROVEN},
  };
  const struct wo_given check = {WO_VIEW("check"), {NULL, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_text out = {0}, errors = {0};
    char *paths[3];
    size_t count = 0;
    while (count < 3 && rows[i].paths[count]) {
      paths[count] = rows[i].paths[count];
      count++;
    }
    assert_int_equal(run(paths, count, &check, 1, &out, &errors), rows[i].exit);
    const struct wo_view shown = {out.ptr, out.len};
    for (size_t p = 0; p < count; p++) assert_true(paths[p] == nothing || wo_view_has(shown, paths[p]));
    assert_true((errors.len > 0) == (rows[i].exit == WO_EXIT_ERROR));
    wo_text_done(&out);
    wo_text_done(&errors);
  }
}

/* One SVG file for one report; what stands in the way is told, and the report comes all the same. */
static void test_plot(void **state) {
  (void)state;
  static char small[] = RECORDINGS "small.jsonl";
  char folder[256], file[300];
  char *paths[] = {small};
  struct wo_text out = {0}, errors = {0};
  size_t len = 0;
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(file, sizeof file, "%s/memory.svg", folder);
  struct wo_given options[] = {{WO_VIEW("plot"), wo_view_of(file)}, {WO_VIEW("device"), WO_VIEW("0")}};
  assert_int_equal(run(paths, 1, options, 2, &out, &errors), WO_EXIT_FINE);
  char *svg = wo_files_read(file, &len);
  assert_non_null(svg);
  assert_true(wo_view_has((struct wo_view){svg, len}, "<svg") && wo_view_has((struct wo_view){svg, len}, "</svg>"));
  free(svg);
  /* Two devices, one file. */
  assert_int_equal(run(paths, 1, options, 1, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "--device"));
  options[0].value = WO_VIEW("/nowhere/memory.svg");
  errors.len = 0;
  assert_int_equal(run(paths, 1, options, 2, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "/nowhere/memory.svg"));
  wo_files_remove_scratch(folder);
  wo_text_done(&out);
  wo_text_done(&errors);
}

/* A look at a snapshot without a history is no failure; any question about it is not proven. Its picture has no time axis.
 */
static void test_state_only(void **state) {
  (void)state;
  static char held[] = RECORDINGS "state.jsonl";
  char folder[256], file[300];
  char *paths[] = {held};
  struct wo_text out = {0}, errors = {0};
  size_t len = 0;
  static const struct wo_given questions[] = {{WO_VIEW("check"), {NULL, 0}},
                                              {WO_VIEW("sweep"), {NULL, 0}},
                                              {WO_VIEW("at"), WO_VIEW("0")},
                                              {WO_VIEW("capacity"), WO_VIEW("80GiB")},
                                              {WO_VIEW("set"), WO_VIEW("expandable_segments:True")},
                                              {WO_VIEW("transform"), WO_VIEW("shard=8")}};
  assert_int_equal(run(paths, 1, NULL, 0, &out, &errors), WO_EXIT_FINE);
  assert_false(wo_view_has((struct wo_view){out.ptr, out.len}, "cannot be answered"));
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
    struct wo_given options[] = {questions[i], {WO_VIEW("device"), WO_VIEW("0")}};
    out.len = 0;
    assert_int_equal(run(paths, 1, options, 2, &out, &errors), WO_EXIT_NOT_PROVEN);
    assert_true(wo_view_has((struct wo_view){out.ptr, out.len}, "your question"));
  }
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(file, sizeof file, "%s/state.svg", folder);
  const struct wo_given plot[] = {
      {WO_VIEW("plot"), wo_view_of(file)}, {WO_VIEW("device"), WO_VIEW("0")}, {WO_VIEW("chart"), {NULL, 0}}};
  out.len = 0;
  assert_int_equal(run(paths, 1, plot, 3, &out, &errors), WO_EXIT_FINE);
  char *svg = wo_files_read(file, &len);
  assert_non_null(svg);
  assert_true(wo_view_has((struct wo_view){svg, len}, "when the snapshot was taken"));
  assert_false(wo_view_has((struct wo_view){svg, len}, "peak"));
  assert_true(wo_view_has((struct wo_view){out.ptr, out.len}, "9 segments in the snapshot"));
  assert_int_equal(errors.len, 0);
  free(svg);
  wo_files_remove_scratch(folder);
  wo_text_done(&out);
  wo_text_done(&errors);
}

/* Two recordings that differ in one size, so that the exponents can be read off: 1, r and r^2 of the same program. */
static void make_pair(unsigned length, struct wo_text *text) {
  wo_text_add(text, "{\"whyoom_trace\":1,\"torch\":\"2.6\"}\n");
  wo_text_add(text, "{\"frame\":0,\"function\":\"f\",\"file\":\"train.py\",\"line\":1}\n"
                    "{\"frame\":1,\"function\":\"g\",\"file\":\"train.py\",\"line\":2}\n"
                    "{\"frame\":2,\"function\":\"h\",\"file\":\"train.py\",\"line\":3}\n"
                    "{\"stack\":0,\"frames\":[0]}\n{\"stack\":1,\"frames\":[1]}\n{\"stack\":2,\"frames\":[2]}\n");
  for (unsigned i = 0; i < 40; i++) {
    const unsigned sizes[] = {4096 * 1024, 8192 * length, 16 * length * length};
    wo_text_add(text, "{\"alloc\":%u,\"id\":%u,\"stack\":%u}\n", sizes[i % 3], i + 1, i % 3);
    if (i >= 4 && i % 3 != 1) wo_text_add(text, "{\"free\":%u}\n", i - 3); /* what grows is no part of the model */
  }
}

static void write_pair(const char *path, unsigned length) {
  struct wo_text text = {0};
  make_pair(length, &text);
  assert_true(wo_files_write(path, (struct wo_view){text.ptr, text.len}));
  wo_text_done(&text);
}

/* With a second recording the prediction is the longer run itself. */
static void test_pair_of_recordings(void **state) {
  (void)state;
  char folder[256], small[300], large[300];
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(small, sizeof small, "%s/small.jsonl", folder);
  snprintf(large, sizeof large, "%s/large.jsonl", folder);
  write_pair(small, 256);
  write_pair(large, 512);
  struct wo_recording *first = NULL, *second = NULL;
  struct wo_replay_report predicted, real;
  struct wo_replay_args args = {.pair = wo_view_of(large)};
  struct wo_err err = {0};
  assert_int_equal(wo_trace_open(small, &first, &err), WO_OK);
  assert_int_equal(wo_trace_open(large, &second, &err), WO_OK);
  assert_int_equal(wo_scale_parse(WO_VIEW("seq_len=256:512"), &args.change.scale, &err), WO_OK);
  args.change.has_scale = true;
  if (wo_replay_make(first, &first->traces.items[0], WO_VIEW("x"), &args, &predicted, &err) != WO_OK) fail_msg("%s", err.message);
  const struct wo_replay_args none = {0};
  assert_int_equal(wo_replay_make(second, &second->traces.items[0], WO_VIEW("x"), &none, &real, &err), WO_OK);
  assert_true(predicted.has_bounds && predicted.has_pair && predicted.pair.matched == 40);
  assert_true(predicted.whatif.outcome.peak.allocated_bytes == real.whatif.outcome.peak.allocated_bytes);
  assert_true(predicted.whatif.reserved_hi_bytes == real.whatif.reserved_hi_bytes);
  assert_true(predicted.baseline.reserved_hi_bytes < real.whatif.reserved_hi_bytes);
  wo_replay_report_done(&predicted);
  wo_replay_report_done(&real);
  args.pair = WO_VIEW("/nowhere.jsonl");
  assert_int_equal(wo_replay_make(first, &first->traces.items[0], WO_VIEW("x"), &args, &predicted, &err), WO_E_USAGE);
  assert_true(wo_view_has(wo_view_of(err.message), "/nowhere.jsonl"));
  wo_recording_free(first);
  wo_recording_free(second);
  wo_files_remove_scratch(folder);
}

/* Real recordings, where they lie beside the tree: those that hold enough are reproduced byte for byte, the others are refused
 * with a reason; and a what-if of each comes to an end. */
static void test_corpus(void **state) {
  (void)state;
  size_t count = 0;
  size_t reproduced = 0;
  char **names = wo_files_names(SNAPSHOTS, ".pickle", &count);
  if (!names) {
    print_message("skipped: no recordings in %s\n", SNAPSHOTS);
    skip();
  }
  for (size_t i = 0; i < count; i++) {
    char path[1024];
    char *paths[] = {path};
    struct wo_text out = {0}, errors = {0};
    snprintf(path, sizeof path, "%s/%s", SNAPSHOTS, names[i]);
    const struct wo_given check = {WO_VIEW("check"), {NULL, 0}};
    const enum wo_exit exit = run(paths, 1, &check, 1, &out, &errors);
    if (exit != WO_EXIT_FINE && exit != WO_EXIT_NOT_PROVEN) fail_msg("%s: %.*s", path, (int)out.len, out.ptr);
    assert_true(exit != WO_EXIT_NOT_PROVEN || wo_view_has((struct wo_view){out.ptr, out.len}, "state only"));
    if (exit == WO_EXIT_FINE) reproduced++;
    const struct wo_given wishes[] = {{WO_VIEW("set"), WO_VIEW("max_split_size_mb:128")}, {WO_VIEW("capacity"), WO_VIEW("1TiB")}};
    out.len = 0;
    assert_int_equal(run(paths, 1, wishes, 2, &out, &errors), exit);
    assert_int_equal(errors.len, 0);
    wo_text_done(&out);
    wo_text_done(&errors);
  }
  assert_int_equal(reproduced, count - 2);
  wo_files_free_names(names, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_reach_beyond_their_ends),
      cmocka_unit_test(figures_are_close),
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(check_needs_no_memory),
      cmocka_unit_test(test_refused_wishes),
      cmocka_unit_test(test_figures),
      cmocka_unit_test(test_state_at_the_end),
      cmocka_unit_test(test_capacity),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_several_files),
      cmocka_unit_test(test_plot),
      cmocka_unit_test(test_pair_of_recordings),
      cmocka_unit_test(test_corpus),
      cmocka_unit_test(test_state_only),
      cmocka_unit_test(test_no_recording),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
