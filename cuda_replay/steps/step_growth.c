/* What whole steps keep. See step_growth.h. */
#include "cuda_replay/steps/step_growth.h"

#include <assert.h>

/* The latest steps that are looked at: enough for a median, and sums of few are fast. */
enum { STEPS_MAX = 64 };

static size_t count_whole(const struct wo_iterations *iterations) {
  size_t count = 0;
  while (count < iterations->list.count && iterations->list.items[count].end <= iterations->tail) count++;
  return count;
}

/* The step in which a request lies: the last one that begins at or before it. */
static size_t step_of(const struct wo_iterations *iterations, size_t count, uint32_t request) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (iterations->list.items[middle].first <= request)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The value at a third of the order: a few large events are no growth, and two of three steps must keep something. */
static uint64_t at_third(uint64_t *bytes, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const uint64_t one = bytes[i];
    size_t at = i;
    for (; at > 0 && bytes[at - 1] > one; at--) bytes[at] = bytes[at - 1];
    bytes[at] = one;
  }
  return count > 0 ? bytes[(count - 1) / 3] : 0;
}

struct wo_step_growth wo_step_growth_find(const struct wo_alloc_pattern *pattern, const struct wo_iterations *iterations) {
  assert(pattern && iterations);
  uint64_t kept[STEPS_MAX] = {0};
  const size_t whole = count_whole(iterations);
  const size_t first = pattern->start_count == 0 ? 1 : 0;
  struct wo_step_growth growth = {.whole_steps = whole};
  if (iterations->source == WO_ITERATIONS_WHOLE || whole < first + 2) return growth;
  const size_t begin = whole - 1 - first > STEPS_MAX ? whole - 1 - STEPS_MAX : first;
  const uint32_t end = iterations->list.items[whole - 1].end;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    if (instance->birth >= end || instance->death == instance->birth || instance->death < end) continue;
    const size_t step = step_of(iterations, whole, instance->birth);
    if (step >= begin && step < whole - 1) kept[step - begin] += instance->size_bytes;
  }
  growth.is_shown = true;
  growth.step_bytes = at_third(kept, whole - 1 - begin);
  return growth;
}
