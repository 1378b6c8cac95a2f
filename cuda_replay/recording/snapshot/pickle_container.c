/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that fill dicts, lists and tuples: they find the container and its new members on the stack; the builder does the
 * rest. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

/* Pairs for any value but an open dict were meant for a dict that was already complete, which writers do not do: they are thrown
 * away, and cost nothing. The same holds for members of lists. */
enum wo_status wo__pickle_set(struct wo_pickle *pickle, struct wo_pickle_value *dict, size_t start, bool is_whole) {
  const size_t count = pickle->stack.count - start;
  if (count % 2 != 0) return wo_pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: a key has no value");
  const struct wo_pickle_value *const pairs = pickle->stack.items + start;
  const enum wo_value_kind kind = wo_value_kind(*dict);
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_DICT) {
    const enum wo_status status = pickle->builder.set(pickle->builder.context, dict, pairs, count / 2, is_whole);
    if (status != WO_OK) return status;
    pickle->stack.count = start;
  } else {
    wo__pickle_drop_from(pickle, start); /* of a complete dict, or of a value that is not needed */
  }
  return WO_OK;
}

enum wo_status wo__pickle_append(struct wo_pickle *pickle, struct wo_pickle_value *list, size_t start) {
  const enum wo_value_kind kind = wo_value_kind(*list);
  if (kind == WO_VALUE_NEW_LIST || kind == WO_VALUE_LIST) {
    const enum wo_status status =
        pickle->builder.append(pickle->builder.context, list, pickle->stack.items + start, pickle->stack.count - start);
    if (status != WO_OK) return status;
    pickle->stack.count = start;
  } else {
    wo__pickle_drop_from(pickle, start);
  }
  return WO_OK;
}

enum wo_status wo__op_setitem(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!wo__pickle_has_values(pickle, 3)) return wo__pickle_underflow(pickle);
  return wo__pickle_set(pickle, wo__pickle_top(pickle, 2), pickle->stack.count - 2, false);
}

/* Takes the container below the last mark, and removes the mark. */
static bool take_container(struct wo_pickle *pickle, size_t *ret_start, struct wo_pickle_value **ret_container) {
  if (!wo__pickle_take_mark(pickle, ret_start)) return false;
  if (!wo__pickle_has_values(pickle, pickle->stack.count - *ret_start + 1)) return false;
  *ret_container = &pickle->stack.items[*ret_start - 1];
  return true;
}

enum wo_status wo__op_setitems(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_pickle_value *dict = NULL;
  return take_container(pickle, &start, &dict) ? wo__pickle_set(pickle, dict, start, true) : wo__pickle_underflow(pickle);
}

enum wo_status wo__op_append(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!wo__pickle_has_values(pickle, 2)) return wo__pickle_underflow(pickle);
  return wo__pickle_append(pickle, wo__pickle_top(pickle, 1), pickle->stack.count - 1);
}

enum wo_status wo__op_appends(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_pickle_value *list = NULL;
  return take_container(pickle, &start, &list) ? wo__pickle_append(pickle, list, start) : wo__pickle_underflow(pickle);
}

/* DICT and LIST make the container that EMPTY_DICT and EMPTY_LIST would have put below the mark. */
enum wo_status wo__op_dict(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_pickle_value dict = wo_value(WO_VALUE_NEW_DICT, 0);
  if (!wo__pickle_take_mark(pickle, &start)) return wo__pickle_underflow(pickle);
  const bool is_whole = pickle->stack.count > start;
  const enum wo_status status = is_whole ? wo__pickle_set(pickle, &dict, start, true) : WO_OK;
  return status == WO_OK ? wo__pickle_push(pickle, dict) : status;
}

enum wo_status wo__op_list(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_pickle_value list = wo_value(WO_VALUE_NEW_LIST, 0);
  if (!wo__pickle_take_mark(pickle, &start)) return wo__pickle_underflow(pickle);
  const enum wo_status status = pickle->stack.count > start ? wo__pickle_append(pickle, &list, start) : WO_OK;
  return status == WO_OK ? wo__pickle_push(pickle, list) : status;
}

/* Only one tuple has a meaning, a pair of small numbers: the name of a pool. */
static enum wo_status make_tuple(struct wo_pickle *pickle, size_t start) {
  struct wo_pickle_value tuple = wo_value(WO_VALUE_OPAQUE, 0);
  if (pickle->stack.count - start == 2) {
    const struct wo_pickle_value *const items = pickle->stack.items + start;
    uint64_t first = 0;
    uint64_t second = 0;
    const bool is_pair = wo_pickle_u64(pickle, items[0], &first) && wo_pickle_u64(pickle, items[1], &second);
    if (is_pair && first >> WO_VALUE_PAIR_BITS == 0 && second >> WO_VALUE_PAIR_BITS == 0)
      tuple = wo_value(WO_VALUE_PAIR, first << WO_VALUE_PAIR_BITS | second);
  }
  wo__pickle_drop_from(pickle, start);
  return wo__pickle_push(pickle, tuple);
}

/* Takes the tuple's values without a mark. */
enum wo_status wo__op_short_tuple(struct wo_pickle *pickle, uint64_t count) {
  return wo__pickle_has_values(pickle, count) ? make_tuple(pickle, pickle->stack.count - count) : wo__pickle_underflow(pickle);
}

enum wo_status wo__op_tuple(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  return wo__pickle_take_mark(pickle, &start) ? make_tuple(pickle, start) : wo__pickle_underflow(pickle);
}

enum wo_status wo__op_frozenset(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = wo__op_pop_mark(pickle, argument);
  return status == WO_OK ? wo__pickle_push(pickle, wo_value(WO_VALUE_OPAQUE, 0)) : status;
}
