/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, frames and stacks of a recording, each kept once.
 *
 * Readers pass every text, frame and stack that they read, and get the index of its only copy. It is used while a recording is
 * made; memory grows with the number of distinct values. One interner must not be used by two threads at once. */
#ifndef WO_TRACE_INTERN_H
#define WO_TRACE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/vec.h"

/* Maps a hash to the indices that have it: open addressing, at most half full. */
struct wo_hash_index {
  struct wo_hash_slot {
    uint32_t next_id; /* index + 1; 0 = free */
    uint32_t hash;    /* chooses the place, too */
  } * slots;
  size_t capacity; /* 0 or a power of two */
  size_t count;
};

/* A frame by the numbers of its texts. */
struct wo_text_frame {
  uint32_t function, file, line;
};

/* An interner. Texts are numbered in the order in which they first come. */
struct wo_intern {
  struct wo_recording *recording;      /* borrowed */
  uint64_t seed;                       /* so that no file can be made to collide */
  WO_VEC(struct wo_view) texts;        /* in the recording's arena */
  WO_VEC(struct wo_text_frame) frames; /* of recording.frames */
  struct wo_hash_index text_index, frame_index, stack_index, stream_index, pool_index;
};

/* Makes an empty interner for a new recording. Allocates nothing. */
void wo_intern_init(struct wo_intern *intern, struct wo_recording *recording);

/* Releases the interner's own memory; the recording stays. */
void wo_intern_done(struct wo_intern *intern);

/* The index of a text. WO_E_NOMEM; WO_E_LIMIT above WO_LIMIT_TRACE_TEXT_BYTES. */
enum wo_status wo_intern_text(struct wo_intern *intern, struct wo_view text, uint32_t *ret_text);

/* The index of a frame in recording.frames. Both texts are indices of wo_intern_text. WO_E_NOMEM, WO_E_LIMIT. */
enum wo_status wo_intern_frame(struct wo_intern *intern, uint32_t function, uint32_t file, uint32_t line, uint32_t *ret_frame);

/* Adds a frame to recording.stack_frames, where a stack is being made. WO_E_NOMEM, WO_E_LIMIT. */
enum wo_status wo_intern_add_frame(struct wo_intern *intern, struct wo_view function, struct wo_view file, uint32_t line);

/* The index of the stack whose frames were added as recording.stack_frames[first .. first + count), innermost first. If the same
 * stack is known already and these are the last frames, they are removed again. WO_E_NOMEM. */
enum wo_status wo_intern_stack(struct wo_intern *intern, uint32_t first, uint32_t count, uint32_t *ret_stack);

/* The index of a stream in recording.streams / of a pool in recording.pools; stream 0 and pool {0, 0} are always there.
 * WO_E_LIMIT above the maximum, WO_E_NOMEM. */
enum wo_status wo_intern_stream(struct wo_intern *intern, uint64_t raw, uint32_t *ret_stream);
enum wo_status wo_intern_pool(struct wo_intern *intern, struct wo_pool_id id, uint32_t *ret_pool);

#endif
