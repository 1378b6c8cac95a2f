/* Aligns two sequences of symbols: which elements of the first correspond to which of the second, in order, with as few as
 * possible left over. One thread at a time. */
#ifndef WO_SEQUENCE_MATCH_H
#define WO_SEQUENCE_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

#define WO_NO_MATCH UINT32_MAX

/* Fills matches[i] with the index in `second` that first[i] corresponds to, or WO_NO_MATCH; rising. Both counts below 2^31. Exact
 * (a shortest edit script) as long as two stretches that agree are at most 512 insertions and deletions apart; beyond, the path
 * that got furthest is taken. Time is at most about 1000 steps for each element. WO_E_NOMEM. */
enum wo_status wo_sequence_match(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                 uint32_t *matches);

/* The same where the first is the beginning of something like the second: what the second has beyond that beginning is no edit.
 * Some way behind edits_max insertions and deletions it gives up, and the rest has no match, so that what does not fit costs
 * little. *ret_used is how many elements of the second correspond to what was matched of the first. */
enum wo_status wo_sequence_match_beginning(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
                                           size_t edits_max, uint32_t *matches, size_t *ret_used);

#endif
