/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by component, from sizes and settings: the arithmetic of `whyoom budget`. docs/budget.md lists every formula with its
 * source.
 *
 * Pure: inputs in, a table out; nothing is read and nothing is printed. All sizes are of one rank (one card) and in bytes. A
 * component whose inputs are missing is unknown, never zero, and names the inputs that it needs. If an assumption spans a range,
 * the row is an interval, and its middle follows the assumption in the row. */
#ifndef WO_BUDGET_H
#define WO_BUDGET_H

#include "parsers/base/arena.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "rules/load/model_shape.h"

/* The inputs, each an option (budget_args.c has their syntax). A value of 0 means "not given". */
enum wo_budget_key {
  WO_BUDGET_PARAMS,
  WO_BUDGET_TRAINABLE,
  WO_BUDGET_ADAPTERS,
  WO_BUDGET_DTYPE,
  WO_BUDGET_AUTOCAST,
  WO_BUDGET_GRAD_DTYPE,
  WO_BUDGET_OPTIMIZER,
  WO_BUDGET_OPTIMIZER_DTYPE,
  WO_BUDGET_GALORE_RANK,
  WO_BUDGET_MASTER,
  WO_BUDGET_QUANTIZE,
  WO_BUDGET_LORA_RANK,
  WO_BUDGET_LORA_TARGETS,
  WO_BUDGET_LORA_DROPOUT,
  WO_BUDGET_DORA,
  WO_BUDGET_GPUS,
  WO_BUDGET_ZERO,
  WO_BUDGET_FSDP,
  WO_BUDGET_TENSOR,
  WO_BUDGET_SEQUENCE,
  WO_BUDGET_PIPELINE,
  WO_BUDGET_INTERLEAVE,
  WO_BUDGET_PIPELINE_STAGE,
  WO_BUDGET_CONTEXT,
  WO_BUDGET_EXPERT,
  WO_BUDGET_MEGATRON,
  WO_BUDGET_UNIT,
  WO_BUDGET_OFFLOAD_OPTIMIZER,
  WO_BUDGET_OFFLOAD_PARAMS,
  WO_BUDGET_MICRO_BATCH,
  WO_BUDGET_GRAD_ACCUM,
  WO_BUDGET_SEQ_LEN,
  WO_BUDGET_IMAGE,
  WO_BUDGET_FRAMES,
  WO_BUDGET_OFFLOAD,
  WO_BUDGET_TILING,
  WO_BUDGET_LAYERS,
  WO_BUDGET_HIDDEN,
  WO_BUDGET_HEADS,
  WO_BUDGET_KV_HEADS,
  WO_BUDGET_HEAD_DIM,
  WO_BUDGET_FFN,
  WO_BUDGET_VOCAB,
  WO_BUDGET_CHECKPOINTING,
  WO_BUDGET_ATTENTION,
  WO_BUDGET_FUSED_LOSS,
  WO_BUDGET_LIGER,
  WO_BUDGET_UNSLOTH,
  WO_BUDGET_OFFLOAD_ACTIVATIONS,
  WO_BUDGET_CRITIC,
  WO_BUDGET_ROLLOUT,
  WO_BUDGET_ROLLOUT_STAYS,
  WO_BUDGET_LOSS_FORM,
  WO_BUDGET_INFERENCE,
  WO_BUDGET_MAX_SEQS,
  WO_BUDGET_MAX_LEN,
  WO_BUDGET_MAX_TOKENS,
  WO_BUDGET_UTILISATION,
  WO_BUDGET_EAGER,
  WO_BUDGET_KV_DTYPE,
  WO_BUDGET_CAPACITY,
  WO_BUDGET_KEY_COUNT_
};

/* The choices, by their place from 1. */
enum { WO_BUDGET_FP32 = 1, WO_BUDGET_BF16, WO_BUDGET_FP16, WO_BUDGET_AMP, WO_BUDGET_FP8 };
enum {
  WO_BUDGET_ADAM = 1,
  WO_BUDGET_ADAMW,
  WO_BUDGET_ADAM8BIT,
  WO_BUDGET_SGD,
  WO_BUDGET_SGD_MOMENTUM,
  WO_BUDGET_ADAFACTOR,
  WO_BUDGET_LION,
  WO_BUDGET_NO_OPTIMIZER,
  WO_BUDGET_ADAMW_FUSED,
  WO_BUDGET_PAGED_ADAM8BIT,
  WO_BUDGET_LION8BIT,
  WO_BUDGET_MUON,
  WO_BUDGET_GALORE
};
enum { WO_BUDGET_NONE = 1, WO_BUDGET_SELECTIVE, WO_BUDGET_FULL };
enum { WO_BUDGET_FLASH = 1, WO_BUDGET_SCORES, WO_BUDGET_SDPA };
enum { WO_BUDGET_ON = 1, WO_BUDGET_OFF };
enum { WO_BUDGET_BY_MODEL = 1, WO_BUDGET_SEQUENTIAL };
enum { WO_BUDGET_FIRST_STAGE = 1, WO_BUDGET_LAST_STAGE };
enum { WO_BUDGET_PLAIN = 1, WO_BUDGET_SHIFTED };
enum { WO_BUDGET_ALL_LINEAR = 1, WO_BUDGET_ALL_ATTENTION, WO_BUDGET_QUERY_VALUE };
enum { WO_BUDGET_8BIT = 1, WO_BUDGET_4BIT };

/* A frozen model beside the trained one: no gradients, no states, not sharded. */
struct wo_budget_frozen {
  struct wo_view name;
  double parameters;
  double bytes_per_parameter;
};

/* Bytes measured at a micro-batch and, when seq_len > 0, at a length; they are scaled to those of the budget. micro_batch 0: the
 * bytes do not depend on it. */
struct wo_budget_measured {
  struct wo_interval bytes;
  double micro_batch;
  double seq_len;
};

/* Memory that one rank needs and the others do not. */
struct wo_budget_extra {
  uint32_t rank;
  struct wo_budget_measured measured;
};

/* A figure that the user gives for a component. `row` is the id of a row. */
struct wo_budget_stated {
  struct wo_view row;
  struct wo_interval bytes;
};

/* The moments of a training step at which the memory can be at its peak. A program that serves is always at the first. */
enum wo_budget_moment {
  WO_BUDGET_FORWARD,   /* the end of the forward pass, in the loss */
  WO_BUDGET_LOSS,      /* the backward pass of the loss */
  WO_BUDGET_LAYER,     /* the backward pass of the last layer, the first one to be done */
  WO_BUDGET_FIRST,     /* the backward pass of the first layer: the others' gradients are there */
  WO_BUDGET_GRADIENTS, /* the end of the backward pass: all gradients are there */
  WO_BUDGET_STEP,      /* the optimizer's step */
  WO_BUDGET_GENERATE,  /* between steps: a rollout engine on the same card makes samples */
  WO_BUDGET_ENCODE,    /* a pipeline of images: its text is encoded, */
  WO_BUDGET_DENOISE,   /* noise is taken away, */
  WO_BUDGET_DECODE,    /* and the image is made of what is left */
  WO_BUDGET_MOMENT_COUNT_
};

struct wo_budget_input {
  double values[WO_BUDGET_KEY_COUNT_];
  struct wo_budget_frozen frozen[WO_LIMIT_BUDGET_ITEMS];
  size_t frozen_count;
  struct wo_budget_extra extras[WO_LIMIT_BUDGET_ITEMS];
  size_t extra_count;
  struct wo_budget_stated stated[WO_LIMIT_BUDGET_ITEMS];
  size_t stated_count;
  double embedding_tables; /* 2: the output projection has one of its own, 1: it is the embedding's; 0: not known */
  bool has_layer;          /* how a layer keeps activations is known */
  struct wo_model_layer layer;
  struct wo_model_experts experts;   /* zero: none */
  struct wo_model_latent latent;     /* zero: keys and values are kept as they are */
  double window;                     /* tokens that layers with one look back; 0: none */
  struct wo_model_image image;       /* zero: no network of images */
  struct wo_model_pipeline pipeline; /* zero: none; the side of its images is in `image` */
  double full_every;                 /* layers of these that have none: one of so many; 0: none of them */
  double file_dtype;                 /* of the weights in the files of the model, for serving; 0: not known */
  double file_quantize;              /* likewise */
  bool is_last_stage;                /* of a pipeline; else the first is looked at. wo_budget_make looks at both */
  double live_factor;   /* a measured peak over the computed one, for what grows with the batch; 0: none was measured */
  bool has_activations; /* measured, in place of the formula */
  struct wo_budget_measured activations;
};

/* One component. Ids are the names of the JSON form: weights, embeddings, frozen, adapters, gradients, optimizer, critic,
 * activations, logits, kv_cache, graphs, rollout, buffers, context, extra. Texts live in the arena; empty ones have nothing to
 * say. */
struct wo_budget_row {
  struct wo_view id;
  struct wo_view label;
  bool is_known;
  bool is_state;                                     /* counts into the model states */
  int32_t rank;                                      /* the only rank that has it, or -1 */
  struct wo_interval bytes;                          /* on the card */
  struct wo_interval host;                           /* on the host, for this rank */
  bool is_outside;                                   /* of the framework's allocator */
  struct wo_interval share[WO_BUDGET_MOMENT_COUNT_]; /* of the bytes that are there at each moment */
  struct wo_view formula;                            /* with its numbers; for an unknown row, the inputs that it needs */
  struct wo_view assumption;                         /* what the bytes rest on */
  bool is_stated;
  struct wo_interval stated;
  struct wo_view stated_note; /* how the stated figure differs */
};

enum wo_budget_verdict {
  WO_BUDGET_OPEN,    /* no capacity is given, or the known components fit and one is unknown */
  WO_BUDGET_FITS,    /* at the upper end of every interval */
  WO_BUDGET_TIGHT,   /* by the assumptions, not at the upper end */
  WO_BUDGET_NOT_FIT, /* not by the assumptions */
};

struct wo_budget {
  struct wo_budget_row rows[WO_LIMIT_BUDGET_ROWS];
  size_t row_count;
  struct wo_interval states;  /* weights, gradients, optimizer states, frozen models */
  enum wo_budget_moment peak; /* when most is needed, by the assumptions */
  bool is_last_stage;         /* the last stage of a pipeline needs more than the first */
  struct wo_interval in_use;  /* tensors at the peak, for the rank that needs most: what PyTorch calls allocated */
  struct wo_interval total;   /* all of the card at the peak, for the rank that needs most; known components only */
  struct wo_interval others;  /* of ranks without extras; equal to total without any */
  struct wo_interval host;    /* for one rank */
  bool is_complete;           /* no component is unknown */
  enum wo_budget_verdict verdict;
  struct wo_interval seen;   /* memory in use and requested in the log, if it overrules the verdict (wo_budget_compare); else 0 */
  double limit;              /* of the card, what the program may use; 0 without a capacity */
  struct wo_interval judged; /* what has to fit in it: the total, less what an engine has beside its part of the card */
  double margin;             /* the limit less the middle of that; 0 without a capacity */
  bool has_batches;          /* the two below are known */
  double batch_sure;         /* largest micro-batch that fits at the upper end; 0 = none */
  double batch_likely;       /* by the assumptions; 0 = none */
  bool has_room;             /* an engine's: what is left for its KV cache, and the bytes of a token in it */
  struct wo_interval room;
  double token_bytes;
  bool has_stages;
  struct wo_interval stages[4]; /* model states of a rank at ZeRO 0 to 3 */
};

/* Computes the table. Texts live in `arena`. WO_E_NOMEM; else WO_OK, whatever the inputs. */
enum wo_status wo_budget_make(const struct wo_budget_input *given, struct wo_arena *arena, struct wo_budget *ret_budget);

/* The name of a verdict in JSON: open, fits, tight, does_not_fit. */
const char *wo_budget_verdict_name(enum wo_budget_verdict verdict);

/* Bytes of one number of a dtype choice: fp32 4, bf16 and fp16 2, amp 4, fp8 1; 0 for 0. */
double wo_budget_dtype_bytes(double choice);

/* The name of a moment in JSON: forward, loss, layer, gradients, step; and in words. */
const char *wo_budget_moment_name(enum wo_budget_moment moment);
const char *wo_budget_moment_words(enum wo_budget_moment moment);

/* Trained parameters beside the model: as stated, or those that a LoRA rank gives (analyzer/budget/budget_layer.c). */
struct wo_interval wo__budget_adapters(const struct wo_budget_input *input);

/* The part of the budget that grows with the batch (budget_live.c, budget_megatron.c, budget_serving.c): each fills its row. */
void wo__budget_activations(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
void wo__budget_megatron(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
void wo__budget_again(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
void wo__budget_logits(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
void wo__budget_cache(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
void wo__budget_pass(const struct wo_budget_input *input, struct wo_arena *arena, struct wo_budget_row *row);
bool wo__budget_has_pipeline(const struct wo_budget_input *input);
void wo__budget_graphs(const struct wo_budget_input *input, struct wo_budget_row *row);

/* Whether the program is a serving engine: one that serves, and does not say the size of its own forward passes. */
bool wo__budget_is_engine(const struct wo_budget_input *input);

/* Bytes of one token in the KV cache of one card, in the mean of a sequence at full length; 0 where a size is missing. */
double wo__budget_cached_token(const struct wo_budget_input *input);

/* Measured bytes at the input's micro-batch and length. */
struct wo_interval wo__budget_scaled(const struct wo_budget_input *input, const struct wo_budget_measured *measured,
                                     struct wo_arena *arena, struct wo_view *ret_formula);

#endif
