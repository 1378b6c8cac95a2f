/* A device that counts what goes through it and hands everything on. Private to replay.c.
 *
 * Only the few calls of a replay that reach the device are counted, so that the loop itself counts nothing. */
#ifndef WO_DEVICE_COUNTING_INTERNAL_H
#define WO_DEVICE_COUNTING_INTERNAL_H

#include <stdint.h>

#include "cuda_replay/allocator/device.h"

struct wo__device_counter {
  const struct wo_device *device; /* behind it; borrowed */
  uint64_t event_count;           /* segments and mappings, made and given back */
  uint64_t used_bytes;            /* in whole pages; set by the caller to what exists already */
  uint64_t peak_bytes;
};

/* The device that counts in *counter, which must stay where it is. */
struct wo_device wo__device_counting(struct wo__device_counter *counter);

/* A size in whole pages of 2 MiB. */
uint64_t wo__device_pages(uint64_t size_bytes);

#endif
