/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest change that is enough: the largest micro-batch, or length, at which a job fits. */
#ifndef WO_VERIFY_SEARCH_H
#define WO_VERIFY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/verify/verify_trial.h"

/* On all ranks at once: the worst one decides. */
struct wo_verify_search {
  const struct wo_verify_subject *subjects;
  size_t subject_count;
  bool keeps_length; /* no length below the proposed one is tried */
  unsigned shuffles; /* for the answer; the search tries fewer orders of addresses */
};

/* Tries one change (NULL: none) on every subject; the worst result is kept. WO_E_NOMEM. */
enum wo_status wo_verify_search_try(const struct wo_verify_search *search, const struct wo_change *change,
                                    struct wo_verify_result *ret_result, struct wo_err *err);

/* Tries a change. If it lowers the micro-batch (among the divisors of the old one, so that accumulation can keep the effective
 * batch) or the length (multiples of 64, down to a quarter), the largest value that fits is put into *change; if none fits, the
 * smallest. If both axes change, the length stays as proposed. *ret_is_searched: whether a value was searched. WO_E_NOMEM. */
enum wo_status wo_verify_search_run(const struct wo_verify_search *search, struct wo_change *change,
                                    struct wo_verify_result *ret_result, bool *ret_is_searched, struct wo_err *err);

#endif
