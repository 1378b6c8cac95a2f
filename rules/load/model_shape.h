/* SPDX-License-Identifier: Apache-2.0 */
/* The table of known models: finding a printed name in it, and counting the parameters of a shape. */
#ifndef WO_MODEL_SHAPE_H
#define WO_MODEL_SHAPE_H

#include "rules/load/rule.h"

/* How a norm keeps its input: as it is; RMS norms written out in Python keep an fp32 copy of it, and what they scale with a
 * trained weight, in the input's format or (Gemma) in fp32; those that subtract the mean (Cohere) one more fp32 copy. */
enum wo_model_norm { WO_MODEL_NORM_PLAIN, WO_MODEL_NORM_ROOT, WO_MODEL_NORM_ROOT_FP32, WO_MODEL_NORM_MEAN_FP32 };

/* What a layer of the implementation in transformers (read off 5.17, torch 2.11) keeps for its backward pass. */
struct wo_model_layer {
  enum wo_model_norm norm;
  int norm_inputs;      /* inputs of norms of a layer */
  int linear_inputs;    /* outputs of norms that projections read */
  int projections;      /* that read the attention's input: 3, or 1 where queries, keys and values are one */
  int ffn_projections;  /* that read the feed-forward block's input: 2 with a gate of its own, else 1 */
  double ffn_kept;      /* inner tensors that the activation keeps, beside the last projection's input */
  double ffn_kept_fp32; /* those of them that autocast makes fp32 */
  bool is_ffn_shared;   /* the activation keeps its output, which is that input */
  bool has_rotary;      /* queries and keys are turned, and so are not views of a common tensor */
  bool has_qk_norm;
  bool has_softcap;      /* of the logits */
  bool is_router_fp32;   /* the router of experts reads an fp32 copy */
  bool has_shared_gate;  /* what the shared expert gives is scaled by a score */
  int dropouts;          /* masks of hidden width */
  bool is_output_copied; /* what attention gives is copied for the last projection */
};

/* The model that a printed name or path means, or NULL. Looks at the last part of a path (or at the name inside a cache folder
 * "models--owner--name"), in any case of letters. Only words that leave the shape unchanged (-Instruct, -AWQ, -v0.2) may follow
 * the longest known name: a further size, or any unknown word, makes it another model. An empty name gives NULL. */
const struct wo_model_shape *wo_model_shape_find(const struct wo_pack *pack, struct wo_view name);

/* The parameters that the shape adds up to, exactly as the published implementation has them (networks of images: as published);
 * 0 for an architecture that is not known. Buffers (rotary tables, masks) are no parameters. */
double wo_model_shape_parameters(const struct wo_model_shape *shape);

/* Numbers of the feed-forward blocks of one layer with experts that belong to experts which tokens are sent to, and the layers
 * that have such; 0 for a model without. */
double wo_model_shape_expert_weights(const struct wo_model_shape *shape);
double wo_model_shape_expert_layers(const struct wo_model_shape *shape);

/* How a layer of it keeps activations, or NULL for an architecture of which that is not known. */
const struct wo_model_layer *wo_model_shape_layer(const struct wo_model_shape *shape);

#endif
