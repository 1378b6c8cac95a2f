/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom verify` with memory that runs out: the command over a recorded and a reconstructed pattern, and the patch. Allocations
 * fail one after the other at the beginning, then at growing distances that are never a multiple of each other, so that runs of
 * equal ones are met at different places. Nothing may leak (the sanitizer looks), and what is said to be done is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/patch/patch.h"
#include "analyzer/verify/verify_plan.h"
#include "cuda_replay/command/verify_command.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

#define LORA WO_SOURCE_DIR "/samples/lora-7b-24g/"
#define PRETRAIN WO_SOURCE_DIR "/samples/pretrain-512m-sequence/"

enum { ALONE = 400, ALONE_SANITIZED = 20, ALLOCATIONS_MOST = 1000000, PROOFS = 32 };

/* Under a sanitizer a run takes ten times as long: a row with wider gaps, of other places. */
static long next_failure(long n) {
  const long alone = wo_process_is_sanitized ? ALONE_SANITIZED : ALONE;
  const long part = wo_process_is_sanitized ? 2 : 16;
  return n < alone ? n + 1 : n + n / part + 1;
}

static void read_plan(const char *const *paths, struct wo_verify_plan *plan) {
  static char texts[4][1024];
  static char *words[4];
  struct wo_text errors = {0};
  struct wo_call call = {.words = words, .errors = &errors};
  for (; paths[call.word_count]; call.word_count++) {
    snprintf(texts[call.word_count], sizeof texts[0], "%s", paths[call.word_count]);
    words[call.word_count] = texts[call.word_count];
  }
  assert_true(wo_verify_plan_read(&call, plan));
  wo_text_done(&errors);
}

/* ---- The command ---- */

struct outcome {
  enum wo_exit code;
  struct wo_text out, errors;
  struct wo_verify_answer answer;
};

static struct outcome run(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_diagnosed *job,
                          struct wo_proof *proofs) {
  struct outcome outcome = {.answer = {.proofs = proofs}};
  struct wo_call reported = *call;
  reported.errors = &outcome.errors;
  outcome.code = wo_run_verify(&reported, args, job, NULL, &outcome.answer, &outcome.out);
  return outcome;
}

static void drop(struct outcome *outcome) {
  wo_text_done(&outcome->out);
  wo_text_done(&outcome->errors);
}

/* Either the whole answer, or an error with a reason, or a text that knows that it is not whole. */
static void check(const struct outcome *outcome, const struct outcome *whole, long n) {
  const bool is_broken = outcome->out.is_failed || outcome->errors.is_failed;
  const bool is_told = outcome->code == WO_EXIT_ERROR && (outcome->errors.len > 0 || is_broken);
  const bool is_whole = outcome->code == whole->code && outcome->out.len == whole->out.len &&
                        memcmp(outcome->out.ptr, whole->out.ptr, whole->out.len) == 0;
  if (!is_broken && !is_told && !is_whole) fail_msg("allocation %ld: code %d", n, (int)outcome->code);
}

static void fail_each(const char *const *paths, const struct wo_verify_args *args, bool is_json) {
  struct wo_proof proofs[PROOFS];
  struct wo_verify_plan plan;
  bool is_through = false;
  read_plan(paths, &plan);
  const struct wo_call call = {.format = is_json ? WO_OUT_JSON : WO_OUT_TEXT, .style = {.width = 80}};
  struct outcome whole = run(&call, args, &plan.diagnosed, proofs);
  assert_true(whole.out.len > 0 && !whole.out.is_failed);
  for (long n = 1; !is_through && n < ALLOCATIONS_MOST; n = next_failure(n)) {
    wo_fail_alloc_at(n);
    struct outcome outcome = run(&call, args, &plan.diagnosed, proofs);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    check(&outcome, &whole, n);
    drop(&outcome);
  }
  assert_true(is_through);
  drop(&whole);
  wo_verify_plan_done(&plan);
}

static void test_recorded(void **state) {
  (void)state;
  static const char *const paths[] = {LORA "slurm-90817.err", LORA "slurm-90817.out", LORA "run_lora.sh", NULL};
  const struct wo_verify_args args = {.traces = {WO_VIEW(LORA "trace-90817.jsonl")}, .trace_count = 1};
  fail_each(paths, &args, false);
}

static void test_reconstructed(void **state) {
  (void)state;
  static const char *const paths[] = {PRETRAIN "slurm-218391.err", PRETRAIN "slurm-218391.out", PRETRAIN "pretrain_512m.yaml",
                                      NULL};
  const struct wo_verify_args args = {.accepts_reconstructed = true};
  fail_each(paths, &args, true);
}

/* ---- The patch ---- */

/* With memory that runs out the diff is whole or an error is told, and the file holds the old text or the new one. */
static void patch_each(bool is_writing) {
  static const char *const names[] = {LORA "slurm-90817.err", LORA "slurm-90817.out"};
  char folder[512], script[600];
  struct wo_verify_plan plan;
  struct wo_text whole = {0}, notes = {0};
  size_t len = 0, after_len = 0;
  bool is_through = false;
  char *const before = wo_files_read(LORA "run_lora.sh", &len);
  assert_true(before && wo_files_scratch(folder, sizeof folder));
  snprintf(script, sizeof script, "%s/run_lora.sh", folder);
  assert_true(wo_files_write(script, (struct wo_view){before, len}));
  read_plan((const char *const[]){names[0], names[1], script, NULL}, &plan);
  const struct wo_choice choice = {.proposal = 0, .micro_batch = 1};
  assert_true(wo_patch_run(plan.report, plan.fixes, &choice, 1, true, &whole, &notes));
  char *const after = wo_files_read(script, &after_len);
  assert_true(after && whole.len > 0 && strcmp(before, after) != 0);
  for (long n = 1; !is_through && n < ALLOCATIONS_MOST; n = next_failure(n)) {
    struct wo_text out = {0}, errors = {0};
    assert_true(wo_files_write(script, (struct wo_view){before, len}));
    wo_fail_alloc_at(n);
    const bool is_done = wo_patch_run(plan.report, plan.fixes, &choice, 1, is_writing, &out, &errors);
    wo_fail_alloc_off();
    is_through = !wo_fail_alloc_hit();
    const bool is_whole = out.len == whole.len && memcmp(out.ptr, whole.ptr, whole.len) == 0;
    if (is_done && !is_whole && !out.is_failed && !errors.is_failed) fail_msg("allocation %ld: not whole, and not told", n);
    if (!is_done && errors.len == 0 && !errors.is_failed) fail_msg("allocation %ld: no reason", n);
    size_t now_len = 0;
    char *const now = wo_files_read(script, &now_len);
    assert_true(now && (strcmp(now, before) == 0 || (is_writing && strcmp(now, after) == 0)));
    if (is_writing && is_done) assert_string_equal(now, after);
    free(now);
    wo_text_done(&out);
    wo_text_done(&errors);
  }
  assert_true(is_through);
  size_t count = 0;
  char **const left = wo_files_names(folder, "", &count);
  assert_int_equal(count, 1);
  wo_files_free_names(left, count);
  free(before);
  free(after);
  wo_text_done(&whole);
  wo_text_done(&notes);
  wo_verify_plan_done(&plan);
  wo_files_remove_scratch(folder);
}

static void test_patch(void **state) {
  (void)state;
  patch_each(false);
}

static void test_patch_written(void **state) {
  (void)state;
  patch_each(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_recorded),
      cmocka_unit_test(test_reconstructed),
      cmocka_unit_test(test_patch),
      cmocka_unit_test(test_patch_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
