/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of scalings and transforms: any text gives values in their ranges or a message with a place. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda_replay/change/scale.h"
#include "cuda_replay/change/transforms.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_scale(struct wo_view text) {
  struct wo_scale_spec spec;
  struct wo_err err = {0};
  enum wo_status status = wo_scale_parse(text, &spec, &err);
  if (status != WO_OK) {
    require(err.code == status && strlen(err.message) > 0 && err.offset <= text.len);
    return;
  }
  bool has_any = false;
  for (enum wo_scale_axis_id id = 0; id < WO_AXIS_COUNT_; id++) {
    const struct wo_scale_axis *axis = &spec.axes[id];
    require((axis->from == 0) == (axis->to == 0));
    has_any = has_any || axis->from != 0;
  }
  require(has_any);
}

static void read_transform(struct wo_view text) {
  const struct wo_transform *transform;
  uint32_t amount;
  struct wo_err err = {0};
  enum wo_status status = wo_transform_parse(text, &transform, &amount, &err);
  if (status != WO_OK) {
    require(err.code == status && strlen(err.message) > 0);
    return;
  }
  require(amount <= transform->amount_max);
  require(amount == 0 || amount >= transform->amount_min);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct wo_view text = {(const char *)data, size};
  read_scale(text);
  read_transform(text);
  return 0;
}
