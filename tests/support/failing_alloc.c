/* SPDX-License-Identifier: Apache-2.0 */
/* The counter behind the failing allocations. A countdown of zero means that nothing is to fail. */
#include "tests/support/failing_alloc.h"

#include <assert.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);

static long countdown;
static bool fails_onwards;
static bool was_hit;

static void start(long n, bool onwards) {
  assert(n > 0);
  countdown = n;
  fails_onwards = onwards;
  was_hit = false;
}

void wo_fail_alloc_at(long n) {
  start(n, false);
}

void wo_fail_alloc_from(long n) {
  start(n, true);
}

void wo_fail_alloc_off(void) {
  countdown = 0;
}

bool wo_fail_alloc_hit(void) {
  return was_hit;
}

/* Counts one allocation; true when it has to fail. */
static bool must_fail(void) {
  if (countdown == 0) return false;
  if (countdown > 1) {
    countdown--;
    return false;
  }
  /* A countdown that stays at one fails for ever. */
  if (!fails_onwards) countdown = 0;
  was_hit = true;
  return true;
}

void *__wrap_malloc(size_t size) {
  return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size) {
  return must_fail() ? NULL : __real_realloc(ptr, size);
}
