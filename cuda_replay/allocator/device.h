/* SPDX-License-Identifier: Apache-2.0 */
/* The source of an allocator's memory: a table of the few CUDA runtime and driver calls that it makes.
 *
 * Devices: device_model.h (a capacity, invented addresses), device_recorded.h (the addresses of a recording, in their order), and
 * a GPU. The allocator decides, the device performs. All sizes are bytes; addresses are never 0. A device is used by one thread.
 */
#ifndef WO_DEVICE_H
#define WO_DEVICE_H

#include <stdint.h>

#include "parsers/base/status.h"

/* Each call returns WO_OK, WO_E_LIMIT (the device has no room: out of memory), or another status if the device failed: then the
 * replay ends, and message() says why. All members are set. */
struct wo_device {
  void *state; /* handed to each call */

  /* cudaMalloc / cudaFree. */
  enum wo_status (*segment_alloc)(void *state, uint64_t size_bytes, uint64_t *ret_address);
  enum wo_status (*segment_free)(void *state, uint64_t address, uint64_t size_bytes);

  /* cuMemAddressReserve / cuMemAddressFree: takes no memory. */
  enum wo_status (*range_reserve)(void *state, uint64_t size_bytes, uint64_t *ret_address);
  enum wo_status (*range_free)(void *state, uint64_t address, uint64_t size_bytes);

  /* cuMemCreate, cuMemMap and cuMemSetAccess of [address, address + size) in handles of handle_bytes each, all or nothing /
   * cuMemUnmap and cuMemRelease. */
  enum wo_status (*map)(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes);
  enum wo_status (*unmap)(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes);

  /* cuMemGetInfo: the free memory and the card's total. Either may be UINT64_MAX for "no limit known". */
  void (*memory_info)(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

  /* One sentence about the last failure other than WO_E_LIMIT. Never NULL. */
  const char *(*message)(void *state);
};

#endif
