/* SPDX-License-Identifier: Apache-2.0 */
/* A value on the pickle's stack or in its memo: eight bytes, a kind and a payload.
 *
 * There is no tree of the file's content: as soon as a dict is complete, it becomes one of the records of a snapshot, and the
 * value is the index of that record. Values that snapshots never need are OPAQUE: they have no content and take no memory. */
#ifndef WO_PICKLE_VALUE_H
#define WO_PICKLE_VALUE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Payloads in brackets. Up to WO_VALUE_LIST: containers that are still open, and the empty memo slot. */
enum wo_value_kind {
  WO_VALUE_UNSET,      /* a memo slot that holds nothing */
  WO_VALUE_NEW_DICT,   /* a dict without anything in it [memo slot + 1, or 0] */
  WO_VALUE_NEW_LIST,   /* a list without any relevant member [memo slot + 1, or 0] */
  WO_VALUE_DICT,       /* a dict being filled [index of its draft] */
  WO_VALUE_LIST,       /* a list of records [index of its draft] */
  WO_VALUE_OPAQUE,     /* anything else */
  WO_VALUE_NONE,       /* None */
  WO_VALUE_FALSE,      /* False */
  WO_VALUE_TRUE,       /* True */
  WO_VALUE_INT,        /* [the number, signed] */
  WO_VALUE_NUMBER,     /* a larger integer or a float [index of wo_pickle.numbers] */
  WO_VALUE_TEXT,       /* [index of wo_intern.texts] */
  WO_VALUE_PAIR,       /* a tuple of two small integers [first << 29 | second] */
  WO_VALUE_FRAME,      /* [index of recording.frames] */
  WO_VALUE_STACK,      /* a list of frames [index of recording.stacks] */
  WO_VALUE_ENTRY,      /* [index of wo_snapshot.entries] */
  WO_VALUE_BLOCK,      /* [index of wo_snapshot.blocks] */
  WO_VALUE_SEGMENT,    /* [index of wo_snapshot.segments] */
  WO_VALUE_HISTORY,    /* an earlier life of a block, torch 2.0 [index of wo_snapshot.histories] */
  WO_VALUE_ANNOTATION, /* [index of recording.annotations] */
  WO_VALUE_SETTINGS,   /* the allocator's settings: there is one */
  WO_VALUE_ROUNDUP,    /* its roundup dict */
  WO_VALUE_SNAPSHOT    /* the whole */
};

enum { WO_VALUE_KIND_BITS = 5, WO_VALUE_PAIR_BITS = 29 };

/* The integers that a value holds itself: 59 bits with their sign. */
#define WO_VALUE_INT_MAX (((int64_t)1 << 58) - 1)
#define WO_VALUE_INT_MIN (-((int64_t)1 << 58))

struct wo_pickle_value {
  uint64_t bits;
};

static inline struct wo_pickle_value wo_value(enum wo_value_kind kind, uint64_t payload) {
  assert(payload >> (64 - WO_VALUE_KIND_BITS) == 0);
  return (struct wo_pickle_value){payload << WO_VALUE_KIND_BITS | (uint64_t)kind};
}

static inline enum wo_value_kind wo_value_kind(struct wo_pickle_value value) {
  return (enum wo_value_kind)(value.bits & ((1 << WO_VALUE_KIND_BITS) - 1));
}

static inline uint64_t wo_value_payload(struct wo_pickle_value value) {
  return value.bits >> WO_VALUE_KIND_BITS;
}

/* The payload as an index; payloads that are indices always fit. */
static inline uint32_t wo_value_index(struct wo_pickle_value value) {
  assert(wo_value_payload(value) <= UINT32_MAX);
  return (uint32_t)wo_value_payload(value);
}

static inline bool wo_value_fits(int64_t number) {
  return number >= WO_VALUE_INT_MIN && number <= WO_VALUE_INT_MAX;
}

static inline struct wo_pickle_value wo_value_int(int64_t number) {
  assert(wo_value_fits(number));
  return (struct wo_pickle_value){(uint64_t)number << WO_VALUE_KIND_BITS | WO_VALUE_INT};
}

/* Division rounds towards zero and is exact here: the kind's bits are taken away first. */
static inline int64_t wo_value_get_int(struct wo_pickle_value value) {
  assert(wo_value_kind(value) == WO_VALUE_INT);
  return (int64_t)(value.bits - WO_VALUE_INT) / (1 << WO_VALUE_KIND_BITS);
}

static inline bool wo_value_is_same(struct wo_pickle_value a, struct wo_pickle_value b) {
  return a.bits == b.bits;
}

static inline bool wo_value_is_open(struct wo_pickle_value value) {
  return wo_value_kind(value) <= WO_VALUE_LIST;
}

#endif
