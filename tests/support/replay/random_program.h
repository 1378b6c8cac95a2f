/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at random, run through the allocator model and recorded as PyTorch would record them.
 *
 * What comes out is a recording like those that the readers make: entries, and the segments at the end. The first entries can be
 * cut off, so that the state at the start has to be rebuilt. The same options give the same recording. */
#ifndef WO_TEST_RANDOM_PROGRAM_H
#define WO_TEST_RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/recording/trace.h"

struct wo_random_program {
  uint64_t seed;
  size_t steps;
  size_t cut; /* entries cut off at the front, as many as there are */
  struct wo_alloc_settings settings;
  uint16_t torch;
  uint64_t capacity_bytes; /* of the device; UINT64_MAX = no limit */
  uint64_t total_bytes;    /* of the card; 0 = the device model's */
  enum wo_address_policy policy;
  unsigned stream_count; /* 1 to 8 */
  unsigned live_max;     /* most blocks that the program holds at once */
  bool has_deferred;     /* frees wait for other streams */
  bool has_pools;        /* private pools; entries tell their pool */
  bool has_empty_cache;
  bool tells_stacks;       /* entries have stacks; those of empty_cache() name it */
  bool tells_instructions; /* entries also tell empty_cache, captures and releases of pools */
  bool tells_card;         /* the recording states the card's memory */
};

/* A program with everything chosen by the seed. */
struct wo_random_program wo_random_program_of(uint64_t seed);

/* Runs and records it. NULL when memory is out. The caller frees it with wo_recording_free. */
struct wo_recording *wo_random_program_record(const struct wo_random_program *program);

/* The next number of a sequence; *state is anything. */
uint64_t wo_random_next(uint64_t *state);

#endif
