/* SPDX-License-Identifier: Apache-2.0 */
/* gzip from a file, which is read the fast way where whyoom was built with it, and from a pipe, which is not: the same bytes and
 * the same failure, whatever is wrong with the member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "parsers/base/input/input.h"

enum { TEXT_BYTES = 160 * 1024, PACKED_MAX = 60 * 1024 };

struct bytes {
  unsigned char data[PACKED_MAX];
  size_t len;
};

static char text[TEXT_BYTES];

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 8;
}

static int make_text(void **state) {
  uint32_t seed = 7;
  (void)state;
  for (size_t len = 0; len + 80 < sizeof text;)
    len += (size_t)snprintf(text + len, sizeof text - len, "[rank%u] step %u loss %u.%03u\n", next_random(&seed) % 8,
                            next_random(&seed) % 1000, next_random(&seed) % 9, next_random(&seed) % 1000);
  return 0;
}

/* Appends a member with `len` bytes of the text. */
static void pack(struct bytes *out, size_t len, int level) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (Bytef *)text;
  z.avail_in = (uInt)len;
  z.next_out = out->data + out->len;
  z.avail_out = (uInt)(sizeof out->data - out->len);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out->len = sizeof out->data - z.avail_out;
  deflateEnd(&z);
}

struct outcome {
  char *data;
  size_t len;
  enum wo_status status;
  struct wo_err err;
  uint64_t tail;
};

static void read_all(int fd, size_t cap, struct outcome *ret) {
  struct wo_input *input = NULL;
  size_t got = 1;
  *ret = (struct outcome){.data = malloc(4 * TEXT_BYTES)};
  assert_non_null(ret->data);
  assert_int_equal(wo_input_open_fd(fd, "packed", &input, &ret->err), WO_OK);
  while (ret->status == WO_OK && got > 0) {
    ret->status = wo_input_read(input, ret->data + ret->len, cap, &got, &ret->err);
    if (ret->status == WO_OK) ret->len += got;
  }
  ret->tail = wo_input_tail_offset(input);
  wo_input_close(input);
  close(fd);
}

static int file_of(const struct bytes *bytes) {
  char path[] = "/tmp/whyoom-test-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  unlink(path);
  assert_int_equal(write(fd, bytes->data, bytes->len), (ssize_t)bytes->len);
  lseek(fd, 0, SEEK_SET);
  return fd;
}

/* A pipe holds as much as a packed text has. */
static int pipe_of(const struct bytes *bytes) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], bytes->data, bytes->len), (ssize_t)bytes->len);
  close(ends[1]);
  return ends[0];
}

static void expect_same(const struct bytes *bytes, size_t cap) {
  struct outcome fast, slow;
  read_all(file_of(bytes), cap, &fast);
  read_all(pipe_of(bytes), cap, &slow);
  assert_int_equal(fast.status, slow.status);
  assert_string_equal(fast.err.message, slow.err.message);
  assert_int_equal(fast.err.offset, slow.err.offset);
  assert_int_equal(fast.len, slow.len);
  assert_memory_equal(fast.data, slow.data, slow.len);
  assert_int_equal(fast.tail, slow.tail);
  free(fast.data);
  free(slow.data);
}

static void whole_members(void **state) {
  static const size_t caps[] = {7, 1000, TEXT_BYTES};
  (void)state;
  for (int level = 0; level <= 9; level += 3) {
    struct bytes bytes = {.len = 0};
    pack(&bytes, level == 0 ? 20000 : TEXT_BYTES / 2, level);
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) expect_same(&bytes, caps[i]);
    pack(&bytes, 100, level);
    pack(&bytes, 0, level);
    expect_same(&bytes, 1000);
    memset(bytes.data + bytes.len, 0, 512);
    bytes.len += 512;
    memcpy(bytes.data + bytes.len, "plain text\n", 11);
    bytes.len += 11;
    expect_same(&bytes, 1000);
  }
}

static void cut_members(void **state) {
  struct bytes whole = {.len = 0};
  (void)state;
  pack(&whole, TEXT_BYTES / 2, 6);
  for (size_t cut = 0; cut < whole.len; cut += cut < 40 || cut + 20 > whole.len ? 1 : 997) {
    struct bytes bytes = whole;
    bytes.len = cut;
    expect_same(&bytes, 4096);
  }
}

static void damaged_members(void **state) {
  struct bytes whole = {.len = 0};
  uint32_t seed = 3;
  (void)state;
  pack(&whole, 5000, 6);
  pack(&whole, 3000, 1);
  for (size_t at = 2; at < whole.len; at += at < 32 ? 1 : 3) {
    struct bytes bytes = whole;
    bytes.data[at] ^= (unsigned char)(1U << next_random(&seed) % 8);
    expect_same(&bytes, 4096);
  }
}

/* Names, comments, checksums of the header, and bits without a meaning. */
static void headers(void **state) {
  struct bytes plain = {.len = 0};
  (void)state;
  pack(&plain, 3000, 6);
  for (unsigned flags = 0; flags < 256; flags++) {
    static const char parts[] = "\3\0abcname\0words\0\x12\x34";
    struct bytes bytes = {.len = plain.len + sizeof parts - 1};
    memcpy(bytes.data, plain.data, 10);
    bytes.data[3] = (unsigned char)flags;
    memcpy(bytes.data + 10, parts, sizeof parts - 1);
    memcpy(bytes.data + 10 + sizeof parts - 1, plain.data + 10, plain.len - 10);
    expect_same(&bytes, 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_members), cmocka_unit_test(cut_members),
                                     cmocka_unit_test(damaged_members), cmocka_unit_test(headers)};
  return cmocka_run_group_tests(tests, make_text, NULL);
}
