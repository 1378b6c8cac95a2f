/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom scan DIR...`: diagnoses every job of an archive and reports them together.
 *
 * The rows go through a store, a private one unless --store names a file, and the report is made from that store alone. */
#include "analyzer/command/scan_args.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/command/help.h"
#include "analyzer/files/names.h"
#include "analyzer/intake/intake.h"

/* ---- The scan ---- */

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

static enum wo_exit scan_into(struct wo_scan_run *run, const struct wo_pack *pack) {
  const struct wo_call *const call = run->call;
  struct wo_scan_hooks hooks = run->process->hooks;
  struct wo_scan_account account = {0};
  struct wo_err err = {0};
  char rules[WO_PACK_VERSION_BYTES];
  wo_pack_version(pack, rules);
  const struct wo_scan_settings settings = wo_scan_make_settings(run, wo_view_of(rules));
  if (run->args.no_progress) hooks.on_progress = NULL;
  const enum wo_status status = wo_fleet_scan(pack, run->store, &settings, &hooks, call->errors, &account, &err);
  if (status != WO_OK) {
    wo_message_error(call->errors, run->args.fleet.store, &err);
    return WO_EXIT_ERROR;
  }
  run->job_count = account.progress.jobs_found;
  if (!wo_scan_is_here(call)) report_account(call, &account);
  return account.problems > 0 || account.was_cancelled ? WO_EXIT_ERROR : WO_EXIT_FINE;
}

static enum wo_exit scan_and_report(struct wo_scan_run *run, const struct wo_pack *pack) {
  const enum wo_exit scanned = scan_into(run, pack);
  if (scanned == WO_EXIT_ERROR && run->call->errors->is_failed) return WO_EXIT_ERROR;
  if (!wo_scan_forget_old(run)) return WO_EXIT_ERROR;
  if (wo_scan_is_here(run->call) && scanned == WO_EXIT_FINE && run->job_count == 0) {
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

enum wo_exit wo_run_scan(const struct wo_call *call, const struct wo_scan_process *process) {
  struct wo_scan_run run = {.call = call, .process = process};
  struct wo_err err = {0};
  if (process->hooks.clock_ns) run.now_ns = process->hooks.clock_ns(process->hooks.context);
  if (!wo_scan_read_args(&run)) return WO_EXIT_ERROR;
  struct wo_pack *const pack = wo_command_load(call, WO_LOAD_FOR_DIAGNOSIS);
  if (!pack) return WO_EXIT_ERROR;
  const struct wo_view path = run.args.fleet.store;
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_store_open(path.ptr, path.len > 0 ? WO_STORE_WRITE : WO_STORE_PRIVATE, &run.store, &err) == WO_OK)
    code = run.args.is_follow ? wo_run_follow(&run, pack) : scan_and_report(&run, pack);
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
  return wo_intake_has_many_jobs(call->words, call->word_count);
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
             "separate the good members of a sweep from the bad; and the failed jobs.\n"
             "With --follow there is a row for each job as it ends instead.\n",
    .options = wo_scan_option_rows,
    .option_count = WO_SCAN_OPTION_COUNT,
    .has_threads = true,
    .ending = "exit status: 0 no job failed; 1 some did; 2 wrong usage, or something could not\n"
              "be read (the rest is reported)\n",
    .examples = "# all jobs of a folder: causes, hours lost, the failed jobs\n"
                "whyoom scan logs\n"
                "# every night: only files that have changed are read again\n"
                "whyoom scan logs --store fleet.db --format html -o fleet.html\n"
                "# the ids of the jobs with one cause, for another program\n"
                "whyoom scan logs --cause oversized-micro-batch --format jobid\n"
                "# a mail for each job that fails, as it ends\n"
                "whyoom scan --follow logs --exec 'mail -s \"$WHYOOM_JOB_ID failed\" ada'\n",
};
