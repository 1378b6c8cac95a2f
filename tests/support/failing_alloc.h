/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation failures on order, to test every out-of-memory path.
 *
 * Works through the linker option --wrap for malloc, calloc and realloc, so it meets the calls of our own code and of the test,
 * not those inside shared libraries. One thread only. */
#ifndef WO_TEST_FAILING_ALLOC_H
#define WO_TEST_FAILING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the n-th allocation from now on fail (n counts from 1), and only that one. */
void wo_fail_alloc_at(long n);

/* Makes the n-th allocation from now on and every later one fail. */
void wo_fail_alloc_from(long n);

/* Back to normal. wo_fail_alloc_hit keeps its answer. */
void wo_fail_alloc_off(void);

/* Whether an allocation has failed on order since the last wo_fail_alloc_at or wo_fail_alloc_from. */
bool wo_fail_alloc_hit(void);

/* What the linker calls in place of the allocation functions. */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

#endif
