/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command of the user for one job after the other, a few at a time: `/bin/sh -c COMMAND`, with a text on its standard
 * input and some variables. Its standard output goes where standard error goes, since the output of a scan is its rows.
 *
 * Nothing of the text or the variables becomes part of the command. A command is a process group of its own; one that takes too
 * long is asked to end, then killed. SIGPIPE must be ignored. Limits are in limits.h. Not for two threads at once; threads that
 * read may run beside it. */
#ifndef WO_RUNNER_H
#define WO_RUNNER_H

#include "parsers/base/status.h"
#include "parsers/base/text.h"

struct wo_runner;

/* One variable: "NAME", which is a constant, and its value, which is cleaned and cut. */
struct wo_runner_variable {
  const char *name;
  struct wo_view value;
};

struct wo_runner_account {
  uint64_t done;   /* commands that ended well */
  uint64_t failed; /* with another exit code than 0, by a signal, or not started */
  uint64_t left;   /* not run, because too many waited, or the scan has ended */
};

/* `command` and `environment` (NULL at its end) outlive the runner; what fails is said in `errors`. WO_E_NOMEM. */
enum wo_status wo_runner_new(const char *command, char *const *environment, struct wo_text *errors,
                             struct wo_runner **ret_runner);

/* Adds a run: `input` for its standard input, and a name for messages. One that finds no room is counted as left. */
void wo_runner_put(struct wo_runner *runner, struct wo_view name, struct wo_view input,
                   const struct wo_runner_variable *variables, size_t count, int64_t now_ns);

/* Starts, feeds and ends commands as far as that is possible without waiting. True: some run or wait. To be called often. */
bool wo_runner_tick(struct wo_runner *runner, int64_t now_ns);

/* Starts no further commands: those that wait are left. */
void wo_runner_stop(struct wo_runner *runner);

/* Kills what still runs. */
void wo_runner_kill(struct wo_runner *runner);

struct wo_runner_account wo_runner_account(const struct wo_runner *runner);

/* Kills and waits for what still runs, and frees. NULL allowed; returns NULL. */
struct wo_runner *wo_runner_free(struct wo_runner *runner);

#endif
