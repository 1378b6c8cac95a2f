/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between whyoom and its helper, the program whyoom-gpu (whyoom_gpu.c).
 *
 * A static program can load no library, so the helper loads the driver's and calls them (helper_client.h). Between them is one
 * socket that keeps messages whole. The helper begins with a greeting; then each request has one answer. Both programs are of one
 * release, which the greeting checks: nothing else about the messages has to last. */
#ifndef WO_HELPER_WIRE_H
#define WO_HELPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda_replay/device/cuda_driver.h"
#include "cuda_replay/device/nvml.h"

/* One for each function of the libraries, after those that open them. */
enum wo_helper_call {
  WO_HELPER_OPEN_CUDA, /* the path of the library, or nothing; a status, its message, which functions it has, its version */
  WO_HELPER_OPEN_NVML, /* the path of the library, or nothing; whether it started, which functions it has */
#define WO_CUDA(member, symbol, older, is_needed, type, parameters) WO_HELPER_CUDA_##member,
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
#define WO_NVML(member, symbol, older, type, parameters) WO_HELPER_NVML_##member,
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
  WO_HELPER_CALL_COUNT_
};

/* Room for a path, and for the rows of a list of processes. */
enum { WO_HELPER_BYTES = 4096, WO_HELPER_NUMBERS = 5 };

struct wo_helper_request {
  uint32_t call;
  uint32_t len; /* of the bytes that are sent */
  uint64_t numbers[WO_HELPER_NUMBERS];
  unsigned char bytes[WO_HELPER_BYTES];
};

struct wo_helper_answer {
  int32_t result;
  uint32_t len;
  uint64_t numbers[2];
  unsigned char bytes[WO_HELPER_BYTES];
};

/* The helper's first message. */
struct wo_helper_greeting {
  char name[16];
  char version[32];
  uint64_t calls; /* WO_HELPER_CALL_COUNT_, against a build of another tree with the same version */
};

#define WO_HELPER_NAME "whyoom-gpu"

/* The bit of a function in the list of those that a library has. */
static inline uint64_t wo_helper_bit(enum wo_helper_call call) {
  return UINT64_C(1) << (unsigned)call;
}

_Static_assert(WO_HELPER_CALL_COUNT_ <= 64, "each call has a bit");

static inline struct wo_helper_greeting wo_helper_greet(void) {
  return (struct wo_helper_greeting){.name = WO_HELPER_NAME, .version = WHYOOM_VERSION, .calls = WO_HELPER_CALL_COUNT_};
}

#endif
