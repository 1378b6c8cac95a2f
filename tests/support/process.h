/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program under test as its users do: arguments and standard input in; exit code, standard output and standard error
 * out.
 *
 * The child has a small fixed environment (NO_COLOR, C.UTF-8, no terminal) and is killed by a timer, so that no test hangs. */
#ifndef WO_TEST_PROCESS_H
#define WO_TEST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/view.h"

/* True in builds with AddressSanitizer, which are slower and need more memory. */
extern const bool wo_process_is_sanitized;

/* What to run. Zero means: no arguments, empty standard input, 60 seconds. */
struct wo_process_spec {
  const char *const *args;                    /* NULL-terminated, without the program's own name */
  const char *folder;                         /* where it runs; NULL: the source folder */
  const char *stdin_path;                     /* a file for standard input */
  void (*write_stdin)(int fd, void *context); /* or: writes standard input into a pipe, in a process of its own */
  void *context;
  unsigned seconds;                          /* killed after that */
  size_t stack_kib;                          /* the limit of its stack; 0: the usual one */
  const char *const *environment;            /* NULL-terminated NAME=VALUE that it gets beside the fixed ones; at most 16 */
  int stderr_fd;                             /* where its standard error goes, for tests with a terminal; 0: it is captured */
  void (*on_start)(long pid, void *context); /* called while it runs, for tests that send signals; its context is context */
};

/* What happened. Texts are NUL-terminated and never NULL. */
struct wo_process_result {
  int exit_code; /* -1 when a signal ended it */
  int signal;    /* 0 when it exited; SIGALRM when it took too long */
  char *out;
  size_t out_len;
  char *err;
  size_t err_len;
  long max_rss_kib; /* largest resident memory */
};

/* Runs WO_BINARY. False when the process could not be started. *ret_result is released with wo_process_done.
 */
bool wo_process_run(const struct wo_process_spec *spec, struct wo_process_result *ret_result);

/* Releases a result. */
void wo_process_done(struct wo_process_result *result);

/* A write_stdin that writes the bytes of the struct wo_view that context points to. */
void wo_process_write_view(int fd, void *context);

/* The number of lines in a text. */
size_t wo_process_count_lines(const char *text);

#endif
