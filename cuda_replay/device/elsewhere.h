/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of a driver that another process loads, for a program that cannot: a replay takes them from here, if its hooks
 * name one (device_hooks.h), and does not know how it is done (cuda_replay/helper). */
#ifndef WO_ELSEWHERE_H
#define WO_ELSEWHERE_H

#include "cuda_replay/device/cuda_driver.h"
#include "cuda_replay/device/nvml.h"

struct wo_elsewhere {
  const void *state; /* given to open */
  /* Starts it. WO_E_UNKNOWN: it cannot be started; the message says what to do. WO_E_USAGE: one is running. */
  enum wo_status (*open)(const void *state, struct wo_err *err);
  /* As wo_cuda_open and wo_nvml_open, once it is open; wo_cuda_close and wo_nvml_close take what they fill. */
  enum wo_status (*cuda)(const char *library, struct wo_cuda_driver *ret_driver, struct wo_err *err);
  bool (*nvml)(const char *library, struct wo_nvml *ret_nvml);
  /* Ends it; allowed when it is not open. */
  void (*close)(void);
};

#endif
