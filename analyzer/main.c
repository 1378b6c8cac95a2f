/* whyoom: wires the command line to the commands. The only file that prints, reads the environment
 * and returns exit codes.
 *
 * Commands make texts and a status; here they are written, stderr before stdout. A broken pipe is
 * no error, so that `whyoom log | head` ends well. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/command/command.h"
#include "analyzer/patch/patch.h"
#include "analyzer/verify/verify_plan.h"
#include "cuda_replay/record/record.h"
#include "cuda_replay/command/replay_command.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/command/verify_command.h"
#include "parsers/base/units.h"

/* All that depends on where the program runs, read once. The locale's variables are looked at in
 * the order in which setlocale would, but no locale is set: only whether the terminal shows UTF-8
 * is of interest. An empty variable counts as absent. */
static struct wo_terminal look_at_terminal(void) {
  struct winsize size = {0};
  struct wo_terminal terminal = {
      .is_stdin_terminal = isatty(STDIN_FILENO) == 1,
      .is_stdout_terminal = isatty(STDOUT_FILENO) == 1,
  };
  const char *const no_color = getenv("NO_COLOR");
  terminal.no_color = no_color && no_color[0] != '\0';
  const char *locale = getenv("LC_ALL");
  if (!locale || locale[0] == '\0') locale = getenv("LC_CTYPE");
  if (!locale || locale[0] == '\0') locale = getenv("LANG");
  terminal.has_utf8 =
      locale && (wo_view_has_nocase(wo_view_of(locale), "utf-8") || wo_view_has_nocase(wo_view_of(locale), "utf8"));
  if (terminal.is_stdout_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
  return terminal;
}

/* ---- Around a GPU ---- */

/* Between two lines of progress. */
enum { PROGRESS_NS = 100 * 1000 * 1000 };

/* What a signal handler can reach. */
static volatile sig_atomic_t is_cancelled;

/* The handlers that a GPU replay replaces, and the line on the terminal. */
struct gpu_watch {
  struct sigaction before_int;
  struct sigaction before_term;
  bool has_terminal;
  bool has_line;
  int64_t told_ns;
};

/* The next call of the driver is the last; a second signal finds the old handler and ends the program, which frees the card too.
 */
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

/* One line that is written over, at most ten times a second, and wiped at the end. */
static void show_progress(void *state, const struct wo_gpu_progress *progress) {
  struct gpu_watch *const watch = state;
  const int64_t now = now_ns();
  if (progress->is_over) {
    if (watch->has_line) fputs("\r\033[K", stderr);
    watch->has_line = false;
    return;
  }
  if (watch->told_ns != 0 && now - watch->told_ns < PROGRESS_NS) return;
  watch->told_ns = now;
  watch->has_line = true;
  fprintf(stderr, "\rwhyoom: GPU %d: %zu of %zu requests (%.0f %%), %.2f GiB taken\033[K", progress->ordinal, progress->done,
          progress->total, 100.0 * (double)progress->done / (double)progress->total, (double)progress->used_bytes / WO_GIB);
  fflush(stderr);
}

/* An empty variable counts as absent, but for CUDA_VISIBLE_DEVICES, which then hides every card. */
static const char *library_named(const char *variable) {
  const char *const path = getenv(variable);
  return path && path[0] != '\0' ? path : NULL;
}

/* The two libraries can be named for tests (docs/replay.md). */
static struct wo_replay_hooks make_hooks(struct gpu_watch *watch) {
  watch->has_terminal = isatty(STDERR_FILENO) == 1;
  return (struct wo_replay_hooks){.cuda_library = library_named("WHYOOM_CUDA_LIBRARY"),
                                  .nvml_library = library_named("WHYOOM_NVML_LIBRARY"),
                                  .visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
                                  .state = watch,
                                  .guard = guard_gpu,
                                  .is_cancelled = &is_cancelled,
                                  .on_progress = watch->has_terminal ? show_progress : NULL};
}

/* ---- Commands ---- */

/* The options of a command as the second flow takes them. */
static void copy_options(const struct wo_cli *cli, struct wo_replay_option *options) {
  for (size_t i = 0; i < cli->option_count; i++)
    options[i] = (struct wo_replay_option){cli->options[i].name, wo_view_of(cli->options[i].value)};
}

/* The second flow knows nothing of this command line: it gets the words and options that it wants, and its exit codes are the
 * same four. */
static enum wo_exit run_replay(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                               struct wo_text *errors) {
  struct wo_replay_option options[WO_LIMIT_COMMAND_OPTIONS];
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  copy_options(cli, options);
  const struct wo_replay_call call = {.paths = cli->words,
                                      .path_count = cli->word_count,
                                      .options = options,
                                      .option_count = cli->option_count,
                                      .is_json = cli->format == WO_OUT_JSON,
                                      .exit_zero = cli->exit_zero,
                                      .style = wo_command_style(cli, terminal),
                                      .hooks = &hooks};
  return (enum wo_exit)wo_replay_command(&call, out, errors);
}

static bool has_option(const struct wo_cli *cli, const char *name) {
  for (size_t i = 0; i < cli->option_count; i++) {
    if (wo_view_is(cli->options[i].name, name)) return true;
  }
  return false;
}

/* --patch: the chosen fix as a change of the job's files. The diff of a part alone is not what was proven, so that a script that
 * goes on only after 0 stops. Returns the exit code that `code` becomes. */
static enum wo_exit run_patch(const struct wo_cli *cli, const struct wo_verify_plan *plan, const struct wo_verify_answer *answer,
                              enum wo_exit code, struct wo_text *diff, struct wo_text *errors) {
  if (answer->choice_count == 0) {
    wo_text_add(errors, "whyoom: --patch: no fix is chosen, so there is nothing to change\n");
    return code;
  }
  const enum wo_patch_result result =
      wo_patch_run(plan->report, plan->fixes, answer->choices, answer->choice_count, has_option(cli, "write"), diff, errors);
  if (result == WO_PATCH_FAILED) return WO_EXIT_ERROR;
  if (result == WO_PATCH_WHOLE || code != WO_EXIT_FINE) return code;
  wo_text_add(errors, "whyoom: --patch: what is told above is not in the patch, and only the whole fix is shown to fit: make it "
                      "before you resubmit\n");
  return WO_EXIT_NOT_PROVEN;
}

/* Where both flows meet: the diagnosis hands over its proposals, the proof hands back what it found. */
static enum wo_exit run_verify(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                               struct wo_text *errors) {
  struct wo_replay_option options[WO_LIMIT_COMMAND_OPTIONS];
  struct wo_verify_plan plan;
  struct gpu_watch watch = {0};
  const struct wo_replay_hooks hooks = make_hooks(&watch);
  struct wo_text proved = {0}, diff = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_verify_plan_read(cli, &plan, errors)) {
    copy_options(cli, options);
    const struct wo_verify_call call = {.job = &plan.diagnosed,
                                        .options = options,
                                        .option_count = cli->option_count,
                                        .is_json = cli->format == WO_OUT_JSON,
                                        .exit_zero = cli->exit_zero,
                                        .style = wo_command_style(cli, terminal),
                                        .hooks = &hooks};
    struct wo_verify_answer answer = {.proofs = plan.proofs};
    code = (enum wo_exit)wo_verify_command(&call, &answer, &proved, errors);
    const struct wo_view text = {proved.ptr, proved.len};
    if (proved.is_failed) out->is_failed = true;
    /* The output of --patch is the diff alone, for `| git apply`; the report is beside it. */
    if (!call.is_json) wo_text_add_view(has_option(cli, "patch") ? errors : out, text);
    if (has_option(cli, "patch") && code != WO_EXIT_ERROR) code = run_patch(cli, &plan, &answer, code, &diff, errors);
    const struct wo_view patch = {diff.ptr, diff.len};
    if (diff.is_failed) out->is_failed = true;
    if (!call.is_json) wo_text_add_view(out, patch);
    if (call.is_json && text.len > 0) wo_verify_plan_json(&plan, text, patch, out);
    if (!plan.is_complete) code = WO_EXIT_ERROR;
  }
  wo_text_done(&proved);
  wo_text_done(&diff);
  wo_verify_plan_done(&plan);
  return code;
}

/* One command, its texts added to out and errors. No default in the switch, so that the compiler
 * names a command that was forgotten. */
static enum wo_exit run(const struct wo_cli *cli, struct wo_text *out, struct wo_text *errors) {
  const struct wo_terminal terminal = look_at_terminal();
  switch (cli->command) {
  case WO_COMMAND_DIAGNOSE:
    return wo_command_diagnose(cli, &terminal, out, errors);
  case WO_COMMAND_BUDGET:
    return wo_command_budget(cli, &terminal, out, errors);
  case WO_COMMAND_REPLAY:
    return run_replay(cli, &terminal, out, errors);
  case WO_COMMAND_VERIFY:
    return run_verify(cli, &terminal, out, errors);
  case WO_COMMAND_RULES:
    return wo_command_rules(cli, out, errors);
  case WO_COMMAND_EXPLAIN:
    return wo_command_explain(cli, &terminal, out, errors);
  case WO_COMMAND_VERSION:
    wo_text_add(out, "whyoom %s\n", WHYOOM_VERSION);
    return WO_EXIT_FINE;
  case WO_COMMAND_RECORD: /* see record() */
  case WO_COMMAND_HELP:
    break;
  }
  wo_text_add(out, "%s", wo_cli_help(cli->help_topic));
  return WO_EXIT_FINE;
}

/* Writes everything, or says why not. A reader that went away (`| head`) is no error. */
static bool write_out(const struct wo_cli *cli, const struct wo_text *out) {
  FILE *file = cli->output ? fopen(cli->output, "wb") : stdout;
  if (!file) {
    fprintf(stderr, "whyoom: %s: cannot be written: %s\n", cli->output, strerror(errno));
    return false;
  }
  const bool is_written = fwrite(out->ptr ? out->ptr : "", 1, out->len, file) == out->len;
  const bool is_flushed = (file == stdout ? fflush(file) : fclose(file)) == 0;
  if ((is_written && is_flushed) || errno == EPIPE) return true;
  fprintf(stderr, "whyoom: %s: cannot be written: %s\n", cli->output ? cli->output : "stdout", strerror(errno));
  return false;
}

/* Becomes the command that is to be recorded. Returns only where that fails, or where an option is wrong. */
static int record(const struct wo_cli *cli) {
  struct wo_err err = {0};
  struct wo_text notes = {0};
  struct wo_record_settings settings = wo_record_defaults();
  settings.output = cli->output;
  settings.is_verbose = cli->is_verbose;
  for (size_t i = 0; i < cli->option_count; i++) {
    if (wo_record_option(&settings, cli->options[i].name, wo_view_of(cli->options[i].value), &err) == WO_OK) continue;
    fprintf(stderr, "whyoom: %s\n", err.message);
    return WO_EXIT_ERROR;
  }
  cli->words[cli->word_count] = NULL; /* at the latest the end of argv */
  if (wo_record_arm(&settings, &err) == WO_OK)
    wo_record_notes(cli->words, &notes);
  else
    fprintf(stderr, "whyoom record: %s; running without recording\n", err.message);
  fwrite(notes.ptr ? notes.ptr : "", 1, notes.len, stderr);
  wo_text_done(&notes);
  const int code = wo_record_become(cli->words, &err);
  fprintf(stderr, "whyoom record: %s\n", err.message);
  return code;
}

int main(int argc, char **argv) {
  struct wo_cli cli;
  struct wo_err err = {0};
  struct wo_text out = {0};
  struct wo_text errors = {0};
  if (wo_cli_parse(argc, argv, &cli, &err) != WO_OK) {
    fprintf(stderr, "whyoom: %s\n", err.message);
    return WO_EXIT_ERROR;
  }
  if (cli.command == WO_COMMAND_RECORD) return record(&cli);
  signal(SIGPIPE, SIG_IGN); /* not before: a command that is run would inherit it */
  enum wo_exit code = run(&cli, &out, &errors);
  if (out.is_failed || errors.is_failed) {
    fprintf(stderr, "whyoom: out of memory\n");
    code = WO_EXIT_ERROR;
  }
  fwrite(errors.ptr ? errors.ptr : "", 1, errors.len, stderr);
  if (!write_out(&cli, &out)) code = WO_EXIT_ERROR;
  wo_text_done(&out);
  wo_text_done(&errors);
  return (int)code;
}
