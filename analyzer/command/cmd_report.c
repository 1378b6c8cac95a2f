/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom report --store FILE` and `whyoom merge STORE...`: the report of a scan without scanning, of one store or of several. */
#include "analyzer/command/cmd_scan.h"
#include "analyzer/command/fleet_args.h"
#include "analyzer/pack/job_pack.h"

struct report_args {
  struct wo_fleet_args fleet; /* first */
  struct wo_view job;
};

/* ---- Shards ---- */

/* "shards 3 to 5 of 8 are missing". */
static bool report_shards(void *context, const struct wo_store_shards *shards) {
  static const char *const states[] = {
      [WO_STORE_SHARD_MISSING] = "missing",
      [WO_STORE_SHARD_STOPPED] = "not whole: the scan did not come to its end",
      [WO_STORE_SHARD_TWICE] = "there twice, from two stores: the later rows count",
      [WO_STORE_SHARD_BEHIND] = "older than most others",
  };
  struct wo_text *const notes = context;
  const bool is_one = shards->first == shards->last;
  if (shards->shard_count == 1)
    wo_text_add(notes, "the scan of ");
  else if (is_one)
    wo_text_add(notes, "shard %u of %u of ", shards->first, shards->shard_count);
  else
    wo_text_add(notes, "shards %u to %u of %u of ", shards->first, shards->last, shards->shard_count);
  struct wo_view roots = shards->roots;
  for (bool is_next = false; roots.len > 0; is_next = true) {
    if (is_next) wo_text_add(notes, ", ");
    wo_text_add_clean(notes, wo_view_cut(&roots, '\n'));
  }
  wo_text_add(notes, " %s %s\n", is_one ? "is" : "are", states[shards->state]);
  return true;
}

enum wo_exit wo_report_store(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                             int64_t now_ns) {
  struct wo_text notes = {0};
  struct wo_err err = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_store_check_shards(store, report_shards, &notes, &err) == WO_OK && !notes.is_failed) {
    code = wo_fleet_write(call, store, args, now_ns);
    for (struct wo_view lines = {notes.ptr, notes.len}; lines.len > 0;) {
      const struct wo_view line = wo_view_cut(&lines, '\n');
      wo_message(call->errors, (struct wo_view){0}, "%.*s", WO_SHOWN(line));
    }
  } else {
    wo_message_error(call->errors, args->store, &err);
  }
  if (notes.len > 0) code = WO_EXIT_ERROR;
  wo_text_done(&notes);
  return code;
}

/* ---- report ---- */

/* Jobs of one name that are reported one after the other. */
enum { JOBS_MAX = 16 };

struct found_jobs {
  int64_t ids[JOBS_MAX];
  size_t count, left_out;
};

static bool take_job(void *context, int64_t id, const struct wo_row *row) {
  struct found_jobs *const found = context;
  (void)row;
  if (found->count < JOBS_MAX)
    found->ids[found->count++] = id;
  else
    found->left_out++;
  return true;
}

/* The report of a job from the evidence that was kept when its files were read. */
static enum wo_exit report_job(const struct wo_call *call, const struct wo_pack *pack, struct wo_store *store, int64_t id) {
  struct wo_arena arena;
  struct wo_view evidence = {0};
  struct wo_job *job = NULL;
  struct wo_err err = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  enum wo_status status = wo_store_evidence(store, id, &arena, &evidence, &err);
  if (status == WO_OK && evidence.len == 0) status = wo_err_set(&err, WO_E_UNKNOWN, "its evidence was not kept: read its log");
  if (status == WO_OK) status = wo_job_unpack(evidence, pack, &job, &err);
  if (status == WO_OK) job->pseudonyms = call->pseudonyms;
  if (status == WO_OK) status = wo_job_close(job);
  if (status == WO_OK)
    code = wo_command_write_report(call, NULL, job, pack);
  else
    wo_message_error(call->errors, wo_view_of("--job"), &err);
  wo_job_free(job);
  wo_arena_done(&arena);
  return code;
}

/* Each job of that id, or the one of that path. */
static enum wo_exit report_jobs(const struct wo_call *call, struct wo_store *store, struct wo_view name) {
  struct wo_fleet_filter filter = wo_fleet_all();
  struct found_jobs found = {0};
  struct wo_text where = {0};
  struct wo_err err = {0};
  filter.job = name;
  wo_fleet_add_where(&where, &filter);
  wo_text_add_view(&where, (struct wo_view){"", 1});
  enum wo_status status = where.is_failed ? wo_err_nomem(&err) : wo_store_each(store, where.ptr, take_job, &found, &err);
  if (status == WO_OK && found.count == 0)
    status = wo_err_set(&err, WO_E_UNKNOWN, "the store has no such job: name an id, or a path as the report has it");
  wo_text_done(&where);
  struct wo_pack *const pack = status == WO_OK ? wo_command_load(call, WO_LOAD_FOR_DIAGNOSIS) : NULL;
  enum wo_exit code = pack ? WO_EXIT_FINE : WO_EXIT_ERROR;
  for (size_t i = 0; pack && i < found.count; i++) {
    if (i > 0 && call->format == WO_OUT_TEXT) wo_text_add(call->out, "\n");
    const enum wo_exit one = report_job(call, pack, store, found.ids[i]);
    if (one > code) code = one;
  }
  if (status != WO_OK) wo_message_error(call->errors, wo_view_of("--job"), &err);
  if (found.left_out > 0) wo_message(call->errors, wo_view_of("--job"), "%zu more jobs of that name", found.left_out);
  wo_pack_free(pack);
  return code;
}

static bool refuse(const struct wo_call *call, const char *what) {
  wo_message(call->errors, (struct wo_view){0}, "%s", what);
  return false;
}

static bool read_args(const struct wo_call *call, struct report_args *args) {
  struct wo_err err = {0};
  if (wo_call_apply(call, args, &err) == WO_OK) return true;
  wo_message_error(call->errors, (struct wo_view){0}, &err);
  return false;
}

enum wo_exit wo_run_report(const struct wo_call *call, int64_t now_ns) {
  struct report_args args = {0};
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  if (!read_args(call, &args)) return WO_EXIT_ERROR;
  if (args.fleet.store.len == 0) return refuse(call, "report needs a store: whyoom report --store FILE"), WO_EXIT_ERROR;
  if (call->word_count > 0) return refuse(call, "report takes no words; of a folder: whyoom scan DIR"), WO_EXIT_ERROR;
  if (wo_store_open(args.fleet.store.ptr, WO_STORE_READ, &store, &err) != WO_OK) {
    wo_message_error(call->errors, args.fleet.store, &err);
    return WO_EXIT_ERROR;
  }
  const enum wo_exit code =
      args.job.len > 0 ? report_jobs(call, store, args.job) : wo_report_store(call, store, &args.fleet, now_ns);
  wo_store_close(store);
  return code;
}

/* ---- merge ---- */

/* A store that cannot be merged is named, and the others are merged all the same. */
static bool merge_all(const struct wo_call *call, struct wo_store *store) {
  bool is_whole = true;
  for (size_t i = 0; i < call->word_count; i++) {
    struct wo_err err = {0};
    if (wo_store_merge(store, call->words[i], &err) == WO_OK) continue;
    wo_message_error(call->errors, wo_view_of(call->words[i]), &err);
    is_whole = false;
  }
  return is_whole;
}

enum wo_exit wo_run_merge(const struct wo_call *call, int64_t now_ns) {
  struct report_args args = {0};
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  if (!read_args(call, &args)) return WO_EXIT_ERROR;
  if (call->word_count == 0) return refuse(call, "merge needs stores: whyoom merge part-*.db"), WO_EXIT_ERROR;
  const struct wo_view path = args.fleet.store;
  if (wo_store_open(path.ptr, path.len > 0 ? WO_STORE_WRITE : WO_STORE_PRIVATE, &store, &err) != WO_OK) {
    wo_message_error(call->errors, path, &err);
    return WO_EXIT_ERROR;
  }
  const bool is_whole = merge_all(call, store);
  const enum wo_exit code = wo_report_store(call, store, &args.fleet, now_ns);
  wo_store_close(store);
  return is_whole ? code : WO_EXIT_ERROR;
}

/* ---- The commands ---- */

#define STORE_OPTION(about)                                                                                                      \
  WO_OPTION("store", "FILE", about, WO_TO_TEXT(struct wo_fleet_args, store), .wants = "the name of a file")

#define TIME_OPTIONS                                                                                                             \
  WO_OPTION("since", "TIME", "only jobs that ended since: a date, 2026-11-03T10:15,\nor 7d, 12h ago;  {until}  likewise",        \
            .about = "only jobs that ended since then", WO_TO_READER(wo_fleet_read_time),                                        \
            .at = offsetof(struct wo_fleet_args, since), .wants = "a date, or so long ago as 7d"),                               \
      WO_OPTION("until", "TIME", NULL, WO_TO_READER(wo_fleet_read_time), .at = offsetof(struct wo_fleet_args, until),            \
                .wants = "a date, or so long ago as 7d", .about = "only jobs that ended until then")

static const struct wo_option report_options[] = {
    STORE_OPTION("the store of `whyoom scan --store FILE`"),
    WO_OPTION("job", "JOB", "the whole report of one job: its id, or the path\nof its log", WO_TO_TEXT(struct report_args, job),
              .wants = "an id or a path"),
    TIME_OPTIONS,
    WO_FLEET_OPTIONS,
};

static const struct wo_option merge_options[] = {
    STORE_OPTION("merge into this store, and keep it"),
    TIME_OPTIONS,
    WO_FLEET_OPTIONS,
};

const struct wo_command wo_command_report = {
    .name = "report",
    .summary = "the report of a scan again, from its store; one job of it in full",
    .usage = "report --store FILE [--job JOB] [OPTION...]",
    .first_path = WO_NO_PATHS,
    .about = "Reports the jobs that `whyoom scan --store FILE` has put into a store, without\n"
             "reading their logs again.\n",
    .options = report_options,
    .option_count = sizeof report_options / sizeof report_options[0],
    .ending = "exit status: 0 no job failed; 1 some did; 2 wrong usage, or the store could not\n"
              "be read, or shards are missing in it (the rest is reported)\n",
    .examples = "# what the last scan found, without reading a log\n"
                "whyoom report --store fleet.db\n"
                "# one of its jobs in full, also when its log is gone\n"
                "whyoom report --store fleet.db --job 4711\n"
                "# the jobs of one user in the last week, as a table\n"
                "whyoom report --store fleet.db --user ada --since 7d --format csv\n",
};

const struct wo_command wo_command_merge = {
    .name = "merge",
    .summary = "one report of several stores, as the tasks of a job array leave them",
    .usage = "merge STORE... [--store FILE] [OPTION...]",
    .first_path = 0,
    .about = "Reports several stores together; names shards that are missing, did not come to\n"
             "their end or came twice. A job that several stores have counts once, as the\n"
             "latest scan diagnosed it.\n",
    .options = merge_options,
    .option_count = sizeof merge_options / sizeof merge_options[0],
    .ending = "exit status: 0 no job failed; 1 some did; 2 wrong usage, or a store could not\n"
              "be read, or shards are missing (the rest is reported)\n",
    .examples = "# the stores of two clusters in one report\n"
                "whyoom merge fleet.db more.db\n"
                "# the same, kept as a store for later reports\n"
                "whyoom merge fleet.db more.db --store all.db\n",
};
