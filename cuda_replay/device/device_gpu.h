/* SPDX-License-Identifier: Apache-2.0 */
/* A real GPU as a device: makes the same CUDA driver calls as PyTorch's allocator, under a hard cap.
 *
 * Safety comes first: it never takes more than its cap, takes nothing from a card with too little free memory, and gives
 * everything back when it is closed, also after an interrupt or a failure. cudaMalloc is cuMemAlloc; expandable segments are
 * cuMemAddressReserve, cuMemCreate, cuMemMap and cuMemSetAccess (c10/cuda/CUDACachingAllocator.cpp, 2.1 to 2.11). One thread. */
#ifndef WO_DEVICE_GPU_H
#define WO_DEVICE_GPU_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/device/cuda_driver.h"
#include "cuda_replay/allocator/device.h"
#include "cuda_replay/device/gpu_cards.h"

struct wo_device_gpu_options {
  int ordinal;                               /* the driver's number, which depends on CUDA_VISIBLE_DEVICES */
  uint64_t capacity_bytes;                   /* the allocator's cap. 0: all free memory, less the reserve */
  uint64_t reserve_bytes;                    /* stays free on the card beside the cap: for context, NCCL, libraries */
  uint64_t total_bytes;                      /* the card's size as the allocator sees it, for memory fractions; 0: the real one */
  uint16_t torch;                            /* the version whose calls are made (settings.h); 0: the newest */
  bool touches;                              /* write every byte, so that every page really exists */
  const volatile sig_atomic_t *is_cancelled; /* read before each call; NULL: never */
};

/* Facts about the card, and its use by the replay. */
struct wo_device_gpu_info {
  char name[96];
  char uuid[WO_GPU_UUID_BYTES]; /* "GPU-...", "MIG-..." for a slice of a card; empty when not known */
  int driver_version;
  bool is_integrated; /* the memory is the host's: other programs need its free part, too */
  uint64_t total_bytes;
  uint64_t free_before_bytes; /* with our context, before the first allocation */
  uint64_t free_lowest_bytes; /* at the peak: the driver's value within the last 64 MiB, less the memory taken since */
  uint64_t cap_bytes;
  uint64_t used_bytes; /* in pages of 2 MiB, as the driver takes it */
  uint64_t peak_bytes;
  uint64_t calls;    /* calls to the driver for the allocator */
  uint64_t refusals; /* by the driver itself, below the cap; the first one: */
  uint64_t refused_bytes;
  uint64_t used_at_refusal_bytes;
  uint64_t free_at_refusal_bytes; /* as the driver reported */
};

struct wo_device_gpu;

/* Checks the card, and takes a context on it. WO_E_RANGE: no such device; WO_E_IO: the driver refuses (prohibited mode, lost
 * device; its words are in the message); WO_E_LIMIT: the free memory is less than cap and reserve need (the message has the
 * figures) or less than a context takes, or another process holds the card exclusively; WO_E_NOMEM. The driver is borrowed.
 * *ret_device borrows from the returned state. */
enum wo_status wo_device_gpu_open(const struct wo_cuda_driver *driver, const struct wo_device_gpu_options *options,
                                  struct wo_device_gpu **ret_gpu, struct wo_device *ret_device, struct wo_err *err);

/* Sets the message for a card with too little free memory: its figures, and the remedy. Always WO_E_LIMIT. */
enum wo_status wo_device_gpu_too_little(const struct wo_device_gpu_info *info, int ordinal, uint64_t wanted_bytes,
                                        uint64_t reserve_bytes, struct wo_err *err);

/* The present facts. */
const struct wo_device_gpu_info *wo_device_gpu_info(const struct wo_device_gpu *gpu);

/* Gives back all memory that is still held, and the context. *ret_left (NULL allowed) is the number of holdings that the driver
 * did not take back. NULL allowed; returns NULL. */
struct wo_device_gpu *wo_device_gpu_close(struct wo_device_gpu *gpu, uint64_t *ret_left);

#endif
