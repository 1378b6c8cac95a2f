/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle machine: takes one instruction after the other from the source and runs it. Most of a snapshot is reads of the memo,
 * integers and new containers, which have their own loop. The instructions are in pickle_stack.c, pickle_scalar.c, pickle_text.c,
 * pickle_container.c and pickle_refuse.c. */
#include "cuda_replay/recording/snapshot/pickle.h"

#include <inttypes.h>

#include "cuda_replay/recording/snapshot/pickle_internal.h"
#include "parsers/base/vec.h"

/* The longest instruction with its fixed argument, and one more: a LONG1 is read with a load of 8 bytes. */
enum { OP_BYTES_MAX = 10 };

/* The instructions that have their own loop. */
enum { OP_LONG_BINGET = 'j', OP_BINGET = 'h', OP_BININT = 'J', OP_BININT1 = 'K', OP_BININT2 = 'M', OP_LONG1 = 0x8a };
enum { OP_MARK = '(', OP_EMPTY_DICT = '}', OP_EMPTY_LIST = ']', OP_MEMOIZE = 0x94 };

/* Indexed by the code. A code that no protocol has gets no function. */
static const struct op {
  const char *name;
  enum wo_status (*run)(struct wo_pickle *pickle, uint64_t argument);
  uint8_t argument_bytes;
  uint8_t argument; /* without bytes of it */
} ops[UINT8_MAX + 1] = {
#define WO_PICKLE_OP(code, name, argument_bytes, function) [code] = {#name, wo__op_##function, argument_bytes, 0},
#define WO_PICKLE_FIXED(code, name, argument, function) [code] = {#name, wo__op_##function, 0, argument},
#include "cuda_replay/recording/snapshot/pickle_ops.def"
#undef WO_PICKLE_OP
#undef WO_PICKLE_FIXED
};

const char *wo__pickle_op_name(uint8_t code) {
  return ops[code].name == NULL ? "?" : ops[code].name;
}

/* ---- Failing ---- */

enum wo_status wo_pickle_fail(struct wo_pickle *pickle, enum wo_status status, const char *message) {
  wo_err_set(pickle->err, status, "%s (%s at byte %" PRIu64 ")", message, wo__pickle_op_name(pickle->opcode), pickle->offset);
  wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
  return status;
}

enum wo_status wo__pickle_cut(struct wo_pickle *pickle) {
  pickle->is_cut = true;
  return WO_E_SYNTAX;
}

enum wo_status wo__pickle_underflow(struct wo_pickle *pickle) {
  return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: an instruction takes more than there is");
}

/* ---- Running ---- */

/* The value is the top of the stack; values below it are ignored. */
enum wo_status wo__op_stop(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!wo__pickle_has_values(pickle, 1)) return wo__pickle_underflow(pickle);
  pickle->is_stopped = true;
  return WO_OK;
}

/* The value of a LONG1 of `count` bytes, 1 to 7, in one load: 8 bytes are there. */
static struct wo_pickle_value short_long(const char *bytes, unsigned count) {
  const uint64_t sign = UINT64_C(1) << (8 * count - 1);
  const uint64_t bits = wo__pickle_little_endian(bytes, 8) & (sign | (sign - 1));
  return wo_value_int((int64_t)((bits ^ sign) - sign));
}

/* Runs a row of instructions that only push: reads of the memo, integers, and new containers with their place in the memo and the
 * mark of their members. False if not even the first one does. They are nearly all there is in a snapshot. */
static bool run_pushes(struct wo_pickle *pickle) {
  const char *at = pickle->source->at;
  const size_t room = pickle->stack.capacity - pickle->stack.count, left = (size_t)(pickle->source->end - at);
  if (left < OP_BYTES_MAX || room == 0) return false;
  /* Each takes a byte or more and pushes one value at most, so that one bound holds for both. */
  const char *const end = at + (room < left - OP_BYTES_MAX + 1 ? room : left - OP_BYTES_MAX + 1);
  struct wo_pickle_value *const memo = pickle->memo.items, *const stack = pickle->stack.items;
  size_t *const marks = pickle->marks.items;
  struct wo_pickle_value *out = stack + pickle->stack.count;
  size_t memo_count = pickle->memo.count, mark_count = pickle->marks.count;
  while (at < end) {
    const uint8_t code = (uint8_t)*at, first = (uint8_t)at[1];
    if (code == OP_BINGET) {
      if (first >= memo_count || wo_value_is_open(memo[first])) break;
      *out++ = memo[first];
      at += 2;
    } else if (code == OP_LONG_BINGET) {
      const size_t slot = (size_t)wo__pickle_little_endian(at + 1, 4);
      if (slot >= memo_count || wo_value_is_open(memo[slot])) break;
      *out++ = memo[slot];
      at += 5;
    } else if (code == OP_LONG1 && first > 0 && first <= 7) {
      *out++ = short_long(at + 2, first);
      at += 2 + first;
    } else if (code == OP_BININT1) {
      *out++ = wo_value_int(first);
      at += 2;
    } else if (code == OP_BININT) {
      *out++ = wo_value_int((int32_t)(uint32_t)wo__pickle_little_endian(at + 1, 4));
      at += 5;
    } else if (code == OP_BININT2) {
      *out++ = wo_value_int((int64_t)wo__pickle_little_endian(at + 1, 2));
      at += 3;
    } else if (code == OP_MARK && mark_count < pickle->marks.capacity) {
      marks[mark_count++] = (size_t)(out - stack);
      at += 1;
    } else if ((code == OP_EMPTY_DICT || code == OP_EMPTY_LIST) && first == OP_MEMOIZE && memo_count < pickle->memo.capacity) {
      *out = wo_value(code == OP_EMPTY_DICT ? WO_VALUE_NEW_DICT : WO_VALUE_NEW_LIST, memo_count + 1);
      memo[memo_count++] = *out++;
      at += 2;
    } else {
      break;
    }
  }
  const bool has_moved = pickle->source->at != at;
  pickle->source->at = at;
  pickle->stack.count = (size_t)(out - stack);
  pickle->memo.count = memo_count;
  pickle->marks.count = mark_count;
  return has_moved;
}

/* The code has no name for wo_pickle_fail. */
static enum wo_status unknown_op(struct wo_pickle *pickle) {
  wo_err_set(pickle->err, WO_E_SYNTAX, "is no valid pickle: unknown instruction 0x%02x at byte %" PRIu64, pickle->opcode,
             pickle->offset);
  wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
  return WO_E_SYNTAX;
}

/* Runs one instruction. The window holds the longest instruction, or the whole rest of the stream, so the argument is there. */
static enum wo_status step(struct wo_pickle *pickle) {
  struct wo_trace_source *const source = pickle->source;
  if (source->end - source->at < OP_BYTES_MAX) wo_trace_source_peek(source, OP_BYTES_MAX);
  const size_t there = (size_t)(source->end - source->at);
  if (there == 0) return wo__pickle_cut(pickle);
  if (run_pushes(pickle)) return WO_OK;
  pickle->opcode = (uint8_t)*source->at;
  pickle->offset = source->end_offset - there;
  const struct op *const op = &ops[pickle->opcode];
  if (op->run == NULL) return unknown_op(pickle);
  if (there < (size_t)op->argument_bytes + 1) return wo__pickle_cut(pickle);
  const uint64_t argument = op->argument_bytes == 0 ? op->argument : wo__pickle_little_endian(source->at + 1, op->argument_bytes);
  source->at += op->argument_bytes + 1;
  assert(source->at <= source->end);
  return op->run(pickle, argument);
}

enum wo_pickle_end wo_pickle_run(struct wo_pickle *pickle) {
  assert(pickle->source != NULL && pickle->intern != NULL && pickle->err != NULL && pickle->builder.set != NULL);
  enum wo_status status = WO_OK;
  while (status == WO_OK && !pickle->is_stopped) status = step(pickle);
  if (status == WO_OK) return WO_PICKLE_STOP;
  if (status == WO_E_NOMEM) return WO_PICKLE_FAILED;
  if (pickle->is_refused) return WO_PICKLE_REFUSED;
  return pickle->is_cut ? WO_PICKLE_CUT : WO_PICKLE_BROKEN;
}

void wo_pickle_done(struct wo_pickle *pickle) {
  WO_VEC_DONE(&pickle->stack);
  WO_VEC_DONE(&pickle->marks);
  WO_VEC_DONE(&pickle->memo);
  WO_VEC_DONE(&pickle->numbers);
}
