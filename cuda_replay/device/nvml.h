/* SPDX-License-Identifier: Apache-2.0 */
/* NVML, the driver's library for monitoring cards, loaded at run time: it reports the processes on a card, and its MIG mode.
 *
 * All of it is optional: without the library, or without a function of it, the answer is "not known". nvml_symbols.def lists the
 * functions; types here have the layout of NVML's own (NVML API reference, 470 to 580). One thread. */
#ifndef WO_NVML_H
#define WO_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most rows of the process list that are read; the bytes kept of a name. */
enum { WO_NVML_PROCESSES_MAX = 64, WO_NVML_NAME_BYTES = 48 };

/* nvmlProcessInfo_v2_t; in most drivers nvmlProcessInfo_t has the same layout. */
struct wo_nvml_process {
  unsigned pid;
  unsigned long long used_bytes; /* UINT64_MAX: not known, as in a container or under WDDM */
  unsigned gpu_instance;
  unsigned compute_instance;
};

/* nvmlMemory_t. */
struct wo_nvml_memory {
  unsigned long long total_bytes;
  unsigned long long free_bytes;
  unsigned long long used_bytes;
};

struct wo_nvml {
  void *library;
  bool is_elsewhere; /* the functions ask another process, which has the library (cuda_replay/helper) */
  unsigned process;  /* the one that uses the card for whyoom */
#define WO_NVML(member, symbol, older, type, parameters) type(*member) parameters;
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
};

/* A process that computes on a card. */
struct wo_nvml_holder {
  unsigned pid;
  uint64_t used_bytes;           /* UINT64_MAX: not known */
  char name[WO_NVML_NAME_BYTES]; /* the last part of its path, any bytes; empty when not known */
};

/* Opens the library: NULL stands for the system's libnvidia-ml.so.1. False when there is none or it does not start: then
 * *ret_nvml is {0}, and all functions below answer "not known". */
bool wo_nvml_open(const char *library, struct wo_nvml *ret_nvml);

/* Closes it; NULL and {0} are allowed. */
void wo_nvml_close(struct wo_nvml *nvml);

/* Whether the card of this UUID ("GPU-...") is in MIG mode; false also when that is not known. */
bool wo_nvml_is_mig(const struct wo_nvml *nvml, const char *uuid);

/* The free memory of a card, without taking a context; UINT64_MAX: not known. */
uint64_t wo_nvml_free_bytes(const struct wo_nvml *nvml, const char *uuid);

/* Fills rows with the processes on a card except whyoom itself (or its helper), those that hold most memory first. Returns their
 * number, at most cap and WO_NVML_PROCESSES_MAX; *ret_is_known is false when NVML does not report them. */
size_t wo_nvml_holders(const struct wo_nvml *nvml, const char *uuid, struct wo_nvml_holder *rows, size_t cap, bool *ret_is_known);

#endif
