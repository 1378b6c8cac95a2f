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
  bool keeps_length; /* a length is not searched below the proposed one */
  unsigned shuffles; /* of the answer; on the way fewer orders of addresses are tried */
};

/* Tries one change (NULL: none) on every subject; the worst result is kept. WO_E_NOMEM. */
enum wo_status wo_verify_search_try(const struct wo_verify_search *search, const struct wo_change *change,
                                    struct wo_verify_result *ret_result, struct wo_err *err);

/* Tries a change; where it lowers the micro-batch (among the divisors of the old one, so that accumulation can keep the effective
 * batch) or the length (multiples of 64, down to a quarter), the largest value that fits is put into *change. Where none fits it
 * is the smallest. Of two axes the length stays as proposed. *ret_is_searched tells whether a value was searched. WO_E_NOMEM. */
enum wo_status wo_verify_search_run(const struct wo_verify_search *search, struct wo_change *change,
                                    struct wo_verify_result *ret_result, bool *ret_is_searched, struct wo_err *err);

#endif
