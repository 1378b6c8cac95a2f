/* SPDX-License-Identifier: Apache-2.0 */
/* The lint: one bad pack per complaint, a good one without any, and the compiled-in packs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/load/rule.h"
#include "rules/check/rule_check.h"
#include "tests/support/failing_alloc.h"

/* Parts from which the packs below are put together. */
#define EXAMPLES                                                                                                                 \
  "\"examples\": [{\"gives\": true, \"log\": [\"a\"]}, {\"gives\": false, \"log\": [\"b\"], \"why\": \"w\"}, "                   \
  "{\"gives\": false, \"log\": [\"c\"], \"why\": \"w\"}]"
#define TEXTS "\"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"would_tell\": [\"w\"]"
#define CAUSE(more) "{\"cause\": \"c\", \"when\": \"true\", " more "}"
#define GOOD_CAUSE CAUSE("\"family\": \"unclear\", \"fixes\": [\"f\"], " TEXTS ", " EXAMPLES)
#define FIX(more)                                                                                                                \
  "{\"fix\": \"f\", \"for_programs\": [\"any\"], \"title\": \"t\", \"cost\": {\"speed\": \"s\", \"accuracy\": \"a\", "           \
  "\"effort\": \"e\"}" more "}"
#define PATTERN(more) "{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"the literal\"], " more "}"
#define PAIR "[" GOOD_CAUSE ", " FIX("") ", "

#define WHEN(when, more)                                                                                                         \
  "[{\"cause\": \"c\", \"when\": \"" when "\", \"family\": \"unclear\", " more TEXTS ", " EXAMPLES "}, "                         \
  "{\"pattern\": \"p\", \"kind\": \"cuda_oom\", \"literals\": [\"the literal\"], \"samples\": [\"the literal\"]}]"
#define TWIN(id, literal)                                                                                                        \
  "{\"pattern\": \"" id "\", \"kind\": \"cuda_oom\", \"literals\": [\"" literal "\"], \"samples\": [\"" literal "\"]}"

struct complaints {
  size_t count;
  char first[640];
};

static void collect(void *context, const struct wo_err *complaint) {
  struct complaints *const all = context;
  assert_true(complaint->code != WO_OK && complaint->message[0] != '\0');
  if (all->count++ > 0) return;
  snprintf(all->first, sizeof all->first, "%s:%llu: %s", complaint->file, (unsigned long long)complaint->line,
           complaint->message);
}

/* Adds a complaint to a text of 8 KiB. */
static void append(void *context, const struct wo_err *complaint) {
  char *const said = context;
  const size_t len = strlen(said);
  snprintf(said + len, 8192 - len, "%s\n", complaint->message);
}

static struct complaints check(const char *text) {
  const struct wo_rule_file file = {.name = "x.json", .data = text, .size = strlen(text)};
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, &err) != WO_OK) fail_msg("%s\n%u: %s", text, err.column, err.message);
  struct complaints all = {0};
  const size_t count = wo_pack_check(pack, collect, &all);
  assert_int_equal(count, all.count);
  wo_pack_free(pack);
  return all;
}

static const char *const good[] = {
    "[]",
    "[" GOOD_CAUSE ", " FIX("") "]",
    PATTERN("\"regex\": \"literal (?<step>\\\\d+)\", \"unless\": \"not this\", \"samples\": [\"the literal 12\"], "
            "\"not\": [\"the literal x\", \"a literal 12\", \"the literal 12 not this\"]"),
    PATTERN("\"reader\": \"torch_oom\", \"samples\": [\"xx the literal\"]"),
    "{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"the end\\n\"], \"samples\": [\"at the end\"], \"not\": [\"the end "
    "is far\"]}",
    "{\"pattern\": \"p\", \"kind\": \"progress\", \"where\": \"before\", \"regex\": \"^st\", \"samples\": [\"step\"], \"not\": "
    "[\"a step\"]}",
    "{\"knob\": \"k\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"abcdefg\"]}",
    "[{\"phase\": \"backward\", \"any_of\": [\"a\"]}, {\"term\": \"x\", \"title\": \"t\", \"text\": \"y\"}]",
};

static void test_good_packs_have_no_complaints(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const struct complaints all = check(good[i]);
    if (all.count > 0) fail_msg("%s\n-> %s", good[i], all.first);
  }
}

static const struct {
  const char *text;
  const char *complaint;
} bad[] = {
    {"\n" CAUSE("\"family\": \"unclear\", " EXAMPLES), "x.json:2: cause c: 'title' is missing or empty"},
    {CAUSE("\"family\": \"nope\", " TEXTS ", " EXAMPLES),
     "x.json:1: cause c: unknown family 'nope' (fragmentation, oversized_batch, model_too_large, other_process, leak_growth, "
     "sequence_length, kv_cache, host_memory, secondary, not_memory, unclear)"},
    {CAUSE("\"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \" \", \"would_tell\": [\"w\"], " EXAMPLES),
     "x.json:1: cause c: 'means' is missing or empty"},
    {CAUSE("\"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"would_tell\": [], " EXAMPLES),
     "x.json:1: cause c: 'would_tell' is missing or empty"},
    {CAUSE("\"family\": \"unclear\", \"excludes\": [\"d\"], " TEXTS ", " EXAMPLES),
     "x.json:1: cause c: excludes unknown cause 'd'"},
    {CAUSE("\"family\": \"unclear\", \"excludes\": [\"c\"], " TEXTS ", " EXAMPLES), "x.json:1: cause c: excludes itself"},
    {CAUSE("\"family\": \"unclear\", \"fixes\": [\"g\"], " TEXTS ", " EXAMPLES), "x.json:1: cause c: unknown fix 'g'"},
    {CAUSE("\"family\": \"unclear\", " TEXTS), "x.json:1: cause c: 0 examples that give it and 0 that do not (at least 1 and 2)"},
    {CAUSE("\"family\": \"unclear\", " TEXTS ", \"examples\": [{\"gives\": false, \"log\": [\"a\"]}]"),
     "x.json:1: cause c: example 1 does not say why not"},
    {CAUSE("\"family\": \"unclear\", " TEXTS ", \"examples\": [{\"gives\": true, \"log\": []}]"),
     "x.json:1: cause c: example 1 has an empty log"},
    {"{\"cause\": \"Not_Kebab\", \"when\": \"true\", \"family\": \"unclear\", " TEXTS ", " EXAMPLES "}",
     "x.json:1: cause Not_Kebab: the id is not kebab-case"},
    {"[" GOOD_CAUSE ", " FIX("") ",\n" GOOD_CAUSE "]", "x.json:2: the id 'c' is taken"},
    {FIX(""), "x.json:1: fix f: no cause proposes it"},
    {"[" GOOD_CAUSE ", {\"fix\": \"f\", \"title\": \"t\", \"cost\": {\"speed\": \"s\", \"accuracy\": \"a\", \"effort\": \"e\"}}]",
     "x.json:1: fix f: 'for_programs' is missing or empty"},
    {"[" GOOD_CAUSE ", " FIX(", \"stand_ins\": [\"f\"]") "]",
     "x.json:1: fix f: 'stand_ins' of a fix that is meant for any program are never tried"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"frames\": [\"a\"]}",
     "x.json:1: sign s: shows nothing: 'kind', 'name', 'platform', 'vendor' and 'manager' are missing"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"kind\": \"training\"}",
     "x.json:1: sign s: is shown by nothing: no list of texts"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"platform\": \"dos\", \"frames\": [\"a\"]}",
     "x.json:1: sign s: unknown platform 'dos' (linux, windows, wsl, macos)"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"vendor\": \"x\", \"frames\": [\"a\"]}",
     "x.json:1: sign s: unknown vendor 'x' (nvidia, amd, intel, apple, huawei)"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"manager\": \"x\", \"frames\": [\"a\"]}",
     "x.json:1: sign s: unknown manager 'x' (slurm, lsf, pbs, kubernetes)"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"kind\": \"training\", \"patterns\": [\"p\"]}",
     "x.json:1: sign s: unknown pattern 'p'"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"kind\": \"training\", \"knobs\": [\"k\"]}", "x.json:1: sign s: unknown knob 'k'"},
    {"{\"sign\": \"s\", \"weight\": \"weak\", \"kind\": \"training\", \"evidence\": [\"k\"]}",
     "x.json:1: sign s: unknown kind of evidence 'k'"},
    {PAIR "{\"fix\": \"g\", \"title\": \"t\"}]", "x.json:1: fix g: 'cost.speed' is missing or empty"},
    {"[" GOOD_CAUSE ", " FIX(", \"changes\": [{\"knob\": \"k\", \"to\": \"1\"}]") "]", "x.json:1: fix f: unknown knob 'k'"},
    {"[" GOOD_CAUSE ", " FIX(", \"replays_as\": \"offload activations\"") "]",
     "x.json:1: fix f: replays_as: 'offload' is no option of `whyoom replay` (scale=..., set=KEY:VALUE, transform=NAME)"},
    {"[" GOOD_CAUSE ", " FIX(", \"replays_as\": \"set=expandable_segments:True transform=shards={oom.step + 1:int}\"") "]",
     "x.json:1: fix f: replays_as: 'transform=shards={oom.step + 1:int}' is no option of `whyoom replay` (scale=..., "
     "set=KEY:VALUE, transform=NAME)"},
    {"[" GOOD_CAUSE ", {\"knob\": \"grad_accum\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"abcdefg\"]}, " FIX(
         ", \"changes\": [{\"knob\": \"grad_accum\", \"to\": \"2\"}], \"replays_as\": \"scale=micro_batch=4:2\"") "]",
     "x.json:1: fix f: it changes 'grad_accum', and replays_as has no 'transform=accumulate='"},
    {"[" GOOD_CAUSE ", " FIX(", \"replays_as\": \"scale=micro_batch=\"") "]",
     "x.json:1: fix f: replays_as: 'scale=micro_batch=' is no option of `whyoom replay` (scale=..., set=KEY:VALUE, "
     "transform=NAME)"},
    {"[" GOOD_CAUSE ", " FIX(", \"already\": \"true\"") "]", "x.json:1: fix f: 'already' without 'already_say'"},
    {"{\"knob\": \"k\", \"unit\": \"number\", \"aliases\": [\"abcdefg\"]}", "x.json:1: knob k: 'means' is missing or empty"},
    {"{\"phase\": \"backward\"}", "x.json:1: phase backward: 'any_of' is missing or empty"},
    {"{\"phase\": \"startup\", \"kinds\": [\"vllm_kvs\"]}",
     "x.json:1: phase startup: unknown kind 'vllm_kvs' (did you mean 'vllm_kv'?)"},
    {"{\"term\": \"x\", \"title\": \"t\"}", "x.json:1: term x: 'text' is missing or empty"},
    {PATTERN("\"regex\": \"x\""), "x.json:1: pattern p: no samples"},
    {PATTERN("\"regex\": \"x\", \"samples\": [\"x\"]"), "x.json:1: pattern p: sample 1 holds none of the literals"},
    {PATTERN("\"regex\": \"x\", \"samples\": [\"x the literal\", \"the literal\"]"),
     "x.json:1: pattern p: sample 2 is not matched"},
    {PATTERN("\"samples\": [\"the literal\"], \"not\": [\"a\", \"the literal\"]"),
     "x.json:1: pattern p: line 2 of 'not' is matched"},
    {CAUSE("\"family\": \"unclear\", \"excludes\": [\"cc\"], " TEXTS ", " EXAMPLES),
     "x.json:1: cause c: excludes unknown cause 'cc'"},
    {"{\"cause\": \"long-name\", \"when\": \"true\", \"family\": \"unclear\", \"excludes\": [\"long-nam\"], " TEXTS ", " EXAMPLES
     "}",
     "x.json:1: cause long-name: excludes unknown cause 'long-nam' (did you mean 'long-name'?)"},
    {WHEN("false", ""), "x.json:1: cause c: 'when' never holds"},
    {WHEN("1MiB > 1GiB and known(oom.tried)", ""), "x.json:1: cause c: 'when' never holds"},
    {WHEN("known(oom.tried)", "\"not_when\": [{\"if\": \"true\", \"say\": \"s\"}],"),
     "x.json:1: cause c: 'not_when' 1 always holds, so the rule never does"},
    {WHEN("known(oom.tried)", "\"not_when\": [{\"if\": \"1 > 2\", \"say\": \"s\"}],"),
     "x.json:1: cause c: 'not_when' 1 never holds"},
    {WHEN("known(oom.tried) and oom.step > 3", "\"not_when\": [{\"if\": \"oom.first_step or oom.step > 3\", \"say\": \"s\"}],"),
     "x.json:1: cause c: 'not_when' 1 holds whenever 'when' does, so the rule never does"},
    {WHEN("known(oom.tried)", "\"for\": [{\"if\": \"2 < 1\", \"say\": \"s\"}],"), "x.json:1: cause c: 'for' 1 never holds"},
    {WHEN("oom.kind == \\\"cuda_om\\\"", ""), "x.json:1: cause c: there is no kind 'cuda_om' (did you mean 'cuda_oom'?)"},
    {WHEN("one_of(oom.kind, \\\"jax_oom\\\", \\\"tf_oom\\\")", ""),
     "x.json:1: cause c: no pattern yields any of the kinds in 'when'"},
    {WHEN("seen(jax_oom)", ""), "x.json:1: cause c: no pattern yields any of the kinds in 'when'"},
    {CAUSE(
         "\"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"would_tell\": [{\"between\": \"d\", "
         "\"say\": \"s\"}], " EXAMPLES),
     "x.json:1: cause c: 'between' names unknown cause 'd'"},
    {CAUSE(
         "\"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"would_tell\": [{\"between\": \"c\", "
         "\"say\": \"s\"}], " EXAMPLES),
     "x.json:1: cause c: 'between' names the cause itself"},
    {"[" GOOD_CAUSE ", " FIX(", \"when\": \"false\"") "]", "x.json:1: fix f: 'when' never holds"},
    {"[" GOOD_CAUSE ", " FIX(", \"conflicts\": [{\"if\": \"1 < 2\", \"say\": \"s\"}]") "]",
     "x.json:1: fix f: 'conflicts' 1 always holds, so the rule never does"},
    {"{\"define\": \"a\", \"expr\": \"1\"}", "x.json:1: define a: 'means' is missing or empty"},
    {"[" TWIN("p", "the literal") ",\n" TWIN("q", "the literal of ours") "]",
     "x.json:2: pattern q: sample 1 is also matched by p, of the same kind"},
    {PATTERN("\"reader\": \"nope\", \"samples\": [\"the literal\"]"),
     "x.json:1: pattern p: unknown reader 'nope' (torch_oom, traceback, exception, elastic, setting, tf_tensor, killed, joined, "
     "tf_dump, jax_buffers, kernel_kill, kernel_tasks, kernel_memcg, scontrol, sacct, sacct-json, seff, ...)"},
};

static void test_each_complaint(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const struct complaints all = check(bad[i].text);
    if (all.count == 0 || strcmp(all.first, bad[i].complaint) != 0) {
      fail_msg("%s\n-> %zu: %s\nexpected %s", bad[i].text, all.count, all.first, bad[i].complaint);
    }
  }
}

/* What wo_pattern_check says is passed on, whatever its words. Expressions that do not compile are refused when they are loaded
 * (test_rule_load.c). */
static void test_bad_regexes_are_complaints(void **state) {
  (void)state;
  assert_int_equal(check(PATTERN("\"regex\": \"(?<nope>a)\", \"samples\": [\"the literal a\"]")).count, 1);
}

/* An expression that searches the whole line from each byte, in the pattern or in its `unless`, and one that doubles its ways. */
static void test_slow_regexes_are_complaints(void **state) {
  (void)state;
  static const char *const slow[] = {
      PATTERN("\"regex\": \"\\\\S+: the literal\", \"samples\": [\"x: the literal\"]"),
      PATTERN("\"regex\": \"a.*b the literal\", \"samples\": [\"a b the literal\"]"),
      PATTERN("\"unless\": \"\\\\d+%\", \"samples\": [\"the literal\"]"),
      PATTERN("\"regex\": \"^(?:a+)+ the literal\", \"samples\": [\"aaa the literal\"]"),
  };
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
    const struct complaints all = check(slow[i]);
    assert_int_equal(all.count, 1);
    assert_non_null(strstr(all.first, "steps or more for each byte"));
  }
  assert_int_equal(check(PATTERN("\"regex\": \"(?<!\\\\S)\\\\S+: the literal\", \"samples\": [\"x: the literal\"]")).count, 0);
}

static void print(void *context, const struct wo_err *complaint) {
  (void)context;
  print_message("%s:%llu: %s\n", complaint->file, (unsigned long long)complaint->line, complaint->message);
}

static void test_embedded_packs_are_clean(void **state) {
  (void)state;
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, &err) != WO_OK) {
    fail_msg("%s:%llu:%u: %s", err.file, (unsigned long long)err.line, err.column, err.message);
  }
  assert_int_equal(wo_pack_check(pack, print, NULL), 0);
  wo_pack_free(pack);
}

/* Without memory for the patterns there is a complaint. A regular expression that cannot be compiled later matches nothing, which
 * a line of 'not' does not show; so there it is enough to survive. */
static void test_out_of_memory(void **state) {
  (void)state;
  const char *const text = good[2];
  const struct wo_rule_file file = {.name = "x.json", .data = text, .size = strlen(text)};
  struct wo_pack *pack = NULL;
  assert_int_equal(wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, NULL), WO_OK);
  for (long n = 1;; n++) {
    struct complaints all = {0};
    wo_fail_alloc_at(n);
    wo_pack_check(pack, collect, &all);
    wo_fail_alloc_off();
    if (!wo_fail_alloc_hit()) break;
    if (n == 1) assert_int_equal(all.count, 1);
  }
  wo_pack_free(pack);
}

/* The built-in pack has all that the program needs; a pack in which an id or a mark has another name is complained of. */
static void test_ids_that_the_program_knows(void **state) {
  (void)state;
  struct wo_pack *pack = NULL;
  struct complaints all = {0};
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, NULL), WO_OK);
  assert_int_equal(wo_pack_check_known(pack, collect, &all), 0);
  for (size_t i = 0; i < pack->own_pattern_count; i++) {
    if (pack->patterns[i].mark == WO_MARK_SEFF) pack->patterns[i].mark = WO_MARK_NONE;
  }
  assert_int_equal(wo_pack_check_known(pack, collect, &all), 1);
  assert_non_null(strstr(all.first, "the program needs a mark that no pattern has: 'seff'"));
  wo_pack_free(pack);
  static const struct {
    const char *text;
    const char *says;
  } renamed[] = {
      {"{\"knob\": \"micro_batches\", \"unit\": \"number\", \"aliases\": [\"abcdefg\"]}",
       "the program needs a knob that no rule defines: 'micro_batch' (did you mean 'micro_batches'?)"},
      {"{\"phase\": \"backwards\"}", "the program needs a phase that no rule defines: 'backward' (did you mean 'backwards'?)"}};
  for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
    const struct wo_rule_file file = {.name = "x.json", .data = renamed[i].text, .size = strlen(renamed[i].text)};
    char said[8192] = "";
    assert_int_equal(wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, NULL), WO_OK);
    wo_pack_check_known(pack, append, said);
    if (strstr(said, renamed[i].says) == NULL) fail_msg("%s\n%s", renamed[i].says, said);
    wo_pack_free(pack);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_packs_have_no_complaints),
      cmocka_unit_test(test_ids_that_the_program_knows),
      cmocka_unit_test(test_each_complaint),
      cmocka_unit_test(test_bad_regexes_are_complaints),
      cmocka_unit_test(test_slow_regexes_are_complaints),
      cmocka_unit_test(test_embedded_packs_are_clean),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
