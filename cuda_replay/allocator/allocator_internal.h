/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the allocator model: blocks, shelves, pools, and the small steps that all files use.
 *
 *   allocator.c            life of an allocator, requests and frees, statistics' readers
 *   allocator_sizes.c      rounding, segment sizes
 *   allocator_pools.c      pools, shelves, captures; room for blocks
 *   allocator_search.c     best fit, splitting, merging
 *   allocator_obtain.c     new memory: segments, failures, retries
 *   allocator_idle.c       lists of the free blocks that can go back to the device
 *   allocator_release.c    memory given back: garbage collection, oversize blocks, emptying the cache
 *   allocator_expandable.c reserved ranges that are mapped in parts
 *   allocator_runs.c       where those have room
 *   allocator_place.c      start states, walks
 *
 * A block is a stretch of a segment (one cudaMalloc) or of a range (expandable). Blocks of one segment or range form a chain by
 * address. When blocks are split or merged, the leftmost part keeps its number, so that the head of a chain always keeps its
 * number. */
#ifndef WO_ALLOCATOR_INTERNAL_H
#define WO_ALLOCATOR_INTERNAL_H

#include <assert.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/collections/block_order.h"
#include "cuda_replay/collections/room_tree.h"
#include "cuda_replay/recording/torch_rules.h"
#include "parsers/base/vec.h"

/* Sizes that are the same in every version. */
#define WO__MIB (UINT64_C(1) << 20)
#define WO__MIN_BLOCK_BYTES UINT64_C(512)
#define WO__SMALL_MAX_BYTES WO__MIB           /* the largest rounded size of the small pool */
#define WO__SMALL_SEGMENT_BYTES (2 * WO__MIB) /* a segment, or a handle, of the small pool */
#define WO__MID_LIMIT_BYTES (10 * WO__MIB)    /* from here on a segment is as large as its request */
#define WO__LARGE_ROUND_BYTES (2 * WO__MIB)   /* the request is rounded up to this */
#define WO__REQUEST_LIMIT_BYTES (UINT64_C(1) << 60)

#define WO__NONE UINT32_MAX

enum wo__state {
  WO__UNUSED,   /* a number that is not in use; `next` is the next unused one */
  WO__FREE,     /* mapped, in the free order of its shelf */
  WO__UNMAPPED, /* address space without memory, in the unmapped order of its shelf */
  WO__ALLOCATED,
  WO__PENDING /* freed, in use by other streams */
};

/* Which of the free blocks of one size is taken, by version. The value is the shift to the right that turns a distance in bytes
 * into a distance in ties, so that a cut works the same for all of them. */
enum wo__ties {
  WO__TIES_BY_ADDRESS = 0, /* up to 2.11 */
  WO__TIES_BY_SEGMENT =
      9,                 /* 2.13 on: the age of the segment, above WO__AGE_SHIFT bits for the place in it in units of 512 bytes */
  WO__TIES_BY_BLOCK = 63 /* 2.12: the age of the block itself */
};

enum { WO__AGE_SHIFT = 36 };

/* Free blocks that can go back to the device. Each bin lists them, so that a request that finds no room looks at no other. */
enum wo__idle_kind {
  WO__NOT_IDLE,
  WO__IDLE_SEGMENT, /* a whole segment */
  WO__IDLE_RANGE,   /* a whole range */
  WO__IDLE_PART,    /* a part of a range with a whole handle in it */
  WO__IDLE_KINDS_
};

struct wo__block {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t tie; /* of free blocks of one size, the one with the lowest tie is taken: enum wo__ties */
  union {
    uint64_t requested_bytes; /* of allocated and pending blocks */
    uint64_t calls_at_free;   /* of free blocks: the call count of the bin when the block became free */
  };
  uint32_t prev, next; /* neighbours in the chain */
  uint32_t shelf;
  uint32_t range;        /* of an expandable block, else WO__NONE */
  uint32_t uses;         /* head of the list of other streams that used it */
  uint32_t older, newer; /* of pending and of idle blocks: by the time of their free */
  uint8_t state;
  uint8_t idle_kind;      /* of free blocks: enum wo__idle_kind */
  bool waits_for_capture; /* pending: freed during a capture; the first request after it settles its uses */
};

/* A use of a block by a stream other than its own. */
struct wo__use {
  uint64_t stream;
  uint32_t next;
  bool in_capture;
};

/* The blocks of one pool, one size class and one stream: a request is served from one shelf. */
struct wo__shelf {
  uint64_t stream;
  uint32_t pool;
  bool is_small;
  size_t block_count;             /* in any state */
  size_t segment_free_count;      /* free blocks that are in no range */
  struct wo_block_order free;     /* by (size, address) */
  struct wo_block_order unmapped; /* by address: keys of size 0; without room until the shelf has its first range */
  struct wo_room_tree runs;       /* of its ranges: open blocks in a row, one of which is unmapped; the value is the first one */
};

/* Idle blocks of one kind, the one that became free first at the front. */
struct wo__idle {
  uint32_t oldest, newest;
  uint64_t count;
  uint64_t calls_at_free; /* sum over the blocks, modulo 2^64 */
};

/* The small or the large half of a pool. */
struct wo__bin {
  uint64_t call_count;                   /* searches so far, counted while garbage collection is on */
  uint32_t recent;                       /* shelf of the last request, or WO__NONE */
  WO_VEC(uint32_t) shelves;              /* shelves by rising stream */
  struct wo__idle idle[WO__IDLE_KINDS_]; /* by kind; WO__NOT_IDLE is not used */
};

struct wo__pool {
  struct wo_pool_id id;
  struct wo__bin large, small;
  int64_t use_count;     /* captures and graphs that may still use it */
  int64_t segment_count; /* private pools: segments that keep the pool alive, as torch counts them */
  uint64_t place;        /* private pools: among those without users; 0: not known */
  bool is_gone;          /* a new pool may take its id */
  bool is_suspect;       /* private pools: listed in the allocator's suspects */
};

/* A private pool that may have something to release. */
struct wo__suspect {
  uint64_t place; /* filled where they are put in order */
  uint32_t pool;
};

/* An idle block on its way back to the device, with the key of its shelf's order. */
struct wo__release {
  uint64_t stream;
  struct wo_block_key key;
  uint32_t block;
};

/* Requests of a stream that go to a private pool. */
struct wo__capture {
  uint32_t pool;
  uint64_t stream;
  bool is_graph; /* of a CUDA graph, not a MemPool */
};

/* A reserved range of addresses. */
struct wo__range {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t handle_bytes; /* 0: this number is not in use */
  bool is_guess;         /* its end is a guess: it gets shorter when a later segment needs the place */
};

struct wo_allocator {
  struct wo_alloc_settings settings;
  struct wo_device device;
  struct wo_allocator_observer observer;
  uint16_t torch;
  enum wo__ties ties;
  uint64_t last_age;            /* the last age given */
  bool collects_garbage;        /* a threshold and a memory fraction are set */
  uint64_t card_bytes;          /* or UINT64_MAX */
  uint64_t garbage_limit_bytes; /* 0: threshold and fraction decide */
  uint64_t allowed_bytes;       /* by the memory fraction, or UINT64_MAX */
  WO_VEC(struct wo__block) blocks;
  uint32_t unused_block; /* head of the list */
  size_t unused_count;   /* its length */
  WO_VEC(struct wo__shelf) shelves;
  WO_VEC(struct wo__pool) pools;       /* the default pool is at 0 */
  WO_VEC(struct wo__capture) captures; /* oldest first */
  WO_VEC(struct wo__range) ranges;
  uint32_t used_ranges; /* all below this number are in use */
  uint64_t last_place;
  WO_VEC(struct wo__use) uses;
  uint32_t unused_use;
  uint32_t oldest_pending, newest_pending;
  size_t waiting_count;                /* pending blocks that wait for the end of a capture */
  uint32_t waiting_from;               /* none of them is older than this pending block */
  WO_VEC(struct wo__suspect) suspects; /* private pools that may have something to release; room for all pools */
  WO_VEC(struct wo__release) going;    /* blocks of the release under way */
  uint64_t steps;                      /* blocks and pools that walks have visited, as a measure of cost */
  struct wo_block_order pool_ids;      /* pools that are not gone, by id */
  struct wo_block_order chains;        /* heads of all segments and ranges by address: keys of size 0 */
  struct wo_allocator_stats stats;
  struct wo_allocator_oom oom;
  const char *message;
};

/* A request on its way. */
struct wo__request {
  uint64_t requested_bytes;
  uint64_t rounded_bytes;
  uint64_t segment_bytes;
  uint32_t shelf;
  uint32_t block; /* the block that serves it, no longer in the free order; or WO__NONE */
  bool is_rejected;
  bool by_fraction; /* the last failure was the memory fraction's */
};

/* ---- Parts ---- */

static inline struct wo__block *wo__block(const struct wo_allocator *a, uint32_t id) {
  assert(id < a->blocks.count);
  return &a->blocks.items[id];
}

static inline struct wo__shelf *wo__shelf(const struct wo_allocator *a, uint32_t id) {
  assert(id < a->shelves.count);
  return &a->shelves.items[id];
}

static inline struct wo__bin *wo__bin(const struct wo_allocator *a, const struct wo__shelf *shelf) {
  struct wo__pool *const pool = &a->pools.items[shelf->pool];
  return shelf->is_small ? &pool->small : &pool->large;
}

static inline struct wo_block_key wo__key(const struct wo__block *block) {
  return (struct wo_block_key){block->size_bytes, block->tie};
}

static inline struct wo_block_key wo__address_key(uint64_t address) {
  return (struct wo_block_key){0, address};
}

/* Whether a block has a neighbour; a block without one is a whole segment. */
static inline bool wo__is_split(const struct wo__block *block) {
  return block->prev != WO__NONE || block->next != WO__NONE;
}

static inline void wo__emit(const struct wo_allocator *a, enum wo_action action, uint64_t address, uint64_t size_bytes,
                            const struct wo__shelf *shelf) {
  if (a->observer.on_event == NULL) return;
  const struct wo_allocator_event event = {action, address, size_bytes, shelf->stream, a->pools.items[shelf->pool].id};
  a->observer.on_event(a->observer.state, &event);
}

/* ---- Statistics ---- */

static inline void wo__rise_one(struct wo_stat *stat, uint64_t amount) {
  stat->current += (int64_t)amount;
  stat->allocated += (int64_t)amount;
  stat->peak = stat->peak > stat->current ? stat->peak : stat->current;
}

static inline void wo__fall_one(struct wo_stat *stat, uint64_t amount) {
  stat->current -= (int64_t)amount;
  stat->freed += (int64_t)amount;
}

/* Raises / lowers a statistic: in the total and in the pool (small or large) of a shelf. */
static inline void wo__rise(struct wo_stat stats[WO_STAT_POOL_COUNT_], const struct wo__shelf *shelf, uint64_t amount) {
  wo__rise_one(&stats[WO_STAT_ALL], amount);
  wo__rise_one(&stats[shelf->is_small ? WO_STAT_SMALL : WO_STAT_LARGE], amount);
}

static inline void wo__fall(struct wo_stat stats[WO_STAT_POOL_COUNT_], const struct wo__shelf *shelf, uint64_t amount) {
  wo__fall_one(&stats[WO_STAT_ALL], amount);
  wo__fall_one(&stats[shelf->is_small ? WO_STAT_SMALL : WO_STAT_LARGE], amount);
}

static inline uint64_t wo__reserved_bytes(const struct wo_allocator *a) {
  return (uint64_t)a->stats.reserved_bytes[WO_STAT_ALL].current;
}

/* ---- allocator_pools.c ---- */

/* Finds the shelf of a pool, size class and stream, or makes it. WO_E_NOMEM. */
enum wo_status wo__shelf_find(struct wo_allocator *a, uint32_t pool, bool is_small, uint64_t stream, uint32_t *ret_shelf);

/* The pool that serves a stream's requests now. */
uint32_t wo__pool_of_stream(const struct wo_allocator *a, uint64_t stream);

/* Whether a request on a stream is part of a capture / whether any capture is under way. */
bool wo__is_captured(const struct wo_allocator *a, uint64_t stream);
bool wo__has_capture(const struct wo_allocator *a);

/* Marks a pool as gone: a new one may take its id. */
void wo__pool_forget(struct wo_allocator *a, uint32_t pool);

/* Finds the private pool (or the default pool) of an id, or makes it. WO_E_NOMEM. */
enum wo_status wo__pool_find(struct wo_allocator *a, struct wo_pool_id id, uint32_t *ret_pool);

/* Makes room for that many more blocks of a shelf, so that making them cannot fail. WO_E_NOMEM. */
enum wo_status wo__reserve_blocks(struct wo_allocator *a, uint32_t shelf, size_t more);

/* Makes a block; room must have been made. / Gives its number back. */
uint32_t wo__block_new(struct wo_allocator *a, uint32_t shelf, uint64_t address, uint64_t size_bytes, enum wo__state state);
void wo__block_drop(struct wo_allocator *a, uint32_t block);

/* Pending blocks, by the time of their free. */
void wo__pending_add(struct wo_allocator *a, uint32_t block);
void wo__pending_remove(struct wo_allocator *a, uint32_t block);

/* Forgets the uses of a block by other streams: all of them, or only those during a capture. */
void wo__uses_drop(struct wo_allocator *a, struct wo__block *block, bool only_in_capture);

/* After a capture: puts back the blocks that other streams used only during it, because a capture runs no work. */
void wo__settle_waiting(struct wo_allocator *a);

/* ---- allocator_search.c ---- */

/* Takes the best fit out of the free order into request->block. False when there is none. */
bool wo__take_free_block(struct wo_allocator *a, struct wo__request *request);

/* Cuts the taken block if the rules say so, and marks it as allocated. */
uint32_t wo__hand_out(struct wo_allocator *a, const struct wo__request *request);

/* A block's free completes: it merges with free neighbours and goes into the free order. */
void wo__put_back(struct wo_allocator *a, uint32_t block);

/* The tie of new memory. / Gives a new tie to a block for which torch makes a new object, in the version that counts objects. */
uint64_t wo__tie_of_segment(struct wo_allocator *a, uint64_t address);
void wo__tie_of_part(struct wo_allocator *a, uint32_t block);

/* Puts a mapped block into / out of the free order. */
void wo__free_insert(struct wo_allocator *a, uint32_t block);
void wo__free_erase(struct wo_allocator *a, uint32_t block);

/* Joins two neighbours, both in no order; `left` survives, with its tie. / Cuts a block in two; returns the right part, which has
 * the state of the left one. Room must have been made. */
void wo__chain_join(struct wo_allocator *a, uint32_t left, uint32_t right);
uint32_t wo__chain_cut(struct wo_allocator *a, uint32_t block, uint64_t left_bytes);

/* ---- allocator_obtain.c ---- */

/* Gets new memory for a request that the cache cannot serve. WO_E_LIMIT: out of memory after all retries. */
enum wo_status wo__obtain(struct wo_allocator *a, struct wo__request *request);

/* ---- allocator_idle.c ---- */

/* Lists a free block that can go back to the device. / Takes it off the list. Both for blocks with prev, next, range and size as
 * they stay while it is free. */
void wo__idle_add(struct wo_allocator *a, uint32_t block);
void wo__idle_remove(struct wo_allocator *a, uint32_t block);

/* Writes the blocks of one kind into a->going, in the order in which torch meets them: by stream, then by size and tie. Only
 * those that were freed at `calls_most` calls of the bin or earlier. wo__idle_list appends to what is there; WO_E_NOMEM. */
enum wo_status wo__idle_list(struct wo_allocator *a, const struct wo__bin *bin, enum wo__idle_kind kind, uint64_t calls_most);
void wo__idle_sort(struct wo_allocator *a);

/* Notes that a private pool may have something to release. */
void wo__suspect(struct wo_allocator *a, uint32_t pool);

/* ---- allocator_release.c ---- */

/* Frees cached segments that were unused for long, if the part of the memory limit that is in use is above the threshold.
 * Statuses are those of the device. */
enum wo_status wo__collect_garbage(struct wo_allocator *a);

/* Torch would stop with an internal error: keeps the reason, returns WO_E_USAGE. */
static inline enum wo_status wo__refuse(struct wo_allocator *a, const char *message) {
  a->message = message;
  return WO_E_USAGE;
}

/* The device failed: keeps its message. Returns status. */
static inline enum wo_status wo__device_failed(struct wo_allocator *a, enum wo_status status) {
  a->message = a->device.message(a->device.state);
  return status;
}

/* The same for a device that gave addresses which are in use, as a recording with gaps does. */
static inline enum wo_status wo__device_repeats(struct wo_allocator *a) {
  a->message = "the device gave an address that is still in use";
  return WO_E_IO;
}

/* Releases blocks of at least max_split_size, enough for the request. *ret_is_enough: whether a new try makes sense. */
enum wo_status wo__release_oversize(struct wo_allocator *a, const struct wo__request *request, bool *ret_is_enough);

/* Releases what is free of a private pool without users. */
enum wo_status wo__release_private(struct wo_allocator *allocator, uint32_t pool);

/* Completes pending blocks and releases all segments that are wholly free; in a capture, only private pools without users. */
enum wo_status wo__release_cached(struct wo_allocator *a, bool in_capture);

/* ---- allocator_place.c ---- */

/* Whether [address, end) is free for a segment or a range. The end of a range that was only a guess makes way. */
bool wo__make_way(struct wo_allocator *a, uint64_t address, uint64_t end);

/* ---- allocator_expandable.c ---- */

/* Whether a shelf gets its new memory from ranges now. */
bool wo__is_expandable(const struct wo_allocator *a, const struct wo__shelf *shelf);

/* Maps memory for a request. WO_E_LIMIT: the device has no room; memory mapped before that stays, as free blocks. */
enum wo_status wo__expand(struct wo_allocator *a, struct wo__request *request);

/* Unmaps the handles that lie wholly inside a free block; gives the range back when nothing in it is mapped. */
enum wo_status wo__unmap(struct wo_allocator *a, uint32_t block);

/* Adds a range as one unmapped block. / The size of the handles that a shelf maps / the length of a range of such handles. */
enum wo_status wo__range_add(struct wo_allocator *a, uint32_t shelf, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes,
                             uint32_t *ret_block);
uint64_t wo__handle_bytes(const struct wo_allocator *a, const struct wo__shelf *shelf);
uint64_t wo__range_bytes(const struct wo_allocator *a, uint64_t handle_bytes);

/* ---- allocator_runs.c ---- */

/* Finds the runs again after blocks of [the address of `first`, end) have become open or closed, mapped or unmapped. Both are
 * borders of blocks of one range. Each run holds an unmapped block, so that the storage suffices (wo__reserve_blocks). */
void wo__runs_update(struct wo_allocator *a, uint32_t first, uint64_t end);

/* The same for a block that was handed out or put back, with the free rest behind it if there is one. */
void wo__runs_note(struct wo_allocator *a, uint32_t block);

/* A block that requests can have: free, or not yet mapped. */
static inline bool wo__is_open(const struct wo_allocator *a, uint32_t id) {
  if (id == WO__NONE) return false;
  const struct wo__block *const block = wo__block(a, id);
  return block->state == WO__FREE || block->state == WO__UNMAPPED;
}

static inline bool wo__is_unmapped(const struct wo_allocator *a, uint32_t id) {
  return id != WO__NONE && wo__block(a, id)->state == WO__UNMAPPED;
}

/* ---- allocator_expandable.c, mapping ---- */

/* Turns the first size_bytes of an unmapped block into a free block, without calling the device and without merging; the rest
 * stays unmapped. Room must have been made. */
void wo__map_front(struct wo_allocator *a, uint32_t block, uint64_t size_bytes);

#endif
