/* SPDX-License-Identifier: Apache-2.0 */
/* See pack_bytes.h. */
#include "analyzer/pack/pack_bytes.h"

#include <math.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

/* ---- Writing ---- */

void wo__put_number(struct wo_text *out, uint64_t number) {
  char bytes[10];
  size_t len = 0;
  do {
    bytes[len++] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    number >>= 7;
  } while (number > 0);
  wo_text_add_view(out, (struct wo_view){bytes, len});
}

/* 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ... */
void wo__put_signed(struct wo_text *out, int64_t number) {
  wo__put_number(out, ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0));
}

/* How an interval is written. The numbers are part of the form. */
enum interval_form { WHOLE = 0, EXACT = 1, BOUNDS = 2 };

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Byte by byte, the lowest first, whatever the machine's order. */
static void put_double(struct wo_text *out, double value) {
  char bytes[8];
  for (size_t i = 0; i < 8; i++) bytes[i] = (char)(bits_of(value) >> (8 * i));
  wo_text_add_view(out, (struct wo_view){bytes, 8});
}

static bool is_whole(double value) {
  const double most = 9007199254740992.0; /* 2^53 */
  return value >= -most && value <= most && bits_of((double)(int64_t)value) == bits_of(value);
}

void wo__put_interval(struct wo_text *out, struct wo_interval value) {
  const bool is_exact = bits_of(value.lo) == bits_of(value.mid) && bits_of(value.mid) == bits_of(value.hi);
  wo__put_number(out, is_exact && is_whole(value.mid) ? WHOLE : is_exact ? EXACT : BOUNDS);
  if (is_exact && is_whole(value.mid)) {
    wo__put_signed(out, (int64_t)value.mid);
    return;
  }
  put_double(out, value.mid);
  if (is_exact) return;
  put_double(out, value.lo);
  put_double(out, value.hi);
}

/* ---- Reading ---- */

static uint64_t fail(struct wo__cursor *in) {
  in->is_bad = true;
  in->at = in->end;
  return 0;
}

uint64_t wo__take_number(struct wo__cursor *in, uint64_t max) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (in->at == in->end) return fail(in);
    const unsigned char byte = *in->at++;
    const uint64_t part = (uint64_t)(byte & 0x7f) << shift;
    if (part >> shift != (byte & 0x7f)) return fail(in);
    number |= part;
    if (byte <= 0x7f) return number <= max ? number : fail(in);
  }
  return fail(in);
}

int64_t wo__take_signed(struct wo__cursor *in) {
  const uint64_t number = wo__take_number(in, UINT64_MAX);
  return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

struct wo_view wo__take_bytes(struct wo__cursor *in, size_t len) {
  if (len > (size_t)(in->end - in->at)) {
    fail(in);
    return (struct wo_view){0};
  }
  const struct wo_view bytes = {(const char *)in->at, len};
  in->at += len;
  return bytes;
}

static double take_double(struct wo__cursor *in) {
  const struct wo_view bytes = wo__take_bytes(in, 8);
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.len; i++) bits |= (uint64_t)(unsigned char)bytes.ptr[i] << (8 * i);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

struct wo_interval wo__take_interval(struct wo__cursor *in) {
  const uint64_t form = wo__take_number(in, BOUNDS);
  if (form == WHOLE) return wo_interval_exact((double)wo__take_signed(in));
  struct wo_interval value = wo_interval_exact(take_double(in));
  if (form == BOUNDS) {
    value.lo = take_double(in);
    value.hi = take_double(in);
  }
  if (isfinite(value.lo) && isfinite(value.mid) && isfinite(value.hi) && value.lo <= value.mid && value.mid <= value.hi)
    return value;
  fail(in);
  return (struct wo_interval){0};
}

/* ---- Compression ---- */

/* The form of gzip, whose CRC-32 finds what Adler-32 does not: one changed bit is another distance, and the words that it brings
 * may have the same sums. Streams of zlib itself are read as well. */
enum { AS_GZIP = 16, AS_ANY = 32, WINDOW_MAX = 15 };

/* A window that holds the whole text; most jobs are small, and need no tables of a quarter of a megabyte. */
static int window_bits(size_t len) {
  int bits = 9;
  while (bits < WINDOW_MAX && ((size_t)1 << bits) < len) bits++;
  return bits;
}

enum wo_status wo__pack_compress(struct wo_view raw, struct wo_text *out) {
  z_stream stream = {0};
  const int bits = window_bits(raw.len);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, AS_GZIP + bits, bits - 7, Z_DEFAULT_STRATEGY) != Z_OK)
    return WO_E_NOMEM;
  char part[4096];
  int code = Z_OK;
  stream.next_in = (const Bytef *)(raw.len > 0 ? raw.ptr : "");
  stream.avail_in = (uInt)raw.len;
  while (code == Z_OK) {
    stream.next_out = (Bytef *)part;
    stream.avail_out = sizeof part;
    code = deflate(&stream, Z_FINISH);
    wo_text_add_view(out, (struct wo_view){part, sizeof part - stream.avail_out});
  }
  deflateEnd(&stream);
  return code == Z_STREAM_END && !out->is_failed ? WO_OK : WO_E_NOMEM;
}

enum wo_status wo__pack_expand(struct wo_view packed, char *buf, size_t len) {
  z_stream stream = {0};
  if (packed.len > UINT32_MAX || len > UINT32_MAX) return WO_E_SYNTAX;
  stream.next_in = (const Bytef *)packed.ptr;
  stream.avail_in = (uInt)packed.len;
  if (inflateInit2(&stream, AS_ANY + WINDOW_MAX) != Z_OK) return WO_E_NOMEM;
  stream.next_out = (Bytef *)buf;
  stream.avail_out = (uInt)len;
  const int code = inflate(&stream, Z_FINISH);
  const bool is_whole_text = code == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  if (code == Z_MEM_ERROR) return WO_E_NOMEM;
  return is_whole_text ? WO_OK : WO_E_SYNTAX;
}
