/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes: how requests are rounded, and how large a segment a rounded request gets. */
#include "cuda_replay/allocator/allocator_internal.h"

/* The largest power of two that is not above n; n is not 0. */
static uint64_t power_of_two_floor(uint64_t n) {
  return UINT64_C(1) << (63 - __builtin_clzll(n));
}

/* Rounds up to one of `divisions` even steps between two powers of two. */
static uint64_t round_to_division(uint64_t size_bytes, uint32_t divisions) {
  const uint64_t floor = power_of_two_floor(size_bytes);
  if (floor == size_bytes) return size_bytes;
  const uint64_t step = floor / power_of_two_floor(divisions);
  if (step == 0) return 2 * floor;
  return (size_bytes + step - 1) & ~(step - 1);
}

/* The divisions for a size: the slot is chosen by whole MiB; smaller sizes take the first slot, larger ones the last. */
static uint32_t divisions_for(const struct wo_alloc_settings *settings, uint64_t size_bytes) {
  const uint64_t mib = size_bytes / WO__MIB;
  const int slot = mib == 0 ? 0 : 63 - __builtin_clzll(mib);
  return settings->roundup_divisions[slot < WO_ROUNDUP_SLOTS ? slot : WO_ROUNDUP_SLOTS - 1];
}

uint64_t wo_alloc_round(const struct wo_alloc_settings *settings, uint64_t size_bytes) {
  assert(size_bytes <= WO__REQUEST_LIMIT_BYTES);
  if (size_bytes < WO__MIN_BLOCK_BYTES) return WO__MIN_BLOCK_BYTES;
  const uint32_t divisions = divisions_for(settings, size_bytes);
  if (divisions == 1 && settings->keeps_odd_sizes && size_bytes > WO__MIN_BLOCK_BYTES) return size_bytes;
  if (divisions > 1 && size_bytes > WO__MIN_BLOCK_BYTES * divisions) return round_to_division(size_bytes, divisions);
  return (size_bytes + WO__MIN_BLOCK_BYTES - 1) & ~(WO__MIN_BLOCK_BYTES - 1);
}

uint64_t wo_alloc_segment_bytes(const struct wo_alloc_settings *settings, uint64_t rounded_bytes) {
  if (rounded_bytes <= WO__SMALL_MAX_BYTES) return WO__SMALL_SEGMENT_BYTES;
  if (rounded_bytes < WO__MID_LIMIT_BYTES) return settings->large_segment_bytes;
  return (rounded_bytes + WO__LARGE_ROUND_BYTES - 1) / WO__LARGE_ROUND_BYTES * WO__LARGE_ROUND_BYTES;
}
