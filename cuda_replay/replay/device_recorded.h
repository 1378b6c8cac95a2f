/* SPDX-License-Identifier: Apache-2.0 */
/* A device that returns the segments and mapped ranges of a recording, with their addresses, in their order.
 *
 * It refuses memory where the recorded device must have refused it: if the next event in the recording is a release or an `oom`.
 * If the recording has no further segment, it fails, because the replay has left the recording. */
#ifndef WO_DEVICE_RECORDED_H
#define WO_DEVICE_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/allocator/device.h"
#include "cuda_replay/replay/start.h"
#include "cuda_replay/recording/trace.h"

struct wo_device_recorded;

/* Makes a device. The trace is borrowed until it is freed; *ret_device borrows from the returned state. NULL if memory is out. */
struct wo_device_recorded *wo_device_recorded_new(const struct wo_recording *recording, const struct wo_trace *trace,
                                                  const struct wo_start *start, struct wo_device *ret_device);

/* The next request is that of `entry`: only segment events before it can belong to it, and, for a request that is visible through
 * its releases, the events after it up to the next request. Without this call all events are allowed in their order. */
void wo_device_recorded_seek(struct wo_device_recorded *device, size_t entry);

/* Frees; NULL allowed; returns NULL. */
struct wo_device_recorded *wo_device_recorded_free(struct wo_device_recorded *device);

#endif
