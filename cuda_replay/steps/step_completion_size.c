/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a step that failed, from those of a whole step of another length or batch.
 *
 * The only evidence of the change is pairs of sizes from the aligned part. A size that occurs there is looked up. Other sizes are
 * multiples of such a size in another type, or omit its last row (a loss that does not predict from the last token), or have the
 * ratios of their own stack, or all ratios: from the smallest to the largest. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/steps/step_completion_internal.h"
#include "parsers/base/vec.h"

/* Larger sizes do not occur, and doubles up to it are exact enough to be rounded. */
#define SIZE_MOST ((double)((uint64_t)1 << 60))

/* A smaller size shows nothing about lengths: counters, scratch memory of reductions. */
enum { TELLING_BYTES = 64 * 1024 };

/* Whether an allocation cannot depend on the batch: gradients, the optimizer, libraries. */
static bool is_fixed(const struct wo__continuing *work, uint32_t instance) {
  switch (work->classes->marks.items[instance].rule) {
  case WO_CLASS_RULE_WORKSPACE:
  case WO_CLASS_RULE_COMMUNICATION:
  case WO_CLASS_RULE_OPTIMIZER_STATE:
  case WO_CLASS_RULE_OPTIMIZER_TEMPORARY:
  case WO_CLASS_RULE_GRADIENT:
  case WO_CLASS_RULE_GRADIENT_SOURCE:
  case WO_CLASS_RULE_WEIGHT_COPY:
    return true;
  default:
    return false;
  }
}

/* ---- Learning ---- */

static int compare_pairs(const void *a, const void *b) {
  const struct wo__size_pair *left = a, *right = b;
  if (left->from != right->from) return left->from < right->from ? -1 : 1;
  return (int)right->is_near - (int)left->is_near;
}

static int compare_stacks(const void *a, const void *b) {
  const struct wo__stack_ratio *left = a, *right = b;
  return (left->stack > right->stack) - (left->stack < right->stack);
}

static void add_pair(struct wo__continuing *work, uint32_t donor, uint64_t to, bool is_near) {
  struct wo__size_map *const sizes = &work->sizes;
  const struct wo_instance *const from = &work->pattern->instances.items[donor];
  if (from->size_bytes == 0 || to == 0) return;
  sizes->pairs[sizes->count++] = (struct wo__size_pair){from->size_bytes, to, to, is_near};
  const double ratio = (double)to / (double)from->size_bytes;
  if (is_near && from->stack != WO_NO_STACK)
    sizes->stacks[sizes->stack_count++] = (struct wo__stack_ratio){from->stack, ratio, ratio};
}

/* The recording has the rounded size of a refused request. A size that rounds to it, by a known ratio or unchanged, is the
 * requested one. */
static uint64_t asked_size(const struct wo__continuing *work, uint32_t donor, uint64_t rounded) {
  const struct wo_alloc_settings *const settings = &work->pattern->recording->settings;
  const uint64_t from = work->pattern->instances.items[donor].size_bytes;
  if (from > 0 && wo_alloc_round(settings, from) == rounded) return from;
  for (size_t i = work->sizes.count; i-- > 0;) {
    const struct wo__size_pair *const pair = &work->sizes.pairs[i];
    const unsigned __int128 product = (unsigned __int128)from * pair->to_high;
    if (!pair->is_near || pair->from < TELLING_BYTES || product % pair->from != 0) continue;
    const unsigned __int128 size = product / pair->from;
    if (size > 0 && size <= (uint64_t)SIZE_MOST && wo_alloc_round(settings, (uint64_t)size) == rounded) return (uint64_t)size;
  }
  return rounded;
}

/* Collects all instances that were born in the step that failed and have a partner; the last of them is the refused one. */
static void gather_pairs(struct wo__continuing *work) {
  const struct wo_alloc_pattern *const pattern = work->pattern;
  for (uint32_t r = work->step_first; r < work->refused; r++) {
    const struct wo_request *const request = &pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const uint32_t partner = work->partners[request->subject];
    if (partner == WO__NOBODY || is_fixed(work, partner)) continue;
    add_pair(work, partner, pattern->instances.items[request->subject].size_bytes, r >= work->pass_first);
  }
  const uint32_t refused = pattern->requests.items[work->refused].subject;
  const uint32_t donor = pattern->requests.items[work->donor_at].subject;
  work->refused_bytes = asked_size(work, donor, pattern->instances.items[refused].size_bytes);
  add_pair(work, donor, work->refused_bytes, true);
}

/* Keeps one row for each size and for each stack, so that look-ups stay short for every recording. */
static void merge(struct wo__size_map *sizes) {
  size_t kept = 0;
  qsort(sizes->pairs, sizes->count, sizeof sizes->pairs[0], compare_pairs);
  for (size_t i = 1; i < sizes->count; i++) {
    struct wo__size_pair *const last = &sizes->pairs[kept], *const pair = &sizes->pairs[i];
    if (compare_pairs(last, pair) != 0) {
      sizes->pairs[++kept] = *pair;
      continue;
    }
    if (pair->to_low < last->to_low) last->to_low = pair->to_low;
    if (pair->to_high > last->to_high) last->to_high = pair->to_high;
  }
  if (sizes->count > 0) sizes->count = kept + 1;
  kept = 0;
  qsort(sizes->stacks, sizes->stack_count, sizeof sizes->stacks[0], compare_stacks);
  for (size_t i = 1; i < sizes->stack_count; i++) {
    struct wo__stack_ratio *const last = &sizes->stacks[kept], *const stack = &sizes->stacks[i];
    if (last->stack != stack->stack) {
      sizes->stacks[++kept] = *stack;
      continue;
    }
    if (stack->low < last->low) last->low = stack->low;
    if (stack->high > last->high) last->high = stack->high;
  }
  if (sizes->stack_count > 0) sizes->stack_count = kept + 1;
}

/* Ratios within a thousandth of each other are joined: a length less one grows by nearly the same ratio. If there is no place
 * left, the one with the fewest bytes is removed. */
static void add_ratio(struct wo__size_map *sizes, double ratio, double bytes) {
  size_t least = 0;
  for (size_t i = 0; i < sizes->ratio_count; i++) {
    struct wo__size_ratio *const known = &sizes->ratios[i];
    if (ratio > known->ratio * 0.999 && ratio < known->ratio * 1.001) {
      known->bytes += bytes;
      return;
    }
    if (known->bytes < sizes->ratios[least].bytes) least = i;
  }
  if (sizes->ratio_count < WO__RATIOS_MAX) least = sizes->ratio_count++;
  sizes->ratios[least] = (struct wo__size_ratio){ratio, bytes};
}

static void tally_bytes(struct wo__size_map *sizes) {
  for (size_t i = 0; i < sizes->count; i++) {
    if (!sizes->pairs[i].is_near) continue;
    sizes->from_bytes += (double)sizes->pairs[i].from;
    sizes->to_bytes += (double)sizes->pairs[i].to_high;
  }
}

static void tally_ratios(struct wo__size_map *sizes, bool is_telling) {
  for (size_t i = 0; i < sizes->count; i++) {
    const struct wo__size_pair *const pair = &sizes->pairs[i];
    if (!pair->is_near || (pair->from >= TELLING_BYTES) != is_telling) continue;
    add_ratio(sizes, (double)pair->to_high / (double)pair->from, (double)pair->to_high);
  }
}

/* Gradients that are added to others are temporaries of their size without a class that shows it. */
static bool gather_lasting(struct wo__continuing *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    const struct wo_instance *const instance = &work->pattern->instances.items[i];
    const bool is_lasting = instance->class_ == WO_CLASS_PARAMETER || instance->class_ == WO_CLASS_GRADIENT;
    if (is_lasting && !wo_size_counts_add(&work->sizes.lasting, instance->size_bytes)) return false;
  }
  wo_size_counts_sort(&work->sizes.lasting);
  return true;
}

enum wo_status wo__sizes_learn(struct wo__continuing *work) {
  struct wo__size_map *const sizes = &work->sizes;
  const size_t most = work->refused - work->step_first + 1;
  sizes->pairs = calloc(most, sizeof sizes->pairs[0]);
  sizes->stacks = calloc(most, sizeof sizes->stacks[0]);
  if (!sizes->pairs || !sizes->stacks || !gather_lasting(work)) return WO_E_NOMEM;
  gather_pairs(work);
  assert(sizes->count <= most && sizes->stack_count <= sizes->count);
  /* Weighed before the pairs are merged to one row for each size. */
  tally_ratios(sizes, true);
  if (sizes->ratio_count == 0) tally_ratios(sizes, false);
  tally_bytes(sizes);
  merge(sizes);
  sizes->is_equal = true;
  for (size_t i = 0; i < sizes->count; i++) {
    const struct wo__size_pair *const pair = &sizes->pairs[i];
    sizes->is_equal = sizes->is_equal && (!pair->is_near || (pair->to_low == pair->from && pair->to_high == pair->from));
  }
  return WO_OK;
}

void wo__sizes_done(struct wo__size_map *sizes) {
  free(sizes->pairs);
  free(sizes->stacks);
  wo_size_counts_done(&sizes->lasting);
  *sizes = (struct wo__size_map){0};
}

double wo__sizes_ratio(const struct wo__size_map *sizes) {
  double ratio = 1, most = 0;
  for (size_t i = 0; i < sizes->ratio_count; i++) {
    const struct wo__size_ratio *const known = &sizes->ratios[i];
    if (known->bytes <= most || (known->ratio > 0.999 && known->ratio < 1.001)) continue;
    ratio = known->ratio;
    most = known->bytes;
  }
  return ratio;
}

/* ---- Sizes in the failed step ---- */

static void widen(struct wo__size_span *span, double size) {
  const uint64_t bytes = size < 1 ? 1 : size > SIZE_MOST ? (uint64_t)SIZE_MOST : (uint64_t)(size + 0.5);
  if (bytes < span->low) span->low = bytes;
  if (bytes > span->high) span->high = bytes;
}

/* The first pair of at least this size. */
static size_t find_pair(const struct wo__size_map *sizes, uint64_t from) {
  size_t low = 0;
  WO_LOWER_BOUND(low, sizes->count, at, sizes->pairs[at].from < from);
  return low;
}

/* The size itself, as the pass that failed (is_near) or another one had it. */
static bool by_size(const struct wo__size_map *sizes, uint64_t from, bool is_near, struct wo__size_span *span) {
  bool is_known = false;
  for (size_t i = find_pair(sizes, from); i < sizes->count && sizes->pairs[i].from == from; i++) {
    const struct wo__size_pair *const pair = &sizes->pairs[i];
    if (pair->is_near != is_near) continue;
    if (pair->to_low < span->low) span->low = pair->to_low;
    if (pair->to_high > span->high) span->high = pair->to_high;
    is_known = true;
  }
  return is_known;
}

/* One row more or less, of a length of at least 64. The size of a row either stays the same or grows as the rest does. */
enum { ROWS_LEAST = 64, NEIGHBOURS_MAX = 64 };

/* Looks for sizes next to from / factor. One that stays the same may be near by accident. */
static bool by_neighbours(const struct wo__size_map *sizes, uint64_t from, double factor, struct wo__size_span *span) {
  const double wanted = (double)from / factor, reach = wanted / (double)ROWS_LEAST;
  bool is_known = false;
  size_t i = find_pair(sizes, (uint64_t)(wanted - reach));
  for (unsigned seen = 0; i < sizes->count && seen < NEIGHBOURS_MAX; i++, seen++) {
    const struct wo__size_pair *const pair = &sizes->pairs[i];
    if ((double)pair->from > wanted + reach) break;
    if (!pair->is_near || pair->to_high == pair->from) continue;
    const double row = (double)from - (double)pair->from * factor;
    const double least = (double)pair->to_low * factor, most = (double)pair->to_high * factor;
    widen(span, least + row);
    widen(span, most + row);
    widen(span, least / (double)pair->from * wanted);
    widen(span, most / (double)pair->from * wanted);
    is_known = true;
  }
  return is_known;
}

/* The same number of elements in another type, perhaps less a row: exactly, else nearly. */
static bool by_type(const struct wo__size_map *sizes, uint64_t from, struct wo__size_span *span) {
  static const double factors[] = {1, 2, 0.5, 4, 0.25, 8, 0.125};
  if (from < TELLING_BYTES) return false;
  for (size_t f = 1; f < sizeof factors / sizeof factors[0]; f++) {
    const double wanted = (double)from / factors[f];
    struct wo__size_span other = {UINT64_MAX, 0};
    if (wanted != (double)(uint64_t)wanted || !by_size(sizes, (uint64_t)wanted, true, &other)) continue;
    if (other.high == (uint64_t)wanted) continue;
    widen(span, (double)other.low * factors[f]);
    widen(span, (double)other.high * factors[f]);
    return true;
  }
  for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
    if (by_neighbours(sizes, from, factors[f], span)) return true;
  }
  return false;
}

/* The ratios of other allocations with the same stack. */
static bool by_stack(const struct wo__continuing *work, uint32_t instance, struct wo__size_span *span) {
  const struct wo_instance *const born = &work->pattern->instances.items[instance];
  const struct wo__stack_ratio key = {.stack = born->stack};
  const struct wo__size_map *const sizes = &work->sizes;
  if (born->stack == WO_NO_STACK || sizes->stack_count == 0) return false;
  const struct wo__stack_ratio *const found = bsearch(&key, sizes->stacks, sizes->stack_count, sizeof key, compare_stacks);
  if (!found) return false;
  widen(span, (double)born->size_bytes * found->low);
  widen(span, (double)born->size_bytes * found->high);
  return true;
}

/* Without evidence: the size is unchanged, or grew by any of the ratios, or by the square of the smallest: scores of an attention
 * that the aligned part has not reached. */
static void by_ratios(const struct wo__size_map *sizes, uint64_t from, struct wo__size_span *span) {
  double least = 1, least_shrunk = 1;
  widen(span, (double)from);
  for (size_t i = 0; i < sizes->ratio_count; i++) {
    const double ratio = sizes->ratios[i].ratio;
    widen(span, (double)from * ratio);
    if (ratio > 1.001 && (least <= 1 || ratio < least)) least = ratio;
    if (ratio < 0.999 && (least_shrunk >= 1 || ratio > least_shrunk)) least_shrunk = ratio;
  }
  widen(span, (double)from * least * least);
  widen(span, (double)from * least_shrunk * least_shrunk);
}

/* Whether it is as large as a gradient, or as its product before the cast. */
static bool may_be_gradient(const struct wo__size_map *sizes, uint64_t from) {
  if (sizes->lasting.count == 0) return false;
  return wo_size_counts_of(&sizes->lasting, from) > 0 || wo_size_counts_of(&sizes->lasting, 2 * from) > 0;
}

struct wo__size_span wo__size_of(const struct wo__continuing *work, uint32_t instance, bool is_later) {
  const struct wo__size_map *const sizes = &work->sizes;
  const uint64_t from = work->pattern->instances.items[instance].size_bytes;
  struct wo__size_span span = {UINT64_MAX, 0};
  if (from == 0 || sizes->is_equal || is_fixed(work, instance)) return (struct wo__size_span){from, from};
  if (is_later) widen(&span, (double)from);
  if (by_size(sizes, from, true, &span)) return span;
  if (may_be_gradient(sizes, from)) widen(&span, (double)from);
  if (by_type(sizes, from, &span) || by_stack(work, instance, &span)) return span;
  /* An earlier pass of the same step is no evidence of this one's length: it only adds possible sizes. */
  by_size(sizes, from, false, &span);
  by_ratios(sizes, from, &span);
  assert(span.low <= span.high);
  return span;
}
