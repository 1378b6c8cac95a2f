/* SPDX-License-Identifier: Apache-2.0 */
/* Finds temporaries that belong to parameters and not to activations: those that became a gradient, and copies of weights. Both
 * are decided by lives: a consumed tensor dies right after the birth of the tensor that was made of it. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_replay/classes/classify_internal.h"
#include "parsers/base/vec.h"

/* The same elements in a type twice as wide or half as wide, or in the same. */
static bool is_recast(uint64_t a, uint64_t b) {
  return a == b || a == 2 * b || b == 2 * a;
}

/* Whether two sizes can belong to the same number of elements in two types of 1 to 4 bytes. */
static bool is_resized(uint64_t a, uint64_t b) {
  return is_recast(a, b) || a == 4 * b || b == 4 * a;
}

/* Whether an operator passes the elements of its operand on, one to one. Without operators (Python stacks only) it may. */
static bool hands_on(struct wo_stack_facts facts) {
  return facts.kind == WO_OP_NONE || facts.kind == WO_OP_COPY || facts.kind == WO_OP_CAST || facts.kind == WO_OP_PLUMBING;
}

/* The instance that dies as the `step`-th request behind the birth of another; WO_NO_INSTANCE if none does. */
static uint32_t dead_behind(const struct wo__classing *work, const struct wo_instance *made, uint32_t step) {
  const uint32_t at = made->birth + step;
  return at < work->pattern->requests.count ? work->freed_at[at] : WO_NO_INSTANCE;
}

/* Whether an instance is the cast of another than `source`: that one dies right after its birth. */
static bool is_cast_of_another(const struct wo__classing *work, const struct wo_instance *made, uint32_t source) {
  for (uint32_t step = 1; step <= WO__CONSUMED_WITHIN; step++) {
    const uint32_t dead = dead_behind(work, made, step);
    if (dead == WO_NO_INSTANCE) return false;
    if (dead != source && is_recast(work->pattern->instances.items[dead].size_bytes, made->size_bytes)) return true;
  }
  return false;
}

/* Without operators, sizes are all there is, and they may be equal by accident: the gradient of the logits of 4096 tokens has as
 * many elements as that of a projection from a width of 4096, and dies with its birth. But the gradient of its other operand is
 * made between the two and lives on. Between a gradient and its cast are at most biases, scratch, and the cast of the other
 * operand's gradient. */
static bool is_cast_of(const struct wo__classing *work, uint32_t source, uint32_t made) {
  enum { BIAS_PART = 200 };
  const struct wo_instance *const instances = work->pattern->instances.items;
  const uint64_t small = instances[source].size_bytes / BIAS_PART;
  for (uint32_t r = instances[source].birth + 1; r < instances[made].birth; r++) {
    const struct wo_request *const request = &work->pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const struct wo_instance *const between = &instances[request->subject];
    const bool lives_on = between->size_bytes > small && between->death > instances[made].birth;
    if (lives_on && !is_cast_of_another(work, between, source)) return false;
  }
  return is_recast(instances[source].size_bytes, instances[made].size_bytes);
}

/* The instance that another was made of: the nearest one that dies right after its birth and has as many elements. */
static uint32_t source_of(const struct wo__classing *work, uint32_t consumer) {
  const struct wo_instance *instances = work->pattern->instances.items;
  const struct wo_instance *made = &instances[consumer];
  assert(made->birth != WO_NO_REQUEST);
  for (uint32_t step = 1; step <= WO__CONSUMED_WITHIN; step++) {
    const bool has_operator = wo__class_facts(work, consumer).kind != WO_OP_NONE;
    uint32_t dead = dead_behind(work, made, step);
    if (dead == WO_NO_INSTANCE && !has_operator) break; /* what is born next may have consumed it */
    if (dead == WO_NO_INSTANCE || dead == consumer) continue;
    const struct wo_instance *source = &instances[dead];
    if (source->birth == WO_NO_REQUEST || source->birth > made->birth) continue;
    if (!is_resized(source->size_bytes, made->size_bytes)) continue;
    if (has_operator || is_cast_of(work, dead, consumer)) return dead;
  }
  return WO_NO_INSTANCE;
}

static bool is_half(const struct wo__classing *work, uint32_t source, uint32_t made) {
  const struct wo_instance *const instances = work->pattern->instances.items;
  return 2 * instances[source].size_bytes == instances[made].size_bytes;
}

void wo__class_gradient_sources(struct wo__classing *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (work->classes->marks.items[i].rule != WO_CLASS_RULE_GRADIENT) continue;
    uint32_t at = (uint32_t)i;
    /* The walk ends at the operator that made the gradient; without operators after the two steps that autocast takes. */
    for (unsigned steps = 0; hands_on(wo__class_facts(work, at)); steps++) {
      if (wo__class_facts(work, at).kind == WO_OP_NONE && steps == 2) break;
      uint32_t source = source_of(work, at);
      if (source == WO_NO_INSTANCE || !wo__class_is_open(work, source)) break;
      if (work->classes->marks.items[source].phase != WO_PHASE_BACKWARD) break;
      wo__class_set(work, source, WO_CLASS_RULE_GRADIENT_SOURCE);
      work->has_casts = work->has_casts || is_half(work, source, at);
      at = source;
    }
  }
}

/* A cast in forward that may be a weight's. A product has one weight, so the partner of a weight is not a weight. The bias is a
 * third operand. */
enum cast_state { CAST_OPEN, CAST_WEIGHT, CAST_PARTNER, CAST_BIAS };

struct cast {
  uint64_t size_bytes;
  uint32_t instance;
  uint8_t state; /* enum cast_state */
  bool is_layer; /* the product is that of a layer; others are mostly between activations (scores) */
};

struct casts {
  struct cast *items;
  size_t count, capacity;
};

static int compare_sizes(const void *a, const void *b) {
  const struct cast *left = a, *right = b;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->instance > right->instance) - (left->instance < right->instance);
}

static int compare_births(const void *a, const void *b) {
  const struct cast *left = a, *right = b;
  return (left->instance > right->instance) - (left->instance < right->instance);
}

/* Whether a forward allocation is a cast for a product. Autocast casts weights only for products, and none while the model is
 * made. */
static bool is_product_cast(const struct wo__classing *work, size_t instance) {
  if (work->classes->marks.items[instance].phase != WO_PHASE_FORWARD || !wo__class_is_open(work, instance)) return false;
  struct wo_stack_facts facts = wo__class_facts(work, instance);
  bool has_native = (work->classes->facts.all_flags & WO_STACK_HAS_NATIVE) != 0;
  if ((facts.flags & WO_STACK_SETUP) != 0) return false;
  if (!has_native) return facts.context != 0;
  return facts.kind == WO_OP_CAST && (facts.flags & WO_STACK_MATMUL) != 0;
}

/* How many parameters have twice the bytes. If a size has gradients, only parameters with a gradient count: with optimizer
 * states, a size occurs three times among the lasting instances. */
static uint32_t parameters_of(const struct wo__classing *work, uint64_t cast_bytes) {
  uint32_t trained = wo_size_counts_of(&work->gradients, 2 * cast_bytes);
  return trained > 0 ? trained : wo_size_counts_of(&work->lasting, 2 * cast_bytes);
}

/* The casts of a size, in layers or not, that are weights or may be. */
static size_t count_candidates(const struct cast *casts, size_t count, bool is_layer) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    found += casts[i].is_layer == is_layer && (casts[i].state == CAST_OPEN || casts[i].state == CAST_WEIGHT);
  }
  return found;
}

static void take(struct cast *casts, size_t count, bool is_layer) {
  for (size_t i = 0; i < count; i++) {
    if (casts[i].is_layer == is_layer && casts[i].state == CAST_OPEN) casts[i].state = CAST_WEIGHT;
  }
}

/* Whether any line shows a weight. Without one, a program has no casts, and equal counts are an accident. */
static bool has_shown(const struct casts *casts) {
  for (size_t i = 0; i < casts->count; i++) {
    if (casts->items[i].state == CAST_WEIGHT) return true;
  }
  return false;
}

/* The casts of a size are weights if there are not more of them than parameters of that size; without operators, if there are
 * equally many. Embeddings have parameters that no product casts, so fewer are fine. Partners do not count. Layers come first:
 * operands of other products are weights (of experts) only where parameters are left. */
static void take_by_count(const struct wo__classing *work, struct casts *casts) {
  bool has_native = (work->classes->facts.all_flags & WO_STACK_HAS_NATIVE) != 0;
  if (!has_native && !has_shown(casts)) return;
  qsort(casts->items, casts->count, sizeof casts->items[0], compare_sizes);
  for (size_t first = 0, end; first < casts->count; first = end) {
    struct cast *const same = &casts->items[first];
    for (end = first; end < casts->count && casts->items[end].size_bytes == same->size_bytes;) end++;
    const uint32_t parameters = parameters_of(work, same->size_bytes);
    const size_t layers = count_candidates(same, end - first, true), others = count_candidates(same, end - first, false);
    if (has_native ? layers <= parameters : layers == parameters) take(same, end - first, true);
    if (layers + others <= parameters) take(same, end - first, false);
  }
  qsort(casts->items, casts->count, sizeof casts->items[0], compare_births);
}

/* Whether casts i - 1 and i (by birth) were made directly one after the other for one product. */
static bool is_same_product(const struct wo__classing *work, const struct casts *casts, size_t i) {
  const struct wo_instance *instances = work->pattern->instances.items;
  const struct wo_instance *first = &instances[casts->items[i - 1].instance], *second = &instances[casts->items[i].instance];
  return second->birth == first->birth + 1 && second->stack == first->stack && (second->stack != WO_NO_STACK);
}

/* Whether casts i - 1 and i (by birth) are the two operands of a layer's product. */
static bool is_pair(const struct wo__classing *work, const struct casts *casts, size_t i) {
  bool has_bias = casts->items[i - 1].state == CAST_BIAS || casts->items[i].state == CAST_BIAS;
  return casts->items[i].is_layer && !has_bias && is_same_product(work, casts, i);
}

/* Takes the bias out of the casts first .. end - 1 of one product: the smallest of them. If only one other cast is left, it is
 * the weight, because the input needed no cast. A product that casts only its input uses a bias that was cast before. */
static void split_bias(const struct wo__classing *work, struct casts *casts, size_t first, size_t end) {
  const struct wo_alloc_pattern *pattern = work->pattern;
  uint32_t next = casts->items[end - 1].instance + 1;
  if (end - first < 2 || end - first > 3 || next >= pattern->instances.count) return;
  if ((wo__class_facts(work, next).flags & WO_STACK_BIAS) == 0) return;
  if (pattern->instances.items[next].birth != pattern->instances.items[next - 1].birth + 1) return;
  size_t bias = first;
  for (size_t i = first; i < end; i++) {
    if (casts->items[i].size_bytes < casts->items[bias].size_bytes) bias = i;
  }
  casts->items[bias].state = CAST_BIAS;
  if (end - first == 2) casts->items[bias == first ? first + 1 : first].state = CAST_WEIGHT;
}

/* The whole number whose square is left * right / over; 0 when there is none. */
static uint64_t root_of(uint64_t left, uint64_t right, uint64_t over) {
  double square = (double)left * (double)right / (double)over;
  uint64_t root = (uint64_t)(sqrt(square) + 0.5);
  return (double)root * (double)root == square ? root : 0;
}

/* Whether three sizes (in elements) can be a weight (out x in), an input (n x in) and their product (n x out). */
static bool is_product(uint64_t weight, uint64_t input, uint64_t product) {
  uint64_t in = root_of(weight, input, product), out = root_of(weight, product, input);
  return in > 0 && out > 0 && in * out == weight && input % in == 0 && product % out == 0;
}

/* Without operators: one line makes bias, weight and input, as far as they are cast, and the product, directly one after the
 * other. Only the first that is as large as a parameter can be the weight; the size of a bias before it divides the weight and
 * the product. */
static void split_line(const struct wo__classing *work, struct casts *casts, size_t first, size_t end) {
  struct cast *line = &casts->items[first];
  size_t count = end - first, weight = 0;
  if (count == 1) line[0].state = CAST_PARTNER; /* the product comes last */
  if (count < 2 || parameters_of(work, line[0].size_bytes) == 0) return;
  uint64_t bias = line[0].size_bytes;
  bool has_two = count >= 3 && bias < line[1].size_bytes && parameters_of(work, line[1].size_bytes) > 0;
  if (has_two && line[1].size_bytes % bias == 0)
    weight = line[2].size_bytes % bias == 0 || (count > 3 && line[3].size_bytes % bias == 0);
  bool is_shown = weight == 1;
  if (count >= weight + 3)
    is_shown =
        is_shown || is_product(line[weight].size_bytes / 2, line[weight + 1].size_bytes / 2, line[weight + 2].size_bytes / 2);
  if (weight == 1) line[0].state = CAST_BIAS;
  if (is_shown) line[weight].state = CAST_WEIGHT;
  for (size_t i = weight + 1; i < count; i++) line[i].state = CAST_PARTNER;
}

/* All biases that were cast for products. */
static void split_biases(const struct wo__classing *work, struct casts *casts) {
  for (size_t first = 0, end; first < casts->count; first = end) {
    for (end = first + 1; end < casts->count && is_same_product(work, casts, end);) end++;
    if ((work->classes->facts.all_flags & WO_STACK_HAS_NATIVE) != 0)
      split_bias(work, casts, first, end);
    else
      split_line(work, casts, first, end);
  }
}

/* Marks the partners of weights. Returns whether weights come first (> 0) or second (< 0) in their pairs; 0 when no pair shows
 * it. */
static int mark_partners(const struct wo__classing *work, struct casts *casts) {
  int weight_first = 0;
  for (size_t i = 1; i < casts->count; i++) {
    struct cast *first = &casts->items[i - 1], *second = &casts->items[i];
    if (!is_pair(work, casts, i)) continue;
    if (first->state == CAST_WEIGHT && second->state != CAST_WEIGHT) {
      second->state = CAST_PARTNER;
      weight_first++;
    } else if (second->state == CAST_WEIGHT && first->state != CAST_WEIGHT) {
      first->state = CAST_PARTNER;
      weight_first--;
    }
  }
  return weight_first;
}

/* Decides pairs in which either cast may be the weight, by the order that the other products show. */
static void split_pairs(const struct wo__classing *work, struct casts *casts, int weight_first) {
  for (size_t i = 1; i < casts->count; i++) {
    struct cast *weight = weight_first > 0 ? &casts->items[i - 1] : &casts->items[i];
    struct cast *partner = weight_first > 0 ? &casts->items[i] : &casts->items[i - 1];
    if (!is_pair(work, casts, i) || weight->state != CAST_OPEN || partner->state != CAST_OPEN) continue;
    if (parameters_of(work, weight->size_bytes) == 0) continue;
    weight->state = CAST_WEIGHT;
    partner->state = CAST_PARTNER;
  }
}

/* Gathers all casts in forward that may be weights', by birth. A program without products of layers makes its own (einsum). */
static bool gather_casts(const struct wo__classing *work, struct casts *casts) {
  const bool has_layers = (work->classes->facts.all_flags & WO_STACK_LAYER) != 0;
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (!is_product_cast(work, i)) continue;
    if (!WO_VEC_RESERVE(casts, 1, SIZE_MAX)) return false;
    const bool is_layer = !has_layers || (wo__class_facts(work, i).flags & WO_STACK_LAYER) != 0;
    casts->items[casts->count++] =
        (struct cast){.size_bytes = work->pattern->instances.items[i].size_bytes, .instance = (uint32_t)i, .is_layer = is_layer};
  }
  return true;
}

/* Marks unpacked weights, and tensors that were made of them. */
static void mark_unpacked(struct wo__classing *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (!wo__class_is_open(work, i) || work->classes->marks.items[i].phase == WO_PHASE_START) continue;
    struct wo_stack_facts facts = wo__class_facts(work, i);
    bool is_unpacked = (facts.flags & WO_STACK_DEQUANTIZE) != 0;
    if (!is_unpacked && facts.kind != WO_OP_NONE && hands_on(facts)) {
      uint32_t source = source_of(work, (uint32_t)i);
      is_unpacked = source != WO_NO_INSTANCE && work->classes->marks.items[source].rule == WO_CLASS_RULE_WEIGHT_COPY;
    }
    if (is_unpacked) wo__class_set(work, i, WO_CLASS_RULE_WEIGHT_COPY);
  }
}

/* Without operators, casts of weights show in backward: the gradients of those are cast back. A program with gradients of which
 * none is computes in the type of its weights. */
static bool is_without_casts(const struct wo__classing *work) {
  const bool has_native = (work->classes->facts.all_flags & WO_STACK_HAS_NATIVE) != 0;
  return !has_native && work->gradients.count > 0 && !work->has_casts;
}

enum wo_status wo__class_weight_copies(struct wo__classing *work) {
  struct casts casts = {0};
  mark_unpacked(work);
  if (is_without_casts(work)) return WO_OK;
  if (!gather_casts(work, &casts)) {
    WO_VEC_DONE(&casts);
    return WO_E_NOMEM;
  }
  if (casts.count > 0) {
    split_biases(work, &casts);
    take_by_count(work, &casts);
    int weight_first = mark_partners(work, &casts);
    if (weight_first != 0) split_pairs(work, &casts, weight_first);
    take_by_count(work, &casts);
  }
  for (size_t i = 0; i < casts.count; i++) {
    const struct cast *cast = &casts.items[i];
    if (cast->state == CAST_WEIGHT || cast->state == CAST_BIAS) wo__class_set(work, cast->instance, WO_CLASS_RULE_WEIGHT_COPY);
    bool may_be = cast->state == CAST_OPEN && parameters_of(work, cast->size_bytes) > 0;
    if (may_be) wo__class_set(work, cast->instance, WO_CLASS_RULE_MAYBE_WEIGHT_COPY);
  }
  WO_VEC_DONE(&casts);
  return WO_OK;
}
