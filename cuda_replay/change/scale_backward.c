/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents in backward: the gradient of an activation has the shape of the activation. Its size, and the name of its node (the
 * forward operator's name), identify the activation. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/change/scale_internal.h"
#include "parsers/base/vec.h"

/* Forward allocations of one operator and size (op 0: of one size), counted by their powers. */
struct tally {
  uint64_t size_bytes;
  uint32_t op;
  uint32_t counts[3];
  unsigned low, high; /* of all allocations */
};

struct tallies {
  struct tally *items;
  size_t count, capacity;
};

/* By size and operator; op 0 is the tally of all operators with that size. */
static int compare_tallies(const void *a, const void *b) {
  const struct tally *left = a, *right = b;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->op > right->op) - (left->op < right->op);
}

static bool add(struct tallies *tallies, uint64_t size_bytes, uint32_t op, const uint8_t *powers) {
  unsigned power = powers[WO_BOUND_LIKELY];
  assert(power < 3);
  if (!WO_VEC_RESERVE(tallies, 1, SIZE_MAX)) return false;
  struct tally *tally = &tallies->items[tallies->count++];
  *tally = (struct tally){.size_bytes = size_bytes, .op = op, .low = powers[WO_BOUND_LOW], .high = powers[WO_BOUND_HIGH]};
  tally->counts[power] = 1;
  return true;
}

/* Sorts the rows, and merges those with the same size and operator. */
static void merge(struct tallies *tallies) {
  if (tallies->count == 0) return;
  qsort(tallies->items, tallies->count, sizeof tallies->items[0], compare_tallies);
  size_t kept = 0;
  for (size_t i = 1; i < tallies->count; i++) {
    if (compare_tallies(&tallies->items[i], &tallies->items[kept]) != 0) {
      tallies->items[++kept] = tallies->items[i];
      continue;
    }
    struct tally *into = &tallies->items[kept];
    for (unsigned power = 0; power < 3; power++) into->counts[power] += tallies->items[i].counts[power];
    if (tallies->items[i].low < into->low) into->low = tallies->items[i].low;
    if (tallies->items[i].high > into->high) into->high = tallies->items[i].high;
  }
  tallies->count = kept + 1;
}

static const struct tally *find(const struct tallies *tallies, uint64_t size_bytes, uint32_t op) {
  struct tally key = {.size_bytes = size_bytes, .op = op};
  if (tallies->count == 0) return NULL;
  return bsearch(&key, tallies->items, tallies->count, sizeof key, compare_tallies);
}

/* The only power in a tally; 3 if there are several or none. Powers of 0 belong to parts of parameters, which do not have the
 * shape of an activation. */
static unsigned only_power(const struct tally *tally) {
  if (tally == NULL || (tally->counts[1] > 0) == (tally->counts[2] > 0)) return 3;
  return tally->counts[1] > 0 ? 1 : 2;
}

/* Tallies the forward allocations whose size depends on the length. */
static bool gather(const struct wo__scaling *work, struct tallies *tallies) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (wo__scale_is_open(work, i) || !wo__scale_is_forward(work, i)) continue;
    const uint8_t *powers = work->exponents[i].power[WO_AXIS_SEQ_LEN];
    if (powers[WO_BOUND_LIKELY] == 0 || work->exponents[i].reason == WO_SCALE_REASON_SCRATCH) continue;
    uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
    uint32_t op = wo__scale_facts(work, i).op;
    if (!add(tallies, size_bytes, 0, powers) || (op != 0 && !add(tallies, size_bytes, op, powers))) return false;
  }
  merge(tallies);
  return true;
}

/* Whether a size is that of a gradient, or of its product before the cast. In a backward pass without new gradients, gradients
 * are added to existing ones (accumulation) and show only as temporaries of their size. */
static bool is_gradient_size(const struct wo__scaling *work, uint64_t size_bytes, enum wo_op_kind kind) {
  bool is_product = kind == WO_OP_MATMUL || kind == WO_OP_CONVOLUTION || kind == WO_OP_NONE;
  if (wo_size_counts_of(&work->lasting, size_bytes) > 0 || wo_size_counts_of(&work->gradients, size_bytes) > 0) return true;
  return is_product && wo_size_counts_of(&work->lasting, 2 * size_bytes) > 0;
}

/* The tally of a size: its own, else that of the same number of elements in another type. NULL if no forward allocation has it.
 */
static const struct tally *find_size(const struct tallies *tallies, uint64_t size_bytes) {
  const uint64_t sizes[] = {size_bytes, 2 * size_bytes, size_bytes / 2};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const struct tally *tally = find(tallies, sizes[i], 0);
    if (tally != NULL && (i == 0 || only_power(tally) != 3)) return tally;
  }
  return NULL;
}

/* Takes the power of a tally, with the interval of its members; several powers are an interval too. */
static void take(struct wo__scaling *work, size_t i, const struct tally *tally, bool is_unsure, enum wo_scale_reason reason) {
  unsigned power = only_power(tally), low = tally->low, high = tally->high;
  assert(tally->counts[1] + tally->counts[2] > 0);
  if (power == 3) {
    power = tally->counts[2] > tally->counts[1] ? 2 : 1;
    low = low < 1 ? low : 1;
    high = 2;
  }
  if (is_unsure) low = 0;
  wo__scale_set(work, i, low < power ? low : power, power, high > power ? high : power,
                low < high ? WO_SCALE_REASON_UNDECIDED : reason);
}

/* `is_later`: the pass allocates no gradients of its own. */
static void decide(struct wo__scaling *work, const struct tallies *tallies, size_t i, bool is_later) {
  uint64_t size_bytes = work->pattern->instances.items[i].size_bytes;
  struct wo_stack_facts facts = wo__scale_facts(work, i);
  bool may_be_gradient = is_later && is_gradient_size(work, size_bytes, (enum wo_op_kind)facts.kind);
  const struct tally *by_node = facts.node == 0 ? NULL : find(tallies, size_bytes, facts.node);
  const struct tally *by_size = find_size(tallies, size_bytes);
  if (by_node != NULL && only_power(by_node) == 3) by_node = NULL;
  if ((facts.flags & WO_STACK_SCRATCH) != 0) {
    wo__scale_set(work, i, 0, 1, 1, WO_SCALE_REASON_SCRATCH);
  } else if (may_be_gradient && find(tallies, size_bytes, 0) == NULL) {
    wo__scale_set(work, i, 0, 0, 1, WO_SCALE_REASON_UNDECIDED);
  } else if (by_node != NULL) {
    take(work, i, by_node, may_be_gradient, WO_SCALE_REASON_OPERATOR);
  } else if (by_size != NULL) {
    take(work, i, by_size, may_be_gradient, WO_SCALE_REASON_SIZE);
  } else {
    wo__scale_set(work, i, 1, 1, 1, WO_SCALE_REASON_BACKWARD);
  }
}

/* The end of the backward pass that begins with instance `first`, and whether gradients are born in it. */
static size_t end_of_pass(const struct wo__scaling *work, size_t first, bool *ret_has_gradients) {
  size_t end = first;
  *ret_has_gradients = false;
  for (; end < work->pattern->instances.count; end++) {
    struct wo_class_mark mark = work->classes->marks.items[end];
    if (mark.phase != WO_PHASE_BACKWARD) break;
    if (mark.rule == WO_CLASS_RULE_GRADIENT) *ret_has_gradients = true;
  }
  return end;
}

enum wo_status wo__scale_backward(struct wo__scaling *work) {
  struct tallies tallies = {0};
  if (!gather(work, &tallies)) {
    WO_VEC_DONE(&tallies);
    return WO_E_NOMEM;
  }
  for (size_t first = 0, end; first<work->pattern->instances.count; first = end> first ? end : first + 1) {
    bool has_gradients;
    end = end_of_pass(work, first, &has_gradients);
    for (size_t i = first; i < end; i++) {
      if (wo__scale_is_open(work, i)) decide(work, &tallies, i, !has_gradients);
    }
    /* An instance that is in no pass and still open was not made by forward either. */
    if (end == first && wo__scale_is_open(work, first)) decide(work, &tallies, first, false);
  }
  WO_VEC_DONE(&tallies);
  return WO_OK;
}
