/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the caching allocator: defaults by version of torch, and writing them as a string. */
#include "cuda_replay/recording/settings.h"

#include "cuda_replay/recording/torch_rules.h"
#include "parsers/base/number.h"

#define MIB (UINT64_C(1) << 20)

/* The segment size of mid-sized requests, and the limit by which a large block may exceed a large request. */
#define LARGE_BUFFER_BYTES (20 * MIB)

struct wo_alloc_settings wo_alloc_settings_default(uint16_t torch) {
  return (struct wo_alloc_settings){
      .max_split_bytes = WO_SPLIT_UNLIMITED,
      .max_non_split_rounding_bytes = LARGE_BUFFER_BYTES,
      .large_segment_bytes = LARGE_BUFFER_BYTES,
      .keeps_odd_sizes = !wo_torch_has(torch, WO_TORCH_ROUNDUP_ONE_IS_OFF),
      .is_native = true,
  };
}

/* ---- Spelling ---- */

/* Adds "key:" with a comma before all but the first. */
static void add_key(struct wo_text *out, size_t start, const char *key) {
  wo_text_add(out, out->len > start ? ",%s:" : "%s:", key);
}

static void add_bytes(struct wo_text *out, size_t start, const char *key, uint64_t bytes) {
  add_key(out, start, key);
  /* Torch reads a negative number as this value. */
  if (bytes / MIB == UINT64_MAX / MIB) {
    wo_text_add(out, "-1");
    return;
  }
  wo_text_add(out, "%llu", (unsigned long long)(bytes / MIB));
}

static void add_flag(struct wo_text *out, size_t start, const char *key, bool value) {
  add_key(out, start, key);
  wo_text_add(out, value ? "True" : "False");
}

/* The shortest decimal that reads back as the same number. */
static void add_number(struct wo_text *out, size_t start, const char *key, double value) {
  char text[32];
  double again = -1;
  for (int digits = 6; digits <= 17 && again != value; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    struct wo_view view = wo_view_of(text);
    struct wo_interval number = {0};
    again = wo_number_decimal(&view, &number, NULL) == WO_OK ? number.mid : -1;
  }
  add_key(out, start, key);
  wo_text_add(out, "%s", text);
}

/* A scalar when all slots are equal, else a list of every slot, which does not depend on how torch fills gaps. */
static void add_roundup(struct wo_text *out, size_t start, const uint32_t divisions[WO_ROUNDUP_SLOTS]) {
  bool is_scalar = true;
  for (int i = 1; i < WO_ROUNDUP_SLOTS; i++) is_scalar = is_scalar && divisions[i] == divisions[0];
  add_key(out, start, "roundup_power2_divisions");
  if (is_scalar) {
    wo_text_add(out, "%u", divisions[0]);
    return;
  }
  for (int i = 0; i < WO_ROUNDUP_SLOTS; i++) wo_text_add(out, "%s%u:%u", i == 0 ? "[" : ",", 1U << i, divisions[i]);
  wo_text_add(out, "]");
}

void wo_alloc_settings_show(const struct wo_alloc_settings *settings, uint16_t torch, struct wo_text *out) {
  const struct wo_alloc_settings base = wo_alloc_settings_default(torch);
  const size_t start = out->len;
  if (!settings->is_native) {
    add_key(out, start, "backend");
    wo_text_add(out, "cudaMallocAsync");
  }
  if (settings->expandable_segments) add_flag(out, start, "expandable_segments", true);
  if (settings->max_split_bytes != base.max_split_bytes) {
    add_bytes(out, start, "max_split_size_mb", settings->max_split_bytes);
  }
  const bool follows = wo_torch_has(torch, WO_TORCH_LARGE_SEGMENT_SIZE);
  const uint64_t rounding_bytes = follows ? settings->large_segment_bytes : base.max_non_split_rounding_bytes;
  if (settings->max_non_split_rounding_bytes != rounding_bytes) {
    add_bytes(out, start, "max_non_split_rounding_mb", settings->max_non_split_rounding_bytes);
  }
  if (settings->large_segment_bytes != base.large_segment_bytes) {
    add_bytes(out, start, "large_segment_size_mb", settings->large_segment_bytes);
  }
  if (memcmp(settings->roundup_divisions, base.roundup_divisions, sizeof base.roundup_divisions) != 0) {
    add_roundup(out, start, settings->roundup_divisions);
  }
  if (settings->garbage_collection_threshold > 0) {
    add_number(out, start, "garbage_collection_threshold", settings->garbage_collection_threshold);
  }
  if (settings->memory_fraction > 0) add_number(out, start, "per_process_memory_fraction", settings->memory_fraction);
  if (settings->graph_capture_record_stream_reuse) add_flag(out, start, "graph_capture_record_stream_reuse", true);
  if (settings->throw_on_cudamalloc_oom) add_flag(out, start, "throw_on_cudamalloc_oom", true);
}
