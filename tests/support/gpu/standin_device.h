/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in card (standin.h) as the device of an allocator model (cuda_replay/allocator/device.h). */
#ifndef WO_STANDIN_DEVICE_H
#define WO_STANDIN_DEVICE_H

#include "cuda_replay/allocator/device.h"
#include "tests/stand_in/standin.h"

/* The device borrows the stand-in. */
struct wo_device wo_standin_device(struct wo_standin *standin);

#endif
