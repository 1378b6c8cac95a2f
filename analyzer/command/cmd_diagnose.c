/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom [PATH...|-]`: reads all inputs as one job and reports it.
 *
 * A file that cannot be read is reported on stderr and noted in the report, and the rest is diagnosed. The exit status is then
 * that of an error, so that scripts notice. */
#include "analyzer/command/commands.h"
#include "analyzer/intake/intake.h"
#include "analyzer/intake/siblings.h"
#include "analyzer/scan/read_job.h"
#include "analyzer/show/show.h"
#include "parsers/base/limits.h"

/* Messages of one sort that are written one by one; the rest is counted. */
enum { MESSAGES_MAX = 20 };

/* Reads one input; false when something of it could not be read. */
static bool read_path(const struct wo_call *call, struct wo_job *job, const char *path, struct wo_text *errors) {
  const bool has_limit = call->time_limit_s > 0;
  if (has_limit) call->timer->start(call->time_limit_s);
  const volatile sig_atomic_t *const is_up = has_limit ? call->timer->is_up : call->stop;
  const bool is_text = call->text.ptr && strcmp(path, "-") == 0;
  const bool is_good =
      is_text ? wo_read_text(job, call->text, call->text_name, is_up, errors) : wo_read_path(job, path, is_up, errors);
  if (has_limit) call->timer->start(0);
  return is_good;
}

/* Reads all inputs and returns the number of those that could not be read; the messages about the first ones are kept. */
static size_t read_paths(const struct wo_call *call, struct wo_job *job, char **paths, size_t count) {
  struct wo_text *const errors = call->errors;
  struct wo_text unheard = {0};
  size_t failed = 0;
  for (size_t i = 0; i < count; i++) {
    if (!read_path(call, job, paths[i], failed < MESSAGES_MAX ? errors : &unheard)) failed++;
    unheard.len = 0;
  }
  wo_text_done(&unheard);
  if (failed > MESSAGES_MAX) wo_message(errors, (struct wo_view){0}, "%zu more inputs could not be read", failed - MESSAGES_MAX);
  return failed;
}

/* Notes on inputs that were not read in the usual way go to the errors too: the report may go to a file. */
static void write_notes(const struct wo_job *job, struct wo_text *errors) {
  size_t count = 0;
  for (size_t i = 0; i < job->input_count; i++) {
    const struct wo_job_input *input = &job->inputs[i];
    const bool is_replayed = input->is_recording && job->input_count > 1; /* the report says what it shows */
    for (size_t k = 0; k < input->note_count && !input->is_unreadable && !is_replayed; k++) {
      if (count++ < MESSAGES_MAX) wo_message(errors, input->path, "%.*s", WO_SHOWN(input->notes[k]));
    }
  }
  if (count > MESSAGES_MAX) wo_message(errors, (struct wo_view){0}, "%zu more notes on inputs", count - MESSAGES_MAX);
}

/* The longest line of --events: too long for a small stack. */
enum { EVENT_BYTES = 8192 };

/* One line per piece of evidence, in the order of the inputs, for work on patterns. A line that does not fit is cut; JSON has
 * everything. */
static void write_events(const struct wo_job *job, struct wo_text *out) {
  char *const line = malloc(EVENT_BYTES);
  if (!line) out->is_failed = true;
  for (size_t i = 0; line && i < job->events.count; i++) {
    wo_text_add(out, "%s\n", wo_event_to_text(&job->events.items[i], line, EVENT_BYTES));
  }
  free(line);
}

/* Makes the report and writes it in the requested form. A failure that no rule explains counts too: a script must not take such a
 * job for a success. */
enum wo_exit wo_command_write_report(const struct wo_call *call, const struct wo_prover *prover, const struct wo_job *job,
                                     const struct wo_pack *pack) {
  struct wo_report *report = NULL;
  if (wo_report_make(job, pack, &report) != WO_OK) return WO_EXIT_ERROR;
  wo_show_report(call, prover, report);
  const bool is_failed = wo_report_tells_failure(report) || job->story.failure != WO_EVENT_NONE;
  wo_report_free(report);
  return is_failed ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

/* Reads the paths as they are. *ret_job is set only where there is a job to look at. */
static enum wo_exit read_job(const struct wo_call *call, const struct wo_pack *pack, char **paths, size_t count,
                             struct wo_job **ret_job) {
  struct wo_job *job = NULL;
  if (wo_job_new(pack, &job) != WO_OK) return WO_EXIT_ERROR;
  job->is_named = true;
  job->no_prefilter = call->no_prefilter;
  if (call->format == WO_OUT_HTML) wo_job_keep_curves(job);
  job->pseudonyms = call->pseudonyms;
  wo_job_expect(job, (const char *const *)paths, count);
  const bool is_complete = read_paths(call, job, paths, count) == 0;
  if (wo_job_close(job) != WO_OK) {
    wo_job_free(job);
    return WO_EXIT_ERROR;
  }
  write_notes(job, call->errors);
  *ret_job = job;
  return is_complete ? WO_EXIT_FINE : WO_EXIT_ERROR;
}

/* The .out of a failed job says nothing of its .err, so the other logs of the job are read too. */
static enum wo_exit read_with_siblings(const struct wo_call *call, const struct wo_pack *pack, struct wo_kept_folder *kept,
                                       const struct wo_intake_job *paths, struct wo_job **ret_job) {
  struct wo_arena arena;
  size_t count = 0;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  char **const all = wo_intake_add_logs(&arena, kept, paths->paths, paths->count, call->errors, &count);
  const enum wo_exit code = all != NULL ? read_job(call, pack, all, count, ret_job) : WO_EXIT_ERROR;
  wo_arena_done(&arena);
  return code;
}

/* Names the first jobs that the words are of: "4711, 4712". `takes`: "`whyoom budget` takes". */
static void refuse_jobs(const struct wo_call *call, const struct wo_intake *intake, const char *takes, const char *instead) {
  struct wo_text names = {0};
  for (size_t i = 0; i < intake->job_count && i < MESSAGES_MAX; i++) {
    wo_text_add(&names, i > 0 ? ", " : "");
    wo_text_add_clean(&names, intake->jobs[i].name);
  }
  const struct wo_view shown = {names.ptr, names.len};
  wo_message(call->errors, (struct wo_view){0}, "%s the files of one job, and these are of %zu: %.*s%s", takes, intake->job_count,
             WO_SHOWN(shown), instead);
  wo_text_done(&names);
}

enum wo_exit wo_command_read_job(const struct wo_call *call, const struct wo_pack *pack, char **words, size_t count,
                                 struct wo_job **ret_job) {
  const struct wo_intake_job nothing = {.paths = words};
  struct wo_intake intake;
  struct wo_kept_folder kept = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  *ret_job = NULL;
  bool has_memory = wo_intake_make(words, count, call->errors, &intake) == WO_OK;
  if (has_memory && intake.job_count > 1) {
    char takes[64];
    snprintf(takes, sizeof takes, "`whyoom %s` takes", call->command->name);
    refuse_jobs(call, &intake, takes, "");
  } else if (has_memory && (intake.job_count == 1 || count == 0)) {
    code = read_with_siblings(call, pack, &kept, count == 0 ? &nothing : &intake.jobs[0], ret_job);
    if (intake.is_incomplete) code = WO_EXIT_ERROR;
    has_memory = *ret_job != NULL;
  }
  if (!has_memory) wo_command_fail_memory(call);
  wo_kept_folder_done(&kept);
  wo_intake_done(&intake);
  return code;
}

/* Whether the input says nothing of how a job went: it is blank, a recording, or no text. A file that could not be opened is none
 * of these. */
static bool is_silent(const struct wo_job_input *input) {
  return input->is_blank || input->is_recording ||
         (input->is_unreadable && input->bytes > 0 && wo_view_is(input->format, "unknown"));
}

/* Without a text "no failure found" would be wrong. Names the inputs that are blank: the others have their messages. */
static bool has_text(const struct wo_call *call, const struct wo_job *job) {
  for (size_t i = 0; i < job->input_count; i++) {
    if (!is_silent(&job->inputs[i])) return true;
  }
  if (job->input_count == 0 || job->story.failure != WO_EVENT_NONE) return true;
  for (size_t i = 0; i < job->input_count && i < MESSAGES_MAX; i++) {
    if (job->inputs[i].is_blank) wo_message(call->errors, job->inputs[i].path, "is empty: there is nothing to read");
  }
  return false;
}

/* An archive can hold the logs of several jobs, which its names show only while it is read. They are no one job, and a scan tells
 * them apart. */
static bool is_of_several_jobs(const struct wo_call *call, const struct wo_job *job, size_t path_count) {
  struct wo_arena arena;
  struct wo_view first = {0}, second = {0};
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  const char **const paths = wo_arena_array(&arena, job->input_count + 1, sizeof *paths);
  for (size_t i = 0; paths != NULL && i < job->input_count; i++) paths[i] = job->inputs[i].path.ptr;
  const bool is_several =
      paths != NULL && job->input_count > path_count && wo_intake_are_apart(paths, job->input_count, &arena, &first, &second);
  if (is_several)
    wo_message(call->errors, (struct wo_view){0},
               "the archive has logs of several jobs (%.*s, %.*s): `whyoom scan ARCHIVE` reports them, `whyoom ARCHIVE/NAME` one "
               "log in it",
               WO_SHOWN(first), WO_SHOWN(second));
  wo_arena_done(&arena);
  return is_several;
}

/* Diagnoses one job; `call` has its files as words. If an input could not be read, the exit code is that of an error whatever was
 * found, and --exit-zero does not change it. */
static enum wo_exit diagnose_job(const struct wo_call *call, const struct wo_prover *prover, const struct wo_pack *pack,
                                 struct wo_kept_folder *kept, const struct wo_intake_job *paths) {
  struct wo_job *job = NULL;
  const enum wo_exit reading = read_with_siblings(call, pack, kept, paths, &job);
  enum wo_exit code = WO_EXIT_ERROR;
  if (job && (is_of_several_jobs(call, job, job->path_count) || !has_text(call, job))) {
    wo_job_free(job);
    return WO_EXIT_ERROR;
  }
  if (job) {
    code = WO_EXIT_FINE;
    if (call->list_events) {
      write_events(job, call->out);
    } else {
      code = wo_command_write_report(call, prover, job, pack);
    }
  }
  if (code == WO_EXIT_ERROR) wo_command_fail_memory(call);
  wo_job_free(job);
  if (reading == WO_EXIT_ERROR) return WO_EXIT_ERROR;
  return call->exit_zero && code == WO_EXIT_FAILURE_FOUND ? WO_EXIT_FINE : code;
}

/* ---- Several jobs ---- */

/* Jobs from which on a table is easier to read, and names of files that the line above a report shows. */
enum { JOBS_FOR_A_TABLE = 10, PATHS_SHOWN = 4 };

/* "==> job 4711: slurm-4711.out, slurm-4711.err <==", as head and tail print it. Programs that read JSON find the files in it. */
static void add_heading(const struct wo_call *call, const struct wo_intake_job *job, bool is_first) {
  struct wo_text *const out = call->out;
  if (call->format == WO_OUT_MARKDOWN && !is_first) wo_text_add(out, "\n---\n\n");
  if (call->format != WO_OUT_TEXT) return;
  struct wo_arena arena; /* of pseudonyms */
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  wo_text_add(out, is_first ? "==> job " : "\n==> job ");
  wo_text_add_clean(out, wo_pseudonyms_text(call->pseudonyms, job->name, &arena));
  for (size_t i = 0; i < job->count && i < PATHS_SHOWN; i++) {
    wo_text_add(out, i == 0 ? ": " : ", ");
    wo_text_add_clean(out, wo_pseudonyms_path(call->pseudonyms, wo_view_of(job->paths[i]), &arena));
  }
  if (job->count > PATHS_SHOWN) wo_text_add(out, " and %zu more", job->count - PATHS_SHOWN);
  wo_text_add(out, " <==\n");
  wo_arena_done(&arena);
}

/* One report after the other, each written out before the next job is read. An input that cannot be read is worse than a failure,
 * and a failure worse than none. */
static enum wo_exit diagnose_jobs(const struct wo_call *call, const struct wo_prover *prover, const struct wo_pack *pack,
                                  const struct wo_intake *intake) {
  enum wo_exit code = intake->is_incomplete ? WO_EXIT_ERROR : WO_EXIT_FINE;
  struct wo_kept_folder kept = {0};
  bool is_drained = true;
  if (call->format == WO_OUT_HTML && intake->job_count > 1) {
    refuse_jobs(call, intake, "--format html makes one page of",
                " (`whyoom scan --format html` makes a page of all jobs in a folder)");
    return WO_EXIT_ERROR;
  }
  if (intake->job_count > JOBS_FOR_A_TABLE)
    wo_message(call->errors, (struct wo_view){0},
               "%zu jobs, one report for each: `whyoom scan` with their folder makes one table", intake->job_count);
  for (size_t i = 0; i < intake->job_count && is_drained; i++) {
    struct wo_call one = *call;
    one.words = intake->jobs[i].paths;
    one.word_count = intake->jobs[i].count;
    if (intake->job_count > 1) add_heading(call, &intake->jobs[i], i == 0);
    const enum wo_exit found = diagnose_job(&one, prover, pack, &kept, &intake->jobs[i]);
    if (found > code) code = found;
    is_drained = i + 1 == intake->job_count || !call->drain || call->drain(call);
  }
  wo_kept_folder_done(&kept);
  return is_drained ? code : WO_EXIT_ERROR;
}

bool wo_command_is_slurm_log(const char *name) {
  const struct wo_view view = wo_view_of(name);
  return wo_view_starts(view, "slurm-") && (wo_view_ends(view, ".out") || wo_view_ends(view, ".err"));
}

/* Without a path standard input is read. On a terminal, where that would seem to hang, main.c has made it a scan. */
enum wo_exit wo_run_diagnose(const struct wo_call *call, const struct wo_prover *prover) {
  char dash[] = "-";
  char *standard_input[] = {dash};
  const bool has_words = call->word_count > 0;
  struct wo_intake intake;
  if (wo_command_is_meant(call)) return WO_EXIT_ERROR;
  struct wo_pack *pack = wo_command_load(call, WO_LOAD_FOR_ONE_JOB);
  if (!pack) return WO_EXIT_ERROR;
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_intake_make(has_words ? call->words : standard_input, has_words ? call->word_count : 1, call->errors, &intake) == WO_OK)
    code = diagnose_jobs(call, prover, pack, &intake);
  else
    wo_command_fail_memory(call);
  wo_intake_done(&intake);
  wo_pack_free(pack);
  return code;
}

const struct wo_command wo_command_diagnose = {
    .name = "diagnose",
    .needs_more = "",
    .summary = "why a GPU job ran out of memory, and what to change",
    .usage = "[OPTION...] [PATH...|JOB]",
    .about = "Diagnoses a failed job from all the files given: logs, error logs, batch\n"
             "scripts, configurations, scontrol or sacct output; plain, compressed (gzip,\n"
             "xz, zstd) or in a tar archive; other logs of the same job beside them are read\n"
             "too. Files whose names hold the ids of several jobs give a report for each. JOB\n"
             "is a number, as 4711 or 4711_3: its files in this folder. A PATH of - is\n"
             "standard input, which is also read without a PATH when it is a pipe; on a\n"
             "terminal the jobs of this folder are reported together, as by `whyoom scan`, and\n"
             "so are those of a PATH that is a folder with several.\n",
    .formats = WO_SHOW_FORMATS,
    .options = wo_shared_options,
    .option_count = WO_SHARED_OPTION_COUNT,
    .ending = "exit status: 0 nothing wrong found; 1 a failure was diagnosed; 2 wrong usage,\n"
              "or some input could not be read (the rest is reported)\n",
    .examples = "# one log; the other logs of the job beside it are read too\n"
                "whyoom slurm-4711.err\n"
                "# everything that the job had: the best answer\n"
                "whyoom slurm-4711.err slurm-4711.out train.sbatch config.yaml dmon.txt\n"
                "# a pipe: the report comes when the program has ended\n"
                "srun python train.py 2>&1 | tee log | whyoom\n"
                "# a page with pictures, to send to a colleague\n"
                "whyoom slurm-4711.err train.sbatch --format html -o report.html\n",
};
