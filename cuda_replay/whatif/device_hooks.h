/* SPDX-License-Identifier: Apache-2.0 */
/* The services that a replay needs from the program: file names, signals, a clock, a receiver of progress.
 *
 * The library does not read the environment, print, or handle signals; main.c does, and passes this down. */
#ifndef WO_DEVICE_HOOKS_H
#define WO_DEVICE_HOOKS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Progress of a replay on a GPU. */
struct wo_gpu_progress {
  int ordinal;
  size_t done; /* requests, of */
  size_t total;
  uint64_t used_bytes; /* on the card at present */
  bool is_over;        /* true once at the end, also after a failure */
};

struct wo_elsewhere;

/* {0}: no services. */
struct wo_replay_hooks {
  const char *cuda_library;             /* NULL: the system's CUDA driver; else this file, for tests */
  const char *nvml_library;             /* NULL: the system's NVML */
  const struct wo_elsewhere *elsewhere; /* what loads them for this program (elsewhere.h); NULL: it does so itself */
  const char *visible_devices;          /* CUDA_VISIBLE_DEVICES, for messages: the driver counts by it; NULL if not set */
  void *state;                          /* passed to the calls */
  /* Called with true before the card is used, with false when everything is given back: between the two a signal must not end the
   * program. NULL for none. */
  void (*guard)(void *state, bool is_on);
  const volatile sig_atomic_t *is_cancelled;                                /* not 0: give everything back and end; NULL: never */
  void (*on_progress)(void *state, const struct wo_gpu_progress *progress); /* after every request; NULL for none */
  double (*seconds_now)(void); /* a steady clock, to report how long a replay took; NULL: not reported */
};

/* Seconds of that clock, 0 without one. Only for reporting durations; no result depends on it. `hooks` may be NULL. */
static inline double wo_hooks_seconds_now(const struct wo_replay_hooks *hooks) {
  return hooks && hooks->seconds_now ? hooks->seconds_now() : 0;
}

#endif
