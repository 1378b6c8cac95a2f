/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver, loaded at run time: neither the build nor any other command needs CUDA.
 *
 * cuda_symbols.def lists the functions. Types here have the layout of the driver's own (CUDA driver API reference, 11.4 to 13.0).
 * One driver is used by one thread at a time. */
#ifndef WO_CUDA_DRIVER_H
#define WO_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

/* CUresult: the values that need their own handling. All others are errors of the driver. */
enum wo_cuda_result {
  WO_CUDA_SUCCESS = 0,
  WO_CUDA_INVALID_VALUE = 1,
  WO_CUDA_OUT_OF_MEMORY = 2,
  WO_CUDA_UNAVAILABLE = 46, /* another process holds the card exclusively, or its mode forbids work */
  WO_CUDA_NO_DEVICE = 100,
  WO_CUDA_INVALID_DEVICE = 101
};

/* CUdevice_attribute: those that whyoom asks for. */
enum wo_cuda_attribute {
  WO_CUDA_IS_INTEGRATED = 18, /* its memory is the host's */
  WO_CUDA_COMPUTE_MODE = 20,
  WO_CUDA_HAS_VIRTUAL_MEMORY = 102,
  WO_CUDA_HAS_RDMA = 110 /* GPUDirect RDMA of mapped memory */
};

/* CUcomputemode. */
enum wo_cuda_mode { WO_CUDA_MODE_DEFAULT = 0, WO_CUDA_MODE_PROHIBITED = 2, WO_CUDA_MODE_EXCLUSIVE = 3 };

/* CUuuid. */
struct wo_cuda_uuid {
  unsigned char bytes[16];
};

/* CUmemLocation, CUmemAllocationProp, CUmemAccessDesc. */
struct wo_cuda_location {
  int type; /* 1 = device */
  int id;
};
struct wo_cuda_memory_kind {
  int type;         /* 1 = pinned */
  int handle_types; /* 0 = not to be shared, 1 = as a POSIX file descriptor */
  struct wo_cuda_location location;
  void *win32_meta_data;
  unsigned char flags[8]; /* [1]: usable by GPUDirect RDMA */
};
struct wo_cuda_access {
  struct wo_cuda_location location;
  int flags; /* 3 = read and write */
};

struct wo_cuda_driver {
  void *library;
  bool is_elsewhere; /* the functions ask another process, which has the library (cuda_replay/helper) */
#define WO_CUDA(member, symbol, older, is_needed, type, parameters) type(*member) parameters;
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
  int version; /* 1000 * major + 10 * minor of the newest CUDA that it supports */
};

/* Opens the driver library and finds the functions; calls only cuInit and cuDriverGetVersion. `library` NULL: the system's
 * libcuda.so.1 (then libcuda.so); else that file, for tests. WO_E_UNKNOWN: there is no driver, or it lacks a needed function (the
 * message names it), or this program is static and can load none; WO_E_IO: it exists but does not start (no device, version
 * mismatch), with its own words. */
enum wo_status wo_cuda_open(const char *library, struct wo_cuda_driver *ret_driver, struct wo_err *err);

/* Closes the library; {0} and NULL are allowed. */
void wo_cuda_close(struct wo_cuda_driver *driver);

/* The words for a result: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", or its number if the driver does not know it. Returns
 * buf. */
const char *wo_cuda_words(const struct wo_cuda_driver *driver, int result, char *buf, size_t cap);

/* Whether the driver has the functions that reserve addresses and map memory, which expandable segments need. Whether a card can
 * do it is an attribute (a virtual GPU may be unable to). */
bool wo_cuda_has_virtual_memory(const struct wo_cuda_driver *driver);

#endif
