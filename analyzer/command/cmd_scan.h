/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom scan`: main.c gives it what the process around it has. */
#ifndef WO_CMD_SCAN_H
#define WO_CMD_SCAN_H

#include "analyzer/command/commands.h"
#include "analyzer/scan/fleet_scan.h"

/* A part of an archive, as the workload manager numbers its tasks. */
struct wo_scan_shard {
  uint32_t shard, shard_count; /* 0: it numbers none */
  const char *from;            /* the variables that say so */
};

struct wo_scan_process {
  struct wo_scan_hooks hooks;
  struct wo_scan_shard shard;
  size_t cores;
  /* For --follow: the variables that commands are given, and what writes out the messages that are there. */
  char *const *environment;
  void (*flush_errors)(const struct wo_call *call);
};

extern const struct wo_command wo_command_scan;
enum wo_exit wo_run_scan(const struct wo_call *call, const struct wo_scan_process *process);

/* `whyoom report` and `whyoom merge`. The time is since 1970, for options that say how long ago. */
extern const struct wo_command wo_command_report, wo_command_merge;
enum wo_exit wo_run_report(const struct wo_call *call, int64_t now_ns);
enum wo_exit wo_run_merge(const struct wo_call *call, int64_t now_ns);

/* Whether a call scans a folder in which that file, which is there, is a log by its name. */
bool wo_scan_reads(const struct wo_call *call, const char *path);

/* Whether a call without a command is one of scan: its words name folders that hold more than one job together, or it has none on
 * a terminal, which means the present folder. */
bool wo_scan_is_meant(const struct wo_call *call);

#endif
