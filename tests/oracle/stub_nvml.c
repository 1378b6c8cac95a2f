/* SPDX-License-Identifier: Apache-2.0 */
/* The management library without a GPU: an out-of-memory message asks it for other processes, and there are none. */
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret_device);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *ret_count, void *ret_infos);

int nvmlInit_v2(void) {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret_device) {
  (void)bus_id;
  *ret_device = 0;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *ret_count, void *ret_infos) {
  (void)device;
  (void)ret_infos;
  *ret_count = 0;
  return 0;
}
