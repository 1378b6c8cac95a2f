/* SPDX-License-Identifier: Apache-2.0 */
/* Threads over two queues, under one lock: items wait to be done, then to be taken. See pool.h. */
#include "analyzer/scan/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/units.h"

struct queue {
  struct wo_pool_item *first;
  struct wo_pool_item **end; /* NULL: it is empty and was never used */
};

struct wo_pool {
  const struct wo_pool_work *work;
  void *context;
  pthread_mutex_t lock;
  pthread_cond_t has_work; /* or is to end */
  pthread_cond_t has_done;
  struct queue waiting, done;
  bool is_ending;
  size_t alive; /* threads */
  size_t open;  /* items put in and not taken; the owner's */
  pthread_t *threads;
  size_t thread_count;
};

static void add(struct queue *queue, struct wo_pool_item *item) {
  item->next = NULL;
  if (!queue->first) queue->end = &queue->first;
  *queue->end = item;
  queue->end = &item->next;
}

static struct wo_pool_item *remove_first(struct queue *queue) {
  struct wo_pool_item *const item = queue->first;
  if (item) queue->first = item->next;
  return item;
}

/* The next item; NULL when the pool ends. */
static struct wo_pool_item *wait_for_work(struct wo_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  while (!pool->waiting.first && !pool->is_ending) pthread_cond_wait(&pool->has_work, &pool->lock);
  struct wo_pool_item *const item = pool->is_ending ? NULL : remove_first(&pool->waiting);
  pthread_mutex_unlock(&pool->lock);
  return item;
}

static void hand_back(struct wo_pool *pool, struct wo_pool_item *item) {
  pthread_mutex_lock(&pool->lock);
  add(&pool->done, item);
  pthread_cond_signal(&pool->has_done);
  pthread_mutex_unlock(&pool->lock);
}

static void *run_thread(void *argument) {
  struct wo_pool *const pool = argument;
  void *const state = pool->work->start(pool->context);
  for (struct wo_pool_item *item = state ? wait_for_work(pool) : NULL; item; item = wait_for_work(pool)) {
    pool->work->run(state, item);
    hand_back(pool, item);
  }
  if (state) pool->work->stop(state);
  pthread_mutex_lock(&pool->lock);
  pool->alive--;
  pthread_cond_signal(&pool->has_done);
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/* Waiting goes by the clock that nobody sets. */
static void init_sync(struct wo_pool *pool) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->has_work, NULL);
  pthread_cond_init(&pool->has_done, &attributes);
  pthread_condattr_destroy(&attributes);
}

static int start_threads(struct wo_pool *pool, size_t threads) {
  pthread_attr_t attributes;
  int code = 0;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, WO_LIMIT_THREAD_STACK_BYTES);
  pthread_mutex_lock(&pool->lock); /* a thread that cannot begin counts itself off at once */
  while (pool->thread_count < threads && code == 0) {
    code = pthread_create(&pool->threads[pool->thread_count], &attributes, run_thread, pool);
    if (code == 0) pool->thread_count++;
  }
  pool->alive = pool->thread_count;
  pthread_mutex_unlock(&pool->lock);
  pthread_attr_destroy(&attributes);
  return code;
}

enum wo_status wo_pool_new(size_t threads, const struct wo_pool_work *work, void *context, struct wo_pool **ret_pool,
                           struct wo_err *err) {
  assert(threads > 0);
  struct wo_pool *const pool = calloc(1, sizeof *pool);
  if (!pool) return wo_err_nomem(err);
  pool->work = work;
  pool->context = context;
  pool->threads = calloc(threads, sizeof *pool->threads);
  init_sync(pool);
  const int code = pool->threads ? start_threads(pool, threads) : 0;
  if (pool->thread_count == 0) {
    wo_pool_free(pool);
    return code == 0 ? wo_err_nomem(err) : wo_err_set(err, WO_E_LIMIT, "no thread can be started: %s", strerror(code));
  }
  *ret_pool = pool;
  return WO_OK;
}

void wo_pool_put(struct wo_pool *pool, struct wo_pool_item *item) {
  pthread_mutex_lock(&pool->lock);
  add(&pool->waiting, item);
  pthread_cond_signal(&pool->has_work);
  pthread_mutex_unlock(&pool->lock);
  pool->open++;
}

struct wo_pool_item *wo_pool_take(struct wo_pool *pool, int64_t until_ns) {
  const struct timespec until = {.tv_sec = (time_t)(until_ns / WO_NS_PER_S), .tv_nsec = (long)(until_ns % WO_NS_PER_S)};
  int code = until_ns == 0 ? 1 : 0;
  if (pool->open == 0) return NULL;
  pthread_mutex_lock(&pool->lock);
  while (!pool->done.first && pool->alive > 0 && code == 0) {
    code = until_ns == INT64_MAX ? pthread_cond_wait(&pool->has_done, &pool->lock)
                                 : pthread_cond_timedwait(&pool->has_done, &pool->lock, &until);
  }
  struct wo_pool_item *const item = remove_first(&pool->done);
  pthread_mutex_unlock(&pool->lock);
  if (item) pool->open--;
  return item;
}

size_t wo_pool_load(const struct wo_pool *pool) {
  return pool->open;
}

size_t wo_pool_threads(struct wo_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  const size_t alive = pool->alive;
  pthread_mutex_unlock(&pool->lock);
  return alive;
}

struct wo_pool *wo_pool_free(struct wo_pool *pool) {
  if (!pool) return NULL;
  pthread_mutex_lock(&pool->lock);
  pool->is_ending = true;
  pthread_cond_broadcast(&pool->has_work);
  pthread_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->has_work);
  pthread_cond_destroy(&pool->has_done);
  pthread_mutex_destroy(&pool->lock);
  free(pool->threads);
  free(pool);
  return NULL;
}
