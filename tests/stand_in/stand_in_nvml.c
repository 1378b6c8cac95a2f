/* SPDX-License-Identifier: Apache-2.0 */
/* NVML that is not there: who is on the stand-in card, for tests (WHYOOM_NVML_LIBRARY names it). Environment:
 *
 *   STAND_IN_PROCESSES  PID:NAME:BYTES, more of them behind commas; BYTES empty: not told
 *   STAND_IN_MIG        1: the card is in MIG mode as a whole
 *   STAND_IN_TOTAL, STAND_IN_OTHER, STAND_IN_CARDS  as in stand_in_cuda.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/device/nvml.h"
#include "tests/stand_in/environment.h"

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_FOUND = 6, TOO_SMALL = 7, UUID_LEN = 40 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_handle);
int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct wo_nvml_process *rows);
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *rows);
int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned size);
int nvmlDeviceGetMigMode(void *handle, unsigned *ret_current, unsigned *ret_pending);
int nvmlDeviceGetMemoryInfo(void *handle, struct wo_nvml_memory *ret_memory);

/* A handle points into this; one for each card. */
static char cards[64];

/* How often it was started and not ended. */
static int starts;

/* Whether a handle is one that was given out. */
static int bad_handle(const void *handle) {
  if (starts == 0) return UNINITIALIZED;
  for (size_t i = 0; i < sizeof cards; i++) {
    if (handle == &cards[i]) return SUCCESS;
  }
  return INVALID;
}

/* One row of STAND_IN_PROCESSES; the text behind it. Sizes of names are those of the caller. */
static const char *read_row(const char *text, struct wo_nvml_process *ret_row, char *name, size_t size) {
  ret_row->pid = (unsigned)digits(&text);
  if (*text == ':') text++;
  const size_t len = strcspn(text, ":,");
  snprintf(name, size, "/usr/bin/%.*s", (int)len, text);
  text += len;
  if (*text == ':') text++;
  ret_row->used_bytes = *text == '\0' || *text == ',' ? UINT64_MAX : digits(&text);
  return *text == ',' ? text + 1 : text;
}

int nvmlInit_v2(void) {
  starts++;
  return SUCCESS;
}

int nvmlShutdown(void) {
  if (starts == 0) return UNINITIALIZED;
  starts--;
  return SUCCESS;
}

/* The stand-in driver's last byte is the number of the card. */
int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_handle) {
  const size_t len = strlen(uuid);
  const char *last = uuid + len - 1;
  if (starts == 0) return UNINITIALIZED;
  if (len != UUID_LEN || strncmp(uuid, "GPU-abababab", 12) != 0) return NOT_FOUND;
  const uint64_t card = digits(&last);
  if (card >= number_of("STAND_IN_CARDS", 1)) return NOT_FOUND;
  *ret_handle = &cards[card];
  return SUCCESS;
}

/* The rows of driver 535.43: 8 bytes more than those that a program knows. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *rows) {
  enum { ROW_BYTES = 32 };
  struct wo_nvml_process row[64];
  unsigned found = *count < 64 ? *count : 64;
  const int result = nvmlDeviceGetComputeRunningProcesses_v2(handle, &found, row);
  memset(rows, 0x5a, (size_t)*count * ROW_BYTES);
  for (unsigned i = 0; result == SUCCESS && i < found; i++) memcpy((char *)rows + (size_t)i * ROW_BYTES, &row[i], sizeof row[i]);
  *count = found;
  return result;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct wo_nvml_process *rows) {
  const char *text = getenv("STAND_IN_PROCESSES");
  char name[64];
  unsigned found = 0;
  if (bad_handle(handle) != SUCCESS) return bad_handle(handle);
  if (handle != &cards[0]) text = "";
  while (text && *text != '\0') {
    if (found == *count) return TOO_SMALL;
    rows[found] = (struct wo_nvml_process){0};
    text = read_row(text, &rows[found++], name, sizeof name);
  }
  *count = found;
  return SUCCESS;
}

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned size) {
  const char *text = getenv("STAND_IN_PROCESSES");
  struct wo_nvml_process row;
  while (text && *text != '\0') {
    text = read_row(text, &row, name, size);
    if (row.pid == pid) return SUCCESS;
  }
  return NOT_FOUND;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *ret_current, unsigned *ret_pending) {
  if (bad_handle(handle) != SUCCESS) return bad_handle(handle);
  *ret_current = *ret_pending = (unsigned)number_of("STAND_IN_MIG", 0);
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, struct wo_nvml_memory *ret_memory) {
  if (bad_handle(handle) != SUCCESS) return bad_handle(handle);
  const uint64_t total = number_of("STAND_IN_TOTAL", UINT64_C(24) << 30);
  const uint64_t used = handle == &cards[0] ? number_of("STAND_IN_OTHER", 0) : 0;
  *ret_memory = (struct wo_nvml_memory){total, total - used, used};
  return SUCCESS;
}
