/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of layers as trace lines. */
#include "tests/support/replay/layered_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "tests/support/replay/trace_sample.h"

static void add_blocks(struct wo_text *text, unsigned *id, unsigned count, unsigned mib, int stack) {
  for (unsigned i = 0; i < count; i++)
    wo_text_add(text, "{\"alloc\": %llu, \"id\": %u, \"stack\": %d}\n", (unsigned long long)mib << 20, ++*id, stack);
}

void wo_layered_begin(struct wo_text *text, const char *settings, unsigned weights, unsigned mib) {
  unsigned id = 0;
  wo_text_add(text, "{\"whyoom_trace\": 1, \"torch\": \"2.6\"");
  if (settings) wo_text_add(text, ", \"settings\": \"%s\"", settings);
  wo_text_add(text, "}\n"
                    "{\"frame\": 0, \"function\": \"_apply\", \"file\": \"torch/nn/modules/module.py\", \"line\": 1}\n"
                    "{\"frame\": 1, \"function\": \"at::_ops::mm::call(\", \"file\": \"??\"}\n"
                    "{\"frame\": 2, \"function\": \"forward\", \"file\": \"model.py\", \"line\": 2}\n"
                    "{\"frame\": 3, \"function\": \"torch::autograd::generated::MmBackward0::apply(\", \"file\": \"??\"}\n"
                    "{\"frame\": 4, \"function\": \"torch::autograd::Engine::evaluate_function(\", \"file\": \"??\"}\n"
                    "{\"frame\": 5, \"function\": \"step\", \"file\": \"torch/optim/adamw.py\", \"line\": 3}\n"
                    "{\"stack\": 0, \"frames\": [0]}\n{\"stack\": 1, \"frames\": [1, 2]}\n{\"stack\": 2, \"frames\": [3, 4]}\n"
                    "{\"stack\": 3, \"frames\": [5]}\n{\"stack\": 4, \"frames\": [2]}\n");
  add_blocks(text, &id, weights, mib, WO_LAYERED_LOAD);
}

void wo_layered_forward(struct wo_text *text, unsigned *id, unsigned count, unsigned mib) {
  add_blocks(text, id, count, mib, WO_LAYERED_FORWARD);
}

struct wo_recording *wo_layered_read(struct wo_text *text) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  assert_false(text->is_failed);
  const enum wo_status status = wo_sample_read(wo_trace_lines_read, (struct wo_view){text->ptr, text->len}, 0, &recording, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  wo_text_done(text);
  return recording;
}
