/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses of private pools, and their search. Private to check_pools.c and check_pool_guesses.c. */
#ifndef WO_CHECK_POOLS_INTERNAL_H
#define WO_CHECK_POOLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/replay/check_internal.h"

/* The most segments and requests that are hidden. */
enum { WO__HIDDEN_MAX = 1024 };

enum wo__guess { WO__GUESS_NONE, WO__GUESS_MADE, WO__GUESS_NO_MEMORY };

/* The entry before `end` that allocated the segment which holds an address and that is released later; SIZE_MAX: none. */
size_t wo__find_segment(const struct wo_trace *trace, uint64_t address, size_t end);

/* Takes the segment or the request of an entry for one of the pool `number`. NONE: its pool is known, or there are too many. */
enum wo__guess wo__hide(struct wo__checker *checker, size_t entry, uint32_t number);

bool wo__is_hidden(const struct wo__checker *checker, size_t entry);

/* A guess at the divergence of a trial: changes the readings, also where it says NONE. */
typedef enum wo__guess wo__guess_one(struct wo__checker *checker, const struct wo__start_trial *trial);

wo__guess_one wo__guess_suspect, wo__guess_emptied, wo__guess_each_emptied, wo__guess_tail, wo__guess_each_of_tail,
    wo__guess_shown, wo__guess_left;

#endif
