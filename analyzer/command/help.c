/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, and the parts of the manual that say the same. See help.h. */
#include "analyzer/command/help.h"

#include <assert.h>

enum { OPTION_COLUMN = 23 };

/* ---- Help texts ---- */

/* Adds a text whose further lines begin after `indent` blanks. "{name}" becomes the spelling of that option. */
static void add_text(struct wo_view text, size_t indent, const struct wo_command *command, struct wo_text *out) {
  while (text.len > 0) {
    const size_t stop = strcspn(text.ptr, "{\n");
    wo_text_add_view(out, wo_view_sub(text, 0, stop));
    const bool is_name = stop < text.len && text.ptr[stop] == '{';
    if (stop < text.len && !is_name) {
      wo_text_add(out, "\n");
      wo_text_repeat(out, ' ', indent);
    }
    text = wo_view_skip(text, stop + 1);
    if (!is_name) continue;
    const struct wo_view name = wo_view_cut(&text, '}');
    const struct wo_option *const option = wo_option_find(command->options, command->option_count, name);
    assert(option != NULL);
    wo_option_spell(option, out);
  }
}

static void add_usage(const char *usage, const char *lead, struct wo_text *out) {
  struct wo_view rest = wo_view_of(usage);
  while (rest.len > 0) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    wo_text_add(out, "%swhyoom %.*s\n", lead, WO_SHOWN(line));
    lead = "       ";
  }
}

/* A row for each option with a help text; the others are in the rows of their neighbours. */
static void add_options(const struct wo_command *command, struct wo_text *out) {
  const size_t column = command->help_column > 0 ? command->help_column : OPTION_COLUMN;
  for (size_t i = 0; i < command->option_count; i++) {
    const struct wo_option *const option = &command->options[i];
    if (!option->help) continue;
    wo_text_add(out, "  ");
    const size_t begin = out->len;
    wo_option_spell(option, out);
    const size_t used = 2 + out->len - begin;
    wo_text_repeat(out, ' ', used < column ? column - used : 3);
    add_text(wo_view_of(option->help), column, command, out);
    wo_text_add(out, "\n");
  }
}

static bool is_program(const struct wo_command *command, struct wo_commands commands) {
  return command == commands.items[0].command;
}

/* The examples, and where more is written: a command that is not listed has no page of its own. */
static void add_examples(const struct wo_command *command, bool is_whole, struct wo_text *out) {
  const bool has_page = !is_whole && !(command->synopsis && command->synopsis[0] == '\0');
  struct wo_view rest = wo_view_of(command->examples);
  if (rest.len > 0) wo_text_add(out, "\nexamples:\n");
  while (rest.len > 0) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    wo_text_add(out, "  %.*s\n", WO_SHOWN(line));
  }
  if (has_page)
    wo_text_add(out, "\nmore: man whyoom-%s; options of all commands: whyoom --help\n", command->name);
  else
    wo_text_add(out, "\nmore: man whyoom; whyoom COMMAND --help\n");
}

void wo_help_add(const struct wo_command *command, struct wo_commands commands, struct wo_text *out) {
  const bool is_whole = is_program(command, commands);
  if (is_whole) wo_text_add(out, "whyoom: %s\n\n", command->summary);
  add_usage(command->usage, "usage: ", out);
  for (size_t i = 1; i < commands.count && is_whole; i++) {
    const struct wo_command *const other = commands.items[i].command;
    add_usage(other->synopsis ? other->synopsis : other->usage, "       ", out);
  }
  wo_text_add(out, "\n%s", command->about);
  if (command->option_count > 0) wo_text_add(out, "\n");
  add_options(command, out);
  if (command->ending) wo_text_add(out, "\n%s", command->ending);
  add_examples(command, is_whole, out);
}

/* ---- The manual ---- */

struct wo_view wo_help_about(const struct wo_option *option) {
  static const char *const ends[] = {": ", "; ", " (", ".\n"};
  struct wo_view text = wo_view_of(option->about ? option->about : option->help);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    const size_t at = wo_view_find(text, wo_view_of(ends[i]), 0);
    if (at != WO_NOT_FOUND) text = wo_view_sub(text, 0, at);
  }
  return text;
}

/* Adds a text with the escapes of roff; options in it are bold. */
static void add_roff(struct wo_view text, struct wo_text *out) {
  bool is_bold = false;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    const bool begins = !is_bold && c == '-' && i + 2 < text.len && text.ptr[i + 1] == '-' && (i == 0 || text.ptr[i - 1] == ' ');
    const bool ends = is_bold && c != '-' && !wo_is_alnum(c);
    if (begins || ends) wo_text_add(out, begins ? "\\fB" : "\\fR");
    is_bold = begins || (is_bold && !ends);
    wo_text_add(out, "%s%c", c == '\\' || (c == '-' && is_bold) ? "\\" : "", c == '\n' ? ' ' : c);
  }
  wo_text_add(out, "%s", is_bold ? "\\fR" : "");
}

static char capital_of(char c) {
  return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* Text as it is to be typed: a formatter would print other dashes and quotes for these. */
static void add_literal(struct wo_view text, struct wo_text *out) {
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    const char *const escape = c == '-'    ? "\\-"
                               : c == '\\' ? "\\e"
                               : c == '\'' ? "\\(aq"
                               : c == '`'  ? "\\(ga"
                               : c == '^'  ? "\\(ha"
                               : c == '~'  ? "\\(ti"
                                           : NULL;
    if (i == 0 && c == '.') wo_text_add(out, "\\&");
    if (escape)
      wo_text_add(out, "%s", escape);
    else
      wo_text_add(out, "%c", c);
  }
}

static void add_escaped(const char *text, struct wo_text *out) {
  add_literal(wo_view_of(text), out);
}

/* "-o, --output FILE", names in bold, the value in italics. */
static void add_head(const struct wo_option *option, struct wo_text *out) {
  wo_text_add(out, ".TP\n");
  if (option->letter != 0) wo_text_add(out, "\\fB\\-%c\\fR, ", option->letter);
  wo_text_add(out, "\\fB\\-\\-");
  add_escaped(option->name, out);
  wo_text_add(out, "\\fR");
  if (option->value) {
    wo_text_add(out, "%s\\fI", option->without ? "" : " ");
    add_escaped(option->value, out);
    wo_text_add(out, "\\fR");
  }
  wo_text_add(out, "\n");
}

/* "whyoom\-scan \- every job of a folder", which makewhatis(8) wants on one line. */
static void add_manual_name(const struct wo_command *command, bool is_whole, struct wo_text *out) {
  wo_text_add(out, "whyoom%s", is_whole ? "" : "\\-");
  add_escaped(is_whole ? "" : command->name, out);
  wo_text_add(out, " \\- %s\n", command->summary);
}

/* Which font a run of letters of a usage has: words in capitals stand for others, the rest is typed. */
static char font_of(char c) {
  if (c >= 'A' && c <= 'Z') return 'I';
  return (c >= 'a' && c <= 'z') || c == '-' ? 'B' : 'R';
}

static void add_manual_synopsis(const struct wo_command *command, struct wo_text *out) {
  struct wo_view rest = wo_view_of(command->usage);
  while (rest.len > 0) {
    struct wo_view line = wo_view_cut(&rest, '\n');
    wo_text_add(out, "\\fBwhyoom\\fR ");
    while (line.len > 0) {
      const char font = font_of(line.ptr[0]);
      size_t end = 1;
      while (end < line.len && font_of(line.ptr[end]) == font) end++;
      if (font != 'R') wo_text_add(out, "\\f%c", font);
      add_literal(wo_view_sub(line, 0, end), out);
      if (font != 'R') wo_text_add(out, "\\fR");
      line = wo_view_skip(line, end);
    }
    wo_text_add(out, rest.len > 0 ? "\n.br\n" : "\n");
  }
}

/* The remark over an example becomes a sentence, the lines below it are shown as they are. */
static void add_manual_examples(const struct wo_command *command, struct wo_text *out) {
  struct wo_view rest = wo_view_of(command->examples);
  bool is_open = false;
  while (rest.len > 0) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    const bool is_remark = wo_view_starts(line, "# ");
    if (is_remark && is_open) wo_text_add(out, ".EE\n");
    if (is_remark) {
      wo_text_add(out, "%s%c", is_open ? ".PP\n" : "", capital_of(line.ptr[2])); /* a heading begins a paragraph itself */
      add_roff(wo_view_skip(line, 3), out);
      wo_text_add(out, "%s\n.PP\n.EX\n", wo_view_ends(line, "?") ? "" : ".");
    } else {
      add_literal(line, out);
      wo_text_add(out, "\n");
    }
    is_open = true;
  }
  if (is_open) wo_text_add(out, ".EE\n");
}

/* One sentence, which ends with the choices if neither the head nor the text has them. */
static void add_manual_options(const struct wo_command *command, struct wo_text *out) {
  for (size_t i = 0; i < command->option_count; i++) {
    const struct wo_option *const option = &command->options[i];
    const struct wo_view text = wo_view_of(option->about ? option->about : option->help);
    char choices[160];
    assert(text.len > 0);
    add_head(option, out);
    wo_text_add(out, "%c", capital_of(text.ptr[0]));
    add_roff(wo_view_skip(text, 1), out);
    const bool lists = option->about && option->choices && strcmp(option->choices, option->value) != 0;
    if (lists) wo_text_add(out, ": %s", wo_option_choices_text(option->choices, choices, sizeof choices));
    wo_text_add(out, ".\n");
  }
}

void wo_help_add_manual(const struct wo_command *command, struct wo_commands commands, int part, struct wo_text *out) {
  enum { PART_NAME, PART_SYNOPSIS, PART_OPTIONS, PART_EXAMPLES };
  assert(part >= PART_NAME && part <= PART_EXAMPLES);
  if (part == PART_NAME) add_manual_name(command, is_program(command, commands), out);
  if (part == PART_SYNOPSIS) add_manual_synopsis(command, out);
  if (part == PART_OPTIONS) add_manual_options(command, out);
  if (part == PART_EXAMPLES) add_manual_examples(command, out);
}
