/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA runtime without a GPU for a whole torch: the oracle's runtime, and what libtorch_cuda calls beside the allocator.
 *
 * A launched kernel does nothing. Device memory is addresses only: what is copied to the host is zeros, what is copied or set on
 * the device is dropped. All work is done the moment it is asked for. The card is described as an H100 (compute capability 9.0,
 * 132 multiprocessors), for torch sizes some workspaces and chooses some kernels by that; WHYOOM_STUB_BYTES is its memory. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 132, WARP = 32, BLOCK_THREADS = 1024, MULTIPROCESSOR_THREADS = 2048, BLOCK_SHARED_BYTES = 49152 };
enum { OPTIN_SHARED_BYTES = 232448, MULTIPROCESSOR_SHARED_BYTES = 233472, REGISTERS = 65536, CAPABILITY_MAJOR = 9 };
enum { GRID_X = 2147483647, GRID_YZ = 65535, L2_BYTES = 50 << 20, BUS_BITS = 5120, MULTIPROCESSOR_BLOCKS = 32 };

static void describe_card(struct cudaDeviceProp *properties) {
  strncpy(properties->name, "Stub (no GPU)", sizeof properties->name - 1);
  properties->major = CAPABILITY_MAJOR;
  properties->multiProcessorCount = MULTIPROCESSORS;
  properties->warpSize = WARP;
  properties->maxThreadsPerBlock = BLOCK_THREADS;
  properties->maxThreadsPerMultiProcessor = MULTIPROCESSOR_THREADS;
  properties->maxBlocksPerMultiProcessor = MULTIPROCESSOR_BLOCKS;
  properties->sharedMemPerBlock = BLOCK_SHARED_BYTES;
  properties->sharedMemPerBlockOptin = OPTIN_SHARED_BYTES;
  properties->sharedMemPerMultiprocessor = MULTIPROCESSOR_SHARED_BYTES;
  properties->regsPerBlock = REGISTERS;
  properties->regsPerMultiprocessor = REGISTERS;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = BLOCK_THREADS;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = GRID_X;
  properties->maxGridSize[1] = properties->maxGridSize[2] = GRID_YZ;
  properties->l2CacheSize = L2_BYTES;
  properties->memoryBusWidth = BUS_BITS;
  properties->totalConstMem = 65536;
  properties->textureAlignment = 512;
  properties->unifiedAddressing = 1;
  properties->concurrentKernels = 1;
}

static int attribute_of_card(enum cudaDeviceAttr attribute) {
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
  case cudaDevAttrMaxBlockDimX:
  case cudaDevAttrMaxBlockDimY:
    return BLOCK_THREADS;
  case cudaDevAttrMaxBlockDimZ:
    return 64;
  case cudaDevAttrMaxGridDimX:
    return GRID_X;
  case cudaDevAttrMaxGridDimY:
  case cudaDevAttrMaxGridDimZ:
    return GRID_YZ;
  case cudaDevAttrMaxSharedMemoryPerBlock:
    return BLOCK_SHARED_BYTES;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    return OPTIN_SHARED_BYTES;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    return MULTIPROCESSOR_SHARED_BYTES;
  case cudaDevAttrWarpSize:
    return WARP;
  case cudaDevAttrMaxRegistersPerBlock:
  case cudaDevAttrMaxRegistersPerMultiprocessor:
    return REGISTERS;
  case cudaDevAttrMultiProcessorCount:
    return MULTIPROCESSORS;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    return MULTIPROCESSOR_THREADS;
  case cudaDevAttrMaxBlocksPerMultiprocessor:
    return MULTIPROCESSOR_BLOCKS;
  case cudaDevAttrComputeCapabilityMajor:
    return CAPABILITY_MAJOR;
  case cudaDevAttrL2CacheSize:
    return L2_BYTES;
  case cudaDevAttrTextureAlignment:
    return 512;
  case cudaDevAttrUnifiedAddressing:
  case cudaDevAttrCooperativeLaunch:
    return 1;
  default:
    return 0;
  }
}

#define WO_DESCRIBE_CARD
#include "tests/oracle/stub_cudart.c"
#include "tests/stand_in/standin.c"

/* ---- The card ---- */

#define DEVICE_LOW UINT64_C(0x100000000000)
#define DEVICE_HIGH UINT64_C(0x500000000000)

struct wo_standin wo_oracle_standin;

/* Segments lie below expandable ranges, and both where no memory of the process is. */
__attribute__((constructor)) static void begin(void) {
  const char *bytes = getenv("WHYOOM_STUB_BYTES");
  wo_standin_reset(&wo_oracle_standin, bytes ? strtoull(bytes, NULL, 10) : UINT64_C(80) << 30, WO_STANDIN_ASCENDING, 1);
  wo_oracle_standin.low = DEVICE_LOW;
  wo_oracle_standin.is_immediate = true;
}

static bool is_on_device(const void *address) {
  return (uint64_t)address >= DEVICE_LOW && (uint64_t)address < DEVICE_HIGH;
}

cudaError_t cudaDeviceGetPCIBusId(char *ret_id, int length, int device) {
  (void)device;
  snprintf(ret_id, (size_t)length, "0000:00:00.0");
  return cudaSuccess;
}

/* ---- Copies ---- */

static cudaError_t copy(void *to, const void *from, size_t size) {
  if (is_on_device(to)) return cudaSuccess;
  if (is_on_device(from))
    memset(to, 0, size);
  else
    memmove(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  (void)kind;
  return copy(to, from, size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  (void)stream;
  return copy(to, from, size);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  (void)stream;
  for (size_t row = 0; row < height && !is_on_device(to); row++)
    copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *at, int value, size_t size) {
  if (!is_on_device(at)) memset(at, value, size);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t size, cudaStream_t stream) {
  (void)stream;
  return cudaMemset(at, value, size);
}

cudaError_t cudaHostAlloc(void **ret_address, size_t size, unsigned int flags) {
  (void)flags;
  return posix_memalign(ret_address, 4096, size ? size : 1) == 0 ? cudaSuccess : said(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *address) {
  free(address);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **ret_device, void *host, unsigned int flags) {
  (void)flags;
  *ret_device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes, const void *address) {
  memset(ret_attributes, 0, sizeof *ret_attributes);
  ret_attributes->type = is_on_device(address) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  ret_attributes->devicePointer = (void *)address;
  return cudaSuccess;
}

/* ---- Streams and events ---- */

static cudaError_t new_stream(cudaStream_t *ret_stream) {
  *ret_stream = (cudaStream_t)calloc(1, 8);
  return *ret_stream ? cudaSuccess : said(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreate(cudaStream_t *ret_stream) {
  return new_stream(ret_stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned int flags) {
  (void)flags;
  return new_stream(ret_stream);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned int flags, int priority) {
  (void)flags;
  (void)priority;
  return new_stream(ret_stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *ret_priority) {
  (void)stream;
  *ret_priority = 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *ret_event) {
  return cudaEventCreateWithFlags(ret_event, 0);
}

cudaError_t cudaEventElapsedTime(float *ret_milliseconds, cudaEvent_t start, cudaEvent_t end) {
  (void)start;
  (void)end;
  *ret_milliseconds = 0;
  return cudaSuccess;
}

/* ---- Graphs: captures are noted, and nothing is captured ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  static unsigned long long count;
  const size_t at = wo_standin_stream(&wo_oracle_standin, (uint64_t)stream);
  (void)mode;
  wo_oracle_standin.streams[at].is_capturing = true;
  wo_oracle_standin.streams[at].capture_id = ++count;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph) {
  static char graph;
  const size_t at = wo_standin_stream(&wo_oracle_standin, (uint64_t)stream);
  wo_oracle_standin.streams[at].is_capturing = false;
  *ret_graph = (cudaGraph_t)(void *)&graph;
  return cudaSuccess;
}

/* One node, so that nobody warns of an empty graph. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *ret_count) {
  (void)graph;
  (void)ret_nodes;
  *ret_count = 1;
  return cudaSuccess;
}

#if CUDART_VERSION < 13000
#undef cudaStreamGetCaptureInfo_v2
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status, unsigned long long *ret_id,
                                        cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_nodes, size_t *ret_count) {
  if (ret_graph) *ret_graph = NULL;
  if (ret_nodes) *ret_nodes = NULL;
  if (ret_count) *ret_count = 0;
  return cudaStreamGetCaptureInfo(stream, ret_status, ret_id);
}
#endif

/* ---- Kernels ---- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, const void *function) {
  (void)function;
  memset(ret_attributes, 0, sizeof *ret_attributes);
  ret_attributes->maxThreadsPerBlock = BLOCK_THREADS;
  ret_attributes->numRegs = 32;
  ret_attributes->ptxVersion = ret_attributes->binaryVersion = 10 * CAPABILITY_MAJOR;
  ret_attributes->maxDynamicSharedSizeBytes = BLOCK_SHARED_BYTES;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, const void *function, int threads,
                                                                   size_t shared_bytes, unsigned int flags) {
  (void)function;
  (void)shared_bytes;
  (void)flags;
  *ret_blocks = threads > 0 ? MULTIPROCESSOR_THREADS / threads : 1;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *function, int threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, function, threads, shared_bytes, 0);
}

void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  (void)binary;
  return &handle;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream) {
  (void)grid;
  (void)block;
  (void)shared_bytes;
  (void)stream;
  return 0;
}

/* The launch that follows does nothing, so any configuration will do. */
cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared_bytes, void *ret_stream) {
  ret_grid->x = ret_grid->y = ret_grid->z = 1;
  *ret_block = *ret_grid;
  *ret_shared_bytes = 0;
  *(cudaStream_t *)ret_stream = NULL;
  return cudaSuccess;
}
