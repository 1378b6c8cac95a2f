/* SPDX-License-Identifier: Apache-2.0 */
/* Every scoring constant of the diagnosis, in one place.
 *
 * A finding's score starts at its rule's prior and every argument moves it: for: s += (1 - s) * w ;
 * against: s *= 1 - w. Arguments are applied in that order, so the result does not depend on how a
 * rule lists them.
 *
 * An argument takes its share of the missing part (for), or of the score (against). So a score stays between 0 and 1 however many
 * arguments there are, and each further one changes less: ten weak signs do not make a proof. Rules name weights in words, so
 * that a change here moves all of them together. */
#ifndef WO_WEIGHTS_H
#define WO_WEIGHTS_H

/* WO_WEIGHT(enumerator, name in rule files, value). Roughly: decisive settles the matter alone,
 * strong makes it likely, medium is a good sign, weak tips a balance, none only gives a reason to
 * read. */
#define WO_WEIGHT_MAP(X)                                                                                                         \
  X(WO_WEIGHT_DECISIVE, "decisive", 0.90)                                                                                        \
  X(WO_WEIGHT_STRONG, "strong", 0.60)                                                                                            \
  X(WO_WEIGHT_MEDIUM, "medium", 0.35)                                                                                            \
  X(WO_WEIGHT_WEAK, "weak", 0.15)                                                                                                \
  X(WO_WEIGHT_NONE, "none", 0.0)

enum wo_weight {
#define WO_WEIGHT_ENUM(code, name, value) code,
  WO_WEIGHT_MAP(WO_WEIGHT_ENUM)
#undef WO_WEIGHT_ENUM
      WO_WEIGHT_COUNT_
};

/* The value of a weight, 0 to 1. */
static inline double wo_weight_value(enum wo_weight weight) {
  static const double values[] = {
#define WO_WEIGHT_VALUE(code, name, value) [code] = value,
      WO_WEIGHT_MAP(WO_WEIGHT_VALUE)
#undef WO_WEIGHT_VALUE
  };
  return values[weight];
}

/* Score from which a finding is called certain / likely; below, it is possible. Below WO_SCORE_SHOWN it is not shown.
 *
 * The words are promises about logs that nobody has seen: of the likely ones 85 in 100 have to be right, of the certain ones 99.
 * So a prior (medium) and one strong argument make a cause likely, 0.74; a prior and two medium ones too, 0.73, but not with a
 * medium one against them, 0.47. An answer is certain only by a decisive argument, one that leaves no other reading of the
 * figures. How the figures of a card become arguments: docs/decisions/0021-attribution-is-arithmetic.md. */
#define WO_SCORE_CERTAIN 0.90
#define WO_SCORE_LIKELY 0.50
#define WO_SCORE_SHOWN 0.15

#endif
