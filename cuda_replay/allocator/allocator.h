/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator model: PyTorch's native CUDA caching allocator for one device, as a pure state machine.
 *
 * In: requests (allocate, free, a stream's work is done, empty the cache, ...). Out: the same blocks, addresses, segments and
 * failures that torch would give, given the same addresses from the device. Facts and versions: docs/allocator.md. There is no
 * time here: the caller says when a pending block's events are done (wo_allocator_complete).
 *
 * A block is named by a handle that stays valid until its free completes (or the block merges away); handles are reused. One
 * allocator is used by one thread. */
#ifndef WO_ALLOCATOR_H
#define WO_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/device.h"
#include "cuda_replay/recording/settings.h"
#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"

struct wo_allocator;

typedef uint32_t wo_block_id;
#define WO_NO_BLOCK UINT32_MAX

/* An action of the allocator, as torch would record it (recorded actions of actions.def only). */
struct wo_allocator_event {
  enum wo_action action;
  uint64_t address;    /* OOM: free bytes of the device after all releases */
  uint64_t size_bytes; /* as in struct wo_trace_entry */
  uint64_t stream;     /* raw pointer */
  struct wo_pool_id pool;
};

/* Called for each event in order; may be NULL for none. */
struct wo_allocator_observer {
  void *state;
  void (*on_event)(void *state, const struct wo_allocator_event *event);
};

struct wo_allocator_options {
  struct wo_alloc_settings settings;
  uint16_t torch;                        /* the version whose rules apply; settings.h */
  const struct wo_device *device;        /* borrowed; must outlive the allocator */
  struct wo_allocator_observer observer; /* {0} for none */
  uint64_t garbage_limit_bytes;          /* reserved memory beyond which garbage is collected; 0: as settings and card say */
};

/* A statistic of torch.cuda.memory_stats: its value, highest value, sum of rises, sum of falls. */
struct wo_stat {
  int64_t current;
  int64_t peak;
  int64_t allocated;
  int64_t freed;
};

enum wo_stat_pool { WO_STAT_ALL, WO_STAT_SMALL, WO_STAT_LARGE, WO_STAT_POOL_COUNT_ };

/* torch.cuda.memory_stats, same names. */
struct wo_allocator_stats {
  struct wo_stat allocation[WO_STAT_POOL_COUNT_];
  struct wo_stat segment[WO_STAT_POOL_COUNT_];
  struct wo_stat active[WO_STAT_POOL_COUNT_];
  struct wo_stat inactive_split[WO_STAT_POOL_COUNT_];
  struct wo_stat allocated_bytes[WO_STAT_POOL_COUNT_];
  struct wo_stat reserved_bytes[WO_STAT_POOL_COUNT_];
  struct wo_stat active_bytes[WO_STAT_POOL_COUNT_];
  struct wo_stat inactive_split_bytes[WO_STAT_POOL_COUNT_];
  struct wo_stat requested_bytes[WO_STAT_POOL_COUNT_];
  struct wo_stat oversize_allocations;
  struct wo_stat oversize_segments;
  uint64_t num_alloc_retries;
  uint64_t num_ooms;
  uint64_t num_sync_all_streams;
  uint64_t num_device_alloc;
  uint64_t num_device_free;
  uint64_t num_oom_rejections; /* from 2.12: by throw_on_cudamalloc_oom; not in num_ooms */
};

/* A request that failed. */
struct wo_allocator_oom {
  uint64_t requested_bytes;
  uint64_t rounded_bytes;
  uint64_t segment_bytes; /* "Tried to allocate" */
  uint64_t device_free_bytes;
  uint64_t largest_free_block_bytes; /* in the pool and stream that would have served it; 0 = none */
  uint64_t cached_free_bytes;        /* free in all pools: reserved - active */
  bool by_fraction;                  /* the memory fraction refused, not the device */
  bool is_rejected;                  /* by throw_on_cudamalloc_oom, before the device was asked: no event */
};

/* A new allocator without memory. WO_E_USAGE for settings that cannot be modelled (cudaMallocAsync), WO_E_NOMEM. */
enum wo_status wo_allocator_new(const struct wo_allocator_options *options, struct wo_allocator **ret_allocator,
                                struct wo_err *err);

/* Frees the model without any call to the device. NULL allowed; returns NULL. */
struct wo_allocator *wo_allocator_free(struct wo_allocator *allocator);

/* Serves a request of size_bytes (1 to below 2^60) on a stream. WO_OK: *ret_block is the block. WO_E_LIMIT: out of memory, as
 * torch would be; see wo_allocator_last_oom; the allocator can be used further. WO_E_USAGE: torch itself would stop here with an
 * internal error. WO_E_NOMEM: the model's own memory is out; the allocator stays valid. Others: the device failed, or WO_E_RANGE
 * for the size. wo_allocator_message explains WO_E_USAGE, WO_E_RANGE and failures of the device. */
enum wo_status wo_allocator_malloc(struct wo_allocator *allocator, uint64_t size_bytes, uint64_t stream, wo_block_id *ret_block);

/* The program frees a block that it holds. The free completes at once, unless the block was used on other streams or is_deferred
 * is set (a recording shows the delay, but not its reason): then the block is pending until wo_allocator_complete. */
void wo_allocator_free_block(struct wo_allocator *allocator, wo_block_id block, bool is_deferred);

/* A stream other than its own uses an allocated block. WO_E_NOMEM. */
enum wo_status wo_allocator_record_stream(struct wo_allocator *allocator, wo_block_id block, uint64_t stream);

/* All events of a pending block are done: it goes back into its pool. */
void wo_allocator_complete(struct wo_allocator *allocator, wo_block_id block);

/* torch.cuda.empty_cache(): completes all pending blocks (outside of captures) and releases all memory that can be released.
 * Results as in wo_allocator_malloc. */
enum wo_status wo_allocator_empty_cache(struct wo_allocator *allocator);

/* Requests on `stream` go to the private pool from now on (graph capture or MemPool) / no longer. is_capture: a CUDA graph is
 * being captured, so nothing is released meanwhile; up to 2.12 a MemPool has the same effect. wo_allocator_pool_release: the pool
 * has one user less; it can be released once it has none. WO_E_USAGE when torch would refuse (a second capture into the pool, no
 * such pool), WO_E_NOMEM. */
enum wo_status wo_allocator_pool_begin(struct wo_allocator *allocator, struct wo_pool_id pool, uint64_t stream, bool is_capture);
enum wo_status wo_allocator_pool_end(struct wo_allocator *allocator, struct wo_pool_id pool);
enum wo_status wo_allocator_pool_release(struct wo_allocator *allocator, struct wo_pool_id pool);

/* Torch releases several pools without users in the order of a hash table, which only a recording shows: this pool comes after
 * all that this was called for before. Without a call they come in the order in which they were made. Unknown pools are ignored.
 */
void wo_allocator_pool_is_next(struct wo_allocator *allocator, struct wo_pool_id pool);

/* What the end of a MemPool does from 2.7 on (torch/csrc, CUDACachingAllocator, emptyCache of one pool): releases what is free of
 * this pool, and nothing else, if it has lost its users. */
enum wo_status wo_allocator_pool_empty(struct wo_allocator *allocator, struct wo_pool_id pool);

/* Changes the settings, or the memory fraction, of a running allocator. _text: as torch.cuda.memory._set_allocator_settings does,
 * which does not change the memory fraction even if the string sets it; results as in wo_alloc_settings_parse. */
void wo_allocator_set(struct wo_allocator *allocator, const struct wo_alloc_settings *settings);
enum wo_status wo_allocator_set_text(struct wo_allocator *allocator, struct wo_view text, struct wo_err *err);

/* ---- Start state: an allocator that does not begin empty ---- */

/* A segment that exists already; for expandable ones a mapped run of the range [range_address, + range_bytes). */
struct wo_allocator_segment {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t stream;
  struct wo_pool_id pool;
  bool is_small;
  bool is_expandable;
  uint64_t range_address; /* expandable only; 0: a range that begins at address, of torch's size */
  uint64_t range_bytes;
};

/* A block of a segment; blocks are given by rising address and fill the segment. */
struct wo_allocator_block {
  uint64_t size_bytes;
  uint64_t requested_bytes; /* ignored for free blocks */
  enum wo_block_state state;
};

/* Places a segment with its blocks, without events and without calls to the device; it counts in all statistics. ret_blocks
 * (count of them; NULL allowed) get the handles. WO_E_RANGE when sizes do not add up or the segment overlaps another. */
enum wo_status wo_allocator_place(struct wo_allocator *allocator, const struct wo_allocator_segment *segment,
                                  const struct wo_allocator_block *blocks, size_t count, wo_block_id *ret_blocks);

/* ---- Looking ---- */

/* The statistics; the last request that failed (all 0 if none did); the settings in force. All live as long as the allocator. */
const struct wo_allocator_stats *wo_allocator_stats(const struct wo_allocator *allocator);
const struct wo_allocator_oom *wo_allocator_last_oom(const struct wo_allocator *allocator);
const struct wo_alloc_settings *wo_allocator_settings(const struct wo_allocator *allocator);

/* Blocks and pools that walks have visited so far: the cost of requests beyond searches in the orders. A request that does not
 * fit visits only the blocks that it releases. */
uint64_t wo_allocator_steps(const struct wo_allocator *allocator);

/* One clause about the last result that was neither WO_OK nor WO_E_LIMIT. Never NULL. */
const char *wo_allocator_message(const struct wo_allocator *allocator);

/* The rounded size that a request of size_bytes gets / the bytes of the segment that a rounded size needs. */
uint64_t wo_alloc_round(const struct wo_alloc_settings *settings, uint64_t size_bytes);
uint64_t wo_alloc_segment_bytes(const struct wo_alloc_settings *settings, uint64_t rounded_bytes);

/* Calls back for every segment (contiguous mapped run) by rising address, with its blocks by rising address; `blocks` and `ids`
 * (both count long) are valid during the call. Stops when the callback returns false. WO_E_NOMEM. */
typedef bool wo_allocator_visit(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                                const wo_block_id *ids, size_t count);
enum wo_status wo_allocator_walk(const struct wo_allocator *allocator, wo_allocator_visit *visit, void *state);

#endif
