/* SPDX-License-Identifier: Apache-2.0 */
/* Processes with a pipe to their standard input. See runner.h. */
#include "analyzer/live/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

/* One command that waits or runs. */
struct task {
  struct task *next;
  struct wo_text name, input;
  char **environment; /* the caller's, and the variables; those are owned, from owned_from on */
  size_t owned_from;
  pid_t pid; /* 0: it waits */
  int fd;    /* to its standard input; -1: closed */
  size_t written;
  int64_t end_ns; /* when it is asked to end, or killed */
  bool is_asked;  /* to end */
};

struct wo_runner {
  const char *command;
  char *const *environment;
  struct wo_text *errors;
  struct task *waiting, **waiting_end;
  size_t waiting_count, waiting_bytes;
  struct task *running[WO_LIMIT_EXEC_RUNNING];
  bool is_stopped, is_overflow_said;
  struct wo_runner_account account;
};

enum wo_status wo_runner_new(const char *command, char *const *environment, struct wo_text *errors,
                             struct wo_runner **ret_runner) {
  struct wo_runner *const runner = calloc(1, sizeof *runner);
  if (!runner) return WO_E_NOMEM;
  runner->command = command;
  runner->environment = environment;
  runner->errors = errors;
  runner->waiting_end = &runner->waiting;
  *ret_runner = runner;
  return WO_OK;
}

/* ---- Tasks ---- */

static struct task *free_task(struct task *task) {
  if (!task) return NULL;
  if (task->fd >= 0) close(task->fd);
  for (size_t i = task->owned_from; task->environment && task->environment[i]; i++) free(task->environment[i]);
  free(task->environment);
  wo_text_done(&task->name);
  wo_text_done(&task->input);
  free(task);
  return NULL;
}

/* "NAME=value" with a value of one line, cut at a character; NULL without memory. */
static char *make_variable(const struct wo_runner_variable *variable) {
  struct wo_text text = {0};
  wo_text_add(&text, "%s=", variable->name);
  wo_text_add_clean(&text, wo_view_sub(variable->value, 0, WO_LIMIT_EXEC_VARIABLE_BYTES));
  wo_text_add_view(&text, (struct wo_view){"", 1});
  char *const made = text.is_failed ? NULL : strdup(text.ptr);
  wo_text_done(&text);
  return made;
}

static bool is_named(const char *entry, const struct wo_runner_variable *variables, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t len = strlen(variables[i].name);
    if (strncmp(entry, variables[i].name, len) == 0 && entry[len] == '=') return true;
  }
  return false;
}

/* The environment of the caller without variables of these names, and these. */
static bool make_environment(struct task *task, char *const *before, const struct wo_runner_variable *variables, size_t count) {
  size_t all = 0, kept = 0;
  while (before[all]) all++;
  task->environment = calloc(all + count + 1, sizeof *task->environment);
  if (!task->environment) return false;
  for (size_t i = 0; i < all; i++) {
    if (!is_named(before[i], variables, count)) task->environment[kept++] = before[i];
  }
  task->owned_from = kept;
  for (size_t i = 0; i < count; i++) {
    if (!(task->environment[kept + i] = make_variable(&variables[i]))) return false;
  }
  return true;
}

void wo_runner_put(struct wo_runner *runner, struct wo_view name, struct wo_view input,
                   const struct wo_runner_variable *variables, size_t count, int64_t now_ns) {
  const bool has_room = runner->waiting_count < WO_LIMIT_EXEC_QUEUE && runner->waiting_bytes + input.len <= WO_LIMIT_EXEC_BYTES;
  struct task *const task = has_room && !runner->is_stopped ? calloc(1, sizeof *task) : NULL;
  if (task) {
    task->fd = -1;
    wo_text_add_clean(&task->name, name);
    wo_text_add_view(&task->input, input);
  }
  if (!task || !make_environment(task, runner->environment, variables, count) || task->input.is_failed) {
    free_task(task);
    runner->account.left++;
    if (!runner->is_overflow_said)
      wo_message(runner->errors, WO_VIEW("--exec"), "%zu commands wait already: further failed jobs are only counted",
                 runner->waiting_count);
    runner->is_overflow_said = true;
    return;
  }
  *runner->waiting_end = task;
  runner->waiting_end = &task->next;
  runner->waiting_count++;
  runner->waiting_bytes += task->input.len;
  wo_runner_tick(runner, now_ns);
}

/* ---- Processes ---- */

/* Signals that whyoom ignores or catches are what they are for other programs. Standard output becomes standard error. */
static int spawn(const struct wo_runner *runner, const struct task *task, int input, pid_t *ret_pid) {
  char *const words[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)runner->command, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t usual;
  sigemptyset(&usual);
  static const int numbers[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGALRM};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&usual, numbers[i]);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const int code = posix_spawn(ret_pid, "/bin/sh", &files, &attributes, words, task->environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return code;
}

static bool start(const struct wo_runner *runner, struct task *task, int64_t now_ns) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  for (size_t i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const int code = spawn(runner, task, ends[0], &task->pid);
  close(ends[0]);
  if (code != 0) {
    close(ends[1]);
    errno = code;
    return false;
  }
  task->fd = ends[1];
  task->end_ns = now_ns + WO_LIMIT_EXEC_S * WO_NS_PER_S;
  return true;
}

/* A command that does not read its input is no error. */
static void feed(struct task *task) {
  while (task->fd >= 0) {
    const size_t left = task->input.len - task->written;
    const ssize_t len = left > 0 ? write(task->fd, task->input.ptr + task->written, left) : 0;
    if (len < 0 && errno == EINTR) continue;
    if (len < 0 && errno == EAGAIN) return;
    if (len > 0) task->written += (size_t)len;
    if (len < 0 || task->written == task->input.len) {
      close(task->fd);
      task->fd = -1;
    }
  }
}

static void end_late(struct wo_runner *runner, struct task *task, int64_t now_ns) {
  if (now_ns < task->end_ns) return;
  if (!task->is_asked)
    wo_message(runner->errors, WO_VIEW("--exec"), "the command for job %.*s takes longer than %d seconds: it is ended",
               (int)task->name.len, task->name.ptr, WO_LIMIT_EXEC_S);
  kill(-task->pid, task->is_asked ? SIGKILL : SIGTERM);
  task->is_asked = true;
  task->end_ns = now_ns + WO_LIMIT_EXEC_KILL_S * WO_NS_PER_S;
}

static void note_end(struct wo_runner *runner, const struct task *task, int status) {
  const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  runner->account.done += is_good;
  runner->account.failed += !is_good;
  if (is_good) return;
  const bool is_killed = WIFSIGNALED(status);
  wo_message(runner->errors, WO_VIEW("--exec"), "the command for job %.*s ended with %s %d", (int)task->name.len, task->name.ptr,
             is_killed ? "signal" : "exit code", is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Whether a task has ended; what it left in its group is killed. */
static bool reap(struct wo_runner *runner, struct task *task) {
  int status = 0;
  const pid_t pid = waitpid(task->pid, &status, WNOHANG);
  if (pid == 0 || (pid < 0 && errno == EINTR)) return false;
  if (pid > 0) note_end(runner, task, status);
  if (task->is_asked) kill(-task->pid, SIGKILL);
  return true;
}

static void start_next(struct wo_runner *runner, size_t at, int64_t now_ns) {
  struct task *const task = runner->waiting;
  runner->waiting = task->next;
  if (!runner->waiting) runner->waiting_end = &runner->waiting;
  runner->waiting_count--;
  runner->waiting_bytes -= task->input.len;
  if (start(runner, task, now_ns)) {
    runner->running[at] = task;
    return;
  }
  wo_message(runner->errors, WO_VIEW("--exec"), "the command for job %.*s cannot be started: %s", (int)task->name.len,
             task->name.ptr, strerror(errno));
  runner->account.failed++;
  free_task(task);
}

bool wo_runner_tick(struct wo_runner *runner, int64_t now_ns) {
  bool is_busy = false;
  for (size_t i = 0; i < WO_LIMIT_EXEC_RUNNING; i++) {
    struct task *const task = runner->running[i];
    if (task) feed(task);
    if (task) end_late(runner, task, now_ns);
    if (task && reap(runner, task)) runner->running[i] = free_task(task);
    if (!runner->running[i] && runner->waiting) start_next(runner, i, now_ns);
    is_busy = is_busy || runner->running[i];
  }
  return is_busy || runner->waiting;
}

void wo_runner_stop(struct wo_runner *runner) {
  runner->is_stopped = true;
  while (runner->waiting) {
    struct task *const task = runner->waiting;
    runner->waiting = task->next;
    free_task(task);
    runner->account.left++;
  }
  runner->waiting_end = &runner->waiting;
  runner->waiting_count = runner->waiting_bytes = 0;
}

void wo_runner_kill(struct wo_runner *runner) {
  for (size_t i = 0; i < WO_LIMIT_EXEC_RUNNING; i++) {
    struct task *const task = runner->running[i];
    int status = 0;
    if (!task) continue;
    wo_message(runner->errors, WO_VIEW("--exec"), "the command for job %.*s still runs: it is killed", (int)task->name.len,
               task->name.ptr);
    kill(-task->pid, SIGKILL);
    while (waitpid(task->pid, &status, 0) < 0 && errno == EINTR) continue;
    runner->account.failed++;
    runner->running[i] = free_task(task);
  }
}

struct wo_runner_account wo_runner_account(const struct wo_runner *runner) {
  return runner->account;
}

struct wo_runner *wo_runner_free(struct wo_runner *runner) {
  if (!runner) return NULL;
  wo_runner_stop(runner);
  wo_runner_kill(runner);
  free(runner);
  return NULL;
}
