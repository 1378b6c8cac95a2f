/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a job: printed dimensions, completed from the table of known shapes. */
#ifndef WO_MODEL_H
#define WO_MODEL_H

#include "analyzer/facts/facts.h"
#include "rules/load/model_shape.h"

/* WO_MODEL_DIM(enumerator, knob, member of struct wo_model_shape, label, fact or NULL) */
#define WO_MODEL_DIM_MAP(X)                                                                                                      \
  X(WO_MODEL_LAYERS, "num_layers", layers, "layers", "model.layers")                                                             \
  X(WO_MODEL_HIDDEN, "hidden_size", hidden, "hidden size", "model.hidden_size")                                                  \
  X(WO_MODEL_FFN, "ffn_size", intermediate, "feed-forward width", NULL)                                                          \
  X(WO_MODEL_HEADS, "num_heads", heads, "heads", "model.heads")                                                                  \
  X(WO_MODEL_KV_HEADS, "num_kv_heads", kv_heads, "key/value heads", "model.kv_heads")                                            \
  X(WO_MODEL_HEAD_DIM, "head_dim", head_dim, "head size", NULL)                                                                  \
  X(WO_MODEL_VOCAB, "vocab_size", vocab, "vocabulary", "model.vocab_size")

enum wo_model_dim {
#define WO_MODEL_DIM_ENUM(code, knob, member, label, fact) code,
  WO_MODEL_DIM_MAP(WO_MODEL_DIM_ENUM)
#undef WO_MODEL_DIM_ENUM
      WO_MODEL_DIM_COUNT_
};

/* The usual word for a dimension ("vocabulary"). */
const char *wo_model_dim_label(enum wo_model_dim dim);

/* A dimension of one model. An assumed one comes from the table of known shapes; the log does not print it. */
struct wo_model_number {
  double value; /* 0 = unknown */
  bool is_assumed;
  wo_event_id evidence; /* where it is printed, or the name by which it was found in the table */
};

/* One model of the job. */
struct wo_job_model {
  const struct wo_model_shape *shape; /* from the table; NULL: only printed dimensions */
  wo_event_id evidence;               /* where its name is printed, or WO_EVENT_NONE */
  struct wo_model_number dims[WO_MODEL_DIM_COUNT_];
};

/* The models that the job names or describes, at most WO_LIMIT_JOB_MODELS; returns their number. Printed dimensions and the table
 * are combined only when one known model is named and no printed dimension except the vocabulary contradicts it (vocabularies are
 * padded and extended). Otherwise printed dimensions come first, as a separate model, because it is unknown to which model they
 * belong. */
size_t wo_models_list(const struct wo_facts *facts, struct wo_job_model models[WO_LIMIT_JOB_MODELS]);

#endif
