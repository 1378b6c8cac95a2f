/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents from two recordings: stacks as symbols, alignment, the common ratio, powers. */
#include "cuda_replay/change/scale_from_two.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/change/scale_internal.h"
#include "cuda_replay/collections/sequence_match.h"
#include "parsers/base/vec.h"

/* ---- Stacks of two recordings as comparable symbols ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  return hash;
}

static uint64_t hash_frame(const struct wo_frame *frame) {
  uint64_t hash = hash_bytes(UINT64_C(14695981039346656037), frame->function.ptr, frame->function.len);
  hash = hash_bytes(hash ^ frame->function.len, frame->file.ptr, frame->file.len);
  return hash_bytes(hash, &frame->line, sizeof frame->line);
}

/* A symbol for every stack of a recording; NULL if memory is out. */
static uint64_t *hash_stacks(const struct wo_recording *recording) {
  uint64_t *frames = malloc((recording->frames.count + 1) * sizeof frames[0]);
  uint64_t *stacks = malloc((recording->stacks.count + 1) * sizeof stacks[0]);
  if (frames == NULL || stacks == NULL) {
    free(frames);
    free(stacks);
    return NULL;
  }
  for (size_t i = 0; i < recording->frames.count; i++) frames[i] = hash_frame(&recording->frames.items[i]);
  for (size_t i = 0; i < recording->stacks.count; i++) {
    const struct wo_stack *stack = &recording->stacks.items[i];
    stacks[i] = stack->count;
    for (uint32_t at = 0; at < stack->count; at++) {
      uint64_t frame = frames[recording->stack_frames.items[stack->first + at]];
      stacks[i] = hash_bytes(stacks[i], &frame, sizeof frame);
    }
  }
  free(frames);
  return stacks;
}

/* The symbols of all allocations made while recording; NULL if memory is out. */
static uint64_t *symbols_of(const struct wo_alloc_pattern *pattern) {
  size_t count = pattern->instances.count - pattern->start_count;
  uint64_t *stacks = hash_stacks(pattern->recording);
  uint64_t *symbols = malloc((count + 1) * sizeof symbols[0]);
  if (stacks != NULL && symbols != NULL) {
    for (size_t i = 0; i < count; i++) {
      uint32_t stack = pattern->instances.items[pattern->start_count + i].stack;
      symbols[i] = stack == WO_NO_STACK ? 0 : stacks[stack];
    }
  } else {
    free(symbols);
    symbols = NULL;
  }
  free(stacks);
  return symbols;
}

/* ---- Quotients ---- */

struct quotient {
  uint64_t over, under; /* in lowest terms */
  size_t count;
};

struct quotients {
  struct quotient *items;
  size_t count, capacity;
};

struct pairing {
  const struct wo_alloc_pattern *first, *second;
  enum wo_scale_axis_id axis;
  uint32_t *matches; /* of the allocations made while recording, counted from there */
  struct wo_scale_from_two pair;
  struct wo_exponents exponents;
};

/* Euclid; never 0. */
static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a == 0 ? 1 : a;
}

/* The sizes of a matched pair; false if the allocation has no partner. */
static bool sizes_of(const struct pairing *pairing, size_t i, uint64_t *ret_first, uint64_t *ret_second) {
  if (pairing->matches[i] == WO_NO_MATCH) return false;
  *ret_first = pairing->first->instances.items[pairing->first->start_count + i].size_bytes;
  *ret_second = pairing->second->instances.items[pairing->second->start_count + pairing->matches[i]].size_bytes;
  return *ret_first > 0 && *ret_second > 0;
}

static int compare_quotients(const void *a, const void *b) {
  const struct quotient *left = a, *right = b;
  if (left->over != right->over) return left->over < right->over ? -1 : 1;
  return (left->under > right->under) - (left->under < right->under);
}

/* Counts the quotients of all pairs. */
static bool gather_quotients(const struct pairing *pairing, struct quotients *quotients) {
  for (size_t i = 0; i < pairing->pair.count; i++) {
    uint64_t first, second;
    if (!sizes_of(pairing, i, &first, &second)) continue;
    uint64_t divisor = common_divisor(first, second);
    if (!WO_VEC_RESERVE(quotients, 1, SIZE_MAX)) return false;
    quotients->items[quotients->count++] = (struct quotient){second / divisor, first / divisor, 1};
  }
  if (quotients->count == 0) return true;
  qsort(quotients->items, quotients->count, sizeof quotients->items[0], compare_quotients);
  size_t kept = 0;
  for (size_t i = 1; i < quotients->count; i++) {
    if (compare_quotients(&quotients->items[i], &quotients->items[kept]) == 0)
      quotients->items[kept].count++;
    else
      quotients->items[++kept] = quotients->items[i];
  }
  quotients->count = kept + 1;
  return true;
}

/* The number of pairs that a ratio and its square explain. */
static size_t explained_by(const struct quotients *quotients, const struct quotient *ratio) {
  size_t count = 0;
  for (size_t i = 0; i < quotients->count; i++) {
    const struct quotient *quotient = &quotients->items[i];
    bool is_ratio = quotient->over == ratio->over && quotient->under == ratio->under;
    bool is_square = quotient->over == ratio->over * ratio->over && quotient->under == ratio->under * ratio->under;
    if (is_ratio || is_square) count += quotient->count;
  }
  return count;
}

/* Finds the ratio that explains most pairs; false if all sizes are equal. Ratios between sizes of two lengths are small
 * fractions. */
static bool find_ratio(const struct quotients *quotients, struct wo_scale_from_two *pair) {
  enum { TERM_MAX = 1 << 20 };
  size_t most = 0;
  for (size_t i = 0; i < quotients->count; i++) {
    const struct quotient *quotient = &quotients->items[i];
    bool is_usable = quotient->over != quotient->under && quotient->over < TERM_MAX && quotient->under < TERM_MAX;
    /* Rare quotients are exceptions, and trying them would only cost time with hostile input. */
    if (!is_usable || quotient->count < most / 4 + 1 || quotient->count * 1000 < pair->matched) continue;
    size_t explained = explained_by(quotients, quotient);
    if (explained <= most) continue;
    most = explained;
    pair->ratio_over = (uint32_t)quotient->over;
    pair->ratio_under = (uint32_t)quotient->under;
  }
  return most > 0;
}

/* ---- Powers ---- */

/* size * ratio^power, not rounded. */
static double grown(const struct wo_scale_from_two *pair, uint64_t size, unsigned power) {
  assert(pair->ratio_under > 0);
  double ratio = (double)pair->ratio_over / (double)pair->ratio_under, value = (double)size;
  for (; power > 0; power--) value *= ratio;
  return value;
}

/* The exponents of a matched pair: a power, or the two powers around its quotient. */
static void set_matched(struct pairing *pairing, struct wo_exponent *exponent, uint64_t first, uint64_t second) {
  struct wo_scale_from_two *pair = &pairing->pair;
  for (unsigned power = 0; power <= 2; power++) {
    double difference = grown(pair, first, power) - (double)second;
    if (difference > 0.5 || difference < -0.5) continue;
    wo__exponent_set(exponent, pairing->axis, power, power, power, WO_SCALE_REASON_PAIR);
    pair->by_power[power]++;
    return;
  }
  bool grows = pair->ratio_over > pair->ratio_under;
  bool is_above = grows ? (double)second > grown(pair, first, 1) : (double)second < grown(pair, first, 1);
  unsigned low = is_above ? 1 : 0;
  double to_low = (double)second / grown(pair, first, low), to_high = grown(pair, first, low + 1) / (double)second;
  if (!grows) {
    to_low = 1 / to_low;
    to_high = 1 / to_high;
  }
  wo__exponent_set(exponent, pairing->axis, low, to_low <= to_high ? low : low + 1, low + 1, WO_SCALE_REASON_PAIR_ODD);
  pair->others++;
}

/* The matched allocations sorted by stack and size, to find one for each unmatched allocation. */
struct sibling {
  uint64_t size_bytes;
  uint32_t stack;
  uint32_t instance;
};

static int compare_siblings(const void *a, const void *b) {
  const struct sibling *left = a, *right = b;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

/* Unmatched allocations copy the exponents of one with the same stack and size. */
static bool set_unmatched(struct pairing *pairing, const struct wo_exponents *inferred) {
  const struct wo_alloc_pattern *pattern = pairing->first;
  struct sibling *siblings = malloc((pairing->pair.count + 1) * sizeof siblings[0]);
  size_t count = 0;
  if (siblings == NULL) return false;
  for (size_t i = 0; i < pairing->pair.count; i++) {
    const struct wo_instance *instance = &pattern->instances.items[pattern->start_count + i];
    if (pairing->matches[i] == WO_NO_MATCH) continue;
    siblings[count++] = (struct sibling){instance->size_bytes, instance->stack, (uint32_t)(pattern->start_count + i)};
  }
  qsort(siblings, count, sizeof siblings[0], compare_siblings);
  for (size_t i = 0; i < pairing->pair.count; i++) {
    if (pairing->matches[i] != WO_NO_MATCH) continue;
    size_t at = pattern->start_count + i;
    struct sibling key = {pattern->instances.items[at].size_bytes, pattern->instances.items[at].stack, 0};
    const struct sibling *sibling = bsearch(&key, siblings, count, sizeof key, compare_siblings);
    struct wo_exponent *exponent = &pairing->exponents.list.items[at];
    if (sibling != NULL) {
      *exponent = pairing->exponents.list.items[sibling->instance];
      exponent->reason = WO_SCALE_REASON_PAIR_GROUP;
    } else if (inferred == NULL) {
      wo__exponent_set(exponent, pairing->axis, 0, 1, pairing->axis == WO_AXIS_SEQ_LEN ? 2 : 1, WO_SCALE_REASON_UNDECIDED);
    }
  }
  free(siblings);
  return true;
}

/* ---- Whole ---- */

/* A pair is rejected if less than this percentage of the longer recording has a partner / if more than these have an odd
 * quotient, or a size of the model's own that changed. */
enum { MATCHED_MIN_PCT = 80, ODD_FEW = 16, ODD_MAX_PCT = 1, CHANGED_MAX_PCT = 1 };

/* Whether the alignment found enough pairs to be trusted. */
static enum wo_status check(const struct pairing *pairing, struct wo_err *err) {
  const struct wo_scale_from_two *pair = &pairing->pair;
  size_t count = pairing->second->instances.count - pairing->second->start_count;
  size_t longer = pair->count > count ? pair->count : count;
  if (pair->matched * 100 < longer * MATCHED_MIN_PCT || pair->matched == 0) {
    return wo_err_set(
        err, WO_E_RANGE,
        "the two recordings do not fit: only %zu of %zu allocations have the same stack in the same order; both must be of the "
        "same program and the same number of steps",
        pair->matched, longer);
  }
  return WO_OK;
}

/* Whether both are of one model: what does not depend on the batch (parameters, gradients, states) has the same size in both.
 * Those of a library may differ. Copies of weights and sources of gradients are left out: they are guesses where stacks name no
 * operator, and sizes may agree by accident in one recording. */
static enum wo_status check_model(const struct pairing *pairing, const struct wo_exponents *inferred, struct wo_err *err) {
  size_t constant = 0, changed = 0;
  for (size_t i = 0; inferred && i < pairing->pair.count; i++) {
    const enum wo_scale_reason reason = (enum wo_scale_reason)inferred->list.items[pairing->first->start_count + i].reason;
    const bool is_constant = reason == WO_SCALE_REASON_CLASS || reason == WO_SCALE_REASON_START;
    uint64_t first, second;
    if (!is_constant || !sizes_of(pairing, i, &first, &second)) continue;
    constant++;
    changed += first != second;
  }
  if (changed <= ODD_FEW || changed * 100 <= constant * CHANGED_MAX_PCT) return WO_OK;
  return wo_err_set(
      err, WO_E_RANGE,
      "the two recordings do not fit: %zu of %zu parameters, gradients and optimizer states have other sizes in the "
      "second one, so it is of another model",
      changed, constant);
}

static enum wo_status check_powers(const struct wo_scale_from_two *pair, struct wo_err *err) {
  if (pair->others > ODD_FEW && pair->others * 100 > pair->matched * ODD_MAX_PCT) {
    return wo_err_set(
        err, WO_E_RANGE,
        "the two recordings do not fit: %zu of %zu allocations grew by other ratios than 1, %u/%u and its square; more than one "
        "setting differs, or the operators do",
        pair->others, pair->matched, pair->ratio_over, pair->ratio_under);
  }
  return WO_OK;
}

/* Aligns the allocations that both made while recording; those that were alive at the start have no stacks. */
static enum wo_status match(struct pairing *pairing) {
  size_t second_count = pairing->second->instances.count - pairing->second->start_count;
  uint64_t *first = symbols_of(pairing->first), *second = symbols_of(pairing->second);
  pairing->matches = malloc((pairing->pair.count + 1) * sizeof pairing->matches[0]);
  enum wo_status status = WO_E_NOMEM;
  if (first != NULL && second != NULL && pairing->matches != NULL) {
    status = wo_sequence_match(first, pairing->pair.count, second, second_count, pairing->matches);
  }
  free(first);
  free(second);
  if (status != WO_OK) return status;
  for (size_t i = 0; i < pairing->pair.count; i++) pairing->pair.matched += pairing->matches[i] != WO_NO_MATCH;
  return WO_OK;
}

/* Starts from the inferred exponents: they remain for the other axis, for allocations alive at the start, and for unmatched ones.
 */
static bool begin(struct pairing *pairing, const struct wo_exponents *inferred) {
  struct wo_exponents *exponents = &pairing->exponents;
  size_t count = pairing->first->instances.count;
  if (count > 0 && !WO_VEC_RESERVE(&exponents->list, count, SIZE_MAX)) return false;
  for (size_t i = 0; i < count; i++) {
    exponents->list.items[i] = inferred != NULL ? inferred->list.items[i] : (struct wo_exponent){.reason = WO_SCALE_REASON_START};
  }
  exponents->list.count = count;
  if (inferred != NULL) exponents->activation_bytes = inferred->activation_bytes;
  return true;
}

/* Alignment, ratio, powers; each step can reject the pair. */
static enum wo_status infer(struct pairing *pairing, const struct wo_exponents *inferred, struct wo_err *err) {
  struct quotients quotients = {0};
  if (!begin(pairing, inferred)) return WO_E_NOMEM;
  enum wo_status status = match(pairing);
  if (status == WO_OK) status = check(pairing, err);
  if (status == WO_OK) status = check_model(pairing, inferred, err);
  if (status != WO_OK) return status;
  bool is_gathered = gather_quotients(pairing, &quotients);
  bool has_ratio = is_gathered && find_ratio(&quotients, &pairing->pair);
  WO_VEC_DONE(&quotients);
  if (!is_gathered) return WO_E_NOMEM;
  if (!has_ratio) {
    return wo_err_set(err, WO_E_RANGE,
                      "the two recordings do not fit: no ratio of sizes is common, as if both ran at the same size");
  }
  for (size_t i = 0; i < pairing->pair.count; i++) {
    uint64_t first, second;
    if (!sizes_of(pairing, i, &first, &second)) continue;
    set_matched(pairing, &pairing->exponents.list.items[pairing->first->start_count + i], first, second);
  }
  if (!set_unmatched(pairing, inferred)) return WO_E_NOMEM;
  return check_powers(&pairing->pair, err);
}

enum wo_status wo_scale_from_two_infer(const struct wo_alloc_pattern *first, const struct wo_alloc_pattern *second,
                                       enum wo_scale_axis_id axis, const struct wo_exponents *inferred,
                                       struct wo_exponents *ret_exponents, struct wo_scale_from_two *ret_pair,
                                       struct wo_err *err) {
  assert(axis < WO_AXIS_COUNT_ && (inferred == NULL || inferred->list.count == first->instances.count));
  struct pairing pairing = {.first = first, .second = second, .axis = axis};
  pairing.pair.count = first->instances.count - first->start_count;
  enum wo_status status = infer(&pairing, inferred, err);
  free(pairing.matches);
  if (status == WO_E_NOMEM) wo_err_set(err, status, "no memory for the alignment of two recordings");
  if (status != WO_OK) {
    wo_exponents_done(&pairing.exponents);
    return status;
  }
  *ret_pair = pairing.pair;
  *ret_exponents = pairing.exponents;
  return WO_OK;
}
