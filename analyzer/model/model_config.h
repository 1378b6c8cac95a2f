/* SPDX-License-Identifier: Apache-2.0 */
/* A model's own description: the config.json of transformers, and the headers of safetensors files. Only these are read, no
 * weight. */
#ifndef WO_MODEL_CONFIG_H
#define WO_MODEL_CONFIG_H

#include "parsers/base/arena.h"
#include "parsers/base/limits.h"
#include "rules/load/model_shape.h"

/* What the headers of a model's safetensors files add up to. */
struct wo_model_tensors {
  double parameters; /* numbers in all tensors */
};

/* Reads a config.json (of transformers; a "text_config" in it is taken for the whole). Numbers that it does not have are those of
 * its model_type's defaults; `parameters` is what the shape adds up to, or 0 for an architecture that is not known. Texts live in
 * the arena. WO_E_SYNTAX: no JSON object; WO_E_UNKNOWN: no layers, no width or no heads in it; WO_E_RANGE: a number that
 * cannot be; WO_E_NOMEM. */
enum wo_status wo_model_config_read(struct wo_view json, struct wo_arena *arena, struct wo_model_shape *ret_shape,
                                    struct wo_err *err);

/* Adds the tensors of one safetensors header, the JSON behind the first 8 bytes. WO_E_SYNTAX: not one; WO_E_NOMEM. */
enum wo_status wo_model_tensors_add(struct wo_view header, struct wo_model_tensors *tensors, struct wo_err *err);

/* Reads what `path` is: a config.json, a safetensors file, or a folder of them. ret_shape->layers stays 0 without a config.json.
 * WO_E_IO: it cannot be read; WO_E_LIMIT: it is too large; else as above. The file is in the message. */
enum wo_status wo_model_path_read(const char *path, struct wo_arena *arena, struct wo_model_shape *ret_shape,
                                  struct wo_model_tensors *ret_tensors, struct wo_err *err);

#endif
