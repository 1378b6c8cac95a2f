/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of every pattern on long hostile lines, and the lint that finds one whose cost is not linear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rules/check/pattern_attack.h"
#include "rules/check/rule_check.h"
#include "rules/load/rule.h"
#include "tests/support/process.h"

enum { HARDEST = 3, KIB = 1024 };

/* The numbers of the hardest lines of one pattern, the hardest first, out of a series of lines. */
struct ranking {
  struct wo_pattern_set *set;
  size_t pattern, number;
  size_t numbers[HARDEST];
  uint64_t steps[HARDEST];
};

static void rank(void *context, struct wo_view line) {
  struct ranking *const r = context;
  const size_t number = r->number++;
  const uint64_t steps = wo_pattern_steps(r->set, r->pattern, line, UINT64_MAX);
  size_t at = HARDEST;
  while (at > 0 && steps > r->steps[at - 1]) at--;
  for (size_t i = HARDEST - 1; i > at; i--) {
    r->steps[i] = r->steps[i - 1];
    r->numbers[i] = r->numbers[i - 1];
  }
  if (at == HARDEST) return;
  r->steps[at] = steps;
  r->numbers[at] = number;
}

/* The worst of the ranked lines at another length. */
struct measure {
  const struct ranking *ranking;
  size_t number;
  uint64_t most;
};

static void measure(void *context, struct wo_view line) {
  struct measure *const m = context;
  const struct ranking *const r = m->ranking;
  const size_t number = m->number++;
  for (size_t i = 0; i < HARDEST; i++) {
    if (r->numbers[i] != number || r->steps[i] == 0) continue;
    const uint64_t steps = wo_pattern_steps(r->set, r->pattern, line, UINT64_MAX);
    if (steps > m->most) m->most = steps;
  }
}

/* The lines that are hardest when they are short are measured when they are long: steps for each byte must not rise. */
static void test_every_pattern_is_linear(void **state) {
  (void)state;
  static const size_t lengths[] = {4 * KIB, 16 * KIB, 64 * KIB};
  const size_t length_count = wo_process_is_sanitized ? 1 : sizeof lengths / sizeof *lengths;
  struct wo_pack *pack = NULL;
  struct wo_pattern_set *set = NULL;
  struct wo_err err;
  size_t measured = 0, bad = 0;
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, &err), WO_OK);
  assert_int_equal(wo_pattern_set_new(pack->patterns, pack->pattern_count, NULL, &set), WO_OK);
  for (size_t i = 0; i < pack->sample_count; i++) {
    const struct wo_pattern_samples *const samples = &pack->samples[i];
    const struct wo_pattern *const pattern = &pack->patterns[samples->pattern];
    struct ranking ranking = {.set = set, .pattern = samples->pattern};
    if (pattern->regex.len + pattern->unless.len == 0) continue;
    measured++;
    assert_true(wo_pattern_attacks(pattern, samples, WO_ATTACK_LEN, rank, &ranking));
    for (size_t k = 0; k < length_count; k++) {
      struct measure worst = {.ranking = &ranking};
      assert_true(wo_pattern_attacks(pattern, samples, lengths[k], measure, &worst));
      if (worst.most > (uint64_t)WO_ATTACK_STEPS_PER_BYTE * lengths[k])
        print_error("%.*s: %llu steps on a line of %zu bytes, number %zu\n", WO_SHOWN(pattern->id),
                    (unsigned long long)worst.most, lengths[k], ranking.numbers[0]),
            bad++;
    }
  }
  assert_true(measured > 300);
  assert_int_equal(bad, 0);
  wo_pattern_set_free(set);
  wo_pack_free(pack);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_pattern_is_linear),
  };
  return cmocka_run_group_tests_name("pattern_attack", tests, NULL, NULL);
}
