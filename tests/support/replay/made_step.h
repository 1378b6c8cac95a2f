/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up training step of a transformer with known dimensions: what classification and scaling are tested on, because the same
 * step can be made at any other batch and length. */
#ifndef WO_TEST_MADE_STEP_H
#define WO_TEST_MADE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"

enum wo_made_stacks { WO_MADE_BOTH, WO_MADE_PYTHON, WO_MADE_NONE };

struct wo_made_shape {
  uint64_t batch, length, hidden, heads, layers, vocabulary;
  bool is_mixed;       /* autocast: products in 2 bytes from casts of weights and activations */
  bool is_fused;       /* fused attention: no scores */
  bool is_manual;      /* softmax by max, exp, sum and div, as some programs write it */
  bool is_unnamed;     /* no function is named after attention or softmax */
  bool is_shifted;     /* the loss leaves out the last position */
  bool is_accumulated; /* forward and backward run twice; the second gradients are added to the first */
  bool is_in_place;    /* optimizer states are alive at the start; else they are made anew in each step */
  enum wo_made_stacks stacks;
};

/* A recording with the pattern of one step. */
struct wo_made_step {
  struct wo_recording *recording;
  struct wo_alloc_pattern pattern;
};

/* Makes it; ends the program when memory is out. Released with wo_made_step_done. */
struct wo_made_step wo_made_step_make(const struct wo_made_shape *shape);
void wo_made_step_done(struct wo_made_step *step);

/* A stack of frames, innermost first, separated by '|': "function@file.py:12" of Python, anything else of C++. Returns its index.
 */
uint32_t wo_made_stack(struct wo_recording *recording, const char *frames);

#endif
