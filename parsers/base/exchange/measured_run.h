/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a job whose memory was measured, and the memory that the same job needs at another micro-batch or length.
 *
 * The diagnosis finds it (a monitoring trace, printed statistics); the ladder upwards and the proof of a reconstructed pattern
 * calculate with it. Pure; any thread. */
#ifndef WO_MEASURED_RUN_H
#define WO_MEASURED_RUN_H

#include <stdbool.h>

#include "parsers/base/number.h"

/* Bytes are those of the card with the highest peak; 0 = not known unless said otherwise. */
struct wo_measured_run {
  double micro_batch; /* at least 1; 0: there is no such run */
  double seq_len;
  double peak_bytes;            /* more than 0 */
  double fixed_bytes;           /* of the peak: certainly does not grow with the tokens; at most the peak */
  double least_bytes_per_token; /* of one pass: certainly on the card at once, beside fixed_bytes */
  bool is_attention_fused;      /* nothing grows with the square of the length */
};

/* The bytes that the same program holds at the peak with another micro-batch (at least 1) and length, as an interval that is true
 * for every kind of program. Without a length on either side (0) the length counts as unchanged.
 *
 * Upwards:   upper = fixed + (peak - fixed) x factor      everything but the states grows with the tokens
 *            lower = max(peak, fixed + tokens x least)    the peak may not grow at all, since it may be in the optimizer's
 *                                                         step or in the allocator's cache; but the bytes that one pass
 *                                                         surely holds must be there
 * Downwards: upper = peak, lower = fixed + (peak - fixed) x factor.
 *
 * With another length the factor is that of its square unless attention is fused. */
struct wo_interval wo_measured_run_predict(const struct wo_measured_run *run, double micro_batch, double seq_len);

#endif
