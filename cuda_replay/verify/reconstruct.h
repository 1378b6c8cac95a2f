/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern made from the sizes in a log if nothing was recorded, in the form of a recording.
 *
 * It has weights, gradients and optimizer states by layer, the rest of the allocated bytes as activations of a forward pass,
 * holes that match the unallocated bytes, and the refused request at the end. It answers "would this be enough?" only as well as
 * its figures, so every user of it says that. Pure; one thread. */
#ifndef WO_RECONSTRUCT_H
#define WO_RECONSTRUCT_H

#include <stdbool.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/exchange/proposal.h"

/* Makes the recording; it is valid and of one device. *ret_lacks_activations: the model's states alone exceed the card, so it
 * holds only these, and the further need of a changed job is open. WO_E_RANGE if the figures contradict each other or too little
 * is known (the message says what would help); WO_E_NOMEM. Any doubles are accepted, including NaN. */
enum wo_status wo_reconstruct(const struct wo_job_sizes *sizes, struct wo_recording **ret_recording, bool *ret_lacks_activations,
                              struct wo_err *err);

#endif
