/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS and cuBLASLt without a GPU: handles, and the one answer that decides whether torch uses a fused product. Own prototypes,
 * as the libraries' headers are not needed otherwise. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cublasLtMatmulHeuristicResult_t: an algorithm, its workspace, a status, waves, reserved. */
struct heuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

int cublasGetMathMode(void *handle, int *ret_mode);
int cublasGetPointerMode_v2(void *handle, int *ret_mode);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
                                   int wanted, struct heuristic *ret_results, int *ret_count);

int cublasGetMathMode(void *handle, int *ret_mode) {
  (void)handle;
  *ret_mode = 0;
  return 0;
}

int cublasGetPointerMode_v2(void *handle, int *ret_mode) {
  (void)handle;
  *ret_mode = 0;
  return 0;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
                                   int wanted, struct heuristic *ret_results, int *ret_count) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
  if (wanted > 0) memset(ret_results, 0, sizeof *ret_results);
  *ret_count = wanted > 0;
  return 0;
}
