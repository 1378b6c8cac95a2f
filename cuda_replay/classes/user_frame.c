/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the line of a stack that people want to see, with a table of file names. */
#include "cuda_replay/classes/user_frame.h"

#include <assert.h>
#include <stddef.h>

/* ---- The table ---- */

/* Where a row searches its text. */
enum where { STARTS, ENDS, ANYWHERE };

/* The first row that matches decides; a file that no row matches is the user's. Backslashes count as slashes. */
static const struct {
  const char *text;
  enum where where;
  enum wo_frame_origin origin;
} origins[] = {
    {"??", STARTS, WO_FRAME_NATIVE}, /* PyTorch writes it for C++ frames */
    {".o", ENDS, WO_FRAME_NATIVE},
    {".so", ENDS, WO_FRAME_NATIVE},
    {".so.", ANYWHERE, WO_FRAME_NATIVE},
    {".cpp", ENDS, WO_FRAME_NATIVE},
    {".cc", ENDS, WO_FRAME_NATIVE},
    {".cxx", ENDS, WO_FRAME_NATIVE},
    {".c", ENDS, WO_FRAME_NATIVE},
    {".h", ENDS, WO_FRAME_NATIVE},
    {".hpp", ENDS, WO_FRAME_NATIVE},
    {".S", ENDS, WO_FRAME_NATIVE},
    {".cu", ENDS, WO_FRAME_NATIVE},
    {".cuh", ENDS, WO_FRAME_NATIVE},
    {".pyx", ENDS, WO_FRAME_NATIVE},
    {"<eval_with_key>", ANYWHERE, WO_FRAME_TORCH}, /* torch.fx */
    {"torchinductor_", ANYWHERE, WO_FRAME_TORCH},  /* the compiler's output below /tmp */
    {"packages/torch/", ANYWHERE, WO_FRAME_TORCH},
    {"packages/triton/", ANYWHERE, WO_FRAME_TORCH},
    {"pytorch/torch/", ANYWHERE, WO_FRAME_TORCH}, /* a source tree */
    {"torch/", STARTS, WO_FRAME_TORCH},           /* relative paths of some builds */
    {"site-packages/", ANYWHERE, WO_FRAME_LIBRARY},
    {"dist-packages/", ANYWHERE, WO_FRAME_LIBRARY},
    {"<frozen ", STARTS, WO_FRAME_PYTHON},
    {"<string>", STARTS, WO_FRAME_PYTHON},
    {"/lib/python2.", ANYWHERE, WO_FRAME_PYTHON},
    {"/lib/python3", ANYWHERE, WO_FRAME_PYTHON},
    {"/lib64/python3", ANYWHERE, WO_FRAME_PYTHON},
};

/* At most this many bytes of a file name are searched: hostile names must not cost time for every stack. */
enum { FILE_BYTES_MAX = 1024 };

/* Windows paths are read like Unix paths. */
static char plain(char c) {
  return c == '\\' ? '/' : c;
}

static bool matches_at(struct wo_view file, size_t at, struct wo_view text) {
  if (at > file.len || text.len > file.len - at) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (plain(file.ptr[at + i]) != text.ptr[i]) return false;
  }
  return true;
}

/* The rows are few and short, and names are cut: a plain search, once for every distinct frame, is fast enough. */
static bool matches(struct wo_view file, struct wo_view text, enum where where) {
  if (text.len > file.len) return false;
  if (where == STARTS) return matches_at(file, 0, text);
  if (where == ENDS) return matches_at(file, file.len - text.len, text);
  for (size_t at = 0; at <= file.len - text.len; at++) {
    if (matches_at(file, at, text)) return true;
  }
  return false;
}

/* Frames without a file come from compiled code: Python always names one. */
enum wo_frame_origin wo_frame_origin(const struct wo_frame *frame) {
  const struct wo_view file = wo_view_sub(frame->file, 0, FILE_BYTES_MAX);
  if (file.len == 0) return WO_FRAME_NATIVE;
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    if (matches(file, wo_view_of(origins[i].text), origins[i].where)) return origins[i].origin;
  }
  return WO_FRAME_USER;
}

/* ---- Stacks ---- */

/* The origin of a frame by index, kept after the first lookup if there is room. */
static enum wo_frame_origin origin_at(const struct wo_recording *recording, uint8_t *known, uint32_t index) {
  if (known && known[index] > 0) return (enum wo_frame_origin)(known[index] - 1);
  const enum wo_frame_origin origin = wo_frame_origin(&recording->frames.items[index]);
  if (known) known[index] = (uint8_t)(origin + 1);
  return origin;
}

/* How useful a frame is to people who search the code that asked for memory: higher is better. */
enum telling { TELLS_NOTHING, TELLS_OPERATOR, TELLS_NODE, TELLS_TORCH, TELLS_CODE };

/* Threads of the autograd engine have no Python frame. People know their operator and, even better, the node of the graph. */
static const struct {
  const char *start;
  const char *part;
  enum telling telling;
} native_names[] = {
    {"torch::autograd::generated::", "Backward", TELLS_NODE},
    {"torch::autograd::AccumulateGrad", "", TELLS_NODE},
    {"c10d::", "", TELLS_NODE},
    {"at::_ops::", "", TELLS_OPERATOR},
};

/* It matches the start of the name only, because C++ arguments contain names of other functions. */
static enum telling native_telling(const struct wo_frame *frame) {
  for (size_t i = 0; i < sizeof native_names / sizeof *native_names; i++) {
    if (!wo_view_starts(frame->function, native_names[i].start)) continue;
    if (wo_view_has(frame->function, native_names[i].part)) return native_names[i].telling;
  }
  return TELLS_NOTHING;
}

static enum telling telling_of(const struct wo_frame *frame, enum wo_frame_origin origin) {
  if (origin == WO_FRAME_NATIVE) return native_telling(frame);
  return origin >= WO_FRAME_LIBRARY ? TELLS_CODE : TELLS_TORCH;
}

/* From the innermost frame outwards up to the first one of the program: the callers of the program itself do not matter. */
struct wo_stack_sites wo_stack_sites(const struct wo_recording *recording, uint8_t *known, uint32_t stack) {
  struct wo_stack_sites sites = {WO_NO_FRAME, WO_NO_FRAME};
  if (stack == WO_NO_STACK) return sites;
  assert(stack < recording->stacks.count);
  const struct wo_stack range = recording->stacks.items[stack];
  assert(range.first + (size_t)range.count <= recording->stack_frames.count);
  enum telling best = TELLS_NOTHING;
  for (uint32_t i = 0; i < range.count && sites.user == WO_NO_FRAME; i++) {
    const uint32_t index = recording->stack_frames.items[range.first + i];
    const enum wo_frame_origin origin = origin_at(recording, known, index);
    const enum telling telling = telling_of(&recording->frames.items[index], origin);
    /* Operators call each other: the program called the outermost one. */
    const bool is_outer = telling == best && (telling == TELLS_OPERATOR || telling == TELLS_NODE);
    if (sites.asker == WO_NO_FRAME || telling > best || is_outer) {
      sites.asker = index;
      best = telling;
    }
    if (origin == WO_FRAME_USER) sites.user = index;
  }
  return sites;
}

/* Arguments of C++ begin at the first bracket that follows a name: "(anonymous namespace)" follows "::". */
struct wo_view wo_frame_function_name(const struct wo_frame *frame) {
  static const char generated[] = "torch::autograd::generated::";
  const bool is_node = wo_view_starts(frame->function, generated);
  const struct wo_view name = wo_view_skip(frame->function, is_node ? sizeof generated - 1 : 0);
  for (size_t i = 1; i < name.len; i++) {
    if (name.ptr[i] == '(' && wo_is_word(name.ptr[i - 1])) return wo_view_sub(name, 0, i);
  }
  return name;
}

/* The folders before it are long, and the same for most files. */
struct wo_view wo_frame_file_name(const struct wo_frame *frame) {
  size_t at = frame->file.len;
  while (at > 0 && plain(frame->file.ptr[at - 1]) != '/') at--;
  return wo_view_skip(frame->file, at);
}
