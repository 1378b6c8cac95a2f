/* The command line: options -> struct. No work is done here. */
#ifndef WO_CLI_H
#define WO_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/limits.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"

enum wo_command {
  WO_COMMAND_DIAGNOSE,
  WO_COMMAND_BUDGET,
  WO_COMMAND_REPLAY,
  WO_COMMAND_VERIFY,
  WO_COMMAND_RECORD,
  WO_COMMAND_RULES,
  WO_COMMAND_EXPLAIN,
  WO_COMMAND_HELP,
  WO_COMMAND_VERSION
};
enum wo_format_out { WO_OUT_TEXT, WO_OUT_JSON };
enum wo_color { WO_COLOR_AUTO, WO_COLOR_ALWAYS, WO_COLOR_NEVER };

/* An option of one command alone, as it was written; both borrowed from argv. */
struct wo_cli_option {
  struct wo_view name; /* without dashes */
  const char *value;   /* NULL for one that takes none */
};

struct wo_cli {
  enum wo_command command;
  enum wo_command help_topic; /* WO_COMMAND_HELP: whose help text is wanted */
  enum wo_format_out format;
  enum wo_color color;
  size_t width;          /* 0 = as wide as the terminal, else 80 */
  const char *output;    /* NULL = stdout */
  const char *rules_dir; /* NULL = compiled-in rules only */
  bool exit_zero;
  bool is_verbose;
  bool no_prefilter;
  bool list_events; /* --events: the evidence, one line each, instead of a report */
  char **words;     /* arguments that are no options, in order; borrowed from argv */
  size_t word_count;
  struct wo_cli_option options[WO_LIMIT_COMMAND_OPTIONS]; /* that this command alone has, in order */
  size_t option_count;
};

/* Reads argv. WO_E_USAGE with a message that names the option and what was expected. Arguments behind "--" are words. */
enum wo_status wo_cli_parse(int argc, char **argv, struct wo_cli *ret_cli, struct wo_err *err);

/* What stands behind an option of one command. */
enum wo_cli_takes { WO_CLI_TAKES_NOTHING, WO_CLI_TAKES_VALUE, WO_CLI_IS_NO_OPTION };

/* Whether `whyoom replay` has that option (name without dashes), and what it takes. The values are read where they are used. */
enum wo_cli_takes wo_cli_replay_option(struct wo_view name);
enum wo_cli_takes wo_cli_verify_option(struct wo_view name); /* the same for `whyoom verify` */

/* As wo_cli_replay_option, for `whyoom record`. */
enum wo_cli_takes wo_cli_record_option(struct wo_view name);

/* The help text of a command (NULL-terminated string, static). */
const char *wo_cli_help(enum wo_command command);

#endif
