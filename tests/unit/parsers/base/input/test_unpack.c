/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed formats other than gzip: twelve lines as xz 5.4 and zstd 1.5 write them. */
#include "parsers/base/input/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "parsers/base/input/input.h"

static const unsigned char xz_bytes[] = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00, 0x00,
    0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0xb5, 0x00, 0x3e, 0x5d, 0x00, 0x2d, 0x9c, 0x88, 0x27, 0x10, 0xe2, 0x6b,
    0x6d, 0x40, 0xcf, 0x45, 0x30, 0xe2, 0xcd, 0xdb, 0xed, 0xbe, 0xae, 0xc6, 0x68, 0xf3, 0xc8, 0x6f, 0x1e, 0xbb, 0x0e,
    0x18, 0x61, 0x70, 0x6f, 0xde, 0x1a, 0xd0, 0xa5, 0x7b, 0xbe, 0x25, 0xce, 0x87, 0x23, 0xf0, 0x9b, 0x60, 0x2c, 0xab,
    0x02, 0xbc, 0x9f, 0x25, 0x57, 0xb9, 0xdd, 0x25, 0x4c, 0x31, 0xf2, 0x8d, 0xc0, 0x2f, 0xe7, 0xda, 0xc0, 0x00, 0x00,
    0x00, 0xf9, 0xd5, 0xe9, 0xad, 0x51, 0x03, 0x6e, 0xcd, 0x00, 0x01, 0x5a, 0xb6, 0x01, 0x00, 0x00, 0x00, 0x9d, 0x65,
    0x7b, 0x49, 0xb1, 0xc4, 0x67, 0xfb, 0x02, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};

static const unsigned char zstd_bytes[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x24, 0xb6, 0xa5, 0x02, 0x00, 0x64, 0x02, 0x5b, 0x72, 0x61, 0x6e, 0x6b, 0x30, 0x5d, 0x20, 0x73,
    0x74, 0x65, 0x70, 0x20, 0x30, 0x0a, 0x31, 0x31, 0x32, 0x32, 0x33, 0x33, 0x34, 0x34, 0x35, 0x35, 0x36, 0x36, 0x37, 0x37,
    0x30, 0x38, 0x31, 0x39, 0x32, 0x31, 0x33, 0x31, 0x0a, 0x16, 0x00, 0x40, 0x44, 0x63, 0xf2, 0x81, 0xcc, 0xc0, 0x10, 0x90,
    0x0f, 0x0c, 0x06, 0xb2, 0x80, 0x71, 0x20, 0x33, 0x30, 0x04, 0xe4, 0x03, 0x83, 0x81, 0x2c, 0x60, 0x1c, 0xc8, 0x0c, 0x0c,
    0x01, 0xf9, 0xc0, 0x60, 0x20, 0x0b, 0x18, 0x07, 0x92, 0x95, 0x76, 0xd6, 0x01, 0x2b, 0x87, 0x88, 0x48};

static const struct packed {
  const char *format;
  const unsigned char *bytes;
  size_t len;
} packed[] = {{"xz", xz_bytes, sizeof xz_bytes}, {"zstd", zstd_bytes, sizeof zstd_bytes}};

enum { PACKED_COUNT = sizeof packed / sizeof packed[0], TEXT_BYTES = 1024 };

/* Returns the length. */
static size_t lines_of(char *text, int times) {
  size_t len = 0;
  for (int i = 0; i < 12 * times; i++)
    len += (size_t)snprintf(text + len, TEXT_BYTES - len, "[rank%d] step %d\n", i % 12 % 8, i % 12);
  return len;
}

static const struct wo_unpacker *unpacker_of(const char *format) {
  size_t count = 0;
  const struct wo_unpacker *const known = wo_unpackers(&count);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(known[i].name, format) == 0) return &known[i];
  }
  fail_msg("no format %s", format);
  return NULL;
}

/* A file without a name that holds the first part and then the second. */
static int file_of(const void *first, size_t first_len, const void *second, size_t second_len) {
  char path[] = "/tmp/whyoom-test-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  unlink(path);
  assert_int_equal(write(fd, first, first_len), (ssize_t)first_len);
  assert_int_equal(write(fd, second, second_len), (ssize_t)second_len);
  lseek(fd, 0, SEEK_SET);
  return fd;
}

/* Reads `cap` bytes at a time; returns what came out and closes the file. */
static size_t read_all(int fd, size_t cap, char *text, enum wo_status *ret_status, struct wo_err *err) {
  struct wo_input *input = NULL;
  size_t len = 0, got = 1;
  *ret_status = wo_input_open_fd(fd, "packed", &input, err);
  while (*ret_status == WO_OK && got > 0 && len < TEXT_BYTES) {
    *ret_status = wo_input_read(input, text + len, cap < TEXT_BYTES - len ? cap : TEXT_BYTES - len, &got, err);
    if (*ret_status == WO_OK) len += got;
  }
  if (input) assert_true(*ret_status == WO_E_NOMEM || wo_input_is_compressed(input));
  wo_input_close(input);
  close(fd);
  return len;
}

static void members_are_expanded_and_joined(void **state) {
  (void)state;
  static const size_t caps[] = {1, 7, TEXT_BYTES};
  char want[TEXT_BYTES], got[TEXT_BYTES];
  for (size_t i = 0; i < PACKED_COUNT; i++) {
    if (!unpacker_of(packed[i].format)->begin) continue;
    for (size_t k = 0; k < sizeof caps / sizeof caps[0]; k++) {
      struct wo_err err = {0};
      enum wo_status status = WO_OK;
      const int fd = file_of(packed[i].bytes, packed[i].len, packed[i].bytes, packed[i].len);
      const size_t len = read_all(fd, caps[k], got, &status, &err);
      assert_int_equal(status, WO_OK);
      assert_int_equal(len, lines_of(want, 2));
      assert_memory_equal(got, want, len);
    }
  }
}

static void members_of_two_formats_are_joined(void **state) {
  (void)state;
  char want[TEXT_BYTES], got[TEXT_BYTES];
  struct wo_err err = {0};
  enum wo_status status = WO_OK;
  if (!unpacker_of("xz")->begin || !unpacker_of("zstd")->begin) skip();
  const size_t len = read_all(file_of(xz_bytes, sizeof xz_bytes, zstd_bytes, sizeof zstd_bytes), 100, got, &status, &err);
  assert_int_equal(status, WO_OK);
  assert_int_equal(len, lines_of(want, 2));
  assert_memory_equal(got, want, len);
}

/* Cut at every length behind the magic: what can be known is delivered, then one failure. */
static void cut_members_fail_after_delivering(void **state) {
  (void)state;
  char want[TEXT_BYTES], got[TEXT_BYTES];
  const size_t whole = lines_of(want, 1);
  for (size_t i = 0; i < PACKED_COUNT; i++) {
    const struct wo_unpacker *const unpacker = unpacker_of(packed[i].format);
    for (size_t cut = unpacker->magic_len; unpacker->begin && cut < packed[i].len; cut++) {
      struct wo_err err = {0};
      enum wo_status status = WO_OK;
      const size_t len = read_all(file_of(packed[i].bytes, cut, "", 0), 100, got, &status, &err);
      assert_int_equal(status, WO_E_SYNTAX);
      assert_non_null(strstr(err.message, "damaged at byte"));
      assert_true(len <= whole && memcmp(got, want, len) == 0);
    }
  }
}

/* Each byte changed: text or a failure, and no more than that. */
static void damaged_members_end(void **state) {
  (void)state;
  char got[TEXT_BYTES];
  for (size_t i = 0; i < PACKED_COUNT; i++) {
    const struct wo_unpacker *const unpacker = unpacker_of(packed[i].format);
    for (size_t at = unpacker->magic_len; unpacker->begin && at < packed[i].len; at++) {
      unsigned char bytes[256];
      struct wo_err err = {0};
      enum wo_status status = WO_OK;
      assert_true(packed[i].len <= sizeof bytes);
      memcpy(bytes, packed[i].bytes, packed[i].len);
      bytes[at] ^= 0x41;
      read_all(file_of(bytes, packed[i].len, "", 0), 100, got, &status, &err);
      assert_true(status == WO_OK || err.message[0] != '\0');
    }
  }
}

/* A build without the library says so, and what to do. */
static void formats_without_library_are_named(void **state) {
  (void)state;
  char got[TEXT_BYTES];
  for (size_t i = 0; i < PACKED_COUNT; i++) {
    struct wo_err err = {0};
    enum wo_status status = WO_OK;
    if (unpacker_of(packed[i].format)->begin) continue;
    read_all(file_of(packed[i].bytes, packed[i].len, "", 0), 100, got, &status, &err);
    assert_int_equal(status, WO_E_KIND);
    assert_non_null(strstr(err.message, unpacker_of(packed[i].format)->command));
  }
}

static void text_that_begins_like_a_magic_is_text(void **state) {
  (void)state;
  static const char *const texts[] = {"\xfd\x37zXY", "\xfd", "\x28\xb5\x2f", "(step 1)", "\x1fno"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct wo_input *input = NULL;
    char got[16];
    size_t len = 0;
    const int fd = file_of(texts[i], strlen(texts[i]), "", 0);
    assert_int_equal(wo_input_open_fd(fd, "text", &input, NULL), WO_OK);
    assert_int_equal(wo_input_read(input, got, sizeof got, &len, NULL), WO_OK);
    assert_int_equal(len, strlen(texts[i]));
    assert_memory_equal(got, texts[i], len);
    assert_false(wo_input_is_compressed(input));
    wo_input_close(input);
    close(fd);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_are_expanded_and_joined),   cmocka_unit_test(members_of_two_formats_are_joined),
      cmocka_unit_test(cut_members_fail_after_delivering), cmocka_unit_test(damaged_members_end),
      cmocka_unit_test(formats_without_library_are_named), cmocka_unit_test(text_that_begins_like_a_magic_is_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
