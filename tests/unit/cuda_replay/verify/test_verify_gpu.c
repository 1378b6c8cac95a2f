/* SPDX-License-Identifier: Apache-2.0 */
/* `verify --on gpu` on the stand-in card: what is confirmed there and what is not, the calls that the card sees, and that nothing
 * stays on it whatever fails. The job is hand-made: 4 GiB of weights, 4 GiB of activations at a micro-batch of 8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/verify/verify.h"
#include "cuda_replay/whatif/whatif.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/gpu/gpu_watcher.h"
#include "tests/support/replay/layered_program.h"
#include "tests/support/replay/random_program.h"
#include "tests/support/gpu/stand_in_mirror.h"

#define GIB (1024.0 * 1024 * 1024)

enum { BATCH = 8, WEIGHTS = 4, ACTIVATIONS = 8, WEIGHT_MIB = 1024, ACTIVATION_MIB = 512, PATH_BYTES = 512 };

static char folder[PATH_BYTES];
static char log_path[PATH_BYTES + sizeof "/calls"];

static int make_folder(void **state) {
  (void)state;
  if (!wo_files_scratch(folder, sizeof folder)) return -1;
  snprintf(log_path, sizeof log_path, "%s/calls", folder);
  setenv("STAND_IN_LOG", log_path, 1);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

/* ---- The job ---- */

/* Each activation is BATCH x 2048 numbers of some width, so that it can be divided by the batch. */
static struct wo_recording *make_recording(const char *settings, unsigned activations, unsigned activation_mib) {
  struct wo_text text = {0};
  unsigned id = WEIGHTS;
  wo_layered_begin(&text, settings, WEIGHTS, WEIGHT_MIB);
  wo_layered_forward(&text, &id, activations, activation_mib);
  wo_text_add(&text, "{\"alloc\": 512, \"id\": 999, \"stack\": 2}\n{\"free\": 999}\n");
  for (; id > WEIGHTS; id--) wo_text_add(&text, "{\"free\": %u}\n", id);
  return wo_layered_read(&text);
}

/* A job, and how it is asked about. */
struct bench {
  struct wo_recording *recordings[2];
  struct wo_verify_subject subjects[2];
  size_t count;
  struct wo_proposal proposals[4];
  struct wo_diagnosed job;
  struct wo_gpu_place place;
  struct wo_replay_hooks hooks;
  bool is_reconstructed, accepts;
  struct wo_verify verify; /* of the last run */
  struct wo_err err;
};

static void propose(struct bench *bench, const char *id, const char *replays_as, unsigned cost) {
  bench->proposals[bench->job.proposal_count++] = (struct wo_proposal){.id = wo_view_of(id),
                                                                       .title = wo_view_of(id),
                                                                       .change = wo_proposed_change_read(wo_view_of(replays_as)),
                                                                       .cost_rank = cost};
}

static void add_rank(struct bench *bench, const char *settings, unsigned activations, unsigned activation_mib) {
  struct wo_recording *const recording = make_recording(settings, activations, activation_mib);
  bench->recordings[bench->count] = recording;
  assert_int_equal(wo_verify_subject_make(recording, &recording->traces.items[0], WO_VIEW("t"), &bench->job.sizes, 0, 0,
                                          &bench->subjects[bench->count], &bench->err),
                   WO_OK);
  bench->count++;
}

/* 256 MiB of the capacity are uncertain. Below 8 GiB the job fails as it was; half the batch wants 6 GiB, offloaded weights 4. */
static void open_bench(struct bench *bench, double capacity_gib, const char *settings) {
  *bench = (struct bench){0};
  bench->job = (struct wo_diagnosed){.has_gpu_oom = true,
                                     .proposals = bench->proposals,
                                     .sizes = {.allocated_bytes = capacity_gib * GIB, .micro_batch = BATCH, .seq_len = -1}};
  bench->hooks = (struct wo_replay_hooks){.cuda_library = WO_STAND_IN_CUDA, .nvml_library = WO_STAND_IN_NVML};
  bench->place.hooks = &bench->hooks;
  add_rank(bench, settings, ACTIVATIONS, ACTIVATION_MIB);
  propose(bench, "batch", "scale=micro_batch=8:4", 2);
  propose(bench, "offload", "transform=offload-parameters", 3);
}

/* The libraries are closed behind each run, so that the next one finds a new card. */
static enum wo_status try_run(struct bench *bench) {
  const struct wo_verify_request request = {.job = &bench->job,
                                            .subjects = bench->subjects,
                                            .subject_count = bench->count,
                                            .is_reconstructed = bench->is_reconstructed,
                                            .accepts_reconstructed = bench->accepts,
                                            .gpu = &bench->place};
  remove(log_path);
  bench->err = (struct wo_err){0};
  return wo_verify_make(&request, &bench->verify, &bench->err);
}

static void run(struct bench *bench) {
  if (try_run(bench) != WO_OK) fail_msg("%s", bench->err.message);
}

/* The same with one variable of the stand-in set. */
static void run_with(struct bench *bench, const char *variable, const char *value) {
  setenv(variable, value, 1);
  run(bench);
  unsetenv(variable);
}

static void close_bench(struct bench *bench) {
  for (size_t i = 0; i < bench->count; i++) {
    wo_verify_subject_done(&bench->subjects[i]);
    wo_recording_free(bench->recordings[i]);
  }
}

/* ---- The card's log ---- */

/* Empty when the card saw nothing. The caller frees it. */
static char *read_log(void) {
  size_t len = 0;
  char *const log = wo_files_read(log_path, &len);
  return log ? log : calloc(1, 1);
}

static size_t count_of(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++) count++;
  return count;
}

/* Where the n-th context begins; the first one only looks. NULL when there are fewer. */
static const char *context_of(const char *log, size_t n) {
  const char *at = log;
  for (size_t i = 0; at && i <= n; i++) at = strstr(i == 0 ? at : at + 1, "cuDevicePrimaryCtxRetain ");
  return at;
}

/* Every context that was taken went, with nothing held in it: the driver writes what is. */
static void assert_nothing_left(void) {
  char *const log = read_log();
  if (strstr(log, "cuDevicePrimaryCtxRetain 0x0 0 0\n")) {
    const char *last = log;
    for (const char *at = log; (at = strstr(at, "cuDevicePrimaryCtxRelease_v2 ")) != NULL; at++) last = at;
    const char *const line = "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n";
    assert_memory_equal(last, line, strlen(line));
    assert_true(count_of(log, line) >= count_of(log, "cuDevicePrimaryCtxRetain 0x0 0 0\n"));
  }
  free(log);
}

/* ---- What is confirmed ---- */

static const char *const settings_of[] = {"", "expandable_segments:True"};

static void assert_run(const struct wo_verify_gpu_run *run, const struct wo_verify_row *row, uint64_t capacity_bytes,
                       bool fails) {
  assert_ptr_equal(run->row, row);
  assert_int_equal(run->capacity_bytes, capacity_bytes);
  assert_true(run->outcome.peak.reserved_bytes > 0 && run->outcome.peak.reserved_bytes <= capacity_bytes);
  assert_true(run->calls > 0 && run->outcome.segment_events > 0);
  assert_int_equal(run->outcome.has_oom, fails);
  assert_true(run->agrees);
  assert_int_equal(run->difference.len, 0);
}

static void test_confirmed(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof settings_of / sizeof settings_of[0]; i++) {
    struct bench bench;
    open_bench(&bench, 7.0, settings_of[i]);
    run(&bench);
    const struct wo_verify *const verify = &bench.verify;
    const uint64_t sure_bytes = (uint64_t)(6.75 * GIB);
    assert_int_equal(verify->verdict, WO_VERIFY_PROVEN);
    assert_ptr_equal(verify->chosen, wo_verify_row_of(verify, 0));
    assert_int_equal(verify->gpu.error.code, WO_OK);
    assert_string_equal(verify->gpu.card.name, "Stand-in 0");
    assert_int_equal(verify->gpu.run_count, 2);
    assert_int_equal(verify->gpu.left_count, 0);
    assert_run(&verify->gpu.runs[0], NULL, sure_bytes, true);
    assert_run(&verify->gpu.runs[1], verify->chosen, sure_bytes, false);
    assert_true(verify->baseline.is_on_gpu);
    assert_true(verify->chosen->result.is_on_gpu);
    assert_int_equal(verify->baseline.fit, WO_VERIFY_NO);
    /* The other row is the model's word still. */
    assert_int_equal(wo_verify_row_of(verify, 1)->result.fit, WO_VERIFY_YES);
    assert_false(wo_verify_row_of(verify, 1)->result.is_on_gpu);
    assert_nothing_left();
    wo_verify_done(&bench.verify);
    close_bench(&bench);
  }
}

/* On the mirror, the lines that a run of a row must write. */
static void run_on_mirror(const struct bench *bench, const struct wo_verify_row *row, struct wo_mirror *mirror) {
  struct wo_verify_high_end end;
  struct wo_replay_outcome outcome;
  struct wo_err err = {0};
  const struct wo_change *const change = row ? &row->replayed : NULL;
  assert_int_equal(wo_verify_high_end_make(&bench->subjects[0], change, &end, &err), WO_OK);
  wo_mirror_restart(mirror, end.capacity_bytes);
  const struct wo_device device = wo_mirror_device(mirror);
  const struct wo_replay_options options = {.settings = end.settings, .torch = bench->subjects[0].torch, .device = &device};
  assert_int_equal(wo_replay_run(&end.pattern, &options, &outcome, &err), WO_OK);
  assert_true(mirror->expected.len > 0);
  wo_verify_high_end_done(&end);
}

/* Behind what the mirror expects, things are only given back, to the end of the context. */
static void assert_context_is(const char *log, size_t n, const struct wo_text *expected) {
  const char *at = context_of(log, n);
  assert_non_null(at);
  at = strchr(at, '\n') + 1;
  assert_true(strlen(at) >= expected->len);
  assert_memory_equal(at, expected->ptr, expected->len);
  for (at += expected->len; strncmp(at, "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n", 37) != 0; at = strchr(at, '\n') + 1) {
    const bool is_back = strncmp(at, "cuMemFree ", 10) == 0 || strncmp(at, "cuMemUnmap ", 11) == 0 ||
                         strncmp(at, "cuMemRelease ", 13) == 0 || strncmp(at, "cuMemAddressFree ", 17) == 0;
    assert_true(is_back);
  }
}

/* What the card sees is what the model's allocator decides, call by call: the look, the job as it was, the row. */
static void test_calls(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    struct bench bench;
    struct wo_mirror mirror = {.is_falling = i >= 2};
    open_bench(&bench, 7.0, settings_of[i % 2]);
    run_with(&bench, "STAND_IN_DOWN", mirror.is_falling ? "1" : "0");
    char *const log = read_log();
    run_on_mirror(&bench, NULL, &mirror);
    assert_context_is(log, 1, &mirror.expected);
    run_on_mirror(&bench, bench.verify.chosen, &mirror);
    assert_context_is(log, 2, &mirror.expected);
    assert_null(context_of(log, 3));
    assert_int_equal(strstr(log, "cuMemMap") != NULL, i % 2 == 1);
    free(log);
    wo_mirror_done(&mirror);
    wo_verify_done(&bench.verify);
    close_bench(&bench);
  }
}

static void test_touch_and_reserve(void **state) {
  struct bench bench;
  (void)state;
  open_bench(&bench, 7.0, "");
  bench.place.touches = true;
  bench.place.has_reserve = true;
  bench.place.reserve_bytes = (uint64_t)(2 * GIB);
  run(&bench);
  char *const log = read_log();
  assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
  assert_int_equal(bench.verify.gpu.reserve_bytes, bench.place.reserve_bytes);
  assert_int_equal(count_of(log, "cuMemsetD8 "), count_of(log, "cuMemAlloc "));
  free(log);
  wo_verify_done(&bench.verify);
  run_with(&bench, "STAND_IN_TOTAL", "9395240960"); /* 8.75 GiB: 6.75 and 2 */
  assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
  wo_verify_done(&bench.verify);
  run_with(&bench, "STAND_IN_TOTAL", "9395240959");
  assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
  assert_non_null(strstr(bench.verify.gpu.error.message, "beside a reserve of 2.00"));
  wo_verify_done(&bench.verify);
  /* Without one nothing has to stay free: a card of the job's own size has no more. */
  bench.place.has_reserve = false;
  bench.place.reserve_bytes = 0;
  run_with(&bench, "STAND_IN_TOTAL", "7247757312"); /* 6.75 GiB */
  assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* A reconstructed pattern is confirmed likewise, and is no more of a proof for it. */
static void test_reconstructed(void **state) {
  (void)state;
  for (int accepts = 0; accepts < 2; accepts++) {
    struct bench bench;
    struct wo_text text = {0};
    open_bench(&bench, 7.0, "");
    bench.is_reconstructed = true;
    bench.accepts = accepts == 1;
    run(&bench);
    assert_int_equal(bench.verify.verdict, accepts == 1 ? WO_VERIFY_ACCEPTED : WO_VERIFY_RECONSTRUCTED);
    assert_true(bench.verify.chosen->result.is_on_gpu);
    wo_verify_text(&bench.verify, (struct wo_text_style){.width = 100}, &text);
    assert_int_equal(count_of(text.ptr, "reconstructed, GPU "), 2);
    assert_int_equal(count_of(text.ptr, "reconstructed, model"), 1);
    wo_text_done(&text);
    wo_verify_done(&bench.verify);
    close_bench(&bench);
  }
}

/* Each rank in turn, on its own card: the job as it was until one fails, the row on all. */
static void test_ranks(void **state) {
  struct bench bench;
  struct wo_text text = {0};
  (void)state;
  open_bench(&bench, 7.0, "");
  wo_verify_subject_done(&bench.subjects[0]);
  wo_recording_free(bench.recordings[0]);
  bench.count = 0;
  add_rank(&bench, "", 1, ACTIVATION_MIB); /* fits as it is */
  bench.job.sizes.allocated_bytes = 6.5 * GIB;
  add_rank(&bench, "", ACTIVATIONS, ACTIVATION_MIB);
  run(&bench);
  const struct wo_verify_gpu *const gpu = &bench.verify.gpu;
  assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
  assert_int_equal(gpu->run_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(gpu->runs[i].subject, i % 2);
    assert_run(&gpu->runs[i], i < 2 ? NULL : bench.verify.chosen, (uint64_t)((i % 2 == 0 ? 6.75 : 6.25) * GIB), i == 1);
  }
  wo_verify_text(&bench.verify, (struct wo_text_style){.width = 200}, &text);
  assert_non_null(strstr(text.ptr, "6.25 GiB to 6.75 GiB for PyTorch"));
  assert_non_null(strstr(text.ptr, "on the last of 2 ranks"));
  assert_non_null(strstr(text.ptr, "every request was served on 2 ranks"));
  wo_text_done(&text);
  assert_nothing_left();
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* ---- What is not ---- */

/* Calls of cuMemAlloc that the job as it was makes. */
static size_t allocs_of_failure(struct bench *bench) {
  run(bench);
  wo_verify_done(&bench->verify);
  char *const log = read_log();
  const size_t count = count_of(context_of(log, 1), "cuMemAlloc ") - count_of(context_of(log, 2), "cuMemAlloc ");
  free(log);
  assert_true(count > 0);
  return count;
}

/* The card refuses, once, what the model allows in the run of the cheapest row: the next one is run, and chosen. */
static void test_next_row(void **state) {
  struct bench bench;
  struct wo_text text = {0};
  char fault[64];
  (void)state;
  open_bench(&bench, 7.0, "");
  snprintf(fault, sizeof fault, "cuMemAlloc_v2:%zu:2", allocs_of_failure(&bench) + 3);
  run_with(&bench, "STAND_IN_FAIL", fault);
  const struct wo_verify *const verify = &bench.verify;
  const struct wo_verify_row *const first = wo_verify_row_of(verify, 0);
  assert_int_equal(verify->verdict, WO_VERIFY_PROVEN);
  assert_ptr_equal(verify->chosen, wo_verify_row_of(verify, 1));
  assert_ptr_equal(verify->gpu.model_row, first);
  assert_int_equal(first->result.fit, WO_VERIFY_UNSURE);
  assert_true(first->result.is_on_gpu);
  assert_non_null(strstr(first->result.why, "not confirmed on GPU 0: the GPU refused 1024.00 MiB that the model allows"));
  assert_int_equal(verify->gpu.run_count, 3);
  assert_false(verify->gpu.runs[1].agrees);
  assert_run(&verify->gpu.runs[2], verify->chosen, (uint64_t)(6.75 * GIB), false);
  wo_verify_text(verify, (struct wo_text_style){.width = 100}, &text);
  assert_non_null(strstr(text.ptr, "proven: fix 2 fits"));
  assert_non_null(strstr(text.ptr, "not as on the model"));
  wo_text_done(&text);
  assert_nothing_left();
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* None is left. */
static void test_no_row_left(void **state) {
  struct bench bench;
  struct wo_text text = {0}, json = {0};
  char fault[64];
  (void)state;
  open_bench(&bench, 7.0, "");
  bench.job.proposal_count = 1;
  snprintf(fault, sizeof fault, "cuMemAlloc_v2:%zu:2", allocs_of_failure(&bench) + 3);
  run_with(&bench, "STAND_IN_FAIL", fault);
  assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
  assert_int_equal(bench.verify.gpu.error.code, WO_OK);
  assert_null(bench.verify.chosen);
  wo_verify_text(&bench.verify, (struct wo_text_style){.width = 200}, &text);
  wo_verify_json(&bench.verify, &json);
  assert_non_null(strstr(text.ptr, "GPU 0 confirms none of the fixes"));
  assert_null(strstr(text.ptr, "--patch"));
  assert_non_null(strstr(json.ptr, "\"verdict\": \"not_confirmed\""));
  wo_text_done(&text);
  wo_text_done(&json);
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* However many rows the model lets fit, a card that refuses all of them is asked about a few. */
static void test_bounded(void **state) {
  struct bench bench;
  struct wo_proposal many[WO_VERIFY_GPU_ROWS_MAX + 4];
  char fault[64];
  (void)state;
  open_bench(&bench, 7.0, "");
  snprintf(fault, sizeof fault, "cuMemAlloc_v2:%zu+:2", allocs_of_failure(&bench) + 1);
  for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) many[i] = bench.proposals[1];
  bench.job.proposals = many;
  bench.job.proposal_count = sizeof many / sizeof many[0];
  run_with(&bench, "STAND_IN_FAIL", fault);
  const struct wo_verify *const verify = &bench.verify;
  assert_int_equal(verify->verdict, WO_VERIFY_UNCONFIRMED);
  assert_int_equal(verify->gpu.error.code, WO_OK);
  assert_int_equal(verify->gpu.run_count, WO_VERIFY_GPU_ROWS_MAX + 1);
  for (size_t i = 0; i < verify->row_count; i++) {
    const bool is_run = i < WO_VERIFY_GPU_ROWS_MAX;
    if (verify->rows[i].choice_count == 0) continue;
    assert_int_equal(verify->rows[i].result.is_on_gpu, is_run);
    assert_int_equal(verify->rows[i].result.fit, is_run ? WO_VERIFY_UNSURE : WO_VERIFY_YES);
  }
  assert_nothing_left();
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* Somebody takes memory in the midst of the job as it was: that it fails then shows nothing. */
static void test_failure_differs(void **state) {
  struct bench bench;
  struct wo_text text = {0};
  (void)state;
  open_bench(&bench, 7.0, "");
  run_with(&bench, "STAND_IN_FAIL", "cuMemAlloc_v2:3:2");
  assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
  assert_null(bench.verify.chosen);
  assert_int_equal(bench.verify.gpu.run_count, 1);
  assert_int_equal(bench.verify.baseline.fit, WO_VERIFY_UNSURE);
  wo_verify_text(&bench.verify, (struct wo_text_style){.width = 200}, &text);
  assert_non_null(strstr(text.ptr, "GPU 0 does not show the failure"));
  wo_text_done(&text);
  assert_nothing_left();
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* Nothing is taken of a card where nothing can be confirmed. */
static void test_nothing_to_run(void **state) {
  static const struct {
    double capacity_gib;
    enum wo_verify_verdict verdict;
  } rows[] = {{9.0, WO_VERIFY_NOT_SHOWN}, {0, WO_VERIFY_OPEN}, {0.2, WO_VERIFY_NONE_FITS}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bench bench;
    struct wo_text text = {0};
    open_bench(&bench, 7.0, "");
    bench.subjects[0].capacity_bytes = (uint64_t)(rows[i].capacity_gib * GIB);
    run(&bench);
    char *const log = read_log();
    assert_string_equal(log, "");
    free(log);
    assert_int_equal(bench.verify.verdict, rows[i].verdict);
    assert_int_equal(bench.verify.gpu.error.code, WO_OK);
    wo_verify_text(&bench.verify, (struct wo_text_style){.width = 100}, &text);
    assert_non_null(strstr(text.ptr, "GPU 0: nothing was run"));
    wo_text_done(&text);
    wo_verify_done(&bench.verify);
    close_bench(&bench);
  }
}

/* ---- Addresses ---- */

/* Adds a rank whose recording is that of a random program; false where a replay of it would be no proof. */
static bool add_random_rank(struct bench *bench, uint64_t seed) {
  struct wo_random_program program = wo_random_program_of(seed);
  struct wo_verify_subject *const subject = &bench->subjects[bench->count];
  program.torch = 206;
  program.settings = wo_alloc_settings_default(program.torch);
  program.capacity_bytes = UINT64_MAX;
  program.cut = 0;
  program.has_pools = false;
  struct wo_recording *const recording = wo_random_program_record(&program);
  assert_non_null(recording);
  bench->recordings[bench->count] = recording;
  assert_int_equal(
      wo_verify_subject_make(recording, &recording->traces.items[0], WO_VIEW("t"), &bench->job.sizes, 0, 0, subject, &bench->err),
      WO_OK);
  bench->count++;
  subject->uncertainty_bytes = 0;
  return subject->why_not_proven[0] == '\0';
}

/* Whether the unchanged program of a rank fails at a capacity: in how many of the model's orders, and at the card's addresses. */
struct failures {
  uint32_t of_orders;
  bool of_card;
};

static struct failures find_failures(const struct wo_verify_subject *subject, const struct wo_verify_high_end *end,
                                     uint64_t capacity_bytes) {
  struct wo_replay_case result;
  struct wo_replay_outcome outcome;
  struct wo_err err = {0};
  struct wo_mirror mirror = {.capacity_bytes = capacity_bytes};
  const struct wo_whatif_options whatif = {
      .settings = end->settings, .torch = subject->torch, .capacity_bytes = capacity_bytes, .shuffles = WO_WHATIF_SHUFFLES};
  assert_int_equal(wo_whatif_run(&end->pattern, &whatif, &result, NULL, &err), WO_OK);
  const struct wo_device device = wo_mirror_device(&mirror);
  const struct wo_replay_options options = {.settings = end->settings, .torch = subject->torch, .device = &device};
  assert_int_equal(wo_replay_run(&end->pattern, &options, &outcome, &err), WO_OK);
  wo_mirror_done(&mirror);
  return (struct failures){result.oom_count, outcome.oom_count > 0};
}

/* Sets the capacity of a rank to one where the card parts from the orders of the model: it fails there and in none of them, or
 * the other way round. False when there is none among those that are tried. */
static bool set_parting_capacity(struct wo_verify_subject *subject, bool fails_on_card) {
  struct wo_verify_high_end end;
  struct wo_err err = {0};
  bool is_found = false;
  assert_int_equal(wo_verify_high_end_make(subject, NULL, &end, &err), WO_OK);
  uint64_t capacity_bytes = UINT64_C(20) << 20;
  while (find_failures(subject, &end, capacity_bytes).of_card) capacity_bytes *= 2;
  for (int i = 0; i < 120 && !is_found; i++, capacity_bytes -= capacity_bytes / 150) {
    const struct failures failures = find_failures(subject, &end, capacity_bytes);
    is_found = failures.of_card == fails_on_card && (failures.of_orders == 0) == fails_on_card;
    if (is_found) subject->capacity_bytes = capacity_bytes;
  }
  wo_verify_high_end_done(&end);
  return is_found;
}

/* Programs that are tried for one that shows it, from one on behind which there is. */
enum { SEEDS = 60, SEED_OF_FIX = 165 };

/* A job that fails in some orders of addresses and not at those that the card gives: the failure is not shown there. */
static void test_failure_depends_on_addresses(void **state) {
  size_t found = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS && found == 0; seed++) {
    struct bench bench;
    open_bench(&bench, 7.0, "");
    close_bench(&bench);
    bench.count = bench.job.proposal_count = 0;
    if (add_random_rank(&bench, seed) && set_parting_capacity(&bench.subjects[0], false)) {
      struct wo_text text = {0};
      found++;
      run(&bench);
      assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
      assert_true(bench.verify.gpu.runs[0].agrees);
      assert_int_equal(bench.verify.gpu.runs[0].outcome.oom_count, 0);
      wo_verify_text(&bench.verify, (struct wo_text_style){.width = 200}, &text);
      assert_non_null(strstr(text.ptr, "not confirmed on GPU 0: it fits there as it is"));
      wo_text_done(&text);
      wo_verify_done(&bench.verify);
    }
    close_bench(&bench);
  }
  assert_int_equal(found, 1);
}

/* A fix that fits at every order that the model tries, and not at the addresses that the card gives. The first rank fails because
 * of a setting, which the fix takes out; the second one is the random program, which the fix leaves as it is. */
static void test_fix_depends_on_addresses(void **state) {
  size_t found = 0;
  (void)state;
  for (uint64_t seed = SEED_OF_FIX; seed < SEED_OF_FIX + SEEDS && found == 0; seed++) {
    struct bench bench;
    open_bench(&bench, 7.0, "");
    close_bench(&bench);
    bench.count = bench.job.proposal_count = 0;
    add_rank(&bench, "roundup_power2_divisions:2", ACTIVATIONS, 320); /* 6.5 GiB, rounded to 7 */
    propose(&bench, "other-settings", "set=expandable_segments:False", 1);
    if (add_random_rank(&bench, seed) && set_parting_capacity(&bench.subjects[1], true)) {
      found++;
      run(&bench);
      const struct wo_verify_gpu *const gpu = &bench.verify.gpu;
      assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
      assert_int_equal(gpu->run_count, 3);
      assert_true(gpu->runs[2].agrees);
      assert_true(gpu->runs[2].outcome.oom_count > 0);
      assert_non_null(
          strstr(wo_verify_row_of(&bench.verify, 0)->result.why, "a request fails at the addresses that its driver gives"));
      wo_verify_done(&bench.verify);
    }
    close_bench(&bench);
  }
  assert_int_equal(found, 1);
}

/* Where nothing fits on the model, the job as it was is confirmed to fail; the verdict stays. */
static void test_none_fits(void **state) {
  struct bench bench;
  (void)state;
  open_bench(&bench, 4.2, "");
  bench.job.proposal_count = 1;
  run(&bench);
  assert_int_equal(bench.verify.verdict, WO_VERIFY_NONE_FITS);
  assert_int_equal(bench.verify.gpu.run_count, 1);
  assert_true(bench.verify.baseline.is_on_gpu);
  wo_verify_done(&bench.verify);
  run_with(&bench, "STAND_IN_CARDS", "0");
  assert_int_equal(bench.verify.verdict, WO_VERIFY_NONE_FITS);
  assert_int_not_equal(bench.verify.gpu.error.code, WO_OK);
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* ---- A card that cannot be had ---- */

static void test_no_card(void **state) {
  static const struct {
    const char *variable, *value, *says;
  } rows[] = {
      {"STAND_IN_CARDS", "0", "GPU"},
      {"STAND_IN_TOTAL", "6442450944", "has 6.00 GiB free of 6.00, and the replay wants 6.75"},
      {"STAND_IN_OTHER", "19327352832", "has 6.00 GiB free of 24.00, and the replay wants 6.75"},
      {"STAND_IN_MODE", "2", "prohibited mode"},
      {"STAND_IN_MIG", "1", "MIG"},
      {"STAND_IN_LOST", "1", "unspecified launch failure"},
      {"STAND_IN_LOST", "40", "unspecified launch failure"},
      {"STAND_IN_FAIL", "cuMemAlloc_v2:2:999", "everything that was taken of GPU 0 was given back"},
      {"STAND_IN_LATER", "60:19327352832", "wants 6.75"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bench bench;
    struct wo_text text = {0}, json = {0};
    open_bench(&bench, 7.0, "");
    run_with(&bench, rows[i].variable, rows[i].value);
    const struct wo_verify *const verify = &bench.verify;
    if (!strstr(verify->gpu.error.message, rows[i].says))
      fail_msg("%s=%s: '%s'", rows[i].variable, rows[i].value, verify->gpu.error.message);
    assert_int_equal(verify->verdict, WO_VERIFY_UNCONFIRMED);
    assert_null(verify->chosen);
    assert_ptr_equal(verify->gpu.model_row, wo_verify_row_of(verify, 0));
    /* The model's word stays, and is called so. */
    assert_int_equal(wo_verify_row_of(verify, 0)->result.fit, WO_VERIFY_YES);
    wo_verify_text(verify, (struct wo_text_style){.width = 200}, &text);
    wo_verify_json(verify, &json);
    assert_non_null(strstr(text.ptr, "not proven: fix 1 fits on the model, and GPU 0 could not confirm it"));
    assert_non_null(strstr(text.ptr, "recorded, model"));
    assert_non_null(strstr(json.ptr, "\"error\": \""));
    wo_text_done(&text);
    wo_text_done(&json);
    wo_verify_done(&bench.verify);
    close_bench(&bench);
  }
}

/* Who holds the card is told as far as NVML tells; without NVML all the rest is as with it. */
static void test_holders_and_no_nvml(void **state) {
  struct bench bench;
  (void)state;
  open_bench(&bench, 7.0, "");
  setenv("STAND_IN_PROCESSES", "4711:other_job:19327352832", 1);
  run_with(&bench, "STAND_IN_OTHER", "19327352832");
  unsetenv("STAND_IN_PROCESSES");
  assert_non_null(strstr(bench.verify.gpu.error.message, "other_job"));
  wo_verify_done(&bench.verify);
  bench.hooks.nvml_library = "/nonexistent/libnvidia-ml.so.1";
  run(&bench);
  assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
  wo_verify_done(&bench.verify);
  bench.hooks.cuda_library = "/nonexistent/libcuda.so.1";
  run(&bench);
  assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
  assert_non_null(strstr(bench.verify.gpu.error.message, "there is no CUDA driver here"));
  wo_verify_done(&bench.verify);
  bench.hooks.cuda_library = WO_STAND_IN_CUDA;
  bench.place.ordinal = 3;
  run(&bench);
  assert_non_null(strstr(bench.verify.gpu.error.message, "there is no GPU 3"));
  wo_verify_done(&bench.verify);
  close_bench(&bench);
}

/* ---- Whatever fails, nothing stays ---- */

/* Each call of each function fails once, for want of memory or otherwise: a row that is chosen was confirmed, one that was not is
 * not chosen, and the card is empty. Returns how often nothing was confirmed. */
static size_t fail_each_call(struct bench *bench, const char *symbol) {
  static const int results[] = {2, 999};
  size_t failures = 0;
  for (int n = 1; n <= 24; n += n < 4 ? 1 : 5) {
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
      char fault[96];
      snprintf(fault, sizeof fault, "%s:%d:%d", symbol, n, results[i]);
      run_with(bench, "STAND_IN_FAIL", fault);
      const struct wo_verify *const verify = &bench->verify;
      assert_int_equal(verify->verdict, verify->chosen ? WO_VERIFY_PROVEN : WO_VERIFY_UNCONFIRMED);
      if (verify->chosen) assert_true(verify->chosen->result.is_on_gpu && verify->gpu.error.code == WO_OK);
      if (verify->gpu.error.code != WO_OK) assert_true(verify->gpu.error.message[0] != '\0');
      failures += verify->chosen == NULL;
      assert_nothing_left();
      wo_verify_done(&bench->verify);
    }
  }
  return failures;
}

static void test_every_call_fails_once(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof settings_of / sizeof settings_of[0]; i++) {
    struct bench bench;
    size_t failures = 0;
    open_bench(&bench, 7.0, settings_of[i]);
    for (size_t k = 0; k < sizeof gpu_symbols / sizeof gpu_symbols[0]; k++) failures += fail_each_call(&bench, gpu_symbols[k]);
    assert_true(failures > 20);
    close_bench(&bench);
  }
}

static void test_memory_runs_out_in_whyoom(void **state) {
  struct bench bench;
  bool is_through = false;
  (void)state;
  open_bench(&bench, 7.0, "");
  for (long n = 1; !is_through && n < 100000; n += 1 + n / 30) {
    wo_fail_alloc_at(n);
    const enum wo_status status = try_run(&bench);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    if (status == WO_OK)
      wo_verify_done(&bench.verify);
    else
      assert_int_equal(status, WO_E_NOMEM);
    assert_nothing_left();
  }
  assert_true(is_through);
  close_bench(&bench);
}

/* ---- Interrupts ---- */

/* At every step of both runs: everything is given back, nothing further is begun, and nothing is chosen. */
static void test_interrupts(void **state) {
  struct bench bench;
  size_t total = 1;
  (void)state;
  open_bench(&bench, 7.0, "expandable_segments:True");
  for (size_t at = 0; at <= total; at++) {
    struct gpu_watcher watcher = {.cancel_at = at};
    gpu_watcher_attach(&watcher, &bench.hooks);
    run(&bench);
    if (at == 0) {
      total = watcher.steps;
      assert_int_equal(watcher.overs, 2);
      assert_int_equal(bench.verify.verdict, WO_VERIFY_PROVEN);
    } else {
      assert_in_range(watcher.steps, at, at + 1);
      assert_int_equal(bench.verify.verdict, WO_VERIFY_UNCONFIRMED);
      assert_non_null(strstr(bench.verify.gpu.error.message, "interrupted; everything that was taken of GPU 0 was given back"));
    }
    assert_int_equal(watcher.guards, 0);
    assert_nothing_left();
    wo_verify_done(&bench.verify);
  }
  assert_true(total > 20);
  close_bench(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_confirmed),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_touch_and_reserve),
      cmocka_unit_test(test_reconstructed),
      cmocka_unit_test(test_ranks),
      cmocka_unit_test(test_next_row),
      cmocka_unit_test(test_no_row_left),
      cmocka_unit_test(test_bounded),
      cmocka_unit_test(test_failure_differs),
      cmocka_unit_test(test_nothing_to_run),
      cmocka_unit_test(test_failure_depends_on_addresses),
      cmocka_unit_test(test_fix_depends_on_addresses),
      cmocka_unit_test(test_none_fits),
      cmocka_unit_test(test_no_card),
      cmocka_unit_test(test_holders_and_no_nvml),
      cmocka_unit_test(test_every_call_fails_once),
      cmocka_unit_test(test_memory_runs_out_in_whyoom),
      cmocka_unit_test(test_interrupts),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
