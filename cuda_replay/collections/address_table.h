/* SPDX-License-Identifier: Apache-2.0 */
/* An unordered map from device addresses to indices: one look for a search or a change, where no neighbours are asked for.
 *
 * Addresses can be set and not removed. Where they lie in the table depends on a secret, so that no file can be prepared whose
 * addresses all meet in one place; nothing that can be asked depends on it. One table is used by one thread. */
#ifndef WO_ADDRESS_TABLE_H
#define WO_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

struct wo__address_cell {
  uint64_t address;
  uint32_t value;
  bool is_used;
};

/* Empty when all is 0. */
struct wo_address_table {
  struct wo__address_cell *cells;
  size_t capacity; /* a power of two, or 0 */
  size_t count;    /* addresses in the table */
  uint64_t secret;
};

/* Sets the value of an address; replaces an earlier one. WO_E_NOMEM: the table is unchanged. */
enum wo_status wo_address_table_put(struct wo_address_table *table, uint64_t address, uint32_t value);

/* Finds the value of an address. False when there is none; *ret_value (NULL allowed) is set on true only. */
bool wo_address_table_find(const struct wo_address_table *table, uint64_t address, uint32_t *ret_value);

/* Releases what the table owns and makes it empty; NULL is not allowed. */
void wo_address_table_done(struct wo_address_table *table);

#endif
