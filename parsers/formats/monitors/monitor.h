/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring traces, for all their readers. A trace (nvidia-smi dmon, --query-gpu, tables, -q) is summed up for each card while
 * it is read, so that a day of samples costs no more memory than one; at the end of the input each card gives one event.
 *
 * A figure that a sample does not have is WO_MONITOR_MISSING, never 0: dmon prints `-` for a card that fell off the bus. */
#ifndef WO_MONITOR_H
#define WO_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/limits.h"
#include "parsers/scan/format.h"

/* All figures of a sample are at or above zero. */
#define WO_MONITOR_MISSING (-1.0)

/* Highest index of a card that is accepted. */
#define WO_MONITOR_GPU_MAX 1023

/* Samples of the cards of one moment are this close together; moments are further apart. */
#define WO_MONITOR_MOMENT_S 0.010

/* One sample of one card. */
struct wo_monitor_sample {
  int32_t gpu;
  double fb_bytes;       /* memory in use on the card, by all processes */
  double capacity_bytes; /* its total memory */
  double sm_pct;         /* share of time in which kernels ran, 0 to 100 */
  double time_s;         /* since 1970 */
  bool is_guessed;       /* the columns had no names: the sums are valid only if the capacity stays the same */
  const char *lack;      /* why a trace of this sort has no memory figure: a literal to be shown, or NULL */
};

/* One row of one process on one card. */
struct wo_monitor_use {
  int32_t gpu;  /* -1 if the row does not name the card */
  uint64_t pid; /* 0 if the row does not have it */
  struct wo_view name;
  double bytes; /* memory of the process on the card, or WO_MONITOR_MISSING */
};

/* Bytes of a program's name that are kept. */
#define WO_MONITOR_NAME_BYTES 64

/* The sums of one input, which every format that adds to them names as its follower. */
extern const struct wo_follower wo__monitor_follower;

/* A sample with only its card known. */
struct wo_monitor_sample wo_monitor_sample_of(int32_t gpu);

/* Adds a sample that is on open->line. `is_continued`: more figures of the last sample of that card, which counts once. */
void wo_monitor_add(const struct wo_open *open, const struct wo_monitor_sample *sample, bool is_continued);

/* Adds a row of a process. One of the same id and name on the same card is the same process. */
void wo_monitor_add_process(const struct wo_open *open, const struct wo_monitor_use *use);

/* Reads an id of a process that fills the whole text. */
bool wo_monitor_pid(struct wo_view text, uint64_t *ret_pid);

/* The content of a cell that should hold a figure. */
enum wo_cell { WO_CELL_BAD, WO_CELL_MISSING, WO_CELL_NUMBER };

/* Reads a cell such as "841 MiB", "22 %", "-", "[N/A]": a number of zero or more and the rest after it, trimmed. */
enum wo_cell wo_monitor_cell(struct wo_view cell, double *ret_number, struct wo_view *ret_unit);

/* Bytes of a unit ("MiB", "MB": both are 2^20 here), or 0 for anything else. */
double wo_monitor_unit_bytes(struct wo_view unit);

/* Reads an index of a card that fills the whole text. */
bool wo_monitor_gpu(struct wo_view text, int32_t *ret_gpu);

/* Seconds since 1970 of a time stamp: "2025/03/30 21:38:15.137", "2025-03-30 21:38:15", "03-30-2025 21:38:15", or seconds since
 * 1970 themselves. WO_MONITOR_MISSING for anything else. */
double wo_monitor_time(struct wo_view text);

/* As wo_monitor_time, of a date as nvidia-smi prints it: "Tue Oct 29 19:00:23 2024". */
double wo_monitor_date(struct wo_view text);

/* Counts a line that is no part of the trace; true if there were too many of them in a row. `*count` is the reader's, which sets
 * it to 0 at a row. */
bool wo_monitor_is_over(int *count);

#endif
