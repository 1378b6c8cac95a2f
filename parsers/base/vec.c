/* SPDX-License-Identifier: Apache-2.0 */
/* The function behind the growable arrays.
 *
 * Works on storage of any element type. The pointer to it arrives as void **, although it is declared with another type where it
 * lives; it is therefore read and written with memcpy, which may look at any object. */
#include "parsers/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Elements of the first allocation. */
enum { CAPACITY_FIRST = 8 };

/* The capacity to grow to: double, at least what is needed, at most the cap. Doubling makes the
 * cost of n elements proportional to n; the cap comes last, as it is a promise about memory. */
static size_t grown_capacity(size_t capacity, size_t need, size_t cap) {
  assert(need <= cap);
  size_t next = 0;
  if (__builtin_mul_overflow(capacity, (size_t)2, &next)) next = cap;
  if (next < CAPACITY_FIRST) next = CAPACITY_FIRST;
  if (next < need) next = need;
  return next < cap ? next : cap;
}

/* On failure the array is as it was: realloc that fails leaves its block alone. */
bool wo_vec_reserve(void **items, size_t *capacity, size_t count, size_t more, size_t cap, size_t element_size) {
  assert(items != NULL && capacity != NULL && element_size > 0);
  assert(count <= *capacity);
  size_t need = 0;
  if (__builtin_add_overflow(count, more, &need) || need > cap) return false;
  if (need <= *capacity) return true;
  const size_t next = grown_capacity(*capacity, need, cap);
  size_t size = 0;
  if (__builtin_mul_overflow(next, element_size, &size)) return false;
  void *old = NULL;
  memcpy(&old, items, sizeof old);
  void *const grown = realloc(old, size);
  if (grown == NULL) return false;
  memcpy(items, &grown, sizeof grown);
  *capacity = next;
  assert(need <= *capacity && *capacity <= cap);
  return true;
}

void wo_vec_done(void **items, size_t *count, size_t *capacity) {
  assert(items != NULL && count != NULL && capacity != NULL);
  void *old = NULL;
  memcpy(&old, items, sizeof old);
  free(old);
  /* Left empty rather than dangling, so that it can be used or released again. */
  const void *const none = NULL;
  memcpy(items, &none, sizeof none);
  *count = 0;
  *capacity = 0;
}
