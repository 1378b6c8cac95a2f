/* SPDX-License-Identifier: Apache-2.0 */
/* Private to lives*.c: the parts of reading lives. */
#ifndef WO_LIVES_INTERNAL_H
#define WO_LIVES_INTERNAL_H

#include "cuda_replay/lives/lives.h"

/* Fills lives->ranges, in order. False if memory is out. */
bool wo__lives_read_ranges(struct wo_lives *lives);

#endif
