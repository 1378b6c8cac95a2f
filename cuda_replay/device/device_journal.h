/* SPDX-License-Identifier: Apache-2.0 */
/* A journal of an allocator's calls to a device, and a model device that compares its calls with a journal.
 *
 * The calls to the GPU are recorded with the addresses that it gave; then the same pattern runs on a device that only counts up
 * to the same capacity and gives those addresses. The allocator decides only by sizes, addresses and refusals, so both runs are
 * equal call by call, unless the card refuses memory that its capacity allows (or the model is wrong). One thread. */
#ifndef WO_DEVICE_JOURNAL_H
#define WO_DEVICE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/device.h"
#include "parsers/base/vec.h"

enum wo_journal_kind {
  WO_JOURNAL_SEGMENT_ALLOC,
  WO_JOURNAL_SEGMENT_FREE,
  WO_JOURNAL_RANGE_RESERVE,
  WO_JOURNAL_RANGE_FREE,
  WO_JOURNAL_MAP,
  WO_JOURNAL_UNMAP,
  WO_JOURNAL_KIND_COUNT_
};

/* One call. */
struct wo_journal_call {
  uint64_t address; /* 0 if the call gives an address and was refused */
  uint64_t size_bytes;
  uint64_t handle_bytes; /* of MAP and UNMAP; else 0 */
  enum wo_journal_kind kind;
  bool is_refused; /* WO_E_LIMIT; calls that failed otherwise are not recorded, because they end the run */
};

/* Starts as {0}. */
struct wo_journal {
  const struct wo_device *device; /* borrowed: where the calls go */
  WO_VEC(struct wo_journal_call) calls;
};

/* A device that passes every call on to `device` and records it. It borrows the journal. */
struct wo_device wo_journal_device(struct wo_journal *journal, const struct wo_device *device);

/* Releases the calls; NULL allowed. */
void wo_journal_done(struct wo_journal *journal);

/* The model device. Set journal and capacity; the rest starts as 0. */
struct wo_echo {
  const struct wo_journal *journal; /* borrowed */
  uint64_t capacity_bytes;          /* also the card's size as the allocator sees it */
  uint64_t used_bytes;              /* in pages of 2 MiB, as the driver counts */
  size_t at;                        /* calls made */
  bool has_difference;
  struct wo_journal_call got; /* the call that is not in the journal at `at_difference` */
  size_t at_difference;
  uint64_t next_address; /* of addresses that are not in the journal */
};

/* The device; it borrows *echo. From the first difference on it goes its own way. */
struct wo_device wo_echo_device(struct wo_echo *echo);

/* Whether the calls were exactly those of the journal. If not, buf gets one clause about the first difference. */
bool wo_echo_agrees(const struct wo_echo *echo, char *buf, size_t cap);

#endif
