/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by which a user could take a failed job for a good one, or is led astray: what each must say, and its exit code. The
 * rows run in one scratch folder, in which $W is the program; `out` and `err` are texts that standard output and standard error
 * must have ("!text": must not have), divided by '|'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

enum { PATH_BYTES = 512, LINE_BYTES = 2048 };

static char folder[PATH_BYTES / 2];

struct row {
  const char *call;
  int exit_code;
  const char *out, *err;
};

/* ---- The folder ---- */

static const char oom_log[] =
    "step 41: loss 2\n" EXCEPTION(OOM_SAYS("2.00 GiB", "0", "39.38 GiB", "1.25 GiB", "38.12 GiB", "28.53 GiB", "9.09 GiB"));

#define GOOD "hello\nTraining finished.\n"

/* A text with its NULs. */
#define BYTES(literal) literal, sizeof literal - 1

static const struct {
  const char *name, *text;
  size_t len;
} files[] = {
    {"slurm-1001.out", BYTES("loading\nepoch 1 done\n")},
    {"slurm-1001.err", BYTES(oom_log)},
    {"slurm-1002.out", BYTES(GOOD)},
    {"slurm-1002.err", BYTES("")},
    {"slurm-2000_3.out", BYTES(oom_log)},
    {"slurm-2000_4.out", BYTES(GOOD)},
    {"train.sbatch", BYTES("#SBATCH --mem=64G\nt.py --per_device_train_batch_size 8\n")},
    {"dmon-1001.txt", BYTES("# gpu  fb\n# Idx  MB\n    0  1000\n")},
    {"run.out", BYTES("loading\nepoch 1 done\n")},
    {"run.err", BYTES(oom_log)},
    {"one/slurm-1001.err", BYTES(oom_log)},
    {"one/train.sbatch", BYTES("t.py --per_device_train_batch_size 8\n")},
    {"two/slurm-1001.err", BYTES(oom_log)},
    {"two/slurm-1002.out", BYTES(GOOD)},
    {"job/train.log", BYTES(oom_log)},
    {"job/config.yaml", BYTES("micro_batch: 8\n")},
    {"job/dmon.txt", BYTES("# gpu  fb\n# Idx  MB\n    0  1000\n")},
    {"job/slurm-1003.out", BYTES("loading\n")},
    {"ranks/log.000", BYTES("[rank0]: step 1\n")},
    {"ranks/log.001", BYTES(oom_log)},
    {"ranks/rank_100.err", BYTES(oom_log)},
    {"ranks/rank_101.err", BYTES("[rank1]: step 1\n")},
    {"named/4711", BYTES(GOOD)},
    {"named/slurm-4711.err", BYTES(oom_log)},
    {"alone.out", BYTES("loading\n")},
    {"empty.log", BYTES("")},
    {"blank.log", BYTES(" \n\n\t\n")},
    {"nuls.log", BYTES("\0\0\0\0\0\0\0\0")},
    {"log.bz2", BYTES("BZh91AY&SY\x12\x34\x56\x78")},
    {"log.lz4", BYTES("\x04\x22\x4d\x18\x64\x40\xa7\x01")},
    {"log.zip", BYTES("PK\x03\x04\x14\0\0\0\x08\0")},
    {"log.7z", BYTES("7z\xbc\xaf\x27\x1c\0\x04")},
    {"program", BYTES("\x7f"
                      "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0CUDA out of memory. Tried to allocate 2.00 GiB\n")},
    {"core.77", BYTES("\x7f"
                      "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0")},
    {"state.pkl", BYTES("\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94\x8c\x01"
                        "a\x94K\x01s.")},
    {"picture.png", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR")},
    {"weights.safetensors", BYTES("\x40\0\0\0\0\0\0\0{\"w\":{}}")},
    {"random.log", BYTES("\x01\x02\x91\x03\xfe\x04\x05\x06\x13\x17\x99\x15\x16\x0e\x0f\x01\x02\x03\xaa\xbb\x01\x02")},
    {"small", BYTES("\xca\xfe\xba\xbe\0\0\0\x41\0\x16\0\x07")},
    {"mark.log", BYTES("\xef\xbb\xbf\n\x1b[0m\x1b[K\n")},
    {"days/train-2026-11-26.log", BYTES(GOOD)},
    {"days/train-2026-11-27.log", BYTES(oom_log)},
    {"submitit/5001_0_log.out", BYTES(GOOD)},
    {"submitit/5001_0_log.err", BYTES("")},
    {"submitit/5001_1_log.err", BYTES(oom_log)},
    {"submitit/5002_0_log.out", BYTES(GOOD)},
    {"submitit/5001_submission.sh", BYTES("t.py --per_device_train_batch_size 8\n")},
    {"young/slurm-1.out", BYTES(GOOD)},
    {"young/slurm-2.out", BYTES(oom_log)},
    {"young/events.out.tfevents.1732579200.gpu01.34567.0", BYTES("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\t\0\0\xc0\xc5\x4e\xd1\xd9"
                                                                 "A\x1a\rbrain.Event:2")},
    {"rules/bad/x.json", BYTES("{\"cause\": ")},
    {"rules/none/readme.txt", BYTES("no rule\n")},
};

static void in_folder(char *buf, const char *name) {
  snprintf(buf, PATH_BYTES, "%s/%s", folder, name);
}

static int make_folder(void **state) {
  (void)state;
  static const char *const folders[] = {"one",  "two",      "job",   "ranks", "named",     "void",
                                        "days", "submitit", "young", "rules", "rules/bad", "rules/none"};
  char path[PATH_BYTES];
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    in_folder(path, folders[i]);
    if (mkdir(path, 0700) != 0) return -1;
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    in_folder(path, files[i].name);
    if (!wo_files_write(path, (struct wo_view){files[i].text, files[i].len})) return -1;
  }
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char line[LINE_BYTES];
  snprintf(line, sizeof line, "rm -r '%s'", folder);
  return system(line) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): a fixed line */
}

/* ---- Rows ---- */

/* NULL wants no text at all. */
static bool is_as_wanted(const char *text, const char *wanted) {
  struct wo_view rest = wo_view_of(wanted);
  if (wanted == NULL) return text[0] == '\0';
  while (rest.len > 0) {
    const struct wo_view word = wo_view_cut(&rest, '|');
    const bool is_absent = wo_view_starts(word, "!");
    if ((wo_view_find(wo_view_of(text), wo_view_skip(word, is_absent ? 1 : 0), 0) == WO_NOT_FOUND) != is_absent) return false;
  }
  return true;
}

static bool run_row(const struct row *row) {
  char line[LINE_BYTES], out_path[PATH_BYTES], err_path[PATH_BYTES];
  size_t len = 0;
  in_folder(out_path, ".stdout");
  in_folder(err_path, ".stderr");
  snprintf(line, sizeof line, "cd '%s' && W='%s'; export NO_COLOR=1 LC_ALL=C; { %s; } >.stdout 2>.stderr </dev/null", folder,
           WO_BINARY, row->call);
  const int result = system(line); /* NOLINT(cert-env33-c): fixed lines */
  const int code = WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  char *const out = wo_files_read(out_path, &len);
  char *const err = wo_files_read(err_path, &len);
  const bool is_good = out && err && code == row->exit_code && is_as_wanted(out, row->out) && is_as_wanted(err, row->err);
  if (!is_good)
    print_error("%s: exit %d, expected %d\n-- standard error:\n%.400s\n-- standard output:\n%.500s\n", row->call, code,
                row->exit_code, err, out);
  free(out);
  free(err);
  return is_good;
}

static void check_rows(const struct row *rows, size_t count) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += !run_row(&rows[i]);
  assert_int_equal(wrong, 0);
}

#define CHECK(...)                                                                                                               \
  (void)state;                                                                                                                   \
  static const struct row rows[] = {__VA_ARGS__};                                                                                \
  check_rows(rows, sizeof rows / sizeof rows[0])

/* ---- The traps ---- */

/* The .out of a failed job. */
static void test_siblings(void **state) {
  CHECK(
      {"$W slurm-1001.out", 1, "OUT OF GPU MEMORY|slurm-1001.err:|!OK:", "also reading slurm-1001.err"},
      {"$W --json slurm-1001.out", 1, "\"path\": \"slurm-1001.out\"|\"path\": \"slurm-1001.err\"", "also reading slurm-1001.err"},
      {"$W run.out", 1, "OUT OF GPU MEMORY", "also reading run.err"},
      {"cat slurm-1001.out | $W", 0, "!OK:|NO FAILURE FOUND", NULL}, {"$W slurm-1001.out slurm-1001.err", 1, "OUT OF GPU", NULL},
      {"cat slurm-1001.out | $W -", 0, "!slurm-1001.err", NULL},
      {"$W alone.out", 0, "NO FAILURE FOUND|does not show how it ended|!OK:", NULL},
      {"$W slurm-1002.out", 0, "OK: no failure found", "also reading slurm-1002.err"},
      {"$W slurm-1001.out ./slurm-1001.err", 1, "slurm-1001.err:", NULL},
      {"cd days && $W train-2026-11-26.log", 0, "OK: no failure", NULL},
      {"cd submitit && $W 5001_0_log.out", 1, "OUT OF GPU MEMORY|5001_1_log.err:", "also reading 5001_0_log.err, 5001_1_log.err"},
      {"echo step 1: loss 2 >open.log; $W open.log", 0, "OK: no failure found|open.log: shows no failure|!ended well", NULL},
      {"$W slurm-1002.out slurm-1002.err", 0, "job 1002: ended well", NULL},
      {"$W --json alone.out", 0, "\"outcome\": \"unknown\"", NULL}, {"$W slurm-2000_4.out", 0, "OK:|!2000_3", NULL},
      {"$W verify slurm-1001.out", 3, "not proven", "also reading slurm-1001.err"});
}

/* Several jobs in one call. */
static void test_several_jobs(void **state) {
  CHECK(
      {"$W slurm-*.out", 1, "==> job 1001: |==> job 1002: |==> job 2000_3: |==> job 2000_4: |OK: no failure", "also reading"},
      {"$W slurm-1002.* slurm-2000_4.out", 0, "==> job 1002: |==> job 2000_4: ", NULL},
      {"$W --json slurm-1002.* slurm-2000_3.out | grep '^    .outcome.:' | tr -dc 'a-z_\\n'", 0,
       "outcomesuccess\noutcomegpu_oom\n", NULL},
      {"$W --format oneline slurm-1002.* slurm-2000_3.out", 1, "job 1002|OUT OF GPU MEMORY|!==>", NULL},
      {"$W --exit-zero slurm-1002.* slurm-2000_3.out", 0, "OUT OF GPU MEMORY", NULL},
      {"$W slurm-1002.* slurm-2000_3.out nosuch.txt", 2, "==> job 1002", "nosuch.txt: cannot be opened"},
      {"$W slurm-1002.* slurm-2000_3.out run.txt 2>&1; touch run.txt; $W slurm-1002.* slurm-2000_3.out run.txt; c=$?; rm "
       "run.txt; "
       "(exit $c)",
       2, "==> job 1002", "run.txt: was not read"},
      {"$W slurm-1001.* slurm-1002.* train.sbatch dmon-1001.txt | grep '==>'", 0,
       "job 1001: slurm-1001.err, slurm-1001.out, dmon-1001.txt, train.sbatch <|job 1002: slurm-1002.err, slurm-1002.out, "
       "train.sbatch <",
       NULL},
      {"$W -o .report slurm-1002.* slurm-2000_3.out; c=$?; grep -c '==>' .report; (exit $c)", 1, "2", NULL},
      {"cd submitit && $W * | grep '==>'", 0,
       "job 5001: 5001_0_log.err, 5001_0_log.out, 5001_1_log.err, 5001_submission.sh <|job 5002: 5002_0_log.out <", NULL},
      {"cd young && $W slurm-*", 1, "==> job 1: slurm-1.out <|OK: no|==> job 2: slurm-2.out <|OUT OF", NULL},
      {"$W --format markdown slurm-1002.* slurm-2000_3.out", 1, "\n---\n|job 1002", NULL},
      {"$W --format html slurm-1002.* slurm-2000_3.out", 2, NULL,
       "makes one page of the files of one job, and these are of 2: 1002, 2000_3 "},
      {"$W --format html slurm-1002.*", 0, "<html", NULL}, {"cd job && $W *", 1, "OUT OF GPU MEMORY|!==>", NULL},
      {"cd ranks && $W *", 1, "OUT OF GPU MEMORY|!==>", NULL},
      {"$W one/slurm-1001.err slurm-1001.out", 1, "!==>|OUT OF GPU", "also reading slurm-1001.err"},
      {"for i in 1 2 3 4 5 6 7 8 9 10 11; do cp slurm-1002.out three-30$i.log; done; $W three-*.log; c=$?; rm three-*; (exit $c)",
       0, "==> job 301: |==> job 3011: ", "11 jobs, one report for each: `whyoom scan`"},
      {"tar cf .all.tar slurm-1001.err slurm-1002.out && $W .all.tar", 2, NULL,
       "the archive has logs of several jobs (1001, 1002): `whyoom scan"},
      {"tar cf .one.tar slurm-1001.err slurm-1001.out train.sbatch && $W .one.tar", 1, "OUT OF GPU MEMORY", NULL},
      {"$W verify slurm-*.out", 2, NULL, "takes the files of one job, and these are of 4: 1001, 1002, 2000_3, 2000_4"},
      {"$W budget slurm-*.out", 2, NULL, "takes the files of one job"},
      {"$W rules why fragmentation slurm-*.out", 2, NULL, "takes the files of one job"});
}

static void test_folders(void **state) {
  CHECK({"$W one", 1, "OUT OF GPU MEMORY: |slurm-1001.err:|!==>", NULL}, {"$W two", 1, "2 jobs: 1 failed", ""},
        {"$W one slurm-1002.*", 1, "==> job 1002: |==> job 1001: one/slurm-1001.err", NULL},
        {"$W void", 2, NULL, "void: holds no log|nothing to read"},
        {"$W void slurm-1002.*", 0, "OK: no failure", "void: is a folder without a log"},
        {"$W verify one", 3, "not proven", NULL}, {"$W --json two | grep -c '^{'", 0, "2\n", NULL},
        {"$W --format oneline two", 1, "OUT OF GPU MEMORY|!2 jobs", NULL},
        {"mkdir -p zebra && cp slurm-1001.err zebra && $W --anonymize zebra/slurm-1001.err slurm-2000_3.out", 1,
         "==> job 1001: dir1/slurm-1001.err|!zebra", NULL});
}

/* Commands that are printed can be pasted, whatever the files are called. */
static void test_pasted(void **state) {
  CHECK({"mkdir -p dash && cd dash && cp ../slurm-1001.err ../slurm-1001.out . && : >--output=made && $W -- * 2>&1", 1,
         "verify ./*|whyoom -v ./*", NULL},
        {"mkdir -p bare && cp slurm-1001.err bare/report && cd bare && $W -- report", 1, "whyoom -v ./report", NULL});
}

/* Ranks that show nothing did not follow; more memory than was asked for does not lie in pieces where the batch is the cause. */
static void test_no_more_than_is_known(void **state) {
  CHECK({"mkdir -p quiet && cd quiet && for r in 0 2 3; do echo step 1: loss 2 >job-4711.$r.out; done; "
         "cp ../slurm-1001.err job-4711.1.out; $W job-4711.*.out",
         1, "OUT OF GPU MEMORY|job-4711.1.out:|!only followed", NULL},
        {"(echo GGUF loader started; cat slurm-1001.err) >quiet/words.log; $W quiet/words.log", 1, "OUT OF GPU MEMORY", NULL});
}

/* A thousand jobs are not too many. */
static void test_most_jobs(void **state) {
  CHECK({"mkdir -p many && cd many && i=1000; while [ $i -lt 2000 ]; do echo step 1: loss 2 >slurm-$i.out; i=$((i + 1)); done; "
         "$W -q slurm-*.out",
         0, "", "1000 jobs, one report for each|!only the first"},
        {"cd many && cp slurm-1000.out slurm-2000.out && $W -q slurm-*.out", 2, "", "only the first 1000 jobs are reported"});
}

static void test_numbers(void **state) {
  CHECK({"$W 1001", 1, "OUT OF GPU MEMORY", "job 1001: reading |slurm-1001.err|slurm-1001.out|train.sbatch|dmon-1001.txt"},
        {"$W 2000_4", 0, "OK: ", "job 2000_4: reading slurm-2000_4.out, train.sbatch"},
        {"$W 2000", 1, "==> job 2000_3|==> job 2000_4", "job 2000: reading"},
        {"$W 77", 2, NULL, "77: is no file, and this folder has no log of a job 77 (a name such as slurm-77.out)"},
        {"$W 2000_9", 2, NULL, "no log of a job 2000_9"}, {"$W 1002 77", 2, "OK: ", "no log of a job 77"},
        {"cd young && $W 2", 1, "OUT OF GPU", "job 2: reading slurm-2.out\n"},
        {"cd submitit && $W 5001", 1, "OUT OF GPU MEMORY|!==>", "5001_1_log.err, 5001_submission.sh\n"},
        {"cd named && $W 4711", 0, "OK: no failure found|!slurm-4711", NULL},
        {"$W verify 1001", 3, "not proven", "job 1001: reading"});
}

/* What is no log. */
static void test_no_text(void **state) {
  CHECK({"$W", 2, NULL, "<stdin>: is empty: there is nothing to read"}, {"$W empty.log", 2, NULL, "empty.log: is empty"},
        {"$W blank.log", 2, NULL, "blank.log: is empty"}, {"$W nuls.log", 2, NULL, "nuls.log: is empty"},
        {"$W empty.log blank.log", 2, NULL, "empty.log: is empty|blank.log: is empty"},
        {"$W --json empty.log", 2, NULL, "is empty"}, {"$W slurm-1002.out slurm-1002.err", 0, "OK: no failure", NULL},
        {"$W log.bz2", 2, NULL, "is compressed with bzip2|`bzip2 -dc FILE "},
        {"$W log.lz4", 2, NULL, "is compressed with lz4|`lz4 -dc FILE "},
        {"$W log.zip", 2, NULL, "is a zip archive|`unzip -p FILE "},
        {"$W log.7z", 2, NULL, "is compressed with 7-Zip|`7z x -so FILE "},
        {"$W program", 2, NULL, "is a program or a library|name the log"}, {"$W core.77", 2, NULL, "is a core dump"},
        {"$W state.pkl", 2, NULL, "is a pickle of Python, and no memory snapshot"},
        {"$W picture.png", 2, NULL, "is a picture (PNG)"}, {"$W weights.safetensors", 2, NULL, "weights of a model"},
        {"$W random.log", 2, NULL, "is not text|name the log"}, {"$W small", 2, NULL, "is not text"},
        {"$W mark.log", 2, NULL, "mark.log: is empty"}, {"head -c 300000 /dev/zero | $W", 2, NULL, "<stdin>: is empty"},
        {"cd young && $W *", 2, "==> job 1|==> job 2|!job 1732579200",
         "events.out.tfevents.1732579200.gpu01.34567.0: was not read"},
        {"$W young/events*", 2, NULL, "is a file of TensorBoard|!is not text"},
        {"$W < log.zip", 2, NULL, "<stdin>: is a zip archive"},
        {"$W log.zip slurm-1001.err slurm-1001.out", 2, "OUT OF GPU", "zip"}, {"$W log.zip alone.out", 2, "!OK:", "zip archive"});
}

static void test_rules(void **state) {
  CHECK({"$W --rules rules/bad slurm-1002.out", 2, NULL, "rules/bad/x.json:"},
        {"$W rules check rules/bad", 2, "x.json:1:11: malformed JSON", "cannot be loaded: 1 mistake"},
        {"$W rules check rules/none", 2, NULL, "holds no rule file|nothing is checked"},
        {"$W rules test rules/none", 2, NULL, "holds no rule file"}, {"$W rules check nosuch", 2, NULL, "no such folder"},
        {"$W rules show fragmentation --rules rules/bad", 2, "\"cause\": \"fragmentation\"", "x.json"});
}

static void test_words(void **state) {
  CHECK({"$W diagnose slurm-1001.err slurm-1001.out", 1, "OUT OF GPU MEMORY", NULL},
        {"$W diagnose --help", 0, "usage: whyoom", NULL},
        {"$W expain", 2, NULL, "expain: is no file and no command: did you mean `whyoom explain`?"},
        {"$W scn .", 2, NULL, "did you mean `whyoom scan`?"}, {"$W mylog", 2, NULL, "mylog: is no file and no command"},
        {"$W mylog.txt", 2, "NOTHING READ", "mylog.txt: cannot be opened"},
        {"$W --formt json", 2, NULL, "did you mean --format?"}, {"$W replay --cpaacity 3", 2, NULL, "did you mean --capacity?"},
        {"$W explain fragmentaton", 2, NULL, "did you mean 'fragmentation'?"}, {"$W explain oom.tred", 2, NULL, "'oom.tried'"},
        {"$W explain oom", 0, "out of memory (OOM)", NULL}, {"$W explain OOM-killer", 0, "cgroup", NULL},
        {"$W explain batch_size", 0, "batch", NULL}, {"$W explain amp", 0, "mixed precision", NULL},
        {"$W explain gradient_accumulation_steps", 0, "setting grad_accum", NULL},
        {"$W explain -- --gradient-accumulation-steps", 0, "setting grad_accum", NULL},
        {"$W explain nothinglikeit", 2, NULL, "is not known; "},
        {"$W rules show fragmentatoin", 2, NULL, "did you mean 'fragmentation'?"},
        {"$W rules chek", 2, NULL, "did you mean 'check'?"}, {"$W help expain", 2, NULL, "did you mean 'explain'?"});
}

static void test_options(void **state) {
  CHECK({"$W --json slurm-1001.err slurm-1001.out", 1, "\"schema\": \"whyoom.report/1\"", NULL},
        {"$W budget --json --model llama-2-7b", 0, "{", ""},
        {"$W budget --model llama-3.1-9b", 2, NULL, "did you mean 'llama-3.1-8b'?"},
        {"$W -q slurm-1001.err slurm-1001.out", 1, NULL, NULL}, {"$W --quiet slurm-1002.out slurm-1002.err", 0, NULL, NULL},
        {"$W -q slurm-*.out", 1, NULL, "also reading"}, {"$W -q empty.log", 2, NULL, "is empty"}, {"$W -V", 0, "whyoom ", NULL},
        {"$W -qV", 0, "whyoom ", NULL}, {"$W -q --help", 0, "usage", NULL},
        {"$W -q -o .report slurm-1001.err slurm-1001.out; c=$?; grep -q MEMORY .report && (exit $c)", 1, NULL, NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_siblings),
      cmocka_unit_test(test_several_jobs),
      cmocka_unit_test(test_folders),
      cmocka_unit_test(test_pasted),
      cmocka_unit_test(test_no_more_than_is_known),
      cmocka_unit_test(test_most_jobs),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_no_text),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests_name("traps", tests, make_folder, remove_folder);
}
