/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of values, its marks, and the memo. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

#include <string.h>
#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "parsers/base/vec.h"

/* ---- Stack ---- */

enum wo_status wo__pickle_push_slowly(struct wo_pickle *pickle, struct wo_pickle_value value) {
  const enum wo_status status =
      WO_PICKLE_RESERVE(pickle, &pickle->stack, 1, WO_LIMIT_PICKLE_STACK, "holds too many values that belong nowhere");
  if (status == WO_OK) pickle->stack.items[pickle->stack.count++] = value;
  return status;
}

bool wo__pickle_take_mark(struct wo_pickle *pickle, size_t *ret_start) {
  if (pickle->marks.count == 0) return false;
  *ret_start = pickle->marks.items[--pickle->marks.count];
  assert(*ret_start <= pickle->stack.count);
  return true;
}

/* From the top down, because it is cheapest to give drafts back in the reverse order of their making. */
void wo__pickle_drop_from(struct wo_pickle *pickle, size_t start) {
  for (size_t i = pickle->stack.count; i > start; i--) {
    if (wo_value_is_open(pickle->stack.items[i - 1])) {
      pickle->builder.drop(pickle->builder.context, pickle->stack.items[i - 1]);
    }
  }
  pickle->stack.count = start;
}

/* Marks are heights of the stack in their own array: as values on the stack they would need a search. */
enum wo_status wo__op_mark(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  const enum wo_status status =
      WO_PICKLE_RESERVE(pickle, &pickle->marks, 1, WO_LIMIT_PICKLE_DEPTH, "nests containers deeper than any snapshot");
  if (status == WO_OK) pickle->marks.items[pickle->marks.count++] = pickle->stack.count;
  return status;
}

/* A POP right after a MARK takes the mark, as in Python. */
enum wo_status wo__op_pop(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  if (wo__pickle_has_values(pickle, 1)) {
    wo__pickle_drop_from(pickle, pickle->stack.count - 1);
    return WO_OK;
  }
  return wo__pickle_take_mark(pickle, &start) ? WO_OK : wo__pickle_underflow(pickle);
}

enum wo_status wo__op_pop_mark(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  if (!wo__pickle_take_mark(pickle, &start)) return wo__pickle_underflow(pickle);
  wo__pickle_drop_from(pickle, start);
  return WO_OK;
}

/* The value for another reference to a value. All values but open containers are simply copied: two values must never own one
 * draft. */
static enum wo_status share(struct wo_pickle *pickle, struct wo_pickle_value value, struct wo_pickle_value *ret_value) {
  const enum wo_value_kind kind = wo_value_kind(value);
  *ret_value = value;
  if (!wo_value_is_open(value)) return WO_OK;
  /* An empty container stays empty, and all empty ones are equal. */
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_NEW_LIST) {
    *ret_value = wo_value(kind, 0);
    return WO_OK;
  }
  return pickle->builder.share(pickle->builder.context, value, ret_value);
}

enum wo_status wo__op_dup(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!wo__pickle_has_values(pickle, 1)) return wo__pickle_underflow(pickle);
  struct wo_pickle_value value = {0};
  const enum wo_status status = share(pickle, *wo__pickle_top(pickle, 0), &value);
  return status == WO_OK ? wo__pickle_push(pickle, value) : status;
}

/* ---- Memo ---- */

/* A slot that was overwritten since is not changed. */
void wo_pickle_patch_memo(struct wo_pickle *pickle, uint32_t next_slot, struct wo_pickle_value was, struct wo_pickle_value now) {
  if (next_slot == 0 || next_slot > pickle->memo.count) return;
  struct wo_pickle_value *const slot = &pickle->memo.items[next_slot - 1];
  if (wo_value_is_same(*slot, was)) *slot = now;
}

static enum wo_status get_slot(struct wo_pickle *pickle, uint64_t slot) {
  if (slot >= pickle->memo.count || wo_value_kind(pickle->memo.items[slot]) == WO_VALUE_UNSET)
    return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: refers to something that was not stored");
  struct wo_pickle_value value = {0};
  const enum wo_status status = share(pickle, pickle->memo.items[slot], &value);
  return status == WO_OK ? wo__pickle_push(pickle, value) : status;
}

/* Makes slots up to and with `slot`. Every writer counts its slots up from 0 or 1, so a slot is never larger than the number of
 * bytes before it. This rule keeps a few bytes from claiming gigabytes. */
static enum wo_status grow_memo(struct wo_pickle *pickle, uint64_t slot) {
  const size_t count = pickle->memo.count;
  if (slot < count) return WO_OK;
  if (slot == count && count < pickle->memo.capacity) {
    pickle->memo.count++;
    return WO_OK;
  }
  if (slot > pickle->offset + 1) return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: stores out of order");
  if (slot >= WO_LIMIT_PICKLE_MEMO) return wo_pickle_fail(pickle, WO_E_LIMIT, "stores too many values for later use");
  const size_t more = (size_t)slot + 1 - count;
  if (!WO_VEC_RESERVE(&pickle->memo, more, WO_LIMIT_PICKLE_MEMO)) return WO_E_NOMEM;
  memset(pickle->memo.items + count, 0, more * sizeof *pickle->memo.items);
  pickle->memo.count += more;
  return WO_OK;
}

/* An open container remembers one slot where it is stored; no writer needs a second one, which would also need updates. */
static enum wo_status put_slot(struct wo_pickle *pickle, uint64_t slot) {
  if (!wo__pickle_has_values(pickle, 1)) return wo__pickle_underflow(pickle);
  const enum wo_status status = grow_memo(pickle, slot);
  if (status != WO_OK) return status;
  struct wo_pickle_value *const value = wo__pickle_top(pickle, 0);
  const enum wo_value_kind kind = wo_value_kind(*value);
  struct wo_pickle_value stored = *value;
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_NEW_LIST) {
    if (wo_value_payload(*value) == 0) *value = stored = wo_value(kind, slot + 1);
  } else if (wo_value_is_open(*value)) {
    uint32_t *const next_slot = pickle->builder.next_slot(pickle->builder.context, *value);
    if (*next_slot == 0) {
      *next_slot = (uint32_t)slot + 1;
    } else {
      stored = wo_value(WO_VALUE_OPAQUE, 0);
    }
  }
  assert(wo_value_kind(stored) != WO_VALUE_UNSET);
  pickle->memo.items[slot] = stored;
  return WO_OK;
}

/* In protocol 4 the next slot is the number of slots so far. */
enum wo_status wo__op_memoize(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return put_slot(pickle, pickle->memo.count);
}

enum wo_status wo__op_get(struct wo_pickle *pickle, uint64_t argument) {
  return get_slot(pickle, argument);
}

enum wo_status wo__op_put(struct wo_pickle *pickle, uint64_t argument) {
  return put_slot(pickle, argument);
}

static enum wo_status read_slot(struct wo_pickle *pickle, uint64_t *ret_slot) {
  struct wo_view line = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  if (wo_number_u64(&line, UINT32_MAX - 1, ret_slot) == WO_OK && line.len == 0) return WO_OK;
  return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: expected the number of a stored value");
}

enum wo_status wo__op_get_line(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = read_slot(pickle, &argument);
  return status == WO_OK ? get_slot(pickle, argument) : status;
}

enum wo_status wo__op_put_line(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = read_slot(pickle, &argument);
  return status == WO_OK ? put_slot(pickle, argument) : status;
}
