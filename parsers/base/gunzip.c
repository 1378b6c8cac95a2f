/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 and gzip of texts that tools hide in one field. */
#include "parsers/base/gunzip.h"

#define ZLIB_CONST /* next_in points to bytes that are only read */
#include <zlib.h>

/* For inflateInit2: the largest window, and a gzip wrapper around it and nothing else. */
#define GZIP_WINDOW_BITS (15 + 16)

/* The six bits of a letter, or -1. */
static int six_bits(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

size_t wo_base64_decode(struct wo_view text, unsigned char *out, size_t cap) {
  unsigned bits = 0;
  unsigned held = 0;
  size_t count = 0;
  for (size_t i = 0; i < text.len && count < cap; i++) {
    const int value = six_bits(text.ptr[i]);
    if (value < 0) break;
    bits = ((bits << 6) | (unsigned)value) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[count++] = (unsigned char)((bits >> held) & 0xff);
  }
  return count;
}

size_t wo_gunzip(const unsigned char *bytes, size_t len, char *out, size_t cap) {
  z_stream stream = {0};
  if (len == 0 || len > 1 << 30 || cap == 0 || cap > 1 << 30) return 0;
  if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK) return 0;
  stream.next_in = bytes;
  stream.avail_in = (uInt)len;
  stream.next_out = (unsigned char *)out;
  stream.avail_out = (uInt)cap;
  (void)inflate(&stream, Z_FINISH);
  const size_t written = cap - stream.avail_out;
  inflateEnd(&stream);
  return written;
}
