/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in CUDA driver (tests/stand_in/stand_in_cuda.c) writes to its log, written by a model device that gives the
 * stand-in's addresses: a run of an allocator on it says which lines the card should have seen. */
#ifndef WO_TEST_STAND_IN_MIRROR_H
#define WO_TEST_STAND_IN_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/allocator/device.h"
#include "parsers/base/text.h"
#include "tests/stand_in/standin.h"

/* Set capacity and direction; the rest starts as 0. Released with wo_mirror_done. */
struct wo_mirror {
  struct wo_text expected; /* the lines */
  uint64_t capacity_bytes;
  bool is_falling;      /* STAND_IN_DOWN */
  uint64_t next_handle; /* 0: that of a driver that was just loaded */
  struct wo_standin memory;
  struct wo_address_map handles;
};

/* The device; it borrows the mirror. */
struct wo_device wo_mirror_device(struct wo_mirror *mirror);

/* For the next context of the same driver: nothing is held, no line is expected; addresses and handles go on. */
void wo_mirror_restart(struct wo_mirror *mirror, uint64_t capacity_bytes);

/* Releases text and handles. */
void wo_mirror_done(struct wo_mirror *mirror);

#endif
