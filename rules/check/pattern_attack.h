/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that make a pattern work hard, built from its own samples and literals: for the lint, and for tests of what the worst
 * line costs. */
#ifndef WO_PATTERN_ATTACK_H
#define WO_PATTERN_ATTACK_H

#include "rules/load/rule.h"

/* Called with each line, which is valid during the call. */
typedef void (*wo_attack_fn)(void *context, struct wo_view line);

/* Makes some hundred lines of `len` bytes each (at least 256): one character or a part of a sample repeated, before, behind and
 * between the parts that the pattern looks for. False if memory is out: then some lines are missing. */
bool wo_pattern_attacks(const struct wo_pattern *pattern, const struct wo_pattern_samples *samples, size_t len, wo_attack_fn fn,
                        void *context);

/* Steps for each byte of a line of `len` bytes that a pattern may take at most (wo_pattern_steps). One whose work grows with the
 * square of the length takes several times as many at WO_ATTACK_LEN already. */
enum { WO_ATTACK_LEN = 2048, WO_ATTACK_STEPS_PER_BYTE = 48 };

#endif
