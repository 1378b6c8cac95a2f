/* SPDX-License-Identifier: Apache-2.0 */
/* A replay on a GPU: the pattern through the allocator model with the card's addresses and the card's own refusals.
 *
 * The same pattern then runs on a model of a card of that capacity which gives the same addresses (device_journal.h). If both
 * make the same calls, fail at the same request and reserve the same, the model agrees: its results for this card can be trusted.
 * Everything on the card is always given back. */
#ifndef WO_WHATIF_GPU_H
#define WO_WHATIF_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/whatif/capacity.h"
#include "cuda_replay/device/device_gpu.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/replay.h"

/* The source of the reserve: --reserve; the memory that the recorded process had beside PyTorch; a usual figure. */
enum wo_reserve_from { WO_RESERVE_OPTION, WO_RESERVE_RECORDING, WO_RESERVE_USUAL };

/* The card to use, and how. */
struct wo_gpu_place {
  int ordinal;  /* as the CUDA driver counts */
  bool touches; /* every page that is taken is also written to */
  bool has_reserve;
  uint64_t reserve_bytes;              /* to stay free beside the capacity, if has_reserve */
  const struct wo_replay_hooks *hooks; /* borrowed; NULL for none */
};

struct wo_gpu_session;
struct wo_replay_hooks;

/* The libraries that answer in place of the system's: their results are no card's, so every report names them. Borrowed; empty
 * for the system's. */
struct wo_gpu_libraries {
  struct wo_view cuda;
  struct wo_view nvml;
};

/* Those that the hooks name; NULL for none. */
struct wo_gpu_libraries wo_gpu_libraries_of(const struct wo_replay_hooks *hooks);

/* The result. */
struct wo_replay_gpu {
  struct wo_gpu_session *session; /* owned: the libraries */
  struct wo_gpu_libraries libraries;
  int ordinal;
  uint64_t reserve_bytes;
  enum wo_reserve_from reserve_from;
  bool touches;
  bool has_run; /* false: the following members are empty */
  struct wo_device_gpu_info info;
  struct wo_replay_outcome outcome; /* on the card */
  struct wo_replay_outcome model;   /* on the model of it */
  uint64_t left_count;              /* pieces that the driver did not take back: 0 unless the driver is broken */
  bool agrees;
  char difference[240]; /* the first one; empty if it agrees */
};

/* Opens the driver, examines the given card without taking memory, and finds the allocator's capacity: *capacity is kept if the
 * card has that much beside the reserve. It becomes the card's (WO_CAPACITY_GPU) if it was unknown, or was not stated and the
 * card lacks no more than a context and the reserve explain. Else WO_E_LIMIT, with the processes that hold the card. Others of
 * wo_cuda_open, wo_gpu_look and wo_device_gpu_open. *ret_gpu can be given to wo_replay_gpu_done with every result. */
enum wo_status wo_replay_gpu_look(const struct wo_gpu_place *asked, const struct wo_recording *recording,
                                  const struct wo_trace *trace, struct wo_capacity *capacity, struct wo_replay_gpu *ret_gpu,
                                  struct wo_err *err);

/* The input of a run. */
struct wo_replay_gpu_wish {
  const struct wo_alloc_pattern *pattern;
  struct wo_alloc_settings settings;
  uint16_t torch;
  uint64_t capacity_bytes;             /* of wo_replay_gpu_look */
  const struct wo_replay_hooks *hooks; /* NULL for none */
};

/* Runs on the card, then on its model, and compares. The card's refusals are results. WO_E_IO: the driver failed, or the run was
 * interrupted; the message says that everything was given back, or what was not. WO_E_NOMEM. *operations grows by the requests
 * and segment events of both runs. */
enum wo_status wo_replay_gpu_run(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish, uint64_t *operations,
                                 struct wo_err *err);

/* One clause about the difference between the card and its model: the card's refusal, else the first different call. Only for a
 * run that does not agree. */
void wo_replay_gpu_tell_difference(const struct wo_replay_gpu *gpu, char *buf, size_t cap);

/* Closes the libraries; NULL and {0} are allowed. */
void wo_replay_gpu_done(struct wo_replay_gpu *gpu);

#endif
