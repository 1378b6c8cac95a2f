/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of memory that reading and replaying spend most time in, for the static program on x86-64: those of musl move
 * overlapping bytes one at a time and compare words. `build` puts these into its libc.a in place of them.
 *
 * SSE2 is part of every x86-64. Loads that are aligned may reach beyond the bytes that are asked about, never into another page.
 * The compiler must not take the loops for calls of the functions that they are (-fno-builtin,
 * -fno-tree-loop-distribute-patterns). tests/unit/release/test_release_memory.c holds them against those of the system. */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

void *memmove(void *to, const void *from, size_t len);
void *memcpy(void *restrict to, const void *restrict from, size_t len);
void *memchr(const void *bytes, int wanted, size_t len);
int memcmp(const void *left, const void *right, size_t len);
size_t strlen(const char *text);

typedef unsigned char byte;

/* Numbers at any address, of bytes of any type. */
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));
typedef uint16_t two __attribute__((aligned(1), may_alias));

enum { BLOCK = 16, STRIDE = 4 * BLOCK };

struct stride {
  __m128i a, b, c, d;
};

static inline __m128i load(const byte *at) {
  return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline void store(byte *at, __m128i block) {
  _mm_storeu_si128((__m128i *)(void *)at, block);
}

static inline struct stride load_stride(const byte *at) {
  return (struct stride){load(at), load(at + BLOCK), load(at + 2 * BLOCK), load(at + 3 * BLOCK)};
}

static inline void store_stride(byte *at, struct stride stride) {
  store(at, stride.a);
  store(at + BLOCK, stride.b);
  store(at + 2 * BLOCK, stride.c);
  store(at + 3 * BLOCK, stride.d);
}

/* ---- Moving ---- */

/* In each length both ends are read before either is written: they may overlap each other, and the other place. */
static inline void move_to_16(byte *to, const byte *from, size_t len) {
  if (len >= sizeof(eight)) {
    const uint64_t first = *(const eight *)from, last = *(const eight *)(from + len - sizeof(eight));
    *(eight *)to = first;
    *(eight *)(to + len - sizeof(eight)) = last;
  } else if (len >= sizeof(four)) {
    const uint32_t first = *(const four *)from, last = *(const four *)(from + len - sizeof(four));
    *(four *)to = first;
    *(four *)(to + len - sizeof(four)) = last;
  } else if (len >= sizeof(two)) {
    const uint16_t first = *(const two *)from, last = *(const two *)(from + len - sizeof(two));
    *(two *)to = first;
    *(two *)(to + len - sizeof(two)) = last;
  } else if (len == 1) {
    *to = *from;
  }
}

static inline void move_to_64(byte *to, const byte *from, size_t len) {
  const __m128i first = load(from), last = load(from + len - BLOCK);
  if (len > 2 * BLOCK) {
    const __m128i second = load(from + BLOCK), third = load(from + len - 2 * BLOCK);
    store(to + BLOCK, second);
    store(to + len - 2 * BLOCK, third);
  }
  store(to, first);
  store(to + len - BLOCK, last);
}

/* The last stride is read first, because writing what is in front of it may change it. */
static inline void move_up(byte *to, const byte *from, size_t len) {
  const struct stride last = load_stride(from + len - STRIDE);
  for (size_t at = 0; at < len - STRIDE; at += STRIDE) store_stride(to + at, load_stride(from + at));
  store_stride(to + len - STRIDE, last);
}

/* From the end, where the other place begins inside of the bytes. */
static inline void move_down(byte *to, const byte *from, size_t len) {
  const struct stride first = load_stride(from);
  for (size_t end = len; end > STRIDE; end -= STRIDE) store_stride(to + end - STRIDE, load_stride(from + end - STRIDE));
  store_stride(to, first);
}

void *memmove(void *to, const void *from, size_t len) {
  if (len <= BLOCK)
    move_to_16(to, from, len);
  else if (len <= STRIDE)
    move_to_64(to, from, len);
  else if ((uintptr_t)to - (uintptr_t)from < len)
    move_down(to, from, len);
  else
    move_up(to, from, len);
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len) {
  return memmove(to, from, len);
}

/* ---- Searching and comparing ---- */

/* The aligned block that a byte is in. */
static inline const byte *block_of(const byte *at) {
  return (const byte *)((uintptr_t)at & ~(uintptr_t)(BLOCK - 1));
}

/* A bit for each byte of an aligned block that is the wanted one. */
static inline unsigned equal_bits(const byte *block, __m128i wanted) {
  return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128((const __m128i *)(const void *)block), wanted));
}

/* The same without the bytes in front of `at`. */
static inline unsigned first_bits(const byte *at, __m128i wanted) {
  const byte *const block = block_of(at);
  return equal_bits(block, wanted) & (0xFFFFU << (at - block));
}

/* Callers may give a length that reaches beyond the end of all addresses, when they know that the byte is there. */
void *memchr(const void *bytes, int wanted, size_t len) {
  const byte *const begin = bytes;
  const __m128i all = _mm_set1_epi8((char)wanted);
  if (len == 0) return NULL;
  const size_t most = UINTPTR_MAX - (uintptr_t)begin;
  const uintptr_t last = (uintptr_t)begin + (len - 1 < most ? len - 1 : most);
  const byte *block = block_of(begin);
  for (unsigned bits = first_bits(begin, all);; bits = equal_bits(block, all)) {
    const byte *const found = block + __builtin_ctz(bits | 1U << BLOCK);
    if (bits != 0) return (uintptr_t)found <= last ? (void *)(uintptr_t)found : NULL;
    if (last - (uintptr_t)block < BLOCK) return NULL;
    block += BLOCK;
  }
}

size_t strlen(const char *text) {
  const byte *const begin = (const byte *)text;
  const __m128i all = _mm_setzero_si128();
  const byte *block = block_of(begin);
  unsigned bits = first_bits(begin, all);
  while (bits == 0) bits = equal_bits(block += BLOCK, all);
  return (size_t)(block + __builtin_ctz(bits) - begin);
}

int memcmp(const void *left, const void *right, size_t len) {
  const byte *const a = left;
  const byte *const b = right;
  size_t at = 0;
  for (; len - at >= BLOCK; at += BLOCK) {
    const unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(load(a + at), load(b + at)));
    if (equal == 0xFFFFU) continue;
    at += (size_t)__builtin_ctz(~equal);
    return a[at] - b[at];
  }
  while (at < len && a[at] == b[at]) at++;
  return at < len ? a[at] - b[at] : 0;
}
