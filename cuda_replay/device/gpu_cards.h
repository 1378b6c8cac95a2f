/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the cards before one of them is used: which exist, their state, and the processes on them. */
#ifndef WO_GPU_CARDS_H
#define WO_GPU_CARDS_H

#include "cuda_replay/device/cuda_driver.h"
#include "cuda_replay/device/nvml.h"
#include "parsers/base/text.h"

/* The driver's UUID of a card as NVML spells it: "GPU-..." or, for a slice, "MIG-...". Empty when it is not known. Returns buf,
 * which has room for WO_GPU_UUID_BYTES. */
enum { WO_GPU_UUID_BYTES = 48 };
const char *wo_gpu_uuid(const struct wo_cuda_driver *driver, int device, char *buf);

/* Checks, without a call that changes anything, whether the card can be used at all: it exists (WO_E_RANGE: the message lists the
 * cards and their memory), is not in MIG mode as a whole, and allows compute work (WO_E_IO). nvml may be {0}. visible: the value
 * of CUDA_VISIBLE_DEVICES, which sets the driver's numbers; NULL for none. */
enum wo_status wo_gpu_look(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, const char *visible,
                           struct wo_err *err);

/* Adds the other processes on the card: "; on it: pid 4711 python 20.00 GiB, ...", or that they are not known. */
void wo_gpu_add_holders(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, struct wo_text *out);

#endif
