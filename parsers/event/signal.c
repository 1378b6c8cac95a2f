/* SPDX-License-Identifier: Apache-2.0 */
/* The table of signals. */
#include "parsers/event/signal.h"

#include "parsers/base/number.h"

/* Shells and torchrun add this to the number of a signal to make an exit code. */
#define CODE_BASE 128

/* PBS does so with this one. */
#define PBS_CODE_BASE 256

/* Numbers of signals are below. */
#define NUMBER_END 64

static const struct {
  enum wo_signal signal;
  const char *name;
  const char *printed; /* by strsignal, and so by srun, shells and mpirun */
} rows[] = {
    {WO_SIGNAL_HUP, "SIGHUP", "Hangup"},
    {WO_SIGNAL_INT, "SIGINT", "Interrupt"},
    {WO_SIGNAL_QUIT, "SIGQUIT", "Quit"},
    {WO_SIGNAL_ILL, "SIGILL", "Illegal instruction"},
    {WO_SIGNAL_ABRT, "SIGABRT", "Aborted"},
    {WO_SIGNAL_BUS, "SIGBUS", "Bus error"},
    {WO_SIGNAL_FPE, "SIGFPE", "Floating point exception"},
    {WO_SIGNAL_KILL, "SIGKILL", "Killed"},
    {WO_SIGNAL_USR1, "SIGUSR1", "User defined signal 1"},
    {WO_SIGNAL_SEGV, "SIGSEGV", "Segmentation fault"},
    {WO_SIGNAL_USR2, "SIGUSR2", "User defined signal 2"},
    {WO_SIGNAL_TERM, "SIGTERM", "Terminated"},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* What Windows gives as the exit code of a process that died. Some print it as a signed number. */
static const struct {
  uint32_t status;
  enum wo_signal signal;
} statuses[] = {
    {0xC0000005, WO_SIGNAL_SEGV}, /* access violation */
    {0xC00000FD, WO_SIGNAL_SEGV}, /* stack overflow */
    {0xC0000409, WO_SIGNAL_ABRT}, /* fail fast */
    {0xC000013A, WO_SIGNAL_INT},  /* Ctrl-C */
    {0xC000001D, WO_SIGNAL_ILL},  /* illegal instruction */
};

static enum wo_signal of_number(int64_t number) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if ((int64_t)rows[i].signal == number) return rows[i].signal;
  }
  return WO_SIGNAL_NONE;
}

enum wo_signal wo_signal_of_text(struct wo_view text) {
  uint64_t number = 0;
  struct wo_view digits = text;
  if (wo_number_u64(&digits, NUMBER_END, &number) == WO_OK && digits.len == 0) return of_number((int64_t)number);
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (wo_view_starts(text, rows[i].printed)) return rows[i].signal;
    if (wo_view_is(text, rows[i].name) || wo_view_is(text, rows[i].name + sizeof "SIG" - 1)) return rows[i].signal;
  }
  return WO_SIGNAL_NONE;
}

enum wo_signal wo_signal_of_code(double code) {
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    if (code == (double)statuses[i].status || code == (double)(int32_t)statuses[i].status) return statuses[i].signal;
  }
  if (code < 0 && code > -NUMBER_END) return of_number((int64_t)-code);
  const int base = code > PBS_CODE_BASE ? PBS_CODE_BASE : CODE_BASE;
  return code > base && code < base + NUMBER_END ? of_number((int64_t)code - base) : WO_SIGNAL_NONE;
}

enum wo_signal wo_signal_of(const struct wo_event *event) {
  const enum wo_signal told = wo_signal_of_text(wo_event_text(event, WO_FIELD_SIGNAL));
  return told != WO_SIGNAL_NONE ? told : wo_signal_of_code(wo_event_number(event, WO_FIELD_EXIT_CODE, 0));
}

const char *wo_signal_name(enum wo_signal signal) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (rows[i].signal == signal) return rows[i].name;
  }
  return NULL;
}
