/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: inputs, what could not be read, limits, and memory that runs out anywhere between the rules and the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/input/input.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

enum { PATH_BYTES = 512 };

static void test_outcomes_have_names_and_texts(void **state) {
  (void)state;
  for (int i = 0; i < WO_OUTCOME_COUNT_; i++) {
    assert_true(wo_outcome_name((enum wo_outcome)i)[0] != '\0');
    assert_true(wo_outcome_text((enum wo_outcome)i)[0] != '\0');
    for (int k = 0; k < i; k++) assert_string_not_equal(wo_outcome_name((enum wo_outcome)i), wo_outcome_name((enum wo_outcome)k));
  }
}

static void test_empty_job(void **state) {
  struct sample_job sample;
  sample_read(&sample, *state, NULL, 0);
  assert_int_equal(sample.job->input_count, 0);
  assert_string_equal(sample_outcome(&sample), "unknown");
  assert_int_equal(sample.report->finding_count, 0);
  assert_null(wo_job_free(NULL));
  assert_null(wo_report_free(NULL));
  sample_done(&sample);
}

static void test_inputs_are_described(void **state) {
  static const struct sample_file files[] = {
      {"slurm-4711.err", "one\ntwo\nthree"}, {"train.sbatch", "#!/bin/bash\n#SBATCH --mem=64G\n"}, {"empty.out", ""}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 3);
  assert_int_equal(sample.job->input_count, 3);
  const struct wo_job_input *inputs = sample.job->inputs;
  assert_true(wo_view_is(inputs[0].path, "slurm-4711.err") && wo_view_is(inputs[0].format, "log"));
  assert_int_equal(inputs[0].lines, 3);
  assert_int_equal(inputs[0].bytes, 13);
  assert_true(wo_view_is(inputs[1].format, "sbatch"));
  assert_int_equal(inputs[2].lines, 0);
  for (size_t i = 0; i < 3; i++) assert_false(inputs[i].is_unreadable || inputs[i].is_compressed || inputs[i].note_count > 0);
  sample_done(&sample);
}

/* A path can hold any byte; what is shown must not. */
static void test_paths_are_cleaned(void **state) {
  const struct sample_file file = {"bad\x1b[31m\xff.err", "text\n"};
  struct sample_job sample;
  sample_read(&sample, *state, &file, 1);
  const struct wo_view path = sample.job->inputs[0].path;
  for (size_t i = 0; i < path.len; i++) assert_true((unsigned char)path.ptr[i] >= 0x20 && (unsigned char)path.ptr[i] != 0xff);
  sample_done(&sample);
}

static void test_unreadable_inputs_are_noted(void **state) {
  struct wo_job *job = NULL;
  struct wo_err err = {0};
  wo_err_set(&err, WO_E_IO, "no such file");
  assert_int_equal(wo_job_new(*state, &job), WO_OK);
  wo_job_add_unreadable(job, "gone.err", &err);
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(job->input_count, 1);
  assert_true(job->inputs[0].is_unreadable && wo_view_is(job->inputs[0].format, "unknown"));
  assert_int_equal(job->inputs[0].note_count, 1);
  assert_true(wo_view_is(job->inputs[0].notes[0], "no such file"));
  wo_job_free(job);
}

/* Only lines in which something was found are looked at, and so measured. */
static void test_long_lines_are_noted(void **state) {
  static const char start[] = "RuntimeError: CUDA error: out of memory ";
  const size_t len = WO_LIMIT_LINE_BYTES + 4096;
  char *text = test_malloc(len + 1);
  memset(text, 'x', len);
  memcpy(text, start, sizeof start - 1);
  text[len] = '\0';
  struct sample_job sample;
  sample_log(&sample, *state, text);
  assert_int_equal(sample.job->inputs[0].note_count, 1);
  assert_int_equal(sample_failure_kind(&sample), WO_KIND_CUDA_OOM);
  sample_done(&sample);
  test_free(text);
}

/* A pattern of the packs gives up a line that is too long for its expression: the input has a note with the pattern. */
static void test_unsearched_lines_are_noted(void **state) {
  static const char start[] = "#!/bin/bash\n\n\n\n\n\nsrun ";
  enum { WORDS = 9000 };
  char *text = test_malloc(sizeof start + WORDS * 5);
  memcpy(text, start, sizeof start - 1);
  for (size_t i = 0; i < WORDS; i++) memcpy(text + sizeof start - 1 + i * 5, "-a b ", 5);
  memcpy(text + sizeof start - 1 + WORDS * 5 - 9, "python  ", 9);
  struct sample_job sample;
  sample_log(&sample, *state, text);
  assert_int_equal(sample.job->inputs[0].note_count, 1);
  assert_true(wo_view_is(sample.job->inputs[0].notes[0], "1 line was too long to search for sbatch-launch"));
  sample_done(&sample);
  test_free(text);
}

/* More evidence than is kept: the rest is counted, and said. */
static void test_dropped_evidence_is_noted(void **state) {
  static const char line[] = "RuntimeError: CUDA error: out of memory\n";
  enum { LINES = 2500 };
  char *text = test_malloc(LINES * (sizeof line - 1) + 1);
  for (size_t i = 0; i < LINES; i++) memcpy(text + i * (sizeof line - 1), line, sizeof line);
  struct sample_job sample;
  sample_log(&sample, *state, text);
  assert_true(sample.job->events.dropped > 0);
  assert_true(sample.job->events.count <= WO_LIMIT_EVENTS_PER_KIND * 3);
  assert_int_equal(sample.job->inputs[0].note_count, 1);
  assert_string_equal(sample_outcome(&sample), "gpu_oom");
  sample_done(&sample);
  test_free(text);
}

/* Reading a file gives what reading its text gives. */
static void test_files_and_texts_agree(void **state) {
  char folder[PATH_BYTES / 2], path[PATH_BYTES];
  struct wo_job *job = NULL;
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  struct sample_job sample;
  sample_log(&sample, *state, "step 4: loss 2\n" OOM_ON("0"));
  assert_true(wo_files_scratch(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/job.err", folder);
  assert_true(wo_files_write(path, WO_VIEW("step 4: loss 2\n" OOM_ON("0"))));
  assert_int_equal(wo_job_new(*state, &job), WO_OK);
  assert_int_equal(wo_input_open(path, &input, &err), WO_OK);
  assert_int_equal(wo_job_read(job, input, path, &err), WO_OK);
  wo_input_close(input);
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(job->events.count, sample.job->events.count);
  for (size_t i = 0; i < job->events.count; i++) {
    char a[4096], b[4096];
    assert_string_equal(wo_event_to_text(&job->events.items[i], a, sizeof a),
                        wo_event_to_text(&sample.job->events.items[i], b, sizeof b));
  }
  wo_job_free(job);
  sample_done(&sample);
  wo_files_remove_scratch(folder);
}

/* Files that cannot be opened leave room for others; everything beyond the limits is counted. */
static void test_too_many_files(void **state) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(*state, &job), WO_OK);
  struct wo_err err = {0};
  wo_err_set(&err, WO_E_IO, "gone");
  for (size_t i = 0; i < WO_LIMIT_INPUT_FILES + 2; i++) wo_job_add_unreadable(job, "x", &err);
  assert_int_equal(job->input_count, WO_LIMIT_UNOPENED_FILES);
  assert_int_equal(job->left_out_count, WO_LIMIT_INPUT_FILES + 2 - WO_LIMIT_UNOPENED_FILES);
  job->left_out_count = 0;
  while (job->input_count < WO_LIMIT_INPUT_FILES) assert_int_equal(wo_job_read_text(job, WO_VIEW("text"), "y"), WO_OK);
  assert_int_equal(wo_job_read_text(job, WO_VIEW("text"), "y"), WO_E_LIMIT);
  assert_int_equal(job->left_out_count, 1);
  assert_int_equal(wo_job_close(job), WO_OK);
  wo_job_free(job);
}

/* ---- Memory that runs out ---- */

static const char failing_log[] =
    "per_device_train_batch_size=8,\ngradient_accumulation_steps=4,\nmax_seq_length: 2048\ntrainable params: 80,740,352 || all "
    "params: "
    "7,696,356,864 || trainable%: 1.0491\nstep 3: loss 1\n[rank1]: Traceback (most recent call last):\n[rank1]:   File "
    "\"/home/user/train.py\", line 88, in main\n[rank1]:     loss.backward()\n[rank1]: " OOM_ON("1") "[rank0]: " OOM_ON(
        "0") "srun: error: gpu09: task 1: Exited with exit code 1\n";

/* The whole way from rules to JSON; false when memory ran out somewhere, true when a whole report was written. */
static bool run_pipeline(const struct wo_pack *pack) {
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  struct wo_text text = {0};
  bool is_made = wo_job_new(pack, &job) == WO_OK;
  is_made = is_made && wo_job_read_text(job, WO_VIEW("#SBATCH --mem=64G\n"), "job.sbatch") == WO_OK;
  is_made = is_made && wo_job_read_text(job, (struct wo_view){failing_log, sizeof failing_log - 1}, "job.err") == WO_OK;
  is_made = is_made && wo_job_close(job) == WO_OK && wo_report_make(job, pack, &report) == WO_OK;
  if (is_made) {
    wo_report_json(report, &text);
    is_made = !text.is_failed && text.len > 0 && text.ptr[text.len - 1] == '\n';
  }
  wo_text_done(&text);
  wo_report_free(report);
  wo_job_free(job);
  return is_made;
}

/* Each allocation fails once on its own: nothing crashes, nothing leaks. Where the failure can be borne (a just-in-time compiler,
 * a note) the report is whole all the same. */
static void test_one_failing_allocation(void **state) {
  bool was_hit = true;
  size_t failed = 0;
  assert_true(run_pipeline(*state));
  for (long n = 1; was_hit; n += 1 + n / 40) {
    wo_fail_alloc_at(n);
    const bool is_made = run_pipeline(*state);
    was_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    failed += !is_made;
    if (!was_hit) assert_true(is_made);
  }
  assert_true(failed > 20);
}

/* From some allocation on nothing is left: the pipeline never claims success before the last one. */
static void test_no_allocation_from_some_point_on(void **state) {
  bool was_hit = true;
  for (long n = 1; was_hit; n += 1 + n / 20) {
    wo_fail_alloc_from(n);
    const bool is_made = run_pipeline(*state);
    was_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    if (is_made != !was_hit) fail_msg("from allocation %ld on: a report %s", n, is_made ? "was claimed" : "is missing");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outcomes_have_names_and_texts), cmocka_unit_test(test_empty_job),
      cmocka_unit_test(test_inputs_are_described),          cmocka_unit_test(test_paths_are_cleaned),
      cmocka_unit_test(test_unreadable_inputs_are_noted),   cmocka_unit_test(test_long_lines_are_noted),
      cmocka_unit_test(test_unsearched_lines_are_noted),    cmocka_unit_test(test_dropped_evidence_is_noted),
      cmocka_unit_test(test_files_and_texts_agree),         cmocka_unit_test(test_too_many_files),
      cmocka_unit_test(test_one_failing_allocation),        cmocka_unit_test(test_no_allocation_from_some_point_on),
  };
  return cmocka_run_group_tests_name("job", tests, sample_load_all, sample_unload);
}
