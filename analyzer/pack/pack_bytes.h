/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as bytes, the form of packed jobs, and their compression. */
#ifndef WO_PACK_BYTES_H
#define WO_PACK_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/number.h"
#include "parsers/base/text.h"

/* ---- Writing: each appends to a text, which notes its failures ---- */

/* A number in groups of seven bits, the lowest first / one that may be negative, small ones in few bytes. */
void wo__put_number(struct wo_text *out, uint64_t number);
void wo__put_signed(struct wo_text *out, int64_t number);

/* A number with its interval, bit by bit. */
void wo__put_interval(struct wo_text *out, struct wo_interval value);

/* ---- Reading: a cursor that met something wrong gives zeros and remembers it ---- */

struct wo__cursor {
  const unsigned char *at, *end;
  bool is_bad;
};

/* The next number, at most `max` / any signed number. */
uint64_t wo__take_number(struct wo__cursor *in, uint64_t max);
int64_t wo__take_signed(struct wo__cursor *in);

/* Finite, with lo <= mid <= hi. */
struct wo_interval wo__take_interval(struct wo__cursor *in);

/* The next `len` bytes. */
struct wo_view wo__take_bytes(struct wo__cursor *in, size_t len);

/* ---- Compression ---- */

/* Appends the compressed form of raw bytes. WO_E_NOMEM. */
enum wo_status wo__pack_compress(struct wo_view raw, struct wo_text *out);

/* Expands to exactly `len` bytes at `buf`. WO_E_SYNTAX: the bytes are damaged, or expand to another length. WO_E_NOMEM. */
enum wo_status wo__pack_expand(struct wo_view packed, char *buf, size_t len);

#endif
