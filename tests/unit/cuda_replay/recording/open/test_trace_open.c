/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to a recording: which reader is asked, what is said about files that are no trace, pages with a snapshot in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "parsers/base/limits.h"
#include "tests/support/files.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/recording/snapshot_writer.h"
#include "cuda_replay/recording/recording_valid.h"

#define BYTES(text) text, sizeof(text) - 1

/* ---- Files that are no trace ---- */

static const struct {
  const char *name;
  const char *bytes;
  size_t len;
  const char *message;
} strangers[] = {
    {"empty", BYTES(""), "is empty"},
    {"zip", BYTES("PK\x03\x04 and so on"), "is a zip archive"},
    {"zstd", BYTES("\x28\xb5\x2f\xfd more"), "zstd: unpack it first"},
    {"xz",
     BYTES("\xfd"
           "7zXZ\0"),
     "xz: unpack it first"},
    {"bzip2", BYTES("BZh91AY"), "bzip2: unpack it first"},
    {"LFS pointer", BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "git lfs pull"},
    {"text", BYTES("RuntimeError: CUDA error: out of memory\n"), "is no trace that can be read"},
    {"another page", BYTES("<html><body>hello</body></html>"), "is no trace that can be read"},
    {"pickle of the future", BYTES("\x80\x09}."), "is no trace that can be read"},
};

static void test_strangers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    assert_int_equal(wo_test_read(strangers[i].bytes, strangers[i].len, 2, &recording, &err), WO_E_SYNTAX);
    if (strstr(err.message, strangers[i].message) == NULL) fail_msg("%s: '%s'", strangers[i].name, err.message);
    assert_string_equal(err.file, "trace");
  }
}

/* Bytes behind the compressed recording are told about, and change nothing. */
static void test_bytes_behind_gzip(void **state) {
  (void)state;
  char folder[256], path[300];
  size_t len = 0;
  char *const lines = wo_files_read(WO_SOURCE_DIR "/tests/recordings/small.jsonl", &len);
  assert_non_null(lines);
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/small.jsonl.gz", folder);
  gzFile gzip = gzopen(path, "wb");
  assert_int_equal(gzwrite(gzip, lines, (unsigned)len), (int)len);
  assert_int_equal(gzclose(gzip), Z_OK);
  FILE *const file = fopen(path, "ab");
  assert_non_null(file);
  fputs("tail\n", file);
  assert_int_equal(fclose(file), 0);
  struct wo_recording *recording = NULL;
  assert_int_equal(wo_trace_open(path, &recording, NULL), WO_OK);
  assert_true(recording->notes.count > 0);
  assert_true(wo_view_has(recording->notes.items[recording->notes.count - 1], "behind the compressed part, from byte "));
  assert_int_equal(recording->traces.count, 2);
  wo_recording_free(recording);
  wo_files_remove_scratch(folder);
  free(lines);
}

static void test_no_file(void **state) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  (void)state;
  assert_int_equal(wo_trace_open("/nowhere/snapshot.pickle", &recording, &err), WO_E_IO);
  assert_string_equal(err.file, "/nowhere/snapshot.pickle");
  assert_non_null(strstr(err.message, "cannot be opened"));
  assert_int_equal(wo_trace_open("/tmp", &recording, &err), WO_E_KIND);
  assert_null(recording);
}

/* The reason of a stream that breaks before anything came is told, not that it is empty. */
static void test_broken_at_once(void **state) {
  struct wo_test_bytes bytes = {"", 0, 0, 1, 0};
  struct wo_trace_source source = {0};
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  (void)state;
  assert_int_equal(wo_trace_source_init(&source, wo_test_feed(&bytes), "trace"), WO_OK);
  assert_int_equal(wo_trace_read(&source, &recording, &err), WO_E_IO);
  assert_string_equal(err.message, "the disk is gone");
  assert_string_equal(err.file, "trace");
  wo_trace_source_done(&source);
}

static void test_readers(void **state) {
  (void)state;
  assert_string_equal(wo_trace_reader_find(WO_VIEW("\x80\x04}\x94"))->name, "snapshot");
  assert_string_equal(wo_trace_reader_find(WO_VIEW("(dp0\n"))->name, "snapshot");
  assert_string_equal(wo_trace_reader_find(WO_VIEW("\n<!DOCTYPE html> local_files = ["))->name, "snapshot_page");
  assert_null(wo_trace_reader_find(WO_VIEW("\x80")));
}

/* Entries show whether segments are expandable if no settings are recorded. */
static void test_settings_of_entries(void **state) {
  static const struct {
    const char *first, *second;
    bool is_expandable;
  } rows[] = {
      {"", "{\"segment_map\":2097152,\"addr\":65536}\n", true},
      {"{\"segment_map\":2097152,\"addr\":65536}\n", "{\"segment_alloc\":2097152,\"addr\":4259840}\n", false},
      {"", "{\"segment_alloc\":2097152,\"addr\":65536}\n", false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (int has_settings = 0; has_settings < 2; has_settings++) {
      struct wo_recording *recording = NULL;
      struct wo_err err = {0};
      char text[300];
      const int len = snprintf(text, sizeof text, "{\"whyoom_trace\":1,\"torch\":\"2.1\"%s}\n%s%s",
                               has_settings ? ",\"settings\":\"\"" : "", rows[i].first, rows[i].second);
      if (wo_test_read(text, (size_t)len, 1000, &recording, &err) != WO_OK) fail_msg("%s", err.message);
      assert_int_equal(recording->settings.expandable_segments, rows[i].is_expandable && !has_settings);
      wo_recording_free(recording);
    }
  }
}

/* ---- The window ---- */

/* Peeks and skips of all sizes see the bytes in order. */
static void test_source(void **state) {
  enum { LEN = 700000 };
  char *const content = malloc(LEN);
  (void)state;
  assert_non_null(content);
  for (size_t i = 0; i < LEN; i++) content[i] = (char)(i * 131 + i / 257);
  for (size_t piece = 997; piece < 1000000; piece *= 100) {
    struct wo_test_bytes bytes = {content, LEN, 0, piece, SIZE_MAX};
    struct wo_trace_source source = {0};
    assert_int_equal(wo_trace_source_init(&source, wo_test_feed(&bytes), "trace"), WO_OK);
    size_t at = 0;
    for (size_t step = 1; at < LEN; step = step * 7 % 1000003) {
      const size_t want = step % WO_LIMIT_READ_BYTES;
      const struct wo_view front = wo_trace_source_peek(&source, want);
      assert_true(front.len >= want || front.len == LEN - at);
      assert_int_equal(wo_trace_source_offset(&source), at);
      assert_memory_equal(front.ptr, content + at, front.len);
      const size_t skipped = step % 2 == 0 ? want / 2 + 1 : step % 300000 / 3 + 1;
      const bool is_inside = skipped <= LEN - at;
      assert_int_equal(wo_trace_source_skip(&source, skipped), is_inside);
      at = is_inside ? at + skipped : LEN;
    }
    assert_int_equal(wo_trace_source_offset(&source), LEN);
    assert_int_equal(wo_trace_source_peek(&source, 10).len, 0);
    wo_trace_source_done(&source);
  }
  free(content);
}

/* ---- Pages ---- */

static struct wo_pickle_writer writer;

struct page {
  char *ptr;
  size_t len, cap;
  size_t start; /* of the base64 */
};

static void add(struct page *page, const char *bytes, size_t len) {
  if (page->len + len > page->cap) {
    page->cap = 2 * (page->len + len);
    page->ptr = realloc(page->ptr, page->cap);
  }
  assert_non_null(page->ptr);
  memcpy(page->ptr + page->len, bytes, len);
  page->len += len;
}

/* Base64 as JSON may hold it: "\/" for a slash now and then. */
static void add_base64(struct page *page, const unsigned char *bytes, size_t len) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i + 2 < len; i += 3) {
    const uint32_t bits = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) {
      const char digit = digits[bits >> shift & 63];
      if (digit == '/' && i % 2 == 0) add(page, "\\", 1);
      add(page, &digit, 1);
    }
  }
}

/* As torch.cuda._memory_viz writes it, with `filler` bytes before the script. The pickle stays in `writer`. */
static struct page make_page(uint64_t entries, size_t filler) {
  struct page page = {0};
  struct wo_snapshot_sample sample = wo_snapshot_sample_small(211);
  sample.entry_count = entries;
  wo_pickle_write_done(&writer);
  wo_pickle_write_begin(&writer, 4, false, NULL);
  wo_snapshot_write(&writer, &sample);
  const size_t pickle_len = writer.len;
  do wo_pickle_write_raw(&writer, "", 1);
  while (writer.len % 3 != 0);
  add(&page, BYTES("<!DOCTYPE html>\n<html><head></head><body><!-- local_files -->"));
  for (size_t i = 0; i < filler; i++) add(&page, " ", 1);
  add(&page, BYTES("<script>\nconst local_files = [{\"name\": \"snapshot.pickle\", \"base64\" :\n\""));
  page.start = page.len;
  add_base64(&page, (const unsigned char *)writer.bytes, writer.len);
  add(&page, BYTES("\"}]\nadd_local_files(local_files, 'Active Memory Timeline')</script></body>"));
  writer.len = pickle_len;
  return page;
}

static void test_page(void **state) {
  static const size_t fillers[] = {0, 65000, 65440, 65536, 300000};
  static const size_t pieces[] = {SIZE_MAX, 4096, 1};
  (void)state;
  for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
    const struct page page = make_page(60, fillers[i]);
    struct wo_recording *plain = NULL;
    assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &plain, NULL), WO_OK);
    for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
      struct wo_recording *recording = NULL;
      struct wo_err err = {0};
      if (wo_test_read(page.ptr, page.len, pieces[j], &recording, &err) != WO_OK) fail_msg("%s", err.message);
      assert_null(wo_test_difference(plain, recording));
      wo_recording_free(recording);
    }
    wo_recording_free(plain);
    free(page.ptr);
  }
  wo_pickle_write_done(&writer);
}

static void test_page_cut(void **state) {
  const struct page page = make_page(3000, 10);
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  (void)state;
  assert_int_equal(wo_test_read(page.ptr, page.len / 2, SIZE_MAX, &recording, &err), WO_OK);
  assert_true(recording->is_truncated && wo_recording_is_valid(recording));
  assert_true(recording->traces.items[0].entries.count > 1000);
  char note[80];
  snprintf(note, sizeof note, "begins at byte %zu of the page", page.start);
  assert_true(wo_test_has_note(recording, note));
  wo_recording_free(recording);
  /* Nothing of the snapshot. */
  recording = NULL;
  assert_int_equal(wo_test_read(page.ptr, page.start - 5, SIZE_MAX, &recording, &err), WO_E_SYNTAX);
  assert_non_null(strstr(err.message, "a web page without a snapshot"));
  assert_null(recording);
  assert_int_equal(wo_test_read(page.ptr, page.start + 5, SIZE_MAX, &recording, &err), WO_E_SYNTAX);
  free(page.ptr);
  wo_pickle_write_done(&writer);
}

/* ---- Snapshots that a profiler's run was turned into ---- */

static void test_profile(void **state) {
  struct wo_recording *recording = NULL;
  (void)state;
  wo_pickle_write_begin(&writer, 4, false, NULL);
  wo_pickle_write_dict(&writer, 2);
  wo_pickle_write_text(&writer, "device_traces");
  wo_pickle_write_list(&writer, 1);
  wo_pickle_write_list(&writer, 1);
  wo_pickle_write_dict(&writer, 5);
  wo_pickle_write_text_at(&writer, "action", "alloc");
  wo_pickle_write_int_at(&writer, "addr", 4096);
  wo_pickle_write_int_at(&writer, "size", 100);
  wo_pickle_write_int_at(&writer, "stream", 0);
  wo_pickle_write_text_at(&writer, "category", "activation");
  for (int i = 0; i < 3; i++) wo_pickle_write_end(&writer);
  wo_pickle_write_text(&writer, "segments");
  wo_pickle_write_list(&writer, 0);
  for (int i = 0; i < 2; i++) wo_pickle_write_end(&writer);
  wo_pickle_write_stop(&writer);
  assert_int_equal(wo_test_read(writer.bytes, writer.len, SIZE_MAX, &recording, NULL), WO_OK);
  assert_int_equal(recording->fidelity, WO_TRACE_APPROXIMATE);
  assert_false(recording->traces.items[0].has_segments);
  assert_int_equal(recording->traces.items[0].entries.count, 1);
  assert_true(wo_test_has_note(recording, "made of a profiler's run"));
  assert_int_equal(recording->torch_from, 0);
  wo_recording_free(recording);
  wo_pickle_write_done(&writer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strangers), cmocka_unit_test(test_bytes_behind_gzip),
      cmocka_unit_test(test_no_file),   cmocka_unit_test(test_broken_at_once),
      cmocka_unit_test(test_readers),   cmocka_unit_test(test_settings_of_entries),
      cmocka_unit_test(test_source),    cmocka_unit_test(test_page),
      cmocka_unit_test(test_page_cut),  cmocka_unit_test(test_profile),
  };
  return cmocka_run_group_tests_name("trace_open", tests, NULL, NULL);
}
