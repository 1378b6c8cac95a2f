/* SPDX-License-Identifier: Apache-2.0 */
/* The table is filled first and searched later: adding appends, sorting merges equal sizes, finding is a binary search. */
#include "cuda_replay/collections/size_counts.h"

#include <stdlib.h>

#include "parsers/base/vec.h"

bool wo_size_counts_add(struct wo_size_counts *counts, uint64_t size_bytes) {
  if (!WO_VEC_RESERVE(counts, 1, SIZE_MAX)) return false;
  counts->items[counts->count++] = (struct wo_size_count){size_bytes, 1};
  return true;
}

/* Compares sizes only: rows of equal size are merged after sorting. */
static int compare_sizes(const void *a, const void *b) {
  uint64_t left = ((const struct wo_size_count *)a)->size_bytes, right = ((const struct wo_size_count *)b)->size_bytes;
  return (left > right) - (left < right);
}

void wo_size_counts_sort(struct wo_size_counts *counts) {
  if (counts->count == 0) return;
  qsort(counts->items, counts->count, sizeof counts->items[0], compare_sizes);
  size_t kept = 0;
  for (size_t i = 1; i < counts->count; i++) {
    if (counts->items[i].size_bytes == counts->items[kept].size_bytes)
      counts->items[kept].count += counts->items[i].count;
    else
      counts->items[++kept] = counts->items[i];
  }
  counts->count = kept + 1;
}

struct wo_size_count *wo_size_counts_find(const struct wo_size_counts *counts, uint64_t size_bytes) {
  struct wo_size_count key = {size_bytes, 0};
  if (counts->count == 0) return NULL;
  return bsearch(&key, counts->items, counts->count, sizeof key, compare_sizes);
}

uint32_t wo_size_counts_of(const struct wo_size_counts *counts, uint64_t size_bytes) {
  const struct wo_size_count *row = wo_size_counts_find(counts, size_bytes);
  return row == NULL ? 0 : row->count;
}

void wo_size_counts_done(struct wo_size_counts *counts) {
  WO_VEC_DONE(counts);
}
