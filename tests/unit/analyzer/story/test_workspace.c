/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are read one after the other in one workspace find what each finds by itself; and what is passed over in a long log,
 * or only counted, is found as well by looking at every line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "parsers/base/text.h"
#include "tests/support/job/job_sample.h"

/* Adds all evidence of the job, and what is noted about its input. */
static void add_evidence(const struct wo_job *job, struct wo_text *out) {
  char line[8192];
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const event = &job->events.items[i];
    wo_text_add(out, "%s @%llu\n", wo_event_to_text(event, line, sizeof line), (unsigned long long)event->span.byte);
  }
  for (size_t i = 0; i < job->inputs[0].note_count; i++) wo_text_add(out, "%.*s\n", WO_SHOWN(job->inputs[0].notes[i]));
}

static void read_job(struct wo_job *job, struct wo_view text, struct wo_text *out) {
  out->len = 0;
  assert_int_equal(wo_job_read_text(job, text, "job.log"), WO_OK);
  assert_int_equal(wo_job_close(job), WO_OK);
  add_evidence(job, out);
  wo_job_free(job);
}

static void read_alone(const struct wo_pack *pack, struct wo_view text, bool no_prefilter, struct wo_text *out) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  job->no_prefilter = no_prefilter;
  read_job(job, text, out);
}

static void expect_same(const struct wo_text *got, const struct wo_text *want) {
  assert_false(got->is_failed || want->is_failed);
  assert_int_equal(got->len, want->len);
  assert_memory_equal(got->ptr, want->ptr, want->len);
}

static const char *const logs[] = {
    "",
    "step 1 | loss 2.0 | mem 40.1 GiB\nstep 2 | loss 1.9 | mem 41.0 GiB\nstep 3 | loss 1.8 | mem 41.5 GiB\n",
    "micro_batch_size: 4\nzero_stage: 3\nEpoch 1 done\n" EXCEPTION("KeyError: 'label'"),
    "INFO: vLLM API server version 0.6.3\n" OOM_ON("0") "step 5 done\n",
    "> quoted\n> Traceback (most recent call last):\n>   File \"a.py\", line 3, in main\n> ValueError: no\n",
    "[rank0]: " OOM_ON("0") "[rank1]: " OOM_ON("1") "\x1b[31mred\x1b[0m\n",
    "micro_batch_size: 8\nTraining finished\n",
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in main\n",
    "torch.OutOfMemoryError: CUDA out of mem\nory. Tried to allocate 7.53 GiB. GPU 0\n has a total capacity of 24.00 GiB\n"};

static void jobs_share_nothing(void **state) {
  const struct wo_pack *const pack = *state;
  struct wo_job_workspace *workspace = NULL;
  struct wo_text got = {0}, want = {0};
  assert_int_equal(wo_job_workspace_new(pack, &workspace), WO_OK);
  const size_t count = sizeof logs / sizeof logs[0];
  for (size_t i = 0; i < count * count; i++) {
    const struct wo_view text = wo_view_of(logs[i % 2 == 0 ? i / count : i % count]);
    struct wo_job *job = NULL;
    assert_int_equal(wo_job_new_in(workspace, &job), WO_OK);
    read_job(job, text, &got);
    read_alone(pack, text, false, &want);
    expect_same(&got, &want);
  }
  wo_job_workspace_free(workspace);
  wo_job_workspace_free(NULL);
  wo_text_done(&got);
  wo_text_done(&want);
}

static void expect_same_without_prefilter(const struct wo_pack *pack, const struct wo_text *log, struct wo_text *ret) {
  struct wo_text slow = {0};
  assert_false(log->is_failed);
  read_alone(pack, (struct wo_view){log->ptr, log->len}, false, ret);
  read_alone(pack, (struct wo_view){log->ptr, log->len}, true, &slow);
  expect_same(ret, &slow);
  wo_text_done(&slow);
}

static void add_filler(struct wo_text *log, int i) {
  if (i % 5 == 0) wo_text_add(log, "%d plain words of a program that goes on with something\n", i);
  if (i % 5 == 1) wo_text_add(log, "2025-01-06 15:18:19,%03d INFO loader: reading the next part of the data\n", i);
  if (i % 5 == 2) wo_text_add(log, "\x1b[32mcoloured %d\x1b[0m words\r\n", i);
  if (i % 5 == 3) wo_text_add(log, "bar %d\rbar\r\n", i);
  if (i % 5 == 4) wo_text_add(log, "\n%d\n", i);
}

/* The first lines stand there again far below an end, between lines of many shapes. */
static void another_start_is_found(void **state) {
  static const char opening[] = "Loading the modules of the program\nStarting to train the model on node7\nReading settings\n";
  for (int lines = 0; lines <= 400; lines += 50) {
    struct wo_text log = {0}, events = {0};
    wo_text_add(&log, "%s", opening);
    for (int i = 0; i < 60; i++) wo_text_add(&log, "line %d of what is done first, with words\n", i);
    wo_text_add(&log, "%s", EXCEPTION("RuntimeError: lost"));
    for (int i = 0; i < lines; i++) add_filler(&log, i);
    wo_text_add(&log, "%s", opening);
    for (int i = 0; i < 300; i++) wo_text_add(&log, "line %d of what is done then, with words\n", i);
    expect_same_without_prefilter(*state, &log, &events);
    const bool is_found = wo_view_has((struct wo_view){events.ptr, events.len}, "run_start");
    assert_int_equal(is_found, lines <= 250); /* seven lines for five of them */
    wo_text_done(&log);
    wo_text_done(&events);
  }
}

/* More tracebacks than are kept: all of them are counted, and the same ones are kept. */
static void tracebacks_beyond_the_limit_are_counted(void **state) {
  struct wo_text log = {0}, events = {0};
  for (int i = 0; i < (int)WO_LIMIT_EVENTS_PER_KIND + 300; i++) {
    wo_text_add(&log, "Traceback (most recent call last):\n  File \"/home/user/part%d.py\", line %d, in load\n", i % 7, i);
    wo_text_add(&log, "    item = read(%d)\n", i);
    if (i % 3 > 0) wo_text_add(&log, "  File \"/x/site-packages/torch/a.py\", line 3, in read\n    raise OSError(path)\n");
    wo_text_add(&log, i % 50 == 0 ? "no exception here\nor here\n" : "ValueError: part %d is damaged\n", i);
  }
  expect_same_without_prefilter(*state, &log, &events);
  assert_true(wo_view_has((struct wo_view){events.ptr, events.len}, "pieces of evidence beyond the limit were counted"));
  wo_text_done(&log);
  wo_text_done(&events);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_share_nothing), cmocka_unit_test(another_start_is_found),
                                     cmocka_unit_test(tracebacks_beyond_the_limit_are_counted)};
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
