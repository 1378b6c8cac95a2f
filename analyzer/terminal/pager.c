/* SPDX-License-Identifier: Apache-2.0 */
/* The pager. See pager.h.
 *
 * The process is made before anything is read, because the sandbox allows none later; it waits for the first byte, and becomes
 * the pager only then. */
#include "analyzer/terminal/pager.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/terminal/terminal.h"

/* Where the pager cannot be started, the text is written as if there were none. */
#define COMMAND_FORMAT "{ %s ; } || cat"

enum { COMMAND_BYTES = 1024, NOT_STARTED = 127 };

/* The pager's command line, or NULL for none. */
static const char *find_pager(void) {
  const char *const own = getenv("WHYOOM_PAGER");
  const char *const name = own ? own : getenv("PAGER") ? getenv("PAGER") : "less";
  const bool is_none = name[0] == '\0' || strcmp(name, "cat") == 0 || strlen(name) + sizeof COMMAND_FORMAT > COMMAND_BYTES;
  return is_none ? NULL : name;
}

static bool is_wanted(const struct wo_call *call) {
  const char *const terminal = wo_terminal_variable("TERM");
  const bool is_long = call->is_verbose || call->command->is_long || call->wants_help;
  return is_long && call->format == WO_OUT_TEXT && call->output.len == 0 && !call->command->becomes_program && terminal &&
         strcmp(terminal, "dumb") != 0 && isatty(STDOUT_FILENO) == 1;
}

/* In the new process: becomes the pager at the first byte; ends without one. */
static void become(int input, const char *name) {
  char command[COMMAND_BYTES];
  struct pollfd waiting = {.fd = input, .events = POLLIN};
  while (poll(&waiting, 1, -1) < 0 && errno == EINTR) continue;
  if (!(waiting.revents & POLLIN)) _exit(0);
  snprintf(command, sizeof command, COMMAND_FORMAT, name);
  if (!getenv("LESS")) setenv("LESS", "FRX", 1);
  if (!getenv("LV")) setenv("LV", "-c", 1);
  if (input != STDIN_FILENO) { /* it is where standard input was closed */
    dup2(input, STDIN_FILENO);
    close(input);
  }
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(NOT_STARTED);
}

void wo_pager_start(const struct wo_call *call, struct wo_pager *ret_pager) {
  int ends[2];
  *ret_pager = (struct wo_pager){0};
  const char *const name = is_wanted(call) ? find_pager() : NULL;
  if (!name || pipe(ends) != 0) return;
  const pid_t process = fork();
  if (process == 0) {
    close(ends[1]);
    become(ends[0], name);
  }
  close(ends[0]);
  if (process > 0 && dup2(ends[1], STDOUT_FILENO) >= 0) ret_pager->process = process;
  close(ends[1]);
}

/* A key that interrupts is for the pager. */
void wo_pager_end(struct wo_pager *pager) {
  if (pager->process <= 0) return;
  signal(SIGINT, SIG_IGN);
  close(STDOUT_FILENO);
  while (waitpid(pager->process, NULL, 0) < 0 && errno == EINTR) continue;
  *pager = (struct wo_pager){0};
}
