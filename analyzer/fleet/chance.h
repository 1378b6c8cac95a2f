/* SPDX-License-Identifier: Apache-2.0 */
/* Chance: how probable it is that a count is so high when nothing is behind it.
 *
 * Everything is exact and in natural logarithms, since the interesting probabilities are too small for people and some for a
 * double. Pure; any thread. */
#ifndef WO_CHANCE_H
#define WO_CHANCE_H

#include <stdint.h>

#include "parsers/base/text.h"

/* ln P(X >= found), where X is how many of `marked` things out of `population` are among `drawn` of them (Fisher's exact test,
 * one side). Needs marked <= population, drawn <= population; a count that cannot be reached gives -INFINITY. */
double wo_chance_ln_tail(int64_t population, int64_t marked, int64_t drawn, int64_t found);

/* ln of the probability that at least one of `looks` is so improbable: Bonferroni, at most ln 1 = 0. */
double wo_chance_ln_any(double ln_chance, int64_t looks);

/* Adds "1 of 10 million", "1 of 40", with one digit, rounded so that the chance is not made smaller than it is; beyond a million
 * millions "less than 1 of a million million". */
void wo_chance_add(struct wo_text *out, double ln_chance);

#endif
