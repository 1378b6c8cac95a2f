/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA runtime without a GPU: what libc10_cuda of published torch wheels calls, over the stand-in of the driver program.
 *
 * Compiled for each CUDA version against that version's headers (struct cudaDeviceProp differs) and linked with its SONAME and
 * symbol version. `wo_oracle_standin` is defined by the program that loads this. Functions that the allocator never reaches fail.
 * tests/training/stub_cudart.c takes this file in and adds what a whole torch needs: WO_DESCRIBE_CARD says that it describes the
 * card.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stand_in/standin.h"

extern struct wo_standin wo_oracle_standin;

struct event {
  uint64_t stream;
  uint64_t number; /* 0: not recorded, and thus done */
};

static cudaError_t last_error;

static cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t cudaMalloc(void **ret_address, size_t size) {
  const uint64_t address = wo_standin_malloc(&wo_oracle_standin, size);
  *ret_address = (void *)address;
  return said(address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *address) {
  if (!address) return cudaSuccess;
  return said(wo_standin_free(&wo_oracle_standin, (uint64_t)address) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total) {
  *ret_free = wo_standin_free_bytes(&wo_oracle_standin);
  *ret_total = wo_oracle_standin.total_bytes;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError(void) {
  return last_error;
}

const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : error == cudaSuccess ? "no error" : "error of the stand-in";
}

const char *cudaGetErrorName(cudaError_t error) {
  return cudaGetErrorString(error);
}

/* ---- Devices ---- */

cudaError_t cudaGetDeviceCount(int *ret_count) {
  *ret_count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ret_device) {
  *ret_device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : said(cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int *ret_version) {
  *ret_version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *ret_version) {
  *ret_version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  return cudaSuccess;
}

/* CUDA 12's header renames the function to ..._v2; both names are wanted, whatever the header says. */
static cudaError_t properties(struct cudaDeviceProp *ret_properties) {
  memset(ret_properties, 0, sizeof *ret_properties);
  strncpy(ret_properties->name, "stand-in", sizeof ret_properties->name - 1);
  ret_properties->totalGlobalMem = wo_oracle_standin.total_bytes;
  ret_properties->major = 8;
  ret_properties->multiProcessorCount = 1;
#ifdef WO_DESCRIBE_CARD
  describe_card(ret_properties);
#endif
  return cudaSuccess;
}

#undef cudaGetDeviceProperties
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret_properties, int device) {
  (void)device;
  return properties(ret_properties);
}

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *ret_properties, int device) {
  (void)device;
  return properties(ret_properties);
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int device) {
  (void)device;
#ifdef WO_DESCRIBE_CARD
  *ret_value = attribute_of_card(attribute);
#else
  (void)attribute;
  *ret_value = 0;
#endif
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int device, int peer) {
  (void)device;
  (void)peer;
  *ret_can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest) {
  *ret_least = 0;
  *ret_greatest = 0;
  return cudaSuccess;
}

/* ---- Events and streams ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags) {
  (void)flags;
  *ret_event = (cudaEvent_t)calloc(1, sizeof(struct event));
  return *ret_event ? cudaSuccess : said(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  struct event *own = (struct event *)event;
  own->stream = (uint64_t)stream;
  own->number = wo_standin_record(&wo_oracle_standin, own->stream);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const struct event *own = (const struct event *)event;
  return !own->number || wo_standin_is_done(&wo_oracle_standin, own->stream, own->number) ? cudaSuccess : cudaErrorNotReady;
}

/* Waiting makes the work done: the allocator goes on, as it would on a GPU after a while. */
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const struct event *own = (const struct event *)event;
  if (cudaEventQuery(event) == cudaErrorNotReady)
    wo_oracle_standin.streams[wo_standin_stream(&wo_oracle_standin, own->stream)].completed = own->number;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  (void)stream;
  (void)event;
  (void)flags;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status) {
  const size_t at = wo_standin_stream(&wo_oracle_standin, (uint64_t)stream);
  *ret_status = wo_oracle_standin.streams[at].is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

/* The ABI of CUDA 11 has three parameters; later ones add more, which the allocator uses with graph_capture_record_stream_reuse
 * only. */
#undef cudaStreamGetCaptureInfo
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status,
#if CUDART_VERSION >= 13000
                                     unsigned long long *ret_id, cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_nodes,
                                     const cudaGraphEdgeData **ret_edges, size_t *ret_count) {
  if (ret_graph) *ret_graph = NULL;
  if (ret_nodes) *ret_nodes = NULL;
  if (ret_edges) *ret_edges = NULL;
  if (ret_count) *ret_count = 0;
#else
                                     unsigned long long *ret_id) {
#endif
  const size_t at = wo_standin_stream(&wo_oracle_standin, (uint64_t)stream);
  if (ret_id) *ret_id = wo_oracle_standin.streams[at].capture_id;
  return cudaStreamIsCapturing(stream, ret_status);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  (void)mode;
  return cudaSuccess;
}

/* ---- The driver behind the runtime (CUDA 13) ---- */

static cudaError_t entry(const char *name, void **ret_function) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
  *ret_function = driver ? dlsym(driver, name) : NULL;
  return *ret_function ? cudaSuccess : said(cudaErrorUnknown);
}

#if CUDART_VERSION >= 12000
#undef cudaGetDriverEntryPointByVersion
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **ret_function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_result) {
  (void)version;
  (void)flags;
  const cudaError_t error = entry(name, ret_function);
  if (ret_result) *ret_result = error == cudaSuccess ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return error;
}
#if CUDART_VERSION < 13000
#undef cudaGetDriverEntryPoint
cudaError_t cudaGetDriverEntryPoint(const char *name, void **ret_function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *ret_result) {
  return cudaGetDriverEntryPointByVersion(name, ret_function, 0, flags, ret_result);
}
#endif
#endif
