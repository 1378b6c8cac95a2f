/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: the requests of a program to the allocator, without the answers.
 *
 * A pattern is made of a trace (pattern_make), changed by transforms (scale, offload, ...), and run by replay.h. Every allocation
 * is an instance with a birth, a death, a size and a stack; requests refer to instances by index, so that running one needs no
 * addresses. A pattern is a value; one thread at a time while it is made or changed. */
#ifndef WO_ALLOC_PATTERN_H
#define WO_ALLOC_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/vec.h"

#define WO_NO_REQUEST UINT32_MAX
#define WO_NO_ENTRY UINT32_MAX

enum wo_request_kind {
  WO_REQUEST_ALLOC,
  WO_REQUEST_FREE,     /* completes at once */
  WO_REQUEST_DEFER,    /* freed, pending */
  WO_REQUEST_COMPLETE, /* a pending block's events are done */
  WO_REQUEST_EMPTY_CACHE,
  WO_REQUEST_RECORD_STREAM,
  WO_REQUEST_POOL_BEGIN, /* graph capture */
  WO_REQUEST_POOL_END,
  WO_REQUEST_POOL_RELEASE,
  WO_REQUEST_POOL_EMPTY, /* of this pool alone */
  WO_REQUEST_SETTINGS,   /* subject = index into wo_recording.settings_texts */
  WO_REQUEST_FRACTION,   /* subject = parts per million */
  WO_REQUEST_PROBE       /* an ALLOC that was refused, and that the operator went on without (see wo_alloc_pattern_make) */
};

/* One request. */
struct wo_request {
  uint32_t kind : 8;    /* enum wo_request_kind */
  uint32_t stream : 12; /* index into the recording's streams */
  uint32_t reserved : 12;
  uint32_t pool;    /* index into the recording's pools */
  uint32_t subject; /* instance, or what the kind says */
  uint32_t entry;   /* the trace entry that it comes from, or WO_NO_ENTRY */
};

/* The purpose of an allocation (micro-batch-scaling: see docs/replay.md). UNKNOWN until classified. */
enum wo_alloc_class {
  WO_CLASS_UNKNOWN,
  WO_CLASS_PARAMETER,
  WO_CLASS_GRADIENT,
  WO_CLASS_OPTIMIZER,
  WO_CLASS_ACTIVATION,
  WO_CLASS_LOGITS,
  WO_CLASS_TEMPORARY,
  WO_CLASS_WORKSPACE,
  WO_CLASS_COMMUNICATION,
  WO_CLASS_INPUT,
  WO_CLASS_COUNT_
};

/* The name of a class ("optimizer_state"). Never NULL. */
const char *wo_alloc_class_name(enum wo_alloc_class class_);

/* The life of one allocation. Birth is WO_NO_REQUEST if it was alive before the first request; death is WO_NO_REQUEST if it was
 * never freed. A request that was refused in the recording (an `oom` entry; the size is the rounded one) has death == birth: the
 * program never held it. A replay that can serve it counts it in its peaks and frees it at once. */
struct wo_instance {
  uint64_t size_bytes; /* requested */
  uint32_t birth;      /* index of its request */
  uint32_t death;      /* index of its FREE or DEFER */
  uint32_t stack;      /* index into the recording's stacks, or WO_NO_STACK */
  uint32_t stream : 12;
  uint32_t class_ : 5; /* enum wo_alloc_class */
  uint32_t pool : 15;
};

/* Whether a request's subject is an instance. */
static inline bool wo_request_has_instance(const struct wo_request *request) {
  switch ((enum wo_request_kind)request->kind) {
  case WO_REQUEST_ALLOC:
  case WO_REQUEST_FREE:
  case WO_REQUEST_DEFER:
  case WO_REQUEST_COMPLETE:
  case WO_REQUEST_RECORD_STREAM:
  case WO_REQUEST_PROBE:
    return true;
  default:
    return false;
  }
}

struct wo_alloc_pattern {
  const struct wo_recording *recording; /* borrowed: names of stacks, streams, pools */
  WO_VEC(struct wo_request) requests;
  WO_VEC(struct wo_instance) instances; /* first those alive at the start, by rising address */
  size_t start_count;                   /* instances alive at the start */
  uint32_t hidden_pools;                /* private pools beside those of the recording; their numbers follow these */
  size_t probe_count;                   /* requests of kind PROBE */
};

/* Makes the pattern of a trace: entries become requests; segment events become EMPTY_CACHE where they show one (a run of
 * segment_free and segment_unmap that the retry of an allocation does not explain: release_cause.h). Blocks that are pending at
 * the start get a DEFER with entry WO_NO_ENTRY before everything else. If pending frees completed because an allocation was
 * retried, their COMPLETE comes after that allocation: the retry itself completes them. A block that is freed without an
 * allocation was alive at the start. A refused request is a PROBE if nothing is freed before the next request, and either is of
 * its stack or it ends a row of such: an exception that ends an operator frees what the operator holds first, but a convolution
 * tries one plan of cuDNN after another (seen with torch 2.11 and cuDNN 9 on an H100: 288 refusals in two steps that ran).
 * WO_E_RANGE with the entry's index (also in err->offset) and what is wrong (freed twice, allocated while live); WO_E_NOMEM.
 * *ret_pattern can be given to wo_alloc_pattern_done after any result. */
enum wo_status wo_alloc_pattern_make(const struct wo_recording *recording, const struct wo_trace *trace,
                                     struct wo_alloc_pattern *ret_pattern, struct wo_err *err);

/* Releases what the pattern owns; NULL allowed. */
void wo_alloc_pattern_done(struct wo_alloc_pattern *pattern);

#endif
