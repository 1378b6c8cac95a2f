/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: cleaned text stays within its buffer, holds no control characters, is valid UTF-8 where that is promised, and
 * cleaning it again changes nothing. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

/* Reads one code point; false when the bytes are not well-formed. Written from the definition, not from clean.c. */
static bool next_code_point(struct wo_view *rest, uint32_t *ret_code) {
  const unsigned char lead = (unsigned char)rest->ptr[0];
  const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0 || rest->len < length) return false;
  uint32_t code = length == 1 ? lead : lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    const unsigned char byte = (unsigned char)rest->ptr[i];
    if (byte >> 6 != 2) return false;
    code = code << 6 | (byte & 0x3f);
  }
  *rest = wo_view_skip(*rest, length);
  *ret_code = code;
  return code >= smallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static void check_utf8(struct wo_view raw, size_t cap) {
  char *const buf = malloc(cap == 0 ? 1 : cap);
  require(buf != NULL);
  const struct wo_view out = wo_clean_utf8(raw, buf, cap);
  require(out.len <= cap);
  struct wo_view rest = out;
  while (rest.len > 0) {
    uint32_t code = 0;
    require(next_code_point(&rest, &code));
    require(code >= 0x20 && code != 0x7f && (code < 0x80 || code > 0x9f));
  }
  char again[64];
  const struct wo_view head = wo_view_sub(out, 0, sizeof again);
  const struct wo_view same = wo_clean_utf8(head, again, sizeof again);
  require(head.len == out.len ? wo_view_equal(same, out) : same.len <= sizeof again);
  free(buf);
}

static void check_line(struct wo_view raw, size_t cap) {
  char *const buf = malloc(cap == 0 ? 1 : cap);
  require(buf != NULL);
  const struct wo_view out = wo_clean_line(raw, buf, cap);
  require(out.ptr == raw.ptr ? out.len == raw.len : out.len <= cap);
  for (size_t i = 0; i < out.len; i++) {
    const unsigned char c = (unsigned char)out.ptr[i];
    require((c >= 0x20 && c != 0x7f) || c == '\t');
  }
  const struct wo_view again = wo_clean_line(out, NULL, 0);
  require(again.ptr == out.ptr && again.len == out.len);
  free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view raw = {(const char *)data, size};
  const size_t caps[] = {0, 1, 2, 3, 4, size / 2, size, 3 * size};
  for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
    check_utf8(raw, caps[i]);
    check_line(raw, caps[i]);
  }
  return 0;
}
