/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver without a GPU: the calls of expandable segments over the stand-in of the driver program.
 *
 * Physical handles are counted, not backed. A handle's number is its slot in a table, which remembers its size. Linked as
 * libcuda.so.1; names that the allocator looks up but never calls come from a generated file beside this one. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stand_in/standin.h"

extern struct wo_standin wo_oracle_standin;

enum { HANDLES = 1 << 16, GRANULARITY_BYTES = 2 << 20 };

static struct {
  size_t size_bytes;
  uint32_t next_free;
} handles[HANDLES];
static uint32_t handle_count = 1; /* 0 is no handle */
static uint32_t first_free;

CUresult cuMemGetAllocationGranularity(size_t *ret_bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option) {
  (void)properties;
  (void)option;
  *ret_bytes = GRANULARITY_BYTES;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t size, size_t alignment, CUdeviceptr wished,
                             unsigned long long flags) {
  (void)alignment;
  (void)wished;
  (void)flags;
  *ret_address = wo_standin_reserve(&wo_oracle_standin, size);
  return *ret_address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  (void)size;
  return wo_standin_unreserve(&wo_oracle_standin, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags) {
  (void)properties;
  (void)flags;
  if (size == 0 || size % GRANULARITY_BYTES) return CUDA_ERROR_INVALID_VALUE;
  if (!wo_standin_create(&wo_oracle_standin, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  uint32_t handle = first_free;
  if (handle)
    first_free = handles[handle].next_free;
  else if (handle_count < HANDLES)
    handle = handle_count++;
  else
    abort();
  handles[handle].size_bytes = size;
  *ret_handle = handle;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  wo_standin_release(&wo_oracle_standin, handles[handle].size_bytes);
  handles[handle].next_free = first_free;
  first_free = (uint32_t)handle;
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  (void)address;
  (void)offset;
  (void)flags;
  return handles[handle].size_bytes == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count) {
  (void)access;
  (void)count;
  wo_standin_map(&wo_oracle_standin, address, size);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  wo_standin_unmap(&wo_oracle_standin, address, size);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **ret_text) {
  *ret_text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "error of the stand-in";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device) {
  (void)attribute;
  (void)device;
  *ret_value = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *ret_device, int ordinal) {
  *ret_device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ret_context) {
  *ret_context = (CUcontext)(uintptr_t)8;
  return CUDA_SUCCESS;
}

#undef cuCtxSetCurrent
CUresult cuCtxSetCurrent(CUcontext context) {
  (void)context;
  return CUDA_SUCCESS;
}

/* The driver's log (2.14 on): asked for once, never written. Own prototypes: headers before CUDA 12.9 lack these. */
#if CUDA_VERSION < 12090
typedef void *CUlogsCallback;
typedef void *CUlogsCallbackHandle;
#endif

CUresult cuLogsRegisterCallback(CUlogsCallback function, void *data, CUlogsCallbackHandle *ret_handle) {
  (void)function;
  (void)data;
  *ret_handle = NULL;
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  (void)handle;
  return CUDA_SUCCESS;
}
