/* SPDX-License-Identifier: Apache-2.0 */
/* Exact tests of counts. See chance.h. */
#include "analyzer/fleet/chance.h"

#include <assert.h>
#include <math.h>

/* lgamma itself writes to a global. */
static double ln_factorial(int64_t n) {
  int sign = 0;
  return lgamma_r((double)n + 1.0, &sign);
}

static double ln_choose(int64_t n, int64_t k) {
  return ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
}

/* The terms from `found` on, each from the one before: they rise up to the mean and then fall faster than a geometric series, so
 * that the sum can end when a term no longer counts. */
double wo_chance_ln_tail(int64_t population, int64_t marked, int64_t drawn, int64_t found) {
  assert(marked >= 0 && drawn >= 0 && marked <= population && drawn <= population);
  const int64_t most = marked < drawn ? marked : drawn;
  const int64_t least = marked + drawn > population ? marked + drawn - population : 0;
  if (found <= least) return 0.0;
  if (found > most) return -INFINITY;
  const double ln_first = ln_choose(marked, found) + ln_choose(population - marked, drawn - found) - ln_choose(population, drawn);
  double sum = 1.0, term = 1.0, ln_scale = ln_first;
  for (int64_t x = found; x < most; x++) {
    const double ratio =
        ((double)(marked - x) * (double)(drawn - x)) / ((double)(x + 1) * (double)(population - marked - drawn + x + 1));
    term *= ratio;
    sum += term;
    if (ratio < 1.0 && term < sum * 1e-17) break;
    if (sum > 1e200) { /* far below the mean the first term is tiny beside the others */
      ln_scale += log(1e200);
      sum /= 1e200;
      term /= 1e200;
    }
  }
  const double ln = ln_scale + log(sum);
  return ln < 0.0 ? ln : 0.0;
}

double wo_chance_ln_any(double ln_chance, int64_t looks) {
  const double ln = ln_chance + (looks > 1 ? log((double)looks) : 0.0);
  return ln < 0.0 ? ln : 0.0;
}

void wo_chance_add(struct wo_text *out, double ln_chance) {
  static const char *const groups[] = {"", " thousand", " million", " billion"};
  const double digits = -ln_chance / log(10.0);
  if (!(digits < 12.0 - 1e-9)) {
    wo_text_add(out, "less than 1 of a million million");
    return;
  }
  const double fleets = pow(10.0, digits < 0.0 ? 0.0 : digits);
  const double place = pow(10.0, floor(log10(fleets) + 1e-12));
  double rounded = floor(fleets / place + 1e-9) * place;
  size_t group = 0;
  for (; rounded >= 1000.0 && group < 3; group++) rounded /= 1000.0;
  wo_text_add(out, "1 of %.0f%s", rounded, groups[group]);
}
