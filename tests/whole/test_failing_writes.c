/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call that writes fails once, does a part, or is the last of the process. After each run a file is as it was or
 * complete; of several files of a patch all are or none; no temporary file is left unless the process was killed; exit code and
 * message tell it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/process.h"

#define LORA WO_SOURCE_DIR "/samples/lora-7b-24g/"
#define PRETRAIN WO_SOURCE_DIR "/samples/pretrain-512m-sequence/"

enum { TARGETS_MAX = 2, ARGS_MAX = 12, CALLS_MAX = 64, PATH_BYTES = 700 };

/* A command line, run in a folder of its own, and the files that it writes there. */
struct scene {
  const char *name;
  const char *args[ARGS_MAX];
  const char *targets[TARGETS_MAX];
  const char *prepare; /* shell commands that make the folder's files */
  bool is_recording;   /* the exit code is that of the recorded command, whatever happens */
  size_t most;         /* the n-th calls that are tried; 0: all */
};

/* Contents of the targets before a run and after one without a failure; NULL: there is none. */
struct content {
  char *before[TARGETS_MAX], *after[TARGETS_MAX];
  int code;
};

static char folder[512];

static int shell(const char *text) {
  char command[2048];
  snprintf(command, sizeof command, "cd '%s' && { %s; }", folder, text);
  return system(command);
}

static char *read_target(const char *name) {
  char path[PATH_BYTES];
  size_t len = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return wo_files_read(path, &len);
}

static bool is_equal(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static void prepare(const struct scene *scene) {
  assert_true(wo_files_scratch(folder, sizeof folder));
  assert_int_equal(shell(scene->prepare), 0);
}

static void clean_up(void) {
  assert_int_equal(shell("rm -rf \"$PWD\""), 0);
}

/* `plan` is that of stand_in/failing_calls.c; NULL: nothing fails. Returns whether the call came. */
static bool run(const struct scene *scene, const char *plan, struct wo_process_result *result) {
  char fail[128], hit[PATH_BYTES], marked[PATH_BYTES];
  snprintf(fail, sizeof fail, "WO_FAIL=%s", plan ? plan : "");
  snprintf(hit, sizeof hit, "WO_FAIL_HIT=%s/hit", folder);
  snprintf(marked, sizeof marked, "%s/hit", folder);
  const char *const environment[] = {"LD_PRELOAD=" WO_FAILING_CALLS, "WO_FAIL_PROGRAM=whyoom", fail, hit, NULL};
  assert_true(
      wo_process_run(&(struct wo_process_spec){.args = scene->args, .folder = folder, .environment = environment}, result));
  return unlink(marked) == 0;
}

/* ---- The check of a run ---- */

/* Files of the folder, and of the one in it, that a temporary name. */
static size_t count_temporaries(void) {
  char path[PATH_BYTES];
  size_t count = 0;
  snprintf(path, sizeof path, "find '%s' -name '.whyoom-[0-9]*'", folder);
  FILE *const names = popen(path, "r");
  assert_non_null(names);
  while (fgets(path, sizeof path, names)) count++;
  pclose(names);
  return count;
}

/* How many targets have the new content; fails for one that has neither. */
static size_t count_new(const struct scene *scene, const struct content *content, const char *plan, size_t *ret_targets) {
  size_t count = 0;
  for (size_t i = 0; i < TARGETS_MAX && scene->targets[i]; i++) {
    char *const now = read_target(scene->targets[i]);
    const bool is_new = is_equal(now, content->after[i]);
    if (!is_new && !is_equal(now, content->before[i]))
      fail_msg("%s, %s: %s is neither old nor new", scene->name, plan, scene->targets[i]);
    count += is_new;
    *ret_targets = i + 1;
    free(now);
  }
  return count;
}

static void check(const struct scene *scene, const struct content *content, const char *plan,
                  const struct wo_process_result *result) {
  size_t targets = 0;
  const size_t fresh = count_new(scene, content, plan, &targets), left = count_temporaries();
  const bool is_told =
      strstr(result->err, "whyoom: ") && (strstr(result->err, "cannot be ") || strstr(result->err, "without recording"));
  if (result->signal == SIGKILL) return;
  if (result->signal != 0) fail_msg("%s, %s: signal %d", scene->name, plan, result->signal);
  if (fresh != 0 && fresh != targets)
    fail_msg("%s, %s: %zu of %zu files are changed: %s", scene->name, plan, fresh, targets, result->err);
  if (fresh == 0 && !is_told) fail_msg("%s, %s: nothing is told: %s", scene->name, plan, result->err);
  if (left > 0 && !(strncmp(plan, "unlink", 6) == 0 && strstr(result->err, "cannot be removed")))
    fail_msg("%s, %s: %zu temporary files are left", scene->name, plan, left);
  const bool is_failed = !scene->is_recording && (fresh == 0 || strstr(result->err, "stdout: cannot be written"));
  if (result->exit_code != (is_failed ? 2 : content->code))
    fail_msg("%s, %s: exit code %d: %s", scene->name, plan, result->exit_code, result->err);
}

/* A call that is only interrupted, or that writes a part, is done again. */
static void check_harmless(const struct scene *scene, const struct content *content, const char *plan,
                           const struct wo_process_result *result) {
  size_t targets = 0;
  if (count_new(scene, content, plan, &targets) != targets || result->exit_code != content->code)
    fail_msg("%s, %s: exit code %d: %s", scene->name, plan, result->exit_code, result->err);
}

/* ---- All calls ---- */

static const struct {
  const char *call, *what;
  bool is_harmless;
} kinds[] = {
    {"open", "28", false},     {"open", "13", false},    {"open", "4", true},       {"open", "kill", false},
    {"openat", "28", false},   {"creat", "28", false},   {"write", "28", false},    {"write", "5", false},
    {"write", "4", true},      {"write", "short", true}, {"write", "kill", false},  {"writev", "28", false},
    {"close", "5", false},     {"close", "122", false},  {"close", "4", true},      {"close", "kill", false},
    {"fsync", "5", false},     {"fsync", "28", false},   {"fsync", "22", true},     {"fsync", "kill", false},
    {"ftruncate", "5", false}, {"fchmod", "1", false},   {"fchmod", "kill", false}, {"fchown", "1", false},
    {"fchown", "kill", false}, {"rename", "5", false},   {"rename", "28", false},   {"rename", "13", false},
    {"rename", "kill", false}, {"link", "1", false},     {"unlink", "5", false},    {"unlink", "kill", false},
    {"mkdir", "28", false},    {"mkdir", "13", false},   {"mkdir", "kill", false},
};

/* A sanitizer sees errors being handled: one of each call is enough. A program that is killed, or only delayed, handles none. */
static bool is_tried(size_t kind) {
  if (!wo_process_is_sanitized) return true;
  const bool is_first = kind == 0 || strcmp(kinds[kind].call, kinds[kind - 1].call) != 0;
  return is_first && !kinds[kind].is_harmless && strcmp(kinds[kind].what, "kill") != 0;
}

/* Returns the number of calls that failed. */
static size_t walk(const struct scene *scene, const struct content *content) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bool is_hit = is_tried(i);
    for (size_t n = 1; is_hit && n <= (scene->most > 0 ? scene->most : CALLS_MAX); n++) {
      struct wo_process_result result;
      char plan[64];
      snprintf(plan, sizeof plan, "%s:%zu:%s", kinds[i].call, n, kinds[i].what);
      prepare(scene);
      is_hit = run(scene, plan, &result);
      if (is_hit && kinds[i].is_harmless) check_harmless(scene, content, plan, &result);
      if (is_hit && !kinds[i].is_harmless) check(scene, content, plan, &result);
      if (!is_hit) assert_int_equal(result.exit_code, content->code);
      count += is_hit;
      wo_process_done(&result);
      clean_up();
    }
  }
  return count;
}

static void try_scene(const struct scene *scene, size_t calls_least) {
  struct content content = {.code = -1};
  struct wo_process_result result;
  prepare(scene);
  for (size_t i = 0; i < TARGETS_MAX && scene->targets[i]; i++) content.before[i] = read_target(scene->targets[i]);
  assert_false(run(scene, NULL, &result));
  if (strstr(result.err, "ASan runtime does not come first")) { /* gcc's, which is a library of its own */
    clean_up();
    skip();
  }
  content.code = result.exit_code;
  for (size_t i = 0; i < TARGETS_MAX && scene->targets[i]; i++) {
    content.after[i] = read_target(scene->targets[i]);
    if (is_equal(content.before[i], content.after[i]))
      fail_msg("%s: %s is not written: %s", scene->name, scene->targets[i], result.err);
  }
  wo_process_done(&result);
  clean_up();
  const size_t calls = walk(scene, &content);
  if (calls < calls_least / (wo_process_is_sanitized ? 4 : 1))
    fail_msg("%s: only %zu calls failed: does the library reach them?", scene->name, calls);
  for (size_t i = 0; i < TARGETS_MAX; i++) {
    free(content.before[i]);
    free(content.after[i]);
  }
}

/* ---- Scenes ---- */

static void test_output(void **state) {
  (void)state;
  try_scene(
      &(struct scene){.name = "new output", .args = {"-o", "out", LORA "slurm-90817.err"}, .targets = {"out"}, .prepare = ":"},
      10);
  try_scene(&(struct scene){.name = "old output",
                            .args = {"-o", "out", "--format", "json", LORA "slurm-90817.err"},
                            .targets = {"out"},
                            .prepare = "echo old >out; chmod 640 out"},
            15);
}

static void test_plot(void **state) {
  (void)state;
  try_scene(&(struct scene){.name = "plot",
                            .args = {"replay", "--no-times", "--plot", "out.svg", LORA "trace-90817.jsonl"},
                            .targets = {"out.svg"},
                            .prepare = "echo old >out.svg"},
            15);
}

static void test_pages(void **state) {
  (void)state;
  try_scene(&(struct scene){.name = "pages",
                            .args = {"rules", "pages", "pages"},
                            .targets = {"pages/README.md"},
                            .prepare = "mkdir pages && echo old >pages/README.md",
                            .most = 2},
            10);
}

/* The batch is set in a configuration, its accumulation in the script. */
static void test_patch(void **state) {
  (void)state;
  try_scene(&(struct scene){.name = "patch",
                            .args = {"verify", "--patch", "--write", "--accept-reconstructed", PRETRAIN "slurm-218391.err",
                                     PRETRAIN "slurm-218391.out", "run.sh", "train.yaml"},
                            .targets = {"run.sh", "train.yaml"},
                            .prepare = "sed '/gradient_accumulation_steps: 8/d' " PRETRAIN
                                       "pretrain_512m.yaml >train.yaml && printf '#!/bin/bash\\n#SBATCH -n 1\\n"
                                       "python train.py --gradient_accumulation_steps 8\\n' >run.sh && chmod 755 "
                                       "run.sh && if test $(id -u) -eq 0; then chown 12345:12345 run.sh; fi"},
            40);
}

/* The command runs whatever fails, and gives the exit code. */
static void test_record(void **state) {
  (void)state;
  static const char *const before[] = {"mkdir -m 700 home",
                                       "mkdir -m 700 home && mkdir -p -m 755 traces/.whyoom-record && echo old "
                                       ">traces/.whyoom-record/sitecustomize.py"};
  for (size_t i = 0; i < 2; i++) {
    try_scene(&(struct scene){.name = i == 0 ? "record" : "record again",
                              .args = {"record", "-o", "traces", "--", "sh", "-c", "exit 7"},
                              .targets = {"traces/.whyoom-record/sitecustomize.py"},
                              .prepare = before[i],
                              .is_recording = true},
              8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_output), cmocka_unit_test(test_plot),   cmocka_unit_test(test_pages),
      cmocka_unit_test(test_patch),  cmocka_unit_test(test_record),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
