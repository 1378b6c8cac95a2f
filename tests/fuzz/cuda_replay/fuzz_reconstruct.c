/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reconstruction: any sizes at all give a valid pattern that can be replayed, or a refusal with a reason.
 *
 * The input is a row of doubles as they lie in memory, in the order of struct wo_job_sizes, so that NaN, infinities, negative and
 * tiny numbers come up by themselves; the next byte sets flags, the rest is the allocator's settings string. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda_replay/verify/reconstruct.h"
#include "cuda_replay/verify/verify_trial.h"
#include "tests/fuzz/require.h"
#include "cuda_replay/recording/recording_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMBERS = 17, ENTRIES_TRIED_MAX = 4000 };

static double number_at(const uint8_t *data, size_t size, size_t index) {
  double value = -1;
  if ((index + 1) * sizeof value <= size) memcpy(&value, data + index * sizeof value, sizeof value);
  return value;
}

/* A pattern that was handed out can be asked anything. */
static void try_it(const struct wo_recording *recording, const struct wo_job_sizes *sizes) {
  struct wo_verify_subject subject;
  struct wo_verify_result result;
  struct wo_err err = {0};
  if (recording->traces.items[0].entries.count > ENTRIES_TRIED_MAX) return;
  const enum wo_status status =
      wo_verify_subject_make(recording, &recording->traces.items[0], (struct wo_view){0}, sizes, 0, 0, &subject, &err);
  require(status == WO_OK || status == WO_E_NOMEM);
  if (status != WO_OK) return;
  require(wo_verify_try(&subject, NULL, 0, &result, &err) == WO_OK);
  require(result.reserved_lo_bytes <= result.reserved_hi_bytes);
  wo_verify_subject_done(&subject);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_job_sizes sizes = {0};
  double *const fields[NUMBERS] = {&sizes.capacity_bytes,    &sizes.tried_bytes,       &sizes.free_bytes,  &sizes.allocated_bytes,
                                   &sizes.unallocated_bytes, &sizes.non_pytorch_bytes, &sizes.other_bytes, &sizes.weights_bytes,
                                   &sizes.gradients_bytes,   &sizes.optimizer_bytes,   &sizes.parameters,  &sizes.trainable,
                                   &sizes.micro_batch,       &sizes.seq_len,           &sizes.layers,      &sizes.hidden,
                                   &sizes.vocabulary};
  static const char *const phases[] = {"", "forward", "load", "startup"};
  struct wo_recording *recording = NULL;
  bool lacks_activations = false;
  struct wo_err err = {0};
  for (size_t i = 0; i < NUMBERS; i++) *fields[i] = number_at(data, size, i);
  const size_t at = NUMBERS * sizeof(double);
  if (size > at) {
    sizes.are_contradicting = (data[at] & 1) != 0;
    sizes.has_checkpointing = (data[at] & 2) != 0;
    sizes.phase = wo_view_of(phases[data[at] / 4 % 4]);
    sizes.alloc_conf = (struct wo_view){(const char *)data + at + 1, size - at - 1};
  }
  const enum wo_status status = wo_reconstruct(&sizes, &recording, &lacks_activations, &err);
  require(status == WO_OK || status == WO_E_RANGE || status == WO_E_NOMEM);
  require((status == WO_OK) == (recording != NULL));
  require(status == WO_OK || err.message[0] != '\0');
  if (recording) {
    require(wo_recording_is_valid(recording));
    try_it(recording, &sizes);
  }
  wo_recording_free(recording);
  return 0;
}
