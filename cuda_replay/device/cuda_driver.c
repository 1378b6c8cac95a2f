/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the CUDA driver. See cuda_driver.h. */
#include "cuda_replay/device/cuda_driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct wo_cuda_memory_kind) == 32, "the layout of CUmemAllocationProp");
_Static_assert(sizeof(struct wo_cuda_access) == 12, "the layout of CUmemAccessDesc");

/* The place of one function. Functions are stored as bytes, because C has no conversion from an object pointer to a function
 * pointer. */
struct symbol {
  const char *name;
  const char *older; /* NULL for none */
  size_t offset;     /* of the member */
  bool is_needed;
};

static const struct symbol symbols[] = {
#define WO_CUDA(member, symbol, older, is_needed, type, parameters)                                                              \
  {symbol, older, offsetof(struct wo_cuda_driver, member), is_needed},
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
};

/* NULL when the library has the function under neither name. */
static void *find_symbol(void *library, const struct symbol *symbol) {
  void *const found = dlsym(library, symbol->name);
  return found || !symbol->older ? found : dlsym(library, symbol->older);
}

static enum wo_status find_symbols(struct wo_cuda_driver *driver, struct wo_err *err) {
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void *const found = find_symbol(driver->library, &symbols[i]);
    if (!found && symbols[i].is_needed) {
      return wo_err_set(err, WO_E_UNKNOWN, "the CUDA driver lacks %s: it is older than 11.4, or no CUDA driver", symbols[i].name);
    }
    memcpy((char *)driver + symbols[i].offset, &found, sizeof found);
  }
  return WO_OK;
}

/* The driver's own words distinguish a machine without a GPU from one with a broken driver. */
static enum wo_status start(struct wo_cuda_driver *driver, struct wo_err *err) {
  char words[160];
  const int result = driver->init(0);
  if (result == WO_CUDA_NO_DEVICE) {
    return wo_err_set(err, WO_E_IO,
                      "the CUDA driver shows no GPU to this process (none is here, or CUDA_VISIBLE_DEVICES hides all): run this "
                      "where the job will run, or use --on model");
  }
  if (result != WO_CUDA_SUCCESS) {
    return wo_err_set(err, WO_E_IO, "the CUDA driver does not start: %s", wo_cuda_words(driver, result, words, sizeof words));
  }
  if (driver->driver_version(&driver->version) != WO_CUDA_SUCCESS) driver->version = 0;
  return WO_OK;
}

#ifdef WO_STATIC

static enum wo_status load(const char *library, void **ret_library, struct wo_err *err) {
  (void)library;
  (void)ret_library;
  return wo_err_set(err, WO_E_UNKNOWN, "this is the static program, which cannot load a driver library itself");
}

#else

static enum wo_status load(const char *library, void **ret_library, struct wo_err *err) {
  static const char *const usual[] = {"libcuda.so.1", "libcuda.so"};
  void *found = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
  for (size_t i = 0; !library && !found && i < sizeof usual / sizeof usual[0]; i++) {
    /* The real library has threads of its own: it stays loaded. */
    found = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  if (!found) {
    const char *const reason = library ? dlerror() : NULL;
    return wo_err_set(err, WO_E_UNKNOWN,
                      "there is no CUDA driver here (%.200s): run this where the job will run, or use --on model",
                      reason ? reason : "libcuda.so.1 is not found");
  }
  *ret_library = found;
  return WO_OK;
}

#endif

enum wo_status wo_cuda_open(const char *library, struct wo_cuda_driver *ret_driver, struct wo_err *err) {
  struct wo_cuda_driver driver = {0};
  assert(ret_driver != NULL);
  enum wo_status status = load(library, &driver.library, err);
  if (status != WO_OK) return status;
  status = find_symbols(&driver, err);
  if (status == WO_OK) status = start(&driver, err);
  if (status == WO_OK) {
    *ret_driver = driver;
  } else {
    wo_cuda_close(&driver);
  }
  return status;
}

void wo_cuda_close(struct wo_cuda_driver *driver) {
  if (!driver || !driver->library) return;
  if (!driver->is_elsewhere) dlclose(driver->library);
  *driver = (struct wo_cuda_driver){0};
}

const char *wo_cuda_words(const struct wo_cuda_driver *driver, int result, char *buf, size_t cap) {
  const char *name = NULL;
  const char *text = NULL;
  const bool has_name = driver->error_name && driver->error_name(result, &name) == WO_CUDA_SUCCESS && name;
  const bool has_text = driver->error_text && driver->error_text(result, &text) == WO_CUDA_SUCCESS && text;
  if (has_name && has_text) {
    snprintf(buf, cap, "%s (%s)", name, text);
  } else {
    snprintf(buf, cap, "%s%d", has_name ? name : "CUDA error ", result);
  }
  return buf;
}

bool wo_cuda_has_virtual_memory(const struct wo_cuda_driver *driver) {
  return driver->address_reserve && driver->address_free && driver->granularity && driver->handle_create &&
         driver->handle_release && driver->map && driver->unmap && driver->set_access;
}
