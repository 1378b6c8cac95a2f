/* SPDX-License-Identifier: Apache-2.0 */
/* What the optimizer's step makes beside its states. See budget_maker.h; sources in docs/budget.md. */
#include <math.h>

#include "analyzer/budget/budget_layer.h"
#include "analyzer/budget/budget_maker.h"

/* Numbers that DeepSpeed's stage 3 handles at once in a step, by default. */
#define ZERO_GROUP 1e9

static double value(const struct wo_budget_maker *maker, enum wo_budget_key key) {
  return maker->input->values[key];
}

/* DeepSpeed makes fp32 gradients of its partition for the step; PyTorch's Adam has its temporaries besides, DeepSpeed's own none.
 */
static void add_zero_step(struct wo_budget_maker *maker, bool is_torch_adam) {
  const double share = maker->trained_p.mid / maker->data_parallel;
  const double count = maker->stage >= 3 ? fmin(share, ZERO_GROUP) : share, part = 4 * count;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "temporaries of the step");
  row->is_known = true;
  row->bytes = (struct wo_interval){part, is_torch_adam ? 2 * part : part, is_torch_adam ? 2 * part : part};
  row->formula = wo_arena_format(maker->arena, "%.0f x %d B", count, is_torch_adam ? 8 : 4);
  row->assumption =
      is_torch_adam
          ? WO_VIEW("fp32 gradients of the partition, and PyTorch's temporaries, which DeepSpeed's own Adam does not make")
          : WO_VIEW("fp32 gradients of the partition");
  wo__budget_set_only(row, WO_BUDGET_STEP);
}

/* Temporaries of a step: numbers, and bytes for each. */
struct temporaries {
  double count;
  double each;
  struct wo_view why;
};

static double widest_matrix(const struct wo_budget_maker *maker) {
  struct wo_budget_weight weights[WO_BUDGET_WEIGHTS];
  const size_t count = wo__budget_weights(maker->input, false, weights);
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, weights[i].in * weights[i].out);
  return most;
}

/* PyTorch's Adam handles all parameters at once, with a temporary for each; fused and 8-bit ones have none. */
static struct temporaries temporaries_of(const struct wo_budget_maker *maker) {
  const double moment = wo__budget_moment_bytes(maker).mid, trained = maker->trained_p.mid;
  const double largest = fmin(wo__budget_table(maker), trained);
  switch ((int)value(maker, WO_BUDGET_OPTIMIZER)) {
  case 0:
  case WO_BUDGET_ADAM:
  case WO_BUDGET_ADAMW:
    return (struct temporaries){trained, moment, WO_VIEW("a root of all second moments at once; none with a fused optimizer")};
  case WO_BUDGET_MUON:
    return (struct temporaries){fmin(wo__budget_tables(maker), trained), moment, WO_VIEW("a root of the tables' second moments")};
  case WO_BUDGET_GALORE:
    return (struct temporaries){largest, 2 * moment,
                                WO_VIEW("of the largest weight; fp32 copies for a projection at the high end")};
  case WO_BUDGET_ADAFACTOR:
    return (struct temporaries){largest, wo__budget_is_16bit(value(maker, WO_BUDGET_DTYPE)) ? 16 : 8,
                                WO_VIEW("fp32 copies of the largest weight")};
  default:
    return (struct temporaries){0, 0, {0}};
  }
}

void wo__budget_add_step(struct wo_budget_maker *maker) {
  const double optimizer = value(maker, WO_BUDGET_OPTIMIZER);
  if (value(maker, WO_BUDGET_OFFLOAD_OPTIMIZER) > 0) return;
  if (wo__budget_is_deepspeed(maker) && wo__budget_is_16bit(value(maker, WO_BUDGET_DTYPE))) {
    add_zero_step(maker, optimizer == 0 || optimizer == (double)WO_BUDGET_ADAM || optimizer == (double)WO_BUDGET_ADAMW);
    return;
  }
  if (value(maker, WO_BUDGET_MASTER) > 0 || value(maker, WO_BUDGET_MEGATRON) > 0) return;
  if (value(maker, WO_BUDGET_TENSOR) > 1 || value(maker, WO_BUDGET_PIPELINE) > 1) return;
  const struct temporaries made = temporaries_of(maker);
  const double bytes = made.count * made.each / wo__budget_divided(maker, 1);
  if (bytes == 0) return;
  struct wo_budget_row *const row = wo__budget_add_row(maker, "buffers", "temporaries of the step");
  row->is_known = true;
  row->bytes = (struct wo_interval){optimizer == 0 ? 0 : bytes, bytes, bytes};
  if (optimizer == (double)WO_BUDGET_GALORE) row->bytes.hi = fmax(bytes, 16 * widest_matrix(maker));
  row->formula = wo_arena_format(maker->arena, "%.0f x %g B", made.count, made.each);
  row->assumption = made.why;
  wo__budget_set_only(row, WO_BUDGET_STEP);
}
