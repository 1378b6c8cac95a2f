/* SPDX-License-Identifier: Apache-2.0 */
/* The interval of a measured run at other settings. See measured_run.h. */
#include "parsers/base/exchange/measured_run.h"

#include <assert.h>

struct wo_interval wo_measured_run_predict(const struct wo_measured_run *run, double micro_batch, double seq_len) {
  assert(run->micro_batch >= 1 && micro_batch >= 1);
  const double batch_factor = micro_batch / run->micro_batch;
  const double length_factor = run->seq_len > 0 && seq_len > 0 ? seq_len / run->seq_len : 1;
  const double square = run->is_attention_fused ? length_factor : length_factor * length_factor;
  /* A shorter length takes a share between the two away; the ends take the one that is farther out. */
  const double high_factor = batch_factor * (square > length_factor ? square : length_factor);
  const double low_factor = batch_factor * (square < length_factor ? square : length_factor);
  const double growing = run->peak_bytes - run->fixed_bytes;
  double hi = run->fixed_bytes + growing * high_factor;
  double lo = run->fixed_bytes + growing * low_factor;
  if (hi < run->peak_bytes) hi = run->peak_bytes;
  if (lo > run->peak_bytes) lo = run->peak_bytes;
  const double least = run->fixed_bytes + micro_batch * seq_len * run->least_bytes_per_token;
  if (lo < least) lo = least;
  if (lo > hi) lo = hi;
  return (struct wo_interval){lo, (lo + hi) / 2, hi};
}
