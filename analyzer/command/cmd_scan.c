/* `whyoom scan DIR...`: diagnoses every job of an archive and reports them together.
 *
 * The rows go through a store, a private one unless --store names a file, and the report is made from that store alone. */
#include "analyzer/command/cmd_scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/command/fleet_args.h"
#include "analyzer/command/help.h"
#include "analyzer/files/names.h"
#include "parsers/base/number.h"
#include "parsers/base/units.h"

/* Patterns of --include, and of --exclude. */
enum { PATTERNS_MAX = 32 };

struct patterns {
  struct wo_view items[PATTERNS_MAX];
  size_t count;
};

struct shard {
  bool is_given;
  uint32_t shard, shard_count;
};

struct scan_args {
  struct wo_fleet_args fleet; /* first */
  size_t threads;
  struct patterns include, exclude;
  struct shard shard;
  struct wo_given_time forget;
  bool follows_links, is_one_file_system, no_progress;
};

/* ---- Options ---- */

static bool read_pattern(void *target, const struct wo_option_value *value) {
  struct patterns *const patterns = (struct patterns *)(void *)((char *)target + value->option->at);
  if (patterns->count == PATTERNS_MAX) {
    wo_err_set(value->err, WO_E_LIMIT, "--%s can be given %d times", value->option->name, PATTERNS_MAX);
    return false;
  }
  patterns->items[patterns->count++] = value->text;
  return true;
}

/* "2/8": from 0, as SLURM counts the tasks of an array. */
static bool read_shard(void *target, const struct wo_option_value *value) {
  struct wo_view rest = value->text;
  struct wo_view first = wo_view_cut(&rest, '/');
  uint64_t shard = 0, count = 0;
  if (wo_number_u64(&first, WO_LIMIT_SHARDS, &shard) != WO_OK || first.len > 0) return false;
  if (wo_number_u64(&rest, WO_LIMIT_SHARDS, &count) != WO_OK || rest.len > 0 || shard >= count) return false;
  ((struct scan_args *)target)->shard = (struct shard){true, (uint32_t)shard, (uint32_t)count};
  return true;
}

static const struct wo_option options[] = {
    WO_OPTION("store", "FILE", "keep the rows in a SQLite file: files that have not\nchanged are not read again",
              .path = WO_PATH_NONE, WO_TO_TEXT(struct wo_fleet_args, store), .wants = "the name of a file"),
    WO_OPTION("threads", "N", "threads that diagnose (default: one for each core)", .kind = WO_OPTION_NUMBER,
              .at = offsetof(struct scan_args, threads), .least = 1, .most = WO_LIMIT_THREADS, .wants = "a number of threads"),
    WO_OPTION("shard", "I/N",
              "only part I (from 0) of N of the jobs; in an array of\nSLURM its task decides, unless this is given",
              WO_TO_READER(read_shard), .wants = "two numbers, I/N, with I from 0 to N-1"),
    WO_OPTION("since", "TIME", "only logs written since: a date, 2026-11-03T10:15, or\n7d, 12h ago;  {until}  likewise",
              .about = "only logs written since then", WO_TO_READER(wo_fleet_read_time),
              .at = offsetof(struct scan_args, fleet.since), .wants = "a date, or so long ago as 7d"),
    WO_OPTION("until", "TIME", NULL, WO_TO_READER(wo_fleet_read_time), .at = offsetof(struct scan_args, fleet.until),
              .wants = "a date, or so long ago as 7d", .about = "only logs written until then"),
    WO_OPTION("include", "GLOB", "only files of such names (or paths, with a /), also\nif their names are not those of logs",
              WO_TO_READER(read_pattern), .at = offsetof(struct scan_args, include), .wants = "a pattern"),
    WO_OPTION("exclude", "GLOB", "no files and folders of such names", WO_TO_READER(read_pattern),
              .at = offsetof(struct scan_args, exclude), .wants = "a pattern"),
    WO_OPTION("follow-links", NULL, "follow symbolic links", WO_TO_FLAG(struct scan_args, follows_links)),
    WO_OPTION("one-file-system", NULL, "stay on the file system of each DIR", WO_TO_FLAG(struct scan_args, is_one_file_system)),
    WO_OPTION("forget", "TIME", "drop jobs from the store that ended before", WO_TO_READER(wo_fleet_read_time),
              .at = offsetof(struct scan_args, forget), .wants = "a date, or so long ago as 90d"),
    WO_OPTION("no-progress", NULL, "no line of progress on the terminal", WO_TO_FLAG(struct scan_args, no_progress)),
    WO_FLEET_OPTIONS,
};

/* ---- The scan ---- */

/* `whyoom` alone on a terminal. */
static bool is_here(const struct wo_call *call) {
  return call->word_count == 0 && call->is_here;
}

struct run {
  const struct wo_call *call;
  const struct wo_scan_process *process;
  struct scan_args args;
  struct wo_store *store;
  int64_t now_ns;
  uint64_t job_count; /* that were found */
};

/* Without a folder it is the present one, alone. */
static struct wo_scan_settings make_settings(const struct run *run, struct wo_view rules) {
  static const char *const here[] = {""};
  const struct scan_args *const args = &run->args;
  const bool is_alone = is_here(run->call);
  return (struct wo_scan_settings){
      .roots = is_alone ? here : (const char *const *)run->call->words,
      .root_count = is_alone ? 1 : run->call->word_count,
      .walk = {.include = args->include.items,
               .include_count = args->include.count,
               .exclude = args->exclude.items,
               .exclude_count = args->exclude.count,
               .since_ns = wo_fleet_time(&args->fleet.since, run->now_ns),
               .until_ns = wo_fleet_time(&args->fleet.until, run->now_ns),
               .follows_links = args->follows_links,
               .is_one_file_system = args->is_one_file_system,
               .is_flat = is_alone,
               .shard = args->shard.shard,
               .shard_count = args->shard.shard_count},
      .threads = args->threads,
      .time_limit_s = run->call->time_limit_s,
      .no_prefilter = run->call->no_prefilter,
      .keeps_evidence = args->fleet.store.len > 0,
      .rules = rules,
  };
}

/* Files that the walk passed over are worth a line only where nothing else was found: then the names are not those that whyoom
 * knows. */
static void report_account(const struct wo_call *call, const struct wo_scan_account *account) {
  if (account->was_cancelled)
    wo_message(call->errors, (struct wo_view){0}, "interrupted: the report has the %llu jobs that were read until then",
               (unsigned long long)account->progress.jobs_done);
  if (account->progress.jobs_found == 0 && account->walk.nameless > 0)
    wo_message(call->errors, (struct wo_view){0},
               "no log was found by its name; %llu other files are there: --include '*.txt' reads those of such names",
               (unsigned long long)account->walk.nameless);
}

static enum wo_exit scan_into(struct run *run, const struct wo_pack *pack) {
  const struct wo_call *const call = run->call;
  struct wo_scan_hooks hooks = run->process->hooks;
  struct wo_scan_account account = {0};
  struct wo_err err = {0};
  char rules[WO_PACK_VERSION_BYTES];
  wo_pack_version(pack, rules);
  const struct wo_scan_settings settings = make_settings(run, wo_view_of(rules));
  if (run->args.no_progress) hooks.on_progress = NULL;
  const enum wo_status status = wo_fleet_scan(pack, run->store, &settings, &hooks, call->errors, &account, &err);
  if (status != WO_OK) {
    wo_message_error(call->errors, run->args.fleet.store, &err);
    return WO_EXIT_ERROR;
  }
  run->job_count = account.progress.jobs_found;
  if (!is_here(call)) report_account(call, &account);
  return account.problems > 0 || account.was_cancelled ? WO_EXIT_ERROR : WO_EXIT_FINE;
}

/* Retention. A scan that finds the logs again reads them again. */
static bool forget_old(const struct run *run) {
  struct wo_err err = {0};
  int64_t count = 0;
  if (!run->args.forget.is_given) return true;
  enum wo_status status = wo_store_begin(run->store, &err);
  if (status == WO_OK) status = wo_store_forget(run->store, wo_fleet_time(&run->args.forget, run->now_ns), &count, &err);
  if (status == WO_OK) status = wo_store_commit(run->store, &err);
  if (status != WO_OK) wo_message_error(run->call->errors, run->args.fleet.store, &err);
  if (status == WO_OK && count > 0)
    wo_message(run->call->errors, run->args.fleet.store, "%lld old jobs were dropped", (long long)count);
  return status == WO_OK;
}

static enum wo_exit scan_and_report(struct run *run, const struct wo_pack *pack) {
  const enum wo_exit scanned = scan_into(run, pack);
  if (scanned == WO_EXIT_ERROR && run->call->errors->is_failed) return WO_EXIT_ERROR;
  if (!forget_old(run)) return WO_EXIT_ERROR;
  if (is_here(run->call) && scanned == WO_EXIT_FINE && run->job_count == 0) {
    wo_help_add(run->call->commands.items[0].command, run->call->commands, run->call->out);
    return WO_EXIT_FINE;
  }
  struct wo_text roots = {0};
  for (size_t i = 0; i < run->call->word_count && run->args.fleet.store.len == 0; i++)
    wo_text_add(&roots, "%s%s", i > 0 ? "\n" : "", run->call->words[i]);
  run->args.fleet.roots = (struct wo_view){roots.ptr, roots.len};
  const enum wo_exit written = wo_fleet_write(run->call, run->store, &run->args.fleet, run->now_ns);
  wo_text_done(&roots);
  return scanned == WO_EXIT_ERROR ? WO_EXIT_ERROR : written;
}

/* ---- The call ---- */

/* The number of a task of SLURM is taken only where the rows go to a file: a report of a part alone would be taken for the
 * whole. */
static void choose_shard(struct run *run) {
  const struct wo_scan_shard *const own = &run->process->shard;
  struct shard *const shard = &run->args.shard;
  if (shard->is_given || own->shard_count < 2 || run->args.fleet.store.len == 0) return;
  *shard = (struct shard){true, own->shard, own->shard_count};
  wo_message(run->call->errors, (struct wo_view){0}, "shard %u of %u, by %s; --shard 0/1 is all of it", own->shard,
             own->shard_count, own->from);
}

static bool read_args(struct run *run) {
  struct wo_err err = {0};
  const struct wo_call *const call = run->call;
  run->args.threads = run->process->cores;
  if (wo_call_apply(call, &run->args, &err) == WO_OK && call->word_count == 0 && !is_here(call))
    wo_err_set(&err, WO_E_USAGE, "scan needs a folder: whyoom scan DIR");
  if (err.code == WO_OK && is_here(call) && call->format == WO_OUT_JSON)
    wo_err_set(&err, WO_E_USAGE, "--format json wants a log: the table of a folder is for people; whyoom scan . --format jsonl");
  if (err.code == WO_OK && run->args.forget.is_given && run->args.fleet.store.len == 0)
    wo_err_set(&err, WO_E_USAGE, "--forget needs --store");
  if (err.code == WO_OK && call->list_events) wo_err_set(&err, WO_E_USAGE, "--events is of one job: whyoom --events PATH...");
  if (err.code != WO_OK) wo_message_error(call->errors, (struct wo_view){0}, &err);
  choose_shard(run);
  return err.code == WO_OK;
}

enum wo_exit wo_run_scan(const struct wo_call *call, const struct wo_scan_process *process) {
  struct run run = {.call = call, .process = process};
  struct wo_err err = {0};
  if (process->hooks.clock_ns) run.now_ns = process->hooks.clock_ns(process->hooks.context);
  if (!read_args(&run)) return WO_EXIT_ERROR;
  struct wo_pack *const pack = wo_command_load(call, WO_LOAD_FOR_DIAGNOSIS);
  if (!pack) return WO_EXIT_ERROR;
  const struct wo_view path = run.args.fleet.store;
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_store_open(path.ptr, path.len > 0 ? WO_STORE_WRITE : WO_STORE_PRIVATE, &run.store, &err) == WO_OK)
    code = scan_and_report(&run, pack);
  else
    wo_message_error(call->errors, path, &err);
  wo_store_close(run.store);
  wo_pack_free(pack);
  return code;
}

bool wo_scan_is_meant(const struct wo_call *call) {
  struct stat info;
  if (call->word_count == 0) return call->is_stdin_terminal;
  for (size_t i = 0; i < call->word_count; i++) {
    if (stat(call->words[i], &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  }
  return true;
}

/* Both paths without links and dots, so that one can begin the other. */
static bool is_below(const char *folder, const char *path) {
  char *const real_folder = realpath(folder, NULL), *const real_path = realpath(path, NULL);
  const size_t len = real_folder ? strlen(real_folder) : 0;
  const bool is_root = len == 1;
  const bool is_inside =
      real_folder && real_path && strncmp(real_folder, real_path, len) == 0 && (is_root || real_path[len] == '/');
  free(real_folder);
  free(real_path);
  return is_inside;
}

bool wo_scan_reads(const struct wo_call *call, const char *path) {
  const bool is_scan = call->command == &wo_command_scan || wo_scan_is_meant(call);
  if (!is_scan || (!wo_name_is_stream(wo_view_of(path)) && !wo_name_is_archive(wo_view_of(path)))) return false;
  for (size_t i = 0; i < call->word_count; i++) {
    if (is_below(call->words[i], path)) return true;
  }
  return false;
}

const struct wo_command wo_command_scan = {
    .name = "scan",
    .summary = "every job of a folder of logs, with its cause; causes, nodes and hours lost",
    .usage = "scan [OPTION...] DIR...",
    .about = "Diagnoses all jobs whose logs are below DIR. Files are grouped into jobs by\n"
             "their names (a log, its .err, its script, its monitor trace, its accounting\n"
             "text). The report has what all jobs say together: causes by jobs and by\n"
             "GPU-hours lost, suspect nodes, jobs resubmitted unchanged, settings that\n"
             "separate the good members of a sweep from the bad; and the failed jobs.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .has_threads = true,
    .ending = "exit status: 0 no job failed; 1 some did; 2 wrong usage, or something could not\n"
              "be read (the rest is reported)\n",
};
