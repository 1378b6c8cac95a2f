/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order's leaves. */
#ifndef WO_TESTS_BLOCK_ORDER_VALID_H
#define WO_TESTS_BLOCK_ORDER_VALID_H

#include "cuda_replay/collections/block_order.h"

/* Whether keys rise, leaves are filled by the rules and counts agree. */
bool wo_block_order_is_valid(const struct wo_block_order *order);

#endif
