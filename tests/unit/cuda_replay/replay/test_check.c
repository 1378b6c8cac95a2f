/* SPDX-License-Identifier: Apache-2.0 */
/* The check of recordings: published ones, random ones, changed ones, and those that cannot be checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda_replay/replay/check.h"
#include "cuda_replay/replay/check_internal.h"
#include "cuda_replay/replay/start.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/vec.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/random_program.h"
#include "cuda_replay/recording/recording_valid.h"

#define SNAPSHOTS WO_SOURCE_DIR "/../shared/corpus/snapshots/"

static struct wo_replay_check check_of(const struct wo_recording *recording, size_t trace) {
  const struct wo_replay_check_options options = {0};
  struct wo_replay_check check;
  struct wo_err err = {0};
  assert_int_equal(wo_replay_check_run(recording, &recording->traces.items[trace], &options, &check, &err), WO_OK);
  return check;
}

/* ---- Published recordings ---- */

/* What is known of each, from whoever collected them: the state at the start, and the peaks. */
struct published {
  const char *file;
  uint64_t start_segments, start_live, start_reserved, start_allocated, peak_reserved, peak_allocated;
  size_t allocations, segment_events;
};

static const struct published published[] = {
    {"trainstep-torch2.1.pickle", 63, 622, 1400897536, 1103667200, 6471811072, 5914094592, 3505, 152},
    {"fromempty-torch2.6.pickle", 0, 0, 0, 0, 3781165056, 3249144832, 36, 9},
    {"lm-ctx256-fullstep-torch2.6.pickle", 1010, 326, 61111009280, 13831915520, 61111009280, 54961465856, 6769, 1571},
    {"lm-ctx512-fullstep-torch2.6.pickle", 1021, 326, 61025026048, 13834545152, 62830673920, 55003351552, 6769, 1379},
    {"lm-ctx512-forward-mixed-torch2.6.pickle", 827, 325, 28848422912, 13800990720, 40514879488, 39996685312, 2702, 1235},
    {"lm-medium512-training-torch2.11.pickle", 399, 664, 12593397760, 5100482560, 12660506624, 12434494464, 7591, 1},
    {"lm-medium1024-training-torch2.11.pickle", 234, 664, 25178406912, 5101793280, 25178406912, 24213918720, 7591, 0},
};

static struct wo_recording *open_published(const char *file) {
  char path[1024];
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  snprintf(path, sizeof path, SNAPSHOTS "%s", file);
  if (wo_trace_open(path, &recording, &err) != WO_OK) fail_msg("%s: %s", file, err.message);
  return recording;
}

static bool has_published(void) {
  if (access(SNAPSHOTS "README.md", R_OK) == 0) return true;
  print_message("skipped: no published snapshots beside the source tree (" SNAPSHOTS ")\n");
  return false;
}

static void assert_start_is(const struct wo_recording *recording, const struct published *known) {
  struct wo_start start;
  uint64_t live = 0, reserved = 0, allocated = 0;
  assert_int_equal(wo_start_rebuild(recording, &recording->traces.items[0], &recording->settings, &start, &(struct wo_err){0}),
                   WO_OK);
  for (size_t i = 0; i < start.segments.count; i++) reserved += start.segments.items[i].size_bytes;
  for (size_t i = 0; i < start.blocks.count; i++) {
    live += start.blocks.items[i].state != WO_BLOCK_FREE;
    if (start.blocks.items[i].state == WO_BLOCK_ALLOCATED) allocated += start.blocks.items[i].size_bytes;
  }
  assert_int_equal(start.segments.count, known->start_segments);
  assert_int_equal(live, known->start_live);
  assert_int_equal(reserved, known->start_reserved);
  assert_int_equal(allocated, known->start_allocated);
  wo_start_done(&start);
}

static void published_recordings_agree(void **state) {
  (void)state;
  if (!has_published()) skip();
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    const struct published *const known = &published[i];
    struct wo_recording *const recording = open_published(known->file);
    const struct wo_replay_check check = check_of(recording, 0);
    if (check.verdict != WO_CHECK_EQUAL)
      fail_msg("%s: entry %zu: %s / %s", known->file, check.diverged_at, check.expected, check.got);
    assert_int_equal(check.allocations, known->allocations);
    assert_int_equal(check.addresses_equal, known->allocations);
    assert_int_equal(check.segment_events, known->segment_events);
    assert_int_equal(check.segment_events_equal, known->segment_events);
    assert_true(check.final_layout_equal);
    assert_int_equal(check.entries_compared, recording->traces.items[0].entries.count);
    assert_start_is(recording, known);
    assert_int_equal(check.peak_reserved_bytes, known->peak_reserved);
    assert_int_equal(check.peak_allocated_bytes, known->peak_allocated);
    assert_int_equal(check.blocks_changed + check.open_blocks, 0);
    wo_recording_free(recording);
  }
}

static void rings_of_one_entry_are_refused(void **state) {
  static const char *const files[] = {"flexgen-oom-torch2.0.pickle", "flexgen-1.3b-torch2.0.pickle"};
  (void)state;
  if (!has_published()) skip();
  for (size_t i = 0; i < 2; i++) {
    struct wo_recording *const recording = open_published(files[i]);
    const struct wo_replay_check check = check_of(recording, 0);
    assert_int_equal(check.verdict, WO_CHECK_REFUSED);
    assert_non_null(strstr(check.why, "ring of one entry"));
    wo_recording_free(recording);
  }
}

static void wrong_settings_diverge(void **state) {
  (void)state;
  if (!has_published()) skip();
  struct wo_recording *const recording = open_published("lm-medium512-training-torch2.11.pickle");
  struct wo_alloc_settings settings = recording->settings;
  settings.roundup_divisions[0] = settings.roundup_divisions[4] = 2;
  const struct wo_replay_check_options options = {.settings = &settings};
  struct wo_replay_check check;
  struct wo_err err;
  assert_int_equal(wo_replay_check_run(recording, &recording->traces.items[0], &options, &check, &err), WO_OK);
  assert_int_not_equal(check.verdict, WO_CHECK_EQUAL);
  assert_true(check.why[0] != '\0');
  wo_recording_free(recording);
}

/* ---- Random recordings ---- */

enum { PROGRAMS = 500 };

static void random_recordings_agree(void **state) {
  size_t searched = 0, open = 0, refusals = 0, cut = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    const struct wo_random_program program = wo_random_program_of(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    assert_non_null(recording);
    assert_true(wo_recording_is_valid(recording));
    const struct wo_replay_check check = check_of(recording, 0);
    const bool is_equal = check.verdict == WO_CHECK_EQUAL || check.allocations == 0;
    if (!is_equal)
      fail_msg("seed %u: entry %zu: %s / %s: %s", (unsigned)seed, check.diverged_at, check.expected, check.got, check.why);
    assert_int_equal(check.addresses_equal, check.allocations);
    assert_int_equal(check.refusals_equal, check.refusals);
    searched += check.layouts_tried > 1;
    open += check.open_blocks;
    refusals += check.refusals;
    cut += program.cut > 0;
    wo_recording_free(recording);
  }
  /* The hard parts were met: sizes that stay open, some of them searched for, refused requests, starts that are not empty. */
  assert_true(searched > 0 && open > 100 && refusals > 1000 && cut > 100);
}

static struct wo_random_program plain_program(uint64_t seed) {
  struct wo_random_program program = wo_random_program_of(seed);
  program.settings = wo_alloc_settings_default(206);
  program.torch = 206;
  program.steps = 400;
  program.cut = 0;
  program.has_pools = program.has_deferred = program.tells_instructions = false;
  program.stream_count = 1;
  return program;
}

/* Snapshots do not hold the memory fraction: the limit of garbage collection is found in what was released. */
static void limits_of_garbage_are_found(void **state) {
  size_t searched = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct wo_random_program program = plain_program(seed);
    program.capacity_bytes = program.total_bytes = (uint64_t)600 << 20;
    program.settings.garbage_collection_threshold = 0.1 + 0.01 * (double)(seed % 80);
    program.settings.memory_fraction = 0.9;
    struct wo_recording *const recording = wo_random_program_record(&program);
    assert_non_null(recording);
    recording->settings.memory_fraction = 0;
    recording->capacity_bytes = 0;
    const struct wo_replay_check check = check_of(recording, 0);
    if (check.verdict != WO_CHECK_EQUAL)
      fail_msg("seed %u: entry %zu: %s / %s: %s", (unsigned)seed, check.diverged_at, check.expected, check.got, check.why);
    searched += check.garbage_limit_bytes > 0;
    wo_recording_free(recording);
  }
  print_message("limits of garbage collection: %zu of 60 were searched\n", searched);
  assert_true(searched > 10);
}

/* ---- Changed recordings ---- */

static void insert_entry(struct wo_trace *trace, size_t at, struct wo_trace_entry entry) {
  assert_int_equal(wo_trace_add(trace, entry), WO_OK);
  for (size_t i = trace->entries.count - 1; i > at; i--) trace->entries.items[i] = trace->entries.items[i - 1];
  trace->entries.items[at] = entry;
}

static void drop_entry(struct wo_trace *trace, size_t at) {
  for (size_t i = at + 1; i < trace->entries.count; i++) trace->entries.items[i - 1] = trace->entries.items[i];
  trace->entries.count--;
}

/* A doubled entry is told as such, at its place. */
static void doubled_entries_are_named(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const struct wo_random_program program = plain_program(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_trace *const trace = &recording->traces.items[0];
    const size_t at = (size_t)(wo_random_next(&(uint64_t){seed}) % trace->entries.count);
    const struct wo_trace_entry entry = trace->entries.items[at];
    if (entry.action != WO_ACTION_OOM) {
      insert_entry(trace, at, entry);
      const struct wo_replay_check check = check_of(recording, 0);
      assert_int_equal(check.verdict, WO_CHECK_REFUSED);
      if (check.diverged_at != at && check.diverged_at != at + 1) {
        fail_msg("seed %u: doubled %zu (%s), told %zu: %s", (unsigned)seed, at, wo_action_name(entry.action), check.diverged_at,
                 check.why);
      }
      assert_true(check.why[0] != '\0');
    }
    wo_recording_free(recording);
  }
}

/* A missing entry is noticed, unless another thread may have done that while the snapshot was taken (then it is counted), or the
 * same requests fit without it. */
static void missing_entries_are_noticed(void **state) {
  size_t equal = 0, noticed = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 120; seed++) {
    const struct wo_random_program program = plain_program(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_trace *const trace = &recording->traces.items[0];
    const size_t at = (size_t)(wo_random_next(&(uint64_t){seed}) % trace->entries.count);
    drop_entry(trace, at);
    const struct wo_replay_check check = check_of(recording, 0);
    equal += check.verdict == WO_CHECK_EQUAL && check.blocks_changed == 0;
    noticed += check.verdict != WO_CHECK_EQUAL || check.blocks_changed > 0;
    if (check.verdict != WO_CHECK_EQUAL) assert_true(check.why[0] != '\0');
    wo_recording_free(recording);
  }
  print_message("missing entries: %zu noticed, %zu without effect\n", noticed, equal);
  assert_true(noticed > 15 * equal);
}

/* Another size than the one that is freed later contradicts it at the entry itself. */
static void changed_sizes_are_named(void **state) {
  size_t named = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const struct wo_random_program program = plain_program(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_trace *const trace = &recording->traces.items[0];
    const size_t at = (size_t)(wo_random_next(&(uint64_t){seed}) % trace->entries.count);
    struct wo_trace_entry *const entry = &trace->entries.items[at];
    if (entry->action != WO_ACTION_OOM) {
      entry->size_bytes += 4096;
      const struct wo_replay_check check = check_of(recording, 0);
      if (check.verdict == WO_CHECK_EQUAL) assert_int_not_equal(check.blocks_changed, 0);
      named += check.verdict != WO_CHECK_EQUAL && check.diverged_at <= at + 1;
    }
    wo_recording_free(recording);
  }
  assert_true(named > 40);
}

/* The last allocations are in the snapshot and not in the trace: the copy of the trace was taken before. */
static void late_allocations_are_put_up_with(void **state) {
  size_t with_strangers = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    const struct wo_random_program program = plain_program(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_trace *const trace = &recording->traces.items[0];
    const struct wo_trace_entry *const last = &trace->entries.items[trace->entries.count - 1];
    if (last->action == WO_ACTION_ALLOC && last[-1].action == WO_ACTION_FREE_COMPLETED) {
      trace->entries.count--;
      const struct wo_replay_check check = check_of(recording, 0);
      with_strangers += check.verdict == WO_CHECK_EQUAL && check.blocks_changed == 1;
    }
    wo_recording_free(recording);
  }
  assert_true(with_strangers > 10);
}

/* ---- What cannot be checked ---- */

static struct wo_recording *sample(void) {
  const struct wo_random_program program = plain_program(7);
  struct wo_recording *const recording = wo_random_program_record(&program);
  assert_non_null(recording);
  return recording;
}

static void expect_refusal(struct wo_recording *recording, const char *word) {
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_REFUSED);
  if (!strstr(check.why, word)) fail_msg("'%s' is not in: %s", word, check.why);
  wo_recording_free(recording);
}

/* A file cut in its entries still holds the segments of the end, which belong to a later moment: no divergence is claimed. */
static void cut_files_prove_nothing(void **state) {
  (void)state;
  size_t refused = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const struct wo_random_program program = plain_program(seed);
    struct wo_recording *const recording = wo_random_program_record(&program);
    struct wo_trace *const trace = &recording->traces.items[0];
    trace->entries.count -= trace->entries.count / 20 + 1;
    recording->is_truncated = true;
    const struct wo_replay_check check = check_of(recording, 0);
    assert_int_not_equal(check.verdict, WO_CHECK_DIVERGED);
    refused += check.verdict == WO_CHECK_REFUSED;
    if (check.verdict == WO_CHECK_REFUSED && !strstr(check.why, "the file ends early")) fail_msg("%s", check.why);
    wo_recording_free(recording);
  }
  print_message("cut files: %zu of 60 refused, the others still agree\n", refused);
  assert_true(refused > 5);
}

static void refusals_name_their_reason(void **state) {
  (void)state;
  struct wo_recording *recording = sample();
  recording->format = WO_TRACE_FORMAT_PROFILER;
  expect_refusal(recording, "profiler");
  recording = sample();
  recording->format = WO_TRACE_FORMAT_TIMELINE;
  expect_refusal(recording, "timeline");
  recording = sample();
  recording->format = WO_TRACE_FORMAT_RECONSTRUCTED;
  expect_refusal(recording, "reconstructed");
  recording = sample();
  recording->fidelity = WO_TRACE_BLOCK_SIZES;
  expect_refusal(recording, "exactly");
  recording = sample();
  recording->settings.is_native = false;
  expect_refusal(recording, "cudaMallocAsync");
  recording = sample();
  recording->traces.items[0].has_segments = false;
  expect_refusal(recording, "no segments");
  recording = sample();
  recording->traces.items[0].segments.items[0].size_bytes -= 1000;
  expect_refusal(recording, "profiler run");
  recording = sample();
  recording->traces.items[0].entries.count = 0;
  expect_refusal(recording, "recording was off");
}

/* skip_actions=["free_requested", "free_completed"]: blocks are allocated where others live. */
static void left_out_frees_are_refused(void **state) {
  (void)state;
  struct wo_recording *const recording = sample();
  struct wo_trace *const trace = &recording->traces.items[0];
  for (size_t i = trace->entries.count; i > 0; i--) {
    const enum wo_action action = (enum wo_action)trace->entries.items[i - 1].action;
    if (action == WO_ACTION_FREE_REQUESTED || action == WO_ACTION_FREE_COMPLETED) drop_entry(trace, i - 1);
  }
  expect_refusal(recording, "skip_actions");
}

/* skip_actions=["free_completed"] leaves enough, as long as nothing waits for other streams; so does its counterpart. */
static void half_of_the_frees_is_enough(void **state) {
  static const enum wo_action left_out[] = {WO_ACTION_FREE_COMPLETED, WO_ACTION_FREE_REQUESTED};
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    struct wo_recording *const recording = sample();
    struct wo_trace *const trace = &recording->traces.items[0];
    for (size_t i = trace->entries.count; i > 0; i--) {
      if (trace->entries.items[i - 1].action == left_out[k]) drop_entry(trace, i - 1);
    }
    const struct wo_replay_check check = check_of(recording, 0);
    if (check.verdict != WO_CHECK_EQUAL) fail_msg("%s / %s: %s", check.expected, check.got, check.why);
    wo_recording_free(recording);
  }
}

/* ---- Versions, devices, memory ---- */

static void open_versions_are_tried(void **state) {
  (void)state;
  struct wo_random_program program = plain_program(9);
  program.settings.max_split_bytes = (uint64_t)30 << 20;
  struct wo_recording *const recording = wo_random_program_record(&program);
  recording->torch_from = 202;
  recording->torch_to = 211;
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_true(check.version_count > 3);
  assert_int_equal(check.versions_tried[0], 202);
  for (size_t i = 1; i < check.version_count; i++) assert_true(check.versions_tried[i] > check.versions_tried[i - 1]);
  wo_recording_free(recording);
}

static void versions_that_cannot_differ_are_run_once(void **state) {
  (void)state;
  struct wo_recording *const recording = sample();
  recording->torch_from = recording->torch_to = 0;
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_equal(check.version_count, 1);
  wo_recording_free(recording);
}

/* Random programs on real torch over a runtime without a GPU. */
static struct wo_recording *open_recording(const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_trace_open(path, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  return recording;
}

/* Since 2.12 equal blocks are taken by age: without any setting newer versions are tried where the older rules diverge. */
static void newer_versions_are_tried_where_older_diverge(void **state) {
  (void)state;
  struct wo_recording *const recording = open_recording(WO_SOURCE_DIR "/tests/recordings/ages.jsonl");
  recording->torch_from = 211;
  recording->torch_to = 0;
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_true(check.torch >= 213);
  assert_int_equal(check.versions_tried[0], 211);
  assert_false(check.versions_agree[0]);
  wo_recording_free(recording);
}

/* A second device beside the first: its own entries, its own segments, the same addresses. */
static void devices_are_checked_apart(void **state) {
  (void)state;
  struct wo_recording *const recording = sample();
  assert_non_null(wo_recording_trace(recording, 3));
  const struct wo_trace *const first = &recording->traces.items[0];
  struct wo_trace *const second = &recording->traces.items[1];
  second->has_segments = true;
  for (size_t i = 0; i < first->entries.count; i++) assert_int_equal(wo_trace_add(second, first->entries.items[i]), WO_OK);
  for (size_t i = 0; i < first->segments.count; i++) {
    assert_true(WO_VEC_RESERVE(&second->segments, 1, 1 << 20));
    second->segments.items[second->segments.count++] = first->segments.items[i];
  }
  for (size_t i = 0; i < first->blocks.count; i++) {
    assert_true(WO_VEC_RESERVE(&second->blocks, 1, 1 << 20));
    second->blocks.items[second->blocks.count++] = first->blocks.items[i];
  }
  drop_entry(&recording->traces.items[0], 5);
  assert_int_not_equal(check_of(recording, 0).verdict, WO_CHECK_EQUAL);
  assert_int_equal(check_of(recording, 1).verdict, WO_CHECK_EQUAL);
  wo_recording_free(recording);
}

/* ---- Pools that nothing names ---- */

/* Graphs that are captured, share pools, and are released. */
static struct wo_recording *open_graphs(void) {
  return open_recording(WO_SOURCE_DIR "/tests/recordings/graphs.jsonl");
}

static void graphs_that_were_released_are_found(void **state) {
  (void)state;
  struct wo_recording *const recording = open_graphs();
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_equal(check.addresses_equal, 66);
  assert_int_equal(check.segment_events_equal, 46);
  assert_true(check.final_layout_equal);
  assert_int_equal(check.hidden_pools, 5);
  wo_recording_free(recording);
}

/* One MemPool ends with large segments alone, and another one after it: large segments before small ones are not the default
 * pool's for that. */
static void large_segments_before_small_ones_show_no_pool(void **state) {
  (void)state;
  struct wo_recording *const recording = open_recording(WO_SOURCE_DIR "/tests/recordings/mempools.jsonl");
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_equal(check.addresses_equal, 57);
  assert_int_equal(check.segment_events_equal, 31);
  wo_recording_free(recording);
}

/* MemPools whose requests are refused one after the other: each refused request may be one of a pool, and more is not tried. */
static void refused_requests_are_not_searched(void **state) {
  (void)state;
  struct wo_recording *const recording = open_recording(WO_SOURCE_DIR "/tests/recordings/refused.jsonl");
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_equal(check.refusals_equal, 22);
  assert_true(check.layouts_tried < 1000);
  wo_recording_free(recording);
}

/* One pass collects all old garbage: only its first release bounds the limit. */
static void one_pass_bounds_the_limit_once(void **state) {
  (void)state;
  struct wo_recording *const recording = open_recording(WO_SOURCE_DIR "/tests/recordings/garbage.jsonl");
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_equal(check.garbage_limit_bytes, 36 << 20);
  wo_recording_free(recording);
}

/* Without the name of the call nothing shows the stream of captures: their pools are guessed. */
static void graphs_are_guessed_without_their_stacks(void **state) {
  (void)state;
  struct wo_recording *const recording = open_graphs();
  for (size_t i = 0; i < recording->frames.count; i++) {
    struct wo_frame *const frame = &recording->frames.items[i];
    if (wo_view_is(frame->function, "capture_begin")) frame->function = wo_view_of("begin");
  }
  const struct wo_replay_check check = check_of(recording, 0);
  assert_int_equal(check.verdict, WO_CHECK_EQUAL);
  assert_int_not_equal(check.hidden_pools, 0);
  wo_recording_free(recording);
}

/* How many segments of captures are hidden if the program runs so often, each time at other addresses. */
static size_t hidden_of(size_t times) {
  struct wo_recording *const recording = open_graphs();
  struct wo_trace *const trace = &recording->traces.items[0];
  const size_t once = trace->entries.count;
  for (size_t i = once; i < times * once; i++) {
    assert_true(WO_VEC_RESERVE(&trace->entries, 1, SIZE_MAX));
    struct wo_trace_entry entry = trace->entries.items[i % once];
    entry.address += (uint64_t)(i / once) << 48;
    trace->entries.items[trace->entries.count++] = entry;
  }
  struct wo__checker checker = {.recording = recording, .trace = trace};
  assert_int_equal(wo__check_hide_captures(&checker), WO_OK);
  const size_t hidden = checker.readings.hidden.count;
  WO_VEC_DONE(&checker.readings.hidden);
  wo_recording_free(recording);
  return hidden;
}

/* More than the limits are no lack of memory: nothing is hidden then, and the guesses go on. */
static void too_many_captures_are_left_alone(void **state) {
  (void)state;
  assert_int_equal(hidden_of(1), 5);
  assert_true(hidden_of(20) >= 100);
  assert_int_equal(hidden_of(2000), 0);
}

static void fail_each_allocation(struct wo_recording *recording) {
  const struct wo_replay_check_options options = {0};
  struct wo_replay_check check;
  struct wo_err err;
  bool was_hit = true;
  long n = 1;
  for (; was_hit; n++) {
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_replay_check_run(recording, &recording->traces.items[0], &options, &check, &err);
    was_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_int_equal(status, was_hit ? WO_E_NOMEM : WO_OK);
  }
  assert_true(n > 20);
  wo_recording_free(recording);
}

static void memory_can_run_out_anywhere(void **state) {
  (void)state;
  struct wo_random_program program = wo_random_program_of(56);
  program.steps = 300;
  program.cut = 60;
  fail_each_allocation(wo_random_program_record(&program));
  fail_each_allocation(open_graphs());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_recordings_agree),
      cmocka_unit_test(rings_of_one_entry_are_refused),
      cmocka_unit_test(wrong_settings_diverge),
      cmocka_unit_test(random_recordings_agree),
      cmocka_unit_test(doubled_entries_are_named),
      cmocka_unit_test(missing_entries_are_noticed),
      cmocka_unit_test(changed_sizes_are_named),
      cmocka_unit_test(late_allocations_are_put_up_with),
      cmocka_unit_test(refusals_name_their_reason),
      cmocka_unit_test(cut_files_prove_nothing),
      cmocka_unit_test(left_out_frees_are_refused),
      cmocka_unit_test(half_of_the_frees_is_enough),
      cmocka_unit_test(open_versions_are_tried),
      cmocka_unit_test(versions_that_cannot_differ_are_run_once),
      cmocka_unit_test(newer_versions_are_tried_where_older_diverge),
      cmocka_unit_test(devices_are_checked_apart),
      cmocka_unit_test(memory_can_run_out_anywhere),
      cmocka_unit_test(limits_of_garbage_are_found),
      cmocka_unit_test(graphs_that_were_released_are_found),
      cmocka_unit_test(too_many_captures_are_left_alone),
      cmocka_unit_test(graphs_are_guessed_without_their_stacks),
      cmocka_unit_test(large_segments_before_small_ones_show_no_pool),
      cmocka_unit_test(refused_requests_are_not_searched),
      cmocka_unit_test(one_pass_bounds_the_limit_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
