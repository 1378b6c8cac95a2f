/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups of jobs may be sweeps, in bits. See fleet_internal.h. */
#include <stdlib.h>

#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"

enum { ARRAY_JOB, USER, NAME, PATH };

bool wo__groups_init(struct wo__groups *groups) {
  *groups =
      (struct wo__groups){.failed = calloc(WO_LIMIT_FLEET_GROUP_BITS / 8, 1), .good = calloc(WO_LIMIT_FLEET_GROUP_BITS / 8, 1)};
  return groups->failed && groups->good;
}

void wo__groups_done(struct wo__groups *groups) {
  free(groups->failed);
  free(groups->good);
  *groups = (struct wo__groups){0};
}

/* False: jobs without an array and a name are no group. */
static bool bit_of(const struct wo_view job[WO_STORE_TEST_TEXTS], size_t *ret_bit) {
  const struct wo_view name = job[ARRAY_JOB].len > 0 ? job[ARRAY_JOB] : job[NAME];
  if (name.len == 0) return false;
  size_t folder_len = job[ARRAY_JOB].len > 0 ? 0 : job[PATH].len;
  while (folder_len > 0 && job[PATH].ptr[folder_len - 1] != '/') folder_len--;
  uint64_t hash = wo_view_hash(wo_view_hash(WO_HASH_START, name), job[USER]);
  hash = wo_view_hash(hash, wo_view_sub(job[PATH], 0, folder_len));
  *ret_bit = (size_t)(hash ^ (hash >> 32)) % WO_LIMIT_FLEET_GROUP_BITS;
  return true;
}

void wo__groups_add(struct wo__groups *groups, const struct wo_view job[WO_STORE_TEST_TEXTS], bool is_failed) {
  size_t bit;
  if (!bit_of(job, &bit)) return;
  uint8_t *const bits = is_failed ? groups->failed : groups->good;
  bits[bit / 8] |= (uint8_t)(1u << (bit % 8));
  groups->has_mixed |= ((groups->failed[bit / 8] & groups->good[bit / 8]) >> (bit % 8)) & 1;
}

bool wo__groups_is_mixed(void *context, const struct wo_view job[WO_STORE_TEST_TEXTS]) {
  const struct wo__groups *const groups = context;
  size_t bit;
  return bit_of(job, &bit) && (groups->failed[bit / 8] & groups->good[bit / 8] & (1u << (bit % 8))) != 0;
}
