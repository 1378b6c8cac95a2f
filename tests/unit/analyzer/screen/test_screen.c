/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: its lines at every width, what is left out first, and every allocation that can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyzer/screen/screen.h"
#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/report_sample.h"

static const struct wo_text_style plain = {.width = 80};

/* The sample as a job that the first screen has most to say of: rows, seven fixes, everything that is left out at the end. */
struct rich {
  struct sample sample;
  struct wo_finding_row rows[8];
  struct wo_finding_fix fixes[9];
  struct wo_view settle[1];
};

static void fill(struct rich *rich, size_t rows, size_t fixes) {
  sample_fill(&rich->sample);
  struct wo_finding *const finding = &rich->sample.findings[0];
  for (size_t i = 0; i < rows; i++)
    rich->rows[i] = (struct wo_finding_row){WO_VIEW("row"),
                                            WO_VIEW("12.50 GiB of 39.39 GiB, and a good many words more, so that it is long")};
  finding->rows = rich->rows;
  finding->row_count = rows;
  for (size_t i = 0; i < fixes; i++) {
    rich->fixes[i] = rich->sample.fixes[i % 2];
    rich->fixes[i].cost_speed = WO_VIEW("usually 5 to 15 % slower: more, smaller passes");
    rich->fixes[i].title = WO_VIEW("a fix with a title that is too long for its column, and a remark (which is cut)");
  }
  finding->fixes = rich->fixes;
  finding->fix_count = fixes;
}

static void make(struct sample *sample, struct wo_view words, struct wo_arena *arena, struct wo_screen *screen) {
  wo_arena_init(arena, WO_LIMIT_REPORT_BYTES);
  assert_int_equal(wo_screen_make(&sample->report, words, arena, screen), WO_OK);
}

static struct wo_text written(struct sample *sample, struct wo_view words, struct wo_text_style style) {
  struct wo_arena arena;
  struct wo_screen screen;
  struct wo_text text = {0};
  make(sample, words, &arena, &screen);
  wo_screen_text(&screen, style, &text);
  assert_false(text.is_failed);
  wo_text_add(&text, "%c", '\0');
  wo_arena_done(&arena);
  return text;
}

static size_t count_lines(const char *text) {
  size_t count = 0;
  for (; *text; text++) count += *text == '\n';
  return count;
}

static size_t line_of(const char *text, const char *start) {
  const char *const at = strstr(text, start);
  size_t line = 1;
  assert_non_null(at);
  for (const char *c = text; c < at; c++) line += *c == '\n';
  return line;
}

static void test_whole_screen(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_text text = written(&sample, WO_VIEW("slurm-88213.err train.sbatch"), plain);
  static const char *const parts[] = {
      "job 88213 on 2 nodes, 8 ranks: rank 3 died at step 4120 of 5000, backward pass\n\nOUT OF GPU MEMORY: ",
      "(likely)\n",
      "  where   slurm-88213.err:20917, attention.py:208",
      "# 26.11 tensors  . 11.62 idle  - 0.60 outside PyTorch  1.06 free  (GiB)\n",
      "\n\nCHANGE FIRST  expandable segments on",
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n",
      "IF NOT ENOUGH",
      "  2   micro-batch 8 -> 4",
      "ALREADY ON: gradient checkpointing\n",
      " whyoom -v slurm-88213.err train.sbatch\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(text.ptr, parts[i]) == NULL) fail_msg("no \"%s\" in\n%s", parts[i], text.ptr);
  }
  wo_text_done(&text);
}

/* A call that is too long for a line goes on in the next one, where Python reads on; a command of a shell is cut, and shows it.
 */
static void test_long_code(void **state) {
  (void)state;
  static const struct {
    const char *code, *lines;
  } rows[] = {
      {"model = peft.get_peft_model(model, peft.LoraConfig(r=16, lora_alpha=32, target_modules=\"all-linear\"))   # adapters",
       "\n  model = peft.get_peft_model(model, peft.LoraConfig(r=16, lora_alpha=32,\n    target_modules=\"all-linear\"))\n"},
      {"torch.load(path)   # a remark that has no room in the line any more, since it is far too long", "\n  torch.load(path)\n"},
      {"first, second, third = a_function_with_a_very_long_name_indeed_that_leaves_no_room(1)", "..\n"},
      {"sbatch --export=ALL,FIRST=1,SECOND=2 --dependency=afternotok:4711 --gres=gpu:8 --constraint=a100 job.sh", "..\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rich rich = {0};
    struct wo_view commands[] = {wo_view_of(rows[i].code)};
    fill(&rich, 0, 1);
    rich.fixes[0].commands = commands;
    rich.fixes[0].command_count = 1;
    struct wo_text text = written(&rich.sample, WO_VIEW("a.err"), plain);
    if (strstr(text.ptr, rows[i].lines) == NULL) fail_msg("no \"%s\" in\n%s", rows[i].lines, text.ptr);
    wo_text_done(&text);
  }
}

/* What a recording refutes comes after the fixes that nothing refutes; beside a change that it proves, these are other ways. */
static void test_refuted(void **state) {
  (void)state;
  struct rich rich = {0};
  const struct wo_proof refuted = {.is_tried = true, .pattern = "recorded", .margin_bytes = -1e9};
  const struct wo_proof proven = {.is_tried = true, .pattern = "recorded", .margin_bytes = 1e9, .fits = true};
  fill(&rich, 0, 3);
  rich.fixes[1].proof = &refuted;
  struct wo_text text = written(&rich.sample, WO_VIEW("a.err"), plain);
  assert_true(line_of(text.ptr, "\n  3 ") < line_of(text.ptr, "\n  2 "));
  assert_non_null(strstr(text.ptr, "\nIF NOT ENOUGH"));
  wo_text_done(&text);
  rich.fixes[0].proof = &proven;
  text = written(&rich.sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "\nOTHER WAYS"));
  wo_text_done(&text);
}

/* Whatever there is to say: one screen, and the change begins in its upper half. */
static void test_one_screen(void **state) {
  (void)state;
  for (size_t rows = 0; rows <= 8; rows++) {
    for (size_t fixes = 0; fixes <= 9; fixes++) {
      struct rich rich = {0};
      fill(&rich, rows, fixes);
      for (size_t width = 80; width <= 240; width += 40) {
        struct wo_text text = written(&rich.sample, WO_VIEW("a.err b.sh"), (struct wo_text_style){.width = width});
        assert_in_range(count_lines(text.ptr), 4, WO_SCREEN_LINES);
        if (fixes > 0) assert_in_range(line_of(text.ptr, "CHANGE FIRST"), 6, 14);
        if (fixes > 1) assert_non_null(strstr(text.ptr, "IF NOT ENOUGH"));
        wo_text_done(&text);
      }
    }
  }
}

/* No line is wider than the page, but for the commands that are pasted. */
static void test_widths(void **state) {
  (void)state;
  for (size_t width = 40; width <= 200; width++) {
    struct rich rich = {0};
    fill(&rich, 3, 7);
    struct wo_text text = written(&rich.sample, WO_VIEW("a.err"), (struct wo_text_style){.width = width});
    for (char *line = text.ptr; *line; line = strchr(line, '\n') + 1) {
      const struct wo_view view = {line, strcspn(line, "\n")};
      if (wo_view_has(view, "whyoom ") || wo_view_has(view, "expandable_segments") || wo_view_has(view, "sbatch ")) continue;
      if (wo_text_columns(view) > width) fail_msg("width %zu: %.*s", width, WO_SHOWN(view));
    }
    wo_text_done(&text);
  }
}

static void test_pipe_has_no_words_to_paste(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_text text = written(&sample, (struct wo_view){0}, plain);
  assert_non_null(strstr(text.ptr, " the same command with -v\n"));
  assert_null(strstr(text.ptr, "whyoom verify"));
  wo_text_done(&text);
}

static void test_nothing_wrong(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample_make_ok(&sample);
  struct wo_text text = written(&sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "shows no failure\n\nOK: no failure found in 21235 lines\n"));
  wo_text_done(&text);
  sample.job.story.is_good_end_shown = true;
  text = written(&sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "ended well\n\nOK: no failure found in 21235 lines\n"));
  assert_null(strstr(text.ptr, "CHANGE FIRST"));
  wo_text_done(&text);
  sample.job.story.outcome = WO_OUTCOME_UNKNOWN; /* "ok" is said of a good end only */
  text = written(&sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "NO FAILURE FOUND: in 21235 lines; the log does not show how it ended\n"));
  assert_null(strstr(text.ptr, "OK"));
  wo_text_done(&text);
}

static void test_nothing_read(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample_make_ok(&sample);
  sample.job.input_count = 1;
  sample.inputs[0] = (struct wo_job_input){.path = WO_VIEW("gone.err"), .is_unreadable = true};
  sample.job.story.outcome = WO_OUTCOME_UNKNOWN;
  struct wo_text text = written(&sample, WO_VIEW("gone.err"), plain);
  assert_non_null(strstr(text.ptr, "NOTHING READ: "));
  wo_text_done(&text);
}

static void test_a_proof_decides(void **state) {
  (void)state;
  struct sample sample;
  const struct wo_proof refuted = {.is_tried = true, .on = "model", .pattern = "recorded", .margin_bytes = -SAMPLE_GIB(1.5)};
  sample_fill(&sample);
  sample.fixes[0].proof = &refuted; /* the next one comes first */
  struct wo_text text = written(&sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "CHANGE FIRST  micro-batch 8 -> 4"));
  assert_non_null(strstr(text.ptr, "  1   expandable segments on"));
  assert_non_null(strstr(text.ptr, "lacks 1.50 GiB"));
  wo_text_done(&text);
  sample.fixes[1].proof = &refuted;
  text = written(&sample, WO_VIEW("a.err"), plain);
  assert_non_null(strstr(text.ptr, "not enough: replayed on the recorded pattern, 1.50 GiB is missing\n"));
  wo_text_done(&text);
}

static void test_oneline(void **state) {
  (void)state;
  struct sample sample;
  struct wo_arena arena;
  struct wo_screen screen;
  struct wo_text text = {0};
  sample_fill(&sample);
  make(&sample, (struct wo_view){0}, &arena, &screen);
  wo_screen_oneline(&screen, &text);
  assert_ptr_equal(memchr(text.ptr, '\n', text.len), text.ptr + text.len - 1);
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, "; OUT OF GPU MEMORY: "));
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, "; first: expandable segments on\n"));
  wo_text_done(&text);
  wo_arena_done(&arena);
}

static void test_failing_allocations(void **state) {
  (void)state;
  struct rich rich = {0};
  fill(&rich, 3, 7);
  size_t failures = 0;
  for (long n = 1; n < 1000; n++) {
    struct wo_arena arena;
    struct wo_screen screen;
    struct wo_text text = {0};
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    wo_fail_alloc_from(n);
    const enum wo_status status = wo_screen_make(&rich.sample.report, WO_VIEW("a.err"), &arena, &screen);
    if (status == WO_OK) wo_screen_text(&screen, plain, &text);
    wo_fail_alloc_off();
    const bool is_hit = wo_fail_alloc_hit();
    if (is_hit) assert_true(status == WO_E_NOMEM || text.is_failed);
    failures += is_hit;
    wo_text_done(&text);
    wo_arena_done(&arena);
    if (!is_hit) break;
  }
  assert_in_range(failures, 5, 900);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_screen),
      cmocka_unit_test(test_long_code),
      cmocka_unit_test(test_refuted),
      cmocka_unit_test(test_one_screen),
      cmocka_unit_test(test_widths),
      cmocka_unit_test(test_pipe_has_no_words_to_paste),
      cmocka_unit_test(test_nothing_wrong),
      cmocka_unit_test(test_nothing_read),
      cmocka_unit_test(test_a_proof_decides),
      cmocka_unit_test(test_oneline),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
