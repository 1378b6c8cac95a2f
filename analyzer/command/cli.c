/* The command line: one table of options, read in one pass.
 *
 * In: argv. Out: struct wo_cli, or a message that names the option and what was expected. Options may stand before, between and
 * behind the words, as GNU tools allow; words are moved to the front of argv. Nothing is opened or printed here. */
#include "analyzer/command/cli.h"

#include <assert.h>

#include "analyzer/budget/budget_args.h"
#include "parsers/base/number.h"
#include "parsers/base/view.h"

/* The narrowest width that the report is laid out for, and the widest that makes sense. */
enum { WIDTH_MIN = 40, WIDTH_MAX = 1000 };

/* What an option means; several spellings could share one. */
enum option_id {
  OPTION_HELP,
  OPTION_VERSION,
  OPTION_FORMAT,
  OPTION_OUTPUT,
  OPTION_COLOR,
  OPTION_NO_COLOR,
  OPTION_WIDTH,
  OPTION_VERBOSE,
  OPTION_EXIT_ZERO,
  OPTION_RULES,
  OPTION_NO_PREFILTER,
  OPTION_EVENTS
};

/* What stands behind an option. OPTIONAL can only come behind '=', or `--color file` would be ambiguous. */
enum takes { TAKES_NOTHING, TAKES_VALUE, TAKES_OPTIONAL };

/* One row. Value and meaning are apart: `takes` is all that reading needs to know. */
struct option {
  const char *name;
  char letter; /* 0 = none */
  enum takes takes;
  enum option_id id;
  const char *expected; /* what the value must be, for messages */
};

/* Every option, in the order of the help text. Checklist: an option also stands in help_diagnose and in docs/whyoom.1. */
static const struct option options[] = {
    {"help", 'h', TAKES_NOTHING, OPTION_HELP, NULL},
    {"version", 0, TAKES_NOTHING, OPTION_VERSION, NULL},
    {"format", 0, TAKES_VALUE, OPTION_FORMAT, "text or json"},
    {"output", 'o', TAKES_VALUE, OPTION_OUTPUT, "the name of a file"},
    {"color", 0, TAKES_OPTIONAL, OPTION_COLOR, "auto, always or never"},
    {"no-color", 0, TAKES_NOTHING, OPTION_NO_COLOR, NULL},
    {"width", 0, TAKES_VALUE, OPTION_WIDTH, "a number of columns from 40 to 1000"},
    {"verbose", 'v', TAKES_NOTHING, OPTION_VERBOSE, NULL},
    {"exit-zero", 0, TAKES_NOTHING, OPTION_EXIT_ZERO, NULL},
    {"rules", 0, TAKES_VALUE, OPTION_RULES, "a folder of rule files"},
    {"no-prefilter", 0, TAKES_NOTHING, OPTION_NO_PREFILTER, NULL},
    {"events", 0, TAKES_NOTHING, OPTION_EVENTS, NULL},
};

struct command {
  const char *name;
  enum wo_command command;
};

/* The words that can stand first. "diagnose" is only a topic of help. */
static const struct command commands[] = {
    {"diagnose", WO_COMMAND_DIAGNOSE}, {"budget", WO_COMMAND_BUDGET}, {"replay", WO_COMMAND_REPLAY},
    {"verify", WO_COMMAND_VERIFY},     {"record", WO_COMMAND_RECORD}, {"rules", WO_COMMAND_RULES},
    {"explain", WO_COMMAND_EXPLAIN},   {"help", WO_COMMAND_HELP},     {"version", WO_COMMAND_VERSION},
};

/* Options of `whyoom replay` alone. What their values mean is the business of the replay (a test sees to it that it reads every
 * one of these). Checklist: an option also stands in help_replay, docs/whyoom.1 and docs/replay.md. */
static const struct {
  const char *name;
  enum wo_cli_takes takes;
} replay_options[] = {
    {"check", WO_CLI_TAKES_NOTHING}, {"set", WO_CLI_TAKES_VALUE},       {"capacity", WO_CLI_TAKES_VALUE},
    {"torch", WO_CLI_TAKES_VALUE},   {"sweep", WO_CLI_TAKES_NOTHING},   {"at", WO_CLI_TAKES_VALUE},
    {"device", WO_CLI_TAKES_VALUE},  {"on", WO_CLI_TAKES_VALUE},        {"no-times", WO_CLI_TAKES_NOTHING},
    {"plot", WO_CLI_TAKES_VALUE},    {"chart", WO_CLI_TAKES_NOTHING},   {"scale", WO_CLI_TAKES_VALUE},
    {"pair", WO_CLI_TAKES_VALUE},    {"transform", WO_CLI_TAKES_VALUE}, {"touch", WO_CLI_TAKES_NOTHING},
    {"reserve", WO_CLI_TAKES_VALUE},
};

enum wo_cli_takes wo_cli_replay_option(struct wo_view name) {
  for (size_t i = 0; i < sizeof replay_options / sizeof *replay_options; i++) {
    if (wo_view_is(name, replay_options[i].name)) return replay_options[i].takes;
  }
  return WO_CLI_IS_NO_OPTION;
}

/* Options of `whyoom verify` alone. Checklist: an option also stands in help_verify, docs/whyoom.1 and docs/verify.md. */
static const struct {
  const char *name;
  enum wo_cli_takes takes;
} verify_options[] = {
    {"trace", WO_CLI_TAKES_VALUE},       {"capacity", WO_CLI_TAKES_VALUE},
    {"torch", WO_CLI_TAKES_VALUE},       {"on", WO_CLI_TAKES_VALUE},
    {"touch", WO_CLI_TAKES_NOTHING},     {"reserve", WO_CLI_TAKES_VALUE},
    {"no-times", WO_CLI_TAKES_NOTHING},  {"accept-reconstructed", WO_CLI_TAKES_NOTHING},
    {"patch", WO_CLI_TAKES_NOTHING},     {"write", WO_CLI_TAKES_NOTHING},
    {"recorded-at", WO_CLI_TAKES_VALUE},
};

enum wo_cli_takes wo_cli_verify_option(struct wo_view name) {
  for (size_t i = 0; i < sizeof verify_options / sizeof *verify_options; i++) {
    if (wo_view_is(name, verify_options[i].name)) return verify_options[i].takes;
  }
  return WO_CLI_IS_NO_OPTION;
}

/* The same for `whyoom record`, in docs/record.md. */
static const struct {
  const char *name;
  enum wo_cli_takes takes;
} record_options[] = {{"entries", WO_CLI_TAKES_VALUE},
                      {"stacks", WO_CLI_TAKES_VALUE},
                      {"no-stacks", WO_CLI_TAKES_NOTHING},
                      {"at-exit", WO_CLI_TAKES_VALUE}};

enum wo_cli_takes wo_cli_record_option(struct wo_view name) {
  for (size_t i = 0; i < sizeof record_options / sizeof *record_options; i++) {
    if (wo_view_is(name, record_options[i].name)) return record_options[i].takes;
  }
  return WO_CLI_IS_NO_OPTION;
}

static enum wo_cli_takes budget_option(struct wo_view name) {
  switch (wo_budget_option(name)) {
  case WO_BUDGET_TAKES_NOTHING:
    return WO_CLI_TAKES_NOTHING;
  case WO_BUDGET_TAKES_VALUE:
    return WO_CLI_TAKES_VALUE;
  case WO_BUDGET_IS_NO_OPTION:
    break;
  }
  return WO_CLI_IS_NO_OPTION;
}

/* The commands that have options of their own. */
static const struct {
  enum wo_command command;
  const char *name;
  enum wo_cli_takes (*takes)(struct wo_view name);
} owners[] = {{WO_COMMAND_BUDGET, "budget", budget_option},
              {WO_COMMAND_REPLAY, "replay", wo_cli_replay_option},
              {WO_COMMAND_VERIFY, "verify", wo_cli_verify_option},
              {WO_COMMAND_RECORD, "record", wo_cli_record_option}};

/* ---- Help ----
 *
 * Written by hand, not made from the table: the order is that of use, and eighty columns need judgement. A test sees to it that
 * every option is named. */

static const char help_diagnose[] = "whyoom: why a GPU job ran out of memory, and what to change\n"
                                    "\n"
                                    "usage: whyoom [OPTION...] [PATH...]\n"
                                    "       whyoom budget [OPTION...] [PATH...]\n"
                                    "       whyoom replay [OPTION...] TRACE...\n"
                                    "       whyoom verify [OPTION...] LOG... [--trace TRACE...]\n"
                                    "       whyoom record [OPTION...] [--] COMMAND...\n"
                                    "       whyoom rules list|check|test|show [ID...]\n"
                                    "       whyoom rules why ID PATH...\n"
                                    "       whyoom rules pages DIR\n"
                                    "       whyoom explain [ID...]\n"
                                    "       whyoom help [COMMAND]\n"
                                    "\n"
                                    "Diagnoses ONE failed job from all the files given: logs, error logs, batch\n"
                                    "scripts, configurations, scontrol or sacct output; plain or gzip. A PATH of -\n"
                                    "is standard input. Without a PATH standard input is read when it is a pipe; on a\n"
                                    "terminal each slurm-*.out and .err of this folder gets one row.\n"
                                    "\n"
                                    "  --format text|json   report for people (default) or for programs\n"
                                    "  -o, --output FILE    write the report to FILE\n"
                                    "  --color[=WHEN]       auto (default), always or never; --no-color is never\n"
                                    "  --width N            columns of the text report, 40 to 1000\n"
                                    "  -v, --verbose        every finding and every consequence in full\n"
                                    "  --events             the evidence, one line each, instead of a report\n"
                                    "  --rules DIR          read the rule files below DIR too; they add and override\n"
                                    "  --exit-zero          exit with 0 where a failure was diagnosed\n"
                                    "  --no-prefilter       match every line with every pattern (slow; for checking)\n"
                                    "  -h, --help           this text;  --version  the version\n"
                                    "  --                   what follows is a PATH, whatever it looks like\n"
                                    "\n"
                                    "exit status: 0 nothing wrong found; 1 a failure was diagnosed; 2 wrong usage,\n"
                                    "or some input could not be read (the rest is reported)\n";

static const char help_budget[] = "usage: whyoom budget [OPTION...] [PATH...]\n"
                                  "\n"
                                  "Memory of one card by component: weights, gradients, optimizer, activations,\n"
                                  "logits, buffers. Inputs are options, what the job's files (PATH) say, and for a\n"
                                  "known model its shape; options win.\n"
                                  "\n"
                                  "  --model NAME             shape and size of a known model: llama-3.1-8b\n"
                                  "  --params N               parameters: 8499653234, 8.5B; --trainable N of them,\n"
                                  "                           or --adapters N beside them; --lora-rank R guesses N\n"
                                  "  --frozen NAME=N:FORMAT   a frozen model beside it; may be repeated\n"
                                  "  --dtype F                fp32, bf16, fp16, amp (fp32 weights, autocast), fp8\n"
                                  "  --grad-dtype F           --optimizer-dtype F  --master-weights (fp32 copy)\n"
                                  "  --quantize 8bit|4bit     format of frozen weights\n"
                                  "  --optimizer O            adam, adamw, adam8bit, sgd, sgd-momentum, adafactor,\n"
                                  "                           lion, none\n"
                                  "  --gpus N                 --zero 0|1|2|3\n"
                                  "  --fsdp S                 full_shard, shard_grad_op, no_shard\n"
                                  "  --tensor-parallel N      --sequence-parallel  --pipeline N  --largest-layer N\n"
                                  "  --offload-optimizer      --offload-params: to the host\n"
                                  "  --micro-batch N          --seq-len N  --grad-accum N\n"
                                  "  --layers N               --hidden N  --heads N  --kv-heads N  --head-dim N\n"
                                  "  --intermediate N         --vocab N\n"
                                  "  --checkpointing MODE     none, selective, full; --attention flash|scores\n"
                                  "  --fused-loss             the loss in chunks, without whole logits\n"
                                  "  --activations SIZE@micro_batch=N[,seq_len=N]   a measured point to scale\n"
                                  "  --extra rankN=SIZE[@micro_batch=N]             what only that rank needs\n"
                                  "  --stated COMPONENT=SIZE  a figure to compare with (weights=14GB)\n"
                                  "  --inference              --max-num-seqs N  --max-model-len N  --kv-dtype F\n"
                                  "  --capacity SIZE          memory of the card: 47.4GiB\n"
                                  "\n"
                                  "exit status: 0 it fits (or no capacity is given); 1 it does not fit; 2 wrong\n"
                                  "usage, or some input could not be read\n";

static const char help_replay[] = "usage: whyoom replay [OPTION...] TRACE...\n"
                                  "\n"
                                  "Runs what a program asked of PyTorch's memory allocator again, on an exact model\n"
                                  "of it. TRACE: a snapshot of torch.cuda.memory._dump_snapshot() (any torch from\n"
                                  "2.0 on, plain, gzip or HTML), a profiler trace, or whyoom's own lines; - is\n"
                                  "standard input. Without options: whether the model gives what was recorded, the\n"
                                  "peak, what holds the memory there, and what keeps segments from being freed.\n"
                                  "\n"
                                  "  --check              compare every address, segment and the final layout only\n"
                                  "  --set KEY:VALUE,...  other settings: expandable_segments:True; may be repeated\n"
                                  "  --sweep              many settings, best first\n"
                                  "  --capacity SIZE      what the allocator may take of the card: 79.1GiB; without\n"
                                  "                       it: what the recording's own out-of-memory entry shows\n"
                                  "  --scale AXIS=A:B,... other sizes: micro_batch=32:16,seq_len=512:1024\n"
                                  "  --pair OTHER         a recording at another size, which tells how sizes grow\n"
                                  "  --transform NAME[=N] another program; may be repeated: empty-cache,\n"
                                  "                       checkpoint, 8bit-optimizer, offload-optimizer,\n"
                                  "                       offload-parameters, shard-optimizer, shard-gradients,\n"
                                  "                       shard, accumulate\n"
                                  "  --torch VERSION      follow the rules of that version: 2.6\n"
                                  "  --at ENTRY           every segment and block after that entry\n"
                                  "  --device N           only that device of the recording\n"
                                  "  --plot FILE.svg      memory over time by class, fragmentation, segments\n"
                                  "  --chart              memory over time in the text report\n"
                                  "  --on model|gpu[:N]   where it runs: on the model alone (the default), or also\n"
                                  "                       on GPU N, with the driver's addresses and refusals\n"
                                  "  --touch              write every byte on the GPU\n"
                                  "  --reserve SIZE       what stays free on the GPU beside the capacity\n"
                                  "  --no-times           leave out how long it took: equal bytes on every run\n"
                                  "\n"
                                  "exit status: 0 it fits, or all is as recorded; 1 it does not fit, or is not as\n"
                                  "recorded; 2 wrong usage, or a recording could not be read; 3 not proven\n";

static const char help_verify[] = "usage: whyoom verify [OPTION...] LOG... [--trace TRACE...]\n"
                                  "\n"
                                  "Diagnoses a failed job and replays each proposed fix at the job's own capacity:\n"
                                  "which of them fits, by what margin, at what cost. The largest micro-batch or\n"
                                  "length that fits is searched; where no fix is enough alone, sets of two and\n"
                                  "three are tried. Options stand for this command alone:\n"
                                  "\n"
                                  "  --trace TRACE        a recording, as for whyoom replay; one for each\n"
                                  "                       rank, the worst decides. Without one a pattern is\n"
                                  "                       reconstructed from the log's figures: no proof\n"
                                  "  --recorded-at SIZES  the recording is of a run with other sizes, which went\n"
                                  "                       through: micro_batch=2,seq_len=512\n"
                                  "  --accept-reconstructed   take a fix that fits the reconstructed pattern\n"
                                  "  --capacity SIZE      what PyTorch can have of the card; without it what the\n"
                                  "                       message or the recording shows\n"
                                  "  --torch VERSION      follow the rules of that version: 2.6\n"
                                  "  --on model|gpu[:N]   where it runs: on the model alone (the default), or what\n"
                                  "                       fits there also on GPU N, which must confirm it\n"
                                  "  --touch              write every byte on the GPU\n"
                                  "  --reserve SIZE       what stays free on the GPU beside the capacity\n"
                                  "  --no-times           leave out how long the GPU took\n"
                                  "  --patch              the chosen fix as a unified diff of your own files, for\n"
                                  "                       git apply or patch -p1; the report goes to standard error\n"
                                  "  --write              with --patch: change the files as well\n"
                                  "\n"
                                  "exit status: 0 a fix is proven to fit; 1 nothing that is proposed fits; 2 wrong\n"
                                  "usage, some input could not be read, or the GPU could not be had; 3 not proven:\n"
                                  "only reconstructed, a margin below the uncertainty, the GPU does not confirm\n"
                                  "it, or the patch is not the whole fix. --exit-zero turns 1 into 0\n";

static const char help_record[] = "usage: whyoom record [OPTION...] [--] COMMAND [ARGUMENT...]\n"
                                  "\n"
                                  "Runs the command with the recording of PyTorch's allocator switched on in every\n"
                                  "Python process that uses CUDA, and becomes it: exit status, signals and output\n"
                                  "are the command's own. Each process leaves snapshots for `whyoom replay`: at\n"
                                  "an out-of-memory error, at its exit and at SIGUSR1, named by job and rank.\n"
                                  "\n"
                                  "  -o, --output DIR     where snapshots go (./whyoom-traces)\n"
                                  "  --entries N          entries kept for each card (100000: 15 to 30 MB a file)\n"
                                  "  --stacks python|all  with Python's stacks (default), or C++ frames as well\n"
                                  "  --no-stacks          without stacks: smaller, but nothing says who held memory\n"
                                  "  --at-exit WHEN       always (default), oom (where memory ran out), never\n"
                                  "  -v, --verbose        tell on standard error what is recorded and written\n"
                                  "\n"
                                  "exit status: that of the command; 2 wrong usage; 126 the command cannot be run,\n"
                                  "127 it was not found. Where snapshots cannot be written, one line says so and\n"
                                  "the command runs without\n";

static const char help_rules[] = "usage: whyoom rules [list|check|test|show ID] [--rules DIR]\n"
                                 "       whyoom rules why ID PATH... [--rules DIR] [--format json]\n"
                                 "       whyoom rules pages DIR [--rules DIR]\n"
                                 "\n"
                                 "  list     the causes and fixes, one line each, and where each comes from\n"
                                 "  check    lint every rule: ids, units, unknown facts, missing parts\n"
                                 "  test     run every rule's own examples\n"
                                 "  show     the file that a rule stands in, by ID\n"
                                 "  why      each condition of a cause or a fix on the job in these files, with\n"
                                 "           the facts in it, their values and places\n"
                                 "  pages    write a Markdown page for each cause and fix, and an index, into DIR\n"
                                 "\n"
                                 "Rules are data: JSON files compiled into the program. --rules DIR reads more,\n"
                                 "which add rules, replace those of the same id, or turn rules off.\n"
                                 "\n"
                                 "exit status: 0 all is well; 1 a complaint or a failed example; 2 wrong usage,\n"
                                 "or a rule file or input could not be read. why: 0 whatever the verdict is.\n"
                                 "pages: 2 as well where a page could not be written\n";

static const char help_explain[] = "usage: whyoom explain [ID...]\n"
                                   "\n"
                                   "A cause: what it means, how whyoom knows, what to do, what it is mistaken for,\n"
                                   "an example, references. A fix: what it does, when it is offered, what it saves\n"
                                   "and costs. Also a setting, a fact, a term (reserved, allocated) or a model.\n"
                                   "<tried> stands for a number that a job's log gives. Without an ID: what there\n"
                                   "is to explain.\n"
                                   "\n"
                                   "exit status: 0; 2 when there is no such id\n";

static const char help_help[] = "usage: whyoom help [diagnose|budget|replay|verify|record|rules|explain|version]\n"
                                "\n"
                                "The help text of a command; without one, that of whyoom itself.\n";

static const char help_version[] = "usage: whyoom version\n"
                                   "\n"
                                   "The version of the program.\n";

/* The default is behind the switch, so that the compiler warns of a command that has no text. */
const char *wo_cli_help(enum wo_command command) {
  switch (command) {
  case WO_COMMAND_BUDGET:
    return help_budget;
  case WO_COMMAND_REPLAY:
    return help_replay;
  case WO_COMMAND_VERIFY:
    return help_verify;
  case WO_COMMAND_RECORD:
    return help_record;
  case WO_COMMAND_RULES:
    return help_rules;
  case WO_COMMAND_EXPLAIN:
    return help_explain;
  case WO_COMMAND_HELP:
    return help_help;
  case WO_COMMAND_VERSION:
    return help_version;
  case WO_COMMAND_DIAGNOSE:
    break;
  }
  return help_diagnose;
}

/* ---- Values of options ---- */

/* Each of these reads one value and is false, with the result untouched, when it is not what was
 * expected. The last of several wins, as everywhere: an alias can set what a call then changes. */
static bool read_format(struct wo_view value, enum wo_format_out *ret_format) {
  const bool is_json = wo_view_is(value, "json");
  if (!is_json && !wo_view_is(value, "text")) return false;
  *ret_format = is_json ? WO_OUT_JSON : WO_OUT_TEXT;
  return true;
}

/* Designators tie the names to the enumerators, whatever their order. */
static bool read_color(struct wo_view value, enum wo_color *ret_color) {
  static const char *const names[] = {[WO_COLOR_AUTO] = "auto", [WO_COLOR_ALWAYS] = "always", [WO_COLOR_NEVER] = "never"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!wo_view_is(value, names[i])) continue;
    *ret_color = (enum wo_color)i;
    return true;
  }
  return false;
}

/* The whole value must be a number: "80x" is a slip of the hand, not 80. */
static bool read_width(struct wo_view value, size_t *ret_width) {
  uint64_t number = 0;
  if (wo_number_u64(&value, WIDTH_MAX, &number) != WO_OK || value.len > 0 || number < WIDTH_MIN) return false;
  *ret_width = (size_t)number;
  return true;
}

/* An empty name comes from an unset shell variable; taking it would write to, or read from, somewhere unexpected. */
static bool read_name(const char *value, const char **ret_name) {
  if (value[0] == '\0') return false;
  *ret_name = value;
  return true;
}

/* ---- Reading ---- */

/* Where reading stands. Options apply at once; --help and --version only after everything was read. */
struct reader {
  int argc;
  char **argv;
  int next;             /* argument to be read next */
  bool is_command_seen; /* or can no longer come */
  bool has_help;        /* --help was given */
  bool has_version;
  struct wo_cli *cli;
  struct wo_err *err;
};

/* Stores one option. value is NULL for one that takes nothing. False: the value is not what was expected. */
static bool apply(struct reader *reader, enum option_id id, const char *value) {
  struct wo_cli *const cli = reader->cli;
  switch (id) {
  case OPTION_HELP:
    reader->has_help = true;
    return true;
  case OPTION_VERSION:
    reader->has_version = true;
    return true;
  case OPTION_FORMAT:
    return read_format(wo_view_of(value), &cli->format);
  case OPTION_OUTPUT:
    return read_name(value, &cli->output);
  case OPTION_COLOR:
    return read_color(value == NULL ? WO_VIEW("always") : wo_view_of(value), &cli->color);
  case OPTION_NO_COLOR:
    cli->color = WO_COLOR_NEVER;
    return true;
  case OPTION_WIDTH:
    return read_width(wo_view_of(value), &cli->width);
  case OPTION_VERBOSE:
    cli->is_verbose = true;
    return true;
  case OPTION_EXIT_ZERO:
    cli->exit_zero = true;
    return true;
  case OPTION_RULES:
    return read_name(value, &cli->rules_dir);
  case OPTION_NO_PREFILTER:
    cli->no_prefilter = true;
    return true;
  case OPTION_EVENTS:
    cli->list_events = true;
    return true;
  }
  return false;
}

/* Stores an option, or says what it wanted. An option that takes nothing cannot fail, so the
 * message never lacks its words. */
static enum wo_status apply_checked(struct reader *reader, const struct option *option, const char *value) {
  if (apply(reader, option->id, value)) return WO_OK;
  return wo_err_set(reader->err, WO_E_USAGE, "--%s wants %s, not '%s'", option->name, option->expected, value);
}

/* Takes the value that an option needs from the next argument, whatever it looks like: "-o -x"
 * writes to a file of that name, as with other tools. */
static enum wo_status apply_next(struct reader *reader, const struct option *option) {
  if (reader->next >= reader->argc)
    return wo_err_set(reader->err, WO_E_USAGE, "--%s wants %s, and nothing follows it", option->name, option->expected);
  return apply_checked(reader, option, reader->argv[reader->next++]);
}

/* The option of that exact name. Prefixes are not accepted: a script that used one would break with the next option added. */
static const struct option *find_long(struct wo_view name) {
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (wo_view_is(name, options[i].name)) return &options[i];
  }
  return NULL;
}

/* The option of that letter. NUL marks options without one, hence the second condition. */
static const struct option *find_letter(char letter) {
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (options[i].letter == letter && letter != '\0') return &options[i];
  }
  return NULL;
}

/* Keeps an option of one command for that command to read, its value with it; value is what stood behind a '=', or NULL. */
static enum wo_status keep(struct reader *reader, struct wo_view name, enum wo_cli_takes takes, const char *value) {
  struct wo_cli *const cli = reader->cli;
  const int shown = (int)name.len;
  const bool takes_value = takes == WO_CLI_TAKES_VALUE;
  if (!takes_value && value)
    return wo_err_set(reader->err, WO_E_USAGE, "--%.*s takes no value, but '%s' follows the =", shown, name.ptr, value);
  if (takes_value && !value && reader->next >= reader->argc)
    return wo_err_set(reader->err, WO_E_USAGE, "--%.*s wants a value, and nothing follows it", shown, name.ptr);
  if (cli->option_count == WO_LIMIT_COMMAND_OPTIONS)
    return wo_err_set(reader->err, WO_E_USAGE, "a command takes %d options at the most", WO_LIMIT_COMMAND_OPTIONS);
  if (takes_value && !value) value = reader->argv[reader->next++];
  cli->options[cli->option_count++] = (struct wo_cli_option){name, value};
  return WO_OK;
}

/* An option that is not everybody's: of this command, of another one (which is told), or of none. */
static enum wo_status read_own(struct reader *reader, struct wo_view name, const char *value) {
  const char *owner = NULL;
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
    const enum wo_cli_takes takes = owners[i].takes(name);
    if (takes == WO_CLI_IS_NO_OPTION) continue;
    if (owners[i].command == reader->cli->command) return keep(reader, name, takes, value);
    owner = owners[i].name;
  }
  if (owner)
    return wo_err_set(reader->err, WO_E_USAGE, "--%.*s is an option of `whyoom %s`, a word that comes first", (int)name.len,
                      name.ptr, owner);
  return wo_err_set(reader->err, WO_E_USAGE, "unknown option --%.*s (whyoom --help lists them; a file of that name: -- first)",
                    (int)(name.len < 80 ? name.len : 80), name.ptr);
}

/* Reads "--name", "--name=value" or "--name value"; text stands behind the dashes. */
static enum wo_status read_long(struct reader *reader, const char *text) {
  struct wo_view value = wo_view_of(text);
  const bool has_value = wo_view_find_char(value, '=', 0) != WO_NOT_FOUND;
  const struct wo_view name = wo_view_cut(&value, '=');
  const struct option *const option = find_long(name);
  if (option == NULL) return read_own(reader, name, has_value ? value.ptr : NULL);
  if (has_value && option->takes == TAKES_NOTHING)
    return wo_err_set(reader->err, WO_E_USAGE, "--%s takes no value, but '%s' follows the =", option->name, value.ptr);
  if (has_value) return apply_checked(reader, option, value.ptr);
  if (option->takes == TAKES_VALUE) return apply_next(reader, option);
  return apply_checked(reader, option, NULL);
}

/* Reads "-v", "-vh", "-o FILE" or "-oFILE"; letters stand behind the dash. A letter that takes a
 * value takes all that follows it. An unknown byte that is no letter is shown as '?': it may be
 * part of a UTF-8 character, and half of one would spoil the terminal. */
static enum wo_status read_letters(struct reader *reader, const char *letters) {
  for (; *letters != '\0'; letters++) {
    const struct option *const option = find_letter(*letters);
    if (option == NULL)
      return wo_err_set(reader->err, WO_E_USAGE, "unknown option -%c (whyoom --help lists them)",
                        wo_is_alnum(*letters) ? *letters : '?');
    if (option->takes == TAKES_VALUE)
      return letters[1] != '\0' ? apply_checked(reader, option, letters + 1) : apply_next(reader, option);
    const enum wo_status status = apply_checked(reader, option, NULL);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* The command of that name, or NULL. */
static const struct command *find_command(const char *word) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (wo_view_is(wo_view_of(word), commands[i].name)) return &commands[i];
  }
  return NULL;
}

/* The first word may be a command (diagnosing needs no name: a file may have that one); every other word is kept. Words never
 * outnumber what was read, so argv can hold them. */
static void take_word(struct reader *reader, char *word) {
  const struct command *const command = reader->is_command_seen ? NULL : find_command(word);
  reader->is_command_seen = true;
  if (command != NULL && command->command != WO_COMMAND_DIAGNOSE) {
    reader->cli->command = command->command;
    return;
  }
  assert(reader->cli->words + reader->cli->word_count < reader->argv + reader->next);
  reader->cli->words[reader->cli->word_count++] = word;
}

/* Sorts every argument into options and words. A lone dash is a word (standard input); behind a double dash all are, and behind
 * the command that is to be recorded, which has options of its own. */
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
      if (reader->cli->command == WO_COMMAND_RECORD && reader->cli->word_count > 0) is_option_possible = false;
    }
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- What commands need ----
 *
 * Only what can be told from the words alone. Ids and files are looked up by whoever runs the command. */

/* The verb is checked here, so that a slip is told before any rule is loaded. Without one the rules are listed. */
static enum wo_status check_rules(const struct wo_cli *cli, struct wo_err *err) {
  static const char *const verbs[] = {"list", "check", "test", "show", "why", "pages"};
  const struct wo_view verb = cli->word_count > 0 ? wo_view_of(cli->words[0]) : (struct wo_view){NULL, 0};
  if (verb.len == 0) return WO_OK;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    if (wo_view_is(verb, verbs[i])) return WO_OK;
  }
  return wo_err_set(err, WO_E_USAGE, "rules wants one of list, check, test, show, why and pages, not '%s'", cli->words[0]);
}

/* A recording is too large to be waited for on a terminal, so that standard input must be asked for. */
static enum wo_status check_replay(const struct wo_cli *cli, struct wo_err *err) {
  if (cli->word_count > 0) return WO_OK;
  return wo_err_set(err, WO_E_USAGE,
                    "replay wants a recording: a snapshot of torch.cuda.memory._dump_snapshot(), or - for "
                    "standard input; see whyoom help replay");
}

static enum wo_status check_record(const struct wo_cli *cli, struct wo_err *err) {
  if (cli->word_count > 0) return WO_OK;
  return wo_err_set(err, WO_E_USAGE, "record wants a command to run: whyoom record -- python train.py; see whyoom help record");
}

/* Finds the topic; no word means whyoom itself. Further words are ignored: somebody who asks for
 * help is not to be refused for asking too much. */
static enum wo_status check_help(struct wo_cli *cli, struct wo_err *err) {
  cli->help_topic = WO_COMMAND_DIAGNOSE;
  if (cli->word_count == 0) return WO_OK;
  const struct command *const command = find_command(cli->words[0]);
  if (command == NULL) return wo_err_set(err, WO_E_USAGE, "there is no command '%s' to help with", cli->words[0]);
  cli->help_topic = command->command;
  return WO_OK;
}

/* Writing files is asked for twice, so that no slip does it. */
static enum wo_status check_verify(const struct wo_cli *cli, struct wo_err *err) {
  bool has_patch = false, has_write = false;
  for (size_t i = 0; i < cli->option_count; i++) {
    has_patch = has_patch || wo_view_is(cli->options[i].name, "patch");
    has_write = has_write || wo_view_is(cli->options[i].name, "write");
  }
  if (cli->word_count == 0) return wo_err_set(err, WO_E_USAGE, "verify wants the log of a failed job (whyoom help verify)");
  if (has_write && !has_patch) return wo_err_set(err, WO_E_USAGE, "--write changes files: give --patch with it, to see how");
  return WO_OK;
}

/* What a command needs behind it. Paths are not looked at: whether they can be read is not a matter of usage. */
static enum wo_status check_command(struct wo_cli *cli, struct wo_err *err) {
  switch (cli->command) {
  case WO_COMMAND_RULES:
    return check_rules(cli, err);
  case WO_COMMAND_HELP:
    return check_help(cli, err);
  case WO_COMMAND_REPLAY:
    return check_replay(cli, err);
  case WO_COMMAND_VERIFY:
    return check_verify(cli, err);
  case WO_COMMAND_RECORD:
    return check_record(cli, err);
  case WO_COMMAND_BUDGET:
  case WO_COMMAND_EXPLAIN:
  case WO_COMMAND_VERSION:
  case WO_COMMAND_DIAGNOSE:
    break;
  }
  return WO_OK;
}

/* --help wins over everything that is missing, so that `whyoom rules --help` helps; --version likewise. */
enum wo_status wo_cli_parse(int argc, char **argv, struct wo_cli *ret_cli, struct wo_err *err) {
  assert(argv != NULL && ret_cli != NULL);
  struct wo_cli cli = {.command = WO_COMMAND_DIAGNOSE, .words = argc > 0 ? argv + 1 : argv};
  struct reader reader = {.argc = argc, .argv = argv, .next = 1, .cli = &cli, .err = err};
  enum wo_status status = read_arguments(&reader);
  if (status != WO_OK) return status;
  if (reader.has_help) {
    cli.help_topic = cli.command;
    cli.command = WO_COMMAND_HELP;
  } else if (reader.has_version) {
    cli.command = WO_COMMAND_VERSION;
  } else {
    status = check_command(&cli, err);
  }
  if (status == WO_OK) *ret_cli = cli;
  return status;
}
