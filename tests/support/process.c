/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/files.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

enum { MOST_ARGS = 8192, DEFAULT_SECONDS = 60, CANNOT_START = 125, MOST_VARIABLES = 16 };

const bool wo_process_is_sanitized = IS_SANITIZED;

/* A temporary file without a name, or -1. */
static int capture_file(void) {
  char path[] = "/tmp/whyoom-out-XXXXXX";
  const int fd = mkstemp(path);
  if (fd >= 0) unlink(path);
  return fd;
}

/* The child's side: never returns. */
static void run_child(const struct wo_process_spec *spec, int in, int out, int err) {
  static char *environment[8 + MOST_VARIABLES];
  static char sanitizer[2][512];
  size_t count = 0;
  environment[count++] = (char *)(uintptr_t) "NO_COLOR=1";
  environment[count++] = (char *)(uintptr_t) "LC_ALL=C.UTF-8";
  environment[count++] = (char *)(uintptr_t) "TERM=dumb";
  environment[count++] = (char *)(uintptr_t) "PATH=/usr/bin:/bin";
  static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS"};
  for (size_t i = 0; i < 2; i++) {
    const char *value = getenv(passed[i]);
    if (value == NULL) continue;
    snprintf(sanitizer[i], sizeof sanitizer[i], "%s=%s", passed[i], value);
    environment[count++] = sanitizer[i];
  }
  for (size_t i = 0; spec->environment != NULL && spec->environment[i] != NULL && i < MOST_VARIABLES; i++)
    environment[count++] = (char *)(uintptr_t)spec->environment[i];
  const struct rlimit stack = {spec->stack_kib * 1024, spec->stack_kib * 1024};
  static char *argv[MOST_ARGS + 2] = {(char *)(uintptr_t) "whyoom"};
  for (size_t i = 0; spec->args != NULL && spec->args[i] != NULL && i < MOST_ARGS; i++)
    argv[i + 1] = (char *)(uintptr_t)spec->args[i];
  if (chdir(spec->folder ? spec->folder : WO_SOURCE_DIR) != 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
      dup2(spec->stderr_fd > 0 ? spec->stderr_fd : err, 2) < 0)
    _exit(CANNOT_START);
  for (int fd = 3; fd < 64; fd++) close(fd);
  signal(SIGPIPE, SIG_DFL);
  alarm(spec->seconds > 0 ? spec->seconds : DEFAULT_SECONDS);
  if (spec->stack_kib > 0 && setrlimit(RLIMIT_STACK, &stack) != 0) _exit(CANNOT_START);
  execve(WO_BINARY, argv, environment);
  _exit(CANNOT_START);
}

/* Starts the process that writes standard input; *ret_in is the end to read. */
static pid_t start_writer(const struct wo_process_spec *spec, int *ret_in) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL);
    alarm(spec->seconds > 0 ? spec->seconds : DEFAULT_SECONDS);
    spec->write_stdin(ends[1], spec->context);
    _exit(0);
  }
  close(ends[1]);
  *ret_in = ends[0];
  return writer;
}

static void wait_for(pid_t child, struct wo_process_result *result) {
  int status = 0;
  struct rusage usage;
  memset(&usage, 0, sizeof usage);
  pid_t ended;
  do ended = wait4(child, &status, 0, &usage);
  while (ended < 0 && errno == EINTR);
  if (ended == child && WIFEXITED(status)) result->exit_code = WEXITSTATUS(status);
  if (ended == child && WIFSIGNALED(status)) result->signal = WTERMSIG(status);
  result->max_rss_kib = usage.ru_maxrss;
}

bool wo_process_run(const struct wo_process_spec *spec, struct wo_process_result *ret_result) {
  *ret_result = (struct wo_process_result){.exit_code = -1};
  const int out = capture_file(), err = capture_file();
  int in = -1;
  pid_t writer = -1, child = -1;
  if (spec->write_stdin != NULL)
    writer = start_writer(spec, &in);
  else
    in = open(spec->stdin_path != NULL ? spec->stdin_path : "/dev/null", O_RDONLY | O_NOCTTY);
  if (in >= 0 && out >= 0 && err >= 0) {
    fflush(NULL);
    child = fork();
    if (child == 0) run_child(spec, in, out, err);
  }
  if (in >= 0) close(in);
  if (child > 0) {
    if (spec->on_start != NULL) spec->on_start((long)child, spec->context);
    wait_for(child, ret_result);
    ret_result->out = wo_files_read_fd(out, &ret_result->out_len);
    ret_result->err = wo_files_read_fd(err, &ret_result->err_len);
  }
  if (writer > 0) waitpid(writer, NULL, 0);
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  const bool is_complete = ret_result->out != NULL && ret_result->err != NULL && ret_result->exit_code != CANNOT_START;
  if (!is_complete) wo_process_done(ret_result);
  return is_complete;
}

void wo_process_done(struct wo_process_result *result) {
  free(result->out);
  free(result->err);
  result->out = result->err = NULL;
}

void wo_process_write_view(int fd, void *context) {
  struct wo_view rest = *(const struct wo_view *)context;
  while (rest.len > 0) {
    const ssize_t written = write(fd, rest.ptr, rest.len);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest = wo_view_skip(rest, (size_t)written);
  }
}

size_t wo_process_count_lines(const char *text) {
  size_t count = 0;
  for (const char *p = text; *p != '\0'; p++) count += *p == '\n' || p[1] == '\0';
  return count;
}
