/* What the stand-in CUDA driver (tests/stand_in/stand_in_cuda.c) writes to its log, written by a model device that gives the
 * stand-in's addresses: a run of an allocator on it says which lines the card should have seen. */
#ifndef WO_TEST_STAND_IN_MIRROR_H
#define WO_TEST_STAND_IN_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/allocator/device.h"
#include "parsers/base/text.h"

/* Set capacity and direction; the rest starts as 0. Released with wo_mirror_done. */
struct wo_mirror {
  struct wo_text expected; /* the lines */
  uint64_t capacity_bytes, used_bytes;
  uint64_t next_address, next_handle; /* 0: those of a driver that was just loaded */
  bool is_falling;                    /* STAND_IN_DOWN */
  struct wo_address_map handles;
};

/* The device; it borrows the mirror. */
struct wo_device wo_mirror_device(struct wo_mirror *mirror);

/* Releases text and handles. */
void wo_mirror_done(struct wo_mirror *mirror);

#endif
