/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in a proof. See verify.h. */
#include <assert.h>

#include "cuda_replay/verify/verify.h"

const char *wo_verify_verdict_name(enum wo_verify_verdict verdict) {
  static const char *const names[] = {[WO_VERIFY_PROVEN] = "proven",
                                      [WO_VERIFY_ACCEPTED] = "accepted_reconstructed",
                                      [WO_VERIFY_RECONSTRUCTED] = "reconstructed_only",
                                      [WO_VERIFY_NONE_FITS] = "none_fits",
                                      [WO_VERIFY_OPEN] = "open",
                                      [WO_VERIFY_NOT_SHOWN] = "failure_not_recorded",
                                      [WO_VERIFY_NO_PATTERN] = "no_pattern",
                                      [WO_VERIFY_NO_FAILURE] = "no_gpu_failure",
                                      [WO_VERIFY_UNCONFIRMED] = "not_confirmed"};
  assert(verdict < WO_VERIFY_VERDICT_COUNT_);
  return names[verdict];
}

const struct wo_verify_row *wo_verify_cheapest(const struct wo_verify *verify) {
  const struct wo_verify_row *found = NULL;
  for (size_t i = 0; i < verify->row_count; i++) {
    const struct wo_verify_row *const row = &verify->rows[i];
    if (row->choice_count == 0 || row->result.fit != WO_VERIFY_YES) continue;
    if (!found || row->cost < found->cost) found = row;
  }
  return found;
}

bool wo_verify_row_has_by_hand(const struct wo_verify *verify, const struct wo_verify_row *row) {
  for (size_t i = 0; i < row->choice_count; i++) {
    if (verify->asked.job->proposals[row->choices[i].proposal].is_by_hand) return true;
  }
  return false;
}

bool wo_verify_is_open_by_hand(const struct wo_verify *verify) {
  const bool is_proven = verify->verdict == WO_VERIFY_PROVEN || verify->verdict == WO_VERIFY_ACCEPTED;
  return is_proven && !verify->asked.accepts_by_hand && wo_verify_row_has_by_hand(verify, verify->chosen);
}

const struct wo_verify_row *wo_verify_row_of(const struct wo_verify *verify, size_t proposal) {
  for (size_t i = 0; i < verify->row_count; i++) {
    if (verify->rows[i].choice_count == 1 && verify->rows[i].choices[0].proposal == proposal) return &verify->rows[i];
  }
  return NULL;
}
