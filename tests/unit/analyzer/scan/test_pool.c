/* SPDX-License-Identifier: Apache-2.0 */
/* Threads over items: analyzer/scan/pool.c. */
#include "analyzer/scan/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "parsers/base/units.h"

struct number {
  struct wo_pool_item item;
  int value, result;
};

struct shared {
  atomic_int started, stopped;
  int most; /* threads that can make a state */
};

static void *start(void *context) {
  struct shared *const shared = context;
  return atomic_fetch_add(&shared->started, 1) < shared->most ? context : NULL;
}

static void run(void *state, struct wo_pool_item *item) {
  (void)state;
  struct number *const number = (struct number *)item;
  number->result = number->value * number->value;
}

static void stop(void *state) {
  struct shared *const shared = state;
  atomic_fetch_add(&shared->stopped, 1);
}

static const struct wo_pool_work work = {start, run, stop};

enum { NUMBERS = 5000 };

static void test_every_item_comes_back_once(void **state) {
  (void)state;
  for (size_t threads = 1; threads <= 8; threads *= 2) {
    struct shared shared = {.most = 100};
    struct wo_pool *pool = NULL;
    struct number *const numbers = calloc(NUMBERS, sizeof *numbers);
    assert_non_null(numbers);
    assert_int_equal(wo_pool_new(threads, &work, &shared, &pool, NULL), WO_OK);
    for (int i = 0; i < NUMBERS; i++) {
      numbers[i] = (struct number){.value = i, .result = -1};
      wo_pool_put(pool, &numbers[i].item);
    }
    assert_int_equal(wo_pool_load(pool), NUMBERS);
    for (int i = 0; i < NUMBERS; i++) {
      struct number *const number = (struct number *)wo_pool_take(pool, INT64_MAX);
      assert_non_null(number);
      assert_int_equal(number->result, number->value * number->value);
      number->result = -2;
    }
    assert_int_equal(wo_pool_load(pool), 0);
    assert_null(wo_pool_take(pool, INT64_MAX)); /* nothing is under way */
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(numbers[i].result, -2);
    wo_pool_free(pool);
    assert_int_equal(shared.started, (int)threads);
    assert_int_equal(shared.stopped, (int)threads);
    free(numbers);
  }
}

/* One thread of four can work: it does all of it. */
static void test_threads_that_cannot_begin(void **state) {
  (void)state;
  struct shared shared = {.most = 1};
  struct wo_pool *pool = NULL;
  struct number numbers[20] = {{.value = 3}};
  assert_int_equal(wo_pool_new(4, &work, &shared, &pool, NULL), WO_OK);
  for (int i = 0; i < 20; i++) wo_pool_put(pool, &numbers[i].item);
  for (int i = 0; i < 20; i++) assert_non_null(wo_pool_take(pool, INT64_MAX));
  wo_pool_free(pool);
  assert_int_equal(shared.stopped, 1);
}

/* None can work: taking ends, and says so. */
static void test_no_thread_can_begin(void **state) {
  (void)state;
  struct shared shared = {.most = 0};
  struct wo_pool *pool = NULL;
  struct number number = {.value = 3, .result = -1};
  assert_int_equal(wo_pool_new(3, &work, &shared, &pool, NULL), WO_OK);
  wo_pool_put(pool, &number.item);
  assert_null(wo_pool_take(pool, INT64_MAX));
  assert_int_equal(wo_pool_threads(pool), 0);
  assert_int_equal(wo_pool_load(pool), 1);
  wo_pool_free(pool);
  assert_int_equal(number.result, -1);
}

static void wait_a_little(void *state, struct wo_pool_item *item) {
  const struct timespec span = {.tv_nsec = 200 * 1000 * 1000};
  (void)state;
  (void)item;
  nanosleep(&span, NULL);
}

static void test_waiting_ends_at_its_time(void **state) {
  (void)state;
  static const struct wo_pool_work slow = {start, wait_a_little, stop};
  struct shared shared = {.most = 1};
  struct wo_pool *pool = NULL;
  struct number number = {.value = 3};
  struct timespec now;
  assert_int_equal(wo_pool_new(1, &slow, &shared, &pool, NULL), WO_OK);
  wo_pool_put(pool, &number.item);
  assert_null(wo_pool_take(pool, 0));
  clock_gettime(CLOCK_MONOTONIC, &now);
  assert_null(wo_pool_take(pool, (int64_t)now.tv_sec * WO_NS_PER_S + now.tv_nsec + WO_NS_PER_S / 50));
  assert_ptr_equal(wo_pool_take(pool, INT64_MAX), &number.item);
  wo_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_item_comes_back_once),
      cmocka_unit_test(test_threads_that_cannot_begin),
      cmocka_unit_test(test_no_thread_can_begin),
      cmocka_unit_test(test_waiting_ends_at_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
