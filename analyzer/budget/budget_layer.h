/* SPDX-License-Identifier: Apache-2.0 */
/* What one layer of a transformer keeps for its backward pass, and what of it is there again when it is computed anew. */
#ifndef WO_BUDGET_LAYER_H
#define WO_BUDGET_LAYER_H

#include "analyzer/budget/budget.h"

/* Whether the model is a network of images, of which a step's peak was measured. */
bool wo__budget_has_image(const struct wo_budget_input *input);

/* Whether the layers are those of transformers, whose parts are known: the model's are, and no other framework divides them. */
bool wo__budget_has_layer(const struct wo_budget_input *input);

/* Bytes that one layer of transformers keeps for each token of a micro-batch. Needs has_layer, hidden, heads, seq_len. */
struct wo_interval wo__budget_layer(const struct wo_budget_input *input);

/* Bytes of what flows between layers, for each token: what checkpointing keeps of a layer. */
struct wo_interval wo__budget_layer_input(const struct wo_budget_input *input);

/* Bytes for each token that the backward pass of a layer makes beside what it reads. */
struct wo_interval wo__budget_layer_made(const struct wo_budget_input *input);

/* Bytes for each token of the last norm and of what the output projection keeps. */
struct wo_interval wo__budget_layer_end(const struct wo_budget_input *input);

/* The weights of a layer's projections, in at most WO_BUDGET_WEIGHTS of them. An unknown layer has those of Llama's kind. */
struct wo_budget_weight {
  double in;
  double out;
  double
      part; /* which adapters reach it at least: WO_BUDGET_QUERY_VALUE, WO_BUDGET_ALL_ATTENTION, WO_BUDGET_ALL_LINEAR; or none */
  double experts; /* that have one each, in one tensor; 0: no experts */
};
enum { WO_BUDGET_WEIGHTS = 11, WO_BUDGET_NO_ADAPTERS = 0 };

/* Lists those of a layer with experts, or of one without; needs hidden. Returns their number. */
size_t wo__budget_weights(const struct wo_budget_input *input, bool has_experts,
                          struct wo_budget_weight weights[WO_BUDGET_WEIGHTS]);

/* Layers with experts; the numbers of all experts; bytes that adapters of experts make of a layer's experts beside the tokens'.
 */
double wo__budget_expert_layers(const struct wo_budget_input *input);
double wo__budget_expert_numbers(const struct wo_budget_input *input);
double wo__budget_expert_copies(const struct wo_budget_input *input);

/* A sum over the projections of all layers. */
double wo__budget_sum_weights(const struct wo_budget_input *input,
                              double (*of)(const struct wo_budget_input *input, struct wo_budget_weight weight));

/* The widest matrices that DoRA's adapters make for the norm of one weight, in bytes; 0 without them. */
double wo__budget_dora_norms(const struct wo_budget_input *input);

/* Tokens of a micro-batch on one card. */
double wo__budget_tokens(const struct wo_budget_input *input);

/* Bytes of one number in the products of layers: 4 in fp32 without autocast, else 2. */
double wo__budget_layer_number(const struct wo_budget_input *input);

#endif
