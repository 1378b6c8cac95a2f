/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern while it is made. Private to alloc_pattern.c and alloc_pattern_order.c. */
#ifndef WO_ALLOC_PATTERN_INTERNAL_H
#define WO_ALLOC_PATTERN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/collections/address_table.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/pattern/private_pools_internal.h"
#include "cuda_replay/pattern/release_cause.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* An entry can make two requests, and so can each block that is pending at the start. */
#define WO__REQUESTS_MAX (4 * WO_LIMIT_TRACE_ENTRIES)

/* Marks an address where a block was freed: a second free there is no block from the start. */
#define WO__GONE UINT32_MAX

/* An instance that was alive at the start. */
struct wo__early {
  uint64_t address;
  uint32_t instance;
  bool is_pending;
};

struct wo__maker {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  struct wo_alloc_pattern *pattern;
  struct wo_err *err;
  struct wo_address_table used; /* instances that other streams used, by the instructions */
  struct wo_address_table live; /* address -> instance, also while pending; WO__GONE where one died */
  WO_VEC(struct wo__early) early;
  WO_VEC(uint32_t) held;         /* completions that a retry caused: instances, and their entries */
  struct wo__readings *readings; /* NULL: unsure runs get the reading that fits best */
  size_t turns;                  /* turns of the readings that were passed */
  struct wo__release_cause release;
  struct wo__private_pools pools;
  bool has_completed;  /* the recording shows when frees complete */
  bool has_deferred;   /* some complete later than they were requested */
  bool is_run_settled; /* the reason for the releases of the present run is known */
  bool is_retry;       /* the reason is the retry of the request that follows */
  size_t pending_count;
};

/* The instance that lives at an address, or NULL; *ret_instance is its index. */
struct wo_instance *wo__instance_at(const struct wo__maker *maker, uint64_t address, uint32_t *ret_instance);

/* Adds the instances that only the snapshot shows, after all entries are read. WO_E_NOMEM. */
enum wo_status wo__make_untouched(struct wo__maker *maker);

/* Moves the instances that were alive before the first entry to the front. WO_E_NOMEM. */
enum wo_status wo__put_in_order(struct wo__maker *maker);

#endif
