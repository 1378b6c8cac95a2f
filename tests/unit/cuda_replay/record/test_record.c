/* SPDX-License-Identifier: Apache-2.0 */
/* Arming a command for recording: options, the environment, folders that cannot be used, words that keep Python from it. What
 * happens in Python is tested by tests/record/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_replay/record/record.h"
#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *value;
    bool is_taken;
  } rows[] = {
      {"entries", "1", true},       {"entries", "134217728", true}, {"entries", "134217729", false}, {"entries", "0", false},
      {"entries", "", false},       {"entries", "10k", false},      {"entries", "-1", false},        {"stacks", "python", true},
      {"stacks", "all", true},      {"stacks", "none", false},      {"stacks", "", false},           {"no-stacks", "", true},
      {"at-exit", "always", true},  {"at-exit", "oom", true},       {"at-exit", "never", true},      {"at-exit", "", false},
      {"at-exit", "Always", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct wo_err err = {0};
    struct wo_record_settings settings = {.entries = WO_RECORD_ENTRIES_DEFAULT};
    const struct wo_record_settings before = settings;
    const struct wo_given given = {wo_view_of(rows[i].name), wo_view_of(rows[i].value)};
    const bool is_taken = wo_command_apply(&wo_command_record, given, &settings, &err) == WO_OK;
    if (is_taken != rows[i].is_taken) fail_msg("--%s %s: %s", rows[i].name, rows[i].value, err.message);
    if (!is_taken) {
      assert_int_equal(err.code, WO_E_USAGE);
      assert_true(wo_view_has(wo_view_of(err.message), rows[i].name));
      assert_memory_equal(&settings, &before, sizeof settings);
    }
  }
}

static void test_defaults(void **state) {
  (void)state;
  const struct wo_record_settings settings = {.entries = WO_RECORD_ENTRIES_DEFAULT};
  assert_null(settings.output);
  assert_int_equal(settings.entries, 100000);
  assert_int_equal(settings.stacks, WO_RECORD_STACKS_PYTHON);
  assert_int_equal(settings.at_exit, WO_RECORD_EXIT_ALWAYS);
}

/* A folder of its own for each test, removed with what wo_record_arm leaves there. */
struct place {
  char folder[64];
  char traces[96];
  char script[160];
};

static struct place make_place(void) {
  struct place place = {.folder = "/tmp/whyoom-test-record.XXXXXX"};
  assert_non_null(mkdtemp(place.folder));
  snprintf(place.traces, sizeof place.traces, "%s/a b/traces", place.folder);
  snprintf(place.script, sizeof place.script, "%s/.whyoom-record/sitecustomize.py", place.traces);
  unsetenv("PYTHONPATH");
  unsetenv("WHYOOM_RECORD_DIR");
  return place;
}

static void remove_place(const struct place *place) {
  char path[160];
  unlink(place->script);
  snprintf(path, sizeof path, "%s/.whyoom-record", place->traces);
  rmdir(path);
  rmdir(place->traces);
  snprintf(path, sizeof path, "%s/a b", place->folder);
  rmdir(path);
  assert_int_equal(rmdir(place->folder), 0); /* nothing else was left */
}

static void test_environment(void **state) {
  (void)state;
  const struct place place = make_place();
  struct wo_err err = {0};
  struct wo_record_settings settings = {.entries = WO_RECORD_ENTRIES_DEFAULT};
  settings.output = place.traces;
  settings.entries = 42;
  setenv("PYTHONPATH", "/x:/y", 1);
  setenv("SLURM_JOB_ID", "4711", 1);
  for (int run = 0; run < 2; run++) { /* the second finds all in place, and does not add to PYTHONPATH again */
    assert_int_equal(wo_record_arm(&settings, &err), WO_OK);
    char expected[200];
    snprintf(expected, sizeof expected, "%s/.whyoom-record:/x:/y", place.traces);
    assert_string_equal(getenv("PYTHONPATH"), expected);
    assert_string_equal(getenv("WHYOOM_RECORD_DIR"), place.traces);
    assert_string_equal(getenv("WHYOOM_RECORD_JOB"), "4711");
    assert_string_equal(getenv("WHYOOM_RECORD_ENTRIES"), "42");
    assert_string_equal(getenv("WHYOOM_RECORD_STACKS"), "python");
    assert_string_equal(getenv("WHYOOM_RECORD_AT_EXIT"), "always");
    assert_null(getenv("WHYOOM_RECORD_VERBOSE"));
  }
  struct stat found;
  assert_int_equal(stat(place.script, &found), 0);
  assert_true(found.st_size > 1000);
  unsetenv("SLURM_JOB_ID");
  remove_place(&place);
}

/* PYTHONPATH is set last: without it nothing is armed. */
static void test_nothing_half_armed(void **state) {
  (void)state;
  const struct place place = make_place();
  struct wo_record_settings settings = {.entries = WO_RECORD_ENTRIES_DEFAULT};
  settings.output = place.traces;
  bool is_done = false;
  for (long n = 1; !is_done; n++) {
    struct wo_err err = {0};
    assert_true(n < 100);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_record_arm(&settings, &err);
    wo_fail_alloc_off();
    is_done = !wo_fail_alloc_hit();
    assert_int_equal(status, is_done ? WO_OK : WO_E_NOMEM);
    if (!is_done) assert_null(getenv("PYTHONPATH"));
  }
  remove_place(&place);
}

static void test_unusable_folders(void **state) {
  (void)state;
  const struct place place = make_place();
  static const struct {
    const char *path, *told;
  } outputs[] = {{"/proc/whyoom", ""}, {"/dev/null/x", ""}, {"/dev/null", "is no folder"}, {"a:b/../c:d", "colon"}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    struct wo_err err = {0};
    struct wo_record_settings settings = {.entries = WO_RECORD_ENTRIES_DEFAULT};
    char output[128];
    snprintf(output, sizeof output, "%s%s%s", outputs[i].path[0] == '/' ? "" : place.folder, outputs[i].path[0] == '/' ? "" : "/",
             outputs[i].path);
    settings.output = output;
    assert_int_equal(wo_record_arm(&settings, &err), WO_E_IO);
    assert_true(strlen(err.message) > 0 && strstr(err.message, outputs[i].told));
    assert_null(getenv("PYTHONPATH"));
  }
  char made[128];
  snprintf(made, sizeof made, "%s/c:d", place.folder);
  rmdir(made);
  snprintf(made, sizeof made, "%s/a:b", place.folder);
  rmdir(made);
  remove_place(&place);
}

static void test_notes(void **state) {
  (void)state;
  static const struct {
    const char *words[6];
    const char *letter; /* NULL: no note */
  } rows[] = {
      {{"python", "-I", "x.py"}, "-I"},
      {{"/usr/bin/python3.12", "-E", "x.py"}, "-E"},
      {{"python3", "-uBS", "x.py"}, "-S"},
      {{"srun", "-n2", "python3", "-X", "dev", "-I"}, "-I"},
      {{"python", "-X"}, NULL},
      {{"python", "-W", "-I"}, NULL},
      {{"python", "-Werror", "-E"}, "-E"},
      {{"python", "-m", "x", "-I"}, NULL},
      {{"python", "-uc", "pass", "-I"}, NULL},
      {{"python", "x.py", "-E"}, NULL},
      {{"python", "-", "-E"}, NULL},
      {{"python"}, NULL},
      {{"python3-config", "-E"}, NULL},
      {{"python3.13t", "-I", "x.py"}, "-I"},
      {{"pythont", "-I", "x.py"}, NULL},
      {{"ipython", "-E"}, NULL},
      {{"sh", "-E"}, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char words[6][24];
    char *command[7] = {NULL};
    for (size_t k = 0; k < 6 && rows[i].words[k] != NULL; k++) {
      snprintf(words[k], sizeof words[k], "%s", rows[i].words[k]);
      command[k] = words[k];
    }
    struct wo_text notes = {0};
    wo_record_notes(command, &notes);
    const struct wo_view told = {notes.ptr, notes.len};
    const bool is_right = rows[i].letter == NULL ? notes.len == 0 : notes.len > 0 && wo_view_has(told, rows[i].letter);
    if (!is_right) fail_msg("row %zu: %.*s", i, (int)notes.len, notes.ptr ? notes.ptr : "");
    wo_text_done(&notes);
  }
}

static void test_command_that_cannot_run(void **state) {
  (void)state;
  struct wo_err err = {0};
  char missing[] = "no-such-command-here";
  char folder[] = "/tmp";
  assert_int_equal(wo_record_become((char *const[]){missing, NULL}, &err), 127);
  assert_true(wo_view_starts(wo_view_of(err.message), missing));
  assert_int_equal(wo_record_become((char *const[]){folder, NULL}, &err), 126);
  assert_true(wo_view_starts(wo_view_of(err.message), folder));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_nothing_half_armed),
      cmocka_unit_test(test_unusable_folders),
      cmocka_unit_test(test_notes),
      cmocka_unit_test(test_command_that_cannot_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
