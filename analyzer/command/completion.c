/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of the command line: a script for each shell asks the program for the words that may follow. See help.h. */
#include <assert.h>

#include "analyzer/command/help.h"

/* If nothing is offered, the shells complete files. Bash cuts words at '=' and asks about the pieces. */
static const char *const scripts[] = {
    "_whyoom() {\n"
    "  local IFS=$'\\n'\n"
    "  COMPREPLY=($(\"$1\" completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f 1))\n"
    "}\n"
    "complete -o default -F _whyoom whyoom\n",
    "#compdef whyoom\n"
    "_whyoom() {\n"
    "  local -a rows\n"
    "  rows=(${(f)\"$($words[1] completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "  if (( $#rows )); then rows=(\"${(@)rows/$'\\t'/:}\"); _describe whyoom rows; else _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _whyoom ]]; then _whyoom \"$@\"; else compdef _whyoom whyoom; fi\n",
    "complete -c whyoom -a '(whyoom completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n",
};

void wo_completion_add(int shell, struct wo_text *out) {
  assert(shell >= 0 && (size_t)shell < sizeof scripts / sizeof *scripts);
  wo_text_add(out, "%s", scripts[shell]);
}

/* ---- Words that may follow ---- */

/* The unfinished word, and the text before it. */
struct typed {
  struct wo_view lead; /* "--format=" in front of a value */
  struct wo_view word;
  struct wo_text *out;
};

/* A line "word TAB text" for a word that begins with the typed one. */
static void offer(const struct typed *typed, const char *dashes, struct wo_view word, struct wo_view about) {
  struct wo_text whole = {0};
  wo_text_add(&whole, "%s%.*s", dashes, WO_SHOWN(word));
  const struct wo_view text = {whole.ptr, whole.len};
  if (wo_view_equal(wo_view_sub(text, 0, typed->word.len), typed->word)) {
    wo_text_add(typed->out, "%.*s%.*s\t", WO_SHOWN(typed->lead), WO_SHOWN(text));
    for (size_t i = 0; i < about.len; i++) wo_text_add(typed->out, "%c", about.ptr[i] == '\n' ? ' ' : about.ptr[i]);
    wo_text_add(typed->out, "\n");
  }
  wo_text_done(&whole);
}

static void offer_choices(const struct typed *typed, const char *choices, struct wo_view about) {
  struct wo_view rest = wo_view_of(choices);
  while (rest.len > 0) offer(typed, "", wo_view_cut(&rest, '|'), about);
}

static void offer_options(const struct typed *typed, const struct wo_option *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (options[i].name[0] != '\0') offer(typed, "--", wo_view_of(options[i].name), wo_help_about(&options[i]));
  }
}

/* The option that a word such as "--format" is; NULL for none. */
static const struct wo_option *find_option(const struct wo_command *command, struct wo_view word) {
  if (!wo_view_starts(word, "--")) return NULL;
  const struct wo_view name = wo_view_skip(word, 2);
  const struct wo_option *const own = wo_option_find(command->options, command->option_count, name);
  return own ? own : wo_option_find(wo_shared_options, WO_SHARED_OPTION_COUNT, name);
}

/* The command: the first word before the last one that is no option. NULL if there is none yet. */
static const struct wo_command *find_command(struct wo_commands commands, char *const *words, size_t count) {
  for (size_t i = 0; i + 1 < count; i++) {
    if (words[i][0] == '-') continue;
    const struct wo_command *const command = wo_command_find(commands, wo_view_of(words[i]));
    return command ? command : commands.items[0].command;
  }
  return NULL;
}

void wo_completion_offer(struct wo_commands commands, char *const *words, size_t count, struct wo_text *out) {
  struct typed typed = {.out = out, .word = wo_view_of(count > 0 ? words[count - 1] : "")};
  struct wo_view before = wo_view_of(count > 1 ? words[count - 2] : "");
  const struct wo_command *const named = find_command(commands, words, count);
  const struct wo_command *const command = named ? named : commands.items[0].command;
  const size_t equals = wo_view_find_char(typed.word, '=', 0);
  if (wo_view_is(before, "=") && count > 2) before = wo_view_of(words[count - 3]);
  if (wo_view_is(typed.word, "=")) {
    typed.word.len = 0;
  } else if (equals != WO_NOT_FOUND) {
    before = wo_view_sub(typed.word, 0, equals);
    typed.lead = wo_view_sub(typed.word, 0, equals + 1);
    typed.word = wo_view_skip(typed.word, equals + 1);
  }
  const struct wo_option *const option = find_option(command, before);
  if (option && option->value) {
    const bool has_forms = command->formats && wo_view_is(wo_view_of(option->name), "format");
    offer_choices(&typed, has_forms ? command->formats : option->choices, wo_help_about(option));
  } else if (typed.word.len > 0 && typed.word.ptr[0] == '-') {
    if (command != commands.items[0].command) offer_options(&typed, command->options, command->option_count);
    offer_options(&typed, wo_shared_options, WO_SHARED_OPTION_COUNT);
  } else if (named) {
    offer_choices(&typed, named->words, WO_VIEW(""));
  } else {
    for (size_t i = 1; i < commands.count; i++)
      offer(&typed, "", wo_view_of(commands.items[i].command->name), wo_view_of(commands.items[i].command->summary));
  }
}
