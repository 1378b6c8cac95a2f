/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that work on items: put in by one thread, the owner, and taken by it when they are done, in any order.
 *
 * The only place where the program has more than one thread. Items are the owner's; a pool only links them. All functions are for
 * the owner alone. */
#ifndef WO_POOL_H
#define WO_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

/* The first member of an item. */
struct wo_pool_item {
  struct wo_pool_item *next;
};

/* The work, done on the pool's threads. Each thread has a state of its own. */
struct wo_pool_work {
  void *(*start)(void *context); /* makes the state; NULL: it cannot, and the thread ends */
  void (*run)(void *state, struct wo_pool_item *item);
  void (*stop)(void *state);
};

struct wo_pool;

/* Starts that many threads, or as many as the system lets, at least one. WO_E_LIMIT: not even one; WO_E_NOMEM. */
enum wo_status wo_pool_new(size_t threads, const struct wo_pool_work *work, void *context, struct wo_pool **ret_pool,
                           struct wo_err *err);

/* Hands an item to the threads. Does not wait. */
void wo_pool_put(struct wo_pool *pool, struct wo_pool_item *item);

/* Takes an item that is done. If none is, waits for one until a time (nanoseconds of the monotonic clock; 0: does not wait;
 * INT64_MAX: without end). NULL: none is done, or none is under way. */
struct wo_pool_item *wo_pool_take(struct wo_pool *pool, int64_t until_ns);

/* Items that were put in and not taken yet. */
size_t wo_pool_load(const struct wo_pool *pool);

/* Threads that work. 0: all have ended, since none could make its state; items stay undone. */
size_t wo_pool_threads(struct wo_pool *pool);

/* Ends the threads after the items that they are working on, and frees. Items that are left belong to the owner; wo_pool_take
 * must have taken all of them before. NULL allowed; returns NULL. */
struct wo_pool *wo_pool_free(struct wo_pool *pool);

#endif
