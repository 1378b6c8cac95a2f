/* SPDX-License-Identifier: Apache-2.0 */
/* A real GPU confirms the model's result: `whyoom verify --on gpu`.
 *
 * The model searches, because it is fast; the card confirms. It runs the high end with the memory that the job's own card surely
 * leaves to PyTorch, as a hard limit: first the unchanged job, which must fail there, then the chosen row, which must not. The
 * driver's own addresses decide, and the model of that card must make the same calls (whatif_gpu.h). If a row is not confirmed,
 * the next cheapest one that fits on the model is run. One thread. */
#ifndef WO_VERIFY_GPU_H
#define WO_VERIFY_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/whatif/whatif_gpu.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"

struct wo_verify;
struct wo_verify_row;

/* The most rows that are run on the card. */
enum { WO_VERIFY_GPU_ROWS_MAX = 8 };

/* One pattern on the card. */
struct wo_verify_gpu_run {
  const struct wo_verify_row *row; /* NULL: the unchanged job */
  size_t subject;                  /* index: whose pattern is run, at the limit of whose card */
  uint64_t capacity_bytes;         /* what PyTorch could take */
  struct wo_replay_outcome outcome;
  uint64_t calls;            /* of the driver, requested by the allocator */
  bool agrees;               /* the model of the card made the same calls, and failed and reserved in the same way */
  struct wo_view difference; /* one clause if it does not agree */
};

/* {0}: no GPU was requested. */
struct wo_verify_gpu {
  bool is_asked;
  int ordinal;                    /* as the driver counts, by CUDA_VISIBLE_DEVICES: */
  struct wo_view visible_devices; /* borrowed; empty when not set */
  struct wo_gpu_libraries libraries;
  bool is_found;                  /* the card was examined and has room: the following members are known */
  struct wo_device_gpu_info card; /* as of the last run */
  uint64_t reserve_bytes;         /* that had to stay free beside the capacity */
  bool touches;
  struct wo_verify_gpu_run *runs; /* in their order, of the arena */
  size_t run_count;
  uint64_t left_count; /* pieces that the driver did not take back: 0 unless the driver is broken */
  bool has_seconds;
  double seconds;                        /* duration of examining and running */
  const struct wo_verify_row *model_row; /* the row that the model chose; NULL: none */
  struct wo_err error;                   /* why the card could not be used, or failed during the runs; WO_OK: neither */
};

/* Confirms the rows that need it on the card that verify->asked.gpu names, and fills verify->gpu. All other members of verify
 * must be filled: rows, choice and verdict. A row that the card does not confirm becomes UNSURE with the reason, and another row
 * is chosen. If none is left, the unchanged job does not fail there, or the card cannot be used (verify->gpu.error), nothing is
 * chosen and the verdict is WO_VERIFY_UNCONFIRMED. Nothing runs if there is no pattern, it fits without a change, or a capacity
 * is not known. All memory of the card is given back in every case. WO_E_NOMEM. */
enum wo_status wo_verify_confirm(struct wo_verify *verify, struct wo_err *err);

#endif
