/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox (parsers/base/command/sandbox.h): what it refuses, that nothing else changes, and when it is entered. Where the
 * system or the build has none, the tests are skipped. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "parsers/base/command/sandbox.h"
#include "tests/support/process.h"

enum { NO_SANDBOX = 100 };

/* ---- In a process of our own ---- */

/* Enters the sandbox in a child and calls `act`, which returns 0 or the number of the step that went wrong. */
static int inside(int (*act)(void)) {
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(wo_sandbox_enter(NULL) == WO_OK ? act() : NO_SANDBOX);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == NO_SANDBOX) skip();
  return WEXITSTATUS(status);
}

static int try_writing(void) {
  if (open("/dev/null", O_WRONLY) >= 0 || errno != EPERM) return 1;
  if (open("/dev/null", O_RDWR) >= 0 || errno != EPERM) return 2;
  if (open("whyoom-sandbox-test", O_RDONLY | O_CREAT, 0600) >= 0 || errno != EPERM) return 3;
  if (fopen("/dev/null", "ab")) return 4;
  if (unlink("whyoom-sandbox-test") == 0 || errno != ENOSYS) return 5;
  if (rename("whyoom-sandbox-test", "another") == 0 || errno != ENOSYS) return 6;
  if (mkdir("whyoom-sandbox-test", 0700) == 0 || errno != ENOSYS) return 7;
  if (chmod(".", 0700) == 0 || errno != ENOSYS) return 8;
  if (symlink("a", "b") == 0 || errno != ENOSYS) return 9;
  return truncate("/dev/null", 0) == 0 ? 10 : 0;
}

static int try_running(void) {
  char *const arguments[] = {(char[]){"true"}, NULL};
  execv("/bin/true", arguments);
  if (errno != ENOSYS) return 1;
  if (fork() >= 0) return 2;
  if (kill(getppid(), 0) == 0) return 3;
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != ENOSYS) return 4;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) return 5;
  return setuid(getuid()) == 0 ? 6 : 0;
}

static int try_reading(void) {
  char bytes[64];
  struct stat about;
  FILE *const file = fopen("/proc/self/status", "rb");
  if (!file || fread(bytes, 1, sizeof bytes, file) != sizeof bytes || fclose(file) != 0) return 1;
  if (stat("/", &about) != 0 || !S_ISDIR(about.st_mode)) return 2;
  void *const code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED || mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 3;
  void *const large = malloc((size_t)1 << 26);
  if (!large) return 4;
  free(large);
  if (isatty(STDIN_FILENO) < 0) return 5;
  return write(STDERR_FILENO, "", 0) == 0 ? 0 : 6;
}

static int try_aborting(void) {
  return raise(SIGCONT) == 0 ? 0 : 1;
}

static void test_what_it_refuses(void **state) {
  (void)state;
  assert_int_equal(inside(try_writing), 0);
  assert_int_equal(inside(try_running), 0);
}

static void test_what_it_lets_through(void **state) {
  (void)state;
  assert_int_equal(inside(try_reading), 0);
  assert_int_equal(inside(try_aborting), 0);
}

/* ---- The program ---- */

static bool has_sandbox(void) {
  struct wo_process_result result;
  assert_true(
      wo_process_run(&(struct wo_process_spec){.args = (const char *[]){"--sandbox", "samples/README.md", NULL}}, &result));
  const bool has = strstr(result.err, "sandbox") == NULL;
  assert_int_equal(result.exit_code, has ? 0 : 2);
  wo_process_done(&result);
  return has;
}

/* Runs the same command inside and outside, and compares everything that it says. */
static void compare(const char *const *args, size_t count) {
  const char *inside_args[16] = {"--sandbox"}, *outside_args[16] = {"--no-sandbox"};
  assert_true(count < 15);
  for (size_t i = 0; i < count; i++) inside_args[i + 1] = outside_args[i + 1] = args[i];
  struct wo_process_result in, out;
  assert_true(wo_process_run(&(struct wo_process_spec){.args = inside_args}, &in));
  assert_true(wo_process_run(&(struct wo_process_spec){.args = outside_args}, &out));
  assert_int_equal(in.exit_code, out.exit_code);
  assert_string_equal(in.out, out.out);
  assert_string_equal(in.err, out.err);
  wo_process_done(&in);
  wo_process_done(&out);
}

static void test_the_same_reports(void **state) {
  (void)state;
  glob_t samples;
  if (!has_sandbox()) skip();
  assert_int_equal(glob(WO_SOURCE_DIR "/samples/*/*.*", 0, NULL, &samples), 0);
  for (size_t i = 0; i < samples.gl_pathc; i++) {
    compare((const char *[]){samples.gl_pathv[i]}, 1);
    compare((const char *[]){"--format", "json", samples.gl_pathv[i]}, 3);
  }
  globfree(&samples);
  compare((const char *[]){"replay", "--no-times", "--sweep", "tests/recordings/fragmented.jsonl"}, 4);
  compare((const char *[]){"rules", "check"}, 2);
  compare((const char *[]){"rules", "test"}, 2);
  compare((const char *[]){"explain", "fragmentation"}, 2);
  compare((const char *[]){"--rules", "tests/table", "samples/README.md"}, 3);
  compare((const char *[]){"no-such-file"}, 1);
}

static void expect_refused(const char *const *args, const char *why) {
  struct wo_process_result result;
  assert_true(wo_process_run(&(struct wo_process_spec){.args = args}, &result));
  assert_int_equal(result.exit_code, 2);
  assert_non_null(strstr(result.err, why));
  wo_process_done(&result);
}

/* A call that needs more is refused before it does anything. */
static void test_calls_that_need_more(void **state) {
  (void)state;
  expect_refused((const char *[]){"--sandbox", "-o", "/dev/full", "samples/README.md", NULL}, "--output does more than read");
  expect_refused((const char *[]){"record", "--sandbox", "true", NULL}, "record does more than read");
  expect_refused((const char *[]){"replay", "--sandbox", "--on", "gpu", "x", NULL}, "--on does more than read");
  expect_refused((const char *[]){"replay", "--sandbox", "--plot", "/dev/full", "x", NULL}, "--plot does more than read");
  expect_refused((const char *[]){"rules", "--sandbox", "pages", "/dev/full", NULL}, "pages does more than read");
  expect_refused((const char *[]){"verify", "--sandbox", "--patch", "--write", "x", NULL}, "--write does more than read");
}

/* The mode of a process as the kernel tells it: "2" for a filter. */
static char seccomp_mode(long pid) {
  char path[64], line[256];
  char mode = '?';
  snprintf(path, sizeof path, "/proc/%ld/status", pid);
  FILE *const file = fopen(path, "rb");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "Seccomp:\t", 9) == 0) mode = line[9];
  }
  if (file) fclose(file);
  return mode;
}

/* Watches a program that waits for its input, for at most ten seconds. */
static void watch(long pid, void *context) {
  char *const mode = context;
  for (int i = 0; i < 1000 && *mode != '2'; i++) {
    *mode = seccomp_mode(pid);
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
  }
}

static void wait_and_write(int fd, void *context) {
  (void)fd;
  (void)context;
  sleep(1);
}

static void test_default_is_inside(void **state) {
  (void)state;
  char mode = '?';
  struct wo_process_result result;
  if (!has_sandbox()) skip();
  if (seccomp_mode(getpid()) != '0') skip(); /* this process is in a filter of somebody else */
  const struct wo_process_spec spec = {
      .args = (const char *[]){"-", NULL}, .write_stdin = wait_and_write, .on_start = watch, .context = &mode};
  assert_true(wo_process_run(&spec, &result));
  assert_int_equal(result.exit_code, 2); /* nothing was written */
  assert_int_equal(mode, '2');
  wo_process_done(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_it_refuses),   cmocka_unit_test(test_what_it_lets_through),
      cmocka_unit_test(test_the_same_reports),  cmocka_unit_test(test_calls_that_need_more),
      cmocka_unit_test(test_default_is_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
