/* The model of a job: what is printed of it, and what the table of known shapes adds. */
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

/* What people call a dimension ("vocabulary"). */
const char *wo_model_dim_label(enum wo_model_dim dim);

/* A dimension of one model. An assumed one comes from the table of known shapes: nothing in the log prints it. */
struct wo_model_number {
  double value; /* 0 = unknown */
  bool is_assumed;
  wo_event_id evidence; /* where it is printed, or where the name is that led to the table */
};

/* One model of the job. */
struct wo_job_model {
  const struct wo_model_shape *shape; /* of the table; NULL: only printed dimensions */
  wo_event_id evidence;               /* where its name is printed, or WO_EVENT_NONE */
  struct wo_model_number dims[WO_MODEL_DIM_COUNT_];
};

/* The models that the job names or describes, at most WO_LIMIT_JOB_MODELS; returns their number. Printed dimensions and the table
 * are put together only when one known model is named and no printed dimension but the vocabulary speaks against it (vocabularies
 * are padded and extended). Otherwise printed dimensions stand first, as a model of their own: nothing tells whose they are. */
size_t wo_models_list(const struct wo_facts *facts, struct wo_job_model models[WO_LIMIT_JOB_MODELS]);

#endif
