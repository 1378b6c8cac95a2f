/* whyoom: connects the command line to the commands. The only file that prints and returns exit codes; only this file and
 * cuda_replay/record touch the environment.
 *
 * Commands make texts and a status; this file writes them, stderr before stdout. A broken pipe is no error, so that
 * `whyoom log | head` ends well. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/command/commands.h"
#include "analyzer/command/help.h"
#include "analyzer/patch/patch.h"
#include "analyzer/verify/verify_plan.h"
#include "cuda_replay/record/record.h"
#include "cuda_replay/command/replay_command.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "parsers/base/command/call_output.h"
#include "cuda_replay/command/verify_command.h"
#include "parsers/base/command/sandbox.h"
#include "parsers/base/output/page.h"
#include "parsers/base/units.h"
#include "rules/files/rule_dir.h"

/* ---- The terminal ---- */

/* Width of the text report if none is known, and the limits for a terminal's width: narrower pages break every line, and wider
 * ones are hard to read. */
enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 1000 };

/* An empty variable counts as absent. */
static const char *variable(const char *name) {
  const char *const value = getenv(name);
  return value && value[0] != '\0' ? value : NULL;
}

/* Reads the variables in the order of setlocale, but sets no locale: only whether the terminal shows UTF-8 matters. */
static bool has_utf8_locale(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  const char *locale = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !locale; i++) locale = variable(names[i]);
  const struct wo_view name = wo_view_of(locale);
  return wo_view_has_nocase(name, "utf-8") || wo_view_has_nocase(name, "utf8");
}

static size_t terminal_width(void) {
  struct winsize size = {0};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return WIDTH_DEFAULT;
  return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

/* The command line wins over the terminal. Unless requested, colours are only for a terminal: not with --output, not if NO_COLOR
 * is set (no-color.org). Characters beyond ASCII are only for terminals too, since a pipe's reader is unknown. */
static struct wo_text_style make_style(const struct wo_call *call) {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const bool is_watched = is_terminal && !variable("NO_COLOR") && call->output.len == 0;
  return (struct wo_text_style){.width = call->width > 0 ? call->width
                                         : is_terminal   ? terminal_width()
                                                         : WIDTH_DEFAULT,
                                .use_color = call->color == WO_COLOR_ALWAYS || (call->color == WO_COLOR_AUTO && is_watched),
                                .use_utf8 = is_terminal && has_utf8_locale(),
                                .is_verbose = call->is_verbose};
}

/* ---- Around a GPU ---- */

/* The time between two lines of progress. */
enum { PROGRESS_NS = 100 * 1000 * 1000 };

/* Set by the signal handler. */
static volatile sig_atomic_t is_cancelled;

/* The handlers that a GPU replay replaces, and the line on the terminal. */
struct gpu_watch {
  struct sigaction before_int;
  struct sigaction before_term;
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

/* Tests name the two libraries (docs/replay.md). An empty CUDA_VISIBLE_DEVICES hides every card. */
static struct wo_replay_hooks make_hooks(struct gpu_watch *watch) {
  watch->has_terminal = isatty(STDERR_FILENO) == 1;
  return (struct wo_replay_hooks){.cuda_library = variable("WHYOOM_CUDA_LIBRARY"),
                                  .nvml_library = variable("WHYOOM_NVML_LIBRARY"),
                                  .visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
                                  .state = watch,
                                  .guard = guard_gpu,
                                  .seconds_now = seconds_now,
                                  .is_cancelled = &is_cancelled,
                                  .on_progress = watch->has_terminal ? show_progress : NULL};
}

/* ---- Commands that need both flows, or become another program ---- */

static enum wo_exit run_replay(const struct wo_call *call) {
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  return wo_run_replay(call, &hooks);
}

/* --patch: the chosen fix as a change of the job's files. A part of the diff alone is not proven: a script must then stop, so 0
 * becomes WO_EXIT_NOT_PROVEN. Only a whole fix that is proven (or accepted), from inputs that could all be read, is written.
 * Returns the exit code that `code` becomes. */
static enum wo_exit run_patch(const struct wo_call *call, bool is_write, const struct wo_verify_plan *plan,
                              const struct wo_verify_answer *answer, enum wo_exit code, struct wo_text *diff) {
  const bool is_proven = code == WO_EXIT_FINE && plan->is_complete;
  if (answer->choice_count == 0) {
    wo_message(call->errors, WO_VIEW("--patch"), "no fix is chosen, so there is nothing to change");
    return code;
  }
  const enum wo_patch_result result =
      wo_patch_run(plan->report, plan->fixes, answer->choices, answer->choice_count, is_write && is_proven, diff, call->errors);
  if (result == WO_PATCH_FAILED) return WO_EXIT_ERROR;
  if (is_write && !is_proven)
    wo_message(call->errors, WO_VIEW("--write"), "nothing is written, because %s",
               plan->is_complete ? "the fix is not proven" : "an input could not be read");
  if (result == WO_PATCH_WHOLE || code != WO_EXIT_FINE) return code;
  wo_message(call->errors, WO_VIEW("--patch"),
             "what is told above is not in the patch, and only the whole fix is shown to fit: make it before you resubmit");
  if (is_write && is_proven) wo_message(call->errors, WO_VIEW("--write"), "nothing is written, because a part is no fix");
  return WO_EXIT_NOT_PROVEN;
}

/* Proves what the plan proposes, and writes the report with it. */
static enum wo_exit prove(const struct wo_call *call, const struct wo_verify_args *args, struct wo_verify_plan *plan) {
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  const bool is_json = call->format == WO_OUT_JSON;
  struct wo_text proved = {0}, diff = {0};
  struct wo_verify_answer answer = {.proofs = plan->proofs};
  enum wo_exit code = wo_run_verify(call, args, &plan->diagnosed, &hooks, &answer, &proved);
  const struct wo_view text = {proved.ptr, proved.len};
  /* The output of --patch is the diff alone, for `| git apply`; the report goes to stderr. */
  if (!is_json) wo_text_add_view(args->is_patch ? call->errors : call->out, text);
  if (args->is_patch && code != WO_EXIT_ERROR) code = run_patch(call, args->is_write, plan, &answer, code, &diff);
  const struct wo_view patch = {diff.ptr, diff.len};
  if (!is_json) wo_text_add_view(call->out, patch);
  call->out->is_exact = !is_json && args->is_patch;
  if (is_json && text.len > 0) wo_verify_plan_json(plan, text, patch, call->out);
  if (proved.is_failed || diff.is_failed) call->out->is_failed = true;
  wo_text_done(&proved);
  wo_text_done(&diff);
  return plan->is_complete ? code : WO_EXIT_ERROR;
}

/* Both flows meet here: the diagnosis gives its proposals, the proof returns its results. */
static enum wo_exit run_verify(const struct wo_call *call) {
  struct wo_verify_args args;
  struct wo_verify_plan plan;
  struct wo_err err = {0};
  if (wo_verify_args_read(call, &args, &err) != WO_OK) {
    wo_message_error(call->errors, (struct wo_view){0}, &err);
    return WO_EXIT_ERROR;
  }
  const enum wo_exit code = wo_verify_plan_read(call, &plan) ? prove(call, &args, &plan) : WO_EXIT_ERROR;
  wo_verify_plan_done(&plan);
  return code;
}

static void print_errors(const struct wo_text *errors) {
  fwrite(errors->ptr ? errors->ptr : "", 1, errors->len, stderr);
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
    {&wo_command_diagnose, wo_run_diagnose}, {&wo_command_budget, wo_run_budget},
    {&wo_command_replay, run_replay},        {&wo_command_verify, run_verify},
    {&wo_command_record, run_record},        {&wo_command_rules, wo_run_rules},
    {&wo_command_explain, wo_run_explain},   {&wo_command_completion, wo_run_completion},
    {&wo_command_help, wo_run_help},         {&wo_command_version, wo_run_version},
};

/* --help wins over missing words, so that `whyoom rules --help` works; --version likewise. */
static enum wo_exit run(struct wo_call *call) {
  if (call->wants_help) {
    wo_help_add(call->command, call->commands, call->out);
    return WO_EXIT_FINE;
  }
  if (call->wants_version) return wo_run_version(call);
  struct wo_err err = {0};
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

/* Writes everything, or adds an error. A reader that has ended (`| head`) is no error. */
static bool write_out(const struct wo_call *call) {
  const struct wo_view text = {call->out->ptr, call->out->len};
  struct wo_err err = {0};
  const enum wo_status status = has_output_file(call) ? wo_call_write_output(call, call->output.ptr, text, true, &err)
                                                      : wo_output_write_fd(STDOUT_FILENO, text, &err);
  if (status != WO_OK) wo_message_error(call->errors, has_output_file(call) ? call->output : WO_VIEW("stdout"), &err);
  return status == WO_OK;
}

/* Runs the command and writes its report. A file keeps its old report if there is no new one, or only the beginning of one. */
static enum wo_exit run_and_write(struct wo_call *call) {
  if (!call->command->becomes_program) ignore_write_signals();
  if (!check_out(call)) return WO_EXIT_ERROR;
  enum wo_exit code = run(call);
  ignore_write_signals();
  wo_page_seal(call->out, call->style.use_color);
  wo_page_seal(call->errors, call->style.use_color);
  const bool is_short = call->out->is_failed || (code == WO_EXIT_ERROR && call->out->len == 0);
  if (call->out->is_failed || call->errors->is_failed) code = wo_command_fail_memory(call);
  print_errors(call->errors);
  call->errors->len = 0;
  if (is_short && has_output_file(call)) return WO_EXIT_ERROR;
  return write_out(call) ? code : WO_EXIT_ERROR;
}

int main(int argc, char **argv) {
  struct wo_text out = {0};
  struct wo_text errors = {0};
  struct wo_err err = {0};
  struct wo_call call;
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_call_read(argc, argv, (struct wo_commands){commands, sizeof commands / sizeof *commands}, &call, &err) == WO_OK) {
    call.style = make_style(&call);
    call.timer = &the_timer;
    call.is_stdin_terminal = isatty(STDIN_FILENO) == 1;
    call.out = &out;
    call.errors = &errors;
    code = run_and_write(&call);
  } else {
    wo_message_error(&errors, (struct wo_view){0}, &err);
  }
  print_errors(&errors);
  wo_text_done(&out);
  wo_text_done(&errors);
  return (int)code;
}
