/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for one GPU: it hands out addresses, counts memory, refuses beyond a capacity and keeps the order of events.
 *
 * All that stands in for a GPU uses it: the driver for the replay on a GPU (stand_in_cuda.c), the stub libraries under a real
 * torch, the device of a model and the log that a test foretells. Its answers depend on the calls before and on nothing else, so
 * equal calls get equal addresses, and the first different call is seen. Work of a stream is done when the program of requests
 * says so (wo_standin_complete). One stand-in is used by one thread. */
#ifndef WO_STANDIN_H
#define WO_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the next segment goes. FIRST_FIT reuses the lowest gap, SHUFFLED the first gap from a random place on. */
enum wo_standin_policy { WO_STANDIN_ASCENDING, WO_STANDIN_DESCENDING, WO_STANDIN_FIRST_FIT, WO_STANDIN_SHUFFLED };

enum { WO_STANDIN_REGIONS = 1 << 14, WO_STANDIN_STREAMS = 64 };

/* What was called, as a letter in the answers. A lower-case letter is a call that was refused for want of memory. */
enum wo_standin_call {
  WO_CALL_MALLOC = 'A',         /* address, bytes */
  WO_CALL_MALLOC_REFUSED = 'a', /* 0, bytes */
  WO_CALL_FREE = 'F',           /* address, bytes */
  WO_CALL_RESERVE = 'R',        /* address, bytes */
  WO_CALL_UNRESERVE = 'r',      /* address, bytes */
  WO_CALL_MAP = 'M',            /* address, bytes */
  WO_CALL_MAP_REFUSED = 'm',    /* 0, bytes of one handle */
  WO_CALL_UNMAP = 'U'           /* address, bytes */
};

struct wo_standin {
  uint64_t capacity_bytes; /* what may be taken; may change while it runs */
  uint64_t total_bytes;    /* of the card */
  uint64_t used_bytes;     /* in whole pages */
  enum wo_standin_policy policy;
  uint64_t random;   /* state of SHUFFLED */
  bool is_immediate; /* all work of all streams is done at once */
  bool is_one_space; /* reserved ranges lie where segments lie, not apart */
  uint64_t low;      /* next address of ASCENDING */
  uint64_t high;     /* end of the next segment of DESCENDING */
  size_t region_count;
  struct {
    uint64_t address, size_bytes; /* the size as asked */
  } regions[WO_STANDIN_REGIONS];  /* by rising address */
  size_t stream_count;
  struct {
    uint64_t raw, recorded, completed;
    bool is_capturing;
    uint64_t capture_id;
  } streams[WO_STANDIN_STREAMS];
  void *state;
  void (*on_call)(void *state, enum wo_standin_call call, uint64_t address, uint64_t size_bytes);
};

/* Begins anew: nothing taken. on_call and state are kept. */
void wo_standin_reset(struct wo_standin *standin, uint64_t total_bytes, enum wo_standin_policy policy, uint64_t seed);

/* cudaMalloc; 0 = out of memory. */
uint64_t wo_standin_malloc(struct wo_standin *standin, uint64_t size_bytes);

/* cudaFree; false: no such segment. */
bool wo_standin_free(struct wo_standin *standin, uint64_t address);

/* The size of the segment or range that begins there, as asked; 0: none does. */
uint64_t wo_standin_size(const struct wo_standin *standin, uint64_t address);

/* cuMemAddressReserve and cuMemAddressFree; 0 / false: not possible. */
uint64_t wo_standin_reserve(struct wo_standin *standin, uint64_t size_bytes);
bool wo_standin_unreserve(struct wo_standin *standin, uint64_t address);

/* cuMemCreate and cuMemRelease of one handle; false: out of memory. */
bool wo_standin_create(struct wo_standin *standin, uint64_t handle_bytes);
void wo_standin_release(struct wo_standin *standin, uint64_t handle_bytes);

/* cuMemSetAccess of a whole mapped run, and cuMemUnmap: told for the record. */
void wo_standin_map(struct wo_standin *standin, uint64_t address, uint64_t size_bytes);
void wo_standin_unmap(struct wo_standin *standin, uint64_t address, uint64_t size_bytes);

/* What cudaMemGetInfo says. */
uint64_t wo_standin_free_bytes(const struct wo_standin *standin);

/* A stream's place in streams[], made when it is new. */
size_t wo_standin_stream(struct wo_standin *standin, uint64_t raw);

/* cudaEventRecord: the number of the event on its stream; it is done once completed >= number. */
uint64_t wo_standin_record(struct wo_standin *standin, uint64_t raw);
bool wo_standin_is_done(struct wo_standin *standin, uint64_t raw, uint64_t number);

/* All that was recorded on a stream is done. */
void wo_standin_complete(struct wo_standin *standin, uint64_t raw);

#ifdef __cplusplus
}
#endif
#endif
