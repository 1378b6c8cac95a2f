/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder upwards as JSON (docs/schema/report-1.schema.json, "ladder"). A 0 that means "not known" is written as null. */
#include "analyzer/report/report_json_internal.h"

static void put_positive(struct wo_json_out *out, cJSON *object, const char *key, double value) {
  wo_json_put(out, object, key, value > 0 ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

static void put_rung(struct wo_json_out *out, cJSON *array, const struct wo_ladder_rung *rung) {
  cJSON *const object = wo_json_push(out, array, cJSON_CreateObject());
  put_positive(out, object, "micro_batch", rung->micro_batch);
  put_positive(out, object, "seq_len", rung->seq_len);
  put_positive(out, object, "grad_accum", rung->grad_accum);
  put_positive(out, object, "global_batch", rung->global_batch);
  put_positive(out, object, "token_factor", rung->token_factor);
  cJSON *const peak = wo_json_put_object(out, object, "peak_bytes");
  wo_json_put_bytes(out, peak, "lo", rung->peak_bytes.lo);
  wo_json_put_bytes(out, peak, "hi", rung->peak_bytes.hi);
  wo_json_put(out, object, "verdict", cJSON_CreateString(wo_ladder_verdict_name(rung->verdict)));
}

/* Tokens of the failed run divided by those of the run that fits; 0 without a failed run. */
static double failed_factor(const struct wo_ladder_base *base) {
  const bool has_lengths = base->failed_seq_len > 0 && base->run.seq_len > 0;
  return base->failed_micro_batch / base->run.micro_batch * (has_lengths ? base->failed_seq_len / base->run.seq_len : 1);
}

static void put_base(struct wo_json_out *out, cJSON *object, const struct wo_ladder *ladder) {
  const struct wo_ladder_base *const base = &ladder->base;
  put_positive(out, object, "micro_batch", base->run.micro_batch);
  put_positive(out, object, "seq_len", base->run.seq_len);
  put_positive(out, object, "global_batch", base->global_batch);
  wo_json_put_bytes(out, object, "peak_bytes", base->run.peak_bytes);
  wo_json_put_bytes(out, object, "capacity_bytes", base->capacity_bytes);
  wo_json_put_bytes(out, object, "margin_bytes", ladder->margin_bytes);
  wo_json_put_bytes(out, object, "fixed_bytes", base->run.fixed_bytes);
  wo_json_put(out, object, "source", cJSON_CreateString(ladder->is_trace ? "trace" : "statistics"));
  wo_json_put_bool(out, object, "settings_by_name", ladder->is_hint);
  wo_json_put(out, object, "evidence", wo__json_id(ladder->evidence));
  put_positive(out, object, "failed_token_factor", failed_factor(base));
}

void wo__json_ladder(struct wo_json_out *out, cJSON *parent, const char *key, const struct wo_ladder *ladder) {
  cJSON *const object = wo_json_put_object(out, parent, key);
  put_base(out, object, ladder);
  cJSON *const rungs = wo_json_put_array(out, object, "rungs");
  for (size_t i = 0; i < ladder->rung_count; i++) put_rung(out, rungs, &ladder->rungs[i]);
}
