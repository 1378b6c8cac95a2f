/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the leaves of an order. */
#include "tests/support/replay/block_order_valid.h"

static bool is_below(struct wo_block_key a, struct wo_block_key b) {
  return a.size_bytes < b.size_bytes || (a.size_bytes == b.size_bytes && a.tie < b.tie);
}

bool wo_block_order_is_valid(const struct wo_block_order *order) {
  size_t count = 0;
  const struct wo_block_key *last = NULL;
  for (size_t i = 0; i < order->leaf_count; i++) {
    const struct wo_order_entry *const entry = &order->directory[i];
    const struct wo_order_item *const items = order->leaves[entry->leaf].items;
    if (entry->count == 0 || entry->count > WO_ORDER_LEAF_MAX) return false;
    if (items[0].key.size_bytes != entry->first.size_bytes || items[0].key.tie != entry->first.tie) return false;
    if (i > 0 && entry->count + entry[-1].count <= WO_ORDER_MERGE_MAX) return false;
    for (size_t k = 0; k < entry->count; k++) {
      if (last != NULL && !is_below(*last, items[k].key)) return false;
      last = &items[k].key;
    }
    count += entry->count;
  }
  return count == order->count && count <= order->room;
}
