/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a call to jobs, by names alone: no file of these is there, but for a scratch folder. */
#include "analyzer/intake/intake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/intake/siblings.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

enum { WORDS_MAX = 16, TEXT_BYTES = 1024 };

/* Divided by blanks, in place. */
static size_t split_words(char *line, char **words) {
  size_t count = 0;
  for (char *word = line; word != NULL; count++) {
    char *const blank = strchr(word, ' ');
    if (blank != NULL) *blank = '\0';
    words[count] = word;
    word = blank != NULL ? blank + 1 : NULL;
  }
  return count;
}

/* "4711: a b; 4712: c". */
static void write_jobs(const struct wo_intake *intake, struct wo_text *text) {
  for (size_t i = 0; i < intake->job_count; i++) {
    wo_text_add(text, "%s%.*s:", i > 0 ? "; " : "", WO_SHOWN(intake->jobs[i].name));
    for (size_t k = 0; k < intake->jobs[i].count; k++) wo_text_add(text, " %s", intake->jobs[i].paths[k]);
  }
}

static const struct {
  const char *words, *jobs;
  bool is_incomplete;
} rows[] = {
    {"a.err", ": a.err", false},
    {"train.log config.yaml dmon.txt -", ": train.log config.yaml dmon.txt -", false},
    {"slurm-7001.err train.log", ": slurm-7001.err train.log", false},
    {"x/slurm-7001.err y/slurm-7001.out", ": x/slurm-7001.err y/slurm-7001.out", false},
    {"train_20261126.log train_20261127.log", ": train_20261126.log train_20261127.log", false},
    {"log.000 log.001", ": log.000 log.001", false},
    {"rank_100.err rank_101.err", ": rank_100.err rank_101.err", false},
    {"a.out a.err b.out b.err", ": a.out a.err b.out b.err", false},
    {"out-7001.0 out-7001.1", ": out-7001.0 out-7001.1", false},
    {"slurm-7001_3.out slurm-7001.out", ": slurm-7001_3.out slurm-7001.out", false},
    {"eval_step_1000.log eval_step_2000.log train.log", ": eval_step_1000.log eval_step_2000.log train.log", false},
    {"slurm-7001.out nccl.gpu01.34567.log nccl.gpu01.34568.log", ": slurm-7001.out nccl.gpu01.34567.log nccl.gpu01.34568.log",
     false},
    {"7001_0_log.out 7001_1_log.out", ": 7001_0_log.out 7001_1_log.out", false},
    {"slurm-7001.out events.out.tfevents.1732579200.gpu01.34567.0",
     ": slurm-7001.out events.out.tfevents.1732579200.gpu01.34567.0", false},
    {"slurm-1.out slurm-2.out", "1: slurm-1.out; 2: slurm-2.out", false},
    {"slurm-7001.out slurm-7002.out", "7001: slurm-7001.out; 7002: slurm-7002.out", false},
    {"slurm-7002.out slurm-7001.out slurm-7002.err", "7002: slurm-7002.out slurm-7002.err; 7001: slurm-7001.out", false},
    {"slurm-7001_3.out slurm-7001_4.out", "7001_3: slurm-7001_3.out; 7001_4: slurm-7001_4.out", false},
    {"l/slurm-7001.out l/slurm-7002.out s/run.sbatch", "7001: l/slurm-7001.out s/run.sbatch; 7002: l/slurm-7002.out s/run.sbatch",
     false},
    {"slurm-7001.out slurm-7002.out train.log", "7001: slurm-7001.out; 7002: slurm-7002.out; train.log: train.log", false},
    {"slurm-7001.out slurm-7002.out trace-7002.jsonl", "7001: slurm-7001.out; 7002: slurm-7002.out trace-7002.jsonl", false},
    {"slurm-7001.out slurm-7002.out -", "standard input: -; 7001: slurm-7001.out; 7002: slurm-7002.out", false},
    {"slurm-7001.out slurm-7002.out notes.txt", "7001: slurm-7001.out; 7002: slurm-7002.out", true},
    {"7003", "", true},
    {"7003 a.err", ": a.err", true},
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char line[TEXT_BYTES], *words[WORDS_MAX];
    struct wo_intake intake;
    struct wo_text text = {0}, errors = {0};
    snprintf(line, sizeof line, "%s", rows[i].words);
    assert_int_equal(wo_intake_make(words, split_words(line, words), &errors, &intake), WO_OK);
    write_jobs(&intake, &text);
    if (!wo_view_is((struct wo_view){text.ptr, text.len}, rows[i].jobs) && !(text.len == 0 && rows[i].jobs[0] == '\0'))
      fail_msg("%s\n  %.*s\n  expected %s", rows[i].words, (int)text.len, text.ptr, rows[i].jobs);
    if (intake.is_incomplete != rows[i].is_incomplete) fail_msg("%s: incomplete %d", rows[i].words, intake.is_incomplete);
    assert_int_equal(errors.len > 0, rows[i].is_incomplete);
    wo_intake_done(&intake);
    wo_text_done(&text);
    wo_text_done(&errors);
  }
}

/* Logs of one folder, of which the first one is named. */
static void test_siblings(void **state) {
  (void)state;
  static const char *const names[] = {"slurm-7001.out", "slurm-7001.err", "train-7001.log", "slurm-70011.out", "slurm-7001_2.out",
                                      "dmon-7001.txt",  "run.sbatch",     "a.out",          "a.err",           "ab.err"};
  static const struct {
    const char *named, *added;
  } asked[] = {{"slurm-7001.out", " slurm-7001.err train-7001.log"}, {"a.out", " a.err"}, {"ab.err", ""}, {"run.sbatch", ""}};
  char folder[TEXT_BYTES], path[2 * TEXT_BYTES];
  struct wo_kept_folder kept = {0};
  assert_true(wo_files_scratch(folder, sizeof folder));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_true(wo_files_write(path, WO_VIEW("x\n")));
  }
  snprintf(path, sizeof path, "%s/linked-7001.log", folder); /* nobody has named what it leads to */
  assert_int_equal(symlink("run.sbatch", path), 0);
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    struct wo_arena arena;
    struct wo_text added = {0}, errors = {0};
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, asked[i].named);
    char *paths[] = {path};
    wo_arena_init(&arena, 1 << 20);
    char **const all = wo_intake_add_logs(&arena, &kept, paths, 1, &errors, &count);
    assert_non_null(all);
    for (size_t k = 1; k < count; k++) wo_text_add(&added, " %s", all[k] + strlen(folder) + 1);
    if (!wo_view_is((struct wo_view){added.ptr, added.len}, asked[i].added) && (added.len > 0 || asked[i].added[0] != '\0'))
      fail_msg("%s: added%.*s, expected%s", asked[i].named, (int)added.len, added.ptr, asked[i].added);
    wo_text_done(&added);
    wo_text_done(&errors);
    wo_arena_done(&arena);
  }
  wo_kept_folder_done(&kept);
  wo_files_remove_scratch(folder);
}

/* Each allocation fails once: an error, and nothing is lost without one. */
static void test_no_memory(void **state) {
  (void)state;
  bool is_hit = true;
  for (long fail_at = 1; is_hit; fail_at++) {
    char line[] = "slurm-7001.out slurm-7002.out trace-7001.jsonl - run.sbatch", *words[WORDS_MAX];
    struct wo_intake intake;
    struct wo_text errors = {0};
    const size_t count = split_words(line, words);
    wo_fail_alloc_at(fail_at);
    const enum wo_status status = wo_intake_make(words, count, &errors, &intake);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    if (status == WO_OK) assert_int_equal(intake.job_count, 3);
    wo_intake_done(&intake);
    wo_text_done(&errors);
    assert_true(fail_at < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_siblings),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
