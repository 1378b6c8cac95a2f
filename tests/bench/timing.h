/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks measure with: time of this process on a core, and the order of times for a median. */
#ifndef WO_BENCH_TIMING_H
#define WO_BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

/* Seconds on the processor: other programs on the machine do not count. What the kernel does for this one does. */
static inline double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b) {
  const double left = *(const double *)a;
  const double right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Sorts the times, fastest first: [0] is the best, [count / 2] the median. */
static inline void sort_times(double *took_s, size_t count) {
  qsort(took_s, count, sizeof *took_s, compare_doubles);
}

#endif
