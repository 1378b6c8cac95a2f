/* A replay on a GPU: the pattern through the allocator model with the card's addresses and the card's own refusals.
 *
 * The same pattern then runs on a model of a card of that capacity which gives the same addresses (device_journal.h). Where both
 * make the same calls, fail at the same request and reserve the same, the model agrees: what it says of this card can be
 * believed. Nothing is left on the card, whatever happens. */
#ifndef WO_WHATIF_GPU_H
#define WO_WHATIF_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/whatif/capacity.h"
#include "cuda_replay/device/device_gpu.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/replay/replay.h"

/* Where the reserve comes from: --reserve; what the recorded process had beside PyTorch; a usual figure. */
enum wo_reserve_from { WO_RESERVE_OPTION, WO_RESERVE_RECORDING, WO_RESERVE_USUAL };

/* Which card is asked, and how. */
struct wo_gpu_place {
  int ordinal;  /* as the CUDA driver counts */
  bool touches; /* every page that is taken is written to */
  bool has_reserve;
  uint64_t reserve_bytes;              /* to stay free beside the capacity, with has_reserve */
  const struct wo_replay_hooks *hooks; /* borrowed; NULL for none */
};

struct wo_gpu_session;
struct wo_replay_hooks;

/* What came of it. */
struct wo_replay_gpu {
  struct wo_gpu_session *session; /* owned: the libraries */
  int ordinal;
  uint64_t reserve_bytes;
  enum wo_reserve_from reserve_from;
  bool touches;
  bool has_run; /* false: what follows is empty */
  struct wo_device_gpu_info info;
  struct wo_replay_outcome outcome; /* on the card */
  struct wo_replay_outcome model;   /* on the model of it */
  uint32_t oom_entry;               /* entries of the first requests that failed, or WO_NO_ENTRY */
  uint32_t model_oom_entry;
  uint64_t left_count; /* pieces that the driver did not take back: 0 unless it is broken */
  bool agrees;
  char difference[240]; /* the first one; empty when it agrees */
};

/* Opens the driver, looks at the card that is asked, takes nothing, and finds how much the allocator may have: *capacity is
 * kept where the card has that much beside the reserve, becomes what the card has (WO_CAPACITY_GPU) where it was not known, or
 * was not stated and the card lacks no more than a context and the reserve explain. Else WO_E_LIMIT, with who holds the card.
 * Others as wo_cuda_open, wo_gpu_look and wo_device_gpu_open. Whatever is returned, *ret_gpu can be given to wo_replay_gpu_done.
 */
enum wo_status wo_replay_gpu_look(const struct wo_gpu_place *asked, const struct wo_recording *recording,
                                  const struct wo_trace *trace, struct wo_capacity *capacity, struct wo_replay_gpu *ret_gpu,
                                  struct wo_err *err);

/* What a run needs. */
struct wo_replay_gpu_wish {
  const struct wo_alloc_pattern *pattern;
  struct wo_alloc_settings settings;
  uint16_t torch;
  uint64_t capacity_bytes;             /* of wo_replay_gpu_look */
  const struct wo_replay_hooks *hooks; /* NULL for none */
};

/* Runs on the card, then on the model of it, and compares. The card's refusals are results. WO_E_IO: the driver failed, or it was
 * interrupted; the message says that everything was given back, or what was not. WO_E_NOMEM. *operations grows by the requests
 * and segment events of both runs. */
enum wo_status wo_replay_gpu_run(struct wo_replay_gpu *gpu, const struct wo_replay_gpu_wish *wish, uint64_t *operations,
                                 struct wo_err *err);

/* One clause about what the card did otherwise than the model of it: what it refused, else the first call at which both part. For
 * a run that does not agree. */
void wo_replay_gpu_tell_difference(const struct wo_replay_gpu *gpu, char *buf, size_t cap);

/* Closes the libraries; NULL and {0} are allowed. */
void wo_replay_gpu_done(struct wo_replay_gpu *gpu);

#endif
