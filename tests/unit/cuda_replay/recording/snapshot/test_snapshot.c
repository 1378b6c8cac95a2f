/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of every version of torch, as every protocol writes them: what is read, chopped, cut, packed, and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/recording/snapshot_writer.h"
#include "cuda_replay/recording/recording_valid.h"
#include "tests/support/process.h"

/* Stands for torch's own C++ writer. */
enum { CPP = 6 };

#define MIB UINT64_C(1048576)

static struct wo_pickle_writer writer;

/* The pickle of a sample; valid until the next one. */
static struct wo_view pickle_of(const struct wo_snapshot_sample *sample, int protocol) {
  wo_pickle_write_done(&writer);
  wo_pickle_write_begin(&writer, protocol, protocol == CPP, NULL);
  wo_snapshot_write(&writer, sample);
  return (struct wo_view){writer.bytes, writer.len};
}

static struct wo_recording *read_bytes(struct wo_view bytes, size_t piece) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_test_read(bytes.ptr, bytes.len, piece, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  assert_true(wo_recording_is_valid(recording));
  return recording;
}

static void assert_same(const struct wo_recording *a, const struct wo_recording *b, const char *what) {
  const char *const difference = wo_test_difference(a, b);
  if (difference != NULL) fail_msg("%s: %s differs", what, difference);
}

static int done_writer(void **state) {
  (void)state;
  wo_pickle_write_done(&writer);
  return 0;
}

/* ---- What is read ---- */

static void test_protocols(void **state) {
  static const int torches[] = {200, 201, 206, 211, 212};
  (void)state;
  for (size_t i = 0; i < sizeof torches / sizeof torches[0]; i++) {
    const struct wo_snapshot_sample sample = wo_snapshot_sample_small(torches[i]);
    struct wo_recording *const first = read_bytes(pickle_of(&sample, 0), SIZE_MAX);
    for (int protocol = 1; protocol <= CPP; protocol++) {
      char what[40];
      snprintf(what, sizeof what, "torch %d, protocol %d", torches[i], protocol);
      struct wo_recording *const other = read_bytes(pickle_of(&sample, protocol), SIZE_MAX);
      assert_same(first, other, what);
      wo_recording_free(other);
    }
    wo_recording_free(first);
  }
}

static void check_entries(const struct wo_recording *recording) {
  const struct wo_trace *const trace = &recording->traces.items[0];
  assert_int_equal(trace->entries.count, 40);
  const struct wo_trace_entry *const entries = trace->entries.items;
  assert_int_equal(entries[0].action, WO_ACTION_SEGMENT_ALLOC);
  assert_int_equal(entries[1].action, WO_ACTION_ALLOC);
  assert_int_equal(entries[2].action, WO_ACTION_FREE_REQUESTED);
  assert_int_equal(entries[3].action, WO_ACTION_FREE_COMPLETED);
  assert_int_equal(entries[3].address, WO_SAMPLE_ADDRESS + 512);
  assert_int_equal(entries[7].size_bytes, 4);
  assert_int_equal(entries[5].time_us, INT64_C(1730000000000085));
  assert_int_equal(recording->streams.items[entries[4].stream], INT64_C(0x55500001000));
  assert_int_equal(entries[5].stream, 0);
  assert_int_equal(recording->pools.items[entries[6].pool].second, 1);
  assert_int_equal(entries[5].pool, WO_POOL_DEFAULT);
  assert_int_equal(entries[39].action, WO_ACTION_OOM);
  assert_int_equal(entries[39].address, 12345);
  assert_int_equal(trace->metadata.count, 5);
  assert_int_equal(trace->metadata.items[1].entry, 9);
  assert_true(wo_view_is(trace->metadata.items[1].text, "layer 3"));
  const struct wo_stack stack = recording->stacks.items[entries[1].stack];
  assert_int_equal(stack.count, 4);
  const struct wo_frame *const frame = &recording->frames.items[recording->stack_frames.items[stack.first]];
  assert_true(wo_view_is(frame->function, "function_7<a::b, \\c>"));
  assert_true(wo_view_is(frame->file, "/home/user/train_0.py"));
  assert_int_equal(frame->line, 21);
}

static void check_segments(const struct wo_recording *recording) {
  const struct wo_trace *const trace = &recording->traces.items[0];
  assert_true(trace->has_segments);
  assert_int_equal(trace->segments.count, 3);
  const struct wo_trace_segment *const segments = trace->segments.items;
  assert_true(segments[0].is_small && !segments[0].is_expandable && segments[0].pool == WO_POOL_DEFAULT);
  assert_true(!segments[1].is_small && segments[2].is_expandable);
  assert_int_equal(recording->pools.items[segments[1].pool].second, 1);
  assert_int_equal(recording->streams.items[segments[1].stream], INT64_C(0x55500001000));
  assert_int_equal(segments[1].block_count, 3);
  const struct wo_trace_block *const blocks = trace->blocks.items + segments[1].first_block;
  assert_int_equal(blocks[0].state, WO_BLOCK_PENDING);
  assert_int_equal(blocks[0].requested_bytes, 3 * MIB - 7);
  assert_int_equal(blocks[1].state, WO_BLOCK_PENDING);
  assert_int_equal(blocks[2].state, WO_BLOCK_FREE);
  assert_int_equal(blocks[2].requested_bytes, 0);
  assert_int_equal(blocks[2].stack, WO_NO_STACK);
  assert_int_equal(trace->blocks.items[1].requested_bytes, 0); /* stale: the block is free */
  assert_true(trace->blocks.items[0].stack != WO_NO_STACK);
}

static void test_content(void **state) {
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(212);
  (void)state;
  struct wo_recording *const recording = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
  assert_int_equal(recording->format, WO_TRACE_FORMAT_SNAPSHOT);
  assert_int_equal(recording->fidelity, WO_TRACE_EXACT);
  assert_false(recording->is_truncated);
  assert_int_equal(recording->notes.count, 0);
  assert_int_equal(recording->traces.count, 2);
  assert_int_equal(recording->traces.items[1].device, 2);
  assert_int_equal(recording->traces.items[1].entries.count, 3);
  assert_int_equal(recording->traces.items[1].segments.count, 1);
  assert_int_equal(recording->stacks.count, 5); /* by content, though most entries bring a list of their own */
  assert_int_equal(recording->frames.count, 9);
  check_entries(recording);
  check_segments(recording);
  wo_recording_free(recording);
}

static void test_settings(void **state) {
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  (void)state;
  struct wo_recording *const recording = read_bytes(pickle_of(&sample, 5), SIZE_MAX);
  assert_true(recording->has_settings);
  assert_int_equal(recording->settings.max_split_bytes, 64 * MIB);
  assert_true(recording->settings.garbage_collection_threshold > 0.7499 &&
              recording->settings.garbage_collection_threshold < 0.7501);
  assert_true(recording->settings.expandable_segments);
  for (uint32_t i = 0; i < WO_ROUNDUP_SLOTS; i++) assert_int_equal(recording->settings.roundup_divisions[i], i % 4);
  assert_true(wo_view_is(recording->settings_text, "max_split_size_mb:64"));
  assert_int_equal(recording->annotations.count, 2);
  assert_true(wo_view_is(recording->annotations.items[0].name, "Optimizer.step#AdamW.step"));
  assert_true(recording->annotations.items[0].is_start && !recording->annotations.items[1].is_start);
  assert_int_equal(recording->annotations.items[1].time_us, INT64_C(1730000000000100));
  wo_recording_free(recording);
}

/* The string tells what the snapshot does not state by itself; what is stated counts more. */
static void test_settings_text(void **state) {
  struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  (void)state;
  sample.alloc_conf = "max_non_split_rounding_mb:64,max_split_size_mb:128,backend:cudaMallocAsync";
  struct wo_recording *recording = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
  assert_int_equal(recording->settings.max_non_split_rounding_bytes, 64 * MIB);
  assert_int_equal(recording->settings.max_split_bytes, 64 * MIB);
  assert_false(recording->settings.is_native);
  wo_recording_free(recording);
  sample.alloc_conf = "what_is_this:1";
  recording = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
  assert_true(wo_test_has_note(recording, "the recorded settings 'what_is_this:1' cannot be read"));
  assert_int_equal(recording->settings.max_split_bytes, 64 * MIB);
  assert_true(recording->settings.is_native);
  wo_recording_free(recording);
}

/* The version, from the keys that are there. */
static void test_versions(void **state) {
  static const struct {
    int torch;
    uint16_t from, to;
  } rows[] = {{200, 200, 200}, {201, 201, 201}, {206, 206, 208}, {211, 210, 211}, {212, 211, 0}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_snapshot_sample sample = wo_snapshot_sample_small(rows[i].torch);
    struct wo_recording *const recording = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
    assert_int_equal(recording->torch_from, rows[i].from);
    assert_int_equal(recording->torch_to, rows[i].to);
    wo_recording_free(recording);
  }
}

/* Before 2.1: the newest piece of a block's history stands for it; blocks have no address of their own, entries no time. */
static void test_history(void **state) {
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(200);
  (void)state;
  struct wo_recording *const recording = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
  const struct wo_trace *const trace = &recording->traces.items[0];
  assert_int_equal(trace->blocks.items[0].requested_bytes, 1000);
  assert_true(trace->blocks.items[0].stack != WO_NO_STACK);
  assert_int_equal(trace->blocks.items[1].address, WO_SAMPLE_ADDRESS + 1024);
  assert_int_equal(trace->entries.items[0].time_us, WO_NO_TIME);
  wo_recording_free(recording);
}

/* torch.cuda.memory_snapshot() gives only the list of segments. */
static void test_segments_only(void **state) {
  struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  (void)state;
  sample.is_segments_only = true;
  for (int protocol = 0; protocol <= CPP; protocol++) {
    struct wo_recording *const recording = read_bytes(pickle_of(&sample, protocol), SIZE_MAX);
    assert_int_equal(recording->traces.count, 2);
    assert_int_equal(recording->traces.items[0].entries.count, 0);
    check_segments(recording);
    wo_recording_free(recording);
  }
}

/* Lists of more than 1000 come in several batches, memo slots beyond 255 in the long form. */
static void test_many_entries(void **state) {
  struct wo_snapshot_sample sample = wo_snapshot_sample_small(211);
  (void)state;
  sample.entry_count = 4001;
  sample.stack_depth = 1300;
  sample.has_other_devices = false;
  struct wo_recording *const first = read_bytes(pickle_of(&sample, 4), SIZE_MAX);
  assert_int_equal(first->traces.items[0].entries.count, 4001);
  assert_int_equal(first->stacks.count, 5);
  assert_int_equal(first->stack_frames.count, 5 * 1300);
  struct wo_recording *const other = read_bytes(pickle_of(&sample, CPP), 100000);
  assert_same(first, other, "many entries");
  wo_recording_free(first);
  wo_recording_free(other);
}

/* ---- Pieces, cuts, packing ---- */

static void test_chopped(void **state) {
  static const size_t pieces[] = {1, 2, 3, 7, 100, 4096};
  static const int protocols[] = {0, 2, 4, CPP};
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(211);
  (void)state;
  for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
    const struct wo_view bytes = pickle_of(&sample, protocols[i]);
    struct wo_recording *const whole = read_bytes(bytes, SIZE_MAX);
    for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
      struct wo_recording *const chopped = read_bytes(bytes, pieces[j]);
      assert_same(whole, chopped, "chopped");
      wo_recording_free(chopped);
    }
    wo_recording_free(whole);
  }
}

/* What a cut file gives: nothing with a message, or a beginning of the whole. Returns the number of its entries on device 0. */
static size_t check_cut(struct wo_view bytes, size_t len, const struct wo_recording *whole) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  const enum wo_status status = wo_test_read(bytes.ptr, len, SIZE_MAX, &recording, &err);
  if (status != WO_OK) {
    assert_int_equal(status, WO_E_SYNTAX);
    assert_true(strlen(err.message) > 10);
    assert_string_equal(err.file, "trace");
    return 0;
  }
  assert_true(recording->is_truncated && wo_recording_is_valid(recording));
  assert_true(wo_test_has_note(recording, "ends in the middle"));
  const bool has_trace = recording->traces.count > 0 && recording->traces.items[0].device == 0;
  const size_t entries = has_trace ? recording->traces.items[0].entries.count : 0;
  assert_true(entries <= whole->traces.items[0].entries.count);
  for (size_t i = 0; i < entries; i++) {
    assert_int_equal(recording->traces.items[0].entries.items[i].address, whole->traces.items[0].entries.items[i].address);
    assert_int_equal(recording->traces.items[0].entries.items[i].size_bytes, whole->traces.items[0].entries.items[i].size_bytes);
  }
  wo_recording_free(recording);
  return entries;
}

static void test_cut(void **state) {
  static const int protocols[] = {0, 2, 4, CPP};
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  (void)state;
  for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
    const struct wo_view bytes = pickle_of(&sample, protocols[i]);
    struct wo_recording *const whole = read_bytes(bytes, SIZE_MAX);
    size_t entries = 0;
    /* Near the end every byte counts; before it, a sanitizer sees the same code at every fifth. */
    const size_t step = wo_process_is_sanitized ? 5 : 1;
    for (size_t len = 0; len < bytes.len; len += len + 64 < bytes.len ? step : 1) {
      const size_t now = check_cut(bytes, len, whole);
      assert_true(now >= entries);
      entries = now;
    }
    assert_int_equal(entries, 40); /* all of them, when only the end of the file is lost */
    wo_recording_free(whole);
  }
}

/* Traces longer than a batch, of one device (whose list has no mark of its own) and of several. */
static void test_cut_batches(void **state) {
  (void)state;
  const size_t step = wo_process_is_sanitized ? 4 : 1;
  for (int devices = 1; devices <= 3; devices += 2) {
    struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
    sample.entry_count = 3500;
    sample.has_other_devices = devices > 1;
    for (int protocol = 0; protocol <= CPP; protocol++) {
      const struct wo_view bytes = pickle_of(&sample, protocol);
      struct wo_recording *const whole = read_bytes(bytes, SIZE_MAX);
      size_t entries = 0;
      for (size_t part = 99 % step; part < 100; part += step) {
        const size_t now = check_cut(bytes, bytes.len * part / 100, whole);
        assert_true(now >= entries);
        entries = now;
      }
      assert_true(entries > 3400);
      wo_recording_free(whole);
    }
  }
}

/* A stream that breaks: what came before is kept, and the reason told. */
static void test_broken_stream(void **state) {
  struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  (void)state;
  sample.entry_count = 4000;
  const struct wo_view bytes = pickle_of(&sample, 4);
  struct wo_test_bytes pieces = {bytes.ptr, bytes.len, 0, 4096, bytes.len / 2};
  struct wo_trace_source source = {0};
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_trace_source_init(&source, wo_test_feed(&pieces), "trace"), WO_OK);
  assert_int_equal(wo_trace_read(&source, &recording, &err), WO_OK);
  assert_true(recording->is_truncated && wo_test_has_note(recording, "the disk is gone"));
  assert_true(recording->traces.items[0].entries.count > 1000);
  wo_recording_free(recording);
  wo_trace_source_done(&source);
}

static void test_gzip(void **state) {
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  char folder[256], path[300];
  (void)state;
  const struct wo_view bytes = pickle_of(&sample, 4);
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/snapshot.pickle.gz", folder);
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, bytes.ptr, (unsigned)bytes.len), bytes.len);
  assert_int_equal(gzclose(file), Z_OK);
  struct wo_recording *packed = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_trace_open(path, &packed, &err), WO_OK);
  struct wo_recording *const plain = read_bytes(bytes, SIZE_MAX);
  assert_same(plain, packed, "gzip");
  wo_recording_free(packed);
  wo_recording_free(plain);
  wo_files_remove_scratch(folder);
}

/* ---- Without memory ---- */

/* Each allocation fails once. Returns how many made the reading fail. */
static long fail_each(struct wo_view bytes) {
  bool was_hit = true;
  long failures = 0;
  for (long n = 1; was_hit; n++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_test_read(bytes.ptr, bytes.len, SIZE_MAX, &recording, &err);
    wo_fail_alloc_off();
    was_hit = wo_fail_alloc_hit();
    if (status != WO_OK) {
      assert_int_equal(status, WO_E_NOMEM);
      assert_int_equal(err.code, WO_E_NOMEM);
      failures++;
    } else {
      assert_true(wo_recording_is_valid(recording));
    }
    wo_recording_free(recording);
  }
  return failures;
}

static void test_failing_allocations(void **state) {
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(211);
  (void)state;
  for (int protocol = 0; protocol <= CPP; protocol += 3) {
    const struct wo_view bytes = pickle_of(&sample, protocol);
    assert_true(fail_each(bytes) > 30);
    assert_true(fail_each(wo_view_sub(bytes, 0, bytes.len * 3 / 4)) > 30); /* cut */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_protocols),     cmocka_unit_test(test_content),
      cmocka_unit_test(test_settings),      cmocka_unit_test(test_settings_text),
      cmocka_unit_test(test_versions),      cmocka_unit_test(test_history),
      cmocka_unit_test(test_segments_only), cmocka_unit_test(test_many_entries),
      cmocka_unit_test(test_chopped),       cmocka_unit_test(test_cut),
      cmocka_unit_test(test_cut_batches),   cmocka_unit_test(test_broken_stream),
      cmocka_unit_test(test_gzip),          cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests_name("snapshot", tests, NULL, done_writer);
}
