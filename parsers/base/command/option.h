/* SPDX-License-Identifier: Apache-2.0 */
/* One option of a command: its name, the values it takes, the place its value goes to, and its help text.
 *
 * A command has a table of these (command.h). Reading, `--help`, the manual's lists and the shells' completions all go by that
 * table; nothing else lists names. Everything here is pure: any text gives a value or a message. */
#ifndef WO_OPTION_H
#define WO_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/status.h"
#include "parsers/base/text.h"
#include "parsers/base/view.h"

enum wo_option_kind {
  WO_OPTION_FLAG,   /* takes no value; sets the bool at `at` */
  WO_OPTION_TEXT,   /* any text but the empty one, which comes from an unset shell variable: struct wo_view at `at` */
  WO_OPTION_CHOICE, /* one of `choices`: its place from 0 in the enum at `at` */
  WO_OPTION_NUMBER, /* a whole number from `least` to `most`: size_t at `at` */
  WO_OPTION_OTHER   /* `read` makes something of it */
};

/* Whether a value names a file or a folder, and what happens to it. A value that looks like an option is then refused: it is more
 * likely a forgotten name. */
enum wo_option_path { WO_PATH_NONE, WO_PATH_READ, WO_PATH_WRITTEN };

struct wo_option_value;

/* Reads a value into the target of a table. False, and the target is unchanged, if the value is not one that the option wants, or
 * for the reason in value->err. */
typedef bool (*wo_option_reader)(void *target, const struct wo_option_value *value);

struct wo_option {
  const char *name; /* without dashes; "" is the row that describes a lone "--" */
  char letter;      /* 0 = none */
  enum wo_option_kind kind;
  const char *value;   /* its placeholder ("FILE", "[=WHEN]"); NULL for one that takes none */
  const char *without; /* the value if the option has none on the command line; NULL = a value must follow */
  const char *choices; /* "text|json": what completions offer, and what a CHOICE takes */
  size_t at;           /* offset in the target of the table */
  double least, most;  /* of numbers */
  int id;              /* the table's own */
  enum wo_option_path path;
  wo_option_reader read;
  const char *wants; /* what the value must be, for messages; NULL: by the choices or the numbers */
  const char *help;  /* its lines in the help text, divided by \n; "{name}" is another option, as it is spelled. NULL: it is
                        described in the lines of such another option */
  const char *about; /* one line for lists; NULL: the beginning of `help` */
};

/* A row of a table: name, value, help, and further members. */
#define WO_OPTION(option_name, placeholder, help_text, ...)                                                                      \
  { .name = option_name, .value = placeholder, .help = help_text, __VA_ARGS__ }

/* Members of a row: where the value goes. `target` is the struct that the table is read into. */
#define WO_TO_FLAG(target, member) .kind = WO_OPTION_FLAG, .at = offsetof(target, member)
#define WO_TO_TEXT(target, member) .kind = WO_OPTION_TEXT, .at = offsetof(target, member)
#define WO_TO_CHOICE(target, member, names) .kind = WO_OPTION_CHOICE, .at = offsetof(target, member), .choices = names
#define WO_TO_READER(reader) .kind = WO_OPTION_OTHER, .read = reader

/* The input of a reader. */
struct wo_option_value {
  const struct wo_option *option;
  struct wo_view text; /* of a command line: ends with a NUL byte */
  struct wo_err *err;  /* may be filled with a message of its own */
};

/* An option as it was written: name without dashes, value empty for one that takes none. Both borrowed; values of a command line
 * end with a NUL byte. */
struct wo_given {
  struct wo_view name;
  struct wo_view value;
};

/* Reads one value into *target. WO_E_USAGE with a message that names the option and what it wants; *target is then unchanged. */
enum wo_status wo_option_read(const struct wo_option *option, struct wo_view value, void *target, struct wo_err *err);

/* The place of a name in "a|b|c", from 0; -1 when it is not there. */
int wo_option_choice(const char *choices, struct wo_view name);

/* Writes "auto, always or never" for "auto|always|never" into buf and returns it. */
const char *wo_option_choices_text(const char *choices, char *buf, size_t cap);

/* Writes what the option wants ("text or json") into buf and returns it. */
const char *wo_option_wants(const struct wo_option *option, char *buf, size_t cap);

/* Adds the option as it is written: "-o, --output FILE". */
void wo_option_spell(const struct wo_option *option, struct wo_text *out);

/* The option of that name in a table of `count`, or NULL. Prefixes are not accepted: a script that used one would break with the
 * next option added. */
const struct wo_option *wo_option_find(const struct wo_option *options, size_t count, struct wo_view name);

#endif
