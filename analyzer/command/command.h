/* Commands: each turns a parsed command line into text for stdout, text for stderr and an exit code. They open files but print
 * nothing; main.c prints. */
#ifndef WO_COMMAND_H
#define WO_COMMAND_H

#include "analyzer/command/cli.h"
#include "analyzer/report/report.h"

/* Exit codes, everywhere. */
enum wo_exit { WO_EXIT_FINE = 0, WO_EXIT_FAILURE_FOUND = 1, WO_EXIT_ERROR = 2, WO_EXIT_NOT_PROVEN = 3 };

/* What the terminal is like. */
struct wo_terminal {
  size_t width; /* columns of stdout, 0 when it is no terminal */
  bool is_stdin_terminal;
  bool is_stdout_terminal;
  bool has_utf8; /* the locale's character set */
  bool no_color; /* NO_COLOR is set */
};

/* `whyoom [PATH...|-]`: diagnoses one job from all the inputs. */
enum wo_exit wo_command_diagnose(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                                 struct wo_text *errors);

/* `whyoom budget [OPTION...] [PATH...]`: memory by component. */
enum wo_exit wo_command_budget(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                               struct wo_text *errors);

/* Reads every path as one job; the job must be freed also on failure. WO_EXIT_ERROR when one of them could not be read (the rest
 * is in the job, which is closed all the same) or memory is out (*ret_job is then NULL); else WO_EXIT_FINE. */
enum wo_exit wo_command_read_job(const struct wo_cli *cli, const struct wo_pack *pack, char **paths, size_t count,
                                 struct wo_job **ret_job, struct wo_text *errors);

/* `whyoom rules why RULE LOG...`: how a cause or a fix came to its verdict on a job. */
enum wo_exit wo_command_rules_why(const struct wo_cli *cli, const struct wo_pack *pack, struct wo_text *out,
                                  struct wo_text *errors);

/* `whyoom rules pages DIR`: writes the page of each cause and fix as Markdown, and an index, into DIR, which is made where it
 * does not exist (its parent must). Files of the same names are replaced, others stay. WO_EXIT_ERROR with one line in errors at
 * the first page that cannot be written. */
enum wo_exit wo_command_rules_pages(const struct wo_cli *cli, const struct wo_pack *pack, struct wo_text *out,
                                    struct wo_text *errors);

/* `whyoom rules list|check|test|show|why|pages`. */
enum wo_exit wo_command_rules(const struct wo_cli *cli, struct wo_text *out, struct wo_text *errors);

/* `whyoom explain ID`: the long text of a cause, a fix, a fact or a term. */
enum wo_exit wo_command_explain(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                                struct wo_text *errors);

/* Loads the packs that the command line asks for. On failure a line is added to errors and NULL is returned. */
struct wo_pack *wo_command_load(const struct wo_cli *cli, enum wo_load_depth depth, struct wo_text *errors);

/* The style that the command line and the terminal ask for. */
struct wo_text_style wo_command_style(const struct wo_cli *cli, const struct wo_terminal *terminal);

/* Adds "whyoom: file:line:column: message" to errors. */
void wo_command_error(struct wo_text *errors, const struct wo_err *err);

/* Adds text wrapped to width, each line indented. */
void wo_command_wrap(struct wo_text *out, struct wo_view text, size_t indent, size_t width);

#endif
