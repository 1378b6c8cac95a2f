/* The command line: analyzer/command/cli.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/command/cli.h"
#include "parsers/base/view.h"

enum { ARGS_MAX = 16 };

/* A command line in one string, split at blanks; ' stands for an empty argument. */
struct line {
  char bytes[256];
  char *argv[ARGS_MAX + 1];
  int argc;
  struct wo_cli cli;
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
  return wo_cli_parse(line->argc, line->argv, &line->cli, &line->err);
}

/* Asserts the words, given as one string with blanks between. */
static void assert_words(const struct line *line, const char *expected) {
  char joined[256] = "";
  size_t len = 0;
  for (size_t i = 0; i < line->cli.word_count; i++)
    len += (size_t)snprintf(joined + len, sizeof joined - len, "%s%s", i > 0 ? " " : "", line->cli.words[i]);
  assert_string_equal(joined, expected);
}

static void test_defaults(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, ""), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_DIAGNOSE);
  assert_int_equal(line.cli.format, WO_OUT_TEXT);
  assert_int_equal(line.cli.color, WO_COLOR_AUTO);
  assert_int_equal(line.cli.width, 0);
  assert_null(line.cli.output);
  assert_null(line.cli.rules_dir);
  assert_false(line.cli.exit_zero || line.cli.is_verbose || line.cli.no_prefilter || line.cli.list_events);
  assert_int_equal(line.cli.word_count, 0);
}

static void test_no_arguments_at_all(void **state) {
  (void)state;
  char *argv[] = {NULL};
  struct wo_cli cli;
  assert_int_equal(wo_cli_parse(0, argv, &cli, NULL), WO_OK);
  assert_int_equal(cli.word_count, 0);
}

static void test_every_option(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(
      parse(&line,
            "--format json -o out.json --color=always --width 100 -v --exit-zero --rules my --no-prefilter --events a.err"),
      WO_OK);
  assert_int_equal(line.cli.format, WO_OUT_JSON);
  assert_string_equal(line.cli.output, "out.json");
  assert_int_equal(line.cli.color, WO_COLOR_ALWAYS);
  assert_int_equal(line.cli.width, 100);
  assert_string_equal(line.cli.rules_dir, "my");
  assert_true(line.cli.is_verbose && line.cli.exit_zero && line.cli.no_prefilter && line.cli.list_events);
  assert_words(&line, "a.err");
}

static void test_spellings_of_values(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--format=json --output=x --width=40 --rules=r"), WO_OK);
  assert_int_equal(line.cli.width, 40);
  assert_string_equal(line.cli.output, "x");
  assert_int_equal(parse(&line, "-ofile"), WO_OK);
  assert_string_equal(line.cli.output, "file");
  assert_int_equal(parse(&line, "-vofile"), WO_OK);
  assert_true(line.cli.is_verbose);
  assert_string_equal(line.cli.output, "file");
  assert_int_equal(parse(&line, "-o -x"), WO_OK);
  assert_string_equal(line.cli.output, "-x");
  assert_int_equal(parse(&line, "--output=a=b"), WO_OK);
  assert_string_equal(line.cli.output, "a=b");
}

static void test_colors(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--color file"), WO_OK);
  assert_int_equal(line.cli.color, WO_COLOR_ALWAYS);
  assert_words(&line, "file");
  assert_int_equal(parse(&line, "--color --no-color"), WO_OK);
  assert_int_equal(line.cli.color, WO_COLOR_NEVER);
  assert_int_equal(parse(&line, "--no-color --color=auto"), WO_OK);
  assert_int_equal(line.cli.color, WO_COLOR_AUTO);
}

static void test_words_stand_anywhere(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "a.err -v - --width 80 b.out"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_DIAGNOSE);
  assert_words(&line, "a.err - b.out");
}

static void test_double_dash_ends_options_and_commands(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "-v -- rules -v --"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_DIAGNOSE);
  assert_words(&line, "rules -v --");
  assert_int_equal(parse(&line, "rules -- list"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_RULES);
  assert_words(&line, "list");
}

static void test_commands(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "--rules d rules show fragmentation"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_RULES);
  assert_words(&line, "show fragmentation");
  assert_int_equal(parse(&line, "explain reserved"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_EXPLAIN);
  assert_words(&line, "reserved");
  assert_int_equal(parse(&line, "version"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_VERSION);
  assert_int_equal(parse(&line, "--version a"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_VERSION);
}

/* Only the first word can be a command: a file may have the name of one. */
static void test_later_words_are_paths(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "a.err rules"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_DIAGNOSE);
  assert_words(&line, "a.err rules");
  assert_int_equal(parse(&line, "diagnose"), WO_OK);
  assert_words(&line, "diagnose");
}

static void test_help(void **state) {
  (void)state;
  static const struct {
    const char *line;
    enum wo_command topic;
  } rows[] = {
      {"help", WO_COMMAND_DIAGNOSE},        {"--help", WO_COMMAND_DIAGNOSE},        {"-h a.err", WO_COMMAND_DIAGNOSE},
      {"help rules", WO_COMMAND_RULES},     {"rules --help", WO_COMMAND_RULES},     {"rules -h nonsense", WO_COMMAND_RULES},
      {"explain -h", WO_COMMAND_EXPLAIN},   {"help explain", WO_COMMAND_EXPLAIN},   {"help help", WO_COMMAND_HELP},
      {"help version", WO_COMMAND_VERSION}, {"help diagnose", WO_COMMAND_DIAGNOSE}, {"-vh --version", WO_COMMAND_DIAGNOSE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct line line;
    assert_int_equal(parse(&line, rows[i].line), WO_OK);
    assert_int_equal(line.cli.command, WO_COMMAND_HELP);
    assert_int_equal(line.cli.help_topic, rows[i].topic);
  }
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
      {"--format xml", "--format", "text or json"},
      {"--format", "--format", "nothing follows"},
      {"-o", "--output", "nothing follows"},
      {"-o '", "--output", "name of a file"},
      {"--rules=", "--rules", "folder"},
      {"--color=blue", "--color", "auto, always or never"},
      {"--width 39", "--width", "40 to 1000"},
      {"--width 1001", "--width", "40 to 1000"},
      {"--width 80x", "--width", "not '80x'"},
      {"--width -80", "--width", "not '-80'"},
      {"--verbose=1", "--verbose", "takes no value"},
      {"--=", "unknown option --", "--help"},
      {"rules lst", "'lst'", "list, check, test, show, why and pages"},
      {"help nonsense", "'nonsense'", "no command"},
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
  struct wo_cli cli = {.width = 77};
  assert_int_equal(wo_cli_parse(2, argv, &cli, NULL), WO_E_USAGE);
  assert_int_equal(cli.width, 77);
}

/* Every line of help fits a terminal, and the main text names every option. */
static void test_help_texts(void **state) {
  (void)state;
  static const char *const options[] = {"--help",         "--version", "--format",  "--output",    "--color",
                                        "--no-color",     "--width",   "--verbose", "--exit-zero", "--rules",
                                        "--no-prefilter", "--events",  "  --  "};
  const struct wo_view main_help = wo_view_of(wo_cli_help(WO_COMMAND_DIAGNOSE));
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) assert_true(wo_view_has(main_help, options[i]));
  for (int command = WO_COMMAND_DIAGNOSE; command <= WO_COMMAND_VERSION; command++) {
    struct wo_view rest = wo_view_of(wo_cli_help((enum wo_command)command));
    assert_true(wo_view_has(rest, "usage: whyoom"));
    assert_true(wo_view_ends(rest, "\n"));
    while (rest.len > 0) assert_true(wo_view_cut(&rest, '\n').len <= 80);
  }
}

/* Options of the budget are kept as they stand, with the values that belong to them. */
static void test_budget_options(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "budget --params 8.5B a.err --zero=2 --inference -v"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_BUDGET);
  assert_int_equal(line.cli.option_count, 3);
  assert_true(wo_view_is(line.cli.options[0].name, "params") && strcmp(line.cli.options[0].value, "8.5B") == 0);
  assert_true(wo_view_is(line.cli.options[1].name, "zero") && strcmp(line.cli.options[1].value, "2") == 0);
  assert_true(wo_view_is(line.cli.options[2].name, "inference") && line.cli.options[2].value == NULL);
  assert_words(&line, "a.err");
  assert_true(line.cli.is_verbose);
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
  assert_int_equal(line.cli.command, WO_COMMAND_REPLAY);
  assert_int_equal(line.cli.option_count, 3);
  assert_true(wo_view_is(line.cli.options[0].name, "check") && line.cli.options[0].value == NULL);
  assert_string_equal(line.cli.options[1].value, "a:b");
  assert_true(wo_view_is(line.cli.options[2].name, "capacity") && strcmp(line.cli.options[2].value, "24GiB") == 0);
  assert_words(&line, "x.pickle");
  assert_int_equal(parse(&line, "budget --capacity 24GiB"), WO_OK);
  assert_int_equal(parse(&line, "help replay"), WO_OK);
  assert_int_equal(line.cli.help_topic, WO_COMMAND_REPLAY);
  static const char *const refused[][2] = {{"replay", "wants a recording"},
                                           {"--sweep replay x", "whyoom replay"},
                                           {"budget --sweep", "whyoom replay"},
                                           {"replay --zero 2 x", "whyoom budget"},
                                           {"replay x --set", "nothing follows"},
                                           {"replay x --check=yes", "takes no value"},
                                           {"replay x --chek", "unknown option --chek"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(parse(&line, refused[i][0]), WO_E_USAGE);
    if (!wo_view_has(wo_view_of(line.err.message), refused[i][1])) fail_msg("%s: %s", refused[i][0], line.err.message);
  }
}

/* The help of replay names every option that it has. */
static void test_replay_help(void **state) {
  (void)state;
  static const char *const options[] = {"check", "set", "sweep",  "capacity", "scale", "pair", "transform",
                                        "torch", "at",  "device", "plot",     "chart", "on",   "no-times"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    char dashed[32];
    snprintf(dashed, sizeof dashed, "  --%s ", options[i]);
    assert_true(wo_view_has(wo_view_of(wo_cli_help(WO_COMMAND_REPLAY)), dashed));
    assert_int_not_equal(wo_cli_replay_option(wo_view_of(options[i])), WO_CLI_IS_NO_OPTION);
  }
}

/* Behind its first word all belongs to the command that is recorded. */
static void test_record(void **state) {
  (void)state;
  struct line line;
  assert_int_equal(parse(&line, "record -o x --entries=5 python --format json -- -o y --help"), WO_OK);
  assert_int_equal(line.cli.command, WO_COMMAND_RECORD);
  assert_string_equal(line.cli.output, "x");
  assert_int_equal(line.cli.option_count, 1);
  assert_words(&line, "python --format json -- -o y --help");
  assert_int_equal(parse(&line, "record -v -- --odd -- replay"), WO_OK);
  assert_words(&line, "--odd -- replay");
  assert_int_equal(parse(&line, "record"), WO_E_USAGE);
  assert_int_equal(parse(&line, "record --help"), WO_OK);
  assert_int_equal(line.cli.help_topic, WO_COMMAND_RECORD);
  static const char *const named[] = {"--output", "--entries", "--stacks", "--no-stacks", "--at-exit", "--verbose"};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    assert_true(wo_view_has(wo_view_of(wo_cli_help(WO_COMMAND_RECORD)), named[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_budget_options),
      cmocka_unit_test(test_replay_options),
      cmocka_unit_test(test_replay_help),
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
