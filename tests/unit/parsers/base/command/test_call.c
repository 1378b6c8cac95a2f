/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, read by the tables of the commands, and the texts that come from these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/command/commands.h"
#include "analyzer/command/help.h"
#include "cuda_replay/record/record.h"
#include "cuda_replay/command/verify_command.h"
#include "tests/support/commands.h"

enum { ARGS_MAX = 16 };

/* A command line in one string, split at blanks; ' stands for an empty argument. */
struct line {
  char bytes[256];
  char *argv[ARGS_MAX + 1];
  int argc;
  struct wo_call call;
  struct wo_err err;
};

static enum wo_status parse(struct line *line, const char *text) {
  *line = (struct line){0};
  snprintf(line->bytes, sizeof line->bytes, "whyoom %s", text);
  for (char *at = line->bytes; *at != '\0';) {
    assert_true(line->argc < ARGS_MAX);
    line->argv[line->argc++] = at;
    at += strcspn(at, " ");
    if (*at == ' ') *at++ = '\0';
  }
  for (int i = 0; i < line->argc; i++) {
    if (strcmp(line->argv[i], "'") == 0) line->argv[i][0] = '\0';
  }
  return wo_call_read(line->argc, line->argv, wo_test_commands, &line->call, &line->err);
}

/* Asserts the words, given as one string with blanks between. */
static void assert_words(const struct line *line, const char *expected) {
  char joined[256] = "";
  size_t len = 0;
  for (size_t i = 0; i < line->call.word_count; i++)
    len += (size_t)snprintf(joined + len, sizeof joined - len, "%s%s", i > 0 ? " " : "", line->call.words[i]);
  assert_string_equal(joined, expected);
}

static void test_defaults(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, ""), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_diagnose);
  assert_int_equal(line.call.format, WO_OUT_TEXT);
  assert_int_equal(line.call.color, WO_COLOR_AUTO);
  assert_int_equal(line.call.width, 0);
  assert_int_equal(line.call.output.len, 0);
  assert_int_equal(line.call.rules_dir.len, 0);
  assert_false(line.call.exit_zero || line.call.is_verbose || line.call.no_prefilter || line.call.list_events);
  assert_int_equal(line.call.word_count, 0);
}

static void test_no_arguments_at_all(void **state) {
  (void)state;
  char *argv[] = {NULL};
  struct wo_call call;
  assert_int_equal(wo_call_read(0, argv, wo_test_commands, &call, NULL), WO_OK);
  assert_int_equal(call.word_count, 0);
}

static void test_every_option(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(
      parse(&line,
            "--format json -o out.json --color=always --width 100 -v --exit-zero --rules my --no-prefilter --events a.err"),
      WO_OK);
  assert_int_equal(line.call.format, WO_OUT_JSON);
  assert_true(wo_view_is(line.call.output, "out.json"));
  assert_int_equal(line.call.color, WO_COLOR_ALWAYS);
  assert_int_equal(line.call.width, 100);
  assert_true(wo_view_is(line.call.rules_dir, "my"));
  assert_true(line.call.is_verbose && line.call.exit_zero && line.call.no_prefilter && line.call.list_events);
  assert_words(&line, "a.err");
}

static void test_spellings_of_values(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--format=json --output=x --width=40 --rules=r"), WO_OK);
  assert_int_equal(line.call.width, 40);
  assert_true(wo_view_is(line.call.output, "x"));
  assert_int_equal(parse(&line, "-ofile"), WO_OK);
  assert_true(wo_view_is(line.call.output, "file"));
  assert_int_equal(parse(&line, "-vofile"), WO_OK);
  assert_true(line.call.is_verbose);
  assert_true(wo_view_is(line.call.output, "file"));
  assert_int_equal(parse(&line, "-o ./-x"), WO_OK);
  assert_true(wo_view_is(line.call.output, "./-x"));
  assert_int_equal(parse(&line, "--output=a=b"), WO_OK);
  assert_true(wo_view_is(line.call.output, "a=b"));
}

static void test_colors(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--color file"), WO_OK);
  assert_int_equal(line.call.color, WO_COLOR_ALWAYS);
  assert_words(&line, "file");
  assert_int_equal(parse(&line, "--color --no-color"), WO_OK);
  assert_int_equal(line.call.color, WO_COLOR_NEVER);
  assert_int_equal(parse(&line, "--no-color --color=auto"), WO_OK);
  assert_int_equal(line.call.color, WO_COLOR_AUTO);
}

static void test_words_stand_anywhere(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "a.err -v - --width 80 b.out"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_diagnose);
  assert_words(&line, "a.err - b.out");
}

static void test_double_dash_ends_options_and_commands(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "-v -- rules -v --"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_diagnose);
  assert_words(&line, "rules -v --");
  assert_int_equal(parse(&line, "rules -- list"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_rules);
  assert_words(&line, "list");
}

static void test_commands(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--rules d rules show fragmentation"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_rules);
  assert_words(&line, "show fragmentation");
  assert_int_equal(parse(&line, "explain reserved"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_explain);
  assert_words(&line, "reserved");
  assert_int_equal(parse(&line, "version"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_version);
  assert_int_equal(parse(&line, "--version a"), WO_OK);
  assert_true(line.call.wants_version);
}

/* Only the first word can be a command: a file may have the name of one. */
static void test_later_words_are_paths(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "a.err rules"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_diagnose);
  assert_words(&line, "a.err rules");
  assert_int_equal(parse(&line, "diagnose diagnose"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_diagnose);
  assert_words(&line, "diagnose"); /* the first one is the command */
}

static void test_help(void **state) {
  (void)state;
  static const struct {
    const char *line;
    const struct wo_command *topic;
  } rows[] = {
      {"--help", &wo_command_diagnose},      {"-h a.err", &wo_command_diagnose},
      {"rules --help", &wo_command_rules},   {"rules -h nonsense", &wo_command_rules},
      {"explain -h", &wo_command_explain},   {"-vh --version", &wo_command_diagnose},
      {"record --help", &wo_command_record}, {"replay --capacity x --help", &wo_command_replay},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct line line;
    assert_int_equal(parse(&line, rows[i].line), WO_OK);
    assert_true(line.call.wants_help);
    assert_ptr_equal(line.call.command, rows[i].topic);
  }
}

/* Runs `whyoom help WORDS`; the caller releases both texts. */
static enum wo_exit run_line(const char *text, enum wo_exit (*run)(const struct wo_call *call), struct wo_text *out,
                             struct wo_text *errors) {
  struct line line;
  assert_int_equal(parse(&line, text), WO_OK);
  line.call.out = out;
  line.call.errors = errors;
  return run(&line.call);
}

static void test_help_topics(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"help", "usage: whyoom [OPTION...]"},           {"help rules", "usage: whyoom rules"},
      {"help explain", "usage: whyoom explain"},       {"help help", "usage: whyoom help"},
      {"help version", "usage: whyoom version"},       {"help diagnose", "usage: whyoom [OPTION...]"},
      {"help replay nonsense", "usage: whyoom replay"}};
  struct wo_text out = {0}, errors = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    out.len = 0;
    assert_int_equal(run_line(rows[i][0], wo_run_help, &out, &errors), WO_EXIT_FINE);
    if (!wo_view_has((struct wo_view){out.ptr, out.len}, rows[i][1])) fail_msg("%s: %.*s", rows[i][0], (int)out.len, out.ptr);
  }
  assert_int_equal(run_line("help nonsense", wo_run_help, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "no command 'nonsense'"));
  errors.len = 0;
  assert_int_equal(run_line("completion csh", wo_run_completion, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "bash, zsh or fish"));
  errors.len = 0;
  assert_int_equal(run_line("rules lst", wo_run_rules, &out, &errors), WO_EXIT_ERROR);
  assert_true(wo_view_has((struct wo_view){errors.ptr, errors.len}, "list, check, test, show, why and pages, not 'lst'"));
  wo_text_done(&out);
  wo_text_done(&errors);
}

/* Each wrong line with a part of the message it must give: the option, and what was expected. */
static void test_wrong_usage_is_explained(void **state) {
  (void)state;
  static const struct {
    const char *line;
    const char *named;
    const char *expected;
  } rows[] = {
      {"--formt json", "--formt", "--help"},
      {"-x", "-x", "--help"},
      {"-v\x01", "-?", "--help"},
      {"--format xml", "--format", "text, json"},
      {"--format oneline budget", "--format of `whyoom budget`", "text|json"},
      {"--format", "--format", "nothing follows"},
      {"-o", "--output", "nothing follows"},
      {"-o --help", "--output", "write ./--help if it is a name"},
      {"-o -v", "--output", "write ./-v if"},
      {"-o -", "--output", "write ./- if"},
      {"-o-v", "--output", "looks like an option"},
      {"--output=--json", "--output", "looks like an option"},
      {"--rules --help", "--rules", "a folder of rule files"},
      {"-o '", "--output", "name of a file"},
      {"--rules=", "--rules", "folder"},
      {"--color=blue", "--color", "auto, always or never"},
      {"--width 39", "--width", "40 to 1000"},
      {"--width 1001", "--width", "40 to 1000"},
      {"--width 80x", "--width", "not '80x'"},
      {"--width -80", "--width", "not '-80'"},
      {"--verbose=1", "--verbose", "takes no value"},
      {"--=", "unknown option --", "--help"},
      {"--formt json", "--formt", "did you mean --format?"},
      {"replay --swep", "--swep", "did you mean --sweep?"},
      {"replay --cpaacity 3", "--cpaacity", "did you mean --capacity?"},
      {"replay --cpty 3", "--cpty (", "whyoom --help"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct line line;
    assert_int_equal(parse(&line, rows[i].line), WO_E_USAGE);
    assert_int_equal(line.err.code, WO_E_USAGE);
    assert_true(wo_view_has(wo_view_of(line.err.message), rows[i].named));
    assert_true(wo_view_has(wo_view_of(line.err.message), rows[i].expected));
  }
}

static void test_failure_leaves_the_result_alone(void **state) {
  (void)state;
  char name[] = "whyoom";
  char option[] = "--nonsense";
  char *argv[] = {name, option, NULL};
  struct wo_call call = {.width = 77};
  assert_int_equal(wo_call_read(2, argv, wo_test_commands, &call, NULL), WO_E_USAGE);
  assert_int_equal(call.width, 77);
}

/* Lines of examples are at most so long, since a page of the manual indents them and folds none. */
enum { EXAMPLE_COLUMNS = 73 };

/* Two to four examples, each a remark and below it the command; then the page of the manual. */
static void expect_examples(const struct wo_command *command, struct wo_view help) {
  struct wo_view rest = wo_view_of(command->examples);
  size_t remarks = 0;
  bool is_remark = false;
  while (rest.len > 0) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    assert_true(line.len > 0);
    if (is_remark) assert_false(wo_view_starts(line, "#"));
    is_remark = wo_view_starts(line, "# ");
    remarks += is_remark;
    if (!is_remark && line.len > EXAMPLE_COLUMNS) fail_msg("%s: too long: %.*s", command->name, WO_SHOWN(line));
    if (wo_view_find(help, line, 0) == WO_NOT_FOUND) fail_msg("%s: not in its help: %.*s", command->name, WO_SHOWN(line));
  }
  if (remarks < 2 || remarks > 4 || is_remark) fail_msg("%s: %zu examples", command->name, remarks);
  assert_true(wo_view_starts(wo_view_of(command->examples), "# "));
}

/* Every line of help fits a terminal, and the text of a command names every option of its table. Examples and the page of the
 * manual follow. */
static void test_help_texts(void **state) {
  (void)state;
  for (size_t c = 0; c < wo_test_commands.count; c++) {
    const struct wo_command *const command = wo_test_commands.items[c].command;
    struct wo_text help = {0};
    wo_help_add(command, wo_test_commands, &help);
    struct wo_view rest = {help.ptr, help.len};
    assert_true(wo_view_has(rest, "usage: whyoom"));
    assert_true(wo_view_ends(rest, "\n"));
    for (size_t i = 0; i < command->option_count; i++) {
      struct wo_text spelled = {0};
      wo_option_spell(&command->options[i], &spelled);
      if (wo_view_find(rest, (struct wo_view){spelled.ptr, spelled.len}, 0) == WO_NOT_FOUND)
        fail_msg("%s: --%s is not in its help text", command->name, command->options[i].name);
      wo_text_done(&spelled);
    }
    const bool is_listed = !command->synopsis || command->synopsis[0] != '\0';
    if (is_listed) expect_examples(command, rest);
    struct wo_view line = rest;
    while (rest.len > 0) {
      line = wo_view_cut(&rest, '\n');
      assert_true(line.len <= 80);
    }
    assert_true(wo_view_starts(line, "more: man whyoom"));
    wo_text_done(&help);
  }
}

static size_t count_name(const struct wo_command *command, const char *name) {
  size_t count = 0;
  for (size_t i = 0; i < command->option_count; i++) count += strcmp(command->options[i].name, name) == 0;
  return count;
}

/* What a table must hold so that help, manual and completions can be made of it. */
static void test_tables(void **state) {
  (void)state;
  for (size_t c = 0; c < wo_test_commands.count; c++) {
    const struct wo_command *const command = wo_test_commands.items[c].command;
    assert_true(command->summary && command->usage && command->about);
    for (size_t i = 0; i < command->option_count; i++) {
      const struct wo_option *const option = &command->options[i];
      const struct wo_option *const shared = wo_option_find(wo_shared_options, WO_SHARED_OPTION_COUNT, wo_view_of(option->name));
      const bool has_text = option->about || (option->help && !strchr(option->help, '{'));
      if (count_name(command, option->name) != 1) fail_msg("%s: --%s stands twice", command->name, option->name);
      if (!has_text) fail_msg("%s: --%s has no line of its own for lists", command->name, option->name);
      if (option->kind == WO_OPTION_FLAG) assert_null(option->value);
      if (option->kind == WO_OPTION_OTHER) assert_non_null(option->read);
      if (option->kind == WO_OPTION_CHOICE) assert_non_null(option->choices);
      if (shared) assert_true(shared->letter == option->letter && !shared->value == !option->value);
      assert_true(wo_help_about(option).len > 0);
    }
  }
}

/* Options of the budget are kept as they stand, with the values that belong to them. */
static void test_budget_options(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "budget --params 8.5B a.err --zero=2 --inference -v"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_budget);
  assert_int_equal(line.call.given_count, 3);
  assert_true(wo_view_is(line.call.given[0].name, "params") && wo_view_is(line.call.given[0].value, "8.5B"));
  assert_true(wo_view_is(line.call.given[1].name, "zero") && wo_view_is(line.call.given[1].value, "2"));
  assert_true(wo_view_is(line.call.given[2].name, "inference") && line.call.given[2].value.len == 0);
  assert_words(&line, "a.err");
  assert_true(line.call.is_verbose);
  static const char *const refused[][2] = {{"--params 8.5B budget", "whyoom budget"},
                                           {"a.err --params 8.5B", "whyoom budget"},
                                           {"budget --params", "nothing follows"},
                                           {"budget --inference=yes", "takes no value"},
                                           {"budget --parms 8", "unknown option --parms"}};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    assert_int_equal(parse(&line, refused[i][0]), WO_E_USAGE);
    assert_true(wo_view_has(wo_view_of(line.err.message), refused[i][1]));
  }
}

/* Options of one command are no options of another; one name can belong to two. */
static void test_replay_options(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "replay --check --set a:b --capacity=24GiB x.pickle -v"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_replay);
  assert_int_equal(line.call.given_count, 3);
  assert_true(wo_view_is(line.call.given[0].name, "check") && line.call.given[0].value.len == 0);
  assert_true(wo_view_is(line.call.given[1].value, "a:b"));
  assert_true(wo_view_is(line.call.given[2].name, "capacity") && wo_view_is(line.call.given[2].value, "24GiB"));
  assert_words(&line, "x.pickle");
  assert_int_equal(parse(&line, "budget --capacity 24GiB"), WO_OK);
  static const char *const refused[][2] = {
      {"--sweep replay x", "whyoom replay"},      {"budget --sweep", "whyoom replay"},
      {"replay --zero 2 x", "whyoom budget"},     {"replay x --set", "nothing follows"},
      {"replay x --check=yes", "takes no value"}, {"replay x --chek", "unknown option --chek"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(parse(&line, refused[i][0]), WO_E_USAGE);
    if (!wo_view_has(wo_view_of(line.err.message), refused[i][1])) fail_msg("%s: %s", refused[i][0], line.err.message);
  }
}

/* Behind its first word all belongs to the command that is recorded. */
static void test_record(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "record -o x --entries=5 python --format json -- -o y --help"), WO_OK);
  assert_ptr_equal(line.call.command, &wo_command_record);
  assert_true(wo_view_is(line.call.output, "x"));
  assert_int_equal(line.call.given_count, 1);
  assert_words(&line, "python --format json -- -o y --help");
  assert_int_equal(parse(&line, "record -v -- --odd -- replay"), WO_OK);
  assert_words(&line, "--odd -- replay");
  assert_int_equal(parse(&line, "record"), WO_OK);
  struct wo_record_settings settings;
  assert_int_equal(wo_record_settings_read(&line.call, &settings, &line.err), WO_E_USAGE);
}

/* What the words and options of verify must hold together. */
static void test_verify_options(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"verify", "wants the log"},
                                        {"verify a.err --write", "--patch"},
                                        {"verify a.err --recorded-at micro_batch=2", "--trace"},
                                        {"verify a.err --recorded-at nonsense", "--recorded-at"},
                                        {"verify a.err --trace=", "--trace"},
                                        {"verify a.err --capacity many", "--capacity"},
                                        {"verify a.err --touch", "--on gpu"}};
  struct line line;
  struct wo_verify_args args;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(parse(&line, rows[i][0]), WO_OK);
    assert_int_equal(wo_verify_args_read(&line.call, &args, &line.err), WO_E_USAGE);
    if (!wo_view_has(wo_view_of(line.err.message), rows[i][1])) fail_msg("%s: %s", rows[i][0], line.err.message);
  }
  assert_int_equal(parse(&line, "verify a.err --trace x --trace y --recorded-at micro_batch=2:8,seq_len=512 --patch --write"),
                   WO_OK);
  assert_int_equal(wo_verify_args_read(&line.call, &args, &line.err), WO_OK);
  assert_true(args.trace_count == 2 && args.is_patch && args.is_write);
  assert_true(args.recorded_at.axes[WO_AXIS_MICRO_BATCH].from == 2 && args.recorded_at.axes[WO_AXIS_MICRO_BATCH].to == 8);
  assert_true(args.recorded_at.axes[WO_AXIS_SEQ_LEN].from == 512 && args.recorded_at.axes[WO_AXIS_SEQ_LEN].to == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_budget_options),
      cmocka_unit_test(test_replay_options),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_help_topics),
      cmocka_unit_test(test_verify_options),
      cmocka_unit_test(test_record),
      cmocka_unit_test(test_no_arguments_at_all),
      cmocka_unit_test(test_every_option),
      cmocka_unit_test(test_spellings_of_values),
      cmocka_unit_test(test_colors),
      cmocka_unit_test(test_words_stand_anywhere),
      cmocka_unit_test(test_double_dash_ends_options_and_commands),
      cmocka_unit_test(test_commands),
      cmocka_unit_test(test_later_words_are_paths),
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_wrong_usage_is_explained),
      cmocka_unit_test(test_failure_leaves_the_result_alone),
      cmocka_unit_test(test_help_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
