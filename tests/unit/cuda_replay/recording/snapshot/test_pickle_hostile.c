/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles that nobody wrote by accident: calls, bombs, lies about lengths, contradictions. Each gives a message or a note, at
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/recording/snapshot_writer.h"
#include "cuda_replay/recording/recording_valid.h"

#define BYTES(text) text, sizeof(text) - 1

/* ---- Refused, or of no use ---- */

static const struct {
  const char *name;
  const char *bytes;
  size_t len;
  const char *message; /* a part of it */
} refused[] = {
    {"global",
     BYTES("\x80\x02"
           "cos\nsystem\nU\x02lsR."),
     "a call to os.system (GLOBAL at byte 2)"},
    {"global, protocol 0", BYTES("(dp0\nVsegments\ncposix\nsystem\n(S'id'\ntR."), "a call to posix.system"},
    {"stack global",
     BYTES("\x80\x04\x8c\x08"
           "builtins\x8c\x04"
           "eval\x93."),
     "a call to builtins.eval (STACK_GLOBAL at byte 18)"},
    {"stack global of no text",
     BYTES("\x80\x04"
           "K\x01K\x02\x93."),
     "would build Python objects"},
    {"instance", BYTES("(dp0\n(i__main__\nEvil thing\n."), "a call to __main__.Evil?thing"},
    {"reduce", BYTES("\x80\x02})R."), "REDUCE at byte 4"},
    {"build", BYTES("\x80\x02}}b."), "BUILD at byte 4"},
    {"object", BYTES("\x80\x02(}o."), "OBJ at byte 4"},
    {"new object", BYTES("\x80\x02})\x81."), "NEWOBJ at byte 4"},
    {"new object with keywords", BYTES("\x80\x04}})\x92."), "NEWOBJ_EX at byte 5"},
    {"extension", BYTES("\x80\x02\x82\x01."), "EXT1 at byte 2"},
    {"persistent id", BYTES("(dp0\nP1234\n."), "PERSID at byte 5"},
    {"persistent object", BYTES("\x80\x02K\x01Q."), "BINPERSID at byte 4"},
    {"buffer", BYTES("\x80\x05\x97."), "NEXT_BUFFER at byte 2"},
    {"no opcode", BYTES("\x80\x04\xff"), "unknown instruction 0xff at byte 2"},
    {"nothing to take", BYTES("\x80\x04s."), "takes more than there is (SETITEM at byte 2)"},
    {"stop with nothing", BYTES("\x80\x04."), "takes more than there is (STOP"},
    {"no mark", BYTES("\x80\x04}u."), "takes more than there is (SETITEMS"},
    {"mark below all", BYTES("\x80\x04(u."), "takes more than there is (SETITEMS"},
    {"across a mark", BYTES("\x80\x04](a."), "takes more than there is (APPEND"},
    {"key without value", BYTES("\x80\x04}(K\x01u."), "a key has no value"},
    {"nothing stored", BYTES("\x80\x04h\x05."), "refers to something that was not stored (BINGET at byte 2)"},
    {"hole in the memo", BYTES("\x80\x02]q\x03h\x01."), "refers to something that was not stored"},
    {"far slot", BYTES("\x80\x02]r\xff\xff\xff\x7f."), "stores out of order"},
    {"far slot, protocol 0", BYTES("(lp4000000000\n."), "stores out of order"},
    {"slot of no number", BYTES("(lp1x\n."), "expected the number of a stored value"},
    {"number of no number", BYTES("(lp0\nIseven\na."), "expected a number"},
    {"text without quotes", BYTES("(lp0\nSseven\na."), "expected a text in quotes"},
    {"negative length", BYTES("\x80\x02\x8b\xff\xff\xff\xff."), "a number has a negative length"},
    {"another pickle",
     BYTES("\x80\x04}\x94(\x8c\x01"
           "aK\x01\x8c\x01"
           "bK\x02u."),
     "is a pickle, but no memory snapshot"},
    {"a number", BYTES("\x80\x04K\x01."), "is a pickle, but no memory snapshot"},
    {"list of itself",
     BYTES("\x80\x04]\x94h\x00"
           "a."),
     "is a pickle, but no memory snapshot"},
    {"dict of itself",
     BYTES("\x80\x04}\x94(\x8c\x06"
           "blocksh\x00u."),
     "is a pickle, but no memory snapshot"},
    {"text of exabytes",
     BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
           "abc"),
     "ends at byte 14, before any segment or entry"},
    {"bytes of exabytes",
     BYTES("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
           "abc"),
     "before any segment or entry"},
    {"number of gigabytes",
     BYTES("\x80\x04\x8b\xff\xff\xff\x7f"
           "abc"),
     "before any segment or entry"},
    {"marks at one height", BYTES("\x80\x04(}((K\x01"), "before any segment or entry"},
    {"only the head", BYTES("\x80\x04"), "ends at byte 2, before any segment or entry"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    for (size_t piece = 1; piece < 100; piece += 98) {
      struct wo_recording *recording = NULL;
      struct wo_err err = {0};
      const enum wo_status status = wo_test_read(refused[i].bytes, refused[i].len, piece, &recording, &err);
      if (status != WO_E_SYNTAX) fail_msg("%s: status %s", refused[i].name, wo_status_text(status));
      if (strstr(err.message, refused[i].message) == NULL) fail_msg("%s: message '%s'", refused[i].name, err.message);
      assert_string_equal(err.file, "trace");
      assert_null(recording);
    }
  }
}

/* A call anywhere in a snapshot makes all of it suspect: nothing is kept. */
static void test_refused_late(void **state) {
  static struct wo_pickle_writer writer;
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  (void)state;
  wo_pickle_write_begin(&writer, 4, false, NULL);
  wo_snapshot_write(&writer, &sample);
  writer.len--; /* instead of STOP */
  wo_pickle_write_raw(&writer, BYTES("cnt\nsystem\n)R."));
  assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &recording, &err), WO_E_SYNTAX);
  assert_non_null(strstr(err.message, "nt.system"));
  assert_int_equal(err.offset, writer.len - 14);
  wo_pickle_write_done(&writer);
}

/* ---- Bombs ---- */

struct bytes {
  char *ptr;
  size_t len;
};

static void add(struct bytes *bytes, const char *part, size_t len, size_t times) {
  bytes->ptr = realloc(bytes->ptr, bytes->len + len * times);
  assert_non_null(bytes->ptr);
  for (size_t i = 0; i < times; i++) memcpy(bytes->ptr + bytes->len + i * len, part, len);
  bytes->len += len * times;
}

static void assert_fails(struct bytes *bytes, enum wo_status expected, const char *message) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  const enum wo_status status = wo_test_read(bytes->ptr, bytes->len, SIZE_MAX, &recording, &err);
  wo_recording_free(recording);
  free(bytes->ptr);
  *bytes = (struct bytes){0};
  if (strstr(err.message, message) == NULL) fail_msg("message '%s' instead of '%s'", err.message, message);
  assert_int_equal(status, expected);
}

static void test_bombs(void **state) {
  struct bytes bytes = {0};
  (void)state;
  add(&bytes, BYTES("\x80\x04"), 1);
  add(&bytes, BYTES("("), 1000000);
  assert_fails(&bytes, WO_E_LIMIT, "nests containers deeper than any snapshot");
  /* A million lists in each other, without marks: each is made when the one in it is already there. */
  add(&bytes, BYTES("\x80\x04"), 1);
  add(&bytes, BYTES("]"), 1000000);
  add(&bytes, BYTES("a"), 999999);
  add(&bytes, BYTES("."), 1);
  assert_fails(&bytes, WO_E_LIMIT, "too many containers that belong nowhere");
  /* Each list holds the one before it twice: 2^100 leaves for those who expand. */
  add(&bytes, BYTES("\x80\x02]q\x00"), 1);
  for (char slot = 0; slot < 100; slot++) {
    const char level[] = {']', '(', 'h', slot, 'h', slot, 'e', 'q', (char)(slot + 1)};
    add(&bytes, level, sizeof level, 1);
  }
  add(&bytes, BYTES("."), 1);
  assert_fails(&bytes, WO_E_SYNTAX, "is a pickle, but no memory snapshot");
  /* Dicts that are open for ever. */
  add(&bytes, BYTES("\x80\x04("), 1);
  add(&bytes, BYTES("}K\x01K\x02s"), 100000);
  assert_fails(&bytes, WO_E_LIMIT, "too many containers that belong nowhere");
  /* Floats, which have no room in a value. */
  add(&bytes, BYTES("\x80\x04("), 1);
  add(&bytes, BYTES("G\x3f\xf0\x00\x00\x00\x00\x00\x00"), WO_LIMIT_PICKLE_NUMBERS + 1);
  assert_fails(&bytes, WO_E_LIMIT, "more fractions and huge numbers than any snapshot");
  /* A line without an end. */
  add(&bytes, BYTES("(lp0\nV"), 1);
  add(&bytes, BYTES("x"), 100000);
  assert_fails(&bytes, WO_E_LIMIT, "a line that is too long");
}

/* ---- Snapshots that contradict themselves ---- */

/* Python's way of writing a snapshot by hand: "s..." is not escaped. Keys and values of one segment with two blocks. */
struct segment {
  const char *name;
  int64_t device, address, size_bytes;
  int64_t block_addresses[2], block_bytes[2];
  const char *state;
  const char *note; /* NULL: the segment is kept */
};

static void write_segment(struct wo_pickle_writer *writer, const struct segment *segment) {
  wo_pickle_write_dict(writer, 6);
  wo_pickle_write_int_at(writer, "device", segment->device);
  wo_pickle_write_int_at(writer, "address", segment->address);
  wo_pickle_write_int_at(writer, "total_size", segment->size_bytes);
  wo_pickle_write_text_at(writer, "segment_type", "large");
  wo_pickle_write_bool_at(writer, "is_expandable", false);
  wo_pickle_write_text(writer, "blocks");
  wo_pickle_write_list(writer, 2);
  for (int i = 0; i < 2; i++) {
    wo_pickle_write_dict(writer, 4);
    wo_pickle_write_int_at(writer, "address", segment->block_addresses[i]);
    wo_pickle_write_int_at(writer, "size", segment->block_bytes[i]);
    wo_pickle_write_int_at(writer, "requested_size", segment->block_bytes[i] + 9);
    wo_pickle_write_text_at(writer, "state", i == 0 ? segment->state : "inactive");
    wo_pickle_write_end(writer);
  }
  wo_pickle_write_end(writer);
  wo_pickle_write_end(writer);
}

static const struct segment segments[] = {
    {"good", 0, 4096, 2048, {4096, 5120}, {1024, 1024}, "active_allocated", NULL},
    {"gap",
     0,
     8192,
     2048,
     {8192, 9217},
     {1024, 1024},
     "active_allocated",
     "segment 1 of the snapshot (at 0x2000) has blocks that overlap"},
    {"overlap",
     0,
     12288,
     2048,
     {12288, 12300},
     {1024, 1024},
     "inactive",
     "segment 2 of the snapshot (at 0x3000) has blocks that overlap"},
    {"short", 0, 16384, 4096, {16384, 17408}, {1024, 1024}, "inactive", "is not filled by its blocks"},
    {"long", 0, 20480, 2048, {20480, 21504}, {1024, 4096}, "inactive", "reach beyond its end"},
    {"negative block", 0, 24576, 2048, {24576, 24576}, {-1024, 3072}, "inactive", "a block without a valid size"},
    {"negative segment",
     0,
     28672,
     -2048,
     {28672, 29696},
     {1024, 1024},
     "inactive",
     "segment 6 of the snapshot (at 0x7000) has no valid size"},
    {"state", 0, 32768, 2048, {32768, 33792}, {1024, 1024}, "lost", "without a valid size, address or state"},
};

static void test_contradictions(void **state) {
  static struct wo_pickle_writer writer;
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  (void)state;
  wo_pickle_write_begin(&writer, 4, false, NULL);
  wo_pickle_write_list(&writer, sizeof segments / sizeof segments[0]);
  for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) write_segment(&writer, &segments[i]);
  wo_pickle_write_end(&writer);
  wo_pickle_write_stop(&writer);
  assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &recording, &err), WO_OK);
  assert_true(wo_recording_is_valid(recording));
  assert_int_equal(recording->traces.items[0].segments.count, 1);
  assert_int_equal(recording->traces.items[0].blocks.items[0].requested_bytes, 0); /* more than the block has */
  for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
    if (segments[i].note != NULL && !wo_test_has_note(recording, segments[i].note)) fail_msg("%s: no note", segments[i].name);
  }
  wo_recording_free(recording);
  wo_pickle_write_done(&writer);
}

/* Segments that are good by themselves and not together. */
static void test_segments_in_conflict(void **state) {
  static struct wo_pickle_writer writer;
  static const struct segment list[] = {
      {"second", 0, 9216, 2048, {9216, 10240}, {1024, 1024}, "inactive", NULL},
      {"first", 0, 8192, 2048, {8192, 9216}, {1024, 1024}, "inactive", NULL},
      {"same", 0, 8192, 2048, {8192, 9216}, {1024, 1024}, "inactive", NULL},
      {"elsewhere", 1, 8192, 2048, {8192, 9216}, {1024, 1024}, "inactive", NULL},
      {"nowhere", -1, 8192, 2048, {8192, 9216}, {1024, 1024}, "inactive", NULL},
      {"at the end", 0, INT64_MAX, 2048, {INT64_MAX, INT64_MAX}, {1024, 1024}, "inactive", NULL},
  };
  struct wo_recording *recording = NULL;
  (void)state;
  wo_pickle_write_begin(&writer, 2, false, NULL);
  wo_pickle_write_list(&writer, sizeof list / sizeof list[0]);
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) write_segment(&writer, &list[i]);
  wo_pickle_write_end(&writer);
  wo_pickle_write_stop(&writer);
  assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &recording, NULL), WO_OK);
  assert_true(wo_recording_is_valid(recording));
  assert_int_equal(recording->traces.count, 2);
  assert_int_equal(recording->traces.items[0].segments.count, 1);
  assert_int_equal(recording->traces.items[0].segments.items[0].address, 8192);
  assert_true(wo_test_has_note(recording, "segment 0 of the snapshot (at 0x2400) overlaps the one before it"));
  assert_true(wo_test_has_note(recording, "segment 2 of the snapshot (at 0x2000) overlaps the one before it"));
  assert_true(wo_test_has_note(recording, "segment 4 of the snapshot (at 0x2000) names no valid device"));
  wo_recording_free(recording);
  wo_pickle_write_done(&writer);
}

/* ---- Entries ---- */

static void write_entry(struct wo_pickle_writer *writer, const char *action, int64_t address, int64_t size_bytes,
                        int64_t stream) {
  wo_pickle_write_dict(writer, 4);
  wo_pickle_write_int_at(writer, "stream", stream);
  wo_pickle_write_int_at(writer, "size", size_bytes);
  wo_pickle_write_int_at(writer, "addr", address);
  wo_pickle_write_text_at(writer, "action", action);
  wo_pickle_write_end(writer);
}

static void begin_trace(struct wo_pickle_writer *writer, uint64_t entries) {
  wo_pickle_write_begin(writer, 4, false, NULL);
  wo_pickle_write_dict(writer, 1);
  wo_pickle_write_text(writer, "device_traces");
  wo_pickle_write_list(writer, 1);
  wo_pickle_write_list(writer, entries);
}

static struct wo_recording *end_trace(struct wo_pickle_writer *writer) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  for (int i = 0; i < 3; i++) wo_pickle_write_end(writer);
  wo_pickle_write_stop(writer);
  if (wo_test_read(writer->bytes, writer->len, SIZE_MAX, &recording, &err) != WO_OK) fail_msg("%s", err.message);
  assert_true(wo_recording_is_valid(recording));
  wo_pickle_write_done(writer);
  return recording;
}

static void test_entries(void **state) {
  static struct wo_pickle_writer writer;
  (void)state;
  begin_trace(&writer, 8);
  write_entry(&writer, "alloc", 4096, 1000, 0);
  write_entry(&writer, "alloc", 8192, -1000, 0);
  write_entry(&writer, "alloc", -8192, 1000, 0);
  write_entry(&writer, "quantum_alloc", 12288, 10, 0);
  write_entry(&writer, "quantum_free", 12288, 10, 0);
  write_entry(&writer, "snapshot", 0, 77, 0);
  write_entry(&writer, "empty_cache", 0, 0, 0); /* ours, which no torch records */
  write_entry(&writer, "free_requested", 4096, 1000, INT64_MIN);
  struct wo_recording *const recording = end_trace(&writer);
  const struct wo_trace *const trace = &recording->traces.items[0];
  assert_false(trace->has_segments);
  assert_int_equal(trace->entries.count, 6);
  assert_int_equal(trace->entries.items[1].action, WO_ACTION_UNKNOWN);
  assert_int_equal(trace->entries.items[3].size_bytes, 77);
  assert_int_equal(trace->entries.items[4].action, WO_ACTION_UNKNOWN);
  assert_int_equal(recording->streams.items[trace->entries.items[5].stream], (uint64_t)INT64_MIN);
  assert_true(wo_test_has_note(recording, "an entry has no valid size"));
  assert_true(wo_test_has_note(recording, "an entry has no valid address"));
  assert_true(wo_test_has_note(recording, "the action 'quantum_alloc'"));
  assert_false(wo_test_has_note(recording, "quantum_free")); /* one note is enough */
  wo_recording_free(recording);
}

/* More streams than there is room for: the entries of the others are left out. */
static void test_streams(void **state) {
  static struct wo_pickle_writer writer;
  (void)state;
  begin_trace(&writer, 2 * WO_TRACE_STREAMS_MAX);
  for (int64_t i = 0; i < 2 * WO_TRACE_STREAMS_MAX; i++) write_entry(&writer, "alloc", 512 * i, 512, i * 64);
  struct wo_recording *const recording = end_trace(&writer);
  assert_int_equal(recording->traces.items[0].entries.count, WO_TRACE_STREAMS_MAX);
  assert_int_equal(recording->streams.count, WO_TRACE_STREAMS_MAX);
  assert_true(wo_test_has_note(recording, "one stream or pool too many"));
  assert_true(wo_test_has_note(recording, "4096 things were left out in all"));
  wo_recording_free(recording);
}

/* ---- Harmless oddities ---- */

static const struct {
  const char *name;
  const char *bytes;
  size_t len;
} harmless[] = {
    {"frame of any length", BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff}(\x8c\x08segments]\x8c\x0d"
                                  "device_tracesN"
                                  "\x95\x00\x00\x00\x00\x00\x00\x00\x00u.")},
    {"bytes, sets and floats", BYTES("\x80\x05}(\x8c\x08segments]C\x02xyB\x01\x00\x00\x00zK\x05G\x7f\xf0\x00\x00\x00\x00\x00\x00"
                                     "K\x06\x8f(K\x01\x90K\x07(K\x01\x91u.")},
    {"popped", BYTES("\x80\x04}(\x8c\x08segments]K\x05"
                     "0(K\x01"
                     "1(0u.")},
    {"doubled", BYTES("\x80\x04}(\x8c\x08segments]\x8c\x0d"
                      "device_traces]]2aau.")},
    {"padded", BYTES("\x80\x04}(\x8c\x08segments]u.\0\0\0")},
    {"inside of something", BYTES("\x80\x04}(\x8c\x04rankK\x01\x8c\x08snapshot}(\x8c\x08segments]uu.")},
    {"protocol 1", BYTES("}q\x00(U\x08segmentsq\x01]q\x02u.")},
};

static void test_harmless(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (wo_test_read(harmless[i].bytes, harmless[i].len, SIZE_MAX, &recording, &err) != WO_OK)
      fail_msg("%s: %s", harmless[i].name, err.message);
    assert_true(wo_test_has_note(recording, "the snapshot is empty"));
    assert_true(wo_recording_is_valid(recording));
    wo_recording_free(recording);
  }
}

/* A file damaged after good content keeps that content. */
static void test_damaged(void **state) {
  static struct wo_pickle_writer writer;
  const struct wo_snapshot_sample sample = wo_snapshot_sample_small(206);
  struct wo_recording *recording = NULL;
  (void)state;
  wo_pickle_write_begin(&writer, 4, false, NULL);
  wo_snapshot_write(&writer, &sample);
  writer.bytes[writer.len / 2] = (char)0xff;
  for (size_t i = writer.len / 2; i < writer.len; i++) writer.bytes[i] = (char)0xff;
  assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &recording, NULL), WO_OK);
  assert_true(recording->is_truncated && wo_recording_is_valid(recording));
  assert_int_equal(recording->traces.items[0].segments.count, 3);
  assert_true(wo_test_has_note(recording, "is no valid pickle"));
  wo_recording_free(recording);
  wo_pickle_write_done(&writer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_refused_late),
      cmocka_unit_test(test_bombs),
      cmocka_unit_test(test_contradictions),
      cmocka_unit_test(test_segments_in_conflict),
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_harmless),
      cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests_name("pickle_hostile", tests, NULL, NULL);
}
