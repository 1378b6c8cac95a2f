/* SPDX-License-Identifier: Apache-2.0 */
/* A growable array with an element cap, for plain data.
 *
 *   WO_VEC(struct wo_event) v = {0};
 *   if (!WO_VEC_RESERVE(&v, 1, LIMIT)) return WO_E_NOMEM;
 *   v.items[v.count++] = event;
 *
 * The storage is owned by the vector and released with WO_VEC_DONE. */
#ifndef WO_VEC_H
#define WO_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* The type of a vector, for a member or a variable. Each use is a type of its own; a vector that is passed on needs a named
 * struct with the same members. */
#define WO_VEC(type)                                                                                                             \
  struct {                                                                                                                       \
    type *items;                                                                                                                 \
    size_t count, capacity;                                                                                                      \
  }

/* Makes room for `more` further elements without exceeding `cap` elements. False when the cap is reached or memory is out; the
 * vector is unchanged then. */
#define WO_VEC_RESERVE(vec, more, cap)                                                                                           \
  wo_vec_reserve((void **)&(vec)->items, &(vec)->capacity, (vec)->count, (more), (cap), sizeof *(vec)->items)

/* Releases the storage and makes the vector empty. */
#define WO_VEC_DONE(vec) wo_vec_done((void **)&(vec)->items, &(vec)->count, &(vec)->capacity)

/* Raises `low`, a size_t that is 0 or known to be low enough, to the first of `count` items in order that is not before a place:
 * is_before is an expression of `at`, the index of an item.
 *
 *   size_t low = 0;
 *   WO_LOWER_BOUND(low, v.count, at, v.items[at].time < from); */
#define WO_LOWER_BOUND(low, count, at, is_before)                                                                                \
  for (size_t high_ = (count), at; (low) < high_ && (at = (low) + (high_ - (low)) / 2, true);)                                   \
  (is_before) ? (low = at + 1) : (high_ = at)

/* The function behind WO_VEC_RESERVE: grows *items (element size in bytes given) by doubling. */
bool wo_vec_reserve(void **items, size_t *capacity, size_t count, size_t more, size_t cap, size_t element_size);

/* The function behind WO_VEC_DONE. */
void wo_vec_done(void **items, size_t *count, size_t *capacity);

#endif
