/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of programs: what a job does with the card. Signs (rules/packs/programs/) show one, and fixes say for which they are
 * meant. */
#ifndef WO_PROGRAM_KIND_H
#define WO_PROGRAM_KIND_H

/* WO_PROGRAM(enumerator, name in rule files and reports, meaning) */
#define WO_PROGRAM_MAP(X)                                                                                                        \
  X(WO_PROGRAM_TRAINING, "training", "computes gradients and updates weights, with an engine inside or without")                 \
  X(WO_PROGRAM_INFERENCE_SERVER, "inference_server", "answers requests with a model that it holds")                              \
  X(WO_PROGRAM_BATCH_GENERATION, "batch_generation", "runs a model over inputs without gradients, evaluation included")          \
  X(WO_PROGRAM_IMAGE_PIPELINE, "image_pipeline", "makes or enlarges images or videos")                                           \
  X(WO_PROGRAM_CONVERSION, "conversion", "quantises, merges, exports or builds a model")                                         \
  X(WO_PROGRAM_BENCHMARK, "benchmark", "measures speed or memory")

enum wo_program_kind {
  WO_PROGRAM_UNKNOWN,
#define WO_PROGRAM_ENUM(code, name, meaning) code,
  WO_PROGRAM_MAP(WO_PROGRAM_ENUM)
#undef WO_PROGRAM_ENUM
      WO_PROGRAM_COUNT_
};

/* A set of kinds: one bit for each, WO_PROGRAM_UNKNOWN included. */
#define WO_PROGRAM_BIT(kind) (1u << (unsigned)(kind))
#define WO_PROGRAM_ANY (WO_PROGRAM_BIT(WO_PROGRAM_COUNT_) - 1u)

#endif
