/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NVML and asks it. See nvml.h. */
#include "cuda_replay/device/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NVML_SUCCESS = 0, NVML_MIG_ENABLED = 1 };

_Static_assert(sizeof(struct wo_nvml_process) == 24, "the layout of nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct wo_nvml_memory) == 24, "the layout of nvmlMemory_t");

/* The place of one function, as in cuda_driver.c. */
static const struct {
  const char *name;
  const char *older; /* NULL for none */
  size_t offset;     /* of the member */
} symbols[] = {
#define WO_NVML(member, symbol, older, type, parameters) {symbol, older, offsetof(struct wo_nvml, member)},
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
};

/* The system's library stays loaded: it has threads of its own. The static program (WHYOOM_STATIC) can load none. */
static void *load(const char *library) {
#ifdef WO_STATIC
  (void)library;
  return NULL;
#else
  return library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
#endif
}

bool wo_nvml_open(const char *library, struct wo_nvml *ret_nvml) {
  struct wo_nvml nvml = {.library = load(library), .process = (unsigned)getpid()};
  assert(ret_nvml != NULL);
  *ret_nvml = (struct wo_nvml){0};
  if (!nvml.library) return false;
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void *found = dlsym(nvml.library, symbols[i].name);
    if (!found && symbols[i].older) found = dlsym(nvml.library, symbols[i].older);
    memcpy((char *)&nvml + symbols[i].offset, &found, sizeof found);
  }
  if (!nvml.init || !nvml.handle_by_uuid || nvml.init() != NVML_SUCCESS) {
    dlclose(nvml.library);
    return false;
  }
  *ret_nvml = nvml;
  return true;
}

void wo_nvml_close(struct wo_nvml *nvml) {
  if (!nvml || !nvml->library) return;
  if (nvml->shutdown) nvml->shutdown();
  if (!nvml->is_elsewhere) dlclose(nvml->library);
  *nvml = (struct wo_nvml){0};
}

/* NULL when NVML does not know the card. */
static void *handle_of(const struct wo_nvml *nvml, const char *uuid) {
  void *handle = NULL;
  if (!nvml->library || uuid[0] == '\0') return NULL;
  return nvml->handle_by_uuid(uuid, &handle) == NVML_SUCCESS ? handle : NULL;
}

bool wo_nvml_is_mig(const struct wo_nvml *nvml, const char *uuid) {
  unsigned current = 0;
  unsigned pending = 0;
  void *const handle = handle_of(nvml, uuid);
  return handle && nvml->mig_mode && nvml->mig_mode(handle, &current, &pending) == NVML_SUCCESS && current == NVML_MIG_ENABLED;
}

uint64_t wo_nvml_free_bytes(const struct wo_nvml *nvml, const char *uuid) {
  struct wo_nvml_memory memory = {0};
  void *const handle = handle_of(nvml, uuid);
  if (!handle || !nvml->memory || nvml->memory(handle, &memory) != NVML_SUCCESS) return UINT64_MAX;
  return memory.free_bytes;
}

/* Keeps the last part of a path, because a message has little room. */
static void note_name(const struct wo_nvml *nvml, struct wo_nvml_holder *holder) {
  char path[1024] = "";
  if (!nvml->process_name || nvml->process_name(holder->pid, path, sizeof path) != NVML_SUCCESS) return;
  path[sizeof path - 1] = '\0';
  const char *const slash = strrchr(path, '/');
  const char *const name = slash ? slash + 1 : path;
  const size_t len = strnlen(name, sizeof holder->name - 1);
  memcpy(holder->name, name, len);
  holder->name[len] = '\0';
}

/* Most memory first; unknown sizes come last, because any guess may be wrong. */
static int compare_holders(const void *a, const void *b) {
  const struct wo_nvml_holder *const left = a;
  const struct wo_nvml_holder *const right = b;
  const uint64_t x = left->used_bytes == UINT64_MAX ? 0 : left->used_bytes;
  const uint64_t y = right->used_bytes == UINT64_MAX ? 0 : right->used_bytes;
  if (x != y) return x < y ? 1 : -1;
  return (left->pid > right->pid) - (left->pid < right->pid);
}

size_t wo_nvml_holders(const struct wo_nvml *nvml, const char *uuid, struct wo_nvml_holder *rows, size_t cap,
                       bool *ret_is_known) {
  /* Room for the longer rows of some drivers, which must not write past the end of the list. */
  struct wo_nvml_process processes[WO_NVML_PROCESSES_MAX * 4 / 3 + 1];
  struct wo_nvml_holder all[WO_NVML_PROCESSES_MAX];
  unsigned listed = WO_NVML_PROCESSES_MAX;
  size_t count = 0;
  void *const handle = handle_of(nvml, uuid);
  *ret_is_known = handle && nvml->processes && nvml->processes(handle, &listed, processes) == NVML_SUCCESS;
  if (!*ret_is_known) return 0;
  for (unsigned i = 0; i < listed && i < WO_NVML_PROCESSES_MAX; i++) {
    if (processes[i].pid == nvml->process) continue;
    all[count] = (struct wo_nvml_holder){.pid = processes[i].pid, .used_bytes = processes[i].used_bytes};
    note_name(nvml, &all[count++]);
  }
  if (count > 0) qsort(all, count, sizeof all[0], compare_holders);
  if (count > cap) count = cap;
  if (count > 0) memcpy(rows, all, count * sizeof all[0]);
  return count;
}
