/* SPDX-License-Identifier: Apache-2.0 */
/* All mistakes of a load: each once, at its place, and none that only follows from another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "rules/check/rule_check.h"
#include "rules/load/rule.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

/* What was told: "a.json:1:2: text\n" for each. */
struct told {
  char text[8192];
  size_t len;
  size_t count;
};

static void note(void *context, const struct wo_err *mistake) {
  struct told *const told = context;
  told->count++;
  const size_t room = sizeof told->text - told->len;
  const int len = snprintf(told->text + told->len, room, "%s:%llu:%u: %s\n", mistake->file, (unsigned long long)mistake->line,
                           mistake->column, mistake->message);
  if (len > 0 && (size_t)len < room) told->len += (size_t)len;
}

static struct wo_rule_file file_of(const char *name, const char *text) {
  return (struct wo_rule_file){.name = name, .data = text, .size = strlen(text), .is_user = true};
}

/* ret_pack NULL: without keeps_rest. */
static enum wo_status load(const struct wo_rule_file *files, size_t count, struct told *told, struct wo_pack **ret_pack) {
  const struct wo_load_notes notes = {.fn = note, .context = told, .keeps_rest = ret_pack != NULL};
  struct wo_pack *pack = NULL;
  const enum wo_status status = wo_pack_load_noting(files, count, WO_LOAD_ALL, notes, &pack);
  if (ret_pack != NULL) *ret_pack = pack;
  if (ret_pack == NULL) wo_pack_free(pack);
  return status;
}

/* ---- one file --------------------------------------------------------------------------------------------------------- */

static const struct {
  const char *text;
  const char *told;
} cases[] = {
    /* keys: wrong, missing, twice; a key that is nearly right is not missing as well */
    {"[{\"cause\": \"c\", \"whn\": \"true\", \"at_most\": \"surely\", \"at_most\": \"likely\"},\n"
     " {\"define\": \"d\"}]",
     "a.json:2:2: missing key 'expr'\n"
     "a.json:1:17: unknown key 'whn' (did you mean 'when'?)\n"
     "a.json:1:43: unknown confidence 'surely' (certain, likely, possible)\n"
     "a.json:1:53: key 'at_most' comes twice\n"},
    /* each unknown name of an expression, and of a template; names of the functions' own words are none */
    {"{\"cause\": \"c\", \"when\": \"oom.tride > 1GiB and seen(cuda_oom) and gpu.capcity > 2GiB or oom.gpu\",\n"
     "\"title\": \"torch.fre {{oom.nil}} {oom.tride:gib} of {gpu.capacity} {gpu.capcity}\"}",
     "a.json:1:25: unknown name 'oom.tride' (did you mean 'oom.tried'?)\n"
     "a.json:1:65: unknown name 'gpu.capcity' (did you mean 'gpu.capacity'?)\n"
     "a.json:2:34: unknown name 'oom.tride' (did you mean 'oom.tried'?)\n"
     "a.json:2:68: unknown name 'gpu.capcity' (did you mean 'gpu.capacity'?)\n"},
    /* nothing is close: the names that begin alike */
    {"{\"define\": \"d\", \"expr\": \"job.xyzzyxyz\"}",
     "a.json:1:26: unknown name 'job.xyzzyxyz' (job.manager, job.outcome, job.end_text, job.ranks, job.framework, job.torch, "
     "job.torch_release, job.exception, job.recovered, job.consequences, job.is_test_run, job.elapsed_min, ...)\n"},
    /* a mistaken let: those that use it are not blamed, their own mistakes are told */
    {"{\"cause\": \"c\", \"let\": {\"a\": \"1 +\", \"b\": \"a * 2\", \"c\": \"b + oom.fre\"}, \"when\": \"a > 1 and c > "
     "oom.tride\"}",
     "a.json:1:33: expected a value, got the end\n"
     "a.json:1:60: unknown name 'oom.fre' (did you mean 'oom.free'?)\n"
     "a.json:1:94: unknown name 'oom.tride' (did you mean 'oom.tried'?)\n"},
    /* mistaken definitions and knobs likewise; a circle is one mistake */
    {"[{\"define\": \"d\", \"expr\": \"1 > \"}, {\"define\": \"e\", \"expr\": \"def.d and true\"},\n"
     " {\"define\": \"f\", \"expr\": \"def.g\"}, {\"define\": \"g\", \"expr\": \"def.f\"}, {\"define\": \"h\", \"expr\": "
     "\"def.f\"},\n"
     " {\"knob\": \"k\", \"unit\": \"kg\", \"aliases\": [\"site_k_value\"]},\n"
     " {\"cause\": \"c\", \"when\": \"def.d and def.e or def.h and config.k > 1 and config.kk > 1\"}]",
     "a.json:3:24: unknown unit 'kg' (number, bytes, text, bool)\n"
     "a.json:1:31: expected a value, got the end\n"
     "a.json:2:61: 'def.f' stands for itself in the end: a circle has no value\n"
     "a.json:4:72: unknown name 'config.kk'\n"},
    /* elements of lists */
    {"{\"cause\": \"c\", \"when\": \"true\", \"fixes\": [1, \"a\", 2], \"for\": [{\"if\": \"true\"}, {\"say\": \"s\", \"if\": "
     "\"1\"}],\n"
     "\"examples\": [{\"gives\": 1, \"log\": [1, 2]}]}",
     "a.json:1:42: expected a string\n"
     "a.json:1:50: expected a string\n"
     "a.json:1:62: missing key 'say'\n"
     "a.json:1:97: expected bool, got number\n"
     "a.json:2:24: expected true or false\n"
     "a.json:2:35: expected a string\n"
     "a.json:2:38: expected a string\n"},
    /* patterns: literals, fields, expressions */
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"a\", \"long enough\", \"b\"], \"regex\": \"(\", \"unless\": "
     "\"[\"}",
     "a.json:1:84: the regular expression does not compile: missing closing parenthesis\n"
     "a.json:1:99: the regular expression does not compile: missing terminating ] for character class\n"
     "a.json:1:47: the literal 'a' is shorter than 7 bytes\n"
     "a.json:1:67: the literal 'b' is shorter than 7 bytes\n"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"a\", \"long enough\", \"b\"]}",
     "a.json:1:47: the literal 'a' is shorter than 7 bytes\n"
     "a.json:1:67: the literal 'b' is shorter than 7 bytes\n"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"long enough\"], \"set\": {\"tried_byte\": \"1\", \"gpu\": 2}}",
     "a.json:1:71: unknown field 'tried_byte' (did you mean 'tried_bytes'?)\n"
     "a.json:1:97: expected a string\n"},
    /* what is no rule */
    {"[3, {}, {\"casue\": \"c\"}, {\"off\": \"nothing\", \"why\": \"w\"}, {\"cause\": \"a b\", \"when\": \"true\"}]",
     "a.json:1:2: expected an object whose first key is the sort of a rule (pattern, cause, fix, knob, phase, term, model, "
     "define, off, sign)\n"
     "a.json:1:5: expected an object whose first key is the sort of a rule (pattern, cause, fix, knob, phase, term, model, "
     "define, off, sign)\n"
     "a.json:1:9: expected an object whose first key is the sort of a rule (did you mean 'cause'?)\n"
     "a.json:1:67: 'a b' is no id\n"
     "a.json:1:33: no cause, fix or pattern is called 'nothing'\n"},
    /* a misspelled key beside the right one: that one is read */
    {"{\"fix\": \"f-one\", \"title\": \"t\", \"note\": [\"old\"], \"notes\": [\"{oom.bda}\"]}",
     "a.json:1:32: unknown key 'note' (did you mean 'notes'?)\n"
     "a.json:1:61: unknown name 'oom.bda' (oom.kind, oom.tried, oom.capacity, oom.free, oom.allocated, oom.reserved, "
     "oom.reserved_unallocated, oom.process, oom.non_pytorch, oom.other_processes, oom.other_processes_listed, ...)\n"},
    /* names between quotes of a template, and behind another mistake */
    {"{\"cause\": \"c\", \"when\": \"oom.tried == 3 and oom.fre > 1GiB\", \"headline\": \"says \\\"{end.reson}\\\" 5\\\" on "
     "{end.hst}\"}",
     "a.json:1:38: expected bytes, got number\n"
     "a.json:1:44: unknown name 'oom.fre' (did you mean 'oom.free'?)\n"
     "a.json:1:82: unknown name 'end.reson' (did you mean 'end.reason'?)\n"
     "a.json:1:103: unknown name 'end.hst' (end.kind, end.text, end.second_text, end.third_text, end.reason, end.state, "
     "end.signal, end.exit_code, end.xid, end.is_after_task_failure)\n"},
    /* what is no object has no line: the lines of the rules stay */
    {"[\"junk\",\n {\"cause\": \"c\", \"whn\": \"true\"},\n {\"cause\": \"d\", \"at_most\": \"x\", \"when\": \"true\"}]",
     "a.json:1:2: expected an object whose first key is the sort of a rule (pattern, cause, fix, knob, phase, term, model, "
     "define, off, sign)\n"
     "a.json:2:17: unknown key 'whn' (did you mean 'when'?)\n"
     "a.json:3:28: unknown confidence 'x' (certain, likely, possible)\n"},
    /* turned off, and mistaken */
    {"[{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"x\"]}, {\"off\": \"p\", \"why\": \"w\"}]",
     "a.json:1:48: the literal 'x' is shorter than 7 bytes\n"},
    /* lets that were lost are not missed */
    {"[{\"cause\": \"c\", \"lets\": {\"a\": \"1\"}, \"when\": \"a > 1\"}, {\"cause\": \"d\", \"let\": [\"a\"], \"when\": \"a > "
     "1\"}]",
     "a.json:1:17: unknown key 'lets' (did you mean 'let'?)\n"
     "a.json:1:77: expected an object\n"},
    /* an id that is none, and the rest of the rule */
    {"{\"cause\": \"a b\", \"whn\": \"true\", \"at_most\": \"x\"}",
     "a.json:1:11: 'a b' is no id\n"
     "a.json:1:18: unknown key 'whn' (did you mean 'when'?)\n"
     "a.json:1:44: unknown confidence 'x' (certain, likely, possible)\n"},
    /* a circle, and the rest of the definition */
    {"{\"define\": \"d\", \"maens\": \"m\", \"expr\": \"def.d and oom.fre > 1GiB\"}",
     "a.json:1:40: 'def.d' stands for itself in the end: a circle has no value\n"
     "a.json:1:17: unknown key 'maens' (did you mean 'means'?)\n"
     "a.json:1:50: unknown name 'oom.fre' (did you mean 'oom.free'?)\n"},
    /* every value of a map */
    {"{\"knob\": \"k\", \"unit\": \"text\", \"aliases\": [{\"key\": \"site_k_value\", \"values\": {\"a\": 1, \"b\": 2}}]}",
     "a.json:1:83: expected a string\n"
     "a.json:1:91: expected a string\n"},
    /* behind a byte order mark */
    {"\xef\xbb\xbf"
     "{\"cause\": \"c\", \"when\": \"true\", \"at_most\": \"x\"}",
     "a.json:1:43: unknown confidence 'x' (certain, likely, possible)\n"},
};

static void test_all_mistakes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct wo_rule_file file = file_of("a.json", cases[i].text);
    struct told told = {.len = 0};
    assert_int_not_equal(load(&file, 1, &told, NULL), WO_OK);
    if (strcmp(told.text, cases[i].told) != 0) fail_msg("%s\n%s", cases[i].text, told.text);
  }
}

/* ---- several files, many mistakes ------------------------------------------------------------------------------------- */

/* A file that is no JSON is named, and what it may define is not missed elsewhere. */
static void test_broken_file(void **state) {
  (void)state;
  const struct wo_rule_file files[] = {
      file_of("a.json", "[{\"cause\": ]"),
      file_of("b.json", "{\"cause\": \"c\", \"when\": \"def.there > 1 and config.there > 1 and oom.tride > 1GiB\"}")};
  struct told told = {.len = 0};
  struct wo_pack *pack = NULL;
  assert_int_equal(load(files, 2, &told, &pack), WO_E_SYNTAX);
  assert_string_equal(told.text, "a.json:1:12: malformed JSON\n"
                                 "b.json:1:64: unknown name 'oom.tride' (did you mean 'oom.tried'?)\n");
  assert_null(pack); /* it would lack rules */
}

static void test_too_many(void **state) {
  (void)state;
  static char text[64 * 1024];
  size_t len = 0;
  for (int i = 0; i < WO_LIMIT_RULE_MISTAKES + 50; i++)
    len += (size_t)snprintf(text + len, sizeof text - len, "%s{\"cause\": \"c%d\"}", i == 0 ? "[" : ",\n", i);
  snprintf(text + len, sizeof text - len, "]");
  const struct wo_rule_file file = file_of("a.json", text);
  static struct told told;
  struct wo_pack *pack = NULL;
  assert_int_equal(load(&file, 1, &told, &pack), WO_E_SYNTAX);
  assert_int_equal(told.count, WO_LIMIT_RULE_MISTAKES + 1);
  assert_null(pack);
}

/* ---- the pack for the lint -------------------------------------------------------------------------------------------- */

/* The lint passes mistaken rules over, and places its complaints at the values that they are about. */
static void test_pack_for_the_lint(void **state) {
  (void)state;
  const struct wo_rule_file file = file_of(
      "a.json", "[{\"cause\": \"bad\", \"when\": \"nil\", \"fixes\": [\"f\"]},\n"
                "{\"pattern\": \"bad-line\", \"kind\": \"note\", \"literals\": [\"short\"]},\n"
                "{\"knob\": \"k\", \"unit\": \"kg\", \"aliases\": [\"site_k_value\"]},\n"
                "{\"phase\": \"p\", \"reach\": \"far\"}, {\"term\": \"t\", \"title\": 1},\n"
                "{\"cause\": \"good\", \"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\",\n"
                " \"when\": \"seen(cuda_oom)\", \"would_tell\": [\"w\", {\"between\": \"godd\", \"say\": \"s\"}],\n"
                " \"excludes\": [\"bad\", \"good\"], \"fixes\": [\"f\"],\n"
                " \"examples\": [{\"gives\": true, \"log\": [\"a\"]}, {\"gives\": false, \"log\": [\"b\"], \"why\": \"w\"},\n"
                "              {\"gives\": false, \"log\": [\"c\"]}]},\n"
                "{\"fix\": \"f\", \"title\": \"t\", \"changes\": [{\"knob\": \"kk\", \"to\": \"1\"}],\n"
                " \"cost\": {\"speed\": \"s\", \"accuracy\": \"\", \"effort\": \"e\"}}]");
  struct told mistakes = {.len = 0}, complaints = {.len = 0};
  struct wo_pack *pack = NULL;
  assert_int_equal(load(&file, 1, &mistakes, &pack), WO_E_UNKNOWN);
  assert_int_equal(mistakes.count, 5);
  assert_non_null(pack);
  assert_int_equal(pack->mistake_count, 5);
  wo_pack_check(pack, note, &complaints);
  assert_string_equal(complaints.text, "a.json:7:22: cause good: excludes itself\n"
                                       "a.json:6:48: cause good: 'between' names unknown cause 'godd' (did you mean 'good'?)\n"
                                       "a.json:9:15: cause good: example 3 does not say why not\n"
                                       "a.json:11:37: fix f: 'cost.accuracy' is missing or empty\n"
                                       "a.json:10:40: fix f: unknown knob 'kk'\n");
  wo_pack_free(pack);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* With mistakes as without, memory that is out ends the load. */
static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct wo_rule_file file = file_of("a.json", cases[i].text);
    for (long n = 1;; n++) {
      struct told told = {.len = 0};
      struct wo_pack *pack = NULL;
      wo_fail_alloc_at(n);
      const enum wo_status status = load(&file, 1, &told, &pack);
      wo_fail_alloc_off();
      if (pack != NULL) assert_false(wo_fail_alloc_hit());
      wo_pack_free(pack);
      if (!wo_fail_alloc_hit()) break;
      assert_int_equal(status, WO_E_NOMEM);
      assert_non_null(strstr(told.text, "out of memory"));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_mistakes),      cmocka_unit_test(test_broken_file),   cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_pack_for_the_lint), cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
