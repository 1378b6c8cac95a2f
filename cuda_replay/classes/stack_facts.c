/* SPDX-License-Identifier: Apache-2.0 */
/* Reads stacks: each distinct frame is read once (frame_facts); the facts of a stack are the sum of its frames, innermost first.
 * The tables at the top hold every word that is searched. */
#include "cuda_replay/classes/stack_facts.h"

#include <assert.h>
#include <string.h>

#include "cuda_replay/classes/user_frame.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* Names are compared by hash: FNV-1a of the letters and digits in lower case, so that "_to_copy" and "ToCopy" are the same. */
enum { WO_HASH_PRIME = 16777619 };
static const uint32_t hash_start = 2166136261u;

/* Never 0, which stands for "no name". Continues `hash`, so that several texts make one value. */
static uint32_t hash_name(uint32_t hash, struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if (!wo_is_alnum(name.ptr[i])) continue;
    hash = (hash ^ (uint8_t)wo_lower(name.ptr[i])) * (uint32_t)WO_HASH_PRIME;
  }
  return hash == 0 ? 1 : hash;
}

static const struct {
  const char *name;
  enum wo_op_kind kind;
} ops[] = {
#define WO_ATEN_OP(name, kind) {#name, WO_OP_##kind},
#include "cuda_replay/classes/aten_ops.def"
#undef WO_ATEN_OP
};

enum { OPS_COUNT = sizeof ops / sizeof ops[0], OP_SLOTS = 2048 };
static_assert(OPS_COUNT * 4 <= OP_SLOTS * 3, "the table of operators is too full");

/* Operators by hash, open addressing; 0 is an empty slot, else index + 1. */
struct op_index {
  uint32_t hashes[OP_SLOTS];
  uint16_t slots[OP_SLOTS];
};

/* It is filled for each recording: a few hundred insertions cost less than the frames of a recording, and there is no global
 * state. */
static void op_index_fill(struct op_index *index) {
  *index = (struct op_index){0};
  for (size_t i = 0; i < OPS_COUNT; i++) {
    uint32_t hash = hash_name(hash_start, wo_view_of(ops[i].name));
    size_t slot = hash % OP_SLOTS;
    while (index->slots[slot] != 0) slot = (slot + 1) % OP_SLOTS;
    index->hashes[slot] = hash;
    index->slots[slot] = (uint16_t)(i + 1);
  }
}

/* The kind of a name; NONE when the table does not have it. */
static enum wo_op_kind op_index_find(const struct op_index *index, uint32_t hash) {
  for (size_t slot = hash % OP_SLOTS; index->slots[slot] != 0; slot = (slot + 1) % OP_SLOTS) {
    if (index->hashes[slot] == hash) return ops[index->slots[slot] - 1].kind;
  }
  return WO_OP_NONE;
}

/* Words in C++ frames, and their meaning. */
static const struct {
  const char *word;
  uint32_t flag;
} native_words[] = {
    {"torch::autograd::Engine::", WO_STACK_BACKWARD},
    {"orkspace", WO_STACK_WORKSPACE},
    {"run_conv_plan", WO_STACK_PLAN},
    {"run_fused_conv_plan", WO_STACK_PLAN},
    {"CUDABlasHandle", WO_STACK_WORKSPACE},
    {"CudnnHandle", WO_STACK_WORKSPACE},
    {"at::cuda::blas::", WO_STACK_WORKSPACE},
    {"c10d::", WO_STACK_COMMUNICATION},
    {"ProcessGroup", WO_STACK_COMMUNICATION},
    {"gpu_reduce_kernel", WO_STACK_SCRATCH},
    {"with_sort_kernel", WO_STACK_SCRATCH},
    {"cub::", WO_STACK_SCRATCH},
    {"cuda::cub", WO_STACK_SCRATCH},
    {"thrust::", WO_STACK_SCRATCH},
    {"ThrustAllocator", WO_STACK_SCRATCH},
    {"dequantize", WO_STACK_DEQUANTIZE},
    {"Dequantize", WO_STACK_DEQUANTIZE},
};

/* Words in the function or the file of a Python frame (upper or lower case), and in how many of the program's innermost functions
 * they count (1, 2 or 4): outer functions say nothing about the operator (compute_loss around the model). 0: anywhere. */
enum { REACHES = 3 };
static const unsigned reaches[REACHES] = {1, 2, 4};
static const struct {
  const char *word;
  bool is_file;
  unsigned reach;
  uint32_t flag;
} python_words[] = {
    {"attention", false, 4, WO_STACK_ATTENTION},
    {"attn", false, 4, WO_STACK_ATTENTION},
    {"sdpa", false, 4, WO_STACK_ATTENTION},
    {"softmax", false, 4, WO_STACK_ATTENTION},
    {"attention", true, 4, WO_STACK_ATTENTION},
    {"attn", true, 4, WO_STACK_ATTENTION},
    {"cross_entropy", false, 2, WO_STACK_LOSS},
    {"log_softmax", false, 2, WO_STACK_LOSS},
    {"logsoftmax", false, 2, WO_STACK_LOSS},
    {"logprob", false, 2, WO_STACK_LOSS},
    {"log_prob", false, 2, WO_STACK_LOSS},
    {"nll", false, 2, WO_STACK_LOSS},
    {"loss", false, 1, WO_STACK_LOSS},
    {"dequant", false, 4, WO_STACK_DEQUANTIZE},
    {"all_gather", false, 0, WO_STACK_COMMUNICATION},
    {"allgather", false, 0, WO_STACK_COMMUNICATION},
    {"reduce_scatter", false, 0, WO_STACK_COMMUNICATION},
    {"all_reduce", false, 0, WO_STACK_COMMUNICATION},
    {"allreduce", false, 0, WO_STACK_COMMUNICATION},
    {"unshard", false, 0, WO_STACK_COMMUNICATION},
    {"torch/nn/modules/conv.py", true, 0, WO_STACK_CONVOLUTION},
    {"dataloader", true, 0, WO_STACK_DATA},
    {"data_loader", true, 0, WO_STACK_DATA},
    {"collate", false, 0, WO_STACK_DATA},
    {"get_batch", false, 0, WO_STACK_DATA},
    {"send_to_device", false, 0, WO_STACK_DATA},
    {"to_device", false, 0, WO_STACK_DATA},
    {"prepare_input", false, 0, WO_STACK_DATA},
    {"load_state_dict", false, 0, WO_STACK_SETUP},
    {"from_pretrained", false, 0, WO_STACK_SETUP},
    {"load_model", false, 0, WO_STACK_SETUP},
    {"__init__", false, 1, WO_STACK_SETUP}, /* modules that are built on the device */
};

struct frame_facts {
  bool is_python;
  bool is_dull;                 /* a frame between functions of the program (Module.__call__) */
  bool is_step;                 /* an optimizer's step */
  bool is_closure;              /* the program's own code, called by an optimizer's step */
  bool is_checkpoint;           /* of torch.utils.checkpoint or similar */
  bool is_recompute;            /* a checkpoint's second forward, in backward */
  uint32_t flags;               /* anywhere in the stack */
  uint32_t near_flags[REACHES]; /* only within the reach of the operator */
  bool has_bias;                /* the operator is a product that adds a vector (addmm) */
  bool is_layer;                /* the operator is the product of a layer */
  uint8_t kind;                 /* of the operator that it names; or NONE */
  uint32_t op;
  uint32_t node;
  uint32_t name; /* function and file of Python, hashed */
};

static bool has_word(struct wo_view view, const char *word) {
  return wo_view_has_nocase(view, word);
}

/* Whether a frame belongs to an optimizer's step, or clips or unscales gradients. PyTorch wraps the step of every optimizer, in
 * whatever file it is. */
static bool is_step_frame(const struct wo_frame *frame) {
  bool ends_in_step = wo_view_ends(frame->function, "step");
  if (wo_view_ends(frame->file, "torch/optim/optimizer.py") && wo_view_is(frame->function, "wrapper")) return true;
  if (has_word(frame->file, "optim")) {
    return ends_in_step || wo_view_has(frame->function, "_tensor_") || wo_view_is(frame->function, "_init_group");
  }
  if (wo_view_has(frame->file, "deepspeed/runtime/")) return ends_in_step;
  if (wo_view_ends(frame->file, "/grad_scaler.py")) return wo_view_has(frame->function, "unscale");
  return wo_view_ends(frame->file, "/clip_grad.py");
}

/* PyTorch's C++ frames have no line up to 2.14, and their offset in a library since then. Those of an interpreter that was built
 * with debugging information have one, in a file of C. */
static bool is_python_frame(const struct wo_frame *frame) {
  return frame->line > 0 && wo_frame_origin(frame) != WO_FRAME_NATIVE;
}

/* Reads a Python frame: words in its function and file, and the few functions of PyTorch that show what runs. */
static void read_python(const struct wo_frame *frame, struct frame_facts *facts) {
  facts->is_python = true;
  facts->flags = WO_STACK_HAS_PYTHON;
  facts->is_dull = wo_view_has(frame->file, "torch/nn/modules/module.py") || wo_view_ends(frame->file, "torch/functional.py") ||
                   wo_view_ends(frame->file, "torch/utils/_device.py") || wo_view_has(frame->file, "torch/_dynamo/") ||
                   wo_view_is(frame->function, "decorate_context") || wo_view_is(frame->function, "decorate_autocast");
  /* Only the last part of the path counts: a project folder "attention-is-..." would match for all its files. */
  size_t slash = wo_view_find_last(frame->file, WO_VIEW("/"), frame->file.len);
  struct wo_view file = slash == WO_NOT_FOUND ? frame->file : wo_view_skip(frame->file, slash + 1);
  for (size_t i = 0; i < sizeof python_words / sizeof python_words[0]; i++) {
    bool is_anywhere = python_words[i].reach == 0;
    struct wo_view where = !python_words[i].is_file ? frame->function : is_anywhere ? frame->file : file;
    if (!has_word(where, python_words[i].word)) continue;
    if (is_anywhere) facts->flags |= python_words[i].flag;
    for (size_t at = 0; at < REACHES; at++) {
      if (python_words[i].reach == reaches[at]) facts->near_flags[at] |= python_words[i].flag;
    }
  }
  facts->is_step = is_step_frame(frame);
  facts->is_closure = has_word(frame->function, "closure");
  facts->is_checkpoint = has_word(frame->file, "checkpoint");
  facts->is_recompute =
      has_word(frame->function, "recompute") || wo_view_has(frame->function, "unpack") || wo_view_is(frame->function, "backward");
  if (wo_view_is(frame->function, "backward") || wo_view_has(frame->function, "run_backward")) facts->flags |= WO_STACK_BACKWARD;
  if (wo_view_is(frame->function, "_apply") && facts->is_dull) facts->flags |= WO_STACK_SETUP;
  if (wo_view_ends(frame->function, "_call_impl") && facts->is_dull) facts->flags |= WO_STACK_MODULE;
  facts->name = hash_name(hash_name(hash_start, frame->function), frame->file);
}

/* Reads the operator in "at::_ops::mul_Tensor::redispatch(": its name is cut at underscores from the right until the table has
 * it. */
static void read_op(const struct op_index *index, struct wo_view rest, struct frame_facts *facts) {
  struct wo_view name = wo_view_sub(rest, 0, wo_view_find(rest, WO_VIEW("::"), 0));
  facts->kind = WO_OP_OTHER;
  facts->op = hash_name(hash_start, name);
  for (struct wo_view part = name; part.len > 0;) {
    uint32_t hash = hash_name(hash_start, part);
    enum wo_op_kind kind = op_index_find(index, hash);
    if (kind != WO_OP_NONE) {
      facts->kind = (uint8_t)kind;
      facts->op = hash;
      facts->has_bias = wo_view_is(part, "addmm");
      facts->is_layer = facts->has_bias || wo_view_is(part, "linear") || kind == WO_OP_CONVOLUTION;
      return;
    }
    size_t cut = wo_view_find_last(part, WO_VIEW("_"), part.len);
    part = wo_view_sub(part, 0, cut == WO_NOT_FOUND ? 0 : cut);
  }
}

/* Reads the node in "torch::autograd::generated::ExpBackward0::apply(". */
static void read_node(struct wo_view function, struct frame_facts *facts) {
  size_t at = wo_view_find(function, WO_VIEW("Backward"), 0);
  if (at == WO_NOT_FOUND || !wo_view_has(function, "apply")) return;
  size_t start = at;
  while (start > 0 && wo_is_word(function.ptr[start - 1])) start--;
  if (start == at) return;
  facts->node = hash_name(hash_start, wo_view_sub(function, start, at));
  facts->flags |= WO_STACK_BACKWARD;
}

/* Reads a C++ frame: the operator or the backward node that it names, and words of libraries. */
static void read_native(const struct op_index *index, const struct wo_frame *frame, struct frame_facts *facts) {
  static const char prefix[] = "at::_ops::";
  facts->flags = WO_STACK_HAS_NATIVE;
  if (frame->line > 0 && wo_view_is(frame->function, "??")) facts->flags |= WO_STACK_UNNAMED;
  for (size_t i = 0; i < sizeof native_words / sizeof native_words[0]; i++) {
    if (wo_view_has(frame->function, native_words[i].word)) facts->flags |= native_words[i].flag;
  }
  size_t at = wo_view_find(frame->function, WO_VIEW("at::_ops::"), 0);
  if (at != WO_NOT_FOUND && at == 0) read_op(index, wo_view_skip(frame->function, sizeof prefix - 1), facts);
  read_node(frame->function, facts);
}

/* The number of the program's innermost functions that make the context. */
enum { CONTEXT_FUNCTIONS = 2 };

/* Adds a Python frame to the facts of a stack; `own` counts the program's functions so far. */
static void add_python(const struct frame_facts *frame, struct wo_stack_facts *facts, size_t *own, bool *is_closure) {
  if (frame->is_closure) *is_closure = true;
  if (frame->is_step && !*is_closure) facts->flags |= WO_STACK_OPTIMIZER;
  if (frame->is_checkpoint && frame->is_recompute) facts->flags |= WO_STACK_RECOMPUTE;
  if (frame->is_dull) return;
  for (size_t at = 0; at < REACHES; at++) {
    if (*own < reaches[at]) facts->flags |= frame->near_flags[at];
  }
  if (*own < CONTEXT_FUNCTIONS) facts->context = (facts->context ^ frame->name) * (uint32_t)WO_HASH_PRIME;
  (*own)++;
}

/* Adds a C++ frame to the facts of a stack: the innermost operator counts; its callers only add flags. */
static void add_native(const struct frame_facts *frame, struct wo_stack_facts *facts) {
  if (facts->node == 0) facts->node = frame->node;
  if (frame->kind == WO_OP_NONE) return;
  if (frame->has_bias) facts->flags |= WO_STACK_BIAS;
  if (frame->is_layer) facts->flags |= WO_STACK_LAYER;
  if (frame->kind == WO_OP_MATMUL || frame->kind == WO_OP_CONVOLUTION) facts->flags |= WO_STACK_MATMUL;
  if (frame->kind == WO_OP_CONVOLUTION) facts->flags |= WO_STACK_CONVOLUTION;
  if (frame->kind == WO_OP_SOFTMAX) facts->flags |= WO_STACK_SOFTMAX;
  if (frame->kind == WO_OP_LOSS || frame->kind == WO_OP_LOG_SOFTMAX) facts->flags |= WO_STACK_LOSS;
  if (frame->kind == WO_OP_PLUMBING || facts->kind != WO_OP_NONE) return;
  facts->kind = frame->kind;
  facts->op = frame->op;
}

/* The facts of one stack, from its frames in order, innermost first. */
static struct wo_stack_facts read_stack(const struct wo_recording *recording, struct wo_stack stack,
                                        const struct frame_facts *frames) {
  struct wo_stack_facts facts = {0};
  size_t own = 0;
  bool is_closure = false;
  for (uint32_t i = 0; i < stack.count; i++) {
    const struct frame_facts *frame = &frames[recording->stack_frames.items[stack.first + i]];
    uint32_t flags = frame->flags;
    /* Only memory that no operator made is a kernel's own temporary: index_put calls other operators to make its keys. */
    if (facts.kind != WO_OP_NONE) flags &= ~(uint32_t)WO_STACK_SCRATCH;
    facts.flags |= flags;
    if (frame->is_python)
      add_python(frame, &facts, &own, &is_closure);
    else
      add_native(frame, &facts);
  }
  if ((facts.flags & WO_STACK_LOSS) != 0) facts.flags &= ~(uint32_t)WO_STACK_ATTENTION;
  return facts;
}

/* The autograd engine's threads have no Python stack: in a recording of Python stacks, an empty stack is theirs. */
static void mark_engine_stacks(struct wo_stack_facts_set *set) {
  uint32_t all = 0;
  for (size_t i = 0; i < set->count; i++) all |= set->items[i].flags;
  set->all_flags = all;
  if ((all & WO_STACK_HAS_PYTHON) == 0 || (all & WO_STACK_HAS_NATIVE) != 0) return;
  for (size_t i = 0; i < set->count; i++) {
    if (set->items[i].flags == 0) set->items[i].flags = WO_STACK_BACKWARD;
  }
}

enum wo_status wo_stack_facts_make(const struct wo_recording *recording, struct wo_stack_facts_set *ret_set) {
  struct wo_stack_facts_set set = {0};
  WO_VEC(struct frame_facts) frames = {0};
  size_t frame_count = recording->frames.count, stack_count = recording->stacks.count;
  struct op_index *const index = malloc(sizeof *index);
  if (!index || (frame_count > 0 && !WO_VEC_RESERVE(&frames, frame_count, SIZE_MAX)) ||
      (stack_count > 0 && !WO_VEC_RESERVE(&set, stack_count, SIZE_MAX))) {
    free(index);
    WO_VEC_DONE(&frames);
    WO_VEC_DONE(&set);
    return WO_E_NOMEM;
  }
  op_index_fill(index);
  for (size_t i = 0; i < frame_count; i++) {
    const struct wo_frame *frame = &recording->frames.items[i];
    struct frame_facts *facts = &frames.items[frames.count++];
    *facts = (struct frame_facts){0};
    if (is_python_frame(frame))
      read_python(frame, facts);
    else
      read_native(index, frame, facts);
  }
  for (size_t i = 0; i < stack_count; i++) {
    set.items[set.count++] = read_stack(recording, recording->stacks.items[i], frames.items);
  }
  mark_engine_stacks(&set);
  free(index);
  WO_VEC_DONE(&frames);
  *ret_set = set;
  return WO_OK;
}

struct wo_stack_facts wo_stack_facts_of(const struct wo_stack_facts_set *set, uint32_t stack) {
  if (stack != WO_NO_STACK) {
    assert(stack < set->count);
    return set->items[stack];
  }
  struct wo_stack_facts none = {0};
  bool is_python_only = (set->all_flags & (WO_STACK_HAS_PYTHON | WO_STACK_HAS_NATIVE)) == WO_STACK_HAS_PYTHON;
  if (is_python_only) none.flags = WO_STACK_BACKWARD;
  return none;
}

void wo_stack_facts_done(struct wo_stack_facts_set *set) {
  if (set == NULL) return;
  WO_VEC_DONE(set);
}
