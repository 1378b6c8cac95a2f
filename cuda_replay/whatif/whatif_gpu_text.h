/* SPDX-License-Identifier: Apache-2.0 */
/* Clauses about a GPU for every report of a run on one. */
#ifndef WO_WHATIF_GPU_TEXT_H
#define WO_WHATIF_GPU_TEXT_H

#include "cuda_replay/whatif/whatif_gpu.h"
#include "parsers/base/text.h"

enum { WO_GPU_DRIVER_TEXT = 32 };

/* Writes "CUDA 12.4" to a buffer of WO_GPU_DRIVER_TEXT bytes, which is returned. */
const char *wo_gpu_driver_text(const struct wo_device_gpu_info *info, char *buf);

/* Adds "GPU 0, NVIDIA H100 (CUDA 12.4)". The number is the driver's, which counts by visible_devices, so this is added; empty if
 * not set. */
void wo_gpu_add_card(const struct wo_device_gpu_info *info, int ordinal, struct wo_view visible_devices, struct wo_text *out);

/* Adds "not a card's results: WHYOOM_CUDA_LIBRARY=PATH answers in place of the driver", or the like for NVML. False, and nothing
 * is added, when both are the system's. */
bool wo_gpu_add_libraries(const struct wo_gpu_libraries *libraries, struct wo_text *out);

/* Adds "every request was served", or the first one that failed with its entry, if that is known. */
void wo_gpu_add_request(const struct wo_replay_outcome *outcome, struct wo_text *out);

/* Adds that everything was given back, or how many pieces the driver did not take back. */
void wo_gpu_add_left(uint64_t left_count, struct wo_text *out);

#endif
