/* A recording that never was: a pattern put together from what a log tells of sizes, when nothing was recorded.
 *
 * Weights, gradients and optimizer states by layer, what is left of the allocated bytes as activations of a forward pass, holes
 * that match the unallocated bytes, and the refused request at the end. It answers "would this be enough?" no better than its
 * figures, so that everything that uses it says so. Pure; one thread. */
#ifndef WO_RECONSTRUCT_H
#define WO_RECONSTRUCT_H

#include <stdbool.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/exchange/proposal.h"

/* Makes the recording; it is valid and of one device. *ret_lacks_activations: the model's states alone exceed the card, so that
 * these are all that it holds, and what a changed job needs beside them is open. WO_E_RANGE when the figures contradict each
 * other or too little is known (the message says what would help); WO_E_NOMEM. Any doubles are taken, NaN included. */
enum wo_status wo_reconstruct(const struct wo_job_sizes *sizes, struct wo_recording **ret_recording, bool *ret_lacks_activations,
                              struct wo_err *err);

#endif
