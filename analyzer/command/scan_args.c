/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `whyoom scan`. See scan_args.h. */
#include "analyzer/command/scan_args.h"

#include <sys/stat.h>

#include "parsers/base/number.h"
#include "parsers/base/units.h"

/* ---- Options ---- */

static bool read_pattern(void *target, const struct wo_option_value *value) {
  struct wo_scan_patterns *const patterns = (struct wo_scan_patterns *)(void *)((char *)target + value->option->at);
  if (patterns->count == WO_SCAN_PATTERNS) {
    wo_err_set(value->err, WO_E_LIMIT, "--%s can be given %d times", value->option->name, WO_SCAN_PATTERNS);
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
  ((struct wo_scan_args *)target)->shard = (struct wo_given_shard){true, (uint32_t)shard, (uint32_t)count};
  return true;
}

/* "30s": from a second to a day. */
static bool read_span(void *target, const struct wo_option_value *value) {
  struct wo_view rest = value->text;
  uint64_t count = 0;
  if (wo_number_u64(&rest, 86400, &count) != WO_OK || rest.len != 1) return false;
  const char unit = rest.ptr[0];
  const uint64_t seconds = count * (unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0);
  if (seconds == 0 || seconds > 86400) return false;
  *(int64_t *)(void *)((char *)target + value->option->at) = (int64_t)seconds * WO_NS_PER_S;
  return true;
}

const struct wo_option wo_scan_option_rows[WO_SCAN_OPTION_COUNT] = {
    WO_OPTION("store", "FILE", "keep the rows in a SQLite file: files that have not\nchanged are not read again",
              .path = WO_PATH_NONE, WO_TO_TEXT(struct wo_fleet_args, store), .wants = "the name of a file"),
    WO_OPTION("threads", "N", "threads that diagnose (default: one for each core)", .kind = WO_OPTION_NUMBER,
              .at = offsetof(struct wo_scan_args, threads), .least = 1, .most = WO_LIMIT_THREADS, .wants = "a number of threads"),
    WO_OPTION("shard", "I/N",
              "only part I (from 0) of N of the jobs; in an array of\nSLURM its task decides, unless this is given",
              WO_TO_READER(read_shard), .wants = "two numbers, I/N, with I from 0 to N-1"),
    WO_OPTION("since", "TIME", "only logs written since: a date, 2026-11-03T10:15, or\n7d, 12h ago;  {until}  likewise",
              .about = "only logs written since then", WO_TO_READER(wo_fleet_read_time),
              .at = offsetof(struct wo_scan_args, fleet.since), .wants = "a date, or so long ago as 7d"),
    WO_OPTION("until", "TIME", NULL, WO_TO_READER(wo_fleet_read_time), .at = offsetof(struct wo_scan_args, fleet.until),
              .wants = "a date, or so long ago as 7d", .about = "only logs written until then"),
    WO_OPTION("include", "GLOB", "only files of such names (or paths, with a /), also\nif their names are not those of logs",
              WO_TO_READER(read_pattern), .at = offsetof(struct wo_scan_args, include), .wants = "a pattern"),
    WO_OPTION("exclude", "GLOB", "no files and folders of such names", WO_TO_READER(read_pattern),
              .at = offsetof(struct wo_scan_args, exclude), .wants = "a pattern"),
    WO_OPTION("follow-links", NULL, "follow symbolic links", WO_TO_FLAG(struct wo_scan_args, follows_links)),
    WO_OPTION("one-file-system", NULL, "stay on the file system of each DIR",
              WO_TO_FLAG(struct wo_scan_args, is_one_file_system)),
    WO_OPTION("forget", "TIME", "drop jobs from the store that ended before", WO_TO_READER(wo_fleet_read_time),
              .at = offsetof(struct wo_scan_args, forget), .wants = "a date, or so long ago as 90d"),
    WO_OPTION("no-progress", NULL, "no line of progress on the terminal", WO_TO_FLAG(struct wo_scan_args, no_progress)),
    WO_OPTION("follow", NULL, "go on: a row for each job as it ends, until Ctrl-C", WO_TO_FLAG(struct wo_scan_args, is_follow)),
    WO_OPTION("exec", "COMMAND", "with {follow}: run it for each failed job, whose row is\nits standard input, as JSON",
              WO_TO_TEXT(struct wo_scan_args, exec), .wants = "a command",
              .about = "a command for each failed job, with its row as input"),
    WO_OPTION("settle", "TIME", "with {follow}: a failed job has ended when nothing was\nwritten for so long (default 60s)",
              WO_TO_READER(read_span), .at = offsetof(struct wo_scan_args, settle_ns), .wants = "a time as 30s, 5m or 1h",
              .about = "silence after which a failed job has ended"),
    WO_OPTION("poll", "TIME", "with {follow}: look at all folders so often, also where\nthe system tells what changes",
              WO_TO_READER(read_span), .at = offsetof(struct wo_scan_args, poll_ns), .wants = "a time as 30s, 5m or 1h",
              .about = "how often all folders are looked at"),
    WO_FLEET_OPTIONS,
};

/* ---- What they mean ---- */

bool wo_scan_is_here(const struct wo_call *call) {
  return call->word_count == 0 && call->is_here;
}

/* Without a folder it is the present one, alone. */
struct wo_scan_settings wo_scan_make_settings(const struct wo_scan_run *run, struct wo_view rules) {
  static const char *const here[] = {""};
  const struct wo_scan_args *const args = &run->args;
  const bool is_alone = wo_scan_is_here(run->call);
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

/* The number of a task of SLURM is taken only where the rows go to a file: a report of a part alone would be taken for the
 * whole. */
static void choose_shard(struct wo_scan_run *run) {
  const struct wo_scan_shard *const own = &run->process->shard;
  struct wo_given_shard *const shard = &run->args.shard;
  if (shard->is_given || own->shard_count < 2 || run->args.fleet.store.len == 0) return;
  *shard = (struct wo_given_shard){true, own->shard, own->shard_count};
  wo_message(run->call->errors, (struct wo_view){0}, "shard %u of %u, by %s; --shard 0/1 is all of it", own->shard,
             own->shard_count, own->from);
}

static const char *find_wrong(const struct wo_scan_run *run) {
  const struct wo_call *const call = run->call;
  const struct wo_fleet_args *const fleet = &run->args.fleet;
  if (call->format == WO_OUT_HTML || call->format == WO_OUT_MARKDOWN)
    return "--follow writes a row for each job as it ends: --format text, jsonl, csv or jobid; for a whole report keep a "
           "--store, "
           "and whyoom report --store FILE --format html";
  if (call->output.len > 0) return "--follow writes rows as jobs end, and --output a file at the end: use > FILE or >> FILE";
  if (fleet->with_fleet || fleet->baseline.len > 0 || fleet->against.len > 0 || fleet->rows > 0)
    return "--follow has no lists over all jobs: keep a --store, and whyoom report --store FILE";
  if (fleet->until.is_given) return "--follow has no end, so --until has no meaning with it";
  if (run->args.exec.len > 0 && call->sandbox == WO_SANDBOX_ON)
    return "--sandbox: --exec does more than read, and the sandbox would not let it";
  return NULL;
}

static bool check_follow(const struct wo_scan_run *run, struct wo_err *err) {
  const struct wo_scan_args *const args = &run->args;
  const char *const wrong = args->is_follow ? find_wrong(run)
                            : args->exec.len > 0 || args->settle_ns > 0 || args->poll_ns > 0
                                ? "--exec, --settle and --poll go with --follow"
                                : NULL;
  if (wrong) wo_err_set(err, WO_E_USAGE, "%s", wrong);
  for (size_t i = 0; i < run->call->word_count && args->is_follow && !wrong; i++) {
    struct stat info;
    if (stat(run->call->words[i], &info) == 0 && S_ISDIR(info.st_mode)) continue;
    wo_err_set(err, WO_E_USAGE, "--follow needs folders that are there: %s is none", run->call->words[i]);
  }
  return err->code == WO_OK;
}

bool wo_scan_read_args(struct wo_scan_run *run) {
  struct wo_err err = {0};
  const struct wo_call *const call = run->call;
  run->args.threads = run->process->cores;
  if (wo_call_apply(call, &run->args, &err) == WO_OK && call->word_count == 0 && !wo_scan_is_here(call))
    wo_err_set(&err, WO_E_USAGE, "scan needs a folder: whyoom scan DIR");
  if (err.code == WO_OK && wo_scan_is_here(call) && call->format == WO_OUT_JSON)
    wo_err_set(&err, WO_E_USAGE, "--format json wants a log: the table of a folder is for people; whyoom scan . --format jsonl");
  if (err.code == WO_OK && run->args.forget.is_given && run->args.fleet.store.len == 0)
    wo_err_set(&err, WO_E_USAGE, "--forget needs --store");
  if (err.code == WO_OK && call->list_events) wo_err_set(&err, WO_E_USAGE, "--events is of one job: whyoom --events PATH...");
  if (err.code == WO_OK) check_follow(run, &err);
  if (err.code != WO_OK) wo_message_error(call->errors, (struct wo_view){0}, &err);
  choose_shard(run);
  return err.code == WO_OK;
}

/* Retention. A scan that finds the logs again reads them again. */
bool wo_scan_forget_old(const struct wo_scan_run *run) {
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
