/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: tree x facts -> value.
 *
 * Values are intervals and truths are three-valued, so a rule never decides on the rounding of a printed number. One handler per
 * kind of node, found in a table by its op. Nothing here can fail: what cannot be computed is unknown. The parser has checked
 * units and bounded the size, so handlers only assert what they rely on. */
#include <assert.h>
#include <math.h>

#include "rules/language/expr_internal.h"

/* The value of one argument. Nothing is kept between evaluations: facts may change from one to the
 * next, and trees are small. */
static struct wo_value eval_arg(const struct wo_node *node, size_t index, const struct wo_facts_source *facts) {
  assert(node->op > WO_OP_DEFINITION && index < node->arg_count);
  return wo__expr_eval_node(node->as.args[index], facts);
}

/* `value` with the evidence of the first operand that has some. One id is enough: a report needs a
 * line to point at, and an argument lists the facts it rests on by itself (wo_expr_each_fact). */
static struct wo_value with_evidence(struct wo_value value, struct wo_value a, struct wo_value b) {
  value.evidence = a.evidence != WO_EVENT_NONE ? a.evidence : b.evidence;
  return value;
}

/* ---- intervals -------------------------------------------------------------------------------------------------------- */

/* The value for bounds that arithmetic gave; unknown when they left the range of numbers. The operations used here round
 * monotonically, so the order of the three survives. This is also the one gate against infinities and NaN: after it every known
 * number is finite, so comparisons need not handle them. */
static struct wo_value quantity(enum wo_unit unit, double lo, double mid, double hi) {
  if (!isfinite(lo) || !isfinite(mid) || !isfinite(hi)) return wo_value_unknown(unit);
  assert(lo <= mid && mid <= hi);
  return wo_value_number(unit, (struct wo_interval){.lo = lo, .mid = mid, .hi = hi});
}

/* Without the care for NaN that fmin() takes: none comes here. */
static double min2(double a, double b) {
  return a < b ? a : b;
}

static double max2(double a, double b) {
  return a > b ? a : b;
}

/* The product can be largest and smallest at any pair of ends, because ends may be negative. */
static struct wo_value multiply(enum wo_unit unit, struct wo_interval a, struct wo_interval b) {
  const double p = a.lo * b.lo;
  const double q = a.lo * b.hi;
  const double r = a.hi * b.lo;
  const double s = a.hi * b.hi;
  return quantity(unit, min2(min2(p, q), min2(r, s)), a.mid * b.mid, max2(max2(p, q), max2(r, s)));
}

/* As multiply. A divisor that may be zero gives no value, not a huge one: a share of a card whose
 * capacity was printed as "0 bytes" is not infinite but unknown. */
static struct wo_value divide(enum wo_unit unit, struct wo_interval a, struct wo_interval b) {
  if (b.lo <= 0 && b.hi >= 0) return wo_value_unknown(unit);
  const double p = a.lo / b.lo;
  const double q = a.lo / b.hi;
  const double r = a.hi / b.lo;
  const double s = a.hi / b.hi;
  return quantity(unit, min2(min2(p, q), min2(r, s)), a.mid / b.mid, max2(max2(p, q), max2(r, s)));
}

/* a + b, a - b, a * b, a / b. Operands are taken as independent: x - x of an interval is not
 * exactly zero. That errs on the safe side, since intervals only come out too wide, and a rule that
 * cannot decide says nothing. */
static struct wo_value eval_arithmetic(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value left = eval_arg(node, 0, facts);
  const struct wo_value right = eval_arg(node, 1, facts);
  if (!left.is_known || !right.is_known) return wo_value_unknown(node->unit);
  const struct wo_interval a = left.number;
  const struct wo_interval b = right.number;
  struct wo_value value = wo_value_unknown(node->unit);
  if (node->op == WO_OP_ADD) value = quantity(node->unit, a.lo + b.lo, a.mid + b.mid, a.hi + b.hi);
  if (node->op == WO_OP_SUBTRACT) value = quantity(node->unit, a.lo - b.hi, a.mid - b.mid, a.hi - b.lo);
  if (node->op == WO_OP_MULTIPLY) value = multiply(node->unit, a, b);
  if (node->op == WO_OP_DIVIDE) value = divide(node->unit, a, b);
  return with_evidence(value, left, right);
}

/* min(...) and max(...). Picking bound by bound is right because both rise with each of their
 * arguments. One unknown argument makes the whole unknown, even where the others would bound it: a
 * rule that can do without a fact says so with otherwise(). */
static struct wo_value eval_min_max(const struct wo_node *node, const struct wo_facts_source *facts) {
  double (*const pick)(double, double) = node->op == WO_OP_MIN ? min2 : max2;
  struct wo_value best = eval_arg(node, 0, facts);
  for (size_t i = 1; i < node->arg_count && best.is_known; i++) {
    const struct wo_value next = eval_arg(node, i, facts);
    if (!next.is_known) return wo_value_unknown(node->unit);
    const struct wo_interval a = best.number;
    const struct wo_interval b = next.number;
    best = with_evidence(quantity(node->unit, pick(a.lo, b.lo), pick(a.mid, b.mid), pick(a.hi, b.hi)), best, next);
  }
  return best;
}

/* ---- functions of one number ------------------------------------------------------------------------------------------ */

/* The largest power of two that is at most x >= 1. Ends within the exponents of a double. */
static double power_of_two_at_most(double x) {
  assert(x >= 1 && isfinite(x));
  double power = 1;
  while (power <= x / 2) power *= 2;
  return power;
}

/* A function that never decreases, applied to the three numbers. */
static struct wo_value map_rising(struct wo_value x, double (*f)(double)) {
  return with_evidence(quantity(x.unit, f(x.number.lo), f(x.number.mid), f(x.number.hi)), x, x);
}

/* Functions that keep the unit of their one argument. Those that never decrease map bound to bound;
 * a sign swaps the bounds; abs() folds an interval around zero.
 *
 * nominal() is the way out of intervals: proposals want one number to write down ("micro_batch=2"),
 * and there the rounding of the input no longer matters. Conditions should not use it. */
static struct wo_value eval_one_number(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value x = eval_arg(node, 0, facts);
  if (!x.is_known) return x;
  const struct wo_interval n = x.number;
  switch (node->op) {
  case WO_OP_FLOOR:
    return map_rising(x, floor);
  case WO_OP_CEIL:
    return map_rising(x, ceil);
  case WO_OP_ROUND: /* half away from zero: "2.5 samples" become 3, and -2.5 become -3 */
    return map_rising(x, round);
  case WO_OP_NEGATE:
    return with_evidence(quantity(x.unit, -n.hi, -n.mid, -n.lo), x, x);
  case WO_OP_NOMINAL:
    return with_evidence(wo_value_exact(x.unit, n.mid), x, x);
  case WO_OP_POWER_OF_TWO_AT_MOST:
    return n.lo >= 1 ? map_rising(x, power_of_two_at_most) : wo_value_unknown(x.unit);
  default:
    break;
  }
  assert(node->op == WO_OP_ABS);
  const double far = max2(fabs(n.lo), fabs(n.hi));
  const double near = n.lo <= 0 && n.hi >= 0 ? 0 : min2(fabs(n.lo), fabs(n.hi));
  return with_evidence(quantity(x.unit, near, fabs(n.mid), far), x, x);
}

/* The largest divisor of n that is at most `limit`, and 1 if there is none. Looks at pairs of divisors up to the root. Fixes use
 * it to shrink a batch: a micro-batch that does not divide what it replaces would leave a remainder, which most trainers
 * refuse. */
static double divisor_at_most(uint64_t n, double limit) {
  uint64_t best = 1;
  for (uint64_t small = 1; small * small <= n; small++) {
    if (n % small != 0) continue;
    const uint64_t large = n / small;
    if ((double)large <= limit && large > best) best = large;
    if ((double)small <= limit && small > best) best = small;
  }
  return (double)best;
}

/* divisor_at_most(n, limit): n has to be a whole, exact number in range; the limit may be an interval, and so may the result. The
 * result never falls when the limit rises, so it is computed bound by bound. */
static struct wo_value eval_divisor(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value n = eval_arg(node, 0, facts);
  const struct wo_value limit = eval_arg(node, 1, facts);
  if (!n.is_known || !limit.is_known) return wo_value_unknown(node->unit);
  const bool is_whole = n.number.lo == n.number.hi && floor(n.number.lo) == n.number.lo;
  if (!is_whole || n.number.lo < 1 || n.number.lo > WO_LIMIT_EXPR_DIVIDEND) return wo_value_unknown(node->unit);
  const uint64_t whole = (uint64_t)n.number.lo;
  const struct wo_interval l = limit.number;
  return with_evidence(
      quantity(node->unit, divisor_at_most(whole, l.lo), divisor_at_most(whole, l.mid), divisor_at_most(whole, l.hi)), n, limit);
}

/* ---- truth ------------------------------------------------------------------------------------------------------------ */

static enum wo_truth truth_of(bool is_true) {
  return is_true ? WO_TRUE : WO_FALSE;
}

/* Kleene: what is undecided stays so. */
static enum wo_truth negated(enum wo_truth truth) {
  if (truth == WO_UNDECIDED) return WO_UNDECIDED;
  return truth == WO_TRUE ? WO_FALSE : WO_TRUE;
}

/* Intervals are equal for certain only when both are exact: two printed numbers that look alike may
 * stand for different values. "11.62 GiB" twice in one message is no proof that two figures are the
 * same. */
static enum wo_truth numbers_equal(struct wo_interval a, struct wo_interval b) {
  if (a.hi < b.lo || b.hi < a.lo) return WO_FALSE;
  return a.lo == a.hi && b.lo == b.hi ? WO_TRUE : WO_UNDECIDED;
}

/* Decided only when it holds, or fails, for every pair of values in the intervals. If the ends touch, the result is false: then
 * at best they are equal. */
static enum wo_truth number_less(struct wo_interval a, struct wo_interval b) {
  if (a.hi < b.lo) return WO_TRUE;
  return a.lo >= b.hi ? WO_FALSE : WO_UNDECIDED;
}

/* Equality of two known values of one unit. Texts are compared byte by byte. */
static enum wo_truth values_equal(struct wo_value a, struct wo_value b) {
  if (a.unit == WO_UNIT_TEXT) return truth_of(wo_view_equal(a.text, b.text));
  if (a.unit == WO_UNIT_BOOL) return truth_of(a.truth == b.truth);
  return numbers_equal(a.number, b.number);
}

/* All six comparisons in terms of two: a <= b is not (b < a). Negating keeps UNDECIDED, so the six
 * agree with each other: never are both a < b and a >= b true, and never is one of them decided
 * without the other. */
static struct wo_value eval_comparison(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value a = eval_arg(node, 0, facts);
  const struct wo_value b = eval_arg(node, 1, facts);
  if (!a.is_known || !b.is_known) return wo_value_unknown(WO_UNIT_BOOL);
  enum wo_truth truth = WO_UNDECIDED;
  if (node->op == WO_OP_EQUAL) truth = values_equal(a, b);
  if (node->op == WO_OP_UNEQUAL) truth = negated(values_equal(a, b));
  if (node->op == WO_OP_LESS) truth = number_less(a.number, b.number);
  if (node->op == WO_OP_GREATER) truth = number_less(b.number, a.number);
  if (node->op == WO_OP_LESS_EQUAL) truth = negated(number_less(b.number, a.number));
  if (node->op == WO_OP_GREATER_EQUAL) truth = negated(number_less(a.number, b.number));
  return with_evidence(wo_value_bool(truth), a, b);
}

/* Kleene: one operand can decide the result alone. The right side is left out then, which saves time and changes nothing, since
 * evaluation has no effects. The evidence is that of the operand that settled it. */
static struct wo_value eval_and_or(const struct wo_node *node, const struct wo_facts_source *facts) {
  const enum wo_truth settles = node->op == WO_OP_AND ? WO_FALSE : WO_TRUE;
  const struct wo_value a = eval_arg(node, 0, facts);
  if (a.truth == settles) return a;
  const struct wo_value b = eval_arg(node, 1, facts);
  if (b.truth == settles) return with_evidence(b, a, b);
  const bool is_open = a.truth == WO_UNDECIDED || b.truth == WO_UNDECIDED;
  return with_evidence(wo_value_bool(is_open ? WO_UNDECIDED : negated(settles)), a, b);
}

static struct wo_value eval_not(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value a = eval_arg(node, 0, facts);
  return with_evidence(wo_value_bool(negated(a.truth)), a, a);
}

/* known(x) and unknown(x): the one place where an unknown value gives an answer. The evidence of an
 * unknown value is none, so unknown() never points at a line. */
static struct wo_value eval_known(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value a = eval_arg(node, 0, facts);
  if (!a.is_known && facts->is_open) return wo_value_unknown(WO_UNIT_BOOL);
  return with_evidence(wo_value_bool(truth_of(a.is_known == (node->op == WO_OP_KNOWN))), a, a);
}

/* if(cond, a, b): only the chosen branch is evaluated. An undecided condition gives no value, even
 * if both branches agree. The condition's evidence comes first: it is what made the branch count. */
static struct wo_value eval_if(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value condition = eval_arg(node, 0, facts);
  if (condition.truth == WO_UNDECIDED) return wo_value_unknown(node->unit);
  const struct wo_value chosen = eval_arg(node, condition.truth == WO_TRUE ? 1 : 2, facts);
  return chosen.is_known ? with_evidence(chosen, condition, chosen) : chosen;
}

/* otherwise(x, default): the written way to do without a fact. A default has no evidence of its
 * own, so a report never points at a line for a number that is in no log. */
static struct wo_value eval_otherwise(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value a = eval_arg(node, 0, facts);
  if (!a.is_known && facts->is_open) return wo_value_unknown(node->unit);
  return a.is_known ? a : eval_arg(node, 1, facts);
}

/* ---- texts ------------------------------------------------------------------------------------------------------------ */

/* has(text, "part"), with ASCII case ignored: the same word is "OOM" in one log and "oom" in the
 * next. An empty part is in every text. */
static struct wo_value eval_has(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value text = eval_arg(node, 0, facts);
  const struct wo_value part = eval_arg(node, 1, facts);
  if (!text.is_known || !part.is_known) return wo_value_unknown(WO_UNIT_BOOL);
  return with_evidence(wo_value_bool(truth_of(wo_view_has_view_nocase(text.text, part.text))), text, part);
}

/* one_of(text, "a", ...): an unknown candidate leaves it open, unless another one is equal. Case
 * counts here: candidates are names from our own lists, such as "cuda_oom". */
static struct wo_value eval_one_of(const struct wo_node *node, const struct wo_facts_source *facts) {
  const struct wo_value text = eval_arg(node, 0, facts);
  if (!text.is_known) return wo_value_unknown(WO_UNIT_BOOL);
  enum wo_truth truth = WO_FALSE;
  for (size_t i = 1; i < node->arg_count; i++) {
    const struct wo_value other = eval_arg(node, i, facts);
    if (!other.is_known) truth = WO_UNDECIDED;
    if (other.is_known && wo_view_equal(text.text, other.text)) return with_evidence(wo_value_bool(WO_TRUE), text, other);
  }
  return with_evidence(wo_value_bool(truth), text, text);
}

/* ---- leaves and dispatch ---------------------------------------------------------------------------------------------- */

/* The constant of the rule; it has no evidence. */
static struct wo_value eval_constant(const struct wo_node *node, const struct wo_facts_source *facts) {
  (void)facts;
  if (node->unit == WO_UNIT_TEXT) return wo_value_text(node->as.text);
  if (node->unit == WO_UNIT_BOOL) return wo_value_bool(truth_of(node->as.number != 0));
  return wo_value_exact(node->unit, node->as.number);
}

/* A column's value in the present row, any other fact's from the job. */
static struct wo_value get_fact(const struct wo_node *node, const struct wo_facts_source *facts) {
  if (node->place > 0 && facts->get_at != NULL) return facts->get_at(facts->context, node->place - 1);
  if (node->rows == WO_ROWS_NONE) return facts->get(facts->context, node->as.text);
  return facts->get_row == NULL ? wo_value_unknown(WO_UNIT_NONE) : facts->get_row(facts->context, facts->row, node->as.text);
}

/* If a source gives another unit than was declared, or NaN, the fact counts as unknown. The comparison is written so that a NaN,
 * for which every comparison is false, fails it. */
static struct wo_value eval_fact(const struct wo_node *node, const struct wo_facts_source *facts) {
  struct wo_value value = get_fact(node, facts);
  if (!value.is_known || value.unit != node->unit) return wo_value_unknown(node->unit);
  if (node->unit == WO_UNIT_TEXT) return value;
  if (node->unit == WO_UNIT_BOOL) return with_evidence(wo_value_bool(value.truth), value, value);
  if (!(value.number.lo <= value.number.mid && value.number.mid <= value.number.hi)) return wo_value_unknown(node->unit);
  return with_evidence(quantity(node->unit, value.number.lo, value.number.mid, value.number.hi), value, value);
}

/* A "let": evaluated anew at each use. The parser has counted those uses, which is why no result
 * needs to be kept. */
static struct wo_value eval_definition(const struct wo_node *node, const struct wo_facts_source *facts) {
  return wo__expr_eval_node(node->as.definition->root, facts);
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

struct wo_facts_source wo__expr_row(const struct wo_facts_source *facts, size_t row) {
  struct wo_facts_source one = *facts;
  one.row = row;
  return one;
}

static size_t count_rows(const struct wo_node *node, const struct wo_facts_source *facts) {
  return facts->row_count == NULL ? 0 : facts->row_count(facts->context, node->as.args[0]->rows);
}

static struct wo_value eval_row(const struct wo_node *node, size_t row, const struct wo_facts_source *facts) {
  const struct wo_facts_source one = wo__expr_row(facts, row);
  return eval_arg(node, 0, &one);
}

/* min, max and spread: rows without a value are left out, as ranks that were killed print nothing. The evidence is that of the
 * row with the largest value, of min() that with the smallest. */
static struct wo_value eval_rows_bounds(const struct wo_node *node, const struct wo_facts_source *facts) {
  struct wo_value low = wo_value_unknown(node->unit);
  struct wo_value high = low;
  const size_t rows = count_rows(node, facts);
  for (size_t i = 0; i < rows; i++) {
    const struct wo_value value = eval_row(node, i, facts);
    if (!value.is_known) continue;
    const struct wo_interval n = value.number;
    if (!low.is_known) low = high = value;
    if (n.mid < low.number.mid) low.evidence = value.evidence;
    if (n.mid > high.number.mid) high.evidence = value.evidence;
    const struct wo_interval l = low.number;
    const struct wo_interval h = high.number;
    low.number = (struct wo_interval){.lo = min2(l.lo, n.lo), .mid = min2(l.mid, n.mid), .hi = min2(l.hi, n.hi)};
    high.number = (struct wo_interval){.lo = max2(h.lo, n.lo), .mid = max2(h.mid, n.mid), .hi = max2(h.hi, n.hi)};
  }
  if (node->op == WO_OP_ROWS_MIN || !low.is_known) return low;
  if (node->op == WO_OP_ROWS_MAX) return high;
  const double least = high.number.lo - low.number.hi;
  return with_evidence(quantity(node->unit, max2(least, 0), high.number.mid - low.number.mid, high.number.hi - low.number.lo),
                       high, low);
}

/* A sum with a part missing is no sum. */
static struct wo_value eval_rows_sum(const struct wo_node *node, const struct wo_facts_source *facts) {
  const size_t rows = count_rows(node, facts);
  struct wo_value sum = wo_value_unknown(node->unit);
  for (size_t i = 0; i < rows; i++) {
    const struct wo_value value = eval_row(node, i, facts);
    if (!value.is_known) return wo_value_unknown(node->unit);
    const struct wo_interval a = i == 0 ? (struct wo_interval){0} : sum.number;
    const struct wo_interval b = value.number;
    sum = with_evidence(quantity(node->unit, a.lo + b.lo, a.mid + b.mid, a.hi + b.hi), sum, value);
    if (!sum.is_known) return sum;
  }
  return sum;
}

/* any, all and count. Without rows nothing is known: that a log names no rank does not mean that there was none. */
static struct wo_value eval_rows_truth(const struct wo_node *node, const struct wo_facts_source *facts) {
  const size_t rows = count_rows(node, facts);
  size_t of[3] = {0, 0, 0};
  wo_event_id evidence[3] = {WO_EVENT_NONE, WO_EVENT_NONE, WO_EVENT_NONE};
  for (size_t i = 0; i < rows; i++) {
    const struct wo_value value = eval_row(node, i, facts);
    if (of[value.truth]++ == 0) evidence[value.truth] = value.evidence;
  }
  if (rows == 0) return wo_value_unknown(node->unit);
  const double least = (double)of[WO_TRUE];
  struct wo_value value = quantity(WO_UNIT_NUMBER, least, least, least + (double)of[WO_UNDECIDED]);
  if (node->op != WO_OP_ROWS_COUNT) {
    const enum wo_truth settles = node->op == WO_OP_ROWS_ANY ? WO_TRUE : WO_FALSE;
    const enum wo_truth open = of[WO_UNDECIDED] > 0 ? WO_UNDECIDED : negated(settles);
    value = wo_value_bool(of[settles] > 0 ? settles : open);
    value.evidence = value.is_known ? evidence[value.truth] : WO_EVENT_NONE;
    return value;
  }
  value.evidence = evidence[WO_TRUE];
  return value;
}

typedef struct wo_value (*eval_fn)(const struct wo_node *node, const struct wo_facts_source *facts);

static const eval_fn handlers[] = {
#define WO_OP(code, eval) [code] = eval,
#define WO_OP_FUNCTION(code, eval, name, shape, least, most) [code] = eval,
#include "rules/language/ops.def"
#undef WO_OP
#undef WO_OP_FUNCTION
};

struct wo_value wo__expr_eval_node(const struct wo_node *node, const struct wo_facts_source *facts) {
  assert(node->op < WO_OP_COUNT_);
  const struct wo_value value = handlers[node->op](node, facts);
  assert(value.unit == node->unit);
  return value;
}

struct wo_value wo_expr_eval(const struct wo_expr *expr, const struct wo_facts_source *facts) {
  assert(expr != NULL && facts != NULL && facts->get != NULL);
  return wo__expr_eval_node(expr->root, facts);
}

/* A NUMBER or a text is no condition: the loader refuses such rules, and here it decides nothing. */
enum wo_truth wo_expr_truth(const struct wo_expr *expr, const struct wo_facts_source *facts) {
  const struct wo_value value = wo_expr_eval(expr, facts);
  return value.unit == WO_UNIT_BOOL ? value.truth : WO_UNDECIDED;
}

/* ---- visiting --------------------------------------------------------------------------------------------------------- */

static void each_fact(const struct wo_node *node, void (*fn)(void *context, struct wo_view name), void *context) {
  if (node->op == WO_OP_CONSTANT) return;
  if (node->op == WO_OP_FACT) {
    fn(context, node->as.text);
    return;
  }
  if (node->op == WO_OP_DEFINITION) {
    each_fact(node->as.definition->root, fn, context);
    return;
  }
  for (size_t i = 0; i < node->arg_count; i++) each_fact(node->as.args[i], fn, context);
}

void wo_expr_each_fact(const struct wo_expr *expr, void (*fn)(void *context, struct wo_view name), void *context) {
  assert(expr != NULL && fn != NULL);
  each_fact(expr->root, fn, context);
}
