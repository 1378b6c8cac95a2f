/* SPDX-License-Identifier: Apache-2.0 */
/* Checks cards before one is used. See gpu_cards.h. */
#include "cuda_replay/device/gpu_cards.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/base/units.h"

/* The most cards and processes in a message, which is one line. */
enum { CARDS_SHOWN = 3, HOLDERS_SHOWN = 3, NAME_BYTES = 96 };

/* ---- Names ---- */

static void name_of(const struct wo_cuda_driver *driver, int device, char *buf) {
  buf[0] = '\0';
  if (driver->device_name(buf, NAME_BYTES, device) != WO_CUDA_SUCCESS) buf[0] = '\0';
  buf[NAME_BYTES - 1] = '\0';
}

/* A slice of a card has "MIG" in its name, and its own UUID. */
const char *wo_gpu_uuid(const struct wo_cuda_driver *driver, int device, char *buf) {
  struct wo_cuda_uuid uuid;
  char name[NAME_BYTES];
  buf[0] = '\0';
  if (!driver->device_uuid || driver->device_uuid(&uuid, device) != WO_CUDA_SUCCESS) return buf;
  name_of(driver, device, name);
  size_t len = (size_t)snprintf(buf, WO_GPU_UUID_BYTES, "%s", strstr(name, " MIG ") ? "MIG-" : "GPU-");
  for (size_t i = 0; i < sizeof uuid.bytes; i++) {
    const bool is_break = i == 4 || i == 6 || i == 8 || i == 10;
    len += (size_t)snprintf(buf + len, WO_GPU_UUID_BYTES - len, "%s%02x", is_break ? "-" : "", uuid.bytes[i]);
    assert(len < WO_GPU_UUID_BYTES);
  }
  return buf;
}

/* ---- The list ---- */

/* "1 = NVIDIA H200, 71.20 of 139.80 GiB free". Without a context, only NVML knows the free memory. */
static void add_card(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, struct wo_text *out) {
  char uuid[WO_GPU_UUID_BYTES];
  char name[NAME_BYTES];
  char shown[NAME_BYTES];
  int device = 0;
  size_t total_bytes = 0;
  if (driver->device_get(&device, ordinal) != WO_CUDA_SUCCESS) return;
  name_of(driver, device, name);
  const struct wo_view clean = wo_clean_utf8(wo_view_of(name), shown, sizeof shown);
  wo_text_add(out, "%s%d = %.*s", ordinal > 0 ? "; " : "", ordinal, (int)clean.len, clean.ptr);
  if (driver->device_total(&total_bytes, device) != WO_CUDA_SUCCESS) return;
  const uint64_t free_bytes = wo_nvml_free_bytes(nvml, wo_gpu_uuid(driver, device, uuid));
  if (free_bytes != UINT64_MAX) wo_text_add(out, ", %.2f of", (double)free_bytes / WO_GIB);
  wo_text_add(out, "%s %.2f GiB%s", free_bytes != UINT64_MAX ? "" : ",", (double)total_bytes / WO_GIB,
              free_bytes != UINT64_MAX ? " free" : "");
}

static enum wo_status no_such_card(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, int count,
                                   const char *visible, struct wo_err *err) {
  struct wo_text list = {0};
  for (int i = 0; i < count && i < CARDS_SHOWN; i++) add_card(driver, nvml, i, &list);
  if (count > CARDS_SHOWN) wo_text_add(&list, "; and %d more", count - CARDS_SHOWN);
  const enum wo_status status =
      wo_err_set(err, WO_E_RANGE, "there is no GPU %d; the driver shows %.*s%s%.40s%s", ordinal, (int)list.len,
                 list.len > 0 ? list.ptr : "none", visible ? " (CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "",
                 visible ? " hides others)" : "");
  wo_text_done(&list);
  return status;
}

/* ---- One card ---- */

enum wo_status wo_gpu_look(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, const char *visible,
                           struct wo_err *err) {
  char uuid[WO_GPU_UUID_BYTES];
  char words[160];
  int count = 0;
  int device = 0;
  int mode = WO_CUDA_MODE_DEFAULT;
  assert(driver != NULL && nvml != NULL && ordinal >= 0);
  int result = driver->device_count(&count);
  if (result == WO_CUDA_SUCCESS && ordinal >= count) return no_such_card(driver, nvml, ordinal, count, visible, err);
  if (result == WO_CUDA_SUCCESS) result = driver->device_get(&device, ordinal);
  if (result == WO_CUDA_SUCCESS) result = driver->device_attribute(&mode, WO_CUDA_COMPUTE_MODE, device);
  if (result != WO_CUDA_SUCCESS) {
    return wo_err_set(err, WO_E_IO, "GPU %d: looking at it failed: %s", ordinal,
                      wo_cuda_words(driver, result, words, sizeof words));
  }
  if (mode == WO_CUDA_MODE_PROHIBITED) {
    return wo_err_set(err, WO_E_IO,
                      "GPU %d is in prohibited mode: no process may compute on it; use another, or let an administrator call "
                      "nvidia-smi -c DEFAULT",
                      ordinal);
  }
  if (wo_nvml_is_mig(nvml, wo_gpu_uuid(driver, device, uuid))) {
    return wo_err_set(err, WO_E_IO,
                      "GPU %d is a card in MIG mode, which computes in slices only: choose one with "
                      "CUDA_VISIBLE_DEVICES=MIG-... (nvidia-smi -L lists them)",
                      ordinal);
  }
  return WO_OK;
}

/* ---- Others ---- */

void wo_gpu_add_holders(const struct wo_cuda_driver *driver, const struct wo_nvml *nvml, int ordinal, struct wo_text *out) {
  struct wo_nvml_holder holders[HOLDERS_SHOWN];
  char uuid[WO_GPU_UUID_BYTES];
  char name[3 * WO_NVML_NAME_BYTES];
  int device = 0;
  bool is_known = false;
  if (driver->device_get(&device, ordinal) != WO_CUDA_SUCCESS) return;
  const size_t count = wo_nvml_holders(nvml, wo_gpu_uuid(driver, device, uuid), holders, HOLDERS_SHOWN, &is_known);
  if (!is_known) {
    wo_text_add(out, "; who holds it is not known, as NVML does not tell");
  } else if (count == 0) {
    wo_text_add(out, "; NVML shows no other process (a container hides those of others)");
  }
  for (size_t i = 0; i < count; i++) {
    const struct wo_view clean = wo_clean_utf8(wo_view_of(holders[i].name), name, sizeof name);
    wo_text_add(out, "%s pid %u %.*s %s", i == 0 ? "; on it:" : ",", holders[i].pid, (int)clean.len,
                clean.len > 0 ? clean.ptr : "",
                holders[i].used_bytes == UINT64_MAX ? "(bytes not told)" : WO_BYTES_TEXT(holders[i].used_bytes));
  }
}
