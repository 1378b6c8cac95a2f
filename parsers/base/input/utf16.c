/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16 to UTF-8. The byte order is that of the mark at the start; the same mark of UTF-32 has two zeros behind it. */
#include "parsers/base/input/utf16.h"

#include <string.h>

#include "parsers/base/clean.h"

static bool is_high(uint32_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

/* Sets the byte order and returns the text behind the mark. */
static struct wo_view begin(struct wo_utf16 *text, struct wo_view bytes) {
  const bool is_little = wo__view_starts(bytes, "\xff\xfe") && !(bytes.len >= 4 && memcmp(bytes.ptr + 2, "\0\0", 2) == 0);
  text->has_begun = true;
  text->is_big_endian = wo_view_starts(bytes, "\xfe\xff");
  text->is_on = is_little || text->is_big_endian;
  return text->is_on ? wo_view_skip(bytes, 2) : bytes;
}

/* Writes what a unit of 16 bits adds to the text: 3 bytes at most, and as many for a half that nothing followed. */
static size_t take_unit(struct wo_utf16 *text, uint32_t unit, char *out) {
  const uint32_t high = text->high;
  size_t len = 0;
  text->high = 0;
  if (high != 0 && is_low(unit)) return wo_utf8_write(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), out);
  if (high != 0) len = wo_utf8_write(0xfffd, out);
  if (is_high(unit)) {
    text->high = unit;
    return len;
  }
  return len + wo_utf8_write(is_low(unit) ? 0xfffd : unit, out + len);
}

struct wo_view wo_utf16_read(struct wo_utf16 *text, struct wo_view bytes, char *buf) {
  if (!text->has_begun) bytes = begin(text, bytes);
  if (!text->is_on) return bytes;
  size_t len = 0;
  for (size_t i = 0; i < bytes.len; i++) {
    const unsigned char byte = (unsigned char)bytes.ptr[i];
    if (text->held == 0) {
      text->unit = byte;
      text->held = 1;
      continue;
    }
    text->held = 0;
    len += take_unit(text, text->is_big_endian ? (uint32_t)text->unit << 8 | byte : (uint32_t)byte << 8 | text->unit, buf + len);
  }
  return (struct wo_view){buf, len};
}
