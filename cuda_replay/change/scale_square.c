/* SPDX-License-Identifier: Apache-2.0 */
/* Which activations of forward grow with the square of the length: attention scores, their softmax, masks.
 *
 * Divisibility alone proves nothing if lengths and model dimensions are powers of two. So allocations that pass their elements on
 * (bmm, div, where, exp, ...) are joined to components. A component is square if one of its members shows it: a softmax made it,
 * a reduction of it is smaller by exactly the length, or it is a mask of exactly length x length elements. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/change/scale_internal.h"
#include "parsers/base/vec.h"

/* How many allocations back an operand / the source of a reduction is searched. */
enum { OPERAND_WITHIN = 10, REDUCED_WITHIN = 6 };

/* An operand that is not kept dies at most this many requests after the result is born. One that is kept (for backward) counts as
 * an operand only if the same function made it, or if it was made at most this many allocations ago. */
enum { CONSUMED_WITHIN = 4, KEPT_WITHIN = 2 };

/* The evidence that a component is square. */
enum evidence { EVIDENCE_SCORES = 1 << 0, EVIDENCE_MASK = 1 << 1, EVIDENCE_WEAK = 1 << 2 };

struct squares {
  struct wo__scaling *work;
  uint32_t *parent;           /* union-find over instances */
  uint8_t *evidence;          /* of the component, at its root */
  WO_VEC(uint32_t) forward;   /* the open forward instances, by birth */
  bool is_length_a_dimension; /* a parameter is as long as the sequence: reductions by that factor prove nothing */
};

/* The member that represents a component; paths are halved on the way. */
static uint32_t root_of(struct squares *squares, uint32_t i) {
  assert(i < squares->work->pattern->instances.count);
  while (squares->parent[i] != i) {
    squares->parent[i] = squares->parent[squares->parent[i]];
    i = squares->parent[i];
  }
  return i;
}

static void join(struct squares *squares, uint32_t a, uint32_t b) {
  squares->parent[root_of(squares, a)] = root_of(squares, b);
}

static void show(struct squares *squares, uint32_t i, enum evidence evidence) {
  squares->evidence[i] |= (uint8_t)evidence;
}

static uint64_t bytes_of(const struct squares *squares, uint32_t i) {
  return squares->work->pattern->instances.items[i].size_bytes;
}

/* A square must meet this condition, but others may too. A length of 1 says nothing. */
static bool is_square_multiple(const struct squares *squares, uint64_t size) {
  uint64_t length = squares->work->length;
  return length >= 2 && size % length == 0 && (size / length) % length == 0;
}

/* Whether `older` was still alive when `younger` was made. */
static bool overlaps(const struct squares *squares, uint32_t older, uint32_t younger) {
  const struct wo_instance *instances = squares->work->pattern->instances.items;
  return instances[older].death == WO_NO_REQUEST || instances[older].death > instances[younger].birth;
}

/* Whether large / small is a power of two of at least 2 and at most `most`. */
static bool is_factor(uint64_t large, uint64_t small, uint64_t most) {
  for (uint64_t factor = 2; factor <= most; factor *= 2) {
    if (large / factor == small && large % factor == 0) return true;
  }
  return false;
}

/* Whether an operand of `operand` bytes can have as many elements as a result of `result` bytes, for this kind of operator. */
static bool same_elements(enum wo_op_kind kind, uint64_t operand, uint64_t result) {
  if (operand == result) return true;
  switch (kind) {
  case WO_OP_CAST:
  case WO_OP_SOFTMAX:
    return is_factor(operand, result, 4) || is_factor(result, operand, 4);
  case WO_OP_COMPARE:
    return is_factor(operand, result, 8);
  default:
    return false;
  }
}

/* Whether an operator passes the elements of an operand on, one to one. */
static bool hands_on(struct wo_stack_facts facts) {
  switch (facts.kind) {
  case WO_OP_NONE:
  case WO_OP_COPY:
  case WO_OP_CAST:
  case WO_OP_POINTWISE:
  case WO_OP_COMPARE:
  case WO_OP_SOFTMAX:
    return (facts.flags & WO_STACK_SCRATCH) == 0;
  default:
    return false;
  }
}

/* Whether two Python stacks end in the same function, or both in attention. */
static bool is_same_place(struct wo_stack_facts a, struct wo_stack_facts b) {
  return a.context == b.context || ((a.flags & b.flags) & WO_STACK_ATTENTION) != 0;
}

/* Whether an older instance that is alive and has as many elements is likely to be the operand of the one at `at`. */
static bool is_operand(const struct squares *squares, size_t at, size_t back, struct wo_stack_facts facts) {
  const struct wo_instance *instances = squares->work->pattern->instances.items;
  uint32_t younger = squares->forward.items[at], older = squares->forward.items[at - back];
  bool is_near = is_same_place(facts, wo__scale_facts(squares->work, older));
  if (facts.kind == WO_OP_NONE) return is_near;
  bool is_consumed = instances[older].death <= instances[younger].birth + CONSUMED_WITHIN;
  return is_near || is_consumed || back <= KEPT_WITHIN;
}

/* Joins an instance with the nearest older one that can be its operand. Without operators only allocations of the same function
 * count. */
static void join_operand(struct squares *squares, size_t at) {
  uint32_t younger = squares->forward.items[at];
  struct wo_stack_facts facts = wo__scale_facts(squares->work, younger);
  if (!hands_on(facts)) return;
  for (size_t back = 1; back <= OPERAND_WITHIN && back <= at; back++) {
    uint32_t older = squares->forward.items[at - back];
    if (!overlaps(squares, older, younger)) continue;
    if (!same_elements(facts.kind, bytes_of(squares, older), bytes_of(squares, younger))) continue;
    if (!is_operand(squares, at, back, facts)) continue;
    join(squares, older, younger);
    return;
  }
}

/* Joins the results of one operator call that makes several (dropout and its mask). */
static void join_sibling(struct squares *squares, size_t at) {
  if (at == 0) return;
  uint32_t a = squares->forward.items[at - 1], b = squares->forward.items[at];
  const struct wo_instance *instances = squares->work->pattern->instances.items;
  struct wo_stack_facts facts = wo__scale_facts(squares->work, b);
  bool is_kind = facts.kind == WO_OP_POINTWISE || facts.kind == WO_OP_SOFTMAX;
  if (!is_kind || instances[a].stack != instances[b].stack || instances[b].birth != instances[a].birth + 1) return;
  uint64_t left = bytes_of(squares, a), right = bytes_of(squares, b);
  if (left == right || is_factor(left, right, 8) || is_factor(right, left, 8)) join(squares, a, b);
}

/* A mask has length x length elements of 1 to 8 bytes. */
static bool is_mask(const struct squares *squares, uint32_t i, struct wo_stack_facts facts) {
  uint64_t square = squares->work->length * squares->work->length;
  uint64_t size = bytes_of(squares, i);
  if (facts.kind == WO_OP_COMPARE) return size == square;
  if (facts.kind != WO_OP_FACTORY) return false;
  return size == square || size == 2 * square || size == 4 * square || size == 8 * square;
}

/* The source of a reduction: the nearest older instance that is alive and at least twice as large. */
static uint32_t reduced_by(const struct squares *squares, size_t at) {
  uint32_t result = squares->forward.items[at];
  for (size_t back = 1; back <= REDUCED_WITHIN && back <= at; back++) {
    uint32_t older = squares->forward.items[at - back];
    struct wo_stack_facts facts = wo__scale_facts(squares->work, older);
    if (!overlaps(squares, older, result) || facts.kind == WO_OP_REDUCE || facts.kind == WO_OP_NORMALIZE) continue;
    if (bytes_of(squares, older) / 2 >= bytes_of(squares, result)) return older;
  }
  return UINT32_MAX;
}

/* Whether a reduction by the length is evidence of scores: normalisations reduce over features, and without operators only
 * functions named after attention count. */
static enum evidence trust_reduction(const struct squares *squares, struct wo_stack_facts facts) {
  bool is_attention = (facts.flags & WO_STACK_ATTENTION) != 0;
  if (is_attention) return EVIDENCE_SCORES;
  if (facts.kind != WO_OP_REDUCE) return 0;
  return squares->is_length_a_dimension ? EVIDENCE_WEAK : EVIDENCE_SCORES;
}

/* Notes the evidence of an instance: about itself, or about its source if it is a reduction. */
static void look(struct squares *squares, size_t at) {
  uint32_t i = squares->forward.items[at];
  struct wo_stack_facts facts = wo__scale_facts(squares->work, i);
  if ((facts.flags & WO_STACK_SCRATCH) != 0 || (facts.flags & WO_STACK_LOSS) != 0) return;
  if (is_square_multiple(squares, bytes_of(squares, i))) {
    if ((facts.flags & WO_STACK_SOFTMAX) != 0) show(squares, i, EVIDENCE_SCORES);
    if (is_mask(squares, i, facts)) show(squares, i, EVIDENCE_MASK);
  }
  if (facts.kind != WO_OP_REDUCE && facts.kind != WO_OP_NONE) return;
  uint32_t reduced = reduced_by(squares, at);
  if (reduced == UINT32_MAX || !is_square_multiple(squares, bytes_of(squares, reduced))) return;
  if (bytes_of(squares, reduced) / squares->work->length != bytes_of(squares, i)) return;
  show(squares, reduced, trust_reduction(squares, facts));
}

/* The reason that the evidence gives for a square; FORWARD if there is none. */
static enum wo_scale_reason reason_of(unsigned evidence) {
  if ((evidence & EVIDENCE_SCORES) != 0) return WO_SCALE_REASON_SCORES;
  return (evidence & EVIDENCE_MASK) != 0 ? WO_SCALE_REASON_MASK : WO_SCALE_REASON_FORWARD;
}

/* Whether a recording ends in forward too soon after a product to show what it is: jobs often fail at attention scores. */
static bool is_cut_off(const struct squares *squares, size_t at, struct wo_stack_facts facts) {
  enum { TOLD_WITHIN = 6 };
  const struct wo__scaling *work = squares->work;
  bool is_kind = facts.kind == WO_OP_MATMUL || hands_on(facts);
  bool ends_in_forward = wo__scale_is_forward(work, work->pattern->instances.count - 1);
  return is_kind && ends_in_forward && at + TOLD_WITHIN >= squares->forward.count;
}

/* Powers of one instance, from the evidence of its component. */
static void decide(struct squares *squares, size_t at) {
  struct wo__scaling *work = squares->work;
  uint32_t i = squares->forward.items[at];
  struct wo_stack_facts facts = wo__scale_facts(work, i);
  bool is_square = is_square_multiple(squares, bytes_of(squares, i));
  unsigned evidence = is_square ? squares->evidence[root_of(squares, i)] : 0;
  enum wo_scale_reason reason = reason_of(evidence);
  unsigned low = 1, likely = reason == WO_SCALE_REASON_FORWARD ? 1 : 2, high = likely;
  if (likely == 2) low = 2;
  /* Without operators a softmax is not visible. */
  bool is_blind = facts.kind == WO_OP_NONE && (facts.flags & WO_STACK_ATTENTION) != 0;
  if (is_square && (is_blind || is_cut_off(squares, at, facts) || (evidence & EVIDENCE_WEAK) != 0)) high = 2;
  if (work->classes->marks.items[i].rule == WO_CLASS_RULE_MAYBE_WEIGHT_COPY && likely < 2) low = 0;
  if ((facts.flags & WO_STACK_SCRATCH) != 0)
    wo__scale_set(work, i, 0, 1, 1, WO_SCALE_REASON_SCRATCH);
  else
    wo__scale_set(work, i, low, likely, high, low == high ? reason : WO_SCALE_REASON_UNDECIDED);
}

/* ---- Majorities: allocations with the same stack and size have the same shape ---- */

struct member {
  uint64_t size_bytes;
  uint32_t stack;
  uint32_t instance;
};

static int compare_members(const void *a, const void *b) {
  const struct member *left = a, *right = b;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->instance > right->instance) - (left->instance < right->instance);
}

/* The majority of one group. Ties go to the square, which has evidence; the other power only lacks it. Constants among them are
 * not changed: they are weights that share a stack. */
static void vote(struct wo__scaling *work, const struct member *members, size_t count) {
  size_t votes[3] = {0};
  for (size_t i = 0; i < count; i++) {
    unsigned power = work->exponents[members[i].instance].power[WO_AXIS_SEQ_LEN][WO_BOUND_LIKELY];
    assert(power < 3);
    votes[power]++;
  }
  unsigned winner = votes[2] >= votes[1] ? 2 : 1;
  if (votes[winner] == count || votes[0] > 0) return;
  for (size_t i = 0; i < count; i++) {
    unsigned power = work->exponents[members[i].instance].power[WO_AXIS_SEQ_LEN][WO_BOUND_LIKELY];
    if (power != winner) wo__scale_set(work, members[i].instance, winner, winner, winner, WO_SCALE_REASON_GROUP);
  }
}

static bool vote_all(struct squares *squares) {
  struct wo__scaling *work = squares->work;
  size_t count = squares->forward.count;
  struct member *members = malloc((count > 0 ? count : 1) * sizeof members[0]);
  if (members == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    uint32_t instance = squares->forward.items[i];
    members[i] = (struct member){bytes_of(squares, instance), work->pattern->instances.items[instance].stack, instance};
  }
  qsort(members, count, sizeof members[0], compare_members);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1;
         end < count && members[end].stack == members[first].stack && members[end].size_bytes == members[first].size_bytes;) {
      end++;
    }
    if (members[first].stack != WO_NO_STACK) vote(work, &members[first], end - first);
  }
  free(members);
  return true;
}

/* Collects the instances to decide, and finds out whether the length is also a width of the model. */
static bool gather(struct squares *squares) {
  struct wo__scaling *work = squares->work;
  size_t count = work->pattern->instances.count;
  squares->parent = malloc((count > 0 ? count : 1) * sizeof squares->parent[0]);
  squares->evidence = calloc(count > 0 ? count : 1, 1);
  if (squares->parent == NULL || squares->evidence == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    squares->parent[i] = (uint32_t)i;
    if (!wo__scale_is_open(work, i) || !wo__scale_is_forward(work, i)) continue;
    if (!WO_VEC_RESERVE(&squares->forward, 1, SIZE_MAX)) return false;
    squares->forward.items[squares->forward.count++] = (uint32_t)i;
  }
  for (uint64_t width = 1; width <= 4; width *= 2) {
    if (wo_size_counts_of(&work->lasting, work->length * width) > 0) squares->is_length_a_dimension = true;
  }
  return true;
}

enum wo_status wo__scale_forward(struct wo__scaling *work) {
  struct squares squares = {.work = work};
  enum wo_status status = WO_E_NOMEM;
  if (gather(&squares)) {
    for (size_t at = 0; at < squares.forward.count; at++) {
      join_operand(&squares, at);
      join_sibling(&squares, at);
      look(&squares, at);
    }
    for (size_t at = 0; at < squares.forward.count; at++) {
      uint32_t i = squares.forward.items[at];
      squares.evidence[root_of(&squares, i)] |= squares.evidence[i];
    }
    for (size_t at = 0; at < squares.forward.count; at++) decide(&squares, at);
    if (vote_all(&squares)) status = WO_OK;
  }
  free(squares.parent);
  free(squares.evidence);
  WO_VEC_DONE(&squares.forward);
  return status;
}
