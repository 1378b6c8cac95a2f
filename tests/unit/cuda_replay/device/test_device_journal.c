/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a device, and the model device that holds itself against one: equal runs agree, and whatever one call differs in
 * is found at that call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cuda_replay/device/device_journal.h"
#include "cuda_replay/device/device_model.h"
#include "cuda_replay/replay/replay.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/replay/random_program.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { PROGRAMS = 30 };

/* A program, and the journal of its run on a model with invented addresses. */
struct bench {
  struct wo_random_program program;
  struct wo_recording *recording;
  struct wo_alloc_pattern pattern;
  struct wo_journal journal;
  struct wo_replay_outcome outcome;
  uint64_t capacity_bytes;
  struct wo_err err;
};

static enum wo_status run(struct bench *bench, const struct wo_device *device, struct wo_replay_outcome *ret_outcome) {
  const struct wo_replay_options options = {.settings = bench->program.settings, .torch = bench->program.torch, .device = device};
  return wo_replay_run(&bench->pattern, &options, ret_outcome, &bench->err);
}

/* Shuffled addresses: an echo with addresses of its own would choose other blocks. */
static enum wo_status write_journal(struct bench *bench) {
  struct wo_device device;
  const struct wo_device_model_options options = {
      .capacity_bytes = bench->capacity_bytes, .policy = WO_ADDRESS_SHUFFLED, .seed = bench->program.seed};
  struct wo_device_model *const model = wo_device_model_new(&options, &device);
  if (!model) return WO_E_NOMEM;
  const struct wo_device noted = wo_journal_device(&bench->journal, &device);
  const enum wo_status status = run(bench, &noted, &bench->outcome);
  wo_device_model_free(model);
  return status;
}

static void open_bench(struct bench *bench, uint64_t seed, uint64_t capacity_bytes) {
  *bench = (struct bench){.program = wo_random_program_of(seed), .capacity_bytes = capacity_bytes};
  bench->recording = wo_random_program_record(&bench->program);
  assert_non_null(bench->recording);
  assert_int_equal(wo_alloc_pattern_make(bench->recording, &bench->recording->traces.items[0], &bench->pattern, &bench->err), WO_OK);
}

static void close_bench(struct bench *bench) {
  wo_journal_done(&bench->journal);
  wo_alloc_pattern_done(&bench->pattern);
  wo_recording_free(bench->recording);
}

/* Whether the echo agrees; `why` as it says it. */
static bool echo_agrees(struct bench *bench, struct wo_echo *ret_echo, char *why, size_t cap) {
  struct wo_replay_outcome outcome;
  *ret_echo = (struct wo_echo){.journal = &bench->journal, .capacity_bytes = bench->capacity_bytes};
  const struct wo_device device = wo_echo_device(ret_echo);
  assert_int_equal(run(bench, &device, &outcome), WO_OK);
  return wo_echo_agrees(ret_echo, why, cap);
}

static void test_equal_runs_agree(void **state) {
  uint64_t refusals = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    struct bench bench;
    struct wo_echo echo;
    char why[240] = "";
    open_bench(&bench, seed, seed % 2 == 0 ? 200 * MIB : 20 * GIB);
    assert_int_equal(write_journal(&bench), WO_OK);
    if (!echo_agrees(&bench, &echo, why, sizeof why)) fail_msg("seed %u: %s", (unsigned)seed, why);
    assert_int_equal(echo.at, bench.journal.calls.count);
    refusals += bench.outcome.oom_count;
    close_bench(&bench);
  }
  assert_true(refusals > 0);
}

/* One call of the journal is made another; the echo names just that one. Addresses that calls give are no wishes: a changed one
 * shows when it is used. */
static void test_every_change_is_found(void **state) {
  struct bench bench;
  struct wo_echo echo;
  char why[240];
  char place[64];
  (void)state;
  open_bench(&bench, 5, 200 * MIB);
  assert_int_equal(write_journal(&bench), WO_OK);
  assert_true(bench.journal.calls.count > 4);
  for (size_t i = 0; i < bench.journal.calls.count; i++) {
    struct wo_journal_call *const call = &bench.journal.calls.items[i];
    const struct wo_journal_call kept = *call;
    snprintf(place, sizeof place, "call %zu: the GPU ", i);
    for (int change = 0; change < 4; change++) {
      *call = kept;
      if (change == 0) call->size_bytes += 512;
      if (change == 1) call->kind = (enum wo_journal_kind)((call->kind + 1) % WO_JOURNAL_KIND_COUNT_);
      if (change == 2) call->is_refused = !call->is_refused;
      if (change == 3) call->handle_bytes += 2 * MIB;
      assert_false(echo_agrees(&bench, &echo, why, sizeof why));
      assert_int_equal(echo.at_difference, i);
      assert_true(strncmp(why, place, strlen(place)) == 0);
    }
    *call = kept;
  }
  close_bench(&bench);
}

/* A run that ends early or goes on. */
static void test_other_lengths(void **state) {
  struct bench bench;
  struct wo_echo echo;
  char why[240];
  (void)state;
  open_bench(&bench, 5, 20 * GIB);
  assert_int_equal(write_journal(&bench), WO_OK);
  const size_t count = bench.journal.calls.count;
  bench.journal.calls.count = count - 1;
  assert_false(echo_agrees(&bench, &echo, why, sizeof why));
  assert_non_null(strstr(why, "the GPU is not asked any more, the model "));
  bench.journal.calls.count = count;
  bench.pattern.requests.count = 0;
  bench.pattern.start_count = 0;
  assert_false(echo_agrees(&bench, &echo, why, sizeof why));
  assert_non_null(strstr(why, "call 0: the GPU "));
  assert_non_null(strstr(why, "the model is not asked any more"));
  close_bench(&bench);
}

/* Nothing happens on the device that could not be written down. */
static void test_memory_out(void **state) {
  bool is_done = false;
  (void)state;
  for (long n = 1; !is_done; n++) {
    struct bench bench;
    open_bench(&bench, 5, 20 * GIB);
    wo_fail_alloc_at(n);
    const enum wo_status status = write_journal(&bench);
    wo_fail_alloc_off();
    is_done = status == WO_OK;
    if (!is_done) assert_int_equal(status, WO_E_NOMEM);
    close_bench(&bench);
    assert_true(n < 2000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_runs_agree),
      cmocka_unit_test(test_every_change_is_found),
      cmocka_unit_test(test_other_lengths),
      cmocka_unit_test(test_memory_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
