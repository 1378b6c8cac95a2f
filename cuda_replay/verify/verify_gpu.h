/* The word of a real GPU on what the model found: `whyoom verify --on gpu`.
 *
 * The model searches, since that is fast; the card confirms. On it runs the high end, at what PyTorch can be sure to have of the
 * job's own card, which a hard limit stands in for: first the job as it was, which must fail there, then the row that is chosen,
 * which must not. The driver's own addresses decide, and the model of that card must make the same calls (whatif_gpu.h). Where a
 * row is not confirmed the next cheapest one that the model lets fit is run. One thread. */
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

/* Rows that are run on the card at the most. */
enum { WO_VERIFY_GPU_ROWS_MAX = 8 };

/* One pattern on the card. */
struct wo_verify_gpu_run {
  const struct wo_verify_row *row; /* NULL: the job as it was */
  size_t subject;                  /* index: whose pattern, and whose card is stood in for */
  uint64_t capacity_bytes;         /* what PyTorch could take */
  uint64_t reserved_bytes;         /* at the peak */
  uint64_t segment_events;
  uint64_t calls;           /* of the driver, by the allocator's wishes */
  uint64_t failed_requests; /* the first one: */
  uint64_t failed_bytes;
  uint32_t failed_entry;     /* WO_NO_ENTRY: something that was alive at the start */
  bool agrees;               /* the model of the card made the same calls, failed and reserved the same */
  struct wo_view difference; /* when it does not: one clause */
};

/* {0}: it was not asked for. */
struct wo_verify_gpu {
  bool is_asked;
  int ordinal;                    /* as the driver counts, by CUDA_VISIBLE_DEVICES: */
  struct wo_view visible_devices; /* borrowed; empty when not set */
  bool is_found;                  /* the card was looked at and has room: what follows is known */
  struct wo_device_gpu_info card; /* as of the last run */
  uint64_t reserve_bytes;         /* that had to stay free beside the capacity */
  bool touches;
  struct wo_verify_gpu_run *runs; /* in their order, of the arena */
  size_t run_count;
  uint64_t left_count; /* pieces that the driver did not take back: 0 unless it is broken */
  bool has_seconds;
  double seconds;                        /* that looking and running took */
  const struct wo_verify_row *model_row; /* the row that the model chose; NULL: none */
  struct wo_err error;                   /* why the card could not be asked, or was left in the midst; WO_OK: it was not */
};

/* Runs on the card that verify->asked.gpu names what there is to confirm, and fills verify->gpu. verify is whole but for that:
 * rows, choice and verdict. A row that the card does not confirm becomes UNSURE with the reason, and the choice goes on; where
 * none is left, the job as it was does not fail there, or the card cannot be had (verify->gpu.error), nothing is chosen and the
 * verdict is WO_VERIFY_UNCONFIRMED. Nothing runs where there is no pattern, it fits as it is, or a capacity is not known.
 * Everything that was taken of the card is given back, whatever happens. WO_E_NOMEM. */
enum wo_status wo_verify_confirm(struct wo_verify *verify, struct wo_err *err);

#endif
