/* Bins of memory over time: joining and showing them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/inspect/memory_over_time.h"

/* The first of two times; the other one if it is not known. */
static int64_t known_time(int64_t first_us, int64_t second_us) {
  return first_us != WO_NO_TIME ? first_us : second_us;
}

/* Lowest and highest values of two bins are joined separately; classes are taken together, from the moment that was higher. Of
 * equal moments the earlier one stays, so that the order in which bins are joined does not matter. */
void wo_memory_bin_join(struct wo_memory_bin *a, const struct wo_memory_bin *b) {
  if (b->high_bytes[WO_MEMORY_ALLOCATED] > a->high_bytes[WO_MEMORY_ALLOCATED]) {
    memcpy(a->top_class_bytes, b->top_class_bytes, sizeof a->top_class_bytes);
  }
  memcpy(a->last_class_bytes, b->last_class_bytes, sizeof a->last_class_bytes);
  for (int i = 0; i < WO_MEMORY_SERIES_COUNT_; i++) {
    if (b->low_bytes[i] < a->low_bytes[i]) a->low_bytes[i] = b->low_bytes[i];
    if (b->high_bytes[i] > a->high_bytes[i]) a->high_bytes[i] = b->high_bytes[i];
    a->last_bytes[i] = b->last_bytes[i];
  }
  if (b->low_fragmentation < a->low_fragmentation) a->low_fragmentation = b->low_fragmentation;
  if (b->high_fragmentation > a->high_fragmentation) a->high_fragmentation = b->high_fragmentation;
  a->last_fragmentation = b->last_fragmentation;
  a->first_us = known_time(a->first_us, b->first_us);
  a->last_us = known_time(b->last_us, a->last_us);
  a->count += b->count;
  a->oom_count += b->oom_count;
}

/* Whole bins only: a column that began inside a bin would show a height that belongs to its neighbour. */
size_t wo_memory_columns(const struct wo_memory_over_time *memory, size_t count, struct wo_memory_bin *columns) {
  assert(count > 0);
  const size_t bins_per_column = (memory->bin_count + count - 1) / count;
  size_t made = 0;
  for (size_t i = 0; i < memory->bin_count; i++) {
    if (i % bins_per_column == 0) {
      columns[made++] = memory->bins[i];
    } else {
      wo_memory_bin_join(&columns[made - 1], &memory->bins[i]);
    }
  }
  assert(made <= count);
  return made;
}

struct wo_memory_place wo_memory_no_place(void) {
  return (struct wo_memory_place){.request = WO_NO_REQUEST, .entry = WO_NO_ENTRY, .time_us = WO_NO_TIME};
}

void wo_memory_over_time_done(struct wo_memory_over_time *memory) {
  if (!memory) return;
  wo_segment_map_done(&memory->map);
  free(memory->bins);
  *memory = (struct wo_memory_over_time){0};
}
