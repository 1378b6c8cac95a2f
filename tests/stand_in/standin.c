/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for a GPU: a sorted table of regions, a counter of bytes and a counter of events per stream. */
#include "tests/stand_in/standin.h"

#include <assert.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(0x200000)
#define SPACE_LOW UINT64_C(0x7f0000000000)
#define SPACE_HIGH UINT64_C(0x7fff00000000)
/* Ranges of expandable segments lie apart, as drivers keep them. */
#define RANGE_LOW UINT64_C(0x300000000000)

static uint64_t pages(uint64_t size_bytes) {
  return (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void wo_standin_reset(struct wo_standin *standin, uint64_t total_bytes, enum wo_standin_policy policy, uint64_t seed) {
  standin->capacity_bytes = total_bytes;
  standin->total_bytes = total_bytes;
  standin->used_bytes = 0;
  standin->policy = policy;
  standin->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  standin->low = SPACE_LOW;
  standin->high = SPACE_HIGH;
  standin->region_count = 0;
  standin->stream_count = 0;
  standin->is_immediate = false;
  standin->is_one_space = false;
}

static uint64_t next_random(struct wo_standin *standin) {
  uint64_t x = standin->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  standin->random = x;
  return x;
}

static void told(struct wo_standin *standin, enum wo_standin_call call, uint64_t address, uint64_t size_bytes) {
  if (standin->on_call) standin->on_call(standin->state, call, address, size_bytes);
}

/* The first region that ends above an address. */
static size_t region_above(const struct wo_standin *standin, uint64_t address) {
  size_t low = 0;
  size_t high = standin->region_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (standin->regions[middle].address + pages(standin->regions[middle].size_bytes) > address)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The lowest address from `from` on where size_bytes fit. */
static uint64_t fit(const struct wo_standin *standin, uint64_t from, uint64_t size_bytes) {
  size_t at = region_above(standin, from);
  uint64_t address = from;
  for (; at < standin->region_count; at++) {
    if (standin->regions[at].address >= address + size_bytes) return address;
    address = standin->regions[at].address + pages(standin->regions[at].size_bytes);
  }
  return address;
}

static uint64_t choose(struct wo_standin *standin, uint64_t size_bytes) {
  uint64_t address = 0;
  switch (standin->policy) {
  case WO_STANDIN_ASCENDING:
    address = standin->low;
    standin->low += size_bytes;
    break;
  case WO_STANDIN_DESCENDING:
    standin->high -= size_bytes;
    address = standin->high;
    break;
  case WO_STANDIN_FIRST_FIT:
    address = fit(standin, SPACE_LOW, size_bytes);
    break;
  case WO_STANDIN_SHUFFLED:
    address = fit(standin, SPACE_LOW + next_random(standin) % 4096 * PAGE_BYTES, size_bytes);
    break;
  }
  return address;
}

static bool insert(struct wo_standin *standin, uint64_t address, uint64_t size_bytes) {
  if (standin->region_count == WO_STANDIN_REGIONS) return false;
  const size_t at = region_above(standin, address);
  memmove(&standin->regions[at + 1], &standin->regions[at], (standin->region_count - at) * sizeof *standin->regions);
  standin->regions[at].address = address;
  standin->regions[at].size_bytes = size_bytes;
  standin->region_count++;
  return true;
}

/* Takes a region out; its size, or 0 when there is none. */
static uint64_t take_out(struct wo_standin *standin, uint64_t address) {
  const size_t at = region_above(standin, address);
  if (at == standin->region_count || standin->regions[at].address != address) return 0;
  const uint64_t size_bytes = standin->regions[at].size_bytes;
  standin->region_count--;
  memmove(&standin->regions[at], &standin->regions[at + 1], (standin->region_count - at) * sizeof *standin->regions);
  return size_bytes;
}

static bool has_room(const struct wo_standin *standin, uint64_t size_bytes) {
  return standin->used_bytes <= standin->capacity_bytes && size_bytes <= standin->capacity_bytes - standin->used_bytes;
}

uint64_t wo_standin_malloc(struct wo_standin *standin, uint64_t size_bytes) {
  const uint64_t taken_bytes = pages(size_bytes);
  const uint64_t address = has_room(standin, taken_bytes) ? choose(standin, taken_bytes) : 0;
  if (!address || !insert(standin, address, size_bytes)) {
    told(standin, WO_CALL_MALLOC_REFUSED, 0, size_bytes);
    return 0;
  }
  standin->used_bytes += taken_bytes;
  told(standin, WO_CALL_MALLOC, address, size_bytes);
  return address;
}

uint64_t wo_standin_size(const struct wo_standin *standin, uint64_t address) {
  const size_t at = region_above(standin, address);
  return at < standin->region_count && standin->regions[at].address == address ? standin->regions[at].size_bytes : 0;
}

bool wo_standin_free(struct wo_standin *standin, uint64_t address) {
  const uint64_t size_bytes = take_out(standin, address);
  if (!size_bytes) return false;
  standin->used_bytes -= pages(size_bytes);
  told(standin, WO_CALL_FREE, address, size_bytes);
  return true;
}

uint64_t wo_standin_reserve(struct wo_standin *standin, uint64_t size_bytes) {
  const bool is_anywhere = !standin->is_one_space && standin->policy == WO_STANDIN_SHUFFLED;
  const uint64_t from = RANGE_LOW + (is_anywhere ? next_random(standin) % 4096 * PAGE_BYTES : 0);
  const uint64_t address = standin->is_one_space ? choose(standin, pages(size_bytes)) : fit(standin, from, pages(size_bytes));
  if (!insert(standin, address, size_bytes)) return 0;
  told(standin, WO_CALL_RESERVE, address, size_bytes);
  return address;
}

bool wo_standin_unreserve(struct wo_standin *standin, uint64_t address) {
  const uint64_t size_bytes = take_out(standin, address);
  if (!size_bytes) return false;
  told(standin, WO_CALL_UNRESERVE, address, size_bytes);
  return true;
}

bool wo_standin_create(struct wo_standin *standin, uint64_t handle_bytes) {
  if (!has_room(standin, handle_bytes)) {
    told(standin, WO_CALL_MAP_REFUSED, 0, handle_bytes);
    return false;
  }
  standin->used_bytes += handle_bytes;
  return true;
}

void wo_standin_release(struct wo_standin *standin, uint64_t handle_bytes) {
  assert(standin->used_bytes >= handle_bytes);
  standin->used_bytes -= handle_bytes;
}

void wo_standin_map(struct wo_standin *standin, uint64_t address, uint64_t size_bytes) {
  told(standin, WO_CALL_MAP, address, size_bytes);
}

void wo_standin_unmap(struct wo_standin *standin, uint64_t address, uint64_t size_bytes) {
  told(standin, WO_CALL_UNMAP, address, size_bytes);
}

uint64_t wo_standin_free_bytes(const struct wo_standin *standin) {
  return standin->used_bytes < standin->capacity_bytes ? standin->capacity_bytes - standin->used_bytes : 0;
}

size_t wo_standin_stream(struct wo_standin *standin, uint64_t raw) {
  for (size_t i = 0; i < standin->stream_count; i++)
    if (standin->streams[i].raw == raw) return i;
  assert(standin->stream_count < WO_STANDIN_STREAMS);
  const size_t at = standin->stream_count++;
  memset(&standin->streams[at], 0, sizeof standin->streams[at]);
  standin->streams[at].raw = raw;
  return at;
}

uint64_t wo_standin_record(struct wo_standin *standin, uint64_t raw) {
  const size_t at = wo_standin_stream(standin, raw);
  standin->streams[at].recorded++;
  if (standin->is_immediate) standin->streams[at].completed = standin->streams[at].recorded;
  return standin->streams[at].recorded;
}

bool wo_standin_is_done(struct wo_standin *standin, uint64_t raw, uint64_t number) {
  return standin->streams[wo_standin_stream(standin, raw)].completed >= number;
}

void wo_standin_complete(struct wo_standin *standin, uint64_t raw) {
  const size_t at = wo_standin_stream(standin, raw);
  standin->streams[at].completed = standin->streams[at].recorded;
}
