/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, read in one pass by the tables of the commands. See command.h. */
#include <assert.h>

#include "parsers/base/command/command.h"
#include "parsers/base/nearest/nearest.h"

/* ---- Options of all commands ---- */

bool wo_call_read_format(void *target, const struct wo_option_value *value) {
  const int place = wo_option_choice(WO_OUT_NAMES, value->text);
  if (place < 0 || wo_option_choice(value->option->choices, value->text) < 0) return false;
  ((struct wo_call *)target)->format = (enum wo_format_out)place;
  return true;
}

static bool read_json(void *target, const struct wo_option_value *value) {
  (void)value;
  ((struct wo_call *)target)->format = WO_OUT_JSON;
  return true;
}

static bool read_no_color(void *target, const struct wo_option_value *value) {
  (void)value;
  ((struct wo_call *)target)->color = WO_COLOR_NEVER;
  return true;
}

static bool read_sandbox(void *target, const struct wo_option_value *value) {
  (void)value;
  ((struct wo_call *)target)->sandbox = WO_SANDBOX_ON;
  return true;
}

static bool read_no_sandbox(void *target, const struct wo_option_value *value) {
  (void)value;
  ((struct wo_call *)target)->sandbox = WO_SANDBOX_OFF;
  return true;
}

/* In the order of the help text. */
const struct wo_option wo_shared_options[WO_SHARED_OPTION_COUNT] = {
    WO_OPTION("format", "FORM", "text (default), json, oneline, html (a page with\npictures), or markdown (for tickets); {json} is json",
              WO_TO_READER(wo_call_read_format), .choices = "text|json", .about = "the form of the report: text, json, or what else a command has"),
    WO_OPTION("json", NULL, NULL, WO_TO_READER(read_json), .about = "the report as JSON: --format json"),
    WO_OPTION("output", "FILE", "write the report to FILE", .letter = 'o', WO_TO_TEXT(struct wo_call, output),
              .path = WO_PATH_WRITTEN, .wants = "the name of a file"),
    WO_OPTION("quiet", NULL, "no report on standard output: the exit status says all", .letter = 'q',
              WO_TO_FLAG(struct wo_call, is_quiet)),
    WO_OPTION("color", "[=WHEN]", "auto (default), always or never; {no-color} is never", .without = "always",
              WO_TO_CHOICE(struct wo_call, color, "auto|always|never"), .about = "whether to colour the text report"),
    WO_OPTION("no-color", NULL, NULL, WO_TO_READER(read_no_color), .about = "no colours in the text report"),
    WO_OPTION("width", "N", "columns of the text report, 40 to 1000", .kind = WO_OPTION_NUMBER,
              .at = offsetof(struct wo_call, width), .least = 40, .most = 1000, .wants = "a number of columns from 40 to 1000"),
    WO_OPTION("verbose", NULL, "everything; the default report is one screen", .letter = 'v',
              WO_TO_FLAG(struct wo_call, is_verbose)),
    WO_OPTION("events", NULL, "the evidence, one line each, instead of a report", WO_TO_FLAG(struct wo_call, list_events)),
    WO_OPTION("anonymize", NULL,
              "replace names of users, hosts, accounts, jobs and paths,\naddresses and keys by pseudonyms in all that is written",
              WO_TO_FLAG(struct wo_call, is_anonymous), .about = "replace names, paths and addresses by pseudonyms"),
    WO_OPTION("rules", "DIR", "read the rule files below DIR too; they add and override", WO_TO_TEXT(struct wo_call, rules_dir),
              .path = WO_PATH_READ, .wants = "a folder of rule files"),
    WO_OPTION("time-limit", "SECONDS", "stop reading a log after that; report what was read", .kind = WO_OPTION_NUMBER,
              .at = offsetof(struct wo_call, time_limit_s), .least = 1, .most = 86400,
              .wants = "a number of seconds from 1 to 86400"),
    WO_OPTION("exit-zero", NULL, "exit with 0 where a failure was diagnosed", WO_TO_FLAG(struct wo_call, exit_zero)),
    WO_OPTION("no-prefilter", NULL, "match every line with every pattern (slow; for checking)",
              WO_TO_FLAG(struct wo_call, no_prefilter)),
    WO_OPTION("sandbox", NULL,
              "only read, or fail: write no file, run nothing, use no\nnetwork (default where possible); {no-sandbox} is off",
              WO_TO_READER(read_sandbox), .about = "let the system keep whyoom to reading, or fail"),
    WO_OPTION("no-sandbox", NULL, NULL, WO_TO_READER(read_no_sandbox), .about = "whyoom is not kept to reading"),
    WO_OPTION("help", NULL, "this text;  {version}  the version", .letter = 'h', WO_TO_FLAG(struct wo_call, wants_help),
              .about = "the help text of the command"),
    WO_OPTION("version", NULL, NULL, .letter = 'V', WO_TO_FLAG(struct wo_call, wants_version), .about = "the version"),
    WO_OPTION("", NULL, "what follows is a PATH, whatever it looks like", .kind = WO_OPTION_FLAG),
};

/* ---- Reading ---- */

/* The state of reading. Options of all commands apply at once; those of one command are kept, and the command reads them. */
struct reader {
  int argc;
  char **argv;
  int next;             /* argument to be read next */
  bool is_command_seen; /* or can no longer come */
  struct wo_call *call;
  struct wo_err *err;
};

/* Gives the value of an option: what follows the '=' or the letter (NULL: nothing), else the next argument, whatever it
 * looks like: wo_option_read refuses names of files that look like options. */
static enum wo_status take_value(struct reader *reader, const struct wo_option *option, const char *behind,
                                 struct wo_view *ret_value) {
  char wants[160];
  *ret_value = wo_view_of(behind);
  if (behind && !option->value)
    return wo_err_set(reader->err, WO_E_USAGE, "--%s takes no value, but '%s' follows the =", option->name, behind);
  if (behind || !option->value) return WO_OK;
  *ret_value = wo_view_of(option->without);
  if (option->without) return WO_OK; /* a value can only come after '=', or `--color file` would be ambiguous */
  if (reader->next >= reader->argc)
    return wo_err_set(reader->err, WO_E_USAGE, "--%s needs %s, and nothing follows it", option->name,
                      wo_option_wants(option, wants, sizeof wants));
  *ret_value = wo_view_of(reader->argv[reader->next++]);
  return WO_OK;
}

static enum wo_status apply_shared(struct reader *reader, const struct wo_option *option, const char *behind) {
  struct wo_view value;
  const enum wo_status status = take_value(reader, option, behind, &value);
  return status == WO_OK ? wo_option_read(option, value, reader->call, reader->err) : status;
}

/* Keeps an option of the command for that command to read. */
static enum wo_status keep(struct reader *reader, const struct wo_option *option, const char *behind) {
  struct wo_call *const call = reader->call;
  struct wo_given given = {.name = wo_view_of(option->name)};
  const enum wo_status status = take_value(reader, option, behind, &given.value);
  if (status != WO_OK) return status;
  if (call->given_count == WO_LIMIT_COMMAND_OPTIONS)
    return wo_err_set(reader->err, WO_E_USAGE, "a command takes %d options at the most", WO_LIMIT_COMMAND_OPTIONS);
  call->given[call->given_count++] = given;
  return WO_OK;
}

/* ---- Unknown names ---- */

/* The message names the command that has the option, the last one if several have it. */
static enum wo_status refuse(struct reader *reader, struct wo_view name) {
  const struct wo_commands commands = reader->call->commands;
  const struct wo_command *const own = reader->call->command;
  const char *owner = NULL;
  for (size_t i = 0; i < commands.count; i++) {
    if (wo_option_find(commands.items[i].command->options, commands.items[i].command->option_count, name))
      owner = commands.items[i].command->name;
  }
  if (owner)
    return wo_err_set(reader->err, WO_E_USAGE, "--%.*s is an option of `whyoom %s`, a word that comes first", (int)name.len,
                      name.ptr, owner);
  struct wo_nearest nearest = {.want = name};
  for (size_t i = 0; i < own->option_count; i++) wo_nearest_offer(&nearest, wo_view_of(own->options[i].name));
  for (size_t i = 0; i < WO_SHARED_OPTION_COUNT; i++) wo_nearest_offer(&nearest, wo_view_of(wo_shared_options[i].name));
  const struct wo_view near = wo_nearest_best(&nearest);
  return wo_err_set(reader->err, WO_E_USAGE,
                    "unknown option --%.*s%s%.*s%s (whyoom --help lists them; a file of that name: -- first)",
                    (int)(name.len < 80 ? name.len : 80), name.ptr, near.len > 0 ? "; did you mean --" : "", WO_SHOWN(near),
                    near.len > 0 ? "?" : "");
}

/* ---- Arguments ---- */

/* Reads "--name", "--name=value" or "--name value"; text follows the dashes. Options of all commands are read this way even if a
 * command's table describes them in its own way; a row there that has choices of its own is read in place of the shared one. */
static enum wo_status read_long(struct reader *reader, const char *text) {
  const struct wo_command *const own = reader->call->command;
  struct wo_view value = wo_view_of(text);
  const bool has_value = wo_view_find_char(value, '=', 0) != WO_NOT_FOUND;
  const struct wo_view name = wo_view_cut(&value, '=');
  const char *const behind = has_value ? value.ptr : NULL;
  const struct wo_option *const shared = wo_option_find(wo_shared_options, WO_SHARED_OPTION_COUNT, name);
  const struct wo_option *const option = wo_option_find(own->options, own->option_count, name);
  if (shared && own->formats && wo_view_is(name, "format")) {
    struct wo_option row = *shared;
    row.choices = own->formats;
    return apply_shared(reader, &row, behind);
  }
  if (shared) return apply_shared(reader, option && option->choices ? option : shared, behind);
  return option ? keep(reader, option, behind) : refuse(reader, name);
}

static const struct wo_option *find_letter(char letter) {
  for (size_t i = 0; i < WO_SHARED_OPTION_COUNT; i++) {
    if (wo_shared_options[i].letter == letter) return &wo_shared_options[i];
  }
  return NULL;
}

/* Reads "-v", "-vh", "-o FILE" or "-oFILE"; letters follow the dash. A letter that takes a value takes all that follows it.
 * An unknown byte that is no letter is shown as '?': it may be part of a UTF-8 character, and half of one would spoil the
 * terminal. */
static enum wo_status read_letters(struct reader *reader, const char *letters) {
  for (; *letters != '\0'; letters++) {
    const struct wo_option *const option = find_letter(*letters);
    if (option == NULL)
      return wo_err_set(reader->err, WO_E_USAGE, "unknown option -%c (whyoom --help lists them)",
                        wo_is_alnum(*letters) ? *letters : '?');
    const bool has_rest = option->value && letters[1] != '\0';
    const enum wo_status status = apply_shared(reader, option, has_rest ? letters + 1 : NULL);
    if (status != WO_OK || has_rest) return status;
  }
  return WO_OK;
}

const struct wo_command *wo_command_find(struct wo_commands commands, struct wo_view name) {
  for (size_t i = 0; i < commands.count; i++) {
    if (wo_view_is(name, commands.items[i].command->name)) return commands.items[i].command;
  }
  return NULL;
}

/* The first word may be a command; every other word is kept. Words never outnumber what was read, so argv can hold them. */
static void take_word(struct reader *reader, char *word) {
  struct wo_call *const call = reader->call;
  const struct wo_command *const command = reader->is_command_seen ? NULL : wo_command_find(call->commands, wo_view_of(word));
  reader->is_command_seen = true;
  if (command != NULL) {
    call->command = command;
    return;
  }
  assert(call->words + call->word_count < reader->argv + reader->next);
  call->words[call->word_count++] = word;
}

/* Sorts every argument into options and words. A lone dash is a word (standard input); after a double dash every argument is a
 * word, and so is every argument after the first word of a command that becomes another program, which has options of its own. */
static enum wo_status read_arguments(struct reader *reader) {
  bool is_option_possible = true;
  while (reader->next < reader->argc) {
    char *const word = reader->argv[reader->next++];
    const bool has_dash = is_option_possible && word[0] == '-' && word[1] != '\0';
    enum wo_status status = WO_OK;
    if (has_dash && wo_view_is(wo_view_of(word), "--")) {
      is_option_possible = false;
      reader->is_command_seen = true;
    } else if (has_dash) {
      status = word[1] == '-' ? read_long(reader, word + 2) : read_letters(reader, word + 1);
    } else {
      take_word(reader, word);
      if (reader->call->command->becomes_program && reader->call->word_count > 0) is_option_possible = false;
    }
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* The forms of the first command are more than most others have; one that has others lists them in a row of its own. */
static enum wo_status check_format(const struct reader *reader) {
  const struct wo_command *const own = reader->call->command;
  const struct wo_option *const option = wo_option_find(own->options, own->option_count, WO_VIEW("format"));
  const char *const choices = own->formats ? own->formats : option && option->choices ? option->choices : "text|json";
  struct wo_view names = WO_VIEW(WO_OUT_NAMES), name = {0};
  for (int i = 0; i <= (int)reader->call->format; i++) name = wo_view_cut(&names, '|');
  if (own->becomes_program || wo_option_choice(choices, name) >= 0) return WO_OK;
  return wo_err_set(reader->err, WO_E_USAGE, "--format of `whyoom %s` is one of %s, not '%.*s'", own->name, choices,
                    WO_SHOWN(name));
}

enum wo_status wo_call_read(int argc, char **argv, struct wo_commands commands, struct wo_call *ret_call, struct wo_err *err) {
  assert(argv != NULL && ret_call != NULL && commands.count > 0);
  struct wo_call call = {.command = commands.items[0].command, .commands = commands, .words = argc > 0 ? argv + 1 : argv};
  struct reader reader = {.argc = argc, .argv = argv, .next = 1, .call = &call, .err = err};
  enum wo_status status = read_arguments(&reader);
  if (status == WO_OK && !call.wants_help && !call.wants_version) status = check_format(&reader);
  if (status == WO_OK) *ret_call = call;
  return status;
}

/* ---- A command's own options ---- */

enum wo_status wo_command_apply(const struct wo_command *command, struct wo_given given, void *target, struct wo_err *err) {
  const struct wo_option *const option = wo_option_find(command->options, command->option_count, given.name);
  const struct wo_view shown = wo_view_sub(given.name, 0, 60);
  if (option) return wo_option_read(option, given.value, target, err);
  return wo_err_set(err, WO_E_USAGE, "%s has no option --%.*s", command->name, (int)shown.len, shown.len > 0 ? shown.ptr : "");
}

enum wo_status wo_call_apply(const struct wo_call *call, void *target, struct wo_err *err) {
  for (size_t i = 0; i < call->given_count; i++) {
    const enum wo_status status = wo_command_apply(call->command, call->given[i], target, err);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}
