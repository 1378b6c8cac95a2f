/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (zlib), xz (liblzma) and zstd (libzstd). The last two are optional: without them their files are named as what they are.
 */
#include "parsers/base/input/unpack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "parsers/base/limits.h"

#ifdef WO_HAS_LZMA
#include <lzma.h>
#endif
#ifdef WO_HAS_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

/* No call gives a library more than this, which fits into each of their types (uInt). */
#define STEP_BYTES ((size_t)1 << 30)

static size_t at_most(size_t len) {
  return len < STEP_BYTES ? len : STEP_BYTES;
}

/* Moves both ends forward by what a library left of them. */
static void move_on(struct wo_unpack_io *io, size_t in_used, size_t out_used) {
  io->in += in_used;
  io->in_len -= in_used;
  io->out += out_used;
  io->out_len -= out_used;
}

/* ---- gzip: RFC 1952 ---- */

static const unsigned char gzip_magic[] = {0x1f, 0x8b};

/* For inflateInit2: the largest window, and a gzip wrapper around it and nothing else. */
enum { WINDOW_BITS_GZIP = 15 + 16 };

/* Our allocator for zlib: an ordinary call from here, so that tests can make it fail. */
static voidpf gzip_alloc(voidpf opaque, uInt items, uInt size) {
  (void)opaque;
  return calloc(items, size);
}

static void gzip_free(voidpf opaque, voidpf address) {
  (void)opaque;
  free(address);
}

static bool gzip_begin(void **state) {
  if (*state) return inflateReset(*state) == Z_OK;
  z_stream *const z = calloc(1, sizeof *z);
  if (!z) return false;
  z->zalloc = gzip_alloc;
  z->zfree = gzip_free;
  if (inflateInit2(z, WINDOW_BITS_GZIP) != Z_OK) {
    free(z);
    return false;
  }
  *state = z;
  return true;
}

static enum wo_unpacked gzip_unpack(void *state, struct wo_unpack_io *io) {
  z_stream *const z = state;
  const uInt in = (uInt)at_most(io->in_len);
  const uInt out = (uInt)at_most(io->out_len);
  /* zlib reads through this pointer only, although its type does not say so. */
  z->next_in = (z_const Bytef *)(uintptr_t)io->in;
  z->avail_in = in;
  z->next_out = (Bytef *)io->out;
  z->avail_out = out;
  const int result = inflate(z, Z_NO_FLUSH);
  move_on(io, in - z->avail_in, out - z->avail_out);
  io->reason = z->msg;
  switch (result) {
  case Z_STREAM_END:
    return WO_UNPACKED_MEMBER;
  case Z_OK:
  case Z_BUF_ERROR:
    return WO_UNPACKED_SOME; /* the latter: no progress without more bytes */
  case Z_MEM_ERROR:
    return WO_UNPACKED_NO_MEMORY;
  default:
    return WO_UNPACKED_DAMAGED;
  }
}

static void gzip_done(void *state) {
  inflateEnd(state);
  free(state);
}

/* ---- xz: .xz file format 1.0.4 ---- */

static const unsigned char xz_magic[] = {0xfd, '7', 'z', 'X', 'Z', 0x00};

#ifdef WO_HAS_LZMA
static bool xz_begin(void **state) {
  lzma_stream *stream = *state;
  if (!stream) stream = calloc(1, sizeof *stream);
  if (!stream) return false;
  const bool is_ready = lzma_stream_decoder(stream, WO_LIMIT_UNPACK_BYTES, 0) == LZMA_OK;
  if (!is_ready && !*state) free(stream);
  if (is_ready) *state = stream;
  return is_ready;
}

static enum wo_unpacked xz_unpack(void *state, struct wo_unpack_io *io) {
  lzma_stream *const stream = state;
  const size_t in = at_most(io->in_len);
  const size_t out = at_most(io->out_len);
  stream->next_in = io->in;
  stream->avail_in = in;
  stream->next_out = (uint8_t *)io->out;
  stream->avail_out = out;
  const lzma_ret result = lzma_code(stream, LZMA_RUN);
  move_on(io, in - stream->avail_in, out - stream->avail_out);
  switch (result) {
  case LZMA_STREAM_END:
    return WO_UNPACKED_MEMBER;
  case LZMA_OK:
  case LZMA_BUF_ERROR:
  case LZMA_UNSUPPORTED_CHECK:
    return WO_UNPACKED_SOME;
  case LZMA_MEM_ERROR:
    return WO_UNPACKED_NO_MEMORY;
  case LZMA_MEMLIMIT_ERROR:
    return WO_UNPACKED_TOO_LARGE;
  default:
    return WO_UNPACKED_DAMAGED;
  }
}

static void xz_done(void *state) {
  lzma_end(state);
  free(state);
}
#else
#define xz_begin NULL
#define xz_unpack NULL
#define xz_done NULL
#endif

/* ---- zstd: RFC 8878 ---- */

static const unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

#ifdef WO_HAS_ZSTD
/* The largest window that fits into WO_LIMIT_UNPACK_BYTES. */
enum { ZSTD_WINDOW_LOG = 26 };

/* zstd forgets what a call gave when the call fails, and how far it comes with damaged bytes depends on the room that it has. So
 * it gets no more bytes at a time than it asks for, which is a block, and always the same room. */
struct zstd {
  ZSTD_DStream *stream;
  size_t wanted;
  enum wo_unpacked ending; /* what follows the bytes in `text` */
  const char *reason;
  size_t at, len; /* the part of `text` that was not given yet */
  char text[ZSTD_BLOCKSIZE_MAX];
};

static void zstd_done(void *state) {
  struct zstd *const zstd = state;
  ZSTD_freeDStream(zstd->stream);
  free(zstd);
}

static bool zstd_begin(void **state) {
  struct zstd *zstd = *state;
  if (!zstd) zstd = calloc(1, sizeof *zstd);
  if (!zstd) return false;
  *state = zstd;
  if (!zstd->stream) zstd->stream = ZSTD_createDStream();
  if (!zstd->stream) return false;
  zstd->wanted = ZSTD_initDStream(zstd->stream);
  zstd->ending = WO_UNPACKED_SOME;
  return !ZSTD_isError(zstd->wanted) && !ZSTD_isError(ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
}

static enum wo_unpacked zstd_ending(size_t result) {
  if (!ZSTD_isError(result)) return result == 0 ? WO_UNPACKED_MEMBER : WO_UNPACKED_SOME;
  switch (ZSTD_getErrorCode(result)) {
  case ZSTD_error_memory_allocation:
    return WO_UNPACKED_NO_MEMORY;
  case ZSTD_error_frameParameter_windowTooLarge:
    return WO_UNPACKED_TOO_LARGE;
  default:
    return WO_UNPACKED_DAMAGED;
  }
}

/* Returns the bytes that it took. */
static size_t zstd_fill(struct zstd *zstd, const struct wo_unpack_io *io) {
  ZSTD_inBuffer in = {io->in, io->in_len < zstd->wanted ? io->in_len : zstd->wanted, 0};
  ZSTD_outBuffer out = {zstd->text, sizeof zstd->text, 0};
  const size_t result = ZSTD_decompressStream(zstd->stream, &out, &in);
  zstd->at = 0;
  zstd->len = out.pos;
  zstd->ending = zstd_ending(result);
  if (ZSTD_isError(result))
    zstd->reason = ZSTD_getErrorName(result);
  else
    zstd->wanted = result;
  return in.pos;
}

static enum wo_unpacked zstd_unpack(void *state, struct wo_unpack_io *io) {
  struct zstd *const zstd = state;
  const size_t taken = zstd->at == zstd->len ? zstd_fill(zstd, io) : 0;
  const size_t len = zstd->len - zstd->at < io->out_len ? zstd->len - zstd->at : io->out_len;
  if (len > 0) memcpy(io->out, zstd->text + zstd->at, len);
  zstd->at += len;
  move_on(io, taken, len);
  io->reason = zstd->reason;
  return zstd->at < zstd->len ? WO_UNPACKED_SOME : zstd->ending;
}
#else
#define zstd_begin NULL
#define zstd_unpack NULL
#define zstd_done NULL
#endif

/* ---- The table ---- */

const struct wo_unpacker *wo_unpackers(size_t *ret_count) {
  static const struct wo_unpacker table[] = {
      {"gzip", "gzip -dc", gzip_magic, sizeof gzip_magic, gzip_begin, gzip_unpack, gzip_done, WO_UNPACK_FAST_GZIP},
      {"xz", "xz -dc", xz_magic, sizeof xz_magic, xz_begin, xz_unpack, xz_done, NULL},
      {"zstd", "zstd -dc", zstd_magic, sizeof zstd_magic, zstd_begin, zstd_unpack, zstd_done, NULL},
  };
  *ret_count = sizeof table / sizeof table[0];
  return table;
}
