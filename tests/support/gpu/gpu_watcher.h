/* SPDX-License-Identifier: Apache-2.0 */
/* What watches a replay on a card in tests: counts guards and progress, and interrupts after a given step; and which functions of
 * the driver may fail. Included after cmocka.h. */
#ifndef WO_TEST_GPU_WATCHER_H
#define WO_TEST_GPU_WATCHER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/whatif/device_hooks.h"

struct gpu_watcher {
  volatile sig_atomic_t is_cancelled;
  size_t cancel_at; /* after this many steps, of all runs together; 0: never */
  size_t steps;     /* of all runs */
  size_t in_run;    /* of the run that is under way */
  size_t overs;     /* runs that said they are over */
  int guards;       /* 1 while signals are watched */
};

static inline void gpu_watcher_guard(void *state, bool is_on) {
  struct gpu_watcher *const watcher = state;
  watcher->guards += is_on ? 1 : -1;
  assert_in_range(watcher->guards, 0, 1);
}

static inline void gpu_watcher_progress(void *state, const struct wo_gpu_progress *progress) {
  struct gpu_watcher *const watcher = state;
  assert_int_equal(watcher->guards, 1);
  if (progress->is_over) {
    watcher->overs++;
    watcher->in_run = 0;
    return;
  }
  watcher->steps++;
  assert_int_equal(progress->done, ++watcher->in_run);
  assert_true(progress->done <= progress->total);
  if (watcher->steps == watcher->cancel_at) watcher->is_cancelled = 1;
}

/* Lets `watcher`, which is borrowed, watch what the hooks are given to; their other members stay. */
static inline void gpu_watcher_attach(struct gpu_watcher *watcher, struct wo_replay_hooks *hooks) {
  hooks->state = watcher;
  hooks->guard = gpu_watcher_guard;
  hooks->is_cancelled = &watcher->is_cancelled;
  hooks->on_progress = gpu_watcher_progress;
}

/* The functions of the driver that a replay calls; each of them may fail. */
static const char *const gpu_symbols[] = {"cuInit",
                                          "cuDriverGetVersion",
                                          "cuDeviceGetCount",
                                          "cuDeviceGet",
                                          "cuDeviceGetName",
                                          "cuDeviceTotalMem_v2",
                                          "cuDeviceGetAttribute",
                                          "cuDeviceGetUuid_v2",
                                          "cuDevicePrimaryCtxRetain",
                                          "cuDevicePrimaryCtxRelease_v2",
                                          "cuCtxSetCurrent",
                                          "cuMemGetInfo_v2",
                                          "cuMemAlloc_v2",
                                          "cuMemFree_v2",
                                          "cuMemAddressReserve",
                                          "cuMemAddressFree",
                                          "cuMemCreate",
                                          "cuMemRelease",
                                          "cuMemMap",
                                          "cuMemUnmap",
                                          "cuMemSetAccess"};

#endif
