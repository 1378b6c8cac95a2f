/* SPDX-License-Identifier: Apache-2.0 */
/* What every reader of recordings guarantees, for any bytes. */
#ifndef WO_RECORDING_VALID_H
#define WO_RECORDING_VALID_H

#include "cuda_replay/recording/trace.h"

/* Whether every index is inside its array, blocks fill their segments and segments do not overlap. */
bool wo_recording_is_valid(const struct wo_recording *recording);

#endif
