/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the options of `whyoom budget`: each line of the input is "option=value". Checks: what is refused changes nothing and
 * says why, and whatever is taken gives a table of finite, ordered sizes in both forms. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/command/commands.h"
#include "analyzer/budget/budget_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) __builtin_trap();
}

static void check_interval(struct wo_interval bytes) {
  require(isfinite(bytes.lo) && isfinite(bytes.mid) && isfinite(bytes.hi));
  require(bytes.lo >= 0 && bytes.lo <= bytes.mid && bytes.mid <= bytes.hi);
}

static void check_table(const struct wo_budget *budget) {
  require(budget->row_count <= WO_LIMIT_BUDGET_ROWS);
  for (size_t i = 0; i < budget->row_count; i++) {
    check_interval(budget->rows[i].bytes);
    check_interval(budget->rows[i].host);
  }
  check_interval(budget->states);
  check_interval(budget->in_use);
  check_interval(budget->total);
  check_interval(budget->room);
  require(budget->batch_sure <= budget->batch_likely || !budget->has_batches);
}

/* As a known model's: those of the table that keep most in their own way. */
static void take_layer(struct wo_budget_input *input, size_t size) {
  static const char names[][12] = {"gemma2", "gpt2", "qwen3", "opt", "phi3", "qwen2_moe", "deepseek", "cohere", "glm4"};
  const struct wo_model_shape shape = {.architecture = wo_view_of(names[size / 2 % 9])};
  input->has_layer = size % 2 == 1;
  if (input->has_layer) input->layer = *wo_model_shape_layer(&shape);
  input->embedding_tables = (double)(size / 4 % 3);
  if (size % 5 == 1) input->experts = (struct wo_model_experts){64, 6, 1408, 2816, 1};
  if (size % 7 == 1) input->latent = (struct wo_model_latent){size % 2 == 0 ? 0 : 1536, 512, 128, 64, 128};
  if (size % 11 == 1) input->window = 1024, input->full_every = (double)(size % 6);
  if (size % 13 == 1) input->image = (struct wo_model_image){224, 1e8, 6e7};
  if (size % 17 == 1) {
    input->image.side = 512;
    input->pipeline = (struct wo_model_pipeline){.encoders = 5e9,
                                                 .largest_encoder = 4e9,
                                                 .encoder_fp32 = 1e9,
                                                 .denoiser = 12e9,
                                                 .decoder = 8e7,
                                                 .frames = size % 2 == 0 ? 0 : 81,
                                                 .denoise_bytes = 5e8,
                                                 .decode_bytes = 2e9};
  }
}

static void apply_line(struct wo_budget_report *report, struct wo_view line) {
  const struct wo_budget_input before = report->input;
  struct wo_err err = {0};
  struct wo_view value = line;
  const struct wo_view name = wo_view_cut(&value, '=');
  if (wo_command_apply(&wo_command_budget, (struct wo_given){name, value}, &report->input, &err) == WO_OK) return;
  require(err.message[0] != '\0');
  require(before.frozen_count == report->input.frozen_count && before.extra_count == report->input.extra_count);
  require(memcmp(before.values, report->input.values, sizeof before.values) == 0);
}

static void check_texts(const struct wo_budget_report *report) {
  struct wo_text text = {0};
  wo_budget_text(report, (struct wo_text_style){.width = 80}, &text);
  require(text.is_failed || text.len > 0);
  wo_text_done(&text);
  struct wo_text json = {0};
  wo_budget_json(report, &json);
  require(json.is_failed || json.len > 0);
  wo_text_done(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *const copy = malloc(size == 0 ? 1 : size);
  struct wo_budget_report *const report = calloc(1, sizeof *report);
  if (copy != NULL && report != NULL) {
    if (size > 0) memcpy(copy, data, size);
    struct wo_view rest = {copy, size};
    while (rest.len > 0) apply_line(report, wo_view_cut(&rest, '\n'));
    take_layer(&report->input, size);
    struct wo_err err = {0};
    struct wo_arena arena;
    wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
    if (wo_budget_check(&report->input, &err) == WO_OK && wo_budget_make(&report->input, &arena, &report->budget) == WO_OK) {
      check_table(&report->budget);
      check_texts(report);
    }
    wo_arena_done(&arena);
  }
  free(copy);
  free(report);
  return 0;
}
