/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: the name, the options and the help text of each, and one call of one of them.
 *
 * A command is one `const struct wo_command` in the file that runs it; main.c lists them all. A call is read from argv in one
 * pass by the tables of these commands (wo_call_read) and handed to the command, which adds to texts and returns an exit code:
 * only main.c prints, and nothing below it ends the program. */
#ifndef WO_COMMAND_H
#define WO_COMMAND_H

#include <signal.h>
#include <stdint.h>

#include "parsers/base/anonymize/pseudonyms.h"
#include "parsers/base/command/exit_code.h"
#include "parsers/base/command/option.h"
#include "parsers/base/limits.h"

/* For wo_command.first_path. */
#define WO_NO_PATHS SIZE_MAX

struct wo_command {
  const char *name;
  const char *summary;             /* one line for lists, without a full stop */
  const char *usage;               /* lines after "usage: whyoom", divided by \n */
  const char *synopsis;            /* the same, for the list of all commands; NULL: `usage`; "": the command is not listed */
  const char *words;               /* "list|check": what completions offer for the first word; NULL: files */
  size_t first_path;               /* words from this one on name files that are read; WO_NO_PATHS: none does */
  const char *about;               /* paragraphs before the options */
  const char *formats;             /* choices of --format, where they are not "text|json" and no row of `options` has them */
  const struct wo_option *options; /* that only this command has, or describes in its own way */
  size_t option_count;
  const char *ending;     /* what the exit status says */
  const char *examples;   /* "# what for", and below it the command that does it; of real use, for the help and the manual */
  size_t help_column;     /* where the texts of options begin in the help text; 0: 23 */
  bool has_threads;       /* enters the sandbox on each of its threads, which alone read what others wrote (sandbox.h) */
  const char *needs_more; /* "on|plot": its options, and first words, that do more than read. NULL: the command itself does, so
                             that it never runs in the sandbox (sandbox.h) */
  bool is_long;           /* its texts are longer than a terminal: they go through a pager there */
  bool becomes_program;   /* words after the first one belong to another program, whatever they look like */
};

struct wo_call;

/* main.c sets the function that runs a command: some need both flows, signals or the environment. */
struct wo_command_entry {
  const struct wo_command *command;
  enum wo_exit (*run)(const struct wo_call *call);
};

/* The commands of the program; the first one is meant if no name is given, and its help text is that of the program. */
struct wo_commands {
  const struct wo_command_entry *items;
  size_t count;
};

/* Forms of a report. A command that has others than text and JSON has a row of its own for --format, with its choices and
 * wo_call_read_format. */
enum wo_format_out {
  WO_OUT_TEXT,
  WO_OUT_JSON,
  WO_OUT_JSONL,
  WO_OUT_CSV,
  WO_OUT_HTML,
  WO_OUT_MARKDOWN,
  WO_OUT_JOBID,
  WO_OUT_PATTERNS,
  WO_OUT_ONELINE
};
#define WO_OUT_NAMES "text|json|jsonl|csv|html|markdown|jobid|patterns|oneline"
enum wo_sandbox { WO_SANDBOX_AUTO, WO_SANDBOX_ON, WO_SANDBOX_OFF };
enum wo_color { WO_COLOR_AUTO, WO_COLOR_ALWAYS, WO_COLOR_NEVER };

/* The limit on time. `start` begins a new span of seconds, at whose end *is_up is set; 0 ends it. */
struct wo_timer {
  void (*start)(size_t seconds);
  const volatile sig_atomic_t *is_up;
};

/* One call. `words` and all views are borrowed from argv. */
struct wo_call {
  const struct wo_command *command;
  bool wants_help;    /* --help: the help text of `command`, whatever else was given */
  bool wants_version; /* --version, likewise */
  /* Options that all commands take. */
  enum wo_format_out format;
  enum wo_color color;
  size_t width;             /* 0 = as wide as the terminal, else 80 */
  struct wo_view output;    /* empty = stdout */
  struct wo_view rules_dir; /* empty = compiled-in rules only */
  bool are_site_rules;      /* rules_dir was not given: it is of the site or the user */
  size_t time_limit_s;      /* for reading one log; 0 = none */
  enum wo_sandbox sandbox;
  bool exit_zero;
  bool is_verbose;
  bool is_quiet; /* nothing goes to standard output but help and version; a file of --output is written */
  bool no_prefilter;
  bool list_events; /* --events: the evidence, one line each, instead of a report */
  bool is_anonymous;
  /* The rest of the arguments. */
  struct wo_given given[WO_LIMIT_COMMAND_OPTIONS]; /* options of the command's own table, in order, not read yet */
  size_t given_count;
  char **words; /* arguments that are no options, in order */
  size_t word_count;
  /* Set by main.c, or by the library. */
  struct wo_commands commands;
  struct wo_text_style style;
  bool is_stdin_terminal;
  bool is_stdout_terminal; /* also behind a pager */
  bool is_here;            /* a call of scan without the word: without a folder it is of the present one */
  const struct wo_timer *timer;
  const volatile int *stop;         /* enum wo_stop, of another thread; NULL: never. By libwhyoom */
  struct wo_view text;              /* what the path "-" means; NULL: standard input. By libwhyoom, */
  const char *text_name;            /* and how it is called in reports */
  struct wo_pseudonyms *pseudonyms; /* of --anonymize: names in what is shown are replaced with them. NULL: they stay */
  /* Writes out what is in `out` so far, which is empty then: for reports that grow with their input. False: it cannot be written,
   * and the command should end. NULL where nothing is written in pieces. */
  bool (*drain)(const struct wo_call *call);
  struct wo_text *out;    /* for standard output, or the file of --output */
  struct wo_text *errors; /* for standard error (message.h) */
};

/* The options that all commands take: the table of the first command, read into struct wo_call. */
enum { WO_SHARED_OPTION_COUNT = 19 };
extern const struct wo_option wo_shared_options[WO_SHARED_OPTION_COUNT];

/* Reads argv, whose words are moved to its front. Options may be before, between and after the words, as GNU tools allow;
 * arguments after "--" are words. WO_E_USAGE with a message that names the option and what it wants; *ret_call is then
 * unchanged. Nothing is opened. */
enum wo_status wo_call_read(int argc, char **argv, struct wo_commands commands, struct wo_call *ret_call, struct wo_err *err);

/* The reader of --format: one of the option's choices, into struct wo_call. */
bool wo_call_read_format(void *target, const struct wo_option_value *value);

/* Reads the call's own options into *target, which is half filled on failure. WO_E_USAGE. */
enum wo_status wo_call_apply(const struct wo_call *call, void *target, struct wo_err *err);

/* Reads one option of a command into *target; the same for an option that the command does not have. WO_E_USAGE. */
enum wo_status wo_command_apply(const struct wo_command *command, struct wo_given given, void *target, struct wo_err *err);

/* The command of that name, or NULL. */
const struct wo_command *wo_command_find(struct wo_commands commands, struct wo_view name);

#endif
