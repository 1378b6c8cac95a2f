/* SPDX-License-Identifier: Apache-2.0 */
/* gzip by ISA-L: about three times as fast as zlib, where its library was there when whyoom was built. */
#include "parsers/base/input/unpack.h"

#ifdef WO_HAS_ISAL
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

/* No call gives the library more than this, which fits into its types. */
#define STEP_BYTES ((size_t)1 << 30)

/* The method, and the flags of the header: those of which zlib checks more (a checksum of the header, bits without a meaning) are
 * left to it. */
enum { HEAD_METHOD = 2, HEAD_FLAGS = 3, HEAD_BYTES = 4, METHOD_DEFLATE = 8, FLAGS_CHECKED = 0xe2 };

static bool takes(const unsigned char *head) {
  return head[HEAD_METHOD] == METHOD_DEFLATE && (head[HEAD_FLAGS] & FLAGS_CHECKED) == 0;
}

/* With damaged bytes the library may give a match that cannot be before it says so. So the last bytes are given only once more
 * came well behind them, or the member was found whole. */
enum { HELD_BYTES = 1024, TEXT_BYTES = 64 * 1024 };

struct fast_gzip {
  struct inflate_state inflate;
  enum wo_unpacked ending; /* what follows the bytes in `text` */
  size_t at, sure, len;    /* of `text`: [at, sure) may be given, up to len is held back */
  char text[HELD_BYTES + TEXT_BYTES];
};

static bool begin(void **state) {
  struct fast_gzip *const fast = *state ? *state : calloc(1, sizeof *fast);
  if (!fast) return false;
  if (*state) {
    isal_inflate_reset(&fast->inflate);
  } else {
    isal_inflate_init(&fast->inflate);
  }
  fast->inflate.crc_flag = ISAL_GZIP;
  fast->ending = WO_UNPACKED_SOME;
  fast->at = fast->sure = fast->len = 0;
  *state = fast;
  return true;
}

/* Returns the bytes that it took. */
static size_t fill(struct fast_gzip *fast, const struct wo_unpack_io *io) {
  struct inflate_state *const inflate = &fast->inflate;
  const uint32_t in = (uint32_t)(io->in_len < STEP_BYTES ? io->in_len : STEP_BYTES);
  const size_t held = fast->len - fast->sure;
  memmove(fast->text, fast->text + fast->sure, held);
  /* The library reads through this pointer only, although its type does not say so. */
  inflate->next_in = (uint8_t *)(uintptr_t)io->in;
  inflate->avail_in = in;
  inflate->next_out = (uint8_t *)fast->text + held;
  inflate->avail_out = TEXT_BYTES;
  const int result = isal_inflate(inflate);
  const bool is_good = result == ISAL_DECOMP_OK || result == ISAL_END_INPUT || result == ISAL_OUT_OVERFLOW;
  const bool is_whole = is_good && inflate->block_state == ISAL_BLOCK_FINISH;
  fast->len = held + TEXT_BYTES - inflate->avail_out;
  fast->at = 0;
  fast->sure = is_whole ? fast->len : is_good && fast->len > HELD_BYTES ? fast->len - HELD_BYTES : 0;
  fast->ending = is_whole ? WO_UNPACKED_MEMBER : is_good ? WO_UNPACKED_SOME : WO_UNPACKED_DAMAGED;
  return in - inflate->avail_in;
}

static enum wo_unpacked unpack(void *state, struct wo_unpack_io *io) {
  struct fast_gzip *const fast = state;
  const size_t taken = fast->at == fast->sure ? fill(fast, io) : 0;
  const size_t len = fast->sure - fast->at < io->out_len ? fast->sure - fast->at : io->out_len;
  if (len > 0) memcpy(io->out, fast->text + fast->at, len);
  fast->at += len;
  io->in += taken;
  io->in_len -= taken;
  io->out += len;
  io->out_len -= len;
  return fast->at < fast->sure ? WO_UNPACKED_SOME : fast->ending;
}

static const struct wo_unpacker unpacker = {
    .name = "gzip", .command = "gzip -dc", .begin = begin, .unpack = unpack, .done = free};

const struct wo_fast_unpacker wo_unpack_fast_gzip = {.head_len = HEAD_BYTES, .takes = takes, .unpacker = &unpacker};
#else
/* A file of C may not be empty. */
typedef int wo_without_isal;
#endif
