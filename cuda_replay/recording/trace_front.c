/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of readers: adds blocks that were alive before the first entry, and sorts annotations by time.
 *
 * A free without an allocation shows a block that was alive from the start, but only when the free comes. So these blocks are
 * gathered outside the trace and put in front of it once. */
#include "cuda_replay/recording/trace_front.h"

#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

enum wo_status wo_trace_front_add(struct wo_trace_front *front, uint64_t address, uint64_t size_bytes) {
  if (front->count >= WO_LIMIT_TRACE_ENTRIES) return WO_E_LIMIT;
  if (!WO_VEC_RESERVE(front, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  front->items[front->count++] = (struct wo_trace_entry){
      .address = address, .size_bytes = size_bytes, .time_us = WO_NO_TIME, .stack = WO_NO_STACK, .action = WO_ACTION_ALLOC};
  return WO_OK;
}

/* Only the address of these blocks is known. */
static int compare_addresses(const void *left, const void *right) {
  const struct wo_trace_entry *const a = left, *const b = right;
  return a->address < b->address ? -1 : a->address > b->address;
}

enum wo_status wo_trace_front_put(struct wo_trace_front *front, struct wo_trace *trace) {
  const size_t count = front->count;
  if (count == 0) return WO_OK;
  if (count > WO_LIMIT_TRACE_ENTRIES - trace->entries.count) return WO_E_LIMIT;
  if (!WO_VEC_RESERVE(&trace->entries, count, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  qsort(front->items, count, sizeof *front->items, compare_addresses);
  struct wo_trace_entry *const entries = trace->entries.items;
  memmove(entries + count, entries, trace->entries.count * sizeof *entries);
  memcpy(entries, front->items, count * sizeof *entries);
  trace->entries.count += count;
  return WO_OK;
}

/* ---- Annotations ---- */

struct timed {
  struct wo_annotation annotation;
  size_t place;
};

/* The place breaks ties, because qsort does not keep the order of equal items. */
static int compare_times(const void *left, const void *right) {
  const struct timed *const a = left, *const b = right;
  if (a->annotation.time_us != b->annotation.time_us) return a->annotation.time_us < b->annotation.time_us ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

bool wo_trace_sort_annotations(struct wo_recording *recording) {
  struct wo_annotation *const items = recording->annotations.items;
  const size_t count = recording->annotations.count;
  size_t sorted = 1;
  while (sorted < count && items[sorted - 1].time_us <= items[sorted].time_us) sorted++;
  if (sorted >= count) return true;
  struct timed *const timed = malloc(count * sizeof *timed);
  if (timed == NULL) return false;
  for (size_t i = 0; i < count; i++) timed[i] = (struct timed){items[i], i};
  qsort(timed, count, sizeof *timed, compare_times);
  for (size_t i = 0; i < count; i++) items[i] = timed[i].annotation;
  free(timed);
  return true;
}
