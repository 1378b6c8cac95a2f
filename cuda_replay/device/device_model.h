/* SPDX-License-Identifier: Apache-2.0 */
/* A model of a device: a capacity, a page size, and a policy for addresses.
 *
 * It takes memory in pages (cudaMalloc uses 2 MiB pages) and refuses requests that do not fit. The policy also decides how
 * addresses of freed segments are reused. */
#ifndef WO_DEVICE_MODEL_H
#define WO_DEVICE_MODEL_H

#include <stdint.h>

#include "cuda_replay/allocator/device.h"

/* The place of the next segment. Real drivers follow neither of the first two strictly; results are reported with the spread over
 * several policies. */
enum wo_address_policy { WO_ADDRESS_ASCENDING, WO_ADDRESS_DESCENDING, WO_ADDRESS_SHUFFLED };

struct wo_device_model_options {
  uint64_t capacity_bytes; /* the most that the allocator may take; UINT64_MAX = no limit */
  uint64_t total_bytes;    /* of the card, for memory fractions and ranges; 0 = capacity_bytes, or 80 GiB without one */
  uint64_t page_bytes;     /* 0 = 2 MiB */
  enum wo_address_policy policy;
  uint64_t seed; /* of SHUFFLED */
};

/* Makes a device; *ret_device borrows from the returned state, which is released with wo_device_model_free. NULL when memory is
 * out. */
struct wo_device_model *wo_device_model_new(const struct wo_device_model_options *options, struct wo_device *ret_device);

/* Bytes in use, in whole pages. */
uint64_t wo_device_model_used(const struct wo_device_model *model);

/* Counts memory that exists already (a start state: a segment, or a mapped run of a range), even above the capacity, and reserves
 * its addresses, unless they are part of a range. WO_E_RANGE when it partly overlaps taken addresses; WO_E_NOMEM. */
enum wo_status wo_device_model_take(struct wo_device_model *model, uint64_t address, uint64_t size_bytes);

/* Frees; NULL allowed; returns NULL. */
struct wo_device_model *wo_device_model_free(struct wo_device_model *model);

#endif
