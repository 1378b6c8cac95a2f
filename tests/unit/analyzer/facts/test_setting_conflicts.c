/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that the inputs give several values for: which one counts, where it can be changed, and why the others do not count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define NAMESPACE "Namespace(seed=1, micro_batch_size=3)\n"

struct row {
  const char *name;
  struct sample_file files[3];
  double value;
  const char *spelled;
  const char *other; /* "8: a command line beats a file", or NULL for none */
  bool is_conflict;
};

static const struct row rows[] = {
    {"one value", {{"a.out", "--micro_batch_size 4\n"}}, 4, "--micro_batch_size 4", NULL, false},
    {"a file and a launch line",
     {{"a.yaml", "train:\n  micro_batch_size: 8\n"}, {"a.sbatch", "srun python t.py --micro-batch-size 4\n"}},
     4,
     "--micro-batch-size 4",
     "8: a command line beats a file",
     true},
    {"what ran beats the launch line",
     {{"a.sbatch", "srun python t.py --micro-batch-size 4\n"}, {"a.out", NAMESPACE}},
     3,
     "micro_batch_size=3",
     "4: a value that the program printed after it read its arguments beats a command line",
     true},
    {"the environment beats a file",
     {{"a.yaml", "micro_batch_size: 8\n"}, {"a.sbatch", "export MICRO_BATCH_SIZE=2\nexport micro_batch_size=2\n"}},
     2,
     "export micro_batch_size=2",
     "8: an environment variable beats a file",
     true},
    {"an echo beats the file, and the file is shown where they agree",
     {{"a.yaml", "micro_batch_size: 8\n"}, {"a.out", "micro_batch_size: 8\n"}},
     8,
     "micro_batch_size: 8",
     NULL,
     false},
    {"the file was edited since",
     {{"a.yaml", "micro_batch_size: 2\n"}, {"a.out", "micro_batch_size: 8\n"}},
     8,
     "micro_batch_size: 8",
     "2: a printed configuration beats a file",
     true},
    {"back to the first value",
     {{"a.out", "micro_batch_size: 8\nmicro_batch_size: 4\nmicro_batch_size: 8\n"}},
     8,
     "micro_batch_size: 8",
     "4: a later value of the same key counts",
     false},
    {"auto is no value",
     {{"a.json", "{\"micro_batch_size\": \"auto\"}\n"}, {"a.out", NAMESPACE}},
     3,
     "micro_batch_size=3",
     NULL,
     false},
    {"the critic's is another",
     {{"a.sbatch", "t actor.micro_batch_size=4 critic.micro_batch_size=16\n"}},
     4,
     "actor.micro_batch_size=4",
     "16: set for another part of the configuration",
     false},
    {"also where it is nested",
     {{"a.out", "{'actor': {'micro_batch_size': 4},\n 'critic': {'micro_batch_size': 16}}\n"}},
     4,
     "\"micro_batch_size\": 4",
     "16: set for another part of the configuration",
     false},
    {"a generic key",
     {{"a.sbatch", "t --batch_size 64 --micro_batch_size 4\n"}},
     4,
     "--micro_batch_size 4",
     "64: a less specific key",
     false},
    {"another key",
     {{"a.sbatch", "t --micro_batch_size 4 --per_device_train_batch_size 5\n"}},
     4,
     "--micro_batch_size 4",
     "5: another key for the same thing",
     false},
    {"the next run",
     {{"a.out", "micro_batch_size: 4\n" OOM_ON("0") "micro_batch_size: 2\n"}},
     4,
     "micro_batch_size: 4",
     "2: printed after the failure",
     false},
    {"evaluation is told apart",
     {{"a.yaml", "eval:\n  batch_size: 2\ntrain:\n  batch_size: 6\n"}},
     6,
     "batch_size: 6",
     NULL,
     false},
};

static bool is_other(const struct wo_setting *setting, const struct row *row) {
  char text[200];
  if (row->other == NULL) return setting->other_count == 0;
  if (setting->other_count != 1 || setting->others[0].is_conflict != row->is_conflict) return false;
  snprintf(text, sizeof text, "%g: %.*s", setting->others[0].value.number.mid, (int)setting->others[0].why_not.len,
           setting->others[0].why_not.ptr);
  return strcmp(text, row->other) == 0;
}

static void test_choice(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    size_t count = 0;
    while (count < 3 && rows[i].files[count].path) count++;
    sample_read(&sample, *state, rows[i].files, count);
    const struct wo_setting *const setting = wo_facts_setting(&sample.report->facts, WO_VIEW("micro_batch"));
    if (setting == NULL) fail_msg("%s: not set", rows[i].name);
    if (setting->value.number.mid != rows[i].value) fail_msg("%s: %g", rows[i].name, setting->value.number.mid);
    const struct wo_spelling spelling = wo_spell_setting(setting->event);
    if (!sample_is_spelled(&spelling, rows[i].spelled)) fail_msg("%s", rows[i].name);
    if (!is_other(setting, &rows[i]))
      fail_msg("%s: %zu others, %.*s", rows[i].name, setting->other_count,
               setting->other_count ? (int)setting->others[0].why_not.len : 0,
               setting->other_count ? setting->others[0].why_not.ptr : "");
    assert_true(setting->has_conflict == rows[i].is_conflict);
    sample_done(&sample);
  }
}

/* However many values a log shows, a bounded number is told. */
static void test_others_are_bounded(void **state) {
  char log[4096] = "";
  struct sample_job sample;
  for (int i = 0; i < 2 * WO_LIMIT_SETTING_OTHERS; i++) {
    const size_t len = strlen(log);
    snprintf(log + len, sizeof log - len, "micro_batch_size: %d\n", i + 1);
  }
  sample_log(&sample, *state, log);
  const struct wo_setting *const setting = wo_facts_setting(&sample.facts, WO_VIEW("micro_batch"));
  assert_non_null(setting);
  assert_int_equal(setting->value.number.mid, 2 * WO_LIMIT_SETTING_OTHERS);
  assert_int_equal(setting->other_count, WO_LIMIT_SETTING_OTHERS);
  sample_done(&sample);
}

/* The text report names what places of different sorts disagree on, and everything when it is verbose. */
static void test_text(void **state) {
  static const struct sample_file files[] = {
      {"a.yaml", "micro_batch_size: 8\nseq_length: 512\n"}, {"a.sbatch", "t --micro-batch-size 4\n"}, {"a.err", OOM_ON("0")}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 3);
  struct wo_text text = {0};
  wo_report_text(sample.report, (struct wo_text_style){.width = 200}, &text);
  const struct wo_view all = {text.ptr, text.len};
  assert_true(wo_view_has(
      all, "setting: micro_batch 4 (a.sbatch:1 --micro-batch-size) over 8 (a.yaml:1): a command line beats a file\n"));
  assert_false(wo_view_has(all, "setting: seq_len"));
  wo_text_done(&text);
  wo_report_text(sample.report, (struct wo_text_style){.width = 200, .is_verbose = true}, &text);
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, "setting: seq_len 512 (a.yaml:2 seq_length)\n"));
  wo_text_done(&text);
  sample_done(&sample);
}

/* Fixes are written for the place that can be edited. */
static void test_edit(void **state) {
  static const struct sample_file files[] = {
      {"a.sbatch", "export PER_DEVICE_BATCH=6\nt --per_device_batch ${PER_DEVICE_BATCH}\n"},
      {"a.out", "Namespace(per_device_batch=6)\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 2);
  const struct wo_setting *const setting = wo_facts_setting(&sample.facts, WO_VIEW("micro_batch"));
  assert_non_null(setting);
  assert_ptr_equal(setting->event, setting->edit);
  assert_int_equal(setting->edit->span.file, 0);
  assert_int_equal(setting->edit->span.line, 1);
  sample_done(&sample);
}

static void test_alloc_conf(void **state) {
  static const struct {
    const char *log;
    const char *unknown; /* NULL: none */
    double split_mb;     /* NAN: not set */
  } confs[] = {
      {"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True\n", NULL, 64},
      {"export PYTORCH_CUDA_ALLOC_CONF=max_split_mb:64,backend:native,expandable_segment:True\n",
       "max_split_mb,expandable_segment", (double)NAN},
      {"export PYTORCH_ALLOC_CONF=roundup_power2_divisions:[256:1,512:2],max_split_size_mb:32,nonsense:1\n", "nonsense", 32},
      {"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n", NULL,
       (double)NAN},
      {"export PYTORCH_CUDA_ALLOC_CONF=defaults\n", NULL, (double)NAN},
  };
  for (size_t i = 0; i < sizeof confs / sizeof confs[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, confs[i].log);
    const struct wo_value unknown = sample_fact(&sample, "alloc.unknown_keys");
    const double split_mb = sample_number(&sample, "config.alloc_max_split_size_mb");
    if (unknown.is_known != (confs[i].unknown != NULL) || (confs[i].unknown && !wo_view_is(unknown.text, confs[i].unknown)))
      fail_msg("%s: %.*s", confs[i].log, (int)unknown.text.len, unknown.text.ptr);
    if (isnan(confs[i].split_mb) != (bool)isnan(split_mb) || (!isnan(split_mb) && split_mb != confs[i].split_mb))
      fail_msg("%s: %g", confs[i].log, split_mb);
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choice), cmocka_unit_test(test_others_are_bounded), cmocka_unit_test(test_text),
      cmocka_unit_test(test_edit),   cmocka_unit_test(test_alloc_conf),
  };
  return cmocka_run_group_tests_name("setting conflicts", tests, sample_load_all, sample_unload);
}
