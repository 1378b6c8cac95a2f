/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes config.json and the header of a safetensors file: any bytes give a shape of numbers in range, or a message. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model_config.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shape(const struct wo_model_shape *shape) {
  const double numbers[] = {shape->layers,   shape->hidden,   shape->intermediate, shape->heads,
                            shape->kv_heads, shape->head_dim, shape->vocab,        shape->positions};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) require(numbers[i] >= 0 && numbers[i] <= 1e10);
  require(shape->layers >= 1 && shape->hidden >= 1 && shape->heads >= 1 && isfinite(shape->parameters));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *const copy = malloc(size == 0 ? 1 : size);
  if (!copy) return 0;
  if (size > 0) memcpy(copy, data, size);
  struct wo_arena arena;
  struct wo_err err = {.code = WO_OK};
  struct wo_model_shape shape;
  struct wo_model_tensors tensors = {.parameters = 0};
  wo_arena_init(&arena, 65536);
  const enum wo_status status = wo_model_config_read((struct wo_view){copy, size}, &arena, &shape, &err);
  if (status == WO_OK) check_shape(&shape);
  require(status == WO_OK || status == WO_E_NOMEM || err.message[0] != '\0');
  if (wo_model_tensors_add((struct wo_view){copy, size}, &tensors, &err) == WO_OK) require(tensors.parameters >= 0);
  wo_arena_done(&arena);
  free(copy);
  return 0;
}
