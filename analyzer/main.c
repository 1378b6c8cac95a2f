/* SPDX-License-Identifier: Apache-2.0 */
/* whyoom: connects the command line to the commands. The only file that prints and ends the program; only this file,
 * analyzer/terminal and cuda_replay/record touch the environment.
 *
 * Commands make texts and a status; this file writes them, stderr before stdout. A broken pipe is no error, so that
 * `whyoom log | head` ends well. */
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/command/cmd_scan.h"
#include "analyzer/command/commands.h"
#include "analyzer/command/help.h"
#include "analyzer/joined/joined.h"
#include "analyzer/show/seal.h"
#include "analyzer/terminal/pager.h"
#include "analyzer/terminal/terminal.h"
#include "cuda_replay/helper/helper_client.h"
#include "cuda_replay/record/record.h"
#include "cuda_replay/command/replay_command.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "parsers/base/command/call_output.h"
#include "cuda_replay/command/verify_command.h"
#include "parsers/base/command/sandbox.h"
#include "parsers/base/output/page.h"
#include "parsers/base/units.h"
#include "rules/files/rule_dir.h"

extern char **environ;

/* ---- Around a GPU ---- */

/* The time between two lines of progress. */
enum { PROGRESS_NS = 100 * 1000 * 1000 };

/* Set by the signal handler. */
static volatile sig_atomic_t is_cancelled;

/* The handlers that a GPU replay replaces, and the line on the terminal. */
struct gpu_watch {
  struct sigaction before_int;
  struct sigaction before_term;
  struct wo_helper_place helper;
  struct wo_elsewhere elsewhere; /* of that place */
  bool has_terminal;
  bool has_line;
  int64_t shown_ns;
};

/* The replay stops before the next call of the driver; a second signal meets the old handler and ends the program, which frees
 * the card too. */
static void cancel(int signal_number) {
  (void)signal_number;
  is_cancelled = 1;
}

/* A signal that the caller ignores (nohup) stays ignored. */
static void catch_signal(int number, struct sigaction *ret_before) {
  struct sigaction action = {.sa_handler = cancel, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(number, NULL, ret_before);
  if (ret_before->sa_handler != SIG_IGN) sigaction(number, &action, NULL);
}

static void guard_gpu(void *state, bool is_on) {
  struct gpu_watch *const watch = state;
  if (is_on) {
    catch_signal(SIGINT, &watch->before_int);
    catch_signal(SIGTERM, &watch->before_term);
  } else {
    sigaction(SIGINT, &watch->before_int, NULL);
    sigaction(SIGTERM, &watch->before_term, NULL);
  }
}

static int64_t now_ns(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * WO_NS_PER_S + now.tv_nsec;
}

/* One line that is overwritten, at most ten times a second, and erased at the end. */
static void show_progress(void *state, const struct wo_gpu_progress *progress) {
  struct gpu_watch *const watch = state;
  const int64_t now = now_ns();
  if (progress->is_over) {
    if (watch->has_line) fputs("\r\033[K", stderr);
    watch->has_line = false;
    return;
  }
  if (watch->shown_ns != 0 && now - watch->shown_ns < PROGRESS_NS) return;
  watch->shown_ns = now;
  watch->has_line = true;
  fprintf(stderr, "\rwhyoom: GPU %d: %zu of %zu requests (%.0f %%), %.2f GiB taken\033[K", progress->ordinal, progress->done,
          progress->total, 100.0 * (double)progress->done / (double)progress->total, (double)progress->used_bytes / WO_GIB);
  fflush(stderr);
}

static double seconds_now(void) {
  return (double)now_ns() / WO_NS_PER_S;
}

/* Tests name the two libraries (docs/replay.md); the helper may be elsewhere than the program. An empty CUDA_VISIBLE_DEVICES
 * hides every card. */
static struct wo_replay_hooks make_hooks(struct gpu_watch *watch) {
  watch->has_terminal = isatty(STDERR_FILENO) == 1;
  watch->helper = (struct wo_helper_place){wo_terminal_variable("WHYOOM_GPU_HELPER"), environ};
  watch->elsewhere = wo_helper_at(&watch->helper);
  const bool has_helper = watch->helper.path || wo_helper_is_needed();
  return (struct wo_replay_hooks){.cuda_library = wo_terminal_variable("WHYOOM_CUDA_LIBRARY"),
                                  .nvml_library = wo_terminal_variable("WHYOOM_NVML_LIBRARY"),
                                  .elsewhere = has_helper ? &watch->elsewhere : NULL,
                                  .visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
                                  .state = watch,
                                  .guard = guard_gpu,
                                  .seconds_now = seconds_now,
                                  .is_cancelled = &is_cancelled,
                                  .on_progress = watch->has_terminal ? show_progress : NULL};
}

/* ---- Commands that can use a GPU ---- */

static enum wo_exit run_replay(const struct wo_call *call) {
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  return wo_run_replay(call, &hooks);
}

static enum wo_exit run_verify(const struct wo_call *call) {
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  return wo_joined_verify(call, &hooks);
}

static enum wo_exit run_diagnose(const struct wo_call *call) {
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  return wo_joined_diagnose(call, &hooks);
}

/* ---- Around a scan ---- */

/* Names of the users whose logs were met. */
enum { OWNERS_MAX = 1024 };

struct scan_watch {
  const struct wo_call *call;
  struct {
    uint32_t uid;
    struct wo_view name; /* owned; empty: nobody */
  } owners[OWNERS_MAX];
  size_t owner_count;
  bool has_line;
};

static int64_t scan_now(void *context) {
  (void)context;
  return now_ns();
}

static int64_t scan_clock(void *context) {
  struct timespec now = {0};
  (void)context;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * WO_NS_PER_S + now.tv_nsec;
}

/* Asking for a name can mean a question to a server, so each is asked once; an archive of more users than are kept leaves names
 * out. */
static struct wo_view scan_owner(void *context, uint32_t uid) {
  struct scan_watch *const watch = context;
  size_t at = 0;
  while (at < watch->owner_count && watch->owners[at].uid != uid) at++;
  if (at < watch->owner_count || at == OWNERS_MAX) return at < OWNERS_MAX ? watch->owners[at].name : (struct wo_view){0};
  const struct passwd *const entry = getpwuid((uid_t)uid);
  watch->owners[at].uid = uid;
  watch->owners[at].name = wo_view_of(entry ? strdup(entry->pw_name) : NULL);
  watch->owner_count++;
  return watch->owners[at].name;
}

static void free_owners(struct scan_watch *watch) {
  for (size_t i = 0; i < watch->owner_count; i++) free((char *)(uintptr_t)watch->owners[i].name.ptr);
}

/* "1h02m", "3m20s", "12s". */
static const char *span_text(double seconds, char *buf, size_t cap) {
  const long whole = seconds < 1e8 ? (long)seconds : 0;
  if (whole >= 3600)
    snprintf(buf, cap, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
  else if (whole >= 60)
    snprintf(buf, cap, "%ldm%02lds", whole / 60, whole % 60);
  else
    snprintf(buf, cap, "%lds", whole);
  return buf;
}

/* One line that is overwritten. The share of the archive is that of its folders, so that the time left is a guess, which gets
 * better. */
static void show_scan(void *context, const struct wo_scan_progress *progress) {
  struct scan_watch *const watch = context;
  const double seconds = (double)progress->elapsed_ns / WO_NS_PER_S, share = progress->share;
  char left[32] = "?", bytes[40], rate[40];
  if (share > 0.01 && seconds > 1) span_text(seconds / share * (1 - share), left, sizeof left);
  watch->has_line = true;
  fprintf(stderr, "\rwhyoom: %llu files of %llu jobs, %s, %s/s, %.0f %% of the folders, %s left\033[K",
          (unsigned long long)progress->files_done, (unsigned long long)(progress->jobs_done + progress->jobs_same),
          wo_units_bytes_text((double)progress->bytes_done, bytes, sizeof bytes),
          wo_units_bytes_text(seconds > 0 ? (double)progress->bytes_done / seconds : 0, rate, sizeof rate), 100 * share, left);
  fflush(stderr);
}

/* Threads read what others wrote, and nothing else: each gives up the rest. */
static bool enter_thread(void *context) {
  const struct scan_watch *const watch = context;
  if (watch->call->sandbox == WO_SANDBOX_OFF) return true;
  return wo_sandbox_enter(NULL) == WO_OK || watch->call->sandbox != WO_SANDBOX_ON;
}

static size_t number_of(const char *name) {
  struct wo_view text = wo_view_of(wo_terminal_variable(name));
  uint64_t number = 0;
  return wo_number_u64(&text, WO_LIMIT_SHARDS, &number) == WO_OK && text.len == 0 ? (size_t)number : SIZE_MAX;
}

/* A task of an array, or one of several that srun started: its number among them, from 0. The variables of srun count only where
 * a step has several tasks: a batch script has them too. */
static struct wo_scan_shard find_shard(void) {
  const size_t task = number_of("SLURM_ARRAY_TASK_ID"), tasks = number_of("SLURM_ARRAY_TASK_COUNT");
  const size_t least = number_of("SLURM_ARRAY_TASK_MIN"), step = number_of("SLURM_ARRAY_TASK_STEP");
  const size_t process = number_of("SLURM_PROCID"), processes = number_of("SLURM_STEP_NUM_TASKS");
  const bool is_array = task != SIZE_MAX && tasks != SIZE_MAX && least != SIZE_MAX && task >= least;
  const size_t of_array = is_array ? (task - least) / (step == SIZE_MAX || step == 0 ? 1 : step) : 0;
  const bool is_step = process != SIZE_MAX && processes != SIZE_MAX && processes > 1 && process < processes;
  const size_t count = (is_array ? tasks : 1) * (is_step ? processes : 1);
  const size_t shard = of_array * (is_step ? processes : 1) + (is_step ? process : 0);
  if (count < 2 || count > WO_LIMIT_SHARDS || shard >= count) return (struct wo_scan_shard){0};
  return (struct wo_scan_shard){(uint32_t)shard, (uint32_t)count,
                                is_array && is_step ? "SLURM_ARRAY_TASK_ID and SLURM_PROCID"
                                : is_array          ? "SLURM_ARRAY_TASK_ID and _COUNT"
                                                    : "SLURM_PROCID and SLURM_STEP_NUM_TASKS"};
}

/* Cores that this process may use, which a workload manager may have limited. */
static size_t count_cores(void) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  size_t cores = online > 0 ? (size_t)online : 1;
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) cores = (size_t)CPU_COUNT(&set);
#endif
  return cores < WO_LIMIT_THREADS ? cores : WO_LIMIT_THREADS;
}

static void print_errors(const struct wo_text *errors) {
  fwrite(errors->ptr ? errors->ptr : "", 1, errors->len, stderr);
}

/* Messages of a scan that goes on and on. */
static void flush_errors(const struct wo_call *call) {
  if (call->errors->len == 0) return;
  wo_show_seal_errors(call);
  print_errors(call->errors);
  call->errors->len = 0;
}

static enum wo_exit run_scan(const struct wo_call *call) {
  struct scan_watch watch = {.call = call};
  struct gpu_watch signals = {0};
  const struct wo_scan_process process = {
      .hooks = {.context = &watch,
                .now_ns = scan_now,
                .clock_ns = scan_clock,
                .owner = scan_owner,
                .on_progress = isatty(STDERR_FILENO) == 1 ? show_scan : NULL,
                .enter_thread = enter_thread,
                .is_cancelled = &is_cancelled,
                .temp_folder = wo_terminal_variable("TMPDIR")},
      .shard = find_shard(),
      .cores = count_cores(),
      .environment = environ,
      .flush_errors = flush_errors,
  };
  guard_gpu(&signals, true);
  const enum wo_exit code = wo_run_scan(call, &process);
  guard_gpu(&signals, false);
  if (watch.has_line) fputs("\r\033[K", stderr);
  free_owners(&watch);
  return code;
}

static enum wo_exit run_report(const struct wo_call *call) {
  return wo_run_report(call, scan_clock(NULL));
}

static enum wo_exit run_merge(const struct wo_call *call) {
  return wo_run_merge(call, scan_clock(NULL));
}

/* A reader that has ended and a file that may not grow (ulimit -f) become errors of the call that writes, and do not end the
 * program. */
static void ignore_write_signals(void) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

/* Becomes the recorded command. Returns only if that fails or an option is wrong. The command inherits the signals as they were:
 * SIGXFSZ is ignored only while something is written. */
static enum wo_exit run_record(const struct wo_call *call) {
  struct wo_record_settings settings;
  struct sigaction before;
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  struct wo_err err = {0};
  if (wo_record_settings_read(call, &settings, &err) != WO_OK) {
    wo_message_error(call->errors, (struct wo_view){0}, &err);
    return WO_EXIT_ERROR;
  }
  call->words[call->word_count] = NULL; /* at most the end of argv */
  sigaction(SIGXFSZ, &ignored, &before);
  if (wo_record_arm(&settings, &err) == WO_OK)
    wo_record_notes(call->words, call->errors);
  else
    wo_message(call->errors, WO_VIEW("record"), "%s; running without recording", err.message);
  print_errors(call->errors);
  call->errors->len = 0;
  sigaction(SIGXFSZ, &before, NULL);
  const enum wo_exit code = wo_record_become(call->words, &err);
  wo_message(call->errors, WO_VIEW("record"), "%s", err.message);
  return code;
}

/* ---- The time limit ---- */

static volatile sig_atomic_t is_time_up;

static void on_alarm(int signal_number) {
  (void)signal_number;
  is_time_up = 1;
}

/* The signal comes again and again, since one that comes just before a read would not end it. */
static void start_timer(size_t seconds) {
  const struct sigaction action = {.sa_handler = on_alarm};
  const struct itimerval span = {.it_interval.tv_usec = 100000, .it_value.tv_sec = (time_t)seconds};
  is_time_up = 0;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &span, NULL);
}

static const struct wo_timer the_timer = {start_timer, &is_time_up};

/* ---- All commands ---- */

/* In the order of the help text; the first one is the default. */
static const struct wo_command_entry commands[] = {
    {&wo_command_diagnose, run_diagnose},
    {&wo_command_scan, run_scan},
    {&wo_command_report, run_report},
    {&wo_command_merge, run_merge},
    {&wo_command_budget, wo_run_budget},
    {&wo_command_replay, run_replay},
    {&wo_command_verify, run_verify},
    {&wo_command_record, run_record},
    {&wo_command_rules, wo_run_rules},
    {&wo_command_explain, wo_run_explain},
    {&wo_command_completion, wo_run_completion},
    {&wo_command_help, wo_run_help},
    {&wo_command_version, wo_run_version},
};

/* --help wins over missing words, so that `whyoom rules --help` works; --version likewise. */
static enum wo_exit run(struct wo_call *call) {
  if (call->wants_help) {
    wo_help_add(call->command, call->commands, call->out);
    return WO_EXIT_FINE;
  }
  if (call->wants_version) return wo_run_version(call);
  struct wo_err err = {0};
  if (call->command == &wo_command_diagnose && wo_scan_is_meant(call)) {
    /* A table has no such forms; the folders named are then one report after the other. */
    const bool is_one_by_one = call->format == WO_OUT_JSON || call->format == WO_OUT_ONELINE;
    if (is_one_by_one && call->word_count == 0) {
      wo_message(call->errors, (struct wo_view){0}, "--format json and oneline are of jobs: name their files, or a folder (.)");
      return WO_EXIT_ERROR;
    }
    if (!is_one_by_one) call->command = &wo_command_scan;
    call->is_here = !is_one_by_one;
  }
  if (wo_sandbox_enter_for(call, &err) != WO_OK) {
    wo_message_error(call->errors, (struct wo_view){0}, &err);
    return WO_EXIT_ERROR;
  }
  size_t at = 0;
  while (commands[at].command != call->command) at++;
  return commands[at].run(call);
}

/* ---- The output ---- */

/* Whether the file is one of --rules, or a log that is read because no path is given. */
static bool is_read_unnamed(const struct wo_call *call, const struct wo_output_file *file) {
  struct wo_rule_files rules = {0};
  bool is_read = false;
  if (call->rules_dir.len > 0) wo_rule_dir_read(call->rules_dir.ptr, &rules, NULL); /* the command reports what is wrong */
  for (size_t i = 0; i < rules.count && !is_read; i++) is_read = wo_output_is(file, rules.items[i].name);
  wo_rule_files_done(&rules);
  if (file->is_old && wo_scan_reads(call, file->path)) return true;
  if (is_read || call->command != &wo_command_diagnose || call->word_count > 0 || !call->is_stdin_terminal) return is_read;
  const char *const slash = strrchr(file->path, '/');
  const char *const name = slash ? slash + 1 : file->path;
  return wo_command_is_slurm_log(name) && wo_output_is(file, name);
}

/* --output is a file of the report; `record` has a folder there. */
static bool has_output_file(const struct wo_call *call) {
  return call->output.len > 0 && !call->command->becomes_program;
}

/* Whether the report can be written, before it is made. */
static bool check_out(const struct wo_call *call) {
  struct wo_output_file file;
  struct wo_err err = {0};
  if (!has_output_file(call)) return true;
  enum wo_status status = wo_call_find_output(call, call->output.ptr, &file, &err);
  if (status == WO_OK && is_read_unnamed(call, &file))
    status = wo_err_set(&err, WO_E_USAGE, "is an input of this call: it is not written over");
  if (status != WO_OK) wo_message_error(call->errors, call->output, &err);
  return status == WO_OK;
}

/* The file of a report that is written in pieces, from the first of them on. */
static struct {
  bool is_begun, is_failed;
  struct wo_output_file file;
  struct wo_output_draft draft;
} pieces;

static enum wo_status add_piece(const struct wo_call *call, struct wo_view text, struct wo_err *err) {
  enum wo_status status = WO_OK;
  if (!has_output_file(call)) return call->is_quiet ? WO_OK : wo_output_write_fd(STDOUT_FILENO, text, err);
  if (!pieces.is_begun) {
    status = wo_call_find_output(call, call->output.ptr, &pieces.file, err);
    if (status == WO_OK && !pieces.file.is_stream) status = wo_output_open(&pieces.file, &pieces.draft, err);
    pieces.is_begun = status == WO_OK;
  }
  if (status == WO_OK && pieces.file.is_stream) return wo_output_write(&pieces.file, text, false, err);
  return status == WO_OK ? wo_output_add(&pieces.draft, text, err) : status;
}

/* See struct wo_call. */
static bool drain(const struct wo_call *call) {
  struct wo_err err = {0};
  wo_page_seal(call->out, call->style.use_color);
  if (!pieces.is_failed && add_piece(call, (struct wo_view){call->out->ptr, call->out->len}, &err) != WO_OK) {
    pieces.is_failed = true;
    wo_message_error(call->errors, has_output_file(call) ? call->output : WO_VIEW("stdout"), &err);
  }
  call->out->len = 0;
  return !pieces.is_failed;
}

/* The last piece, and the file under its name. */
static enum wo_status end_pieces(const struct wo_call *call, struct wo_view text, struct wo_err *err) {
  enum wo_status status = add_piece(call, text, err);
  if (pieces.file.is_stream || status != WO_OK) return status;
  status = wo_output_close(&pieces.file, &pieces.draft, true, err);
  return status == WO_OK ? wo_output_commit(&pieces.file, &pieces.draft, err) : status;
}

/* --quiet: the exit status says all. Who asks for help wants to read it. */
static bool is_silent(const struct wo_call *call) {
  return call->is_quiet && !call->wants_help && !call->wants_version;
}

/* Writes everything, or adds an error. A reader that has ended (`| head`) is no error. */
static bool write_out(const struct wo_call *call) {
  const struct wo_view text = {call->out->ptr, call->out->len};
  struct wo_err err = {0};
  if (pieces.is_failed) return false;
  const enum wo_status status = pieces.is_begun         ? end_pieces(call, text, &err)
                                : has_output_file(call) ? wo_call_write_output(call, call->output.ptr, text, true, &err)
                                : is_silent(call)       ? WO_OK
                                                        : wo_output_write_fd(STDOUT_FILENO, text, &err);
  if (status != WO_OK) wo_message_error(call->errors, has_output_file(call) ? call->output : WO_VIEW("stdout"), &err);
  return status == WO_OK;
}

/* Runs the command and writes its report. A file keeps its old report if there is no new one, or only the beginning of one. */
static enum wo_exit run_and_write(struct wo_call *call, bool is_paged) {
  if (!call->command->becomes_program) ignore_write_signals();
  if (!check_out(call)) return WO_EXIT_ERROR;
  enum wo_exit code = run(call);
  ignore_write_signals();
  if (is_paged) signal(SIGINT, SIG_IGN); /* a key that interrupts is for the pager from here on */
  wo_page_seal(call->out, call->style.use_color);
  wo_show_seal_errors(call);
  const bool is_short = call->out->is_failed || (code == WO_EXIT_ERROR && call->out->len == 0 && !pieces.is_begun);
  if (call->out->is_failed || call->errors->is_failed) code = wo_command_fail_memory(call);
  print_errors(call->errors);
  call->errors->len = 0;
  if (is_short && has_output_file(call)) {
    wo_output_drop(&pieces.draft);
    return WO_EXIT_ERROR;
  }
  return write_out(call) ? code : WO_EXIT_ERROR;
}

/* ---- The rules of the site or the user ---- */

/* Without --rules: WHYOOM_RULES (empty: none), else the folder whyoom/rules among the user's settings, if there is one. The call
 * borrows the text `path`. */
static void find_rules(struct wo_call *call, struct wo_text *path) {
  const char *const site = getenv("WHYOOM_RULES"), *const settings = wo_terminal_variable("XDG_CONFIG_HOME");
  const char *const home = wo_terminal_variable("HOME");
  struct stat info;
  if (call->rules_dir.len > 0) return;
  if (!site && (settings || home)) {
    wo_text_add(path, settings ? "%s/whyoom/rules" : "%s/.config/whyoom/rules", settings ? settings : home);
    if (!path->is_failed && stat(path->ptr, &info) == 0 && S_ISDIR(info.st_mode)) call->rules_dir = wo_view_of(path->ptr);
  } else if (site && site[0] != '\0') {
    call->rules_dir = wo_view_of(site);
  }
  call->are_site_rules = call->rules_dir.len > 0;
}

int main(int argc, char **argv) {
  struct wo_text rules_path = {0};
  struct wo_text out = {0};
  struct wo_text errors = {0};
  struct wo_err err = {0};
  struct wo_call call;
  struct wo_pager pager = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_call_read(argc, argv, (struct wo_commands){commands, sizeof commands / sizeof *commands}, &call, &err) == WO_OK) {
    const bool is_terminal = isatty(STDOUT_FILENO) == 1; /* before a pager stands in for it */
    call.style = wo_terminal_style(&call);
    find_rules(&call, &rules_path);
    call.timer = &the_timer;
    call.drain = drain;
    call.is_stdin_terminal = isatty(STDIN_FILENO) == 1;
    call.is_stdout_terminal = is_terminal;
    call.out = &out;
    call.errors = &errors;
    if (call.is_anonymous) call.pseudonyms = wo_pseudonyms_new();
    if (!call.is_quiet) wo_pager_start(&call, &pager);
    code = call.is_anonymous && !call.pseudonyms ? wo_command_fail_memory(&call) : run_and_write(&call, pager.process > 0);
    wo_show_seal_errors(&call);
    print_errors(&errors);
    errors.len = 0;
    wo_pager_end(&pager);
    wo_pseudonyms_free(call.pseudonyms);
  } else {
    wo_message_error(&errors, (struct wo_view){0}, &err);
  }
  print_errors(&errors);
  wo_text_done(&out);
  wo_text_done(&errors);
  wo_text_done(&rules_path);
  return (int)code;
}
