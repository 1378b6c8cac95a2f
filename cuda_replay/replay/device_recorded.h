/* A device that gives out what a recording shows: its segments and mapped ranges, with their addresses, in their order.
 *
 * It refuses memory where the recorded device must have refused it: when the next thing that the recording shows is a release or
 * an `oom`. Where the recording shows no segment at all it fails, as the replay has left the recording. */
#ifndef WO_DEVICE_RECORDED_H
#define WO_DEVICE_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/allocator/device.h"
#include "cuda_replay/replay/start.h"
#include "cuda_replay/recording/trace.h"

struct wo_device_recorded;

/* Makes a device. The trace is borrowed until it is freed; *ret_device borrows from the returned state. NULL when memory is out.
 */
struct wo_device_recorded *wo_device_recorded_new(const struct wo_recording *recording, const struct wo_trace *trace,
                                                  const struct wo_start *start, struct wo_device *ret_device);

/* The request that comes next is that of `entry`: only segment events before it can be part of it, and for a request that shows
 * itself by its releases those behind it up to the next request. Without this call everything is allowed in its order. */
void wo_device_recorded_seek(struct wo_device_recorded *device, size_t entry);

/* Frees; NULL allowed; returns NULL. */
struct wo_device_recorded *wo_device_recorded_free(struct wo_device_recorded *device);

#endif
