/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about an allocation from the frames of its stack: the operator, the phase, the part of the program.
 *
 * Facts come from the names that PyTorch's own C++ frames carry (at::_ops::NAME, NAMEBackward::apply, the autograd engine) and
 * from common words in the names of Python functions and files. A recording may lack either sort, or all stacks: has_native and
 * has_python say so. Facts are computed once for each distinct stack. Pure; one thread at a time. */
#ifndef WO_STACK_FACTS_H
#define WO_STACK_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace.h"
#include "parsers/base/status.h"

/* How an operator changes shapes; aten_ops.def has the kind of each operator. */
enum wo_op_kind {
  WO_OP_NONE,        /* no operator in the stack */
  WO_OP_OTHER,       /* an operator that is not in the table */
  WO_OP_PLUMBING,    /* makes memory for another operator (empty, resize_): skipped */
  WO_OP_COPY,        /* same shape and type (clone, contiguous) */
  WO_OP_CAST,        /* same shape, another type */
  WO_OP_POINTWISE,   /* the shape of its (broadcast) operands */
  WO_OP_COMPARE,     /* the same, one byte for each element */
  WO_OP_REDUCE,      /* drops or shrinks a dimension: sum, max */
  WO_OP_NORMALIZE,   /* reduces over features: mean, var, norm */
  WO_OP_SOFTMAX,     /* softmax proper */
  WO_OP_LOG_SOFTMAX, /* the loss's */
  WO_OP_MATMUL,      /* products, with weights or between activations */
  WO_OP_CONVOLUTION,
  WO_OP_ATTENTION, /* fused kernels that keep no scores */
  WO_OP_FACTORY,   /* makes a tensor of a given shape: arange, ones, tril */
  WO_OP_INDEX,
  WO_OP_JOIN, /* cat, stack */
  WO_OP_LOSS
};

enum wo_stack_flag {
  WO_STACK_HAS_PYTHON = 1 << 0,
  WO_STACK_HAS_NATIVE = 1 << 1, /* frames of C++ */
  WO_STACK_BACKWARD = 1 << 2,   /* inside of the autograd engine */
  WO_STACK_OPTIMIZER = 1 << 3,  /* inside of an optimizer's step */
  WO_STACK_RECOMPUTE = 1 << 4,  /* a checkpointed forward that runs again */
  WO_STACK_ATTENTION = 1 << 5,  /* a Python function near the operator is named after attention or softmax */
  WO_STACK_LOSS = 1 << 6,
  WO_STACK_COMMUNICATION = 1 << 7,
  WO_STACK_WORKSPACE = 1 << 8,
  WO_STACK_DATA = 1 << 9,    /* data loading, copies to the device at the start */
  WO_STACK_SETUP = 1 << 10,  /* modules built, moved or loaded */
  WO_STACK_MATMUL = 1 << 11, /* a product anywhere in the stack, not only innermost */
  WO_STACK_SOFTMAX = 1 << 12,
  WO_STACK_SCRATCH = 1 << 13,    /* a kernel's own temporary (reduction, sort) */
  WO_STACK_DEQUANTIZE = 1 << 14, /* weights unpacked */
  WO_STACK_BIAS = 1 << 15,       /* a product that adds a vector (addmm) */
  WO_STACK_PLAN = 1 << 16,   /* the workspace of one of cuDNN's plans for a convolution: another plan needs another, or none */
  WO_STACK_MODULE = 1 << 17, /* inside of the call of a module: no batch is made there */
  WO_STACK_LAYER = 1 << 18,  /* a product that layers make with their weight (linear, addmm, convolution) */
  WO_STACK_CONVOLUTION = 1 << 19,
  WO_STACK_UNNAMED = 1 << 20 /* C++ frames without names, as torch 2.15 writes those that a library keeps to itself */
};

struct wo_stack_facts {
  uint32_t flags;   /* enum wo_stack_flag */
  uint8_t kind;     /* enum wo_op_kind of the innermost operator that is not plumbing */
  uint32_t op;      /* that operator's name without suffixes, case and underscores, hashed; 0 = none */
  uint32_t node;    /* the backward node's ("ExpBackward0" gives the value of "exp"), hashed; 0 = none */
  uint32_t context; /* the innermost Python functions, hashed; 0 = none */
};

struct wo_stack_facts_set {
  struct wo_stack_facts *items; /* one for each stack of the recording */
  size_t count, capacity;
  uint32_t all_flags; /* of all stacks together: everything that the recording shows */
};

/* Whether a recording has convolutions, but not the names of their kernels: their workspaces look like other temporaries. */
static inline bool wo_stack_facts_hide_kernels(const struct wo_stack_facts_set *set) {
  const uint32_t all = set->all_flags;
  return (all & WO_STACK_CONVOLUTION) != 0 && ((all & WO_STACK_HAS_NATIVE) == 0 || (all & WO_STACK_UNNAMED) != 0);
}

/* The facts of all stacks. WO_E_NOMEM. */
enum wo_status wo_stack_facts_make(const struct wo_recording *recording, struct wo_stack_facts_set *ret_set);

/* The facts of a stack index. WO_NO_STACK: none; but BACKWARD in a recording that has only Python stacks, where the threads of
 * the autograd engine have no stack. */
struct wo_stack_facts wo_stack_facts_of(const struct wo_stack_facts_set *set, uint32_t stack);

/* Releases what it owns; NULL allowed. */
void wo_stack_facts_done(struct wo_stack_facts_set *set);

#endif
