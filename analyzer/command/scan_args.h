/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `whyoom scan`, and what its two ways share: once (cmd_scan.c), and as the archive grows (cmd_follow.c). */
#ifndef WO_SCAN_ARGS_H
#define WO_SCAN_ARGS_H

#include "analyzer/command/cmd_scan.h"
#include "analyzer/command/fleet_args.h"

/* Patterns of --include, and of --exclude. */
enum { WO_SCAN_PATTERNS = 32 };

struct wo_scan_patterns {
  struct wo_view items[WO_SCAN_PATTERNS];
  size_t count;
};

struct wo_given_shard {
  bool is_given;
  uint32_t shard, shard_count;
};

struct wo_scan_args {
  struct wo_fleet_args fleet; /* first */
  size_t threads;
  struct wo_scan_patterns include, exclude;
  struct wo_given_shard shard;
  struct wo_given_time forget;
  bool follows_links, is_one_file_system, no_progress;
  bool is_follow;
  struct wo_view exec;        /* a command; empty: none */
  int64_t settle_ns, poll_ns; /* 0: not given */
};

/* One run of the command. */
struct wo_scan_run {
  const struct wo_call *call;
  const struct wo_scan_process *process;
  struct wo_scan_args args;
  struct wo_store *store;
  int64_t now_ns;
  uint64_t job_count; /* that were found */
};

/* The options of the command. */
enum { WO_SCAN_OPTION_COUNT = 29 };
extern const struct wo_option wo_scan_option_rows[WO_SCAN_OPTION_COUNT];

/* `whyoom` alone on a terminal: the present folder. */
bool wo_scan_is_here(const struct wo_call *call);

/* Reads run->args, whose run->call and run->process are set. False: it is wrong, which is said. */
bool wo_scan_read_args(struct wo_scan_run *run);

/* What the scan of that run is to do. Borrows from the run. */
struct wo_scan_settings wo_scan_make_settings(const struct wo_scan_run *run, struct wo_view rules);

/* Drops old jobs from the store if --forget is given. False: that failed, which is said. */
bool wo_scan_forget_old(const struct wo_scan_run *run);

/* `scan --follow`. */
enum wo_exit wo_run_follow(struct wo_scan_run *run, const struct wo_pack *pack);

#endif
