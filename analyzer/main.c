/* whyoom: wires the command line to the commands. The only file that prints, reads the environment
 * and returns exit codes.
 *
 * Commands make texts and a status; here they are written, stderr before stdout. A broken pipe is
 * no error, so that `whyoom log | head` ends well. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "analyzer/patch.h"
#include "analyzer/verify_plan.h"
#include "cuda_replay/replay_command.h"
#include "cuda_replay/verify_command.h"

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
  copy_options(cli, options);
  const struct wo_replay_call call = {.paths = cli->words,
                                      .path_count = cli->word_count,
                                      .options = options,
                                      .option_count = cli->option_count,
                                      .is_json = cli->format == WO_OUT_JSON,
                                      .exit_zero = cli->exit_zero,
                                      .style = wo_command_style(cli, terminal)};
  return (enum wo_exit)wo_replay_command(&call, out, errors);
}

static bool has_option(const struct wo_cli *cli, const char *name) {
  for (size_t i = 0; i < cli->option_count; i++) {
    if (wo_view_is(cli->options[i].name, name)) return true;
  }
  return false;
}

/* --patch: the chosen fix as a change of the job's files, behind the report. False when that could not be done. In JSON the diff
 * has no place, so only --write does something there. */
static bool run_patch(const struct wo_cli *cli, const struct wo_verify_plan *plan, const struct wo_verify_answer *answer,
                      struct wo_text *out, struct wo_text *errors) {
  struct wo_text diff = {0};
  if (answer->choice_count == 0) {
    wo_text_add(errors, "whyoom: --patch: no fix is chosen, so there is nothing to change\n");
    return true;
  }
  const bool is_done =
      wo_patch_run(plan->report, plan->fixes, answer->choices, answer->choice_count, has_option(cli, "write"), &diff, errors);
  if (diff.is_failed) out->is_failed = true;
  if (diff.len > 0 && cli->format != WO_OUT_JSON) {
    wo_text_add(out, "\n");
    wo_text_add_view(out, (struct wo_view){diff.ptr, diff.len});
  }
  wo_text_done(&diff);
  return is_done;
}

/* Where both flows meet: the diagnosis hands over its proposals, the proof hands back what it found. */
static enum wo_exit run_verify(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                               struct wo_text *errors) {
  struct wo_replay_option options[WO_LIMIT_COMMAND_OPTIONS];
  struct wo_verify_plan plan;
  struct wo_text proved = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_verify_plan_read(cli, &plan, errors)) {
    copy_options(cli, options);
    const struct wo_verify_call call = {.job = &plan.diagnosed,
                                        .options = options,
                                        .option_count = cli->option_count,
                                        .is_json = cli->format == WO_OUT_JSON,
                                        .exit_zero = cli->exit_zero,
                                        .style = wo_command_style(cli, terminal)};
    struct wo_verify_answer answer = {.proofs = plan.proofs};
    code = (enum wo_exit)wo_verify_command(&call, &answer, &proved, errors);
    const struct wo_view text = {proved.ptr, proved.len};
    if (proved.is_failed) out->is_failed = true;
    if (!call.is_json) wo_text_add_view(out, text);
    if (call.is_json && text.len > 0) wo_verify_plan_json(&plan, text, out);
    if (has_option(cli, "patch") && code != WO_EXIT_ERROR && !run_patch(cli, &plan, &answer, out, errors)) code = WO_EXIT_ERROR;
    if (!plan.is_complete) code = WO_EXIT_ERROR;
  }
  wo_text_done(&proved);
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

int main(int argc, char **argv) {
  struct wo_cli cli;
  struct wo_err err = {0};
  struct wo_text out = {0};
  struct wo_text errors = {0};
  signal(SIGPIPE, SIG_IGN);
  if (wo_cli_parse(argc, argv, &cli, &err) != WO_OK) {
    fprintf(stderr, "whyoom: %s\n", err.message);
    return WO_EXIT_ERROR;
  }
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
