/* SPDX-License-Identifier: Apache-2.0 */
/* The commands through the whole program: rules, explain, --events, --exit-zero, -o, files and standard input, exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <cJSON.h>

#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/job/job_sample.h"

enum { PATH_BYTES = 512 };

static const char oom_log[] =
    "step 41: loss 2\n" EXCEPTION(OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "28.53 GiB", "9.09 GiB"));

static char folder[PATH_BYTES / 2];
static char log_path[PATH_BYTES], script_path[PATH_BYTES], good_path[PATH_BYTES], out_path[PATH_BYTES];

static int make_folder(void **state) {
  (void)state;
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  snprintf(log_path, sizeof log_path, "%s/slurm-4711.err", folder);
  snprintf(script_path, sizeof script_path, "%s/train.sbatch", folder);
  snprintf(good_path, sizeof good_path, "%s/good.out", folder);
  snprintf(out_path, sizeof out_path, "%s/report.txt", folder);
  const bool is_written = wo_files_write(log_path, wo_view_of(oom_log)) && wo_files_write(good_path, WO_VIEW("all is well\n")) &&
                          wo_files_write(script_path, WO_VIEW("#SBATCH --mem=64G\nt.py --per_device_train_batch_size 8\n"));
  return is_written ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

/* Runs the program; `input` (NULL = nothing) on standard input. */
static struct wo_process_result run(const char *input, const char *const *args) {
  struct wo_view text = wo_view_of(input);
  const struct wo_process_spec spec = {.args = args, .write_stdin = input ? wo_process_write_view : NULL, .context = &text};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.signal != 0) fail_msg("%s: signal %d: %s", args[0] ? args[0] : "", result.signal, result.err);
  return result;
}

#define RUN(input, ...) run(input, (const char *const[]){__VA_ARGS__, NULL})

static void expect(const struct wo_process_result *result, int exit_code, const char *out_has, const char *err_has) {
  if (result->exit_code != exit_code)
    fail_msg("exit %d, expected %d\n%.500s\n%.500s", result->exit_code, exit_code, result->out, result->err);
  if (out_has && !wo_view_has(wo_view_of(result->out), out_has)) fail_msg("no \"%s\" in\n%.2000s", out_has, result->out);
  if (err_has && !wo_view_has(wo_view_of(result->err), err_has)) fail_msg("no \"%s\" in\n%.2000s", err_has, result->err);
  if (!err_has && result->err_len > 0) fail_msg("standard error: %.500s", result->err);
  if (err_has) assert_int_equal(wo_process_count_lines(result->err), 1);
}

/* Runs, compares, releases. */
static void check(struct wo_process_result result, int exit_code, const char *out_has, const char *err_has) {
  expect(&result, exit_code, out_has, err_has);
  wo_process_done(&result);
}

/* ---- rules ---- */

static void test_rules_list(void **state) {
  (void)state;
  check(RUN(NULL, "rules", "list"), 0, "fragmentation", NULL);
  check(RUN(NULL, "rules", "list"), 0, "micro_batch", NULL);
  check(RUN(NULL, "rules"), 0, "fragmentation", NULL);
}

/* Each is one line, and one that other programs can take: groups without names, no look around. */
static void test_rules_patterns(void **state) {
  (void)state;
  struct wo_process_result result = RUN(NULL, "rules", "list", "--format", "patterns");
  expect(&result, 0, "\nCUBLAS_STATUS_ALLOC_FAILED\n", NULL);
  const struct wo_view out = wo_view_of(result.out);
  assert_true(wo_process_count_lines(result.out) > 500);
  assert_false(wo_view_has(out, "(?<") || wo_view_has(out, "(?=") || wo_view_has(out, "(?!") || wo_view_has(out, "\n\n"));
  assert_true(wo_view_has(out, "\\.") && wo_view_has(out, "[0-9][0-9. GMK]"));
  wo_process_done(&result);
  check(RUN(NULL, "rules", "check", "--format", "patterns"), 2, NULL, "for `whyoom rules list`");
  check(RUN(NULL, "--format", "patterns"), 2, NULL, "--format needs text, json");
}

/* The parts are in the output, one behind the other. */
static void expect_in_order(struct wo_process_result result, int exit_code, const char *const *parts) {
  const char *at = result.out;
  assert_int_equal(result.exit_code, exit_code);
  for (; *parts; parts++) {
    const char *const found = strstr(at, *parts);
    if (!found) fail_msg("no \"%s\" behind what comes before it in\n%.4000s", *parts, result.out);
    at = found + strlen(*parts);
  }
  wo_process_done(&result);
}

static void test_rules_check(void **state) {
  (void)state;
  if (wo_process_is_sanitized) skip(); /* the test rules_check runs the same */
  check(RUN(NULL, "rules", "check"), 0, " 0 complaints", NULL);
}

/* A folder behind the verb is the one that is checked; a pack with a wrong expression is refused wherever it is read. */
static void test_rules_in_a_folder(void **state) {
  (void)state;
  char rules[PATH_BYTES], file[PATH_BYTES + 16], place[PATH_BYTES + 80];
  snprintf(rules, sizeof rules, "%s/rules", folder);
  snprintf(file, sizeof file, "%s/site.json", rules);
  snprintf(place, sizeof place, "%s:2:13: the regular expression does not compile", file);
  assert_int_equal(mkdir(rules, 0700), 0);
  assert_true(wo_files_write(file, WO_VIEW("{\"pattern\": \"site\", \"kind\": \"note\", \"literals\": [\"site error\"]}")));
  check(RUN(NULL, "rules", "list", rules), 0, "site", NULL);
  check(RUN(NULL, "rules", "check", rules), 1, "pattern site: no samples", NULL);
  check(RUN(NULL, "rules", "test", rules), 0, " 0 failed", NULL);
  check(RUN(NULL, "rules", "check", file), 2, NULL, "site.json");
  check(RUN(NULL, "rules", "check", rules, "--rules", rules), 2, NULL, "one folder of rules");
  check(RUN(NULL, "rules", "check", rules, rules), 2, NULL, "one folder of rules");
  check(RUN(NULL, "rules", "show", "fragmentation", "unclear"), 2, NULL, "one id");
  assert_true(wo_files_write(file, WO_VIEW("{\"pattern\": \"site\", \"kind\": \"note\", \"literals\": [\"site error\"],\n"
                                           " \"regex\": \"\\\\S+: site error\", \"samples\": [\"x: site error\"]}")));
  if (!wo_process_is_sanitized) check(RUN(NULL, "rules", "check", rules), 1, "steps or more for each byte", NULL);
  assert_true(wo_files_write(
      file, WO_VIEW("{\"pattern\": \"site\", \"kind\": \"note\", \"literals\": [\"site error\"],\n \"regex\": \"(\"}")));
  check(RUN(NULL, "rules", "check", rules), 2, place, "the rules cannot be loaded: 1 mistake");
  check(RUN(NULL, log_path, "--rules", rules), 2, NULL, place);
}

static void expect_rules(const char *const *environment, const char *const *args, int exit_code, const char *out_has,
                         const char *err_has) {
  struct wo_process_result result;
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args, .environment = environment}, &result));
  expect(&result, exit_code, out_has, err_has);
  wo_process_done(&result);
}

/* The rules of the site, else those of the user; --rules, or a folder behind the verb, is read in place of them. */
static void test_rules_of_the_site(void **state) {
  (void)state;
  char rules[PATH_BYTES], file[PATH_BYTES + 16], site[PATH_BYTES + 32], user[PATH_BYTES + 32];
  const char *const show[] = {"rules", "show", "of-the-site", NULL}, *const list[] = {"rules", "list", rules, NULL};
  snprintf(rules, sizeof rules, "%s/whyoom", folder);
  assert_int_equal(mkdir(rules, 0700), 0);
  snprintf(rules, sizeof rules, "%s/whyoom/rules", folder);
  assert_int_equal(mkdir(rules, 0700), 0);
  snprintf(file, sizeof file, "%s/site.json", rules);
  snprintf(site, sizeof site, "WHYOOM_RULES=%s", rules);
  snprintf(user, sizeof user, "XDG_CONFIG_HOME=%s", folder);
  assert_true(
      wo_files_write(file, WO_VIEW("{\"pattern\": \"of-the-site\", \"kind\": \"note\", \"literals\": [\"site error\"]}")));
  expect_rules((const char *const[]){site, NULL}, show, 0, "site error", NULL);
  expect_rules((const char *const[]){user, NULL}, show, 0, "site error", NULL);
  expect_rules((const char *const[]){user, "WHYOOM_RULES=", NULL}, show, 2, NULL, "of-the-site");
  expect_rules((const char *const[]){user, "WHYOOM_RULES=", NULL}, (const char *const[]){log_path, NULL}, 1, "OUT OF GPU MEMORY",
               NULL);
  expect_rules(NULL, show, 2, NULL, "of-the-site");
  expect_rules((const char *const[]){"WHYOOM_RULES=/no/such/folder", NULL}, (const char *const[]){log_path, NULL}, 2, NULL,
               "/no/such/folder");
  expect_rules((const char *const[]){"WHYOOM_RULES=/no/such/folder", NULL}, list, 0, "of-the-site", NULL);
  unlink(file);
  rmdir(rules);
  snprintf(rules, sizeof rules, "%s/whyoom", folder);
  rmdir(rules);
}

static void test_rules_test(void **state) {
  (void)state;
  check(RUN(NULL, "rules", "test"), 0, " 0 failed", NULL);
}

static void test_rules_show(void **state) {
  (void)state;
  check(RUN(NULL, "rules", "show", "fragmentation"), 0, "\"cause\": \"fragmentation\"", NULL);
  check(RUN(NULL, "rules", "show", "unclear"), 0, "\"cause\": \"unclear\"", NULL);
  check(RUN(NULL, "rules", "show", "reduce-micro-batch"), 0, "\"fix\": \"reduce-micro-batch\"", NULL);
  check(RUN(NULL, "rules", "show", "micro_batch"), 0, "\"knob\": \"micro_batch\"", NULL);
  check(RUN(NULL, "rules", "show", "slurm-time-limit"), 0, "\"pattern\": \"slurm-time-limit\"", NULL);
  check(RUN(NULL, "rules", "show", "no-such-rule"), 2, NULL, "no-such-rule");
  check(RUN(NULL, "rules", "show", "oversized_batch"), 2, NULL, "oversized_batch"); /* a family is no rule */
  check(RUN(NULL, "rules", "show"), 2, NULL, "id");
  check(RUN(NULL, "rules", "sing"), 2, NULL, "sing");
}

/* One line on a folder that cannot be read; nothing on a rule that may be in it. Built-in rules are shown all the same. */
static void test_rules_of_no_folder(void **state) {
  (void)state;
  static const char *const calls[][2] = {
      {"show", "no-such-rule"}, {"show", "fragmentaton"}, {"list", NULL}, {"check", NULL}, {"test", NULL}};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    const char *const args[] = {"rules", "--rules", "/no/such/folder", calls[i][0], calls[i][1], NULL};
    struct wo_process_result result = run(NULL, args);
    expect(&result, 2, NULL, "/no/such/folder: no such folder");
    assert_int_equal(result.out_len, 0);
    wo_process_done(&result);
  }
  check(RUN(NULL, "rules", "show", "fragmentation", "--rules", "/no/such/folder"), 2, "\"cause\": \"fragmentation\"",
        "/no/such/folder: no such folder");
}

/* What a folder adds, replaces and turns off is told with its place. */
static void test_rules_of_a_folder(void **state) {
  (void)state;
  char rules_folder[PATH_BYTES], path[PATH_BYTES + 16];
  assert_true(wo_files_scratch(rules_folder, sizeof rules_folder / 2));
  snprintf(path, sizeof path, "%s/site.json", rules_folder);
  assert_true(wo_files_write(path, WO_VIEW("[{\"fix\": \"more-gpus\", \"title\": \"book the other queue\"},\n"
                                           "{\"fix\": \"our-own\", \"title\": \"ask us\"},\n"
                                           "{\"define\": \"is_setup\", \"means\": \"ours\", \"expr\": \"false\"},\n"
                                           "{\"off\": \"fragmentation\", \"why\": \"told elsewhere\"},\n"
                                           "{\"off\": \"slurm-time-limit\", \"why\": \"not SLURM\"}]\n")));
  static const char *const listed[] = {"book the other queue  [replaced by ",
                                       "site.json:1]\n",
                                       "ask us  [",
                                       "site.json:2]\n",
                                       "[off: told elsewhere, ",
                                       "[off: not SLURM, ",
                                       "def.is_setup"};
  for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
    check(RUN(NULL, "rules", "list", "--rules", rules_folder), 0, listed[i], NULL);
  }
  check(RUN(NULL, "rules", "show", "more-gpus", "--rules", rules_folder), 0, "in place of the built-in rule", NULL);
  check(RUN(NULL, "rules", "show", "our-own", "--rules", rules_folder), 0, "ask us", NULL);
  check(RUN(NULL, "rules", "show", "fragmentation", "--rules", rules_folder), 0, "// turned off by ", NULL);
  check(RUN(NULL, "rules", "show", "fragmentation"), 0, "// built in: causes/fragmentation/fragmentation.json", NULL);
  check(RUN(NULL, "rules", "why", "fragmentation", log_path, "--rules", rules_folder), 0, "it is turned off: told elsewhere",
        NULL);
  wo_files_remove_scratch(rules_folder);
}

/* Whatever the verdict is, telling it succeeds. */
static void test_rules_why(void **state) {
  (void)state;
  check(RUN(NULL, "rules", "why", "fragmentation", log_path), 0, "it fires: finding 1 of", NULL);
  check(RUN(NULL, "rules", "why", "fragmentation", log_path, "--format", "json"), 0, "\"fires\": true", NULL);
  check(RUN(oom_log, "rules", "why", "reduce-micro-batch", "-"), 0, "fix reduce-micro-batch", NULL);
  check(RUN(NULL, "rules", "why"), 2, NULL, "needs the id");
  check(RUN(NULL, "rules", "why", "fragmentation"), 2, NULL, "needs the id");
  check(RUN(NULL, "rules", "why", "no-such-rule", log_path), 2, NULL, "no-such-rule");
  check(RUN(NULL, "rules", "why", "fragmentation", "/no/such/file"), 2, "fragmentation", "/no/such/file");
}

/* Two causes that claim one example alike: which comes first would be an accident. */
static void test_ties_are_complaints(void **state) {
  (void)state;
  char rules_folder[PATH_BYTES], path[PATH_BYTES + 16];
  assert_true(wo_files_scratch(rules_folder, sizeof rules_folder / 2));
  snprintf(path, sizeof path, "%s/tie.json", rules_folder);
#define TIED(id)                                                                                                                 \
  "{\"cause\": \"" id                                                                                                            \
  "\", \"family\": \"unclear\", \"title\": \"t\", \"summary\": \"s\", \"means\": \"m\", \"prior\": \"decisive\",\n"              \
  "\"for\": [{\"if\": \"oom.tried == 12345 B\", \"weight\": \"decisive\", \"say\": \"s\"}], \"would_tell\": [\"w\"],\n"          \
  "\"when\": \"oom.tried < 1MiB\", \"examples\": [{\"gives\": true, \"log\": [\"torch.OutOfMemoryError: CUDA out of memory. "    \
  "Tried "                                                                                                                       \
  "to allocate 512.00 KiB. GPU 0 has a total capacity of 39.38 GiB of which 1.25 KiB is free.\"]},\n"                            \
  "{\"gives\": false, \"log\": [\"a\"], \"why\": \"w\"}, {\"gives\": false, \"log\": [\"b\"], \"why\": \"w\"}]}"
  assert_true(wo_files_write(path, WO_VIEW("[" TIED("tie-a") ",\n" TIED("tie-b") "]\n")));
#undef TIED
  check(RUN(NULL, "rules", "check", "--rules", rules_folder), 1, "is claimed by tie-a and tie-b with one score", NULL);
  wo_files_remove_scratch(rules_folder);
}

/* Rules of the user's own: read, checked, and complained about with their place. */
static void test_own_rules(void **state) {
  (void)state;
  char rules_folder[PATH_BYTES], path[PATH_BYTES + 16];
  assert_true(wo_files_scratch(rules_folder, sizeof rules_folder / 2));
  snprintf(path, sizeof path, "%s/own.json", rules_folder);
  assert_true(wo_files_write(path, WO_VIEW("{\"term\": \"house-style\", \"title\": \"House style\", \"text\": \"ours\"}\n")));
  check(RUN(NULL, "--rules", rules_folder, "explain", "house-style"), 0, "ours", NULL);
  assert_true(wo_files_write(path, WO_VIEW("{\"fix\": \"x\",\n \"colour\": \"red\"}\n")));
  check(RUN(NULL, "--rules", rules_folder, "rules", "check"), 2, "own.json:2:2: unknown key 'colour'", "cannot be loaded");
  check(RUN(NULL, "--rules", rules_folder, log_path), 2, NULL, "own.json:2");
  /* all mistakes at once, by lines, and the lint of the rest; another command names the first and counts the others */
  assert_true(wo_files_write(path, WO_VIEW("[{\"cause\": \"one\", \"when\": \"oom.tride > 1GiB\", \"colour\": \"red\"},\n"
                                           " {\"cause\": \"two\", \"when\": \"seen(cuda_oom)\"},\n"
                                           " {\"knob\": \"three\", \"unit\": \"kg\", \"aliases\": [\"site_knob\"]}]\n")));
  static const char *const lines[] = {"own.json:1:28: unknown name 'oom.tride' (did you mean 'oom.tried'?)\n",
                                      "own.json:1:47: unknown key 'colour' (",
                                      "own.json:2:2: cause two: 'family' is missing or empty\n",
                                      "own.json:3:28: unknown unit 'kg' (number, bytes, text, bool)\n",
                                      " complaints\n",
                                      NULL};
  expect_in_order(RUN(NULL, "--rules", rules_folder, "rules", "check"), 2, lines);
  struct wo_process_result result = RUN(NULL, "--rules", rules_folder, log_path);
  assert_int_equal(result.exit_code, 2);
  assert_non_null(strstr(result.err, "own.json:3:28: unknown unit 'kg'"));
  assert_non_null(strstr(result.err, "2 more mistakes: `whyoom rules check` on this folder shows them\n"));
  assert_int_equal(wo_process_count_lines(result.err), 2);
  wo_process_done(&result);
  wo_files_remove_scratch(rules_folder);
}

/* ---- explain ---- */

static void test_explain(void **state) {
  (void)state;
  check(RUN(NULL, "explain", "fragmentation"), 0, "cause fragmentation", NULL);
  check(RUN(NULL, "explain", "reduce-micro-batch"), 0, "fix reduce-micro-batch", NULL);
  check(RUN(NULL, "explain", "micro_batch"), 0, "per_device_train_batch_size", NULL);
  check(RUN(NULL, "explain", "oom.tried"), 0, "unit: BYTES", NULL);
  check(RUN(NULL, "explain", "llama-3.1-8b"), 0, "parameters 8030261248", NULL);
  check(RUN(NULL, "explain", "llama-3.1-8b"), 0, "source: meta-llama/Llama-3.1-8B", NULL);
  check(RUN(NULL, "explain", "no-such-thing"), 2, NULL, "no-such-thing");
  check(RUN(NULL, "explain", "oom.free", "oom.tried"), 0, "fact oom.tried", NULL);
  check(RUN(NULL, "explain", "oom.tried", "no-such-thing"), 2, "fact oom.tried", "no-such-thing");
  check(RUN(NULL, "explain"), 0, "fragmentation", NULL);
}

/* The sections stand in their order, each once, and nothing of the rule language is left in what is said. */
static void test_explain_cause_sections(void **state) {
  (void)state;
  static const char *const parts[] = {"cause fragmentation\n",
                                      "\nWhat it means\n",
                                      "\nHow we know\n",
                                      "  Considered when:\n",
                                      "where def.is_torch_refusal = one_of(",
                                      "- strong: <idle> unallocated is <idle / capacity>",
                                      "\nWhat to do\n",
                                      "- enable-expandable-segments: ",
                                      "\nLooks like but is not\n",
                                      "- the request is larger than the card\n",
                                      "against the <tried> request\n",
                                      "- unclear: ",
                                      "\nExamples\n",
                                      "torch.OutOfMemoryError",
                                      "\nReferences\n",
                                      NULL};
  expect_in_order(RUN(NULL, "explain", "fragmentation", "--width", "100"), 0, parts);
}

static void test_explain_fix_sections(void **state) {
  (void)state;
  static const char *const parts[] = {"fix raise-mem-limit\n",
                                      "\nWhat it does\n",
                                      "more main memory: <gib> GiB (SLURM: --mem=<gib>G)\n",
                                      "\nWhen it is offered\n",
                                      "\nWhen it is not\n",
                                      "\nWhat it saves\n",
                                      "\nWhat it costs\n",
                                      "- speed: none\n",
                                      "\nCommands\n",
                                      "    #SBATCH --mem=<gib>G\n",
                                      "\nNotes\n",
                                      "- now <limit>\n",
                                      "\nProposed for\n",
                                      "- host-memory-cgroup: ",
                                      NULL};
  expect_in_order(RUN(NULL, "explain", "raise-mem-limit"), 0, parts);
  static const char *const changed[] = {"    micro_batch -> new\n", "where new = ", NULL};
  expect_in_order(RUN(NULL, "explain", "reduce-micro-batch"), 0, changed);
}

/* Rules of a folder have pages too, and what is missing in one is left out. Texts are escaped, and ids stay below the folder. */
static void test_rules_pages(void **state) {
  (void)state;
  char rules_folder[PATH_BYTES], path[PATH_BYTES + 128], pages[PATH_BYTES + 64];
  assert_true(wo_files_scratch(rules_folder, sizeof rules_folder / 2));
  snprintf(path, sizeof path, "%s/own.json", rules_folder);
  snprintf(pages, sizeof pages, "%s/pages", rules_folder);
  assert_true(wo_files_write(
      path, WO_VIEW("{\"cause\": \"house-cause\", \"family\": \"unclear\", \"title\": \"a_b *c* {oom.tried:gib}\", "
                    "\"means\": \"- <b> `x_*` {y}\", \"when\": \"known(oom.tried)\"}\n")));
  check(RUN(NULL, "--rules", rules_folder, "rules", "pages", pages), 0, "pages written to", NULL);
  snprintf(path, sizeof path, "%s/causes/house-cause.md", pages);
  size_t len = 0;
  char *const page = wo_files_read(path, &len);
  assert_non_null(page);
  assert_non_null(strstr(page, "# house-cause (cause)\n\n## What it means\n\n\\- \\<b> `x_*` {y}\n"));
  assert_non_null(strstr(page, "- a_b \\*c\\* `<tried>`\n"));
  assert_null(strstr(page, "## References"));
  assert_null(strstr(page, "## Examples"));
  free(page);
  snprintf(path, sizeof path, "%s/own.json", rules_folder);
  assert_true(wo_files_write(path, WO_VIEW("{\"fix\": \"..\", \"title\": \"t\"}\n")));
  check(RUN(NULL, "--rules", rules_folder, "rules", "pages", pages), 2, NULL, "\"..\" is no id that a page can be called by");
  check(RUN(NULL, "rules", "pages"), 2, NULL, "needs the name of one folder");
  check(RUN(NULL, "rules", "pages", path), 2, NULL, "own.json/causes: cannot be written: Not a directory");
  static const char *const below[] = {"/causes", "/fixes", ""};
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    snprintf(path, sizeof path, "%s%s", pages, below[i]);
    wo_files_remove_scratch(path);
  }
  wo_files_remove_scratch(rules_folder);
}

/* Rules that are asked for in one call. */
struct asked {
  const char *words[1024];
  char texts[1024][64];
  size_t count; /* of the words; the first one is the command */
};

static void ask(struct asked *asked, struct wo_view id) {
  assert_true(asked->count + 1 < sizeof asked->words / sizeof *asked->words && id.len < sizeof asked->texts[0]);
  asked->words[asked->count] = asked->texts[asked->count];
  wo_view_copy(id, asked->texts[asked->count], sizeof asked->texts[0]);
  asked->count++;
}

/* Every rule that a report can name has a page that begins with its sort and id. */
static void test_explain_knows_every_rule(void **state) {
  static struct asked asked = {.words = {"explain"}, .count = 1};
  void *loaded = NULL;
  (void)state;
  assert_int_equal(sample_load_all(&loaded), 0);
  const struct wo_pack *pack = loaded;
  const size_t causes = pack->cause_count, fixes = pack->fix_count;
  for (size_t i = 0; i < causes; i++) ask(&asked, pack->causes[i].id);
  for (size_t i = 0; i < fixes; i++) ask(&asked, pack->fixes[i].id);
  for (size_t i = 0; i < pack->knob_count; i++) ask(&asked, pack->knobs[i].id);
  struct wo_process_result result = run(NULL, asked.words);
  assert_int_equal(result.exit_code, 0);
  for (size_t i = 1; i < asked.count; i++) {
    char line[80];
    const char *const sort = i <= causes ? "cause" : i <= causes + fixes ? "fix" : "setting";
    snprintf(line, sizeof line, "%s %s\n", sort, asked.words[i]);
    if (!strstr(result.out, line)) fail_msg("no page of %s %s", sort, asked.words[i]);
  }
  wo_process_done(&result);
  wo_pack_free(loaded);
}

/* ---- diagnosis ---- */

static void test_exit_codes(void **state) {
  (void)state;
  check(RUN(NULL, log_path), 1, "OUT OF GPU MEMORY: enough memory lay idle", NULL);
  check(RUN(NULL, "-v", log_path), 1, "error[", NULL);
  check(RUN(NULL, good_path), 0, NULL, NULL);
  check(RUN(NULL, "--exit-zero", log_path), 0, "OUT OF GPU MEMORY", NULL);
  check(RUN(NULL, "/no/such/file.err"), 2, NULL, "/no/such/file.err");
  check(RUN(NULL, "--exit-zero", "/no/such/file.err"), 2, NULL, "/no/such/file.err");
  check(RUN(NULL, log_path, "/no/such/file.err"), 2, "OUT OF GPU MEMORY",
        "/no/such/file.err"); /* what could be read is reported */
  check(RUN(NULL, "--no-such-option"), 2, NULL, "--no-such-option");
}

/* A note is told and leaves the exit code alone; beside a failure it stands behind it. */
static void test_notes(void **state) {
  static const char setting[] = "export PYTORCH_CUDA_ALLOC_CONF=max_split_size:128\n";
  char text[8192];
  (void)state;
  check(RUN(setting, "-v", "-"), 0, "note[allocator-setting-unknown]", NULL);
  check(RUN(setting, "-"), 0, "ALSO: PyTorch knows no allocator setting \"max_split_size\"", NULL);
  check(RUN(setting, "-"), 0, "NO FAILURE FOUND: in 1 line; the log does not show how it ended", NULL);
  check(RUN(setting, "--format", "json", "-"), 0, "\"is_failure\": false", NULL);
  snprintf(text, sizeof text, "%s%s", setting, oom_log);
  check(RUN(text, "-v", "-"), 1, "error[", NULL);
  check(RUN(text, "-"), 1, "ALSO: ", NULL);
  check(RUN(text, "--verbose", "-"), 1, "\nnote[allocator-setting-unknown]", NULL);
}

static void test_standard_input(void **state) {
  (void)state;
  check(RUN(oom_log, "-"), 1, "2.00 GiB", NULL);
  check(RUN(oom_log, "--width", "100"), 1, "2.00 GiB", NULL); /* no terminal: it is read without being asked for */
  check(RUN("all is well\n", "-"), 0, NULL, NULL);
  check(RUN("", "-"), 2, NULL, "is empty: there is nothing to read");
  check(RUN(oom_log, script_path, "-"), 1, "2.00 GiB", NULL);
}

static cJSON *json_of(struct wo_process_result result) {
  cJSON *report = cJSON_Parse(result.out);
  if (!report) fail_msg("not JSON: %.400s", result.out);
  wo_process_done(&result);
  return report;
}

static void test_several_files(void **state) {
  (void)state;
  cJSON *report = json_of(RUN(NULL, "--format", "json", log_path, script_path));
  const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(report, "inputs");
  assert_int_equal(cJSON_GetArraySize(inputs), 2);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(inputs, 1), "format")), "sbatch");
  cJSON_Delete(report);
  check(RUN(NULL, "-v", log_path, script_path), 1, "--per_device_train_batch_size 4", NULL);
}

/* The evidence, one line each, and a fine exit: nothing is judged. */
static void test_events(void **state) {
  (void)state;
  struct wo_process_result result = RUN(NULL, "--events", log_path);
  expect(&result, 0, "cuda_oom line=5", NULL);
  assert_true(wo_view_has(wo_view_of(result.out), "traceback line="));
  assert_false(wo_view_has(wo_view_of(result.out), "error["));
  wo_process_done(&result);
  struct wo_process_result slow = RUN(NULL, "--events", "--no-prefilter", log_path);
  expect(&slow, 0, "cuda_oom line=5", NULL);
  wo_process_done(&slow);
}

static void test_output_file(void **state) {
  (void)state;
  size_t len = 0;
  struct wo_process_result shown = RUN(NULL, "--width", "80", log_path);
  struct wo_process_result result = RUN(NULL, "--width", "80", "-o", out_path, log_path);
  expect(&result, 1, NULL, NULL);
  assert_int_equal(result.out_len, 0);
  char *written = wo_files_read(out_path, &len);
  assert_non_null(written);
  assert_string_equal(written, shown.out);
  free(written);
  wo_process_done(&result);
  wo_process_done(&shown);
  check(RUN(NULL, "-o", "/no/such/folder/report.txt", log_path), 2, NULL, "/no/such/folder/report.txt");
}

/* A pipe that is written and then left open. */
static void write_and_stay(int fd, void *context) {
  wo_process_write_view(fd, context);
  sleep(8);
}

/* What was read until the time is up is reported. */
static void test_time_limit(void **state) {
  (void)state;
  struct wo_view text = wo_view_of(oom_log);
  const char *const args[] = {"--time-limit", "1", NULL};
  const struct wo_process_spec spec = {.args = args, .write_stdin = write_and_stay, .context = &text, .seconds = 7};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  check(result, 2, "OUT OF GPU MEMORY", "<stdin>: the time limit is reached; the rest is not read");
  check(RUN(NULL, "--time-limit", "60", log_path), 1, "OUT OF GPU MEMORY", NULL);
  check(RUN(NULL, "--time-limit", "0", log_path), 2, NULL, "a number of seconds from 1 to 86400");
}

/* Writes the first bytes one by one. */
static void write_in_pieces(int fd, void *context) {
  struct wo_view text = *(const struct wo_view *)context;
  for (; text.len > 0 && write(fd, text.ptr, 1) == 1; text = wo_view_skip(text, 1)) usleep(2000);
}

/* What a pipe brings is seen from its beginning, however it comes: here a recording, whose third byte tells. */
static void test_pipe_in_pieces(void **state) {
  (void)state;
  struct wo_view text = {"\x80\x04\x95}\x94(segments", 15};
  const struct wo_process_spec spec = {.write_stdin = write_in_pieces, .context = &text};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  assert_non_null(strstr(result.err, "is a recording of allocations and no log"));
  wo_process_done(&result);
}

/* Runs the program in a folder without a path, as at a prompt. False where no terminal can be had. */
static bool run_in_folder(const char *path, const char *const *args, struct wo_process_result *result) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) return false;
  bool is_run = grantpt(master) == 0 && unlockpt(master) == 0;
  const struct wo_process_spec spec = {.args = args, .folder = path, .stdin_path = is_run ? ptsname(master) : NULL};
  is_run = is_run && wo_process_run(&spec, result);
  close(master);
  return is_run;
}

/* Names of files may hold anything: a row stays one line, and nothing in it reaches the terminal as a command. */
static void test_folder_of_hostile_names(void **state) {
  (void)state;
  char hostile[PATH_BYTES], path[PATH_BYTES + 64];
  struct wo_process_result result;
  assert_true(wo_files_scratch(hostile, sizeof hostile));
  static const char *const names[] = {"slurm-1\x1b[2J\n all is fine.out", "slurm-2\xe2\x80\xae"
                                                                          "b\xff.out"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", hostile, names[i]);
    assert_true(wo_files_write(path, WO_VIEW("RuntimeError: all is not well\n")));
  }
  if (run_in_folder(hostile, NULL, &result)) {
    assert_non_null(strstr(result.out, "slurm-1 [2J  all is fine.out:1\n"));
    assert_null(strchr(result.out, '\x1b'));
    check(result, 1,
          "slurm-2\xef\xbf\xbd"
          "b\xef\xbf\xbd.out:1\n",
          NULL);
  }
  wo_files_remove_scratch(hostile);
}

/* At a prompt the jobs of the folder are reported together. None of their logs is written over. */
static void test_folder(void **state) {
  (void)state;
  enum { LOGS = 300 };
  char many[PATH_BYTES], path[PATH_BYTES + 32];
  struct wo_process_result result;
  if (!run_in_folder(folder, NULL, &result)) skip();
  check(result, 1, "slurm-4711.err:5", NULL);
  static const char *const over[] = {"-o", "./slurm-4711.err", NULL};
  assert_true(run_in_folder(folder, over, &result));
  check(result, 2, NULL, "slurm-4711.err: is an input of this call");
  assert_true(wo_files_scratch(many, sizeof many));
  for (int i = 0; i < LOGS; i++) {
    snprintf(path, sizeof path, "%s/slurm-%d.out", many, 7000 + i);
    assert_true(wo_files_write(path, WO_VIEW("all is well\n")));
  }
  assert_true(run_in_folder(many, NULL, &result));
  check(result, 0, "300 jobs: 0 failed, 300 went well", NULL);
  wo_files_remove_scratch(many);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules_list),
      cmocka_unit_test(test_rules_patterns),
      cmocka_unit_test(test_rules_check),
      cmocka_unit_test(test_rules_in_a_folder),
      cmocka_unit_test(test_rules_of_the_site),
      cmocka_unit_test(test_rules_test),
      cmocka_unit_test(test_rules_show),
      cmocka_unit_test(test_rules_of_no_folder),
      cmocka_unit_test(test_rules_of_a_folder),
      cmocka_unit_test(test_rules_why),
      cmocka_unit_test(test_ties_are_complaints),
      cmocka_unit_test(test_own_rules),
      cmocka_unit_test(test_explain),
      cmocka_unit_test(test_explain_cause_sections),
      cmocka_unit_test(test_explain_fix_sections),
      cmocka_unit_test(test_rules_pages),
      cmocka_unit_test(test_explain_knows_every_rule),
      cmocka_unit_test(test_exit_codes),
      cmocka_unit_test(test_notes),
      cmocka_unit_test(test_standard_input),
      cmocka_unit_test(test_several_files),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_output_file),
      cmocka_unit_test(test_time_limit),
      cmocka_unit_test(test_pipe_in_pieces),
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_folder_of_hostile_names),
  };
  return cmocka_run_group_tests_name("commands", tests, make_folder, remove_folder);
}
