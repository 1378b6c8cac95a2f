/* SPDX-License-Identifier: Apache-2.0 */
/* `jobstats --json` and its packed form: jobs of many nodes, in one line and indented, chopped, and the limit of what is
 * unpacked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "tests/support/job/scan_sample.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

/* A document of `nodes` nodes with one card each; `gap` stands between tokens. */
static void say_document(struct sample_log *log, int nodes, const char *gap) {
  char node[512];
  sample_say(log, "{\"gpus\":1,\"nodes\":{");
  for (int i = 0; i < nodes; i++) {
    snprintf(node, sizeof node,
             "%s%s\"cn%04d\":{%s\"cpus\":8,%s\"gpu_total_memory\":{\"0\":42949672960},%s\"gpu_used_memory\":{%s\"0\":%d},%s"
             "\"gpu_utilization\":{\"0\":50.5},%s\"total_memory\":68719476736,%s\"used_memory\":%d}",
             i > 0 ? "," : "", gap, i, gap, gap, gap, gap, 1000000 + i, gap, gap, gap, 2000000 + i);
    sample_say(log, node);
  }
  sample_say(log, "},\"total_time\":36322}\n");
}

static void expect_nodes(const struct wo_event_store *store, int nodes) {
  char name[16];
  assert_int_equal(sample_count(store, WO_KIND_JOB_INFO), nodes);
  assert_int_equal(sample_count(store, WO_KIND_MEMORY_USE), nodes);
  for (int i = 0; i < nodes; i++) {
    snprintf(name, sizeof name, "cn%04d", i);
    sample_expect_text(sample_find(store, WO_KIND_JOB_INFO, (size_t)i), WO_FIELD_HOST, name);
    sample_expect_number(sample_find(store, WO_KIND_JOB_INFO, (size_t)i), WO_FIELD_USED_BYTES, 2000000 + i);
    sample_expect_text(sample_find(store, WO_KIND_MEMORY_USE, (size_t)i), WO_FIELD_HOST, name);
    sample_expect_number(sample_find(store, WO_KIND_MEMORY_USE, (size_t)i), WO_FIELD_USED_BYTES, 1000000 + i);
  }
}

/* Far more than fits into one message, and on one line more than is read in one piece. */
static void test_many_nodes(void **state) {
  static const char *const gaps[] = {"", " ", "\n   "};
  for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
    struct sample_log log = {0};
    struct wo_event_store whole, chopped;
    say_document(&log, 900, gaps[i]);
    assert_true(log.len > 2 * WO_LIMIT_LINE_BYTES);
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &whole);
    expect_nodes(&whole, 900);
    sample_scan(set_of(state), sample_view(&log), CHUNK_RANDOM, &chopped);
    sample_expect_same(&whole, &chopped);
    wo_event_store_done(&chopped);
    wo_event_store_done(&whole);
    sample_free(&log);
  }
}

/* A node that is cut off tells nothing; those before it do. */
static void test_cut(void **state) {
  struct sample_log log = {0};
  struct wo_event_store store;
  say_document(&log, 3, "");
  sample_scan(set_of(state), wo_view_sub(sample_view(&log), 0, log.len - 60), CHUNK_WHOLE, &store);
  expect_nodes(&store, 2);
  wo_event_store_done(&store);
  sample_free(&log);
}

/* ---- Packed ---- */

static void say_base64(struct sample_log *log, const unsigned char *bytes, size_t len) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < len; i += 3) {
    uint32_t word = (uint32_t)bytes[i] << 16;
    if (i + 1 < len) word |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < len) word |= bytes[i + 2];
    for (int k = 0; k < 4; k++) sample_put(log, &digits[(word >> (18 - 6 * k)) & 63], 1);
  }
}

/* The document as sacct prints it in AdminComment. */
static void say_packed(struct sample_log *log, struct wo_view document) {
  z_stream stream = {0};
  const uLong cap = (uLong)document.len + 1024;
  unsigned char *const packed = malloc(cap);
  unsigned char *const bytes = malloc(document.len);
  assert_true(packed != NULL && bytes != NULL);
  memcpy(bytes, document.ptr, document.len);
  assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = bytes;
  stream.avail_in = (uInt)document.len;
  stream.next_out = packed;
  stream.avail_out = (uInt)cap;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed[9] = 0;
  sample_say(log, "4711 JS1:");
  say_base64(log, packed, stream.total_out);
  sample_say(log, "\n");
  deflateEnd(&stream);
  free(bytes);
  free(packed);
}

static void test_packed(void **state) {
  static const int counts[] = {1, 40, 200};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    struct sample_log document = {0}, log = {0};
    struct wo_event_store store;
    say_document(&document, counts[i], "");
    say_packed(&log, sample_view(&document));
    sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
    expect_nodes(&store, counts[i]);
    assert_int_equal(sample_count(&store, WO_KIND_NOTE), 0);
    assert_true(store.items[0].span.line == 1);
    wo_event_store_done(&store);
    sample_free(&log);
    sample_free(&document);
  }
}

/* What lies behind the limit is noted, not left out in silence. */
static void test_packed_limit(void **state) {
  struct sample_log document = {0}, log = {0};
  struct wo_event_store store;
  say_document(&document, 1500, "");
  assert_true(document.len > WO_LIMIT_UNPACKED_BYTES);
  say_packed(&log, sample_view(&document));
  sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
  assert_true(sample_count(&store, WO_KIND_JOB_INFO) > 400 && sample_count(&store, WO_KIND_JOB_INFO) < 1500);
  assert_int_equal(sample_count(&store, WO_KIND_NOTE), 1);
  wo_event_store_done(&store);
  sample_free(&log);
  sample_free(&document);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_nodes),
      cmocka_unit_test(test_cut),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_packed_limit),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
