/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom replay --format html`, `--diff` and `--where` as users call them: every recording has a page, whatever the model says
 * of it; mistakes are messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/replay/page_check.h"

#define RECORDINGS WO_SOURCE_DIR "/tests/recordings/"
#define LORA WO_SOURCE_DIR "/samples/lora-7b-24g/trace-90817.jsonl"
#define CORPUS WO_SOURCE_DIR "/../shared/corpus/snapshots/"

/* Runs `replay` with up to 8 further arguments. */
static struct wo_process_result run(const char *const *words, unsigned seconds) {
  const char *args[12] = {"replay"};
  struct wo_process_result result;
  for (size_t i = 0; words[i] != NULL; i++) args[i + 1] = words[i];
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args, .seconds = seconds}, &result));
  return result;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL}, 60)

static void check_page(const struct wo_process_result *result, const char *name) {
  const char *const flaw = wo_page_flaw((struct wo_view){result->out, result->out_len});
  if (flaw != NULL) fail_msg("%s: %s", name, flaw);
  assert_string_equal(result->err, "");
}

static void every_recording_has_a_page(void **state) {
  (void)state;
  size_t count = 0;
  char **const names = wo_files_names(RECORDINGS, ".jsonl", &count);
  assert_true(count > 5);
  for (size_t i = 0; i < count; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", RECORDINGS, names[i]);
    struct wo_process_result result = RUN("--format", "html", "--device", "0", path);
    check_page(&result, names[i]);
    wo_process_done(&result);
  }
  wo_files_free_names(names, count);
}

/* The reason why the model does not agree is on the page, and so is the recording. */
static void a_recording_that_diverges_is_shown(void **state) {
  (void)state;
  struct wo_process_result result = RUN("--format", "html", "--device", "0", RECORDINGS "diverged.jsonl");
  check_page(&result, "diverged");
  assert_int_equal(result.exit_code, 1);
  assert_non_null(strstr(result.out, "not as recorded: the model differs from the recording at entry"));
  assert_non_null(strstr(result.out, "this page shows the recording, not the model"));
  assert_non_null(strstr(result.out, "<li>recorded: "));
  wo_process_done(&result);
  result = RUN("--format", "html", "--device", "0", RECORDINGS "dropped.jsonl");
  check_page(&result, "dropped");
  assert_int_equal(result.exit_code, 3);
  assert_non_null(strstr(result.out, "cannot be replayed"));
  assert_non_null(strstr(result.out, "<table id=\"table-sites\">"));
  wo_process_done(&result);
}

/* A sample of a failed job: the failure, the peak and the categories are in the page, and a what-if is in its report. */
static void a_failure_is_marked(void **state) {
  (void)state;
  struct wo_process_result result = RUN("--format", "html", "--where", "adamw=optimizer", "--set", "max_split_size_mb:32", LORA);
  check_page(&result, "lora");
  static const char *const parts[] = {"<h2 id=\"tables-title\">In use at the failure, after entry 5963</h2>",
                                      "out of memory: ", "<th scope=\"row\">optimizer</th>", "the what-if is in the report below",
                                      "<dt>refused requests</dt><dd>1</dd>"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(result.out, parts[i]) == NULL) fail_msg("no \"%s\"", parts[i]);
  }
  wo_process_done(&result);
}

static void a_part_is_a_part(void **state) {
  (void)state;
  struct wo_process_result result = RUN("--format", "html", "--from", "100", "--to", "299", LORA);
  check_page(&result, "part");
  assert_non_null(strstr(result.out, "<dt>shown</dt><dd>100 to 299</dd>"));
  assert_non_null(strstr(result.out, "\"first\":100,\"count\":200"));
  wo_process_done(&result);
}

/* Every page of a real snapshot within a second on an idle machine; five are for a busy one. */
static void real_snapshots_have_pages_soon(void **state) {
  (void)state;
  static const char *const names[] = {CORPUS "lm-medium512-training-torch2.11.pickle",
                                      CORPUS "lm-ctx256-fullstep-torch2.6.pickle", CORPUS "trainstep-torch2.1.pickle",
                                      CORPUS "flexgen-oom-torch2.0.pickle"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t len = 0;
    char *const content = wo_files_read(names[i], &len);
    free(content);
    if (content == NULL) skip();
    struct wo_process_result result =
        run((const char *const[]){"--format", "html", names[i], NULL}, wo_process_is_sanitized ? 60 : 5);
    assert_int_equal(result.signal, 0);
    check_page(&result, names[i]);
    assert_true(result.out_len < 500000);
    wo_process_done(&result);
  }
}

static void two_recordings_are_compared(void **state) {
  (void)state;
  struct wo_process_result result = RUN("--diff", RECORDINGS "fragmented.jsonl", LORA, "--where", "adamw=own");
  assert_int_equal(result.exit_code, 0);
  assert_non_null(strstr(result.out, "by category (--where)\n"));
  assert_non_null(strstr(result.out, "by call site\n"));
  assert_non_null(strstr(result.out, "from_pretrained modeling_utils.py:4224  (new: "));
  wo_process_done(&result);
  result = RUN("--diff", "--format", "html", RECORDINGS "fragmented.jsonl", LORA, "--where", "adamw=<own>");
  check_page(&result, "diff");
  assert_non_null(strstr(result.out, "<table id=\"growth-sites\">"));
  assert_non_null(strstr(result.out, "<th scope=\"row\">&lt;own&gt;</th>"));
  wo_process_done(&result);
  result = RUN("--diff=end", "--format", "json", LORA, LORA);
  assert_int_equal(result.exit_code, 0);
  assert_non_null(strstr(result.out, "\"growth_bytes\": 0"));
  assert_null(strstr(result.out, "\"growth_bytes\": 1"));
  wo_process_done(&result);
}

static void categories_are_reported(void **state) {
  (void)state;
  struct wo_process_result result = RUN("--where", "adamw=optimizer", "--where", "modeling_=model", LORA);
  assert_non_null(strstr(result.out, "by category, recorded, after entry 5963\n    optimizer "));
  wo_process_done(&result);
  result = RUN("--where", "adamw=optimizer", "--format", "json", LORA);
  assert_non_null(strstr(result.out, "\"name\": \"optimizer\""));
  wo_process_done(&result);
}

/* Names of people are in no form of what is shown. */
static void no_name_is_left(void **state) {
  (void)state;
  static const char lines[] =
      "{\"whyoom_trace\":1}\n"
      "{\"frame\":0,\"function\":\"forward\",\"file\":\"/home/erikaquist/secretproj/model.py\",\"line\":3}\n"
      "{\"stack\":0,\"frames\":[0]}\n"
      "{\"alloc\":1000,\"id\":1,\"stack\":0,\"metadata\":\"/home/erikaquist/x\"}\n";
  char folder[512], path[600], before[600];
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/trace.jsonl", folder);
  snprintf(before, sizeof before, "%s/before.jsonl", folder);
  assert_true(wo_files_write(path, WO_VIEW(lines)));
  assert_true(wo_files_write(before, WO_VIEW("{\"whyoom_trace\":1}\n{\"alloc\":1,\"id\":1}\n")));
  static const char *const formats[] = {"text", "json", "html"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    struct wo_process_result diff = RUN("--anonymize", "--diff", "--verbose", "--format", formats[i], before, path);
    struct wo_process_result page = RUN("--anonymize", "--verbose", "--where", "model=m", "--format", formats[i], path);
    assert_int_equal(diff.exit_code, 0);
    assert_non_null(strstr(diff.out, ".py"));
    assert_null(strstr(diff.out, "erikaquist"));
    assert_null(strstr(page.out, "erikaquist"));
    wo_process_done(&diff);
    wo_process_done(&page);
  }
  wo_files_remove_scratch(folder);
}

static void mistakes_are_messages(void **state) {
  (void)state;
  static const struct {
    const char *words[8];
    const char *says;
  } rows[] = {
      {{"--diff", LORA}, "--diff wants two recordings"},
      {{"--diff", LORA, "no-such-file"}, "no-such-file"},
      {{"--diff", "--check", LORA, LORA}, "--diff compares two recordings and replays none"},
      {{"--diff=middle", LORA, LORA}, "--diff"},
      {{"--where", "(=x", LORA}, "--where: at character"},
      {{"--where", "nothing", LORA}, "--where wants REGEX=NAME"},
      {{"--from", "5", LORA}, "--from and --to are about what is shown"},
      {{"--from", "9", "--to", "5", "--format", "html", LORA}, "--from is behind --to"},
      {{"--from", "99999999", "--format", "html", LORA}, "the recording has 5964 entries"},
      {{"--format", "html", LORA, LORA}, "--format html shows the first report only"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_process_result result = run(rows[i].words, 60);
    if (result.exit_code != 2 || strstr(result.err, rows[i].says) == NULL)
      fail_msg("row %zu: exit %d, no \"%s\" in: %s", i, result.exit_code, rows[i].says, result.err);
    wo_process_done(&result);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_recording_has_a_page),
      cmocka_unit_test(a_recording_that_diverges_is_shown),
      cmocka_unit_test(a_failure_is_marked),
      cmocka_unit_test(a_part_is_a_part),
      cmocka_unit_test(real_snapshots_have_pages_soon),
      cmocka_unit_test(two_recordings_are_compared),
      cmocka_unit_test(categories_are_reported),
      cmocka_unit_test(no_name_is_left),
      cmocka_unit_test(mistakes_are_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
