/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this flow, and the functions that they share. Each command is an entry for the list of commands and a function
 * that turns a call into text for stdout, text for stderr and an exit code. They open files but print nothing; main.c prints. */
#ifndef WO_COMMANDS_H
#define WO_COMMANDS_H

#include "analyzer/report/report.h"
#include "analyzer/show/show.h"
#include "parsers/base/command/command.h"
#include "parsers/base/command/message.h"
#include "parsers/base/nearest/nearest.h"

extern const struct wo_command wo_command_diagnose;   /* `whyoom [PATH...|-]`: one job from all the inputs */
extern const struct wo_command wo_command_budget;     /* memory by component */
extern const struct wo_command wo_command_rules;      /* list|check|test|show|why|pages */
extern const struct wo_command wo_command_explain;    /* the long text of a cause, a fix, a fact or a term */
extern const struct wo_command wo_command_completion; /* scripts for shells */
extern const struct wo_command wo_command_help;
extern const struct wo_command wo_command_version;

enum wo_exit wo_run_diagnose(const struct wo_call *call, const struct wo_prover *prover);
enum wo_exit wo_run_budget(const struct wo_call *call);
enum wo_exit wo_run_rules(const struct wo_call *call);
enum wo_exit wo_run_explain(const struct wo_call *call);
enum wo_exit wo_run_completion(const struct wo_call *call);
enum wo_exit wo_run_help(const struct wo_call *call);
enum wo_exit wo_run_version(const struct wo_call *call);

/* Whether a file of that name is read if no path is given on a terminal: SLURM's default names, "slurm-4711.out",
 * "slurm-4711_3.err". */
bool wo_command_is_slurm_log(const char *name);

/* Makes the report of a closed job and writes it in the form that the call asks for, with the proofs of `prover` (NULL: none).
 * WO_EXIT_FAILURE_FOUND if the job failed; WO_EXIT_ERROR when memory is out. */
enum wo_exit wo_command_write_report(const struct wo_call *call, const struct wo_prover *prover, const struct wo_job *job,
                                     const struct wo_pack *pack);

/* Reads what the words name (analyzer/intake/intake.h) as one job, with the logs of the same job beside them; the job must be
 * freed also on failure. WO_EXIT_ERROR when something of it could not be read (the closed job has the rest), the words are of
 * several jobs or of none, or memory is out (*ret_job is then NULL): a line in errors says so. Else WO_EXIT_FINE. */
enum wo_exit wo_command_read_job(const struct wo_call *call, const struct wo_pack *pack, char **words, size_t count,
                                 struct wo_job **ret_job);

/* `whyoom rules list --format patterns`: a regular expression for each pattern of every line, one a line, as ripgrep takes it. */
void wo_rules_list_patterns(const struct wo_pack *pack, struct wo_text *out);

/* `rules check`: prints every mistake and complaint, in the order of files and lines. Loads for itself. `rules test`: runs the
 * examples of the rules. */
enum wo_exit wo_run_rules_check(const struct wo_call *call);
enum wo_exit wo_run_rules_test(const struct wo_call *call, const struct wo_pack *pack);

/* `whyoom rules pages DIR`: writes the page of each cause and fix as Markdown, and an index, into DIR, which is created if it
 * does not exist (its parent must exist). Files of the same names are replaced, others stay. WO_EXIT_ERROR with one line in
 * errors at the first page that cannot be written. */
enum wo_exit wo_run_rules_pages(const struct wo_call *call, const struct wo_pack *pack);

/* Loads the packs of the command line. On failure a line is added to errors and NULL is returned. */
struct wo_pack *wo_command_load(const struct wo_call *call, enum wo_load_depth depth);

/* Adds the place of a rule, "FILE:LINE". */
void wo_command_add_place(struct wo_text *out, struct wo_rule_place place);

/* Offers the ids of causes, fixes and settings for "did you mean". */
void wo_command_offer_rules(const struct wo_pack *pack, struct wo_nearest *nearest);

/* Whether the call's first word is meant as a command: there is no such file, and a command has nearly this name, or it is the
 * only word. A line in errors then says both. */
bool wo_command_is_meant(const struct wo_call *call);

/* Adds "out of memory" to errors and returns WO_EXIT_ERROR. */
enum wo_exit wo_command_fail_memory(const struct wo_call *call);

#endif
