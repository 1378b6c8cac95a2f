/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the program writes: none of those that it reads, none half, and no option for a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/process.h"

#define LOG WO_SOURCE_DIR "/samples/lora-7b-24g/slurm-90817.err"
#define TRACE WO_SOURCE_DIR "/samples/lora-7b-24g/trace-90817.jsonl"

static char folder[512];

static int shell(const char *text) {
  char command[2048];
  snprintf(command, sizeof command, "cd '%s' && { %s; }", folder, text);
  return system(command);
}

/* A folder with a log, a recording and rules. */
static int set_up(void **state) {
  (void)state;
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  return shell("cp " LOG " in.txt && cp " TRACE
               " trace.jsonl && mkdir rules && echo '[]' >rules/own.json && cp in.txt slurm-1.out && "
               "ln -s in.txt link && ln -s ../in.txt rules/notes && mkdir -p sub && ls -AR | LC_ALL=C sort >../.$$ && mv ../.$$ "
               "sub/names && "
               "cat in.txt trace.jsonl rules/own.json | cksum >sub/sum");
}

static int tear_down(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* Every input is as it was. */
static void check_inputs(const char *line) {
  if (shell("cat in.txt trace.jsonl rules/own.json | cksum | cmp -s - sub/sum && test -z \"$(find . -name '.whyoom-[0-9]*')\"") !=
      0)
    fail_msg("%s: a file was changed or left", line);
}

/* Runs the program by a shell in the folder; $W is the program. Returns its exit code. */
static int run(const char *line, char **ret_errors) {
  char command[1024];
  snprintf(command, sizeof command, "W=" WO_BINARY "; unset TERM; { %s; } 2>sub/errors >sub/out", line);
  const int code = shell(command);
  char path[600];
  size_t len = 0;
  snprintf(path, sizeof path, "%s/sub/errors", folder);
  *ret_errors = wo_files_read(path, &len);
  assert_non_null(*ret_errors);
  return code < 0 || code & 0x7f ? -1 : code >> 8;
}

struct row {
  const char *line;
  int code;
  const char *told; /* on standard error */
};

static void check_rows(const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char *errors = NULL;
    const int code = run(rows[i].line, &errors);
    if (code != rows[i].code || !strstr(errors, rows[i].told)) fail_msg("%s: %d %s", rows[i].line, code, errors);
    if (code == 2 && wo_process_count_lines(errors) != 1) fail_msg("%s: more than a line: %s", rows[i].line, errors);
    check_inputs(rows[i].line);
    free(errors);
  }
}

#define INPUT "is an input of this call: it is not written over"

static void test_inputs(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"$W -o in.txt in.txt", 2, "whyoom: in.txt: " INPUT},
      {"$W --format json --output=./sub/../in.txt in.txt", 2, INPUT},
      {"$W in.txt -o link", 2, "whyoom: link: " INPUT},
      {"$W link -o in.txt", 2, INPUT},
      {"$W -o in.txt <in.txt", 2, INPUT},
      {"$W -o in.txt - <in.txt", 2, INPUT},
      {"$W -o in.txt trace.jsonl /dev/stdin <in.txt", 2, INPUT},
      {"$W -o /dev/fd/3 in.txt 3<>in.txt", 2, INPUT},
      {"ln in.txt hard; $W -o hard in.txt; code=$?; rm hard; (exit $code)", 2, "hard: has 2 names"},
      {"$W rules list --rules rules -o rules/own.json", 2, INPUT},
      {"$W in.txt --rules rules -o ./rules/own.json", 2, INPUT},
      {"$W rules why unclear in.txt -o in.txt", 2, INPUT},
      {"$W budget in.txt -o in.txt", 2, INPUT},
      {"$W replay trace.jsonl -o trace.jsonl", 2, INPUT},
      {"$W replay --plot trace.jsonl trace.jsonl", 2, "whyoom: trace.jsonl: " INPUT},
      {"$W replay trace.jsonl --scale seq_len=2:1 --pair in.txt --plot in.txt", 2, INPUT},
      {"$W replay trace.jsonl --plot new.svg -o new.svg", 2, "is named by --plot and by --output"},
      {"$W verify in.txt --trace trace.jsonl -o trace.jsonl", 2, INPUT},
      {"$W verify in.txt --patch -o in.txt", 2, INPUT},
  };
  check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_option_like(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"$W -o --help in.txt", 2, "--output needs the name of a file, and '--help' looks like an option: write ./--help"},
      {"$W -o -v in.txt", 2, "'-v' looks like an option"},
      {"$W -o - in.txt", 2, "'-' looks like an option"},
      {"$W --output=--json in.txt", 2, "'--json' looks like an option"},
      {"$W --rules --exit-zero in.txt", 2, "--rules needs"},
      {"$W replay --plot --check trace.jsonl", 2, "--plot needs"},
      {"$W replay --pair --scale trace.jsonl", 2, "--pair needs"},
      {"$W verify in.txt --trace --patch", 2, "--trace needs a recording"},
      {"$W record -o --entries true", 2, "--output needs"},
      {"$W -o ./--help in.txt; code=$?; test -s ./--help && rm ./--help && (exit $code)", 1, ""},
  };
  check_rows(rows, sizeof rows / sizeof *rows);
}

/* Messages come before the work; what is there stays. */
static void test_places(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"$W -o sub in.txt", 2, "whyoom: sub: is a folder: name a file in it"},
      {"$W -o no/report in.txt", 2, "whyoom: no/report: cannot be written: its folder does not exist"},
      {"$W -o in.txt/report trace.jsonl in.txt", 2, "Not a directory"},
      {"$W -o /dev/full in.txt", 2, "whyoom: /dev/full: cannot be written: No space left on device"},
      {"$W -o /dev/null in.txt", 1, ""},
      {"$W -o /dev/null </dev/null", 2, "is empty: there is nothing to read"},
      {"echo before >sub/log; $W -o /dev/stdout in.txt >>sub/log; grep -q before sub/log && test $(wc -l <sub/log) -gt 5", 0, ""},
      {"mkfifo sub/fifo; cat sub/fifo >sub/got & $W -o sub/fifo in.txt; wait; test -s sub/got", 0, ""},
      {"echo old >sub/r; $W -o sub/r replay no-file.jsonl; code=$?; grep -qx old sub/r && (exit $code)", 2, "no-file.jsonl"},
      {"ln -s r sub/l; $W -o sub/l in.txt; test -L sub/l && grep -q MEMORY sub/r", 0, ""},
      {"$W completion bash -o bash && $W completion bash -o bash && $W explain bash -o bash; test -s bash", 0, ""},
      {"$W record -o sub/traces no-such-command", 127, "No such file"},
      {"$W replay trace.jsonl --plot /dev/null -o /dev/null", 3, ""},
  };
  check_rows(rows, sizeof rows / sizeof *rows);
}

/* A file may not grow: a message and 2, and no signal; the recorded command runs, with the signal as it was. Standard error goes
 * through a pipe, which has no size. */
static void test_file_size_limit(void **state) {
  (void)state;
#define LIMITED(line) "(ulimit -f 0; " line "; echo code $?) 2>&1 | cat >&2"
  static const struct row rows[] = {
      {"echo old >sub/r; " LIMITED("$W -o sub/r in.txt") "; grep -qx old sub/r", 0,
       "whyoom: sub/r: cannot be written: File too large\ncode 2\n"},
      {LIMITED("$W replay --plot sub/r.svg trace.jsonl >/dev/null") "; test ! -e sub/r.svg", 0,
       "whyoom: sub/r.svg: cannot be written: File too large\ncode 2\n"},
      {LIMITED("$W rules pages sub/pages"), 0, ".md: cannot be written: File too large\ncode 2\n"},
      {LIMITED("$W record -o sub/t sh -c 'echo ran; kill -s XFSZ $$; echo survived'"), 0,
       "File too large; running without recording\nran\n"},
      {"trap '' XFSZ; " LIMITED("$W record -o sub/t sh -c 'echo ran; kill -s XFSZ $$; echo survived'"), 0,
       "File too large; running without recording\nran\nsurvived\ncode 0\n"},
  };
#undef LIMITED
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *errors = NULL;
    const int code = run(rows[i].line, &errors);
    if (code != rows[i].code || !strstr(errors, rows[i].told) || (i == 3 && strstr(errors, "survived")))
      fail_msg("%s: %d %s", rows[i].line, code, errors);
    check_inputs(rows[i].line);
    free(errors);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_inputs), TEST(test_option_like), TEST(test_places), TEST(test_file_size_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
