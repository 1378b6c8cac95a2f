/* SPDX-License-Identifier: Apache-2.0 */
/* libwhyoom against the program: the same reports, byte for byte, from files and from memory, on many threads, and what it says
 * of wrong arguments. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/library/whyoom.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const logs[] = {"samples/grpo-micro-batch/slurm-4471902.err", "samples/ddp-8.5b-too-large/slurm-1553046.err",
                                   "samples/lora-7b-24g/slurm-90817.err", "samples/kept-losses/slurm-734912.err"};

static int setup(void **state) {
  (void)state;
  return chdir(WO_SOURCE_DIR);
}

/* Expects what the program writes with these arguments. */
static void expect_same(const struct whyoom_result *result, const char *const *arguments) {
  struct wo_process_result ran;
  size_t bytes = 0;
  assert_non_null(result);
  assert_true(wo_process_run(&(struct wo_process_spec){.args = arguments}, &ran));
  assert_string_equal(whyoom_result_text(result, &bytes), ran.out);
  assert_int_equal(bytes, ran.out_len);
  assert_string_equal(whyoom_result_messages(result), ran.err);
  assert_int_equal(whyoom_result_code(result), ran.exit_code);
  wo_process_done(&ran);
}

static void test_as_the_program(void **state) {
  (void)state;
  static const char *const trace = "samples/lora-7b-24g/trace-90817.jsonl";
  static const char *const two[] = {"samples/kept-losses/slurm-734912.err", "samples/unfrozen-layers/slurm-801466.err"};
  static const char *const settings[] = {"--params", "70e9", "--capacity", "80GiB", NULL};
  static const char *const text[] = {"--format", "text", "--width=100", "--verbose", NULL};
  static const char *const names[] = {"--anonymize", NULL};
  static const char *const set[] = {"--set", "expandable_segments:True", NULL};
  struct whyoom_result *result;
  for (size_t i = 0; i < COUNT(logs); i++) {
    result = whyoom_diagnose(&logs[i], 1, NULL);
    expect_same(result, (const char *const[]){"--json", logs[i], NULL});
    assert_int_equal(whyoom_result_count(result), 1);
    whyoom_free(result);
  }
  result = whyoom_diagnose(two, 2, NULL);
  expect_same(result, (const char *const[]){"--json", two[0], two[1], NULL});
  assert_int_equal(whyoom_result_count(result), 2);
  whyoom_free(result);
  result = whyoom_diagnose(&logs[0], 1, text);
  expect_same(result, (const char *const[]){"--width=100", "-v", logs[0], NULL});
  assert_int_equal(whyoom_result_count(result), 0);
  whyoom_free(result);
  result = whyoom_diagnose(&logs[0], 1, names);
  expect_same(result, (const char *const[]){"--json", "--anonymize", logs[0], NULL});
  whyoom_free(result);
  result = whyoom_budget(NULL, 0, settings);
  expect_same(result, (const char *const[]){"budget", "--json", "--params=70e9", "--capacity=80GiB", NULL});
  assert_int_equal(whyoom_result_code(result), WHYOOM_FAILURE_FOUND);
  whyoom_free(result);
  result = whyoom_replay(&trace, 1, set);
  assert_int_equal(whyoom_result_count(result), 1);
  whyoom_free(result);
  result = whyoom_verify(&logs[2], 1, NULL);
  assert_int_equal(whyoom_result_read(result, 0, "/verify").kind, WHYOOM_OBJECT);
  whyoom_free(result);
}

/* A file that is alone in its folder, and its bytes in memory under its name, give the same report. */
static void test_memory(void **state) {
  (void)state;
  char folder[4096], path[4200];
  assert_true(wo_files_scratch(folder, sizeof folder));
  for (size_t i = 0; i < COUNT(logs); i++) {
    size_t len = 0;
    char *const content = wo_files_read(logs[i], &len);
    assert_non_null(content);
    snprintf(path, sizeof path, "%s/%s", folder, strrchr(logs[i], '/') + 1);
    const char *const name = path;
    assert_true(wo_files_write(path, (struct wo_view){content, len}));
    struct whyoom_result *const of_file = whyoom_diagnose(&name, 1, NULL);
    struct whyoom_result *const of_text = whyoom_diagnose_text(content, len, path, NULL);
    assert_string_equal(whyoom_result_text(of_text, NULL), whyoom_result_text(of_file, NULL));
    assert_int_equal(whyoom_result_code(of_text), whyoom_result_code(of_file));
    whyoom_free(of_file);
    whyoom_free(of_text);
    unlink(path);
    free(content);
  }
  wo_files_remove_scratch(folder);
}

static void test_odd_texts(void **state) {
  (void)state;
  static const char zeros[4096];
  static const char line[] =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
      "79.15 GiB of which 1.00 GiB is free.\n";
  struct whyoom_result *result = whyoom_diagnose_text(line, sizeof line - 1, NULL, NULL);
  assert_int_equal(whyoom_result_code(result), WHYOOM_FAILURE_FOUND);
  assert_string_equal(whyoom_result_read(result, 0, "/inputs/0/path").text, "<text>");
  whyoom_free(result);
  result = whyoom_diagnose_text(NULL, 0, NULL, NULL);
  assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
  assert_non_null(strstr(whyoom_result_messages(result), "is empty"));
  whyoom_free(result);
  result = whyoom_diagnose_text(zeros, sizeof zeros, "zeros", NULL);
  assert_non_null(result);
  whyoom_free(result);
}

static void test_wrong_arguments(void **state) {
  (void)state;
  static const struct {
    const char *options[4];
    const char *message;
  } cases[] = {{{"--output", "report.json"}, "--output is for the program"},
               {{"--help"}, "--help is for the program"},
               {{"--version"}, "--help is for the program"},
               {{"--time-limit=3"}, "--time-limit=N is for the program"},
               {{"--sandbox"}, "--sandbox is for the program"},
               {{"--no-such"}, "unknown option --no-such"},
               {{"--format", "csv"}, "--format"},
               {{"--rules"}, "--rules needs"}};
  struct whyoom_result *result;
  for (size_t i = 0; i < COUNT(cases); i++) {
    result = whyoom_diagnose(logs, 1, cases[i].options);
    assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
    if (!strstr(whyoom_result_messages(result), cases[i].message))
      fail_msg("%s: %s", cases[i].message, whyoom_result_messages(result));
    assert_string_equal(whyoom_result_text(result, NULL), "");
    assert_int_equal(whyoom_result_count(result), 0);
    whyoom_free(result);
  }
  static const char *const write[] = {"--patch", "--write", NULL}, *const plot[] = {"--plot", "memory.svg", NULL};
  result = whyoom_verify(logs, 1, write);
  assert_non_null(strstr(whyoom_result_messages(result), "--write is for the program"));
  whyoom_free(result);
  result = whyoom_replay(logs, 1, plot);
  assert_non_null(strstr(whyoom_result_messages(result), "--plot is for the program"));
  whyoom_free(result);
  result = whyoom_diagnose(NULL, 0, NULL);
  assert_non_null(strstr(whyoom_result_messages(result), "needs a path"));
  whyoom_free(result);
  static const char *const missing = "no/such/file.out", *const dashes = "--json";
  result = whyoom_diagnose(&missing, 1, NULL);
  assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
  assert_non_null(strstr(whyoom_result_messages(result), missing));
  whyoom_free(result);
  result = whyoom_diagnose(&dashes, 1, NULL); /* a path, not an option */
  assert_non_null(strstr(whyoom_result_messages(result), "--json"));
  whyoom_free(result);
  whyoom_free(NULL);
  assert_int_equal(whyoom_result_code(NULL), WHYOOM_ERROR);
  assert_string_equal(whyoom_result_text(NULL, NULL), "");
  assert_string_equal(whyoom_version(), WHYOOM_VERSION);
}

/* A request whose struct is older has less, and one that is wrong says why. */
static void test_request(void **state) {
  (void)state;
  static const char *const no_path[] = {NULL};
  static const struct {
    struct whyoom_request request;
    const char *message;
  } wrong[] = {
      {{.request_bytes = sizeof(struct whyoom_request)}, "needs a command"},
      {{.request_bytes = 0, .command = "budget"}, "needs a command"},
      {{.request_bytes = sizeof(struct whyoom_request), .command = "scan"}, "knows the commands diagnose"},
      {{.request_bytes = sizeof(struct whyoom_request), .command = "replay", .text = "x", .text_bytes = 1}, "takes a text"},
      {{.request_bytes = sizeof(struct whyoom_request), .command = "replay"}, "needs a path"},
      {{.request_bytes = sizeof(struct whyoom_request), .command = "replay", .path_count = 2}, "needs a path"},
      {{.request_bytes = sizeof(struct whyoom_request), .command = "replay", .paths = no_path, .path_count = 1},
       "a path is NULL"},
      {{.request_bytes = offsetof(struct whyoom_request, command) + 4, .command = "budget"}, "needs a command"}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    struct whyoom_result *const result = whyoom_run(&wrong[i].request);
    assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
    if (!strstr(whyoom_result_messages(result), wrong[i].message)) fail_msg("%zu: %s", i, whyoom_result_messages(result));
    whyoom_free(result);
  }
  struct whyoom_result *result = whyoom_run(NULL);
  assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
  whyoom_free(result);
  struct whyoom_request request = {.request_bytes = offsetof(struct whyoom_request, text),
                                   .command = "diagnose",
                                   .paths = logs,
                                   .path_count = 1,
                                   .text = "not read"};
  result = whyoom_run(&request);
  expect_same(result, (const char *const[]){"--json", logs[0], NULL});
  whyoom_free(result);
}

static double two_seconds_later(void) {
  static double now_s;
  return now_s += 2;
}

/* Without a clock a replay takes no time. */
static void test_clock(void **state) {
  (void)state;
  static const char *const trace = "samples/lora-7b-24g/trace-90817.jsonl";
  struct whyoom_request request = {.request_bytes = sizeof request, .command = "replay", .paths = &trace, .path_count = 1};
  struct whyoom_result *result = whyoom_run(&request);
  assert_true(whyoom_result_read(result, 0, "/seconds").number == 0);
  whyoom_free(result);
  request.seconds_now = two_seconds_later;
  result = whyoom_run(&request);
  assert_true(whyoom_result_read(result, 0, "/seconds").number == 2);
  whyoom_free(result);
}

/* The number that another thread writes, at its values. */
static void test_stop(void **state) {
  (void)state;
  static const char *const trace = "samples/lora-7b-24g/trace-90817.jsonl";
  int stop = 0;
  struct whyoom_request request = {
      .request_bytes = sizeof request, .command = "diagnose", .paths = &logs[2], .path_count = 1, .stop = &stop};
  struct whyoom_result *result = whyoom_run(&request);
  expect_same(result, (const char *const[]){"--json", logs[2], NULL});
  whyoom_free(result);
  stop = WHYOOM_STOP_READING;
  result = whyoom_run(&request);
  assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
  assert_non_null(strstr(whyoom_result_messages(result), "the rest is not read"));
  assert_int_equal(whyoom_result_count(result), 1);
  whyoom_free(result);
  stop = WHYOOM_STOP_ALL;
  for (size_t i = 0; i < 3; i++) {
    request.command = (const char *const[]){"diagnose", "replay", "verify"}[i];
    request.paths = i == 1 ? &trace : &logs[2];
    result = whyoom_run(&request);
    assert_int_equal(whyoom_result_code(result), WHYOOM_ERROR);
    assert_string_equal(whyoom_result_text(result, NULL), "");
    assert_string_equal(whyoom_result_messages(result), "whyoom: stopped\n");
    whyoom_free(result);
  }
}

static void test_pointers(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    enum whyoom_kind kind;
  } cases[] = {{"", WHYOOM_OBJECT},
               {"/schema", WHYOOM_TEXT},
               {"/tool/name", WHYOOM_TEXT},
               {"/inputs", WHYOOM_LIST},
               {"/inputs/0", WHYOOM_OBJECT},
               {"/inputs/0/bytes", WHYOOM_NUMBER},
               {"/inputs/0/compressed", WHYOOM_BOOL},
               {"/inputs/00", WHYOOM_ABSENT},
               {"/inputs/-", WHYOOM_ABSENT},
               {"/inputs/99", WHYOOM_ABSENT},
               {"/inputs/99999999999999999999", WHYOOM_ABSENT},
               {"/inputs/", WHYOOM_ABSENT},
               {"/", WHYOOM_ABSENT},
               {"schema", WHYOOM_ABSENT},
               {"/schema/0", WHYOOM_ABSENT},
               {"/tool/nam", WHYOOM_ABSENT},
               {"/tool/name~", WHYOOM_ABSENT},
               {"/tool/~0name", WHYOOM_ABSENT}};
  struct whyoom_result *const result = whyoom_diagnose(logs, 1, NULL);
  for (size_t i = 0; i < COUNT(cases); i++) {
    const struct whyoom_value value = whyoom_result_read(result, 0, cases[i].pointer);
    if (value.kind != cases[i].kind) fail_msg("%s: kind %d", cases[i].pointer, (int)value.kind);
    assert_true((value.text != NULL) == (value.kind == WHYOOM_TEXT));
  }
  assert_string_equal(whyoom_result_read(result, 0, "/inputs/0/path").text, logs[0]);
  assert_int_equal(whyoom_result_read(result, 1, "").kind, WHYOOM_ABSENT);
  assert_int_equal(whyoom_result_read(result, 0, NULL).kind, WHYOOM_ABSENT);
  whyoom_free(result);
}

static void *diagnose_again_and_again(void *context) {
  const char *const *const expected = context;
  bool is_same = true;
  for (size_t i = 0; i < 8; i++) {
    struct whyoom_result *const result = whyoom_diagnose(&logs[i % COUNT(logs)], 1, NULL);
    is_same = is_same && strcmp(whyoom_result_text(result, NULL), expected[i % COUNT(logs)]) == 0;
    whyoom_free(result);
  }
  return is_same ? context : NULL;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[8];
  struct whyoom_result *results[COUNT(logs)];
  const char *expected[COUNT(logs)];
  for (size_t i = 0; i < COUNT(logs); i++) {
    results[i] = whyoom_diagnose(&logs[i], 1, NULL);
    expected[i] = whyoom_result_text(results[i], NULL);
  }
  for (size_t i = 0; i < COUNT(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, diagnose_again_and_again, expected), 0);
  for (size_t i = 0; i < COUNT(threads); i++) {
    void *same = NULL;
    assert_int_equal(pthread_join(threads[i], &same), 0);
    assert_non_null(same);
  }
  for (size_t i = 0; i < COUNT(logs); i++) whyoom_free(results[i]);
}

/* Without memory there is no result, an error, a report that notes what was not read, or, where the allocation only made
 * something faster, the whole report. */
static void test_without_memory(void **state) {
  (void)state;
  static const char line[] =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
      "79.15 GiB of which 1.00 GiB is free.\n";
  struct whyoom_result *const whole = whyoom_diagnose_text(line, sizeof line - 1, NULL, NULL);
  bool is_hit = true;
  size_t failed = 0;
  for (long n = 1; is_hit; n += n < 200 ? 1 : 37) {
    wo_fail_alloc_at(n);
    struct whyoom_result *const result = whyoom_diagnose_text(line, sizeof line - 1, NULL, NULL);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    const bool is_whole = strcmp(whyoom_result_text(result, NULL), whyoom_result_text(whole, NULL)) == 0;
    const bool has_note = whyoom_result_read(result, 0, "/inputs/0/notes").count > 0;
    if (whyoom_result_code(result) != WHYOOM_ERROR && !is_whole && !has_note)
      fail_msg("allocation %ld: a part of a report, and no error", n);
    if (result && whyoom_result_code(result) == WHYOOM_ERROR && !*whyoom_result_messages(result))
      fail_msg("allocation %ld: an error without a message", n);
    failed += whyoom_result_code(result) == WHYOOM_ERROR;
    whyoom_free(result);
  }
  assert_true(failed > 20);
  whyoom_free(whole);
}

/* A process whose locale has decimal commas gets the same bytes, and keeps its locale. */
static void test_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8"};
  char text[16];
  locale_t comma = (locale_t)0;
  for (size_t i = 0; i < COUNT(names) && !comma; i++) comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
  if (!comma) skip();
  const locale_t before = uselocale(comma);
  snprintf(text, sizeof text, "%.1f", 0.5);
  struct whyoom_result *const result = whyoom_diagnose(logs, 1, (const char *const[]){"--json", NULL});
  char after[16];
  snprintf(after, sizeof after, "%.1f", 0.5);
  uselocale(before);
  freelocale(comma);
  assert_string_equal(text, "0,5");
  assert_string_equal(after, "0,5");
  expect_same(result, (const char *const[]){"--json", logs[0], NULL});
  whyoom_free(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locale),    cmocka_unit_test(test_as_the_program),  cmocka_unit_test(test_memory),
      cmocka_unit_test(test_odd_texts), cmocka_unit_test(test_wrong_arguments), cmocka_unit_test(test_pointers),
      cmocka_unit_test(test_threads),   cmocka_unit_test(test_without_memory),  cmocka_unit_test(test_request),
      cmocka_unit_test(test_stop),      cmocka_unit_test(test_clock),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
