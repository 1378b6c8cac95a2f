/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that were cut: the open containers get their members from the stack, from the inside to the outside.
 *
 * The values between a mark and the next one are the members of the container below the mark; the last of them may be a container
 * that was being filled without its own mark, with its member above it, and so on. A dict that was cut lacks keys or values, and
 * counts only if it is the outermost value. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

static bool is_dict(struct wo_pickle_value value) {
  return wo_value_kind(value) == WO_VALUE_NEW_DICT || wo_value_kind(value) == WO_VALUE_DICT;
}

static bool is_list(struct wo_pickle_value value) {
  return wo_value_kind(value) == WO_VALUE_NEW_LIST || wo_value_kind(value) == WO_VALUE_LIST;
}

/* Where the members of a container end and the values for its last member begin. */
static size_t end_of_members(const struct wo_pickle *pickle, struct wo_pickle_value container, size_t start) {
  const struct wo_pickle_value *const items = pickle->stack.items;
  size_t at = start;
  if (is_dict(container)) {
    while (at + 2 <= pickle->stack.count && wo_value_kind(items[at]) == WO_VALUE_TEXT) at += 2;
    return at;
  }
  /* Lists of lists: a record can only belong to the list before it. */
  while (at < pickle->stack.count && (is_list(items[at]) || at == start || !is_list(items[at - 1]))) at++;
  return at;
}

/* Each value from `end` on is a member of the one below it. */
static enum wo_status fold(struct wo_pickle *pickle, size_t start, size_t end) {
  enum wo_status status = WO_OK;
  while (status == WO_OK && pickle->stack.count > end) {
    const size_t last = pickle->stack.count - 1;
    if (last > start && is_list(pickle->stack.items[last - 1])) {
      status = wo__pickle_append(pickle, &pickle->stack.items[last - 1], last);
    } else {
      wo__pickle_drop_from(pickle, last);
    }
  }
  return status;
}

/* Its place on the stack stays, because marks above it may exist. */
static void forget(struct wo_pickle *pickle, struct wo_pickle_value *value) {
  pickle->builder.drop(pickle->builder.context, *value);
  *value = wo_value(WO_VALUE_OPAQUE, 0);
}

/* Gives the values from `start` on to the container below them. */
static enum wo_status close_at(struct wo_pickle *pickle, size_t start) {
  assert(start > 0 && start <= pickle->stack.count);
  struct wo_pickle_value *const container = &pickle->stack.items[start - 1];
  size_t cut = start;
  while (cut < pickle->stack.count && !is_dict(pickle->stack.items[cut])) cut++;
  wo__pickle_drop_from(pickle, cut);
  enum wo_status status = fold(pickle, start, end_of_members(pickle, *container, start));
  if (status != WO_OK) return status;
  if (is_dict(*container)) {
    status = wo__pickle_set(pickle, container, start, false);
    if (status == WO_OK && start > 1) forget(pickle, container);
  } else if (is_list(*container)) {
    status = wo__pickle_append(pickle, container, start);
  }
  if (status == WO_OK && pickle->stack.count > start) wo__pickle_drop_from(pickle, start);
  return status;
}

/* The last mark is that of the innermost container. Values below all marks belong to the outermost value. */
enum wo_status wo_pickle_close_all(struct wo_pickle *pickle) {
  enum wo_status status = WO_OK;
  size_t start = 0;
  while (status == WO_OK && wo__pickle_take_mark(pickle, &start)) {
    if (start > 0) {
      status = close_at(pickle, start);
    } else {
      wo__pickle_drop_from(pickle, 0);
    }
  }
  if (status == WO_OK && pickle->stack.count > 1) status = close_at(pickle, 1);
  return status;
}
