/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN without a GPU, its interface up to version 7: one algorithm for each convolution, with a workspace of WORKSPACE_BYTES.
 * The real library chooses among many, by size and card; convolutions are thus approximate here. Own prototypes. */
#include <stddef.h>
#include <string.h>

enum { VERSION = 90100, WORKSPACE_BYTES = 1 << 20 };

/* cudnnConvolution...AlgoPerf_t: algorithm, status, time, memory, determinism, math, reserved. */
struct choice {
  int algorithm, status;
  float time;
  size_t memory_bytes;
  int determinism, math, reserved[3];
};

static int choose(int wanted, int *ret_count, struct choice *ret_choices) {
  if (wanted > 0) {
    memset(ret_choices, 0, sizeof *ret_choices);
    ret_choices->algorithm = 1;
    ret_choices->memory_bytes = WORKSPACE_BYTES;
    ret_choices->determinism = 1;
  }
  *ret_count = wanted > 0;
  return 0;
}

#define CHOOSES(name)                                                                                                            \
  int name(void *handle, void *a, void *b, void *c, void *d, int wanted, int *ret_count, struct choice *ret_choices);            \
  int name(void *handle, void *a, void *b, void *c, void *d, int wanted, int *ret_count, struct choice *ret_choices) {           \
    (void)handle, (void)a, (void)b, (void)c, (void)d;                                                                            \
    return choose(wanted, ret_count, ret_choices);                                                                               \
  }
CHOOSES(cudnnGetConvolutionForwardAlgorithm_v7)
CHOOSES(cudnnGetConvolutionBackwardDataAlgorithm_v7)
CHOOSES(cudnnGetConvolutionBackwardFilterAlgorithm_v7)

#define SIZES(name)                                                                                                              \
  int name(void *handle, void *a, void *b, void *c, void *d, int algorithm, size_t *ret_bytes);                                  \
  int name(void *handle, void *a, void *b, void *c, void *d, int algorithm, size_t *ret_bytes) {                                 \
    (void)handle, (void)a, (void)b, (void)c, (void)d, (void)algorithm;                                                           \
    *ret_bytes = WORKSPACE_BYTES;                                                                                                \
    return 0;                                                                                                                    \
  }
SIZES(cudnnGetConvolutionForwardWorkspaceSize)
SIZES(cudnnGetConvolutionBackwardDataWorkspaceSize)
SIZES(cudnnGetConvolutionBackwardFilterWorkspaceSize)

size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) {
  return VERSION;
}

size_t cudnnGetCudartVersion(void);
size_t cudnnGetCudartVersion(void) {
  return 12000;
}

/* Batch normalisation keeps its statistics in two small tensors of torch's own; no workspace of the library's. */
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *handle, int mode, int operation, void *x, void *z, void *y,
                                                             void *b, void *activation, size_t *ret_bytes);
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *handle, int mode, int operation, void *x, void *z, void *y,
                                                             void *b, void *activation, size_t *ret_bytes) {
  (void)handle, (void)mode, (void)operation, (void)x, (void)z, (void)y, (void)b, (void)activation;
  *ret_bytes = 0;
  return 0;
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *handle, int mode, int operation, void *x, void *y, void *dy, void *dz,
                                                      void *dx, void *b, void *activation, size_t *ret_bytes);
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *handle, int mode, int operation, void *x, void *y, void *dy, void *dz,
                                                      void *dx, void *b, void *activation, size_t *ret_bytes) {
  (void)handle, (void)mode, (void)operation, (void)x, (void)y, (void)dy, (void)dz, (void)dx, (void)b, (void)activation;
  *ret_bytes = 0;
  return 0;
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *handle, int mode, int operation, void *activation, void *x,
                                                         size_t *ret_bytes);
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *handle, int mode, int operation, void *activation, void *x,
                                                         size_t *ret_bytes) {
  (void)handle, (void)mode, (void)operation, (void)activation, (void)x;
  *ret_bytes = 0;
  return 0;
}
