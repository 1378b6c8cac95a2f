/* Scripts that make shells complete the command line. See help.h.
 *
 * Each is written whole from the tables of the commands; what does not depend on them stands here as text. Files are completed
 * where nothing else is known. */
#include <assert.h>

#include "analyzer/command/help.h"

static bool takes_file(const struct wo_option *option) {
  return option->kind == WO_OPTION_TEXT || (option->value && strcmp(option->value, "TRACE") == 0);
}

/* "a|b" as "a b". */
static void add_words(const char *choices, struct wo_text *out) {
  struct wo_view rest = wo_view_of(choices);
  for (const char *between = ""; rest.len > 0; between = " ") {
    wo_text_add(out, "%s", between);
    wo_text_add_view(out, wo_view_cut(&rest, '|'));
  }
}

/* A text inside of '...', as all three shells take it; `special` characters get a backslash. */
static void add_quoted(struct wo_view text, const char *special, struct wo_text *out) {
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i] == '\n' ? ' ' : text.ptr[i];
    if (c == '\'') {
      wo_text_add(out, "'\\''");
    } else {
      wo_text_add(out, "%s%c", strchr(special, c) ? "\\" : "", c);
    }
  }
}

static void add_command_names(struct wo_commands commands, struct wo_text *out) {
  for (size_t i = 1; i < commands.count; i++) wo_text_add(out, "%s%s", i > 1 ? " " : "", commands.items[i].command->name);
}

/* ---- bash ---- */

static void add_bash_options(const struct wo_option *options, size_t count, struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    if (options[i].name[0] != '\0') wo_text_add(out, " --%s", options[i].name);
  }
}

static void add_bash_choices(const char *command, const struct wo_option *options, size_t count, struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    if (!options[i].choices) continue;
    wo_text_add(out, "  %s:--%s) words='", command, options[i].name);
    add_words(options[i].choices, out);
    wo_text_add(out, "' ;;\n");
  }
}

/* Bash cuts words at '=', so that a value behind it is a word of its own. */
static void add_bash(struct wo_commands commands, struct wo_text *out) {
  wo_text_add(out, "_whyoom() {\n"
                   "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= options= words= i\n"
                   "  if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $cur == = ]]; then cur=; fi\n"
                   "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                   "    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi\n"
                   "  done\n"
                   "  case $command in\n  '') words='");
  add_command_names(commands, out);
  wo_text_add(out, "' ;;\n");
  for (size_t i = 1; i < commands.count; i++) {
    const struct wo_command *const command = commands.items[i].command;
    wo_text_add(out, "  %s) options='", command->name);
    add_bash_options(command->options, command->option_count, out);
    wo_text_add(out, "' words='");
    add_words(command->words, out);
    wo_text_add(out, "' ;;\n");
  }
  wo_text_add(out, "  esac\n  options+='");
  add_bash_options(wo_shared_options, WO_SHARED_OPTION_COUNT, out);
  wo_text_add(out, "'\n  if [[ $cur == -* ]]; then words=$options; fi\n  case $command:$prev in\n");
  for (size_t i = 1; i < commands.count; i++)
    add_bash_choices(commands.items[i].command->name, commands.items[i].command->options, commands.items[i].command->option_count,
                     out);
  add_bash_choices("*", wo_shared_options, WO_SHARED_OPTION_COUNT, out);
  wo_text_add(out, "  esac\n"
                   "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                   "}\n"
                   "complete -o default -F _whyoom whyoom\n");
}

/* ---- zsh ---- */

/* "'(-o --output)'{-o+,--output=}'[write the report to FILE]:FILE:_files'". */
static void add_zsh_option(const struct wo_option *option, struct wo_text *out) {
  const char *const equals = !option->value ? "" : option->without ? "=-" : "=";
  wo_text_add(out, "    ");
  if (option->letter != 0) {
    wo_text_add(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter, option->value ? "+" : "",
                option->name, equals);
  } else {
    wo_text_add(out, "'--%s%s[", option->name, equals);
  }
  add_quoted(wo_help_about(option), "[]:\\", out);
  wo_text_add(out, "]");
  if (option->value) {
    wo_text_add(out, "%s", option->without ? "::" : ":");
    add_quoted(wo_view_of(option->value), "[]:\\", out);
    wo_text_add(out, ":");
  }
  if (option->value && takes_file(option)) wo_text_add(out, "_files");
  if (option->choices) {
    wo_text_add(out, "(");
    add_words(option->choices, out);
    wo_text_add(out, ")");
  }
  wo_text_add(out, "'\n");
}

static void add_zsh_options(const struct wo_option *options, size_t count, struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    if (options[i].name[0] != '\0') add_zsh_option(&options[i], out);
  }
}

static void add_zsh(struct wo_commands commands, struct wo_text *out) {
  wo_text_add(out, "#compdef whyoom\n_whyoom() {\n  local -a commands shared own\n  commands=(\n");
  for (size_t i = 1; i < commands.count; i++) {
    wo_text_add(out, "    '%s:", commands.items[i].command->name);
    add_quoted(wo_view_of(commands.items[i].command->summary), "", out);
    wo_text_add(out, "'\n");
  }
  wo_text_add(out, "  )\n  shared=(\n");
  add_zsh_options(wo_shared_options, WO_SHARED_OPTION_COUNT, out);
  wo_text_add(out, "  )\n  case ${words[2]} in\n");
  for (size_t i = 1; i < commands.count; i++) {
    const struct wo_command *const command = commands.items[i].command;
    wo_text_add(out, "  %s)\n    own=(\n", command->name);
    add_zsh_options(command->options, command->option_count, out);
    if (command->words) {
      wo_text_add(out, "    '1:word:(");
      add_words(command->words, out);
      wo_text_add(out, ")'\n");
    }
    wo_text_add(out, "    '*:%s'\n    ) ;;\n", command->becomes_program ? ":command:_normal" : "file:_files");
  }
  wo_text_add(out, "  esac\n"
                   "  if (( CURRENT > 2 && ${#own} )); then\n"
                   "    shift words\n"
                   "    (( CURRENT-- ))\n"
                   "    _arguments -s $own $shared\n"
                   "  else\n"
                   "    if (( CURRENT == 2 )); then _describe command commands; fi\n"
                   "    _arguments -s $shared '*:file:_files'\n"
                   "  fi\n"
                   "}\n"
                   "if [[ $funcstack[1] == _whyoom ]]; then _whyoom \"$@\"; else compdef _whyoom whyoom; fi\n");
}

/* ---- fish ---- */

static void add_fish_options(const char *command, const struct wo_option *options, size_t count, struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_option *const option = &options[i];
    if (option->name[0] == '\0') continue;
    wo_text_add(out, "complete -c whyoom");
    if (command) wo_text_add(out, " -n '__fish_seen_subcommand_from %s'", command);
    if (option->letter != 0) wo_text_add(out, " -s %c", option->letter);
    wo_text_add(out, " -l %s", option->name);
    if (option->value && !option->without) wo_text_add(out, takes_file(option) ? " -r -F" : " -x");
    if (option->choices) {
      wo_text_add(out, " -a '");
      add_words(option->choices, out);
      wo_text_add(out, "'");
    }
    wo_text_add(out, " -d '");
    add_quoted(wo_help_about(option), "", out);
    wo_text_add(out, "'\n");
  }
}

static void add_fish(struct wo_commands commands, struct wo_text *out) {
  for (size_t i = 1; i < commands.count; i++) {
    wo_text_add(out, "complete -c whyoom -n __fish_use_subcommand -a %s -d '", commands.items[i].command->name);
    add_quoted(wo_view_of(commands.items[i].command->summary), "", out);
    wo_text_add(out, "'\n");
  }
  add_fish_options(NULL, wo_shared_options, WO_SHARED_OPTION_COUNT, out);
  for (size_t i = 1; i < commands.count; i++) {
    const struct wo_command *const command = commands.items[i].command;
    if (command->words) {
      wo_text_add(out, "complete -c whyoom -n '__fish_seen_subcommand_from %s' -a '", command->name);
      add_words(command->words, out);
      wo_text_add(out, "'\n");
    }
    add_fish_options(command->name, command->options, command->option_count, out);
  }
}

/* ---- The command ---- */

void wo_completion_add(int shell, struct wo_commands commands, struct wo_text *out) {
  static void (*const writers[])(struct wo_commands commands, struct wo_text * out) = {add_bash, add_zsh, add_fish};
  assert(shell >= 0 && (size_t)shell < sizeof writers / sizeof *writers);
  writers[shell](commands, out);
}
