/* SPDX-License-Identifier: Apache-2.0 */
/* How often each size occurs: a sorted table of (bytes, count). One thread at a time. */
#ifndef WO_SIZE_COUNTS_H
#define WO_SIZE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wo_size_count {
  uint64_t size_bytes;
  uint32_t count;
};

struct wo_size_counts {
  struct wo_size_count *items;
  size_t count, capacity;
};

/* Adds one occurrence; false when memory is out. It can be found only after wo_size_counts_sort. */
bool wo_size_counts_add(struct wo_size_counts *counts, uint64_t size_bytes);

/* Sorts the table and merges equal sizes. */
void wo_size_counts_sort(struct wo_size_counts *counts);

/* The row of a size in a sorted table; NULL when there is none. Its count may be changed. */
struct wo_size_count *wo_size_counts_find(const struct wo_size_counts *counts, uint64_t size_bytes);

/* How often a size occurs in a sorted table. */
uint32_t wo_size_counts_of(const struct wo_size_counts *counts, uint64_t size_bytes);

/* Releases the storage. */
void wo_size_counts_done(struct wo_size_counts *counts);

#endif
