/* SPDX-License-Identifier: Apache-2.0 */
/* Words about a GPU. See whatif_gpu_text.h. */
#include "cuda_replay/whatif/whatif_gpu_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* The most bytes shown of a card's name and of CUDA_VISIBLE_DEVICES. */
enum { SHOWN_BYTES = 240, PATH_BYTES = 1024 };

const char *wo_gpu_driver_text(const struct wo_device_gpu_info *info, char *buf) {
  snprintf(buf, WO_GPU_DRIVER_TEXT, "CUDA %d.%d", info->driver_version / 1000, info->driver_version % 1000 / 10);
  return buf;
}

void wo_gpu_add_card(const struct wo_device_gpu_info *info, int ordinal, struct wo_view visible_devices, struct wo_text *out) {
  char text[SHOWN_BYTES], driver[WO_GPU_DRIVER_TEXT];
  wo_text_add(out, "GPU %d, ", ordinal);
  wo_text_add_view(out, wo_clean_utf8(wo_view_of(info->name), text, sizeof text));
  wo_text_add(out, " (%s", wo_gpu_driver_text(info, driver));
  if (visible_devices.len > 0) {
    wo_text_add(out, ", counted in CUDA_VISIBLE_DEVICES=");
    wo_text_add_view(out, wo_clean_utf8(visible_devices, text, sizeof text));
  }
  wo_text_add(out, ")");
}

static void add_library(const char *variable, struct wo_view path, const char *whose, struct wo_text *out) {
  char text[PATH_BYTES];
  wo_text_add(out, "%s=", variable);
  wo_text_add_view(out, wo_clean_utf8(path, text, sizeof text));
  wo_text_add(out, " answers in place of %s", whose);
}

bool wo_gpu_add_libraries(const struct wo_gpu_libraries *libraries, struct wo_text *out) {
  const bool has_both = libraries->cuda.len > 0 && libraries->nvml.len > 0;
  if (libraries->cuda.len == 0 && libraries->nvml.len == 0) return false;
  if (libraries->cuda.len > 0) {
    wo_text_add(out, "not a card's result: ");
    add_library("WHYOOM_CUDA_LIBRARY", libraries->cuda, "the driver", out);
  }
  if (has_both) wo_text_add(out, ", ");
  if (libraries->nvml.len > 0) add_library("WHYOOM_NVML_LIBRARY", libraries->nvml, "NVML", out);
  return true;
}

void wo_gpu_add_request(const struct wo_replay_outcome *outcome, struct wo_text *out) {
  if (!outcome->has_oom) {
    wo_text_add(out, "every request was served");
    return;
  }
  wo_text_add(out, "a request of %s failed", WO_BYTES_TEXT(outcome->oom.requested_bytes));
  if (outcome->oom_entry != WO_NO_ENTRY) wo_text_add(out, " at entry %" PRIu32, outcome->oom_entry);
}

void wo_gpu_add_left(uint64_t left_count, struct wo_text *out) {
  if (left_count == 0)
    wo_text_add(out, "everything was given back");
  else
    wo_text_add(out, "the driver did not take back %" PRIu64 " %s", left_count, left_count == 1 ? "piece" : "pieces");
}
