/* SPDX-License-Identifier: Apache-2.0 */
/* The proof on a hand-made job whose answers are known: 4 GiB of weights, 4 GiB of activations at a micro-batch of 8. */
#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "cuda_replay/recording/open/trace_open.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/layered_program.h"
#include "tests/support/replay/trace_sample.h"

#define GIB (1024.0 * 1024 * 1024)

enum { BATCH = 8, LENGTH = 2048, WEIGHTS = 4, ACTIVATIONS = 8, WEIGHT_MIB = 1024, ACTIVATION_MIB = 512 };

/* Each activation is BATCH x 2048 numbers of some width, so that it can be divided by the batch. */
static struct wo_recording *make_recording(bool is_short, bool has_tokens) {
  struct wo_text text = {0};
  unsigned id = WEIGHTS;
  wo_layered_begin(&text, NULL, WEIGHTS, WEIGHT_MIB);
  if (has_tokens) wo_text_add(&text, "{\"alloc\": %d, \"id\": 998, \"stack\": 4}\n", 8 * BATCH * LENGTH);
  wo_layered_forward(&text, &id, is_short ? 1 : ACTIVATIONS, ACTIVATION_MIB);
  wo_text_add(&text, "{\"alloc\": 512, \"id\": 999, \"stack\": 2}\n{\"free\": 999}\n");
  for (; id > WEIGHTS; id--) wo_text_add(&text, "{\"free\": %u}\n", id);
  if (has_tokens) wo_text_add(&text, "{\"free\": 998}\n");
  return wo_layered_read(&text);
}

struct fixture {
  struct wo_recording *recordings[2];
  struct wo_verify_subject subjects[2];
  size_t count;
  struct wo_proposal proposals[4];
  struct wo_diagnosed job;
};

static void add_subject(struct fixture *fixture, bool is_short, bool has_tokens) {
  struct wo_err err = {0};
  const size_t i = fixture->count++;
  fixture->recordings[i] = make_recording(is_short, has_tokens);
  assert_int_equal(wo_verify_subject_make(fixture->recordings[i], &fixture->recordings[i]->traces.items[0], WO_VIEW("t"),
                                          &fixture->job.sizes, 0, 0, &fixture->subjects[i], &err),
                   WO_OK);
}

/* What PyTorch can have is allocated + unallocated + free of the message; 256 MiB of it are uncertain. */
static void set_up(struct fixture *fixture, double capacity_gib, size_t subject_count) {
  *fixture = (struct fixture){.count = 0};
  fixture->job = (struct wo_diagnosed){.has_gpu_oom = true,
                                       .proposals = fixture->proposals,
                                       .sizes = {.allocated_bytes = capacity_gib * GIB, .micro_batch = BATCH, .seq_len = -1}};
  for (size_t i = 0; i < subject_count; i++) add_subject(fixture, i > 0, false);
}

static void propose(struct fixture *fixture, const char *id, const char *replays_as, unsigned cost) {
  fixture->proposals[fixture->job.proposal_count++] =
      (struct wo_proposal){.id = wo_view_of(id),
                           .title = wo_view_of(id),
                           .change = wo_proposed_change_read(wo_view_of(replays_as)),
                           .cost_rank = cost};
}

static struct wo_verify run(struct fixture *fixture) {
  struct wo_verify verify;
  struct wo_err err = {0};
  const struct wo_verify_request request = {.job = &fixture->job, .subjects = fixture->subjects, .subject_count = fixture->count};
  assert_int_equal(wo_verify_make(&request, &verify, &err), WO_OK);
  return verify;
}

static void tear_down(struct fixture *fixture, struct wo_verify *verify) {
  if (verify) wo_verify_done(verify);
  for (size_t i = 0; i < fixture->count; i++) {
    wo_verify_subject_done(&fixture->subjects[i]);
    wo_recording_free(fixture->recordings[i]);
  }
}

/* Weights of 4 GiB and half a GiB for each sample: which divisor of 8 is the largest that fits is plain arithmetic. */
static void test_search(void **state) {
  (void)state;
  static const struct {
    double capacity_gib;
    enum wo_verify_verdict verdict;
    uint32_t batch;
    double reserved_gib;
  } rows[] = {
      {7.0, WO_VERIFY_PROVEN, 4, 6.0},    {6.26, WO_VERIFY_PROVEN, 4, 6.0},   {6.24, WO_VERIFY_PROVEN, 2, 5.0},
      {5.3, WO_VERIFY_PROVEN, 2, 5.0},    {5.2, WO_VERIFY_PROVEN, 1, 4.5},    {4.6, WO_VERIFY_OPEN, 1, 4.5},
      {4.4, WO_VERIFY_NONE_FITS, 1, 4.5}, {9.0, WO_VERIFY_NOT_SHOWN, 4, 6.0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    set_up(&fixture, rows[i].capacity_gib, 1);
    propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
    struct wo_verify verify = run(&fixture);
    const struct wo_verify_row *const row = wo_verify_row_of(&verify, 0);
    assert_non_null(row);
    assert_int_equal(verify.verdict, rows[i].verdict);
    assert_int_equal(row->choices[0].micro_batch, rows[i].batch);
    const double reserved = (double)row->result.reserved_hi_bytes / GIB;
    if (reserved < rows[i].reserved_gib || reserved > rows[i].reserved_gib + 0.05) fail_msg("row %zu: %.3f", i, reserved);
    assert_true(row->is_searched);
    assert_int_equal(verify.chosen != NULL, rows[i].verdict == WO_VERIFY_PROVEN || rows[i].verdict == WO_VERIFY_NOT_SHOWN);
    tear_down(&fixture, &verify);
  }
}

/* A program that holds 4 GiB at once, and leaves 5 GiB of idle blocks behind where it may. */
static struct wo_recording *make_leavings(void) {
  struct wo_text text = {0};
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  wo_text_add(&text, "{\"whyoom_trace\": 1, \"torch\": \"2.6\"}\n");
  for (unsigned gib = 2; gib <= 4; gib++)
    wo_text_add(&text, "{\"alloc\": %llu, \"id\": %u}\n{\"free\": %u}\n", (unsigned long long)gib << 30, gib, gib);
  assert_int_equal(wo_sample_read(wo_trace_lines_read, (struct wo_view){text.ptr, text.len}, 0, &recording, &err), WO_OK);
  wo_text_done(&text);
  return recording;
}

/* What does not fit needs the least card on which it runs, not what it would take of an endless one; that card is enough, and
 * one that is smaller by more than a 128th is not. Where no capacity is known there is only the endless one. */
static void test_needs(void **state) {
  (void)state;
  static const struct {
    double capacity_gib, lo_gib, hi_gib;
    enum wo_verify_fit fit;
  } rows[] = {
      {2.5, 4.0, 4.05, WO_VERIFY_NO},  {3.9, 4.0, 4.05, WO_VERIFY_NO},  {4.1, 4.0, 4.1, WO_VERIFY_UNSURE},
      {4.5, 4.0, 4.25, WO_VERIFY_YES}, {0, 9.0, 9.0, WO_VERIFY_UNSURE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_recording *const recording = make_leavings();
    const struct wo_job_sizes sizes = {.allocated_bytes = rows[i].capacity_gib > 0 ? rows[i].capacity_gib * GIB : -1};
    struct wo_verify_subject subject;
    struct wo_verify_result result;
    struct wo_err err = {0};
    assert_int_equal(wo_verify_subject_make(recording, &recording->traces.items[0], WO_VIEW("t"), &sizes, 0, 0, &subject, &err),
                     WO_OK);
    assert_int_equal(wo_verify_try(&subject, NULL, 3, &result, &err), WO_OK);
    const double lo = (double)result.reserved_lo_bytes / GIB, hi = (double)result.reserved_hi_bytes / GIB;
    if (result.fit != rows[i].fit || lo < rows[i].lo_gib || hi < lo || hi > rows[i].hi_gib)
      fail_msg("row %zu: %d, %.3f to %.3f", i, (int)result.fit, lo, hi);
    if (subject.capacity_bytes > 0)
      assert_int_equal(result.margin_bytes, (int64_t)subject.capacity_bytes - (int64_t)result.reserved_hi_bytes);
    wo_verify_subject_done(&subject);
    wo_recording_free(recording);
  }
}

/* Neither is enough alone; together the batch need only be quartered. */
static void test_combination(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 3.9, 1);
  propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
  propose(&fixture, "larger-card", "", 6);
  propose(&fixture, "offload", "transform=offload-parameters", 3);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.verdict, WO_VERIFY_PROVEN);
  assert_int_equal(verify.chosen->choice_count, 2);
  assert_int_equal(verify.chosen->choices[0].proposal, 0);
  assert_int_equal(verify.chosen->choices[1].proposal, 2);
  assert_int_equal(verify.chosen->choices[0].micro_batch, 2);
  assert_int_equal(verify.chosen->cost, 5);
  assert_int_equal(verify.sets_tried, 1);
  assert_true(verify.is_batch_refuted);
  tear_down(&fixture, &verify);
}

/* The cheapest that fits, wherever it stands. */
static void test_choice(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 7.0, 1);
  propose(&fixture, "offload", "transform=offload-parameters", 3);
  propose(&fixture, "batch", "scale=micro_batch=8:1", 2);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.chosen->choices[0].proposal, 1);
  assert_int_equal(verify.chosen->choices[0].micro_batch, 4);
  assert_false(verify.chosen->is_as_proposed);
  tear_down(&fixture, &verify);
}

/* One rank that fits does not help the other. */
static void test_worst_rank(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 7.0, 2);
  propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.baseline.fit, WO_VERIFY_NO);
  assert_int_equal(verify.chosen->choices[0].micro_batch, 4);
  assert_true(verify.chosen->result.reserved_hi_bytes >= (uint64_t)(6 * GIB));
  tear_down(&fixture, &verify);
}

/* Nobody proposes a smaller batch: the table says all the same whether one would do, and does not choose it. */
static void test_batch_nobody_proposes(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 7.0, 1);
  propose(&fixture, "larger-card", "", 6);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.row_count, 2);
  assert_int_equal(verify.rows[1].choice_count, 0);
  assert_int_equal(verify.rows[1].result.fit, WO_VERIFY_YES);
  assert_null(verify.chosen);
  assert_int_equal(verify.verdict, WO_VERIFY_OPEN);
  tear_down(&fixture, &verify);
}

/* What the small gradient of the recording takes. */
#define SMALL_SEGMENT (UINT64_C(2) << 20)

/* A run that went through at 8 stands for a job that failed at 16: 12 GiB as it was, and the divisors are those of 16. */
static void test_recording_of_another_run(void **state) {
  static const struct {
    double capacity_gib;
    enum wo_verify_verdict verdict;
    uint32_t batch;
    double reserved_gib;
  } rows[] = {{11.0, WO_VERIFY_PROVEN, 8, 8.0},
              {7.0, WO_VERIFY_PROVEN, 4, 6.0},
              {4.4, WO_VERIFY_NONE_FITS, 1, 4.5},
              {13.0, WO_VERIFY_NOT_SHOWN, 8, 8.0}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    set_up(&fixture, rows[i].capacity_gib, 1);
    fixture.subjects[0].recorded_at.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){BATCH, 2 * BATCH};
    propose(&fixture, "batch", "scale=micro_batch=16:8", 2);
    propose(&fixture, "segments", "set=expandable_segments:True", 1);
    struct wo_verify verify = run(&fixture);
    assert_int_equal(verify.verdict, rows[i].verdict);
    assert_in_range(verify.baseline.reserved_hi_bytes, (uint64_t)(12 * GIB), (uint64_t)(12 * GIB) + SMALL_SEGMENT);
    assert_int_equal(verify.rows[0].choices[0].micro_batch, rows[i].batch);
    assert_in_range(verify.rows[0].result.reserved_hi_bytes, (uint64_t)(rows[i].reserved_gib * GIB),
                    (uint64_t)(rows[i].reserved_gib * GIB) + SMALL_SEGMENT);
    /* A setting is tried at the job's own size. */
    assert_in_range(verify.rows[1].result.reserved_hi_bytes, (uint64_t)(12 * GIB), (uint64_t)(12.5 * GIB));
    tear_down(&fixture, &verify);
  }
}

/* ---- Recordings that end at a refused request ---- */

enum { TEMPORARY_MIB = 3 * 1024 };

/* Identifiers of BATCH texts of a length, if there are any. */
static void add_tokens(struct wo_text *text, unsigned length, unsigned id) {
  if (length > 0) wo_text_add(text, "{\"alloc\": %u, \"id\": %u, \"stack\": 4}\n{\"free\": %u}\n", 8 * BATCH * length, id, id);
}

/* Weights of 4 GiB; steps of 4 GiB of activations, a temporary of 3 GiB on top of them in backward, and an optimizer. `whole` of
 * them, then one that is refused its last activation; then, perhaps, something else that the program does. `length`: of the texts
 * of that one, in proportion of the others; 0: there are none. */
static struct wo_recording *make_ended_with(unsigned whole, unsigned whole_mib, bool goes_on, unsigned length) {
  struct wo_text text = {0};
  unsigned id = WEIGHTS;
  wo_layered_begin(&text, NULL, WEIGHTS, WEIGHT_MIB);
  for (unsigned step = 0; step < whole; step++) {
    const unsigned first = id;
    add_tokens(&text, length * whole_mib / ACTIVATION_MIB, 996);
    wo_layered_forward(&text, &id, ACTIVATIONS, whole_mib);
    wo_text_add(&text, "{\"alloc\": %llu, \"id\": 999, \"stack\": 2}\n{\"free\": 999}\n",
                (unsigned long long)TEMPORARY_MIB << 20);
    for (unsigned i = id; i > first; i--) wo_text_add(&text, "{\"free\": %u}\n", i);
    wo_text_add(&text, "{\"alloc\": 512, \"id\": 998, \"stack\": 3}\n{\"free\": 998}\n");
  }
  add_tokens(&text, length, 996);
  wo_layered_forward(&text, &id, ACTIVATIONS - 1, ACTIVATION_MIB);
  wo_text_add(&text, "{\"oom\": %llu, \"stack\": 1}\n", (unsigned long long)ACTIVATION_MIB << 20);
  if (goes_on) {
    for (unsigned i = 0; i + 1 < ACTIVATIONS; i++) wo_text_add(&text, "{\"free\": %u}\n", id - i);
    wo_text_add(&text, "{\"alloc\": 1048576, \"id\": 997, \"stack\": 4}\n");
  }
  return wo_layered_read(&text);
}

static struct wo_recording *make_ended(unsigned whole, bool goes_on) {
  return make_ended_with(whole, ACTIVATION_MIB, goes_on, 0);
}

static void set_up_ended(struct fixture *fixture, double capacity_gib, unsigned whole, bool goes_on) {
  struct wo_err err = {0};
  set_up(fixture, capacity_gib, 0);
  fixture->count = 1;
  fixture->recordings[0] = make_ended(whole, goes_on);
  assert_int_equal(wo_verify_subject_make(fixture->recordings[0], &fixture->recordings[0]->traces.items[0], WO_VIEW("t"),
                                          &fixture->job.sizes, 0, 0, &fixture->subjects[0], &err),
                   WO_OK);
}

/* The step needs 4 + 4 GiB up to the refused request and 4 + 4 + 3 GiB in all, at a batch of 8; half a GiB and 3/8 for each
 * sample. */
static void test_ended_recording(void **state) {
  (void)state;
  static const struct {
    double capacity_gib;
    unsigned whole;
    bool goes_on;
    enum wo_verify_verdict verdict;
    enum wo_verify_fit fit;
    uint32_t batch;
  } rows[] = {
      /* Nothing completes it: what fits is open, what does not fit does not. */
      {7.9, 0, false, WO_VERIFY_OPEN, WO_VERIFY_UNSURE, 1},
      {7.9, 0, true, WO_VERIFY_OPEN, WO_VERIFY_UNSURE, 1},
      {4.3, 0, false, WO_VERIFY_NONE_FITS, WO_VERIFY_NO, 1},
      {9.0, 0, false, WO_VERIFY_NOT_SHOWN, WO_VERIFY_UNSURE, 1},
      /* Completed: at 4 samples it needs 7.5 GiB, though 6 GiB would do for the refused request. */
      {7.9, 1, false, WO_VERIFY_PROVEN, WO_VERIFY_YES, 4},
      {7.6, 1, false, WO_VERIFY_PROVEN, WO_VERIFY_YES, 2},
      {7.9, 2, false, WO_VERIFY_PROVEN, WO_VERIFY_YES, 4},
      {7.9, 2, true, WO_VERIFY_PROVEN, WO_VERIFY_YES, 4},
      {4.6, 1, false, WO_VERIFY_NONE_FITS, WO_VERIFY_NO, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    struct wo_text text = {0}, json = {0};
    set_up_ended(&fixture, rows[i].capacity_gib, rows[i].whole, rows[i].goes_on);
    propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
    struct wo_verify verify = run(&fixture);
    const struct wo_verify_row *const row = wo_verify_row_of(&verify, 0);
    if (verify.verdict != rows[i].verdict || row->result.fit != rows[i].fit || row->choices[0].micro_batch != rows[i].batch)
      fail_msg("row %zu: %s, batch %u: %s", i, wo_verify_verdict_name(verify.verdict), row->choices[0].micro_batch,
               row->result.why);
    wo_verify_text(&verify, (struct wo_text_style){.width = 200}, &text);
    wo_verify_json(&verify, &json);
    assert_false(text.is_failed || json.is_failed);
    if (rows[i].whole > 0) assert_non_null(strstr(text.ptr, "completed from the whole step before it"));
    if (rows[i].verdict == WO_VERIFY_OPEN) assert_non_null(strstr(text.ptr, "whyoom record"));
    if (rows[i].fit == WO_VERIFY_UNSURE) assert_non_null(strstr(row->result.why, "to spare"));
    if (rows[i].goes_on) assert_non_null(strstr(text.ptr, "caught"));
    wo_text_done(&text);
    wo_text_done(&json);
    tear_down(&fixture, &verify);
  }
}

/* What would be proven on a whole recording is open on one that was cut. */
static void test_cut_recording(void **state) {
  (void)state;
  struct fixture fixture;
  struct wo_err err = {0};
  set_up(&fixture, 7.0, 1);
  wo_verify_subject_done(&fixture.subjects[0]);
  fixture.recordings[0]->is_truncated = true;
  assert_int_equal(wo_verify_subject_make(fixture.recordings[0], &fixture.recordings[0]->traces.items[0], WO_VIEW("t"),
                                          &fixture.job.sizes, 0, 0, &fixture.subjects[0], &err),
                   WO_OK);
  propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.verdict, WO_VERIFY_OPEN);
  assert_null(verify.chosen);
  assert_true(verify.rows[0].result.why[0] != '\0');
  tear_down(&fixture, &verify);
}

/* A length that must go far below the proposed one counts double: a set that keeps the proposed one is looked for, and taken. */
static void test_length_beyond(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 6.0, 0);
  add_subject(&fixture, false, true);
  propose(&fixture, "length", "scale=seq_len=2048:1536", 4);
  propose(&fixture, "offload", "transform=offload-parameters", 3);
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.verdict, WO_VERIFY_PROVEN);
  assert_int_equal(verify.rows[0].result.fit, WO_VERIFY_YES);
  assert_true(verify.rows[0].is_beyond);
  assert_int_equal(verify.rows[0].cost, 8);
  assert_true(verify.chosen->choice_count == 2 && verify.chosen->cost == 7 && !verify.chosen->is_beyond);
  assert_true(verify.chosen->choices[0].seq_len >= 1536);
  tear_down(&fixture, &verify);
}

/* A length that no tensor of the data has: all sizes are multiples of it, and still nothing shows that it matters. */
static void test_length_of_nothing(void **state) {
  (void)state;
  static const struct {
    bool has_tokens;
    double micro_batch;
    enum wo_verify_fit fit;
    const char *why;
  } rows[] = {{true, BATCH, WO_VERIFY_YES, ""},
              {true, 4, WO_VERIFY_UNSURE, "no tensor of the recording has micro-batch 4 x length 2048 tokens, so that"},
              {false, BATCH, WO_VERIFY_UNSURE, "no tensor of the recording has micro-batch 8 x length 2048 tokens, so that"},
              {true, -1, WO_VERIFY_UNSURE, "the micro-batch is not known, so that"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture fixture;
    set_up(&fixture, 7.0, 0);
    fixture.job.sizes.micro_batch = rows[i].micro_batch;
    add_subject(&fixture, false, rows[i].has_tokens);
    propose(&fixture, "length", "scale=seq_len=2048:1024", 4);
    struct wo_verify verify = run(&fixture);
    if (verify.rows[0].result.fit != rows[i].fit || strncmp(verify.rows[0].result.why, rows[i].why, strlen(rows[i].why)) != 0)
      fail_msg("row %zu: %s", i, verify.rows[0].result.why);
    tear_down(&fixture, &verify);
  }
}

#define HALVED "scale=micro_batch=8:4"

/* What fits at first does not fit for ever in a program that keeps something of each step. */
static void test_growth(void **state) {
  (void)state;
  static const struct {
    uint64_t step_mib;
    double total;
    bool is_shown, is_in_log;
    const char *replays_as;
    enum wo_verify_fit fit;
    const char *why;
  } rows[] = {
      {0, 0, true, false, HALVED, WO_VERIFY_YES, ""},
      {0, 0, true, true, HALVED, WO_VERIFY_YES, ""}, /* whole steps of the recording keep nothing */
      /* 2.5 GiB to spare at 1; the batch is searched down to 1, which keeps an eighth, or as much: so did the four recorded steps
       */
      {300, 0, true, false, HALVED, WO_VERIFY_UNSURE,
       "every step kept 300.00 MiB more: it fits until one of the steps 48 to 136, as"},
      {300, 136, true, false, HALVED, WO_VERIFY_UNSURE, "every step kept 300.00 MiB more: it fits until one of"},
      {300, 137, true, false, HALVED, WO_VERIFY_NO,
       "every step kept 300.00 MiB more: it fits until one of the steps 48 to 136, as"},
      {300, 45, true, false, HALVED, WO_VERIFY_UNSURE, "every step kept"}, /* the total may be an epoch's */
      {300, 100, true, false, "set=expandable_segments:True", WO_VERIFY_NO, ""},
      {2000, 0, true, true, HALVED, WO_VERIFY_UNSURE, "every step kept 1.95 GiB more: it fits until one of the steps 41 to 78"},
      {2000, 43, true, true, HALVED " transform=offload-parameters", WO_VERIFY_UNSURE,
       "every step kept 1.95 GiB more: it may fit until step 42 only, as"},
      {0, 0, false, true, HALVED, WO_VERIFY_UNSURE, "the log shows memory that grows from step to step, and"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture fixture;
    set_up(&fixture, 7.0, 0);
    fixture.job.sizes.step = 40;
    fixture.job.sizes.step_total = rows[i].total;
    fixture.job.sizes.grows = rows[i].is_in_log;
    add_subject(&fixture, false, false);
    fixture.subjects[0].completed.growth =
        (struct wo_step_growth){.step_bytes = rows[i].step_mib << 20, .whole_steps = 4, .is_shown = rows[i].is_shown};
    propose(&fixture, "batch", rows[i].replays_as, 2);
    struct wo_verify verify = run(&fixture);
    const struct wo_verify_result *const result = &verify.rows[0].result;
    if (result->fit != rows[i].fit || strncmp(result->why, rows[i].why, strlen(rows[i].why)) != 0)
      fail_msg("row %zu: %s", i, result->why);
    if (rows[i].fit == WO_VERIFY_NO)
      assert_int_not_equal(verify.verdict, WO_VERIFY_PROVEN);
    else
      assert_int_equal(verify.verdict, rows[i].fit == WO_VERIFY_YES ? WO_VERIFY_PROVEN : WO_VERIFY_OPEN);
    tear_down(&fixture, &verify);
  }
}

static void test_no_failure(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 7.0, 1);
  fixture.job.has_gpu_oom = false;
  struct wo_verify verify = run(&fixture);
  assert_int_equal(verify.verdict, WO_VERIFY_NO_FAILURE);
  assert_int_equal(verify.row_count, 0);
  tear_down(&fixture, &verify);
}

static void test_language(void **state) {
  (void)state;
  static const struct {
    const char *texts[2];
    size_t count;
    enum wo_status status;
  } rows[] = {
      {{"scale=micro_batch=8:4"}, 1, WO_OK},
      {{" scale=micro_batch=8:4  set=expandable_segments:True "}, 1, WO_OK},
      {{"scale=micro_batch=8:4", "scale=seq_len=64:32"}, 2, WO_OK},
      {{"transform=offload-parameters", "transform=checkpoint"}, 2, WO_OK},
      {{"scale=micro_batch=8:4", "scale=micro_batch=8:2"}, 2, WO_E_USAGE},
      {{"set=expandable_segments:True", "set=expandable_segments:False"}, 2, WO_E_USAGE},
      {{"transform=shard=8", "transform=shard=4"}, 2, WO_E_USAGE},
      {{"transform=melt"}, 1, WO_E_USAGE},
      {{"offload activations"}, 1, WO_E_USAGE},
      {{"capacity=8GiB"}, 1, WO_E_USAGE},
      {{""}, 1, WO_OK},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_proposed_change first = wo_proposed_change_read(wo_view_of(rows[i].texts[0]));
    const struct wo_proposed_change second = wo_proposed_change_read(wo_view_of(rows[i].texts[1]));
    const struct wo_proposed_change *const proposed[] = {&first, &second};
    struct wo_change change;
    struct wo_err err = {0};
    if (wo_verify_join_changes(proposed, rows[i].count, &change, &err) != rows[i].status) fail_msg("row %zu: %s", i, err.message);
    assert_int_equal(rows[i].status != WO_OK, err.message[0] != '\0');
  }
}

/* Texts and JSON of every outcome are whole. */
static void test_writers(void **state) {
  (void)state;
  static const struct {
    double capacity_gib;
    const char *has, *lacks; /* a search found a limit only where the job fails as it was */
  } rows[] = {{7.0, "8 -> 4: the largest micro-batch that fits", "smallest"},
              {4.6, "8 -> 1: the smallest micro-batch there is", "largest"},
              {4.4, "8 -> 1: the smallest micro-batch there is", "largest"},
              {9.0, "fits without a change", "largest"},
              {100000.0, "GiB 99", "GiB9"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    struct wo_text text = {0}, json = {0};
    set_up(&fixture, rows[i].capacity_gib, 1);
    propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
    struct wo_verify verify = run(&fixture);
    wo_verify_text(&verify, (struct wo_text_style){.width = 80}, &text);
    wo_verify_json(&verify, &json);
    assert_false(text.is_failed || json.is_failed);
    assert_non_null(strstr(text.ptr, "as it was"));
    if (!strstr(text.ptr, rows[i].has) || strstr(text.ptr, rows[i].lacks)) fail_msg("row %zu: %s", i, text.ptr);
    assert_non_null(strstr(json.ptr, wo_verify_verdict_name(verify.verdict)));
    wo_text_done(&text);
    wo_text_done(&json);
    tear_down(&fixture, &verify);
  }
}

/* Each allocation in turn fails: memory is out, nothing leaks (the sanitizer looks), nothing else happens. */
static void test_failing_allocations(void **state) {
  (void)state;
  struct fixture fixture;
  set_up(&fixture, 4.4, 1);
  propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
  const struct wo_verify_request request = {.job = &fixture.job, .subjects = fixture.subjects, .subject_count = 1};
  bool is_through = false;
  for (long n = 1; !is_through && n < 100000; n += 1 + n / 50) {
    struct wo_verify verify;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_verify_make(&request, &verify, &err);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    if (status == WO_OK)
      wo_verify_done(&verify);
    else
      assert_int_equal(status, WO_E_NOMEM);
  }
  assert_true(is_through);
  tear_down(&fixture, NULL);
}

/* A memory fraction caps what PyTorch may reserve; the card's own free memory is no help then. */
static void test_limit_of_the_program(void **state) {
  static const struct {
    double allowed_bytes;
    uint64_t stated_bytes, capacity_bytes, uncertainty_bytes;
  } rows[] = {
      {6 * GIB, 0, (uint64_t)(6 * GIB), UINT64_C(16) << 20},
      {-1, 0, (uint64_t)(20 * GIB), UINT64_C(256) << 20},
      {30 * GIB, 0, (uint64_t)(20 * GIB), UINT64_C(256) << 20},
      {NAN, 0, (uint64_t)(20 * GIB), UINT64_C(256) << 20},
      {6 * GIB, (uint64_t)(9 * GIB), (uint64_t)(9 * GIB), UINT64_C(640) << 20},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    set_up(&fixture, 20, 0);
    fixture.job.sizes.allowed_bytes = rows[i].allowed_bytes;
    struct wo_recording *const recording = make_recording(false, false);
    struct wo_verify_subject subject;
    struct wo_err err = {0};
    assert_int_equal(wo_verify_subject_make(recording, &recording->traces.items[0], WO_VIEW("t"), &fixture.job.sizes,
                                            rows[i].stated_bytes, 0, &subject, &err),
                     WO_OK);
    assert_int_equal(subject.capacity_bytes, rows[i].capacity_bytes);
    assert_int_equal(subject.uncertainty_bytes, rows[i].uncertainty_bytes);
    wo_verify_subject_done(&subject);
    wo_recording_free(recording);
  }
}

/* A step twice as long as the whole one before it was refused: a longer one may come, but where the log shows that this one was
 * of the full length. */
static void test_steps_that_differ(void **state) {
  static const struct {
    bool is_full_length;
    double tried_mib;
    double seq_len;  /* the job's */
    unsigned length; /* of the step that failed */
    enum wo_verify_verdict verdict;
    bool is_largest;
    const char *why;
  } rows[] = {
      {true, ACTIVATION_MIB, -1, 0, WO_VERIFY_PROVEN, true, ""},
      {true, (double)ACTIVATION_MIB * 1.004, -1, 0, WO_VERIFY_PROVEN, true, ""},
      {false, ACTIVATION_MIB, -1, 0, WO_VERIFY_OPEN, false, "it fits for the step that failed, but steps differ in size"},
      {true, (double)ACTIVATION_MIB / 2.0, -1, 0, WO_VERIFY_OPEN, false, "it fits for the step that failed, but steps differ"},
      {true, -1, -1, 0, WO_VERIFY_OPEN, false, "it fits for the step that failed, but steps differ"},
      {true, NAN, -1, 0, WO_VERIFY_OPEN, false, "it fits for the step that failed, but steps differ"},
      /* Its texts have the full length; shorter ones are scaled to it: 4 + 7/8 (4 + 3) GiB at a micro-batch of 1. */
      {false, -1, 2048, 2048, WO_VERIFY_PROVEN, true, ""},
      {false, -1, 2048, 1024, WO_VERIFY_PROVEN, false, ""},
      {false, -1, 65536, 1024, WO_VERIFY_OPEN, false, "it fits for the step that failed, but one of the full length"},
      {false, -1, 2048, 0, WO_VERIFY_OPEN, false, "it fits for the step that failed, but steps differ"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    struct wo_err err = {0};
    set_up(&fixture, 10, 0);
    fixture.count = 1;
    fixture.job.sizes.is_full_length = rows[i].is_full_length;
    fixture.job.sizes.tried_bytes = rows[i].tried_mib * (1 << 20);
    fixture.job.sizes.seq_len = rows[i].seq_len;
    fixture.recordings[0] = make_ended_with(2, ACTIVATION_MIB / 2, false, rows[i].length);
    assert_int_equal(wo_verify_subject_make(fixture.recordings[0], &fixture.recordings[0]->traces.items[0], WO_VIEW("t"),
                                            &fixture.job.sizes, 0, 0, &fixture.subjects[0], &err),
                     WO_OK);
    assert_true(fixture.subjects[0].completed.is_made && fixture.subjects[0].completed.varies);
    propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
    struct wo_verify verify = run(&fixture);
    if (verify.verdict != rows[i].verdict) fail_msg("row %zu: %s", i, wo_verify_verdict_name(verify.verdict));
    assert_int_equal(fixture.subjects[0].is_largest_step, rows[i].is_largest);
    if (strncmp(verify.rows[0].result.why, rows[i].why, strlen(rows[i].why)) != 0)
      fail_msg("row %zu: %s", i, verify.rows[0].result.why);
    tear_down(&fixture, &verify);
  }
}

/* Steps of BATCH texts, and an evaluation of `batch` texts, which needs 12 GiB and is refused its last activation. */
static struct wo_recording *make_evaluated(unsigned batch) {
  struct wo_text text = {0};
  unsigned id = WEIGHTS;
  wo_layered_begin(&text, NULL, WEIGHTS, WEIGHT_MIB);
  for (unsigned step = 0; step < 3; step++) {
    const unsigned first = id;
    add_tokens(&text, LENGTH, 996);
    wo_layered_forward(&text, &id, ACTIVATIONS, ACTIVATION_MIB);
    wo_text_add(&text, "{\"alloc\": 1048576, \"id\": 999, \"stack\": 2}\n{\"free\": 999}\n");
    for (unsigned i = id; i > first; i--) wo_text_add(&text, "{\"free\": %u}\n", i);
    wo_text_add(&text, "{\"alloc\": 512, \"id\": 998, \"stack\": 3}\n{\"free\": 998}\n");
  }
  wo_text_add(&text, "{\"alloc\": %u, \"id\": 996, \"stack\": 4}\n", 8 * batch * LENGTH);
  for (unsigned i = 1; i < ACTIVATIONS; i++) wo_text_add(&text, "{\"alloc\": 1073741824, \"id\": %u, \"stack\": 4}\n", ++id);
  wo_text_add(&text, "{\"oom\": 1073741824, \"stack\": 4}\n");
  return wo_layered_read(&text);
}

/* A smaller micro-batch makes room for an evaluation only if that has the same batch. */
static void test_evaluation_of_its_own_batch(void **state) {
  (void)state;
  static const struct {
    unsigned batch;
    double seq_len;
    enum wo_verify_fit fit;
  } rows[] = {{64, LENGTH, WO_VERIFY_NO}, {BATCH, LENGTH, WO_VERIFY_UNSURE}, {64, -1, WO_VERIFY_UNSURE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture fixture;
    struct wo_err err = {0};
    set_up(&fixture, 11.5, 0);
    fixture.count = 1;
    fixture.job.sizes.seq_len = rows[i].seq_len;
    fixture.recordings[0] = make_evaluated(rows[i].batch);
    assert_int_equal(wo_verify_subject_make(fixture.recordings[0], &fixture.recordings[0]->traces.items[0], WO_VIEW("t"),
                                            &fixture.job.sizes, 0, 0, &fixture.subjects[0], &err),
                     WO_OK);
    assert_true(fixture.subjects[0].is_open);
    propose(&fixture, "batch", "scale=micro_batch=8:4", 2);
    struct wo_verify verify = run(&fixture);
    if (verify.rows[0].result.fit != rows[i].fit) fail_msg("row %zu: %s", i, verify.rows[0].result.why);
    tear_down(&fixture, &verify);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_search),
      cmocka_unit_test(test_needs),
      cmocka_unit_test(test_combination),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_worst_rank),
      cmocka_unit_test(test_no_failure),
      cmocka_unit_test(test_batch_nobody_proposes),
      cmocka_unit_test(test_language),
      cmocka_unit_test(test_writers),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_cut_recording),
      cmocka_unit_test(test_ended_recording),
      cmocka_unit_test(test_length_beyond),
      cmocka_unit_test(test_length_of_nothing),
      cmocka_unit_test(test_growth),
      cmocka_unit_test(test_limit_of_the_program),
      cmocka_unit_test(test_evaluation_of_its_own_batch),
      cmocka_unit_test(test_steps_that_differ),
      cmocka_unit_test(test_recording_of_another_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
