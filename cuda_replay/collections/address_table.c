/* SPDX-License-Identifier: Apache-2.0 */
/* The unordered address map: open addressing, at most half of the cells are used. */
#include "cuda_replay/collections/address_table.h"

#include <stdlib.h>
#include <unistd.h>

enum { CELLS_FIRST = 256 };

/* Multiply to 128 bits and fold. The factor is odd, with its bits well spread (digits of the golden ratio). */
static size_t place_of(const struct wo_address_table *table, uint64_t address) {
  const unsigned __int128 product = (unsigned __int128)(address ^ table->secret) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

/* The cell of an address, or the free one where it belongs; there is always one. */
static struct wo__address_cell *cell_of(const struct wo_address_table *table, uint64_t address) {
  const size_t mask = table->capacity - 1;
  size_t place = place_of(table, address);
  while (table->cells[place & mask].is_used && table->cells[place & mask].address != address) place++;
  return &table->cells[place & mask];
}

/* Makes room for one more. False when memory is out; the table is unchanged then. */
static bool reserve(struct wo_address_table *table) {
  if (table->count < table->capacity / 2) return true;
  struct wo_address_table grown = *table;
  grown.capacity = table->capacity == 0 ? CELLS_FIRST : table->capacity * 2;
  if (table->capacity == 0 && getentropy(&grown.secret, sizeof grown.secret) != 0)
    grown.secret = (uint64_t)(uintptr_t)table; /* an address is a secret, too */
  grown.cells = calloc(grown.capacity, sizeof *grown.cells);
  if (!grown.cells) return false;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->cells[i].is_used) *cell_of(&grown, table->cells[i].address) = table->cells[i];
  }
  free(table->cells);
  *table = grown;
  return true;
}

enum wo_status wo_address_table_put(struct wo_address_table *table, uint64_t address, uint32_t value) {
  if (!reserve(table)) return WO_E_NOMEM;
  struct wo__address_cell *const cell = cell_of(table, address);
  table->count += !cell->is_used;
  *cell = (struct wo__address_cell){address, value, true};
  return WO_OK;
}

bool wo_address_table_find(const struct wo_address_table *table, uint64_t address, uint32_t *ret_value) {
  if (table->capacity == 0) return false;
  const struct wo__address_cell *const cell = cell_of(table, address);
  if (cell->is_used && ret_value) *ret_value = cell->value;
  return cell->is_used;
}

void wo_address_table_done(struct wo_address_table *table) {
  free(table->cells);
  *table = (struct wo_address_table){0};
}
