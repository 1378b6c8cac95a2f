/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes settings strings: the first byte chooses the version of torch. Checks: a refusal changes nothing and has a message; what
 * is accepted lies in its bounds, and is the same after being shown and read again. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/settings.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bounds(const struct wo_alloc_settings *settings) {
  require(settings->max_split_bytes >= settings->large_segment_bytes);
  require(settings->max_non_split_rounding_bytes >= settings->large_segment_bytes);
  require(settings->large_segment_bytes > 10 * 1024 * 1024);
  require(settings->garbage_collection_threshold >= 0 && settings->garbage_collection_threshold < 1);
  require(settings->memory_fraction >= 0 && settings->memory_fraction <= 1);
  for (int i = 0; i < WO_ROUNDUP_SLOTS; i++) {
    const uint32_t divisions = settings->roundup_divisions[i];
    require((divisions & (divisions - 1)) == 0);
  }
}

/* The reader of decimal numbers rounds twice: 17 digits may give a neighbour. */
static bool is_near(double a, double b) {
  return fabs(a - b) <= 4 * DBL_EPSILON * fabs(a);
}

static bool is_equal(const struct wo_alloc_settings *a, const struct wo_alloc_settings *b) {
  return a->max_split_bytes == b->max_split_bytes && a->max_non_split_rounding_bytes == b->max_non_split_rounding_bytes &&
         a->large_segment_bytes == b->large_segment_bytes &&
         memcmp(a->roundup_divisions, b->roundup_divisions, sizeof a->roundup_divisions) == 0 &&
         is_near(a->garbage_collection_threshold, b->garbage_collection_threshold) &&
         is_near(a->memory_fraction, b->memory_fraction) && a->expandable_segments == b->expandable_segments &&
         a->throw_on_cudamalloc_oom == b->throw_on_cudamalloc_oom &&
         a->graph_capture_record_stream_reuse == b->graph_capture_record_stream_reuse && a->is_native == b->is_native;
}

static void check_round_trip(const struct wo_alloc_settings *settings, uint16_t torch) {
  struct wo_text shown = {0};
  wo_alloc_settings_show(settings, torch, &shown);
  struct wo_alloc_settings again = wo_alloc_settings_default(torch);
  if (!shown.is_failed) {
    require(wo_alloc_settings_parse((struct wo_view){shown.ptr, shown.len}, torch, &again, NULL) == WO_OK);
    require(is_equal(settings, &again));
  }
  wo_text_done(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint16_t versions[] = {113, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215};
  if (size == 0) return 0;
  const uint16_t torch = versions[data[0] % (sizeof versions / sizeof versions[0])];
  char *const text = malloc(size);
  if (text == NULL) return 0;
  memcpy(text, data + 1, size - 1);
  struct wo_alloc_settings settings = wo_alloc_settings_default(torch);
  const struct wo_alloc_settings before = settings;
  struct wo_err err = {0};
  const enum wo_status status = wo_alloc_settings_parse((struct wo_view){text, size - 1}, torch, &settings, &err);
  if (status == WO_OK) {
    check_bounds(&settings);
    check_round_trip(&settings, torch);
  } else {
    require(is_equal(&before, &settings) && err.code == status && err.message[0] != '\0');
  }
  uint16_t version = 0;
  if (wo_torch_version_parse((struct wo_view){text, size - 1}, &version)) require(version <= 9999);
  free(text);
  return 0;
}
