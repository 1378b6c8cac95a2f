/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom help`, `whyoom version` and `whyoom completion`: texts that come from the tables of the commands. */
#include "analyzer/command/commands.h"
#include "analyzer/command/help.h"

/* Further words are ignored. */
enum wo_exit wo_run_help(const struct wo_call *call) {
  const struct wo_command *const topic =
      call->word_count > 0 ? wo_command_find(call->commands, wo_view_of(call->words[0])) : call->commands.items[0].command;
  if (topic) {
    wo_help_add(topic, call->commands, call->out);
    return WO_EXIT_FINE;
  }
  struct wo_nearest nearest = {.want = wo_view_of(call->words[0])};
  char hint[WO_NEAREST_BYTES];
  for (size_t i = 0; i < call->commands.count; i++) wo_nearest_offer(&nearest, wo_view_of(call->commands.items[i].command->name));
  wo_message(call->errors, (struct wo_view){0}, "there is no command '%s' to help with%s", call->words[0],
             wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
  return WO_EXIT_ERROR;
}

const struct wo_command wo_command_help = {
    .name = "help",
    .summary = "the help text of a command",
    .usage = "help [COMMAND]",
    .first_path = WO_NO_PATHS,
    .about = "The help text of a command; without one, that of whyoom itself.\n",
    .ending = "exit status: 0; 2 when there is no such command\n",
    .examples = "# the options of a command\n"
                "whyoom help verify\n"
                "# all commands\n"
                "whyoom help\n",
};

enum wo_exit wo_run_version(const struct wo_call *call) {
  wo_text_add(call->out, "whyoom %s\n", WHYOOM_VERSION);
  return WO_EXIT_FINE;
}

const struct wo_command wo_command_version = {
    .name = "version",
    .summary = "the version of the program",
    .usage = "version",
    .first_path = WO_NO_PATHS,
    .synopsis = "",
    .about = "The version of the program.\n",
};

/* For the build, which makes the manual: `whyoom completion manual COMMAND PART`. False where there is no such part. */
static bool add_manual(const struct wo_call *call) {
  if (call->word_count != 3 || !wo_view_is(wo_view_of(call->words[0]), "manual")) return false;
  const struct wo_command *const topic = wo_command_find(call->commands, wo_view_of(call->words[1]));
  const int part = wo_option_choice(WO_MANUAL_PARTS, wo_view_of(call->words[2]));
  if (!topic || part < 0) return false;
  wo_help_add_manual(topic, call->commands, part, call->out);
  return true;
}

/* `whyoom completion words -- WORD...` is for the scripts. */
enum wo_exit wo_run_completion(const struct wo_call *call) {
  const struct wo_view word = call->word_count > 0 ? wo_view_of(call->words[0]) : (struct wo_view){0};
  const int shell = wo_option_choice(WO_SHELLS, word);
  if (shell >= 0) {
    wo_completion_add(shell, call->out);
  } else if (wo_view_is(word, "words")) {
    wo_completion_offer(call->commands, call->words + 1, call->word_count - 1, call->out);
  } else if (!add_manual(call)) {
    wo_message(call->errors, (struct wo_view){0}, "completion needs the name of a shell: bash, zsh or fish");
    return WO_EXIT_ERROR;
  }
  return WO_EXIT_FINE;
}

const struct wo_command wo_command_completion = {
    .name = "completion",
    .is_long = true,
    .summary = "a script that makes a shell complete whyoom's command line",
    .usage = "completion " WO_SHELLS,
    .words = WO_SHELLS,
    .first_path = WO_NO_PATHS,
    .about = "Prints a script that makes the shell complete commands, options and values:\n"
             "\n"
             "  bash    source <(whyoom completion bash)\n"
             "  zsh     source <(whyoom completion zsh), or as _whyoom in a folder of $fpath\n"
             "  fish    whyoom completion fish | source\n",
    .ending = "exit status: 0; 2 for another shell\n",
    .examples = "# for this shell alone\n"
                "source <(whyoom completion bash)\n"
                "# for every bash of yours\n"
                "mkdir -p ~/.local/share/bash-completion/completions\n"
                "whyoom completion bash \\\n"
                "  -o ~/.local/share/bash-completion/completions/whyoom\n",
};
