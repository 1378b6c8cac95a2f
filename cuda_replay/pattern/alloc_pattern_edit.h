/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks for making one pattern out of another (scaling, repeating, transforms). One thread at a time. */
#ifndef WO_ALLOC_PATTERN_EDIT_H
#define WO_ALLOC_PATTERN_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"

/* A copy; false when memory is out. Released with wo_alloc_pattern_done. */
bool wo_alloc_pattern_copy(const struct wo_alloc_pattern *pattern, struct wo_alloc_pattern *ret_pattern);

/* Takes the probes and their instances out of a pattern as wo_alloc_pattern_make gives it. False when memory is out: then it is
 * unchanged. */
bool wo_alloc_pattern_drop_probes(struct wo_alloc_pattern *pattern);

/* Appends an instance that is alive at the start; only before the first request is added. False when memory is out. The index is
 * instances.count - 1 afterwards. */
bool wo_alloc_pattern_add_start(struct wo_alloc_pattern *pattern, struct wo_instance instance);

/* Appends an allocation and its instance (birth is set, death is open); *ret_instance is the new index. */
bool wo_alloc_pattern_add_alloc(struct wo_alloc_pattern *pattern, struct wo_instance instance, uint32_t entry,
                                uint32_t *ret_instance);

/* The same for an allocation that was refused in the recording: it dies with its own request. */
bool wo_alloc_pattern_add_refused(struct wo_alloc_pattern *pattern, struct wo_instance instance, uint32_t entry,
                                  uint32_t *ret_instance);

/* Appends the allocation of a recorded instance again: refused if it was refused then. */
bool wo_alloc_pattern_add_again(struct wo_alloc_pattern *pattern, const struct wo_instance *instance, uint32_t entry,
                                uint32_t *ret_instance);

/* Appends a request that refers to `subject` as its kind says; a FREE or DEFER sets the death of its instance. */
bool wo_alloc_pattern_add_request(struct wo_alloc_pattern *pattern, struct wo_request request);

/* Appends the free of a living instance, completed at once. */
bool wo_alloc_pattern_add_free(struct wo_alloc_pattern *pattern, uint32_t instance);

/* The request of the last allocation; 0 if there is none. */
uint32_t wo_alloc_pattern_last_birth(const struct wo_alloc_pattern *pattern);

/* Whether an instance is alive at the start and stays as long as the program runs: it is never freed, or only behind the last
 * allocation, where a program ends. */
static inline bool wo_alloc_pattern_stays(const struct wo_alloc_pattern *pattern, uint32_t instance, uint32_t last_birth) {
  const uint32_t death = pattern->instances.items[instance].death;
  return instance < pattern->start_count && (death == WO_NO_REQUEST || death > last_birth);
}

/* An instance in a list that is sorted by size; those of one size by their indices. */
struct wo_sized_instance {
  uint64_t size_bytes;
  uint32_t instance;
};
int wo_sized_instance_compare(const void *a, const void *b);

#define WO_NO_SUCCESSOR UINT32_MAX

/* Finds, for each instance alive at the start (start_count of them), the instance that takes its place: it has the same size, is
 * never freed, and was the last born before the old one died (a variable is set again: the old value dies right after the new one
 * is born), else the first born after (gradients, freed before backward). WO_NO_SUCCESSOR for instances that do not die or have
 * none. Each survivor takes one place. Release *ret_successors with free; false when memory is out. */
bool wo_alloc_pattern_successors(const struct wo_alloc_pattern *pattern, uint32_t **ret_successors);

#endif
