/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lines of a stack that people want to see: the line that asked for memory, and the line of their own program.
 *
 * Stacks begin deep inside PyTorch's C++ code. The file name decides where a frame belongs; the table is in user_frame.c. Pure;
 * any thread. */
#ifndef WO_USER_FRAME_H
#define WO_USER_FRAME_H

#include <stdint.h>

#include "cuda_replay/recording/trace.h"

#define WO_NO_FRAME UINT32_MAX

/* Where a frame belongs, from the machinery to the program. */
enum wo_frame_origin {
  WO_FRAME_NATIVE,  /* C++ and other compiled code */
  WO_FRAME_TORCH,   /* PyTorch's Python code, its compiler's output included */
  WO_FRAME_PYTHON,  /* Python's own library */
  WO_FRAME_LIBRARY, /* installed packages: transformers, deepspeed, ... */
  WO_FRAME_USER
};

/* Where a frame belongs. */
enum wo_frame_origin wo_frame_origin(const struct wo_frame *frame);

/* The frames to show for a stack, as indices into recording->frames. asker: the innermost frame that is neither native, torch nor
 * Python's own; else the innermost Python frame; else the node of the autograd graph, the operator, or the innermost frame. user:
 * the innermost frame of the user's program, or WO_NO_FRAME. Both are WO_NO_FRAME for WO_NO_STACK and for empty stacks. */
struct wo_stack_sites {
  uint32_t asker;
  uint32_t user;
};
struct wo_stack_sites wo_stack_sites(const struct wo_recording *recording, uint8_t *known, uint32_t stack);

/* The function without arguments and without the namespace of nodes, which make C++ frames long ("BmmBackward0::apply"). */
struct wo_view wo_frame_function_name(const struct wo_frame *frame);

/* The last part of a file's path ("train.py"). */
struct wo_view wo_frame_file_name(const struct wo_frame *frame);

#endif
