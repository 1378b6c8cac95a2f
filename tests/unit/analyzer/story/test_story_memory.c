/* SPDX-License-Identifier: Apache-2.0 */
/* The story without memory: times, runs, attempts, ranks and restarts say that there is none, or tell the whole story. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/facts/ranks.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"

enum { FILES_MAX = 4 };

#define RUN(id, step) "SLURM_JOB_ID=" id "\n2026-03-05T20:24:06 step " step "/1000 loss 2.5\n" EXCEPTION("") OOM_ON("0")
#define ENDS "srun: error: gpu09: task 2: Exited with exit code 1\nsrun: error: gpu09: task 3: Killed\n"

struct row {
  const char *name;
  struct sample_file files[FILES_MAX];
};

static const struct row rows[] = {
    {"runs of one file", {{"job.err", RUN("4711", "149") ENDS RUN("4712", "149") ENDS}}},
    {"an inferred rank on one of several nodes",
     {{"job.err", EXCEPTION("") OOM_ON("0") ENDS}, {"job.out", "step 3/9 loss 1.1\n"}}},
    {"attempts",
     {{"r/attempt_0/0/stderr.log", OOM_ON("0")}, {"r/attempt_0/1/stderr.log", "x\n"}, {"r/attempt_1/1/stderr.log", OOM_ON("1")}}},
    {"clocks of two hosts",
     {{"rank_0.log",
       "2026-03-05T20:24:08 " OOM_ON("0") "slurmstepd: error: *** STEP 5153.0 ON gpu01 CANCELLED AT 2026-03-05T20:24:30 ***\n"},
      {"rank_1.log",
       "2026-03-05T20:24:06 " OOM_ON("1") "slurmstepd: error: *** STEP 5153.0 ON gpu02 CANCELLED AT 2026-03-05T20:24:09 ***\n"}}},
};

/* What the story says, in one line. */
static void describe(const struct wo_job *job, char *buf, size_t cap) {
  const struct wo_story *story = &job->story;
  int len = snprintf(buf, cap, "%s, failure %d, rival %d, step %lld, inferred %d", wo_outcome_name(story->outcome),
                     (int)story->failure, (int)story->rival, (long long)story->step, story->is_rank_inferred);
  for (size_t i = 0; i < story->run_count; i++) {
    const struct wo_run *run = &story->runs[i];
    len += snprintf(buf + len, cap - (size_t)len, "; %u:%llu %d", (unsigned)run->file, (unsigned long long)run->first_line,
                    (int)run->failure);
  }
}

static struct wo_job *read_row(const struct wo_pack *pack, const struct row *row) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  for (size_t i = 0; i < FILES_MAX && row->files[i].path; i++) {
    assert_int_equal(wo_job_read_text(job, wo_view_of(row->files[i].text), row->files[i].path), WO_OK);
  }
  return job;
}

/* The arena may give `room` bytes more, in steps that meet each array of the story. Returns the number of stories not told. */
static size_t check_room(const struct wo_pack *pack, const struct row *row, const char *whole) {
  char found[1024];
  size_t failed = 0;
  enum wo_status status = WO_E_NOMEM;
  for (size_t room = 0; status != WO_OK; room += 8 + room / 16) {
    struct wo_job *job = read_row(pack, row);
    job->arena.cap_bytes = job->arena.used_bytes + room;
    status = wo_job_close(job);
    if (status != WO_OK) assert_int_equal(status, WO_E_NOMEM);
    if (status == WO_OK) {
      describe(job, found, sizeof found);
      assert_string_equal(found, whole);
    }
    failed += status != WO_OK;
    wo_job_free(job);
  }
  return failed;
}

static void test_no_room(void **state) {
  char whole[1024];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_job *job = read_row(*state, &rows[i]);
    assert_int_equal(wo_job_close(job), WO_OK);
    describe(job, whole, sizeof whole);
    wo_job_free(job);
    const size_t failed = check_room(*state, &rows[i], whole);
    if (failed < 10) fail_msg("%s: %zu stories could not be told", rows[i].name, failed);
  }
}

/* Each allocation of the closing fails once. */
static void test_failing_allocations(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    bool was_hit = true;
    size_t failed = 0;
    for (long n = 1; was_hit; n++) {
      struct wo_job *job = read_row(*state, &rows[i]);
      wo_fail_alloc_at(n);
      const enum wo_status status = wo_job_close(job);
      was_hit = wo_fail_alloc_hit();
      wo_fail_alloc_off();
      if (!was_hit) assert_int_equal(status, WO_OK);
      failed += status != WO_OK;
      wo_job_free(job);
    }
    assert_true(failed > 0);
  }
}

/* The facts of a job, its ranks among them, in an arena that is too small for them. */
static void test_facts(void **state) {
  struct wo_arena arena;
  struct wo_facts facts;
  size_t failed = 0;
  enum wo_status status = WO_E_NOMEM;
  struct wo_job *job = read_row(*state, &rows[0]);
  assert_int_equal(wo_job_close(job), WO_OK);
  for (size_t room = 0; status != WO_OK; room += 64 + room / 4) {
    wo_arena_init(&arena, room);
    status = wo_facts_make(job, *state, &arena, &facts);
    failed += status == WO_E_NOMEM;
    wo_arena_done(&arena);
  }
  assert_true(failed > 5);
  wo_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_facts),
  };
  return cmocka_run_group_tests_name("story_memory", tests, sample_load_all, sample_unload);
}
