/* SPDX-License-Identifier: Apache-2.0 */
/* Aligns two sequences of symbols: finds which elements of the first correspond to which elements of the second, in order, with
 * as few unmatched elements as possible. One thread at a time. */
#ifndef WO_SEQUENCE_MATCH_H
#define WO_SEQUENCE_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

#define WO_NO_MATCH UINT32_MAX

/* Fills matches[i] with the index in `second` that corresponds to first[i], or WO_NO_MATCH; indices rise. Both counts must be
 * below 2^31. The result is exact (a shortest edit script) as long as two equal stretches are at most 512 insertions and
 * deletions apart; if they are further apart, the path that got furthest is taken. Time is at most about 1000 steps per element.
 * WO_E_NOMEM. */
enum wo_status wo_sequence_match(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                 uint32_t *matches);

/* The same if the first is similar to a beginning of the second: elements of the second after that beginning are no edits. The
 * search gives up soon after edits_max insertions and deletions, and the rest gets no match, so that sequences that do not fit
 * cost little. *ret_used is the number of elements of the second that the matched part of the first covers. */
enum wo_status wo_sequence_match_beginning(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                           size_t edits_max, uint32_t *matches, size_t *ret_used);

#endif
