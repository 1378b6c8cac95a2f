/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that make images and films of noise: encoders, denoiser and decoder, one after the other. See budget_maker.h; sources
 * in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_maker.h"
#include "parsers/base/units.h"

/* Sides of the tiles that a decoder works on, where it does. */
#define TILE_SIDE 512.0
#define TILE_SIDE_FILM 256.0

/* Kernels of convolutions choose their workspaces, and decoders of fewer bytes for a pixel were measured. */
#define DECODE_LOW 0.83
#define DENOISE_HIGH 1.3
#define REST_HIGH 0.03

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

bool wo__budget_has_pipeline(const struct wo_budget_input *input) {
  return input->pipeline.denoiser > 0;
}

/* Bytes of a weight. */
static double weight_of(const struct wo_budget_maker *maker) {
  const double dtype = value(maker, WO_BUDGET_DTYPE);
  return dtype == (double)WO_BUDGET_FP32 ? 4 : dtype == (double)WO_BUDGET_FP8 ? 1 : 2;
}

/* The area that is asked for, as a part of the area that was measured. */
static double area_of(const struct wo_budget_maker *maker) {
  const double side = value(maker, WO_BUDGET_IMAGE), known = maker->input->image.side;
  return side > 0 && known > 0 ? side * side / (known * known) : 1;
}

/* A part of the model, on the card at one moment or, where nothing is moved, at all. */
static void add_part(struct wo_budget_maker *maker, const char *label, double count, double each, enum wo_budget_moment moment) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "weights", label);
  const double offload = value(maker, WO_BUDGET_OFFLOAD);
  wo__budget_set_state(maker, row, wo_interval_exact(count), wo_interval_exact(each), 1, false);
  if (offload == 0) return;
  row->host = row->bytes;
  wo__budget_set_only(row, moment);
  if (offload != (double)WO_BUDGET_SEQUENTIAL) return;
  row->bytes = wo_interval_exact(0); /* one layer at a time */
  row->assumption = WO_VIEW("on the host, layer by layer on the card");
}

static void add_encoders(struct wo_budget_maker *maker) {
  const struct wo_model_pipeline *const pipeline = &maker->input->pipeline;
  const bool is_moved = value(maker, WO_BUDGET_OFFLOAD) > 0;
  add_part(maker, "encoders of the text", is_moved ? pipeline->largest_encoder : pipeline->encoders, weight_of(maker),
           WO_BUDGET_ENCODE);
  struct wo_budget_row *const row = &maker->budget->rows[maker->budget->row_count - 1];
  const double more = 2 * pipeline->encoder_fp32, dtype = value(maker, WO_BUDGET_DTYPE);
  if (value(maker, WO_BUDGET_OFFLOAD) != (double)WO_BUDGET_SEQUENTIAL && dtype != (double)WO_BUDGET_FP32 &&
      dtype != (double)WO_BUDGET_BF16)
    row->bytes = wo_interval_plus(row->bytes, (struct wo_interval){0, dtype == (double)WO_BUDGET_FP16 ? more : 0, more});
  if (is_moved && row->assumption.len == 0) row->assumption = WO_VIEW("those that are on the card at once");
  if (pipeline->other > 0) add_part(maker, "other parts", pipeline->other, weight_of(maker), WO_BUDGET_ENCODE);
}

/* Activations of one phase. */
static void add_phase(struct wo_budget_maker *maker, const char *label, double low, double bytes, double high,
                      enum wo_budget_moment moment) {
  struct wo_budget_row *const row = wo__budget_add_row(maker, "activations", label);
  const double images = wo__budget_one_or(value(maker, WO_BUDGET_MICRO_BATCH));
  row->is_known = true;
  row->bytes = (struct wo_interval){images * bytes * low, images * bytes, images * bytes * high};
  row->formula = wo_arena_format(maker->arena, "%.0f x %s", images, WO_BYTES_TEXT(bytes));
  row->assumption = WO_VIEW("in proportion to the area; attention without scores");
  wo__budget_set_only(row, moment);
}

/* Workspaces, embeddings, latents: and rounding of weights, of which there are thousands. */
static void add_rest(struct wo_budget_maker *maker) {
  double weights = 0;
  for (size_t i = 0; i < maker->budget->row_count; i++) weights += maker->budget->rows[i].bytes.mid;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "workspaces and rounding");
  row->is_known = true;
  row->bytes = (struct wo_interval){0, 64 * WO_MIB, 64 * WO_MIB + REST_HIGH * weights};
  row->assumption = WO_VIEW("3 % of the weights at the high end");
}

void wo__budget_add_pipeline(struct wo_budget_maker *maker) {
  const struct wo_model_pipeline *const pipeline = &maker->input->pipeline;
  const double frames = value(maker, WO_BUDGET_FRAMES), side = maker->input->image.side;
  const double length = frames > 0 && pipeline->frames > 0 ? frames / pipeline->frames : 1;
  const double quantised = value(maker, WO_BUDGET_QUANTIZE) == (double)WO_BUDGET_4BIT ? 0.5625 : 1;
  const double each = value(maker, WO_BUDGET_QUANTIZE) > 0 ? quantised : weight_of(maker);
  const double wide = fmax(1, weight_of(maker) / 2);
  const double tile_side = pipeline->frames > 0 ? TILE_SIDE_FILM : TILE_SIDE;
  const double tile = fmin(1, tile_side * tile_side / (side * side * area_of(maker)));
  add_encoders(maker);
  add_part(maker, "denoiser", pipeline->denoiser, each, WO_BUDGET_DENOISE);
  add_part(maker, "decoder", pipeline->decoder, pipeline->is_decoder_fp32 ? 4 : weight_of(maker), WO_BUDGET_DECODE);
  add_rest(maker);
  add_phase(maker, "denoising", 1, wide * area_of(maker) * length * pipeline->denoise_bytes, DENOISE_HIGH, WO_BUDGET_DENOISE);
  const double decode = area_of(maker) * pipeline->decode_bytes * (value(maker, WO_BUDGET_TILING) > 0 ? tile : 1);
  add_phase(maker, "decoding", DECODE_LOW, (pipeline->is_decoder_fp32 ? 1 : wide) * decode, 1.05, WO_BUDGET_DECODE);
}
