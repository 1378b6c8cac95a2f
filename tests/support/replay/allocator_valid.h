/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the allocator model, recounted. */
#ifndef WO_TESTS_ALLOCATOR_VALID_H
#define WO_TESTS_ALLOCATOR_VALID_H

#include "cuda_replay/allocator/allocator.h"

/* Whether all invariants hold: blocks fill their segments, neighbours agree, no two free mergeable neighbours, every free block
 * is in its pool's set and no other is, statistics equal a recount. *ret_why (NULL allowed) names the first that does not. Slow. */
bool wo_allocator_is_valid(const struct wo_allocator *allocator, const char **ret_why);

/* Address / size in bytes with slack of a block that is allocated or pending. */
uint64_t wo_allocator_address(const struct wo_allocator *allocator, wo_block_id block);
uint64_t wo_allocator_block_bytes(const struct wo_allocator *allocator, wo_block_id block);

#endif
