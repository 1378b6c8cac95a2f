/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of rule files: a good one in full, every class of error with its place, overriding, folders, and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/load/rule.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

static const char good[] =
    "// a file with everything in it\n"
    "[\n"
    "  {\"define\": \"is_big\", \"means\": \"m\", \"expr\": \"def.size > 1GiB and any(rank.free < 1GiB)\"},\n"
    "  {\"define\": \"size\", \"means\": \"m\", \"expr\": \"oom.tried\"}, {\"fix\": \"none\"}, {\"off\": \"none\", \"why\": "
    "\"w\"},\n"
    "  {\"knob\": \"micro_batch\", \"unit\": \"number\", \"means\": \"samples at a time\",\n"
    "   \"aliases\": [\"per_device_batch\", {\"key\": \"bs\", \"framework\": \"hf\", \"values\": {\"True\": \"on\", \"False\": "
    "\"off\"},\n"
    "                                    \"literals\": [\"--bs 12345\"]}, {\"key\": \"micro-batch-size\"}]},\n"
    "  /* conditions */\n"
    "  {\"cause\": \"too-much\", \"family\": \"oversized_batch\", \"title\": \"{oom.tried} refused\",\n"
    "   \"let\": {\"share\": \"oom.tried / gpu.capacity\", \"big\": \"share > 10%\"},\n"
    "   \"summary\": \"{share:pct} of the card\", \"means\": \"m\", \"details\": \"long\",\n"
    "   \"when\": \"big and count.cuda_oom > 0\", \"not_when\": [{\"if\": \"known(oom.contradiction)\", \"say\": \"no\"}],\n"
    "   \"prior\": \"weak\", \"at_most\": \"likely\",\n"
    "   \"for\": [{\"if\": \"config.micro_batch > 4\", \"weight\": \"strong\", \"say\": \"{config.micro_batch}\"}],\n"
    "   \"against\": [{\"if\": \"oom.first_step\", \"say\": \"early\"}],\n"
    "   \"excludes\": [\"unclear\"], \"would_tell\": [\"a log\", {\"if\": \"not big\", \"say\": \"b\"}],\n"
    "   \"fixes\": [\"smaller\"], \"references\": [\"r\"],\n"
    "   \"examples\": [{\"gives\": true, \"log\": [\"one\", \"two\"], \"title\": \"t\"}, {\"gives\": false, \"log\": [\"x\"], "
    "\"why\": \"w\"}]},\n"
    "  {\"fix\": \"smaller\", \"title\": \"smaller\", \"let\": {\"half\": \"config.micro_batch / 2\"}, \"when\": \"half >= 1\",\n"
    "   \"already\": \"config.micro_batch == 1\", \"already_say\": \"is 1\", \"conflicts\": [{\"if\": \"half < 1\", \"say\": "
    "\"c\"}],\n"
    "   \"changes\": [{\"knob\": \"micro_batch\", \"to\": \"floor(half)\", \"if\": \"true\"}],\n"
    "   \"saves\": {\"lo\": \"oom.tried\", \"hi\": \"2 * oom.tried\", \"formula\": \"{half}\"},\n"
    "   \"cost\": {\"speed\": \"s\", \"accuracy\": \"a\", \"effort\": \"e\"}, \"commands\": [\"x\"], \"notes\": [\"n\"],\n"
    "   \"explain\": \"long\", \"replays_as\": \"scale=seq_len=4:2\"},\n"
    "  {\"pattern\": \"cuda-oom\", \"kind\": \"cuda_oom\", \"literals\": [\"out of memory\"], \"regex\": \"Tried to allocate "
    "(?<tried_bytes>.*)\",\n"
    "   \"unless\": \"quoted\", \"reader\": \"torch\", \"argument\": \"a\", \"bare_unit\": \"kB\", \"set\": {\"program\": "
    "\"p\"},\n"
    "   \"since\": \"s\", \"samples\": [\"CUDA out of memory. Tried to allocate 2 GiB\"], \"not\": [\"out of memory\"]},\n"
    "  {\"pattern\": \"step\", \"kind\": \"progress\", \"where\": \"before\", \"regex\": \"step\"},\n"
    "  {\"phase\": \"backward\", \"any_of\": [\"a\", \"b\"]}, {\"phase\": \"backward\", \"any_of\": [\"c\"]},\n"
    "  {\"term\": \"reserved\", \"title\": \"t\", \"text\": \"x\"}\n"
    "]\n";

static struct wo_rule_file file_of(const char *text) {
  return (struct wo_rule_file){.name = "x.json", .data = text, .size = strlen(text)};
}

static struct wo_pack *load(const char *text, enum wo_load_depth depth) {
  const struct wo_rule_file file = file_of(text);
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(&file, 1, depth, &pack, &err) != WO_OK) {
    fail_msg("%s:%llu:%u: %s", err.file, (unsigned long long)err.line, err.column, err.message);
  }
  return pack;
}

static void test_good_cause(void **state) {
  (void)state;
  struct wo_pack *const pack = load(good, WO_LOAD_ALL);
  const struct wo_cause *const cause = wo_pack_cause(pack, WO_VIEW("too-much"));
  assert_non_null(cause);
  assert_int_equal(cause->place.line, 9);
  assert_true(wo_view_is(cause->place.file, "x.json"));
  assert_true(wo_view_is(cause->family, "oversized_batch"));
  assert_true(wo_view_is(wo_template_source(cause->summary), "{share:pct} of the card"));
  assert_int_equal(cause->prior, WO_WEIGHT_WEAK);
  assert_int_equal(cause->at_most, WO_CONFIDENCE_LIKELY);
  assert_int_equal(wo_expr_unit(cause->when), WO_UNIT_BOOL);
  assert_int_equal(cause->not_when_count, 1);
  assert_int_equal(cause->for_[0].weight, WO_WEIGHT_STRONG);
  assert_int_equal(cause->against[0].weight, WO_WEIGHT_MEDIUM);
  assert_int_equal(cause->would_tell_count, 2);
  assert_null(cause->would_tell[0].when);
  assert_non_null(cause->would_tell[1].when);
  assert_true(wo_view_is(cause->excludes[0], "unclear"));
  assert_true(wo_view_is(cause->examples[0].log, "one\ntwo"));
  assert_true(cause->examples[0].gives && !cause->examples[1].gives);
  assert_null(wo_pack_cause(pack, WO_VIEW("smaller")));
  wo_pack_free(pack);
}

static void test_good_fix_and_knob(void **state) {
  (void)state;
  struct wo_pack *const pack = load(good, WO_LOAD_ALL);
  const struct wo_fix *const fix = wo_pack_fix(pack, WO_VIEW("smaller"));
  assert_non_null(fix);
  assert_int_equal(wo_expr_unit(fix->changes[0].to), WO_UNIT_NUMBER);
  assert_int_equal(wo_expr_unit(fix->saves_hi), WO_UNIT_BYTES);
  assert_true(wo_view_is(wo_template_source(fix->cost_effort), "e"));
  assert_true(wo_view_is(wo_template_source(fix->replays_as), "scale=seq_len=4:2"));
  const struct wo_knob *const knob = wo_pack_knob(pack, WO_VIEW("micro_batch"));
  assert_non_null(knob);
  assert_int_equal(knob->alias_count, 3);
  assert_true(wo_view_is(knob->aliases[1].value_map, "True=on,False=off"));
  assert_int_equal(pack->phase_count, 2);
  assert_int_equal(pack->term_count, 1);
  assert_int_equal(pack->duplicate_count, 0);
  assert_null(wo_pack_free(pack));
}

static void test_patterns_of_packs_and_knobs(void **state) {
  (void)state;
  struct wo_pack *const pack = load(good, WO_LOAD_ALL);
  assert_int_equal(pack->own_pattern_count, 2);
  assert_int_equal(pack->pattern_count, 5);
  const struct wo_pattern *const own = &pack->patterns[0];
  assert_int_equal(own->kind, WO_KIND_CUDA_OOM);
  assert_true(own->bare_scale == 1024);
  assert_int_equal(own->sets[0].id, WO_FIELD_PROGRAM);
  assert_int_equal(pack->patterns[1].where, WO_WHERE_BEFORE);
  assert_int_equal(pack->samples[0].match_count, 1);
  const struct wo_pattern *const key = &pack->patterns[2];
  assert_true(wo_view_is(key->id, "setting:micro_batch:per_device_batch"));
  assert_true(wo_view_is(key->reader, "setting"));
  assert_true(wo_view_is(key->argument, "micro_batch"));
  assert_int_equal(key->literal_count, 2);
  assert_true(wo_view_is(key->literals[1], "per-device-batch"));
  assert_true(wo_view_is(pack->patterns[3].literals[0], "--bs 12345"));
  assert_true(wo_view_is(pack->patterns[4].literals[1], "micro_batch_size"));
  wo_pack_free(pack);
}

static void test_diagnosis_leaves_out_long_texts(void **state) {
  (void)state;
  struct wo_pack *const pack = load(good, WO_LOAD_FOR_DIAGNOSIS);
  assert_int_equal(pack->causes[0].example_count, 0);
  assert_int_equal(pack->causes[0].details.len, 0);
  assert_int_equal(pack->term_count, 0);
  assert_int_equal(pack->sample_count, 0);
  assert_non_null(pack->causes[0].when);
  wo_pack_free(pack);
}

static void test_fact_units(void **state) {
  (void)state;
  struct wo_pack *const pack = load(good, WO_LOAD_FOR_DIAGNOSIS);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("oom.tried")), WO_UNIT_BYTES);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("oom.kind")), WO_UNIT_TEXT);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("config.micro_batch")), WO_UNIT_NUMBER);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("count.cuda_oom")), WO_UNIT_NUMBER);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("count.nothing")), WO_UNIT_NONE);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("config.nothing")), WO_UNIT_NONE);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("oom")), WO_UNIT_NONE);
  const size_t place = wo_fact_place(pack, WO_VIEW("oom.tried"));
  assert_true(place < 1000 && wo_fact_place(pack, WO_VIEW("oom.kind")) != place);
  assert_int_equal(wo_fact_place(pack, WO_VIEW("config.micro_batch")), WO_NOT_FOUND);
  assert_int_equal(wo_fact_place(pack, WO_VIEW("oom")), WO_NOT_FOUND);
  assert_int_equal(wo_fact_unit(pack, WO_VIEW("")), WO_UNIT_NONE);
  wo_pack_free(pack);
}

/* Texts that are printed are clean; what is matched with lines is as it was written. */
static void test_texts_are_clean(void **state) {
  (void)state;
  const struct wo_rule_file file =
      file_of("[{\"cause\": \"c\", \"family\": \"x\", \"title\": \"a\\u001b[2Jb {if(true, \\\"c\\nd\\\", \\\"\\\")}\", "
              "\"summary\": \"s\", "
              "\"means\": \"x\\u202ey\\nz\", \"when\": \"oom.kind ==\\t\\\"e\\u0007\\\"\", \"at_most\": \"likely\"},\n"
              "{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"abcdefg\\n\"], \"regex\": \"a\\u0001\", \"samples\": "
              "[\"\\u001b[0m\"]}]");
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, &err) != WO_OK) fail_msg("%u: %s", err.column, err.message);
  assert_true(wo_view_is(pack->causes[0].means, "x\xef\xbf\xbdy z"));
  assert_true(wo_view_is(wo_template_source(pack->causes[0].title), "a [2Jb {if(true, \"c d\", \"\")}"));
  assert_true(wo_view_is(pack->patterns[0].regex, "a\x01"));
  assert_true(wo_view_is(pack->patterns[0].literals[0], "abcdefg\n"));
  assert_true(wo_view_is(pack->samples[0].match[0], "\x1b[0m"));
  wo_pack_free(pack);
}

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

#define NO_SORT                                                                                                                  \
  "expected an object whose first key is the sort of a rule (pattern, cause, fix, knob, phase, term, model, define, off, sign)"
#define CAUSE "{\"cause\": \"c\", "

static const struct {
  const char *text;
  enum wo_status status;
  uint64_t line;
  uint32_t column;
  const char *message;
} errors[] = {
    {"", WO_E_SYNTAX, 1, 1, "malformed JSON"},
    {"[\n  {\"cause\": }\n]", WO_E_SYNTAX, 2, 13, "malformed JSON"},
    {"{\"term\": \"a\"} x", WO_E_SYNTAX, 1, 15, "malformed JSON"},
    {"{\"term\": \"a\\u0000b\"}", WO_E_SYNTAX, 1, 12, "NUL character"},
    {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", WO_E_LIMIT, 1, 33, "nested too deep"},
    {"3", WO_E_SYNTAX, 1, 1, NO_SORT},
    {"[\n{}]", WO_E_SYNTAX, 2, 1, NO_SORT},
    {"{\"title\": \"a\", \"cause\": \"b\"}", WO_E_SYNTAX, 1, 1, NO_SORT},
    {"{\"cause\": 3}", WO_E_TYPE, 1, 11, "expected a string"},
    {"{\"cause\": \"a b\"}", WO_E_SYNTAX, 1, 11, "'a b' is no id"},
    {"{\"cause\": \"\"}", WO_E_SYNTAX, 1, 11, "'' is no id"},
    {CAUSE "\n \"nope\": 1}", WO_E_UNKNOWN, 2, 2,
     "unknown key 'nope' (cause, let, family, title, headline, show, summary, means, details, when, not_when, prior, at_most, "
     "is_failure, for, against, excludes, would_tell, fixes, references, examples, ...)"},
    {CAUSE "\"means\": \"a\",\n \"means\": \"b\"}", WO_E_SYNTAX, 2, 2, "key 'means' comes twice"},
    {CAUSE "\"title\": \"x\"}", WO_E_SYNTAX, 1, 1, "missing key 'when'"},
    {CAUSE "// a comment with \" in it\n\"when\":\n  \"oom.tried > \"}", WO_E_SYNTAX, 3, 16, "expected a value, got the end"},
    {CAUSE "\"when\": \"oom.tried > 3\"}", WO_E_TYPE, 1, 37, "expected bytes, got number"},
    {CAUSE "\"when\": \"oom.kind == \\\"a\\\" and oom.nope\"}", WO_E_UNKNOWN, 1, 47,
     "unknown name 'oom.nope' (oom.kind, oom.tried, oom.capacity, oom.free, oom.allocated, oom.reserved, "
     "oom.reserved_unallocated, oom.process, oom.non_pytorch, oom.other_processes, oom.other_processes_listed, ...)"},
    {CAUSE "\"when\": \"oom.tried\"}", WO_E_TYPE, 1, 24, "expected bool, got bytes"},
    {CAUSE "\"when\": true}", WO_E_TYPE, 1, 24, "expected a string"},
    {CAUSE "\"title\": \"\xc3\xbc {oom.nope}\"}", WO_E_UNKNOWN, 1, 30,
     "unknown name 'oom.nope' (oom.kind, oom.tried, oom.capacity, oom.free, oom.allocated, oom.reserved, "
     "oom.reserved_unallocated, oom.process, oom.non_pytorch, oom.other_processes, oom.other_processes_listed, ...)"},
    {CAUSE "\"title\": \"\\u00fc {oom.nope}\"}", WO_E_UNKNOWN, 1, 34,
     "unknown name 'oom.nope' (oom.kind, oom.tried, oom.capacity, oom.free, oom.allocated, oom.reserved, "
     "oom.reserved_unallocated, oom.process, oom.non_pytorch, oom.other_processes, oom.other_processes_listed, ...)"},
    {CAUSE "\"let\": 3}", WO_E_TYPE, 1, 23, "expected an object"},
    {CAUSE "\"let\": {\"a b\": \"1\"}}", WO_E_SYNTAX, 1, 24, "'a b' is no name"},
    {CAUSE "\"let\": {\"a\": \"1\", \"a\": \"2\"}}", WO_E_SYNTAX, 1, 34, "the name 'a' is taken"},
    {CAUSE "\"let\": {\"a\": \"b\", \"b\": \"2\"}}", WO_E_UNKNOWN, 1, 30, "unknown name 'b'"},
    {CAUSE "\"prior\": \"huge\"}", WO_E_UNKNOWN, 1, 25, "unknown weight 'huge' (decisive, strong, medium, weak, none)"},
    {CAUSE "\"at_most\": \"sure\"}", WO_E_UNKNOWN, 1, 27, "unknown confidence 'sure' (certain, likely, possible)"},
    {CAUSE "\"fixes\": \"a\"}", WO_E_TYPE, 1, 25, "expected an array"},
    {CAUSE "\"fixes\": [\"a\", 1]}", WO_E_TYPE, 1, 31, "expected a string"},
    {CAUSE "\"for\": [{\"say\": \"a\"}]}", WO_E_SYNTAX, 1, 24, "missing key 'if'"},
    {CAUSE "\"for\": [{\"if\": \"true\"}]}", WO_E_SYNTAX, 1, 24, "missing key 'say'"},
    {CAUSE "\"not_when\": [{\"if\": \"true\", \"weight\": \"weak\"}]}", WO_E_UNKNOWN, 1, 44, "unknown key 'weight' (if, say)"},
    {CAUSE "\"would_tell\": [3]}", WO_E_TYPE, 1, 31, "expected an object"},
    {CAUSE "\"examples\": [{\"log\": []}]}", WO_E_SYNTAX, 1, 29, "missing key 'gives'"},
    {CAUSE "\"examples\": [{\"gives\": true}]}", WO_E_SYNTAX, 1, 29, "missing key 'log'"},
    {CAUSE "\"examples\": [{\"gives\": 1}]}", WO_E_TYPE, 1, 39, "expected true or false"},
    {"{\"fix\": \"f\", \"saves\": {\"lo\": \"1B\"}}", WO_E_SYNTAX, 1, 23, "missing key 'hi'"},
    {"{\"fix\": \"f\", \"saves\": {\"enough_say\": \"x\"}}", WO_E_SYNTAX, 1, 23, "missing key 'enough'"},
    {"{\"fix\": \"f\", \"saves\": {\"too_little_say\": \"x\"}}", WO_E_SYNTAX, 1, 23, "missing key 'too_little'"},
    {"{\"fix\": \"f\", \"saves\": {\"lo\": \"1\"}}", WO_E_TYPE, 1, 30, "expected bytes, got number"},
    {"{\"fix\": \"f\", \"changes\": [{\"knob\": \"k\"}]}", WO_E_SYNTAX, 1, 26, "missing key 'to'"},
    {"{\"fix\": \"f\", \"changes\": [{\"to\": \"1\"}]}", WO_E_SYNTAX, 1, 26, "missing key 'knob'"},
    {"[{\"fix\": \"f\", \"changes\": [{\"knob\": \"k\", \"to\": \"1\"}]},\n {\"knob\": \"k\", \"unit\": \"bytes\", \"aliases\": "
     "[\"abcdefg\"]}]",
     WO_E_TYPE, 1, 47, "expected bytes, got number"},
    {"{\"knob\": \"k\", \"aliases\": [\"abcdefg\"]}", WO_E_SYNTAX, 1, 1, "missing key 'unit'"},
    {"{\"knob\": \"k\", \"unit\": \"number\"}", WO_E_SYNTAX, 1, 1, "missing key 'aliases'"},
    {"{\"knob\": \"k\", \"unit\": \"kg\"}", WO_E_UNKNOWN, 1, 23, "unknown unit 'kg' (number, bytes, text, bool)"},
    {"{\"knob\": \"k\", \"unit\": \"number\", \"aliases\": [\"short\"]}", WO_E_RANGE, 1, 45,
     "the key 'short' is shorter than 7 bytes and needs \"literals\""},
    {"{\"knob\": \"k\", \"unit\": \"number\", \"aliases\": [{\"framework\": \"x\"}]}", WO_E_SYNTAX, 1, 45,
     "an alias without a key"},
    {"{\"knob\": \"k\", \"unit\": \"text\", \"aliases\": [{\"key\": \"abcdefg\", \"values\": {\"a=b\": \"c\"}}]}", WO_E_SYNTAX, 1,
     73, "'=' and ',' cannot stand in values"},
    {"{\"pattern\": \"p\", \"literals\": [\"abcdefg\"]}", WO_E_SYNTAX, 1, 1, "missing key 'kind'"},
    {"{\"pattern\": \"p\", \"kind\": \"nope\"}", WO_E_UNKNOWN, 1, 26, "unknown kind 'nope' (did you mean 'note'?)"},
    {"{\"pattern\": \"p\", \"kind\": \"note\"}", WO_E_SYNTAX, 1, 1, "a pattern for lines needs literals"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"abcdefg\", \"abc\"]}", WO_E_RANGE, 1, 58,
     "the literal 'abc' is shorter than 7 bytes"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"before_number\": true, \"literals\": [\"abcde\", \"abcd\\n\"]}", WO_E_RANGE, 1,
     79, "the literal 'abcd\n' is shorter than 7 bytes"},
    {"{\"pattern\": \"p\", \"kind\": \"note\",\n \"regex\": \"a\\\\d(b\"}", WO_E_SYNTAX, 2, 18,
     "the regular expression does not compile: missing closing parenthesis"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"regex\": "
     "\"((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))\"}",
     WO_E_SYNTAX, 1, 77, "the regular expression does not compile: parentheses are too deeply nested"},
    {"{\"pattern\": \"p\", \"kind\": \"note\", \"unless\": \"a[\"}", WO_E_SYNTAX, 1, 47,
     "the regular expression does not compile: missing terminating ] for character class"},
    {"{\"pattern\": \"p\", \"where\": \"there\"}", WO_E_UNKNOWN, 1, 27, "unknown place 'there' (line, before, tail, head)"},
    {"{\"pattern\": \"p\", \"bare_unit\": \"MB\"}", WO_E_UNKNOWN, 1, 31, "unknown unit 'MB' (B, kB, MiB, GiB)"},
    {"{\"pattern\": \"p\", \"set\": {\"nope\": \"1\"}}", WO_E_UNKNOWN, 1, 26,
     "unknown field 'nope' (tried_bytes, capacity_bytes, free_bytes, allocated_bytes, reserved_bytes, "
     "reserved_unallocated_bytes, cached_bytes, process_bytes, other_process_bytes, other_process_count, ...)"},
    /* slips of the pen are told with what was meant */
    {CAUSE "\"needs\": [], \"when\": \"true\"}", WO_E_UNKNOWN, 1, 16, "unknown key 'needs': it follows from 'when'"},
    {CAUSE "\"whem\": \"true\"}", WO_E_UNKNOWN, 1, 16, "unknown key 'whem' (did you mean 'when'?)"},
    {CAUSE "\"when\": \"oom.tired > 1MiB\"}", WO_E_UNKNOWN, 1, 25, "unknown name 'oom.tired' (did you mean 'oom.tried'?)"},
    {CAUSE "\"when\": \"count.cuda_om > 1\"}", WO_E_UNKNOWN, 1, 25,
     "unknown name 'count.cuda_om' (did you mean 'count.cuda_oom'?)"},
    {CAUSE "\"let\": {\"share\": \"1\"}, \"when\": \"shar > 1\"}", WO_E_UNKNOWN, 1, 48,
     "unknown name 'shar' (did you mean 'share'?)"},
    {CAUSE "\"when\": \"knwon(oom.tried)\"}", WO_E_UNKNOWN, 1, 25, "unknown function 'knwon' (did you mean 'known'?)"},
    {"{\"pattern\": \"p\", \"mark\": \"engin\"}", WO_E_UNKNOWN, 1, 26, "unknown mark 'engin' (did you mean 'engine'?)"},
    {"{\"phase\": \"p\", \"fact\": \"oom.tried\"}", WO_E_UNKNOWN, 1, 24, "'oom.tried' is no fact that is true or false"},
    {"{\"phase\": \"p\", \"reach\": \"loops\"}", WO_E_UNKNOWN, 1, 25,
     "unknown reach 'loops' (name, work, pass, stage, loop, told)"},
    {"{\"pattern\": \"p\", \"kind\": \"cuda_om\"}", WO_E_UNKNOWN, 1, 26, "unknown kind 'cuda_om' (did you mean 'cuda_oom'?)"},
    {"[{\"knob\": \"batch\", \"unit\": \"number\", \"aliases\": [\"abcdefg\"]},\n" CAUSE "\"when\": \"config.bach > 1\"}]",
     WO_E_UNKNOWN, 2, 25, "unknown name 'config.bach' (did you mean 'config.batch'?)"},
    /* rows and the time line */
    {CAUSE "\"when\": \"rank.free < 1GiB\"}", WO_E_SYNTAX, 1, 25,
     "'rank.free' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {CAUSE "\"let\": {\"low\": \"rank.free < 1GiB\"}, \"when\": \"any(low)\"}", WO_E_SYNTAX, 1, 32,
     "'rank.free' has a value for each row: use it inside max, min, sum, spread, count, any or all"},
    {CAUSE "\"when\": \"max(rank.free) > 3\"}", WO_E_TYPE, 1, 42, "expected bytes, got number"},
    {CAUSE "\"when\": \"any(rank.is_failed and card.peak > 1GiB)\"}", WO_E_TYPE, 1, 48,
     "rank.* and card.* cannot stand in one aggregate: their rows do not belong together"},
    {CAUSE "\"when\": \"before(cuda_oom, nccl)\"}", WO_E_UNKNOWN, 1, 42, "unknown kind 'nccl'"},
    {CAUSE "\"title\": \"{max(rank.free):pct}\"}", WO_E_TYPE, 1, 27, "format pct expects number, got bytes"},
    /* definitions */
    {"{\"define\": \"a\"}", WO_E_SYNTAX, 1, 1, "missing key 'expr'"},
    {"{\"define\": \"a-b\", \"expr\": \"1\"}", WO_E_SYNTAX, 1, 12, "'a-b' is no name (letters, digits and '_')"},
    {"{\"define\": \"a\", \"expr\": 1}", WO_E_TYPE, 1, 25, "expected a string"},
    {"{\"define\": \"a\", \"expr\": \"def.a\"}", WO_E_SYNTAX, 1, 26,
     "'def.a' stands for itself in the end: a circle has no value"},
    {"[{\"define\": \"a\", \"expr\": \"1 + def.b\"},\n {\"define\": \"b\", \"expr\": \"2 + def.a\"}]", WO_E_SYNTAX, 2, 31,
     "'def.a' stands for itself in the end: a circle has no value"},
    {"{\"define\": \"a\", \"expr\": \"def.b\"}", WO_E_UNKNOWN, 1, 26, "unknown name 'def.b'"},
    {"[{\"define\": \"is_setup\", \"expr\": \"true\"},\n" CAUSE "\"when\": \"def.is_stup\"}]", WO_E_UNKNOWN, 2, 25,
     "unknown name 'def.is_stup' (did you mean 'def.is_setup'?)"},
    {CAUSE "\"let\": {\"def.a\": \"1\"}}", WO_E_SYNTAX, 1, 24, "'def.a' is no name"},
    /* turned off */
    {"{\"off\": \"x\"}", WO_E_SYNTAX, 1, 1, "missing key 'why'"},
    {"{\"off\": \"x\", \"why\": \"w\"}", WO_E_UNKNOWN, 1, 9, "no cause, fix or pattern is called 'x'"},
    {"[{\"fix\": \"more-cards\"},\n{\"off\": \"more-card\", \"why\": \"w\"}]", WO_E_UNKNOWN, 2, 9,
     "no cause, fix or pattern is called 'more-card' (did you mean 'more-cards'?)"},
    /* questions */
    {CAUSE "\"would_tell\": [{\"between\": \"d\"}]}", WO_E_SYNTAX, 1, 31, "missing key 'say'"},
    {CAUSE "\"for\": [{\"between\": \"d\", \"if\": \"true\", \"say\": \"s\"}]}", WO_E_UNKNOWN, 1, 25,
     "unknown key 'between' (if, say, weight)"},
};

static void test_errors_have_places(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    const struct wo_rule_file file = file_of(errors[i].text);
    struct wo_pack *pack = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, &err);
    if (status != errors[i].status || err.line != errors[i].line || err.column != errors[i].column ||
        strcmp(err.message, errors[i].message) != 0) {
      fail_msg("%s\n-> %s %llu:%u: %s", errors[i].text, wo_status_text(status), (unsigned long long)err.line, err.column,
               err.message);
    }
    assert_string_equal(err.file, "x.json");
    assert_null(pack);
    assert_int_equal(wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, NULL), status);
  }
}

static void test_nul_bytes_and_large_files(void **state) {
  (void)state;
  const struct wo_rule_file nul = {.name = "n.json", .data = "{\n\0}", .size = 4};
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_pack_load(&nul, 1, WO_LOAD_ALL, &pack, &err), WO_E_SYNTAX);
  assert_int_equal(err.line, 2);
  const struct wo_rule_file large = {.name = "l.json", .data = "", .size = (size_t)64 * 1024 * 1024};
  assert_int_equal(wo_pack_load(&large, 1, WO_LOAD_ALL, &pack, &err), WO_E_LIMIT);
  assert_string_equal(err.file, "l.json");
}

/* ---- several files ---------------------------------------------------------------------------------------------------- */

static void test_later_rules_replace(void **state) {
  (void)state;
  struct wo_rule_file files[] = {
      file_of("[{\"cause\": \"a\", \"when\": \"true\", \"means\": \"old\"}, {\"cause\": \"b\", \"when\": \"true\"}]"),
      file_of("{\"cause\": \"a\", \"when\": \"false\", \"means\": \"new\"}"),
  };
  for (int is_user = 0; is_user < 2; is_user++) {
    files[1].is_user = is_user == 1;
    struct wo_pack *pack = NULL;
    assert_int_equal(wo_pack_load(files, 2, WO_LOAD_ALL, &pack, NULL), WO_OK);
    assert_int_equal(pack->cause_count, 2);
    assert_true(wo_view_is(wo_pack_cause(pack, WO_VIEW("a"))->means, "new"));
    assert_ptr_equal(wo_pack_cause(pack, WO_VIEW("a")), &pack->causes[0]);
    assert_int_equal(pack->duplicate_count, is_user == 1 ? 0 : 1);
    wo_pack_free(pack);
  }
}

/* Definitions may stand in any order and in any file; a folder's replace ours, and those that speak of them follow. */
static void test_definitions(void **state) {
  (void)state;
  struct wo_rule_file files[] = {
      file_of("[{\"cause\": \"c\", \"when\": \"def.late and def.is_big\"},\n"
              " {\"define\": \"is_big\", \"means\": \"m\", \"expr\": \"def.size > 1GiB\"}]"),
      file_of("[{\"define\": \"size\", \"expr\": \"oom.tried\"}, {\"define\": \"late\", \"expr\": \"oom.step > 3\"}]"),
      file_of("{\"define\": \"late\", \"means\": \"ours\", \"expr\": \"oom.step > 5\"}"),
  };
  files[2].is_user = true;
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(files, 3, WO_LOAD_ALL, &pack, &err) != WO_OK) fail_msg("%u:%s", err.column, err.message);
  assert_int_equal(pack->define_count, 3);
  const struct wo_define *const late = wo_pack_define(pack, WO_VIEW("late"));
  assert_true(late->place.is_user && late->place.is_replacing);
  assert_true(wo_view_is(late->expr->source, "oom.step > 5"));
  assert_false(wo_pack_define(pack, WO_VIEW("size"))->place.is_user);
  assert_null(wo_pack_define(pack, WO_VIEW("c")));
  wo_pack_free(pack);
}

static void test_rules_are_turned_off(void **state) {
  (void)state;
  struct wo_rule_file files[] = {
      file_of("[{\"cause\": \"a\", \"when\": \"true\"}, {\"fix\": \"a\"}, {\"fix\": \"b\"},\n"
              " {\"pattern\": \"p\", \"kind\": \"note\", \"literals\": [\"abcdefg\"], \"samples\": [\"abcdefg\"]},\n"
              " {\"pattern\": \"q\", \"kind\": \"note\", \"literals\": [\"abcdefh\"], \"samples\": [\"abcdefh\"]}]"),
      file_of("[{\"off\": \"a\", \"why\": \"not here\"}, {\"off\": \"p\", \"why\": \"noisy\"}]"),
  };
  files[1].is_user = true;
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(files, 2, WO_LOAD_ALL, &pack, &err) != WO_OK) fail_msg("%u:%s", err.column, err.message);
  assert_true(wo_view_is(wo_pack_cause(pack, WO_VIEW("a"))->off->why, "not here"));
  assert_non_null(wo_pack_fix(pack, WO_VIEW("a"))->off);
  assert_null(wo_pack_fix(pack, WO_VIEW("b"))->off);
  assert_int_equal(pack->pattern_count, 1);
  assert_int_equal(pack->sample_count, 1);
  assert_true(wo_view_is(pack->patterns[0].id, "q"));
  assert_int_equal(pack->samples[0].pattern, 0);
  assert_true(wo_view_is(pack->samples[0].match[0], "abcdefh"));
  wo_pack_free(pack);
}

/* A user's two rules of one id are as much a mistake as two of ours. */
static void test_users_duplicates_are_noted(void **state) {
  (void)state;
  struct wo_rule_file files[] = {file_of("{\"cause\": \"a\", \"when\": \"true\"}"),
                                 file_of("{\"cause\": \"a\", \"when\": \"true\"}")};
  files[0].is_user = files[1].is_user = true;
  struct wo_pack *pack = NULL;
  assert_int_equal(wo_pack_load(files, 2, WO_LOAD_ALL, &pack, NULL), WO_OK);
  assert_int_equal(pack->duplicate_count, 1);
  wo_pack_free(pack);
}

static void test_nothing_is_a_pack(void **state) {
  (void)state;
  struct wo_pack *pack = NULL;
  assert_int_equal(wo_pack_load(NULL, 0, WO_LOAD_ALL, &pack, NULL), WO_OK);
  assert_int_equal(pack->cause_count + pack->pattern_count, 0);
  wo_pack_free(pack);
  assert_null(wo_pack_free(NULL));
}

static void write_rule(const char *folder, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_true(wo_files_write(path, wo_view_of(text)));
}

static void test_folder_adds_rules(void **state) {
  (void)state;
  char folder[256];
  assert_true(wo_files_scratch(folder, sizeof folder));
  write_rule(folder, "b.json", "{\"cause\": \"my-own\", \"when\": \"true\", \"means\": \"second\"}");
  write_rule(folder, "a.json", "{\"cause\": \"my-own\", \"when\": \"true\", \"means\": \"first\"}");
  write_rule(folder, "notes.txt", "not JSON");
  write_rule(folder, ".hidden.json", "not JSON");
  struct wo_pack *embedded = NULL;
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_ALL, &embedded, NULL), WO_OK);
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  assert_int_equal(wo_pack_load_all(folder, WO_LOAD_ALL, &pack, &err), WO_OK);
  assert_int_equal(pack->cause_count, embedded->cause_count + 1);
  assert_true(wo_view_is(wo_pack_cause(pack, WO_VIEW("my-own"))->means, "second"));
  wo_pack_free(pack);
  wo_pack_free(embedded);
  char hidden[512];
  snprintf(hidden, sizeof hidden, "%s/.hidden.json", folder);
  assert_int_equal(remove(hidden), 0);
  write_rule(folder, "c.json", "\n{\"cause\": }");
  assert_int_equal(wo_pack_load_all(folder, WO_LOAD_ALL, &pack, &err), WO_E_SYNTAX);
  assert_int_equal(err.line, 2);
  assert_true(wo_view_ends(wo_view_of(err.file), "/c.json"));
  wo_files_remove_scratch(folder);
  assert_int_equal(wo_pack_load_all(folder, WO_LOAD_ALL, &pack, &err), WO_E_IO);
  assert_string_equal(err.message, "no such folder");
}

/* Both forms of the compiled-in packs hold the same rules. */
static void test_embedded_packs_agree(void **state) {
  (void)state;
  struct wo_pack *full = NULL;
  struct wo_pack *shortened = NULL;
  struct wo_err err = {0};
  if (wo_pack_load_all(NULL, WO_LOAD_ALL, &full, &err) != WO_OK) fail_msg("%s: %s", err.file, err.message);
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &shortened, &err), WO_OK);
  assert_int_equal(full->pattern_count, shortened->pattern_count);
  assert_int_equal(full->cause_count, shortened->cause_count);
  assert_int_equal(full->fix_count, shortened->fix_count);
  assert_int_equal(full->knob_count, shortened->knob_count);
  for (size_t i = 0; i < full->pattern_count; i++) assert_true(wo_view_equal(full->patterns[i].id, shortened->patterns[i].id));
  wo_pack_free(full);
  wo_pack_free(shortened);
}

/* Which of two findings with one score comes first depends on the order of the rules: a file that moves to another family must
 * keep its place. */
static void test_embedded_order_knows_no_families(void **state) {
  (void)state;
  size_t count = 0;
  size_t in_families = 0;
  const struct wo_rule_file *const files = wo_rule_embedded(WO_LOAD_ALL, &count);
  for (size_t i = 1; i < count; i++) {
    const char *const before = files[i - 1].name;
    const char *const after = files[i].name;
    const size_t top = strcspn(after, "/") + 1;
    if (strncmp(before, after, top) != 0 || strchr(after, '/') == NULL) continue;
    assert_true(strcmp(strrchr(before, '/'), strrchr(after, '/')) < 0);
    in_families += strrchr(after, '/') >= after + top;
  }
  assert_true(in_families > 200);
}

static void test_out_of_memory(void **state) {
  (void)state;
  const struct wo_rule_file file = file_of(good);
  for (long n = 1;; n++) {
    struct wo_pack *pack = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, &err);
    wo_fail_alloc_off();
    wo_pack_free(pack);
    if (!wo_fail_alloc_hit()) break;
    assert_int_equal(status, WO_E_NOMEM);
    assert_int_equal(err.code, WO_E_NOMEM);
  }
}

static void test_out_of_memory_in_folder(void **state) {
  (void)state;
  char folder[256];
  assert_true(wo_files_scratch(folder, sizeof folder));
  write_rule(folder, "a.json", "{\"cause\": \"my-own\", \"when\": \"true\"}");
  /* The compiled-in packs alone allocate often; the first failures are those of reading the folder. */
  for (long n = 1; n < 40; n++) {
    struct wo_pack *pack = NULL;
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_pack_load_all(folder, WO_LOAD_FOR_DIAGNOSIS, &pack, NULL);
    wo_fail_alloc_off();
    wo_pack_free(pack);
    /* Giving back the unused end of a buffer may fail without harm. */
    assert_true(status == WO_OK || status == WO_E_NOMEM);
  }
  wo_files_remove_scratch(folder);
}

/* The list that was compiled in is that of the condition. */
static void check_needs(const struct wo_cause *cause, const struct wo_cause *late) {
  struct wo_need needs[3];
  const size_t count = wo_expr_needs(cause->when, needs, 3);
  assert_int_equal(late->need_count, count);
  for (size_t i = 0; i < count; i++) {
    char text[WO_NEED_BYTES];
    wo_need_text(&needs[i], text, sizeof text);
    assert_true(wo_view_equal(wo_view_of(text), late->needs[i]));
  }
}

/* What is read when it is asked for is what is read at once otherwise. */
static void test_late_rules_are_the_same(void **state) {
  (void)state;
  struct wo_pack *late = NULL;
  struct wo_pack *pack = NULL;
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_FOR_ONE_JOB, &late, NULL), WO_OK);
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, NULL), WO_OK);
  assert_int_equal(late->cause_count, pack->cause_count);
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *const a = &pack->causes[i];
    assert_null(late->causes[i].when);
    check_needs(a, &late->causes[i]);
    assert_ptr_equal(wo_pack_cause_head(late, i), &late->causes[i]);
    assert_non_null(late->causes[i].when);
    assert_int_equal(late->causes[i].not_when_count, a->not_when_count);
    assert_null(late->causes[i].title);
    const struct wo_cause *const b = wo_pack_cause_at(late, i);
    assert_non_null(b);
    assert_true(wo_view_equal(a->id, b->id) && wo_view_equal(a->family, b->family));
    assert_true(wo_view_equal(wo_template_source(a->title), wo_template_source(b->title)));
    assert_true(wo_view_equal(a->when->source, b->when->source));
    assert_int_equal(a->for_count + a->against_count + a->would_tell_count,
                     b->for_count + b->against_count + b->would_tell_count);
    assert_int_equal(a->fix_count, b->fix_count);
    assert_true(a->prior == b->prior && a->at_most == b->at_most);
  }
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_fix *const a = &pack->fixes[i];
    assert_null(late->fixes[i].title);
    const struct wo_fix *const b = wo_pack_fix(late, a->id);
    assert_non_null(b);
    assert_true(wo_view_equal(wo_template_source(a->title), wo_template_source(b->title)));
    assert_int_equal(a->command_count + a->note_count + a->change_count, b->command_count + b->note_count + b->change_count);
  }
  wo_pack_free(late);
  wo_pack_free(pack);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts_are_clean),
      cmocka_unit_test(test_good_cause),
      cmocka_unit_test(test_good_fix_and_knob),
      cmocka_unit_test(test_patterns_of_packs_and_knobs),
      cmocka_unit_test(test_diagnosis_leaves_out_long_texts),
      cmocka_unit_test(test_fact_units),
      cmocka_unit_test(test_errors_have_places),
      cmocka_unit_test(test_nul_bytes_and_large_files),
      cmocka_unit_test(test_later_rules_replace),
      cmocka_unit_test(test_definitions),
      cmocka_unit_test(test_rules_are_turned_off),
      cmocka_unit_test(test_users_duplicates_are_noted),
      cmocka_unit_test(test_nothing_is_a_pack),
      cmocka_unit_test(test_folder_adds_rules),
      cmocka_unit_test(test_embedded_packs_agree),
      cmocka_unit_test(test_embedded_order_knows_no_families),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_out_of_memory_in_folder),
      cmocka_unit_test(test_late_rules_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
