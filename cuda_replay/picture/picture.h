/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a value that can be drawn without it: see recorded_memory.h. */
#ifndef WO_PICTURE_H
#define WO_PICTURE_H

#include "parsers/base/anonymize/pseudonyms.h"
#include "parsers/base/arena.h"
#include "parsers/base/exchange/recorded_memory.h"

/* Reads the recording, replays it as it was, and fills *ret_memory for its first card on which a request failed, else for its
 * first one. `path` ends with a NUL byte. With pseudonyms (NULL: none) no name of the recording is in what is made. A recording
 * of requests alone does not show what the allocator made of them: it is run on the model with what the job left to PyTorch
 * (capacity_bytes; 0: not known, and nothing is shown). False, and *ret_memory unchanged: it cannot be read or replayed, or has
 * nothing to show; the arena is exhausted if that is why. */
bool wo_picture_make(const char *path, double capacity_bytes, struct wo_pseudonyms *pseudonyms, struct wo_arena *arena,
                     struct wo_recorded_memory *ret_memory);

#endif
