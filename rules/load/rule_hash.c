/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of rules (FNV-1a), the same on every machine. */
#include "rules/load/pack_internal.h"

void wo__hash_number(uint64_t *hash, uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) *hash = (*hash ^ (number >> shift & 0xff)) * UINT64_C(1099511628211);
}

void wo__hash_text(uint64_t *hash, struct wo_view text) {
  wo__hash_number(hash, text.len);
  *hash = wo_view_hash(*hash, text);
}
