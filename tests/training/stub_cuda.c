/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver without a GPU for a whole torch: the oracle's driver, and what torch asks for beside expandable segments. */
#include "tests/oracle/stub_cuda.c"

#undef cuDevicePrimaryCtxGetState
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags, int *ret_active) {
  (void)device;
  *ret_flags = 0;
  *ret_active = 1;
  return CUDA_SUCCESS;
}

#undef cuDevicePrimaryCtxRetain
CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device) {
  (void)device;
  return cuCtxGetCurrent(ret_context);
}
