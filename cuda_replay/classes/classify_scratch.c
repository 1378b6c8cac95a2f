/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces of libraries in recordings whose stacks name no operator. cuBLASLt takes one behind the product of each layer and
 * gives it back at once; its size is that of a setting, whatever the layer's. */
#include <stdlib.h>

#include "cuda_replay/classes/classify_internal.h"

/* Something that a line gives back before anything else is born, and what the line made before it. */
struct scratch {
  uint64_t size_bytes;
  uint64_t behind_bytes;
  uint32_t instance;
};

static int compare_scratches(const void *a, const void *b) {
  const struct scratch *const left = a, *const right = b;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->behind_bytes > right->behind_bytes) - (left->behind_bytes < right->behind_bytes);
}

static bool is_scratch(const struct wo__classing *work, size_t i) {
  const struct wo_instance *const made = &work->pattern->instances.items[i], *const before = made - 1;
  if (i == work->pattern->start_count || !wo__class_is_open(work, i) || made->stack == WO_NO_STACK) return false;
  return made->death == made->birth + 1 && before->stack == made->stack && before->birth + 1 == made->birth;
}

/* Those of one size are workspaces if they come behind products of different sizes: what grows with a layer's product does not.
 */
static void take(struct wo__classing *work, const struct scratch *list, size_t count) {
  if (list[0].behind_bytes == list[count - 1].behind_bytes) return;
  for (size_t i = 0; i < count; i++) wo__class_set(work, list[i].instance, WO_CLASS_RULE_WORKSPACE);
}

bool wo__class_scratch(struct wo__classing *work) {
  if ((work->classes->facts.all_flags & WO_STACK_HAS_NATIVE) != 0) return true;
  const struct wo_alloc_pattern *const pattern = work->pattern;
  struct scratch *const list = malloc((pattern->instances.count + 1) * sizeof *list);
  if (!list) return false;
  size_t count = 0;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    if (!is_scratch(work, i)) continue;
    list[count++] =
        (struct scratch){pattern->instances.items[i].size_bytes, pattern->instances.items[i - 1].size_bytes, (uint32_t)i};
  }
  qsort(list, count, sizeof *list, compare_scratches);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && list[end].size_bytes == list[first].size_bytes;) end++;
    take(work, &list[first], end - first);
  }
  free(list);
  return true;
}
