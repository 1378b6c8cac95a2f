/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the reader of profiler traces. Private to chrome_trace*.c. */
#ifndef WO_CHROME_TRACE_INTERNAL_H
#define WO_CHROME_TRACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/view.h"

/* ---- Operators that are running (chrome_trace_ops.c) ---- */

/* The most threads that are followed at a time, operators inside each other, and bytes kept of a name: they limit memory. Above
 * them, stacks are less deep. */
enum { WO__CHROME_THREADS = 64, WO__CHROME_DEPTH = 192, WO__CHROME_NAME_BYTES = 200 };

struct wo__chrome_thread;

/* Empty when all is 0. */
struct wo__chrome_ops {
  struct wo__chrome_thread *threads[WO__CHROME_THREADS];
  size_t next; /* the thread that a new one replaces */
};

/* Adds an operator that ran on a thread in [start, end). WO_E_NOMEM. */
enum wo_status wo__chrome_ops_add(struct wo__chrome_ops *ops, uint64_t thread, int64_t start_ns, int64_t end_ns,
                                  struct wo_view name, bool is_python);

/* The stack of the operators that ran on a thread at a time, innermost first; WO_NO_STACK for none. WO_E_NOMEM, WO_E_LIMIT. */
enum wo_status wo__chrome_ops_stack(struct wo__chrome_ops *ops, uint64_t thread, int64_t at_ns, struct wo_intern *intern,
                                    uint32_t *ret_stack);

/* Releases everything. */
void wo__chrome_ops_done(struct wo__chrome_ops *ops);

/* ---- Memory events into traces (chrome_trace_build.c) ---- */

#define WO__CHROME_UNKNOWN (-1)

struct wo__chrome_event {
  int64_t ts_ns;
  uint64_t index; /* of the event in the file */
  uint64_t address;
  int64_t bytes;           /* below 0: a free */
  int64_t allocated_bytes; /* after the event, or WO__CHROME_UNKNOWN */
  int64_t reserved_bytes;  /* likewise */
  uint32_t stack;
  int16_t device;
  bool is_oom;
};

struct wo__chrome_events {
  struct wo__chrome_event *items;
  size_t count, capacity;
};

/* Sorts the events and makes a trace of each device in the recording; base_us is added to times. WO_E_NOMEM, WO_E_LIMIT. */
enum wo_status wo__chrome_build(struct wo__chrome_events *events, int64_t base_us, struct wo_recording *recording);

#endif
