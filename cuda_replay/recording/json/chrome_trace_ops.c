/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that run on each thread at the present event of a trace.
 *
 * Profilers write events in the order in which they began, so the running operators are a stack: when an operator begins, those
 * that have ended are removed. If a file has another order, stacks are less deep, but never wrong: operators that did not run at
 * the time are left out. A stack is stored only when memory is allocated or freed: of millions of operators a few thousand
 * distinct stacks remain. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/recording/json/chrome_trace_internal.h"
#include "parsers/base/number.h"

struct op {
  int64_t start_ns;
  int64_t end_ns;
  bool is_python;
  unsigned char len;
  char name[WO__CHROME_NAME_BYTES];
};

struct wo__chrome_thread {
  uint64_t id;
  size_t count;
  struct op ops[WO__CHROME_DEPTH]; /* outermost first */
};

_Static_assert(WO__CHROME_NAME_BYTES <= 255, "a length is a byte");

/* The thread of that name, or NULL. */
static struct wo__chrome_thread *find(const struct wo__chrome_ops *ops, uint64_t id) {
  for (size_t i = 0; i < WO__CHROME_THREADS && ops->threads[i] != NULL; i++) {
    if (ops->threads[i]->id == id) return ops->threads[i];
  }
  return NULL;
}

/* A new thread takes a free place, or replaces another one in turn. */
static struct wo__chrome_thread *make(struct wo__chrome_ops *ops, uint64_t id) {
  struct wo__chrome_thread **const place = &ops->threads[ops->next % WO__CHROME_THREADS];
  if (*place == NULL) *place = malloc(sizeof **place);
  if (*place == NULL) return NULL;
  ops->next++;
  (*place)->id = id;
  (*place)->count = 0;
  return *place;
}

enum wo_status wo__chrome_ops_add(struct wo__chrome_ops *ops, uint64_t thread, int64_t start_ns, int64_t end_ns,
                                  struct wo_view name, bool is_python) {
  assert(end_ns >= start_ns);
  struct wo__chrome_thread *const at = find(ops, thread) != NULL ? find(ops, thread) : make(ops, thread);
  if (at == NULL) return WO_E_NOMEM;
  while (at->count > 0 && at->ops[at->count - 1].end_ns <= start_ns) at->count--;
  if (at->count == WO__CHROME_DEPTH) return WO_OK;
  struct op *const op = &at->ops[at->count++];
  op->start_ns = start_ns;
  op->end_ns = end_ns;
  op->is_python = is_python;
  op->len = (unsigned char)(name.len < WO__CHROME_NAME_BYTES ? name.len : WO__CHROME_NAME_BYTES);
  if (op->len > 0) memcpy(op->name, name.ptr, op->len);
  return WO_OK;
}

/* ---- Stacks ---- */

/* The name of a frame. Python functions come as "train.py(12): step". */
static struct wo_view split_name(const struct op *op, struct wo_view *ret_file, uint32_t *ret_line) {
  const struct wo_view name = {op->name, op->len};
  const size_t function = wo_view_find(name, WO_VIEW("): "), 0);
  const size_t line = wo_view_find_last(name, WO_VIEW("("), function == WO_NOT_FOUND ? 0 : function);
  struct wo_view number = function != WO_NOT_FOUND && line != WO_NOT_FOUND ? wo_view_sub(name, line + 1, function) : WO_VIEW("");
  uint64_t value = 0;
  *ret_file = WO_VIEW("op");
  *ret_line = 0;
  if (!op->is_python || wo_number_u64(&number, UINT32_MAX, &value) != WO_OK || number.len > 0) return name;
  *ret_file = wo_view_sub(name, 0, line);
  *ret_line = (uint32_t)value;
  return wo_view_skip(name, function + 3);
}

/* Names become texts of the recording only here, for operators that allocate. */
enum wo_status wo__chrome_ops_stack(struct wo__chrome_ops *ops, uint64_t thread, int64_t at_ns, struct wo_intern *intern,
                                    uint32_t *ret_stack) {
  const struct wo__chrome_thread *const at = find(ops, thread);
  const size_t first = intern->recording->stack_frames.count;
  *ret_stack = WO_NO_STACK;
  for (size_t i = at != NULL ? at->count : 0; i > 0; i--) {
    const struct op *const op = &at->ops[i - 1];
    if (op->start_ns > at_ns || op->end_ns <= at_ns) continue;
    struct wo_view file;
    uint32_t line = 0;
    const struct wo_view function = split_name(op, &file, &line);
    const enum wo_status status = wo_intern_add_frame(intern, function, file, line);
    if (status != WO_OK) return status;
  }
  const size_t count = intern->recording->stack_frames.count - first;
  assert(count <= WO__CHROME_DEPTH);
  return count == 0 ? WO_OK : wo_intern_stack(intern, (uint32_t)first, (uint32_t)count, ret_stack);
}

void wo__chrome_ops_done(struct wo__chrome_ops *ops) {
  for (size_t i = 0; i < WO__CHROME_THREADS; i++) free(ops->threads[i]);
  *ops = (struct wo__chrome_ops){0};
}
