/* The ladder upwards as JSON (docs/schema/report-1.schema.json, "ladder"). A figure of which 0 means "not known" is written as
 * null. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#include "analyzer/ladder.h"

enum { ID_BYTES = 24 };

/* Adds an item that may not have been made; a failure is remembered, and seen once at the end. */
static void put(cJSON *object, const char *key, cJSON *item, bool *is_failed) {
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return;
  cJSON_Delete(item);
  *is_failed = true;
}

static void put_positive(cJSON *object, const char *key, double value, bool *is_failed) {
  put(object, key, value > 0 ? cJSON_CreateNumber(value) : cJSON_CreateNull(), is_failed);
}

static void put_bytes(cJSON *object, const char *key, double bytes, bool *is_failed) {
  put(object, key, cJSON_CreateNumber(round(bytes)), is_failed);
}

static cJSON *id_item(wo_event_id id) {
  char text[ID_BYTES];
  if (id == WO_EVENT_NONE) return cJSON_CreateNull();
  snprintf(text, sizeof text, "e%llu", (unsigned long long)id);
  return cJSON_CreateString(text);
}

static cJSON *rung_item(const struct wo_ladder_rung *rung, bool *is_failed) {
  cJSON *const object = cJSON_CreateObject();
  if (object == NULL) return NULL;
  put_positive(object, "micro_batch", rung->micro_batch, is_failed);
  put_positive(object, "seq_len", rung->seq_len, is_failed);
  put_positive(object, "grad_accum", rung->grad_accum, is_failed);
  put_positive(object, "global_batch", rung->global_batch, is_failed);
  put_positive(object, "token_factor", rung->token_factor, is_failed);
  cJSON *const peak = cJSON_AddObjectToObject(object, "peak_bytes");
  if (peak == NULL) {
    *is_failed = true;
  } else {
    put_bytes(peak, "lo", rung->peak_bytes.lo, is_failed);
    put_bytes(peak, "hi", rung->peak_bytes.hi, is_failed);
  }
  put(object, "verdict", cJSON_CreateString(wo_ladder_verdict_name(rung->verdict)), is_failed);
  return object;
}

/* Tokens of the failed run over those of the one that fits; 0 without a failed run. */
static double failed_factor(const struct wo_ladder_base *base) {
  const bool has_lengths = base->failed_seq_len > 0 && base->seq_len > 0;
  return base->failed_micro_batch / base->micro_batch * (has_lengths ? base->failed_seq_len / base->seq_len : 1);
}

static void put_base(cJSON *object, const struct wo_ladder *ladder, bool *is_failed) {
  const struct wo_ladder_base *const base = &ladder->base;
  put_positive(object, "micro_batch", base->micro_batch, is_failed);
  put_positive(object, "seq_len", base->seq_len, is_failed);
  put_positive(object, "global_batch", base->global_batch, is_failed);
  put_bytes(object, "peak_bytes", base->peak_bytes, is_failed);
  put_bytes(object, "capacity_bytes", base->capacity_bytes, is_failed);
  put_bytes(object, "margin_bytes", ladder->margin_bytes, is_failed);
  put_bytes(object, "fixed_bytes", base->fixed_bytes, is_failed);
  put(object, "source", cJSON_CreateString(ladder->is_trace ? "trace" : "statistics"), is_failed);
  put(object, "settings_by_name", cJSON_CreateBool(ladder->is_hint), is_failed);
  put(object, "evidence", id_item(ladder->evidence), is_failed);
  put_positive(object, "failed_token_factor", failed_factor(base), is_failed);
}

struct cJSON *wo_ladder_json(const struct wo_ladder *ladder) {
  bool is_failed = false;
  cJSON *const object = cJSON_CreateObject();
  if (object == NULL) return NULL;
  put_base(object, ladder, &is_failed);
  cJSON *const rungs = cJSON_AddArrayToObject(object, "rungs");
  for (size_t i = 0; rungs != NULL && i < ladder->rung_count; i++) {
    cJSON *const rung = rung_item(&ladder->rungs[i], &is_failed);
    if (rung == NULL || !cJSON_AddItemToArray(rungs, rung)) is_failed = true;
  }
  if (rungs != NULL && !is_failed) return object;
  cJSON_Delete(object);
  return NULL;
}
